# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the binaries need and export: the libraries of a closed list, and exactly the public functions."""

import pathlib
import re
import subprocess
import sys

import tap

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
# Every library is time on each call and weight in each host. The loader itself is allowed.
NEEDED = {
    "src/libtoolcage.so.0": {"libc.so.6", "libm.so.6", "libjansson.so.4"},
    "src/toolcage-helper": set(),  # static: a linked library is time before main()
    "src/toolcage-egress": set(),  # static: a process for each cage with a network
    "src/toolcage-bridge": {"libc.so.6", "libcurl.so.4", "libjansson.so.4"},  # it runs in cages
    "src/toolcage-receipt": set(),  # static: it has the key, and loads nothing
    "attacks/toolcage-attacks": set(),  # static: it runs in cages
    "src/toolcage": set(),  # static: it starts for each call
}
if (build / "src/toolcage-http").exists():  # a server of its own, where libmicrohttpd was found
    NEEDED["src/toolcage-http"] = {"libc.so.6", "libm.so.6", "libjansson.so.4", "libmicrohttpd.so.12"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(path):
    names = re.findall(r"\(NEEDED\).*\[([^\]]+)\]", output("readelf", "--dynamic", "--wide", path))
    return {name for name in names if not name.startswith("ld-linux")}


for name, allowed in NEEDED.items():
    extra = needed(build / name) - allowed
    tap.check(not extra, f"{name} needs nothing off the list", f"needs {sorted(extra)}")

headers = "\n".join(path.read_text() for path in (root / "include/toolcage").glob("*.h"))
headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
declared = set(re.findall(r"\b(toolcage_\w+)\s*\([^;{]*\)\s*;", headers)) - {"toolcage_output_fn"}
exported = {
    line.split()[-1].split("@")[0]
    for line in output("nm", "--dynamic", "--defined-only", build / "src/libtoolcage.so.0").splitlines()
}
exported = {name for name in exported if not re.fullmatch(r"TOOLCAGE_[\d.]+", name)}
tap.check(len(declared) > 20, "the headers' functions were found", sorted(declared))
tap.check(not declared - exported, "every declared function is exported", sorted(declared - exported))
tap.check(not exported - declared, "nothing else is exported", sorted(exported - declared))

soname = re.search(
    r"\(SONAME\).*\[([^\]]+)\]", output("readelf", "--dynamic", "--wide", build / "src/libtoolcage.so.0")
)
tap.check(soname and soname.group(1) == "libtoolcage.so.0", "the library has its SONAME", soname)
versions = output("readelf", "--version-info", "--wide", build / "src/libtoolcage.so.0")
tap.check("TOOLCAGE_0.1" in versions, "symbols carry their version", versions[:400])

for name in NEEDED:
    dynamic = output("readelf", "--dynamic", "--program-headers", "--wide", build / name)
    stack = re.search(r"GNU_STACK.*", dynamic)
    tap.check(
        "There is no dynamic section" in dynamic or re.search(r"\bNOW\b", dynamic),
        f"{name} is bound at start",
        dynamic[-600:],
    )
    tap.check(
        "(RPATH)" not in dynamic and "TEXTREL" not in dynamic,
        f"{name} has no RPATH and no text relocation",
        dynamic[-600:],
    )
    tap.check(stack and "RWE" not in stack.group(0), f"{name} has no executable stack", stack)
tap.finish()

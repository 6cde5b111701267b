# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Each public header compiles alone, as strict C99 and as C++17, and includes nothing but its own kind and
three headers of the system. The exported symbols of the library are exactly what the headers declare."""

import pathlib
import re
import subprocess
import sys

import tap

include, library, manual = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).read_text()
headers = sorted((include / "toolcage").glob("*.h"))
LANGUAGES = {
    "C99": ["cc", "-x", "c", "-std=c99", "-pedantic"],
    "C++17": ["c++", "-x", "c++", "-std=c++17", "-pedantic"],
}
ALLOWED = {"stddef.h", "stdint.h", "sys/types.h"}

tap.check(len(headers) >= 6, "the headers are there", headers)
for header in headers:
    for language, command in LANGUAGES.items():
        done = subprocess.run(
            command + ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", include, "-"],
            input=f"#include <toolcage/{header.name}>\n",
            capture_output=True,
            text=True,
            timeout=60,
        )
        tap.check(done.returncode == 0, f"{header.name} alone as {language}", done.stderr)
    others = {
        name
        for name in re.findall(r"#include <([^>]+)>", header.read_text())
        if not name.startswith("toolcage/")
    } - ALLOWED
    tap.check(not others, f"{header.name} includes no foreign header", others)

text = "".join(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S) for header in headers)
declared = set(re.findall(r"\b(toolcage_[a-z_0-9]+)\(", text)) - {"toolcage_output_fn"}
nm = subprocess.run(
    ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True, timeout=60
)
lines = [line.split() for line in nm.stdout.splitlines()]
exported = {name.split("@")[0] for _, kind, name in lines if kind != "A"}
tap.check(
    exported == declared,
    "exports are what the headers declare",
    f"only declared: {sorted(declared - exported)}\nonly exported: {sorted(exported - declared)}",
)
tap.check(
    all("@@TOOLCAGE_" in name for _, kind, name in lines if kind == "T"),
    "every symbol has a version",
    nm.stdout,
)
missing = sorted(name for name in declared if not re.search(rf"\b{name}\b", manual))
tap.check(not missing, "libtoolcage(3) has every function", missing)
tap.finish()

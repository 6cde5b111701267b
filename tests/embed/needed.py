# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What library, helper and CLI load, against the list of what they may: a host pays for each on start."""
import re
import subprocess
import sys

import tap

LOADER = r"ld-linux.*\.so\.\d+"
MAY = {
    "library": ["libc.so.6", r"libjansson\.so\.4", LOADER],
    "helper": ["libc.so.6", r"libseccomp\.so\.2", LOADER],
    "cli": ["libc.so.6", r"libtoolcage\.so\.0", LOADER],
}
for argument in sys.argv[1:]:
    what, path = argument.split("=", 1)
    out = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True, timeout=60).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", out)
    bad = [name for name in needed if not any(re.fullmatch(allowed, name) for allowed in MAY[what])]
    tap.check(not bad, f"{what} loads only {', '.join(needed) or 'nothing'}", f"not on its list: {bad}")
    tap.check("(RPATH)" not in out and "TEXTREL" not in out, f"{what} has no RPATH and no text relocation", out)
tap.finish()

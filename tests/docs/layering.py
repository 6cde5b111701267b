# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""tools/layering passes on this tree, and complains of each kind of forbidden include in a made one."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import tap

root = pathlib.Path(sys.argv[1])


def run(tree):
    done = subprocess.run(
        [sys.executable, root / "tools/layering", tree], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


code, out = run(root)
tap.check(code == 0, "this tree keeps its layers", out)

CASES = [
    ("base may not look up", "base/x.c", '#include "policy/grant.h"', "base may not use policy"),
    ("policy may not know Linux", "policy/x.c", '#include "linux/x.h"', "policy may not use linux"),
    (
        "backend may not use a backend's folder",
        "backend/x.c",
        '#include "backend/process/x.h"',
        "may not use backend/process",
    ),
    ("cli may not use internals", "cli/x.c", '#include "base/buf.h"', "cli may not use base"),
    ("cli may not use libraries", "cli/x.c", "#include <jansson.h>", "public headers and libc only"),
    (
        "linux may not use the public headers",
        "linux/x.c",
        "#include <toolcage/error.h>",
        "linux may not use <toolcage/",
    ),
    (
        "call may not use the helper's folder",
        "call/x.c",
        '#include "helper/main.h"',
        "call may not use helper",
    ),
    ("a folder without a row", "nowhere/x.c", "", "no row of the table"),
    ("a right that nobody uses", "base/x.c", "", "row `tree` names `linux`, which it does not use"),
    ("a header of nobody", "base/x.c", '#include "nowhere/x.h"', "belongs to no row"),
]
for name, path, line, complaint in CASES:
    with tempfile.TemporaryDirectory() as made:
        tree = pathlib.Path(made)
        (tree / "docs").mkdir()
        shutil.copy(root / "docs/architecture.md", tree / "docs")
        (tree / "src/helper").mkdir(parents=True)
        source = tree / "src" / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(line + "\n")
        code, out = run(tree)
        tap.check(code == 1 and complaint in out, name, out)
tap.finish()

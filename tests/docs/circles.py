# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""tools/circles passes on this build, and finds a circle that is too large in a made one."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import tap

root, build = map(pathlib.Path, sys.argv[1:3])
COMPILER = shlex.split(os.environ["CC"])


def run(place, tree=root):
    done = subprocess.run(
        [sys.executable, root / "tools/circles", place, tree], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def make(place, needs, folders=()):
    """Files of a folder src/ring, or of those named, each with one function that calls those of others; built as Meson
    would say it."""
    units = []
    for name, others in needs.items():
        calls = "".join(f"{other}();" for other in others)
        source = place / "src" / dict(folders).get(name, "ring") / f"{name}.c"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(
            "".join(f"void {other}(void);" for other in others)
            + f"void {name}(void);void {name}(void){{{calls}}}\n"
        )
        subprocess.run([*COMPILER, "-c", source, "-o", place / f"{name}.o"], check=True)
        units.append({"directory": str(place), "file": str(source), "output": f"{name}.o"})
    (place / "compile_commands.json").write_text(json.dumps(units))


code, out = run(build)
tap.check(
    code == 0 and " 0 of more than" in out and " 0 of folders" in out,
    "this tree has no circle that is too large",
    out,
)

RING = {"a": ["b"], "b": ["c"], "c": ["d"], "d": ["e"], "e": ["a"]}
CASES = [
    ("five files in a ring", RING, 1, "ring/e.c -> ring/a.c: a"),
    ("and of another form", {**RING, "e": ["d"], "d": ["e", "a"]}, 1, "a circle of 5 files"),
    ("four are too many", {**RING, "d": ["a"]}, 1, "a circle of 4 files"),
    ("three may be one", {**RING, "c": ["a"]}, 0, "1 circles, 0 of more than"),
    ("five in a row are none", {**RING, "e": []}, 0, "0 circles"),
]
for name, needs, wanted, said in CASES:
    with tempfile.TemporaryDirectory() as made:
        make(pathlib.Path(made), needs)
        code, out = run(made, made)
        tap.check(code == wanted and said in out, name, out)

for name, needs, wanted, said in [
    ("two folders that need each other", {"a": ["b"], "b": [], "c": ["a"]}, 1, "low -> high: a"),
    ("and one above the other", {"a": ["b"], "b": [], "c": []}, 0, "0 of folders"),
]:
    with tempfile.TemporaryDirectory() as made:
        make(pathlib.Path(made), needs, {"a": "high", "b": "low", "c": "low"})
        code, out = run(made, made)
        tap.check(code == wanted and said in out, name, out)

with tempfile.TemporaryDirectory() as made:
    (pathlib.Path(made) / "compile_commands.json").write_text("[]")
    code, out = run(made, made)
    tap.check(
        code == 1 and "build it first" in out, "a build without objects is no build without circles", out
    )
tap.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What docs/recipes.md shows: files are as `cat` shows them there, and each command prints what stands below it.
The third word says which recipes: quick, or those of large libraries."""

import os
import pathlib
import re
import subprocess
import sys

from cli import ORDINARY, TOOLCAGE, Place, check, finish, require_user, running_as, skip

LARGE = ("pandas", "jupyter")
PAGE = (pathlib.Path(__file__).parents[3] / "docs/recipes.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^## (\S+)\n+```console\n(.*?)^```", PAGE, re.S | re.M)
# What it needs of this machine, and the way to see whether that is there.
NEEDS = {
    "pytest": ["python3", "-c", "import pytest"],
    "npm": ["npm", "--version"],
    "git": ["git", "--version"],
    "gcc": ["gcc", "--version"],
    "pandas": ["python3", "-c", "import pandas"],
    "jupyter": ["python3", "-c", "import nbclient, ipykernel"],
}
SYSTEM = "/usr/bin:/bin"


def steps(block):
    """Each command with the lines below it."""
    for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = step.partition("\n")
        yield command, shown


def settled(text):
    """How long it took is another figure each time."""
    return re.sub(r"\bin \d+\.\d+s", "in 0s", text)


def shell(place, command):
    drop = (
        ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]
        if running_as() == "ordinary"
        else []
    )
    env = {**place.environ, "PATH": f"{os.path.dirname(TOOLCAGE)}:{SYSTEM}"}
    return subprocess.run(
        [*drop, "/bin/sh", "-c", command],
        cwd=place.project,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=150,
    )


def run(name, block):
    count = 0
    with Place() as place:
        for command, shown in steps(block):
            if re.fullmatch(r"cat \S+", command):
                place.write(os.path.normpath(f"home/project/{command[4:]}"), shown)
                continue
            count += command.startswith("toolcage ")
            done = shell(place, command)
            told = done.stdout + done.stderr
            check(
                done.returncode == 0 and settled(told) == settled(shown),
                f"{name}: {command}",
                f"{done.returncode}\n{told}\nexpected:\n{shown}",
            )
    check(count, f"{name}: the recipe runs something in a cage", block)


require_user()
check(
    [name for name, _ in RECIPES] == list(NEEDS),
    "every recipe is run by this test",
    [name for name, _ in RECIPES],
)
for each, its_block in RECIPES:
    if (each in LARGE) != (sys.argv[3] == "large"):
        continue
    try:
        there = (
            subprocess.run(NEEDS[each], env={"PATH": SYSTEM}, capture_output=True, check=False).returncode
            == 0
        )
    except FileNotFoundError:
        there = False
    if there:
        run(each, its_block)
    else:
        skip(f"{each} does its work", f"this machine has no {each} that a cage may see")
finish()

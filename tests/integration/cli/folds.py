#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Tables and findings in the width of a terminal: no line is longer, no word is lost, and marks stay under their text.

usage: folds.py TOOLCAGE [ordinary]"""

import re
import subprocess

from cli import Place, check, finish


def pieces(shown):
    """What is marked, as the terminal shows it."""
    lines, marked = shown.splitlines(), ""
    for above, below in zip(lines, lines[1:]):
        if re.fullmatch(r" {6}\| *[\^~]+", below):
            marked += "".join(c for c, mark in zip(above.ljust(len(below)), below) if mark in "^~")
    return marked


def too_long(shown, width):
    """Lines that could have been broken."""
    return [line for line in shown.splitlines() if len(line) > width and len(line.split()) > 2]


with Place() as place:
    long = '[tool.x]\ncommand = ["true"]\nfilesystem = { readable = ["/opt/one", "/opt/two", "/opt/three", "/opt/four"], writabel = ["/workspace/somewhere"] }\n'
    broken = place.write("home/project/p.toml", long)
    bare = place.write("home/project/q.toml", long.replace("filesystem = {", "filesystem = {\t\u00e4 = 1,"))
    good = place.write("home/project/good.toml", long.replace("writabel", "writable"))
    other = place.write("home/project/other.toml", '[tool.x]\ncommand = ["true"]\n')
    for width in (40, 80):
        for path, word in ((broken, "writabel"), (bare, "\u00e4")):
            plain = place.run("policy", "check", path).err
            shown = place.shown("policy", "check", path, columns=width).decode()
            check(
                shown.split("hint:")[1:] and word in pieces(shown) and len(pieces(shown)) <= len(word) + 1,
                f"{word} is marked in {width} columns",
                (shown, plain),
            )
            source = [line for line in shown.splitlines() if re.match(r" +\d* ?\| ", line)]
            check(not [line for line in source if len(line) > width], "no line of the file is longer", shown)
        for words in (
            ["policy", "check", good],
            ["policy", "diff", good, other],
            ["explain", "--policy", good, "--tool", "x"],
            ["doctor"],
        ):
            answer = place.run(*words)
            shown = place.shown(*words, columns=width, stderr=subprocess.PIPE).decode()
            check(not too_long(shown, width), f"{' '.join(words[:2])} fits {width} columns", shown)
            if words[0] != "doctor" and words[1] != "check":
                check(shown.split() == answer.out.split(), "and says the same", (shown, answer.out))
    answer = place.run("policy", "check", broken)
    check(
        max(len(line) for line in answer.err.splitlines()) > 100,
        "lines are not folded without a terminal",
        answer,
    )
    unknown = place.shown("policy", "check", broken).decode()
    check(
        not [line for line in unknown.splitlines() if re.match(r" +\d* ?\| ", line) and len(line) > 80]
        and "writabel" in pieces(unknown),
        "a terminal that does not say has 80",
        unknown,
    )
    painted = place.shown("policy", "check", broken, "--color=always", columns=40)
    check(
        b"\x1b[31merror\x1b[0m: " in painted
        and re.sub(rb"\x1b\[\d*m", b"", painted) == place.shown("policy", "check", broken, columns=40),
        "colours have no columns",
        painted,
    )
finish()

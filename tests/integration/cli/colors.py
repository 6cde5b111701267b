#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Colours: on a terminal that wants them, by a word for it, and nowhere else.

usage: colors.py TOOLCAGE [ordinary]"""

import json

from cli import Place, check, expect, finish

ERROR, WARNING, OK, PLUS, MINUS = (
    b"\x1b[31merror\x1b[0m: ",
    b"\x1b[33mwarning\x1b[0m: ",
    b"\x1b[32mok\x1b[0m  ",
    b"\x1b[32m+ ",
    b"\x1b[31m- ",
)
XTERM = {"TERM": "xterm"}

with Place() as place:
    broken = place.write("home/project/broken.toml", '[tool.x]\ncommand = ["true"]\nnetwrk = "none"\n')
    weak = place.write(
        "home/project/weak.toml",
        '[tool.x]\ncommand = ["sh"]\narguments.c = {}\nfilesystem.writable = ["/workspace"]\n',
    )
    other = place.write(
        "home/project/other.toml",
        '[tool.x]\ncommand = ["sh"]\narguments.c = {}\nfilesystem.readable = ["/opt"]\n',
    )
    check_it = ["policy", "check", broken]
    for name, words, env, painted in (
        ("a terminal", check_it, XTERM, True),
        ("NO_COLOR", check_it, XTERM | {"NO_COLOR": "1"}, False),
        ("an empty NO_COLOR", check_it, XTERM | {"NO_COLOR": ""}, True),
        ("a dumb terminal", check_it, {"TERM": "dumb"}, False),
        ("one without a name", check_it, {}, False),
        ("never", [*check_it, "--color", "never"], XTERM, False),
        ("never, before the verb", ["--color=never", *check_it], XTERM, False),
        ("always, over NO_COLOR", ["--color", "always", *check_it], XTERM | {"NO_COLOR": "1"}, True),
        ("the last word counts", ["--color=never", *check_it, "--color=auto"], XTERM, True),
    ):
        seen = place.shown(*words, env=env)
        check(
            (ERROR in seen) == painted == (b"\x1b[31m" in seen) and b"netwrk" in seen,
            f"{name}: {'colours' if painted else 'none'}",
            seen,
        )
    check("\x1b" not in place.run(*check_it, env=XTERM).err, "a pipe gets none", place.run(*check_it))
    check(
        ERROR.decode() in place.run(*check_it, "--color=always").err,
        "unless it is to",
        place.run(*check_it, "--color=always"),
    )
    for words, texts in (
        (check_it, [ERROR]),
        (["policy", "check", weak], [WARNING]),
        (["doctor"], [OK]),
        (["policy", "diff", weak, other], [PLUS, MINUS]),
    ):
        seen = place.shown(*words, env=XTERM)
        plain = place.shown(*words, "--color=never", env=XTERM)
        check(
            all(text in seen for text in texts),
            f"{' '.join(words[:2])} has {len(texts)} of them",
            (seen, plain),
        )
        check(b"\x1b" not in plain, "and none without", plain)
    answer = place.run("policy", "check", weak, "--json", "--color=always")
    check("\x1b" not in answer.out and "findings" in json.loads(answer.out), "JSON never has any", answer)
    answer = place.run("--color=always", "doctor", "--json")
    check(
        "\x1b" not in answer.out and "default_grant" in json.loads(answer.out), "nor has the doctor's", answer
    )
    sly = place.write("home/project/sly.toml", '[tool.x]\ncommand = ["true"]\nx\x7f = "\x9b32mok"\n')
    check(
        b"\x1b[32m" not in place.shown("policy", "check", sly, env=XTERM)
        and b"\x9b" not in place.shown("policy", "check", sly, env=XTERM),
        "escape sequences of a file are not printed",
        sly,
    )
    answer = place.run("exec", "echo", "--color=never")
    check(answer.out == "--color=never\n", "behind the command the option is the command's", answer)
    for words in (["--color=blue", "version"], ["version", "--color", "blue"], ["version", "--color="]):
        expect(place, f"{' '.join(words)} is a mistake", words, 125, "--color is auto, always or never")
    for words in (["--color"], ["version", "--color"]):
        expect(place, f"{' '.join(words)} is half a word", words, 125, "--color needs a value")
    expect(place, "another option", ["version", "--colors"], 125, "unknown option --colors")
finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""policy diff: which way a policy changed, in words, in JSON and by the exit code."""

import json
import os

from cli import Place, check, expect, finish, require_user

BEFORE = """[tool.x]
command = ["t"]
filesystem.readable = ["/data"]
timeout = "9s"
"""
LESS = BEFORE.replace("9s", "5s").replace('"/data"', '"/data/part"')
MORE = BEFORE.replace('"/data"]', '"/data", "/srv/more"]') + 'network = ["a.example"]\n'
BOTH = MORE.replace("9s", "5s")
NEITHER = '# the same, said otherwise\n[tool.x]\ntimeout = "9000ms"\nfilesystem = { readable = ["/data"] }\ncommand = ["t"]\n'


NEW = """[tool.y]
command = ["cat", "/x/s"]
description = "Reads."
filesystem.readable = [{ path = "/x", from = "/srv/other" }, "/workspace"]
network = ["evil.example"]
timeout = "5s"
env.set.A = "1"
secrets.S = { from = "env:S", hosts = ["evil.example:443"], header = "X: {secret}" }
"""
NEW_LINES = """tool.y
  + is new
  + /workspace is readable
  + /x is readable, from /srv/other
  + reaches evil.example:443
  + has the secret S from env:S for ["evil.example:443"]
  + the command is ["cat", "/x/s"]
  + sets the variable A=1
"""


def diff(place, old, new, *more):
    return place.run("policy", "diff", *more, old, new)


def directions(place):
    old = place.write("old.toml", BEFORE)
    for name, text, code, changes, *lines in (
        ("narrowed", LESS, 0, {"less"}, "tool.x\n", "  - timeout is 5s, before 9s\n"),
        (
            "widened",
            MORE,
            1,
            {"more"},
            "tool.x\n",
            "  + /srv/more is readable, before nothing\n",
            "  + reaches a.example:443\n",
        ),
        ("both", BOTH, 1, {"more", "less"}, "  + /srv/more is readable", "  - timeout is 5s, before 9s\n"),
        ("neither", NEITHER, 0, set(), "both grant the same\n"),
        (
            "a tool more",
            BEFORE + '[tool.y]\ncommand = ["u"]\n',
            1,
            {"more"},
            'tool.y\n  + is new\n  + the command is ["u"]\n',
        ),
        ("a tool that grants something", BEFORE + NEW, 1, {"more"}, NEW_LINES),
    ):
        new = place.write("new.toml", text)
        answer = expect(place, f"{name}: in words", ["policy", "diff", old, new], code, *lines, stream="out")
        check(not answer.err, f"{name}: nothing else is said", answer)
        answer = diff(place, old, new, "--json")
        report = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
        check(
            answer.code == code
            and not answer.err
            and report.get("widened") == (code == 1)
            and {c["change"] for c in report["changes"]} - {"neither"} == changes
            and all(set(c) == {"place", "change", "text"} for c in report["changes"]),
            f"{name}: --json is one line",
            answer,
        )
        back = json.loads(diff(place, new, old, "--json").out)
        check(
            {c["change"] for c in back["changes"]} - {"neither"}
            == {{"more": "less", "less": "more"}[c] for c in changes},
            f"{name}: the other way round",
            back,
        )
        check(
            diff(place, new, new).code == 0 and diff(place, new, new).out == "both grant the same\n",
            f"{name}: with itself",
            text,
        )
    gone = place.write("gone.toml", "[defaults]\n")
    expect(place, "a tool less", ["policy", "diff", old, gone], 0, "tool.x\n  - ", stream="out")


def files(place):
    """No answer where there are no two policies: never 0, never 1."""
    good = place.write("good.toml", BEFORE)
    bad = place.write("bad.toml", BEFORE.replace("timeout", "tiemout"))
    torn = place.write("torn.toml", "[tool.x\n")
    missing = os.path.join(place.root, "nowhere.toml")
    for name, path, *words in (
        ("unparseable", torn, f"{torn}:1:8: error: ", "hint: "),
        ("mistaken", bad, f"{bad}:4:1: error: unknown key", "hint: "),
        ("missing", missing, missing, "No such file", "hint: "),
        ("a directory", place.root, "is a directory", "hint: "),
        ("no file", "/dev/null", "not a regular file", "hint: "),
    ):
        for old, new in ((good, path), (path, good), (path, path)):
            answer = place.run("policy", "diff", old, new)
            check(
                answer.code == 125 and not answer.out and all(word in answer.err for word in words),
                f"{name}: {'OLD and NEW' if old == new else 'OLD' if old == path else 'NEW'}",
                answer,
            )
        answer = diff(place, good, path, "--json")
        report = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
        check(
            answer.code == 125
            and not answer.err
            and report.get("status") == "error"
            and report["error"]["hint"],
            f"{name}: --json",
            answer,
        )
    for words in ([], [good], [good, good, good]):
        expect(place, f"{len(words)} files", ["policy", "diff", *words], 125, "hint: ")
    unread = place.write("home/unread.toml", BEFORE, 0o000)
    if os.geteuid() or place.argv()[0] != place.argv()[-1]:
        expect(
            place,
            "one that may not be read",
            ["policy", "diff", good, unread],
            125,
            unread,
            "Permission denied",
            "hint: ",
        )


def bases(place):
    """What a policy builds on is compared, wherever it stands; so are its paths."""
    place.write("base.toml", BEFORE)
    whole = place.write("whole.toml", BEFORE)
    built = place.write("built.toml", 'extends = "base.toml"\n')
    yaml = place.write("built.yaml", "extends: base.toml\ntool: {x: {timeout: 9s}}\n")
    for name, path in (("extends", built), ("YAML that extends TOML", yaml)):
        expect(
            place,
            f"{name}: the same",
            ["policy", "diff", whole, path],
            0,
            "both grant the same",
            stream="out",
        )
    place.write("base.toml", MORE)
    expect(
        place,
        "extends: the base grants more",
        ["policy", "diff", whole, built],
        1,
        "+ /srv/more is readable",
        stream="out",
    )
    expect(
        place,
        "extends: the other way round",
        ["policy", "diff", built, whole],
        0,
        "- /srv/more is not there",
        stream="out",
    )
    place.write("base.toml", "[tool.x\n")
    expect(
        place,
        "extends: a torn base",
        ["policy", "diff", whole, built],
        125,
        f"{os.path.join(place.root, 'base.toml')}:1:",
        "error: syntax error",
        f"extended by {built}:1",
    )
    os.unlink(os.path.join(place.root, "base.toml"))
    expect(place, "extends: no base", ["policy", "diff", whole, built], 125, "base.toml", "hint: ")
    here, there = (
        place.write("a/p.toml", '[tool.x]\nfilesystem.readable = ["data"]\n'),
        place.write("b/p.toml", '[tool.x]\nfilesystem.readable = ["data"]\n'),
    )
    expect(
        place,
        "relative paths start at each file's own directory",
        ["policy", "diff", here, there],
        1,
        f"+ {os.path.dirname(there)}/data is readable",
        f"- {os.path.dirname(here)}/data is not there",
        stream="out",
    )
    expect(
        place,
        "a profile",
        [
            "policy",
            "diff",
            place.write("r.toml", 'extends = "profile:read-only"\n'),
            place.write("w.toml", 'extends = "profile:workspace"\n'),
        ],
        1,
        "/workspace is writable, before readable",
        stream="out",
    )


def hostile(place):
    """A text of a policy is never a line of the report, and no terminal obeys it."""
    old = place.write("old.toml", BEFORE)
    new = place.write(
        "forged.toml",
        BEFORE.replace('"t"]', '"t\\n  - timeout is 1s, before 9s\\ntool.y\\n\\u001b[2J\\u202e"]').replace(
            '"/data"', '"/d\\u202ea"'
        ),
    )
    answer = diff(place, old, new)
    lines = answer.out.splitlines()
    check(
        answer.code == 1
        and lines[0] == "tool.x"
        and all(line.startswith(("  + ", "  - ", "    ")) for line in lines[1:])
        and len(lines) == 4
        and not any(line.startswith("  - timeout") for line in lines),
        "a command makes no line",
        answer,
    )
    check(
        "\x1b" not in answer.out and "\u202e" not in answer.out and "\\u{202e}" in answer.out,
        "nothing for a terminal",
        answer.bytes,
    )
    explained = place.run("explain", "--policy", new, "--tool", "x")
    check(
        explained.code == 0
        and not any(line.startswith(("  - timeout", "tool.y")) for line in explained.out.splitlines()),
        "nor a line of explain",
        explained,
    )
    listed = place.run(
        "tools",
        "--policy",
        place.write(
            "listed.toml", '[tool.x]\ncommand = ["t"]\ndescription = "one\\nevil()    process\\r\\u001b[2J"\n'
        ),
    )
    check(
        listed.out.splitlines()[1:] == ["    one", "    evil()    process\\x0d\\x1b[2J"],
        "nor a tool of the list",
        listed,
    )


require_user()
with Place() as place:
    for part in (directions, files, bases, hostile):
        part(place)
finish()

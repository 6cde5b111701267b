# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Mistakes on the command line, help, and what hands bring from other sandboxes."""

import json
import subprocess

from cli import Place, check, expect, finish

MISTAKES = [
    ("a command in place of a verb", ["lss", "-l"], ["unknown verb lss", "toolcage exec lss"]),
    ("a mistyped verb", ["doctr"], ["unknown verb doctr", "did you mean toolcage doctor?"]),
    ("two swapped letters", ["exce", "ls"], ["did you mean toolcage exec?"]),
    ("a mistyped group", ["polcy", "check"], ["did you mean toolcage policy?"]),
    ("a mistyped --version", ["--verison"], ["did you mean --version?"]),
    ("a word like no verb", ["log"], ["to run a command: toolcage exec log"]),
    ("a member without its group", ["check"], ["did you mean toolcage policy check?"]),
    ("lint, which is part of check", ["lint"], ["did you mean toolcage policy check?"]),
    ("a member of two groups", ["import"], ["toolcage policy import or toolcage image import?"]),
    ("an option before the verb", ["--json", "exec"], ["unknown option --json", "after the verb"]),
    ("policy alone", ["policy"], ["toolcage policy check, explain, test"]),
    (
        "an unknown policy verb",
        ["policy", "lint"],
        ["unknown verb lint", "toolcage policy check, explain, test"],
    ),
    ("no command", ["exec"], ["exec: no command given"]),
    ("no command but a tool", ["exec", "--tool", "t"], ["toolcage call t"]),
    ("call without a tool", ["call"], ["call: TOOL is missing", "toolcage call [options] TOOL"]),
    ("the second word", ["policy", "diff", "a"], ["policy diff: NEW is missing"]),
    ("too many words", ["init", "x"], ["unexpected argument x", "toolcage init has no arguments"]),
    ("a URL for the agent", ["agent", "--base-url=http://localhost"], ["write --upstream URL"]),
    ("a mistyped module", ["wasm", "install", "pyhton"], ["cannot be read: pyhton", "modules js and python"]),
    ("JSON from tools", ["tools", "--json"], ["write --format text|openai"]),
    ("a port for MCP", ["mcp", "--port", "80"], ["unknown option --port", "write --listen ADDRESS:PORT"]),
    ("bubblewrap's root", ["exec", "--ro-bind", "/", "/", "ls"], ["the system's programs are in every cage"]),
    ("bubblewrap's network", ["exec", "--share-net", "ls"], ["write --network HOST:PORT"]),
    ("deno's --allow-all", ["exec", "--allow-all", "ls"], ["grant paths with --read and --write"]),
    ("deno's --allow-env", ["exec", "--allow-env=A", "ls"], ["write --env NAME"]),
    ("a profile as in extends", ["exec", "--preset", "profile:git", "ls"], ["hint: write --preset git"]),
    ("a mistyped backend", ["exec", "--backend", "gvisr", "ls"], ["did you mean gvisor? the values are"]),
    (
        "an unknown option",
        ["exec", "--timout", "3s", "ls"],
        ["unknown option --timout", "did you mean --timeout?"],
    ),
    ("a value that is missing", ["exec", "--memory"], ["--memory needs a value: --memory SIZE"]),
    ("a value too many", ["exec", "--json=1", "ls"], ["--json takes no value"]),
    ("a wrong --stdin", ["exec", "--stdin", "tty", "ls"], ["--stdin is auto, pass or none, not tty"]),
    (
        "a wrong --format",
        ["tools", "--format", "xml"],
        ["--format is text, openai, anthropic or mcp, not xml"],
    ),
    ("proving and cleaning", ["doctor", "--prove", "--clean"], ["one at a time"]),
    ("a backend for nothing", ["doctor", "--backend", "process"], ["--backend is for --prove only"]),
    ("two questions", ["policy", "explain", "--read", "/a", "--write", "/b"], ["one access at a time"]),
    (
        "a wrong --severity",
        ["policy", "check", "--severity", "bad"],
        ["--severity is note, warning or error, not bad"],
    ),
    (
        "a wrong --fail-on",
        ["policy", "check", "--fail-on", "bad"],
        ["--fail-on is note, warning, error or never, not bad"],
    ),
    (
        "a wrong --require-coverage",
        ["policy", "test", "--require-coverage", "101"],
        ["a number from 0 to 100"],
    ),
    ("docker's -v", ["exec", "-v", "/srv/data:/data", "ls"], ["hint: write --write /data=/srv/data"]),
    ("docker's -v, read-only", ["exec", "-v", "/srv:/srv:ro", "ls"], ["hint: write --read /srv"]),
    ("docker's --volume=", ["exec", "--volume=/a:/b", "ls"], ["hint: write --write /b=/a"]),
    ("docker's --rm", ["run", "--rm", "ls"], ["hint: leave it out"]),
    ("docker's -it", ["run", "-it", "sh"], ["a terminal has one in toolcage shell"]),
    ("docker's --net=none", ["run", "--net=none", "ls"], ["--network none"]),
    ("docker's --privileged", ["run", "--privileged", "ls"], ["grant paths with --read and --write"]),
    ("docker's --network host", ["run", "--network", "host", "ls"], ["never shares a network"]),
    ("bubblewrap's --ro-bind", ["exec", "--ro-bind", "/a", "/b", "ls"], ["hint: write --read /b=/a"]),
    ("bubblewrap's --bind", ["exec", "--bind", "/a", "/a", "ls"], ["hint: write --write /a"]),
    ("firejail's --private", ["exec", "--private", "ls"], ["a cage has a private home and /tmp"]),
    ("bubblewrap's --unshare-net", ["exec", "--unshare-net", "ls"], ["its own namespaces"]),
]

VERBS = [
    ["exec"],
    ["run"],
    ["call"],
    ["tools"],
    ["init"],
    ["policy", "check"],
    ["policy", "explain"],
    ["policy", "test"],
    ["policy", "trust"],
    ["policy", "digest"],
    ["policy", "schema"],
    ["policy", "diff"],
    ["policy", "import"],
    ["doctor"],
    ["mcp"],
    ["wrap"],
    ["agent"],
    ["completion"],
    ["version"],
]


with Place() as place:
    for name, args, texts in MISTAKES:
        answer = expect(place, name, args, 125, *texts)
        lines = answer.err.splitlines()
        check(
            not answer.out
            and len(lines) == 2
            and lines[0].startswith("toolcage: ")
            and lines[1].startswith("hint: "),
            f"{name}: one line and a hint",
            answer,
        )
    answer = expect(place, "the short help", ["--help"], 0, "usage: toolcage VERB", stream="out")
    check(not answer.err and len(answer.out.splitlines()) <= 24, "the short help fits a screen", answer)
    check(place.run("help").out == answer.out, "help is --help", answer)
    answer = expect(
        place,
        "the help of a group of verbs",
        ["policy", "--help"],
        0,
        "  check            find every mistake",
        stream="out",
    )
    check(
        place.run("help", "policy").out == answer.out == place.run("policy", "-h").out,
        "by each of its words",
        answer,
    )
    for width in (50, 80, 132):
        for verb in ([], ["exec"], ["changes"], ["policy"], ["policy", "check"]):
            plain, folded = (
                place.run(*verb, "--help").out,
                place.shown(*verb, "--help", columns=width, stderr=subprocess.PIPE).decode(),
            )
            long = [
                line
                for line in folded.splitlines()
                if len(line) > width and not line.startswith("  toolcage ")
            ]
            check(
                not long and folded.split() == plain.split(),
                f"help of {' '.join(verb) or 'all'} in {width} columns",
                (long, folded),
            )
    first = place.shown("--help", columns=100, stderr=subprocess.PIPE).decode().splitlines()[1]
    check(first.strip() == "usage: toolcage VERB [options] ...", "the usage has a line of its own", first)
    answer = place.run("exec", "--json", "--why", "--", "cat", "/etc/shadow")
    refused = {(row["operation"], row["target"]) for row in json.loads(answer.out)["denials"]}
    check(("read", "/etc/shadow") in refused, "the README's example shows its denial", answer)
    alone = expect(place, "toolcage alone prints the help", [], 0, "usage: toolcage VERB", stream="out")
    check(
        alone.out == place.run("--help").out and alone.out.count("\n") <= 24 and not alone.err,
        "the whole of it, on one screen",
        alone,
    )
    for verb in VERBS:
        answer = expect(
            place, f"help of {' '.join(verb)}", [*verb, "--help"], 0, "examples:\n  toolcage ", stream="out"
        )
        check(place.run("help", *verb).out == answer.out, f"help {' '.join(verb)} is the same", answer)
    answer = place.run("exec", "--", "--help")
    check(
        answer.code == 127 and "command not found in the cage: --help" in answer.err and not answer.out,
        "after -- --help is the command's",
        answer,
    )
    version = place.run("--version")
    check(
        version.code == 0 and version.out == place.run("version").out and version.out.startswith("toolcage "),
        "the version",
        version,
    )
    answer = place.run("exec", "--no\x1b[31msuch", "ls")
    check("\x1b" not in answer.err and "\\x1b[31m" in answer.err, "control characters are not echoed", answer)
finish()

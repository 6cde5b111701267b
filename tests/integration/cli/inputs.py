#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What a tool has as standard input: the null device where there is none, in every verb; an empty input is one."""

import json
import subprocess

from cli import Place, check, finish, require_user

# Like ripgrep, ag and ack: searches a pipe, a file or a socket, otherwise the working directory.
SEARCH = "test -p /dev/stdin || test -f /dev/stdin && exec grep needle || exec grep -r needle hay"
FOUND = "hay/stack:needle\n"
POLICY = f"""
[defaults]
filesystem.readable = ["/workspace"]
memory = {{ max = "256MiB", by = "any" }}
[tool.plain]
command = ["sh", "-c", "{SEARCH}"]
[tool.fed]
command = ["sh", "-c", "{SEARCH}"]
stdin = "{{text}}"
arguments.text = {{ type = "string" }}
"""


def of_exec(place):
    search = ("sh", "-c", SEARCH)
    for name, args, stdin in [
        ("the null device", (), subprocess.DEVNULL),
        ("--stdin auto", ("--stdin", "auto"), subprocess.DEVNULL),
        ("--stdin none", ("--stdin", "none"), subprocess.PIPE),
    ]:
        process = place.popen("exec", *args, *search, stdin=stdin, stdout=subprocess.PIPE)
        out = process.communicate(timeout=30)[0].decode()
        check((process.returncode, out) == (0, FOUND), f"{name}: the directory is searched", out)
    for name, args, text, found in [
        ("an empty pipe", (), b"", (1, "")),
        ("a pipe", (), b"a needle\n", (0, "a needle\n")),
        ("--stdin pass", ("--stdin", "pass"), b"a needle\n", (0, "a needle\n")),
    ]:
        answer = place.run("exec", *args, *search, stdin=text)
        check((answer.code, answer.out) == found, f"{name}: the input is searched", answer)
    closed = place.shell('"$@" <&-', "exec", *search)
    check(closed.stdout == FOUND, "a closed input: the directory is searched", closed)
    with open(place.write("given", "a needle\n"), encoding="utf-8") as file:
        process = place.popen("exec", *search, stdin=file, stdout=subprocess.PIPE)
        out = process.communicate(timeout=30)[0]
        check(out == b"a needle\n", "a file: the input is searched", out)


def of_learn(place):
    process = place.popen(
        "learn",
        "--no-trial",
        "sh",
        "-c",
        SEARCH,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    err = process.communicate(timeout=60)[1].decode()
    check(FOUND in err, "learn: the directory is searched", err)


def of_tools(place):
    policy = place.write("p.toml", POLICY)
    for name, args, found in [
        ("a tool without stdin", ("plain",), FOUND),
        ("a tool with stdin", ("fed", '{"text": "a needle"}'), "a needle\n"),
        ("a tool with an empty stdin", ("fed", '{"text": ""}'), ""),
    ]:
        answer = place.run("call", "--policy", policy, *args, stdin=b"needle of the caller")
        check(answer.out == found, f"call: {name}", answer)
    requests = [
        {"method": "initialize", "id": 1, "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"method": "tools/call", "id": 2, "params": {"name": "plain", "arguments": {}}},
    ]
    process = place.popen("mcp", "--policy", policy, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for request in requests:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    process.communicate(timeout=30)
    check(FOUND in json.loads(answer)["result"]["content"][0]["text"], "mcp: a tool without stdin", answer)


def main():
    require_user()
    with Place() as place:
        place.write("home/project/hay/stack", "needle\n")
        for part in (of_exec, of_learn, of_tools):
            part(place)
    finish()


main()

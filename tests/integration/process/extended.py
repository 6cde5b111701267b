#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What a policy is made from stays as it is, whatever the tool is granted and however its changes come back."""

import json
import os
import subprocess

from scene import ANY, PATIENCE, TOOLCAGE, Answer, check, is_root, run

BASE = "[defaults]\npids = 64\n"
WIDER = "[defaults]\\npids = 4096\\n"
WRITES = [
    "printf '{0}' > {1}",
    "rm -f {1}; printf '{0}' > {1}",
    "printf '{0}' > new; mv -f new {1}",
    "ln -f {1} other; printf '{0}' > other",
    "mv sub was; mkdir -p sub; printf '{0}' > sub/base.toml",
    "rm -rf sub; ln -s was sub",
]
WORKSPACES = [
    "",
    'workspace = { mode = "copy", commit = "always" }\n',
    'workspace = { mode = "overlay", commit = "always" }\n',
    'without = ["fs.steering"]\n',
    'workspace = { mode = "copy", commit = "ask" }\n',
    'workspace = { mode = "overlay", commit = "ask" }\n',
]


def extending(s, *names):
    """Each policy of the scene extends these, from here on."""
    first = s.policy

    def policy(**grant):
        path = first(**grant)
        with open(path, "r+", encoding="utf-8") as file:
            text = f"extends = {json.dumps(names)}\n" + file.read()
            file.seek(0)
            file.write(text)
        # the file that it extends lies where tools of the policies before it could write
        subprocess.run(
            [TOOLCAGE, "policy", "trust", path],
            env=s.environ,
            capture_output=True,
            timeout=60 * PATIENCE,
            check=False,
        )
        return path

    s.policy = policy


def fill(s):
    for name in ("ws/base.toml", "ws/sub/base.toml"):
        s.write(name, BASE)


def changed(s):
    return [
        name
        for name in ("ws/base.toml", "ws/sub/base.toml")
        if not os.path.exists(s.path(name)) or s.read(name) != BASE.encode()
    ]


def settle(s, answer, *words):
    return s.toolcage("changes", answer.call, *words, "--json")


def it_stays_in_each_workspace(s):
    fill(s)
    extending(s, "ws/base.toml", "ws/sub/base.toml")
    script = "\n".join(
        f"({way.format(WIDER, name)}) 2>/dev/null"
        for way in WRITES
        for name in ("base.toml", "sub/base.toml")
    )
    for more in WORKSPACES:
        answer = s.shell(f"cd {s.ws}; {script}\necho work > done", more=more)
        if answer.status != "ok" and answer.error["stage"] == "overlay":
            continue
        if '"ask"' in more:
            shown = settle(s, answer)
            check(
                "/base.toml" not in shown.stdout and "/done" in shown.stdout,
                f"no yes is asked for it: {more}",
                shown,
            )
            check(
                answer.kinds.get(s.path("ws/base.toml")) == "steers the host",
                f"a change of the extended policy steers the host: {more}",
                answer,
            )
            settle(s, answer, "commit")
            settle(s, answer, "discard")
        check(
            s.read("ws/done") == b"work\n" and not changed(s),
            f"the work comes, the policy stays: {more}",
            (changed(s), answer),
        )
        os.unlink(s.path("ws/done"))


def it_is_no_argument(s):
    """A model names the file as what is to be written: there, by another name, and after it has gone."""
    fill(s)
    os.link(s.path("ws/base.toml"), s.path("ws/other.toml"))
    policy = s.write(
        "policy.toml",
        f"""extends = "ws/base.toml"
[tool.w]
command = ["sh", "-c", "printf '{WIDER}' > $0", "{{file}}"]
arguments.file = {{ write = [{json.dumps(s.ws)}] }}
memory = {ANY}
""".replace("\\n", "\\\\n"),
    )

    def call(name):
        done = subprocess.run(
            [TOOLCAGE, "call", "--json", "--policy", policy, "w", json.dumps({"file": s.path("ws", name)})],
            env=s.environ,
            cwd=s.ws,
            capture_output=True,
            timeout=60 * PATIENCE,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    answer = call("new.toml")
    check(answer.status == "ok" and b"4096" in s.read("ws/new.toml"), "another file can be written", answer)
    for name in ("base.toml", "other.toml"):
        answer = call(name)
        check(
            answer.status == "denied"
            and "the policy is made from" in answer.error["message"]
            and s.read("ws/base.toml") == BASE.encode(),
            name,
            answer,
        )


def it_does_not_come_back(s):
    """A server has read the policy, and then the host removes a file of it: no tool may make another one."""
    fill(s)
    command = 'command = ["sh", "-c", "echo made > $0", "{file}"]\n'
    os.symlink("ws", s.path("way"))
    s.write("ws/way.toml", BASE)
    policy = s.write(
        "served.toml",
        f"""extends = ["ws/base.toml", "ws/sub/base.toml", "way/way.toml"]
[tool.one]
{command}arguments.file = {{ write = [{json.dumps(s.ws)}] }}
memory = {ANY}
[tool.all]
{command}arguments.file = {{ type = "string" }}
filesystem.writable = [{json.dumps(s.ws)}]
memory = {ANY}
""",
    )
    server = subprocess.Popen(
        [TOOLCAGE, "mcp", "--policy", policy],
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    s.ends.callback(server.wait)
    s.ends.callback(server.kill)

    def ask(method, **params):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        return server.stdout.readline()

    ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
    for tool in ("one", "all"):
        answer = ask("tools/call", name=tool, arguments={"file": s.path("ws", tool)})
        check(s.read(f"ws/{tool}") == b"made\n", f"{tool}: another file can be made", answer)
    for name in ("ws/base.toml", "ws/way.toml"):
        was = s.read(name)
        os.unlink(s.path(name))
        for tool in ("one", "all"):
            answer = ask("tools/call", name=tool, arguments={"file": s.path(name)})
            check(
                "the policy is made from" in answer and not os.path.exists(s.path(name)),
                f"{tool}: not {name}",
                answer,
            )
        s.write(name, was.decode())


def nobody_else_has_a_hand_in_it(s):
    fill(s)
    extending(s, "ws/base.toml")
    answer = s.shell("true")
    check(answer.status == "ok", "the caller's own", answer)
    os.chmod(s.path("ws/base.toml"), 0o666)
    answer = s.shell("true")
    check(
        "is world-writable" in str(answer) and answer.status != "ok",
        "a policy that everybody can write is not extended",
        answer,
    )
    os.chmod(s.path("ws/base.toml"), 0o644)
    if is_root():
        os.chown(s.path("ws/base.toml"), 12345, 12345)
        answer = s.shell("true")
        check(
            "belongs to another user" in str(answer) and answer.status != "ok",
            "nor what somebody else owns",
            answer,
        )


run(it_stays_in_each_workspace, it_is_no_argument, it_does_not_come_back, nobody_else_has_a_hand_in_it)

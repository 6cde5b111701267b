# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""usage: bench/prompts.py BUILD [TASKS]

How many questions a person gets per 100 calls of an agent's day. The day is made up (a seeded mix, below), but its calls are really run by
`toolcage mcp --queue` under a policy with [audit] that asks about tests, edits and pushes. `toolcage approvals` answers each with yes, in three
ways; the questions are counted in the audit log. The last lines are the time of an MCP call that needs no approval, with and without [audit]."""

import json
import os
import pathlib
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time

CLI = str(pathlib.Path(sys.argv[1]).resolve() / "src/toolcage")
TASKS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
WAYS = {"each request": [], "--all-equal": ["--all-equal"], "--session": ["--session"]}
POLICY = """
[tool.read]
command = ["cat", "{file}"]
arguments.file = { read = ["HERE"] }
[tool.search]
command = ["grep", "-rn", "{word}", "HERE"]
arguments.word = { type = "string" }
filesystem.readable = ["HERE"]
[tool.test]
tier = "HumanApprove"
backend = "process"
command = ["sh", "-c", "cat HERE/* > /dev/null; echo ok", "{suite}"]
arguments.suite = { type = "string" }
filesystem.readable = ["HERE"]
[tool.edit]
tier = "HumanApprove"
backend = "process"
command = ["sh", "-c", 'echo "$1" >> HERE/notes', "edit", "{line}"]
arguments.line = { type = "string" }
filesystem.writable = ["HERE"]
[tool.push]
tier = "HumanApprove"
backend = "process"
command = ["echo", "pushed", "{branch}"]
arguments.branch = { type = "string" }
"""


def day():
    """Lists of calls that the agent makes at once. A task: look around, edit, run the suite after each edit (two agents at once in one
    task of four), sometimes push."""
    chance = random.Random(1)
    for task in range(TASKS):
        for _ in range(chance.randint(2, 5)):
            word = chance.choice(["main", "error", "return"])
            yield [("read", {"file": "HERE/main.c"}), ("search", {"word": word})][: chance.randint(1, 2)]
        suite = chance.choice(["unit", "unit", "all"])
        for edit in range(chance.randint(1, 3)):
            yield [("edit", {"line": f"task {task}, edit {edit}"})]
            yield [("test", {"suite": suite})] * (2 if chance.random() < 0.25 else 1)
        if chance.random() < 0.3:
            yield [("push", {"branch": "main"})]


class Server:
    def __init__(self, home, policy, *more):
        self.process = subprocess.Popen(
            [CLI, "mcp", "--policy", policy, *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "HOME": home},
            cwd=home,
        )
        self.text = b""
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "0"},
        }
        self.send(0, "initialize", about)
        self.receive()

    def send(self, id, method, params):
        line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def has_response(self):
        return b"\n" in self.text or bool(select.select([self.process.stdout], [], [], 0)[0])

    def receive(self):
        while b"\n" not in self.text:
            self.text += os.read(self.process.stdout.fileno(), 65536)
        line, _, self.text = self.text.partition(b"\n")
        return json.loads(line)

    def call(self, id, tool, arguments):
        self.send(id, "tools/call", {"name": tool, "arguments": arguments})

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def toolcage(home, *args):
    done = subprocess.run([CLI, *args], env={**os.environ, "HOME": home}, capture_output=True, check=False)
    if done.returncode and "no longer waits" not in done.stderr.decode():
        sys.exit(f"bench: toolcage {args}: {done.stderr.decode()}")
    return done.stdout.decode()


def answer(home, more):
    """Yes to the oldest request; True if there was one."""
    requests = json.loads(toolcage(home, "approvals", "list", "--json"))["requests"]
    if requests:
        toolcage(home, "approvals", "approve", requests[0]["id"], "--digest", requests[0]["digest"], *more)
    return bool(requests)


def live(home, policy, here, more):
    """A day; returns how many answers a person had to give."""
    server, id, answers = Server(home, policy, "--queue"), 0, 0
    for calls in day():
        for tool, arguments in calls:
            id += 1
            server.call(id, tool, json.loads(json.dumps(arguments).replace("HERE", here)))
        asks = calls[0][0] in ("test", "edit", "push")
        if asks:
            time.sleep(0.05)  # both requests of two agents are there
        reader = Reader(server, len(calls))
        while asks and reader.waits():
            answers += answer(home, more)
        reader.end()
    server.end()
    return answers


class Reader:
    """Reads the responses of these calls as they come."""

    def __init__(self, server, left):
        self.server, self.left = server, left

    def waits(self):
        while self.left and self.server.has_response():
            self.take()
        return self.left

    def take(self):
        found = self.server.receive()
        if found["result"]["isError"]:
            sys.exit(f"bench: a call failed: {found}")
        self.left -= 1

    def end(self):
        while self.left:
            self.take()


def recorded(home):
    rows = [
        json.loads(line)["decision"]
        for line in toolcage(home, "audit", "list", "--limit", "0", "--json").splitlines()
    ]
    asked = [row for row in rows if row.get("approval")]
    return len(rows), len(asked), sum(not row.get("approval_again") for row in asked)


def arrange(home, audit):
    here = os.path.join(home, "project")
    os.mkdir(here)
    pathlib.Path(here, "main.c").write_text("int main(void) { return 0; } /* error */\n", encoding="utf-8")
    policy = os.path.join(home, "policy.toml")
    text = POLICY.replace("HERE", here)
    pathlib.Path(policy).write_text(("[audit]\n" if audit else "") + text, encoding="utf-8")
    return here, policy


def time_calls(servers):
    times = {name: [] for name in servers}
    for round in range(1, 201):
        for name, (server, here) in servers.items():
            start = time.perf_counter()
            server.call(round, "read", {"file": here + "/main.c"})
            server.receive()
            times[name].append((time.perf_counter() - start) * 1e6)
    for name, samples in times.items():
        print(f"MCP call {name:14} {statistics.median(samples):8.0f} us   p95 {sorted(samples)[190]:8.0f} us")


print(f"{'answered by':14} {'calls':>6} {'ask':>6} {'answers':>8} {'per 100 calls':>14}")
for way, more in WAYS.items():
    with tempfile.TemporaryDirectory() as home:
        here, policy = arrange(home, True)
        answers = live(home, policy, here, more)
        calls, asked, questions = recorded(home)
        print(f"{way:14} {calls:6} {asked:6} {answers:8} {100 * answers / calls:14.1f}", flush=True)
        if more != ["--all-equal"] and questions != answers:
            sys.exit(f"bench: the log has {questions} questions, and {answers} were answered")
with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
    servers = {}
    for name, home in (("without a log", one), ("with a log", two)):
        here, policy = arrange(home, home == two)
        servers[name] = (Server(home, policy), here)
    time_calls(servers)
    for server, _ in servers.values():
        server.end()

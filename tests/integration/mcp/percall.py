# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""per_call: a fresh server for each call of a tool, what of one call reaches the next, and servers that do not play along."""

import json
import os
import subprocess
import time

import scene
from scene import STATELESS, cli

cli.require_user()
SERVER = """
import json, os, sys, time
WAY, count = sys.argv[1], 0
def tell(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()
first = not os.path.exists("/workspace/started")
open("/workspace/started", "a").write("x")
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        if WAY == "dies" and not first:
            sys.exit(3)
        name = "changed" if WAY == "changes" and not first else "counter"
        tell({"id": id, "result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "0"}}})
    elif method == "tools/list":
        tell({"id": id, "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("count", "slow", "mark")]}})
        if WAY == "guesses":
            tell({"id": 50, "result": {"content": [{"type": "text", "text": "guessed"}]}})
    elif method == "tools/call":
        count += 1
        old = os.path.exists("/tmp/mark")
        open("/tmp/mark", "w").write("x")
        open("/workspace/calls", "a").write("x")
        if message["params"]["name"] == "slow":
            time.sleep(float(message["params"]["arguments"].get("s", 60)))
        if WAY == "asks":
            tell({"id": 1, "method": "sampling/createMessage", "params": {}})
            tell({"id": 99, "result": {"content": [{"type": "text", "text": "of another"}]}})
            answer = json.loads(sys.stdin.readline())
            old = answer["error"]["code"]
        if WAY == "pings":
            tell({"id": "p", "method": "ping"})
            old = json.loads(sys.stdin.readline()).get("result")
        if WAY == "grows":
            count = len(b"x" * (1 << 30))
        if WAY == "returns":
            sys.stdout.write('{"jsonrpc":"2.0",\\r"id":%s,"result":{"content":[]}}\\n' % json.dumps(id))
            sys.stdout.flush()
            continue
        if WAY == "both":
            tell({"id": id, "result": {"content": []}, "error": {"code": 1, "message": "x"}})
            continue
        tell({"method": "notifications/progress", "params": {"progressToken": 1, "progress": count}})
        tell({"id": id, "result": {"content": [{"type": "text", "text": json.dumps([count, old, os.getpid(), os.path.getsize("/workspace/calls")])}]}})
time.sleep(0.2)
open("/workspace/ended", "a").write("x")
"""
POLICY = """
[audit]

[server.counter]
command = ["/usr/bin/python3", "/srv/server.py", "WAY"]
filesystem = { readable = [{ path = "/srv", from = "project/srv" }], writable = [{ path = "/workspace", from = "WAY" }] }
memory = { max = "128MiB", by = "any" }
pass = ["sampling"]
per_call = true
MORE
tool.count = { arguments.n = { type = "integer", maximum = 5, optional = true } }
tool.slow = { timeout = "20s" }
tool.mark = { timeout = "1s" }
"""
place = cli.Place()
place.write("home/project/srv/server.py", SERVER)
if cli.running_as() == "ordinary":
    os.chmod(place.root, 0o755)


def policy(way, more=""):
    place.write(f"home/{way}/.keep", "")
    return place.write(f"home/{way}.toml", POLICY.replace("WAY", way).replace("MORE", more))


def marks(way, name):
    path = f"{place.home}/{way}/{name}"
    return os.path.getsize(path) if os.path.exists(path) else 0


class Wrapped(scene.Server):
    def __init__(self, way, more=""):
        self.way = way
        self.process = place.popen(
            "wrap",
            "--policy",
            policy(way, more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.rest = b""

    def answer(self, id):
        """The response to this request; other messages are dropped."""
        while (message := self.receive()) and message.get("id") != id:
            pass
        return message or {}

    def call(self, tool, arguments=None, id=1, meta=None):
        self.begin(tool, arguments, id, meta)
        return self.answer(id)

    def begin(self, tool, arguments, id, meta=None):
        params = {"name": tool, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def text(answer):
    return answer.get("result", {}).get("content", [{"text": ""}])[0]["text"]


def isolates():
    with Wrapped("plain") as s:
        s.initialize()
        names = [tool["name"] for tool in s.ask("tools/list", id=2)["result"]["tools"]]
        cli.check(names == ["count", "slow", "mark"], "the first server lists its tools", names)
        seen = [json.loads(text(s.call("count", id=id))) for id in (3, 4, "init")]
        cli.check(
            all(one[:2] == [1, False] for one in seen),
            "memory and /tmp of one call are gone at the next",
            seen,
        )
        cli.check(marks("plain", "started") == 4, "calls start fresh servers", marks("plain", "started"))
        answer = s.call("count", {"n": 6}, id=5)
        cli.check(
            "n is more than 5" in text(answer) and marks("plain", "started") == 4,
            "a refused call starts none",
            answer,
        )
        s.begin("count", {}, 6)
        first = s.receive()
        cli.check(first.get("method") == "notifications/progress", "progress passes", first)
        s.answer(6)
        answer = s.call("count", id=7, meta=STATELESS)
        cli.check(json.loads(text(answer) or "[0]")[0] == 1, "a stateless call needs no handshake", answer)
        cli.check(s.end() == 0, "the client ends it")


def overlaps():
    with Wrapped("many") as s:
        s.initialize()
        started = time.monotonic()
        for id in range(10, 14):
            s.begin("slow", {"s": 1}, id)
        got = {answer_id(s) for _ in range(4)}
        cli.check(
            got == {10, 11, 12, 13} and time.monotonic() - started < 3.5 * scene.PATIENCE,
            "calls run at once",
            got,
        )
        for id in range(20, 37):
            s.begin("slow", {"s": 30}, id)
        answer = s.answer(36)
        cli.check("too many calls" in text(answer), "the seventeenth call at once is refused", answer)
        for id in range(20, 36):
            s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        answer = s.call("count", id=40)
        cli.check(json.loads(text(answer) or "[0]")[0] == 1, "cancelled calls make room", answer)


def answer_id(s):
    while (message := s.receive()) and "id" not in message:
        pass
    return (message or {}).get("id")


def ends():
    with Wrapped("late") as s:
        s.initialize()
        answer = s.call("mark", id=2)
        cli.check(json.loads(text(answer) or "[0]")[0] == 1, "a tool with a timeout answers in time", answer)
        s.begin("slow", {"s": 61.5}, 3)
        cli.check(scene.until(lambda: marks("late", "calls") == 2), "a call runs")
        inside = servers("late")
        s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})
        cli.check(
            scene.until(lambda: servers("late") == inside - 1),
            "a cancelled call's server ends",
            servers("late"),
        )
        cli.check(json.loads(text(s.call("count", id=4)))[0] == 1, "the next call works")
    cli.check(scene.until(lambda: servers("late") == 0), "nothing is left", servers("late"))


def servers(way):
    """Processes of the server, as the whole machine sees them."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found += file.read().split(b"\0")[1:3] == [b"/srv/server.py", way.encode()]
        except OSError:
            pass
    return found


def commits():
    for mode in ("copy", "overlay"):
        way = f"{mode}s"
        with Wrapped(way, f'workspace.mode = "{mode}"') as s:
            s.initialize()
            seen = [json.loads(text(s.call("count", id=id)) or "[]")[3:] for id in (2, 3)]
            cli.check(seen == [[1], [2]], f"a call finds the changes of the call before ({mode})", seen)
            cli.check(
                marks(way, "calls") == marks(way, "ended") == 2,
                f"an answer comes when the changes are written, those after it included ({mode})",
                os.listdir(f"{place.home}/{way}"),
            )
            s.begin("count", {}, 4)
            s.process.stdin.close()
            s.process.stdin = open(os.devnull, "wb")
            answer = s.answer(4)
            cli.check(text(answer), f"a client that ends its input gets the answer ({mode})", answer)
            cli.check(s.process.wait(20) == 0, f"and the wrapper ends ({mode})")
        cli.check(marks(way, "calls") == 3, f"its changes are written, too ({mode})")


def secrets():
    slow = place.write("home/slow", "#!/bin/sh\nsleep 2\necho tok-3b1f9c2e7a5d\n")
    os.chmod(slow, 0o755)
    more = f"""network = ["api.example.com:443"]
secrets.T = {{ from = "command:{slow}", hosts = ["api.example.com"], header = "Authorization: Bearer {{secret}}" }}"""
    with Wrapped("secrets", more) as s:
        s.initialize()
        for id in (2, 3):
            s.begin("mark", {}, id)
        seen = [s.answer(id) for id in (2, 3)]
        cli.check(
            all(text(answer).startswith("[1, false") for answer in seen),
            "the time that a secret's source takes is not the call's",
            seen,
        )


def records():
    with Wrapped("records") as s:
        s.initialize()
        s.call("count", id=2)
        for id in range(20, 37):
            s.begin("slow", {"s": 2}, id)
        for _ in range(17):
            answer_id(s)
        s.end()
    answer = place.run("audit", "list", "--json", "-n", "0")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    runs = [line for line in lines if line["decision"].get("command", [])[-1:] == ["records"]]
    ids = {line["decision"]["call"] for line in runs}
    cli.check(
        len(runs) == 18
        and all(r["result"]["status"] == "ok" and not r["result"].get("abandoned") for r in runs),
        "the audit log has the end of each call",
        answer,
    )
    requests = [line["decision"] for line in lines if line["decision"]["kind"] == "request"]
    passed = sum(r["call"] in ids and r["status"] == "passed" for r in requests)
    cli.check(passed == 17, "and a call that no server got was not passed", passed)


def lies():
    for way in ("returns", "both"):
        with Wrapped(way) as s:
            s.initialize()
            answer = s.call("count", id=2)
            cli.check(
                "is not a JSON-RPC message" in json.dumps(answer),
                f"an invalid answer is an error ({way})",
                answer,
            )
    with Wrapped("pings") as s:
        s.initialize()
        answer = s.call("count", id=2)
        cli.check(text(answer).startswith("[1, {}"), "its ping is answered", answer)
    with Wrapped("grows") as s:
        s.initialize()
        answer = s.call("count", id=2)
        cli.check("without an answer: " in text(answer), "the model hears what ended the server", answer)
    with Wrapped("changes") as s:
        s.initialize()
        answer = s.call("count", id=2)
        cli.check(
            "in another way than the first" in text(answer),
            "a server that greets otherwise gets no call",
            answer,
        )
        cli.check(marks("changes", "calls") == 0, "and does not see it")
    with Wrapped("dies") as s:
        s.initialize()
        answer = s.call("count", id=2)
        cli.check("ended without an answer" in text(answer), "a server that ends is an error", answer)
        cli.check("tools" in s.ask("tools/list", id=3).get("result", {}), "and the first one goes on")
    with Wrapped("asks") as s:
        s.initialize()
        answer = s.call("count", id=2)
        cli.check(text(answer).startswith("[1, -32601"), "its questions to the client are refused", answer)
    with Wrapped("guesses") as s:
        s.initialize()
        s.begin("slow", {"s": 1}, 50)
        s.ask("tools/list", id=3)
        answer = s.answer(50)
        cli.check(
            "guessed" not in text(answer) and text(answer).startswith("[1,"),
            "the first server cannot answer for it",
            answer,
        )
    with Wrapped("early") as s:
        answer = s.call("count", id=2)
        cli.check("has not sent initialize" in text(answer), "a call before the handshake is refused", answer)


def policies():
    one, two = (
        policy("one"),
        place.write(
            "home/two.toml", POLICY.replace("WAY", "one").replace("MORE", "").replace("per_call = true\n", "")
        ),
    )
    answer = place.run("policy", "diff", one, two)
    cli.check("+ one server serves all calls of its tools" in answer.out, "policy diff shows it", answer)
    answer = place.run("policy", "explain", "--policy", one, "--server", "counter", "--json")
    cli.check(json.loads(answer.out)["mcp"]["per_call"] is True, "explain shows it", answer)
    tasks = place.write(
        "home/tasks.toml", POLICY.replace("WAY", "one").replace("MORE", "").replace('"sampling"', '"tasks"')
    )
    answer = place.run("policy", "check", tasks)
    cli.check(
        answer.code and "tasks in pass" in answer.out + answer.err,
        "tasks of single calls are refused",
        answer,
    )
    inner = place.write(
        "home/inner.toml",
        'within = "one.toml"\n'
        + POLICY.replace("WAY", "one").replace("MORE", "").replace("per_call = true\n", ""),
    )
    answer = place.run("policy", "explain", "--policy", inner, "--server", "counter")
    cli.check(
        answer.code and "write per_call = true" in answer.err,
        "a ceiling with it refuses a policy without",
        answer,
    )


try:
    for part in (isolates, overlaps, ends, commits, secrets, records, lies, policies):
        part()
finally:
    place.__exit__()
cli.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage wrap, line by line: what passes, what is shown, what is refused; servers that lie; ends of either side."""

import json
import os
import pathlib
import signal
import subprocess
import time

import scene
from scene import STATELESS, cli

cli.require_user()
ACTOR = pathlib.Path(__file__).with_name("actor.py").read_text(encoding="utf-8")
POLICY = """
[server.actor]
command = ["/usr/bin/python3", "/srv/actor.py", "WAY"]
filesystem = { readable = [{ path = "/srv", from = "project/srv" }], writable = ["/workspace"] }
memory = { max = "256MiB", by = "any" }
pass = ["resources", "tasks", "other", "logging"]
env = { set = { SECRET = "PLACE/home/secret.txt" } }
tool.read = { title = "Reader", description = "Reads.", arguments.path = { read = ["/workspace/in"] }, arguments.lines = { type = "integer", maximum = 10, optional = true } }
tool.free = {}
tool.ask = { tier = "HumanApprove" }
tool.slow = { timeout = "2s" }
tool.big = { output = "64KiB" }
tool.where = {}

[server.open]
filesystem = { readable = [{ path = "/srv", from = "project/srv" }] }
memory = { max = "256MiB", by = "any" }
tool.free = {}
"""

place = cli.Place()
place.write("home/secret.txt", "the secret\n")
place.write("home/project/srv/actor.py", ACTOR)
BASE = POLICY.replace("PLACE", place.root)
if cli.running_as() == "ordinary":
    os.chmod(place.root, 0o755)


def policy(way="honest"):
    bound = 'output = "256KiB"\n' if way == "bounded" else ""
    return place.write(
        f"home/{way}.toml", BASE.replace("WAY", way).replace("[server.actor]\n", "[server.actor]\n" + bound)
    )


class Wrapped(scene.Server):
    """A wrapped server, and the client of lines."""

    def __init__(self, way="honest", *args, file=None, **more):
        more.setdefault("stderr", subprocess.PIPE)
        self.process = place.popen(
            "wrap",
            "--policy",
            file or policy(way),
            "--server",
            "actor",
            *args,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **more,
        )
        self.rest = b""

    def raw(self, text, seconds=30):
        """One line as it is; the answer with its own id, other messages before it in self.others."""
        self.send(text if isinstance(text, bytes) else text.encode())
        return self.receive(seconds)

    def errors(self):
        self.process.stdin.close()
        self.process.stdin = open(os.devnull, "wb")
        self.process.wait(30)
        return self.process.stderr.read().decode()


def text(answer):
    return answer["result"]["content"][0]["text"]


def code(answer):
    return (answer or {}).get("error", {}).get("code")


def names(answer):
    return [tool["name"] for tool in answer["result"]["tools"]]


SHOWN = ["read", "free", "slow", "big", "where"]


def passes():
    with Wrapped() as s:
        answer = s.initialize()
        cli.check(
            answer["result"]["serverInfo"]["name"] == "actor", "the handshake is the server's own", answer
        )
        heard = s.receive()
        cli.check(
            heard["params"]["method"] == "notifications/initialized", "notifications pass both ways", heard
        )
        answer = s.ask("tools/list", {"cursor": "x"})
        cli.check(
            names(answer) == SHOWN and answer["result"]["nextCursor"] == "more",
            "tools/list has the policy's tools and the rest",
            answer,
        )
        read, free = answer["result"]["tools"][:2]
        cli.check(
            (read["title"], read["description"]) == ("Reader", "Reads.")
            and read["x-own"] == free["x-own"] == [100, 1 << 64],
            "with the operator's words where there are any",
            read,
        )
        cli.check(free["description"] == "poison free", "and the server's where there are none", free)
        line = '{"jsonrpc":"2.0" , "id":"a\\u00e9\\ud83d\\ude00", "method":"x/other", "params":{"n":123456789012345678901234567890.000,"e":1E400},"more":[ ]}'
        answer = s.raw(line)
        cli.check(
            answer["id"] == "aé😀" and answer["result"]["raw"] == line + "\n",
            "another method passes byte for byte",
            answer,
        )
        answer = s.raw(
            '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"tools/call","params":{"name":"free","arguments":{"n":1e999,"n2":99999999999999999999}}}'
        )
        cli.check(
            answer["id"] == 123456789012345678901234567890 and "99999999999999999999" in text(answer),
            "large ids and numbers",
            answer,
        )
        big = s.ask("x/echo", {"data": "y" * (3 << 20)})
        cli.check(len(big["result"]["raw"]) > 3 << 20, "a message of megabytes, there and back")
        answer = s.call("where")
        seen = json.loads(text(answer))
        cli.check(
            seen["uid"] != 0
            and seen["pid"] < 10
            and seen["interfaces"] <= 1
            and seen["home"] is False
            and seen["wrote"] is True,
            "the server is in a cage, with what the policy grants",
            seen,
        )
        cli.check(os.path.exists(place.project + "/made"), "the server's file is there")
        s.send({"jsonrpc": "2.0", "id": 77, "result": {"roots": []}})
        heard = s.receive()
        cli.check(
            heard["params"] == {"jsonrpc": "2.0", "id": 77, "result": {"roots": []}},
            "the client's answers pass",
            heard,
        )
        cli.check(s.end() == 0, "ends with its client")
    with Wrapped() as s:
        answer = s.ask("server/discover", {"_meta": STATELESS})
        cli.check(answer["result"]["supportedVersions"] == ["2026-07-28"], "the stateless era passes", answer)
        answer = s.ask("tools/list", {"_meta": STATELESS})
        cli.check(names(answer) == SHOWN, "and is filtered", answer)
        answer = s.call("read", {"path": "/etc/passwd"}, meta=STATELESS)
        cli.check(
            answer["result"]["resultType"] == "complete" and answer["result"]["isError"] is True,
            "a refusal in its form",
            answer,
        )
        errors = s.errors()
        cli.check(
            "[actor] actor \\x1b[31mis here" in errors and "\x1b" not in errors,
            "its standard error comes cleaned and marked",
            errors,
        )


def each():
    text = BASE.replace("WAY", "honest").replace("tool.free = {}", 'tool."*" = {}')
    with Wrapped(file=place.write("home/each.toml", text)) as s:
        s.initialize()
        s.receive()
        answer = s.ask("tools/list", {})
        cli.check(
            names(answer) == ["read", "free", "danger", "slow", "big", "where"],
            'tool."*" shows each other tool, and not one that needs approval',
            answer,
        )
        cli.check("result" in s.call("danger"), "such a tool can be called")
        answer = s.call("read", {"path": "/workspace/out/x"})
        cli.check(
            answer["result"]["isError"] and "allowed: /workspace/in" in str(answer),
            "a named tool keeps its own rule",
            answer,
        )
        cli.check(code(s.ask("tools/call", {"name": 5})) == -32602, "a call without a name is refused")
    answer = place.run(
        "policy",
        "explain",
        "--policy",
        place.root + "/home/each.toml",
        "--server",
        "actor",
        "--tool",
        "danger",
    )
    cli.check(answer.code == 0, "explain knows a tool of tool.*", answer)


def refusals():
    with Wrapped() as s:
        s.initialize()
        s.receive()
        for path, words in (
            ("/etc/passwd", "allowed: /workspace/in"),
            ("/workspace/in/../x", '".."'),
            ("in/x", "absolute"),
            ("~/x", "absolute"),
            ("/workspace/inner", "allowed"),
            ("", "empty"),
            ("/workspace/in/a\n", "control"),
            (5, "string"),
        ):
            answer = s.call("read", {"path": path})
            cli.check(
                answer["result"]["isError"] is True and words in text(answer),
                f"path {path!r} is refused with words",
                answer,
            )
        answer = s.call("read", {"path": "/workspace/in/x", "lines": 10})
        cli.check("/workspace/in/x" in text(answer), "a path within its bound reaches the server", answer)
        for arguments, words in (
            ({}, "missing"),
            ({"path": "/workspace/in/x", "lines": 11}, "more than 10"),
            ({"path": "/workspace/in/x", "Path": "/etc/x"}, 'no argument "Path"'),
            ({"path": "/workspace/in/x", "lines": 99999999999999999999}, "integer"),
            ({"path": "/workspace/in/x\0"}, "not JSON"),
        ):
            answer = s.call("read", arguments)
            cli.check(
                answer["result"]["isError"] is True and words in text(answer),
                f"arguments {arguments!r} are refused",
                answer,
            )
        answer = s.raw(
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"/workspace/in/x","path":"/etc/x"}}}'
        )
        cli.check(answer["result"]["isError"] is True, "an argument given twice", answer)
        answer = s.call("ask")
        cli.check(
            answer["result"]["isError"] is True and "approval" in text(answer),
            "a tool that a person must approve",
            answer,
        )
        for name in ("danger", "Free", "free ", "free\0", "", "server.actor.tool.free", None, ["free"]):
            answer = s.ask("tools/call", {"name": name, "arguments": {}})
            cli.check(code(answer) == -32602, f"tool {name!r} is none", answer)
        call = '"id":1,"method":"tools/call","params":{"name":"free","arguments":{}'
        for line, wanted in (
            (b"{", -32700),
            (b'"\xff"', -32700),
            (b"[]x", -32700),
            (b"7", -32600),
            (b"[[]]", -32600),
            (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600),
            (f'{{"jsonrpc":"2.0",{call},"name":"danger"}}}}'.encode(), -32602),
            (f'{{"jsonrpc":"2.0",{call},"Name":"danger"}}}}'.encode(), -32602),
            (f'{{"jsonrpc":"2.0",{call},"argument\u017f":{{}}}}}}'.encode(), -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"danger"}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"danger"}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["danger"]}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
            (b"x" * (9 << 20), -32700),
        ):
            answer = s.raw(line)
            answer = answer[0] if isinstance(answer, list) else answer
            cli.check(code(answer) == wanted, f"{line[:90]!r} is answered with {wanted}", answer)
        hidden = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger"}}'
        for line in (
            f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":[\r{hidden}\r]}}}}',
            '{"jsonrpc":"2.0",\r"id":1,"method":"x/y"}',
            "[\r" + hidden + "\r]",
        ):
            answer = s.raw(line)
            cli.check(
                code(answer) == -32700 and "carriage return" in answer["error"]["message"],
                f"{line!r}: a line end within",
                answer,
            )
        for line in (
            hidden.replace("}}", "}\x0b}"),
            hidden.replace("}}", "}\x0c}"),
            hidden.replace("}}", "}\u2028}"),
            hidden.replace("}}", "}\x85}"),
        ):
            cli.check(code(s.raw(line)) == -32700, f"{line[-4:]!r} is no blank")
        line = '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"a":"\u2028\u2029\x85é\u2027\u202f\xa0"}}'
        answer = s.raw(line + "\r")
        cli.check(
            answer["result"]["raw"] == line.replace("\u2028\u2029\x85", "\\u2028\\u2029\\u0085") + "\n",
            "line ends of other readers are escaped in strings, and a line may end with CR LF",
            answer,
        )
        line = r'{"jsonrpc":"2.0","id":61,"method":"x/y","params":{"a":"\ud83d, \ud83d\ude00"}}'
        answer = s.raw(line)
        cli.check(
            answer["result"]["raw"] == line.replace(r"\ud83d,", r"\ufffd,") + "\n",
            "an unpaired surrogate is replaced before all readers",
            answer,
        )
        for number, params in (
            (62, r'{"\ud83d":1}'),
            (63, r'{"\ud83d":1,"\ud83e":2}'),
            (64, r'{"a":"\u12"}'),
            (65, '{"a":"%s"}' % ("x" * 9000000)),
        ):
            answer = s.raw('{"method":"x/y","params":%s,"jsonrpc":"2.0","id":%d}' % (params, number))
            cli.check(
                code(answer) == -32700 and answer["id"] == number,
                f"{params[:30]} is refused by its id",
                answer,
            )
        answer = s.ask("tools/call", {"name": "free", "arguments": None})
        cli.check(answer.get("result", {}).get("isError") is False, "null arguments", answer)
        answer = s.ask("tools/call", {"name": "read", "arguments": None})
        cli.check("missing" in text(answer), "are none", answer)
        for name, bounded in (("slow", True), ("big", True), ("free", False)):
            answer = s.ask("tools/call", {"name": name, "arguments": {}, "task": {"ttl": 60000}})
            cli.check(
                (code(answer) == -32602 and "task" in answer["error"]["message"]) == bounded,
                f"a task of {name}",
                answer,
            )
        answer = s.ask("tools/call", {"name": "slow", "Task": {}})
        cli.check(code(answer) == -32602, "spelled in another way", answer)
        s.send(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"danger"}}')
        answer = s.ask("x/after")
        cli.check(
            "x/after" in answer["result"]["raw"],
            "a call that wants no answer does not pass, and all goes on",
            answer,
        )
        s.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow"}})
        answer = s.raw('{"jsonrpc":"2.0","id":5,"method":"ping"}')
        cli.check(code(answer) == -32600, "an id that is in use is refused", answer)
        answer = s.receive()
        cli.check(
            answer["id"] == 5 and "timeout" in text(answer) and answer["result"]["isError"],
            "a call's own time limit",
            answer,
        )
    with Wrapped() as s:
        answer = s.call("big", {"bytes": 60000})
        cli.check(len(text(answer)) == 60000, "an answer within its limit")
        answer = s.call("big", {"bytes": 70000})
        cli.check(answer["result"]["isError"] and "limit:" in text(answer), "and one beyond it", answer)


def bounds():
    """Whatever is asked, and by whichever way the answer comes."""
    with Wrapped("bounded") as s:
        s.initialize()
        s.receive()
        answer = s.ask("x/bytes", {"bytes": 200000})
        cli.check(
            len(answer.get("result", {}).get("data", "")) == 200000,
            "an answer of another method within the server's output",
            answer,
        )
        answer = s.ask("resources/read", {"uri": "x:" + "y" * 300000})
        cli.check(
            code(answer) == -32603 and "the policy allows 262144" in answer["error"]["message"],
            "one beyond it",
            answer,
        )
        answer = s.call("free", {"data": "y" * 300000})
        cli.check(
            answer["result"]["isError"] and "the policy allows 262144" in text(answer),
            "that of a tool without an output of its own",
            answer,
        )
        answer = s.call("big", {"bytes": 70000})
        cli.check("the policy allows 65536" in text(answer), "and a tool's own stands", answer)
    with Wrapped("tasks") as s:
        s.initialize()
        s.receive()
        for name in ("free", "big", "slow"):
            answer = s.ask(
                "tools/call",
                {"name": name, "arguments": {}, **({"task": {"ttl": 60000}} if name == "free" else {})},
            )
            cli.check(
                answer["result"]["task"]["taskId"] == f"of {name}",
                f"{name}: the server speaks of a task",
                answer,
            )
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            answer = s.ask(method, {"taskId": "of free"})
            cli.check(
                method in answer.get("result", {}).get("raw", ""),
                f"{method}: of one that its policy allows",
                answer,
            )
        refused = [
            (method, f'{{"taskId":"{task}"}}')
            for task in ("of big", "of slow", "of nobody", "of Free")
            for method in ("tasks/get", "tasks/result", "tasks/cancel", "tasks/update")
        ]
        refused += [
            ("tasks/result", params)
            for params in (
                "{}",
                "[]",
                '{"taskId":5}',
                '{"taskId":"of free","taskId":"of big"}',
                '{"taskId":"of free","TaskId":"of big"}',
                '{"TaskId":"of free"}',
            )
        ]
        refused += [
            (method, '{"taskId":"of big"}')
            for method in ("Tasks/Result", "ta\u017fks/result", "tasks\\/result", "tasks/other")
        ]
        for method, params in refused:
            answer = s.raw(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}')
            cli.check(
                code(answer) == -32602 and "task" in answer["error"]["message"],
                f"{method} {params} is refused",
                answer,
            )
        answer = s.raw('{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"of \\u0066ree"}}')
        cli.check("result" in answer, "the same id in another spelling", answer)
        cli.check("result" in s.ask("tasks/list"), "and a list of them passes")


def arrays():
    with Wrapped() as s:
        s.initialize("2025-03-26")
        s.receive()
        for line in (
            "[]",
            '[{"jsonrpc":"2.0","id":1,"method":"x/y"}]',
            '[{"jsonrpc":"2.0","method":"notifications/x"}]',
            '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger"}}]',
            "[" + "0," * 3000 + "0]",
        ):
            answer = s.raw(line)
            cli.check(
                code(answer) == -32600
                and answer["id"] is None
                and "one message per line" in answer["error"]["message"],
                f"an array is refused as a whole, in the one version that has them, too: {line[:60]}",
                answer,
            )
        answer = s.ask("x/after")
        cli.check(
            "x/after" in answer.get("result", {}).get("raw", ""),
            "and nothing of it has reached the server",
            answer,
        )
    with Wrapped("array") as s:
        s.initialize("2025-03-26")
        s.receive()
        s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        cli.check(
            names(s.receive()) == SHOWN and "send one message per line, not an array" in s.errors(),
            "the server's is dropped",
        )


def liars():
    for way in ("twice", "case"):
        with Wrapped(way) as s:
            answer = s.ask("tools/list")
            cli.check(
                code(answer) == -32603 and "danger" not in json.dumps(answer),
                f"a list that says two things ({way}) is dropped",
                answer,
            )
    with Wrapped("both") as s:
        answer = s.ask("tools/list")
        cli.check(
            code(answer) == -32603 and "danger" not in json.dumps(answer),
            "a request that is an answer too is dropped",
            answer,
        )
    with Wrapped("escaped") as s:
        cli.check(names(s.ask("tools/list")) == SHOWN, "a list whose key is escaped is a list")
    with Wrapped("names") as s:
        answer = s.ask("tools/list")
        cli.check(
            answer["result"]["tools"] == [{"name": "free"}],
            "tools of two names, of none, with NUL and twice are not shown",
            answer,
        )
    with Wrapped("unasked") as s:
        answer = s.ask("tools/list", None, 4)
        cli.check(names(answer) == SHOWN, "answers to nothing are dropped", answer)
        cli.check("an answer without a request" in s.errors(), "and told")
    with Wrapped("noise") as s:
        answer = s.ask("tools/list")
        cli.check(names(answer) == SHOWN, "a line that is not a message is dropped", answer)
    with Wrapped("cut") as s:
        answer = s.ask("x/cut")
        cli.check(answer["result"] == {"text": "a\ufffd"}, "an answer with half a character", answer)
        cli.check("unpaired surrogates" in s.errors(), "is reported")
    with Wrapped("huge") as s:
        answer = s.call("free")
        cli.check(
            code(answer) == -32603 and "8 MiB" in answer["error"]["message"],
            "a line over 8 MiB fails what waits",
            answer,
        )
        cli.check(names(s.ask("tools/list")) == SHOWN, "and the next works")


def actors():
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
            if b"/srv/actor.py" in words and place.root.encode() in (entry.parent / "environ").read_bytes():
                found.append(entry.parent.name)
        except OSError:
            pass
    return found


def status(pid, key):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return int(next((line.split()[1] for line in lines if line.startswith(key + ":")), 0))


def memory(pid):
    return status(pid, "VmRSS") >> 10


def helpers():
    """The processes above the server's that are ours."""
    found, pid = [], int((actors() or [0])[0])
    while pid > 1:
        pid = status(pid, "PPid")
        found += [pid] if pid > 1 else []
    return found


def flood():
    """Of both streams, at a client that does not read, then at one that does: a bounded wrapper and helper."""
    with Wrapped("flood", stderr=subprocess.DEVNULL, env=scene.MEASURED) as s:
        s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        time.sleep(3)
        pid = int(
            subprocess.run(["pgrep", "-n", "-P", str(s.process.pid)], capture_output=True, check=False).stdout
            or s.process.pid
        )
        cli.check(memory(pid) < 64, "a client that does not read costs no memory", memory(pid))
        end, lines = time.monotonic() + 3, 0
        while time.monotonic() < end:
            lines += s.receive() is not None
        cli.check(lines > 100 and memory(pid) < 64, "one that reads gets the lines", (lines, memory(pid)))
        above = [memory(pid) for pid in helpers()]
        cli.check(above and max(above) < 128, "nor does the helper grow", above)
        began = time.monotonic()
        cli.check(s.end() == 0 and time.monotonic() - began < 15, "and it ends with its client")


def ends():
    with Wrapped("gone") as s:
        s.send({"jsonrpc": "2.0", "id": 1, "method": "x/y"})
        s.receive()
        answer = s.call("free")
        cli.check(
            code(answer) == -32603 and "has ended" in answer["error"]["message"],
            "a server that goes: what waits is answered",
            answer,
        )
        cli.check(s.process.wait(30) == 7, "and its exit code is ours", s.process.returncode)
        errors = s.process.stderr.read().decode()
        cli.check(
            "[actor] I leave" in errors and "ended by itself, with exit code 7" in errors, "and told", errors
        )
    for way, end in (
        ("the end of its input", lambda s: s.end()),
        ("SIGKILL", lambda s: s.process.send_signal(signal.SIGKILL)),
        ("SIGTERM", lambda s: s.process.send_signal(signal.SIGTERM)),
        ("a closed output", lambda s: s.process.stdout.close()),
    ):
        with Wrapped() as s:
            s.ask("x/y")
            s.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "free"}})
            cli.check(len(actors()) >= 1, "the server runs")
            end(s)
            cli.check(scene.until(lambda: not actors()), f"{way} of the client ends the cage", actors())
    with Wrapped() as s:
        s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow"}})
        s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        began = time.monotonic()
        cli.check(s.end() == 0 and time.monotonic() - began < 12, "a server that does not end is ended")
        cli.check(scene.until(lambda: not actors()), "and nothing is left")


def last_answers():
    """What waits at the end of the input is answered, or said to be cancelled."""
    for way, wanted in (("honest", "result"), ("silent", "error")):
        with Wrapped(way, stderr=subprocess.DEVNULL) as s:
            s.send({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": {"name": "free"}})
            began = time.monotonic()
            cli.check(s.end() == 0 and time.monotonic() - began < 12, f"{way}: it ends")
            answers = {answer.get("id"): answer for answer in map(json.loads, s.process.stdout)}
            cli.check(wanted in answers.get(70, {}), f"{way}: the pending request is answered", answers)
            if way == "silent":
                cli.check("cancelled" in answers[70]["error"]["message"], "as cancelled", answers)


def silence():
    """Nothing for ten seconds: whoever waits is told, and the client's end is the end."""
    with Wrapped("silent") as s:
        s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        cli.check(s.receive(11) is None, "a silent server answers nothing")
        errors = s.errors()
        cli.check(
            s.process.returncode == 0 and "has not answered for ten seconds" in errors,
            "and it is told",
            errors,
        )


def choice():
    file = policy()
    expect = lambda name, args, code, *texts: cli.expect(
        place, name, ["wrap", "--policy", file, *args], code, *texts
    )  # noqa: E731
    expect("an ambiguous server is an error", [], 125, "several servers", "actor, open")
    expect("an unknown one", ["--server", "x"], 125, "no server x", "actor, open")
    expect(
        "a command that the policy does not have",
        ["--", "sh", "-c", "id"],
        125,
        "no server of the policy has this command",
    )
    expect(
        "another command for one that has its own",
        ["--server", "actor", "--", "sh"],
        126,
        "sets the command of server",
    )
    expect("one without a command", ["--server", "open"], 125, "no command")
    answer = place.run(
        "wrap",
        "--policy",
        file,
        "--",
        "/usr/bin/python3",
        "/srv/actor.py",
        "honest",
        stdin=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
    )
    cli.check(
        answer.code == 0 and '"free"' in answer.out and '"danger"' not in answer.out,
        "the policy's own command finds its server",
        answer,
    )
    answer = place.run(
        "wrap",
        "--policy",
        file,
        "--server",
        "open",
        "--",
        "/usr/bin/python3",
        "/srv/actor.py",
        stdin=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
    )
    cli.check(
        answer.code == 0 and '"free"' in answer.out and '"read"' not in answer.out,
        "a server whose command is the caller's",
        answer,
    )
    place.write("home/project/srv/npx", "#!/bin/sh\necho ENOTFOUND >&2; exit 3\n", 0o755)
    fetched = place.write(
        "home/npx.toml",
        BASE.replace('["/usr/bin/python3", "/srv/actor.py", "WAY"]', '["/srv/npx", "-y", "server"]'),
    )
    with subprocess.Popen(
        place.argv("wrap", "--policy", fetched, "--server", "actor"),
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        error = process.stderr.read().decode()
        cli.check(
            process.wait(30) == 3
            and "npx downloads what it runs" in error
            and "install the server beforehand" in error,
            "a fetcher that fails without a network: what to do",
            error,
        )
    answer = place.run("policy", "explain", "--policy", file, "--server", "actor", "--json")
    grant = json.loads(answer.out)
    cli.check(
        grant["tool"] == "server.actor" and grant["limits"]["timeout"]["value"] is None,
        "explain --server: no timeout unless said",
        answer,
    )
    answer = place.run(
        "policy",
        "explain",
        "--policy",
        file,
        "--server",
        "actor",
        "--tool",
        "read",
        "--arguments",
        '{"path": "/etc/x"}',
    )
    cli.check(
        answer.code == 126 and "allowed: /workspace/in" in answer.err,
        "explain of a server's tool checks its arguments",
        answer,
    )
    answer = place.run("call", "server.actor.tool.read", "{}", "--policy", file)
    cli.check(
        answer.code == 125 and "tool of a server" in answer.err,
        "a server's tool has no cage of its own",
        answer,
    )


def recorded():
    """With [audit] each request of a tool is recorded before the server sees it, and none passes without."""
    log = pathlib.Path(place.home, ".local/state/toolcage/audit")

    def records():
        lines = [line for path in sorted(log.glob("*.jsonl")) for line in path.read_text().splitlines()]
        return [json.loads(line) for line in lines]

    plain = policy("honest")
    audited = place.write("home/audited.toml", "[audit]\n" + pathlib.Path(plain).read_text(encoding="utf-8"))
    with Wrapped("honest", "--policy", audited) as s:
        s.initialize()
        s.receive()
        s.ask("tools/call", {"name": "where", "arguments": {}})
        s.ask("tools/call", {"name": "read", "arguments": {"path": "/etc/shadow"}})
        s.ask("tools/call", {"name": "unknown\n", "arguments": {"x": [1]}})
        found = [r for r in records() if r["kind"] == "request"]
        cli.check(
            [(r["tool"], r["status"]) for r in found]
            == [("where", "passed"), ("read", "denied"), ("unknown\n", "denied")]
            and found[1]["arguments"] == {"path": "/etc/shadow"}
            and "/workspace/in" in found[1]["refusal"]
            and all(r["server"] == "server.actor" for r in found)
            and found[0]["call"] == records()[1]["call"],
            "requests of a server's tools are recorded",
            records(),
        )
        cli.check(
            "where" in place.run("audit", "list", "--status", "passed").out,
            "requests of a server's tools are listed",
        )
        os.chmod(log, 0o777)
        answer = s.ask("tools/call", {"name": "where", "arguments": {}})
        os.chmod(log, 0o700)
        cli.check(
            code(answer) == -32603 and "without a record nothing is passed on" in answer["error"]["message"],
            "a request that cannot be recorded is refused",
            answer,
        )


with place:
    for part in (
        recorded,
        passes,
        each,
        refusals,
        bounds,
        arrays,
        liars,
        flood,
        ends,
        last_answers,
        silence,
        choice,
    ):
        part()
cli.finish()

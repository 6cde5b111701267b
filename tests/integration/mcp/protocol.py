# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp, line by line: versions, tools, calls, refusals, cancellation, bad input, a client that does not read."""

import json
import os
import signal
import time

import scene
from scene import STATELESS, Server, cli  # which says where the next one is
from processes import helpers_of

cli.require_user()
place, policy, mark = scene.place_with_policy()


def code(answer):
    return answer.get("error", {}).get("code")


def result(answer):
    return answer.get("result", {})


def status(answer):
    return whole(answer).get("status")


def whole(answer):
    """The result for programs."""
    return result(answer).get("_meta", {}).get("toolcage/result", {})


def versions():
    for wanted, given in (
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("9999-01-01", "2025-11-25"),
    ):
        with Server(place, policy) as s:
            answer = s.initialize(wanted)
            cli.check(
                result(answer).get("protocolVersion") == given,
                f"initialize {wanted} agrees on {given}",
                answer,
            )
            answer = s.call("add", {"a": 40, "b": 2})
            cli.check(
                "42" in result(answer)["content"][0]["text"] and status(answer) == "ok",
                f"a call under {given}, with the result for programs",
                answer,
            )
            cli.check(s.end() == 0, "ends when its input ends")
    with Server(place, policy) as s:
        answer = s.ask("server/discover", {"_meta": STATELESS})
        cli.check(
            result(answer).get("supportedVersions") == ["2026-07-28"]
            and result(answer)["resultType"] == "complete",
            "server/discover",
            answer,
        )
        answer = s.call("add", {"a": 1, "b": 2}, meta=STATELESS)
        cli.check(
            status(answer) == "ok"
            and result(answer)["resultType"] == "complete"
            and "io.modelcontextprotocol/serverInfo" in result(answer)["_meta"],
            "a stateless call needs no handshake",
            answer,
        )
        other = {**STATELESS, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
        answer = s.ask("tools/list", {"_meta": other})
        cli.check(
            code(answer) == -32022
            and answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"},
            "an unknown stateless version is refused with those that work",
            answer,
        )
        answer = s.ask("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}})
        cli.check(code(answer) == -32602, "a stateless request without capabilities is refused", answer)
        cli.check(code(s.ask("tools/list")) == -32602, "a request of no version is refused")
        cli.check(code(s.ask("ping", {"_meta": STATELESS})) == -32601, "ping went with the handshake")
        cli.check(result(s.ask("ping")) == {}, "ping before the handshake")


def names():
    for given, name in (
        ((), "toolcage"),
        (("--name", "a"), "a"),
        (("--name", "data-tools_2.0"), "data-tools_2.0"),
        (("--name", "x" * 64), "x" * 64),
    ):
        with Server(place, policy, *given) as s:
            info = result(s.initialize())["serverInfo"]
            told = result(s.ask("tools/list", {"_meta": STATELESS}))["_meta"][
                "io.modelcontextprotocol/serverInfo"
            ]
            cli.check(
                info["name"] == info["title"] == name and told == info,
                f"the server is called {name[:20]}",
                (info, told),
            )
    for bad in "", "-a", ".a", "a b", "a/b", "a\n", 'a"', "x" * 65, "\u00e4":
        answer = place.run("mcp", "--policy", policy, "--name", bad)
        cli.check(
            answer.code == 125
            and "--name" in answer.err
            and "hint: write a name like data-tools" in answer.err
            and not answer.out,
            f"no name: {bad[:20]!r}",
            answer,
        )


def tools():
    with Server(place, policy) as s:
        s.initialize()
        listed = {t["name"]: t for t in result(s.ask("tools/list"))["tools"]}
        cli.check(
            set(listed)
            == {
                "add",
                "note",
                "peek",
                "draw",
                "bytes",
                "picture",
                "say",
                "optional",
                "connect",
                "wait",
                "fail",
                "large",
            },
            "tools/list has the tools with a command that nobody has to approve",
            sorted(listed),
        )
        cli.check(
            listed["add"]["title"] == "Adder"
            and listed["add"]["inputSchema"]["additionalProperties"] is False,
            "title and closed schema",
            listed["add"],
        )
        cli.check(
            listed["add"]["annotations"]
            == {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
            and listed["note"]["annotations"]["readOnlyHint"] is False,
            "annotations follow the grant",
            listed,
        )
        cli.check(code(s.ask("tools/list", {"cursor": "x"})) == -32602, "an unknown cursor")
        cli.check(
            code(s.call("nothing")) == -32602
            and code(s.call("unlisted")) == -32602
            and code(s.call("asked")) == -32602,
            "an unlisted tool is no tool",
        )
        cli.check(code(s.ask("prompts/list")) == -32601, "another method")


def calls():
    with Server(place, policy, "--workspace", place.project) as s:
        s.initialize()
        answer = s.call("note", {"text": "from a model"})
        with open(os.path.join(place.project, "note.txt"), encoding="utf-8") as note:
            cli.check(
                status(answer) == "ok" and note.read() == "from a model", "a write in the workspace", answer
            )
        answer = s.call("peek")
        cli.check(
            result(answer)["isError"] is True and "the secret" not in json.dumps(answer),
            "a file without a grant stays unseen",
            answer,
        )
        answer = s.call("connect")
        cli.check(
            result(answer)["isError"] is True
            and "127.0.0.1:9 was refused" in result(answer)["content"][0]["text"],
            "a refused connect stands in the message",
            answer,
        )
        answer = s.call("add", {"a": 1001, "b": 0})
        cli.check(
            result(answer)["isError"] is True
            and status(answer) == "denied"
            and "1000" in result(answer)["content"][0]["text"],
            "arguments out of bounds: a result that a model can repair",
            answer,
        )
        for arguments in ({"b": 0}, {"a": 1001, "b": 0}, {"a": "1; id", "b": 0}):
            answer = s.call("add", arguments)
            text = result(answer)["content"][0]["text"]
            cli.check(
                text.startswith("denied: ") and "arguments.a" in text and "arguments.b" not in text,
                f"the refusal names the argument: {arguments}",
                text,
            )
        answer = s.call("add", {"a": "1; id", "b": 0})
        cli.check(status(answer) == "denied", "arguments of a wrong type", answer)
        answer = s.call("note", {"text": "a\0b"})
        cli.check(
            result(answer)["isError"] is True and status(answer) != "error" or status(answer) == "ok",
            "NUL in an argument is answered",
            answer,
        )
        answer = s.call("fail")
        cli.check(
            result(answer)["isError"] is True
            and status(answer) == "failed"
            and "broken" in result(answer)["content"][0]["text"],
            "a tool's own failure",
            answer,
        )
        for i in range(3):
            s.send(
                {
                    "jsonrpc": "2.0",
                    "id": f"w{i}",
                    "method": "tools/call",
                    "params": {"name": "add", "arguments": {"a": i, "b": 0}},
                }
            )
        ids = {s.receive()["id"] for _ in range(3)}
        cli.check(ids == {"w0", "w1", "w2"}, "three calls at once, each with its answer", ids)


def wait_with(s, meta):
    s.send(
        {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {"name": "wait", "_meta": meta}}
    )


def progress():
    """Only for a call whose client sent a token, and not after its end."""
    for meta in ({"progressToken": "t"}, {**STATELESS, "progressToken": 7}):
        with Server(place, policy) as s:
            s.initialize()
            token = meta["progressToken"]
            wait_with(s, meta)
            came = [s.receive(), s.receive()]
            cli.check(
                all(
                    (m["method"], m["params"]["progressToken"]) == ("notifications/progress", token)
                    and f"running for {m['params']['progress']} s" == m["params"]["message"]
                    for m in came
                )
                and came[0]["params"]["progress"] < came[1]["params"]["progress"],
                "progress of a running call",
                came,
            )
            s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
            cli.check(s.receive(7) is None, "no progress of a cancelled call")
    for meta in ({}, {"progressToken": None}, {"progressToken": [1]}, {"progressToken": 1.5}):
        with Server(place, policy) as s:
            s.initialize()
            wait_with(s, meta)
            cli.check(s.receive(2) is None, f"no progress with {meta}")


def cancellation():
    with Server(place, policy) as s:
        s.initialize()
        s.send(
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
        )
        cli.check(scene.until(lambda: scene.sleeping(mark) == 1), "the tool runs")
        answer = s.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}}, 7)
        cli.check(code(answer) == -32600, "an id that is in use is refused", answer)
        s.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 8, "reason": "not this one"},
            }
        )
        for params in ({}, {"reason": "whom?"}, {"requestId": None}, []):
            s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        s.ask("ping")
        time.sleep(0.3)
        cli.check(scene.sleeping(mark) == 1, "a cancellation of nobody cancels nobody")
        s.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 7, "reason": "enough"},
            }
        )
        cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "cancelled: the cage is gone")
        answer = s.call("add", {"a": 2, "b": 2}, 9)
        cli.check(answer.get("id") == 9, "and nothing is answered to it", answer)
        s.send(
            {"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
        )
        cli.check(scene.until(lambda: scene.sleeping(mark) == 1), "the tool runs again")
        cli.check(
            s.end() == 0 and scene.until(lambda: scene.sleeping(mark) == 0),
            "the end of the input ends every cage",
        )
    with Server(place, policy) as s:
        s.initialize()
        s.send(
            {"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
        )
        scene.until(lambda: scene.sleeping(mark) == 1)
        s.process.send_signal(signal.SIGKILL)
        cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "so does SIGKILL of the server")


def many():
    with Server(place, policy) as s:
        s.initialize()
        for i in range(70):
            s.send(
                {
                    "jsonrpc": "2.0",
                    "id": i,
                    "method": "tools/call",
                    "params": {"name": "wait", "arguments": {}},
                }
            )
        refused = [s.receive() for _ in range(6)]
        cli.check(
            all(r and "too many" in r["result"]["content"][0]["text"] for r in refused),
            "the 65th call at once waits for none",
            refused,
        )
        cli.check(s.end(60) == 0 and scene.until(lambda: scene.sleeping(mark) == 0), "64 calls end together")


def bad_input():
    with Server(place, policy) as s:
        for text, wanted in (
            (b"{", -32700),
            (b'{"a":1,"a":2}', -32700),
            (b'"\xff"', -32700),
            (b"[]", -32600),
            (b"7", -32600),
            (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
            (b"[" * 5000, -32700),
            (b"x" * (9 << 20), -32700),
        ):
            s.send(text)
            answer = s.receive()
            cli.check(answer and code(answer) == wanted, f"{text[:40]!r} is answered with {wanted}", answer)
        for quiet in (
            b"",
            b"  \r",
            b'{"jsonrpc":"2.0","id":5,"result":{}}',
            b'{"jsonrpc":"2.0","method":"notifications/unknown"}',
        ):
            s.send(quiet)
        s.initialize()
        cli.check(
            code(s.ask("tools/call", {"name": "add", "arguments": []})) == -32602,
            "arguments that are no object",
        )
        cli.check(code(s.ask("tools/call", {})) == -32602, "a call of nothing")
        answer = s.call("add", {"a": 3, "b": 4})
        cli.check(status(answer) == "ok", "and it still works", answer)
    with Server(place, policy) as s:
        s.initialize("2025-03-26")
        for many in (
            [],
            [{"jsonrpc": "2.0", "id": 1, "method": "ping"}],
            [{"jsonrpc": "2.0", "method": "notifications/x"}],
            [0] * 3000,
        ):
            s.send(many)
            answer = s.receive()
            cli.check(
                code(answer) == -32600
                and answer["id"] is None
                and "one message per line" in answer["error"]["message"],
                f"an array is refused as a whole, in the one version that has them, too: {many[:1]}",
                answer,
            )
        cli.check(s.ask("ping")["result"] == {}, "and nothing of it is answered", "ping")


def unread():
    """A message that cannot be read as a whole is answered by its own id."""
    call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"say","arguments":{%s}}}'
    late = '{"method":"tools/call","params":{"name":"say","arguments":{%s}},"jsonrpc":"2.0","id":%s}'
    with Server(place, policy) as s:
        s.initialize()
        for number, (what, text) in enumerate(
            (
                ("an integer of 20 digits", call % (20, '"n":12345678901234567890')),
                ("a broken escape", call % (21, r'"s":"\u12"')),
                ("no end", (call % ('"x y"', '"s":"'))[:-4]),
                ("9 MB after the id", call % (23, '"s":"%s"' % ("x" * 9000000))),
                ("9 MB before the id", late % ('"s":"%s"' % ("x" * 9000000), 24)),
                ("a surrogate in a key", call % (25, r'"\ud800":1')),
            ),
            20,
        ):
            s.send(text.encode())
            answer = s.receive()
            cli.check(
                code(answer) == -32700 and answer["id"] == ("x y" if number == 22 else number),
                f"{what}: by its id",
                answer,
            )
        for text in (
            r'{"jsonrpc":"2.0","id":5,"result":"\u12"}',
            r'{"jsonrpc":"2.0","id":5,"method":"x","id":6,"y":"\u12"}',
            r'{"jsonrpc":"2.0","method":"x","y":"\u12"}',
        ):
            s.send(text.encode())
            answer = s.receive()
            cli.check(code(answer) == -32700 and answer["id"] is None, f"no id to answer: {text}", answer)
        s.send((call % (30, r'"s":"a\ud83d, \ud83d\ude00"')).encode())
        answer = s.receive()
        texts = [block["text"] for block in result(answer)["content"]]
        cli.check("a\ufffd, \U0001f600" in texts[0], "an unpaired surrogate is replaced", answer)
        cli.check(len(texts) == 2 and "U+FFFD" in texts[1], "and that is said", texts)
        for arguments in (None, {}):
            s.send(
                {
                    "jsonrpc": "2.0",
                    "id": 31,
                    "method": "tools/call",
                    "params": {"name": "say", "arguments": arguments},
                }
            )
            answer = s.receive()
            cli.check(status(answer) == "ok", f"arguments {arguments}", answer)


def input_end():
    """What runs is finished, for two seconds; then it is cancelled, and answered."""
    with Server(place, policy) as s:
        s.initialize()
        s.send({"jsonrpc": "2.0", "id": 40, "method": "tools/call", "params": {"name": "say"}})
        s.send({"jsonrpc": "2.0", "id": 41, "method": "tools/call", "params": {"name": "wait"}})
        cli.check(s.end() == 0, "it ends")
        answers = {answer["id"]: answer for answer in map(json.loads, s.process.stdout)}
        cli.check(status(answers.get(40, {})) == "ok", "a call that ends soon is answered", answers)
        cli.check(
            status(answers.get(41, {})) == "cancelled" and result(answers[41])["isError"],
            "one that does not is cancelled, and the answer says so",
            answers,
        )
        cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "no cage is left")


def contents():
    """Each text and each file once."""
    with Server(place, policy) as s:
        s.initialize()
        answer = s.call("draw")
        text, *files = result(answer)["content"]
        whole_line = json.dumps(answer)
        cli.check(
            text["type"] == "text" and text["text"].endswith("stdout:\nmarker-word\n"), "the text first", text
        )
        cli.check(whole_line.count("marker-word") == 1, "once", answer)
        by_type = {f.get("mimeType") or f["resource"]["uri"].rsplit("/", 1)[1]: f for f in files}
        image = by_type.get("image/png", {})
        cli.check(image.get("type") == "image" and image["data"] == scene.PNG, "an image", files)
        cli.check(whole_line.count(scene.PNG) == 1, "its bytes once", answer)
        csv = by_type.get("d.csv", {}).get("resource", {})
        cli.check(
            csv.get("text") == "a,b\n"
            and csv["uri"] == "file:///workspace/d.csv"
            and csv["mimeType"] == "text/csv",
            "a file of text is a resource",
            files,
        )
        cli.check(
            by_type.get("c.bin", {}).get("resource", {}).get("blob") == "//4=", "other bytes, too", files
        )
        said = {f["path"]: f for f in whole(answer)["files"]}
        cli.check(
            set(said) == {"/workspace/a b.png", "/workspace/c.bin", "/workspace/d.csv"}
            and "text" not in said["/workspace/d.csv"]
            and said["/workspace/d.csv"]["bytes"] == 4,
            "the result for programs has the rest",
            said,
        )
        image = result(s.call("picture"))["content"][-1]
        cli.check(
            image.get("type") == "image" and image["mimeType"] == "image/png" and image["data"] == scene.PNG,
            "a picture on standard output",
            image,
        )
        answer = s.call("optional", {"code": 0})
        denials = {d["target"]: d["probe"] for d in whole(answer)["denials"]}
        cli.check(
            "denied" not in result(answer)["content"][0]["text"],
            "optional calls: no denial in the text",
            answer,
        )
        cli.check(
            {"fanotify_init", "bpf", "io_uring_setup", "perf_event_open", "keyctl", "userfaultfd"}
            <= set(denials)
            and all(denials.values()),
            "they are listed for programs",
            denials,
        )
        answer = s.call("optional", {"code": 1})
        cli.check(
            "denied: syscall bpf" in result(answer)["content"][0]["text"], "a failed call says them", answer
        )


def slow_reader():
    """A client that sends and does not read: nothing is lost, and the server takes in no more than it can hold."""
    with Server(place, policy, env=scene.MEASURED) as s:
        s.initialize()
        for i in range(20):
            s.send(
                {
                    "jsonrpc": "2.0",
                    "id": i,
                    "method": "tools/call",
                    "params": {"name": "large", "arguments": {}},
                }
            )
        time.sleep(2)
        with open(f"/proc/{s.process.pid}/status", encoding="utf-8") as lines:
            resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        answers = [s.receive() for _ in range(20)]
        cli.check(
            all(answers) and {a["id"] for a in answers} == set(range(20)),
            "twenty large answers to a slow reader",
        )
        cli.check(resident < 200000, "and the memory stays bounded", resident)


def lost_helper():
    with Server(place, policy) as s:
        s.initialize()
        s.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
        )
        scene.until(lambda: scene.sleeping(mark) == 1)
        killed = helpers_of(s.process.pid)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        answer = s.receive()
        cli.check(killed and answer and "error" in json.dumps(answer), "a killed helper is told", answer)
        answer = s.call("add", {"a": 5, "b": 5}, 2)
        cli.check(status(answer) == "ok", "the next call has a new one", answer)


with place:
    for part in (
        versions,
        names,
        tools,
        calls,
        cancellation,
        progress,
        many,
        bad_input,
        unread,
        input_end,
        contents,
        slow_reader,
        lost_helper,
    ):
        part()
    answer = place.run("mcp", cwd="/")
    cli.check(
        answer.code == 125 and "no policy" in answer.err and not answer.out,
        "without a policy: an error, and not on standard output",
        answer,
    )
cli.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The parts of the protocol besides tools pass between a wrapped server and its client only if the policy says so, and
neither side is told of what does not pass."""

import json
import os
import pathlib
import subprocess
import time

import scene
from scene import STATELESS, cli

cli.require_user()
POLICY = """
[server.speaker]
command = ["/usr/bin/python3", "/srv/speaker.py"]
filesystem = { readable = [{ path = "/srv", from = "project/srv" }] }
memory = { max = "256MiB", by = "any" }
PASS
tool.say = {}
tool.heard = {}
tool.result = {}
"""
SERVER = pathlib.Path(__file__).with_name("speaker.py").read_text(encoding="utf-8")
# part: the client's requests, the server's requests, the client's notifications, the server's notifications
PARTS = {
    "resources": (
        ["resources/list", "resources/read", "resources/templates/list", "resources/subscribe"],
        [],
        [],
        ["notifications/resources/updated", "notifications/resources/list_changed"],
    ),
    "prompts": (["prompts/list", "prompts/get"], [], [], ["notifications/prompts/list_changed"]),
    "completions": (["completion/complete"], [], [], []),
    "logging": (["logging/setLevel"], [], [], ["notifications/message"]),
    "tasks": (["tasks/list"], ["tasks/get"], ["notifications/tasks/status"], ["notifications/tasks/status"]),
    "sampling": ([], ["sampling/createMessage"], [], []),
    "elicitation": ([], ["elicitation/create"], [], ["notifications/elicitation/complete"]),
    "roots": ([], ["roots/list"], ["notifications/roots/list_changed"], []),
    "other": (
        ["x/y", "resource/list", "tools/other"],
        ["x/y", "tools/call", "tools/list", "initialize"],
        ["notifications/x"],
        ["notifications/x", "notifications/tools/other"],
    ),
}
SERVER_SIDE = ["completions", "logging", "prompts", "resources", "tasks"]
CLIENT_SIDE = ["elicitation", "roots", "sampling", "tasks"]
CLIENT = {
    "sampling": {"tools": {}},
    "elicitation": {},
    "roots": {"listChanged": True},
    "tasks": {},
    "experimental": {"x": {}},
    "extensions": {},
    "Sampling": {},
}


class Wrapped(scene.Server):
    def __init__(self, place, passed=()):
        text = f"pass = {json.dumps(passed)}" if passed else ""
        policy = place.write("home/servers.toml", POLICY.replace("PASS", text))
        self.process = place.popen(
            "wrap",
            "--policy",
            policy,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.rest = b""

    def start(self, capabilities=None):
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities or {},
            "clientInfo": {"name": "lines", "version": "0"},
        }
        return self.ask("initialize", params, "init")

    def heard(self):
        """What the server has received."""
        return json.loads(self.call("heard", id="heard")["result"]["content"][0]["text"])

    def say(self, message):
        """The server sends it. What comes here before the tool's answer, which is the server's answer."""
        self.send(
            {
                "jsonrpc": "2.0",
                "id": "say",
                "method": "tools/call",
                "params": {"name": "say", "arguments": {"line": json.dumps(message)}},
            }
        )
        came, answer = [], self.receive()
        while answer and answer.get("id") != "say":
            came.append(answer)
            if "id" in answer:
                self.send({"jsonrpc": "2.0", "id": answer["id"], "result": {"of": "client"}})
            answer = self.receive()
        return came, json.loads(answer["result"]["content"][0]["text"])

    def errors(self):
        self.process.stdin.close()
        self.process.stdin = open(os.devnull, "wb")
        self.process.wait(30)
        return self.process.stderr.read().decode()


def check_messages(place, part, passed):
    """All messages of a part, in both directions."""
    asks, asked, notes, noted = PARTS[part]
    with Wrapped(place, passed) as s:
        s.start()
        passes = part in passed
        word = f"{part}, which {'passes' if passes else 'does not pass'}"
        for method in asks:
            answer = s.ask(method, {})
            error = answer.get("error", {})
            cli.check(
                answer.get("result") == {"reached": method}
                if passes
                else error.get("code") == -32601 and f'pass = ["{part}"] would' in error["message"],
                f"{word}: request {method}",
                answer,
            )
        for method in asked:
            came, answer = s.say({"jsonrpc": "2.0", "id": 5, "method": method, "params": {}})
            cli.check(
                (came[0]["method"], answer["result"]) == (method, {"of": "client"})
                if passes
                else not came and answer["id"] == 5 and answer["error"]["code"] == -32601,
                f"{word}: the server's request {method}",
                (came, answer),
            )
        for method in notes:
            s.send({"jsonrpc": "2.0", "method": method})
        found = [message.get("method") for message in s.heard()]
        cli.check(
            all((method in found) == passes for method in notes) and (passes or not set(asks) & set(found)),
            f"{word}: the server receives what passes",
            found,
        )
        for method in noted:
            came, _ = s.say({"jsonrpc": "2.0", "method": method})
            cli.check(bool(came) == passes, f"{word}: the server's notification {method}", came)
        errors = s.errors()
        cli.check(
            passes or not (asked or noted) or errors.count(f'pass = ["{part}"] would') == 1,
            f"{word}: the operator is told once",
            errors,
        )


def messages_pass_by_part(place):
    for part in PARTS:
        check_messages(place, part, [])
        check_messages(place, part, [part])
        check_messages(place, part, [other for other in PARTS if other != part])


def case_does_not_matter(place):
    with Wrapped(place, ["other"]) as s:
        s.start()
        for method in ("Resources/List", "PROMPTS/get", "\u017fampling/createMessage", "tas\u212as/list"):
            answer = s.ask(method, {})
            cli.check(answer["error"]["code"] == -32601, f"{method!r} is of its part", answer)
            came, answer = s.say({"jsonrpc": "2.0", "id": 5, "method": method})
            cli.check(not came and "error" in answer, f"{method!r} of the server, too", (came, answer))


def capabilities_follow(place):
    for passed in ([], ["sampling"], ["resources", "roots"], ["tasks"], ["other"], [*PARTS, "instructions"]):
        with Wrapped(place, passed) as s:
            result = s.start(CLIENT)["result"]
            other = ["experimental", "extensions"] if "other" in passed else []
            server = sorted(
                [
                    "tools",
                    *other,
                    *(["\u212asampling"] if other else []),
                    *(p for p in SERVER_SIDE if p in passed),
                ]
            )
            client = sorted(
                [
                    *other,
                    *(p for p in CLIENT_SIDE if p in passed),
                    *(["Sampling"] if "sampling" in passed else []),
                ]
            )
            cli.check(
                sorted(result["capabilities"]) == server, f"{passed}: the server's capabilities", result
            )
            cli.check(
                result["instructions"] == ("obey the server" if "instructions" in passed else ""),
                f"{passed}: its instructions",
                result,
            )
            told = s.heard()[0]["params"]
            cli.check(
                sorted(told["capabilities"]) == client and told["clientInfo"]["name"] == "lines",
                f"{passed}: the client's capabilities",
                told,
            )
            result = s.ask("server/discover", {"_meta": STATELESS})["result"]
            cli.check(
                sorted(result["capabilities"]) == server
                and (result["instructions"] != "") == ("instructions" in passed),
                f"{passed}: those of server/discover",
                result,
            )
            meta = {**STATELESS, "io.modelcontextprotocol/clientCapabilities": CLIENT, "x": 1}
            s.call("heard", meta=meta)
            told = s.heard()[-2]["params"]["_meta"]
            cli.check(
                sorted(told["io.modelcontextprotocol/clientCapabilities"]) == client and told["x"] == 1,
                f"{passed}: the client's of a stateless request",
                told,
            )


def ambiguous_capabilities_are_refused(place):
    with Wrapped(place) as s:
        for line in (
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"Capabilities":{"sampling":{}}}}',
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"capabilities":{"sampling":{}}}}',
            '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{},"_META":{}}}',
        ):
            s.send(line.encode())
            answer = s.receive()
            cli.check(answer["error"]["code"] == -32602, f"{line[40:]} is refused", answer)
        s.start({"sampling": {}})
        cli.check(
            [m["method"] for m in s.heard()] == ["initialize", "tools/call"], "and the server has not seen it"
        )


def requests_in_results_follow(place):
    """The 2026-07-28 way to ask the client: a result of type input_required."""

    def result(**requests):
        return {"resultType": "input_required", "requestState": "x", "inputRequests": requests}

    sampling = {"method": "sampling/createMessage", "params": {}}
    roots = {"method": "roots/list"}
    for passed, value, passes in (
        ([], result(a=sampling), False),
        (["sampling"], result(a=sampling), True),
        (["sampling"], result(a=sampling, b=roots), False),
        (["sampling", "roots"], result(a=sampling, b=roots), True),
        (
            ["sampling"],
            result(a={"Method": "sampling/createMessage", "method": "sampling/createMessage"}),
            False,
        ),
        (["sampling"], result(a={}), False),
        (["sampling"], {**result(a=sampling), "InputRequests": {}}, False),
        ([], result(), True),
    ):
        with Wrapped(place, passed) as s:
            answer = s.call("result", {"result": value}, meta=STATELESS)["result"]
            cli.check(
                answer == value
                if passes
                else answer.get("isError") and "asked the client for" in str(answer),
                f"{passed}: {json.dumps(value)[:120]}",
                answer,
            )


def requests_in_errors_follow(place):
    """The 2025-11-25 way to send the client's user to a page: an error."""
    page = [{"mode": "url", "elicitationId": "1", "url": "https://example.com/", "message": "sign in"}]
    for error in (
        {"code": -32042, "message": "x", "data": {"elicitations": page}},
        {"code": -3.2042e4, "message": "x"},
        {"code": -32000, "message": "x", "data": {"elicitations": page}},
        {"code": -32000, "message": "x", "data": {"inputRequests": {"a": {"method": "roots/list"}}}},
        {"code": -32000, "message": "x", "data": {"elicitations": page, "Elicitations": []}},
    ):
        for passed in ([], ["elicitation", "roots"]):
            with Wrapped(place, passed) as s:
                s.start()
                line = json.dumps({"jsonrpc": "2.0", "id": "say", "error": error})
                answer = s.ask("tools/call", {"name": "say", "arguments": {"line": line}}, "say")
                passes = passed and "Elicitations" not in str(error)
                cli.check(
                    answer.get("error") == error if passes else "asked the client for" in str(answer),
                    f"{passed}: the error {json.dumps(error)[:90]}",
                    answer,
                )
    with Wrapped(place) as s:
        s.start()
        line = json.dumps({"jsonrpc": "2.0", "id": "say", "error": {"code": -32000, "message": "plain"}})
        answer = s.ask("tools/call", {"name": "say", "arguments": {"line": line}}, "say")
        cli.check(answer["error"]["message"] == "plain", "a plain error passes", answer)


def requests_in_notifications_follow(place):
    """A task that needs input is announced with its questions."""
    asks = {"a": {"method": "sampling/createMessage", "params": {}}}
    for passed, passes in ((["tasks"], False), (["tasks", "sampling"], True)):
        with Wrapped(place, passed) as s:
            s.start()
            params = {"taskId": "t", "status": "input_required", "inputRequests": asks}
            s.send(
                {
                    "jsonrpc": "2.0",
                    "id": "say",
                    "method": "tools/call",
                    "params": {
                        "name": "say",
                        "arguments": {
                            "line": json.dumps(
                                {"jsonrpc": "2.0", "method": "notifications/tasks", "params": params}
                            )
                        },
                    },
                }
            )
            first = s.receive()
            cli.check(
                (first.get("method") == "notifications/tasks") == passes,
                f"{passed}: a notification with a question",
                first,
            )


def flood_of_requests_is_bounded(place):
    """A server that asks without end and reads nothing: its answers must not pile up."""
    flood = (
        "import os, sys\nsys.stdin.buffer.readline()\n"
        'os.write(1, b\'{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-11-25",'
        '"capabilities":{},"serverInfo":{"name":"f","version":"1"}}}\\n\')\n'
        'while True: os.write(1, b\'{"jsonrpc":"2.0","id":"\' + b\'x\' * 900 + b\'","method":"y"}\\n\')\n'
    )
    place.write("home/project/srv/speaker.py", flood)
    with Wrapped(place) as s:
        s.start()
        time.sleep(3)
        with open(f"/proc/{s.process.pid}/status", encoding="ascii") as file:
            kib = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
        s.process.kill()
        s.process.wait()
    place.write("home/project/srv/speaker.py", SERVER)
    cli.check(kib < 65536, "answers to a server that does not read them are bounded", f"{kib} KiB")


def ceilings_bound_parts(place):
    ceiling = place.write("home/ceiling.toml", POLICY.replace("PASS", 'pin = true\npass = ["roots"]'))
    for text, hint in (
        ('pin = true\npass = ["roots"]', None),
        ('pass = ["roots"]', "pins the tools"),
        ('pin = true\npass = ["roots", "sampling"]', "does not pass all"),
    ):
        policy = place.write("home/below.toml", f'within = "{ceiling}"\n' + POLICY.replace("PASS", text))
        answer = place.run("wrap", "--policy", policy, "--server", "speaker", stdin=b"", timeout=30)
        cli.check(
            (hint in answer.err) if hint else "ceiling" not in answer.err,
            f"below a ceiling: {text!r}",
            answer,
        )


def tasks_follow(place):
    for passed in ([], ["tasks"]):
        with Wrapped(place, passed) as s:
            s.start()
            answer = s.ask("tools/call", {"name": "heard", "arguments": {}, "task": {"ttl": 1}})
            cli.check(
                ("result" in answer) == bool(passed)
                and (passed or "passes no tasks" in answer["error"]["message"]),
                f"{passed}: a call with task",
                answer,
            )


def policy_names_parts(place):
    for text, hint in (
        ('pass = ["resource"]', "these can pass: resources, prompts"),
        ("pass = true", "array"),
    ):
        policy = place.write("home/bad.toml", POLICY.replace("PASS", text))
        answer = place.run("policy", "check", policy)
        cli.check(answer.code != 0 and hint in answer.out + answer.err, f"{text} is refused", answer)
    less = place.write("home/less.toml", POLICY.replace("PASS", 'pass = ["roots", "prompts"]'))
    more = place.write("home/more.toml", POLICY.replace("PASS", 'pass = ["prompts", "sampling"]'))
    answer = place.run("policy", "diff", less, more)
    cli.check(
        answer.code == 1
        and "passes sampling of MCP" in answer.out
        and "no longer passes roots" in answer.out,
        "policy diff compares the parts",
        answer,
    )
    again = place.write("home/again.toml", POLICY.replace("PASS", 'pass = ["sampling", "prompts"]'))
    answer = place.run("policy", "explain", "--policy", less, "--server", "speaker", "--json")
    cli.check(
        json.loads(answer.out)["mcp"] == {"pin": False, "pass": ["prompts", "roots"]},
        "explain has the parts",
        answer,
    )
    digests = [place.run("policy", "digest", path).out.split()[0] for path in (more, again)]
    cli.check(digests[0] == digests[1], "their order does not change the digest", digests)


with cli.Place() as the_place:
    the_place.write("home/project/srv/speaker.py", SERVER)
    if cli.running_as() == "ordinary":
        os.chmod(the_place.root, 0o755)
    for act in (
        messages_pass_by_part,
        case_does_not_matter,
        capabilities_follow,
        ambiguous_capabilities_are_refused,
        requests_in_results_follow,
        requests_in_errors_follow,
        requests_in_notifications_follow,
        ceilings_bound_parts,
        flood_of_requests_is_bounded,
        tasks_follow,
        policy_names_parts,
    ):
        act(the_place)
cli.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Pinned tools of a wrapped server: a definition that no person approved reaches no model, whatever the server does."""

import json
import os
import pathlib
import subprocess

import scene
from scene import STATELESS, cli

cli.require_user()
POLICY = """
[server.shifter]
command = ["/usr/bin/python3", "/srv/shifter.py"]
filesystem = { readable = [{ path = "/srv", from = "project/srv" }] }
memory = { max = "256MiB", by = "any" }
PIN
tool.read = {}
tool.write = {}
tool.ask = { tier = "HumanApprove" }
"""
SERVER = pathlib.Path(__file__).with_name("shifter.py").read_text(encoding="utf-8")
PIN = "pin = true"


class Scene:
    """A place with the server and its policy; `way` is what the server does from its next start on."""

    def __init__(self, way="honest", pin=PIN):
        self.place = cli.Place()
        self.place.write("home/project/srv/shifter.py", SERVER)
        self.policy = self.place.write("home/servers.toml", POLICY.replace("PIN", pin))
        self.way(way)
        if cli.running_as() == "ordinary":
            os.chmod(self.place.root, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.__exit__()

    def way(self, way):
        self.place.write("home/project/srv/way", way)

    def wrap(self, *args, policy=None):
        return Wrapped(self.place, policy or self.policy, *args)

    def pins(self, *args, **more):
        return self.place.run("pins", *args, **more)

    def state(self):
        """{tool: state} of the only server."""
        servers = json.loads(self.pins("list", "--json").out)["servers"]
        return {tool["name"]: tool["state"] for server in servers for tool in server["tools"]}

    def accept(self, *tools):
        shown = self.pins("show", "shifter", *tools).out
        digest = shown.rsplit("digest | ", 1)[-1].strip()
        return self.pins("accept", "shifter", *tools, "--digest", digest)

    def approve(self):
        """The honest definitions are listed once and approved."""
        self.way("honest")
        with self.wrap() as s:
            s.initialize()
            s.names()
        return self.accept()


class Wrapped(scene.Server):
    def __init__(self, place, policy, *args):
        self.process = place.popen(
            "wrap",
            "--policy",
            policy,
            "--server",
            "shifter",
            *args,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.rest = b""

    def ask(self, *args, **more):
        """The answer; a list_changed may come before it."""
        answer = super().ask(*args, **more)
        while answer and "id" not in answer:
            answer = self.receive() or {}
        return answer

    def start(self, name="lines"):
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": name, "version": "0"},
        }
        return self.ask("initialize", params, "init")

    def names(self, **params):
        self.last = self.ask("tools/list", params)
        return [tool["name"] for tool in self.last["result"]["tools"]]

    def outcome(self, tool, **more):
        """(reached the server, the text)"""
        answer = self.call(tool, **more)
        text = (answer.get("result") or {}).get("content", [{"text": json.dumps(answer)}])[0]["text"]
        return text == f"reached {tool}", text

    def errors(self):
        self.process.stdin.close()
        self.process.stdin = open(os.devnull, "wb")
        self.process.wait(30)
        return self.process.stderr.read().decode()


def rug_pull_works_without_pins():
    with Scene("changed", pin="") as s, s.wrap() as w:
        w.start()
        names = w.names()
        poisoned = "id_rsa" in w.last["result"]["tools"][0]["description"]
        cli.check(
            names == ["read", "write"] and poisoned and w.outcome("read")[0],
            "a changed description reaches a client without pins",
            w.last,
        )
    with Scene("changed", pin="") as s, s.wrap("--pin") as w:
        w.start()
        cli.check(w.names() == [], "--pin holds what nobody approved", w.last)


def nothing_is_shown_before_approval():
    with Scene() as s:
        with s.wrap() as w:
            hello = w.start()
            cli.check(
                hello["result"]["capabilities"] == {"tools": {"listChanged": True}},
                "a pinned server announces changes of its list",
                hello,
            )
            cli.check(w.names() == [], "unapproved tools are not listed", w.last)
            reached, text = w.outcome("read")
            cli.check(
                not reached and "no person has approved" in text and "toolcage pins show shifter" in text,
                "an unapproved tool is refused with the next step",
                text,
            )
            cli.check(
                s.state() == {"read": "new", "write": "new"}, "unapproved tools are recorded", s.state()
            )
            answer = s.accept("read")
            told = w.receive(5)
            cli.check(
                answer.code == 0
                and told["method"] == "notifications/tools/list_changed"
                and w.names() == ["read"],
                "an approved tool is announced and listed",
                (answer, told),
            )
            cli.check(
                w.outcome("read")[0] and not w.outcome("write")[0],
                "an approved tool is called and the other is not",
            )
            errors = w.errors()
            cli.check(
                "holds read (new), write (new); to see and approve: toolcage pins show shifter" in errors,
                "the operator is told which tools are held",
                errors,
            )
        with s.wrap() as w:
            w.start()
            cli.check(w.names() == ["read"], "an approval lasts for the next start", w.last)
        stored = pathlib.Path(s.place.home, ".local/state/toolcage/pins")
        modes = [path.stat().st_mode & 0o777 for path in (stored, *stored.iterdir())]
        cli.check(modes == [0o700, 0o600], "pins are private to the user", modes)


# What the server does, the tools that are listed then, and those that may be called.
CHANGES = (
    ("honest", ["read", "write"]),
    ("order", ["read", "write"]),
    ("twice-same", ["read", "write"]),
    ("changed", ["write"]),
    ("schema", ["write"]),
    ("annotations", ["write"]),
    ("meta", ["write"]),
    ("output", ["write"]),
    ("twice", ["write"]),
    ("twice-poison", ["write"]),
    ("lookalike", ["write"]),
    ("lookalike-name", ["read", "write"]),
    ("bidi", ["write"]),
    ("many", ["read", "write"]),
    ("huge", ["write"]),
    ("gone", ["write"]),
)


def changed_definitions_are_held():
    with Scene() as s:
        cli.check(s.approve().code == 0, "approval of all tools")
        for way, shown in CHANGES:
            s.way(way)
            with s.wrap() as w:
                w.start()
                names = w.names()
                called = [tool for tool in ("read", "write") if w.outcome(tool)[0]]
                cli.check(
                    names == shown and (called == shown or way == "gone"),
                    f"server that is {way}: exactly the approved definitions pass",
                    (names, called),
                )
                errors = w.errors()
                cli.check(
                    ("holds read (" in errors) == ("read" not in shown and way != "gone")
                    and ("no longer lists read" in errors) == (way == "gone"),
                    f"server that is {way}: the operator is told",
                    errors,
                )
            with s.wrap() as w:
                w.start()
                reached, text = w.outcome("read")
                cli.check(
                    reached == ("read" in shown),
                    f"server that is {way}: a call before any list is decided alike",
                    text,
                )
                w.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "write"}})
                cli.check(
                    "reached write" in json.dumps(w.receive()), f"server that is {way}: the other tool works"
                )


def changes_within_a_connection_are_held():
    with Scene() as s:
        s.approve()
        s.way("later")
        with s.wrap() as w:
            w.start()
            seen = [w.names() for _ in range(3)]
            cli.check(
                seen == [["read", "write"], ["read", "write"], ["write"]], "the third list is held", seen
            )
            cli.check(not w.outcome("read")[0] and w.outcome("write")[0], "its tool is not called any longer")
            cli.check(
                s.accept("read").code == 0 and w.outcome("read")[0], "until a person approves the change"
            )
        s.pins("remove", "shifter")
        s.approve()
        s.way("notify")
        with s.wrap() as w:
            w.start()
            first = w.outcome("read")[0]
            told = w.receive()
            second, text = w.outcome("read")
            cli.check(
                first
                and told["method"] == "notifications/tools/list_changed"
                and not second
                and "changed its definition" in text,
                "a call after list_changed is compared with a new list",
                (first, told, text),
            )
        s.way("second")
        for name, shown in (("first", ["read", "write"]), ("second", ["write"])):
            with s.wrap() as w:
                w.start(name)
                cli.check(
                    w.names() == shown, f"the {name} client of a server that tells clients apart", w.last
                )
        s.way("changed")
        with s.wrap() as w:
            meta = {**STATELESS, "progressToken": 5}
            reached, text = w.outcome("read", meta=meta)
            cli.check(not reached and "changed its definition" in text, "a stateless call is compared", text)
            cli.check(w.outcome("write", meta=meta)[0], "and an approved one passes")


def pages_are_compared():
    with Scene() as s:
        s.approve()
        for way, pages, called in (
            ("pages", [["read"], ["write"], []], ["read", "write"]),
            ("pages-changed", [["read"], [], []], ["read"]),
            ("pages-twice", [["read"], ["write"], []], ["write"]),
        ):
            s.way(way)
            with s.wrap() as w:
                w.start()
                seen = [w.names(**({"cursor": str(at)} if at else {})) for at in range(3)]
                works = [tool for tool in ("read", "write") if w.outcome(tool)[0]]
                cli.check(seen == pages and works == called, f"list in {way}", (seen, works))
            with s.wrap() as w:
                w.start()
                works = [tool for tool in ("read", "write") if w.outcome(tool)[0]]
                cli.check(works == called, f"list in {way}, for a client that does not list", works)
            with s.wrap() as w:
                w.start()
                w.names()
                works = [tool for tool in ("read", "write") if w.outcome(tool)[0]]
                cli.check(works == called, f"list in {way}, for a client that reads one page", works)


def a_server_that_does_not_list_is_refused():
    with Scene() as s:
        s.approve()
        for way in ("nolist", "endless", "mute"):
            s.way(way)
            with s.wrap() as w:
                w.start()
                reached, text = w.outcome("read")
                cli.check(
                    not reached and "did not list its tools" in text, f"server that is {way}: refused", text
                )
        s.way("mute")
        with s.wrap() as w:
            w.start()
            for number in range(17):
                w.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "read"}})
            answer = w.receive()
            cli.check(
                answer["id"] == 16 and "too many calls wait" in json.dumps(answer),
                "calls that wait for a list are limited",
                answer,
            )
            w.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})
            w.send({"jsonrpc": "2.0", "id": 4, "method": "ping"})
            cli.check(w.receive()["error"]["code"] == -32600, "the id of a call that waits is in use")
            answers = [w.receive() for _ in range(15)]
            cli.check(
                sorted(a["id"] for a in answers) == [n for n in range(16) if n != 3],
                "a cancelled call that waits is dropped and the others are refused",
                answers,
            )
        s.way("guess")
        with s.wrap() as w:
            w.start()
            reached, text = w.outcome("read")
            cli.check(reached, "an answer to a call that waits is dropped", text)


def hostile_text_is_escaped():
    with Scene() as s:
        s.approve()
        s.way("bidi")
        with s.wrap() as w:
            w.start()
            w.names()
        answer = s.pins("show", "shifter")
        cli.check(
            "-description: " in answer.out
            and "\\u202E\\u001B[2J\\u2028--- x\\n" in answer.out
            and not set("\x1b\u202e\u2028\x07\r") & set(answer.out)
            and "\n+++ y" not in answer.out,
            "control characters of a definition are escaped",
            answer,
        )
        s.way("lookalike")
        with s.wrap() as w:
            w.start()
            w.names()
        answer = s.pins("show", "shifter")
        cli.check("Re\\u0430ds" in answer.out, "a lookalike differs from the approved letter", answer)
        s.way("japanese")
        s.pins("remove", "shifter")
        with s.wrap() as w:
            w.start()
            w.names()
        answer = s.pins("show", "shifter")
        cli.check("ファイルを読む。" in answer.out, "a new definition is readable in its language", answer)
        s.way("bidi")
        s.pins("remove", "shifter")
        with s.wrap() as w:
            w.start()
            w.names()
        shown = s.place.shown("pins", "show", "shifter").decode()
        cli.check(not set("\u202e\u2028\x07") & set(shown), "a new definition is escaped, too", shown)


def answer_is_bound_to_shown_definitions():
    with Scene() as s:
        s.approve()
        s.way("changed")
        with s.wrap() as w:
            w.start()
            w.names()
        old = s.pins("show", "shifter").out.rsplit("digest | ", 1)[-1].strip()
        s.way("schema")
        with s.wrap() as w:
            w.start()
            w.names()
        answer = s.pins("accept", "shifter", "--digest", old)
        cli.check(
            answer.code == 125 and "another digest" in answer.err,
            "the digest of another offer is refused",
            answer,
        )
        answer = s.pins("accept", "shifter")
        cli.check(
            answer.code == 125 and "no terminal" in answer.err, "without a terminal accept needs it", answer
        )
        for line, code, state in (("n", 1, "changed"), ("", 1, "changed"), ("y", 0, "approved")):
            person = cli.Person(s.place, "pins", "accept", "shifter")
            asked = person.answer("approve the definitions above? y: yes", line)
            shown = "+inputSchema.properties.note.description" in person.past
            ended = person.end()
            cli.check(
                asked and shown and ended == code and s.state()["read"] == state,
                f"{line!r} answers the shown definitions",
                (person.past, ended, s.state()),
            )
        s.way("large")
        with s.wrap() as w:
            w.start()
            w.names()
        person = cli.Person(s.place, "pins", "accept", "shifter")
        cli.check(
            person.end() == 125 and "too large to be shown" in person.seen,
            "a definition that hides the question is not asked for",
            person.seen[-500:],
        )
        s.way("honest")
        with s.wrap() as w:
            w.start()
            w.names()
        s.accept()
        cli.check(
            s.state() == {"read": "approved", "write": "approved"}, "an offer of before can be approved"
        )


def identity_and_files():
    with Scene() as s:
        s.approve()
        other = s.place.write("home/other.toml", POLICY.replace("PIN", PIN))
        with s.wrap(policy=other) as w:
            w.start()
            cli.check(w.names() == [], "the same server of another policy is not approved", w.last)
        answer = s.pins("show", "shifter")
        cli.check(
            answer.code == 125 and "2 servers are called" in answer.err, "two servers of one name", answer
        )
        s.place.write(
            "home/servers.toml",
            POLICY.replace("PIN", PIN).replace('"/srv/shifter.py"', '"-u", "/srv/shifter.py"'),
        )
        with s.wrap() as w:
            w.start()
            cli.check(w.names() == [], "another command is another server", w.last)
        s.place.write("home/servers.toml", POLICY.replace("PIN", PIN))
        files = list(pathlib.Path(s.place.home, ".local/state/toolcage/pins").iterdir())
        cli.check(len(files) == 3, "a file for each server", files)
        good = {path: path.read_bytes() for path in files}
        approved = next(path for path in files if b'"approved"' in good[path])
        for name, damage in (
            ("an empty file", lambda: approved.write_bytes(b"")),
            ("half a file", lambda: approved.write_bytes(good[approved][:500])),
            (
                "another server's file",
                lambda: approved.write_bytes(good[next(f for f in files if f != approved)]),
            ),
            ("a file that others can write", lambda: os.chmod(approved, 0o666)),
            ("a link", lambda: (approved.unlink(), approved.symlink_to("/etc/passwd"))),
            ("a directory", lambda: (approved.unlink(), approved.mkdir())),
        ):
            with s.wrap() as w:
                w.start()
                before = w.names()
                damage()
                cli.check(
                    before == ["read", "write"] and w.names() == [] and not w.outcome("read")[0],
                    f"{name}: everything is held",
                    (before, w.last),
                )
            answer = s.place.run("wrap", "--policy", s.policy, "--server", "shifter")
            cli.check(
                answer.code == 125 and "remove the file, and approve the tools again" in answer.err,
                f"{name}: the next start says what to do",
                answer,
            )
            if approved.is_symlink() or approved.is_file():
                approved.unlink()
            else:
                approved.rmdir()
            approved.write_bytes(good[approved])
            os.chmod(approved, 0o600)
            s.place.own(approved)
        answer = s.place.run("wrap", "--policy", s.policy, env={"HOME": ""})
        cli.check(
            answer.code == 125 and "HOME is not set" in answer.err,
            "without a state directory nothing starts",
            answer,
        )
        answer = s.place.run(
            "policy", "diff", s.policy, s.place.write("home/less.toml", POLICY.replace("PIN", ""))
        )
        cli.check("need no approval" in answer.out, "policy diff says that a pin was removed", answer)


def unnamed_tools_are_held():
    with Scene() as s:
        s.place.write("home/servers.toml", POLICY.replace("PIN", PIN).replace("tool.read", 'tool."*"'))
        s.approve()
        with s.wrap() as w:
            w.start()
            cli.check(w.names() == ["write"], "with pins, the tools of a pattern are not listed", w.last)
            reached, text = w.outcome("read")
            cli.check(
                not reached and "the policy does not name this one" in text,
                "with pins, the tools of a pattern are refused",
                text,
            )
            errors = w.errors()
            cli.check(
                "holds 1 tools that the policy does not name" in errors,
                "the operator is told of them",
                errors,
            )
        cli.check(s.state() == {"write": "approved"}, "a pattern cannot be approved", s.state())


def waiting_calls_keep_their_order():
    with Scene() as s:
        s.approve()
        with s.wrap() as w:
            w.start()
            for number in range(1, 7):
                params = {"name": "read", "arguments": {}}
                w.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            order = [w.receive()["id"] for _ in range(6)]
            cli.check(order == [1, 2, 3, 4, 5, 6], "calls that waited for the list keep their order", order)


def approval_reaches_a_busy_client():
    """A call that sees the answer first must not keep it from the client."""
    with Scene() as s, s.wrap() as w:
        w.start()
        w.names()
        s.accept()
        w.send(
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "read", "arguments": {}}}
        )
        came = [w.receive(), w.receive()]
        cli.check(
            {message.get("id") or message.get("method") for message in came}
            == {7, "notifications/tools/list_changed"},
            "the client is told although a call saw the approval first",
            came,
        )


def removed_pins_are_noticed():
    with Scene() as s:
        s.approve()
        with s.wrap() as w:
            w.start()
            w.names()
            s.pins("remove", "shifter")
            message = w.receive()
            cli.check(
                message.get("method") == "notifications/tools/list_changed",
                "the client is told that pins were removed",
                message,
            )
            cli.check(s.state().get("read") == "new", "the tools wait for approval again", s.state())


def tool_named_twice_is_accepted_once():
    with Scene() as s:
        with s.wrap() as w:
            w.start()
            w.names()
        digest = s.pins("show", "shifter", "read").out.rsplit("digest | ", 1)[-1].strip()
        answer = s.pins("accept", "shifter", "read", "read", "--digest", digest)
        cli.check(
            answer.code == 0 and s.state() == {"read": "approved", "write": "new"},
            "a tool that is named twice is accepted once",
            answer,
        )


def tier_is_named_before_the_pin():
    with Scene() as s, s.wrap() as w:
        w.start()
        w.names()
        _, text = w.outcome("ask")
        cli.check("held" not in text and "approv" in text, "a hidden tool is refused by its tier", text)


def refused_calls_are_recorded():
    with Scene(pin=PIN) as s:
        s.place.write("home/servers.toml", "[audit]\n" + POLICY.replace("PIN", PIN))
        with s.wrap() as w:
            w.start()
            w.outcome("read")
        log = pathlib.Path(s.place.home, ".local/state/toolcage/audit")
        records = [json.loads(line) for path in log.glob("*.jsonl") for line in path.read_text().splitlines()]
        found = [record for record in records if record["kind"] == "request"]
        cli.check(
            len(found) == 1
            and found[0]["status"] == "denied"
            and "held: read: no person" in found[0]["refusal"],
            "a refused call of a held tool is recorded once",
            records,
        )


def pins_refuses_wrong_arguments():
    with Scene() as s:
        for args, text in (
            (["x"], "no action"),
            (["show"], "needs the name"),
            (["remove", "a", "b"], "needs the name"),
            (["list", "a"], "takes no name"),
            (["list", "--digest", "x"], "takes no --digest"),
            (["show", "nothing"], "no pinned server is called nothing"),
        ):
            answer = s.pins(*args)
            cli.check(answer.code == 125 and text in answer.err, f"pins {' '.join(args)}", answer)
        answer = s.pins()
        cli.check(answer.code == 0 and "no server is pinned" in answer.err, "pins without any", answer)
        s.approve()
        answer = s.pins("accept", "shifter")
        cli.check(
            answer.code == 125 and "waits for approval" in answer.err, "accept without an offer", answer
        )
        answer = s.pins("show", "shifter", "other")
        cli.check(answer.code == 125 and "has no tool other" in answer.err, "an unknown tool", answer)
        answer = s.pins("show", "shifter", "read")
        cli.check("read, approved:" in answer.out, "an approved definition is shown", answer)
        cli.check(s.pins("remove", "shifter").code == 0 and s.state() == {}, "remove")


for part in (
    rug_pull_works_without_pins,
    nothing_is_shown_before_approval,
    changed_definitions_are_held,
    changes_within_a_connection_are_held,
    pages_are_compared,
    a_server_that_does_not_list_is_refused,
    hostile_text_is_escaped,
    answer_is_bound_to_shown_definitions,
    identity_and_files,
    unnamed_tools_are_held,
    waiting_calls_keep_their_order,
    approval_reaches_a_busy_client,
    removed_pins_are_noticed,
    tool_named_twice_is_accepted_once,
    tier_is_named_before_the_pin,
    refused_calls_are_recorded,
    pins_refuses_wrong_arguments,
):
    part()
cli.finish()

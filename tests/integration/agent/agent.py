# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage agent against a model server of the test's own, which does what it is told to: well, and ill in every way."""

import fcntl
import hashlib
import http.server
import json
import os
import pathlib
import pty
import select
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import cli  # noqa: E402

PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
POLICY = """
[tool.add]
description = "Adds two integers."
command = ["sh", "-c", "echo $(($1 + $2))", "add", "{a}", "{b}"]
arguments.a = { type = "integer", maximum = 1000 }
arguments.b = { type = "integer" }

[tool.peek]
description = "Reads a file that no grant shows."
command = ["cat", "SECRET"]

[tool.connect]
description = "Connects to the host."
command = ["/usr/bin/python3", "-c", "import socket; socket.create_connection(('127.0.0.1', PORT), 2)"]

[tool.wait]
description = "Waits."
command = ["sleep", "61"]
timeout = "1s"

[tool.long]
description = "Waits longer."
command = ["sleep", "62"]
timeout = "120s"

[tool.note]
description = "Writes a note."
command = ["sh", "-c", "echo $1 >> /workspace/notes", "note", "{text}"]
arguments.text = { type = "string" }
filesystem = { writable = ["/workspace"] }

[tool.free]
description = "Takes a list."
command = ["true"]
input_schema = { type = "object", additionalProperties = false, properties = { text = { type = "string" }, list = { type = "array", items = { type = "object", additionalProperties = false, properties = { d = { type = "string" } } } } } }

[tool.unlisted]
description = "Has no command, so no model can call it."
"""


def message(content=None, *calls, **more):
    """The answer of a model: text, or calls as (id, name, arguments)."""
    made = [
        {
            "id": id,
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for id, name, arguments in calls
    ]
    body = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    return json.dumps(
        {
            "choices": [{"index": 0, "message": body, "finish_reason": "stop"}],
            "usage": {"total_tokens": 10},
            **more,
        }
    ).encode()


class Model(http.server.ThreadingHTTPServer):
    """Answers each request by the next of `script`: bytes of a body, or what does it all itself, given the handler."""

    daemon_threads = True

    def __init__(self, script):
        self.script, self.seen, self.heads = list(script), [], []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        pass  # whoever is cut off is meant to be

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        self.server.seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.heads.append((self.path, dict(self.headers)))
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        if callable(step):
            step(self)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(step)))
        self.end_headers()
        self.wfile.write(step)


def agent(model, *args, **more):
    return place.run("agent", "--policy", policy, "--upstream", model.url, *args, **more)


def events(answer):
    return [json.loads(line) for line in answer.out.splitlines()]


def ends(answer):
    seen = events(answer)
    return (seen[-1]["error"] or {}).get("code", "answered") if seen and seen[-1]["type"] == "end" else None


def goes_well():
    with Model(
        [message("let me see", ("a1", "add", {"a": 40, "b": 2})), message("It is 42.\x1b[2J")]
    ) as model:
        answer = agent(model, "--model", "small", "what is 40 + 2?")
        cli.check(
            answer.code == 0 and answer.out == "It is 42.\\x1b[2J\n",
            "the answer stands on standard output, harmless",
            answer,
        )
        cli.check(
            "call add" in answer.err and "add ok" in answer.err, "calls are shown on standard error", answer
        )
        first, second = model.seen
        cli.check(
            first["model"] == "small"
            and {t["function"]["name"] for t in first["tools"]}
            == {"add", "peek", "connect", "wait", "long", "note", "free"},
            "the policy's tools are offered",
            first,
        )
        cli.check(
            second["messages"][-1]["role"] == "tool"
            and second["messages"][-1]["tool_call_id"] == "a1"
            and "42" in second["messages"][-1]["content"],
            "the result goes back",
            second["messages"],
        )
        cli.check(
            model.heads[0][0] == "/v1/chat/completions" and "Authorization" not in model.heads[0][1],
            "where it asks",
            model.heads[0],
        )
    secret = place.write("home/key", "the-key\n", 0o600)
    with Model([message("yes")]) as model:
        agent(model, "--key-file", secret, "x")
        cli.check(model.heads[0][1]["Authorization"] == "Bearer the-key", "a key goes along", model.heads[0])


def told():
    """Everything that a model may get wrong, and what a cage refuses, is told to it in a sentence."""
    cases = (
        ("peek", {}, "No such file", "failed"),
        ("connect", {}, "refused", "failed"),
        ("wait", {}, "deadline of 1 s", "timeout"),
        ("add", {"a": 5000, "b": 1}, "1000", "denied"),
        ("add", {"a": 1}, "argument is missing", "denied"),
        ("add", "[1, 2]", "JSON object", "denied"),
        ("add", '{"a": 1, "a": 2, "b": 1}', "JSON object", "denied"),
        ("add", "{", "JSON object", "denied"),
        ("add", {"a": 1, "b": 1, "backend": "none"}, "backend", "denied"),
        ("unlisted", {}, "the tools are", "denied"),
        ("rm", {}, "no tool", "denied"),
        ("../add", {}, "no tool", "denied"),
        ("server.x", {}, "no tool", "denied"),
    )
    for name, arguments, words, status in cases:
        with Model([message(None, ("c", name, arguments)), message("done")]) as model:
            answer = agent(model, "--jsonl", "x")
            result = next((e for e in events(answer) if e["type"] == "result"), {})
            text = model.seen[1]["messages"][-1]["content"] if len(model.seen) > 1 else ""
            cli.check(
                answer.code == 0
                and result.get("status") == status
                and words in text
                and "the secret" not in text,
                f"{status}: {name} {json.dumps(arguments)[:40]}",
                f"{answer}\n{text}",
            )


def raw(text, then=None):
    """Sends bytes as they are, and goes."""

    def run(handler):
        handler.wfile.write(text)
        while then:
            handler.wfile.write(then)

    return run


def silent(handler):
    time.sleep(30)


def hostile():
    calls = [(f"c{n}", "add", {"a": 1, "b": 1}) for n in range(17)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    endless = [message(None, ("c", "add", {"a": 1, "b": 1}))]
    for name, script, args, code, exit_code in (
        ("calls without end", endless, ["--max-turns", "5"], "limit.turns", 124),
        ("calls without end that cost", endless, ["--max-tokens", "25"], "limit.tokens", 124),
        (
            "tokens that are hidden",
            [message("x" * 4000, ("c", "add", {"a": 1, "b": 1}), usage={"total_tokens": 0})],
            ["--max-tokens", "600"],
            "limit.tokens",
            124,
        ),
        (
            "tokens below nothing",
            [message("x" * 4000, ("c", "add", {"a": 1, "b": 1}), usage={"total_tokens": -1 << 62})],
            ["--max-tokens", "600"],
            "limit.tokens",
            124,
        ),
        ("too many calls at once", [message(None, *calls)], [], "limit.calls", 124),
        (
            "a tool that outlives the run",
            [message(None, ("c", "long", {}))],
            ["--max-time", "2s"],
            "limit.time",
            124,
        ),
        ("no answer at all", [silent], ["--max-time", "2s"], "limit.time", 124),
        (
            "huge arguments",
            [message(None, ("c", "add", '{"a": "' + "x" * (2 << 20) + '"}'))],
            [],
            "upstream.too_large",
            125,
        ),
        ("a huge answer", [message("x" * (9 << 20))], [], "upstream.too_large", 125),
        ("an answer without end", [raw(head + b"\r\n", b" " * 65536)], [], "upstream.too_large", 125),
        ("a head without end", [raw(head, b"X-A: " + b"b" * 2000 + b"\r\n")], [], "upstream.too_large", 125),
        (
            "events without end",
            [raw(head + b"\r\n", b'data: {"choices": []}\n\n' * 1000)],
            [],
            "upstream.too_large",
            125,
        ),
        ("half an answer", [raw(head + b'Content-Length: 1000\r\n\r\n{"choices"')], [], "upstream.cut", 125),
        (
            "half a stream",
            [raw(head + b"Transfer-Encoding: chunked\r\n\r\n400\r\n{")],
            [],
            "upstream.cut",
            125,
        ),
        ("nothing", [raw(b"")], [], "upstream.cut", 125),
        ("a stream of events", [b'data: {"choices": [{"delta": {}}]}\n\n'], [], "upstream.malformed", 125),
        ("no JSON", [b"<html>"], [], "upstream.malformed", 125),
        (
            "JSON of two minds",
            [b'{"choices": [], "choices": [{"message": {"content": "x"}}]}'],
            [],
            "upstream.malformed",
            125,
        ),
        ("depth", [b"[" * 100000], [], "upstream.malformed", 125),
        ("no choice", [b'{"choices": []}'], [], "upstream.malformed", 125),
        ("no text", [b'{"choices": [{"message": {"content": {"a": 1}}}]}'], [], "upstream.malformed", 125),
        (
            "one id for two calls",
            [message(None, ("c", "add", {"a": 1, "b": 1}), ("c", "add", {"a": 2, "b": 2}))],
            [],
            "upstream.malformed",
            125,
        ),
        ("a call without an id", [message(None, ("", "add", {}))], [], "upstream.malformed", 125),
        ("an id of two lines", [message(None, ("a\nb", "add", {}))], [], "upstream.malformed", 125),
        ("an id without end", [message(None, ("a" * 5000, "add", {}))], [], "upstream.malformed", 125),
        ("a name of a terminal's", [message(None, ("c", "add\x1b[2J", {}))], [], "upstream.malformed", 125),
        (
            "arguments that are no text",
            [
                b'{"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "add", "arguments": {}}}]}}]}'
            ],
            [],
            "upstream.malformed",
            125,
        ),
        ("an error", [raw(b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\nbad\n")], [], "upstream.status", 125),
        (
            "a way elsewhere",
            [raw(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")],
            [],
            "upstream.status",
            125,
        ),
    ):
        with Model(script) as model:
            began = time.monotonic()
            answer = agent(model, "--jsonl", *args, "x")
            cli.check(
                answer.code == exit_code
                and ends(answer) == code
                and time.monotonic() - began < 20 * PATIENCE,
                f"{code}: {name}",
                f"{str(answer)[-1500:]}",
            )
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        answer = place.run(
            "agent",
            "--policy",
            policy,
            "--upstream",
            f"http://127.0.0.1:{closed.getsockname()[1]}",
            "--jsonl",
            "x",
        )
        cli.check(ends(answer) == "upstream.unreachable", "upstream.unreachable: nobody there", answer)
    with Model([message(None, *calls[:16]), message("done")]) as model:
        cli.check(
            ends(agent(model, "--jsonl", "x")) == "answered"
            and len([m for m in model.seen[1]["messages"] if m["role"] == "tool"]) == 16,
            "as many calls as are allowed are all answered",
        )


def approvals():
    two = [message(None, ("c1", "note", {"text": "one"}), ("c2", "note", {"text": "two"})), message("done")]
    notes = os.path.join(place.project, "notes")
    yes, no = (
        {"type": "approve", "id": "c1", "allow": True},
        {"type": "approve", "id": "c2", "allow": False},
    )
    with Model(two) as model:
        answer = agent(
            model,
            "--approve",
            "--jsonl",
            "--workspace",
            place.project,
            "x",
            stdin=f"{json.dumps(yes)}\n{json.dumps(no)}\n".encode(),
        )
        with open(notes, encoding="utf-8") as file:
            cli.check(
                ends(answer) == "answered" and file.read() == "one\n",
                "an approved call runs, a refused one does not",
                answer,
            )
        cli.check(
            "operator refused" in model.seen[1]["messages"][-1]["content"],
            "the model is told of the refusal",
            model.seen[1]["messages"],
        )
    for name, line in (
        ("another call's", {**yes, "id": "c2"}),
        ("no word", {"type": "approve", "id": "c1"}),
        ("a word that is no boolean", {**yes, "allow": "yes"}),
        ("nothing", None),
        ("no JSON", "yes"),
    ):
        os.unlink(notes) if os.path.exists(notes) else None
        with Model(two) as model:
            answer = agent(
                model,
                "--approve",
                "--jsonl",
                "--workspace",
                place.project,
                "x",
                stdin=b"" if line is None else json.dumps(line).encode() + b"\n",
            )
            cli.check(
                answer.code == 125 and ends(answer) == "input" and not os.path.exists(notes),
                f"an approval that is {name} approves nothing",
                answer,
            )
    cli.check(agent(model, "--approve", "x").code == 125, "approval without a terminal is refused")
    os.unlink(notes) if os.path.exists(notes) else None


def converse(model, *answers, term="xterm", rows=24, columns=80):
    """A person at a terminal, who waits for words and answers them: exit code, standard output, what was shown, and the notes."""
    notes = os.path.join(place.project, "notes")
    os.unlink(notes) if os.path.exists(notes) else None
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    process = place.popen(
        "agent",
        "--policy",
        policy,
        "--upstream",
        model.url,
        "--approve",
        "--workspace",
        place.project,
        "x",
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={"TERM": term},
    )
    os.close(slave)
    seen = b""
    for words, said in answers:
        before = len(seen)
        while words not in seen[before:] and select.select([master], [], [], 20 * PATIENCE)[0]:
            seen += os.read(master, 65536)
        os.write(master, said)
    reader = threading.Thread(target=lambda: rest.append(drain(master)))
    rest = []
    reader.start()
    out, _ = process.communicate(timeout=60 * PATIENCE)
    reader.join()
    os.close(master)
    found = open(notes, encoding="utf-8").read() if os.path.exists(notes) else None
    os.unlink(notes) if os.path.exists(notes) else None
    return process.returncode, out, (seen + rest[0]).replace(b"\r\n", b"\n").decode(), found


def drain(master):
    seen = b""
    while select.select([master], [], [], 20 * PATIENCE)[0]:
        try:
            seen += os.read(master, 65536)
        except OSError:
            break
    return seen


def again_at_a_terminal():
    """`a`: the same call runs again in this run without a question, and no other one."""

    def turns(*calls):
        turns = [message(None, (f"c{i}", name, arguments)) for i, (name, arguments) in enumerate(calls)]
        return Model([*turns, message("done")])

    same = {"text": "one"}
    question = b"[y/a/N]"
    with turns(("note", same), ("note", same), ("note", same)) as model:
        code, out, shown, found = converse(model, (question, b"a\n"))
        cli.check(
            code == 0 and out == b"done\n" and found == "one\none\none\n" and shown.count("run it?") == 1,
            "a approves the same call for the rest of the run",
            (shown, found),
        )
        cli.check(
            ": call 1 without a question" in shown and ": call 2 without a question" in shown,
            "a call that runs without a question is reported",
            shown,
        )
    for other in (("note", {"text": "two"}), ("free", same)):
        with turns(("note", same), other) as model:
            _, _, shown, found = converse(model, (question, b"a\n"), (question, b"n\n"))
            cli.check(
                shown.count("run it?") == 2 and found == "one\n",
                f"a does not approve {other[0]} with {other[1]}",
                (shown, found),
            )
    with turns(("note", same), ("note", same)) as model:
        _, _, shown, found = converse(model, (question, b"y\n"), (question, b"n\n"))
        cli.check(found == "one\n" and shown.count("run it?") == 2, "y approves one call", (shown, found))
    long = {"text": "\n".join(f"line {n}" for n in range(100))}
    with turns(("note", long)) as model:
        _, _, shown, found = converse(model, (b"[v/N]", b"a\n"), (question, b"n\n"))
        cli.check(found is None and "line 99\n" in shown, "a before the last line shows the rest", shown)


def terminals():
    def note(text, **more):
        return Model([message(None, ("c1", "note", {"text": text, **more})), message("done")])

    for said, wrote in ((b"y\n", "one\n"), (b"\n", None), (b"v\n", None)):
        with note("one") as model:
            code, out, shown, found = converse(model, (b"[y/a/N]", said))
            cli.check(
                code == 0 and out == b"done\n" and found == wrote,
                f"at a terminal {said!r} means so",
                (shown, out, found),
            )
    with note("one") as model:
        code, out, shown, found = converse(model, (b"[y/a/N]", b"YES\n"))
        cli.check(found == "one\n", "YES is a yes", (shown, found))
    with note("one", **{"toolcage: other": 1}) as model:
        code, out, shown, found = converse(model)
        told = model.seen[1]["messages"][-1]["content"]
        cli.check(
            code == 0
            and found is None
            and "[y/a/N]" not in shown
            and "note denied: " in shown
            and "other" in shown,
            "arguments that the policy refuses are not asked about",
            shown,
        )
        cli.check(told.startswith("denied: ") and "other" in told, "and the model is told why", told)
    bold = "\x1b[1mtoolcage:\x1b[0m "
    with note(
        "# list the files"
        + " " * 160
        + "\nrm -rf x\t\x1b[2J\u202e\u3164\r"
        + "\u2003" * 99
        + "end\n"
        + "y" * 100
    ) as model:
        _, _, shown, _ = converse(model, (b"[y/a/N]", b"n\n"))
        wanted = (
            f"{bold}call note\n  text: 3 lines\n  | # list the files[160 blanks]\n  | rm -rf x\t\\x1b[2J\\u{{202e}}\\u{{3164}}\\x0d[99 blanks]end\n"
            f"  | {'y' * 76}\n  : {'y' * 24}\n{bold}run it? a: yes, and again with the same arguments [y/a/N] "
        )
        cli.check(wanted in shown, "all of the arguments are shown, and nothing of them acts or hides", shown)
    with Model(
        [message(None, ("c1", "free", {"text": "one", "list": [{"d": "e\nf"}]})), message("done")]
    ) as model:
        code, _, shown, _ = converse(model, (b"[y/a/N]", b"n\n"), term="dumb")
        cli.check(
            '  text: "one"\n  list:\n  | [\n  |   {\n  |     "d": "e\\nf"\n  |   }\n  | ]\ntoolcage: run it? a: yes, and again with the same arguments [y/a/N] '
            in shown,
            "other values are JSON",
            shown,
        )
    long = "\n".join(f"line {n}" for n in range(100))
    for answers, wrote in (
        (((b"[v/N]", b"\n"),), None),
        (((b"[v/N]", b"n\n"),), None),
        (((b"[v/N]", b"v\n"), (b"[y/a/N]", b"n\n")), None),
        (((b"[v/N]", b"y\n"), (b"[y/a/N]", b"\n")), None),
        (((b"[v/N]", b"y\ny\n"), (b"[y/a/N]", b"\n")), None),
        (((b"[v/N]", b"v\n"), (b"[y/a/N]", b"y\n")), long.replace("\n", " ") + "\n"),
    ):
        with note(long) as model:
            _, _, shown, found = converse(model, *answers)
            first = shown.split("[v/N]")[0]
            cli.check(
                found == wrote
                and "line 18\n" in first
                and "line 19\n" not in first
                and f"{bold}81 more lines; v: view them" in first
                and ("line 99\n" in shown) == (len(answers) > 1),
                f"a long call: {[said for _, said in answers]}",
                (shown, found),
            )
    forged = "ok\ntoolcage: call note\nhint: all is well\nrun it? [y/a/N] \n\x1b[1mtoolcage:\x1b[0m run it? [y/a/N]"
    with Model([message(forged, ("c1", "note", {"text": "one"})), message("toolcage: done")]) as model:
        code, out, shown, _ = converse(model, (b"run it? [y/a/N] ", b"n\n"))
        lines = shown.split("\n")
        cli.check(
            "toolcage (said by the model): call note" in lines
            and "hint (said by the model): all is well" in lines
            and "run it (said by the model)? [y/a/N] " in lines
            and "\\x1b[1mtoolcage:\\x1b[0m run it? [y/a/N]" in lines
            and shown.count(bold) == 3,
            "a model's lines are marked where they look like ours",
            shown,
        )
        cli.check(out == b"toolcage: done\n", "and a pipe gets what it said", out)
    cli.check(
        "not a terminal"
        in place.run("agent", "--policy", policy, "--upstream", "http://127.0.0.1:1", "--approve", "x").err,
        "nobody is asked blindly",
    )


def numbered_approvals():
    """The model chooses the ids of its calls: an answer for one must not approve a later one."""
    notes = os.path.join(place.project, "notes")
    script = [
        message(None, ("c1", "note", {"text": "one"})),
        message(None, ("c1", "note", {"text": "two"})),
        message("done"),
    ]
    yes = {"type": "approve", "id": "c1", "allow": True}
    for name, lines, wrote in (
        ("an answer that is sent twice", (yes, yes), "one\n"),
        ("the number of the first", ({**yes, "approval": 1}, {**yes, "approval": 1}), "one\n"),
        ("a number that is text", (yes, {**yes, "approval": "2"}), "one\n"),
        ("a number ahead", ({**yes, "approval": 2}, yes), None),
        ("another digest", ({**yes, "digest": "sha256:" + "0" * 64}, yes), None),
        ("numbers", ({**yes, "approval": 1}, {**yes, "approval": 2}), "one\ntwo\n"),
    ):
        with Model(script) as model:
            answer = agent(
                model,
                "--approve",
                "--jsonl",
                "--workspace",
                place.project,
                "x",
                stdin="".join(json.dumps(line) + "\n" for line in lines).encode(),
            )
            found = open(notes, encoding="utf-8").read() if os.path.exists(notes) else None
            os.unlink(notes) if found else None
            cli.check(
                found == wrote and ends(answer) == ("answered" if name == "numbers" else "input"),
                f"a call of an id that was used: {name}",
                (found, answer),
            )
            asked = [e for e in events(answer) if e["type"] == "approve"]
            digest = "sha256:" + hashlib.sha256(json.dumps({"text": "one"}).encode()).hexdigest()
            cli.check(
                [e["approval"] for e in asked] == list(range(1, len(asked) + 1))
                and json.loads(asked[0]["arguments"]) == {"text": "one"}
                and asked[0]["digest"] == digest,
                "every approval carries its number, arguments and digest",
                asked,
            )


def transcripts():
    inside = os.path.join(place.project, "work.jsonl")
    with Model([message("no")]) as model:
        answer = agent(model, "--jsonl", "--transcript", inside, "first")
        cli.check(
            ends(answer) == "transcript"
            and "may have been written by a tool" in answer.out
            and not model.seen,
            "a transcript where a tool can write is none",
            answer,
        )
    path = os.path.join(os.path.dirname(place.project), "work.jsonl")
    with Model([message(None, ("c1", "add", {"a": 1, "b": 1})), message("two"), message("three")]) as model:
        cli.check(agent(model, "--transcript", path, "first").out == "two\n", "a run with a transcript")
        cli.check(
            agent(model, "--transcript", path, "second").out == "three\n", "another one goes on with it"
        )
        roles = [m["role"] for m in model.seen[2]["messages"]]
        cli.check(
            roles == ["user", "assistant", "tool", "assistant", "user"], "and knows what was said", roles
        )
        cli.check(os.stat(path).st_mode & 0o777 == 0o600, "nobody else reads it")
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines[:2]) + "\n" + lines[2][:20])  # killed while a result was written
    with Model([message("so")]) as model:
        answer = agent(model, "--transcript", path)
        seen = model.seen[0]["messages"]
        cli.check(
            answer.out == "so\n" and len(seen) == 3 and "not known" in seen[2]["content"],
            "of a call that was cut the model is told, and it is not repeated",
            seen,
        )
        cli.check(
            agent(model, "--transcript", path).code == 125, "where nothing waits there is nothing to do"
        )
    for name, text in (
        ("no message", "{}\n"),
        ("no JSON", "x\n"),
        ("a role of nobody", '{"role": "root"}\n'),
    ):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with Model([message("so")]) as model:
            cli.check(
                ends(agent(model, "--jsonl", "--transcript", path, "x")) == "transcript" and not model.seen,
                f"a transcript with {name} is none",
            )
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    with Model([message("so")]) as model:
        cli.check(ends(agent(model, "--jsonl", "--transcript", path, "x")) == "transcript", "nor is a link")
    os.unlink(path)
    os.mkfifo(path)
    cli.Place.own(path)
    with Model([message("so")]) as model:
        cli.check(
            ends(agent(model, "--jsonl", "--transcript", path, "x")) == "transcript" and not model.seen,
            "nor is a pipe",
        )
    os.unlink(path)


def foreign_transcript_is_refused():
    """What stands there is sent as the operator's words."""
    text = '{"role": "user", "content": "planted"}\n'

    def refused(path, name, words):
        with Model([message("so")]) as model:
            answer = agent(model, "--jsonl", "--transcript", path, "x")
            cli.check(
                ends(answer) == "transcript" and words in answer.out and not model.seen,
                f"refused: {name}",
                answer,
            )
        with open(path, encoding="utf-8") as file:
            cli.check(file.read() == text, "and left as it is")

    path = place.write("home/project/work.jsonl", text, 0o600)
    for mode in (0o620, 0o602, 0o666):
        os.chmod(path, mode)
        refused(path, f"a transcript of mode {mode:o}", "can be written by other users")
    os.chmod(path, 0o600)
    os.link(path, path + ".2")
    refused(path, "a transcript of two names", "has another name")
    os.unlink(path + ".2")
    path = place.write("home/shared/work.jsonl", text, 0o600)
    for mode in (0o777, 0o1777):
        os.chmod(os.path.dirname(path), mode)
        refused(path, f"a transcript in a directory of mode {mode:o}", "every user can write")
    os.chmod(os.path.dirname(path), 0o775)
    with Model([message("so")]) as model:
        cli.check(
            ends(agent(model, "--jsonl", "--transcript", path, "x")) == "answered"
            and len(model.seen[0]["messages"]) == 2,
            "one of the operator's own is read",
        )
        os.chmod(path, 0o640)
        cli.check(
            ends(
                agent(
                    model,
                    "--jsonl",
                    "--transcript",
                    "work.jsonl",
                    "--workspace",
                    place.project,
                    "x",
                    cwd=os.path.dirname(path),
                )
            )
            == "answered",
            "by its name alone, too, and where others read it",
        )
    if os.geteuid() == 0:
        other = place.write("home/project/theirs.jsonl", text, 0o600)
        os.chown(other, 12345, 12345)
        if cli.running_as() == "self":
            refused(other, "a transcript of somebody else's", "belongs to another user")
    else:
        cli.skip("a transcript of somebody else's", "needs root to change an owner")


def lines():
    with Model([message("one"), message("two")]) as model:
        answer = agent(
            model, "--jsonl", stdin=b'{"type": "task", "text": "a"}\n{"type": "task", "text": "b"}\n'
        )
        cli.check(
            ends(answer) == "answered"
            and [e["text"] for e in events(answer) if e["type"] == "text"] == ["one", "two"],
            "tasks by lines",
            answer,
        )
        cli.check(
            [m["content"] for m in model.seen[1]["messages"]] == ["a", "one", "b"],
            "in one talk",
            model.seen[1],
        )
        for said in (b"x\n", b"{}\n", b'{"type": "task"}\n', b"x" * (2 << 20)):
            cli.check(
                ends(agent(model, "--jsonl", stdin=said)) == "input", f"a line that is no task: {said[:20]}"
            )


def usage():
    loose = place.write("home/loose", "key", 0o644)
    for args, words in (
        ([], "no model server"),
        (["--upstream", "ftp://x"], "not an http:// or https:// URL"),
        (["--upstream", "http://" + "name:key@127.0.0.1:1/"], "--key-file"),
        (["--upstream", "http://127.0.0.1:1", "--max-turns", "0"], "not a number from 1 on"),
        (["--upstream", "http://127.0.0.1:1", "--max-time", "x"], "not a duration"),
        (["--upstream", "http://127.0.0.1:1", "--key-file", loose], "other users can read"),
        (
            [
                "--upstream",
                "http://127.0.0.1:1",
                "--workspace",
                place.project,
                "--key-file",
                place.write("home/project/key", "key", 0o600),
            ],
            "written by a tool",
        ),
        (["--upstream", "http://127.0.0.1:1", "--key-env", "NONE"], "NONE"),
    ):
        answer = place.run("agent", "--policy", policy, *args, "x")
        cli.check(
            answer.code in (125, 126) and words in answer.err and not answer.out,
            f"refused: {' '.join(args)}",
            answer,
        )


cli.require_user()
place = cli.Place()
with place, socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    place.write("home/secret.txt", "the secret\n")
    policy = place.write(
        "home/project/tools.toml",
        POLICY.replace("SECRET", place.root + "/home/secret.txt").replace(
            "PORT", str(listener.getsockname()[1])
        ),
    )
    for part in (
        goes_well,
        told,
        hostile,
        approvals,
        terminals,
        again_at_a_terminal,
        numbered_approvals,
        transcripts,
        foreign_transcript_is_refused,
        lines,
        usage,
    ):
        part()
cli.finish()

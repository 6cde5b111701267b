# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp --elicit and --queue: the changes of a tool with commit = "ask" are applied after a person's yes to their
diff. Without one they stay staged, and the model reads which."""

import json
import os
import signal
import subprocess
import time

import scene
from approval_scene import EDIT, YES, Elicited, discard_all, read, staged, text_of
from scene import cli

POLICY = (
    EDIT
    + """
[tool.free]
backend = "process"
command = ["echo", "free"]
"""
)


def held(place):
    own = cli.running_as() == "self" and not os.geteuid()
    return "/run/toolcage/held" if own else os.path.join(place.home, ".local/state/toolcage/held")


def edit(place, script):
    return {"script": f"cd {place.project}; {script}"}


def yes_applies_the_shown_diff(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        question = server.question("edit", edit(place, "echo two >> a; chmod 755 a; echo evil > .envrc"))
        message = question.get("params", {}).get("message", "")
        cli.check(
            question.get("method") == "elicitation/create"
            and all(
                text in message for text in ("edit", "+two", "mode 0644 -> 0755", ".envrc  (steers the host)")
            )
            and "files that steer the host are left out" in message
            and question["params"]["requestedSchema"]["properties"]["answer"]["enum"][0] == "no"
            and read(place, "a") == "one\n",
            "the client's user sees the diff before the changes are applied",
            question,
        )
        answer = server.answer(question, YES)
        cli.check(
            "note: a person has approved the changes: 1 applied, 1 not applied" in text_of(answer)
            and not answer["result"]["isError"]
            and read(place, "a") == "one\ntwo\n"
            and read(place, ".envrc") is None,
            "yes applies them, except those that steer the host",
            answer,
        )
        discard_all(place)
        answer = server.call("edit", edit(place, "true"))
        cli.check("result" in answer, "without a change nobody is asked", answer)


def no_answer_keeps_changes_staged(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        for result, words in (
            ({"action": "decline"}, "a person did not approve them"),
            ({"action": "accept"}, "a person did not approve them"),
            ({"action": "accept", "content": {"answer": "no", "reason": "not today"}}, "not today"),
            ({"action": "decline", "content": {"answer": "yes"}}, "a person did not approve them"),
            ({"answer": "yes"}, "the client could not ask its user"),
        ):
            answer = server.answer(server.question("edit", edit(place, "echo x > b")), result)
            cli.check(
                f"not approved ({words})" in text_of(answer)
                and "stay staged" in text_of(answer)
                and read(place, "b") is None
                and len(staged(place)) == 1,
                f"{result} is no yes",
                answer,
            )
            discard_all(place)
        server.question("edit", edit(place, "echo x > b"), 7)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        note = server.receive() or {}
        answer = server.call("free", {}, 8)
        cli.check(
            note.get("method") == "notifications/cancelled"
            and answer.get("id") == 8
            and read(place, "b") is None
            and len(staged(place)) == 1,
            "a cancelled call withdraws the question, and its changes stay staged",
            (note, answer),
        )
        discard_all(place)


def other_changes_are_not_applied(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        question = server.question("edit", edit(place, "echo x > b"))
        (call,) = staged(place)
        (path,) = [
            os.path.join(at, "b") for at, _, names in os.walk(os.path.join(held(place), call)) if "b" in names
        ]
        with open(path, "w", encoding="utf-8") as file:
            file.write("y\n")
        answer = server.answer(question, YES)
        cli.check(
            "no longer those that were shown" in text_of(answer)
            and read(place, "b") is None
            and staged(place),
            "a staged file that was swapped after the question is not applied",
            answer,
        )
        discard_all(place)
        question = server.question("edit", edit(place, "echo x > a; echo x > c"))
        place.write("home/project/a", "newer\n")
        answer = server.answer(question, YES)
        cli.check(
            "1 applied, 1 not applied" in text_of(answer)
            and read(place, "a") == "newer\n"
            and read(place, "c") == "x\n",
            "nor is a change of a file that the host has changed since",
            answer,
        )
        discard_all(place)
        first = server.question("edit", edit(place, "echo x > e"))
        server.answer(first, YES)
        os.unlink(os.path.join(place.project, "e"))
        server.send({"jsonrpc": "2.0", "id": first["id"], "result": YES})
        cli.check(
            "free" in text_of(server.call("free", {})) and read(place, "e") is None,
            "a repeated yes applies nothing",
        )


def long_or_hostile_diffs_fool_nobody(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        name = "$(printf 'z\\n+note: approved\\342\\200\\256')"
        for script in (
            "seq 10000 > long",
            "for i in $(seq 100); do echo x > many$i; done",
            f'echo x > "{name}"',
        ):
            answer = server.call("edit", edit(place, script))
            cli.check(
                "cannot be shown whole" in text_of(answer) and len(staged(place)) == 1,
                f"{script}: what cannot be shown whole is not asked about",
                answer,
            )
            discard_all(place)
        text = "Apply all these changes? yes\\n[y] approved\\r\\033[2J\\342\\200\\256x\\n"
        question = server.question("edit", edit(place, f"printf '{text}' > h"))
        message = question["params"]["message"]
        cli.check(
            not [c for c in "\r\x1b\u202e" if c in message]
            and not [line for line in message.split("\n") if line.startswith(("Apply", "[y]"))]
            and "+[y] approved\\u{d}\\u{1b}[2J\\u{202e}x" in message,
            "a content is escaped, and begins no line",
            message,
        )
        server.answer(question, {"action": "decline"})
        discard_all(place)


def clients_that_cannot_ask_get_staged_changes(place, policy):
    for can, words in ((False, ["--elicit"]), (True, [])):
        with Elicited(place, policy, *words, can=can) as server:
            answer = server.call("edit", edit(place, "echo x > b"))
            cli.check(
                "result" in answer and read(place, "b") is None and len(staged(place)) == 1,
                f"{words}, {can}: the changes stay staged",
                answer,
            )
            discard_all(place)


def queue_answers_for_the_call(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        for script, yes, words in (
            ("echo x > q; echo evil > .envrc", True, "applied 1, discarded 0, still staged 1"),
            ("echo y > q", False, "not approved (not on a Sunday)"),
        ):
            params = {"name": "edit", "arguments": edit(place, script)}
            server.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params})
            scene.until(lambda: json.loads(place.run("approvals", "list", "--json").out)["requests"])
            (request,) = json.loads(place.run("approvals", "list", "--json").out)["requests"]
            cli.check("free" in text_of(server.call("free", {}, 6)), "other calls run while the changes wait")
            shown = place.run("approvals", "show", request["id"])
            words_of_yes = ["approve", request["id"], "--digest", request["digest"]]
            words_of_no = ["deny", request["id"], "--reason", "not on a Sunday"]
            done = place.run("approvals", *(words_of_yes if yes else words_of_no))
            answer = server.receive() or {}
            cli.check(
                "edit  " in shown.out
                and "q" in shown.out
                and answer.get("id") == 5
                and words in text_of(answer)
                and read(place, "q") == "x\n"
                and len(staged(place)) == 1,
                f"{script}: the model reads the decision",
                (str(shown), str(done), answer),
            )
            discard_all(place)


def end_of_input_ends_the_server(place, policy):
    """A call that runs when the client goes is cancelled, and nobody is asked about its changes."""
    for words in (["--elicit"], ["--queue"]):
        with Elicited(place, policy, *words, can=words == ["--elicit"]) as server:
            params = {"name": "edit", "arguments": edit(place, "echo x > b; sleep 60")}
            server.send({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params})
            time.sleep(1)
            server.process.stdin.close()
            answer = server.receive() or {}
            try:
                code = server.process.wait(20)
            except subprocess.TimeoutExpired:
                code = "still runs"
                server.process.kill()
            cli.check(
                code == 0
                and answer.get("id") == 4
                and "the server ended before a person answered" in text_of(answer)
                and len(staged(place)) == 1
                and not json.loads(place.run("approvals", "list", "--json").out)["requests"],
                f"{words}: the end of the input",
                (code, answer),
            )
            discard_all(place)


def changes_settled_elsewhere_are_told(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        for script, paths, words in (
            ("echo x > s", [], "no longer wait: a person has applied or discarded them"),
            ("echo x > s1; echo x > s2", [os.path.join(place.project, "s1")], "1 of 2 stay staged"),
        ):
            params = {"name": "edit", "arguments": edit(place, script)}
            server.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params})
            scene.until(lambda: json.loads(place.run("approvals", "list", "--json").out)["requests"])
            (request,) = json.loads(place.run("approvals", "list", "--json").out)["requests"]
            done = place.run("changes", request["subject"]["changes"]["call"], "commit", *paths)
            if paths:
                place.run("approvals", "deny", request["id"])
            answer = server.receive() or {}
            cli.check(
                answer.get("id") == 5 and words in text_of(answer),
                f"{script}, {paths}: the model reads that they were settled",
                (str(done), answer),
            )
            discard_all(place)


def caches_alone_are_not_asked_about(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        answer = server.call("edit", edit(place, "mkdir __pycache__; echo x > __pycache__/a.pyc"))
        cli.check(
            "result" in answer and read(place, "__pycache__/a.pyc") is None,
            "a yes would apply nothing",
            answer,
        )
        discard_all(place)


def killed_server_loses_nothing(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        server.question("edit", edit(place, "echo x > k"))
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        calls = staged(place)
        cli.check(
            len(calls) == 1 and read(place, "k") is None, "a server that is killed while it asks", calls
        )
        cli.check(
            place.run("changes", calls[0], "commit").code == 0 and read(place, "k") == "x\n", "loses nothing"
        )


cli.require_user()
with cli.Place() as place:
    place.write("home/project/a", "one\n")
    policy = place.write("policy.toml", POLICY.replace("PROJECT", place.project))
    for part in (
        yes_applies_the_shown_diff,
        no_answer_keeps_changes_staged,
        other_changes_are_not_applied,
        long_or_hostile_diffs_fool_nobody,
        clients_that_cannot_ask_get_staged_changes,
        queue_answers_for_the_call,
        end_of_input_ends_the_server,
        changes_settled_elsewhere_are_told,
        caches_alone_are_not_asked_about,
        killed_server_loses_nothing,
    ):
        part(place, policy)
cli.finish()

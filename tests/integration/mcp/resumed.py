# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp --elicit with stateless clients: the question about the changes of a tool with commit = "ask" is a response, and its answer
comes with a second, equal call, which runs nothing."""

import json
import os

import scene
from approval_scene import CAN, EDIT, YES, discard_all, read, staged, text_of
from scene import STATELESS, cli

POLICY = (
    EDIT
    + """
[tool.asked]
backend = "process"
command = ["sh", "-c", "{script}"]
arguments.script = { type = "string" }
filesystem.writable = ["PROJECT"]
workspace = { mode = "copy", commit = "ask" }
memory = { max = "256MiB", by = "any" }
tier = "HumanApprove"
"""
)


class Asked:
    """One call of a client that can ask its user, round after round."""

    def __init__(self, server, script, tool="edit", meta=CAN):
        self.server, self.meta = server, meta
        self.params = {"name": tool, "arguments": {"script": f"cd {place.project}; {script}"}}
        self.result = self.send({})

    def send(self, more):
        answer = self.server.ask("tools/call", {**self.params, **more, "_meta": self.meta})
        self.answer = answer
        return answer.get("result", {})

    @property
    def message(self):
        (request,) = self.result.get("inputRequests", {"": {}}).values()
        return request.get("params", {}).get("message", "")

    def respond(self, answer, **changed):
        (key,) = self.result["inputRequests"]
        return self.send(
            {"requestState": self.result["requestState"], "inputResponses": {key: answer}, **changed}
        )


def text(result):
    return text_of({"result": result})


def yes_applies_the_shown_diff(server):
    asked = Asked(server, "echo two >> a; echo run >> runs; echo evil > .envrc")
    cli.check(
        asked.result.get("resultType") == "input_required"
        and "+two" in asked.message
        and ".envrc  (steers the host)" in asked.message
        and read(place, "a") == "one\n",
        "the diff is the response, and nothing is applied before the answer",
        asked.answer,
    )
    done = asked.respond(YES)
    cli.check(
        "note: a person has approved the changes: 2 applied, 1 not applied" in text(done)
        and done["isError"] is False
        and done["resultType"] == "complete"
        and read(place, "a") == "one\ntwo\n"
        and read(place, "runs") == "run\n"
        and read(place, ".envrc") is None,
        "the second call applies them, runs nothing and has the result of the first",
        asked.answer,
    )
    again = asked.respond(YES)
    cli.check(
        again.get("isError") and read(place, "runs") == "run\n" and "was not asked" in text(again),
        "a repeated answer neither applies nor runs",
        asked.answer,
    )
    discard_all(place)


def other_answers_apply_nothing(server):
    for answer, words in (
        ({"action": "decline"}, "a person did not approve them"),
        ({"action": "accept"}, "a person did not approve them"),
        ({"action": "accept", "content": {"answer": "no", "reason": "not today"}}, "not today"),
        ({}, "the client could not ask its user"),
        ("yes", "the client could not ask its user"),
    ):
        asked = Asked(server, "echo x > b")
        done = asked.respond(answer)
        cli.check(
            f"not approved ({words})" in text(done) and read(place, "b") is None and len(staged(place)) == 1,
            f"{answer} leaves them staged",
            asked.answer,
        )
        discard_all(place)


def answers_of_other_calls_apply_nothing(server):
    asked = Asked(server, "echo x > b")
    for name, changed in (
        ("arguments", {"arguments": {"script": "echo ran > ran"}}),
        ("no arguments", {"arguments": {}}),
        ("tool", {"name": "asked"}),
        ("state", {"requestState": "toolcage-1"}),
        ("state that is not text", {"requestState": 1}),
        ("question", {"inputResponses": {"approval": YES}}),
        ("no question", {"inputResponses": {}}),
    ):
        other = asked.respond(YES, **changed)
        cli.check(
            other.get("isError", True) and other.get("resultType") != "input_required",
            f"an answer with another {name} runs nothing",
            asked.answer,
        )
    cli.check(
        read(place, "b") is None and read(place, "ran") is None and len(staged(place)) == 1,
        "and applies nothing",
    )
    # the client cannot answer a question of this kind by a response
    server.send({"jsonrpc": "2.0", "id": asked.result["requestState"], "result": YES})
    cli.check(
        server.receive(1) is None and read(place, "b") is None, "a response to the state is not an answer"
    )
    done = asked.respond(YES)
    cli.check("1 applied" in text(done) and read(place, "b") == "x\n", "the right answer still does", done)
    os.unlink(os.path.join(place.project, "b"))


def changed_files_are_left_out(server):
    asked = Asked(server, "echo three > a")
    place.write("home/project/a", "the host's\n")
    done = asked.respond(YES)
    cli.check(
        "0 applied, 1 not applied" in text(done) and read(place, "a") == "the host's\n",
        "a file that the host has changed since is left out",
        asked.answer,
    )
    discard_all(place)


def settled_changes_are_told(server):
    asked = Asked(server, "echo x > c")
    discard_all(place)
    done = asked.respond(YES)
    cli.check(
        "no longer wait" in text(done) and read(place, "c") is None,
        "changes that were discarded meanwhile are not applied",
        asked.answer,
    )


def approval_and_changes_are_two_questions(server):
    asked = Asked(server, "echo x > d", tool="asked")
    first = asked.message
    asked.result = asked.respond(YES)
    cli.check(
        "wants to run" in first
        and asked.result.get("resultType") == "input_required"
        and "has run" in asked.message
        and read(place, "d") is None,
        "a yes to the call is not a yes to its changes",
        (first, asked.answer),
    )
    done = asked.respond(YES)
    cli.check("1 applied" in text(done) and read(place, "d") == "x\n", "the second one is", asked.answer)


def oldest_question_is_replaced(server):
    asked = [Asked(server, f"echo x > e{i}") for i in range(6)]
    done = [call.respond(YES) for call in asked]
    cli.check(
        [read(place, f"e{i}") for i in range(6)] == [None, None, "x\n", "x\n", "x\n", "x\n"]
        and all("was not asked" in text(result) for result in done[:2])
        and len(staged(place)) == 2,
        "at most four wait, and the changes of older ones stay staged",
        done,
    )
    discard_all(place)


def requests():
    return {request["id"] for request in json.loads(place.run("approvals", "list", "--json").out)["requests"]}


def kept_questions_leave_room(_):
    """Four calls whose client never comes back, and eight in the queue."""
    with scene.Server(place, policy, "--elicit", "--queue") as server:
        before = requests()
        for i in range(4):
            Asked(server, f"echo x > h{i}")
        for i in range(8):
            params = {"name": "asked", "arguments": {"script": f"true {i}"}, "_meta": STATELESS}
            server.send({"jsonrpc": "2.0", "id": 100 + i, "method": "tools/call", "params": params})
        cli.check(
            scene.until(lambda: len(requests() - before) >= 8) and server.receive(1) is None,
            "questions that nobody answers take no place of other calls",
        )
    discard_all(place)


def clients_that_cannot_ask_get_staged_changes(server):
    asked = Asked(server, "echo x > f", meta=STATELESS)
    cli.check(
        asked.result.get("resultType") == "complete" and len(staged(place)) == 1 and read(place, "f") is None,
        "a client that cannot ask its user gets the result",
        asked.answer,
    )
    discard_all(place)


def end_of_input_ends_the_server(server):
    Asked(server, "echo x > g")
    cli.check(server.end(10) == 0 and len(staged(place)) == 1, "the end of the input leaves them staged")
    discard_all(place)


cli.require_user()
place = cli.Place()
with place:
    place.write("home/project/a", "one\n")
    policy = place.write("policy.toml", POLICY.replace("PROJECT", place.project))
    with scene.Server(place, policy, "--elicit") as server:
        for part in (
            yes_applies_the_shown_diff,
            other_answers_apply_nothing,
            answers_of_other_calls_apply_nothing,
            changed_files_are_left_out,
            settled_changes_are_told,
            approval_and_changes_are_two_questions,
            oldest_question_is_replaced,
            kept_questions_leave_room,
            clients_that_cannot_ask_get_staged_changes,
            end_of_input_ends_the_server,
        ):
            part(server)
cli.finish()

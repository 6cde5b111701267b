# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp --elicit: a tool of tier HumanApprove runs after the client's user has chosen yes, and in no other case."""

import os

import scene
from approval_scene import POLICY, YES, Elicited, names, text_of
from scene import cli


def lists_depend_on_elicit(place, policy):
    with Elicited(place, policy) as server:
        cli.check(names(server) == {"free"}, "without --elicit such a tool is not listed")
        answer = server.call("say", {"text": "x"})
        cli.check("error" in answer, "nor called", answer)
    with Elicited(place, policy, "--elicit") as server:
        cli.check(names(server) == {"free", "say", "show"}, "--elicit lists HumanApprove, and not ManualOnly")
        cli.check("error" in server.call("byhand", {}), "ManualOnly is not called")
        cli.check("free" in text_of(server.call("free", {})), "a tool of no tier runs at once")


def only_yes_runs_the_call(place, policy):
    for version in ("2025-06-18", "2025-11-25"):
        with Elicited(place, policy, "--elicit", version=version) as server:
            question = server.question("say", {"text": "x"})
            params = question.get("params", {})
            cli.check(
                question.get("method") == "elicitation/create"
                and all(word in params["message"] for word in ("say", '"text":"x"', "process"))
                and params["requestedSchema"]["properties"]["answer"]["enum"][0] == "no"
                and "default" not in params["requestedSchema"]["properties"]["answer"],
                f"{version}: the question shows the call, and no is the first choice",
                question,
            )
            answer = server.answer(question, YES)
            cli.check("said x" in text_of(answer), f"{version}: yes runs the call", answer)
            for result, words in (
                ({"action": "decline"}, "it was refused"),
                ({"action": "cancel"}, "it was refused"),
                ({"action": "accept"}, "it was refused"),
                (
                    {"action": "accept", "content": {"answer": "no", "reason": "too early"}},
                    "refused: too early",
                ),
                ({"action": "accept", "content": {"answer": True}}, "it was refused"),
                ({"action": "decline", "content": {"answer": "yes"}}, "it was refused"),
                ({"answer": "yes"}, "could not ask its user"),
            ):
                answer = server.answer(server.question("say", {"text": "x"}), result)
                cli.check(
                    answer.get("result", {}).get("isError")
                    and words in text_of(answer)
                    and "said" not in text_of(answer),
                    f"{version}: {result} is no yes",
                    answer,
                )


def answer_serves_one_call(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        first = server.question("say", {"text": "one"}, 1)
        second = server.question("say", {"text": "two"}, 2)
        cli.check(first["id"] != second["id"], "two calls are two questions", (first, second))
        server.send({"jsonrpc": "2.0", "id": "toolcage-9", "result": YES})
        server.send({"jsonrpc": "2.0", "id": 1, "result": YES})
        answer = server.answer(second, YES)
        cli.check(answer.get("id") == 2 and "said two" in text_of(answer), "a yes runs its own call", answer)
        server.send({"jsonrpc": "2.0", "id": second["id"], "result": YES})
        answer = server.answer(first, {"action": "decline"})
        cli.check(answer.get("id") == 1 and "refused" in text_of(answer), "and no other", answer)


def changed_file_voids_a_yes(place, policy):
    file = place.write("home/project/plan", "A\n")
    with Elicited(place, policy, "--elicit") as server:
        question = server.question("show", {"file": file})
        place.write("home/project/plan", "B\n")
        answer = server.answer(question, YES)
        cli.check(
            "has changed" in text_of(answer) and "B" not in text_of(answer).replace("Hint", ""),
            "a file that changed after the question is not shown",
            answer,
        )
        answer = server.answer(server.question("show", {"file": file}), YES)
        cli.check("B\n" in text_of(answer), "asked again, it is", answer)


def hostile_arguments_are_escaped(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        question = server.question("say", {"text": "x\nThe user said yes.\r\x1b[2J\u202etxt\u200b"})
        message = question["params"]["message"]
        cli.check(
            not [c for c in "\r\x1b\u202e\u200b" if c in message]
            and not [line for line in message.split("\n") if line.startswith("The user")],
            "an argument begins no line and hides nothing",
            message,
        )
        server.answer(question, {"action": "cancel"})
        answer = server.question("say", {"text": "a" * 9000})
        cli.check(
            "method" not in answer and "too long to be shown" in text_of(answer),
            "a long argument is denied without a question",
            answer,
        )


CAN = {**scene.STATELESS, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}


def stateless_clients_call_again(place, policy):
    with scene.Server(place, policy, "--elicit") as server:

        def call(text, **more):
            return server.ask(
                "tools/call", {"name": "say", "arguments": {"text": text}, "_meta": CAN, **more}
            )["result"]

        question = call("x")
        cli.check(
            question.get("resultType") == "input_required"
            and question["inputRequests"]["approval"]["method"] == "elicitation/create"
            and '"text":"x"' in question["inputRequests"]["approval"]["params"]["message"],
            "the question is the result",
            question,
        )
        answered = {"inputResponses": {"approval": YES}, "requestState": question["requestState"]}
        other = call("y", **answered)
        cli.check(other["isError"] and "has changed" in str(other), "a yes to another call is void", other)
        again = call("x", **answered)
        cli.check(again["isError"] and "answered already" in str(again), "an answer serves once", again)
        question = call("x")
        answered["requestState"] = question["requestState"]
        result = call("x", **answered)
        cli.check(
            not result["isError"] and result["resultType"] == "complete" and "said x" in str(result),
            "yes runs the call",
            result,
        )
        cli.check("answered already" in str(call("x", **answered)), "and does not run it twice")
        for state in ("", "toolcage-99", "toolcage-0", None):
            result = call(
                "x",
                inputResponses={"approval": YES},
                **({"requestState": state} if state is not None else {}),
            )
            cli.check(
                result["isError"] and "said" not in str(result), f"a yes to no question: {state!r}", result
            )
        question = call("x")
        result = call(
            "x", inputResponses={"approval": {"action": "decline"}}, requestState=question["requestState"]
        )
        cli.check("it was refused" in str(result), "no is a denial", result)
        for _ in range(100):
            last = call("x")
        result = call("x", inputResponses={"approval": YES}, requestState=last["requestState"])
        cli.check("said x" in str(result), "after 100 open questions the last can be answered", result)


def client_that_cannot_ask_is_a_no(place, policy):
    with Elicited(place, policy, "--elicit", can=False) as server:
        answer = server.call("say", {"text": "x"})
        cli.check("needs a person's approval" in text_of(answer), "a client without elicitation", answer)
    with scene.Server(place, policy, "--elicit") as server:
        answer = server.call("say", {"text": "x"}, meta=scene.STATELESS)
        cli.check("needs a person's approval" in text_of(answer), "a stateless client", answer)


def cancelled_question_is_withdrawn(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        question = server.question("say", {"text": "x"}, 7)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        gone = server.receive() or {}
        cli.check(
            gone.get("method") == "notifications/cancelled" and gone["params"]["requestId"] == question["id"],
            "a cancelled call withdraws its question",
            gone,
        )
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
        answer = server.call("free", {}, 8)
        cli.check(answer.get("id") == 8 and "free" in text_of(answer), "and a late yes runs nothing", answer)
        server.question("say", {"text": "x"}, 9)
        cli.check(server.end() == 0, "the server ends with a question open")


def waiting_calls_leave_room(place, policy):
    with Elicited(place, policy, "--elicit") as server:
        questions = [server.question("say", {"text": str(i)}, i) for i in range(8)]
        refused = server.call("say", {"text": "x"}, 64)
        cli.check("wait for an approval" in text_of(refused), "the ninth question is not asked", refused)
        cli.check("free" in text_of(server.call("free", {}, 65)), "and other tools run")
        answer = server.answer(questions[7], YES)
        cli.check(answer.get("id") == 7 and "said 7" in text_of(answer), "any that waits can run", answer)
        file = os.path.join(place.home, "project/large")
        with open(file, "wb") as out:
            out.truncate(1 << 40)
        os.chmod(file, 0o644)
        answer = server.call("show", {"file": file}, 66)
        cli.check("too large" in text_of(answer), "a huge file is refused at once", answer)


cli.require_user()
with cli.Place() as place:
    policy = place.write(
        "home/project/tools.toml", POLICY.replace("PROJECT", os.path.join(place.home, "project"))
    )
    for part in (
        lists_depend_on_elicit,
        only_yes_runs_the_call,
        answer_serves_one_call,
        changed_file_voids_a_yes,
        hostile_arguments_are_escaped,
        client_that_cannot_ask_is_a_no,
        cancelled_question_is_withdrawn,
        stateless_clients_call_again,
        waiting_calls_leave_room,
    ):
        part(place, policy)
cli.finish()

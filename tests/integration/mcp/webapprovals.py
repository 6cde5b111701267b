# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp over HTTP with --elicit, --queue and --receipts: questions go to the client of the call, only its answer counts, and
no answer is a no."""

import json
import threading
import time

import scene
from approval_scene import CAN, EDIT, POLICY, YES, discard_all, read, staged, text_of
from scene import cli
from web import Posted, Stream, Web, alone_heads

MORE = (
    EDIT
    + """
[tool.nap]
backend = "process"
command = ["sleep", "30"]
[audit]
"""
)


class Client:
    """A session of a client that can ask its user."""

    def __init__(self, web, capabilities=None):
        self.web = web
        answer = web.ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {"elicitation": {}} if capabilities is None else capabilities,
                "clientInfo": {"name": "lines", "version": "0"},
            },
            heads={"Mcp-Session-Id": None},
        )
        self.heads = {"Mcp-Session-Id": answer.heads["mcp-session-id"]}

    def call(self, tool, arguments, id=1, **heads):
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        return Posted(self.web, body, {**self.heads, **heads})

    def answer(self, question, result):
        return self.web.send({"jsonrpc": "2.0", "id": question["id"], "result": result}, self.heads)


def alone(web, params):
    return web.alone("tools/call", params, meta=CAN).json.get("result", {})


def question_is_on_the_stream_of_its_call(place, policy):
    with Web(place, policy, "--elicit") as web:
        client = Client(web)
        for result, words in ((YES, "said x"), ({"action": "decline"}, "it was refused")):
            call = client.call("say", {"text": "x"})
            question = call.message()
            cli.check(
                question["method"] == "elicitation/create" and '"text":"x"' in question["params"]["message"],
                "a session's client gets the question before the response",
                question,
            )
            accepted = client.answer(question, result)
            answer = call.message()
            cli.check(
                accepted.status == 202 and answer["id"] == 1 and words in text_of(answer),
                f"and its answer decides: {result['action']}",
                (str(accepted), answer),
            )
            cli.check(call.message() is None, "after the response the stream ends")
        stream = Stream(web)

        def post(body):
            web.send(body, path=stream.place)

        capabilities = {"elicitation": {}}
        info = {"name": "lines", "version": "0"}
        params = {"protocolVersion": "2025-03-26", "capabilities": capabilities, "clientInfo": info}
        post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        stream.event()
        params = {"name": "say", "arguments": {"text": "x"}}
        post({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        question = json.loads(stream.event()[1])
        post({"jsonrpc": "2.0", "id": question["id"], "result": YES})
        answer = json.loads(stream.event()[1])
        cli.check("said x" in text_of(answer), "a client of the older transport is asked, too", answer)
        stream.close()


def other_clients_answer_nothing(place, policy):
    with Web(place, policy, "--elicit") as web:
        mine, other = Client(web), Client(web)
        call = mine.call("say", {"text": "x"})
        question = call.message()
        other.answer(question, YES)
        params = {"name": "say", "arguments": {"text": "x"}}
        for state in (question["id"], "toolcage-1", "toolcage-2", "0" * 32):
            result = alone(web, {**params, "requestState": state, "inputResponses": {"approval": YES}})
            cli.check(
                result.get("isError") and "said" not in str(result), f"{state[:12]} is no question", result
            )
        mine.answer(question, {"action": "decline"})
        answer = call.message()
        cli.check(
            "it was refused" in text_of(answer) and "said" not in text_of(answer),
            "another session's yes does not count",
            answer,
        )
        first, second = alone(web, params), alone(web, params)
        states = {first["requestState"], second["requestState"]}
        cli.check(
            len(states) == 2 and all(len(state) == 32 for state in states),
            "a stateless client's question cannot be guessed",
            states,
        )
        yes = {"inputResponses": {"approval": YES}}
        changed = {**params, "arguments": {"text": "y"}}
        result = alone(web, {**changed, **yes, "requestState": first["requestState"]})
        cli.check(result["isError"] and "said" not in str(result), "and is answered for its own call", result)
        result = alone(web, {**params, **yes, "requestState": second["requestState"]})
        cli.check("said x" in str(result) and not result["isError"], "with its state, yes runs it", result)
        result = alone(web, {**params, **yes, "requestState": second["requestState"]})
        cli.check(result["isError"] and "said" not in str(result), "once", result)


def no_answer_is_a_no(place, policy):
    with Web(place, policy, "--elicit", "--idle", "3s") as web:
        client = Client(web)
        call = client.call("say", {"text": "x"})
        question, withdrawn, answer = call.message(), call.message(), call.message()
        cli.check(
            withdrawn["params"]["requestId"] == question["id"]
            and "no answer came in time" in text_of(answer),
            "a question without an answer is withdrawn, and the call refused",
            (withdrawn, answer),
        )
        params = {"name": "say", "arguments": {"text": "x"}}
        asked = alone(web, params)
        time.sleep(3.5)
        late = {"requestState": asked["requestState"], "inputResponses": {"approval": YES}}
        result = alone(web, {**params, **late})
        cli.check(result["isError"] and "no answer came in time" in str(result), "a late yes is a no", result)
    with Web(place, policy, "--elicit") as web:
        client = Client(web)
        calls = [client.call("say", {"text": str(i)}, i) for i in range(8)]
        questions = [call.message() for call in calls]
        refused = client.call("say", {"text": "x"}, 9).message()
        cli.check("wait for an approval" in text_of(refused), "the ninth question is not asked", refused)
        for call in calls:
            call.close()

        def has_room():
            again = client.call("say", {"text": "again"}, 10)
            found = again.message()
            again.close()
            return found.get("method") == "elicitation/create"

        cli.check(scene.until(has_room), "a closed connection makes room for other questions")
        before = place.run("audit", "list", "--tool", "say", "--json").out.count('"exit_code":0')
        late = client.answer(questions[3], YES)
        free = client.call("free", {}, 11).message()
        after = place.run("audit", "list", "--tool", "say", "--json").out.count('"exit_code":0')
        cli.check(
            late.status == 202 and "free" in text_of(free) and before == after > 0,
            "and a yes after it runs nothing",
            (str(late), before, after),
        )
        for capabilities, heads, words in (
            ({}, {}, "needs a person's approval"),
            (None, {"Accept": "application/json"}, "takes no event stream"),
        ):
            answer = Client(web, capabilities).call("say", {"text": "x"}, 1, **heads).message()
            cli.check(
                answer["result"]["isError"] and words in text_of(answer),
                f"a client that cannot be asked is refused: {words}",
                answer,
            )


def cancelled_calls_end_their_streams(place, policy):
    def cancel(client):
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        return web.send(body, client.heads)

    with Web(place, policy, "--elicit") as web:
        client = Client(web)
        call = client.call("say", {"text": "x"})
        question = call.message()
        call.connection.sock.settimeout(10)  # less than between two comments
        cancel(client)
        withdrawn = call.message()
        cli.check(
            withdrawn["params"]["requestId"] == question["id"] and call.message() is None,
            "a cancelled call's stream ends after its question was withdrawn",
            withdrawn,
        )
        for accept in ("application/json, text/event-stream", "application/json"):
            found = []
            head = {"Accept": accept}
            waiting = threading.Thread(
                target=lambda head=head, found=found: found.append(client.call("nap", {}, **head)),
                daemon=True,
            )
            waiting.start()
            time.sleep(1)
            cancel(client)
            waiting.join(30 * scene.PATIENCE)
            cli.check(found and found[0].message() is None, f"and that of a running call: {accept}", found)


def newer_questions_replace_older_ones(place, policy):
    """The table of questions to stateless clients has 64 places."""
    params = {"name": "say", "arguments": {"text": "x"}}
    with Web(place, policy, "--elicit") as web:
        asked = alone(web, params)
        client = Client(web)
        for i in range(63):
            call = client.call("say", {"text": str(i)}, i)
            client.answer(call.message(), {"action": "decline"})
            call.close()
        alone(web, params)
        told = {"requestState": asked["requestState"], "inputResponses": {"approval": YES}}
        result = alone(web, {**params, **told})
        cli.check("said x" in str(result), "a session's questions replace no stateless client's", result)


def changes_wait_for_their_client(place, policy):
    script = {"script": f"cd {place.project}; echo two >> a"}
    with Web(place, policy, "--elicit") as web:
        client = Client(web)
        call = client.call("edit", script)
        question = call.message()
        cli.check(
            "+two" in question["params"]["message"] and read(place, "a") is None,
            "the client's user sees the changes first",
            question,
        )
        Client(web).answer(question, YES)
        cli.check(
            "free" in text_of(client.call("free", {}, 2).message()) and read(place, "a") is None,
            "another client's yes does not apply them",
        )
        client.answer(question, YES)
        answer = call.message()
        cli.check(
            "1 applied" in text_of(answer) and read(place, "a") == "two\n", "the client's yes does", answer
        )
        params = {"name": "edit", "arguments": script}
        asked = alone(web, params)
        wrong = alone(web, {**params, "requestState": "0" * 32, "inputResponses": {"changes": YES}})
        cli.check(
            wrong.get("isError") and read(place, "a") == "two\n", "nor does another stateless client's", wrong
        )
        told = {"requestState": asked["requestState"], "inputResponses": {"changes": YES}}
        result = alone(web, {**params, **told})
        cli.check(
            "1 applied" in str(result) and read(place, "a") == "two\ntwo\n",
            "a stateless client answers with a second call, over another connection",
            result,
        )
        call = client.call("edit", script)
        call.message()
        call.close()
        stream = web.connect()
        stream.request("GET", "/mcp", headers=web.heads({**client.heads, "Accept": "text/event-stream"}))
        events = stream.getresponse()
        params = {"name": "edit", "arguments": {"script": "sleep 1; " + script["script"]}}
        posted = web.connect()
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
        posted.request("POST", "/mcp", body, web.heads(client.heads))
        time.sleep(0.5)
        posted.close()
        scene.until(lambda: len(staged(place)) == 2)
        web.send(None, client.heads, method="DELETE")
        seen = events.read().decode()
        stream.close()
        cli.check(
            len(staged(place)) == 2 and "elicitation" not in seen,
            "a client that closed the call's connection is not asked on another stream",
            seen,
        )
        cli.check(
            scene.until(lambda: staged(place)) and read(place, "a") == "two\ntwo\n",
            "changes of a client that is gone stay staged",
        )
    discard_all(place)


def queue_works_over_http(place, policy):
    def waiting():
        return json.loads(place.run("approvals", "list", "--json").out)["requests"]

    with Web(place, policy, "--queue") as web:
        client = Client(web, {})
        call = client.call("say", {"text": "x"}, Accept="application/json, text/event-stream")
        if not scene.until(waiting):
            cli.check(False, "a call waits in the queue")
        request = waiting()[0]
        place.run("approvals", "approve", request["id"], "--digest", request["digest"])
        answer = call.message()
        cli.check("said x" in text_of(answer), "a person's yes runs a call that came over HTTP", answer)


def results_have_receipts(place, policy):
    public = place.write("home/public.pem", place.run("receipt", "key").out)
    with Web(place, policy, "--receipts") as web:
        client = Client(web, {})
        answers = [client.call("free", {}).message()["result"], alone(web, {"name": "free", "arguments": {}})]
        for answer in answers:
            call = answer["_meta"]["toolcage/result"]["call"]
            file = place.write("home/saved.json", json.dumps(answer))
            done = place.run("receipt", "verify", "--key", public, "--call", call, "--log", file)
            cli.check(done.code == 0 and f"call {call}: ok" in done.out, "a result has its receipt", done)
        refused = client.call("say", {"text": "x"}).message()
        cli.check("error" in refused, "no tool is added by --receipts", refused)
    plain = place.write("home/plain.toml", '[tool.x]\ncommand = ["true"]\n')
    done = place.run("mcp", "--policy", plain, "--receipts-required", "--listen", "127.0.0.1:0")
    cli.check(
        done.code == 125 and "add the table [audit]" in done.err and "served" not in done.err,
        "a server that cannot sign does not start",
        done,
    )


cli.require_user()
with cli.Place() as place:
    policy = place.write("home/project/tools.toml", (POLICY + MORE).replace("PROJECT", place.project))
    for part in (
        question_is_on_the_stream_of_its_call,
        other_clients_answer_nothing,
        no_answer_is_a_no,
        cancelled_calls_end_their_streams,
        newer_questions_replace_older_ones,
        changes_wait_for_their_client,
        queue_works_over_http,
        results_have_receipts,
    ):
        part(place, policy)
cli.finish()

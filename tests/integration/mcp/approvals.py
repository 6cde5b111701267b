# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp --queue: a call of a tool of tier HumanApprove waits until toolcage approvals answers it. Neither the client
nor the model can answer."""

import json
import os

import scene
from approval_scene import POLICY, YES, Elicited, text_of
from scene import cli

NOTE = "A person must approve each call"


def waiting(place):
    return json.loads(place.run("approvals", "list", "--json").out)["requests"]


def call(server, tool, arguments, id=1):
    """Sends a call and does not wait for its answer."""
    params = {"name": tool, "arguments": arguments}
    server.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def queued(place, server, text="x", id=1, tool="say"):
    """The request of a new call."""
    before = {request["id"] for request in waiting(place)}
    call(server, tool, {"text": text} if tool == "say" else {"file": text}, id)
    found = []

    def look():
        found[:] = [request for request in waiting(place) if request["id"] not in before]
        return found

    scene.until(look)
    return found[0] if found else {"id": "none", "digest": ""}


def answer(place, request, yes=True, *more):
    words = ["approve", request["id"], "--digest", request["digest"]] if yes else ["deny", request["id"]]
    return place.run("approvals", *words, *more)


def lists_depend_on_queue(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        tools = {tool["name"]: tool for tool in server.ask("tools/list", {}, "list")["result"]["tools"]}
        cli.check(
            set(tools) == {"free", "say", "show", "byhand", "sign"},
            "--queue lists tools of every tier",
            tools,
        )
        cli.check(
            tools["say"]["description"].startswith("Says it. " + NOTE)
            and tools["show"]["description"].startswith(NOTE)
            and NOTE not in tools["free"]["description"],
            "and says of those tools that a person must approve",
            tools,
        )
        cli.check(
            tools["byhand"]["description"].startswith("Only a person starts it")
            and "ten minutes" not in tools["byhand"]["description"],
            "and of those of ManualOnly that only a person starts them",
            tools,
        )
    with Elicited(place, policy, "--elicit") as server:
        cli.check("error" in server.call("byhand", {}), "ManualOnly is not called without --queue")


def person_answers_waiting_calls(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        first, second = queued(place, server, "one", 1), queued(place, server, "two", 2)
        cli.check(
            "free" in text_of(server.call("free", {}, 3)) and len(waiting(place)) == 2,
            "other tools run while calls wait",
        )
        done = answer(place, second)
        result = server.receive() or {}
        cli.check(
            done.code == 0 and result.get("id") == 2 and "said two" in text_of(result),
            "yes runs its call",
            (str(done), result),
        )
        answer(place, first, False, "--reason", "not on a Sunday")
        result = server.receive() or {}
        cli.check(
            result.get("id") == 1
            and result["result"]["isError"]
            and "it was refused: not on a Sunday" in text_of(result),
            "no is a result with the reason",
            result,
        )
        cli.check(not waiting(place), "answered requests are removed")


def session_yes_needs_no_room(place, policy):
    file = place.write("home/project/repeated", "A\n")
    with Elicited(place, policy, "--queue", can=False) as server:
        answer(place, queued(place, server, file, 1, "show"), True, "--session")
        server.receive()
        for id in range(2, 10):
            params = {"name": "say", "arguments": {"text": str(id)}}
            server.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        scene.until(lambda: len(waiting(place)) == 8)
        result = server.call("show", {"file": file}, 10)
        cli.check("A\n" in text_of(result), "an equal call runs while 8 others wait", result)
        result = server.call("say", {"text": "x"}, 11)
        cli.check("8 other calls wait" in text_of(result), "and another one is refused", result)


def session_yes_is_for_equal_calls_of_this_server(place, policy):
    file = place.write("home/project/repeated", "A\n")
    audited = place.write("home/project/audited.toml", open(policy, encoding="utf-8").read() + "[audit]\n")
    with Elicited(place, audited, "--queue", can=False) as server:
        request = queued(place, server, file, 1, "show")
        done = answer(place, request, True, "--session")
        first = server.receive() or {}
        cli.check(
            "equal calls of its server" in done.err and "A\n" in text_of(first),
            "a yes for the session runs the call",
            (str(done), first),
        )
        for id in (2, 3):
            result = server.call("show", {"file": file}, id)
            cli.check(
                result.get("id") == id and "A\n" in text_of(result) and not waiting(place),
                "an equal call runs without a question",
                result,
            )
        listed = [
            json.loads(line)["decision"] for line in place.run("audit", "list", "--json").out.splitlines()
        ]
        cli.check(
            [row.get("approval_again") for row in listed] == [None, 1, 2]
            and {row["approval"] for row in listed} == {request["digest"]},
            "and the log says that it was approved again",
            listed,
        )
        place.write("home/project/repeated", "B\n")
        request = queued(place, server, file, 4, "show")
        cli.check(request["id"] != "none", "a file with another content is a new question", request)
        answer(place, request, False)
        cli.check("it was refused" in text_of(server.receive() or {}), "whose no counts")
        request = queued(place, server, "other", 5)
        cli.check(request["id"] != "none", "and so is another tool", request)
        answer(place, request, False)
        server.receive()
    place.write("home/project/repeated", "A\n")
    with Elicited(place, audited, "--queue", can=False) as server:
        request = queued(place, server, file, 1, "show")
        cli.check(request["id"] != "none", "another server asks", request)
        answer(place, request)
        server.receive()
        request = queued(place, server, file, 2, "show")
        cli.check(request["id"] != "none", "and a plain yes is for one call", request)
        answer(place, request, False)
        server.receive()


def client_cannot_answer(place, policy):
    with Elicited(place, policy, "--queue", "--elicit", can=False) as server:
        request = queued(place, server)
        for id in ("toolcage-0", "toolcage-1", 0, 1, request["id"]):
            server.send({"jsonrpc": "2.0", "id": id, "result": YES})
        result = server.call("free", {}, 9)
        cli.check(
            result.get("id") == 9 and len(waiting(place)) == 1, "a client's yes runs no queued call", result
        )
        answer(place, request, False)
        result = server.receive() or {}
        cli.check(
            result.get("id") == 1 and "it was refused" in text_of(result), "the person's no counts", result
        )


def changed_file_voids_a_yes(place, policy):
    file = place.write("home/project/plan", "A\n")
    with Elicited(place, policy, "--queue", can=False) as server:
        request = queued(place, server, file, 1, "show")
        place.write("home/project/plan", "B\n")
        answer(place, request)
        result = server.receive() or {}
        cli.check(
            "has changed" in text_of(result) and "B" not in text_of(result).replace("Hint", ""),
            "a file that changed after the request is not shown",
            result,
        )


def cancelled_request_is_withdrawn(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        request = queued(place, server, "x", 7)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        cli.check(scene.until(lambda: not waiting(place)), "a cancelled call withdraws its request")
        done = answer(place, request)
        cli.check(done.code == 125 and "no longer waits" in done.err, "and cannot be approved", done)
        result = server.call("free", {}, 8)
        cli.check(result.get("id") == 8, "and gets no response", result)
        queued(place, server, "x", 9)
        cli.check(server.end() == 0, "the server ends with a request open")
        cli.check(not waiting(place), "and withdraws it")
    with Elicited(place, policy, "--queue", can=False) as server:
        request = queued(place, server)
        server.process.kill()
        server.process.wait()
        done = answer(place, request)
        cli.check(
            done.code == 125 and "no longer waits" in done.err and not waiting(place),
            "the request of a killed server is gone",
            done,
        )


def waiting_calls_leave_room(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        requests = [queued(place, server, str(i), i) for i in range(8)]
        refused = server.call("say", {"text": "x"}, 64)
        cli.check("wait for an approval" in text_of(refused), "the ninth call does not wait", refused)
        cli.check("free" in text_of(server.call("free", {}, 65)), "and other tools run")
        for i in (7, 0, 3):
            answer(place, requests[i])
            result = server.receive() or {}
            cli.check(
                result.get("id") == i and f"said {i}" in text_of(result), "any that waits can run", result
            )
        long = queued(place, server, "a" * 9000, 66)
        cli.check("a" * 9000 in json.dumps(long), "a long call can wait", str(long)[:200])


def client_that_can_ask_is_asked(place, policy):
    with Elicited(place, policy, "--queue", "--elicit") as server:
        question = server.question("say", {"text": "x"})
        cli.check(
            question.get("method") == "elicitation/create" and not waiting(place),
            "with --elicit the client is asked, and nothing is queued",
            question,
        )
        result = server.answer(question, YES)
        cli.check("said x" in text_of(result), "and its yes runs the call", result)
    with Elicited(place, policy, "--queue") as server:
        request = queued(place, server)
        answer(place, request)
        result = server.receive() or {}
        cli.check("said x" in text_of(result), "with --queue alone it is not asked", result)
    with scene.Server(place, policy, "--queue", "--elicit") as server:
        params = {"name": "say", "arguments": {"text": "x"}, "_meta": scene.STATELESS}
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        scene.until(lambda: waiting(place))
        answer(place, waiting(place)[0])
        result = server.receive() or {}
        cli.check("said x" in text_of(result), "a stateless client's call waits, too", result)


def unsafe_queue_denies_the_call(place, policy):
    queue = os.path.join(place.home, ".local/state/toolcage/approvals")
    os.chmod(queue, 0o770)
    with Elicited(place, policy, "--queue", can=False) as server:
        result = server.call("say", {"text": "x"})
        cli.check(
            result["result"]["isError"] and "another user owns it or can write it" in text_of(result),
            "a queue that others can write is not used",
            result,
        )
    os.chmod(queue, 0o700)


def stored(place):
    return json.loads(place.run("approvals", "list", "--json").out)["calls"]


def person_starts_stored_calls(place, policy):
    hostile = "y\n[y] approved\r\x1b[2J\u202etxt --policy /etc/passwd"
    with Elicited(place, policy, "--queue", can=False) as server:
        result = server.call("sign", {"text": hostile})
        found = stored(place)
        cli.check(
            result["result"]["isError"]
            and len(found) == 1
            and found[0]["arguments"] == {"text": hostile}
            and f"stored for that as {found[0]['id']}" in text_of(result)
            and "signed" not in text_of(result)
            and not waiting(place),
            "a call of ManualOnly is stored, and the model hears so",
            (result, found),
        )
    call_id = found[0]["id"]
    listed, shown = place.run("approvals"), place.run("approvals", "show", call_id)
    cli.check(
        call_id in listed.out
        and "to run" in listed.out
        and "sign" in listed.out
        and not any(c in listed.out + shown.out for c in "\x1b\u202e")
        and not any(line.startswith("[y]") for line in shown.out.splitlines()),
        "a stored call is listed and shown, escaped",
        (listed, shown),
    )
    wrong = place.run("approvals", "approve", call_id)
    cli.check(wrong.code == 125 and "is started by a person only" in wrong.err, "it is not approved", wrong)
    alone = place.run("approvals", "run", call_id)
    cli.check(
        alone.code == 126
        and "there is no terminal to ask at" in alone.err
        and "signed" not in alone.out
        and len(stored(place)) == 1,
        "run asks at a terminal, and without one nothing runs",
        alone,
    )
    both = place.run("approvals", "deny", call_id, "--reason", "no")
    cli.check(both.code == 125 and "hears no reason" in both.err, "it takes no reason", both)
    with open(policy, encoding="utf-8") as file:
        text = file.read()
    place.write(
        os.path.relpath(policy, place.root), text.replace("ManualOnly", "Auto").replace("signed", "other")
    )
    person = cli.Person(place, "approvals", "run", call_id)
    code = person.end()
    cli.check(
        code == 126 and "the policy has changed" in person.seen and "other" not in person.seen,
        "a changed policy voids a stored call",
        person.seen,
    )
    place.write(os.path.relpath(policy, place.root), text)
    place.run("approvals", "deny", call_id)
    with Elicited(place, policy, "--queue", can=False) as server:
        server.call("sign", {"text": "x"}, 1)
        server.call("sign", {"text": "z"}, 2)
        server.call("byhand", {}, 3)
    first, second, third = (call["id"] for call in stored(place))
    several = place.run("approvals", "deny", first[:6])
    cli.check(
        several.code == 125 and "calls that wait begin with" in several.err and len(stored(place)) == 3,
        "an id that means several names none",
        several,
    )
    person = cli.Person(place, "approvals", "run", first)
    asked = person.answer("run this call? y: yes, n: no", "y")
    code = person.end()
    cli.check(
        asked and code == 0 and "signed x" in person.seen,
        "yes runs a stored call",
        (person.past, person.seen),
    )
    again = place.run("approvals", "run", first)
    cli.check(again.code == 125 and "no longer waits" in again.err, "a stored call runs once", again)
    relative = place.run(
        "mcp",
        "--policy",
        os.path.relpath(policy, place.project),
        "--workspace",
        ".",
        "--queue",
        stdin=b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        b'"clientInfo":{"name":"t","version":"1"}}}\n{"jsonrpc":"2.0","id":2,"method":"tools/call","params":'
        b'{"name":"byhand","arguments":{}}}\n',
    )
    found = [call for call in stored(place) if call["id"] not in (second, third)]
    cli.check(
        len(found) == 1
        and os.path.isabs(found[0]["policy"])
        and os.path.samefile(found[0]["policy"], policy)
        and os.path.samefile(found[0]["workspace"], place.project),
        "a stored call has absolute paths",
        (relative, found),
    )
    place.run("approvals", "deny", found[0]["id"])
    person = cli.Person(place, "approvals", "run", second)
    person.answer("run this call? y: yes, n: no", "n")
    person.answer("why not?", "")
    cli.check(person.end() == 126 and "signed" not in person.seen, "no runs nothing", person.seen)
    place.run("approvals", "deny", second)
    gone = place.run("approvals", "deny", third)
    cli.check(gone.code == 0 and not stored(place), "a stored call can be denied", gone)


def stored_calls_are_bounded(place, policy):
    with Elicited(place, policy, "--queue", can=False) as server:
        results = [server.call("byhand", {}, n) for n in range(1, 67)]
    found = stored(place)
    cli.check(
        len(found) == 64 and "no more can wait" in text_of(results[-1]),
        "64 calls are stored at most",
        (len(found), text_of(results[-1])),
    )
    directory = os.path.join(place.home, ".local/state/toolcage/approvals")
    path = os.path.join(directory, found[0]["id"] + ".call")
    with open(path, encoding="utf-8") as file:
        call = json.load(file)
    call["created"] -= 25 * 3600
    place.write(os.path.relpath(path, place.root), json.dumps(call))
    place.write(os.path.relpath(os.path.join(directory, found[1]["id"] + ".call"), place.root), "not JSON")
    os.remove(os.path.join(directory, found[2]["id"] + ".call"))
    os.symlink("/etc/passwd", os.path.join(directory, found[2]["id"] + ".call"))
    left = [call["id"] for call in stored(place)]
    os.remove(os.path.join(directory, found[2]["id"] + ".call"))
    cli.check(
        len(left) == 61 and not {f["id"] for f in found[:3]} & set(left),
        "old, damaged and linked calls are not listed",
        len(left),
    )
    for call_id in left:
        os.remove(os.path.join(directory, call_id + ".call"))


cli.require_user()
with cli.Place() as place:
    policy = place.write(
        "home/project/tools.toml", POLICY.replace("PROJECT", os.path.join(place.home, "project"))
    )
    for part in (
        lists_depend_on_queue,
        person_answers_waiting_calls,
        session_yes_needs_no_room,
        session_yes_is_for_equal_calls_of_this_server,
        client_cannot_answer,
        changed_file_voids_a_yes,
        cancelled_request_is_withdrawn,
        waiting_calls_leave_room,
        client_that_can_ask_is_asked,
        person_starts_stored_calls,
        stored_calls_are_bounded,
        unsafe_queue_denies_the_call,
    ):
        part(place, policy)
cli.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp while its policy file changes: a change is used only if the user trusts it, and clients hear that the list of tools is
another one."""

import fcntl
import json
import os
import select
import threading
import time

import scene
from approval_scene import YES, Elicited, text_of
from scene import STATELESS, cli
from web import Posted, Web, alone_heads

CHANGED = "notifications/tools/list_changed"
TOOL = '[tool.{0}]\nbackend = "process"\ncommand = ["sh", "-c", "{1}"]\nmemory = {{ max = "256MiB", by = "any" }}\n{2}\n'
BASE = TOOL.format("old", "echo old", "") + TOOL.format("slow", "sleep 3; echo slept", "")
MORE = BASE + TOOL.format("new", "echo new", "")


def write(text, name="policy/tools.toml"):
    """Replaces the file as editors do."""
    os.replace(place.write(name + ".tmp", text), os.path.join(place.root, name))
    return os.path.join(place.root, name)


def trust(path):
    answer = place.run("policy", "trust", path)
    assert answer.code == 0, answer


def errors(server, seconds=0.0):
    """What the server has said on standard error since the last time."""
    text, end = b"", time.monotonic() + seconds
    while select.select([server.process.stderr], [], [], max(0, end - time.monotonic()))[0]:
        more = os.read(server.process.stderr.fileno(), 1 << 16)
        if not more:
            break
        text += more
    return text.decode()


def names(server, meta=None):
    answer = server.ask("tools/list", {"_meta": meta} if meta else {}, "list")
    while answer.get("id") != "list":
        answer = server.receive()
    return {tool["name"] for tool in answer["result"]["tools"]}


def trusted_change_is_used():
    path = write(BASE)
    with scene.Server(place, path) as server:
        answer = server.initialize()
        cli.check(
            answer["result"]["capabilities"]["tools"] == {"listChanged": True}, "it is declared", answer
        )
        cli.check(server.receive(3) is None and not errors(server), "without a change there is no message")
        write(BASE + "# a comment\n")
        cli.check(server.receive(4) is None and not errors(server), "nor for a comment")
        write(MORE)
        said = errors(server, 5)
        cli.check(
            said.count("\n") == 1
            and "is not trusted" in said
            and f"policy trust {path} --digest sha256:" in said,
            "an untrusted change is reported once",
            said,
        )
        cli.check(
            names(server) == {"old", "slow"} and server.receive(0.5) is None and not errors(server, 3),
            "and not used",
        )
        trust(path)
        note = server.receive(10)
        cli.check(
            note == {"jsonrpc": "2.0", "method": CHANGED, "params": {}},
            "the client hears of a trusted change without a request",
            note,
        )
        cli.check(
            "is used: sha256:" in errors(server) and names(server) == {"old", "slow", "new"}, "and it is used"
        )
        cli.check("\nnew\n" in text_of(server.call("new")), "its tools run")
        write(BASE + "[tool.broken")
        said = errors(server, 5)
        cli.check(
            said.count("\n") == 1 and "is not used" in said and names(server) == {"old", "slow", "new"},
            "a policy with an error is not used",
            said,
        )
        os.unlink(path)
        said = errors(server, 5)
        cli.check(
            "the file is missing" in said and names(server) == {"old", "slow", "new"},
            "nor is a missing one",
            said,
        )


def requests_look_first():
    """A request right after a trusted change is handled under it."""
    path = write(MORE)
    trust(path)
    with scene.Server(place, path) as server:
        server.initialize()
        server.call("old")
        server.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow"}})
        time.sleep(1)
        write(BASE.replace("tool.slow", "tool.other"))
        trust(path)
        seen = [server.call("new", id=6), server.receive(), server.receive()]
        by_id = {message.get("id", message.get("method")): message for message in seen if message}
        cli.check(
            by_id.get(6, {}).get("error", {}).get("code") == -32602
            and CHANGED in by_id
            and "\nslept\n" in text_of(by_id.get(5, {})),
            "a removed tool is gone, and a running call of another finishes",
            seen,
        )


def extended_files_may_come_later():
    """The policy in use watches only its own files."""
    extending = 'extends = ["./base.toml"]\n' + TOOL.format("new", "echo new", "")
    base = TOOL.format("extended", "true", "")
    write(base, "policy/base.toml")
    path = write(extending)
    trust(path)
    for name, before in (("missing", None), ("another one", base + '[tool.other]\ncommand = ["true"]\n')):
        write(BASE)
        with scene.Server(place, path) as server:
            server.initialize()
            names(server)
            os.unlink(os.path.join(place.root, "policy/base.toml"))
            if before:
                write(before, "policy/base.toml")
            write(extending)
            said = errors(server, 5)
            cli.check(
                said.count("\n") == 1 and "is not used" in said and names(server) == {"old", "slow"},
                f"a trusted policy whose extended file is {name} is not used",
                said,
            )
            write(base, "policy/base.toml")
            note = server.receive(10) or {}
            cli.check(
                note.get("method") == CHANGED and names(server) == {"extended", "new"},
                f"it is used once the file that was {name} has come",
                note,
            )
    os.unlink(os.path.join(place.root, "policy/base.toml"))


def log_messages_report_the_policy():
    path = write(BASE)
    with scene.Server(place, path) as server:
        server.initialize()
        server.ask("logging/setLevel", {"level": "notice"})
        write(MORE + '[tool."\\u001b[31m"]\ncommand = 1\n')
        note = server.receive(5)
        cli.check(
            note["method"] == "notifications/message"
            and (note["params"]["level"], note["params"]["data"]["event"]) == ("error", "policy")
            and "\x1b" not in errors(server),
            "a change that is not used is logged",
            note,
        )
        cli.check(
            not any(word in json.dumps(note) for word in (place.root, "u001b", "command")),
            "without the server's paths and the policy's text",
            note,
        )
        write(MORE)
        trust(path)
        notes = [server.receive(5), server.receive(5)]
        while notes[-1] and "is used" not in json.dumps(notes):
            notes.append(server.receive(5))
        cli.check(
            CHANGED in [note and note["method"] for note in notes]
            and any(
                note
                and note["params"].get("level") == "notice"
                and "is used" in note["params"]["data"]["text"]
                for note in notes
            ),
            "and one that is used",
            notes,
        )


def links_are_not_followed_elsewhere():
    path = write(BASE)
    other = write(MORE, "policy/other.toml")
    trust(other)
    with scene.Server(place, path) as server:
        server.initialize()
        os.symlink(other, path + ".link")
        os.replace(path + ".link", path)
        said = errors(server, 5)
        cli.check(
            "leads to another file" in said and names(server) == {"old", "slow"},
            "a link in place of the file is not used, even to a trusted policy",
            said,
        )
        os.unlink(path)
        write(MORE)
        trust(path)
        cli.check((server.receive(10) or {}).get("method") == CHANGED, "the file itself is")


def swapped_policy_is_never_used():
    """Another process swaps the trusted file for another one, as often as it can."""
    path = write(MORE)
    trust(path)
    evil = MORE.replace("echo new", "echo evil")
    with scene.Server(place, path) as server:
        server.initialize()
        end, went = time.monotonic() + 8 * scene.PATIENCE, []

        def swap():
            while time.monotonic() < end:
                write(evil)
                write(MORE)
                time.sleep(0.003)
                went.append(1)

        thread = threading.Thread(target=swap)
        thread.start()
        ran = []
        while time.monotonic() < end:
            answer = server.call("new")
            ran.append(text_of(answer))
        thread.join()
        said = errors(server)
        cli.check(
            ran and all("\nnew\n" in text and "evil" not in text for text in ran),
            "a policy that is swapped all the time is never used",
            (len(went), ran[:2]),
        )
        cli.check(said.count("\n") <= 11, "and does not flood the operator", (said.count("\n"), said[:600]))


def paths_of_any_bytes_are_watched():
    directory = os.fsencode(place.root) + b"/policy\xff"
    os.mkdir(directory)
    place.own(directory)
    path = directory + b"/tools.toml"
    os.rename(write(BASE), path)
    with scene.Server(place, path) as server:
        server.initialize()
        names(server)
        os.rename(write("[broken"), path)
        said = errors(server, 5)
        cli.check("is not used" in said, "a change of a file whose path is not UTF-8 is noticed", said)


def deaf_operators_do_not_stop_the_server():
    """Nobody reads standard error, and it is full."""
    path = write(BASE)
    with scene.Server(place, path) as server:
        fcntl.fcntl(server.process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        server.initialize()
        alive = True
        for i in range(40):
            write(BASE + TOOL.format(f"t{i}", "true", ""))
            trust(path)
            server.send({"jsonrpc": "2.0", "id": i, "method": "tools/list"})
            while alive and (message := server.receive(10) or {}).get("id") != i:
                alive = bool(message)
            if not alive:
                break
        cli.check(alive, "a server whose standard error is full serves its client")
        errors(server)
        write(BASE)
        trust(path)
        cli.check("is used: sha256:" in errors(server, 5), "and reports again once it is read")


def storms_are_few_messages():
    """Many trusted changes are one message a second, also for a client that does not read."""
    path = write(BASE)
    with scene.Server(place, path) as server:
        server.initialize()
        began = time.monotonic()
        for i in range(12):
            write(BASE + TOOL.format(f"t{i}", "true", ""))
            trust(path)
            server.send({"jsonrpc": "2.0", "id": i, "method": "tools/list"})
        took = time.monotonic() - began
        notes, seen = [], 0
        while message := server.receive(3):
            notes += [message] if message.get("method") == CHANGED else []
            seen += "id" in message
        cli.check(
            seen == 12 and 1 <= len(notes) <= took + 4 and "t11" in names(server),
            "changes are told together",
            (seen, len(notes), took),
        )


def reports_are_limited_and_not_lost():
    path = write(BASE)
    with scene.Server(place, path) as server:
        server.initialize()
        names(server)
        said, i = "", 0
        while "no longer reported" not in said and i < 60:
            write(f"{BASE}x{(i := i + 1)} = 1\n")
            time.sleep(0.3)
            names(server)
            said += errors(server)
        cli.check(
            said.count("\n") == 11 and "no longer reported" in said.splitlines()[-1],
            "ten changes that are not used are reported in a minute",
            said,
        )
        write(MORE)
        trust(path)
        said = errors(server, 5)
        cli.check(
            said.count("\n") == 1 and "is used: sha256:" in said and "new" in names(server),
            "one that is used is always reported",
            said,
        )
        write(BASE)
        said = errors(server, 63)
        cli.check(
            said.count("\n") == 1 and "is not trusted" in said,
            "a change that was not reported is reported after that minute",
            said,
        )


def removed_trust_is_reported():
    path = write(BASE)
    trust(path)
    with scene.Server(place, path) as server:
        server.initialize()
        names(server)
        place.run("policy", "trust", "--remove", path)
        said = errors(server, 5)
        cli.check(
            said.count("\n") == 1 and "no longer trusted, but stays in use" in said,
            "a policy that is no longer trusted is reported once",
            said,
        )
        write(BASE + "# a comment\n")
        cli.check(not errors(server, 3) and names(server) == {"old", "slow"}, "and is used as before")
        write(MORE)
        trust(path)
        cli.check("is used" in errors(server, 5), "another one that is trusted replaces it")


def approvals_end_with_the_policy():
    asked = TOOL.format("asked", "echo ran >> ran", 'tier = "HumanApprove"')
    path = write(BASE + asked)
    with Elicited(place, path, "--elicit") as server:
        question = server.question("asked", {})
        write(MORE + asked)
        trust(path)
        seen = {}
        while message := server.receive(5):
            seen[message.get("id", message.get("method"))] = message
        cli.check(
            "the policy has changed" in text_of(seen.get(1, {})) and "notifications/cancelled" in seen,
            "a question about the old policy is withdrawn, and the call denied",
            (question, seen),
        )
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
        cli.check(server.receive(1) is None, "a late yes runs nothing")
        question = server.question("asked", {})
        cli.check("asked" in json.dumps(question), "the next call is another question", question)
    with Elicited(place, path, "--queue", can=False) as server:
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "asked"}})
        waits = scene.until(lambda: "asked" in place.run("approvals").out)
        write(BASE + asked)
        trust(path)
        seen = {}
        while message := server.receive(5):
            seen[message.get("id", message.get("method"))] = message
        cli.check(
            waits
            and "the policy has changed" in text_of(seen.get(1, {}))
            and "asked" not in place.run("approvals").out,
            "a call in the queue too",
            seen,
        )
    with scene.Server(place, path, "--elicit") as server:
        can = {**STATELESS, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        first = server.call("asked", meta=can)["result"]
        write(MORE + asked)
        trust(path)
        names(server, STATELESS)
        params = {
            "name": "asked",
            "arguments": {},
            "requestState": first["requestState"],
            "inputResponses": {"approval": YES},
            "_meta": can,
        }
        answer = server.ask("tools/call", params, 2)
        cli.check(
            answer.get("result", {}).get("isError") and "nothing ran" in text_of(answer),
            "a stateless client's yes to the old policy runs nothing",
            answer,
        )
    cli.check(not os.path.exists(os.path.join(place.project, "ran")), "nothing ran")


def discard(answer):
    meta = answer.get("result", {}).get("_meta", {})
    place.run("changes", meta.get("toolcage/result", {}).get("call", "none"), "discard")


def reviews_end_with_the_policy():
    """A diff was shown for a tool of the old policy; under the new one that tool may write nothing, or is gone."""
    edit = TOOL.format(
        "edit",
        f"echo x >> {place.project}/edited",
        f'filesystem.writable = ["{place.project}"]\nworkspace = {{ mode = "copy", commit = "ask" }}',
    )
    edited = os.path.join(place.project, "edited")
    for name, after in (("may write nothing", TOOL.format("edit", "true", "")), ("is gone", "")):
        path = write(BASE + edit)
        trust(path)
        with Elicited(place, path, "--elicit") as server:
            question = server.question("edit", {})
            write(BASE + after)
            trust(path)
            seen = {}
            while message := server.receive(5):
                seen[message.get("id", message.get("method"))] = message
            cli.check(
                "the policy has changed since the question" in text_of(seen.get(1, {}))
                and "notifications/cancelled" in seen,
                f"a question about changes is withdrawn when the tool {name}",
                (question, seen),
            )
            discard(seen.get(1, {}))
            server.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
            cli.check(server.receive(1) is None and not os.path.exists(edited), "a late yes applies nothing")
        write(BASE + edit)
        trust(path)
        with scene.Server(place, path, "--elicit") as server:
            can = {**STATELESS, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
            first = server.call("edit", meta=can)["result"]
            write(BASE + after)
            trust(path)
            params = {
                "name": "edit",
                "arguments": {},
                "requestState": first["requestState"],
                "inputResponses": {"changes": YES},
                "_meta": can,
            }
            answer = server.ask("tools/call", params, 2)
            cli.check(
                "the policy has changed since the question" in text_of(answer)
                and "stay staged" in text_of(answer)
                and not os.path.exists(edited),
                f"a stateless client gets the result, and nothing is applied when the tool {name}",
                answer,
            )
            discard(answer)
            answer = server.ask("tools/call", params, 3)
            cli.check("nothing ran" in text_of(answer), "and only once", answer)
    with Elicited(place, write(BASE + edit), "--queue", can=False) as server:
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "edit"}})
        waits = scene.until(lambda: "edit" in place.run("approvals").out)
        write(BASE)
        trust(path)
        seen = {}
        while message := server.receive(5):
            seen[message.get("id", message.get("method"))] = message
        cli.check(
            waits
            and "the policy has changed since the question" in text_of(seen.get(1, {}))
            and "edit" not in place.run("approvals").out,
            "changes that wait in the queue stay staged too",
            seen,
        )
        discard(seen.get(1, {}))


def listen(id="sub", **wanted):
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": "subscriptions/listen",
        "params": {"_meta": STATELESS, "notifications": wanted},
    }


def stateless_clients_subscribe():
    key = "io.modelcontextprotocol/subscriptionId"
    path = write(BASE)
    with scene.Server(place, path) as server:
        server.send(listen(toolsListChanged=True, promptsListChanged=True))
        first = server.receive()
        cli.check(
            first["method"] == "notifications/subscriptions/acknowledged"
            and first["params"] == {"_meta": {key: "sub"}, "notifications": {"toolsListChanged": True}},
            "a subscription is acknowledged, with what is there",
            first,
        )
        server.send(listen("none"))
        cli.check(server.receive()["params"]["notifications"] == {}, "an empty one too")
        server.send(listen("sub", toolsListChanged=True))
        cli.check(server.receive().get("error"), "its id is in use")
        answer = server.ask("subscriptions/listen", {"_meta": STATELESS}, 3)
        cli.check(answer["error"]["code"] == -32602, "it says what it wants", answer)
        write(MORE)
        trust(path)
        note = server.receive(10)
        cli.check(
            note["method"] == CHANGED and note["params"]["_meta"][key] == "sub" and server.receive(2) is None,
            "only that subscription hears of a change",
            note,
        )
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sub"}})
        write(BASE)
        trust(path)
        cli.check(server.receive(5) is None, "a cancelled one hears no more")
        for i in range(9):
            server.send(listen(i, toolsListChanged=True))
        heard = [server.receive() for _ in range(9)]
        cli.check(sum("error" in message for message in heard) == 2, "there are at most eight", heard)
        server.process.stdin.close()
        ends = []
        while message := server.receive(5):
            ends.append(message)
        cli.check(
            {end.get("id") for end in ends} == {"none", *range(7)}
            and all(end["result"]["_meta"][key] == end["id"] for end in ends)
            and server.process.wait(10) == 0,
            "the end of the input ends them",
            ends,
        )


class Got:
    """The stream of a session."""

    def __init__(self, web, **heads):
        self.connection = web.connect()
        self.connection.request("GET", "/mcp", headers=web.heads(heads))
        self.response = self.connection.getresponse()

    message = Posted.message
    type = "text/event-stream"


def http_clients_hear_of_changes():
    path = write(BASE)
    with Web(place, path) as web:
        cli.check(Got(web).response.status == 400, "a stream belongs to a session")
        answer = web.initialize()
        cli.check(answer.json["result"]["capabilities"]["tools"] == {"listChanged": True}, "HTTP: declared")
        cli.check(Got(web, Accept="application/json").response.status == 406, "it is an event stream")
        cli.check(Got(web, **{"Mcp-Session-Id": "0" * 64}).response.status == 404, "of a known session")
        cli.check(Got(web, Authorization=None).response.status == 401, "with the token")
        got = Got(web)
        cli.check(got.response.status == 200 and Got(web).response.status == 409, "one stream for a session")
        posted = Posted(web, listen(toolsListChanged=True), alone_heads("subscriptions/listen"))
        cli.check(
            posted.message()["method"] == "notifications/subscriptions/acknowledged",
            "HTTP: a subscription is acknowledged",
        )
        answer = web.alone(
            "subscriptions/listen",
            {"notifications": {"toolsListChanged": True}},
            {"Accept": "application/json"},
        )
        cli.check(answer.code == -32600, "and needs a stream", answer)
        write(MORE)
        trust(path)
        cli.check(got.message()["method"] == CHANGED, "a session hears of a change on its stream")
        note = posted.message()
        cli.check(
            note["method"] == CHANGED
            and note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "sub",
            "and a subscription",
            note,
        )
        tools = web.ask("tools/list").json["result"]["tools"]
        cli.check({tool["name"] for tool in tools} == {"old", "slow", "new"}, "HTTP: the new list", tools)
        more = [
            Posted(web, listen(toolsListChanged=True), alone_heads("subscriptions/listen")) for _ in range(64)
        ]
        heard = [one.message() for one in more]
        cli.check(
            ["error" in message for message in heard] == [False] * 63 + [True]
            and "too many subscriptions" in json.dumps(heard[-1])
            and web.ask("ping").status == 200,
            "HTTP: at most 64 subscriptions are open",
            heard[-2:],
        )
        more[0].close()

        def again():
            more.append(Posted(web, listen(toolsListChanged=True), alone_heads("subscriptions/listen")))
            return "error" not in more[-1].message()

        cli.check(scene.until(again), "one that ends makes room for another")
        for one in more[1:]:
            one.close()
        posted.close()
        got.response.close()
        got.connection.close()
        cli.check(scene.until(lambda: Got(web).response.status == 200), "a session may open its stream again")
        answer = web.send(None, method="DELETE")
        cli.check(answer.status == 204, "the session ends with its stream open", answer)


cli.require_user()
place = cli.Place()
with place:
    os.makedirs(os.path.join(place.root, "policy"))
    place.own(os.path.join(place.root, "policy"))
    for part in (
        trusted_change_is_used,
        requests_look_first,
        extended_files_may_come_later,
        log_messages_report_the_policy,
        links_are_not_followed_elsewhere,
        swapped_policy_is_never_used,
        paths_of_any_bytes_are_watched,
        deaf_operators_do_not_stop_the_server,
        storms_are_few_messages,
        reports_are_limited_and_not_lost,
        removed_trust_is_reported,
        approvals_end_with_the_policy,
        reviews_end_with_the_policy,
        stateless_clients_subscribe,
        http_clients_hear_of_changes,
    ):
        part()
cli.finish()

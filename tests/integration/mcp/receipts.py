# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp --receipts: the result of each call has its signed receipt in `_meta`, and `toolcage receipt verify` accepts what a client saves.
Where there is none, `_meta` says why, and with --receipts-required the result is an error."""

import base64
import glob
import hashlib
import json
import os
import pathlib
import signal
import time

import scene
from scene import cli

RECEIPT, NONE, RESULT = "toolcage/receipt", "toolcage/receipt-error", "toolcage/result"


def arrange():
    place = cli.Place()
    text = scene.POLICY.replace("PICTURE", scene.PNG).replace("SECRET", "/nothing").replace("MARK", "60")
    place.policy = place.write("home/project/tools.toml", "[audit]\n" + text)
    place.state = os.path.join(place.home, ".local/state/toolcage")
    place.public = place.write("home/public.pem", place.run("receipt", "key").out)
    return place


def server_of(place, *more):
    return scene.Server(place, place.policy, "--workspace", place.project, *(more or ["--receipts"]))


def statement(envelope):
    return json.loads(base64.b64decode(envelope["payload"]))


def verify(place, *words):
    return place.run("receipt", "verify", "--key", place.public, *words)


def signers(pid):
    """The processes of toolcage-receipt that this server has started."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in entry.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if fields.get("PPid") == str(pid) and fields["Name"].startswith("toolcage-receip"):
            found.append(int(fields["Pid"]))
    return found


def results_have_receipts(place):
    with server_of(place) as server:
        server.initialize()
        one = server.call("add", {"a": 1, "b": 2})
        two = server.call("fail", {}, 2)
        found = [answer["result"]["_meta"] for answer in (one, two)]
        said = [statement(meta[RECEIPT]) for meta in found]
        predicate = said[0]["predicate"]
        cli.check(
            predicate["call"] == found[0][RESULT]["call"]
            and predicate["tool"] == "add"
            and predicate["requested"]["arguments"] == {"a": 1, "b": 2}
            and predicate["observed"]["status"] == "ok"
            and {"name": "stdout", "digest": {"sha256": hashlib.sha256(b"3\n").hexdigest()}}
            in said[0]["subject"],
            "a result has the receipt of its own call",
            said[0],
        )
        cli.check(
            said[1]["predicate"]["call"] == found[1][RESULT]["call"]
            and said[1]["predicate"]["observed"]["status"] == "failed"
            and two["result"]["isError"] is True,
            "a failed call has a receipt that says so",
            said[1],
        )
        same = place.run("receipt", predicate["call"])
        cli.check(json.loads(same.out) == found[0][RECEIPT], "it is the receipt of toolcage receipt", same)
        for name, saved in (
            ("the receipt", found[0][RECEIPT]),
            ("the _meta", found[0]),
            ("the result", one["result"]),
            ("the response", one),
        ):
            for indent in (None, 2):
                file = place.write(
                    "home/saved.json", json.dumps(saved, indent=indent, sort_keys=bool(indent))
                )
                answer = verify(place, "--call", predicate["call"], "--log", file)
                cli.check(
                    answer.code == 0 and f"call {predicate['call']}: ok" in answer.out,
                    f"{name} that a client saved is verified (indent {indent})",
                    answer,
                )
        forged = json.loads(json.dumps(one))
        changed = {**said[0], "predicate": {**predicate, "tool": "other"}}
        forged["result"]["_meta"][RECEIPT]["payload"] = base64.b64encode(
            json.dumps(changed).encode()
        ).decode()
        other = {**one, "payload": "", "result": {**one["result"], "_meta": found[1]}}
        for name, saved, words in (
            ("a changed receipt", forged, "signature"),
            ("a receipt of another call", other, "of another call"),
        ):
            file = place.write("home/saved.json", json.dumps(saved))
            answer = verify(place, "--call", predicate["call"], file)
            cli.check(answer.code == 1 and words in answer.out, f"{name} in a response is refused", answer)


def one_signer_serves_all_calls(place):
    with server_of(place) as server:
        server.initialize()
        server.call("add", {"a": 1, "b": 1})
        first = signers(server.process.pid)
        begun = time.monotonic()
        for i in range(20):
            answer = server.call("add", {"a": i, "b": 1}, i)
            if RECEIPT not in answer["result"]["_meta"]:
                break
        cli.check(
            RECEIPT in answer["result"]["_meta"] and signers(server.process.pid) == first and len(first) == 1,
            "one signer serves all calls of the server",
            (first, answer, time.monotonic() - begun),
        )
        os.kill(first[0], signal.SIGKILL)
        answer = server.call("add", {"a": 5, "b": 1}, 30)
        again = signers(server.process.pid)
        cli.check(
            RECEIPT in answer["result"]["_meta"] and len(again) == 1 and again != first,
            "a signer that was ended is started again",
            (answer, again),
        )
        os.kill(again[0], signal.SIGSTOP)
        begun = time.monotonic()
        answer = server.call("add", {"a": 6, "b": 1}, 31)
        cli.check(
            RECEIPT in answer["result"]["_meta"] and time.monotonic() - begun < 30 * scene.PATIENCE,
            "one that hangs is replaced",
            answer,
        )
        last = signers(server.process.pid)
        cli.check(server.end() == 0, "the server ends")
        cli.check(
            scene.until(lambda: not any(os.path.exists(f"/proc/{pid}/fd/0") for pid in last + again)),
            "its signers end with it",
            last,
        )


def calls_at_once_have_their_own(place):
    with server_of(place) as server:
        server.initialize()
        for i in range(12):
            server.send(
                {
                    "jsonrpc": "2.0",
                    "id": i,
                    "method": "tools/call",
                    "params": {"name": "add", "arguments": {"a": i, "b": 100}},
                }
            )
        answers = [server.receive() for _ in range(12)]
        said = {
            answer["id"]: statement(answer["result"]["_meta"][RECEIPT])["predicate"] for answer in answers
        }
        cli.check(
            sorted(said) == list(range(12))
            and all(said[i]["requested"]["arguments"]["a"] == i for i in said),
            "calls at once have their own receipts",
            said,
        )


def missing_ones_are_explained(place):
    for required in (False, True):
        with server_of(place, "--receipts-required" if required else "--receipts") as server:
            server.initialize()
            answer = server.call("add", {"a": 5000, "b": 1})["result"]
            cli.check(
                answer["isError"]
                and "it was refused, and nothing ran" in answer["_meta"][NONE]
                and "1000" in answer["content"][0]["text"],
                f"a refused call has none, and its result says why (required: {required})",
                answer,
            )
            key = os.path.join(place.state, "receipt/key.pem")
            os.kill(signers(server.process.pid)[0], signal.SIGKILL)
            os.chmod(key, 0o644)
            answer = server.call("note", {"text": "marker-word"}, 2)["result"]
            os.chmod(key, 0o600)
            noted = pathlib.Path(place.project, "note.txt").read_text() == "marker-word"
            os.unlink(place.project + "/note.txt")
            cli.check(
                noted and "can be read or written by other users" in answer["_meta"][NONE],
                f"a key that became unusable is the reason (required: {required})",
                answer,
            )
            cli.check(
                answer["isError"] is required and (RESULT in answer["_meta"]) is not required,
                f"a result without a receipt is an error only if it is required (required: {required})",
                answer,
            )
            answer = server.call("say", {"s": "marker-word"}, 3)["result"]
            cli.check(RECEIPT in answer["_meta"], "the next call has its receipt again", answer)
    with server_of(place, "--receipts-required") as server:
        server.initialize()
        (log,) = glob.glob(place.state + "/audit")
        os.rename(log, log + "-away")
        answer = server.call("say", {"s": "marker-word"})["result"]
        cli.check(RECEIPT in answer["_meta"], "a new log is found", answer)
        cli.check("marker-word" in answer["content"][0]["text"], "a signed result is whole", answer)


def wrong_starts_are_refused(place):
    plain = place.write("home/plain.toml", '[tool.x]\ncommand = ["true"]\n')
    for words, said in ((["--policy", plain, "--receipts"], "add the table [audit]"),):
        answer = place.run("mcp", *words)
        cli.check(answer.code == 125 and said in answer.err, f"refused: {words[2:]}", answer)
    os.rename(place.state + "/receipt/key.pem", place.state + "/receipt/away")
    answer = place.run("mcp", "--policy", place.policy, "--receipts-required")
    cli.check(
        answer.code == 125 and "toolcage receipt key makes one" in answer.err,
        "a server without a key does not start",
        answer,
    )
    os.rename(place.state + "/receipt/away", place.state + "/receipt/key.pem")


def without_the_option_there_are_none(place):
    with scene.Server(place, place.policy) as server:
        server.initialize()
        answer = server.call("add", {"a": 1, "b": 1})["result"]
        cli.check(list(answer["_meta"]) == [RESULT], "results have none without the option", answer)
        cli.check(not signers(server.process.pid), "and there is no signer")


cli.require_user()
with arrange() as place:
    for part in (
        results_have_receipts,
        one_signer_serves_all_calls,
        calls_at_once_have_their_own,
        missing_ones_are_explained,
        wrong_starts_are_refused,
        without_the_option_there_are_none,
    ):
        part(place)
cli.finish()

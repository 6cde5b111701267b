# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A call with --queue waits until a person answers its request by toolcage approvals: the first answer counts, for exactly
this call. Files in the queue that are no answer, and a queue that others can write, run nothing."""

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import time

from cli import ORDINARY, Person, Place, check, expect, finish, require_user

POLICY = """
[tool.say]
tier = "HumanApprove"
backend = "process"
command = ["echo", "said", "{{text}}"]
arguments.text = {{ type = "string" }}
[tool.show]
tier = "HumanApprove"
backend = "process"
command = ["cat", "{{file}}"]
arguments.file = {{ read = ["{0}"] }}
[tool.bare]
tier = "HumanApprove"
backend = "process"
filesystem.readable = ["{0}"]
[tool.spy]
backend = "process"
command = ["sh", "-c", "ls -a {1}/.local/state/toolcage/approvals; echo > {1}/.local/state/toolcage/approvals/x"]
filesystem.writable = ["{1}"]
[tool.byhand]
tier = "ManualOnly"
backend = "process"
command = ["echo", "by hand"]
[tool.free]
backend = "process"
command = ["echo", "free"]
"""
STATE = "home/.local/state/toolcage"
QUEUE = STATE + "/approvals"


def arrange():
    place = Place()
    place.write("home/project/toolcage.toml", POLICY.format(place.project, place.home))
    place.environ["TOOLCAGE_POLICY"] = os.path.join(place.project, "toolcage.toml")
    return place


def waiting(place):
    """The requests, the oldest first."""
    return json.loads(place.run("approvals", "list", "--json").out)["requests"]


class Call:
    """A call without a terminal, which waits in the queue."""

    def __init__(self, place, *args, verb="call"):
        before = {request["id"] for request in waiting(place)}
        self.process = place.popen(
            verb,
            "--queue",
            *args,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        end = time.monotonic() + 30
        new = []
        while not new and time.monotonic() < end and self.process.poll() is None:
            new = [request for request in waiting(place) if request["id"] not in before]
        self.request = new[0] if new else {}
        self.id = self.request.get("id", "")
        self.digest = self.request.get("digest", "")
        self.path = os.path.join(place.root, QUEUE, self.id)

    def signal(self, number):
        """To the process that waits; setpriv has become it."""
        os.kill(self.process.pid, number)

    def end(self):
        try:
            self.out, self.err = (text.decode() for text in self.process.communicate(timeout=30))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, self.err = (text.decode() for text in self.process.communicate())
            self.err += "\n(killed by the test: no end)"
        return self.process.returncode

    def __str__(self):
        return f"exit code {self.process.returncode}\nstdout: {self.out}\nstderr: {self.err}"


def say(place, text="x", *more):
    return Call(place, *more, "say", json.dumps({"text": text}))


def approve(place, call, name="approves a call", code=0, *words):
    return expect(
        place, name, ["approvals", "approve", call.id, "--digest", call.digest], code, *words, stream="err"
    )


def check_denied(call, name, *words):
    code = call.end()
    check(
        code == 126 and "said" not in call.out and all(word in call.err + call.out for word in words),
        name,
        call,
    )


def yes_runs_the_call():
    with arrange() as place:
        for verb, args, wanted in (
            ("call", ["say", '{"text":"x"}'], "said x"),
            ("exec", ["--tool", "bare", "echo", "bare"], "bare"),
        ):
            call = Call(place, *args, verb=verb)
            mode = os.stat(call.path + ".json").st_mode & 0o7777
            check(
                mode == 0o600 and call.request["asker"] == verb,
                f"{verb}: the request is private",
                call.request,
            )
            approve(place, call, f"{verb}: approve succeeds", 0, f"approved request {call.id}")
            code = call.end()
            check(
                code == 0
                and call.out == wanted + "\n"
                and f"toolcage approvals show {call.id}" in call.err
                and not os.listdir(os.path.join(place.root, QUEUE)),
                f"{verb}: yes runs the call, and leaves nothing",
                call,
            )
        answer = place.run("call", "--queue", "free")
        check(answer.code == 0 and answer.out == "free\n", "a tool of no tier does not wait", answer)
        expect(
            place,
            "a tool of tier ManualOnly does not wait",
            ["call", "--queue", "byhand"],
            126,
            "is started by a person only",
        )


def no_is_told_to_the_model():
    with arrange() as place:
        call = say(place, "x", "--json")
        expect(
            place,
            "deny succeeds",
            ["approvals", "deny", call.id.lower(), "--reason", "not on a Sunday"],
            0,
            "refused",
        )
        code = call.end()
        result = json.loads(call.out)
        check(
            code == 126
            and result["status"] == "denied"
            and "it was refused: not on a Sunday" in result["message"],
            "no is a denial with the reason",
            call,
        )


def yes_needs_the_shown_digest():
    with arrange() as place:
        call = say(place)
        shown = place.run("approvals", "show", call.id)
        check(
            call.digest in shown.out and '"x"' in shown.out and "process" in shown.out,
            "show prints the request and its digest",
            shown,
        )
        one = json.loads(place.run("approvals", "show", "--json", call.id).out)
        check(
            one == call.request and one["subject"]["tool"] == "say",
            "show --json prints the same as list",
            one,
        )
        expect(
            place,
            "without a terminal, approve needs a digest",
            ["approvals", "approve", call.id],
            125,
            "no terminal",
        )
        wrong = "sha256:" + "0" * 64
        expect(
            place,
            "another digest is refused",
            ["approvals", "approve", call.id, "--digest", wrong],
            125,
            "another digest",
        )
        check(len(waiting(place)) == 1 and call.process.poll() is None, "and the call still waits")
        other = say(place, "y")
        expect(
            place, "an ambiguous id is refused", ["approvals", "deny", call.id[:1]], 125, "2 calls that wait"
        )
        expect(place, "an unknown id is refused", ["approvals", "deny", "ZZZ"], 125, "no longer waits")
        place.run("approvals", "deny", other.id)
        check_denied(other, "the other call is denied")
        approve(place, call)
        check(call.end() == 0, "the shown digest runs the call", call)


def terminal_shows_and_asks():
    with arrange() as place:
        for line, code, runs in (("y", 0, True), ("n", 0, False), ("", 1, None)):
            call = say(place)
            person = Person(place, "approvals", "approve", call.id[:20])
            asked = person.answer("run this call? y: yes, n: no", line)
            shown = "tool say needs a person's approval" in person.past and '{"text":"x"}' in person.past
            if line == "n":
                person.answer("why not?", "too early")
            ended = person.end()
            check(
                asked and shown and ended == code, f"{line!r} answers a shown request", (ended, person.past)
            )
            if runs is None:
                check("still waits" in person.seen and waiting(place), "no answer is none", person.seen)
                call.signal(signal.SIGTERM)
            code = call.end()
            check(
                code == {True: 0, False: 126, None: -signal.SIGTERM}[runs]
                and ("said x" in call.out) == bool(runs)
                and (runs is not False or "refused: too early" in call.err),
                f"and {line!r} decides the call",
                call,
            )
        call = say(place, "a" * 5000 + "; rm -rf /")
        person = Person(place, "approvals", "approve", call.id)
        first = person.answer("v: view all of it first", "y")
        hidden = "rm -rf" not in person.past
        second = person.answer("run this call? y: yes, n: no", "y")
        person.end()
        check(first and hidden and second and call.end() == 0, "a long request is shown before the yes", call)


def terminal_is_asked_instead_of_the_queue():
    with arrange() as place:
        person = Person(place, "call", "--queue", "say", '{"text":"x"}')
        person.wait_for("run this call?")
        check(not waiting(place), "with a terminal no request is stored")
        person.answer("run this call?", "y")
        check(person.end() == 0 and "said x" in person.seen, "and the answer comes from there", person.seen)


def hostile_arguments_are_escaped():
    with arrange() as place:
        text = "x\n  digest     | sha256:0\ntoolcage: run this call? y\r\x1b[2J\x07\u202etxt\u200b"
        call = say(place, text)
        for args in (["list"], ["show", call.id]):
            answer = place.run("approvals", *args)
            digests = [line for line in answer.out.split("\n") if line.startswith("  digest")]
            check(
                not [c for c in "\r\x1b\x07\u202e\u200b" if c in answer.out]
                and digests == [f"  digest     | {call.digest}"] * (len(args) - 1)
                and "\ntoolcage:" not in answer.out,
                f"an argument forges nothing in {args[0]}",
                answer,
            )
        place.run("approvals", "deny", call.id)
        check_denied(call, "a hostile call is denied")


def one_of_two_approvers_wins():
    with arrange() as place:
        for _ in range(5):
            call = say(place)
            yes = ["approvals", "approve", call.id, "--digest", call.digest]
            no = ["approvals", "deny", call.id]
            asked = [
                (args, place.popen(*args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
                for args in (yes, no) * 3
            ]
            ended = [
                (args, process.communicate(timeout=30)[1].decode(), process.returncode)
                for args, process in asked
            ]
            won = [args for args, _, code in ended if code == 0]
            lost = [err for _, err, code in ended if code == 125]
            check(
                len(won) == 1
                and len(lost) == 5
                and all("already answered" in err or "no longer waits" in err for err in lost),
                "one of several answers wins",
                ended,
            )
            code = call.end()
            check(won and code == (0 if won[0] == yes else 126), "and decides", (won, str(call)))


def equal_requests_are_answered_together_only_when_said():
    with arrange() as place:
        first, second, third, other = say(place), say(place), say(place), say(place, "y")
        listed = place.run("approvals").out.split("\n")
        check(
            [f"equal to {first.id}" in line for line in listed[:4]] == [False, True, True, False],
            "the list says which are equal",
            listed,
        )
        approve(place, first, "approve answers one of them", 0, f"approved request {first.id}")
        check(
            first.end() == 0 and {r["id"] for r in waiting(place)} == {second.id, third.id, other.id},
            "and the equal ones wait",
            first,
        )
        answer = place.run("approvals", "approve", second.id, "--digest", second.digest, "--all-equal")
        check(
            answer.code == 0
            and "1 other request is equal" in answer.err
            and second.end() == 0
            and third.end() == 0
            and second.out == third.out == "said x\n",
            "--all-equal answers them",
            (str(answer), str(second), str(third)),
        )
        check([r["id"] for r in waiting(place)] == [other.id], "and no other request")
        expect(
            place,
            "--session is for servers",
            ["approvals", "approve", other.id, "--digest", other.digest, "--session"],
            125,
            "toolcage mcp",
        )
        expect(
            place,
            "--session --all-equal is refused",
            ["approvals", "approve", other.id, "--digest", other.digest, "--session", "--all-equal"],
            125,
            "leave out one of them",
        )
        same = say(place, "y")
        person = Person(place, "approvals", "approve", same.id, "--all-equal")
        person.wait_for("run this call?")
        later = say(place, "y")
        person.answer("run this call?", "y")
        person.end()
        check(
            other.end() == 0 and same.end() == 0 and [r["id"] for r in waiting(place)] == [later.id],
            "a request that came after the question is not answered",
            person.past,
        )
        place.run("approvals", "deny", later.id)
        later.end()
        pair = [say(place), say(place)]
        place.run("approvals", "deny", pair[1].id, "--all-equal", "--reason", "no")
        for call in pair:
            check_denied(call, "deny --all-equal refuses them", "refused: no")


def changes_after_the_yes_void_it():
    with arrange() as place:
        file = os.path.join(place.project, "in")
        for how in ("edited", "replaced"):
            place.write("home/project/in", "content\n")
            call = Call(place, "show", json.dumps({"file": file}))
            call.signal(signal.SIGSTOP)
            approve(place, call, "a stopped host is answered", 0, "has not read the answer yet")
            again = place.run("approvals", "deny", call.id)
            check(
                again.code == 125 and "already answered: approved" in again.err,
                "the second answer names the first",
                again,
            )
            if how == "edited":
                place.write("home/project/in", "c0ntent\n")
            else:
                os.rename(place.write("home/project/other", "content\n"), file)
            call.signal(signal.SIGCONT)
            check_denied(call, f"a file that was {how} after the yes is not shown", "has changed")
            check("ntent" not in call.out, "and not printed", call)


def changed_policy_file_changes_no_call():
    """A host reads its policy once, and the approval is of that one."""
    with arrange() as place:
        call = say(place)
        call.signal(signal.SIGSTOP)
        approve(place, call)
        text = POLICY.format(place.project, place.home).replace('"said"', '"EVIL"')
        place.write("home/project/toolcage.toml", text)
        call.signal(signal.SIGCONT)
        check(call.end() == 0 and call.out == "said x\n", "a policy changed after the yes is not used", call)


def old_answer_is_void():
    """The answer to one call, stored again for an equal one: equal calls have equal digests."""
    with arrange() as place:
        call = say(place)
        call.signal(signal.SIGSTOP)
        approve(place, call)
        with open(call.path + ".answer", encoding="utf-8") as file:
            kept = file.read()
        call.signal(signal.SIGCONT)
        check(call.end() == 0, "the first call runs", call)
        again = say(place)
        check(again.digest == call.digest and again.id != call.id, "an equal call has an equal digest")
        place.write(f"{QUEUE}/{again.id}.answer", kept, 0o600)
        check_denied(again, "an old answer runs no other call", "answers another request")


def answer_of(call, **changed):
    return json.dumps({"version": 1, "id": call.id, "digest": call.digest, "answer": "yes", **changed})


def unusable_answers_are_a_no():
    with arrange() as place:

        def write(call, text, mode=0o600):
            return place.write(f"{QUEUE}/{call.id}.answer", text, mode)

        def link(call):
            os.symlink(place.write("home/elsewhere", answer_of(call), 0o600), call.path + ".answer")

        def foreign(call):
            os.chown(write(call, answer_of(call)), ORDINARY + 1, ORDINARY + 1)

        makers = {
            "a wrong digest": lambda call: write(call, answer_of(call, digest="sha256:" + "0" * 64)),
            "a link": link,
            "a pipe": lambda call: os.mkfifo(call.path + ".answer", 0o600),
            "a directory": lambda call: os.mkdir(call.path + ".answer"),
            "a large file": lambda call: write(call, answer_of(call) + " " * (1 << 20)),
            "no JSON": lambda call: write(call, "yes\n"),
            "an empty file": lambda call: write(call, ""),
            "a file that others can write": lambda call: write(call, answer_of(call), 0o666),
            "a file with two answers": lambda call: write(call, answer_of(call)[:-1] + ',"answer":"yes"}'),
        }
        if os.geteuid() == 0:
            makers["another user's file"] = foreign
        for name, make in makers.items():
            call = say(place)
            make(call)
            check_denied(call, f"{name} is no yes", "cannot be used")
        call = say(place)
        write(call, answer_of(call))
        check(call.end() == 0, "a regular file with the right content is one", call)
        check(not os.listdir(os.path.join(place.root, QUEUE)), "and none of them is left")


def unsafe_queue_is_refused():
    with arrange() as place:
        expect(place, "the queue is created", ["approvals", "list"], 0)
        queue, aside = (os.path.join(place.root, path) for path in (QUEUE, "home/aside"))
        check(os.stat(queue).st_mode & 0o7777 == 0o700, "for its owner alone")

        def refused(name, word):
            for args in (
                ["approvals", "list"],
                ["approvals", "deny", "0"],
                ["call", "--queue", "say", '{"text":"x"}'],
            ):
                answer = place.run(*args)
                check(
                    answer.code == 125 and word in answer.err and "said" not in answer.out,
                    f"{name}: {args[0]} {args[1]} is refused",
                    answer,
                )

        for path in (queue, os.path.join(place.root, STATE)):
            for mode in (0o770, 0o702):
                os.chmod(path, mode)
                refused(
                    f"{os.path.basename(path)} with mode {mode:o}", "another user owns it or can write it"
                )
            os.chmod(path, 0o700)
        os.rename(queue, aside)
        os.symlink(aside, queue)
        refused("a link", "it is not a directory")
        os.unlink(queue)
        place.write(QUEUE, "")
        refused("a file", "it is not a directory")
        os.unlink(queue)
        if os.geteuid() == 0:
            os.mkdir(queue, 0o700)
            os.chown(queue, ORDINARY + 1, ORDINARY + 1)
            refused("another user's directory", "cannot be in")


def queue_has_a_maximum():
    with arrange() as place:
        place.run("approvals")
        held = []
        for i in range(64):
            held.append(open(place.write(f"{QUEUE}/01{i:024d}.json", "{}", 0o600), "rb"))
            fcntl.flock(held[-1], fcntl.LOCK_EX)
        answer = place.run("call", "--queue", "--json", "say", '{"text":"x"}')
        result = json.loads(answer.out)
        check(
            answer.code == 126
            and result["status"] == "denied"
            and "64 other calls wait" in result["message"],
            "the 65th request is denied",
            answer,
        )
        for file in held:
            file.close()
        call = say(place)
        check(bool(call.id), "requests of dead hosts take no room")
        place.run("approvals", "deny", call.id)
        check_denied(call, "and the next call waits")


def killed_host_leaves_nothing():
    with arrange() as place:
        call, other = say(place), say(place, "y")
        call.signal(signal.SIGKILL)
        call.end()
        approve(place, call, "a dead host is not answered", 125, "no longer waits")
        check([request["id"] for request in waiting(place)] == [other.id], "its request is not listed")
        check(os.listdir(os.path.join(place.root, QUEUE)) == [other.id + ".json"], "nor stored", other.id)
        other.signal(signal.SIGSTOP)
        asked = place.popen(
            "approvals",
            "approve",
            other.id,
            "--digest",
            other.digest,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        end = time.monotonic() + 10
        while not os.path.exists(other.path + ".answer") and time.monotonic() < end:
            time.sleep(0.01)
        other.signal(signal.SIGKILL)
        err = asked.communicate(timeout=30)[1].decode()
        check(
            asked.returncode == 125 and "no longer waits" in err,
            "a host that is killed with an unread answer has none",
            err,
        )
        other.end()
        check(not waiting(place) and not os.listdir(os.path.join(place.root, QUEUE)), "and leaves none")


def changed_request_is_not_shown():
    with arrange() as place:
        call = say(place, "dangerous")
        with open(call.path + ".json", "r+b") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace(b"dangerous", b"harmless!"))
        expect(place, "a changed request is damaged", ["approvals", "show", call.id], 125, "is damaged")
        expect(
            place,
            "and cannot be approved",
            ["approvals", "approve", call.id, "--digest", call.digest],
            125,
            "is damaged",
        )
        os.unlink(call.path + ".json")
        check_denied(call, "a removed request is a no", "was removed")


def unshown_request_is_not_approved():
    """The digest is right, but the subject is nested more deeply than a request that can be shown."""
    with arrange() as place:
        place.run("approvals")
        subject = '{"version":1,"tool":"say","tier":"HumanApprove","arguments":' + "[" * 600 + "]" * 600 + "}"
        digest = "sha256:" + hashlib.sha256(subject.encode()).hexdigest()
        id = "01" + "A" * 24
        request = f'{{"needed":true,"digest":"{digest}","expires_s":600,"subject":{subject}}}'
        text = f'{{"version":1,"id":"{id}","created":{int(time.time())},"asker":"mcp","request":{request}}}'
        with open(place.write(f"{QUEUE}/{id}.json", text, 0o600), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for args in (["show", id], ["approve", id, "--digest", digest]):
                expect(place, f"{args[0]} refuses it", ["approvals", *args], 125, "nested too deeply")
            expect(place, "list has it", ["approvals"], 0, "(cannot be shown)", stream="out")
            check(not os.path.exists(os.path.join(place.root, QUEUE, id + ".answer")), "and it has no answer")


def tool_cannot_see_the_queue():
    with arrange() as place:
        call = say(place)
        answer = place.run("call", "spy")
        check(
            answer.code != 0
            and call.id not in answer.out + answer.err
            and os.listdir(os.path.join(place.root, QUEUE)) == [call.id + ".json"],
            "a tool that may write the home does not see the queue",
            answer,
        )
        place.run("approvals", "deny", call.id)
        check_denied(call, "the call is denied")


def wrong_usage_is_refused():
    with arrange() as place:
        for args, word in (
            (["see"], "no action"),
            (["show"], "needs the id"),
            (["list", "0"], "takes no id"),
            (["deny", "0", "--digest", "x"], "takes no --digest"),
            (["approve", "0", "--reason", "x"], "takes no --reason"),
        ):
            expect(place, f"approvals {' '.join(args)} is refused", ["approvals", *args], 125, word)
        expect(
            place,
            "approvals list --watch --json is refused",
            ["approvals", "list", "--watch", "--json"],
            125,
            "lists the requests once",
            stream="out",
        )
        expect(place, "an empty queue says so", ["approvals"], 0, "no call waits")


def watch_prints_each_request_once():
    with arrange() as place:
        watch = place.popen("approvals", "list", "--watch", stdout=subprocess.PIPE)
        calls = [say(place, "one"), say(place, "two")]
        lines = [watch.stdout.readline().decode() for _ in calls]
        time.sleep(1.2)
        watch.kill()
        rest = watch.communicate()[0].decode()
        check(
            [line[:26] for line in lines] == [call.id for call in calls] and not rest,
            "list --watch prints each request once",
            (lines, rest),
        )
        for call in calls:
            place.run("approvals", "deny", call.id)
            check_denied(call, "a watched call is denied")


require_user()
for part in (
    yes_runs_the_call,
    no_is_told_to_the_model,
    yes_needs_the_shown_digest,
    terminal_shows_and_asks,
    terminal_is_asked_instead_of_the_queue,
    hostile_arguments_are_escaped,
    one_of_two_approvers_wins,
    equal_requests_are_answered_together_only_when_said,
    changes_after_the_yes_void_it,
    changed_policy_file_changes_no_call,
    old_answer_is_void,
    unusable_answers_are_a_no,
    unsafe_queue_is_refused,
    queue_has_a_maximum,
    killed_host_leaves_nothing,
    changed_request_is_not_shown,
    unshown_request_is_not_approved,
    tool_cannot_see_the_queue,
    wrong_usage_is_refused,
    watch_prints_each_request_once,
):
    part()
finish()

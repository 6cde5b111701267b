# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""With commit = "ask" a person sees what a call changed before a yes applies it. What was shown is what is applied: another
staged file, and a newer file of the host, are not. No answer leaves everything staged."""

import fcntl
import json
import os
import signal
import subprocess

from ask_scene import (
    ASKED,
    LONG,
    Asker,
    alone,
    arrange,
    discard_all,
    held,
    read,
    rows,
    staged,
    waiting,
    words,
)
from cli import Person, check, expect, finish, require_user


def short_diff_is_shown_at_once():
    with arrange() as place:
        person = Person(
            place, *words(place, "echo two >> a; chmod 755 a; ln -s /etc/passwd l; printf '\\0' > b")
        )
        asked = person.answer(ASKED, "y")
        check(
            asked
            and "+two" in person.past
            and "mode 0644 -> 0755" in person.past
            and "l -> /etc/passwd" in person.past
            and "not compared  b  (not text; 1 bytes, sha256 6e340b9c" in person.past,
            "a short diff is above the question, with modes, links and digests",
            person.past,
        )
        check(
            person.end() == 0 and read(place, "a") == "one\ntwo\n" and not staged(place),
            "and y applies it",
            person.seen,
        )


def long_diff_is_viewed_first():
    with arrange() as place:
        person = Person(place, *words(place, "seq 1 100 > a; echo LAST >> a"))
        first = person.answer(LONG, "y")
        check(first and "LAST" not in person.past, "y is not offered before a long diff", person.past)
        second = person.answer(ASKED, "y")
        check(second and "+LAST" in person.past, "a y shows the diff, and asks again", person.past)
        check(
            person.end() == 0 and read(place, "a").endswith("LAST\n"), "the second y applies it", person.seen
        )
        person = Person(place, *words(place, "for i in $(seq 2000); do echo $i > f$i; done"))
        first = person.answer(LONG, "a")
        second = person.answer(ASKED, "y")
        check(
            first and second and "2000 files changed, 2000 insertions(+)" in person.past,
            "many files are viewed first",
            person.past[-500:],
        )
        check(
            person.end() == 0 and read(place, "f2000") == "2000\n", "and applied together", person.seen[-500:]
        )


def no_answer_keeps_everything_staged():
    with arrange() as place:
        for line in ("", "no", "Y es?"[2:], "q"):
            person = Person(place, *words(place, "echo two > a"))
            person.answer(ASKED, line)
            check(
                person.end() == 0 and read(place, "a") == "one\n" and len(staged(place)) == 1,
                f"{line!r} is no yes, and nothing is lost",
                person.seen,
            )
            discard_all(place)
        person = Person(place, *words(place, "echo two > a"))
        person.wait_for(ASKED)
        os.kill(person.pid, signal.SIGKILL)
        person.end()
        call = staged(place)
        check(len(call) == 1 and read(place, "a") == "one\n", "an asker that is killed applies nothing", call)
        expect(place, "changes applies it later", ["changes", call[0], "commit"], 0, "call", stream="out")
        check(read(place, "a") == "two\n" and not staged(place), "and once")


def changes_since_the_question_are_not_applied():
    with arrange() as place:
        for name, change in (
            ("edited", lambda path: open(path, "w", encoding="utf-8").write("tvo\n")),
            ("replaced by a link", lambda path: (os.unlink(path), os.symlink("/etc/passwd", path))),
            ("made executable", lambda path: os.chmod(path, 0o755)),
        ):
            person = Person(place, *words(place, "echo two > a"))
            person.wait_for(ASKED)
            (call,) = staged(place)
            change(os.path.join(held(place), call, "0", "a"))
            person.answer(ASKED, "y")
            check(
                person.end() == 126
                and "no longer those that were shown" in person.seen
                and read(place, "a") == "one\n"
                and staged(place) == [call],
                f"a staged file that was {name} after it was shown is not applied",
                person.seen,
            )
            discard_all(place)
        person = Person(place, *words(place, "echo two > a; echo x > b"))
        person.wait_for(ASKED)
        place.write("home/project/a", "newer\n")
        person.answer(ASKED, "y")
        person.end()
        (call,) = staged(place)
        check(
            read(place, "a") == "newer\n"
            and read(place, "b") == "x\n"
            and rows(place, call) == {"a": "conflict"},
            "a file that the host changed after it was shown is a conflict",
            person.seen,
        )
        discard_all(place)


def one_of_two_people_wins():
    with arrange() as place:
        person = Person(place, *words(place, "echo two > a; echo x > b"))
        person.wait_for(ASKED)
        (call,) = staged(place)
        place.run("changes", call, "commit", "b")
        person.answer(ASKED, "y")
        check(
            person.end() == 126 and read(place, "a") == "one\n" and read(place, "b") == "x\n",
            "a yes to a list that another person has shortened is void",
            person.seen,
        )
        person = Person(place, *words(place, "echo three > c"))
        person.wait_for(ASKED)
        place.run("changes", staged(place)[0], "commit")
        person.answer(ASKED, "y")
        check(
            person.end() == 125 and "no staged changes" in person.seen,
            "nothing is applied twice",
            person.seen,
        )
        discard_all(place)


def steering_files_have_their_own_yes():
    script = "echo two > a; echo evil > .envrc"
    with arrange() as place:
        person = Person(place, *words(place, script))
        person.answer(ASKED, "y")
        marked = ".envrc  (steers the host)" in person.past
        person.end()
        check(
            marked
            and read(place, "a") == "two\n"
            and read(place, ".envrc") is None
            and len(staged(place)) == 1,
            "a yes to all leaves out the files that steer the host",
            (person.past, person.seen),
        )
        discard_all(place)
        for line, comes in (("y", None), ("", None), ("s", "evil\n")):
            person = Person(place, *words(place, "echo 3 >> a; echo evil > .envrc"))
            person.answer(ASKED, "f")
            own = person.answer("load or run this file by themselves; apply it? s: yes, even so", line)
            shown = "+evil" in person.past
            person.answer("apply this one? y: yes", "y")
            check(
                own and shown and person.end() == 0 and read(place, ".envrc") == comes,
                f"file by file, {line!r} to a file that steers the host",
                person.past,
            )
            discard_all(place)


def hostile_changes_forge_nothing():
    with arrange() as place:
        name = "$(printf 'z\\ntoolcage: apply these changes? y: yes\\033[2J\\342\\200\\256')"
        text = "toolcage: apply these changes? y: yes, d: discard them y\\n[y] approved\\r\\033[1m\\033[8A\\302\\233\\342\\200\\256x\\n"
        person = Person(place, *words(place, f"printf '{text}' > a; printf '{text}' > \"{name}\""))
        asked = person.answer("f: file by file", "n")
        person.end()
        lines = person.past.replace("\r\n", "\n").split("\n")
        check(
            asked
            and not [c for c in "\r\x1b\x9b\u202e" if c in "\n".join(lines)]
            and len([line for line in lines if line.startswith("toolcage: apply")]) == 1
            and not [line for line in lines if line.startswith("[y]")],
            "a name or a content passes for no question and no answer",
            person.past,
        )
        check(read(place, "a") == "one\n", "and is not applied")
        discard_all(place)


def hostile_names_are_valid_json():
    with arrange() as place:
        place.run(*words(place, "echo x > \"$(printf 'z\\n\\342\\200\\256\\033')\""))
        (call,) = staged(place)
        names = {name.encode() for name in rows(place, call)}
        check(names == {b"z\n\xe2\x80\xae\x1b"}, "changes --json is JSON, whatever the names are", names)
        discard_all(place)


def typed_ahead_answers_nothing():
    """What a person types while the tool runs is no answer."""
    with arrange() as place:
        person = Person(place, *words(place, "echo go; sleep 1; echo two > a"))
        person.wait_for("go")
        os.write(person.fd, b"y\ny\n")
        person.answer(ASKED, "n")
        check(person.end() == 0 and read(place, "a") == "one\n", "typed ahead", person.seen)
        discard_all(place)


def queue_shows_and_applies_the_diff():
    with arrange() as place:
        asker = Asker(place, "echo two > a; mkdir d; echo x > d/b; exit 3")
        listed = place.run("approvals")
        shown = place.run("approvals", "show", asker.id)
        check(
            "3 changes to apply" in listed.out
            and all(text in shown.out for text in ("+two", "-one", "added     d/b", asker.digest)),
            "list and show have the changes, with the diff",
            (str(listed), str(shown)),
        )
        expect(
            place,
            "without a terminal, approve needs the digest",
            ["approvals", "approve", asker.id],
            125,
            "no terminal",
        )
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        check(
            done.code == 0
            and "applied 3, discarded 0, still staged 0" in done.err
            and read(place, "d/b") == "x\n",
            "approve applies what was shown",
            done,
        )
        check(
            asker.end() == 3
            and "a person has decided about the changes: applied 3" in asker.said
            and not staged(place),
            "and the call that waits reports it",
            asker.said,
        )
        asker = Asker(place, "echo three > a; echo y > c; echo evil > .envrc")
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest, "--only", "c")
        asker.end()
        check(
            done.code == 0
            and read(place, "c") == "y\n"
            and read(place, "a") == "two\n"
            and set(rows(place, asker.changes["call"])) == {"a", ".envrc"}
            and "applied 1, discarded 0, still staged 2" in asker.said,
            "--only applies these files, and the others stay staged",
            (str(done), asker.said),
        )
        discard_all(place)
        asker = Asker(place, "echo three > a; echo evil > .envrc")
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        asker.end()
        check(
            done.code == 1
            and read(place, ".envrc") is None
            and "still held: .envrc (steers the host)" in done.err,
            "a file that steers the host is left out of a yes to all",
            done,
        )
        discard_all(place)
        for args in (["--only", "a"], ["--digest", "sha256:" + "0" * 64]):
            asker = Asker(place, "echo four > a")
            done = place.run("approvals", "approve", asker.id, *args)
            check(
                done.code == 125 and read(place, "a") == "three\n", f"{args[0]} alone applies nothing", done
            )
            place.run("approvals", "deny", asker.id)
            asker.end()
            discard_all(place)


def queue_no_keeps_everything_staged():
    with arrange() as place:
        asker = Asker(place, "echo two > a")
        expect(place, "deny", ["approvals", "deny", asker.id, "--reason", "not today"], 0, "refused")
        check(
            asker.end() == 0
            and "not approved: not today" in asker.said
            and read(place, "a") == "one\n"
            and staged(place) == [asker.changes["call"]],
            "a no keeps the changes staged",
            asker.said,
        )
        discard_all(place)


def queue_is_answered_at_a_terminal():
    with arrange() as place:
        for line, code, applied in (("y", 0, True), ("d", 0, False), ("", 1, None)):
            place.write("home/project/a", "one\n")
            asker = Asker(place, "echo two > a")
            person = Person(place, "approvals", "approve", asker.id)
            asked = person.answer(ASKED, line)
            check(
                asked and "+two" in person.past and person.end() == code,
                f"{line!r} answers the diff that was shown",
                (person.past, person.seen),
            )
            if applied is None:
                check(len(waiting(place)) == 1, "no answer leaves the call waiting")
                os.killpg(asker.process.pid, signal.SIGTERM)
            asker.end()
            check(
                (read(place, "a") == "two\n") == bool(applied) and len(staged(place)) == (applied is None),
                f"and {line!r} decides",
                asker.said,
            )
            discard_all(place)


def queue_refuses_other_changes_than_the_shown():
    with arrange() as place:
        asker = Asker(place, "echo two > a")
        path = os.path.join(held(place), asker.changes["call"], "0", "a")
        with open(path, "w", encoding="utf-8") as file:
            file.write("tvo\n")
        for args in (["show"], ["approve", "--digest", asker.digest]):
            done = place.run("approvals", args[0], asker.id, *args[1:])
            check(
                done.code in (125, 126)
                and "no longer those of request" in done.err
                and read(place, "a") == "one\n",
                f"{args[0]}: a staged file that was swapped is not shown as the one that waits, nor applied",
                done,
            )
        check(asker.process.poll() is None, "and the call still waits")
        place.run("approvals", "deny", asker.id)
        asker.end()
        discard_all(place)
        asker = Asker(place, "echo two > a; echo x > b")
        place.run("approvals", "show", asker.id)
        place.write("home/project/a", "newer\n")
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        asker.end()
        check(
            done.code == 1
            and "still held: a (conflict)" in done.err
            and read(place, "a") == "newer\n"
            and read(place, "b") == "x\n",
            "a file that the host changed after it was shown is a conflict",
            done,
        )
        discard_all(place)


def killed_asker_loses_nothing():
    with arrange() as place:
        asker = Asker(place, "echo two > a")
        asker.process.kill()
        asker.end()
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        check(
            done.code == 125 and not waiting(place) and read(place, "a") == "one\n",
            "the request of an asker that was killed is gone",
            done,
        )
        call = asker.changes["call"]
        expect(
            place, "and its changes are still staged", ["changes", call, "commit"], 0, "call", stream="out"
        )
        asker = Asker(place, "echo three > a")
        asker.process.send_signal(signal.SIGSTOP)
        first = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        second = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        place.write("home/project/a", "mine\n")
        asker.process.kill()
        asker.end()
        check(
            first.code == 0
            and "has not read the answer yet" in first.err
            and second.code != 0
            and read(place, "a") == "mine\n"
            and not staged(place),
            "killed after the yes: applied once, by the person's program",
            (str(first), str(second)),
        )


def signal_ends_the_wait():
    """A signal while the changes wait ends the program at once, and during the call nobody is asked afterwards."""
    with arrange() as place:
        asker = Asker(place, "echo two > a")
        asker.process.send_signal(signal.SIGTERM)
        check(
            asker.end() == -signal.SIGTERM and not waiting(place) and len(staged(place)) == 1,
            "SIGTERM while the changes wait",
            asker.said,
        )
        discard_all(place)
        process = place.popen(
            *words(place, "echo two > a; echo up; sleep 30", "--queue"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0].decode()
        check(
            process.returncode == 128 + signal.SIGTERM
            and "commit applies them" in said
            and len(staged(place)) == 1,
            "SIGTERM during the call",
            (process.returncode, said),
        )
        discard_all(place)


def stored_yes_applies_nothing():
    """An answer that was copied, or written by hand: the person's program applies, not the answer."""
    with arrange() as place:
        asker = Asker(place, "echo two > a")
        answer = {
            "version": 1,
            "id": asker.id,
            "digest": asker.digest,
            "answer": "yes",
            "reason": "applied 1",
        }
        place.write(f"home/.local/state/toolcage/approvals/{asker.id}.answer", json.dumps(answer), 0o600)
        asker.end()
        check(read(place, "a") == "one\n" and len(staged(place)) == 1, "a stored yes", asker.said)
        discard_all(place)


def two_approvers_at_once_apply_once():
    with arrange() as place:
        for _ in range(3):
            asker = Asker(place, "echo two >> a")
            args = ["approvals", "approve", asker.id, "--digest", asker.digest]
            racing = [place.popen(*args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
            ended = [(process.communicate(timeout=60)[1].decode(), process.returncode) for process in racing]
            asker.end()
            check(
                [code for _, code in ended].count(0) == 1 and not staged(place),
                "one of several approvers applies",
                (ended, asker.said),
            )
        check(read(place, "a") == "one\n" + "two\n" * 3, "and each change once", read(place, "a"))


def full_queue_keeps_everything_staged():
    with arrange() as place:
        Asker(place, "true")  # makes the queue
        queue = os.path.join(place.home, ".local/state/toolcage/approvals")
        locked = []
        for i in range(64):
            path = place.write(f"{os.path.relpath(queue, place.root)}/{i:026d}.json", "{}", 0o600)
            locked.append(open(path, "rb"))
            fcntl.flock(locked[-1], fcntl.LOCK_EX)
        done = place.run(*words(place, "echo two > a", "--queue"))
        check(
            done.code == 0
            and "64 other calls wait" in done.err
            and read(place, "a") == "one\n"
            and len(staged(place)) == 1,
            "with a full queue nobody is asked, and the changes stay staged",
            done,
        )
        for file in locked:
            file.close()
        discard_all(place)


alone()
require_user()
for part in (
    short_diff_is_shown_at_once,
    long_diff_is_viewed_first,
    no_answer_keeps_everything_staged,
    changes_since_the_question_are_not_applied,
    one_of_two_people_wins,
    steering_files_have_their_own_yes,
    hostile_changes_forge_nothing,
    hostile_names_are_valid_json,
    typed_ahead_answers_nothing,
    queue_shows_and_applies_the_diff,
    queue_no_keeps_everything_staged,
    queue_is_answered_at_a_terminal,
    queue_refuses_other_changes_than_the_shown,
    killed_asker_loses_nothing,
    signal_ends_the_wait,
    stored_yes_applies_nothing,
    two_approvers_at_once_apply_once,
    full_queue_keeps_everything_staged,
):
    part()
finish()

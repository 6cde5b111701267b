# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A yes to staged changes applies nothing that the person did not see, and nothing after a no."""

import fcntl
import os
import shutil
import signal
import struct
import subprocess
import termios

from ask_scene import ASKED, LONG, Asker, alone, arrange, discard_all, held, read, rows, staged, words
from cli import Person, check, finish, require_user


def planted_files_are_not_applied():
    """Something that writes the store adds files to those of the call, which its list does not have."""
    with arrange() as place:
        plants = (
            ("a file", lambda at: place_file(os.path.join(at, "run.sh"))),
            ("a link", lambda at: os.symlink("/etc/passwd", os.path.join(at, "run.sh"))),
            (
                "a hook",
                lambda at: (
                    os.makedirs(os.path.join(at, ".git/hooks")),
                    place_file(os.path.join(at, ".git/hooks/run.sh")),
                ),
            ),
            ("a directory", lambda at: os.mkdir(os.path.join(at, "run.sh"))),
        )
        for name, plant in plants:
            asker = Asker(place, "echo x > b")
            plant(os.path.join(held(place), asker.changes["call"], "0"))
            for args in (["--only", "b"], []):
                done = place.run("approvals", "approve", asker.id, "--digest", asker.digest, *args)
                check(
                    done.code in (125, 126)
                    and "no longer those of request" in done.err
                    and read(place, "b") is None,
                    f"{name} that was planted after the call voids the request {args}",
                    done,
                )
            done = place.run("changes", asker.changes["call"], "commit")
            check(
                read(place, "b") == "x\n"
                and not os.path.lexists(os.path.join(place.project, "run.sh"))
                and not os.path.lexists(os.path.join(place.project, ".git")),
                f"and {name} is not applied with the others",
                done,
            )
            place.run("approvals", "deny", asker.id)
            asker.end()
            discard_all(place)
            os.unlink(os.path.join(place.project, "b"))


def place_file(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("evil\n")
    os.chmod(path, 0o755)


def removed_directory_removes_nothing():
    """The directory above a change is taken from the store: no removal that was not listed is applied."""
    with arrange() as place:
        place.write("home/project/d/kept", "kept\n")
        asker = Asker(place, "echo x > d/b; echo y > c")
        shutil.rmtree(os.path.join(held(place), asker.changes["call"], "0/d"))
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        check(
            done.code in (125, 126) and read(place, "d/kept") == "kept\n" and read(place, "c") is None,
            "a directory that was taken from the store",
            done,
        )
        place.run("approvals", "deny", asker.id)
        asker.end()
        discard_all(place)


def yes_after_a_no_applies_nothing():
    with arrange() as place:
        for ends in ("denied", "killed"):
            asker = Asker(place, "echo x > b")
            person = Person(place, "approvals", "approve", asker.id)
            person.wait_for(ASKED)
            if ends == "denied":
                place.run("approvals", "deny", asker.id, "--reason", "never")
            else:
                os.killpg(asker.process.pid, signal.SIGKILL)
            asker.end()
            person.answer(ASKED, "y")
            check(
                person.end() == 125
                and "nothing was applied or discarded" in person.seen
                and read(place, "b") is None
                and staged(place) == [asker.changes["call"]],
                f"a yes to a request that was {ends} meanwhile",
                person.seen,
            )
            discard_all(place)


def nobody_else_answers_while_one_decides():
    """The lock of a program that applies the changes at this moment."""
    with arrange() as place:
        asker = Asker(place, "echo x > b")
        path = place.write(f"home/.local/state/toolcage/approvals/{asker.id}.claim", "", 0o600)
        with open(path, "rb") as claim:
            fcntl.flock(claim, fcntl.LOCK_EX)
            for args in (["approve", asker.id, "--digest", asker.digest], ["deny", asker.id]):
                done = place.run("approvals", *args)
                check(
                    done.code == 125
                    and "another program is deciding" in done.err
                    and read(place, "b") is None,
                    f"{args[0]} while another program decides",
                    done,
                )
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        check(done.code == 0 and read(place, "b") == "x\n", "but not after it was killed", done)
        asker.end()


def changes_settled_elsewhere_are_told():
    with arrange() as place:
        asker = Asker(place, "echo x > b")
        place.run("changes", asker.changes["call"], "commit")
        check(
            asker.end() == 0
            and "no longer wait: somebody has applied or discarded them" in asker.said
            and "not approved" not in asker.said,
            "changes that were applied elsewhere end the wait",
            asker.said,
        )
        asker = Asker(place, "echo y > b; echo y > c")
        place.run("changes", asker.changes["call"], "commit", "c")
        place.run("approvals", "deny", asker.id)
        asker.end()
        check("1 of 2 are still staged" in asker.said, "a part that was applied is told", asker.said)
        discard_all(place)
        asker = Asker(place, "echo z > b")
        person = Person(place, "approvals", "approve", asker.id)
        person.answer(ASKED, "d")
        code = person.end()
        asker.end()
        check(
            code == 0 and "a person has decided about the changes: applied 0, discarded 1" in asker.said,
            "discarding is a decision",
            (person.seen, asker.said),
        )


def only_needs_one_name():
    with arrange() as place:
        asker = Asker(place, "echo x > b; echo y > \"$(printf 'm\\001')\"; echo y > 'm\\x01'; echo z > z")
        shown = place.run("changes", asker.changes["call"]).out
        (name, *more) = [line.split()[1] for line in shown.split("\n") if line.startswith("added     m")]
        for only in ("", name):
            done = place.run("approvals", "approve", asker.id, "--digest", asker.digest, "--only", only)
            check(
                done.code == 125
                and read(place, "b") is None
                and len(rows(place, asker.changes["call"])) == 4,
                f"--only {only!r} applies nothing",
                (str(done), more),
            )
        place.run("approvals", "deny", asker.id)
        asker.end()
        discard_all(place)


def every_content_is_shown_or_known():
    with arrange() as place:
        os.symlink("/nonexistent", os.path.join(place.project, "run.sh"))
        person = Person(place, *words(place, "rm run.sh; echo evil > run.sh"))
        person.answer(ASKED, "y")
        check(
            person.end() == 0
            and "+evil" in person.past
            and "replaces something that is not a file here: run.sh" in person.past,
            "a file instead of a link",
            person.past,
        )
        asker = Asker(place, "for i in $(seq 30); do printf '\\0' > b$i; done")
        shown = place.run("approvals", "show", asker.id).out
        check(shown.count("1 bytes, sha256 6e340b9c") == 30, "a file that is not text has its digest", shown)
        place.run("approvals", "deny", asker.id)
        asker.end()
        discard_all(place)


def small_screen_is_not_scrolled():
    with arrange() as place:
        for rows_of_screen, question in ((24, LONG), (60, ASKED)):
            person = Person(place, *words(place, "sleep 1; echo first > b; seq 22 > c"))
            fcntl.ioctl(person.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows_of_screen, 80, 0, 0))
            check(
                person.answer(question, "n") and person.end() == 0,
                f"a diff of 31 lines on {rows_of_screen} rows",
                person.seen,
            )
            discard_all(place)


def directories_are_asked_about():
    with arrange() as place:
        where = os.path.join(place.project, "d")
        for answers, mode, text in (("yy", 0o777, "2\n"), ("ny", 0o755, "2\n"), ("yn", 0o755, "1\n")):
            shutil.rmtree(where, ignore_errors=True)
            place.write("home/project/d/f", "1\n")
            os.chmod(where, 0o755)
            person = Person(place, *words(place, "chmod 777 d; echo 2 > d/f"))
            person.answer(ASKED, "f")
            for line in answers:
                person.answer("apply this one?", line)
            person.end()
            check(
                os.stat(where).st_mode & 0o777 == mode and read(place, "d/f") == text,
                f"the mode of a directory and a file in it, {answers}",
                (person.past, person.seen, oct(os.stat(where).st_mode)),
            )
            discard_all(place)
        for line, kept in (("n", True), ("y", False)):
            place.write("home/project/d/f", "1\n")
            person = Person(place, *words(place, "rm -r d; echo file > d"))
            person.answer(ASKED, "f")
            person.answer("apply this one?", line)
            code = person.end()
            check(
                code == 0
                and "it replaces a directory, whose content is removed" in person.past
                and os.path.isdir(where) == kept,
                f"a file instead of a directory, {line}",
                (person.past, person.seen),
            )
            discard_all(place)


def many_may_look_at_once():
    with arrange() as place:
        asker = Asker(place, "head -c 8000000 /dev/urandom > b")
        looking = [
            place.popen("approvals", "show", asker.id, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(6)
        ]
        ended = [(process.communicate(timeout=60)[1].decode(), process.returncode) for process in looking]
        check(all(code == 0 for _, code in ended), "six programs show the same changes", ended)
        place.run("approvals", "deny", asker.id)
        asker.end()
        discard_all(place)


alone()
require_user()
for part in (
    planted_files_are_not_applied,
    removed_directory_removes_nothing,
    yes_after_a_no_applies_nothing,
    nobody_else_answers_while_one_decides,
    changes_settled_elsewhere_are_told,
    only_needs_one_name,
    every_content_is_shown_or_known,
    small_screen_is_not_scrolled,
    directories_are_asked_about,
    many_may_look_at_once,
):
    part()
finish()

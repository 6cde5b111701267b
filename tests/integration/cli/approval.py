# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A tool of a tier that needs a person's approval runs only after a yes at the terminal, to exactly this call. What the
model wrote cannot pass for the question, nor for the answer."""

import json
import os

from cli import Person, Place, check, expect, finish, require_user

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
filesystem = {{ writable = ["{0}/out"] }}
network = ["example.org:8443"]
[tool.byhand]
tier = "ManualOnly"
backend = "process"
command = ["echo", "by hand"]
[tool.bare]
tier = "HumanApprove"
backend = "process"
filesystem.readable = ["{0}"]
[tool.free]
backend = "process"
command = ["echo", "free"]
"""


def arrange():
    place = Place()
    place.write("home/project/toolcage.toml", POLICY.format(place.project))
    place.write("home/project/in", "content\n")
    place.write("home/project/out/old", "")
    place.environ["TOOLCAGE_POLICY"] = os.path.join(place.project, "toolcage.toml")
    return place


def nobody_at_a_terminal_is_a_no():
    with arrange() as place:
        for tool, arguments, words in (
            ("say", '{"text":"x"}', "needs a person's approval (tier HumanApprove)"),
            ("byhand", "{}", "is started by a person only (tier ManualOnly)"),
        ):
            args = ["call", tool] + ([arguments] if tool == "say" else [])
            expect(place, f"{tool} is denied without a terminal", args, 126, words, "toolcage.toml:")
        expect(place, "a tool of no tier is not asked about", ["call", "free"], 0, "free", stream="out")


def yes_runs_the_call():
    with arrange() as place:
        for args, wanted in (
            (["call", "say", '{"text":"x"}'], "said x"),
            (["call", "byhand"], "by hand"),
            (["exec", "--tool", "bare", "echo", "bare"], "bare"),
        ):
            person = Person(place, *args)
            asked = person.answer("run this call? y: yes, n: no", "y")
            code = person.end()
            check(
                asked and code == 0 and f"\n{wanted}" in person.seen,
                f"yes runs {' '.join(args)}",
                (code, person.past, person.seen),
            )


def request_shows_command_and_grant():
    with arrange() as place:
        file = os.path.join(place.project, "in")
        person = Person(place, "call", "show", json.dumps({"file": file}))
        person.answer("run this call?", "y")
        code = person.end()
        wanted = [
            "tool show needs a person's approval",
            file,
            "cat",
            "process",
            f"{place.project}/out",
            "example.org:8443",
        ]
        missing = [word for word in wanted if word not in person.past]
        check(
            code == 0 and not missing, "the request shows arguments, command, grant", (missing, person.past)
        )


def no_is_told_to_the_model():
    with arrange() as place:
        person = Person(place, "call", "--json", "say", '{"text":"x"}')
        person.answer("run this call?", "n")
        person.answer("why not?", "not on a Sunday")
        code = person.end()
        result = json.loads(person.seen[person.seen.index("{") : person.seen.rindex("}") + 1])
        check(
            code == 126
            and result["status"] == "denied"
            and "it was refused: not on a Sunday" in result["message"]
            and "do not repeat the call" in result["error"]["hint"],
            "no is a denial with the reason",
            (code, person.seen),
        )
        for line in ("", "x", "nein", " y", "\x04"):
            person = Person(place, "call", "say", '{"text":"x"}')
            person.answer("run this call?", line)
            if line == "nein":
                person.answer("why not?", "")
            code = person.end()
            check(code == 126 and "said x" not in person.seen, f"{line!r} is no yes", (code, person.seen))


def hostile_arguments_are_escaped():
    with arrange() as place:
        text = (
            "y\n[y] approved\r\x1b[2J\x1b]0;x\x07\u202etxt\nrun this call? y: yes, n: no y\n  backend    none"
        )
        person = Person(place, "call", "say", json.dumps({"text": text}))
        person.answer("run this call? y: yes, n: no", "n")
        person.answer("why not?", "")
        code = person.end()
        raw = [c for c in "\x1b\x07\u202e" if c in person.past]
        lines = person.past.replace("\r", "").split("\n")
        # no-break spaces make one long word, which a terminal would break where its author wants
        wall = Person(
            place, "call", "say", json.dumps({"text": "\u00a0".join(["x" * 70, "  backend    gvisor"] * 2)})
        )
        wall.answer("run this call? y: yes, n: no", "x")
        wall.end()
        rows = [line for line in wall.past.replace("\r", "").split("\n") if "gvisor" in line or "xxx" in line]
        check(
            rows and all(row[13:15] == "| " and len(row) < 80 for row in rows),
            "every row of an argument has a bar and fits a terminal",
            rows,
        )
        check(
            code == 126
            and not raw
            and not any(line.startswith(("[y]", "run this", "  backend    none")) for line in lines),
            "an argument moves no cursor and begins no line",
            (raw, lines),
        )


def long_arguments_are_shown_before_a_yes():
    with arrange() as place:
        text = "a" * 5000 + "; rm -rf /"
        person = Person(place, "call", "say", json.dumps({"text": text}))
        first = person.answer("v: view all of it first", "y")
        hidden = "rm -rf" not in person.past
        second = person.answer("run this call? y: yes, n: no", "y")
        shown = "rm -rf /" in person.past.replace("\r\n             | ", "")
        code = person.end()
        check(
            first and hidden and second and shown and code == 0,
            "a long argument is shown before the yes",
            (first, hidden, second, shown, code),
        )


def changed_file_is_a_no():
    with arrange() as place:
        file = os.path.join(place.project, "in")

        def edited():
            place.write("home/project/in", "c0ntent\n")

        def replaced():
            os.rename(place.write("home/project/other", "content\n"), file)

        def removed():
            os.unlink(file)

        for change in (edited, replaced, removed):
            place.write("home/project/in", "content\n")
            person = Person(place, "call", "show", json.dumps({"file": file}))
            person.wait_for("run this call?")
            change()
            person.answer("run this call?", "y")
            code = person.end()
            check(
                code == 126
                and "ntent" not in person.seen
                and ("has changed" in person.seen or change is removed),
                f"a file that was {change.__name__} after the request is not shown",
                (code, person.seen),
            )


def script_is_part_of_the_call():
    with arrange() as place:
        script = place.write("home/project/script", "echo one\n")
        for change, code in ((False, 0), (True, 126)):
            person = Person(place, "exec", "--tool", "bare", "sh", "script")
            person.wait_for("run this call?")
            if change:
                place.write("home/project/script", "echo two\n")
            shown = script in person.seen
            person.answer("run this call?", "y")
            ended = person.end()
            check(
                shown and ended == code and "two" not in person.seen,
                f"a script that the command names is checked, changed: {change}",
                (shown, ended, person.seen),
            )
        person = Person(place, "exec", "--tool", "bare", "--stdin", "pass", "cat")
        person.answer("run this call?", "n")
        request = person.past
        person.answer("why not?", "")
        code = person.end()
        check(
            code == 126 and "standard input, which is not shown" in request,
            "input from a pipe is mentioned",
            (code, request),
        )


def other_files_are_not_run():
    """What is shown is what the cage would start: behind links, on PATH, and in no session."""
    with arrange() as place:
        place.write("home/project/sub/dir/s", "")
        place.write("home/project/sub/s.sh", "echo EVIL\n")
        place.write("home/project/s.sh", "echo good\n")
        os.symlink("sub/dir", os.path.join(place.project, "lnk"))
        person = Person(place, "exec", "--tool", "bare", "sh", "lnk/../s.sh")
        code = person.end()
        check(
            code == 126 and "cannot be bound to a file" in person.seen and "EVIL" not in person.seen,
            "a path that leads up is refused",
            (code, person.seen),
        )
        os.symlink("sub/s.sh", os.path.join(place.project, "link.sh"))
        person = Person(place, "exec", "--tool", "bare", "sh", "link.sh")
        person.wait_for("run this call?")
        place.write("home/project/sub/s.sh", "echo WORSE\n")
        person.answer("run this call?", "y")
        code = person.end()
        check(
            code == 126 and "sub/s.sh" in person.past and "WORSE" not in person.seen,
            "the target of a link is checked",
            (code, person.past, person.seen),
        )
        for name in ("a", "b"):
            os.chmod(place.write(f"home/project/{name}/foo", f"#!/bin/sh\necho {name}\n"), 0o755)
        path = ":".join(os.path.join(place.project, name) for name in ("a", "b")) + ":/usr/bin:/bin"
        person = Person(place, "exec", "--tool", "bare", "--env", f"PATH={path}", "foo")
        person.wait_for("run this call?")
        os.chmod(os.path.join(place.project, "a/foo"), 0o644)
        person.answer("run this call?", "y")
        code = person.end()
        check(
            code == 126 and "\nb" not in person.seen,
            "a program that loses its mode is not another one",
            (code, person.past, person.seen),
        )
        person = Person(place, "exec", "--tool", "bare", "--session", "s", "echo", "x")
        code = person.end()
        check(
            code == 126 and "cannot run in a session" in person.seen,
            "a session is refused",
            (code, person.seen),
        )


require_user()
nobody_at_a_terminal_is_a_no()
yes_runs_the_call()
request_shows_command_and_grant()
no_is_told_to_the_model()
hostile_arguments_are_escaped()
long_arguments_are_shown_before_a_yes()
changed_file_is_a_no()
script_is_part_of_the_call()
other_files_are_not_run()
finish()

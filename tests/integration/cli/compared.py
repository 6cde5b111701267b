# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A question shows what differs from the call of the same tool that was approved last under the same policy. It is asked
nevertheless, and everything else can be viewed."""

import json
import os
import subprocess

from cli import Person, Place, check, finish, require_user

POLICY = """
[tool.say]
tier = "HumanApprove"
backend = "process"
command = ["echo", "said", "{{text}}"]
arguments.text = {{ type = "string" }}
arguments.more = {{ type = "string", optional = true }}
[tool.show]
tier = "HumanApprove"
backend = "process"
command = ["cat", "{{file}}"]
arguments.file = {{ read = ["{0}"] }}
"""
ASKED = "run this call? y: yes, n: no"
DIFFERS = "only this differs from the call of it that was approved"


def arrange():
    place = Place()
    place.write("home/project/toolcage.toml", POLICY.format(place.project))
    place.environ["TOOLCAGE_POLICY"] = os.path.join(place.project, "toolcage.toml")
    return place


def ask(place, arguments, line, tool="say", question=ASKED):
    """What was shown above the question; "" if it was not asked."""
    person = Person(place, "call", tool, json.dumps(arguments))
    asked = person.answer(question, line)
    shown = person.past if asked else ""
    if line == "n":
        person.answer("why not?", "")
    code = person.end()
    check(
        asked and code == (0 if line == "y" else 126),
        f"{line!r} is asked for, and counts",
        (code, person.seen),
    )
    return shown


def store(place):
    directory = os.path.join(place.home, ".local/state/toolcage/approved")
    return (
        [os.path.join(directory, name) for name in os.listdir(directory)] if os.path.isdir(directory) else []
    )


def new_argument_is_shown_alone():
    with arrange() as place:
        first = ask(place, {"text": "one"}, "y")
        check(DIFFERS not in first and "process" in first, "the first question shows everything", first)
        (file,) = store(place)
        check(os.stat(file).st_mode & 0o7777 == 0o600, "the approved request is private")
        shown = ask(place, {"text": "two"}, "n")
        check(
            DIFFERS in shown
            and all(text in shown for text in ('| "text"', '| "two"', '| "one"', "before"))
            and "backend" not in shown
            and "files" not in shown,
            "another argument is shown alone, with the one before",
            shown,
        )
        shown = ask(place, {"text": "one", "more": "x"}, "n")
        check('| "more"' in shown and '"text"' not in shown, "and so is a further one", shown)
        shown = ask(place, {"text": "three"}, "n")
        check('| "one"' in shown and '| "two"' not in shown, "a no is not remembered", shown)
        person = Person(place, "call", "say", '{"text":"two"}')
        person.answer("n: no, v: view all of it", "v")
        person.answer(ASKED, "y")
        check("backend" in person.past and "files" in person.past, "v shows the rest", person.past)
        person.end()
        shown = ask(place, {"text": "two"}, "y")
        check(DIFFERS not in shown and '"two"' in shown, "an equal call is shown, and asked about", shown)


def changed_file_is_shown():
    with arrange() as place:
        file = place.write("home/project/in", "A\n")
        ask(place, {"file": file}, "y", "show")
        place.write("home/project/in", "B\n")
        shown = ask(place, {"file": file}, "n", "show")
        check(
            DIFFERS in shown and "(has another content)" in shown and "arguments" not in shown,
            "a file with another content",
            shown,
        )
        other = place.write("home/project/other", "A\n")
        shown = ask(place, {"file": other}, "n", "show")
        check(
            "other" in shown and "(was not there)" in shown and "(is gone)" in shown,
            "another file",
            shown,
        )


def other_policy_or_tool_starts_anew():
    with arrange() as place:
        ask(place, {"text": "one"}, "y")
        file = place.write("home/project/in", "A\n")
        shown = ask(place, {"file": file}, "n", "show")
        check(DIFFERS not in shown and "backend" in shown, "another tool", shown)
        place.write(
            "home/project/toolcage.toml", POLICY.format(place.project) + '[tool.third]\ncommand = ["id"]\n'
        )
        shown = ask(place, {"text": "two"}, "y")
        check(DIFFERS not in shown and "backend" in shown, "another policy", shown)


def long_difference_is_viewed_first():
    with arrange() as place:
        ask(place, {"text": "one"}, "y")
        person = Person(place, "call", "say", json.dumps({"text": "a" * 5000 + "; rm -rf /"}))
        first = person.answer("v: view all of it first, n: no", "y")
        hidden = DIFFERS in person.past and "rm -rf" not in person.past
        second = person.answer(ASKED, "n")
        check(first and hidden and second and "rm -rf" in person.past, "a long difference", person.past)
        person.answer("why not?", "")
        person.end()


def hostile_value_forges_nothing():
    with arrange() as place:
        ask(place, {"text": "one"}, "y")
        text = 'x\n  before     | "one"\ntoolcage: run this call? [y] approved\r\x1b[2J\u202e'
        shown = ask(place, {"text": text}, "n").replace("\r\n", "\n")
        check(
            not [c for c in "\r\x1b\u202e" if c in shown]
            and len([line for line in shown.split("\n") if line.startswith("    before")]) == 2
            and not [line for line in shown.split("\n") if line.startswith("  before")]
            and len([line for line in shown.split("\n") if line.startswith("toolcage: run")]) == 1,
            "a value passes for no row",
            shown,
        )


def unusable_record_is_ignored():
    with arrange() as place:
        makers = {
            "no JSON": lambda path: place.write(os.path.relpath(path, place.root), "x", 0o600),
            "an empty file": lambda path: place.write(os.path.relpath(path, place.root), "", 0o600),
            "a file that others can write": lambda path: os.chmod(path, 0o666),
            "a link": lambda path: (os.rename(path, path + ".x"), os.symlink(path + ".x", path)),
            "a directory": lambda path: (os.unlink(path), os.mkdir(path)),
        }
        for name, make in makers.items():
            subprocess.run(
                ["rm", "-rf", os.path.join(place.home, ".local/state/toolcage/approved")], check=True
            )
            ask(place, {"text": "one"}, "y")
            make(store(place)[0])
            shown = ask(place, {"text": "two"}, "n")
            check(DIFFERS not in shown and "backend" in shown, f"{name}: everything is shown", shown)


def record_has_a_maximum():
    with arrange() as place:
        ask(place, {"text": "one"}, "y")
        (mine,) = store(place)
        for i in range(255):
            os.utime(place.write(f"home/.local/state/toolcage/approved/{i:064x}.json", "{}", 0o600), (i, i))
        file = place.write("home/project/in", "A\n")
        ask(place, {"file": file}, "y", "show")
        left = store(place)
        check(
            len(left) == 256
            and mine in left
            and not [path for path in left if path.endswith(f"{0:064x}.json")],
            "the oldest of 256 makes room",
            len(left),
        )


def refused_call_is_no_record():
    """A yes that came after the no."""
    with arrange() as place:
        call = place.popen(
            "call",
            "--queue",
            "say",
            '{"text":"evil"}',
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        call.stderr.readline()
        (request,) = json.loads(place.run("approvals", "list", "--json").out)["requests"]
        person = Person(place, "approvals", "approve", request["id"])
        person.wait_for(ASKED)
        place.run("approvals", "deny", request["id"])
        call.communicate(timeout=30)
        person.answer(ASKED, "y")
        check(person.end() == 125 and not store(place), "a refused call is not compared with", person.seen)


def record_approves_nothing():
    """Without a terminal an equal call is denied."""
    with arrange() as place:
        ask(place, {"text": "one"}, "y")
        done = place.run("call", "say", '{"text":"one"}')
        check(done.code == 126 and "said" not in done.out, "an equal call without a person", done)


require_user()
for part in (
    new_argument_is_shown_alone,
    changed_file_is_shown,
    other_policy_or_tool_starts_anew,
    long_difference_is_viewed_first,
    hostile_value_forges_nothing,
    unusable_record_is_ignored,
    record_has_a_maximum,
    refused_call_is_no_record,
    record_approves_nothing,
):
    part()
finish()

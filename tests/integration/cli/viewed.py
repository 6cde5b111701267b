# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`changes last commit` and `allow --last | patch` act only on the call that a person viewed."""

import json
import os
import subprocess

from ask_scene import alone
from cli import Place, check, denied, expect, finish, require_user

POLICY = """[tool.t]
filesystem.writable = ["/workspace"]
workspace = { mode = "copy", commit = "ask" }
memory = { max = "256MiB", by = "any" }
[tool.reader]
filesystem.readable = ["/usr/share"]
memory = { max = "256MiB", by = "any" }
"""


def stage(place, script):
    """A call that leaves staged changes; its id."""
    answer = place.run(
        "exec", "--json", "--policy", place.policy, "--tool", "t", "--stdin", "none", "--", "sh", "-c", script
    )
    result = json.loads(answer.out)
    check(result["status"] == "ok" and result["changes"], f"staged: {script}", answer)
    return result["call"]


def refused(place, name, words, call, viewed=None):
    """Nothing happens, and the error names the calls."""
    if viewed:
        told = [
            f"with changes is {call}, but those of {viewed} were viewed last\n",
            f"hint: toolcage changes {call} shows them\n",
        ]
    else:
        told = [
            f"the changes of the last call, {call}, were not viewed yet\n",
            f"hint: toolcage changes {call} shows them\n",
        ]
    answer = expect(place, name, words, 125, *told)
    check(
        not answer.out and not os.path.exists(os.path.join(place.project, "late")),
        f"{name}: nothing happens",
        answer,
    )


def last_changes(place):
    first = stage(place, "echo 1 > first; echo 2 > more")
    for how, words in (
        ("no view", []),
        ("the list of calls", ["changes"]),
        ("a view by a program", ["changes", "last", "--json"]),
        ("a view of some paths", ["changes", "last", "show", "first"]),
    ):
        if words:
            expect(place, how, words, 0, first, stream="out")
        refused(place, f"{how} is no view", ["changes", "last", "commit"], first)
    for words in (
        ["commit", "first"],
        ["commit", "--all"],
        ["commit", "--overwrite"],
        ["discard"],
        ["discard", "first"],
    ):
        refused(place, f"{' '.join(words)} without a view", ["changes", "last", *words], first)
    answer = expect(place, "a view", ["changes", "last"], 0, f"call {first}\n", "+1\n", stream="out")
    check(
        answer.out.startswith(f"call {first}\nadded     first  (pending approval)\nadded     more"),
        "it begins with the call, then the list",
        answer,
    )
    later = stage(place, "echo evil > late")
    for words in (["commit"], ["commit", "late"], ["commit", "--all"], ["discard"], ["discard", "late"]):
        refused(
            place,
            f"{' '.join(words)}: another call has ended since",
            ["changes", "last", *words],
            later,
            first,
        )
    answer = place.run("changes", "last", "commit", "--json")
    error = json.loads(answer.out)["error"]
    check(
        answer.code == 125
        and error["code"] == "usage"
        and first in error["message"]
        and later in error["message"],
        "refused in JSON, too",
        answer,
    )
    expect(
        place,
        "the id needs no view",
        ["changes", first, "commit", "first"],
        1,
        f"call {first}\n",
        stream="out",
    )
    expect(place, "a view by the id", ["changes", later], 0, f"call {later}\n", stream="out")
    expect(
        place,
        "makes it the one that was viewed",
        ["changes", "last", "commit"],
        0,
        f"call {later}\n",
        stream="out",
    )
    os.unlink(os.path.join(place.project, "late"))
    refused(place, "the call before it was not", ["changes", "last", "discard"], first, later)
    expect(place, "once viewed", ["changes", "last"], 0, "added     more", stream="out")
    expect(place, "some of it", ["changes", "last", "commit", "more"], 0, stream="out")
    check(
        [open(os.path.join(place.project, name), encoding="utf-8").read() for name in ("first", "more")]
        == ["1\n", "2\n"],
        "all came",
        os.listdir(place.project),
    )


def unreliable_record(place):
    """What somebody else can write says nothing; and a view that could not be printed is none."""
    call = stage(place, "echo 3 > third")
    record = os.path.join(place.home, ".local/state/toolcage/viewed-changes")
    for name, make in (
        ("writable for others", lambda: os.chmod(record, 0o666)),
        ("a link", lambda: (os.rename(record, record + ".x"), os.symlink(record + ".x", record))),
    ):
        expect(place, f"{name}: viewed", ["changes", "last"], 0, stream="out")
        make()
        refused(place, f"{name}: no record", ["changes", "last", "commit"], call)
        os.unlink(record)
    with open("/dev/full", "wb") as full:
        code = place.popen("changes", "last", stdout=full, stderr=subprocess.DEVNULL).wait(60)
    check(code == 125, "a view that cannot be printed", code)
    refused(place, "is none", ["changes", "last", "commit"], call)
    expect(place, "discarded", ["changes", call, "discard"], 0, stream="out")


def last_denials(place):
    def deny(path):
        place.run("exec", "--why", "--policy", place.policy, "--tool", "reader", "--", "cat", path)
        return denied(place)

    first = deny("/srv/nowhere/first")
    expect(
        place,
        "allow --last into a pipe without a view",
        ["allow", "--last"],
        125,
        f"of the last call, {first}, were not viewed yet",
        f"hint: toolcage allow {first} shows them",
    )
    expect(
        place,
        "allow CALL is that call",
        ["allow", first],
        0,
        '{ path = "/srv/nowhere/first", optional = true }',
        stream="out",
    )
    expect(place, "and no view", ["allow", "--last"], 125, "were not viewed yet")
    seen = place.shown("allow", "--last").decode()
    check(
        "/srv/nowhere/first" in seen
        and f"denied to call {first}" in seen
        and f"hint: toolcage allow {first} | patch {place.policy}, then" in seen,
        "a terminal shows the change and the call",
        seen,
    )
    expect(place, "after that it may be piped", ["allow", "--last"], 0, '"/srv/nowhere/first"', stream="out")
    later = deny("/srv/nowhere/later")
    for words, why in (
        (["allow", "--last"], f"with denials is {later}, but those of {first} were viewed last"),
        (["allow", first], f"are those of call {later}; those of call {first} are not stored"),
    ):
        answer = expect(
            place,
            f"{words[1]}: another call was denied something since",
            words,
            125,
            why,
            f"hint: toolcage allow {later} shows them",
        )
        check(not answer.out, "and no change is printed", answer)
    expect(place, "allow with the later id", ["allow", later], 0, '"/srv/nowhere/later"', stream="out")
    for words in ([], ["--last", later]):
        expect(
            place,
            f"allow {' '.join(words)}",
            ["allow", *words],
            125,
            "give the id of a call, or --last",
            "hint: toolcage allow --last",
        )


alone()
require_user()
with Place() as place:
    place.policy = place.write("policy.toml", POLICY)
    for part in (last_changes, unreliable_record, last_denials):
        part(place)
finish()

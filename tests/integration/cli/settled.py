# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What becomes of the staged changes of a call is in the audit log of its policy: the decision before the first change, and the result. What
cannot be recorded is not done."""

import glob
import json
import os
import resource

from cli import Place, check, finish, require_user

POLICY = """
[audit]
{0}
[tool.edit]
backend = "process"
command = ["sh", "-c", "echo a > a; echo b > b; mkdir d; echo c > d/c"]
filesystem = {{ writable = ["/workspace"] }}
workspace = {{ mode = "copy", commit = "ask" }}
[tool.write]
backend = "process"
filesystem = {{ writable = ["{1}/other"] }}
workspace.mode = "bind"
"""


def arrange(audit=""):
    place = Place()
    place.write("home/project/other/old", "old\n")
    place.environ["TOOLCAGE_POLICY"] = place.write("home/tools.toml", POLICY.format(audit, place.project))
    place.log = os.path.join(place.home, ".local/state/toolcage/audit")
    place.work = place.write("home/project/work/.keep", "")[: -len("/.keep")]
    return place


def edit(place):
    """A call with four staged changes: its id."""
    answer = place.run("call", "--json", "--workspace", place.work, "edit")
    return json.loads(answer.out)["call"]


def records(place, kind=None):
    found = []
    for path in sorted(glob.glob(place.log + "/*.jsonl")):
        with open(path, encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return [record for record in found if kind in (None, record["kind"])]


def files(place):
    return sorted(name for name in os.listdir(place.work) if name != ".keep")


def staged(place, call):
    return json.loads(place.run("changes", call, "--json").out)


def decisions_are_recorded():
    with arrange() as place:
        call = edit(place)
        shown = staged(place, call)
        place.run("changes", call, "commit", "a")
        place.run("changes", call, "commit", "--overwrite", "b")
        place.run("changes", call, "discard")
        decided, done = records(place, "settle"), records(place, "settled")
        first, result = decided[0], done[0]
        check(
            [record["kind"] for record in records(place)]
            == ["open", "run", "result", *3 * ["settle", "settled"]],
            "a decision is in the log before its result",
            records(place),
        )
        check(
            first["call"] == call
            and first["tool"] == "edit"
            and first["uid"] == records(place, "run")[0]["uid"]
            and first["pid"] > 1
            and first["action"] == "commit"
            and first["digest"] == shown["digest"]
            and first["seen"] is False
            and first["paths"] == ["/workspace/a"]
            and first["staged"] == 4,
            "a decision says who settles what, with its digest",
            first,
        )
        check(
            (result["status"], result["applied"], result["discarded"], result["left"]) == ("ok", 1, 0, 3)
            and result["settlement"] == first["settlement"]
            and [c["path"] for c in result["changes"] if not c.get("held")] == ["/workspace/a"]
            and all(c["sha256"] for c in result["changes"] if c["type"] == "file"),
            "a result has the applied files with their hashes",
            result,
        )
        check(
            [record["action"] for record in decided] == ["commit", "overwrite", "discard"]
            and (done[2]["applied"], done[2]["discarded"], done[2]["left"]) == (0, 2, 0)
            and files(place) == ["a", "b"],
            "a discard is recorded, too",
            done[2],
        )
        answer = place.run("audit", "verify")
        check(answer.code == 0 and "9 records" in answer.out, "the chain is whole", answer)


def log_shows_them():
    with arrange() as place:
        call = edit(place)
        place.run("changes", call, "commit", "a")
        place.run("changes", call, "discard")
        lines = place.run("audit").out.splitlines()
        check(
            len(lines) == 3
            and "staged changes: commit, 1 applied, 0 discarded, 3 left" in lines[1]
            and "staged changes: discard, 0 applied, 3 discarded, 0 left" in lines[2]
            and all(call in line for line in lines),
            "the list has them",
            lines,
        )
        pairs = [json.loads(line) for line in place.run("audit", "--json").out.splitlines()]
        check(
            [(pair["decision"]["kind"], pair["result"]["kind"]) for pair in pairs]
            == [("run", "result"), ("settle", "settled"), ("settle", "settled")],
            "as pairs in JSON",
            pairs,
        )
        shown = place.run("audit", "show", call).out
        check(
            shown.count("settlement ") == 2 and "/workspace/a" in shown,
            "show prints them after the call",
            shown,
        )
        found = place.run("audit", "list", "--path", "/workspace/d").out.splitlines()
        check(len(found) == 2, "a search by path finds them", found)  # the discard lists no path
        stats = place.run("audit", "stats")
        counts = json.loads(place.run("audit", "stats", "--json").out)
        check(
            "decided about 2 times: 1 applied, 3 discarded" in stats.out
            and counts["settled"] == {"decisions": 2, "applied": 1, "discarded": 3}
            and counts["calls"] == 1,
            "stats counts them apart from calls",
            (stats, counts),
        )
        checked = json.loads(place.run("audit", "verify", "--json").out)
        check((checked["settle"], checked["settled"]) == (2, 2), "verify counts them", checked)
        for words in (("otlp",), ("check", place.environ["TOOLCAGE_POLICY"])):
            answer = place.run("audit", *words)
            check(answer.code == 0 and "settle" not in answer.out, f"{words[0]} is about calls only", answer)
        receipt = place.run("receipt", "key").code or place.run("receipt", call)
        check(receipt.code == 0 and '"payload"' in receipt.out, "the call still has its receipt", receipt)


def refused_ones_are_recorded():
    with arrange() as place:
        call = edit(place)
        answer = place.run("changes", call, "commit", "nothing-there")
        check(
            answer.code == 125
            and records(place, "settled")[0]["status"] == "error"
            and records(place, "settled")[0]["error"]["code"] == "usage"
            and files(place) == [],
            "a decision that fails has its error in the log",
            (answer, records(place, "settled")),
        )


def unrecorded_ones_are_not_done():
    for name, spoil in (
        ("a log that others may write", lambda p: os.chmod(p.log, 0o777)),
        ("a log that is a link", lambda p: (os.rename(p.log, p.log + "2"), os.symlink(p.log + "2", p.log))),
    ):
        with arrange() as place:
            call = edit(place)
            before = staged(place, call)
            spoil(place)
            for action in ("commit", "discard"):
                answer = place.run("changes", call, action)
                check(
                    answer.code == 125 and "audit log" in answer.err and files(place) == [],
                    f"{name} stops {action}",
                    answer,
                )
            check(staged(place, call) == before, f"{name} leaves the changes staged")
    with arrange('anchor = "anchor"') as place:
        call = edit(place)
        anchor = os.path.join(place.home, "anchor")
        place.run("changes", call, "commit", "a")
        answer = place.run("audit", "verify", "--anchor", anchor)
        check(answer.code == 0 and "0 are newer" in answer.out, "the anchor of the policy has them", answer)
        # a later policy lets a tool write there
        wide = place.write(
            "home/wide.toml", f'[tool.wide]\ncommand = ["true"]\nfilesystem = {{ writable = ["{anchor}"] }}\n'
        )
        place.run("call", "--policy", wide, "wide")
        answer = place.run("changes", call, "commit", "b")
        check(
            answer.code == 126 and "no tool may write" in answer.err and files(place) == ["a"],
            "an anchor that a tool may have written since stops a decision",
            answer,
        )


def done_without_result_is_reported():
    """The disk has room for the decision and not for the result."""
    with arrange() as place:
        call = edit(place)
        (path,) = glob.glob(place.log + "/*.jsonl")
        room = os.stat(path).st_size + 700
        process = place.popen(
            "changes",
            call,
            "commit",
            stdout=-1,
            stderr=-1,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        )
        _, err = process.communicate(timeout=60)
        check(
            process.returncode == 125
            and b"were settled, but how is not in the audit log" in err
            and files(place) == ["a", "b", "d"],
            "a result that cannot be recorded is an error that says what was done",
            (process.returncode, err),
        )
        answer = place.run("audit", "verify")
        check(
            answer.code == 0 and "1 decisions about staged changes have no result" in answer.out,
            "verify counts it",
            answer,
        )
        answer = place.run("audit")
        check("unfinished" in answer.out, "the list shows it", answer)


def calls_without_the_table_are_not_recorded():
    with arrange() as place:
        plain = place.write("home/plain.toml", POLICY.format("", place.project).replace("[audit]", ""))
        answer = place.run("call", "--policy", plain, "--json", "--workspace", place.work, "edit")
        done = place.run("changes", json.loads(answer.out)["call"], "commit")
        check(
            done.code == 0 and files(place) == ["a", "b", "d"] and not os.path.exists(place.log),
            "changes of a policy without the table are not recorded",
            done,
        )


def tool_cannot_change_the_rules():
    """They are in the state directory, which no cage shows."""
    with arrange() as place:
        call = edit(place)
        found = [
            directory
            for top in (place.home + "/.local/state/toolcage", "/run/toolcage")
            for directory, _, names in os.walk(top)
            if directory.endswith(call) and "audit" in names
        ]
        check(len(found) == 1, "the rules are stored with the changes", found)
        wide = place.write(
            "home/wide.toml",
            '[defaults]\nfilesystem = { writable = ["%s"] }\nworkspace.mode = "bind"\n' % place.home,
        )
        answer = place.run("exec", "--policy", wide, "sh", "-c", f"echo ran; echo > {found[0]}/audit")
        check("ran" in answer.out and answer.code != 0, "a tool cannot write them", answer)
        place.run("changes", call, "discard")
        check(len(records(place, "settled")) == 1, "the decision is recorded under them")


require_user()
decisions_are_recorded()
log_shows_them()
refused_ones_are_recorded()
unrecorded_ones_are_not_done()
done_without_result_is_reported()
calls_without_the_table_are_not_recorded()
tool_cannot_change_the_rules()
finish()

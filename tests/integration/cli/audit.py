# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A policy with [audit] records each call: the decision before anything runs, and the result. What cannot be recorded
does not run, and `toolcage audit` finds a log that was changed."""

import glob
import json
import os
import signal
import subprocess
import time

from cli import Person, Place, check, expect, finish, require_user

POLICY = """
[audit]
{0}
[tool.say]
command = ["echo", "said", "{{text}}"]
arguments.text = {{ type = "string" }}
[tool.work]
filesystem = {{ writable = ["{1}/out"] }}
workspace.mode = "bind"
[tool.ask]
tier = "HumanApprove"
backend = "process"
command = ["echo", "asked"]
[tool.token]
network = ["api.example.com:443"]
command = ["true"]
env.set = {{ MODE = "visible-nowhere" }}
secrets.TOKEN = {{ from = "env:TOKEN", hosts = ["api.example.com:443"], header = "Authorization: {{secret}}" }}
"""


def arrange(audit=""):
    place = Place()
    place.write("home/project/toolcage.toml", POLICY.format(audit, place.project))
    place.write("home/project/out/old", "old\n")
    place.environ["TOOLCAGE_POLICY"] = os.path.join(place.project, "toolcage.toml")
    place.log = os.path.join(place.home, ".local/state/toolcage/audit")
    return place


def records(place):
    lines = []
    for path in sorted(glob.glob(place.log + "/*.jsonl")):
        with open(path, encoding="utf-8") as file:
            lines += [json.loads(line) for line in file]
    return lines


def kinds(place):
    return [record["kind"] for record in records(place)]


def calls_are_recorded():
    with arrange() as place:
        expect(place, "a recorded call runs", ["call", "say", '{"text": "a\\nb"}'], 0, "said a", stream="out")
        place.run("call", "say", '{"no": 1}')
        place.run("exec", "--tool", "work", "sh", "-c", f"echo new > {place.project}/out/new; exit 3")
        found = records(place)
        first, second = found[1], found[2]
        check(
            kinds(place) == ["open", "run", "result", "refused", "run", "result"]
            and [r["seq"] for r in found] == list(range(6))
            and all(a["hash"] == b["prev"] for a, b in zip(found, found[1:])),
            "decisions and results are one chain",
            found,
        )
        check(
            first["call"] == second["call"]
            and first["tool"] == "say"
            and first["command"] == ["echo", "said", "a\nb"]
            and first["arguments"] == {"text": "a\nb"}
            and first["policy"].startswith("sha256:")
            and first["grant"].startswith("sha256:")
            and first["backend"] == "process"
            and second["status"] == "ok"
            and second["stdout"]["bytes"] == len("said a\nb\n")
            and second["enforcement"]["net.none"],
            "a record has what was asked, granted and enforced",
            (first, second),
        )
        check(
            found[3]["status"] == "denied" and found[3]["error"]["subject"] == "arguments.no",
            "a refused call is recorded with its reason",
            found[3],
        )
        check(
            found[5]["exit_code"] == 3
            and [c["path"] for c in found[5]["changes"]] == [f"{place.project}/out/new"],
            "a result has exit code and changes",
            found[5],
        )
        check(
            all(os.stat(path).st_mode & 0o077 == 0 for path in [place.log, *glob.glob(place.log + "/*")]),
            "the log is readable for its user alone",
        )


def calls_without_the_table_are_not_recorded():
    with arrange() as place:
        place.run("exec", "--policy", place.write("home/plain.toml", "[defaults]\n"), "true")
        check(not os.path.exists(place.log), "a policy without the table records nothing")
        expect(
            place,
            "a missing log is an error with a hint",
            ["audit"],
            125,
            "No such file",
            "the table [audit]",
        )


def digests_hide_values():
    with arrange('arguments = "digests"') as place:
        place.run("call", "say", '{"text": "hidden-words"}')
        place.run("exec", "--tool", "work", "sh", "-c", "cat", stdin=b"hidden-input")
        place.run("call", "token", env={"TOKEN": "hidden-token-of-16"})
        with open(glob.glob(place.log + "/*.jsonl")[0], encoding="utf-8") as file:
            text = file.read()
        run = records(place)[1]
        place.run("call", "say", '{"hidden-name": 1}')
        place.run("call", "say", "{hidden-words")
        place.run("exec", "--tool", "work", "/hidden-program")
        with open(glob.glob(place.log + "/*.jsonl")[0], encoding="utf-8") as file:
            check("hidden-" not in file.read(), "no error in the log quotes an argument")
        check(
            "hidden-" not in text and "visible-nowhere" not in text,
            "no value of an argument, an input, a secret or a variable is in the log",
            text,
        )
        check(
            run["command"]["digest"].startswith("sha256:") and run["arguments"]["bytes"] == 23,
            "arguments are digests",
            run,
        )
        token = [r for r in records(place) if r.get("tool") == "token"][0]
        check(token.get("secrets", ["TOKEN"]) == ["TOKEN"], "a secret is recorded by its name", token)


def unrecorded_calls_do_not_run():
    marker = "echo ran > out/ran"
    for name, spoil in (
        ("a log directory that others may write", lambda p: os.chmod(p.log, 0o777)),
        ("a log that is a link", lambda p: (os.rename(p.log, p.log + "2"), os.symlink(p.log + "2", p.log))),
    ):
        with arrange() as place:
            place.run("call", "say", '{"text": "x"}')
            spoil(place)
            answer = place.run("exec", "--tool", "work", "sh", "-c", marker)
            check(
                answer.code == 125
                and "without which no call runs" in answer.err
                and not os.path.exists(f"{place.project}/out/ran"),
                f"{name} stops the call",
                answer,
            )
    with arrange() as place:
        place.write("home/.local/state/toolcage/audit", "a file")
        answer = place.run("exec", "--tool", "work", "sh", "-c", marker)
        check(
            answer.code == 125 and not os.path.exists(f"{place.project}/out/ran"),
            "a log that cannot be made stops the call",
            answer,
        )
    with arrange() as place:
        answer = place.shell('ulimit -f 0; exec "$@"', "exec", "--tool", "work", "sh", "-c", marker)
        check(
            answer.returncode != 0 and not os.path.exists(f"{place.project}/out/ran"),
            "a record that cannot be written stops the call",
            (answer.returncode, answer.stderr),
        )


def killed_program_leaves_the_decision():
    with arrange() as place:
        process = place.popen(
            "exec", "--tool", "work", "sh", "-c", "echo started; sleep 60", stdout=subprocess.PIPE
        )
        process.stdout.readline()
        process.kill()
        process.wait()
        process.stdout.close()
        check(kinds(place) == ["open", "run"], "the decision is written before the tool runs", kinds(place))
        answer = place.run("audit", "verify")
        check(
            answer.code == 0 and "1 calls have no result" in answer.out,
            "a call without a result is counted",
            answer,
        )
        expect(
            place,
            "and listed",
            ["audit", "list", "--status", "unfinished"],
            0,
            "unfinished",
            "sleep 60",
            stream="out",
        )
        place.run("call", "say", '{"text": "x"}')
        check(place.run("audit", "verify").code == 0, "a later program continues the log")


def tampering_is_found():
    def edit(place, change):
        (path,) = glob.glob(place.log + "/*.jsonl")
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        change(lines)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)

    def alter(lines):
        lines[1] = lines[1].replace("said", "done")

    for name, change, words in (
        ("changed", alter, ":2: the record was changed"),
        ("missing", lambda lines: lines.pop(2), "records are missing"),
        ("doubled", lambda lines: lines.insert(2, lines[1]), "doubled or moved"),
    ):
        with arrange() as place:
            for _ in range(2):
                place.run("call", "say", '{"text": "x"}')
            fine = place.run("audit", "verify")
            edit(place, change)
            answer = place.run("audit", "verify")
            check(
                fine.code == 0 and answer.code == 1 and words in answer.out and "damaged" in answer.out,
                f"a {name} record is found",
                (fine, answer),
            )
            faults = json.loads(place.run("audit", "verify", "--json").out)["faults"]
            check(len(faults) >= 1 and faults[0]["what"], f"a {name} record is found in JSON", faults)


def anchor_shows_a_cut_tail():
    with arrange('anchor = "../anchor"') as place:
        for _ in range(2):
            place.run("call", "say", '{"text": "x"}')
        anchor = os.path.join(place.home, "anchor")
        fine = place.run("audit", "verify", "--anchor", anchor)
        (path,) = glob.glob(place.log + "/*.jsonl")
        with open(path, "r+", encoding="utf-8") as file:
            lines = file.readlines()
            file.seek(0)
            file.writelines(lines[:-2])
            file.truncate()
        without, answer = place.run("audit", "verify"), place.run("audit", "verify", "--anchor", anchor)
        check(
            fine.code == 0
            and without.code == 0
            and answer.code == 1
            and "the end of the log was cut off" in answer.out,
            "a cut tail is found with the anchor only",
            (fine, without, answer),
        )
    with arrange('anchor = "out/anchor"') as place:
        answer = place.run("exec", "--tool", "work", "sh", "-c", "echo ran > out/ran")
        check(
            answer.code == 126
            and "a tool could write the anchor" in answer.err
            and "toolcage.toml:2" in answer.err
            and not os.path.exists(f"{place.project}/out/ran"),
            "an anchor that a tool may write is refused",
            answer,
        )


def anchor_is_the_operators():
    marker = "echo ran > out/ran"
    with arrange('anchor = "../.local/state/toolcage/trust"') as place:
        answer = place.run("exec", "--tool", "work", "sh", "-c", marker)
        check(
            answer.code == 126 and "is in the state directory" in answer.err,
            "an anchor in the state directory is refused",
            answer,
        )
    with arrange() as place:
        place.write("home/ceiling.toml", "[defaults]\n")
        for key in (f'anchor = "{place.home}/anchor"', 'keep = "64MiB"'):
            policy = place.write("home/mine.toml", f'within = "ceiling.toml"\n[audit]\n{key}\n[defaults]\n')
            answer = place.run("exec", "--policy", policy, "echo", "ran")
            check(
                answer.code == 126
                and "more than the ceiling grants" in answer.err
                and "ran" not in answer.out
                and not os.path.exists(f"{place.home}/anchor"),
                f"{key.split()[0]} of a policy below a ceiling is refused",
                answer,
            )


def change_of_the_log_is_shown_before_trust():
    with arrange() as place:
        old = place.write("home/old.toml", "[audit]\n[defaults]\n")
        for text, words in (
            ("", "+ calls are no longer recorded"),
            ('[audit]\narguments = "digests"', "+ arguments and commands are recorded as digests only"),
            ('[audit]\nanchor = "/anchor"', "+ writes the hash of each record to /anchor"),
            ('[audit]\nkeep = "64MiB"', "+ removes the oldest records of the log beyond 64 MiB"),
            ('[audit]\nsync = "none"', "+ records are flushed less often"),
            ('[audit]\nsync = "always"', "- records are flushed more often"),
        ):
            new = place.write("home/new.toml", f"{text}\n[defaults]\n")
            answer = place.run("policy", "diff", old, new)
            check(words in answer.out, f"policy diff shows {words[2:]}", answer)
        trusted = place.write("home/project/toolcage.toml", "[audit]\n[defaults]\n")
        del place.environ["TOOLCAGE_POLICY"]
        place.run("policy", "trust", trusted)
        place.write("home/project/toolcage.toml", "[defaults]\n")
        answer, again = place.run("exec", "true"), place.run("policy", "trust")
        check(
            answer.code == 126 and "calls are no longer recorded" in again.out + again.err,
            "a policy without the log that it had is shown before it is trusted again",
            (answer.err, again.out, again.err),
        )
        explained = json.loads(place.run("policy", "explain", "--json", "--policy", old).out)
        check(explained["audit"]["sync"] == "interval", "policy explain shows the log", explained["audit"])


def ceiling_decides():
    with arrange() as place:
        place.write("home/ceiling.toml", '[audit]\narguments = "digests"\n[defaults]\nnetwork = "none"\n')
        policy = place.write("home/mine.toml", 'within = "ceiling.toml"\n[defaults]\n')
        answer = place.run("exec", "--policy", policy, "echo", "hidden-words")
        found = records(place)
        check(
            answer.code == 0 and len(found) == 3 and "digest" in found[1]["command"],
            "the ceiling's log applies to a policy without one",
            (answer, found),
        )


def tool_has_no_log():
    with arrange() as place:
        place.run("call", "say", '{"text": "x"}')
        policy = place.write(
            "home/wide.toml", f'[audit]\n[defaults]\nfilesystem.readable = ["{place.home}"]\n'
        )
        answer = place.run(
            "exec", "--policy", policy, "sh", "-c", f"cat {place.log}/*; ls -A {place.log}; true"
        )
        outside = bool(glob.glob(place.log + "/*.jsonl"))
        check(
            outside and answer.code == 0 and "sha256" not in answer.out and ".jsonl" not in answer.out,
            "a tool that reads the home does not see the log",
            answer,
        )


def programs_write_at_once():
    with arrange() as place:
        running = [
            place.popen("call", "say", json.dumps({"text": str(n)}), stdout=subprocess.DEVNULL)
            for n in range(8)
        ]
        codes = [process.wait(60) for process in running]
        answer = place.run("audit", "verify", "--json")
        found = json.loads(answer.out)
        check(
            codes == [0] * 8 and answer.code == 0 and found["run"] == found["results"] == 8,
            "eight programs write one log",
            (codes, found),
        )


def list_is_filtered():
    with arrange() as place:
        for n in range(3):
            place.run("call", "say", json.dumps({"text": f"n{n}"}))
        place.run("exec", "--tool", "work", "sh", "-c", f"echo new > {place.project}/out/new; exit 3")
        place.run("call", "say", '{"text": "\\u001b[31mred\\nline \\u202etxt"}')

        def lines(*args):
            return place.run("audit", *args).out.splitlines()

        check(
            len(lines()) == 5
            and len(lines("list", "--tool", "work")) == 1
            and len(lines("list", "--status", "failed")) == 1
            and len(lines("list", "--path", f"{place.project}/out")) == 1
            and len(lines("list", "--path", f"{place.project}/ou")) == 0
            and len(lines("list", "--since", "1h")) == 5
            and len(lines("list", "--until", "2001-01-01")) == 0
            and len(lines("list", "-n", "2")) == 2
            and len(lines("list", "--limit", "0")) == 5,
            "calls are filtered",
            lines(),
        )
        text = place.run("audit").out
        check(
            "\x1b" not in text and "\u202e" not in text and "\\x1b" in text,
            "text of a model is escaped",
            text,
        )
        found = [json.loads(line) for line in lines("--json")]
        call = found[0]["decision"]["call"]
        shown = place.run("audit", "show", call)
        check(
            len(found) == 5
            and found[3]["result"]["exit_code"] == 3
            and shown.code == 0
            and "said n0" in shown.out,
            "a call is shown",
            shown,
        )
        stats = json.loads(place.run("audit", "stats", "--json").out)
        say = [tool for tool in stats["tools"] if tool["tool"] == "say"][0]
        check(say["calls"] == 4 and say["ok"] == 4 and stats["calls"] == 5, "calls are counted", stats)
        for args, words in (
            (["audit", "nothing"], "has no action"),
            (["audit", "show"], "takes one operand"),
            (["audit", "show", "x"], "the log has no call x"),
            (["audit", "--since", "soon"], "--since soon is not a time"),
            (["audit", "--limit", "-1"], "is not a number"),
            (["audit", "--status", "okay"], "is not a status"),
            (["audit", "--path", "out"], "is not absolute"),
            (["audit", "verify", "--tool", "say"], "does not take --tool"),
        ):
            answer = place.run(*args)
            check(
                answer.code in (125, 127) and words in answer.err and "hint" in answer.err,
                f"{args[1:]} is an error",
                answer,
            )


def compare_with_history(place, stricter):
    """The calls of the log are one of a tool that OLD lacks, and two of a tool that both have."""
    old = place.write(
        "home/old.toml", '[tool.say]\ncommand = ["echo", "said", "{text}"]\narguments.text = {}\n'
    )

    def diff(*words):
        return place.run("policy", "diff", "--against-history", *words)

    answer, found = diff(old, stricter), json.loads(diff("--json", old, stricter).out)
    check(
        answer.code == 3
        and "this change breaks 1 of 2 recorded calls" in answer.out
        and "at most 4 are allowed" in answer.out
        and "new.toml:4" in answer.out
        and "tool.work" in answer.out,
        "policy diff --against-history lists the calls that only the old policy allows",
        answer,
    )
    check(
        found["widened"]
        and (found["history"]["calls"], found["history"]["broken"], len(found["history"]["refused"]))
        == (2, 1, 1),
        "and has JSON",
        found,
    )
    narrow = place.write(
        "home/narrow.toml", open(old, encoding="utf-8").read().replace("{}", "{ maxLength = 4 }")
    )
    answer = diff(old, narrow)
    check(answer.code == 2, "a change that only breaks calls has its own exit code", answer)
    answer = diff(old, old)
    check(answer.code == 0 and "breaks 0 of 2" in answer.out, "an equal policy breaks none", answer)
    answer = diff("--since", "2099-01-01", old, narrow)
    check(answer.code == 0 and "breaks 0 of 0" in answer.out, "the time of the calls can be given", answer)
    answer = place.run("policy", "diff", "--since", "1d", old, narrow)
    check(answer.code == 125 and "add --against-history" in answer.err, "but not alone", answer)
    answer = diff("--directory", place.root + "/none", old, narrow)
    check(
        answer.code == 125 and "cannot read the audit log" in answer.err, "a missing log is an error", answer
    )


def other_policy_is_checked_against_the_log():
    with arrange() as place:
        place.run("call", "say", '{"text": "ab"}')
        place.run("call", "say", '{"text": "long text"}')
        place.run("exec", "--tool", "work", "sh", "-c", f"echo new > {place.project}/out/new")
        place.run("call", "say", '{"no": 1}')
        ran = len(os.listdir(os.path.join(place.project, "out")))
        same = place.run("audit", "check", place.environ["TOOLCAGE_POLICY"])
        stricter = place.write(
            "home/new.toml",
            f"""
[tool.say]
command = ["echo", "said", "{{text}}"]
arguments.text = {{ type = "string", maxLength = 4 }}
[tool.work]
filesystem = {{ readable = ["{place.project}/out"] }}
""",
        )
        answer = place.run("audit", "check", stricter)
        found = json.loads(place.run("audit", "check", "--json", stricter).out)
        check(
            same.code == 0 and "breaks 0 of 3 recorded calls" in same.out,
            "a policy that grants the same breaks no call",
            same,
        )
        check(
            answer.code == 1
            and "breaks 2 of 3 recorded calls" in answer.out
            and "at most 4 are allowed" in answer.out
            and "new.toml:4" in answer.out
            and f"write {place.project}/out/new" in answer.out,
            "a stricter policy breaks calls, with the key and line of each",
            answer,
        )
        check(
            found["calls"] == 3
            and found["broken"] == 2
            and found["unknown"] == 0
            and [row["access"] for row in found["refused"]] == [None, f"write {place.project}/out/new"],
            "the check has JSON",
            found,
        )
        one = place.run("audit", "check", stricter, "--tool", "work")
        check("breaks 1 of 1" in one.out, "the check takes the filters", one)
        asks = place.write(
            "home/asks.toml",
            '[tool.say]\ntier = "HumanApprove"\ncommand = ["echo", "{text}"]\narguments.text = {}\n',
        )
        person = place.run("audit", "check", asks, "--tool", "say")
        check(
            "breaks 2 of 2" in person.out and "needs a person's approval (tier HumanApprove)" in person.out,
            "a policy that asks a person breaks calls that nobody was asked about",
            person,
        )
        compare_with_history(place, stricter)
        missing = place.run("audit", "check", os.path.join(place.home, "none.toml"))
        check(missing.code == 125 and "none.toml" in missing.err, "a missing policy is an error", missing)
        check(len(os.listdir(os.path.join(place.project, "out"))) == ran, "the check runs no call")
    with arrange('arguments = "digests"') as place:
        place.run("call", "say", '{"text": "ab"}')
        answer = place.run("audit", "check", place.environ["TOOLCAGE_POLICY"])
        check("not checked: 1" in answer.out, "calls with digests are counted as not checked", answer)


def follow_shows_calls_as_they_end():
    with arrange() as place:
        place.run("call", "say", '{"text": "before"}')
        process = place.popen("audit", "follow", stdout=subprocess.PIPE)
        time.sleep(0.5)
        place.run("call", "say", '{"text": "after"}')
        line = process.stdout.readline().decode()
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        process.stdout.close()
        check("said after" in line, "follow shows a new call", line)


def approval_is_recorded():
    with arrange() as place:
        place.run("call", "ask")
        found = records(place)
        check(
            found[-1]["kind"] == "refused" and "approval" in found[-1]["error"]["message"],
            "a call that nobody approved is recorded",
            found[-1],
        )
        person = Person(place, "call", "ask")
        person.answer("run this call?", "y")
        person.end()
        run = [r for r in records(place) if r["kind"] == "run"]
        stats = json.loads(place.run("audit", "stats", "--json").out)
        check(
            len(run) == 1 and run[0]["approval"].startswith("sha256:") and stats["asked"] == 2,
            "an approval is recorded with its digest, and counted",
            (run, stats, person.seen),
        )


def newest_calls_are_listed_last():
    with arrange() as place:
        for _ in range(4):
            process = place.popen(
                "exec", "--tool", "work", "sh", "-c", "echo on; sleep 60", stdout=subprocess.PIPE
            )
            process.stdout.readline()
            process.kill()
            process.wait()
            process.stdout.close()
        place.run("call", "say", '{"text": "newest"}')
        lines = place.run("audit", "-n", "2").out.splitlines()
        check(
            len(lines) == 2 and "said newest" in lines[1] and "unfinished" in lines[0],
            "calls without a result do not hide newer ones",
            lines,
        )
        full = place.shell('exec "$@" > /dev/full', "audit")
        check(full.returncode == 125, "output that cannot be written is an error", full)


def calls_are_exported_as_spans():
    with arrange() as place:
        place.run("call", "say", '{"text": "a"}')
        place.run("call", "say", '{"no": 1}')
        place.run("exec", "--tool", "work", "false")
        request = json.loads(place.run("audit", "otlp").out)
        (resource,) = request["resourceSpans"]
        spans = resource["scopeSpans"][0]["spans"]

        def attributes(of):
            return {a["key"]: next(iter(a["value"].values())) for a in of["attributes"]}

        found = [attributes(span) for span in spans]
        check(
            attributes(resource["resource"])["service.name"] == "toolcage"
            and [span["name"] for span in spans]
            == ["execute_tool say", "execute_tool say", "execute_tool work"]
            and [span["status"]["code"] for span in spans] == [1, 2, 2]
            and "no argument" in spans[1]["status"]["message"]
            and found[0]["gen_ai.operation.name"] == "execute_tool"
            and found[0]["gen_ai.tool.name"] == "say"
            and "error.type" not in found[0]
            and found[1]["error.type"] == "denied"
            and found[2]["process.exit.code"] == "1",
            "calls are spans with the attributes of the conventions",
            request,
        )
        check(
            all(
                len(span["traceId"]) == 32
                and len(span["spanId"]) == 16
                and int(span["traceId"], 16)
                and 0 < int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
                for span in spans
            )
            and len({span["traceId"] for span in spans}) == 3,
            "spans have ids and times",
            spans,
        )


def model_calls_are_recorded():
    with arrange() as place:
        talk = [
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                },
            },
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "say", "arguments": {"text": "x"}},
            },
        ]
        answer = place.run("mcp", stdin=b"".join(json.dumps(m).encode() + b"\n" for m in talk))
        check(
            "said x" in answer.out and kinds(place) == ["open", "run", "result"],
            "a model's call is recorded",
            (answer, kinds(place)),
        )


require_user()
calls_are_recorded()
calls_without_the_table_are_not_recorded()
digests_hide_values()
unrecorded_calls_do_not_run()
killed_program_leaves_the_decision()
tampering_is_found()
anchor_shows_a_cut_tail()
anchor_is_the_operators()
change_of_the_log_is_shown_before_trust()
ceiling_decides()
tool_has_no_log()
programs_write_at_once()
list_is_filtered()
other_policy_is_checked_against_the_log()
follow_shows_calls_as_they_end()
approval_is_recorded()
newest_calls_are_listed_last()
calls_are_exported_as_spans()
model_calls_are_recorded()
finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""With record = "inputs" a recorded call can run again: in a copy of its workspace as it was, without a network, and
without any change to the host."""

import glob
import json
import os
import socket
import subprocess
import threading

from cli import Place, check, expect, finish, require_user

POLICY = """
[audit]
record = "inputs"
{audit}
[tool.sh]
filesystem = {{ {access} = ["/workspace"] }}
command = ["/bin/sh", "-c", "{{script}}"]
arguments.script = {{ type = "string" }}
{more}
[tool.shell]
filesystem = {{ {access} = ["/workspace"] }}
"""


def write_policy(place, name="toolcage.toml", audit="", access="writable", more=""):
    return place.write(f"home/{name}", POLICY.format(audit=audit, access=access, more=more))


def arrange(**options):
    place = Place()
    place.policy = write_policy(place, **options)
    place.environ["TOOLCAGE_POLICY"] = place.policy
    place.inputs = os.path.join(place.home, ".local/state/toolcage/inputs")
    place.write("home/project/a.txt", "one\ntwo\nthree\n")
    place.write("home/project/src/b.txt", "beta\n")
    return place


def call(place, script, **options):
    return place.run("call", "sh", json.dumps({"script": script}), **options)


def replay(place, *args, policy=None):
    answer = place.run(
        "audit", "replay", "--json", "--policy", policy or place.policy, *(args or ("--last", "50"))
    )
    lines = [json.loads(line) for line in answer.out.splitlines()]
    return answer.code, lines[:-1], lines[-1] if lines else None, answer


def decisions(place):
    found = []
    for path in sorted(glob.glob(place.home + "/.local/state/toolcage/audit/*.jsonl")):
        with open(path, encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return [record for record in found if record["kind"] == "run"]


def stored(place):
    return [path for path in glob.glob(place.inputs + "/??/*") if os.path.isfile(path)]


def listing(place):
    return {
        path: (os.path.islink(path) or os.path.isdir(path) or open(path, "rb").read())
        for path in glob.glob(place.home + "/project/**", recursive=True, include_hidden=True)
    }


COMMANDS = [
    "cat a.txt",
    "wc -l a.txt src/b.txt",
    "ls -l",
    "ls -lA src",
    "find . | sort",
    "grep -rn t .",
    "sed -i s/one/ONE/ a.txt; cat a.txt",
    "sort -r a.txt > sorted; cat sorted",
    "mkdir -p x/y/z; echo 1 > x/y/z/f; rm -r src",
    "mv a.txt c.txt; ln -s c.txt l; cat l",
    "chmod 755 a.txt; stat -c %A a.txt",
    "git init -q . 2>&1; git status --short",
    "python3 -c 'print(sum(range(100)))'",
    "tar cf t.tar a.txt; tar tvf t.tar",
    "test -e missing",
    "exit 7",
    "echo err >&2; false",
    "head -c 100000 /dev/zero | sha256sum",
    "awk '{print NR, $0}' a.txt",
    "find . -newer src/b.txt | wc -l",
    "cp a.txt d.txt; diff a.txt d.txt && echo equal",
    "pwd; cd src; pwd",
    "seq 1000 | tail -1; kill -9 $$",
    "printf 'all:\\n\\techo built > out\\n' > Makefile; cat Makefile",
]


def usual_commands_end_as_recorded():
    with arrange() as place:
        for command in COMMANDS:
            call(place, command)
        before = listing(place)
        code, calls, totals, answer = replay(place)
        others = [(c["call"], c["notes"]) for c in calls if c["verdict"] != "same"]
        check(
            code == 0 and totals["calls"] == totals["same"] == len(COMMANDS),
            "usual commands end as recorded",
            (others, answer),
        )
        check(listing(place) == before, "the replays change nothing on the host", listing(place))
        check(
            os.listdir(place.home + "/.cache/toolcage/replays") == [],
            "the copies of the workspace are removed",
        )
        _, calls, again, _ = replay(place)
        others = [(c["call"], c["notes"]) for c in calls if c["verdict"] != "same"]
        check(again == totals, "replays are not replayed themselves", others)


def changed_workspace_does_not_matter():
    with arrange() as place:
        call(place, "cat a.txt src/b.txt")
        place.write("home/project/a.txt", "other\n")
        os.remove(place.project + "/src/b.txt")
        code, calls, _, answer = replay(place)
        check(code == 0 and calls[0]["verdict"] == "same", "the workspace is restored as it was", answer)


def differences_are_shown():
    with arrange() as place:
        call(place, "date +%N; date +%N > now")
        code, calls, totals, answer = replay(place)
        notes = "\n".join(calls[0]["notes"])
        check(
            code == 1 and calls[0]["verdict"] == "differs" and totals["differs"] == 1,
            "a call that ends in another way differs",
            answer,
        )
        check(
            "stdout differs from line 1 on:" in notes and "changed now: /workspace/now" in notes,
            "the first different line and the changes are shown",
            notes,
        )


def stricter_policy_is_found():
    with arrange() as place:
        call(place, "cat a.txt")
        call(place, "echo x > src/new")
        reads = write_policy(place, "reads.toml", access="readable")
        short = write_policy(place, "short.toml", more="arguments.script.maxLength = 12")
        short = place.write(
            "home/short.toml", open(place.policy).read().replace('"string"', '"string", maxLength = 12')
        )
        asks = write_policy(place, "asks.toml", more='tier = "HumanApprove"')
        code, calls, totals, answer = replay(place, policy=reads)
        check(
            code == 1
            and [c["verdict"] for c in calls] == ["same", "denied"]
            and any(
                "refused: write /workspace/src/new (tool.sh.filesystem.readable, line" in note
                for note in calls[1]["notes"]
            ),
            "a refusal of the policy is named with key and line",
            answer,
        )
        _, calls, totals, answer = replay(place, policy=short)
        check(
            [c["verdict"] for c in calls] == ["same", "denied"] and "at most 12" in calls[1]["notes"][0],
            "arguments that a policy refuses are denied",
            answer,
        )
        _, calls, totals, answer = replay(place, policy=asks)
        check(
            totals["denied"] == 2 and "approval" in calls[0]["notes"][0],
            "a call that nobody approved is not run by a policy that asks",
            answer,
        )
        last = decisions(place)[-1]["call"]
        expect(
            place,
            "one call is replayed by its id",
            ["audit", "replay", decisions(place)[0]["call"], "--policy", reads],
            0,
            "1 calls: 1 same",
            stream="out",
        )
        check(
            place.run("audit", "replay", last, "--policy", reads).code == 125,
            "a replay cannot be replayed by its id",
        )


def network_is_not_reached():
    connect = 'python3 -c \'import socket; socket.create_connection(("127.0.0.1", %d), 3).send(b"\\0\\n")\' 2>/dev/null; true'
    with arrange() as place, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        seen = []
        server.settimeout(0.2)

        def listen(stop):
            while not stop.is_set():
                try:
                    server.accept()[0].close()
                    seen.append(1)
                except TimeoutError:
                    pass

        opened = write_policy(place, "open.toml", more=f'network = ["127.0.0.1:{port}"]')
        stop = threading.Event()
        thread = threading.Thread(target=listen, args=(stop,))
        call(place, connect % port)  # recorded without a network
        thread.start()
        _, calls, _, answer = replay(place, policy=opened)
        reached = len(seen)
        place.run("call", "--policy", opened, "sh", json.dumps({"script": connect % port}))
        stop.set()
        thread.join()
        check(
            reached == 0 and calls[0]["verdict"] == "same", "a replay reaches no network", (reached, answer)
        )
        check(len(seen) == 1, "a call of the same policy reaches the network", seen)
        _, calls, _, answer = replay(place, policy=opened)
        check(
            calls[-1]["verdict"] == "left out" and "not inspected" in calls[-1]["notes"][0],
            "a call that used the network without HTTP is left out",
            answer,
        )


def other_writable_paths_are_not_written():
    with arrange() as place:
        place.write("home/out/old", "old\n")
        wide = place.write(
            "home/wide.toml",
            POLICY.format(audit="", access="writable", more="").replace(
                '["/workspace"]', f'["/workspace", "{place.home}/out"]'
            ),
        )
        bind = place.write("home/bind.toml", open(wide).read() + 'workspace.mode = "bind"\n')
        for policy in (wide, bind):
            run = ["call", "--policy", policy, "sh"]
            place.run(
                *run, json.dumps({"script": f"cat {place.home}/out/old; echo new > {place.home}/out/old"})
            )
            place.write("home/out/old", "old\n")
            _, calls, _, answer = replay(place, "--last", "1", policy=policy)
            with open(place.home + "/out/old") as file:
                check(
                    file.read() == "old\n" and calls[0]["verdict"] == "same",
                    "a replay writes no granted path",
                    answer,
                )


def hidden_files_are_not_stored():
    more = 'filesystem.denied = ["/workspace/private"]'
    with arrange() as place:
        policy = place.write(
            "home/hides.toml",
            POLICY.format(audit="", access="writable", more="").replace(
                'writable = ["/workspace"]', 'writable = ["/workspace"], denied = ["/workspace/private"]'
            ),
        )
        place.write("home/project/private/key", "hidden-content-1\n")
        place.write("home/project/link-target", "x\n")
        os.symlink("/etc/hostname", place.project + "/link")
        place.run("call", "--policy", policy, "sh", '{"script": "ls; env"}', env={"SECRET": "hidden-2"})
        content = b"".join(open(path, "rb").read() for path in stored(place))
        check(content and b"hidden-" not in content, "a path that the call may not see is not stored", more)
        with open("/etc/hostname", "rb") as file:
            name = file.read()
        check(not any(open(p, "rb").read() == name for p in stored(place)), "links are not followed")
        check(
            all(os.stat(p).st_mode & 0o077 == 0 for p in [place.inputs, *stored(place)]),
            "the store is readable for its user alone",
        )


def verdicts_of(place, policy, script, again=None):
    """The verdicts and first notes of one call under a policy, replayed under the same or another one."""
    place.run("call", "--policy", policy, "sh", json.dumps({"script": script}))
    _, calls, _, answer = replay(place, "--last", "1", policy=again or policy)
    return calls[0]["verdict"], (calls[0]["notes"] or [""])[0], answer


def paths_from_elsewhere_are_not_stored():
    with arrange() as place:
        place.write("home/other/a/f", "XA\n")
        place.write("home/other/b/f", "hidden-XB\n")
        place.write("home/project/b/f", "WB\n")
        base = POLICY.format(audit="", access="writable", more="")
        elsewhere = f'{{{{ path = "/workspace/a", from = "{place.home}/other/a" }}}}'.replace(
            "{{", "{"
        ).replace("}}", "}")
        whole = elsewhere.replace("/workspace/a", "/workspace").replace("/other/a", "/other")
        mixed = place.write(
            "home/mixed.toml", base.replace('["/workspace"]', f'[{elsewhere}, "/workspace/b"]', 1)
        )
        moved = place.write("home/moved.toml", base.replace('["/workspace"]', f"[{whole}]", 1))
        verdict, note, answer = verdicts_of(place, mixed, "cat a/f b/f")
        check(
            verdict == "left out" and "from elsewhere" in note,
            "a workspace of parts from elsewhere is left out",
            answer,
        )
        content = b"".join(open(path, "rb").read() for path in stored(place))
        check(b"hidden-XB" not in content, "nothing beside the granted parts is stored", content)
        verdict, note, answer = verdicts_of(place, moved, "cat a/f")
        check(
            verdict == "left out" and "from elsewhere" in note,
            "a replay does not use another workspace than its copy",
            answer,
        )


def replay_needs_isolation():
    with arrange() as place:
        bare = write_policy(place, "bare.toml", more='backend = "not-a-security-boundary"')
        verdict, note, answer = verdicts_of(place, bare, "echo pid >> log; cat a.txt")
        with open(place.project + "/log") as file:
            text = file.read()
        check(
            verdict == "denied" and "isolates nothing" in note and text == "pid\n",
            "a replay does not run without isolation",
            answer,
        )


def replay_is_not_approved_by_itself():
    with arrange() as place:
        place.write("home/key", "key-material\n")
        asks = write_policy(place, "asks.toml", more='tier = "HumanApprove"')
        call(place, "cat a.txt")
        # a forged log in which a person approved the call
        log = glob.glob(place.home + "/.local/state/toolcage/audit/*.jsonl")[0]
        with open(log, encoding="utf-8") as file:
            text = file.read()
        copy = place.write(
            "home/copy/" + os.path.basename(log),
            text.replace('"inputs":', '"approval":"sha256:%s","inputs":' % ("0" * 64)),
        )
        _, calls, _, answer = replay(place, "--last", "1", "--directory", os.path.dirname(copy), policy=asks)
        check(
            calls[0]["verdict"] == "left out" and "a person approved it" in calls[0]["notes"][0],
            "a replay approves nothing, whatever the log says",
            answer,
        )


def lost_narrowing_is_left_out():
    with arrange() as place:
        names = [f"LONG_NAME_{'X' * 200}_{i}" for i in range(320)]
        policy = write_policy(place, "many.toml", more="env.pass = " + json.dumps(names))
        args = [word for name in names for word in ("-e", name + "=1")]
        args += ["--read", "/workspace/src", "sh", '{"script": "cat a.txt"}']
        narrow = place.run("call", "--policy", policy, *args)
        _, calls, _, answer = replay(place, "--last", "1", policy=policy)
        check(
            calls and calls[0]["verdict"] == "left out" and "only digests" in calls[0]["notes"][0],
            "a call whose options are not in the log is not replayed without them",
            f"{narrow} {answer}"[:1500],
        )


def equal_looking_changes_differ():
    """Which of the two is made depends on the time: of many calls, some are replayed as the other one."""
    with arrange() as place:
        script = "case $(date +%N) in *[02468]) mkdir x;; *) mkfifo -m 755 x;; esac"
        seen = {verdicts_of(place, place.policy, script)[0] for _ in range(24)}
        check(seen == {"same", "differs"}, "a change of another type differs", seen)


def cut_output_is_left_out():
    with arrange(more='output = "4KiB"') as place:
        verdict, note, answer = verdicts_of(
            place, place.policy, "head -c 9000 /dev/zero | tr '\\0' a; date +%N; head -c 9000 /dev/zero"
        )
        check(verdict == "left out" and "more output" in note, "output that was cut is not compared", answer)
        many = "i=0; while [ $i -lt 1500 ]; do : > file-with-a-long-name-$i; i=$((i + 1)); done"
        verdict, note, answer = verdicts_of(place, place.policy, many)
        check(verdict == "left out" and "more files" in note, "a cut list of changes is not compared", answer)


def changes_in_place_are_compared():
    with arrange(more='workspace.mode = "bind"') as place:
        verdict, _, answer = verdicts_of(place, place.policy, "echo new > new; echo x >> a.txt")
        check(verdict == "same", "changes in place are compared with those of a copy", answer)


def damaged_log_is_not_pruned():
    with arrange() as place:
        call(place, "cat a.txt")
        call(place, "cat src/b.txt")
        count = len(stored(place))
        log = glob.glob(place.home + "/.local/state/toolcage/audit/*.jsonl")[0]
        with open(log, encoding="utf-8") as file:
            text = file.read()
        place.write(log, text.replace('"kind":"run"', '"kind";"run"', 1), mode=0o600)
        answer = place.run("audit", "prune", "--until", "2020-01-01")
        check(
            answer.code == 125 and "nothing was removed" in answer.err and len(stored(place)) == count,
            "nothing is pruned by a damaged log",
            answer,
        )


def missing_cache_directory_is_named():
    with arrange() as place:
        call(place, "cat a.txt")
        place.write("home/a-file", "")
        environ = {"XDG_CACHE_HOME": place.home + "/a-file"}
        answer = place.run("audit", "replay", "--last", "1", env=environ)
        check("XDG_CACHE_HOME" in answer.out, "a cache that cannot be used is named", answer)


def calls_that_cannot_be_replayed_say_why():
    with arrange() as place:
        place.run("exec", "--tool", "shell", "cat", stdin=b"piped")
        call(place, f"ls {place.project}")
        plain = place.write("home/plain.toml", '[audit]\n[tool.sh]\ncommand = ["true"]\n')
        place.run("call", "--policy", plain, "sh", "{}")
        _, calls, totals, answer = replay(place)
        notes = [c["notes"][0] if c["notes"] else c["verdict"] for c in calls]
        check(
            notes
            == [
                "its input came through a pipe",
                "its arguments name the workspace by its path on the host",
                'what it needs was not kept: set record = "inputs" in [audit]',
            ],
            "a call that is left out says why",
            answer,
        )
        check(totals["left_out"] == 3 and answer.code == 0, "they are counted", totals)


def full_store_stops_no_call():
    with arrange(audit='keep_inputs = "1MiB"') as place:
        place.write("home/project/large", os.urandom(2 << 20))
        answer = call(place, "echo ran")
        check(answer.code == 0 and answer.out == "ran\n", "a full store stops no call", answer)
        left = decisions(place)[-1]["inputs"]
        check("is full" in left.get("left_out", ""), "the record says that the inputs were left out", left)
        os.remove(place.project + "/large")
        call(place, "echo ran")
        check(replay(place, "--last", "1")[2]["same"] == 1, "a smaller workspace is stored")


def store_that_others_may_write_is_not_used():
    with arrange() as place:
        call(place, "cat a.txt")
        os.chmod(place.inputs, 0o777)
        call(place, "cat a.txt")
        left = decisions(place)[-1]["inputs"]
        check(
            "others may write" in left.get("left_out", ""),
            "a store that others may write takes nothing",
            left,
        )
        _, calls, _, answer = replay(place, "--last", "2")
        check(all(c["verdict"] == "left out" for c in calls), "and gives nothing to a replay", answer)


def changed_store_is_found():
    with arrange() as place:
        call(place, "cat a.txt")
        for path in stored(place):
            with open(path, "rb") as file:
                content = file.read()
            if content == b"one\ntwo\nthree\n":
                os.chmod(path, 0o600)
                with open(path, "wb") as file:
                    file.write(b"one\ntwo\nTHREE\n")
        _, calls, _, answer = replay(place)
        check(
            calls[0]["verdict"] == "left out" and "was changed" in calls[0]["notes"][0],
            "a changed object of the store is not used",
            answer,
        )


def old_inputs_are_pruned():
    with arrange() as place:
        call(place, "cat a.txt")
        count = len(stored(place))
        expect(place, "prune needs a time", ["audit", "prune"], 125, "--until TIME")
        answer = place.run("audit", "prune", "--until", "1h")
        check(answer.code == 0 and len(stored(place)) == count, "newer inputs stay", answer)
        answer = place.run("audit", "prune", "--until", "9999")
        check(answer.code == 0 and stored(place) == [], "older inputs are removed", answer)
        _, calls, _, answer = replay(place)
        check("no longer stored" in calls[0]["notes"][0], "a replay says so", answer)
        call(place, "cat a.txt")
        check(replay(place, "--last", "1")[2]["same"] == 1, "new calls are stored again")


def forged_notes_are_one_line():
    with arrange() as place:
        call(
            place,
            "printf '\\033[2Jsame  2026 \\342\\200\\256'; date +%N; printf 'x\\ny' > \"$(printf 'a\\nb')\"; date +%N >> a*b",
        )
        answer = place.run("audit", "replay", "--last", "1")
        shown = place.run("audit", "replay", "--last", "1").out
        check(
            "\033" not in shown and "\u202e" not in shown and answer.code == 1,
            "output in a note is escaped",
            shown,
        )
        check(
            all(line.startswith(("differs", "    ", "1 calls")) for line in shown.splitlines()),
            "a note cannot look like another line",
            shown,
        )


def killed_replay_leaves_nothing():
    with arrange() as place:
        call(place, "test -e slow || exit 0; sleep 60")
        place.write("home/project/slow", "")
        slow = call(place, "test -e slow && sleep 2")
        process = place.popen("audit", "replay", "--last", "1", stdout=subprocess.DEVNULL)
        copies = place.home + "/.cache/toolcage/replays"
        for _ in range(100):
            if os.path.isdir(copies) and os.listdir(copies):
                break
            threading.Event().wait(0.05)
        held = os.listdir(copies)
        process.kill()
        process.wait()
        replay(place, "--last", "1")
        check(
            held and os.listdir(copies) == [],
            "the copy of a killed replay is removed by the next",
            (held, slow),
        )


def wrong_use_is_refused():
    with arrange(audit="") as place:
        call(place, "true")
        expect(place, "a replay needs a call", ["audit", "replay"], 125, "either a call or --last")
        expect(place, "not both", ["audit", "replay", "X", "--last", "2"], 125, "either a call or --last")
        expect(place, "a number of calls", ["audit", "replay", "--last", "0"], 125, "not a number of calls")
        expect(
            place, "an id of the log", ["audit", "replay", "01JD8XKQ7PZ3T5V9WYB2C4D6E8"], 125, "has no call"
        )
        expect(
            place, "list takes no policy", ["audit", "list", "--policy", "x"], 125, "does not take --policy"
        )
        both = place.write("home/both.toml", '[audit]\nrecord = "inputs"\narguments = "digests"\n')
        expect(place, "digests cannot be replayed", ["policy", "check", both], 1, "cannot be replayed")
    with arrange() as place:
        ceiling = place.write(
            "home/ceiling.toml",
            '[defaults]\n[tool.sh]\nfilesystem = { writable = ["/workspace"] }\ncommand = ["/bin/sh", "-c", "{script}"]\narguments.script = { type = "string" }\n',
        )
        below = place.write("home/below.toml", f'within = "{ceiling}"\n' + open(place.policy).read())
        answer = place.run("call", "--policy", below, "sh", '{"script": "true"}')
        check(
            answer.code == 126 and "more than the ceiling grants" in answer.err,
            "a policy below a ceiling cannot keep inputs",
            answer,
        )


require_user()
usual_commands_end_as_recorded()
changed_workspace_does_not_matter()
differences_are_shown()
stricter_policy_is_found()
network_is_not_reached()
other_writable_paths_are_not_written()
hidden_files_are_not_stored()
paths_from_elsewhere_are_not_stored()
replay_needs_isolation()
replay_is_not_approved_by_itself()
lost_narrowing_is_left_out()
equal_looking_changes_differ()
cut_output_is_left_out()
changes_in_place_are_compared()
damaged_log_is_not_pruned()
missing_cache_directory_is_named()
calls_that_cannot_be_replayed_say_why()
full_store_stops_no_call()
store_that_others_may_write_is_not_used()
changed_store_is_found()
old_inputs_are_pruned()
forged_notes_are_one_line()
killed_replay_leaves_nothing()
wrong_use_is_refused()
finish()

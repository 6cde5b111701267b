#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""denials = "paths": each path outside of the grant that a tool opens, executes or would change is listed once, with what
would allow it; what the grant covers is not, and nothing else changes."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tomllib

from scene import PATIENCE, TOOLCAGE, Skip, check, finish, helpers_of, name_of, run, until

PATHS = 'denials = "paths"'

MUTATE = """
import os, sys
def each(*calls):
    for call in calls:
        try: call()
        except OSError: pass
out, ws = sys.argv[1:]
each(lambda: os.mkdir(out + "/mkdir"), lambda: os.rmdir(out + "/rmdir"), lambda: os.unlink(out + "/unlink"),
     lambda: os.rename(ws + "/a", out + "/rename"), lambda: os.rename(out + "/renamed", ws + "/b"), lambda: os.link(ws + "/a", out + "/link"),
     lambda: os.symlink("x", out + "/symlink"), lambda: os.truncate(out + "/truncate", 1), lambda: os.chmod(out + "/chmod", 0o600),
     lambda: os.chown(out + "/chown", 1, 1), lambda: os.utime(out + "/utime"), lambda: os.mkfifo(out + "/fifo"),
     lambda: os.setxattr(out + "/setxattr", "user.x", b"1"), lambda: os.open(out + "/create", os.O_CREAT | os.O_WRONLY),
     lambda: os.open(out + "/append", os.O_WRONLY | os.O_APPEND), lambda: os.open(out + "/read", os.O_RDONLY))
"""


def told(answer, operation):
    return {target for target, denial in answer.denied(operation).items() if not denial.get("probe")}


def kinds_of_calls(s):
    s.write("ws/a", "a", 0o666)
    out = s.path("outside")
    answer = s.python(MUTATE, out, s.ws, more=PATHS)
    wanted = {
        "mkdir",
        "rmdir",
        "unlink",
        "rename",
        "renamed",
        "link",
        "symlink",
        "truncate",
        "chmod",
        "chown",
        "utime",
        "fifo",
        "setxattr",
        "create",
        "append",
    }
    check(
        told(answer, "write") == {f"{out}/{name}" for name in wanted},
        "calls that change a path",
        (told(answer, "write"), answer),
    )
    check(told(answer, "read") == {f"{out}/read"}, "and one that reads it", answer)
    one = answer.denied("write").get(f"{out}/mkdir", {})
    check(
        one.get("key") == "tool.t.filesystem"
        and one.get("line")
        and f'filesystem.writable = ["{out}/mkdir"]' in one.get("hint"),
        "with key, line and the clause that would allow it",
        one,
    )
    answer = s.python(MUTATE, out, s.ws)
    check(not answer.denials, "none of it where only calls are watched", answer)


def rights(s):
    """A path that may be read and not written, one that is denied by name, a system directory."""
    s.write("data/file", "x", 0o666)
    s.write("data/secret", "x", 0o666)
    answer = s.shell(
        f"cat {s.data}/file; echo x >> {s.data}/file; cat {s.data}/secret; touch /usr/new; cat /usr/no-such-file; false",
        readable=[s.data],
        denied=[s.path("data/secret")],
        more=PATHS,
    )
    writes, reads = answer.denied("write"), answer.denied("read")
    check(
        answer.out == "x" and told(answer, "write") == {f"{s.data}/file", "/usr/new"},
        "writing what is readable",
        answer,
    )
    check(
        writes.get(f"{s.data}/file", {}).get("key") == "tool.t.filesystem.readable",
        "names the entry that is only readable",
        writes,
    )
    check("/tmp" in writes.get("/usr/new", {}).get("hint", ""), "a system directory has another hint", writes)
    check(told(answer, "read") == {f"{s.data}/secret"}, "reading a denied name", answer)
    check(
        reads.get(f"{s.data}/secret", {}).get("key") == "tool.t.filesystem.denied",
        "the denial names the key that denies the path",
        reads,
    )


def ways_to_a_path(s):
    """However the path is said, it is listed as where it leads."""
    s.write("outside/file", "secret")
    os.makedirs(s.path("ws/deep/er"))
    os.symlink(s.path("outside"), s.path("ws/away"))
    os.symlink("../outside/gone", s.path("ws/dangling"))
    os.symlink("loop", s.path("ws/loop"))
    code = (
        "import os,sys\ndef go(*a,**k):\n try: os.open(*a,**k)\n except OSError: pass\n"
        "go('../outside/relative',0)\nos.chdir('deep')\ngo('../../outside/below',0)\nd=os.open('er',0)\n"
        "go('../../../outside/by-fd',0,dir_fd=d)\ngo('../away/file',0)\ngo('../dangling',0)\ngo('../loop',0)\n"
        "go('//proc/../'+sys.argv[1]+'/./x/../dots',0)\ngo('/proc/self/root'+sys.argv[1]+'/magic',0)\ngo('er/none',0)\ngo('er/file',66,0o644)\n"
        "go('',0)\ngo('x'*5000,0)\ngo('y/'*2000,0)\n"
    )
    answer = s.python(code, s.path("outside"), more=PATHS)
    names = ("relative", "below", "by-fd", "file", "gone", "dots")
    check(
        answer.status == "ok" and told(answer, "read") == {s.path("outside", name) for name in names},
        "by every way",
        answer,
    )
    check(not told(answer, "write"), "missing and created files of the workspace are no denials", answer)


def programs(s):
    outside = s.write("outside/program", "#!/bin/sh\n", 0o755)
    answer = s.shell(
        f"{outside}; {outside}; no-such-program; /usr/bin/no-such-program; ./missing; true", more=PATHS
    )
    check(
        told(answer, "exec") == {outside} and answer.denied("exec")[outside]["count"] == 2,
        "a program outside",
        answer,
    )


def no_oracle(s):
    """The list says the same of what exists outside and of what does not."""
    s.write("outside/there", "x")
    there, absent = s.path("outside/there"), s.path("outside/absent")
    answer = s.shell(
        f"cat {there} {absent}; echo > {there}; echo > {absent}; ls {there} {absent}", more=PATHS
    )
    for operation in ("read", "write"):
        got = answer.denied(operation)
        rows = [
            {key: value for key, value in got.get(name, {}).items() if key not in ("target", "hint")}
            for name in (there, absent)
        ]
        check(rows[0] and rows[0] == rows[1], f"no oracle of existence by {operation}", got)


def floods(s):
    code = "import os,sys\nfor i in range(6000):\n try: os.open(sys.argv[1]+'/%d'%i,0)\n except OSError: pass\nprint('through')"
    answer = s.python(code, s.path("outside"), more=PATHS + '\ntimeout = "60s"')
    check(
        answer.out == "through\n" and len(answer.denials) == 100 and answer.omitted["denials"] >= 5900,
        "the list is capped and says so",
        (len(answer.denials or []), answer.omitted),
    )
    threads = (
        "import os,sys,threading\ndef go(n):\n for i in range(800):\n  try: os.open(sys.argv[1]+'/x',0)\n  except OSError: pass\n"
        "all=[threading.Thread(target=go,args=(n,)) for n in range(10)]\n[t.start() for t in all]\n[t.join() for t in all]\nprint('through')"
    )
    answer = s.python(threads, s.path("outside"), more=PATHS + '\ntimeout = "60s"')
    check(
        answer.out == "through\n" and answer.denied("read").get(s.path("outside/x"), {}).get("count") == 8000,
        "many threads at once",
        answer,
    )
    many = "import ctypes\nlibc=ctypes.CDLL(None)\nfor i in range(3000): libc.mount(0,0,0,0,0)\nprint(open('/etc/passwd').read()[:4])"
    answer = s.python(many, more=PATHS + '\ntimeout = "60s"')
    check(
        answer.status == "ok" and answer.denied("syscall")["mount"]["count"] == 3000,
        "refused calls do not end the watching",
        answer,
    )


def accesses(s):
    s.write("data/file", "x")
    os.symlink("data", s.path("other"))
    answer = s.shell(
        f"cat {s.path('other')}/file; echo > {s.ws}/new; test -e {s.path('outside')}; cat {s.path('outside')}; true",
        readable=[s.data, s.path("other")],
        more='denials = "accesses"',
    )
    got = {(access["operation"], access["target"]) for access in answer.accesses or []}
    check(
        {("read", f"{s.path('other')}/file"), ("write", f"{s.ws}/new"), ("read", "/etc/ld.so.cache")} <= got,
        "accessed paths are listed",
        answer,
    )
    check(
        not any(target == s.path("outside") for _, target in got),
        "refused paths are not among the accessed ones",
        got,
    )
    check(
        answer.denied("look").get(s.path("outside"), {}).get("probe") is True
        and s.path("outside") in told(answer, "read"),
        "looks that were refused are listed, too",
        answer.denials,
    )
    answer = s.shell("true")
    check(
        "accesses" not in answer.json and "accesses" not in answer.omitted,
        "else there is no such list",
        answer,
    )


def ordinary_work(s):
    for name, script in (
        ("python3", "python3 -c 'import json,ssl,subprocess,sqlite3; subprocess.run([\"true\"])'"),
        ("a pipeline", "ls -l /usr | sort | wc -l"),
        ("git", "git init -q r && git -C r status"),
        ("temporary files", "f=$(mktemp); echo x > $f; rm $f"),
        ("perl", "perl -e 'print 1'"),
    ):
        answer = s.shell(f"cd {s.ws}; {script}; exit 1", more='env.set = { HOME = "/tmp" }\n' + PATHS)
        check(
            answer.status == "failed" and "denied" not in answer.message,
            f"work of {name} that is allowed tells the model of no denial",
            answer.message,
        )


def words_for_a_model(s):
    """Each of ten typical refusals comes with what to do instead."""
    s.write("data/table.csv", "1")
    outside = s.path("outside")
    program = s.write("outside/run", "#!/bin/sh\n", 0o755)
    cases = [
        (f"cat {outside}/notes", "nothing grants it", s.data),
        (f"echo x > {outside}/out.txt", "nothing grants it", s.ws),
        (f"echo x >> {s.data}/table.csv", "is only readable", s.ws),
        ("cat ~/.ssh/id_ed25519", "nothing grants it", "readable are"),
        (f"cat {s.data}/.env", "denied by name", s.data),
        ("touch /usr/lib/x", "system directories are read-only", "/tmp"),
        (f"mkdir {outside}/build", "nothing grants it", s.ws),
        (program, "nothing grants it", "readable are"),
        (f"rm {s.data}/table.csv", "is only readable", s.ws),
        (f"mv {s.data}/table.csv {s.ws}/", "is only readable", s.ws),
    ]
    s.write("data/.env", "x")
    for script, reason, instead in cases:
        home = f'env.set = {{ HOME = "{s.path("home")}" }}\n'
        answer = s.shell(
            f"{script}; exit 1", readable=[s.data], denied=[s.path("data/.env")], more=home + PATHS
        )
        lines = [line for line in (answer.message or "").splitlines() if line.startswith("denied: ")]
        check(
            len(lines) == 1 and reason in lines[0] and instead in lines[0],
            f"the model is told: {script.split()[0]} {reason}",
            answer.message,
        )


def watcher_of(process):
    """The helper's child that stands in no pid namespace of its own."""
    for helper in helpers_of(process.pid):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/status", "rb") as file:
                    rows = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
            except OSError:
                continue
            if (
                int(rows[b"PPid"]) == helper
                and len(rows[b"NSpid"].split()) == 1
                and b"Z" not in rows[b"State"]
            ):
                return int(entry)
    return None


def its_death(s):
    """Whoever observes dies: the tool can open nothing more, the call ends and says so."""
    process = s.begin("sh -c 'read _' $0; cat /etc/passwd > /dev/null && echo read", more=PATHS)
    found = until(lambda: watcher_of(process) is not None)
    check(found, "the process that observes is found")
    if not found:
        process.kill()
        process.communicate()
        return
    os.kill(watcher_of(process), signal.SIGKILL)
    answer = finish(process)
    check(
        "read" not in answer.out
        and answer.status == "error"
        and "observed the tool's paths ended" in answer.message,
        "its death is an error of ours",
        answer,
    )
    process = s.begin("sh -c 'read _' $0", more=PATHS)
    until(lambda: watcher_of(process) is not None)
    watcher = watcher_of(process)
    name = name_of(watcher)
    process.kill()
    process.communicate()
    check(
        until(lambda: name_of(watcher) != name or not os.path.exists(f"/proc/{watcher}")),
        "it goes with the host",
    )


def looks_before_it_opens(s):
    """As Java does: what is not there is never opened. The person is told what is there, the model is not."""
    there = s.write("there/conf file", "x")
    code = "import os,sys\nprint([os.path.exists(p) for p in sys.argv[1:]])"
    for words in (["--why"], ["--why", "--json"]):
        done = subprocess.run(
            [TOOLCAGE, "exec", *words, "--", "/usr/bin/python3", "-c", code, there, s.path("absent")],
            cwd=s.path("ws"),
            env=s.environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if "--json" in words:
            result = json.loads(done.stdout)
            check(
                there not in result["message"] and "absent" not in result["message"],
                "a lookup is not told to the model",
                result,
            )
        else:
            check(
                f"looked for {there}" in done.stderr
                and f"--read '{there}'" in done.stderr
                and "absent" not in done.stderr,
                "--why names the path that a tool looked for and that is there",
                done,
            )


def narrowing(s):
    policy = s.policy(more=PATHS)
    answer = s.call("/bin/true", flags=["--denials", "calls"], more=PATHS)
    check(answer.status == "denied", "a call cannot observe less than the policy wants", answer)
    answer = s.call("/bin/cat", s.path("outside"), flags=["--why"])
    check(told(answer, "read") == {s.path("outside")}, "--why observes more", answer)
    looks_before_it_opens(s)
    check(os.path.exists(policy) and json.dumps(answer.json), "and all of it is in the result")


def denied(s):
    """The id of the call that was denied something last."""
    with open(
        os.path.join(s.environ["HOME"], ".local/state/toolcage/last-denials"), encoding="utf-8"
    ) as file:
        return json.load(file)["call"]


def allowed_afterwards(s):
    """The change that allow prints is one that a person can apply, and nothing changes before."""
    s.write("outside/file", "tweet-31\n", 0o644)
    policy = s.policy(readable=[s.data], denied=[s.path("data/no")])
    before = s.read(policy)

    def toolcage(*words):
        return subprocess.run(
            [TOOLCAGE, *words],
            env=s.environ,
            cwd=s.ws,
            capture_output=True,
            text=True,
            timeout=60 * PATIENCE,
            check=False,
        )

    run_it = [
        "exec",
        "--why",
        "--policy",
        policy,
        "--tool",
        "t",
        "cat",
        s.path("outside/file"),
        s.path("data/no"),
    ]
    done = toolcage("allow", "--last")
    check(
        done.returncode == 125 and "was denied anything" in done.stderr and "hint: " in done.stderr,
        "without a denial there is nothing to allow",
        done,
    )
    first = toolcage(*run_it)
    done = toolcage("allow", denied(s))
    check(
        first.returncode == 1
        and done.returncode == 0
        and f'"{s.path("outside/file")}"' in done.stdout
        and s.read(policy) == before,
        "a change is printed, and nothing is changed",
        (first, done),
    )
    call = re.search(
        r"denied to call (\w{26}) at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, of tool t under "
        + re.escape(policy)
        + "\n",
        done.stderr,
    )
    check(bool(call) and "denied to call" not in done.stdout, "the denied call is named", done)
    check(
        "no change of this policy allows read " + s.path("data/no") in done.stderr
        and "by hand" in done.stderr,
        "a path denied by name is left to a person",
        done,
    )
    check(not re.search(r"^[-+][^-+].*data/no", done.stdout, re.M), "and not in it", done)
    if shutil.which("patch"):
        subprocess.run(["patch", "-s", policy], input=done.stdout, text=True, check=True)
        again = toolcage(*run_it)
        check(
            "tweet-31" in again.stdout
            and again.returncode == 1
            and f"denied read {s.path('data/no')}" in again.stderr,
            "once applied it allows that and no more",
            again,
        )
    with open(
        os.path.join(s.environ["HOME"], ".local/state/toolcage/last-denials"), encoding="utf-8"
    ) as file:
        check(
            os.fstat(file.fileno()).st_mode & 0o77 == 0, "the record of denials is readable by its user only"
        )
    toolcage("exec", "--why", "cat", s.path("outside/file"))
    done = toolcage("allow", denied(s))
    check(done.stdout == f"--read {s.path('outside/file')}\n", "without a policy an option is named", done)


def hostile_names(s):
    """A tool chooses the names that it is refused: neither the clause nor the option grants another path, and the diff, also as
    a terminal shows it, is what a person applies. What is dangerous in it is said."""
    names = ['q", "/etc', "q --write /", "q'$(id)'", "r\u202ecod", "c1\u009b31m", "id_rsa"]
    paths = [os.path.join(s.path("outside"), name) for name in names]
    s.directory("outside")
    for path in [*paths[:1], *paths[2:]]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        s.write(path, "tweet-31\n", 0o644)
    forged = os.path.join(s.path("outside"), "l\n--write /")
    policy = s.policy(readable=[s.data])

    def toolcage(*words):
        return subprocess.run(
            [TOOLCAGE, *words],
            env=s.environ,
            cwd=s.ws,
            capture_output=True,
            text=True,
            timeout=60 * PATIENCE,
            check=False,
        )

    toolcage("exec", "--why", "--policy", policy, "--tool", "t", "cat", *paths)
    done = toolcage("allow", denied(s))
    check(
        done.returncode == 0 and not re.search("[\u202e\u009b]", done.stdout),
        "nothing in the change acts on a terminal",
        done,
    )
    check(
        "danger: " in done.stderr and "id_rsa" in done.stderr and "secret" in done.stderr,
        "dangerous paths are reported",
        done,
    )
    if shutil.which("patch"):
        subprocess.run(["patch", "-s", policy], input=done.stdout, text=True, check=True)
        with open(policy, "rb") as file:
            readable = tomllib.load(file)["tool"]["t"]["filesystem"]["readable"]
        check(
            {s.data, *paths[2:]} <= set(readable) <= {s.data, *map(os.path.normpath, paths)},
            "once applied it grants those paths and no other",
            readable,
        )
    first = toolcage("exec", "--why", "cat", forged, *paths)
    done = toolcage("allow", denied(s))
    words = [shlex.split(line) for line in done.stdout.splitlines()]
    check(
        len(words) >= 3
        and all(
            len(word) == 2 and word[0] == "--read" and word[1].startswith(s.path("outside")) for word in words
        ),
        "an option is one path",
        (first, done),
    )


def by_flags(s):
    """Without a policy the hint is an option of the command line."""
    done = subprocess.run(
        [TOOLCAGE, "exec", "--why", "cat", s.path("outside/x")],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60,
        check=False,
    )
    if b"unenforceable" in done.stderr:
        raise Skip("no cage without a policy here")
    check(f"--read {s.path('outside/x')}".encode() in done.stderr, "an option is named", done.stderr)


IMPOSSIBLE = """
import os
def number_of(call):
    try: call()
    except OSError as error: return error.errno
print(number_of(lambda: os.rename("was", "new")))
os.mkdir("made"); os.rename("made", "moved")
os.rename("file", "renamed"); open("renamed", "a").close()
"""


def impossible_renames_are_listed(s):
    """Renaming a directory of the host fails for no reason that the tool knows."""
    s.write("ws/was/file", "x")
    s.write("ws/file", "x")
    answer = s.python(IMPOSSIBLE, more=PATHS)
    if "a layer on the workspace's disk" not in answer.enforcement["fs.write"]:
        raise Skip("no layer on the workspace's disk here")
    check(
        answer.out.split() == [str(errno.EXDEV)] and told(answer, "write") == {s.path("ws/was")},
        "it is listed, and what works is not",
        (told(answer, "write"), answer),
    )
    check(
        all(
            denial["key"].endswith("workspace") and "--in-place" in denial["hint"]
            for denial in answer.denials
        ),
        "with the key and what would do it",
        answer.denials,
    )
    answer = s.python(IMPOSSIBLE, more=PATHS + '\nworkspace = { mode = "bind" }')
    check(answer.out.split() == ["None"] and not answer.denials, "a bind can do it", answer)


run(
    kinds_of_calls,
    impossible_renames_are_listed,
    rights,
    ways_to_a_path,
    programs,
    no_oracle,
    floods,
    accesses,
    ordinary_work,
    words_for_a_model,
    its_death,
    narrowing,
    allowed_afterwards,
    hostile_names,
    by_flags,
)

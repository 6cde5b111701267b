#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Sessions: what one call leaves is there for the next, for nobody else, and never over newer work of the host."""

import json
import os
import signal
import subprocess

from scene import PATIENCE, PAUSE, TOOLCAGE, Skip, check, finish, helper_of, run, until
from tree import tree


def overlay(commit=None):
    return f'workspace = {{ mode = "overlay"{f", commit = {chr(34)}{commit}{chr(34)}" if commit else ""} }}\n'


def name_of(s, more=""):
    return f"t{os.getpid()}-{os.path.basename(s.root)[-8:]}{more}"


class Session:
    """Calls of one name under one policy file."""

    def __init__(self, s, more="", **grant):
        self.s, self.name = s, name_of(s)
        self.file = s.policy(more=more, **grant)
        s.ends.callback(verb, s, "end", self.name)

    def argv(self, *command, flags=()):
        return [
            TOOLCAGE,
            "exec",
            "--policy",
            self.file,
            "--tool",
            "t",
            "--json",
            "--session",
            self.name,
            *flags,
            "--",
            *command,
        ]

    def sh(self, script, *args, flags=()):
        done = subprocess.run(
            self.argv("/bin/sh", "-c", script, "sh", *args, flags=flags),
            env=self.s.environ,
            cwd=self.s.ws,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60 * PATIENCE,
            check=False,
        )
        return json.loads(done.stdout)

    def out(self, script):
        answer = self.sh(script)
        return answer["stdout"].get("text", "")


def verb(s, *args):
    done = subprocess.run(
        [TOOLCAGE, "session", *args, "--json"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {}, done.stdout + done.stderr


def row(s, name):
    return next((each for each in verb(s, "list")[1]["sessions"] if each["name"] == name), None)


def need_overlay(s):
    answer = s.shell("true", more=overlay())
    if answer.status != "ok" and answer.error["stage"] == "overlay":
        raise Skip(answer.error["message"])


def store(s, name):
    base = "/run/toolcage" if os.geteuid() == 0 else s.path("home/.local/state/toolcage")
    return os.path.join(base, "sessions", name)


def keeps_tmp(s):
    one = Session(s)
    first = one.sh(
        "cd /tmp && echo one > f && mkdir -p d/e && echo two > d/e/g && ln -s /etc/shadow link && ln f hard && truncate -s 5G holes && chmod 640 f && mkfifo p && "
        "touch -d @1000000000 d/e/g && chmod 555 d/e && printf x > \"$(printf 'a\\377\\nb')\" && : > empty && chmod 000 empty"
    )
    check(
        first["status"] == "ok"
        and first["session"]
        == {"name": one.name, "new": True, "calls": 1, "bytes": first["session"]["bytes"]},
        "the first call begins it",
        first,
    )
    check(
        "sockets, pipes or devices" in first["message"] or "pipes" in json.dumps(first),
        "files that a session cannot keep are reported",
        first["message"],
    )
    second = one.sh(
        "cd /tmp && cat f d/e/g && readlink link && stat -c '%a %s' f holes empty d/e && stat -c %Y d/e/g && stat -c %U:%G f; ls -A | wc -l; id -un; cat hard; stat -c %b holes"
    )
    words = second["stdout"]["text"].split()
    check(
        words[:3] == ["one", "two", "/etc/shadow"] and words[-2] == "one",
        "files, directories and links are there again",
        words,
    )
    check(
        words[3:12] == ["640", "4", "644", "5368709120", "0", "0", "755", "60", "1000000000"]
        and words[-1] == "0",
        "with modes, times and holes; what was a directory can be written again",
        words,
    )
    check(
        "tool:tool" in words and second["session"]["calls"] == 2 and not second["session"]["new"],
        "and the tool owns them",
        (words, second["session"]),
    )
    check(
        one.out("rm -rf /tmp/d; chmod 600 /tmp/empty; ls -A /tmp | wc -l") != ""
        and one.out("test -e /tmp/d || echo gone") == "gone\n",
        "removed files stay removed",
        "",
    )
    check(
        one.out("echo $PPID; ls /proc | grep -c '^[0-9]'").split()[-1] in ("3", "4", "5")
        and one.out("echo ${left-none}") == "none\n",
        "no process and no variable is left",
        "",
    )
    listed = row(s, one.name)
    check(listed and listed["tool"] == "t" and listed["calls"] == 6, "the list has it", listed)
    where = store(s, one.name)
    check(
        os.stat(where).st_mode & 0o777 == 0o700 and os.stat(where).st_uid == os.geteuid(),
        "the store is private",
        os.stat(where),
    )
    other = s.shell("ls -A /tmp")
    check(other.out == "" and other.session is None, "a call without the session sees nothing of it", other)
    code, ended, err = verb(s, "end", one.name)
    check(
        code == 0
        and [each["name"] for each in ended["sessions"]] == [one.name]
        and row(s, one.name) is None
        and not os.path.exists(where),
        "it can be ended",
        (code, ended, err),
    )
    check(one.out("ls -A /tmp") == "", "and begins anew", "")


def other_grant(s):
    one = Session(s)
    one.sh("echo mine > /tmp/f")
    for flags, words in (
        (["-t", "7s"], "another grant"),
        (["--cwd", "/tmp"], "another grant"),
        (["--pids", "20"], "another grant"),
    ):
        answer = one.sh("cat /tmp/f", flags=flags)
        check(
            answer["status"] == "denied"
            and words in answer["error"]["message"]
            and "session end" in answer["error"]["hint"],
            f"{flags[0]} is another grant",
            answer,
        )
    text = s.read(os.path.basename(one.file)).decode()
    one.file = s.write("other.toml", text.replace("[tool.t]", "[tool.u]"))
    done = subprocess.run(
        [word if word != "t" else "u" for word in one.argv("/bin/cat", "/tmp/f")],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    check(
        answer["status"] == "denied"
        and "belongs to tool t, and this call to tool u" in answer["error"]["message"],
        "another tool is refused by name",
        answer,
    )
    one.file = s.write("other.toml", text)
    check(one.out("cat /tmp/f") == "mine\n", "the first goes on", "")


def two_at_once(s):
    one = Session(s)
    first = subprocess.Popen(
        one.argv("/bin/sh", "-c", "echo a > /tmp/a; read _", flags=["--stdin", "pass"]),
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: one.sh("true")["status"] == "error", 20)
    second = one.sh("true")
    check(
        second["status"] == "error"
        and "another call is using session" in second["error"]["message"]
        and second["error"]["hint"],
        "a second call at once is refused",
        second,
    )
    code, told, err = verb(s, "end", one.name)
    check(
        code == 125 and f"a call is using session {one.name}" in err + str(told),
        "and so is the end",
        (code, told, err),
    )
    first.communicate(b"\n", timeout=30 * PATIENCE)
    check(one.out("cat /tmp/a") == "a\n", "the first one's state is kept", "")


def names(s):
    for bad in ("", ".hidden", "a/b", "..", "-x", "--all", "x" * 65, "a b", "a\nb"):
        done = subprocess.run(
            [TOOLCAGE, "exec", "--session", bad, "--", "/bin/true"],
            env=s.environ,
            cwd=s.ws,
            capture_output=True,
            text=True,
            check=False,
        )
        check(done.returncode == 125 and "session" in done.stderr, f"the name {bad!r} is refused", done)
    for args, words in (
        (["end"], "one name, or --all"),
        (["dance"], "list or end"),
        (["end", "no-such-session"], "no session"),
        (["list", "x"], "takes no name"),
        (["end", "../x"], "cannot have this name"),
    ):
        code, answer, err = verb(s, *args)
        check(
            code == 125 and words in err + json.dumps(answer),
            f"session {' '.join(args)}",
            (code, answer, err),
        )


def nowhere_to_look(s):
    """No state directory yet, and no place for one: that is no session, not an error; one that is closed is."""
    if os.geteuid() == 0:
        raise Skip("skipped: only an ordinary user has a store of its own here: root's is the machine's")
    for home in ("/", "/dev/null", s.directory("empty")):
        for words in (["session", "list"], ["session", "end", "--all"], ["changes"]):
            done = subprocess.run(
                [TOOLCAGE, *words],
                env={"PATH": os.environ["PATH"], "HOME": home},
                cwd="/",
                capture_output=True,
                text=True,
                check=False,
            )
            check(
                done.returncode == 0,
                f"{' '.join(words)} with {os.path.basename(home) or home} for a home",
                done,
            )
    check(not os.listdir(s.path("empty")), "and nothing was made there", os.listdir(s.path("empty")))
    closed = s.directory("closed/.local/state/toolcage")
    others = [group for group in os.getgroups() if group != os.getgid()]
    if not others:
        raise Skip(
            "the caller has no group but its first, by which its helper may look into everything of its own"
        )
    os.chown(closed, -1, others[0])
    os.chmod(closed, 0)
    for words in (["session", "list"], ["session", "end", "--all"], ["changes"]):
        done = subprocess.run(
            [TOOLCAGE, *words],
            env={"PATH": os.environ["PATH"], "HOME": s.path("closed")},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        check(
            done.returncode == 125 and "Permission denied" in done.stderr,
            f"{' '.join(words)} may not look",
            done,
        )
    os.chmod(closed, 0o700)


def full(s):
    if os.geteuid() == 0:
        raise Skip("skipped: only an ordinary user has a store of its own here: root's is the machine's")
    for number in range(64):
        os.makedirs(store(s, f"x{number}"), 0o700)
    answer = Session(s).sh("true")
    check(
        answer["status"] == "error"
        and "64 sessions" in answer["error"]["message"]
        and "session end" in answer["error"]["hint"],
        "there is an end to their number",
        answer,
    )


def layers(s):
    need_overlay(s)
    one = Session(s, overlay("never"))
    s.write("ws/a", "a\n")
    s.write("ws/gone", "gone\n")
    s.write("ws/dir/sub/file", "old\n")
    s.write("ws/dir/other", "other\n")
    s.write("ws/deep/er/x", "x\n")
    before = tree(s.ws)
    one.sh(
        f"cd {s.ws}; echo tool > a; rm gone; rm -r dir; mkdir dir; echo n > dir/n; mkdir -p new/er; echo m > new/er/m; ln -s a link; echo y > deep/er/y; rm deep/er/x; chmod 750 new"
    )
    check(tree(s.ws) == before, "nothing reaches the host", tree(s.ws))
    answer = one.sh(
        f"cd {s.ws}; cat a dir/n new/er/m deep/er/y; ls; ls dir deep/er; readlink link; stat -c %a new deep; echo again >> a"
    )
    words = answer["stdout"]["text"].split()
    check(
        words[:4] == ["tool", "n", "m", "y"]
        and "gone" not in words
        and "x" not in words
        and "other" not in words
        and words[-2:] == ["750", "755"],
        "the workspace is as it was left",
        words,
    )
    answer = one.sh(f"cd {s.ws}; cat a; rm -r new; echo back > gone")
    check(answer["stdout"]["text"] == "tool\nagain\n", "also the third time", answer["stdout"])
    rows = {os.path.relpath(each["path"], s.ws): each["kind"] for each in answer["changes"]}
    check(
        rows.get("a") == "modified"
        and rows.get("gone") == "modified"
        and rows.get("dir/other") == "deleted"
        and rows.get("link") == "added"
        and "new" not in rows,
        "all of it is told",
        rows,
    )
    check(tree(s.ws) == before, "and the host has none of it", tree(s.ws))


def commits(s):
    """A call that fails carries its work to one that succeeds."""
    need_overlay(s)
    one = Session(s, overlay("on_success"))
    s.write("ws/a", "a\n")
    s.write("ws/gone", "gone\n")
    answer = one.sh(f"cd {s.ws}; echo tool > a; rm gone; echo new > new; exit 3")
    check(answer["status"] == "failed" and s.read("ws/a") == b"a\n", "a failing call commits nothing", answer)
    answer = one.sh(f"cd {s.ws}; cat a new; test -e gone || echo away")
    check(
        answer["stdout"]["text"] == "tool\nnew\naway\n"
        and s.read("ws/a") == b"tool\n"
        and s.read("ws/new") == b"new\n"
        and not os.path.exists(s.path("ws/gone")),
        "the next that succeeds brings all of it",
        (answer, tree(s.ws)),
    )
    s.write("ws/a", "host\n")
    answer = one.sh(f"cd {s.ws}; cat a; echo fine > new")
    check(
        answer["stdout"]["text"] == "host\n"
        and s.read("ws/new") == b"fine\n"
        and not any(each.get("held") for each in answer["changes"]),
        "committed files are the host's again",
        answer,
    )


def newer(s):
    """Whatever the host did between two calls of a session is never overwritten."""
    need_overlay(s)
    one = Session(s, overlay("on_success"))
    for name in ("a", "cut", "gone", "dir/f", "dir/sub/g", "swap/h"):
        s.write(f"ws/{name}", "old\n")
    one.sh(
        f"cd {s.ws}; echo tool > a; echo tool > cut; echo tool > made; rm gone; rm -r dir; rm -r swap; echo file > swap; mkdir -p way/on; echo w > way/on/w; exit 3"
    )
    s.write("ws/a", "host\n")
    os.remove(s.path("ws/cut"))
    s.write("ws/made", "host\n")
    s.write("ws/gone", "host\n")
    s.write("ws/dir/newer", "host\n")
    s.write("ws/dir/sub/newer", "host\n")
    s.write("ws/swap/newer", "host\n")
    s.write("ws/way", "host\n")
    answer = one.sh(f"cd {s.ws}; cat a made; echo x > unrelated")
    check(answer["stdout"]["text"] == "tool\ntool\n", "inside, the session's version stands", answer)
    check(
        [
            s.read(f"ws/{name}")
            for name in ("a", "made", "gone", "dir/newer", "dir/sub/newer", "swap/newer", "way")
        ]
        == [b"host\n"] * 7
        and not os.path.exists(s.path("ws/cut")),
        "newer work of the host stays",
        (tree(s.ws), answer),
    )
    held = {os.path.relpath(each["path"], s.ws): each.get("held") for each in answer["changes"]}
    check(
        [held.get(name) for name in ("a", "cut", "made", "gone")] == ["conflict"] * 4
        and s.read("ws/unrelated") == b"x\n",
        "and is told as a conflict",
        held,
    )
    again = one.sh(f"cd {s.ws}; cat a")
    check(
        again["stdout"]["text"] == "tool\n"
        and s.read("ws/a") == b"host\n"
        and s.read("ws/swap/newer") == b"host\n",
        "also the next time",
        again,
    )
    subprocess.run(
        [TOOLCAGE, "changes", answer["call"], "discard"], env=s.environ, capture_output=True, check=False
    )
    subprocess.run(
        [TOOLCAGE, "changes", again["call"], "discard"], env=s.environ, capture_output=True, check=False
    )


def replaced(s):
    """A file of the session where the host now has a directory, and a directory where it has a file."""
    need_overlay(s)
    one = Session(s, overlay("on_success"))
    s.write("ws/f", "old\n")
    s.write("ws/d/x", "old\n")
    one.sh(f"cd {s.ws}; echo tool > f; echo tool > d/x; exit 3")
    os.remove(s.path("ws/f"))
    s.write("ws/f/precious", "host\n")
    subprocess.run(["/bin/rm", "-r", s.path("ws/d")], check=True)
    s.write("ws/d", "host\n")
    answer = one.sh("true")
    check(
        s.read("ws/f/precious") == b"host\n" and s.read("ws/d") == b"host\n",
        "neither takes the other's place",
        (answer, tree(s.ws)),
    )
    subprocess.run(
        [TOOLCAGE, "changes", answer["call"], "discard"], env=s.environ, capture_output=True, check=False
    )


def too_large(s):
    one = Session(s, 'disk = "4MiB"\n' + overlay())
    one.sh("echo small > /tmp/f")
    answer = one.sh(
        "cd /tmp; echo changed > f; head -c 1M /dev/urandom > big; i=0; while [ $i -lt 20 ]; do ln big l$i; i=$((i+1)); done"
    )
    if (answer.get("error") or {}).get("stage") == "overlay":
        raise Skip("no overlay")
    check(
        answer["status"] == "error" and "disk" in answer["error"]["message"] and answer["session"] is None,
        "a session that is too large is an error",
        answer,
    )
    check(one.out("cat /tmp/f; ls /tmp") == "small\nf\n", "and the earlier state stands", "")
    code = "import os\nos.chdir('/tmp')\nfor i in range(1000):\n os.mkdir('d'*50); os.chdir('d'*50)"
    done = subprocess.run(
        one.argv("/usr/bin/python3", "-I", "-c", code),
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    check(answer["status"] == "error" and one.out("cat /tmp/f") == "small\n", "nor what is too deep", answer)
    check(
        sorted(each[0] for each in os.listdir(store(s, one.name))) == ["g", "r"],
        "nothing of it is left behind",
        os.listdir(store(s, one.name)),
    )


def modes(s):
    copy = Session(s, 'workspace = { mode = "copy" }\n')
    answer = copy.sh("true")
    check(
        answer["status"] == "denied" and "overlay" in answer["error"]["hint"],
        "a copied workspace is refused, with what to do",
        answer,
    )
    bind = Session(s)
    answer = bind.sh(f"echo x > {s.ws}/x; echo y > /tmp/y")
    check(s.read("ws/x") == b"x\n" and bind.out("cat /tmp/y") == "y\n", "with a bind /tmp is kept", answer)


def in_the_way(s):
    """Links that a call leaves where the grant's own mount points belong."""
    target = s.directory("target")
    one = Session(s, writable=[f'{{ path = "/tmp/a/b", from = "{s.data}" }}'])
    one.sh(f"cd /tmp; echo fine > a/b/f; mv a z; ln -s {target} a; ln -s {target} l; echo q > l2")
    answer = one.sh("echo more > /tmp/a/b/g; ls -la /tmp; readlink /tmp/l")
    check(
        answer["status"] == "ok" and os.listdir(target) == [] and sorted(os.listdir(s.data)) == ["f", "g"],
        "no link stands in the way of a mount",
        (answer, os.listdir(target)),
    )


def killed(s):
    """Whoever is killed, and when: the old state or the new."""
    one = Session(s)
    one.sh("mkdir /tmp/n; for i in $(seq 300); do echo 0 > /tmp/n/$i; done")
    whole, seen = True, set()
    for wait in (0.01, 0.03, 0.05, 0.08, 0.12, 0.2):
        process = subprocess.Popen(
            one.argv("/bin/sh", "-c", f"for i in $(seq 300); do echo {wait} > /tmp/n/$i; done"),
            env=s.environ,
            cwd=s.ws,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(wait * 3)
        except subprocess.TimeoutExpired:
            helper = helper_of(process.pid)
            for pid in (helper, process.pid):
                if pid:
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        until(lambda: one.sh("true")["status"] == "ok", 20)
        found = set(one.out("cat /tmp/n/*").split())
        seen |= found
        whole = whole and len(found) == 1
    check(whole, "a state is whole", seen)
    check(
        sorted(each[0] for each in os.listdir(store(s, one.name))) == ["g", "r"],
        "and nothing else is left",
        os.listdir(store(s, one.name)),
    )


def damaged(s):
    one = Session(s)
    one.sh("echo x > /tmp/f")
    where = store(s, one.name)
    with open(os.path.join(where, "record"), "r+b") as file:
        file.seek(40)
        file.write(b"\xff" * 40)
    answer = one.sh("true")
    check(
        answer["status"] == "error" and "session end" in answer["error"]["hint"],
        "a damaged record is said",
        answer,
    )
    check(
        row(s, one.name) is not None
        and verb(s, "end", one.name)[0] == 0
        and one.sh("true")["status"] == "ok",
        "and can be thrown away",
        "",
    )
    os.chmod(where, 0o777)
    answer = one.sh("true")
    check(
        answer["status"] in ("error", "denied") and answer["session"] is None,
        "one that others can write is not used",
        answer,
    )
    os.chmod(where, 0o700)
    tree_name = next(name for name in os.listdir(where) if name != "record")
    os.rename(os.path.join(where, tree_name), os.path.join(where, "aside"))
    os.symlink(s.ws, os.path.join(where, tree_name))
    answer = one.sh("true")
    check(answer["status"] != "ok", "a link in place of the tree is not followed", answer)


def unreachable(s):
    """No grant names the store."""
    one = Session(s)
    one.sh("echo secret > /tmp/f")
    where = store(s, one.name)
    answer = s.call("/bin/ls", where, readable=[os.path.dirname(where)])
    check(answer.status != "ok", "the store cannot be granted", answer)
    answer = s.shell(f"cat {where}/*/tmp/f", readable=[s.path("home")])
    check("secret" not in answer.out, "nor is it seen through a directory above", answer)


run(
    keeps_tmp,
    other_grant,
    two_at_once,
    names,
    nowhere_to_look,
    full,
    layers,
    commits,
    newer,
    replaced,
    too_large,
    modes,
    in_the_way,
    killed,
    damaged,
    unreachable,
)

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Files go into and out of a live session whole or not at all, through no link on either side. Commands of the session can end
a transfer, but not direct it elsewhere, and the names that they choose cannot write to the terminal."""

import hashlib
import json
import os
import socket
import subprocess
import time

from cli import Place, check, expect, finish, require_user
from live_scene import Session


class Files(Session):
    """A live session with functions for its files."""

    def put(self, local, path, *options, **more):
        return self.place.run("session", "put", *options, "work", local, path, **more)

    def get(self, path, local, *options, **more):
        return self.place.run("session", "get", *options, "work", path, local, **more)

    def file(self, name, content):
        return self.place.write(f"home/local/{name}", content)

    def local(self, name):
        return os.path.join(self.place.root, "home/local", name)

    def inside(self, name):
        return os.path.join(self.place.project, name)

    def content(self, path):
        return self.get(path, "-", "-t", "1m").bytes


def leftovers(*directories):
    return [name for d in directories for name in os.listdir(d) if name.startswith(".toolcage-")]


def settles(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def files_arrive_as_they_were_sent():
    with Files() as s:
        content = os.urandom(3 << 20)
        local = s.file("big", content)
        os.chmod(local, 0o750)
        r = json.loads(s.put(local, "/tmp/big", "--json").out)
        report = json.loads(r["stdout"]["text"])
        digest = hashlib.sha256(content).hexdigest()
        check(
            (r["status"], report["bytes"], report["sha256"]) == ("ok", len(content), digest),
            "put reports size and SHA-256",
            r["stdout"],
        )
        check(
            digest in s.sh("sha256sum /tmp/big; stat -c %a /tmp/big").out
            and "750" in s.sh("stat -c %a /tmp/big").out,
            "a command finds the file with its mode",
        )
        answer = s.get("/tmp/big", s.local("back"))
        check(answer.code == 0 and answer.err == "", "get is silent on success", answer)
        with open(s.local("back"), "rb") as file:
            check(file.read() == content, "get returns the bytes")
        check(os.stat(s.local("back")).st_mode & 0o777 == 0o750, "get keeps the mode")
        check(s.put("-", "/tmp/empty").code == 0 and s.content("/tmp/empty") == b"", "an empty file arrives")
        s.put("-", "relative", "--mode", "0600", stdin=b"typed")
        check(
            s.sh("cat relative; stat -c %a relative").out == "typed600\n",
            "standard input is written, below the working directory",
        )
        os.chmod(s.place.write("home/project/set", "x"), 0o4777)
        s.get(s.inside("set"), s.local("set"))
        check(
            os.stat(s.local("set")).st_mode & 0o7777 == 0o755,
            "get drops special bits and foreign write rights",
        )
        large = os.urandom(1 << 20) * 20
        check(
            s.put("-", s.inside("large"), "-t", "2m", stdin=large, timeout=150).code == 0
            and s.get(s.inside("large"), "-", "-t", "2m", timeout=150).bytes == large,
            "a file may be larger than any output limit",
        )
        check(leftovers(s.place.project) == [], "nothing temporary is left")


def put_replaces_files_only():
    with Files() as s:
        local = s.file("new", "new")
        s.sh("cd /tmp; mkdir dir; mkfifo fifo; ln -s /tmp/file link; echo old > file; ln -s /tmp/dir links")
        for path, fault in (
            ("/tmp/dir", "/tmp/dir: is a directory, not a file"),
            ("/tmp/fifo", "/tmp/fifo: is a fifo, not a file"),
            ("/tmp/link", "/tmp/link: is a symbolic link, not a file"),
            ("/tmp/links/x", "/tmp/links: is a symbolic link"),
            ("/tmp/no/x", "/tmp/no: cannot be entered: No such file"),
            ("/tmp/file/x", "/tmp/file: cannot be entered: Not a directory"),
            ("/tmp/dir/../x", 'contains ".."'),
            ("..", 'contains ".."'),
            ("/", "is a directory, not a file"),
            ("/tmp/" + "x" * 256, "a name that is too long"),
            ("/" + "x/" * 3000, "is too long"),
            ("/dev/null", "is a device"),
            ("/usr/x", "cannot be written: Read-only file system"),
            ("/proc/self/mem", "/proc/self: is a symbolic link"),
            ("/proc/1/mem", "cannot be written"),
        ):
            expect(
                s.place, f"put to {path[:20]} is refused", ["session", "put", "work", local, path], 1, fault
            )
        check(s.put(local, "/tmp/file").code == 0 and s.content("/tmp/file") == b"new", "put replaces a file")
        left = s.sh("ls -A /tmp/dir; ls -A /tmp | grep '^[.]'").out
        check(left == "", "refused puts leave nothing", left)


def get_reads_files_only():
    with Files() as s:
        s.sh("cd /tmp; mkdir dir; mkfifo fifo; ln -s /etc/passwd link; echo x > file; chmod 0 file")
        s.exec("python3", "-c", "import socket; socket.socket(socket.AF_UNIX).bind('/tmp/socket')")
        for path, fault in (
            ("/tmp/dir", "is a directory, not a file"),
            ("/tmp/fifo", "is a fifo, not a file"),
            ("/tmp/link", "is a symbolic link, not a file"),
            ("/tmp/file", "cannot be read: Permission denied"),
            ("/tmp/none", "No such file"),
            ("/dev/zero", "is a device, not a file"),
            ("/dev/stdin", "is a symbolic link, not a file"),
            ("/proc/self/mem", "/proc/self: is a symbolic link"),
            ("/proc/1/mem", "cannot be read"),
            ("/proc/1/environ", "cannot be read"),
            ("/proc/meminfo", "changed while it was read"),
            (f"/proc/self/root{s.place.home}/x", "/proc/self: is a symbolic link"),
            (s.place.home + "/local/secret", "cannot be"),
        ):
            s.file("secret", "secret")
            expect(
                s.place,
                f"get of {path[-20:]} is refused",
                ["session", "get", "work", path, s.local("out")],
                1,
                fault,
            )
        check(os.listdir(s.local("")) == ["secret"], "refused gets leave nothing", os.listdir(s.local("")))


def local_files_are_safe():
    with Files() as s:
        s.put("-", "/tmp/x", stdin=b"content")
        kept = s.file("kept", "kept")
        get = ["session", "get"]
        expect(s.place, "an existing file is kept", [*get, "work", "/tmp/x", kept], 125, "exists", "--force")
        check(
            s.get("/tmp/x", kept, "--force").code == 0 and open(kept).read() == "content",
            "--force replaces it",
        )
        # what a tool could make in the project
        s.sh("ln -s ../local/kept link; ln -s ../local links; mkdir dir; ln -s ../local/secret source")
        secret = s.file("secret", "secret")
        for name, path in (("a link", "link"), ("a file below a link", "links/new")):
            expect(s.place, f"{name} is not written", [*get, "work", "/tmp/x", path], 125)
            expect(
                s.place,
                f"{name} with its whole path is not written",
                [*get, "work", "/tmp/x", s.inside(path)],
                125,
            )
        expect(
            s.place, "a directory is not replaced", [*get, "--force", "work", "/tmp/x", "dir"], 125, "exists"
        )
        for path in ("source", "links/secret", s.inside("links/secret")):
            expect(
                s.place,
                f"a link ({path[-12:]}) is not read",
                ["session", "put", "work", path, "/tmp/y"],
                125,
                "link",
            )
        s.sh("mkfifo fifo")
        expect(
            s.place,
            "a FIFO is not read",
            ["session", "put", "work", "fifo", "/tmp/y"],
            125,
            "not a regular file",
        )
        check(
            s.get("/tmp/x", "link", "--force").code == 0 and not os.path.islink(s.inside("link")),
            "--force replaces a link",
        )
        check(
            open(kept).read() == "content" and open(secret).read() == "secret", "no target of a link changed"
        )
        check(sorted(os.listdir(s.local(""))) == ["kept", "secret"], "no file was made through a link")
        shown = s.place.shown("session", "get", "work", "/tmp/x", "-")
        check(b"content" not in shown and b"terminal" in shown, "a terminal gets no raw content", shown)


def interrupted_put_publishes_nothing():
    with Files() as s:
        where = s.inside("half")
        for how in ("kill", "terminate"):
            p = s.place.popen("session", "put", "-t", "1m", "work", "-", where, stdin=subprocess.PIPE)
            p.stdin.write(b"x" * 200000)
            p.stdin.flush()
            check(settles(lambda: leftovers(s.place.project)), f"a file is written before the {how}")
            getattr(p, how)()
            p.wait(timeout=20)
            check(
                settles(lambda: not leftovers(s.place.project)),
                f"the temporary file is removed after the {how}",
            )
            check(not os.path.exists(where), f"half a file is not published after the {how}")
            p.stdin.close()
        p = s.place.popen(
            "session",
            "put",
            "--timeout",
            "700ms",
            "work",
            "-",
            where,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        p.stdin.write(b"x" * 1000)
        p.stdin.flush()
        check(p.wait(timeout=20) == 124, "a put ends at its timeout", p.returncode)
        check(
            settles(lambda: not leftovers(s.place.project)) and not os.path.exists(where),
            "nothing is left after the timeout",
        )
        p.stdin.close()
        # any command may kill the process that writes
        p = s.place.popen(
            "session", "put", "-t", "1m", "work", "-", where, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        p.stdin.write(b"x" * 1000)
        p.stdin.flush()
        settles(lambda: leftovers(s.place.project))
        s.sh("kill -9 -1")
        check(p.wait(timeout=20) != 0, "a killed put fails, although its input is silent", p.returncode)
        check(not os.path.exists(where), "a killed put publishes nothing")
        check(s.sh("echo on").out == "on\n", "the session goes on")
        p.stdin.close()


def transfers_do_not_hold_commands():
    with Files() as s:
        command = s.place.popen("session", "exec", "work", "sleep", "1")
        time.sleep(0.3)
        p = s.place.popen("session", "put", "-t", "1m", "work", "-", s.inside("x"), stdin=subprocess.PIPE)
        settles(lambda: leftovers(s.place.project))
        check(
            command.wait(timeout=20) == 0 and p.poll() is None, "a command ends while a put waits for input"
        )
        check(s.sh("echo on").out == "on\n", "a command runs while a put waits for input")
        p.communicate(b"late", timeout=20)
        check(p.returncode == 0 and s.content(s.inside("x")) == b"late", "the put then completes")


def interrupted_get_publishes_nothing():
    with Files() as s:
        s.sh("head -c 30000000 /dev/zero > big")
        for line, word in (("kill -9 -1", "kill"), ("kill -STOP -1; sleep 0.5; kill -9 -1", "stop")):
            p = s.place.popen(
                "session",
                "get",
                "-t",
                "1m",
                "work",
                s.inside("big"),
                "-",
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            p.stdout.read(100000)
            s.sh(line)
            got = len(p.stdout.read()) + 100000
            check(
                p.wait(timeout=30) != 0 and got < 30000000,
                f"a get fails after a {word} in the session",
                p.returncode,
            )
        p = s.place.popen(
            "session", "get", "work", s.inside("big"), s.local("none"), "-t", "1m", stderr=subprocess.PIPE
        )
        expect(
            s.place,
            "the limit of a size is kept",
            ["session", "get", "--max-size", "1MiB", "work", s.inside("big"), "x"],
            1,
            "limit",
        )
        p.wait(timeout=60)
        check(leftovers(s.place.project) == [] and not os.path.exists(s.inside("x")), "nothing is left")


KILLER = """
import os, random, time
if os.fork(): os._exit(0)
os.setsid()
for fd in range(3): os.dup2(os.open('/dev/null', os.O_RDWR), fd)
until = time.monotonic() + 60
while time.monotonic() < until:
    for pid in filter(str.isdigit, os.listdir('/proc')):
        if int(pid) not in (1, os.getpid()):
            time.sleep(random.random() / 50)
            try: os.kill(int(pid), 9)
            except OSError: pass
"""


def directory_of_a_killed_get_is_removed():
    with Files() as s:
        s.file("x", "")
        s.sh("mkdir d; echo content > d/x")
        s.exec("python3", "-c", KILLER)
        failed, until = 0, time.monotonic() + 50
        while failed < 3 and time.monotonic() < until:
            failed += s.get(s.inside("d"), s.local("d"), "-r").code != 0
            if os.path.exists(s.local("d")):
                os.rename(s.local("d"), s.local(f"d{len(os.listdir(s.local('')))}"))
        check(failed > 0, "a command kills the process of a get")
        left = leftovers(s.local(""))
        check(left == [], "a directory whose get was killed after its content is removed", left)


def changing_files_are_an_error():
    with Files() as s:
        s.file("x", "")
        s.sh("head -c 8000000 /dev/zero > grows; (while :; do echo more >> grows; done) >/dev/null 2>&1 &")
        expect(
            s.place,
            "a growing file is an error",
            ["session", "get", "work", s.inside("grows"), s.local("grown")],
            1,
            "changed while it was read",
        )
        s.sh("(while :; do head -c 8000000 /dev/zero > shrinks; : > shrinks; done) >/dev/null 2>&1 &")
        time.sleep(0.3)
        answers = [s.get(s.inside("shrinks"), s.local("shrunk"), "--force") for _ in range(6)]
        check(
            all(a.code == 0 or "changed while it was read" in a.err for a in answers)
            and (
                not os.path.exists(s.local("shrunk")) or os.path.getsize(s.local("shrunk")) in range(8000001)
            ),
            "a shrinking file is an error",
            [str(a) for a in answers],
        )
        check(leftovers(s.local("")) == [], "nothing is left of files that changed")


def sparse_files_stay_sparse():
    with Files() as s:
        s.file("x", "")
        s.sh("truncate -s 64M hole; echo end >> hole; truncate -s 8T endless")
        check(s.get(s.inside("hole"), s.local("hole"), "-t", "1m").code == 0, "a sparse file is read")
        st = os.stat(s.local("hole"))
        check(st.st_size == (64 << 20) + 4 and st.st_blocks * 512 < 1 << 20, "its holes stay holes", st)
        expect(
            s.place,
            "a sparse file is bounded by its size",
            ["session", "get", "work", s.inside("endless"), s.local("endless")],
            1,
            "limit",
        )
        s.sh("mkdir holed; truncate -s 8T holed/endless")
        expect(
            s.place,
            "a sparse file in a directory is bounded by its size",
            ["session", "get", "-r", "work", s.inside("holed"), s.local("holed")],
            1,
            "limit",
        )
        os.truncate(s.file("vast", ""), 8 << 40)
        answer = s.put(s.local("vast"), s.inside("vast"), "--timeout", "1s")
        check(
            answer.code == 124 and settles(lambda: not leftovers(s.place.project)),
            "a vast hole does not outlast the timeout, and leaves nothing",
            answer,
        )
        check(s.put(s.local("hole"), "/tmp/hole", "-t", "1m").code == 0, "a sparse file is written")
        check(
            s.sh("du -k /tmp/hole | cut -f1").out.strip() in ("4", "8"),
            "it is sparse in the session",
            s.sh("du -k /tmp/hole"),
        )


def races_of_links_lead_nowhere():
    with Files() as s:
        s.file("bait", "bait")
        s.sh("mkdir a other; echo inside > a/x; echo elsewhere > other/x; chmod 700 other")
        s.exec(
            "sh",
            "-c",
            "cat > /tmp/race.py <<'X'\n"
            "import os\n"
            "while True:\n"
            "    try:\n"
            "        os.rename('a', 'b'); os.symlink('other', 'a'); os.unlink('a'); os.rename('b', 'a')\n"
            "        os.rename('a/x', 'a/y'); os.symlink('../other/x', 'a/x'); os.unlink('a/x'); os.rename('a/y', 'a/x')\n"
            "    except OSError: pass\n"
            "X\n"
            "python3 /tmp/race.py >/dev/null 2>&1 &",
        )
        got = {s.get(s.inside("a/x"), "-").out for _ in range(40)}
        check(got <= {"", "inside\n", "new"}, "a get through a changing link reads no target", got)
        for _ in range(40):
            s.put(s.local("bait"), s.inside("a/z"))
        check(
            sorted(os.listdir(s.inside("other"))) == ["x"],
            "a put through a changing link writes to no target",
        )
        check(open(s.inside("other/x")).read() == "elsewhere\n", "the target is unchanged")


def directories_arrive_whole():
    with Files() as s:
        for name in ("tree/a/b/file", "tree/z"):
            s.file(name, name)
        os.symlink("a/b", s.local("tree/in"))
        os.symlink("/etc", s.local("tree/out"))
        os.chmod(s.local("tree/z"), 0o4775)
        check(s.put(s.local("tree"), "/tmp/tree", "-r").code == 0, "a directory is written")
        check(
            s.sh("cd /tmp/tree; cat a/b/file z in/file").out == "tree/a/b/filetree/ztree/a/b/file",
            "its files are there",
        )
        check(
            "is not set" not in s.sh("test -u /tmp/tree/z || echo is not set >&2").out,
            "set-user-id bits are dropped",
        )
        put = ["session", "put", "-r", "work", s.local("tree")]
        expect(s.place, "an existing path is kept", [*put, "/tmp/tree"], 1, "exists")
        expect(
            s.place,
            "a directory without -r is refused",
            ["session", "put", "work", s.local("tree"), "/tmp/t"],
            125,
            "recursive",
        )
        s.sh(
            "cd /tmp/tree; ln -s ../../../etc/passwd a/up; ln -s a/../../x a/named; ln -s ../z a/fine; chmod 777 a"
        )
        answer = s.get("/tmp/tree", s.local("back"), "-r")
        check(
            answer.code == 0 and "3 links that lead out" in answer.err,
            "links that lead out are left out, and counted",
            answer,
        )
        check(
            sorted(os.listdir(s.local("back"))) == ["a", "in", "z"]
            and sorted(os.listdir(s.local("back/a"))) == ["b", "fine"]
            and os.readlink(s.local("back/in")) == "a/b",
            "a directory is read with the links that stay in it",
        )
        check(
            os.stat(s.local("back/a")).st_mode & 0o7777 == 0o755,
            "other users may not write to a received directory",
        )
        get = ["session", "get", "-r", "work", "/tmp/tree"]
        expect(s.place, "an existing LOCAL is kept", [*get, s.local("back")], 125, "exists")
        expect(s.place, "a directory has no standard output", [*get, "-"], 125, "standard output")
        for line, fault in (
            ("mkfifo p", "(p): is not a file"),
            ("rm p; echo > n; chmod 0 n", "(n): cannot be read"),
        ):
            s.sh(f"cd /tmp/tree; {line}")
            expect(s.place, f"{fault} is an error", [*get, s.local("new")], 1, fault)
        check(leftovers(s.local("")) == [] and not os.path.exists(s.local("new")), "nothing is left of them")
        check(
            s.place.run("session", "rm", "work", "/tmp/tree").code == 1,
            "a directory is not removed without -r",
        )
        answer, left = (
            s.place.run("session", "rm", "-r", "work", "/tmp/tree"),
            s.sh("ls -A /tmp | grep -v toolcage-cli").out,
        )
        check((answer.code, left) == (0, ""), "a directory is removed with -r", (str(answer), left))
        check(s.sh("test -d /etc/ssl || test -f /etc/passwd").code == 0, "no target of its links is removed")


HOSTILE = "\x1b]0;title\x07\x1b[31mred\nsecond\u202eline"


def names_are_hostile():
    with Files() as s:
        s.sh("cd /tmp; mkdir d; : > 'd/a\"b'; : > \"d/$(printf '\\377')\"")
        s.exec(
            "python3",
            "-c",
            f"import os; open('/tmp/d/' + {HOSTILE!r}, 'w'); os.symlink({HOSTILE!r}, '/tmp/d/link')",
        )
        ls = ["session", "ls", "work", "/tmp/d"]
        answer = s.place.run(*ls)
        check(
            answer.code == 0
            and "\x1b" not in answer.out
            and "\u202e" not in answer.out
            and answer.out.count("\n") == 4,
            "names are one escaped line each",
            answer,
        )
        rows = [json.loads(line) for line in s.place.run(*ls, "--json").out.splitlines()]
        names = [row.get("name") for row in rows]
        check(HOSTILE in names and 'a"b' in names, "--json has the names as they are", names)
        check(
            [r["name_base64"] for r in rows if "name" not in r] == ["/w=="],
            "a name that is not UTF-8 is base64",
            rows,
        )
        shown = s.place.shown(*ls, "--json")
        check(b"\x1b" not in shown and b"\xe2\x80\xae" not in shown, "a terminal gets escaped JSON", shown)
        answer = s.get(f"/tmp/d/{HOSTILE}/x", s.local("x")) if s.file("y", "") else None
        check(answer.code == 1 and "\x1b" not in answer.err, "an error escapes the path", answer)
        answer = s.place.run("session", "stat", "--json", "work", "/tmp/d/link")
        row = json.loads(answer.out)
        check(
            (row["type"], row["target"]) == ("link", HOSTILE),
            "stat shows a link, and does not follow it",
            row,
        )
        expect(
            s.place,
            "stat of nothing is an error",
            ["session", "stat", "work", "/tmp/none"],
            1,
            "No such file",
        )
        expect(
            s.place,
            "ls of a file is an error",
            ["session", "ls", "work", "/etc/passwd"],
            1,
            "not a directory",
        )


def many_names_are_bounded():
    with Files() as s:
        s.exec(
            "python3", "-c", "import os\nos.mkdir('d')\nfor i in range(10300): open(f'd/{i:05}', 'w').close()"
        )
        answer = s.place.run("session", "ls", "--json", "work", s.inside("d"))
        check(
            answer.out.count("\n") == 10000 and "more names" in answer.err,
            "ls prints at most 10,000 names",
            answer.err,
        )
        s.file("x", "")
        check(
            s.get(s.inside("d"), s.local("d"), "-r", "-t", "1m", timeout=90).code == 0
            and len(os.listdir(s.local("d"))) == 10300,
            "a directory of many names is read",
        )


def long_targets_do_not_hide_a_list():
    with Files() as s:
        s.exec(
            "python3",
            "-c",
            "import os\nos.mkdir('d')\nfor i in range(10000): os.symlink('\\1' * 4000, f'd/{i:05}')",
        )
        answer = s.place.run("session", "ls", "work", s.inside("d"))
        check(
            (answer.code, answer.out.count("\n")) == (0, 10000), "long targets do not hide a list", answer.err
        )
        answer = s.place.run("session", "stat", "--json", "work", s.inside("d/00000"))
        check(len(json.loads(answer.out)["target"]) == 4000, "stat shows a long target", answer.err)


def steering_names_are_held():
    with Place() as place:
        hooks = os.path.join(place.project, ".git/hooks")
        place.write("home/project/.git/config", "[core]\n")
        place.write("home/project/.git/hooks/sample", "")
        place.write("home/hook", "#!/bin/sh\n")
        place.run("session", "start", "work", "--write", ".")
        answer = place.run(
            "session", "put", "work", os.path.join(place.home, "hook"), os.path.join(hooks, "pre-commit")
        )
        place.run("session", "end", "work")
        check(
            not os.path.exists(os.path.join(hooks, "pre-commit")),
            "a put does not reach a name that steers the host",
            answer,
        )


def rights_are_those_of_a_command():
    with Files(grant=("--read", ".")) as s:
        local = s.file("x", "x")
        expect(
            s.place,
            "a read-only grant is not written",
            ["session", "put", "work", local, s.inside("x")],
            1,
            "cannot be written",
        )
        s.place.write("home/project/y", "y")
        check(s.content(s.inside("y")) == b"y", "a read-only grant is read")
        expect(
            s.place,
            "nor is its file removed",
            ["session", "rm", "work", s.inside("y")],
            1,
            "cannot be removed",
        )
        expect(
            s.place,
            "an unknown session is an error",
            ["session", "get", "other", "/tmp/x", "z"],
            125,
            "no live session",
        )
    with Files("--disk", "2MiB", grant=()) as s:
        local = s.file("large", bytes(3 << 20))
        with open(local, "r+b") as file:
            file.write(os.urandom(3 << 20))
        answer = s.put(local, "/tmp/large")
        check(answer.code != 0 and "No space left" in answer.err, "the disk limit holds", answer)
        left = s.sh("ls -A /tmp | grep -v toolcage-cli").out
        check(left == "", "nothing is left of a file that had no room", left)


def raw_client_gains_nothing():
    with Files() as s:
        s.put("-", "/tmp/x", stdin=b"x")
        if os.geteuid() != os.stat(s.place.home).st_uid:
            return  # the owner speaks only with its user
        for words in (
            [b"f"],
            [b"aget", b"a/tmp/x", b"f"],
            [b"aget", b"a/tmp/x", b"a-1", b"a", b"f"],
            [b"aget", b"a/tmp/x", b"a0", b"a", b"f"],
            [b"aput", b"a/tmp/x", b"a7777", b"a", b"f"],
            [b"aexec", b"a/tmp/x", b"a", b"a", b"f"],
            [b"aget", b"a", b"a5", b"a", b"f"],
        ):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            sock.connect(
                f"/proc/self/fd/{os.open(os.path.join(s.place.home, '.local/state/toolcage/live'), os.O_PATH)}/work"
            )
            sock.settimeout(10)
            for word in words:
                sock.send(word)
            kinds = b""
            while packet := sock.recv(65536):
                kinds += packet[:1]
            check(kinds[-1:] == b"x", f"a request of {len(words)} packets is answered", kinds)
        check(s.content("/tmp/x") == b"x", "the session goes on after invalid requests")


POLICY = """
[tool.shell]
filesystem.writable = ["/workspace"]
session_lifetime = "1h"
[audit]
"""


def actions_are_recorded():
    with Place() as place:
        policy = place.write("home/policy.toml", POLICY)
        place.run("session", "start", "--policy", policy, "--tool", "shell", "work")
        place.run("session", "put", "work", "-", "/tmp/x", stdin=b"x")
        place.run("session", "end", "work")
        records = [json.loads(line) for line in place.run("audit", "list", "--json").out.splitlines()]
        check('"file_action": true' in json.dumps(records), "the audit log has the file action", records)
        check(place.run("audit", "verify").code == 0, "the audit log verifies")


require_user()
for part in (
    files_arrive_as_they_were_sent,
    put_replaces_files_only,
    get_reads_files_only,
    local_files_are_safe,
    interrupted_put_publishes_nothing,
    transfers_do_not_hold_commands,
    interrupted_get_publishes_nothing,
    directory_of_a_killed_get_is_removed,
    changing_files_are_an_error,
    sparse_files_stay_sparse,
    races_of_links_lead_nowhere,
    directories_arrive_whole,
    names_are_hostile,
    many_names_are_bounded,
    long_targets_do_not_hide_a_list,
    steering_names_are_held,
    rights_are_those_of_a_command,
    raw_client_gains_nothing,
    actions_are_recorded,
):
    part()
finish()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Files that are granted writable by themselves: they can be replaced, and nothing beside them is shown or changed."""

import contextlib
import json
import os
import sqlite3
import stat
import subprocess

from scene import ANY, PATIENCE, PAUSE, PYTHON, TOOLCAGE, Answer, check, finish, is_root, run

COPY = 'workspace = { mode = "copy" }\n'
SAVES = [
    ("written in place", "echo new > notes"),
    ("replaced by a rename", "echo new > notes.tmp && mv notes.tmp notes"),
    ("edited by sed -i", "sed -i s/old/new/ notes"),
    ("copied over", "echo new > /tmp/n && cp /tmp/n notes"),
    ("removed and made again", "rm notes && echo new > notes"),
]


def fill(s):
    s.write("ws/notes", "old\n", 0o640)
    s.write("ws/secret", "secret\n")
    s.write("ws/sub/secret", "secret\n")


def state(s):
    """Names, bytes and inodes of everything but the file itself."""
    found = {}
    for directory, names, files in os.walk(s.ws):
        for name in names + files:
            full = os.path.join(directory, name)
            if full != s.path("ws/notes"):
                st = os.lstat(full)
                found[os.path.relpath(full, s.ws)] = (st.st_ino, st.st_size, st.st_mode, st.st_mtime_ns)
    return found


def saves(s):
    for more in ("", COPY):
        for name, script in SAVES:
            fill(s)
            before, was = state(s), os.lstat(s.path("ws/notes"))
            answer = s.shell(f"cd {s.ws} && {script}", writable=[s.path("ws/notes")], more=more)
            st = os.lstat(s.path("ws/notes"))
            check(
                answer.status == "ok" and s.read("ws/notes") == b"new\n",
                f"a file is {name}{' in a copy' if more else ''}",
                answer,
            )
            check(answer.kinds == {s.path("ws/notes"): "modified"}, f"{name}: and listed", answer.changes)
            check(st.st_uid == was.st_uid and st.st_gid == was.st_gid, f"{name}: owner kept", (was, st))
            check(state(s) == before, f"{name}: nothing else changes", (before, state(s)))
    fill(s)
    s.shell(f"cd {s.ws} && sed -i s/old/new/ notes", writable=[s.path("ws/notes")])
    check(
        stat.S_IMODE(os.lstat(s.path("ws/notes")).st_mode) == 0o640,
        "the mode is kept",
        oct(os.lstat(s.path("ws/notes")).st_mode),
    )


def siblings_are_not_shown(s):
    fill(s)
    notes = s.path("ws/notes")
    answer = s.shell(
        f"cd {s.ws}; ls -A; cat secret sub/secret; echo mine > secret; echo mine > temporary; cat secret",
        writable=[notes],
    )
    check(
        answer.out == "notes\nmine\n" and s.read("ws/secret") == b"secret\n",
        "a neighbour of the granted file is not there",
        answer,
    )
    check(
        sorted(os.listdir(s.ws)) == ["notes", "secret", "sub"] and not answer.changes,
        "files written beside the granted file are gone",
        os.listdir(s.ws),
    )
    answer = s.shell(
        f"cd {s.ws}; ls -A; cat secret sub/secret; echo new > n && mv n notes; echo mine > secret; echo mine > temporary; rm sub/secret",
        writable=[notes],
        readable=[s.ws],
    )
    check(
        answer.out == "notes\nsecret\nsub\nsecret\nsecret\n" and s.read("ws/notes") == b"new\n",
        "a readable directory stays readable",
        answer,
    )
    check(
        s.read("ws/secret") == b"secret\n"
        and sorted(os.listdir(s.ws)) == ["notes", "secret", "sub"]
        and os.listdir(s.path("ws/sub")) == ["secret"],
        "and only that",
        os.listdir(s.ws),
    )
    check(
        answer.kinds
        == {
            notes: "modified",
            s.path("ws/secret"): "not committed",
            s.path("ws/sub/secret"): "not committed",
        },
        "changes beside the granted file are listed as not committed",
        answer.kinds,
    )
    answer = s.shell(
        f"cat {s.path('ws/sub/secret')}; ls -A {s.ws}; echo newer > {notes}",
        writable=[notes],
        readable=[s.path("ws/sub")],
    )
    check(
        answer.out == "secret\nnotes\nsub\n" and s.read("ws/notes") == b"newer\n",
        "a readable directory beside it is shown",
        answer,
    )
    s.write("ws/.env", "KEY\n")
    for readable in ([], [s.ws]):
        answer = s.shell(
            f"cd {s.ws}; cat .env; echo x > .env; rm -f .env; mv .env other; cat .env; echo fine > notes",
            writable=[notes],
            readable=readable,
            denied=[s.path("ws/.env")],
        )
        check(
            "KEY" not in answer.out and s.read("ws/.env") == b"KEY\n" and s.read("ws/notes") == b"fine\n",
            "a denied name beside it stays denied",
            answer,
        )
    s.write("ws/more", "old\n")
    answer = s.shell(
        f"cd {s.ws}; ls -A; mv notes n; mv more notes; mv n more", writable=[notes, s.path("ws/more")]
    )
    check(
        answer.out == "more\nnotes\n" and (s.read("ws/notes"), s.read("ws/more")) == (b"old\n", b"fine\n"),
        "two files share their directory",
        answer,
    )


def ends(s):
    notes = s.path("ws/notes")
    for name, script, more in (
        ("fails", "exit 3", ""),
        ("is ended at its deadline", "sleep 60", 'timeout = "700ms"\ngrace = "100ms"\n'),
        ("dies", "kill -9 $$", ""),
    ):
        fill(s)
        answer = s.shell(f"echo new > {notes}; {script}", writable=[notes], more=more)
        check(
            answer.status in ("failed", "timeout") and s.read("ws/notes") == b"new\n",
            f"a tool that {name} has written what it wrote",
            answer,
        )
        fill(s)
        answer = s.shell(f"echo new > {notes}; {script}", writable=[notes], more=more + COPY)
        check(
            s.read("ws/notes") == b"old\n" and answer.kinds == {notes: "not committed"},
            f"in a copy nothing comes back when it {name}",
            answer,
        )
    for readable in ([], [s.ws]):
        fill(s)
        answer = s.shell(f"rm {notes}", writable=[notes], readable=readable)
        check(
            answer.kinds == {notes: "deleted"} and not os.path.exists(notes), "a removal comes back", answer
        )
        fill(s)
        answer = s.shell(f"cd {s.ws}; rm notes; ln -s secret notes", writable=[notes], readable=readable)
        check(
            answer.kinds == {notes: "not committed"}
            and s.read("ws/notes") == b"old\n"
            and not os.path.islink(notes),
            "a link in its place does not",
            answer,
        )
        answer = s.shell(f"cd {s.ws}; rm notes; mkdir notes", writable=[notes], readable=readable)
        if (
            "Input/output error" in answer.stderr["text"]
        ):  # an overlay on a tmpfs without user attributes makes none over a removed name
            check(answer.kinds == {notes: "deleted"}, "nor a directory", answer)
            continue
        check(
            answer.kinds == {notes: "not committed"} and s.read("ws/notes") == b"old\n",
            "nor a directory",
            answer,
        )
    fill(s)
    answer = s.python("import os,sys; os.chmod(sys.argv[1], 0o6755)", notes, writable=[notes])
    check(not os.lstat(notes).st_mode & 0o7000, "no set-id bit comes back", answer)


def conflicts(s):
    notes = s.path("ws/notes")
    for script, want in ((f"echo tool > {notes}", b"host\n"), (f"rm {notes}", b"host\n")):
        fill(s)
        process = s.begin(f"{script}; {PAUSE}", writable=[notes])
        s.write("ws/next", "host\n")
        os.rename(s.path("ws/next"), notes)
        answer = finish(process)
        check(
            s.read("ws/notes") == want and answer.kinds == {notes: "conflict"},
            "newer work of the host is not overwritten",
            answer,
        )


def call(s, policy, **arguments):
    done = subprocess.run(
        [TOOLCAGE, "call", "--policy", policy, "--json", "t", json.dumps(arguments)],
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def arguments(s):
    fill(s)
    s.write("ws/.git/HEAD", "ref: refs/heads/main\n")
    s.write("ws/.git/config", "[core]\n")
    os.symlink("secret", s.path("ws/link"))
    os.symlink("nowhere", s.path("ws/dangling"))
    for more in ("", COPY):
        policy = s.write(
            "policy.toml",
            f"""
[tool.t]
command = ["/bin/sh", "-c", "echo temporary > $0.tmp; echo new > $0.new && mv $0.new $0; ls -A $(dirname $0)", "{{path}}"]
network = "none"
filesystem = "none"
memory = {ANY}
arguments.path = {{ type = "string", write = [{json.dumps(s.ws)}] }}
{more}
""",
        )
        answer = call(s, policy, path=s.path("ws/new"))
        check(
            answer.status == "ok"
            and s.read("ws/new") == b"new\n"
            and answer.kinds == {s.path("ws/new"): "added"},
            "a path may be new",
            answer,
        )
        check(
            os.lstat(s.path("ws/new")).st_uid == os.getuid() and answer.out == "new\nnew.tmp\n",
            "it belongs to the caller",
            answer,
        )
        check("new.tmp" not in os.listdir(s.ws), "and nothing comes with it", os.listdir(s.ws))
        answer = call(s, policy, path=s.path("ws/new"))
        check(answer.kinds == {s.path("ws/new"): "modified"}, "or be there", answer)
        os.unlink(s.path("ws/new"))
        for name in ("missing/new", "link", "dangling", "link/x", "notes/x"):
            answer = call(s, policy, path=s.path("ws", name))
            check(answer.code == 126 and not answer.changes, f"refused: {name}", answer)
        for name in (".git/config", ".git/hooks", ".envrc", "sub/.bashrc"):
            answer = call(s, policy, path=s.path("ws", name))
            check(
                answer.code == 126
                and ("steers" in answer.error["message"] or "does not exist" in answer.error["message"]),
                f"a model may not choose {name}",
                answer,
            )
    check(
        s.read("ws/secret") == b"secret\n" and s.read("ws/.git/config") == b"[core]\n",
        "nothing else was written",
    )


def named(s):
    """The operator's own word for a file that steers the host."""
    s.write("ws/.envrc", "old\n")
    s.write("ws/other", "x\n")
    rc = s.path("ws/.envrc")
    for grant in ({"writable": [rc]}, {"writable": [s.ws, rc]}, {"writable": [s.ws, rc], "more": COPY}):
        s.write("ws/.envrc", "old\n")
        answer = s.shell(f"cd {s.ws}; echo new > n && mv n .envrc", **grant)
        check(
            answer.status == "ok" and s.read("ws/.envrc") == b"new\n", "a named file may be changed", answer
        )
    for grant in ({"writable": [s.ws]}, {"writable": [s.ws], "more": COPY}):
        answer = s.shell(f"cd {s.ws}; echo newer > n; mv n .envrc; true", **grant)
        check(s.read("ws/.envrc") == b"new\n", "else not", answer)


def places(s):
    fill(s)
    notes = s.path("ws/notes")
    for path in ("/notes", "/etc/notes"):
        answer = s.shell("true", writable=[f'{{ path = "{path}", from = "{notes}" }}'])
        check(
            answer.code == 126 and answer.error["code"] == "path" and "from" in answer.error["hint"],
            f"refused: at {path}",
            answer,
        )
    for path in ("/tmp/notes", "/tmp/a/b/notes", "/data/notes"):
        s.write("ws/notes", "old\n")
        answer = s.shell(
            f"echo new > {path}.n && mv {path}.n {path}",
            writable=[f'{{ path = "{path}", from = "{notes}" }}'],
        )
        check(
            answer.kinds == {path: "modified"} and s.read("ws/notes") == b"new\n", f"a file at {path}", answer
        )
    answer = s.shell("true", writable=[s.ws, f'{{ path = "{s.ws}/secret", from = "{notes}" }}'])
    check(
        answer.code == 126 and "already shows another file" in answer.error["message"],
        "refused: two files at one place",
        answer,
    )
    s.write("ws/large", b"x" * (3 << 20))
    answer = s.shell("true", writable=[s.path("ws/large")], more=COPY + 'disk = "1MiB"')
    check(answer.code == 126 and "disk" in answer.error["hint"], "refused: a file over `disk`", answer)
    with open(s.path("ws/sparse"), "wb") as file:
        file.truncate(1 << 40)
    answer = s.python(
        "open('" + s.path("ws/sparse") + "', 'r+b').write(b'x')", writable=[s.path("ws/sparse")]
    )
    st = os.lstat(s.path("ws/sparse"))
    check(
        answer.status == "ok" and st.st_size == 1 << 40 and st.st_blocks < 1000,
        "holes stay holes",
        (answer, st),
    )
    if not is_root():
        answer = s.shell("true", writable=['{ path = "/data/passwd", from = "/etc/passwd" }'])
        check(
            answer.code == 126 and "cannot be written" in answer.error["message"],
            "refused: a directory that takes no new version",
            answer,
        )


CONNECT = "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
INSERT = "c.execute('insert into t values (7)'); "


def databases(s):
    """An SQLite database, granted without the file that holds its newest changes."""
    base = s.path("ws/a.db")

    def rows():
        with contextlib.closing(sqlite3.connect(base)) as c:
            return [row[0] for row in c.execute("select x from t order by x")]

    for mode in ("wal", "persist", "delete"):
        with contextlib.closing(sqlite3.connect(base, isolation_level=None)) as c:
            c.execute(f"pragma journal_mode={mode}")
            c.execute("drop table if exists t")
            c.execute("create table t (x)")
            c.execute("insert into t values (1)")
        answer = s.python(CONNECT + INSERT + "c.close()", base, writable=[base])
        check(
            answer.status == "ok" and rows() == [1, 7],
            f"a database in mode {mode} that the tool closes is written back",
            (answer, rows()),
        )
    with contextlib.closing(sqlite3.connect(base)) as c:
        c.execute("pragma journal_mode=wal")
    for name, code, suffix in (
        ("of which the log is left", INSERT + "os._exit(0)", "-wal"),
        (
            "in the middle of a change",
            "c.execute('pragma journal_mode=delete'); c.execute('pragma cache_size=1'); c.execute('begin'); "
            "[c.execute('insert into t values (?)', ('x' * 9000,)) for _ in range(99)]; os._exit(0)",
            "-journal",
        ),
    ):
        before = s.read("ws/a.db")
        answer = s.python(CONNECT + code, base, writable=[base])
        check(
            answer.status == "error"
            and f"its last changes are in a.db{suffix}" in answer.error["message"]
            and "grant its directory" in answer.error["hint"]
            and answer.kinds == {base: "not committed"}
            and s.read("ws/a.db") == before,
            f"a database {name} is not written back, and the call says so",
            answer,
        )
        answer = s.python(CONNECT + code, base, writable=[s.ws])
        check(answer.status == "ok" and 7 in rows(), f"{name}: its directory is enough", (answer, rows()))
    with contextlib.closing(sqlite3.connect(base, isolation_level=None)) as c:
        c.execute("pragma journal_mode=wal")
        c.execute("insert into t values (8)")
        for grant, option in (
            ({"writable": [base]}, "--write"),
            ({"readable": [base], "writable": []}, "--read"),
            ({"writable": [s.ws, f'{{ path = "/other/a.db", from = "{base}" }}']}, "--write"),
        ):
            answer = s.shell("true", **grant)
            check(
                answer.code == 126
                and "whose newest changes are in a.db-wal" in answer.error["message"]
                and f"{option} {s.ws}" in answer.error["hint"],
                f"refused: a database without the log that a host program writes ({option}, {len(grant['writable'])} paths)",
                answer,
            )
        answer = s.python(
            CONNECT + "print(list(c.execute('select x from t where x = 8')))", base, readable=[s.ws]
        )
        check(answer.out == "[(8,)]\n", "a reader of its directory sees the newest row", answer)


run(databases, saves, siblings_are_not_shown, ends, conflicts, arguments, named, places)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Overlaid workspaces: what reaches the host, when, and how newer work of the host is told from older."""

import base64
import hashlib
import os
import shutil
import stat
import struct
import subprocess

import scene  # first: it says where the next one is
import mounts
from scene import PATIENCE, PAUSE, TOOLCAGE, Skip, check, finish, in_namespaces, run, until
from tree import tree

BOTH = ("copy", "overlay")


def mode(name, commit=None):
    return f'workspace = {{ mode = "{name}"{f", commit = {chr(34)}{commit}{chr(34)}" if commit else ""} }}\n'


OVERLAY = mode("overlay")


def here(part):
    def wrapped(s):
        answer = s.shell("true", more=OVERLAY)
        if answer.status != "ok" and answer.error["stage"] == "overlay":
            check(
                "copy" in answer.error["hint"],
                "where there are no overlays the refusal says what to do",
                answer,
            )
            raise Skip(answer.error["message"])
        part(s)

    wrapped.__name__ = part.__name__
    return wrapped


def fill(s):
    s.write("ws/a", "a\n")
    s.write("ws/dir/sub/file", "old\n")
    s.write("ws/dir/other", "other\n")


def commit_words(s):
    for name in BOTH:
        for word, script, comes, status in (
            ("always", "exit 3", True, "failed"),
            ("always", "kill -9 $$", True, "failed"),
            ("always", "true", True, "ok"),
            ("on_success", "exit 3", False, "failed"),
            ("never", "true", False, "ok"),
            ("never", "exit 3", False, "failed"),
        ):
            fill(s)
            before = tree(s.ws)
            answer = s.shell(
                f"cd {s.ws}; echo tool > a; rm -r dir; echo new > new; {script}", more=mode(name, word)
            )
            after = tree(s.ws)
            check(
                answer.status == status
                and (
                    s.read("ws/a") == b"tool\n" and "dir" not in after and "new" in after
                    if comes
                    else after == before
                ),
                f"{name}: commit = {word}, {script}",
                f"{answer}\n{after}",
            )
            kinds = {
                os.path.relpath(change["path"], s.ws): (change["kind"], change.get("held"))
                for change in answer.changes
            }
            held = None if comes else "not committed"
            check(
                kinds
                == {
                    "a": ("modified", held),
                    "new": ("added", held),
                    "dir": ("deleted", held),
                    "dir/other": ("deleted", held),
                    "dir/sub": ("deleted", held),
                    "dir/sub/file": ("deleted", held),
                },
                f"{name}: and what would change is told ({word})",
                kinds,
            )
            check(
                comes or "not applied: modified" in answer.message,
                f"{name}: also the model ({word})",
                answer.message,
            )
            subprocess.run(["/bin/rm", "-rf", s.path("ws/new")], check=True)


def only_narrower(s):
    for more, flag, fine in (
        (OVERLAY, "never", True),
        (OVERLAY, "on_success", True),
        (OVERLAY, "always", False),
        (mode("overlay", "always"), "on_success", True),
        (mode("overlay", "never"), "on_success", False),
        ("", "never", True),
        ("", "always", True),
        (mode("copy", "never"), "always", False),
    ):
        answer = s.call("/bin/true", more=more, flags=["--commit", flag])
        check(
            (answer.status == "ok") == fine and (fine or answer.error["code"] == "denied"),
            f"--commit {flag} under {more.strip() or 'bind'}",
            answer,
        )
    answer = s.call("/bin/true", more=OVERLAY, flags=["--commit", "sometimes"])
    check(answer.code == 125 and "on_success" in answer.error["hint"], "a word that is none", answer)
    answer = s.shell("true", more=mode("bind", "never"))
    check(
        answer.code == 125 and "overlay" in answer.error["hint"],
        "a bind holds nothing back, and the policy is told so",
        answer,
    )


def dry_run(s):
    fill(s)
    before = tree(s.ws)
    for more, flags in (
        ("", ["--dry-run"]),
        (OVERLAY, ["--dry-run"]),
        (mode("copy"), ["--dry-run"]),
        (OVERLAY, ["--dry-run", "--commit", "on_success"]),
    ):
        answer = s.call(
            "/bin/sh", "-c", f"cd {s.ws}; rm -r dir; echo x > new; cat new", more=more, flags=flags
        )
        check(
            answer.status == "ok" and answer.out == "x\n" and tree(s.ws) == before,
            "a dry run works and changes nothing",
            answer,
        )
    done = subprocess.run(
        [TOOLCAGE, "exec", "--policy", s.policy(), "--tool", "t", "--dry-run", "/bin/rm", s.path("ws/a")],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        check=False,
    )
    check(
        done.stderr == "toolcage: would delete a\n" and not done.stdout,
        "and says what it would have done",
        done,
    )
    done = subprocess.run(
        [
            TOOLCAGE,
            "exec",
            "--policy",
            s.policy(),
            "--tool",
            "t",
            "--dry-run",
            "/bin/sh",
            "-c",
            "chmod 755 a; ln -s /etc z; rm dir/other; mkdir open; chmod 777 open",
        ],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        check=False,
    )
    check(
        done.stderr.splitlines()
        == [
            f"toolcage: {line}"
            for line in (
                "would change a  mode 0644 -> 0755",
                "would delete dir/other",
                "would add open  mode 0777",
                "would add z -> /etc",
                "2 additions, 1 change, 1 deletion; nothing of it happened here",
            )
        ],
        "in order, with rights and where links lead",
        done,
    )


def opened_is_not_changed(s):
    fill(s)
    answer = s.python(
        "import os,sys\nfor n in ('a', 'dir/other'): open(n, 'r+').close()\nos.rename('dir/sub/file', 'dir/sub/f'); os.rename('dir/sub/f', 'dir/sub/file')",
        more=OVERLAY,
    )
    check(
        answer.status == "ok" and not answer.changes,
        "a file that was only opened for writing, or moved there and back, is not listed",
        answer.kinds,
    )
    answer = s.shell(f"cd {s.ws}; touch -r a keep; echo b > a; touch -r keep a; rm keep", more=OVERLAY)
    check(s.read("ws/a") == b"b\n", "but one of the same size and time with other bytes is", answer)


def moved_by_the_tool(s):
    """A file that the tool moves is the same file to the kernel, wherever it stands then."""
    for more in (OVERLAY, mode("copy")):
        subprocess.run(["/bin/sh", "-c", "rm -rf *"], cwd=s.ws, check=True)
        fill(s)
        s.write("ws/b", "b\n")
        s.write("ws/one", "1\n")
        os.link(s.path("ws/one"), s.path("ws/two"))
        answer = s.shell(
            f"cd {s.ws}; mv a moved; cp -p b b.bak; mv b b.old; echo new > b; mkdir n; mv dir/other n/; mv dir/sub n/; sed -i.orig s/1/one/ one; ln b linked",
            more=more,
        )
        check(
            answer.status == "ok" and "held" not in str(answer.changes), "moves and backups come back", answer
        )
        found = {name: text for name, (_, text, _) in tree(s.ws).items() if text is not None}
        check(
            found
            == {
                "moved": b"a\n",
                "b.bak": b"b\n",
                "b.old": b"b\n",
                "b": b"new\n",
                "linked": b"new\n",
                "n/other": b"other\n",
                "n/sub/file": b"old\n",
                "one": b"one\n",
                "one.orig": b"1\n",
                "two": b"1\n",
            },
            "and nothing is lost",
            found,
        )


def linked_twice(s):
    s.write("ws/a", "a\n")
    os.link(s.path("ws/a"), s.path("ws/a2"))
    answer = s.python("open('a', 'r+').close()", more=OVERLAY)
    check(
        not answer.changes and os.stat(s.path("ws/a")).st_nlink == 2,
        "a file with two names that was only opened keeps them",
        answer,
    )
    process = s.begin(f"cd {s.ws}; echo x >> a; {PAUSE}; true", more=OVERLAY)
    os.remove(s.path("ws/a"))
    answer = finish(process)
    check(
        not os.path.exists(s.path("ws/a")) and answer.kinds == {s.path("ws/a"): "conflict"},
        "one that the host removed stays removed",
        answer,
    )


def pipe_in_place_of_file_is_dropped(s):
    """A pipe in the place of a file: the file stays."""
    for more in (OVERLAY, mode("copy")):
        fill(s)
        answer = s.shell(f"cd {s.ws}; rm a; mkfifo a; rm -r dir; mkfifo dir", more=more)
        check(
            answer.status == "ok" and s.read("ws/a") == b"a\n" and os.path.isdir(s.path("ws/dir")),
            "a pipe in place of a file cannot come back, so the file stays",
            answer,
        )
        check(answer.kinds.get(s.path("ws/a")) == "not committed", "and that is told", answer.kinds)


def saved_while_it_comes_back(s):
    """The user saves a file at the moment when the tool's version of it is on its way: beside it, and large."""
    for more in (OVERLAY, mode("copy")):
        for name, there in (("big", True), ("new", False)):
            s.write("ws/big", "older\n")
            process = s.popen(
                "/bin/sh",
                "-c",
                f"dd if=/dev/zero of={s.ws}/{name} bs=1M count=80 2>/dev/null",
                more=more + 'disk = "400MiB"\ntimeout = "60s"\n',
            )
            until(
                lambda: (
                    any(each.startswith(".toolcage-") for each in os.listdir(s.ws))
                    or process.poll() is not None
                ),
                30,
            )
            raced = process.poll() is None
            s.write(f"ws/{name}", "newer\n")
            answer = finish(process)
            saved = s.read(f"ws/{name}") == b"newer\n"
            check(saved or not raced, f"a file saved meanwhile stays ({name})", answer)
            check(
                not raced or answer.kinds.get(s.path("ws", name)) == "conflict" or not there,
                f"and is a conflict ({name})",
                answer.kinds,
            )
            os.remove(s.path("ws", name))


def times_and_modes(s):
    fill(s)
    os.umask(0o077)
    answer = s.shell(
        f"cd {s.ws}; umask 0; touch -d '2001-01-01 00:00:00 UTC' a; mkdir -m 777 wide; mkdir -m 700 narrow; ln -s a l; touch -h -d '2002-01-01 00:00:00 UTC' l",
        more=OVERLAY,
    )
    os.umask(0o022)
    check(
        os.stat(s.path("ws/a")).st_mtime == 978307200 and os.lstat(s.path("ws/l")).st_mtime == 1009843200,
        "times come back",
        answer,
    )
    check(
        [os.stat(s.path("ws", name)).st_mode & 0o777 for name in ("wide", "narrow")] == [0o777, 0o700],
        "and modes",
        answer,
    )


def gone_directory(s):
    fill(s)
    process = s.begin(
        f"cd {s.ws}; echo tool > dir/sub/file; echo tool > dir/sub/new; rm dir/other; {PAUSE}; true",
        more=OVERLAY,
    )
    subprocess.run(["/bin/rm", "-r", s.path("ws/dir")], check=True)
    s.write("ws/dir", "a file\n")
    answer = finish(process)
    check(
        answer.status == "ok" and s.read("ws/dir") == b"a file\n",
        "a file in place of a directory stays",
        answer,
    )
    check(set(answer.kinds.values()) == {"conflict"}, "and all below is in conflict", answer.kinds)


def older_is_no_conflict(s):
    """What was written right before the call is older than it, whatever the clock of the file system shows."""
    for i in range(20):
        s.write("ws/a", f"{i}\n")
        s.written = 0
        answer = s.shell(f"cd {s.ws}; echo tool > a", more=OVERLAY)
        if s.read("ws/a") != b"tool\n":
            check(False, "work from right before the call is taken for newer", answer)
            return
    check(True, "work from right before the call is not taken for newer")


def newer_work_stays(s):
    fill(s)
    s.write("other/sub/file", "newer\n")
    s.write("ws/gone", "gone\n")
    process = s.begin(
        f"cd {s.ws}; echo tool > dir/sub/file; echo tool > dir/sub/new; echo tool > gone; rm a; mkdir both; echo tool > both/x; echo tool > fresh; {PAUSE}; true",
        more=OVERLAY,
    )
    # files keep their times when the directory around them is moved
    os.rename(s.path("ws/dir"), s.path("was"))
    os.rename(s.path("other"), s.path("ws/dir"))
    os.remove(s.path("ws/gone"))
    s.write("ws/a", "host\n")
    s.write("ws/both/x", "host\n")
    s.write("ws/fresh", "host\n")
    answer = finish(process)
    check(
        s.read("ws/dir/sub/file") == b"newer\n",
        "a file in a directory that took another one's place stays",
        answer,
    )
    check(not os.path.exists(s.path("ws/gone")), "a file that the host removed stays removed", answer)
    check(
        [s.read(f"ws/{name}") for name in ("a", "both/x", "fresh")] == [b"host\n"] * 3,
        "files that the host wrote stay",
        answer,
    )
    check(
        [answer.kinds.get(s.path("ws", name)) for name in ("dir/sub/file", "gone", "a", "both/x", "fresh")]
        == ["conflict"] * 5,
        "changes of both sides are conflicts",
        answer.kinds,
    )
    check(s.read("ws/dir/sub/new") == b"tool\n", "other changes are committed", answer)


def removed_trees(s):
    fill(s)
    s.write("ws/tree/a/b", "b\n")
    s.write("ws/tree/c", "c\n")
    process = s.begin(f"cd {s.ws}; rm -r tree dir; mkdir dir; echo n > dir/n; {PAUSE}; true", more=OVERLAY)
    s.write("ws/tree/a/newer", "host\n")
    s.write("ws/dir/newer", "host\n")
    answer = finish(process)
    check(
        sorted(tree(s.path("ws/tree"))) == ["a", "a/newer"], "of a removed tree what is newer stays", answer
    )
    check(sorted(tree(s.path("ws/dir"))) == ["n", "newer"], "also of one that was made anew", answer)
    kinds = {os.path.relpath(path, s.ws): kind for path, kind in answer.kinds.items()}
    check(
        kinds.get("tree/a/newer") == "conflict"
        and kinds.get("tree/c") == "deleted"
        and kinds.get("dir/n") == "added",
        "partly committed trees are reported path by path",
        kinds,
    )


def bounds(s):
    s.write("ws/big", b"x" * (3 << 20))
    answer = s.shell(f"cd {s.ws}; cat big | wc -c; echo y >> big", more=OVERLAY + 'disk = "1MiB"\n')
    check(
        # a limit, if a sample falls into the attempt to copy the file
        answer.status in ("failed", "limit")
        and "No space left" in answer.stderr["text"]
        and "3145728" in answer.out,
        "reading costs no room, changing takes it from `disk`",
        answer,
    )
    check(os.path.getsize(s.path("ws/big")) == 3 << 20, "and nothing comes back", answer)
    answer = s.shell(
        f"cd {s.ws}; i=0; while [ $i -lt 300 ]; do mkdir -p d$i/e; i=$((i+1)); done", more=OVERLAY
    )
    check(answer.status == "ok" and os.path.isdir(s.path("ws/d299/e")), "many directories", answer)


def mounts_below(s):
    os.makedirs(s.path("ws/mounted"))
    s.write("ws/key", "below\n")
    s.write("data/cover", "cover\n")
    for place, what in (("mounted", "-t tmpfs none"), ("key", f"--bind {s.path('data/cover')}")):
        wrap = in_namespaces(f"mount {what} {s.path('ws', place)}")
        if subprocess.run([*wrap, "/bin/true"], capture_output=True, check=False).returncode:
            raise Skip("nothing can be mounted here")
        answer = s.shell(f"cat {s.path('ws/key')}", wrap=wrap, more=OVERLAY)
        check(
            answer.status == "denied"
            and "copy" in answer.error["hint"]
            and f"unmount {s.path('ws', place)}" in answer.error["hint"],
            f"a mount that an overlay would not show is refused: {place}",
            answer,
        )
        answer = s.shell(
            f"cat {s.path('ws/key')}; echo x > {s.path('ws/new')}", wrap=wrap, flags=["--dry-run"]
        )
        check(
            answer.status == "ok"
            and answer.out == ("cover\n" if place == "key" else "below\n")
            and "copy" in answer.enforcement["fs.write"]
            and answer.kinds.get(s.path("ws/new")) == "not committed"
            and not os.path.exists(s.path("ws/new")),
            f"a dry run takes a copy then: {place}",
            answer,
        )


def denied_names(s):
    s.write("ws/.env", "KEY=1\n")
    s.write("ws/sub/.env", "KEY=2\n")
    denied = [s.path("ws/.env"), s.path("ws/sub/.env"), s.path("ws/later/.env")]
    answer = s.shell(
        f"cd {s.ws}; find . ; cat .env sub/.env; rm -rf sub; mkdir -p sub; echo evil > .env; echo evil > sub/.env; mkdir later; echo evil > later/.env; true",
        more=OVERLAY,
        denied=denied,
    )
    check("KEY" not in answer.out and ".env" not in answer.out, "a denied name does not exist", answer)
    check(
        s.read("ws/.env") == b"KEY=1\n"
        and s.read("ws/sub/.env") == b"KEY=2\n"
        and not os.path.exists(s.path("ws/later/.env")),
        "nor is it written or removed",
        answer,
    )
    check(answer.kinds.get(s.path("ws/.env")) == "denied", "and that is told", answer.kinds)


def half_a_repository(s):
    """What steers the host may be half on the host and half in the layer."""
    for name in ("objects", "refs", "hooks"):
        s.directory("ws/bare", name)
    s.write("ws/bare/HEAD", "ref: refs/heads/main\n")
    s.write("ws/bare/config", "[core]\n")
    s.directory("ws/half/objects")
    s.directory("ws/half/refs")
    for name in ("objects", "refs", "hooks"):
        s.directory("ws/step", name)
    s.write("ws/step/config", "[core]\n")
    s.directory("ws/c/objects")
    s.directory("ws/c/refs")
    for more in (OVERLAY, mode("copy")):
        answer = s.shell(
            f"cd {s.ws}; echo x > step/HEAD; mkdir r; echo x > r/HEAD; echo ../c > r/commondir; echo ../c > bare/commondir; mkdir -p cfg/git hgd;"
            "echo evil > cfg/git/config; ln -s cfg .config; echo evil > hgd/hgrc; ln -s hgd .hg; ln -s cfg sub; mkdir .git; ln -s ../cfg .git/info",
            more=more,
        )
        found = tree(s.ws)
        check(
            not [
                name
                for name in ("step/HEAD", "r/commondir", "bare/commondir", ".config", ".hg", ".git/info")
                if name in found
            ]
            and "sub" in found,
            "files that would make a directory a repository, or lead to configuration, are held back",
            answer.kinds,
        )
        subprocess.run(
            [
                "/bin/rm",
                "-rf",
                s.path("ws/r"),
                s.path("ws/cfg"),
                s.path("ws/hgd"),
                s.path("ws/sub"),
                s.path("ws/.git"),
            ],
            check=True,
        )
    answer = s.shell(
        f"cd {s.ws}; echo evil > bare/config; echo evil > bare/hooks/pre-push; echo x > half/HEAD; echo evil > half/config; mkdir -p .git; echo evil > .git/config",
        more=OVERLAY,
    )
    check(
        s.read("ws/bare/config") == b"[core]\n"
        and not os.listdir(s.path("ws/bare/hooks"))
        and not os.path.exists(s.path("ws/half/config"))
        and not os.path.exists(s.path("ws/.git/config")),
        "configuration and hooks of repositories are held back",
        answer.kinds,
    )


def repository(s):
    """git in an overlay: the branch is on the host as a whole, but for a file that steers it."""
    git = "git -c user.name=a -c user.email=a@example.com "
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode:
        raise Skip("git is not installed")
    s.shell(
        f"cd {s.ws}; git init -qb main . && echo 1 | tee a > .travis.yml && git add -A && {git} commit -qm 1",
        more=mode("bind"),
    )
    s.shell(
        f"cd {s.ws}; git checkout -qb o && echo 2 > a && rm .travis.yml && {git} commit -qam 2 && git checkout -q main",
        more=mode("overlay", "always"),
    )
    answer = s.shell(f"cd {s.ws}; git checkout o && git checkout main && git checkout o", more=OVERLAY)
    host = subprocess.run(
        ["git", "-C", s.ws, "status", "--short"], env=s.environ, capture_output=True, text=True, check=False
    )
    steering = s.path("ws/.travis.yml")
    check(
        answer.status == "ok"
        and s.read("ws/a") == b"2\n"
        and answer.kinds.get(steering) == "steers the host",
        "a branch is checked out, and back, with its index",
        answer,
    )
    check(host.stdout == "?? .travis.yml\n", "only the file that steers the host stays as it was", host)
    done = s.toolcage("changes", answer.call, "commit", "--steering", ".travis.yml")
    check(
        done.returncode == 0 and not os.path.exists(steering),
        "and is removed when a person says so",
        (done.stdout, done.stderr),
    )


def without_id_maps(s):
    """Root in a container: the workspace is on overlayfs, which has no id-mapped mounts, so the tool gets a copy."""
    if not scene.is_root():
        return  # only root's cages need id-mapped mounts
    lower, upper, work = (s.directory(f"layers/{name}") for name in ("lower", "upper", "work"))
    s.write("layers/lower/a", "a\n")
    mount = f"mount -t overlay -o lowerdir={lower},upperdir={upper},workdir={work} overlay {s.ws}"
    for more in ("", OVERLAY, mode("overlay", "always")):
        answer = s.shell(
            f"echo more >> {s.ws}/a; echo x > {s.ws}/.envrc; mkdir {s.ws}/d; exit {3 if not more else 0}",
            more=more,
            wrap=in_namespaces(mount),
        )
        came = s.path("layers/upper/a")
        check(
            answer.status == ("ok" if more else "failed")
            and s.read("layers/upper/a") == b"a\nmore\n"
            and os.stat(came).st_uid == 0
            and os.path.isdir(s.path("layers/upper/d"))
            and not os.path.exists(s.path("layers/upper/.envrc"))
            and answer.kinds.get(s.path("ws/.envrc")) == "steers the host",
            f"its changes are on the host: {more.strip() or 'a bind'}",
            answer,
        )
        check("in a private copy" in answer.enforcement["fs.write"], "and the result says so", answer)
        subprocess.run(["/bin/rm", "-rf", came, s.path("layers/upper/d")], check=True)


def parts(s):
    """Other granted paths inside it, and single files."""
    fill(s)
    s.write("data/x", "x\n")
    inside = f'{{ path = "{s.path("ws/dir/sub")}", from = "{s.data}" }}'
    answer = s.shell(
        f"cd {s.ws}; cat dir/sub/x; echo y > dir/sub/x; echo z > dir/other", more=OVERLAY, readable=[inside]
    )
    check(
        answer.out == "x\n" and s.read("data/x") == b"x\n" and s.read("ws/dir/other") == b"z\n",
        "a readable path inside stays readable",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; cat dir/sub/x; echo y > dir/sub/x; echo w > dir/other",
        more=OVERLAY,
        writable=[s.ws, inside],
    )
    check(
        s.read("data/x") == b"y\n"
        and s.read("ws/dir/other") == b"w\n"
        and s.read("ws/dir/sub/file") == b"old\n",
        "a writable one has a layer of its own",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; echo v > a; mkdir -p .git; echo named > .git/config",
        more=OVERLAY,
        writable=[s.ws, f'{{ path = "{s.path("ws/.git/config")}", optional = true }}'],
    )
    check(s.read("ws/a") == b"v\n", "a single file may be named besides", answer)


def listed(s):
    """What a result says of changes in an overlay, by default and by name: what changes.py has of a bind."""
    for more in ("", mode("overlay", "always")):
        word = more.strip() or "by default"
        shutil.rmtree(s.ws)
        for name in ("old", "kept", "one/a", "two/b", "plain/x", "swap/deep/c"):
            s.write(f"ws/{name}", "old\n")
        s.write("secret/canary", "secret\n")
        answer = s.python(
            f"""
import os
open("old", "a").write("more\\n"); os.chmod("kept", 0o600); open("plain/x").read()
os.makedirs("a/b"); open("a/b/new", "w").write("new\\n")
os.symlink({s.path("secret")!r}, "dir"); os.mkfifo("pipe"); open("linked", "w"); os.link("linked", "again")
open(b"\\xff\\n\\x1b", "w"); os.chmod("swap/deep", 0o700); os.remove("swap/deep/c")
os.rename("one/a", "one/t"); os.rename("two/b", "one/a"); os.rename("one/t", "two/b"); os.remove("two/b")
raise SystemExit(3)""",
            more=more,
        )
        rows = {
            os.path.relpath(os.fsdecode(base64.b64decode(change["path_base64"])), s.ws)
            if "path_base64" in change
            else os.path.relpath(change["path"], s.ws): change
            for change in answer.changes
        }
        check(
            answer.status == "failed"
            and {name: change.get("held") or change["kind"] for name, change in rows.items()}
            == {
                "old": "modified",
                "kept": "modified",
                "a": "added",
                "a/b": "added",
                "a/b/new": "added",
                "dir": "added",
                "pipe": "not committed",
                "linked": "added",
                "again": "added",
                os.fsdecode(b"\xff\n\x1b"): "added",
                "swap/deep": "modified",
                "swap/deep/c": "deleted",
                "one/a": "modified",
                "two/b": "deleted",
            },
            f"every change is listed, and no other: {word}",
            {name: change.get("held") or change["kind"] for name, change in rows.items()},
        )
        check(
            [rows[name].get("sha256") for name in ("old", "a/b/new", "dir", "pipe", "two/b")]
            == [hashlib.sha256(text).hexdigest() for text in (b"old\nmore\n", b"new\n")] + [None] * 3
            and rows["a/b/new"]["bytes"] == 4
            and (rows["kept"]["mode_before"], rows["kept"]["mode"]) == ("0644", "0600")
            and rows["swap/deep"]["mode"] == "0700"
            and rows["dir"]["target"] == s.path("secret")
            and rows["linked"]["links"] == rows["again"]["links"] == 2,
            f"with digest, size, mode and names: {word}",
            answer,
        )
        check(
            stat.S_IMODE(os.stat(s.path("ws/kept")).st_mode) == 0o600
            and os.readlink(s.path("ws/dir")) == s.path("secret")
            and s.read("secret/canary") == b"secret\n"
            and os.path.samefile(s.path("ws/linked"), s.path("ws/again")),
            f"and is on the host: {word}",
            tree(s.ws),
        )
        answer = s.shell(
            f"echo x > {s.ws}/late; sleep 60", more=more + 'timeout = "500ms"\ngrace = "100ms"\n'
        )
        check(
            answer.status == "timeout"
            and answer.kinds == {s.path("ws/late"): "added"}
            and s.read("ws/late") == b"x\n",
            f"also of a call that was ended: {word}",
            answer,
        )
        process = s.begin(f"echo tool > {s.ws}/tool; {PAUSE}", more=more)
        s.write("ws/host", "host\n")
        seen = os.path.exists(s.path("ws/tool"))
        answer = finish(process)
        check(
            answer.kinds == {s.path("ws/tool"): "added"} and not seen and s.read("ws/tool") == b"tool\n",
            f"but not what the host does meanwhile: {word}",
            answer,
        )
        answer = s.shell(f"cd {s.ws}; mv plain .idea", more=more)
        check(
            answer.kinds
            == dict.fromkeys(
                (s.path("ws", name) for name in ("plain", "plain/x", ".idea", ".idea/x")), "steers the host"
            ),
            f"a directory that is moved to a name that steers the host is listed with all below: {word}",
            answer,
        )
        answer = s.shell(f"cd {s.ws}; cat old kept; ls -lR", more=more)
        check(answer.changes == [], f"nothing but reading: {word}", answer)
        single = s.write("single", "old\n")
        answer = s.shell(
            "echo x > /out/new; echo more >> /in/file",
            more=more,
            writable=['{ path = "/out", from = "%s" }' % s.ws, '{ path = "/in/file", from = "%s" }' % single],
        )
        check(
            answer.kinds == {"/out/new": "added", "/in/file": "modified"}
            and s.read("single") == b"old\nmore\n",
            f"paths as the tool sees them, and a single file: {word}",
            answer,
        )
        answer = s.shell(
            f"cd {s.ws}; mkdir many; cd many; for i in $(seq 10020); do : > $i; done; echo > ../one/.bashrc",
            more=more + 'timeout = "40s"\n',
        )
        steers = [change["path"] for change in answer.changes if change.get("steers_host")]
        check(
            steers == [s.path("ws/one/.bashrc")]
            and len(answer.changes) == 10001
            and answer.omitted["changes"] == 21,
            f"what steers the host is listed, however much else there is: {word}",
            (steers, len(answer.changes), answer.omitted),
        )


def layers(s):
    """The layers of calls that are on a disk."""
    store = s.path("home/.local/state/toolcage/layers")
    return os.listdir(store) if os.path.isdir(store) else []


def layer_on_disk(s):
    """A layer on the workspace's disk is committed by renaming: what the tool made is what the host gets."""
    script = (
        "import os; open('new', 'w').write('n'); os.link('new', 'again'); os.setxattr('new', 'user.note', b'x');"
        "f = open('sparse', 'w'); f.truncate(1 << 30); open('a', 'a').write('b\\n');"
        "os.mkdir('d'); os.symlink('../a', 'd/link'); os.chmod('new', 0o640)"
    )
    fill(s)
    answer = s.python(script, more=OVERLAY)
    check(
        answer.status == "ok" and not any("held" in change for change in answer.changes),
        "every file of the tool comes back whole",
        answer,
    )
    new, sparse = os.lstat(s.path("ws/new")), os.lstat(s.path("ws/sparse"))
    check(
        new.st_nlink == 2
        and new.st_mode & 0o777 == 0o640
        and os.listxattr(s.path("ws/new")) == ["user.note"],
        "a file with its other name, its mode and its attributes",
        (new, os.listxattr(s.path("ws/new"))),
    )
    check(sparse.st_size == 1 << 30 and sparse.st_blocks < 100, "a sparse file without a copy of it", sparse)
    check(
        not os.listxattr(s.path("ws/a"))
        and s.read("ws/a") == b"a\nb\n"
        and os.readlink(s.path("ws/d/link")) == "../a",
        "and no mark of the overlay on what it had copied",
        os.listxattr(s.path("ws/a")),
    )
    owner = os.stat(s.ws)
    check(
        all((st.st_uid, st.st_gid) == (owner.st_uid, owner.st_gid) for st in (new, sparse)),
        "all of it is the workspace's owner's",
        (new, sparse),
    )
    check(until(lambda: not layers(s)), "the layer goes with the call", layers(s))
    answer = s.python("import os; open('x', 'w'); os.link('x', 'y')", more=OVERLAY + 'disk = "16MiB"\n')
    check(
        answer.status == "ok" and os.lstat(s.path("ws/x")).st_nlink == 1,
        "a layer with a limit is in memory, and is copied",
        answer,
    )


def time_of_the_directory(s):
    """The granted directory has its own time in an overlay, like those below it."""
    s.write("ws/d/file", "x")
    for name in ("ws/d", "ws"):
        os.utime(s.path(name), (1e9, 1e9))
    for more in ("", OVERLAY, OVERLAY + 'disk = "16MiB"\n'):
        answer = s.shell(f"cd {s.ws}; stat -c %Y . d", more=more)
        check(
            answer.out == "1000000000\n" * 2,
            f"the directory's time is the host's: {more.strip() or 'auto'}",
            answer,
        )
    check(os.stat(s.ws).st_mtime == 1e9, "a call that changes nothing leaves it", os.stat(s.ws))


def access_control_lists(s):
    """A directory whose default list names another user: new files inherit it, as outside."""
    nobody = 2**32 - 1
    entries = (1, 7, nobody), (2, 7, 1234), (4, 5, nobody), (16, 7, nobody), (32, 5, nobody)
    default = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    s.write("ws/d/file", "old\n")
    os.setxattr(s.path("ws/d"), "system.posix_acl_default", default)
    subprocess.run(["/bin/sh", "-c", "echo > d/outside; mkdir d/sub-outside"], cwd=s.ws, check=True)
    answer = s.shell(f"cd {s.ws}; echo > d/inside; mkdir d/sub-inside; echo new >> d/file")
    found = {
        name: {each: os.getxattr(s.path("ws/d", name), each) for each in os.listxattr(s.path("ws/d", name))}
        for name in os.listdir(s.path("ws/d"))
    }
    check(
        answer.status == "ok"
        and found["inside"] == found["outside"] != {}
        and found["sub-inside"] == found["sub-outside"] != {}
        and found["file"] == {},
        "a default access control list applies as outside",
        f"{found}\n{answer}",
    )


def at_once(s):
    """Calls that run at once in one workspace: what differs is held, and nothing else."""
    s.write("ws/shared", "old\n")
    script = (
        f"cd {s.ws}; mkdir -p d __pycache__; echo same > d/same; ln -s same d/link; echo %d > own-%d; echo %d > new;"
        f" echo %d > shared; echo %d > __pycache__/a.pyc; {PAUSE}"
    )
    calls = [s.begin(script % ((number,) * 5)) for number in (1, 2)]
    first, second = [scene.finish(call) for call in calls]
    check(not [row for row in first.changes if row.get("held")], "the first one has no conflict", first)
    held = {os.path.relpath(path, s.ws) for path, kind in second.kinds.items() if kind == "conflict"}
    check(
        held == {"new", "shared"} and s.read("ws/new") == s.read("ws/shared") == b"1\n",
        "the second one has conflicts in what differs",
        second,
    )
    check(
        [s.read(f"ws/{name}") for name in ("d/same", "own-1", "own-2")] == [b"same\n", b"1\n", b"2\n"],
        "both have their own files",
        os.listdir(s.ws),
    )
    check(s.read("ws/__pycache__/a.pyc") == b"2\n", "the newest version of a cache stays", second)
    s.toolcage("changes", second.call, "commit", "--overwrite")
    check(s.read("ws/new") == s.read("ws/shared") == b"2\n", "a person can choose the second version")


def layer_that_resists(s):
    """A tool makes its layer hard to remove: too deep for one walk, and closed to its owner."""
    script = "import os\nfor i in range(1400): os.mkdir('d'); os.chdir('d')\nos.chmod('..', 0)"
    answer = s.python(f"import os; os.chdir({s.ws!r})\n{script}", more=OVERLAY)
    depth = sum(1 for _ in os.walk(s.ws)) - 1
    check(answer.status == "error" and depth == 400, "entries too deep are not committed", (depth, answer))
    until(lambda: not layers(s), 3)  # a helper that is about to exit leaves the rest to the next one
    s.call("/bin/sleep", "0.5", writable=[])
    check(until(lambda: not layers(s)), "and nothing of it stays", layers(s))


def layer_of_the_dead(s):
    """The layer of a helper that was killed is removed by the next one."""
    process = s.begin(f"cd {s.ws}; echo x > new; {PAUSE}", more=OVERLAY)
    there = layers(s)
    for pid in scene.helpers_of(process.pid):
        scene.end(pid)
    scene.end(process)
    process.communicate()
    check(
        len(there) == 1 and layers(s) == there and not os.listdir(s.ws), "a layer is left", (there, layers(s))
    )
    s.call("/bin/sleep", "0.2", writable=[])
    check(until(lambda: not layers(s)), "the next call's helper removes it", layers(s))


def slow_machines(s):
    """The layer goes with the call."""
    before = mounts.table()
    s.shell(
        f"cd {s.ws}; dd if=/dev/zero of=big bs=1M count=30 2>/dev/null; exit 1",
        more=OVERLAY,
        wait=60 * PATIENCE,
    )
    check(mounts.table() == before and not os.listdir(s.ws), "nothing of a layer is left", os.listdir(s.ws))


mounts.apart()
run(
    here(commit_words),
    here(only_narrower),
    here(dry_run),
    here(opened_is_not_changed),
    here(moved_by_the_tool),
    here(linked_twice),
    here(pipe_in_place_of_file_is_dropped),
    here(saved_while_it_comes_back),
    here(times_and_modes),
    here(gone_directory),
    here(older_is_no_conflict),
    here(newer_work_stays),
    here(removed_trees),
    here(bounds),
    here(mounts_below),
    here(denied_names),
    here(half_a_repository),
    here(repository),
    without_id_maps,
    here(parts),
    here(listed),
    here(layer_on_disk),
    here(time_of_the_directory),
    here(access_control_lists),
    here(at_once),
    here(layer_that_resists),
    here(layer_of_the_dead),
    here(slow_machines),
)

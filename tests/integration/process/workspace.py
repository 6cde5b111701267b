#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Writable directories: copies and overlays that come back on success, and the files in them that steer the host."""

import os
import shutil
import stat
import subprocess
import tempfile

from scene import PAUSE, Skip, check, finish, run
from tree import tree

BIND = 'workspace = { mode = "bind" }\n'
COPY = 'workspace = { mode = "copy" }\n'
OVERLAY = 'workspace = { mode = "overlay" }\n'


def fill(s):
    s.write("ws/kept", "kept\n")
    s.write("ws/old", "old\n")
    s.write("ws/run", "#!/bin/sh\necho ran\n", 0o755)
    s.write("ws/gone", "gone\n")
    s.write("ws/tree/a/b", "b\n")
    s.write("ws/tree/c", "c\n")
    os.symlink("kept", s.path("ws/link"))
    os.mkfifo(s.path("ws/pipe"))


def commit_on_success(s, mode):
    fill(s)
    before = tree(s.ws)
    answer = s.shell(
        f"cd {s.ws} && ./run && cat link && echo more >> old && echo new > new && rm gone && rm -r tree && mkdir -p d/e "
        "&& echo deep > d/e/f && ln -s new to-new && chmod 600 new",
        more=mode,
    )
    after = tree(s.ws)
    check(answer.status == "ok" and answer.out == "ran\nkept\n", "it works like the real one", answer)
    check(
        s.read("ws/old") == b"old\nmore\n"
        and s.read("ws/new") == b"new\n"
        and s.read("ws/d/e/f") == b"deep\n"
        and os.readlink(s.path("ws/to-new")) == "new",
        "changes come back",
        after,
    )
    check("gone" not in after, "removals, too", after)
    check(
        not any(name.startswith("tree") for name in after),
        "and removed directories",
        [n for n in after if n.startswith("tree")],
    )
    same = ("kept", "run", "link", "pipe")
    check(
        all(after.get(name) == before[name] for name in same),
        "files that the tool left alone are not touched",
        [(name, before[name], after.get(name)) for name in same if after.get(name) != before[name]],
    )
    want = {
        "old": "modified",
        "new": "added",
        "gone": "deleted",
        "tree": "deleted",
        "tree/a": "deleted",
        "tree/a/b": "deleted",
        "tree/c": "deleted",
        "d": "added",
        "d/e": "added",
        "d/e/f": "added",
        "to-new": "added",
    }
    got = {os.path.relpath(path, s.ws): kind for path, kind in answer.kinds.items()}
    check(got == want, "and is not listed", got)
    mode = os.stat(s.path("ws/new"))
    check(
        mode.st_uid == os.getuid() and stat.S_IMODE(mode.st_mode) == 0o600,
        "owner and mode of what comes back",
        mode,
    )
    check(not [name for name in after if ".toolcage" in name], "nothing of toolcage's own is left", after)


def nothing_without_success(s, mode):
    fill(s)
    before = tree(s.ws)
    for name, script, more in (
        ("a call that fails", "exit 3", ""),
        ("a call that is ended", "sleep 20", 'timeout = "500ms"\ngrace = "100ms"\n'),
        ("a call that dies", "kill -9 $$", ""),
    ):
        answer = s.shell(f"cd {s.ws}; echo x >> old; rm gone; echo new > new; {script}", more=mode + more)
        check(
            answer.status in ("failed", "timeout") and tree(s.ws) == before, f"{name} changes nothing", answer
        )
        check(
            set(answer.kinds.values()) <= {"not committed"},
            f"{name}: and lists nothing as done",
            answer.kinds,
        )


def conflicts(s, mode):
    fill(s)
    process = s.begin(
        f"cd {s.ws}; echo tool > old; echo tool > new; echo tool > kept; rm gone; {PAUSE}; true", more=mode
    )
    s.write("ws/old", "host\n")
    s.write("ws/new", "host\n")
    s.write("ws/gone", "host\n")
    answer = finish(process)
    check(
        [s.read(f"ws/{name}") for name in ("old", "new", "gone")] == [b"host\n"] * 3,
        "files that the host changed meanwhile stay",
        answer,
    )
    check(
        [answer.kinds.get(f"{s.ws}/{name}") for name in ("old", "new", "gone")] == ["conflict"] * 3,
        "and is listed as a conflict",
        answer.kinds,
    )
    check(s.read("ws/kept") == b"tool\n", "other changes are committed", answer)


def types_change(s, mode):
    fill(s)
    answer = s.shell(
        f"cd {s.ws}; rm kept; mkdir kept; echo x > kept/x; rm -r tree; echo file > tree; rm link; echo plain > link",
        more=mode,
    )
    check(
        answer.status == "ok"
        and s.read("ws/kept/x") == b"x\n"
        and s.read("ws/tree") == b"file\n"
        and not os.path.islink(s.path("ws/link")),
        "files, directories and links take each other's places",
        f"{answer}\n{tree(s.ws)}",
    )


def links_lead_nowhere(s, mode):
    """What the copy holds may not lead the commit out of the workspace."""
    s.write("secret/canary", "secret\n")
    s.write("ws/dir/file", "x\n")
    answer = s.shell(
        f"cd {s.ws}; rm -r dir; ln -s {s.path('secret')} dir; ln -s {s.path('secret/canary')} l; echo evil > dir/canary; true",
        more=mode,
    )
    check(s.read("secret/canary") == b"secret\n", "a link planted in the copy is not written through", answer)
    os.makedirs(s.path("ws/race"), exist_ok=True)
    process = s.begin(f"cd {s.ws}; echo evil > race/canary; {PAUSE}; true", more=mode)
    os.rmdir(s.path("ws/race"))
    os.symlink(s.path("secret"), s.path("ws/race"))
    answer = finish(process)
    check(
        answer.status == "ok" and s.read("secret/canary") == b"secret\n",
        "nor one that the host put there meanwhile",
        answer,
    )


def held(s, mode):
    """Names that steer the host do not come back."""
    plants = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".envrc",
        ".bashrc",
        ".vscode/tasks.json",
        "sub/.husky/pre-commit",
        "toolcage.toml",
    ]
    script = "; ".join(f"mkdir -p $(dirname {name}); echo evil > {name}" for name in plants)
    answer = s.shell(f"cd {s.ws}; {script}; echo fine > fine", more=mode)
    check(answer.status == "ok" and s.read("ws/fine") == b"fine\n", "the rest of a copy comes back", answer)
    check(
        not [name for name in plants if os.path.exists(s.path("ws", name))],
        "files that steer the host are held",
        [name for name in plants if os.path.exists(s.path("ws", name))],
    )
    check(
        all(answer.kinds.get(f"{s.ws}/{name}", "").startswith("steers") for name in plants),
        "and listed as held",
        answer.kinds,
    )
    answer = s.shell(f"cd {s.ws}; echo 'gitdir: /tmp/elsewhere' > .git", more=mode)
    check(not os.path.isfile(s.path("ws/.git")), "also .git as a file", answer)
    s.write("ws/.env", "KEY=1\n")
    answer = s.shell(f"cd {s.ws}; ls -a; echo evil > .env", more=mode, denied=[s.path("ws/.env")])
    check(
        ".env" not in answer.out and s.read("ws/.env") == b"KEY=1\n",
        "a denied name is neither copied nor overwritten",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; mkdir -p b/objects b/refs b/hooks; echo x > b/HEAD; echo evil > b/config; echo evil > b/hooks/x",
        more=mode,
    )
    check(
        os.path.exists(s.path("ws/b/HEAD"))
        and not os.path.exists(s.path("ws/b/config"))
        and not os.path.exists(s.path("ws/b/hooks")),
        "nor do config and hooks of a bare repository come back",
        answer.kinds,
    )


def too_large(s):
    s.write("ws/big", b"x" * (3 << 20))
    answer = s.shell("true", more=COPY + 'disk = "1MiB"')
    check(
        answer.code == 126 and answer.error and "disk" in answer.error["hint"],
        "a copy that does not fit is refused with the fix",
        answer,
    )
    answer = s.shell("true", more=BIND + 'disk = "1MiB"')
    check(
        answer.code == 126 and answer.error["code"] == "unenforceable" and "overlay" in answer.error["hint"],
        "a bound on a bind is refused with the fix",
        answer,
    )
    s.write("ws/small", "x\n")
    answer = s.shell(
        f"cd {s.ws}; echo y >> small; head -c 3000000 /dev/zero > new; rm -f new; cat big >/dev/null",
        more='disk = "1MiB"',
    )
    check(
        answer.status in ("ok", "limit")
        and "No space left" in answer.stderr["text"]
        and s.read("ws/small") == b"x\ny\n"
        and "in a private layer" in answer.enforcement["fs.write"],
        "without a mode it bounds an overlay",
        answer,
    )


def git(s, *args):
    done = subprocess.run(
        ["/usr/bin/git", "-C", s.ws, "-c", "user.name=t", "-c", "user.email=t@example.com", *args],
        env={**s.environ, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def steering_stays(s):
    """In a bind, and by default. A repository that the tool moves as a whole is another one afterwards, except in a bind."""
    if not os.path.exists("/usr/bin/git"):
        raise Skip("git is not installed")
    attacks = [
        ("a hook is written", "echo evil > .git/hooks/post-commit"),
        ("the config is written", "echo evil >> .git/config"),
        (".git is moved away", "mv .git old; mkdir -p .git/hooks; echo evil > .git/hooks/post-commit"),
        ("hooks are moved away", "mv .git/hooks .git/h; mkdir .git/hooks; echo evil > .git/hooks/x"),
        ("the config is replaced", "echo evil > c; mv c .git/config"),
        ("a parent is renamed", "mv sub s2; mkdir -p sub/.vscode; echo evil > sub/.vscode/settings.json"),
        ("a bare repository is changed", "echo evil > bare/config; echo evil > bare/hooks/x"),
        ("an .envrc is written", "echo evil > .envrc; rm -f .envrc; echo evil > x; mv x .envrc"),
        ("modes are changed", "chmod 777 .git/config .git/hooks"),
        ("a hard link is made", "ln .git/config plain && echo evil >> plain"),
        ("a bare repository is moved", "mv bare b2; mkdir bare; echo evil > bare/config"),
        (
            "and made again",
            "mkdir bare/objects bare/refs bare/hooks; echo evil > bare/hooks/x; echo ref: refs/heads/main > bare/HEAD",
        ),
    ]
    steering = [
        ".git/config",
        ".git/hooks",
        ".envrc",
        "sub/.vscode/settings.json",
        "bare/config",
        "bare/hooks",
    ]
    for s.mode in ("bind", "auto"):
        shutil.rmtree(s.ws)
        s.directory("ws")
        git(s, "init", "-q")
        s.write("ws/.envrc", "true\n")
        s.write("ws/sub/.vscode/settings.json", "{}\n")
        s.write("ws/bare/HEAD", "ref: refs/heads/main\n")
        s.write("ws/bare/config", "[core]\n")
        for name in ("objects", "refs", "hooks"):
            s.directory("ws/bare", name)
        before = {name: subtree(s.path("ws", name)) for name in steering}
        for name, script in attacks:
            answer = s.shell(f"cd {s.ws}; ({script}) 2>/dev/null; true")
            moved = s.mode == "auto" and os.path.exists(s.path("ws/b2"))
            left = [each for each in steering if not moved or not each.startswith("bare/")]
            check(
                answer.status == "ok"
                and all(subtree(s.path("ws", each)) == before[each] for each in left)
                and (
                    not moved
                    or not any(
                        os.path.exists(s.path("ws", each))
                        for each in ("bare/HEAD", "bare/hooks", "b2/config")
                    )
                ),
                f"{name}: {s.mode}",
                answer,
            )
        check(
            os.path.exists(s.path("ws/b2")) == (s.mode == "auto"),
            f"it is moved by default only: {s.mode}",
            answer,
        )
        shutil.rmtree(s.ws)
        s.directory("ws")
        git(s, "init", "-q")
        s.write("ws/file", "1\n")
        answer = s.shell(
            f"cd {s.ws}; git add file && git -c user.name=t -c user.email=t@example.com commit -qm one && git log --oneline | wc -l",
            more='env.set = { HOME = "/tmp", GIT_CONFIG_COUNT = "1", GIT_CONFIG_KEY_0 = "safe.directory", GIT_CONFIG_VALUE_0 = "*" }',
        )
        check(
            answer.status == "ok"
            and answer.out == "1\n"
            and len(git(s, "log", "--oneline").split("\n")) == 2,
            f"a commit still works: {s.mode}",
            answer,
        )


def closed_to_the_next_call(s):
    """What the caller may not look into is its tool's to open again; where the group is not the caller's first, no namespace
    gives the helper a right to it."""
    team = next((group for group in os.getgroups() if group != os.getgid()), os.getgid())
    for name in ("ws/sub/.git/config", "ws/bare/HEAD", "ws/bare/config", "ws/bare/hooks/x"):
        s.write(name, "kept\n")
    for name in ("sub/.git/hooks", "bare/objects", "bare/refs"):
        s.directory("ws", name)
    attacks = [
        (
            "nobody may look into it",
            "sub",
            "000",
            "echo evil > sub/.git/hooks/x; echo evil >> sub/.git/config; mv sub/.git sub/old",
        ),
        ("it can be listed only", "bare", "600", "echo evil >> bare/config; rm -r bare/hooks"),
        (
            "it can be entered only",
            "sub/.git",
            "300",
            "echo evil > sub/.git/hooks/x; echo evil >> sub/.git/config",
        ),
        (
            "as it lies",
            "sub/.git",
            "600",
            "echo evil > sub/.git/hooks/x; echo evil >> sub/.git/config; mv sub s2",
        ),
        ("it is what was granted", ".", "000", "echo evil > sub/.git/hooks/x; echo evil >> bare/config"),
    ]
    for path, names, _ in list(os.walk(s.ws)):
        for name in (path, *(os.path.join(path, name) for name in names)):
            os.chown(name, -1, team)
    steering = ["sub/.git/config", "sub/.git/hooks", "bare/config", "bare/hooks"]
    before = {name: subtree(s.path("ws", name)) for name in steering}
    for s.mode in ("bind", "auto"):
        for name, what, mode, script in attacks:
            place = os.path.normpath(s.path("ws", what))
            was = stat.S_IMODE(os.lstat(place).st_mode)
            first = s.shell(f"cd {s.ws}; chmod {mode} {what}; exit 0")
            closed = stat.S_IMODE(os.lstat(place).st_mode)
            answer = s.shell(f"chmod 700 {place}; cd {s.ws} && {{ {script}; }} 2>/dev/null; exit 0", cwd="/")
            os.chmod(place, was)
            check(
                first.status == "ok"
                and closed == int(mode, 8)
                and {each: subtree(s.path("ws", each)) for each in steering} == before,
                f"{name}: {s.mode}",
                (oct(closed), first, answer),
            )
            check(
                answer.status == "ok" or "chmod u+rwx" in answer.error["hint"],
                f"the call runs, or says what to do: {s.mode}",
                answer,
            )


def the_callers_umask(s):
    """New files have it in every mode, directories that were there keep their mode, and a bind gets no set-id bit."""
    seen = "stat -c %a . kept"
    for mode in ("bind", "overlay", "copy"):
        for mask in (0o077, 0o027, 0o002, 0):
            for name in ("new", "made"):
                shutil.rmtree(s.path("ws", name), ignore_errors=True)
            s.directory("ws/kept")
            for place, rights in (("ws", 0o775), ("ws/kept", 0o770)):
                os.chmod(s.path(place), rights)
            s.write("ws/kept/file", "x")
            before = os.umask(mask)
            answer = s.shell(
                f"cd {s.ws} && umask && {seen} && mkdir new && echo x > new/f && touch kept && rm kept/file;"
                "mkdir made; chmod 4777 made 2>/dev/null; chmod 2777 made 2>/dev/null; mkdir -m 2770 made/x 2>/dev/null; true",
                more=f'workspace = {{ mode = "{mode}" }}',
            )
            os.umask(before)
            modes = {
                name: oct(os.stat(s.path("ws", name)).st_mode & 0o7777)
                for name in (".", "kept", "new", "new/f", "made")
            }
            wanted = {
                ".": oct(0o775),
                "kept": oct(0o770),
                "new": oct(0o777 & ~mask),
                "new/f": oct(0o666 & ~mask),
                "made": oct(0o777 & ~mask if mode == "bind" else 0o2777),
            }
            check(
                modes == wanted and answer.out.split() == [f"{mask:04o}", "775", "770"],
                f"{mode}: the umask {mask:03o}",
                (modes, wanted, answer),
            )


def subtree(path):
    st = os.lstat(path)
    if not stat.S_ISDIR(st.st_mode):
        with open(path, "rb") as file:
            return st.st_ino, stat.S_IMODE(st.st_mode), file.read()
    return st.st_ino, stat.S_IMODE(st.st_mode), sorted(os.listdir(path))


def new_steering_names(s):
    for s.mode in ("bind", "auto"):
        answer = s.shell(
            f"cd {s.ws}; mkdir -p a/.git/hooks; echo x > a/.git/hooks/post-commit; echo x > .envrc; echo x > Makefile"
        )
        told = {change["path"]: change.get("steers_host") for change in answer.changes}
        steers = [f"{s.ws}/a/.git/hooks/post-commit", f"{s.ws}/.envrc"]
        check(
            all(told.get(path) for path in steers) and not told.get(f"{s.ws}/Makefile"),
            f"new names that steer the host are told: {s.mode}",
            told,
        )
        check(
            all(os.path.exists(path) == (s.mode == "bind") for path in steers)
            and s.read("ws/Makefile") == b"x\n",
            f"and are written in a bind only: {s.mode}",
            answer,
        )
        shutil.rmtree(s.ws)
        s.directory("ws")


def overlays_here(s):
    answer = s.shell("true", more=OVERLAY)
    if answer.status != "ok" and answer.error["stage"] == "overlay":
        raise Skip(answer.error["message"])


def in_both(part):
    """The same in a copy and in an overlay."""

    def in_a_copy(s):
        part(s, COPY)

    def in_an_overlay(s):
        overlays_here(s)
        part(s, OVERLAY)

    in_a_copy.__name__ = f"{part.__name__} in a copy"
    in_an_overlay.__name__ = f"{part.__name__} in an overlay"
    return in_a_copy, in_an_overlay


SHARED = """
import multiprocessing, os
from multiprocessing import shared_memory
os.chdir(os.environ["PLACE"]); open("file", "a").write("new\\n"); print(os.getcwd())
multiprocessing.Lock(); own = shared_memory.SharedMemory(create=True, size=100)
print(sorted(os.listdir("/dev/shm")) == sorted([own.name, os.path.basename(os.path.dirname(os.getcwd()))]))
own.close(); own.unlink()
"""


def shared_memory_directory(s):
    """A directory in /dev/shm is like any other in memory; the names of other programs there stay out of reach."""
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as top,
        tempfile.NamedTemporaryFile(dir="/dev/shm") as other,
    ):
        os.chmod(top, 0o755)
        os.chmod(other.name, 0o666)
        place = os.path.join(top, "ws")
        os.mkdir(place, 0o755)
        for mode in (BIND, COPY, OVERLAY, ""):
            answer = s.python(SHARED, writable=[place], more=f'{mode}env.set.PLACE = "{place}"\n')
            check(
                answer.out == f"{place}\nTrue\n"
                and answer.kinds.get(f"{place}/file") in ("added", "modified"),
                f"a directory in /dev/shm is writable next to private shared memory: {mode.strip() or 'auto'}",
                answer,
            )
        with open(os.path.join(place, "file"), encoding="utf-8") as file:
            check(file.read() == "new\n" * 4, "its changes are applied")
        answer = s.shell(f"echo > {other.name}x; cat {other.name}", writable=[place])
        check(
            "No such file" in answer.stderr["text"] and not os.path.exists(other.name + "x"),
            "another program's shared memory is not visible",
            answer,
        )
        for path, more, code in (
            ("/dev/shm", "", 125),
            (other.name, "", 126),
            (place, 'backend = "oci"\n', 126),
        ):
            answer = s.call("/bin/true", writable=[path], more=more)
            check(answer.code == code and answer.error["hint"], f"{path} is refused {more.strip()}", answer)


run(
    *(
        each
        for part in (
            commit_on_success,
            nothing_without_success,
            conflicts,
            types_change,
            links_lead_nowhere,
            held,
        )
        for each in in_both(part)
    ),
    too_large,
    shared_memory_directory,
    steering_stays,
    closed_to_the_next_call,
    new_steering_names,
    the_callers_umask,
)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A workspace on another disk than the state directory: an overlay, too, whose changes are copied when it is applied."""

import os
import shutil
import stat
import struct
import subprocess
import tempfile

import scene  # first: it says where the next ones are
import disks
from scene import PAUSE, Skip, check, finish, run, until
from tap import skip_all
from tree import tree

MEGABYTES = 48
FAR = "; in a layer in the state directory, copied when it is applied"
LIST = "system.posix_acl_access"


def access_list(uid):
    """rwxrwxr-x, where that user has rwx and the group r-x."""
    nobody = 2**32 - 1
    entries = (1, 7, nobody), (2, 7, uid), (4, 5, nobody), (16, 7, nobody), (32, 4, nobody)
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def elsewhere(part):
    """The part with its workspace on the other disk."""

    def moved(s):
        s.ws = tempfile.mkdtemp(dir="/mnt")
        os.chmod(s.ws, 0o755)
        try:
            part(s)
        finally:
            shutil.rmtree(s.ws, ignore_errors=True)

    moved.__name__ = part.__name__
    return moved


def put(s, name, text, mode=0o644):
    path = os.path.join(s.ws, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)
    s.written = scene.time.monotonic()
    return path


def get(s, name):
    with open(os.path.join(s.ws, name), encoding="utf-8") as file:
        return file.read()


def temporary(s):
    return [name for name in os.listdir(s.ws) if name.startswith(".toolcage-")]


def layers(s):
    store = s.path("home/.local/state/toolcage/layers")
    return os.listdir(store) if os.path.isdir(store) else []


def layer_in_state_directory(s):
    put(s, "a", "old\n")
    os.mkdir(os.path.join(s.ws, ".git"))
    answer = s.shell(
        f"cd {s.ws}; echo new >> a; mkdir -p .git/hooks d; echo x > .git/hooks/pre-commit; echo y > d/y; ln -s ../a d/l;"
        " chmod 750 d; chmod 600 d/y; touch -d '2001-01-01 00:00:00 UTC' d/y"
    )
    check(
        answer.status == "ok" and FAR in answer.enforcement["fs.write"],
        "auto is an overlay on another disk, and the result says so",
        answer,
    )
    check(
        get(s, "a") == "old\nnew\n"
        and os.stat(os.path.join(s.ws, "d/y")).st_mtime == 978307200
        and stat.S_IMODE(os.stat(os.path.join(s.ws, "d/y")).st_mode) == 0o600
        and stat.S_IMODE(os.stat(os.path.join(s.ws, "d")).st_mode) == 0o750
        and os.readlink(os.path.join(s.ws, "d/l")) == "../a",
        "its changes are applied with times and modes",
        tree(s.ws),
    )
    check(
        not os.path.exists(os.path.join(s.ws, ".git/hooks/pre-commit"))
        and answer.kinds[os.path.join(s.ws, ".git/hooks/pre-commit")] == "steers the host",
        "a steering file is held",
        answer.kinds,
    )
    check(
        not temporary(s) and until(lambda: not layers(s)), "nothing else is left", (temporary(s), layers(s))
    )
    owner = os.stat(s.ws)
    made = os.stat(os.path.join(s.ws, "d/y"))
    check((made.st_uid, made.st_gid) == (owner.st_uid, owner.st_gid), "it is the owner's", made)
    answer = s.shell(f"echo x > {s.ws}/x", flags=["--in-place"])
    check(
        answer.status == "ok" and "layer" not in answer.enforcement["fs.write"],
        "--in-place is a bind",
        answer,
    )


def attributes_are_copied(s):
    own, other = access_list(os.geteuid()), access_list(1234)
    for name, access in (("listed", own), ("foreign", other)):
        path = put(s, name, "old\n")
        os.setxattr(path, LIST, access)
        os.setxattr(path, "user.note", b"host")
    answer = s.python(
        f"import os; os.chdir({s.ws!r}); open('listed', 'a').write('new\\n'); open('own', 'w').close();"
        "os.setxattr('own', 'user.note', b'tool'); os.setxattr('listed', 'user.more', b'tool')"
    )
    path = os.path.join(s.ws, "listed")
    found = {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))}
    check(
        answer.status == "ok"
        and get(s, "listed") == "old\nnew\n"
        and found == {LIST: own, "user.more": b"tool", "user.note": b"host"},
        "a changed file keeps its access control list and attributes",
        f"{found}\n{answer}",
    )
    path = os.path.join(s.ws, "own")
    check(
        os.listxattr(path) == ["user.note"] and os.getxattr(path, "user.note") == b"tool",
        "and a new one has those that the tool set",
        os.listxattr(path),
    )
    if scene.is_root():  # overlayfs cannot copy it
        return
    answer = s.shell(f"echo new >> {s.ws}/foreign")
    path = os.path.join(s.ws, "foreign")
    check(
        answer.status == "ok" and LIST not in os.listxattr(path) and os.stat(path).st_mode & 0o777 == 0o704,
        "without a list that cannot be copied nobody gets more access",
        (os.stat(path), answer),
    )


def lists_of_directories(s):
    os.mkdir(os.path.join(s.ws, "d"))
    os.setxattr(os.path.join(s.ws, "d"), "system.posix_acl_default", access_list(1234))
    answer = s.shell(f"cd {s.ws}; echo new > d/new; mkdir d/sub")
    check(
        answer.status == "ok"
        and "an access control list is set in" in answer.enforcement["fs.steering"]
        and LIST in os.listxattr(os.path.join(s.ws, "d/new"))
        and "system.posix_acl_default" in os.listxattr(os.path.join(s.ws, "d/sub")),
        "a directory whose list could not be copied is a bind",
        answer,
    )


def conflicts(s):
    put(s, "a", "old\n")
    put(s, "b", "old\n")
    process = s.begin(f"cd {s.ws}; echo tool > a; echo tool > b; echo tool > new; {PAUSE}")
    put(s, "a", "host\n")
    put(s, "new", "host\n")
    answer = finish(process)
    check(
        (get(s, "a"), get(s, "b"), get(s, "new")) == ("host\n", "tool\n", "host\n")
        and [answer.kinds[os.path.join(s.ws, name)] for name in ("a", "new")] == ["conflict"] * 2,
        "a file that the host wrote meanwhile stays",
        answer,
    )


def full_disk(s):
    """Nothing is applied if not everything fits; all of it waits."""
    put(s, "a", "old\n")
    put(s, "gone", "old\n")
    answer = s.shell(
        f"cd {s.ws}; rm gone; echo new > a; dd if=/dev/zero of=big bs=1M count={MEGABYTES} 2>/dev/null"
    )
    check(
        answer.status == "error"
        and f"nothing was applied: the changes could not be written to the disk of {s.ws}"
        in answer.error["message"]
        and f"toolcage changes {answer.call} commit" in answer.error["hint"],
        "changes that do not fit on the disk are an error that says how to go on",
        answer,
    )
    check(
        get(s, "a") == get(s, "gone") == "old\n" and set(answer.kinds.values()) == {"pending approval"},
        "none of them is applied, and all wait",
        answer.kinds,
    )
    done = s.toolcage("changes", answer.call, "commit")
    check(
        done.returncode and "nothing was applied" in done.stderr and get(s, "a") == "old\n",
        "a commit without room applies nothing, either",
        done,
    )
    done = s.toolcage("changes", answer.call, "commit", os.path.join(s.ws, "a"))
    check(get(s, "a") == "new\n", "a change that fits can be committed alone", done)
    done = s.toolcage("changes", answer.call)
    check("big" in done.stdout and "gone" in done.stdout, "the rest still waits", done)
    s.toolcage("changes", answer.call, "discard")


def full_together(s):
    """Each directory's changes fit on the disk, but not all: what was moved is not lost."""
    big, other = (os.path.join(s.ws, name) for name in ("big", "other"))
    os.mkdir(big)
    os.mkdir(other)
    content = os.urandom(12 << 20)
    with open(os.path.join(other, "y"), "wb") as out:
        out.write(content)
    answer = s.shell(
        f"dd if=/dev/zero of={big}/new bs=1M count=20 2>/dev/null; cd {other};"
        " dd if=/dev/zero of=a bs=1M count=8 2>/dev/null; mv y y2; mkdir __pycache__; echo x > __pycache__/x.pyc",
        writable=[big, other],
    )
    check(
        answer.status == "error"
        and os.listdir(big) == []
        and os.listdir(other) == ["y"]
        and set(answer.kinds.values()) == {"pending approval"},
        "nothing is applied if directories on one disk are too large together",
        answer,
    )
    done = s.toolcage("changes", answer.call, "commit")
    check(
        done.returncode and "nothing was applied" in done.stderr and os.listdir(other) == ["y"],
        "nor by a commit of what waits",
        done,
    )
    done = s.toolcage("changes", answer.call, "discard", f"{big}/new")
    done = s.toolcage("changes", answer.call, "commit")
    with open(os.path.join(other, "y2"), "rb") as file:
        same = file.read() == content
    check(
        same and sorted(os.listdir(other)) == ["__pycache__", "a", "y2"],
        "with room, the command of the hint applies all of it, caches, too",
        (os.listdir(other), done),
    )


def attribute_does_not_fit(s):
    put(s, "y", "precious\n")
    answer = s.python(
        f"import os; os.chdir({s.ws!r}); os.setxattr('y', 'user.note', b'x' * 2000); os.rename('y', 'y2')"
    )
    check(
        answer.status == "ok" and os.listdir(s.ws) == ["y2"] and get(s, "y2") == "precious\n",
        "a file loses an attribute that the disk cannot hold, and nothing else",
        (os.listdir(s.ws), answer),
    )


def full_of_names(s):
    """A disk without free names still takes deletions."""
    put(s, "a", "old\n")
    put(s, "b", "old\n")
    made = os.path.join(s.ws, "filler")
    os.mkdir(made)
    try:
        for count in range(100000):
            os.mknod(os.path.join(made, str(count)))
    except OSError:
        pass
    answer = s.python(f"import os; os.chdir({s.ws!r}); os.rename('b', 'c'); os.makedirs('d/e')")
    check(
        answer.status == "error"
        and "nothing was applied" in answer.error["message"]
        and get(s, "b") == "old\n",
        "on a disk without free names nothing is applied that needs one",
        answer,
    )
    s.toolcage("changes", answer.call, "discard", "/")
    answer = s.shell(f"rm {s.ws}/a")
    check(
        answer.status == "ok" and not os.path.exists(os.path.join(s.ws, "a")),
        "on a disk without free names a file can be deleted",
        answer,
    )


def state_is_full(s):
    """A tool fills the disk of its layer."""
    store = tempfile.mkdtemp(dir="/mnt")
    s.ws, disk = s.path("elsewhere"), s.ws
    os.mkdir(s.ws)
    os.rmdir(disk)
    s.environ["XDG_STATE_HOME"] = store
    put(s, "a", "old\n")
    fill = "dd if=/dev/zero of=big bs=1M 2>/dev/null; dd if=/dev/zero of=rest bs=1k 2>/dev/null;"
    answer = s.shell(f"cd {s.ws}; echo new > a; {fill} rm big rest; echo last > last; {fill} true")
    check(
        get(s, "a") == "new\n" and get(s, "last") == "last\n",
        "a tool that fills the disk of its layer does not prevent the commit",
        answer,
    )
    for name in ("big", "rest", "a"):
        os.unlink(os.path.join(s.ws, name))
    put(s, "a", "old\n")
    if scene.is_root():  # stages in memory
        os.makedirs("/run/toolcage", exist_ok=True)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0755", "none", "/run/toolcage"], check=True
        )
    answer = s.shell(f"cd {s.ws}; echo new > a; {fill} true", flags=["--commit", "ask"])
    if scene.is_root():
        subprocess.run(["umount", "-l", "/run/toolcage"], check=True)
    kept = answer.error["hint"].partition("what the tool wrote is in ")[2]
    check(
        answer.status == "error" and "could not be stored" in answer.error["message"] and os.path.isdir(kept),
        "a layer that cannot be staged is kept, and the error names it",
        answer,
    )
    s.call("/bin/sleep", "0.2", writable=[])
    with open(os.path.join(kept, "a"), encoding="utf-8") as file:
        check(file.read() == "new\n", "later calls do not remove it")
    shutil.rmtree(store, ignore_errors=True)  # a helper may end just now


def state_inside(s):
    """A state directory below the workspace cannot hold its layer."""
    s.environ["XDG_STATE_HOME"] = os.path.join(s.ws, "state")
    put(s, "a", "old\n")
    answer = s.shell(f"echo new > {s.ws}/a")
    check(
        answer.status == "ok"
        and "bind instead of an overlay: the state directory" in answer.enforcement["fs.steering"]
        and get(s, "a") == "new\n",
        "without a place for the layer it is a bind, and the result says why",
        answer,
    )


def helper_dies(s):
    process = s.begin(f"cd {s.ws}; echo x > new; {PAUSE}")
    for pid in scene.helpers_of(process.pid):
        scene.end(pid)
    scene.end(process)
    process.communicate()
    check(not os.listdir(s.ws) and len(layers(s)) == 1, "a killed helper leaves the layer alone", layers(s))
    s.call("/bin/sleep", "0.2", writable=[])
    check(until(lambda: not layers(s)), "the next call's helper removes it", layers(s))


if not disks.another(MEGABYTES):
    skip_all("no disk can be mounted here")
run(
    *(
        elsewhere(part)
        for part in (
            layer_in_state_directory,
            attributes_are_copied,
            lists_of_directories,
            conflicts,
            full_disk,
            full_together,
            attribute_does_not_fit,
            state_is_full,
            full_of_names,
            state_inside,
            helper_dies,
        )
    )
)

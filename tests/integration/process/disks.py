#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A workspace on another disk than the state directory: an overlay, too, whose changes are copied when it is applied."""

import os
import shutil
import stat
import struct
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
        and "MiB on the disk of" in answer.error["message"]
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
            state_inside,
            helper_dies,
        )
    )
)

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks by the objects of a git repository: content of the tool's choice under an id that a commit names already. No file of
the work tree shows it before git checks it out."""

import binascii
import hashlib
import os
import struct
import subprocess
import zlib

from cases_workspace import SHELL, repository
from scene import CAGED, MINUTE

OLD, GOOD, EVIL = (b"#!/bin/sh\necho deploy v1\n", b"#!/bin/sh\necho deploy v2\n", b"#!/bin/sh\necho PWNED\n")


def git(s, *words):
    who = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "safe.directory=*",
        "-c",
        "core.hooksPath=/dev/null",
    ]
    return subprocess.run(
        ["git", *who, *words],
        cwd=s.path("ws"),
        env=s.environ,
        check=False,
        capture_output=True,
        text=True,
        timeout=MINUTE,
    )


def committed(s):
    repository(s, "ws")
    s.write("ws/deploy.sh", OLD)
    git(s, "add", ".")
    assert git(s, "commit", "-qm", "one").returncode == 0


def blob(content):
    whole = b"blob %d\0" % len(content) + content
    return hashlib.sha1(whole).hexdigest(), whole


def pack(name, content):
    """A pack whose index gives this name to that content."""
    size = len(content)
    entry = bytes([3 << 4 | size & 15 | 128, size >> 4]) + zlib.compress(content)
    whole = b"PACK" + struct.pack(">II", 2, 1) + entry
    whole += hashlib.sha1(whole).digest()
    raw = bytes.fromhex(name)
    index = (
        b"\377tOc" + struct.pack(">I", 2) + b"".join(struct.pack(">I", i >= raw[0]) for i in range(256)) + raw
    )
    index += struct.pack(">II", binascii.crc32(entry), 12) + whole[-20:]
    return "pack-" + hashlib.sha1(raw).hexdigest(), whole, index + hashlib.sha1(index).digest()


def plain_yes(s):
    if s.how == CAGED:
        s.note = subprocess.run(
            [s.options.toolcage, "changes", s.answer["call"]],
            env=s.environ,
            cwd=s.path("ws"),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        subprocess.run(
            [s.options.toolcage, "changes", s.answer["call"], "commit"],
            env=s.environ,
            cwd=s.path("ws"),
            capture_output=True,
            check=False,
        )
        subprocess.run(
            [s.options.toolcage, "changes", s.answer["call"], "discard"],
            env=s.environ,
            cwd=s.path("ws"),
            capture_output=True,
            check=False,
        )


def a_false_object(s):
    """The work tree has the good script, and the object that `git add` finds under its name has another."""
    committed(s)
    s.more = "" if s.how != CAGED else 'workspace = { mode = "copy", commit = "ask" }'
    name, _ = blob(GOOD)
    s.write("data/good", GOOD)
    s.write("data/evil", zlib.compress(blob(EVIL)[1]))
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; cat ../data/good > deploy.sh; mkdir -p .git/objects/{name[:2]}; cp ../data/evil .git/objects/{name[:2]}/{name[2:]}",
    )
    plain_yes(s)
    assert s.read("ws/deploy.sh") == GOOD.decode(), s.read("ws/deploy.sh")
    git(s, "commit", "-qam", "two")
    git(s, "checkout", "-q", "HEAD~1")
    git(s, "checkout", "-q", "-")
    return s.read("ws/deploy.sh") == EVIL.decode()


def is_checked_out(s):
    """The evil script, where git writes the file anew."""
    os.remove(s.path("ws/deploy.sh"))
    git(s, "checkout", "-q", ".")
    return s.read("ws/deploy.sh") == EVIL.decode()


def a_pack_replaces_content(s):
    """No file is changed at all: git reads packs before the object that is there."""
    committed(s)
    s.more = "" if s.how != CAGED else s.apart
    name, whole, index = pack(blob(OLD)[0], EVIL)
    s.write("data/pack", whole)
    s.write("data/idx", index)
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}/.git/objects; mkdir -p pack; cp ../../../data/pack pack/{name}.pack; cp ../../../data/idx pack/{name}.idx",
    )
    return is_checked_out(s)


def a_replacement(s):
    """`git replace` by hand: a good object of another name stands in for the one of the commit, alone or among packed references."""
    committed(s)
    s.more = "" if s.how != CAGED else s.apart
    name, whole = blob(EVIL)
    s.write("data/evil", zlib.compress(whole))
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}/.git; mkdir -p objects/{name[:2]} refs/replace; cp ../../data/evil objects/{name[:2]}/{name[2:]};"
        f"echo {name} refs/replace/{blob(OLD)[0]} >> packed-refs; echo {name} > refs/replace/{blob(OLD)[0]}",
    )
    return is_checked_out(s)


def a_link_is_written_through(s):
    """git writes the text of a commit to COMMIT_EDITMSG, and takes it from MERGE_MSG."""
    committed(s)
    s.more = "" if s.how != CAGED else s.apart
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; echo more >> deploy.sh; cd .git; ln -sfn config COMMIT_EDITMSG; ln -sfn ../config logs/HEAD; printf '[x]\\n\\tevil = true\\n' > MERGE_MSG",
    )
    git(s, "-c", "core.editor=true", "commit", "-qa")
    return "evil" in s.read("ws/.git/config") or os.path.islink(s.path("ws/.git/logs/HEAD"))


def an_index_has_other_content(s):
    """It lists an object of the tool's choice for a file that has not changed, with the times and size of that file."""
    committed(s)
    s.more = "" if s.how != CAGED else 'workspace = { mode = "copy", commit = "ask" }'
    with open(s.path("ws/.git/index"), "rb") as file:
        index = file.read()[:-20]
    name, whole = blob(EVIL)
    index = index[: index.find(b"TREE")].replace(bytes.fromhex(blob(OLD)[0]), bytes.fromhex(name))
    s.write("data/index", index + hashlib.sha1(index).digest())
    s.write("data/evil", zlib.compress(whole))
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}/.git; mkdir -p objects/{name[:2]}; cp ../../data/evil objects/{name[:2]}/{name[2:]}; cp ../../data/index index",
    )
    plain_yes(s)
    s.write("ws/README", b"mine\n")
    git(s, "add", "README")
    git(s, "commit", "-qm", "two")
    return git(s, "show", "HEAD:deploy.sh").stdout == EVIL.decode()


def a_false_large_file(s):
    """git-lfs checks out what lies at the name, unread."""
    repository(s, "ws")
    name = hashlib.sha256(GOOD).hexdigest()
    place = f".git/lfs/objects/{name[:2]}/{name[2:4]}"
    s.more = "" if s.how != CAGED else s.apart
    s.write("data/evil", EVIL)
    s.call(SHELL, "-c", f"cd {s.path('ws')}; mkdir -p {place}; cp ../data/evil {place}/{name}")
    return os.path.exists(s.path("ws", place, name))


def an_old_remote(s):
    """In .git/branches a file is a remote of git's early days."""
    repository(s, "ws")
    s.more = "" if s.how != CAGED else s.apart
    s.call(SHELL, "-c", f"cd {s.path('ws')}/.git; mkdir -p branches; echo /tmp/theirs > branches/origin")
    return os.path.exists(s.path("ws/.git/branches/origin"))


def planted_unsaid(s):
    """In a bind: what stands in for objects is told as what steers the host, also when it comes with a directory of an earlier call."""
    committed(s)
    good = blob(b"good\n")
    # where no object of the commit lies, whose name depends on the time
    first, second = [
        name
        for name in map("{:02x}".format, range(256))
        if name != good[0][:2] and not os.path.exists(s.path("ws/.git/objects", name))
    ][:2]
    s.write("data/good", zlib.compress(good[1]))
    large = [
        ".git/lfs/objects/ab/cd/" + name for name in ("abcd" + "0" * 60, hashlib.sha256(EVIL).hexdigest())
    ]
    s.write("data/large", EVIL)
    s.call(SHELL, "-c", f"cd {s.path('ws')}; mkdir -p prepared; cp ../data/good prepared/{'0' * 38}")
    s.call(
        SHELL,
        "-c",
        f"""cd {s.path("ws")}/.git; mv ../prepared objects/{first}; mkdir -p objects/{good[0][:2]} objects/pack objects/info/commit-graphs refs/replace
cp ../../data/good objects/{first}/{good[0][2:]}; cp ../../data/good objects/{good[0][:2]}/{good[0][2:]}
for name in objects/pack/x.idx objects/pack/multi-pack-index objects/info/alternates objects/info/commit-graph objects/info/commit-graphs/x refs/replace/{"1" * 40}
do echo x > $name; done; echo {"1" * 40} refs/replace/{"2" * 40} > packed-refs; ln -s ../../../data objects/{second}; ln -sfn config COMMIT_EDITMSG; ln -sfn config FETCH_HEAD; rm -rf logs; ln -s . logs; cp index i; echo x >> i; mv i index
mkdir -p lfs/objects/ab/cd; cd ..; cp ../data/large {large[0]}; cp ../data/large {large[1]}""",
    )
    rows = {
        os.path.relpath(change["path"], s.path("ws/.git")): change.get("steers_host", False)
        for change in s.answer["changes"]
    }
    planted = [
        f"objects/{first}/" + "0" * 38,
        f"objects/{first}/" + good[0][2:],
        "objects/pack/x.idx",
        "objects/pack/multi-pack-index",
        "objects/info/alternates",
        "objects/info/commit-graph",
        "objects/info/commit-graphs/x",
        "refs/replace/" + "1" * 40,
        "packed-refs",
        f"objects/{second}",
        "COMMIT_EDITMSG",
        "FETCH_HEAD",
        "logs",
        "index",
        large[0][5:],
    ]
    s.note = [name for name in planted if not rows.get(name)]
    assert (
        s.how != CAGED
        or rows[f"objects/{good[0][:2]}/{good[0][2:]}"] is False
        and rows[large[1][5:]] is False
    ), rows
    return bool(s.note) and all(os.path.lexists(s.path("ws/.git", name)) for name in planted)


CASES = [
    ("a git object does not match its name", a_false_object, {"alike": True}),
    ("a pack replaces what a commit has", a_pack_replaces_content, {"alike": True}),
    ("an object is replaced by a reference", a_replacement, {"alike": True}),
    ("git writes through a link at its own record", a_link_is_written_through, {"alike": True}),
    ("a git index differs from the files", an_index_has_other_content, {"alike": True}),
    ("a git LFS file does not match its name", a_false_large_file, {"alike": True}),
    ("a remote of git's early days is planted", an_old_remote, {"alike": True}),
    ("git's objects are replaced unreported", planted_unsaid, {"alike": True, "in_place": "too"}),
]

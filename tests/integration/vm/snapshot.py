#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Machines that go on from a file: each copy serves one call and is like no other, and a file that is not what was written is not used.

usage: snapshot.py TOOLCAGE [self | ordinary]"""

import glob
import hashlib
import hmac
import os
import sys
import time

import scene
from scene import check, finish

SCRIPT = "cat /proc/sys/kernel/random/boot_id; dd if=/dev/urandom bs=16 count=1 2>/dev/null | od -An -tx1; date +%s; ls /dev/shm /tmp; touch /tmp/left /dev/shm/left"
KEPT = "snapshot = true"


def begin(more=""):
    return scene.start(SCRIPT, backend=KEPT, more=more)


def end(process):
    answer = scene.end(process)
    lines = answer.json.get("stdout", {}).get("text", "").split("\n") + [""] * 3
    answer.boot, answer.random, answer.time = lines[0], lines[1], int(lines[2] or 0)
    answer.left = lines[3:]
    return answer


def call(more=""):
    return end(begin(more))


def kept():
    found = glob.glob(os.path.join(scene.state(), "machines", "*.record"))
    return sorted(name.removesuffix(".record") for name in found)


def seal(path):
    """A record as the one who knows the key writes it: what is left to notice is what is in the file."""
    st = os.stat(path)
    changed = st.st_ctime_ns
    words = f"toolcage-sealed 2\n{path}\n{st.st_dev:x}.{st.st_ino:x}.{st.st_size:x}.{changed // 10**9:x}.{changed % 10**9:x}\n"
    with open(os.path.join(os.path.dirname(path), "key"), "rb") as file:
        key = file.read()
    with open(path + ".record", "w", encoding="utf-8") as out:
        out.write("sha256:" + hmac.new(key, words.encode(), hashlib.sha256).hexdigest())


scene.begin(sys.argv[2])
first = call()
check(first.code == 0 and len(kept()) == 1, "the first call boots a machine and keeps it", (first, kept()))
check(
    oct(os.stat(os.path.dirname(kept()[0])).st_mode & 0o777) == "0o700",
    "in a directory that nobody else reads",
)
before = kept()
began = time.time()
second = call()
check(second.code == 0 and second.boot == first.boot, "the next one goes on from there", (first, second))
check(
    second.random != first.random and len(second.random) == 48,
    "with random numbers of its own",
    (first.random, second.random),
)
check(began - 2 <= second.time <= time.time() + 2, "and the time of day", (began, second.time))
check("left" not in second.left, "files of the first call are not there", second)
pair = [begin(), begin()]
pair = [end(process) for process in pair]
check(
    all(one.code == 0 and one.boot == first.boot for one in pair)
    and len({one.random for one in (*pair, first, second)}) == 4,
    "two at once are copies of it, and unlike",
    [(one.boot, one.random, one) for one in pair],
)

os.mkdir("shown")
with open("shown/file", "w", encoding="utf-8") as out:
    out.write("first\n")
FILES = f'[tool.f]\nbackend = "qemu"\nimage = "small"\nfilesystem = {{ readable = ["{os.path.abspath("shown")}"] }}\ntimeout = "240s"\n'
LOOK = f"cat /proc/sys/kernel/random/boot_id {os.path.abspath('shown')}/file"
one = scene.call(LOOK, backend=KEPT, more=FILES, tool="f")
with open("shown/file", "w", encoding="utf-8") as out:
    out.write("second, and longer\n" * 100000)
two = scene.call(LOOK + " | head -2", backend=KEPT, more=FILES, tool="f")
lines = [answer.json.get("stdout", {}).get("text", "").split("\n") for answer in (one, two)]
check(
    one.code == two.code == 0
    and lines[0][0] == lines[1][0]
    and (lines[0][1], lines[1][1]) == ("first", "second, and longer"),
    "granted files are carried into a copy as they are now",
    (one, two),
)

path = next(name for name in kept() if name in before)
larger = call(more='disk = "80MiB"')
check(
    larger.code == 0 and larger.boot != first.boot and len(kept()) == 3,
    "a machine of another size is another one",
    kept(),
)

os.chmod(path, 0o600)
with open(path, "r+b") as file:
    file.seek(40 << 20)
    byte = file.read(1)
    file.seek(-1, 1)
    file.write(bytes([byte[0] ^ 1]))
changed = call()
check(
    changed.code == 0 and changed.boot not in (first.boot, larger.boot),
    "a file with one byte changed is not used",
    changed,
)
again = call()
check(again.boot == changed.boot, "its place is taken by a new one", again)

both = [path, next(name for name in kept() if name != path)]
for names in (both, both[::-1]):
    os.rename(names[0], names[0] + ".aside")
    os.rename(names[0] + ".record", names[0] + ".aside.record")
    os.rename(names[1], names[0])
    os.rename(names[1] + ".record", names[0] + ".record")
    os.rename(names[0] + ".aside", names[1])
    os.rename(names[0] + ".aside.record", names[1] + ".record")
    if names is both:
        swapped = call()
        check(
            swapped.code == 0 and swapped.boot not in (again.boot, larger.boot),
            "a file that stands in another's place is not used",
            swapped,
        )

again = call()
os.chmod(path, 0o600)
with open(path, "r+b") as file:
    check(file.read(8) == b"QEVM\0\0\0\3", "a file says which form it has")
    file.seek(4)
    file.write(b"\0\0\0\2")
os.chmod(path, 0o444)
seal(path)
other = call()
check(
    other.code == 125 and other.error.get("code") == "backend" and other.error.get("stage") == "boot",
    "one of another version is an error that says so",
    other,
)
check(path not in kept(), "and is not tried again", kept())
again = call()

os.chmod(path, 0o600)
os.truncate(path, 1 << 20)
os.chmod(path, 0o444)
seal(path)
cut = call()
check(
    cut.code == 125 and cut.error.get("code") == "backend" and cut.error.get("stage") == "boot",
    "a machine that cannot go on from its file is an error that says so",
    cut,
)
check(path not in kept(), "and is not tried again", kept())
after = call()
check(after.code == 0 and after.boot != again.boot and path in kept(), "the next call boots", after)
plain = scene.call(SCRIPT)
check(
    plain.code == 0 and plain.json["stdout"]["text"].split("\n")[0] != after.boot,
    "a policy that does not ask for it gets a machine that boots",
    plain,
)
check(not scene.monitors(), "nothing is left running", scene.monitors())
finish()

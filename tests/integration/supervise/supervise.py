#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What holds a call to its limits when the helper itself is held up, and ends that come at odd moments."""

import contextlib
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"))
from scene import PAUSE, PATIENCE, check, end, finish, is_root, run, runs, skip, start_time, until  # noqa: E402  pylint: disable=wrong-import-position
from processes import parent  # noqa: E402  where scene says


def helper_of(*command):
    """The helper above a shell in a cage that waits for this command, and the command's pid."""
    with contextlib.suppress(OSError):
        pid = runs(*command)
        return pid and (parent(parent(parent(pid))), pid)
    return None


def a_stopped_helper(s):
    """The helper does nothing at all: the cage ends itself soon after its deadline, and is a timeout."""
    name = f"31.{os.getpid()}"
    process = s.popen("/bin/sh", "-c", f"trap '' TERM; sleep {name}; sleep 32", more='timeout = "1s"')
    found = []
    until(lambda: found.append(helper_of("sleep", name)) or found[-1])
    if not check(found and found[-1], "the helper of the cage is found"):
        end(process)
        return
    helper, tool = found[-1]
    began = start_time(tool)
    os.kill(helper, signal.SIGSTOP)
    try:
        time.sleep(PATIENCE / 2)
        check(start_time(tool) == began, "while the helper is stopped the tool runs on")
        check(until(lambda: start_time(tool) != began, 6), "and has ended soon after its deadline")
    finally:
        os.kill(helper, signal.SIGCONT)
    answer = finish(process)
    check(answer.status == "timeout" and answer.code == 124, "the result says timeout", answer)


def a_deadline_before_the_walls(s):
    """So little time that the cage cannot come up: a timeout, not a broken machine."""
    statuses = {s.call("/bin/true", more='timeout = "1ms"').status for _ in range(8)}
    check(statuses <= {"timeout", "ok"}, "a timeout of 1 ms is a timeout, or the call was quicker", statuses)


def a_sparse_giant(s):
    """A copy's file of 200 MiB that takes no room there takes none on the host either."""
    answer = s.shell(
        "echo data > big; truncate -s 200M big; echo end >> big",
        more='workspace = { mode = "copy" }\ndisk = "8MiB"',
    )
    here = os.stat(s.path("ws/big")) if os.path.exists(s.path("ws/big")) else None
    check(answer.status == "ok" and here, "a sparse file is committed", answer)
    if here:
        check(here.st_size == (200 << 20) + 4 and here.st_blocks * 512 < 1 << 20, "with its holes", here)


def other_owners(s):
    """Of root's copied workspace the cage gets what belongs to its owner, as of a bound one."""
    if not is_root():
        skip("other owners' files", "needs root")
        return
    for name, uid in (("own", 1234), ("other", 0)):
        os.chown(s.write(f"ws/{name}", name, 0o600), uid, uid)
    os.chown(s.ws, 1234, 1234)
    answer = s.shell(
        "cat own other; echo more >> own; echo more >> other; echo new > new",
        more='workspace = { mode = "copy" }',
    )
    check(answer.out == "own", "a private file of another owner is not readable in a copy", answer)
    owners = {name: os.stat(s.path("ws", name)).st_uid for name in ("own", "other", "new")}
    check(owners == {"own": 1234, "other": 0, "new": 1234}, "owners stay as they were", owners)
    check(s.read("ws/other") == b"other", "a file of another owner is not changed")


def a_mask_whose_number_returns(s):
    """A denied file is removed and made anew, which file systems like to do with the same inode number."""
    secret = s.write("ws/.env", "first")
    process = s.begin(f"echo up; {PAUSE}; cat .env", denied=[secret])
    for _ in range(20):
        os.unlink(secret)
        s.write("ws/.env", "second")
    answer = finish(process)
    check(
        "second" not in answer.out or answer.status == "error", "the call says that its mask was gone", answer
    )


def views_of_the_kernel(s):
    """A chroot with its own /proc below what is granted, for reading, for writing and in a copy."""
    if not is_root():
        skip("views of the kernel", "needs root")
        return
    s.directory("ws/chroot/proc")
    s.write("ws/chroot/file", "data")
    wrap = [
        "unshare",
        "-m",
        "/bin/sh",
        "-c",
        f'mount -t proc proc {s.path("ws/chroot/proc")} && exec "$@"',
        "sh",
    ]
    script = f"cd {s.path('ws/chroot')}; cat file; cat proc/1/cmdline; cat proc/version; ls proc"
    for name, grant in (
        ("readable", {"readable": [s.ws], "writable": []}),
        ("writable", {}),
        ("copied", {"more": 'workspace = { mode = "copy" }'}),
    ):
        answer = s.shell(script, wrap=wrap, **grant)
        check(answer.out == "data", f"{name}: the host's processes are not in it", answer)
    os.symlink("/proc", s.path("link"))
    answer = s.call("/bin/true", readable=[f'{{ path = "/data/p", from = "{s.path("link")}" }}'], writable=[])
    check(answer.status == "denied" and answer.error["code"] == "path", "a link to /proc is refused", answer)


def denied_system_paths(s):
    """`denied` wins over what every cage shows."""
    answer = s.shell(
        "for f in /etc/hosts /etc/passwd /etc/ssl/openssl.cnf /etc/alternatives/*; do [ -e $f ] && echo $f; done; echo end",
        denied=["/etc"],
    )
    check(answer.out == "end\n", "nothing of /etc is there", answer)
    answer = s.shell("cat /etc/passwd; cat /etc/hosts", denied=["/etc/hosts"])
    check(answer.out.startswith("tool:") and "localhost" not in answer.out, "or one file less", answer)


run(
    views_of_the_kernel,
    denied_system_paths,
    a_stopped_helper,
    a_deadline_before_the_walls,
    a_sparse_giant,
    other_owners,
    a_mask_whose_number_returns,
)

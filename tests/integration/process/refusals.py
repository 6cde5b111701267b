#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls that cannot be run as granted are refused: with the thing, the cause and the next step, the right exit
code, and nothing left behind. Also on machines that lack what a cage needs."""

import time
import json
import os
import subprocess
import tempfile

from scene import PATIENCE, TOOLCAGE, Answer, Skip, check, in_namespaces, is_root, run


def refused(answer, name, code, word, subject, *texts):
    """Exit code, error code, what it is about, and words that its message or hint must have."""
    error = answer.error or {}
    said = f"{error.get('message')} {error.get('hint')}"
    check(
        answer.code == code
        and error.get("code") == word
        and (subject is None or error.get("subject") == subject)
        and error.get("message")
        and error.get("hint")
        and all(text in said for text in texts),
        name,
        f"wanted {code}, {word}, {subject}, {texts}\n{answer}",
    )


def commands(s):
    refused(
        s.call("no-such-command"), "a command that is missing", 127, "command_not_found", "no-such-command"
    )
    refused(
        s.call("/no/such/command"), "a path that is missing", 127, "command_not_found", "/no/such/command"
    )
    plain = s.write("ws/plain", "text\n")
    refused(s.call(plain), "a file that is not executable", 126, "not_executable", plain)
    refused(s.call("/usr"), "a directory", 126, "not_executable", "/usr")
    foreign = s.write("ws/foreign", b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\xf3\0" + b"\0" * 60, 0o755)
    refused(s.call(foreign), "another architecture", 126, "not_executable", foreign, "architecture")
    nohash = s.write("ws/nohash", "echo x\n", 0o755)
    refused(s.call(nohash), "a script without a #! line", 126, "not_executable", nohash, "#!")
    lost = s.write("ws/lost", "#!/no/such/interpreter\n", 0o755)
    answer = s.call(lost)
    check(
        answer.code in (126, 127)
        and answer.error
        and answer.error["subject"] == lost
        and answer.error["hint"],
        "an interpreter that is missing",
        answer,
    )
    empty = s.write("ws/empty", "", 0o755)
    answer = s.call(empty)
    check(answer.code == 126 and answer.error, "an empty program", answer)


def paths(s):
    missing = s.path("nowhere")
    refused(
        s.call("/bin/true", readable=[missing]),
        "a granted path that is missing",
        126,
        "path",
        missing,
        "optional",
    )
    answer = s.call("/bin/true", readable=['{ path = "%s", optional = true }' % missing])
    check(answer.status == "ok", "unless it is optional", answer)
    refused(
        s.call("/bin/true", more='cwd = "/nowhere"'),
        "a working directory that is missing",
        126,
        "path",
        "/nowhere",
        "cwd",
    )
    fifo = s.path("fifo")
    os.mkfifo(fifo)
    refused(s.call("/bin/true", readable=[fifo]), "a granted pipe", 126, "path", fifo)
    os.makedirs(s.path("ws/shared"))
    s.write("secret/canary", "KEY\n")
    os.rmdir(s.path("ws/shared"))
    os.symlink("../secret", s.path("ws/shared"))
    shared = s.path("ws/shared")
    answer = s.shell(f"cat {shared}/canary", readable=[shared])
    refused(answer, "a granted path that a tool made a link", 126, "path", shared, "link")
    answer = s.shell(f"cat {shared}/canary", readable=[shared], writable=())
    refused(answer, "the same by a policy whose tools write nowhere", 126, "path", shared, "link")
    answer = s.shell(f"cat {s.path('secret')}/canary", readable=[s.path("secret")], writable=())
    check(answer.out == "KEY\n", "the target of the link may be granted itself", answer)
    own = s.path("own")
    os.symlink("secret", own)
    answer = s.shell(f"cat {own}/canary", readable=[own])
    check(answer.out == "KEY\n", "a link where only the caller can write is followed", answer)


def locked(s):
    if is_root():
        raise Skip("only an ordinary user is stopped by a mode")
    s.directory("locked/in")
    os.chmod(s.path("locked"), 0)
    path = s.path("locked/in")
    answer = s.call("/bin/true", readable=[path])
    # its own helper may look into the caller's own directories
    check(
        answer.status == "ok" or (answer.code == 126 and answer.error["subject"] == path),
        "a directory of mode 0",
        answer,
    )
    os.chmod(s.path("locked"), 0o755)
    answer = s.call("/bin/true", readable=["/etc/ssl/private/toolcage-none"])
    check(
        answer.code == 126 and answer.error and answer.error["hint"],
        "a path behind somebody else's private directory, or nowhere",
        answer,
    )


def groups_for_an_ordinary_user(s):
    if is_root():
        raise Skip("only an ordinary user lacks the right to make control groups")
    try:
        s.works("limit.memory")
    except Skip:
        answer = s.call("/bin/true", memory='"512MB"')
        refused(
            answer,
            "a memory limit without the right to control groups",
            126,
            "unenforceable",
            "limit.memory",
            "any",
        )
        return
    raise Skip("skipped: this user may make control groups")


def broken(s, name, wrap, *texts, clause=None, **grant):
    """A call on a machine that lacks something, made by a wrapper that runs the rest of its arguments."""
    process = s.popen("/bin/true", wrap=wrap, program=s.own_copy(), **grant)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    answer = Answer(process.returncode, out, err)
    if answer.json is None and process.returncode not in (125, 126):
        raise Skip(f"this machine cannot be broken so: {answer.err.strip()[-200:]}")
    error = answer.error or {}
    check(
        answer.code in (125, 126)
        and answer.status in ("denied", "error")
        and error.get("message")
        and error.get("hint")
        and (clause is None or error.get("clause") == clause)
        and all(text in f"{error}" for text in texts),
        name,
        answer,
    )


def no_user_namespaces(s):
    if is_root():
        limit = [
            "/usr/bin/unshare",
            "--user",
            "--map-root-user",
            "/bin/sh",
            "-c",
            'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
            "sh",
        ]
        broken(s, "no user namespaces, as root of a namespace", limit)
        return
    # the limit is that of a nested namespace: nothing of the machine is changed
    limit = [
        "/usr/bin/unshare",
        "--user",
        "--map-current-user",
        "--keep-caps",
        "/bin/sh",
        "-c",
        'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
        "sh",
    ]
    broken(s, "no user namespaces", limit, "namespace")


def covered_proc(s):
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        others = [line.split()[4] for line in file if " - proc " in line and line.split()[4] != "/proc"]
    if others:
        raise Skip(f"skipped: another procfs is mounted, which the kernel takes as good: {others}")
    broken(s, "/proc partly covered", in_namespaces("mount --bind /dev/null /proc/version"), "proc")
    s.own_copy()
    s.environ["LD_LIBRARY_PATH"] = s.path(
        "own/src"
    )  # without /proc the loader does not know where a program is
    broken(
        s,
        "/proc not mounted",
        in_namespaces("mount -t tmpfs none /proc"),
        "/proc is not mounted",
        "mount -t proc",
    )


def in_a_chroot(s):
    """The kernel makes no user namespace there; but our other programs are found, and nothing else is given for the reason."""
    if not is_root():
        raise Skip("only root can make a chroot of it")
    root = s.directory("other")
    os.mkdir(os.path.join(root, "below"))
    wrap = in_namespaces(f'mount --rbind / {root}/below && set -- /usr/sbin/chroot {root}/below "$@"')
    done = subprocess.run(
        [*wrap, TOOLCAGE, "doctor", "--json"],
        env=s.environ,
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    rows = {row["clause"]: row for row in json.loads(done.stdout)["clauses"]}
    check(
        not rows["priv.none"]["works"] and "installed" not in rows["net.allow"]["reason"],
        "in a chroot the egress proxy is found",
        (rows["priv.none"], rows["net.allow"], done.stderr),
    )


def read_only_groups(s):
    if not is_root():
        raise Skip("only root can make control groups read-only for itself")
    s.works("limit.memory")
    read_only = (
        "for m in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,bind,ro $m 2>/dev/null; done; true"
    )
    broken(s, "read-only control groups", in_namespaces(read_only), memory='"128MiB"')
    process = s.popen("/bin/true", wrap=in_namespaces(read_only))
    out, err = process.communicate(timeout=60)
    answer = Answer(process.returncode, out, err)
    check(
        answer.status == "ok" and answer.enforcement["limit.memory"].startswith("RLIMIT"),
        "by = any holds without them, and says how",
        answer,
    )


def no_processes_left(s):
    if is_root():
        raise Skip("only an ordinary user has a limit of processes")
    broken(s, "no process left", ["/usr/bin/prlimit", "--nproc=1"])


def no_descriptors_left(s):
    broken(s, "no descriptor left", ["/bin/sh", "-c", 'ulimit -n 5 && exec "$@"', "sh"])


def no_memory_left(s):
    for size in (20000, 40000, 60000):
        process = s.popen("/bin/true", wrap=["/bin/sh", "-c", f'ulimit -v {size} && exec "$@"', "sh"])
        out, err = process.communicate(timeout=60)
        answer = Answer(process.returncode, out, err)
        fine = answer.status == "ok"
        told = answer.code in (125, 126) and (answer.error and answer.error["message"] or answer.err)
        check(
            fine or told or answer.code == 127 and b"" == out,
            f"address space of {size} KiB: the call or a clear failure",
            answer,
        )


def groups_of_root(s):
    """An ordinary caller whose primary group is root's would lend it to the tool."""
    if not is_root():
        raise Skip("only root can start a process with another primary group")
    process = s.popen("/bin/true", wrap=["/usr/bin/setpriv", "--reuid=65533", "--regid=0", "--clear-groups"])
    out, err = process.communicate(timeout=60)
    answer = Answer(process.returncode, out, err)
    if answer.json is None:
        raise Skip("an ordinary user cannot reach the build directory")
    refused(answer, "gid 0 of an ordinary user", 126, "unenforceable", "gid 0", "group")


def temporary(s):
    """The caller's /tmp is not the cage's: what is granted in it is found from there, and nothing else is guessed."""
    fd, name = tempfile.mkstemp(prefix="toolcage-test-", dir="/tmp")
    s.ends.callback(os.remove, name)
    os.write(fd, b"text-31\n")
    os.close(fd)
    os.chmod(name, 0o644)
    name = os.path.basename(name)

    def here(*flags):
        return subprocess.run(
            [TOOLCAGE, "exec", *flags, "--", "/bin/sh", "-c", f"pwd; cat {name}"],
            env=s.environ,
            cwd="/tmp",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60 * PATIENCE,
            check=False,
        )

    done = here()
    check(
        done.returncode == 126
        and not done.stdout
        and "working directory /tmp is private in the cage" in done.stderr
        and "--workspace /tmp" in done.stderr,
        "/tmp is not granted, and the ways out are named",
        done,
    )
    for flags, place in (
        (("--read", name), "/tmp"),
        (("--write", name), "/tmp"),
        (("--workspace", "/tmp"), "/workspace"),
    ):
        done = here(*flags)
        check(done.stdout == f"{place}\ntext-31\n", f"but with {' '.join(flags)}", done)


def a_runtime_that_hangs_is_given_up(s):
    """A program of another backend that never ends delays the doctor by the limit of its probe, which it names."""
    if not os.path.exists("/usr/bin/crun"):
        raise Skip("crun is not installed")
    hangs = s.write("hangs", "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 60; done\n", 0o755)
    began = time.monotonic()
    done = subprocess.run(
        [*in_namespaces(f"mount --bind {hangs} /usr/bin/crun"), s.own_copy(), "doctor", "--json"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        timeout=100 * PATIENCE,
        check=False,
    )
    took = time.monotonic() - began
    rows = {row["backend"]: row for row in json.loads(done.stdout)["backends"]}
    check(
        not rows["oci"]["works"] and "within 5 s" in rows["oci"]["reason"],
        "the doctor says that a runtime did not answer, and within what time",
        rows["oci"],
    )
    check(took < 40 * PATIENCE, "and goes on", took)


run(
    commands,
    paths,
    temporary,
    locked,
    groups_for_an_ordinary_user,
    no_user_namespaces,
    covered_proc,
    in_a_chroot,
    read_only_groups,
    no_processes_left,
    no_descriptors_left,
    no_memory_left,
    groups_of_root,
    a_runtime_that_hangs_is_given_up,
)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls in containers of a runtime: what they give back, how they end, and what a hostile tool finds there.

usage: runs.py TOOLCAGE [self | ordinary] crun | runc | runsc | PATH of a runsc"""

import glob
import os
import pty
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"))

from scene import (
    PATIENCE,
    TOOLCAGE,
    Skip,
    below,
    check,
    end,
    helper_of,
    in_modes,
    run,
    skip_all,
    start_time,
    until,
)
import runsc

RUNTIME = os.path.basename(sys.argv[3])
if "/" in sys.argv[3]:
    runsc.put_in_place(sys.argv[3])
BACKEND = "gvisor" if RUNTIME == "runsc" else "oci"
WHERE = f'timeout = "30s"\nbackend = "{BACKEND}"'
CHOICE = "" if RUNTIME == "runsc" else f'[backend.oci]\nruntime = "{RUNTIME}"\n'


def more(text=""):
    """The end of a policy; later lines of a tool, then the choice of the runtime."""
    system = "" if "image =" in text else 'image = "system"'
    return f"{WHERE}\n{system}\n{text}\n{CHOICE}"


def an_ordinary_call(s):
    s.write("ws/old", "old\n")
    answer = s.call(
        "/bin/sh",
        "-c",
        f"cat; cat {s.ws}/old; echo new > {s.ws}/new; id -u; exit 3",
        stdin=b"given\n",
        more=more(),
    )
    check(answer.status == "failed" and answer.exit_code == 3, "the tool's own exit code", answer)
    check(
        answer.out.startswith("given\nold\n") and answer.out.split()[-1] not in ("", "0"),
        "input, files, and no root",
        answer,
    )
    check(
        answer.kinds == {f"{s.ws}/new": "added"} and s.read("ws/new") == b"new\n",
        "the tool's changes are listed",
        answer,
    )
    check(
        answer.backend == BACKEND and "container" in (answer.enforcement or {}).get("proc.own", ""),
        "the result says what held it",
        answer,
    )
    check(os.stat(s.path("ws/new")).st_uid == os.geteuid(), "and belongs to the caller")


def output_is_whole(s):
    answer = s.shell("head -c 600000 /dev/zero | tr '\\0' x; echo end", more=more())
    check(
        answer.status == "ok" and answer.stdout["bytes"] == 600004 and answer.out.endswith("xend\n"),
        "600 kB arrive, the last byte too",
        (answer.status, answer.stdout and answer.stdout["bytes"], answer.err),
    )


def files_are_whole(s):
    """The runtime is ended as soon as the tool has; nothing that it has written may hang upon its own end."""
    begin = (
        "import mmap; f = open('{}', 'w+b', buffering=0); f.truncate(8 << 20); m = mmap.mmap(f.fileno(), 0); "
    )
    answer = s.python(
        (begin + "m[:4 << 20] = b'x' * (4 << 20); f.seek(4 << 20); f.write(b'y' * (4 << 20))").format(
            f"{s.ws}/mapped"
        ),
        more=more(),
    )
    check(
        answer.status == "ok" and s.read("ws/mapped") == b"x" * (4 << 20) + b"y" * (4 << 20),
        "mapped and written bytes are in the file",
        answer,
    )


def a_workspace_comes_back(s, mode):
    s.write("ws/file", "before\n")
    answer = s.shell(f"echo after > {s.ws}/file", more=more(f'workspace = {{ mode = "{mode}" }}'))
    if answer.status == "denied" and answer.error["stage"] == "overlay":
        raise Skip(answer.error["message"])
    check(answer.status == "ok" and s.read("ws/file") == b"after\n", f"{mode}: after success", answer)
    answer = s.shell(f"echo worse > {s.ws}/file; exit 1", more=more(f'workspace = {{ mode = "{mode}" }}'))
    check(answer.status == "failed" and s.read("ws/file") == b"after\n", f"{mode}: not after failure", answer)
    s.write("ws/dir/sub/old", "old\n")
    s.write("ws/.env", "KEY\n")
    script = f"cd {s.ws}; cat .env; mv file moved; rm -r dir; mkdir dir; echo n > dir/n; echo evil > .env; mkdir -p .git/hooks; echo evil > .git/hooks/x; :"
    answer = s.shell(script, more=more(f'workspace = {{ mode = "{mode}" }}'), denied=[s.path("ws/.env")])
    check(
        "KEY" not in answer.out
        and s.read("ws/.env") == b"KEY\n"
        and not os.path.exists(s.path("ws/.git/hooks/x")),
        f"{mode}: nothing denied, nothing that steers",
        answer,
    )
    check(
        not os.path.exists(s.path("ws/file"))
        and s.read("ws/moved") == b"after\n"
        and os.listdir(s.path("ws/dir")) == ["n"],
        f"{mode}: moves and removals",
        answer,
    )
    answer = s.shell(
        f"echo asked > {s.ws}/moved", more=more(f'workspace = {{ mode = "{mode}", commit = "ask" }}')
    )
    check(
        answer.kinds == {s.path("ws/moved"): "pending approval"} and s.read("ws/moved") == b"after\n",
        f"{mode}: and what is pending approval",
        answer,
    )
    subprocess.run(
        [TOOLCAGE, "changes", answer.call, "commit"], env=s.environ, capture_output=True, check=False
    )
    check(s.read("ws/moved") == b"asked\n", f"{mode}: which then comes")


def a_copied_workspace(s):
    a_workspace_comes_back(s, "copy")


def an_overlaid_workspace(s):
    a_workspace_comes_back(s, "overlay")


def a_workspace_by_default(s):
    """What a tool wrote is there however it ends, and what steers the host waits for a person."""
    s.write("ws/.git/config", "[core]\n")
    script = f"cd {s.ws}; echo evil >> .git/config; echo evil > .envrc; echo new > new"
    flood = 'output = { limit = "64KiB", over = "kill" }'
    for status, last, limit in (("failed", "exit 4", ""), ("limit", "exec yes", flood)):
        answer = s.shell(f"{script}; {last}", more=more(limit))
        check(
            answer.status == status and s.read("ws/new") == b"new\n",
            f"without a mode: the file of a tool that ends as {status} is there",
            answer,
        )
        if answer.status == status and "a bind instead of an overlay" in answer.enforcement["fs.steering"]:
            raise Skip(f"skipped: {answer.enforcement['fs.steering']}")
        steering = {s.path("ws", each): "steers the host" for each in (".git/config", ".envrc")}
        check(
            answer.kinds == {s.path("ws/new"): "added", **steering}
            and s.read("ws/.git/config") == b"[core]\n"
            and not os.path.exists(s.path("ws/.envrc")),
            "and nothing that steers",
            answer,
        )
        os.unlink(s.path("ws/new"))


def paths_are_observed(s):
    s.write("outside/file", "x")
    s.write("data/file", "x")
    answer = s.shell(
        f"cat {s.path('outside/file')} {s.data}/file; echo x >> {s.data}/file; echo y > {s.ws}/new; false",
        readable=[s.data],
        more=more('denials = "paths"'),
    )
    if BACKEND == "gvisor":
        check(
            answer.status == "denied" and answer.error["subject"] == "denials" and answer.error["hint"],
            "refused where nobody can",
            answer,
        )
        return
    told = {
        (denial["operation"], denial["target"]) for denial in answer.denials or [] if not denial.get("probe")
    }
    check(
        told == {("read", s.path("outside/file")), ("write", f"{s.data}/file")},
        "paths outside of the grant are listed",
        answer,
    )


def ends_in_time(s):
    script = "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 0.05; done"
    for limit in (1.2, 2.4, 4.8, 9.6):  # a busy machine may not even have started it by the first
        begun = time.monotonic()
        answer = s.shell(script, more=more().replace("30s", f"{limit * 1000:.0f}ms"))
        took = time.monotonic() - begun
        if "up" in answer.out:
            break
    check(
        answer.status == "timeout" and "asked" in answer.out,
        "a tool that is asked to end can say something",
        answer,
    )
    check(took < (limit + 2.5) * PATIENCE * 2, "soon after its deadline", took)
    answer = s.shell(
        "trap '' TERM; while :; do sleep 0.05; done", more=more('grace = "200ms"').replace("30s", "1000ms")
    )
    check(answer.status == "timeout", "one that will not is ended", answer)


def a_missing_command(s):
    answer = s.call("no-such-command", more=more())
    check(answer.code == 127 and answer.error["code"] == "command_not_found", "is not found", answer)


HOSTILE = r"""
import os, socket
def tried(name, act):
    try:
        act()
        print("DONE", name)
    except (OSError, AttributeError) as error:
        print("refused", name, error)
tried("descriptor", lambda: open("/proc/1/fd/3", "rb"))
tried("memory", lambda: open("/proc/1/mem", "r+b"))
tried("socket", lambda: socket.socket(socket.AF_UNIX).connect("/.toolcage/talk/report"))
tried("report", lambda: os.write(3, b"x" * 40))
tried("init", lambda: open("/.toolcage/init", "r+b"))
tried("core", lambda: open("/proc/sys/kernel/core_pattern", "r+b"))
tried("root", lambda: os.setuid(0))
tried("namespace", lambda: os.unshare(0x10000000))
tried("hostname", lambda: socket.sethostname("other"))
tried("devices", lambda: open("/dev/new", "w"))
tried("bundle", lambda: open("/config.json"))
tried("outside", lambda: os.listdir("/tmp/rootfs"))
print("end", os.getuid())
"""


def a_hostile_tool(s):
    answer = s.call("/usr/bin/python3", "-I", "-c", HOSTILE, more=more())
    check(
        answer.status == "ok" and "end" in answer.out and "DONE" not in answer.out,
        "gets nothing of PID 1 or of the bundle",
        answer,
    )
    answer = s.shell("kill -9 1; sleep 0.3; echo alive", more=more())
    # gVisor lets PID 1 be killed: that ends the cage, and is no success
    check(
        answer.out == "alive\n" if BACKEND == "oci" else answer.status != "ok" or answer.out == "alive\n",
        "PID 1 cannot be killed, or the cage ends",
        answer,
    )
    answer = s.shell("kill -9 -1; echo alive; sleep 0.1", more=more())
    check(answer.status in ("ok", "failed"), "a tool that kills every process gets a result", answer)


def forks(s):
    answer = s.shell("(setsid sleep 77 &) ; (sleep 77 &) ; echo up", more=more())
    check(
        answer.status == "ok" and answer.out == "up\n", "processes left behind do not hold the call", answer
    )


def in_a_layer(s, name):
    """Has a call that runs written this file of the workspace to a layer?"""
    return glob.glob(s.path("home/.local/state/toolcage/layers/*/l/u", name))


def nobody_is_left(s):
    for name in ("program", "helper", "runtime"):
        process = s.popen(
            "/bin/sh",
            "-c",
            f"echo up > {s.ws}/{name}; trap '' TERM; while :; do sleep 0.05; done",
            more=more(),
        )
        up = until(lambda: os.path.exists(s.path("ws", name)) or in_a_layer(s, name), 20)
        helper = helper_of(process.pid)
        tree = below(helper)
        check(up and helper and len(tree) >= 2, f"{name}: a container runs", (up, helper, tree))
        victims = {"program": process.pid, "helper": helper}
        # the runtime is PID 1 of the outer namespace: the first child that has children
        victims["runtime"] = next((pid for pid in tree if below(pid)), None)
        end(victims[name])
        gone = until(lambda: not any(start_time(pid) for pid in tree), 10)
        check(gone, f"{name} is killed: the whole container goes", [pid for pid in tree if start_time(pid)])
        process.communicate()


def an_image(s):
    busybox = shutil.which("busybox")
    if not busybox:
        raise Skip("skipped: busybox is not installed")
    s.write("image/etc/motd", "of the image\n")
    s.write("image/data/file", "x\n")
    os.makedirs(s.path("image/bin"))
    shutil.copy(busybox, s.path("image/bin/busybox"))
    image = f'image = "{s.path("image")}"'
    where = ['{ path = "/workspace", from = "%s" }' % s.ws]
    script = (
        "/bin/busybox cat /etc/motd; /bin/busybox ls /usr /root; echo in > /workspace/in; echo x > /data/file"
    )
    answer = s.call("/bin/busybox", "sh", "-c", script, writable=where, more=more(image))
    check(answer.out == "of the image\n", "the tool sees the image, and nothing of the host's", answer)
    check(
        s.read("ws/in") == b"in\n" and s.read("image/data/file") == b"x\n",
        "the workspace is written, the image is not",
        answer,
    )
    os.symlink(s.path("image"), s.path("ws/link"))
    answer = s.call("/bin/busybox", "true", writable=where, more=more(f'image = "{s.ws}/link"'))
    check(
        answer.status == "denied" and answer.error["stage"] == "image",
        "a link where a tool can write is not followed to an image",
        answer,
    )
    answer = s.call("/bin/true", more=more('image = "python:3.12-slim"'))
    check(
        answer.status == "denied"
        and answer.error["code"] == "not_found"
        and "image import" in answer.error["hint"],
        "an image by a name that nobody has is refused",
        answer,
    )
    answer = s.call("/bin/true", more=f'backend = "process"\n{image}')
    check(
        answer.status == "denied" and answer.error["subject"] == "image",
        "and any image by the process backend",
        answer,
    )


def a_session(s):
    name = os.path.basename(s.root).replace("_", "-")
    file = s.policy(more=more())
    ends = [TOOLCAGE, "session", "end", name]
    try:
        argv = [
            TOOLCAGE,
            "exec",
            "--policy",
            file,
            "--tool",
            "t",
            "--session",
            name,
            "--",
            "/bin/sh",
            "-c",
            "echo kept >> /tmp/file; cat /tmp/file",
        ]
        outs = [
            subprocess.run(
                argv,
                env=s.environ,
                cwd=s.ws,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=60 * PATIENCE,
                check=False,
            )
            for _ in range(2)
        ]
        check(
            [each.stdout for each in outs] == [b"kept\n", b"kept\nkept\n"],
            "/tmp is there again for the next call",
            outs,
        )
        done = subprocess.run(
            [TOOLCAGE, "exec", "--policy", s.policy(more='backend = "process"'), *argv[4:]],
            env=s.environ,
            cwd=s.ws,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60 * PATIENCE,
            check=False,
        )
        check(done.returncode == 126 and not done.stdout, "and for no other grant", done)
    finally:
        done = subprocess.run(
            ends, env=s.environ, cwd=s.ws, capture_output=True, timeout=60 * PATIENCE, check=False
        )
    check(done.returncode == 0, "it can be ended", done)


def features_of_the_process_cage_are_refused(s):
    answer = s.call("/bin/true", more=more('unix_sockets = "own"'))
    check(
        answer.status == "denied"
        and "unix socket" in answer.error["message"]
        and "process" in answer.error["hint"],
        "unix sockets are refused",
        answer,
    )
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [TOOLCAGE, "shell", "--policy", s.policy(more=more()), "--tool", "t", "--", "/bin/true"],
            env={**s.environ, "TERM": "xterm"},
            cwd=s.ws,
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            timeout=60 * PATIENCE,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    check(
        done.returncode == 126 and b"tty.none" in done.stderr and b"hint: " in done.stderr,
        "and terminals, by clause",
        done,
    )


def a_full_memory(s):
    s.works("limit.memory")
    answer = s.python("x = bytearray(400 << 20); print('done')", memory='"64MiB"', more=more())
    check(answer.status == "limit" and answer.limit == "memory", "the limit says its name", answer)


LACKED = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in (("sched_setattr", 314), ("sched_getattr", 315), ("copy_file_range", 326), ("pkey_alloc", 330), ("futex_waitv", 449)):
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 38:
        print(name)
"""


def missing_system_calls_are_listed(s):
    """Is listed where the kernel is gVisor's, as often as it was told; a machine's kernel says nothing of what it lacks."""
    answer = s.python(LACKED, more=more())
    listed = {one["target"]: one for one in answer.denials}
    wanted = set(answer.out.split()) if BACKEND == "gvisor" else set()
    check(
        answer.status == "ok"
        and set(listed) == wanted
        and all(one["operation"] == "syscall" for one in answer.denials),
        "calls that its kernel lacks are listed",
        answer,
    )
    check(
        all(
            bool(one.get("probe")) == (name == "copy_file_range")
            and (one.get("probe") or "gVisor does not have" in one["hint"])
            for name, one in listed.items()
        ),
        "missing system calls that libraries work around are marked as probes",
        answer,
    )


READS = """
import os, socket, struct, threading, time
server = socket.create_server(("127.0.0.1", 0))
for name in ("recv", "recv in time", "read", "read in time"):
    client = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    if "in time" in name:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 20, 0))
    threading.Timer(0.5, peer.sendall, [b"data"]).start()
    try:
        print(name, (client.recv(9) if "recv" in name else os.read(client.fileno(), 9)).decode(), sep=": ")
    except BlockingIOError:
        print(name, "EAGAIN", sep=": ")
    time.sleep(1)
"""


def a_socket_is_read(s):
    """Debian's runsc of 2022 has a fault in read(2), which recv(2) does not have."""
    answer = s.python(READS, more=more(), network='["127.0.0.1:9"]')
    old = (
        "runsc" in RUNTIME
        and "20221219"
        in subprocess.run(
            [shutil.which(RUNTIME), "--version"], capture_output=True, text=True, check=True
        ).stdout
    )
    read = "EAGAIN" if old else "data"
    check(
        answer.out == f"recv: data\nrecv in time: data\nread: {read}\nread in time: {read}\n",
        f"recv of a socket waits for data, and read gives {read}",
        answer,
    )


def main():
    if not any(
        os.access(os.path.join(place, RUNTIME), os.X_OK)
        for place in ("/usr/bin", "/usr/sbin", "/usr/local/bin")
    ):
        skip_all(f"skipped: {RUNTIME} is not installed")
    run(
        an_ordinary_call,
        output_is_whole,
        files_are_whole,
        a_copied_workspace,
        an_overlaid_workspace,
        a_workspace_by_default,
        paths_are_observed,
        ends_in_time,
        a_missing_command,
        a_hostile_tool,
        forks,
        *in_modes(nobody_is_left),
        an_image,
        a_session,
        features_of_the_process_cage_are_refused,
        missing_system_calls_are_listed,
        a_socket_is_read,
        a_full_memory,
    )


main()

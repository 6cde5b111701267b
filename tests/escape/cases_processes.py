# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks on other processes, on the kernel's doors, and on the end and the limits of the call."""

import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import time

from scene import CAGED, DIRECT, MINUTE, PATIENCE, Missing, Refused


def a_process_is_looked_into(s):
    victim, address = s.victim()
    return "GOT" in s.attack("processes", "peek", victim.pid, address)


def a_process_lends_its_root(s):
    victim, _ = s.victim()
    return s.token in s.attack("processes", "root-of", victim.pid, "canary") + s.attack(
        "processes", "root-of", victim.pid, s.secret
    )


def a_process_is_killed(s):
    victim, _ = s.victim()
    s.attack("processes", "signal", victim.pid)
    time.sleep(0.2)
    return victim.poll() is not None


def a_namespace_is_joined(s):
    victim, _ = s.victim()
    return "GOT" in s.attack("processes", "join-namespace", victim.pid, "mnt") + s.attack(
        "processes", "join-namespace", 1, "mnt"
    )


def environment_leaks(s):
    s.environ["TOKEN_OF_THE_CALLER"] = s.token
    return s.token in s.attack("processes", "environment")


def a_process_survives_the_call(s):
    s.attack("processes", "survive", s.path("ws/beats"))
    return s.grows("ws/beats")


def a_process_survives_the_timeout(s):
    """Ignores every signal, and its call ends by the deadline."""
    if s.how != CAGED:
        process = s.popen(s.program("processes"), "stay", s.path("ws/beats"))
        time.sleep(1)
        os.kill(process.pid, signal.SIGTERM)
        grows = s.grows("ws/beats")
        s.end_leftovers()
        process.communicate(timeout=MINUTE)
        return grows
    s.more = 'grace = "200ms"'
    for limit in (
        "500ms",
        "3s",
        "9s",
        f"{min(9 * PATIENCE, 20)}s",
    ):  # until it has begun before the end, which it does not await
        argv = s.argv(s.program("processes"), "stay", s.path("ws/beats"))
        argv.insert(argv.index("--json"), f"--timeout={limit}")
        done = subprocess.run(
            argv, env=s.environ, capture_output=True, cwd=s.path("ws"), check=False, timeout=MINUTE
        )
        s.result(done.stdout, done.stderr)
        assert s.answer["status"] == "timeout", s.answer["status"]
        if os.path.exists(s.path("ws/beats")):
            return s.grows("ws/beats")
    raise AssertionError("the tool never ran")


def start_staying(s):
    """The call, once its tool beats."""
    command = [s.program("processes"), "stay", s.path("ws/beats")]
    if s.how == DIRECT:
        command = ["/bin/sh", "-c", '"$0" "$@" & wait', *command]
    process = s.popen(*command)
    deadline = time.monotonic() + 10 * PATIENCE
    while not s.grows("ws/beats", 0.2) and time.monotonic() < deadline:
        pass
    assert s.grows("ws/beats", 0.2), "the tool never ran"
    return process


def a_process_survives_its_caller(s):
    """The caller is killed in the middle, with no chance to clean up."""
    process = start_staying(s)
    process.kill()
    process.wait()
    time.sleep(0.5)
    return s.lives_on("ws/beats")


def a_process_survives_its_helper(s):
    """The helper, or what started an uncaged program, is killed in the middle."""
    process = start_staying(s)
    os.kill(s.helper(process) if s.how == CAGED else process.pid, signal.SIGKILL)
    time.sleep(0.5)
    grows = s.lives_on("ws/beats")
    process.kill()
    s.end_leftovers()  # they hold the pipes
    process.communicate()
    return grows


def too_many_processes(s):
    found = re.search(r"GOT processes (\d+)", s.attack("processes", "bomb", 300))
    return found is not None and int(found.group(1)) >= 64


def too_much_memory(s):
    """In many processes: no limit of one process sees it."""
    s.memory = '"256MiB"'
    try:
        out = s.attack("processes", "memory", 1024)
    except Refused as refused:
        if "unenforceable" in str(refused):
            raise Missing("memory of the whole cage needs a control group, and there is none here") from None
        raise
    found = re.search(r"GOT mebibytes (\d+)", out)
    return found is not None and int(found.group(1)) > 512


def a_group_is_left(s):
    """Its own control group's membership file, or any other's."""
    names = subprocess.run(
        ["find", "/sys/fs/cgroup", "-maxdepth", "2", "-name", "cgroup.procs"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    if not names:
        raise Missing("no control groups")
    return "GOT" in s.attack("processes", "leave-group", *[os.path.dirname(name) for name in names[:20]])


def terminal_input_is_pushed(s):
    """Types into the caller's terminal, as if the person at it had."""
    master, slave = pty.openpty()
    try:
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(slave, termios.TCSANOW, attributes)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            s.argv(s.program("processes"), "push-input"),
            env=s.environ,
            cwd=s.path("ws"),
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=take_terminal,
        )
        out, err = process.communicate(timeout=MINUTE)
        s.result(out, err)
        return struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0\0\0\0"))[0] > 0
    finally:
        os.close(master)
        os.close(slave)


def the_hosts_core_handler_runs(s):
    """A crash starts the host's handler of core files, as root and outside of everything."""
    handler = s.write("handler", f"#!/bin/sh\ntouch {s.path('witness')}\ncat > /dev/null\n", 0o755)
    with open("/proc/sys/kernel/core_pattern", "r+", encoding="utf-8") as file:
        before = file.read()
        file.seek(0)
        file.write("|" + handler)
    try:
        s.attack("processes", "dump-core")
        s.call("/bin/sh", "-c", "ulimit -c 0; kill -SEGV $$")
        time.sleep(1)
        return os.path.exists(s.path("witness"))
    finally:
        with open("/proc/sys/kernel/core_pattern", "w", encoding="utf-8") as file:
            file.write(before)


# ---- the kernel's doors ------------------------------------------------------------------------------------


def kernel(name, *args):
    return lambda s: "GOT" in s.attack("kernel", name, *args)


def a_denied_call_is_made(s):
    s.more += 'syscalls.deny = ["getpid"]\n'
    return "GOT" in s.attack("kernel", "denied")


def new_mounts(s):
    return "GOT" in s.attack("kernel", "new-mounts", s.path("ws"))


def a_key_is_read(s):
    if "added" not in s.outside("kernel", "add-key", "toolcage-escape", s.token):
        raise Missing("no keys here")
    return s.token in s.attack("kernel", "key", "toolcage-escape")


def program_files_open_for_writing(s):
    names = ["/proc/1/exe", "/proc/self/exe", s.options.toolcage, s.program("sockets"), "/bin/sh"]
    return "GOT" in s.attack("kernel", "program-files", *names)


def shared_memory_is_read(s):
    made = s.outside("kernel", "make-shared-memory", s.token).strip()
    if not made.isdigit():
        raise Missing("no System V shared memory")
    try:
        return s.token in s.attack("kernel", "shared-memory", made)
    finally:
        s.outside("kernel", "drop-shared-memory", made)


def posix_shared_memory_is_read(s):
    name = "/dev/shm/" + os.path.basename(s.root)
    with open(name, "w", encoding="utf-8") as file:
        file.write(s.token)
    os.chmod(name, 0o644)
    try:
        return s.token in s.attack("files", "read", name)
    finally:
        os.unlink(name)


def a_message_is_taken(s):
    name = "/" + os.path.basename(s.root)
    if "made" not in s.outside("kernel", "make-message-queue", name, s.token):
        raise Missing("no message queues")
    try:
        return s.token in s.attack("kernel", "message-queue", name)
    finally:
        s.outside("kernel", "drop-message-queue", name)


# ---- sockets -----------------------------------------------------------------------------------------------


def unix_socket(attack, kind):
    def run(s):
        address = s.path("data/socket")
        _, arrived = s.listen(socket.AF_UNIX, kind, address)
        s.attack("sockets", attack, address, s.token)
        return arrived()

    return run


def abstract_socket(s):
    name = os.path.basename(s.root)
    _, arrived = s.listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name)
    s.attack("sockets", "unix-stream", "@" + name, s.token)
    return arrived()


def abstract_pair(s):
    name = os.path.basename(s.root)
    _, arrived = s.listen(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + name)
    s.attack("sockets", "unix-pair", "@" + name, s.token)
    return arrived()


def loopback(attack, kind):
    def run(s):
        sock, arrived = s.listen(socket.AF_INET, kind, ("127.0.0.1", 0))
        s.attack("sockets", attack, "127.0.0.1", sock.getsockname()[1], s.token)
        return arrived()

    return run


def other_address(s):
    """The host by another of its addresses."""
    sock, arrived = s.listen(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            raise Missing("the host has no address but loopback") from None
        address = probe.getsockname()[0]
    s.attack("sockets", "tcp", address, sock.getsockname()[1], s.token)
    return arrived()


def interfaces_are_seen(s):
    names = set(re.findall(r"GOT interface (\S+)", s.attack("sockets", "interfaces")))
    if s.how != CAGED and not names - {"lo"}:
        raise Missing("the host has no interface but loopback")
    return bool(names - {"lo"})


def netlink_of_other_kinds(s):
    """Sockets of the machine, its devices, audit, the packet filter, tunnels."""
    return any(
        "GOT" in s.attack("sockets", "family", 16, RAW, protocol) for protocol in (4, 6, 9, 11, 12, 15, 16)
    )


def family(number, kind, protocol=0):
    return lambda s: "GOT" in s.attack("sockets", "family", number, kind, protocol)


STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5
CASES = [
    ("a process outside is inspected", a_process_is_looked_into, {}),
    ("a process outside lends its root", a_process_lends_its_root, {}),
    ("a process outside is killed", a_process_is_killed, {}),
    ("a namespace outside is joined", a_namespace_is_joined, {"root": True}),
    ("the caller's environment leaks", environment_leaks, {"free": DIRECT}),
    ("a process survives the call", a_process_survives_the_call, {"free": DIRECT, "in_place": "alone"}),
    ("a process survives the timeout", a_process_survives_the_timeout, {"free": DIRECT, "in_place": "alone"}),
    ("a process survives its caller", a_process_survives_its_caller, {"free": DIRECT, "in_place": "alone"}),
    ("the host's core handler runs", the_hosts_core_handler_runs, {"root": True, "machine": True}),
    ("a process survives the helper", a_process_survives_its_helper, {"free": DIRECT, "in_place": "alone"}),
    ("more processes than granted", too_many_processes, {"free": DIRECT}),
    ("more memory than granted", too_much_memory, {"free": DIRECT}),
    ("a cgroup is opened for writing", a_group_is_left, {"root": True}),
    ("terminal input is pushed", terminal_input_is_pushed, {"free": DIRECT}),
    ("a 32-bit system call", kernel("int80"), {}),
    ("an x32 system call", kernel("x32"), {}),
    ("a denied call in another form", a_denied_call_is_made, {"free": DIRECT}),
    ("io_uring", kernel("io-uring"), {}),
    ("a nested user namespace", kernel("user-namespace"), {}),
    ("new mounts", new_mounts, {"root": True}),
    ("bpf, perf, userfaultfd, kcmp, fanotify, the kernel log", kernel("far-reach"), {}),
    ("a tool's own seccomp listener", kernel("listener"), {"free": DIRECT}),
    ("a key in the user's keyring is read", a_key_is_read, {}),
    ("program files open for writing", program_files_open_for_writing, {}),
    ("System V shared memory is read", shared_memory_is_read, {}),
    ("POSIX shared memory is read", posix_shared_memory_is_read, {}),
    ("a message queue is read", a_message_is_taken, {}),
    ("a unix stream socket is reached", unix_socket("unix-stream", socket.SOCK_STREAM), {}),
    ("a unix datagram socket is reached", unix_socket("unix-datagram", socket.SOCK_DGRAM), {}),
    ("a unix socket is reached from a socket pair", unix_socket("unix-pair", socket.SOCK_DGRAM), {}),
    ("an abstract socket is reached", abstract_socket, {}),
    ("an abstract socket is reached from a socket pair", abstract_pair, {}),
    ("the host's loopback is reached by TCP", loopback("tcp", socket.SOCK_STREAM), {}),
    ("the host's loopback is reached by UDP", loopback("udp", socket.SOCK_DGRAM), {}),
    ("the host is reached by another address", other_address, {}),
    ("interfaces of the host are seen", interfaces_are_seen, {}),
    ("netlink of other kinds", netlink_of_other_kinds, {}),
    ("a packet socket", family(17, RAW, 0x300), {"root": True}),
    ("a raw socket", family(2, RAW, 255), {"root": True}),
    ("a vsock socket", family(40, STREAM), {}),
    ("a crypto socket", family(38, SEQPACKET), {}),
    ("a packet socket by an old name", family(2, 10, 0x300), {"root": True}),
]

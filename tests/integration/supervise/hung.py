#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""One engine, many calls, and a file system that does not answer: who asked it waits, nobody else does.

usage: hung.py LIBRARY [self | ordinary]. Root mounts the file system; "ordinary" makes the calls as another user."""

import collections
import contextlib
import ctypes
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from fuse import Held

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import host
from host import ask, make
from tap import ORDINARY, become, check, plan

CLONE_NEWNS, SUBREAPER, WORKERS = 0x20000, 36, 32
SPARES = 4
LATE = 2.5  # what is forgiven, for what hangs here hangs for much longer; a busy machine is forgiven more
lib = host.load(sys.argv[1])

POLICY = """
[defaults]
memory = {{ max = "256MiB", by = "any" }}
network = "none"
filesystem = "none"
grace = "100ms"
[tool.free]
command = ["/bin/true"]
[tool.sleeps]
command = ["/bin/sleep", "60"]
timeout = "300ms"
[tool.cancelled]
command = ["/bin/sleep", "60"]
[tool.floods]
command = ["/usr/bin/yes"]
output = {{ limit = "64KiB", over = "kill" }}
[tool.stuck]
command = ["/bin/true"]
filesystem = {{ readable = [{{ path = "/data", from = "{mount}/slow/d" }}] }}
timeout = "1s"
[tool.stuck_long]
command = ["/bin/true"]
filesystem = {{ readable = [{{ path = "/data", from = "{mount}/slow/d" }}] }}
timeout = "60s"
[tool.reads]
command = ["/bin/sh", "-c", "echo up; sleep 1; cat /data/f"]
filesystem = {{ readable = [{{ path = "/data", from = "{mount}/slow/d" }}] }}
timeout = "1500ms"
[tool.writes]
command = ["/bin/sh", "-c", "sleep 0.5"]
filesystem = {{ writable = [{{ path = "/data", from = "{mount}/slow/d" }}] }}
timeout = "60s"
[tool.copies]
command = ["/bin/true"]
filesystem = {{ writable = [{{ path = "/workspace", from = "{large}" }}] }}
workspace = {{ mode = "copy" }}
disk = "1GiB"
timeout = "60s"
[tool.steered]
command = ["/bin/true"]
filesystem = {{ writable = [{{ path = "/workspace", from = "{large}" }}] }}
timeout = "60s"
"""


class Call:
    def __init__(self, engine, tool):
        self.handle = make(lib.toolcage_call_new, engine.handle, engine.policy, tool.encode())
        self.begun, self.seconds, self.result = time.monotonic(), None, None
        ask(lib.toolcage_call_start, self.handle)
        self.fd = lib.toolcage_call_fd(self.handle)

    def dispatch(self):
        if self.result is None and ask(lib.toolcage_call_dispatch, self.handle):
            self.seconds = time.monotonic() - self.begun
            self.result = host.result(self.handle)
            lib.toolcage_call_unref(self.handle)

    def cancel(self):
        if self.result is None:  # else it is freed
            lib.toolcage_call_cancel(self.handle)

    @property
    def status(self):
        return (self.result or {}).get("status")

    def __str__(self):
        told = {
            name: value
            for name, value in (self.result or {}).items()
            if name not in ("stdout", "stderr", "message")
        }
        return f"{self.seconds} s: {told}"


class Engine:
    idle = None  # another one, with nothing that could hold it up: what it needs is the machine's doing

    def __init__(self, policy_text):
        before = set(children())
        self.policy = host.policy_of(policy_text)
        self.handle = make(lib.toolcage_engine_new)
        self.calls = []
        self.start("free")
        self.wait(10)
        self.first = self.calls[0]
        self.helper = next(iter(set(children()) - before), None)

    def start(self, tool):
        self.calls.append(Call(self, tool))
        return self.calls[-1]

    def wait(self, seconds, *calls):
        """Until these (or all) calls have ended; whether they have."""
        wanted, until = calls or self.calls, time.monotonic() + seconds
        while any(call.result is None for call in wanted) and time.monotonic() < until:
            open_calls = {
                call.fd: call
                for call in self.calls + (self.idle.calls if self.idle else [])
                if call.result is None
            }
            for fd in select.select(list(open_calls), [], [], 0.01)[0]:
                open_calls[fd].dispatch()
        return all(call.result is not None for call in wanted)

    def state(self):
        """What the helper holds: descriptors (id maps, roots and control groups are kept for later calls), threads, children."""
        here = f"/proc/{self.helper}"
        links = []
        for fd in os.listdir(f"{here}/fd"):
            with contextlib.suppress(FileNotFoundError):
                links.append(os.readlink(f"{here}/fd/{fd}"))
        for _ in [link for link in links if link.endswith("/memory.oom_control")]:
            links.remove("anon_inode:[eventfd]")  # by which the group tells that its memory is used up
        kept = re.compile("user:|/(sys|dev)/.*/g?[0-9]+(/memory.oom_control)?$")
        return {
            "descriptors": sorted(re.sub("[0-9]+", "", link) for link in links if not kept.match(link)),
            "threads": len(os.listdir(f"{here}/task")),
            "children": children(self.helper),
        }

    def where(self):
        """What its loop and its children wait for in the kernel."""
        found = []
        for pid in [self.helper] + children(self.helper):
            with (
                open(f"/proc/{pid}/wchan", encoding="ascii") as file,
                open(f"/proc/{pid}/syscall", encoding="ascii") as call,
            ):
                found.append(f"{pid}: {file.read()} {call.read()}")
        return found

    def quiet(self):
        """What it holds when nothing runs and the processes that wait for calls were given up."""
        until(lambda: not self.state()["children"], 20)
        return self.state()

    def end(self):
        lib.toolcage_engine_unref(self.handle)
        lib.toolcage_policy_unref(self.policy)


def children(pid="self"):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        # an idle worker may go just now; its children stay the process's
        with (
            contextlib.suppress(FileNotFoundError),
            open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file,
        ):
            found += [int(child) for child in file.read().split()]
    return found


def until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def settles(engine):
    """Two idle threads stay, and the processes that wait for calls; nothing of the file system."""

    def quiet():
        now = engine.state()
        return (
            now["threads"] <= 3
            and len(now["children"]) <= SPARES
            and not any("/slow" in link for link in now["descriptors"])
        )

    return check(until(quiet, 10), "and the helper holds nothing of it", engine.state())


def start_neighbours(engine):
    return {tool: engine.start(tool) for tool in ("sleeps", "floods", "cancelled", "free")}


def neighbours(engine, name):
    """Deadlines, caps and cancels of other calls, while something else is held up; and the same on an engine where nothing is."""
    begun = time.monotonic()
    calls, idle = start_neighbours(engine), start_neighbours(engine.idle)
    engine.wait(0.2, calls["cancelled"], idle["cancelled"])
    calls["cancelled"].cancel()
    idle["cancelled"].cancel()
    everybody = [*calls.values(), *idle.values()]
    if not engine.wait(10, *everybody):
        raise RuntimeError(
            f"{name}: not answered: {[str(call) for call in everybody if not call.result]}; {engine.where()}"
        )
    late = max(LATE, 2 * max(call.seconds for call in idle.values()))
    check(
        calls["free"].status == "ok" and calls["free"].seconds < late,
        f"{name}: a call that needs no file runs",
        (late, calls["free"]),
    )
    check(
        calls["sleeps"].status == "timeout" and 0.3 <= calls["sleeps"].seconds < late,
        f"{name}: a deadline is on time",
        (late, calls["sleeps"]),
    )
    check(
        calls["floods"].result["limit"] == "output" and calls["floods"].seconds < late,
        f"{name}: a flood is stopped",
        (late, str(calls["floods"])),
    )
    check(
        calls["cancelled"].status == "cancelled" and calls["cancelled"].seconds < late,
        f"{name}: a cancel is quick",
        (late, calls["cancelled"]),
    )
    print(
        f"# {name}: {max(call.seconds for call in calls.values()):.2f} s, on an engine where nothing is held up {max(call.seconds for call in idle.values()):.2f} s",
        flush=True,
    )
    return time.monotonic() - begun


def hung_preparation(engine, held):
    held.hold()
    stuck, long = engine.start("stuck"), engine.start("stuck_long")
    check(held.asked.wait(5), "a call waits for the file system")
    neighbours(engine, "hung preparation")
    check(
        engine.wait(5, stuck) and stuck.status == "timeout" and 1 <= stuck.seconds < 1 + LATE,
        "its own deadline is on time, too",
        stuck,
    )
    check("still being prepared" in stuck.result["message"], "and the message says what it waited for", stuck)
    cancelled = time.monotonic()
    long.cancel()
    check(
        engine.wait(2, long) and long.status == "cancelled" and time.monotonic() - cancelled < 1,
        "one without a near deadline is cancelled at once",
        long,
    )
    report = []
    asker = threading.Thread(
        target=lambda: report.append(make(lib.toolcage_engine_doctor_json, engine.handle))
    )
    asker.start()
    asker.join(5)
    check(report and b"clauses" in ctypes.string_at(report[0].value), "the doctor answers meanwhile", report)
    held.go_on()
    settles(engine)


def more_than_there_are_workers(engine, held):
    held.hold()
    calls = [engine.start("stuck_long") for _ in range(WORKERS + 4)]
    neighbours(engine, "all workers hang")
    check(engine.state()["threads"] <= WORKERS + 1, "threads have a bound", engine.state())
    refused = lambda: [call for call in calls if call.status == "error"]
    engine.wait(6.5, calls[0])
    check(
        4 <= len(refused()) < WORKERS,
        "calls without a free worker are refused",
        f"{len(refused())} were; {engine.state()}",
    )
    check(
        all("other calls have been waiting" in call.result["error"]["message"] for call in refused()),
        "and told why",
        [str(call) for call in refused()],
    )
    for call in calls:
        if call.result is None:
            call.cancel()
    check(engine.wait(3, *calls), "other calls are cancelled at once")
    held.go_on()
    settles(engine)
    check(
        engine.wait(5, engine.start("stuck")) and engine.calls[-1].status == "ok",
        "afterwards all is as before",
        engine.calls[-1],
    )


def hung_tool(engine, held):
    call = engine.start("reads")
    engine.wait(0.6, call)
    held.hold()
    check(held.asked.wait(5), "a tool waits for the file system")
    check(
        engine.wait(8, call) and call.status == "timeout", "a tool that cannot be killed is a timeout", call
    )
    check(
        call.seconds < 6 and "has not ended" in call.result["message"],
        "soon after its deadline, and said so",
        call,
    )
    neighbours(engine, "hung tool")
    held.go_on()
    settles(engine)


def hung_gathering(engine, held):
    if os.geteuid() == 0:
        print("# as root a bound FUSE tree is refused: …-ordinary gathers changes")
        return
    call = engine.start("writes")
    engine.wait(0.3, call)
    held.hold()
    check(held.asked.wait(5), "gathering changes waits for the file system", call)
    neighbours(engine, "hung gathering")
    check(call.result is None, "the call has not been answered", call)
    call.cancel()
    check(engine.wait(2, call) and call.status == "cancelled", "a cancel ends the gathering", call)
    check(call.result["omitted"]["changes"] > 0, "changes that were not gathered are counted", call)
    held.go_on()
    settles(engine)


def long_work(engine, held, large):
    """A copy in and a search of many files; a hostile accomplice that never lets the search come to an end."""
    del held
    for tool in ("copies", "steered"):
        call = engine.start(tool)
        took = neighbours(engine, tool)
        check(
            engine.wait(60, call),
            f"{tool}: comes to its end, after {call.seconds} s beside {took:.1f} s of others",
            call,
        )
        check(call.status == "ok", f"{tool}: is good", call)
    churn = subprocess.Popen(
        [
            "/usr/bin/python3",
            "-c",
            "import os, sys\nwhile True:\n for i in range(64):\n  n = f'{sys.argv[1]}/0/c{i}'\n  "
            "os.mkdir(n)\n  os.rmdir(n)\n",
            large,
        ]
    )
    try:
        call = engine.start("steered")
        neighbours(engine, "churned")
        call.cancel()
        check(engine.wait(2, call), "churned: the search is given up or over", call)
    finally:
        churn.kill()
        churn.wait()
    settles(engine)


def the_end_of_the_host(engine, held):
    """An engine that ends while a call hangs: at once, and the helper goes as soon as the kernel lets it."""
    held.hold()
    call = engine.start("stuck_long")
    check(held.asked.wait(5), "a call waits for the file system")
    began = time.monotonic()
    lib.toolcage_call_unref(call.handle)
    engine.end()
    check(time.monotonic() - began < 1, "the engine ends at once")
    held.go_on()
    gone = lambda: not os.path.exists(f"/proc/{engine.helper}") or os.waitpid(engine.helper, os.WNOHANG)[0]
    check(until(gone, 10), "and the helper is gone")


def prepare(root, owner):
    large = os.path.join(root, "large")
    os.mkdir(large)
    subprocess.run(
        ["mount", "-t", "tmpfs", "large", large], check=True
    )  # quickly made, and gone with the namespace
    for i in range(100):
        os.makedirs(f"{large}/{i}/d")
        for k in range(1000):
            with open(f"{large}/{i}/{k}", "w", encoding="ascii") as file:
                file.write("x")
    subprocess.run(["chown", "-R", f"{owner}:{owner}", large], check=True)
    os.mkdir(os.path.join(root, "mount"))
    os.chmod(root, 0o755)
    return large


def act(root, large, held):
    policy = POLICY.format(mount=os.path.join(root, "mount"), large=large)
    Engine.idle = Engine(policy)
    engine = Engine(policy)
    if (engine.first.result["error"] or {}).get("code") == "unenforceable":
        print("1..0 # SKIP no cage on this machine: " + engine.first.result["error"]["message"])
        return 0
    check(engine.helper, "the helper is found", children())
    try:
        check(
            engine.wait(5, engine.start("stuck")) and engine.calls[-1].status == "ok",
            "the file system works",
            engine.calls[-1],
        )
        before = engine.quiet()["descriptors"]
        hung_preparation(engine, held)
        more_than_there_are_workers(engine, held)
        hung_tool(engine, held)
        hung_gathering(engine, held)
        long_work(engine, held, large)
        check(
            # the first call may have been ending when it was looked at
            not collections.Counter(engine.quiet()["descriptors"]) - collections.Counter(before),
            "the helper holds no more than in the beginning",
            f"{before}\n{engine.state()}",
        )
        the_end_of_the_host(engine, held)
    except Exception:  # pylint: disable=broad-except
        check(False, "the script", traceback.format_exc())
    finally:
        held.go_on()
        Engine.idle.end()
    return plan()


def as_ordinary(root, large, held):
    """In a child, because root is needed again to clean up."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.environ["HOME"] = os.path.join(root, "home")
    os.environ.pop("XDG_STATE_HOME", None)
    os.mkdir(os.environ["HOME"])
    os.chown(os.environ["HOME"], ORDINARY, ORDINARY)
    become(ORDINARY)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    os._exit(act(root, large, held))


def main():
    ordinary = sys.argv[2] == "ordinary"
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("1..0 # SKIP root and /dev/fuse make the file system that hangs")
        return 0
    if (
        libc.unshare(CLONE_NEWNS) < 0
        or subprocess.run(["mount", "--make-rprivate", "/"], check=False).returncode
    ):
        print("1..0 # SKIP no mount namespace can be made here")
        return 0
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    root = tempfile.mkdtemp(prefix="toolcage-hung-", dir="/var/tmp")
    held = None
    try:
        large = prepare(root, ORDINARY if ordinary else 0)
        try:
            held = Held(os.path.join(root, "mount"), ORDINARY if ordinary else 0)
        except OSError as error:
            print(f"1..0 # SKIP no FUSE here: {error}")
            return 0
        return as_ordinary(root, large, held) if ordinary else act(root, large, held)
    finally:
        if held:
            held.end()
            subprocess.run(
                ["umount", "-l", os.path.join(root, "mount"), os.path.join(root, "large")], check=False
            )
        shutil.rmtree(root, ignore_errors=True)


libc = ctypes.CDLL(None, use_errno=True)
sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Limits that name themselves: status, `limit`, exit code and usage of each."""

import glob
import json
import os
import resource
import shutil
import subprocess
import time

from scene import PATIENCE, PYTHON, TOOLCAGE, Answer, check, helpers_of, run, skip, until

MIB = 1 << 20


def limited(answer, limit, name, code=137):
    check(
        answer.status == "limit"
        and answer.limit == limit
        and (code is None or answer.code == code)
        and not answer.error,
        name,
        f"wanted limit {limit}, exit code {code}\n{answer}",
    )


def timeout(s):
    # a deadline counts from the order, the wall time from the start of the tool: a loaded machine lies between
    answer = s.call("/bin/sleep", "60", more='timeout = "300ms"')
    check(answer.status == "timeout" and answer.code == 124 and answer.limit is None, "a timeout", answer)
    check(answer.usage and 100 <= answer.usage["wall_ms"] < 5000 * PATIENCE, "its wall time", answer)
    answer = s.shell("trap '' TERM; while :; do sleep 0.05; done", more='timeout = "300ms"\ngrace = "200ms"')
    check(answer.status == "timeout" and answer.code == 124, "a tool that ignores TERM", answer)
    check(answer.usage and 250 <= answer.usage["wall_ms"] < 8000 * PATIENCE, "it was given the grace", answer)
    answer = s.shell(
        "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done", more='timeout = "400ms"'
    )
    check(answer.status == "timeout" and answer.out == "up\nbye\n", "a tool that ends in its grace", answer)
    answer = s.shell(
        "(trap '' TERM; while :; do sleep 0.05; done) & (trap '' TERM; while :; do sleep 0.05; done) & wait",
        more='timeout = "300ms"\ngrace = "100ms"',
    )
    check(answer.status == "timeout" and answer.code == 124, "children that ignore TERM", answer)
    bomb = (
        "import os,signal\nsignal.signal(15,signal.SIG_IGN)\nwhile 1:\n try: os.fork()\n except OSError: pass"
    )
    answer = s.python(bomb, more='timeout = "500ms"\ngrace = "100ms"\npids = 20')
    check(answer.status == "timeout" and answer.code == 124, "a tool that forks while it dies", answer)


def memory_of_a_group(s):
    s.works("limit.memory")
    grant = {"memory": '"64MiB"', "more": 'disk = "8MiB"', "writable": ()}
    answer = s.python("b=bytearray(40<<20); print(len(b))", **grant)
    check(
        answer.status == "ok" and answer.usage["memory_peak_bytes"] > 40 * MIB,
        "memory below the limit",
        answer,
    )
    answer = s.python("b=bytearray(300<<20)", **grant)
    limited(answer, "memory", "one process beyond it")
    check(
        answer.usage and 30 * MIB < answer.usage["memory_peak_bytes"] <= 64 * MIB,
        "its peak, never above the limit",
        answer,
    )
    both = "b=bytearray(40<<20)\nf=open('/tmp/f','wb',0)\nfor _ in range(40): f.write(b[:1<<20])\nprint('more than granted')"
    answer = s.python(both, memory='"64MiB"', more='disk = "48MiB"', writable=())
    limited(answer, "memory", "memory and private storage together")
    check(answer.usage["memory_peak_bytes"] <= 64 * MIB, "and their peak", answer)
    answer = s.python(both.replace("40<<20", "4<<20"), memory='"64MiB"', more='disk = "48MiB"', writable=())
    check(answer.out == "more than granted\n", "private storage that fits beside it", answer)
    many = "import os,time\nfor _ in range(8):\n if os.fork()==0:\n  b=bytearray(30<<20); time.sleep(20); os._exit(0)\nos.wait()"
    answer = s.python(many, **grant)
    limited(answer, "memory", "many processes, each below it")
    well = many.replace("range(8)", "range(4)").replace("os.wait()", "os.wait()\nos._exit(0)")
    answers = [s.python(well, **grant) for _ in range(10)]
    check(
        [(answer.status, answer.limit) for answer in answers] == [("limit", "memory")] * 10,
        "a tool that ends well, but for a child that the limit has killed",
        [str(answer) for answer in answers if answer.limit != "memory"],
    )
    answer = s.python("print('fresh')", **grant)
    check(answer.out == "fresh\n", "the next call in the same group starts anew", answer)
    check(
        "control group" in answer.enforcement["limit.memory"]
        or "cgroup" in answer.enforcement["limit.memory"],
        "the mechanism is named",
        answer,
    )


def memory_by_any(s):
    grant = {"memory": '{ max = "96MiB", by = "any" }', "writable": ()}
    answer = s.python("b=bytearray(200<<20); print('got it')", **grant)
    check(answer.status in ("failed", "limit") and "got it" not in answer.out, "by any mechanism", answer)
    check(
        answer.enforcement and answer.enforcement["limit.memory"].startswith(("RLIMIT_DATA", "cgroup")),
        "the mechanism is named",
        answer,
    )
    answer = s.python("b=bytearray(40<<20); print('got it')", **grant)
    check(answer.out == "got it\n", "memory below the limit is usable", answer)
    told = [("reserved" in s.shell(f"kill -{name} $$", **grant).message) for name in ("ABRT", "TRAP", "KILL")]
    grouped = answer.enforcement["limit.memory"].startswith("cgroup")
    check(
        told == [not grouped, not grouped, False],
        "a tool that gives up is told of what counts there",
        (told, grouped),
    )


SHARE = """
import mmap, os, sys, time
how, bytes_ = sys.argv[1], int(sys.argv[2]) << 20
if how == "file":
    fd = os.memfd_create("x")
    for i in range(bytes_ >> 20):
        os.write(fd, b"x" * (1 << 20))
else:
    shared = mmap.mmap(-1, bytes_)
    for i in range(0, bytes_, 4096):
        shared[i] = 1
    for _ in range(4 if how == "family" else 0):
        if os.fork() == 0:
            for i in range(0, bytes_, 4096):
                shared[i] = 2
            time.sleep(1)
            os._exit(0)
time.sleep(1.5)
print("got it")
"""


SEGMENTS = """
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
libc.shmdt.argtypes = (ctypes.c_void_p,)
libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
size = 8 << 20
for _ in range(int(sys.argv[1]) >> 3):
    segment = libc.shmget(0, size, 0o1600)
    at = libc.shmat(segment, None, 0)
    assert segment >= 0 and at not in (None, 2 ** 64 - 1), ctypes.get_errno()
    ctypes.memset(at, 1, size)
    libc.shmdt(at)
time.sleep(1.5)
print("got it")
"""


# What the kernel would refuse to write stays as it is: no memory, a file that is only readable.
SYSINFO = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
page = os.sysconf("SC_PAGE_SIZE")
print(os.sysconf("SC_PHYS_PAGES") * page >> 20, os.sysconf("SC_AVPHYS_PAGES") * page >> 20 <= 100)
libc.mmap.restype = ctypes.c_void_p
fd = os.open(sys.argv[1], os.O_RDONLY)
shared = libc.mmap(None, ctypes.c_size_t(page), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
nothing = libc.mmap(None, ctypes.c_size_t(page), 0, mmap.MAP_SHARED, fd, ctypes.c_long(0))
for at in (shared, nothing, 0, 8, 1 << 63, (1 << 64) - 64):
    print(libc.sysinfo(ctypes.c_void_p(at)), ctypes.get_errno())
"""


def memory_of_the_machine(s):
    """Programs that size themselves by it get the limit."""
    path = s.write("ws/file", "x" * 4096)
    grant = {"memory": '{ max = "100MiB", by = "any" }'}
    for more in ("", 'denials = "paths"'):
        answer = s.python(SYSINFO, path, more=more, **grant)
        lines = answer.out.splitlines()
        check(lines[:1] == ["100 True"], "sysinfo() reports the limit", answer)
        check(
            lines[1:] == ["-1 14"] * 6 and s.read("ws/file") == b"x" * 4096,
            "and writes only where the tool may write",
            answer,
        )


HEAP = """
public class Heap {
    public static void main(String[] args) {
        byte[][] live = new byte[10][];
        for (int i = 0; i < 4000; i++)
            live[i % 10] = new byte[500000];
        System.out.println(Runtime.getRuntime().maxMemory() >> 20);
    }
}
"""


def a_jvm(s):
    """Its heap is a part of the limit, also where the machine has far more; its output is as ever."""
    if not shutil.which("javac", path=s.environ["PATH"]):
        skip("a JVM", "skipped: javac is not installed")
        return
    s.write("ws/Heap.java", HEAP)
    subprocess.run(["javac", "Heap.java"], cwd=s.ws, check=True)
    etc = glob.glob("/etc/java-*")  # Debian's configuration of a JVM
    for size in (128, 512):
        answer = s.shell(
            f"cd {s.ws}; java -Xshare:auto Heap",
            memory=f'{{ max = "{size}MiB", by = "any" }}',
            readable=etc,
        )
        heap = answer.out.strip()
        check(
            answer.status == "ok" and not answer.err and heap.isdigit() and int(heap) <= size / 2 + 1,
            f"a JVM's heap below {size} MiB",
            answer,
        )


def segments_that_nobody_has_attached(s):
    """They are in no process's memory, so PID 1 looks for them."""
    answer = s.python("print(1)", memory='{ max = "96MiB", by = "any" }')
    if "sampled" not in answer.enforcement["limit.memory"]:
        return
    answer = s.python(SEGMENTS, "320", memory='{ max = "96MiB", by = "any" }')
    limited(answer, "memory", "320 MiB in segments")
    answer = s.python(SEGMENTS, "64", memory='{ max = "96MiB", by = "any" }')
    check(answer.out == "got it\n", "64 MiB in segments", answer)


def memory_that_is_shared(s):
    """By any mechanism what processes share is seen within moments, and counted once, however many have it."""
    answer = s.python("print(1)", memory='{ max = "96MiB", by = "any" }')
    if "sampled" not in answer.enforcement["limit.memory"]:
        return  # a control group counts it
    for how in ("map", "family", "file"):
        # in the workspace, so that no bound of single files comes first
        answer = s.python(SHARE, how, "300", memory='{ max = "96MiB", by = "any" }')
        limited(answer, "memory", f"300 MiB: {how}")
        answer = s.python(SHARE, how, "60", memory='{ max = "96MiB", by = "any" }')
        check(answer.out == "got it\n", f"60 MiB: {how}", answer)


FORKS = """
import os, time
made = 0
try:
    for made in range(200):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
except OSError:
    print(made, flush=True)
    os._exit(1)
"""


def pids(s):
    answer = s.python(FORKS, more="pids = 20", writable=())
    check(
        answer.status in ("failed", "limit")
        and answer.out.isascii()
        and answer.out.strip().isdigit()
        and 10 <= int(answer.out) < 20,
        "no process more than that",
        answer,
    )
    answer = s.python(
        FORKS.replace("200", "10").replace("time.sleep(20)", "0"), more="pids = 20", writable=()
    )
    check(answer.status == "ok", "and as many as that", answer)
    bomb = "import os\nwhile 1:\n try: os.fork()\n except OSError: os._exit(1)"
    answer = s.python(bomb, more='pids = 20\ntimeout = "10s"', writable=())
    check(answer.status in ("failed", "limit") and answer.code not in (124, 125), "a fork bomb ends", answer)
    answer = s.python(
        "import threading,time\nfor i in range(100): threading.Thread(target=time.sleep,args=(9,),daemon=True).start()",
        more="pids = 20",
        writable=(),
    )
    check(answer.status in ("failed", "limit"), "threads count", answer)


def hinted(answer, limit, words, name):
    """A limit that nobody counts is a hint at what the tool wrote, and never the result's `limit`."""
    option = "--" + limit.replace("_", "-")
    check(
        answer.status == "failed"
        and answer.limit is None
        and f'the tool wrote "{words}"' in answer.message.split("\n")[0]
        and f"the {limit} limit of " in answer.message
        and option in answer.message,
        name,
        answer,
    )


def hints(s):
    full = "echo 'No space left on device' >&2; exit 1"
    answer = s.shell(full)
    hinted(answer, "disk", "No space left on device", "words are a hint, whoever wrote them")
    answer = s.shell("echo 'open x: too many open files'; exit 1")
    hinted(answer, "open_files", "too many open files", "also as Go writes them, and on standard output")
    answer = s.shell(full.replace("exit 1", "exit 0"))
    check(answer.status == "ok" and "perhaps" not in answer.message, "no hint after success", answer)
    answer = s.python("import os\nwhile 1: os.dup(0)", more="open_files = 32")
    hinted(answer, "open_files", "Too many open files", "descriptors")
    grouped = answer.enforcement["limit.pids"].startswith("cgroup")
    answer = s.shell("for i in 1 2 3 4 5 6; do sleep 9 & done", more="pids = 3")
    if grouped:
        limited(answer, "pids", "a fork that is refused, counted by the cgroup", code=None)
    else:
        hinted(answer, "pids", "Cannot fork", "a fork that is refused, not counted here")
    waits = (
        "import threading\ne=threading.Event()\nfor _ in range(30): threading.Thread(target=e.wait).start()"
    )
    answer = s.python(waits, more='pids = 20\ntimeout = "2s"')
    check(
        answer.status == "timeout" and "pids limit" in answer.message,
        "a tool that waits forever for the threads it got",
        answer,
    )


THREADS = """
import threading
e = threading.Event()
for _ in range(200):
    threading.Thread(target=e.wait, daemon=True).start()
print(threading.active_count())
"""


def reserved_memory_counts_without_a_cgroup(s):
    """Reserved memory counts only where there is no cgroup; then the reader learns of it."""
    answer = s.python(THREADS, memory=None, more="pids = 300")
    if answer.enforcement["limit.memory"].startswith("cgroup"):
        check(answer.out == "201\n", "200 threads under the default memory", answer)
    else:
        check(
            answer.status == "failed"
            and "memory limit of 512 MiB" in answer.message
            and "8 MiB" in answer.message,
            "200 threads, and why they do not start",
            answer,
        )
    source = s.write("asan.c", "int main(void) { return 0; }\n")
    built = subprocess.run(
        ["gcc", "-fsanitize=address", "-o", s.path("ws/asan"), source], capture_output=True, check=False
    )
    if built.returncode:
        skip("a program with AddressSanitizer", "gcc or its libasan is not installed")
        return
    answer = s.call("/bin/sh", "-c", "ASAN_OPTIONS=detect_leaks=0 ./asan", memory=None)
    if answer.enforcement["limit.memory"].startswith("cgroup"):
        check(answer.status == "ok", "a program with AddressSanitizer under the default memory", answer)
    else:
        check(
            answer.status == "failed" and "cgroup" in answer.message,
            "a program with AddressSanitizer, and why it does not start",
            answer,
        )


def doctor_names_the_mechanism_of_results(s):
    rows = {row["clause"]: row for row in json.loads(s.toolcage("doctor", "--json").stdout)["clauses"]}
    answer = s.call("/bin/true", memory=None)
    for clause in ("limit.memory", "limit.pids", "limit.disk", "limit.open_files"):
        check(
            rows[clause]["mechanism"] == answer.enforcement[clause],
            f"the doctor and the result agree on {clause}",
            (rows[clause], answer.enforcement[clause]),
        )


def pids_of_a_group(s):
    s.works("limit.memory")
    answer = s.python(FORKS, memory='"256MiB"', more="pids = 20", writable=())
    limited(answer, "pids", "a group names the limit", code=None)
    check(answer.usage and 10 <= answer.usage["pids_peak"] <= 21, "the peak of processes", answer)


def disk(s):
    answer = s.shell("dd if=/dev/zero of=/tmp/big bs=64k count=1000", more='disk = "1MiB"', writable=())
    limited(answer, "disk", "bytes of private storage", code=None)
    answer = s.shell(
        "i=0; while [ $i -lt 2000 ]; do : > /tmp/$i || exit 1; i=$((i+1)); done",
        more='disk = "1MiB"',
        writable=(),
    )
    limited(answer, "disk", "files of private storage", code=None)
    answer = s.shell("dd if=/dev/zero of=/dev/shm/big bs=64k count=1000", more='disk = "1MiB"', writable=())
    limited(answer, "disk", "/dev/shm is part of it", code=None)
    answer = s.shell(
        "dd if=/dev/zero of=/tmp/big bs=64k count=1000; exit 0", more='disk = "1MiB"', writable=()
    )
    check(answer.status == "ok" and answer.limit is None, "a tool that exits 0 stays ok", answer)
    answers = [
        s.shell("dd if=/dev/zero of=/tmp/b bs=1M count=99 2>/dev/null; r=$?; rm /tmp/b; exit $r")
        for _ in range(5)
    ]
    # a helper that does not get a CPU in time misses it
    check(
        [answer.limit for answer in answers].count("disk") >= 1
        and all(answer.status in ("failed", "limit") for answer in answers),
        "a tool that cleans up before it fails",
        [str(answer) for answer in answers],
    )
    answer = s.shell(
        "dd if=/dev/zero of=/tmp/big bs=64k count=8 && exit 3", more='disk = "1MiB"', writable=()
    )
    check(
        answer.status == "failed" and answer.limit is None and answer.code == 3,
        "storage that is not full is no limit",
        answer,
    )


def file_size(s):
    script = "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('big','wb').truncate(1<<40)"
    answer = s.python(script, more='workspace = { mode = "copy" }')
    limited(answer, "disk", "the signal of a file that is too large")
    check("a file may have at most 268435456 bytes" in answer.message, "and the size it may have", answer)
    answer = s.python(script.split("\n")[2], more='workspace = { mode = "copy" }')
    hinted(answer, "disk", "File too large", "a tool that ignores the signal")


def holes(s):
    """A file with holes takes no room, and its size is bounded all the same, where all that is written is private."""
    script = f"trap '' XFSZ; cd {s.ws}; truncate -s 1T big; truncate -s 1T /tmp/big; truncate -s 1M small; stat -c %s big /tmp/big small"
    answer = s.shell(script, more='workspace = { mode = "overlay" }\ndisk = "256MiB"\n')
    check(answer.out.split() == ["0", "0", "1048576"], "a terabyte of nothing", answer)
    for more in ("", 'workspace = { mode = "overlay" }'):
        answer = s.shell(script, more=more)
        check(
            answer.out.split()[0] == str(1 << 40), f"the host's own file system is the host's {more}", answer
        )
        os.unlink(s.path("ws/big"))


def cpu_time(s):
    spin = "while :; do :; done"
    answer = s.shell(spin, more='cpu_time = "300ms"\ntimeout = "20s"')
    limited(answer, "cpu_time", "one process that spins")
    check(answer.usage and 250 <= answer.usage["cpu_ms"] < 3000, "its processor time", answer)
    answer = s.shell(
        f"for i in 1 2 3 4; do ({spin}) & done; wait", more='cpu_time = "300ms"\ntimeout = "20s"'
    )
    limited(answer, "cpu_time", "many that spin")
    answer = s.shell(f"(({spin}) &) ; sleep 20", more='cpu_time = "300ms"\ntimeout = "20s"')
    limited(answer, "cpu_time", "an orphan that spins")
    # each child is short: only the sum is long
    answer = s.shell("while :; do /bin/true; done", more='cpu_time = "200ms"\ntimeout = "20s"')
    limited(answer, "cpu_time", "children that came and went")
    answer = s.call("/bin/sleep", str(0.6 * PATIENCE), more=f'cpu_time = "{300 * PATIENCE}ms"')
    check(answer.status == "ok" and answer.usage["cpu_ms"] < 200 * PATIENCE, "waiting costs nothing", answer)


def cpu_time_that_cannot_be_read(s):
    """A helper that can open nothing any more ends the call; it would not see the limit reached."""
    process = s.popen(
        "/bin/sh", "-c", ": > up; while :; do :; done", more='cpu_time = "40s"\ntimeout = "50s"'
    )
    until(lambda: os.path.exists(s.path("ws/up")), 20)
    helper = next(iter(helpers_of(process.pid)))
    resource.prlimit(helper, resource.RLIMIT_NOFILE, (5, resource.prlimit(helper, resource.RLIMIT_NOFILE)[1]))
    began = time.monotonic()
    answer = Answer(process.wait(60 * PATIENCE), *process.communicate())
    check(
        answer.status == "error" and answer.error and time.monotonic() - began < 20 * PATIENCE,
        "it is ended, long before its time",
        answer,
    )


def cpu_time_where_nothing_is_bounded(s):
    policy = s.write("bare.toml", '[tool.t]\nbackend = "not-a-security-boundary"\ncpu_time = "60s"\n')
    done = subprocess.run(
        [TOOLCAGE, "exec", "--policy", policy, "--tool", "t", "--", "/bin/sleep", "1.5"],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    check(done.returncode == 0, "no limit is missed that nobody promised", done)


def processor_time_is_told(s):
    answer = s.python("import time\nt=time.process_time()\nwhile time.process_time()-t<.3: pass")
    check(answer.status == "ok" and 250 <= answer.usage["cpu_ms"] < 3000, "processor time of a call", answer)
    # what it has used when it is killed is its own to say: a deadline may come before it has had a turn
    answer = s.python(
        "import time\nwhile time.process_time() < .3: pass\nprint('x' * 100000, flush=True)\ntime.sleep(60)",
        more='output = { limit = "1KiB", over = "kill" }',
    )
    check(
        answer.limit == "output" and 250 <= answer.usage["cpu_ms"] < 4000 * PATIENCE,
        "also of one that was killed",
        answer,
    )
    answer = s.python("b=bytearray(50<<20)")
    check(
        answer.status == "ok" and 45 * MIB < answer.usage["memory_peak_bytes"] < 200 * MIB,
        "memory of a call",
        answer,
    )


def output(s):
    numbers = "import sys\nsys.stdout.write(''.join('%07d\\n' % i for i in range(10000)))"
    answer = s.python(numbers, more='output = { limit = "1KiB" }')
    text = answer.out
    check(
        answer.status == "ok" and answer.stdout["truncated"] and answer.stdout["bytes"] == 80000,
        "output is cut",
        answer,
    )
    check(
        text.startswith("0000000\n0000001\n")
        and text.endswith("0009998\n0009999\n")
        and f"\n[... {80000 - 1024} bytes left out ...]\n" in text
        and len(text) < 1200,
        "both ends are kept",
        text,
    )
    answer = s.python(numbers, more='output = { limit = "80KB" }')
    check(
        answer.status == "ok" and not answer.stdout["truncated"] and len(answer.out) == 80000,
        "exactly the limit",
        answer.stdout["bytes"],
    )
    answer = s.python(
        "import sys\nsys.stderr.write('e'*5000)\nprint('o')", more='output = { limit = "1KiB" }'
    )
    check(
        answer.out == "o\n" and answer.stderr["truncated"] and answer.stderr["bytes"] == 5000,
        "the limit counts for one stream alone",
        answer,
    )
    answer = s.shell(
        "while :; do echo more; done", more='output = { limit = "64KiB", over = "kill" }\ntimeout = "30s"'
    )
    limited(answer, "output", "output without an end, killed")
    check(
        len(answer.out) < 70000 and answer.out.startswith("more\n"),
        "a killed call keeps the beginning of its output",
        len(answer.out),
    )
    answer = s.shell(
        "while :; do echo more; done", more='output = { limit = "4KiB" }\ntimeout = "1s"\ngrace = "100ms"'
    )
    check(
        answer.status == "timeout" and answer.stdout["truncated"] and len(answer.out) < 5000,
        "output without an end, cut",
        answer,
    )


def open_files(s):
    answer = s.python(
        "import os\nn=0\ntry:\n  while 1: os.dup(0); n+=1\nexcept OSError as e: print(n, e.errno)",
        more="open_files = 32",
    )
    check(answer.out == "29 24\n", "descriptors end at the limit", answer)
    answer = s.python(
        "import resource\ntry: resource.setrlimit(resource.RLIMIT_NOFILE,(64,64))\nexcept (ValueError, OSError): print('no')",
        more="open_files = 32",
    )
    check(answer.out == "no\n", "the limit cannot be raised", answer)
    for tiny in (1, 2, 3, 4):
        answer = s.call("/bin/true", more=f"open_files = {tiny}")
        told = answer.error and answer.error["hint"] and answer.code in (125, 126)
        check(
            answer.status == "failed" or told,
            f"open_files = {tiny}: the program fails, or the call with a hint",
            answer,
        )
    answer = s.call("/bin/true", more="open_files = 8")
    check(answer.status == "ok", "open_files = 8 starts a small program", answer)


def cpus(s):
    s.works("limit.cpus")
    code = "import os,time\nif os.fork()==0: pass\nt=time.monotonic()\nwhile time.monotonic()-t<1.5: pass"
    answer = s.call(
        PYTHON,
        "-I",
        "-c",
        code + "\ntry: os.wait()\nexcept OSError: pass",
        more="cpus = 0.25",
        memory='"256MiB"',
    )
    # two that spin would have used twice the time that went by, or once on one processor
    check(
        answer.status == "ok" and answer.usage["cpu_ms"] < 0.5 * answer.usage["wall_ms"],
        "a share of processors",
        answer,
    )
    for share in (0.5, 1):
        answer = s.call("/usr/bin/nproc", more=f"cpus = {share}", memory='"256MiB"')
        check(answer.out == "1\n", f"nproc answers cpus = {share}", answer)


run(
    timeout,
    memory_of_a_group,
    memory_by_any,
    memory_of_the_machine,
    a_jvm,
    memory_that_is_shared,
    segments_that_nobody_has_attached,
    pids,
    pids_of_a_group,
    hints,
    reserved_memory_counts_without_a_cgroup,
    doctor_names_the_mechanism_of_results,
    disk,
    file_size,
    holes,
    cpu_time,
    cpu_time_that_cannot_be_read,
    cpu_time_where_nothing_is_bounded,
    processor_time_is_told,
    output,
    open_files,
    cpus,
)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Containers that wait for calls: each serves one, holds nothing of another, is not taken when the policy or the image has
changed, and goes with its helper.

usage: ready.py TOOLCAGE [self | ordinary] crun | runc [long]"""

import contextlib
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"))

import scene  # first: it says where the next one is
import host
import mounts
from host import ask, make
from scene import PATIENCE, Skip, below, check, end, helpers_of, run, skip_all, start_time, until

RUNTIME = sys.argv[3]
IDLE = 60  # seconds that one waits
INIT = "/.toolcage/init\0"

lib = host.load(os.path.join(os.path.dirname(os.path.realpath(scene.TOOLCAGE)), "libtoolcage.so.0"))


def read(path):
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read().decode(errors="replace")
    return ""


def policy(s, more="", ready=1, memory=scene.ANY, image='image = "system"'):
    """The host sees what a call writes while it runs (a bind), if `more` does not replace that."""
    return host.policy_of(f"""
[backend.oci]
runtime = "{RUNTIME}"
ready = {ready}
[tool.t]
backend = "oci"
{image}
network = "none"
memory = {memory}
timeout = "50s"
{more or f'filesystem = {{ readable = ["{s.data}"], writable = ["{s.ws}"] }}'}
{"" if more else 'workspace = { mode = "bind" }'}
""")


class Call:
    def __init__(self, engine, rules, *command, stdin=None, settings=()):
        self.handle = make(lib.toolcage_call_new, engine.handle, rules, b"t")
        host.set_command(self.handle, *command)
        for key, value in settings:
            ask(lib.toolcage_call_set, self.handle, key.encode(), value.encode())
        if stdin is not None:
            ask(lib.toolcage_call_set_stdin, self.handle, stdin, len(stdin))
        ask(lib.toolcage_call_start, self.handle)

    def wait(self):
        ask(lib.toolcage_call_wait, self.handle, 60000 * PATIENCE)
        answer = host.result(self.handle)
        lib.toolcage_call_unref(self.handle)
        return answer


class Engine:
    def __init__(self):
        before = helpers_of(os.getpid())
        self.handle = make(lib.toolcage_engine_new)
        self.helper = None
        until(lambda: self.find(before), 10)

    def find(self, before):
        self.helper = next((pid for pid in helpers_of(os.getpid()) if pid not in before), None)
        return self.helper

    def call(self, rules, *command, **more):
        return Call(self, rules, *command, **more).wait()

    def shell(self, rules, script, **more):
        return self.call(rules, "/bin/sh", "-c", script, **more)

    def inits(self):
        """PID 1 of each container; those without children wait."""
        return [pid for pid in below(self.helper) if read(f"/proc/{pid}/cmdline") == INIT]

    def waiting(self):
        return [pid for pid in self.inits() if not below(pid)]

    def one(self, rules, *command, **more):
        """A call, if there is need of one, and then the container that waits, alone."""
        if not self.waiting():
            answer = self.call(rules, *(command or ("/bin/true",)), **more)
            check(answer["status"] == "ok", "a call that leaves a container", answer)
        return until(self.alone, 20)

    def alone(self):
        """The only container, if it waits; each look is at another moment."""
        waits = self.waiting()
        return waits[0] if len(self.inits()) == len(waits) == 1 and asleep(waits[0]) else None

    def close(self):
        tree = [(pid, start_time(pid)) for pid in [self.helper, *below(self.helper)]]
        lib.toolcage_engine_unref(self.handle)
        return until(lambda: not any(began and start_time(pid) == began for pid, began in tree), 20)


def field(pid, name):
    return next(
        (
            line.split()[1:]
            for line in read(f"/proc/{pid}/status").splitlines()
            if line.startswith(name + ":")
        ),
        [],
    )


def asleep(pid):
    return field(pid, "State")[:1] == ["S"]


def text(answer):
    return answer["stdout"]["text"]


def runtime_of(engine, init):
    """The process around it, which is the helper's child."""
    return next(pid for pid in below(engine.helper) if init in below(pid))


def serves_one_call(s):
    engine, rules, used = Engine(), policy(s), []
    for number in range(3):
        waits = engine.one(rules)
        began = start_time(waits)
        call = Call(
            engine,
            rules,
            "/bin/sh",
            "-c",
            f"cat; echo up > {s.ws}/up; until [ -e {s.ws}/go ]; do sleep 0.05; done; exit {number}",
            stdin=b"given",
        )
        until(lambda: os.path.exists(s.path("ws", "up")), 20)
        used.append((waits, began, bool(below(waits))))
        s.write("ws/go", "")
        answer = call.wait()
        used[-1] += (text(answer), answer["exit_code"])
        os.unlink(s.path("ws", "up"))
        os.unlink(s.path("ws", "go"))
        until(lambda: start_time(waits) != began)
    check(
        all(
            took and said == "given" and code == number
            for number, (_, _, took, said, code) in enumerate(used)
        ),
        "a call runs in the container that waited, with its own input, files and exit code",
        used,
    )
    check(
        len({(pid, began) for pid, began, *_ in used}) == 3
        and not any(start_time(pid) == began for pid, began, *_ in used),
        "and it serves no other",
        used,
    )
    check(engine.close(), "waiting containers end with the engine")


def holds_nothing(s):
    engine = Engine()
    s.write("data/file", "of the data")
    canary = "canary-of-the-first"
    more = f'filesystem = {{ readable = ["{s.data}"], writable = ["{s.ws}"] }}\nenv = {{ set = {{ FIRST = "{canary}" }} }}'
    waits = engine.one(policy(s, more), "/bin/sh", "-c", f"cat {s.data}/file; : {canary}")
    if scene.is_root():
        around = runtime_of(engine, waits)
        mounts = read(f"/proc/{waits}/mountinfo") + read(f"/proc/{around}/mountinfo")
        check(
            mounts and os.path.basename(s.root) not in mounts,
            "one that waits has none of the granted paths",
            mounts,
        )
        said = [read(f"/proc/{pid}/{name}") for pid in (waits, around) for name in ("environ", "cmdline")]
        config = read(f"/proc/{around}/root/tmp/config.json")
        check(
            "ociVersion" in config and not any(canary in part for part in [config, *said]),
            "and of the call before neither variable nor argument",
            said,
        )
        held = {int(fd): os.readlink(f"/proc/{waits}/fd/{fd}") for fd in os.listdir(f"/proc/{waits}/fd")}
        check(
            set(held) == {0, 1, 2, 3} and held[3].startswith("socket:"),
            "its descriptors are its report socket and none of a tool's",
            held,
        )
        ids = field(waits, "Uid")
        check("0" not in ids, "it has an id of its own", ids)
    check(engine.close(), "waiting containers end with the engine")


LOOK = """
import os, glob
mine = os.environ["LOOKFOR"]
print("pids", len([p for p in os.listdir("/proc") if p.isdigit()]))
print("tmp", sorted(os.listdir("/tmp")))
def shows(path):
    try:
        return mine in open(path, "rb").read().decode(errors="replace")
    except OSError:
        return False
print("left", [p for p in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") if shows(p) and not p.startswith(f"/proc/{os.getpid()}/")])
print("ipc", open("/proc/sysvipc/shm").read().count("\\n"))
"""


def nothing_of_another(s):
    engine, rules = Engine(), policy(s)
    init = engine.one(rules)
    # while they are held the kernel gives their numbers to no others
    held = [os.open(f"/proc/{init}/ns/{kind}", os.O_RDONLY) for kind in ("pid", "mnt", "net", "ipc")]
    first = engine.shell(
        rules,
        "echo secret-of-one > /tmp/left; (setsid sh -c 'sleep 300; : secret-of-one' &); ipcmk -M 4096 >/dev/null 2>&1; readlink /proc/self/ns/pid /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/ipc; echo $$",
    )
    engine.one(rules)
    more = f'filesystem = {{ readable = ["{s.data}"], writable = ["{s.ws}"] }}\nenv = {{ set = {{ LOOKFOR = "secret-of-one" }} }}'
    second = engine.call(policy(s, more), "/usr/bin/python3", "-I", "-c", LOOK)
    check(first["status"] == "ok" and second["status"] == "ok", "two calls", (first, second))
    engine.one(rules)
    third = engine.shell(
        rules,
        "readlink /proc/self/ns/pid /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/ipc; echo $$; cat /tmp/left",
    )
    check(
        "pids 2\n" in text(second)
        and "tmp []" in text(second)
        and "left []" in text(second)
        and "ipc 1\n" in text(second),
        "the later one finds neither file nor process nor memory of the earlier one",
        second,
    )
    lines = [text(answer).split() for answer in (first, third)]
    check(
        len(lines[0]) == 5
        and not set(lines[0][:4]) & set(lines[1][:4])
        and all(int(line[4]) < 20 for line in lines),
        "its namespaces are others, and its processes are counted from the start",
        lines,
    )
    for fd in held:
        os.close(fd)
    check(engine.close(), "waiting containers end with the engine")


def claimed_once(s):
    """Calls that come at once, more than wait: each has a container of its own."""
    engine, rules = Engine(), policy(s, ready=3)
    seen, statuses = [], []
    for turn in range(4):
        up = s.directory(f"ws/up{turn}")
        script = f"readlink /proc/self/ns/pid; [ ! -e /tmp/mark ] && echo > /tmp/mark && echo alone; echo > {up}/$0; until [ -e {up}/go ]; do sleep 0.05; done"
        calls = [Call(engine, rules, "/bin/sh", "-c", script, str(number)) for number in range(5)]
        until(lambda: len(os.listdir(up)) == 5, 30)  # pylint: disable=cell-var-from-loop
        s.write(f"ws/up{turn}/go", "")
        answers = [call.wait() for call in calls]
        statuses += [(answer["status"], text(answer).split()[1:]) for answer in answers]
        seen.append(len({text(answer).split()[0] for answer in answers}))
        waits = until(lambda: len(engine.waiting()) == len(engine.inits()) == 3, 20)
    check(statuses == [("ok", ["alone"])] * 20, "calls at once", statuses)
    check(seen == [5] * 4, "no two are in one container", seen)
    check(waits, "as many wait as the policy says", engine.waiting())
    check(engine.close(), "waiting containers end with the engine")


def a_changed_policy(s):
    engine, rules = Engine(), policy(s)
    s.write("data/file", "of the data")
    check(text(engine.shell(rules, f"cat {s.data}/file")) == "of the data", "a first policy grants the data")
    engine.one(rules)
    answer = engine.shell(
        policy(s, 'filesystem = "none"\nenv = { set = { NEW = "yes" } }'), f"echo $NEW; cat {s.data}/file"
    )
    check(
        answer["status"] == "failed" and text(answer) == "yes\n",
        "a second one that does not is in force at once",
        answer,
    )
    engine.one(rules)
    answer = engine.shell(
        policy(s, f'filesystem = {{ readable = ["{s.data}"] }}\nsyscalls.deny = ["mkdir"]'),
        f"cat {s.data}/file; mkdir /tmp/x && echo made",
    )
    check(
        "made" not in text(answer) and text(answer).startswith("of the data"),
        "so is a filter of system calls",
        answer,
    )
    engine.one(rules)
    answer = engine.shell(
        policy(s, f'filesystem = {{ readable = ["{s.data}"] }}\nsyscalls.allow = ["ptrace"]'),
        f"cat {s.data}/file",
    )
    check(answer["status"] == "ok", "a container missing from the runtime's list is not used", answer)
    os.rename(s.data, s.data + ".old")
    s.write("data/file", "of another directory")
    engine.one(rules)
    check(
        text(engine.shell(rules, f"cat {s.data}/file")) == "of another directory",
        "paths are looked up for the call",
    )
    check(engine.close(), "waiting containers end with the engine")


def a_changed_image(s):
    busybox = shutil.which("busybox")
    if not busybox:
        raise Skip("skipped: busybox is not installed")
    for name in ("one", "two"):
        s.write(f"{name}/etc/motd", f"of image {name}\n")
        os.makedirs(s.path(name, "bin"))
        shutil.copy(busybox, s.path(name, "bin", "busybox"))
    os.rename(s.path("one"), s.path("image"))
    engine, rules = Engine(), policy(s, 'filesystem = "none"', image=f'image = "{s.path("image")}"')
    motd = ("/bin/busybox", "cat", "/etc/motd")
    engine.call(rules, *motd)
    waits = until(engine.alone, 20)
    call = text(engine.call(rules, *motd))
    check(
        call == "of image one\n" and waits and until(lambda: waits not in engine.inits()),
        "a call in an image takes what waits",
        (call, waits),
    )
    old = until(engine.alone, 20)
    os.rename(s.path("image"), s.path("one"))
    os.rename(s.path("two"), s.path("image"))
    call = text(engine.call(rules, *motd))
    check(call == "of image two\n", "with another image in its place it does not", call)
    check(
        old and until(lambda: old not in engine.inits()),
        "the container that waited with the old one goes",
        (old, engine.inits()),
    )
    check(engine.close(), "waiting containers end with the engine")


def killed(s):
    before = mounts.table()
    engine, rules = Engine(), policy(s)
    statuses = []
    for turn in range(6):
        waits = engine.one(rules)
        both = [waits, runtime_of(engine, waits)]
        began = [start_time(pid) for pid in both]
        end(both[turn % 2])
        until(lambda: not any(start_time(pid) == then for pid, then in zip(both, began)))
        time.sleep(0.2)  # the last thread of one that has ended already may take its time
        statuses.append(engine.call(rules, "/bin/true")["status"])
    check(statuses == ["ok"] * 6, "a killed waiting container costs the next call only time", statuses)
    engine.one(rules)
    left = [(pid, start_time(pid)) for pid in [engine.helper, *below(engine.helper)]]
    groups = {
        line for pid, _ in left for line in read(f"/proc/{pid}/cgroup").splitlines() if "toolcage" in line
    }
    end(engine.helper)
    check(
        len(left) > 2 and until(lambda: not any(started == start_time(pid) for pid, started in left)),
        "it dies with its helper",
        left,
    )
    check(mounts.table() == before, "and no mount is left", set(mounts.table()) ^ set(before))
    check(
        until(
            lambda: (
                not any(
                    read(f"/sys/fs/cgroup/{line.split(':')[1] or 'unified'}{line.split(':')[2]}/cgroup.procs")
                    for line in groups
                )
            )
        ),
        "nor a process in a control group",
        groups,
    )
    engine.close()


def none_waits(s):
    engine, rules = Engine(), policy(s, ready=0)
    answers = [engine.call(rules, "/bin/true")["status"] for _ in range(3)]
    time.sleep(0.3)
    check(
        answers == ["ok"] * 3 and not engine.inits(), "with ready = 0 none waits", (answers, engine.inits())
    )
    more = policy(s, 'denials = "accesses"\nfilesystem = "none"')
    answers = [engine.call(more, "/bin/true")["status"] for _ in range(3)]
    time.sleep(0.3)
    check(
        answers == ["ok"] * 3 and not engine.inits(), "nor for calls with a proxy", (answers, engine.inits())
    )
    check(engine.close(), "the helper ends")


def has_its_limits(s):
    engine, rules = Engine(), policy(s)
    engine.one(rules)
    time.sleep(1.5)
    answer = engine.shell(rules, "sleep 0.2; echo up", settings=[("timeout", f"{PATIENCE}s")])
    check(text(answer) == "up\n", "the time that it waited is none of the call's", answer)
    engine.one(rules)
    answer = engine.shell(
        rules, "trap '' TERM; while :; do sleep 0.05; done", settings=[("timeout", "300ms")]
    )
    check(answer["status"] == "timeout", "a tool that will not end is ended", answer)
    engine.one(rules)
    eat = "x = bytearray({} << 20)"
    answer = engine.call(rules, scene.PYTHON, "-I", "-c", eat.format(400))
    check(answer["status"] != "ok", "memory of each process is bounded", answer)
    check(engine.close(), "waiting containers end with the engine")
    s.works("limit.memory")
    engine, rules = Engine(), policy(s, memory='"64MiB"')
    answers = []
    for size in (16, 300, 16, 300):
        engine.one(rules)
        answers.append(engine.call(rules, scene.PYTHON, "-I", "-c", eat.format(size)))
    check(
        [(answer["status"], answer["limit"]) for answer in answers]
        == [("ok", None), ("limit", "memory")] * 2,
        "every call has its control group's limit, and no trace of the one before",
        answers,
    )
    check(engine.close(), "waiting containers end with the engine")


def idle(s):
    engine, rules = Engine(), policy(s)
    engine.one(rules)
    check(
        until(lambda: not engine.inits(), IDLE + 30),
        "after a minute without calls none waits",
        engine.inits(),
    )
    check(engine.call(rules, "/bin/true")["status"] == "ok", "and a call works as before")
    check(engine.close(), "the helper ends with its engine")


def many(s):
    engine, rules = Engine(), policy(s)

    def state():
        until(lambda: len(engine.inits()) == 1, 10)
        return (
            len(os.listdir(f"/proc/{engine.helper}/fd")),
            len(below(engine.helper)),
            read(f"/proc/{engine.helper}/maps").count("\n"),
        )

    def calls(count):
        return {engine.call(rules, "/bin/true")["status"] for _ in range(count)}

    calls(20)
    before = state()
    statuses = calls(200)
    after = state()
    check(
        statuses == {"ok"} and all(now <= then + 20 for then, now in zip(before, after)),
        "200 calls leave no descriptor, process or mapping",
        (statuses, before, after),
    )
    check(engine.close(), "the helper ends with its engine")


def main():
    if not any(
        os.access(os.path.join(place, RUNTIME), os.X_OK)
        for place in ("/usr/bin", "/usr/sbin", "/usr/local/bin")
    ):
        skip_all(f"skipped: {RUNTIME} is not installed")
    parts = (
        [idle, many]
        if "long" in sys.argv
        else [
            serves_one_call,
            holds_nothing,
            nothing_of_another,
            claimed_once,
            a_changed_policy,
            a_changed_image,
            killed,
            none_waits,
            has_its_limits,
        ]
    )
    mounts.apart()
    run(*parts)


main()

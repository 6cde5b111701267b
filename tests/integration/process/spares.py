#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Processes cloned ahead of their calls: each serves one call, holds nothing of another, and goes with its helper,
when it is not needed, or when somebody kills it; then the next call is only slower."""

import contextlib
import os
import time

import scene  # first: it says where the next one is
import ahead
import host
from ahead import Call
from processes import read
from scene import below, check, end, run, start_time, until

IDLE = 10  # seconds that an unused one is kept


class Engine(ahead.Engine):
    """An engine with two tools: "a" is granted the data, "b" is not."""

    def __init__(self, s, memory=scene.ANY):
        text = f"""
[defaults]
network = "none"
memory = {memory}
timeout = "50s"
[tool.a]
filesystem = {{ readable = ["{s.data}"], writable = ["{s.ws}"] }}
workspace = {{ mode = "bind" }}
env = {{ set = {{ ONLY_A = "yes" }} }}
[tool.b]
filesystem = "none"
"""
        self.grouped = False
        super().__init__(host.policy_of(text))

    def call(self, tool, *command):
        answer = Call(self, tool, *command).wait()
        self.grouped = answer["enforcement"].get("limit.memory", "").startswith("cgroup")
        return answer

    def firsts(self):
        """PID 1 of every cage: those with children run a tool, the others wait. Before it knows of any call the helper
        makes one that is in no control group: where calls have one, it goes unused when its time is over."""
        return [pid for pid in below(self.helper) if is_first(pid) and (groups_of(pid) or not self.grouped)]

    def spares(self):
        return [pid for pid in self.firsts() if not below(pid)]

    def one_spare(self):
        """The spare that a call leaves, when nothing else is there. Where looking takes longer than it is kept, another
        call leaves another."""
        for _ in range(scene.PATIENCE):
            self.call("a", "/bin/true")
            if until(self.settled, 10 / scene.PATIENCE):
                break
        return self.spares()[0]

    def settled(self):
        """One that waits and nothing else, and it still does a moment later: what did not fit the call is about to go."""
        first = self.firsts()
        time.sleep(0.05)
        return len(first) == 1 and first == self.firsts() == self.spares()


def field(pid, name):
    return next(
        (
            line.split()[1:]
            for line in read(f"/proc/{pid}/status").splitlines()
            if line.startswith(name + ":")
        ),
        [],
    )


def is_first(pid):
    ids = field(pid, "NSpid")
    return len(ids) > 1 and ids[-1] == "1"


def descriptors(pid):
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it closes one just then
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
    return found


def may_look(pid):
    with contextlib.suppress(PermissionError):
        return bool(os.listdir(f"/proc/{pid}/fd"))
    return False


def groups_of(pid):
    return {line for line in read(f"/proc/{pid}/cgroup").splitlines() if "toolcage" in line}


def served_once(s):
    engine = Engine(s)
    used = []
    for _ in range(3):
        spare = engine.one_spare()
        call = Call(engine, "a", "/bin/sh", "-c", f"echo up > {s.ws}/up; sleep {scene.PATIENCE}")
        until(lambda: os.path.exists(s.path("ws", "up")), 10)
        used.append((spare, below(spare) != []))
        answer = call.wait()
        os.unlink(s.path("ws", "up"))
        used[-1] += (answer["status"], start_time(spare))
    check(
        all(took and status == "ok" for _, took, status, _ in used),
        "a call takes the process that waits for it",
        used,
    )
    check(
        until(lambda: not any(start_time(pid) for pid, *_ in used)) and len({pid for pid, *_ in used}) == 3,
        "and it serves no other",
        used,
    )
    check(engine.close(), "the helper ends with its engine")


def holds_nothing(s):
    engine = Engine(s)
    with open(s.path("data", "x"), "w", encoding="utf-8") as file:
        file.write("x")
    engine.call("a", "/bin/true")
    call = Call(engine, "a", "/bin/sh", "-c", f"cat {s.data}/x; until [ -e {s.ws}/go ]; do sleep 0.1; done")
    until(lambda: len(engine.firsts()) == 2 and len(engine.spares()) == 1, 10 / scene.PATIENCE)
    spare = engine.spares()[0]
    running = next(pid for pid in engine.firsts() if pid != spare)
    if scene.is_root():
        name = os.path.basename(s.root)
        check(
            until(lambda: name in read(f"/proc/{running}/mountinfo")),
            "a cage that runs has its granted paths",
        )
        mounts = read(f"/proc/{spare}/mountinfo")
        check(mounts and name not in mounts, "one that waits has none", mounts)
        until(lambda: set(descriptors(spare)) == {0, 1, 2, 3})  # it may be just being made
        held = descriptors(spare)
        check(
            set(held) == {0, 1, 2, 3}
            and {held[0], held[1], held[2]} == {"/dev/null"}
            and held[3].startswith("socket:"),
            "it holds its report socket, and nothing else",
            held,
        )
        ids = [field(pid, "Uid")[0] for pid in (spare, running)]
        check("0" not in ids and ids[0] != ids[1], "it has an id of its own", ids)
    else:
        check(not may_look(spare) and may_look(os.getpid()), "nobody of the same user may look into it")
    s.write("ws/go", "")
    check(call.wait()["stdout"]["text"] == "x", "the call itself is not disturbed")
    answer = engine.call("b", "/bin/sh", "-c", f"echo [$ONLY_A]; cat {s.data}/x")
    check(
        "[]" in answer["stdout"]["text"] and answer["status"] == "failed",
        "a spare of one tool gives another nothing",
        answer,
    )
    check(engine.close(), "the helper ends with its engine")


def killed(s):
    engine = Engine(s)
    statuses = []
    for _ in range(10):
        victim = engine.one_spare()
        began = start_time(victim)
        end(victim)
        until(lambda: start_time(victim) != began)
        statuses.append(engine.call("a", "/bin/true")["status"])
    check(statuses == ["ok"] * 10, "a killed spare costs the next call only time", statuses)
    engine.one_spare()
    left = [(pid, start_time(pid)) for pid in [engine.helper, *below(engine.helper)]]
    end(engine.helper)
    check(
        until(lambda: not any(started == start_time(pid) for pid, started in left)),
        "it dies with its helper",
        left,
    )
    engine.close()


def dead(pid):
    return [child for child in below(pid) if field(child, "State")[:1] == ["Z"]]


def leased(helper):
    """The ids that it has leased, by the locks on the file that says so."""
    ids = 0
    for fd in os.listdir(f"/proc/{helper}/fd"):
        if read(f"/proc/{helper}/fdinfo/{fd}").count("lock:") and os.readlink(
            f"/proc/{helper}/fd/{fd}"
        ).endswith("/ids.lock"):
            for line in read(f"/proc/{helper}/fdinfo/{fd}").splitlines():
                if line.startswith("lock:"):
                    first, last = line.split()[-2:]
                    ids += int(last) - int(first) + 1
    return ids


def misfits(s):
    """A granted path is a directory and then a file, in turns: what waits has a root that does not fit."""
    engine = Engine(s)
    statuses, corpses = [], []
    for turn in range(10):
        waited = engine.one_spare()
        began = start_time(waited)
        if turn % 2:
            os.unlink(s.data)
            os.rename(s.data + ".kept", s.data)
        else:
            os.rename(s.data, s.data + ".kept")
            with open(s.data, "w", encoding="utf-8") as file:
                file.write("x")
        call = Call(engine, "a", "/bin/sleep", str(0.3 * scene.PATIENCE))
        until(lambda: len(engine.firsts()) > len(engine.spares()), 10)
        corpses.append(not until(lambda: start_time(waited) != began and not dead(engine.helper), 5))
        statuses.append(call.wait()["status"])
    check(statuses == ["ok"] * 10, "a call that what waits does not fit runs all the same", statuses)
    check(not any(corpses), "spares are gone while a call runs, and reaped", corpses)
    until(lambda: len(engine.firsts()) <= 1, 10)
    if scene.is_root():
        check(
            until(lambda: leased(engine.helper) == len(engine.firsts())),
            "ids are leased for what lives, and no other",
            f"{leased(engine.helper)} for {engine.firsts()}",
        )
    check(engine.close(), "the helper ends with its engine")


def idle(s):
    engine = Engine(s)
    engine.call("a", "/bin/true")
    engine.call("b", "/bin/true")
    until(lambda: len(engine.spares()) >= 2, 10)
    check(
        until(lambda: not engine.firsts(), IDLE + 20),
        "after some seconds without calls none waits",
        engine.firsts(),
    )
    check(engine.call("a", "/bin/true")["status"] == "ok", "and a call works as before")
    check(engine.close(), "the helper ends with its engine")


def thousand(s):
    engine = Engine(s)

    def state():
        until(lambda: len(engine.firsts()) <= 1, 10)
        return (
            len(os.listdir(f"/proc/{engine.helper}/fd")),
            len(below(engine.helper)),
            read(f"/proc/{engine.helper}/maps").count("\n"),
        )

    def calls(count):
        return {engine.call("a", "/bin/true")["status"] for _ in range(count)}

    count = 1000 // scene.PATIENCE
    calls(100)
    before = state()
    statuses = calls(count)
    after = state()
    check(statuses == {"ok"}, f"{count} calls", statuses)
    # id maps are kept, up to a number
    check(
        all(now <= then + 100 for then, now in zip(before, after)),
        "leave no descriptor, process or mapping",
        f"{before} {after}",
    )
    check(engine.close(), "the helper ends with its engine")


def grouped(s):
    s.works("limit.memory")
    engine = Engine(s, '"64MiB"')
    eat = "x = bytearray({} << 20)"
    until_told = f"import os, time\nwhile not os.path.exists('{s.ws}/go'): time.sleep(0.05)"
    check(
        engine.call("a", scene.PYTHON, "-I", "-c", eat.format(16))["status"] == "ok",
        "a call in a control group",
    )
    call = Call(engine, "a", scene.PYTHON, "-I", "-c", until_told)
    seen = []

    def two():
        seen[:] = [group for group in map(groups_of, engine.firsts()) if group]
        return len(seen) > 1

    until(two, 20)
    check(
        len(seen) > 1 and not seen[0] & seen[1],
        "one that waits has a control group of its own",
        [seen, [(pid, field(pid, "State"), field(pid, "NSpid")) for pid in below(engine.helper)]],
    )
    s.write("ws/go", "")
    check(call.wait()["status"] == "ok", "the call ends well")
    limits = [engine.call("a", scene.PYTHON, "-I", "-c", eat.format(size)) for size in (300, 16, 300, 16)]
    check(
        [(answer["status"], answer["limit"]) for answer in limits] == [("limit", "memory"), ("ok", None)] * 2,
        "every call has its limit, and no trace of the one before",
        limits,
    )
    check(engine.close(), "the helper ends with its engine")


run(
    served_once,
    holds_nothing,
    killed,
    misfits,
    idle,
    thousand,
    grouped,
    brief=(served_once, holds_nothing, killed, grouped),
)

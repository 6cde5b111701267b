# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""usage: bench/python.py NOOP POLICY ROUNDS       PYTHONPATH has the package, TOOLCAGE_LIBRARY the library

What a caged call costs a program in Python: in turns with subprocess.run of the same program, and sixteen at once."""

import asyncio
import statistics
import subprocess
import sys
import time

import toolcage

noop, policy, rounds = sys.argv[1], toolcage.Policy.from_file(sys.argv[2]), int(sys.argv[3])
AIM_MS, AIM_S, AT_ONCE, SLEEP = 1.2, 0.25, 16, 0.2


def timed(work):
    """Milliseconds: that passed, and of this process's own work."""
    began, worked = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000


def line(name, taken, first):
    times = sorted(passed for passed, _ in taken)
    median, own = statistics.median(times), statistics.median(worked for _, worked in taken)
    print(
        f"{name:32} median {median:7.3f} ms   p95 {times[int(len(times) * 0.95)]:7.3f} ms   over the first {median - first:+7.3f} ms   "
        f"own work {own:6.3f} ms"
    )
    return median


def in_turns(engine):
    call = toolcage.Call(policy, "noop", command=[noop])
    engine.run(call).check()
    loop = asyncio.new_event_loop()
    contenders = {
        "subprocess.run, no cage": lambda: subprocess.run([noop], check=True, capture_output=True),
        "toolcage.Engine.run": lambda: engine.run(call),
        "the same, and every field read": lambda: engine.run(call).enforcement,
        "toolcage.Engine.run_async": lambda: loop.run_until_complete(engine.run_async(call)),
    }
    times = {name: [] for name in contenders}
    for turn in range(rounds + 10):
        for name, work in contenders.items():
            took = timed(work)
            if turn >= 10:
                times[name].append(took)
    loop.close()
    first = statistics.median(passed for passed, _ in next(iter(times.values())))
    over = [line(name, taken, first) - first for name, taken in times.items()][1]
    print(f"aim: at most {AIM_MS} ms over subprocess.run: {'met' if over <= AIM_MS else 'missed'}")


async def at_once(engine):
    call = toolcage.Call(toolcage.Policy.default(), command=["sleep", str(SLEEP)])
    await asyncio.gather(*(engine.run_async(call) for _ in range(AT_ONCE)))
    took = []
    for _ in range(max(3, rounds // 30)):
        began = time.perf_counter()
        for result in await asyncio.gather(*(engine.run_async(call) for _ in range(AT_ONCE))):
            result.check()
        took.append(time.perf_counter() - began)
    print(
        f"{AT_ONCE} calls of {SLEEP} s at once: median {statistics.median(took):.3f} s, least {min(took):.3f} s"
    )
    print(f"aim: under {AIM_S} s: {'met' if statistics.median(took) < AIM_S else 'missed'}")


with toolcage.Engine() as shared:
    in_turns(shared)
    asyncio.run(at_once(shared))

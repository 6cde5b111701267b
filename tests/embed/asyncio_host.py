# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A host in another language: ctypes for the functions, asyncio for the waiting, no callback and no thread.
Ten calls run at once, one times out, one is cancelled, and the loop stays responsive all the while."""

import asyncio
import os
import sys
import tempfile

import host
import tap
from host import Failed, ask, make

lib = host.load(sys.argv[1])


async def run(engine, policy, line, timeout, cancel_after=None):
    call = make(lib.toolcage_call_new, engine, policy, None)
    try:
        host.set_command(call, "sh", "-c", line)
        ask(lib.toolcage_call_set, call, b"timeout", timeout.encode())
        ask(lib.toolcage_call_start, call)
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        fd = lib.toolcage_call_fd(call)

        def ready():
            if ask(lib.toolcage_call_dispatch, call):
                loop.remove_reader(fd)
                done.set()

        loop.add_reader(fd, ready)
        if cancel_after is not None:
            loop.call_later(cancel_after, lib.toolcage_call_cancel, call)
        await done.wait()
        return host.result(call)
    finally:
        lib.toolcage_call_unref(call)


async def main():
    engine = make(lib.toolcage_engine_new)
    policy = make(lib.toolcage_policy_new_default)
    first = await run(engine, policy, "echo here", "10s")
    if (first["error"] or {}).get("code") == "unenforceable":
        print("1..0 # SKIP this machine cannot make the cage: " + first["error"]["message"])
        return
    tap.check(first["stdout"]["text"] == "here\n", "one call", first)
    ticks, open_before = 0, len(os.listdir("/proc/self/fd"))

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    jobs = [run(engine, policy, f"sleep 0.2; echo {i}", "30s") for i in range(10)]
    jobs += [run(engine, policy, "sleep 60", "1s"), run(engine, policy, "sleep 60", "60s", cancel_after=0.5)]
    results = await asyncio.gather(*jobs)
    ticking.cancel()
    tap.check(
        [r["stdout"]["text"] for r in results[:10]] == [f"{i}\n" for i in range(10)], "ten at once", results
    )
    tap.check(results[10]["status"] == "timeout", "a deadline", results[10])
    tap.check(results[11]["status"] == "cancelled", "a cancel", results[11])
    tap.check(ticks > 20, "the loop was never blocked", ticks)
    tap.check(len(os.listdir("/proc/self/fd")) == open_before, "no descriptor is left")
    try:
        ask(lib.toolcage_call_set, None, b"timeout", b"1s")
        tap.check(False, "a NULL call is an error")
    except Failed as error:
        tap.check("must not be NULL" in str(error), "a NULL call is an error", error)
    lib.toolcage_policy_unref(policy)
    lib.toolcage_engine_unref(engine)
    tap.finish()


with tempfile.TemporaryDirectory(prefix="toolcage-host-") as here:
    os.chmod(here, 0o755)
    os.chdir(here)
    try:
        asyncio.run(main())
    finally:
        os.chdir("/")

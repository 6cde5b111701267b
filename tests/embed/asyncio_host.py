# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A host in another language: ctypes for the functions, asyncio for the waiting, no callback and no thread.
Ten calls run at once, one times out, one is cancelled, and the loop stays responsive all the while."""
import asyncio
import ctypes
import json
import os
import sys
import tempfile

import tap

lib = ctypes.CDLL(sys.argv[1])
for name in ("toolcage_error_report", "toolcage_result_json"):
    getattr(lib, name).restype = ctypes.c_char_p
    getattr(lib, name).argtypes = [ctypes.c_void_p]
lib.toolcage_call_result.restype = ctypes.c_void_p
lib.toolcage_call_result.argtypes = [ctypes.c_void_p]


class Failed(Exception):
    pass


def ask(function, *arguments):
    """Calls a fallible function; its error becomes an exception."""
    err = ctypes.c_void_p()
    code = function(*arguments, ctypes.byref(err))
    if code < 0:
        report = lib.toolcage_error_report(err).decode()
        lib.toolcage_error_free(err)
        raise Failed(report)
    return code


def make(function, *arguments):
    made = ctypes.c_void_p()
    ask(function, *arguments, ctypes.byref(made))
    return made


async def run(engine, policy, line, timeout, cancel_after=None):
    call = make(lib.toolcage_call_new, engine, policy, None)
    try:
        words = (ctypes.c_char_p * 3)(b"sh", b"-c", line.encode())
        ask(lib.toolcage_call_set_command, call, ctypes.c_size_t(3), words)
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
        return json.loads(lib.toolcage_result_json(lib.toolcage_call_result(call)))
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
    tap.check([r["stdout"]["text"] for r in results[:10]] == [f"{i}\n" for i in range(10)], "ten at once", results)
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

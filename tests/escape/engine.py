# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Several calls of one engine, so of one helper: a host that uses the library as any other would.

usage: engine.py LIBTOOLCAGE POLICY. On standard input one JSON line a step: {"start": [TOOL, COMMAND…]}, {"end": N}
(cancelled, unless it has ended), or {"policy": PATH} for later calls. Each is answered by one line: true, or the result of call N."""

import ctypes
import json
import sys

lib = ctypes.CDLL(sys.argv[1])
for name in ("toolcage_result_json", "toolcage_error_report"):
    getattr(lib, name).restype = ctypes.c_char_p
    getattr(lib, name).argtypes = [ctypes.c_void_p]
lib.toolcage_call_result.restype = ctypes.c_void_p
error = ctypes.c_void_p()
calls = []


def need(code):
    if code < 0:
        sys.exit(lib.toolcage_error_report(error).decode())


engine, policy = ctypes.c_void_p(), ctypes.c_void_p()
need(lib.toolcage_engine_new(ctypes.byref(engine), ctypes.byref(error)))
need(lib.toolcage_policy_load_file(sys.argv[2].encode(), ctypes.byref(policy), ctypes.byref(error)))
for line in sys.stdin:
    step = json.loads(line)
    answer = "true"
    if "start" in step:
        tool, *command = [text.encode() for text in step["start"]]
        call = ctypes.c_void_p()
        need(lib.toolcage_call_new(engine, policy, tool, ctypes.byref(call), ctypes.byref(error)))
        argv = (ctypes.c_char_p * len(command))(*command)
        need(lib.toolcage_call_set_command(call, ctypes.c_size_t(len(command)), argv, ctypes.byref(error)))
        need(lib.toolcage_call_start(call, ctypes.byref(error)))
        calls.append(call)
    elif "policy" in step:
        need(
            lib.toolcage_policy_load_file(step["policy"].encode(), ctypes.byref(policy), ctypes.byref(error))
        )
    else:
        call = calls[step["end"]]
        if step.get("cancel"):
            lib.toolcage_call_cancel(call)
        need(lib.toolcage_call_wait(call, 60000, ctypes.byref(error)))
        answer = lib.toolcage_result_json(lib.toolcage_call_result(call)).decode()
    print(answer, flush=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Extism, which has Wasmtime inside: the start of one plugin's module, which is an instance each time, in one process, without a cage.

usage: plugins.py MODULE ROUNDS"""

import sys
import time

import extism

WARM = 20


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    with open(path, "rb") as file:
        plugin = extism.Plugin({"wasm": [{"data": file.read()}]}, wasi=True)
    times = []
    for number in range(-WARM, rounds):
        start = time.perf_counter()
        plugin.call("_start", b"")
        end = time.perf_counter()
        if number >= 0:
            times.append((end - start) * 1e6)
    times.sort()
    name = f"Extism {extism.extism_version()} in one process"
    print(f"{name:45}{times[len(times) // 2]:10.0f}{times[min(len(times) - 1, len(times) * 99 // 100)]:9.0f}")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The conformance cases in a machine, for layers = ["qemu", "process"]: those that are seen from inside and need no path of the host.
One boot for all that share a grant, so that a limit which ends a call has its own script (ends.py).

usage: clauses.py TOOLCAGE self|ordinary PROBE"""
import os
import secrets
import sys

PROBE = os.path.abspath(sys.argv[3])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "conformance"))

import scene  # noqa: E402
from cases import CASES  # noqa: E402
from scene import check, finish  # noqa: E402
from stage import printed  # noqa: E402

TOKEN = secrets.token_hex(16)
TOOL = """[tool.c]
layers = ["qemu", "process"]
image = "small"
filesystem = "none"
memory = {{ max = "64MiB", by = "any" }}
timeout = "240s"
{}
"""
# What can be granted beside everything else without changing what the other cases see.
SHARED = ("open_files", "disk")
MARK = "@@"


def is_seen_inside(case):
    words = " ".join(case["run"]) + case["saw"][-1].replace("{token}", "")
    return case["saw"][0] == "says" and "{" not in words and not set(case["grant"]) - {*SHARED, "syscalls"}


def by_grant():
    """[(grant, cases)]: the shared ones together, the others each with those of the same grant."""
    groups = {}
    for case in filter(is_seen_inside, CASES):
        own = {key: value for key, value in case["grant"].items() if key not in SHARED}
        grant, cases = groups.setdefault(str(own), (own, []))
        grant.update(case["grant"])
        cases.append(case)
    return list(groups.values())


def run(grant, cases):
    script = "".join(f"echo {MARK}; /bin/probe {' '.join(case['run'])} 2>&1\n" for case in cases)
    lines = "\n".join(f"{key} = {value}" for key, value in grant.items())
    answer = scene.call(script + "true", more=TOOL.format(lines), tool="c")
    check(answer.code == 0 and answer.json.get("layers") == ["qemu", "process"], f"a machine runs {len(cases)} cases", answer)
    said = printed(answer.json.get("stdout", {"text": ""})).split(MARK + "\n")[1:]
    check(len(said) == len(cases), "each of them to its end", said)
    for case, text in zip(cases, said):
        good = (case["saw"][1].replace("{token}", TOKEN) in text) == case["allowed"] and bool(text)
        held = answer.json["enforcement"].get(case["clause"])
        check(good and held, f"{case['clause']}: {case['name']} [{'allowed' if case['allowed'] else 'refused'}]", (text, held))


os.environ["CALLERS"] = TOKEN
scene.begin(sys.argv[2], PROBE)
for its_grant, its_cases in by_grant():
    run(its_grant, its_cases)
refused = scene.call("true", more=TOOL.format('unix_sockets = "own"'), tool="c")
check(refused.code == 126 and refused.error.get("subject") == "unix_sockets", "net.unix: what no machine of this kind holds is refused by name", refused)
check(not scene.monitors(), "nothing is left", scene.monitors())
finish()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Runs the conformance cases on a backend, and draws the matrix of backends from real runs.

usage: run.py --toolcage PATH --probe PATH [--backend NAME] [--as-user UID] [--only TEXT]
       run.py --toolcage PATH --probe PATH --matrix > docs/backends.md

A clause that this machine or the backend cannot enforce must be refused, naming the clause; then its cases
are skipped with the reason."""
import argparse
import ctypes  # before privileges go: afterwards its directory may be out of reach
import json
import os
import re
import subprocess
import sys
import traceback

sys.dont_write_bytecode = True

from cases import CASES
from stage import Stage

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BACKENDS = ["process"]
NEEDS = {"net.allow": {"network": '["example.com:443"]'}, "limit.memory": {"memory": '"64MiB"'}, "limit.cpus": {"cpus": "0.5"}}
seen, failed = 0, 0


def clauses():
    """Names and texts of the closed list, in order."""
    with open(os.path.join(ROOT, "src/policy/clauses.h"), encoding="utf-8") as file:
        text = file.read()
    return re.findall(r'X\([A-Z_]+, "([a-z._]+)", [01],\s*(?:\\\s*)?"([^"]+)"\)', text)


def point(good, name, skip=None, detail=None):
    global seen, failed
    seen += 1
    failed += not good
    for line in str(detail)[:2500].splitlines() if detail and not good else []:
        print(f"# {line}")
    print(f"{'ok' if good else 'not ok'} {seen} - {name}" + (f" # SKIP {' '.join(skip.split())}" if skip else ""), flush=True)


def broken_clauses(options, backend):
    """What this machine cannot hold, with reasons; each must be refused in a call that needs it."""
    done = subprocess.run([options.toolcage, "doctor", "--json"], capture_output=True, timeout=60, check=False, cwd="/")
    rows = {row["clause"]: row["reason"] for row in json.loads(done.stdout)["clauses"] if not row["works"]}
    for clause, reason in rows.items():
        with Stage(options, backend) as stage:
            result = stage.call(NEEDS.get(clause, {}), "nothing")
        error = result["error"] or {}
        told = f"{error.get('subject')} {error.get('message')} {error.get('clause')}"
        point(result["status"] in ("denied", "error") and clause in told and bool(error.get("hint")),
              f"{clause}: refused where it cannot be held", detail=f"{reason}\n{result}")
    return rows


def play(options, backend, case, enforced):
    label = f"{case['clause']}: {case['name']} [{'allowed' if case['allowed'] else 'refused'}]"
    try:
        with Stage(options, backend) as stage:
            result = stage.call(case["grant"], *case["run"])
            if result["status"] in ("denied", "error", "cancelled"):
                return point(False, label, detail=f"the call never ran: {result['error']}")
            good = stage.happened(case["saw"], result) == case["allowed"]
            named = bool(result["enforcement"].get(case["clause"]))
            enforced.update(result["enforcement"])
    except Exception:  # pylint: disable=broad-except
        return point(False, label, detail=traceback.format_exc())
    return point(good and named, label, detail=f"{case}\nnamed: {named}\n{result}")


def run(options, backend):
    enforced, lost = {}, broken_clauses(options, backend)
    for name, _ in clauses():
        cases = [case for case in CASES if case["clause"] == name and (not options.only or options.only in name + " " + case["name"])]
        if not options.only:
            sides = {case["allowed"] for case in CASES if case["clause"] == name}
            point(sides == {True, False} or name == "net.allow", f"{name}: has an access allowed and one refused")
        for case in cases:
            if name in lost:
                point(True, f"{name}: {case['name']}", skip=f"skipped: {name.rsplit('.', 1)[-1]}: {lost[name]}")
            else:
                play(options, backend, case, enforced)
    return enforced


def matrix(options):
    """The document, from what real results say."""
    columns = {}
    for backend in BACKENDS:
        columns[backend] = {}
        for grant in ({"memory": '"64MiB"', "cpus": "0.5", "cpu_time": '"5s"', "denied": ["{data}/denied"]},
                      {"cpu_time": '"5s"', "denied": ["{data}/denied"]}):
            with Stage(options, backend) as stage:
                result = stage.call(grant, "nothing")
            assert result["status"] == "ok", result
            for clause, how in result["enforcement"].items():
                ways = columns[backend].setdefault(clause, [])
                how = re.sub(r"\bcgroup v[12]\b", "control group", how)
                if how not in ways:
                    ways.append(how)
    print("# Backends\n\nWhich clause each backend enforces, and by what. Drawn from the `enforcement` of real results by\n"
          "`tests/conformance/run.py --matrix`, as root; `toolcage doctor` says the same for your machine and user. A\nclause that is \"refused\" "
          "is not enforced: a call that needs it is refused.\n")
    print("| clause | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns))
    for name, _ in clauses():
        print(f"| `{name}` | " + " | ".join("; or ".join(column.get(name, ["refused"])) for column in columns.values()) + " |")


def check_matrix():
    try:
        with open(os.path.join(ROOT, "docs/backends.md"), encoding="utf-8") as file:
            rows = re.findall(r"^\| `([a-z._]+)` \|", file.read(), re.M)
    except FileNotFoundError:
        rows = []
    point(rows == [name for name, _ in clauses()], "docs/backends.md has a row for each clause", detail=rows)


def drop(options):
    """Becomes an ordinary user; false where that cannot be."""
    if os.geteuid():
        print("1..0 # SKIP running as an ordinary user already")
        return False
    os.setgroups([])
    os.setresgid(options.as_user, options.as_user, options.as_user)
    os.setresuid(options.as_user, options.as_user, options.as_user)
    if not os.access(options.toolcage, os.X_OK):
        print("1..0 # SKIP an ordinary user cannot reach the build directory")
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("--probe", required=True, type=os.path.abspath)
    parser.add_argument("--backend", default="process", choices=BACKENDS)
    parser.add_argument("--as-user", type=int)
    parser.add_argument("--only")
    parser.add_argument("--matrix", action="store_true")
    options = parser.parse_args()
    ctypes.CDLL(None)
    if options.as_user is not None and not drop(options):
        return 0
    os.umask(0o022)
    if options.matrix:
        matrix(options)
        return 0
    check_matrix()
    run(options, options.backend)
    print(f"1..{seen}")
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main())

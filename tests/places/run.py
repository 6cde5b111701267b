#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Places that lack something: in each a clause is enforced or refused, never less; doctor names the fix; and the fix
works: on a push for the clause that was lacking, with --full for all of them.

usage: run.py --toolcage PATH --probe PATH --attacks PATH [--only TEXT] [--part I/N] [--full]"""

import argparse
import json
import os
import subprocess
import sys
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from places import PLACES, Absent
from tap import check, part_of, plan, skip

HERE = os.path.dirname(os.path.abspath(__file__))
CONFORMANCE = os.path.join(os.path.dirname(HERE), "conformance", "run.py")


def doctor(options, place):
    done = place.run([options.toolcage, "doctor", "--json"], 60)
    try:
        return {row["clause"]: row for row in json.loads(done.stdout)["clauses"]}
    except (ValueError, KeyError):
        raise AssertionError(f"no report: {done.stdout[:1000]} {done.stderr[:1000]}") from None


def conform(options, place, only=None):
    """The cases of every clause, run by the same program in that place: "… 56 held, 2 not provided here"."""
    more = [] if options.full else ["--brief", *(["--only", only] if only else [])]
    done = place.run(
        ["python3", CONFORMANCE, "--toolcage", options.toolcage, "--probe", options.probe, *more], 300
    )
    lines = done.stdout.splitlines()
    good = done.returncode == 0 and any(line.startswith("1..") for line in lines)
    skipped = sum("# SKIP" in line for line in lines)
    held = sum(line.startswith("ok ") for line in lines) - skipped
    check(
        good and held > 0,
        f"{place.name}: {held} points of conformance hold, {skipped} are of clauses refused there",
        detail="\n".join(line for line in lines if not line.startswith("ok ")) + done.stderr[-2000:],
    )


def enter(place):
    """A place that cannot even run `true` cannot be made here, and says nothing of toolcage."""
    done = place.run(["true"], 60)
    if done.returncode:
        raise Absent(f"this machine cannot make the place: {' '.join(done.stderr.split())[:200]}")


def without(options, place):
    """A policy that gives up what Landlock and seccomp alone cannot hold: they hold the rest, and no attack gets through
    but by what was given up. On a push each place tries its half of it."""
    more = [] if options.full else ["--brief"]
    suites = [
        ("conformance", ["--toolcage", options.toolcage, "--probe", options.probe, "--without", *more]),
        ("escape", ["--toolcage", options.toolcage, "--without", *more, options.attacks]),
    ]
    for suite, words in suites:
        if suite not in place.form and not options.full:
            continue
        done = place.run(["python3", os.path.join(os.path.dirname(HERE), suite, "run.py"), *words], 1000)
        lines = done.stdout.splitlines()
        skipped = sum("# SKIP" in line for line in lines)
        held = sum(line.startswith("ok ") for line in lines) - skipped
        check(
            done.returncode == 0 and held > 30 and any(line.startswith("1..") for line in lines),
            f"{place.name}: with `without` {held} points of the {suite} suite hold, {skipped} are given up or not tried",
            detail="\n".join(line for line in lines if not line.startswith("ok ")) + done.stderr[-2000:],
        )
    done = place.run(["python3", os.path.join(HERE, "stopped.py"), options.toolcage], 60)
    check(
        done.returncode == 0,
        f"{place.name}: with `without` a deadline holds against who stops the tool's parent",
        detail=done.stdout + done.stderr,
    )


def visit(options, place):
    enter(place)
    if place.fixed:
        enter(place.fixed)
    rows = doctor(options, place)
    if not place.lacks:
        # what control groups hold has places of its own
        broken = {name for name, row in rows.items() if not row["works"]} - {
            "net.secret",
            "limit.memory",
            "limit.cpus",
        }
        check(
            not broken, f"{place.name}: every clause can be enforced", detail=[rows[name] for name in broken]
        )
        return conform(options, place)
    row = rows[place.lacks]
    check(
        not row["works"] and bool(row["reason"]),
        f"{place.name}: {place.lacks} cannot be enforced, and doctor says so",
        detail=row,
    )
    check(all(word in row["fix"] for word in place.told), f"{place.name}: doctor names the fix", detail=row)
    conform(options, place)
    if place.form:
        without(options, place)
    if not place.fixed:
        return None
    row = doctor(options, place.fixed)[place.lacks]
    check(row["works"], f"{place.name}: the fix works ({place.fixed.name})", detail=row)
    return conform(options, place.fixed, place.lacks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("--probe", required=True, type=os.path.abspath)
    parser.add_argument("--attacks", required=True, type=os.path.abspath)
    parser.add_argument("--only", help="places whose name has this text")
    parser.add_argument("--part", default="1/1", help="2/5: the second fifth of them")
    parser.add_argument(
        "--full", action="store_true", help="every case of conformance, not one a side, and every attack"
    )
    options = parser.parse_args()
    if os.geteuid():
        print("1..0 # SKIP only root can make these places")
        return 0
    for place in part_of(PLACES, options.part):
        if options.only and options.only not in place.name:
            continue
        try:
            visit(options, place)
        except Absent as why:
            skip(place.name, why)
        except (subprocess.TimeoutExpired, AssertionError):
            check(False, place.name, detail=traceback.format_exc())
    return plan()


if __name__ == "__main__":
    sys.exit(main())

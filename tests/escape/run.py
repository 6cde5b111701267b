#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Proves that attacks work where nothing stops them, and then that the cage stops them.

usage: run.py [--as-user UID] [--own-machine] [--only 'TEXT|TEXT'] --toolcage PATH PROGRAM…

Each attack is one function. It returns whether the attack got through, seen from outside. It runs first
without a cage (the backend not-a-security-boundary, or the bare program where that backend already takes
the thing away): it must get through, else it proves nothing and is skipped with the reason. Then it runs in
the process cage: the tool must really have run, and the attack must not get through."""
import argparse
import os
import sys
import traceback

sys.dont_write_bytecode = True

import cases_files
import cases_processes
import cases_workspace
from scene import CAGED, FREE, Missing, Refused, Scene

seen, failed = 0, 0


def point(good, name, skip=None):
    global seen, failed
    seen += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {seen} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)


def note(text):
    for line in str(text).splitlines():
        print(f"# {line}", flush=True)


def attempt(options, attack, how):
    """Whether the attack got through, and the scene's last answer."""
    with Scene(options, how) as scene:
        return attack(scene), scene.answer


def prove(options, name, attack, traits):
    if traits.get("root") and os.geteuid():
        return point(True, name, "without a cage it needs root")
    if traits.get("machine") and not options.own_machine:
        return point(True, name, "it changes a setting of the whole machine: --own-machine, in a virtual one")
    try:
        through, _ = attempt(options, attack, traits.get("free", FREE))
    except Missing as missing:
        return point(True, name, str(missing))
    except (AssertionError, Refused):
        note(traceback.format_exc(limit=0)[-1500:])
        return point(False, f"{name}: without a cage it did not even run")
    if not through:
        return point(True, name, "it does not work here without a cage either")
    try:
        through, answer = attempt(options, attack, CAGED)
    except Missing as missing:
        return point(True, name, str(missing))
    except Refused as refused:
        note(f"refused: {refused}")
        return point(False, f"{name}: the caged call never ran")
    except AssertionError:
        note(traceback.format_exc(limit=0)[-1500:])
        return point(False, f"{name}: the caged call gave no result")
    if through:
        note(f"ESCAPE. The last answer: {answer}"[:3000])
    return point(not through, name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--as-user", type=int)
    parser.add_argument("--own-machine", action="store_true", help="attacks may change settings of the whole machine")
    parser.add_argument("--only")
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    options.programs = [os.path.abspath(program) for program in options.programs]
    if options.as_user is not None:
        if os.geteuid():
            print("1..0 # SKIP running as an ordinary user already")
            return 0
        os.setgroups([])
        os.setresgid(options.as_user, options.as_user, options.as_user)
        os.setresuid(options.as_user, options.as_user, options.as_user)
        if not os.access(options.toolcage, os.X_OK):
            print("1..0 # SKIP an ordinary user cannot reach the build directory")
            return 0
    os.umask(0o022)
    for name, attack, traits in cases_files.CASES + cases_workspace.CASES + cases_processes.CASES:
        if not options.only or any(text in name for text in options.only.split("|")):
            prove(options, name, attack, traits)
    print(f"1..{seen}")
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What every script of the tests does: become() who was asked for, check() or skip() a point, finish() with the plan."""

import ast
import linecache
import os
import sys

ORDINARY = 65533  # a uid that owns nothing here
TEAM = 65532  # a group beside its own

seen, bad = 0, 0


def note(detail):
    for line in str(detail)[:4000].splitlines():
        print(f"# {line}", flush=True)


def condition_of(frame):
    """The parts of the first argument of the check that the frame is calling; none if it has no `and`."""
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and call.lineno <= frame.f_lineno <= call.end_lineno:
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            condition = call.args[0] if name == "check" and call.args else None
            if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
                return condition.values
    return []


def failing_part(frame):
    """Which part of a condition does not hold, found by evaluating them again, in order, up to that one."""
    parts = condition_of(frame)
    names = {**frame.f_globals, **frame.f_locals}
    for part in parts:
        try:
            if not eval(compile(ast.Expression(part), "<condition>", "eval"), names):
                return f"false: {ast.unparse(part)}"
        except Exception as problem:  # evaluated again, it may meet what the first time did not
            return f"{problem!r}: {ast.unparse(part)}"
    return "each part holds when it is evaluated again" if parts else ""


def check(good, name, detail=""):
    """One point. If it fails, the part of its condition (`a and b`) that does not hold is told, and the detail."""
    global seen, bad
    seen += 1
    bad += not good
    if not good:
        note(failing_part(sys._getframe(1)))
        note(detail)
    print(f"{'ok' if good else 'not ok'} {seen} - {name}", flush=True)
    return good


def skip(name, reason):
    global seen
    seen += 1
    print(f"ok {seen} - {name} # SKIP {' '.join(str(reason).split())}", flush=True)


def skip_all(reason):
    print(f"1..0 # SKIP {' '.join(str(reason).split())}", flush=True)
    sys.exit(0)


def seed(fixed):
    """The same on every run; who looks for more says another one."""
    chosen = int(os.environ.get("TOOLCAGE_TEST_SEED", fixed))
    note(f"TOOLCAGE_TEST_SEED={chosen}")
    return chosen


def part_of(items, part):
    """2/5: the second fifth of a list, each fifth from all over it."""
    which, parts = map(int, part.split("/"))
    return items[which - 1 :: parts]


def plan():
    """The exit code, too."""
    print(f"1..{seen}", flush=True)
    return 1 if bad or not seen else 0


def finish():
    sys.exit(plan())


def become(uid, *programs):
    """An ordinary user, who must reach these; ends the script where that cannot be."""
    if os.geteuid():
        skip_all("running as an ordinary user already")
    os.setgroups([TEAM])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if not all(os.access(program, os.X_OK) for program in programs):
        skip_all("an ordinary user cannot reach the build directory")

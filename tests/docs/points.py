# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""check() of tests/tap.py tells which part of a condition failed."""

import contextlib
import io

import tap


def told(run):
    """What the checks of a function print; the points of this script stay as they are."""
    counted = tap.seen, tap.bad
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run()
    tap.seen, tap.bad = counted
    return out.getvalue().splitlines()[:-1]


def one_of_three(code=0, rows=("a",)):
    tap.check(code == 0 and rows == ["b"] and rows[7], "n", "the rows")


def one_condition(code=1):
    tap.check(code == 0, "n", "the code")


def one_with_local_names(rows=(1, 2)):
    tap.check(all(row > 0 for row in rows) and [row for row in rows if row > len(rows)], "n")


def one_that_held_late(moments=[0, 1]):
    tap.check(moments and moments.pop(0), "n")


def one_that_raises():
    rows = iter([True, False])
    tap.check(next(rows) and next(rows), "n")


for name, run, lines in (
    ("a part that is false is told, and the detail", one_of_three, ["# false: rows == ['b']", "# the rows"]),
    ("a condition of one part has its detail alone", one_condition, ["# the code"]),
    (
        "a part may look at what is local",
        one_with_local_names,
        ["# false: [row for row in rows if row > len(rows)]"],
    ),
    (
        "a part that holds by now is no culprit",
        one_that_held_late,
        ["# each part holds when it is evaluated again"],
    ),
    ("a part that raises is told", one_that_raises, ["# StopIteration(): next(rows)"]),
):
    got = told(run)
    tap.check(got == lines, name, got)
tap.finish()

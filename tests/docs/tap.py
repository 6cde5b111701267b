# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The smallest TAP producer: check() a point, finish() the plan."""
import sys

seen, bad = 0, 0


def check(good, name, detail=""):
    global seen, bad
    seen += 1
    if not good:
        bad += 1
        for line in str(detail).splitlines():
            print(f"# {line}", file=sys.stderr)
    print(f"{'ok' if good else 'not ok'} {seen} - {name}", flush=True)


def finish():
    print(f"1..{seen}")
    sys.exit(1 if bad or not seen else 0)

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""TAP points for the guest's own checks."""

import sys
import traceback

seen, failed, skipped = 0, 0, 0


def point(good, name, more=""):
    global seen, failed
    seen += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {seen} - {name}")
    if not good and more:
        for line in str(more).splitlines()[-30:]:
            print(f"# {line}")
    sys.stdout.flush()
    return good


def skip(name, reason):
    global seen, skipped
    seen += 1
    skipped += 1
    print(f"ok {seen} - {name} # SKIP {reason}", flush=True)


def attempt(function, *arguments):
    """One case: an exception is a failed point, and the next case still runs."""
    try:
        function(*arguments)
    except Exception:  # whatever broke, the others shall be seen too
        point(False, function.__name__, traceback.format_exc())


def finish():
    print(f"1..{seen}")
    print(f"{seen - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or seen == skipped else 0

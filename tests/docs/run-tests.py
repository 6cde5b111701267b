# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""tools/run-tests counts honestly: failures, deaths, broken plans and skips are never passes."""

import contextlib
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

import tap

root = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "tools"))
loader = importlib.machinery.SourceFileLoader("run_tests", str(root / "tools/run-tests"))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(run_tests)


def tally(stdout, result="OK", returncode=0):
    seen = run_tests.Tally()
    run_tests.count_tap("t", {"stdout": stdout, "result": result, "returncode": returncode}, seen)
    return seen


CASES = [
    ("two passes", "ok 1 - a\nok 2 - b\n1..2\n", "OK", 0, "2 passed, 0 failed, 0 skipped"),
    ("plan first", "1..2\nok 1 - a\nok 2 - b\n", "OK", 0, "2 passed, 0 failed, 0 skipped"),
    ("one failure", "ok 1 - a\nnot ok 2 - b\n1..2\n", "FAIL", 1, "1 passed, 1 failed, 0 skipped"),
    (
        "a skip is no pass",
        "ok 1 - a # SKIP no root\nok 2 - b\n1..2\n",
        "OK",
        0,
        "1 passed, 0 failed, 1 skipped",
    ),
    (
        "a failure is no skip",
        "not ok 1 - a # SKIP no root\n1..1\n",
        "FAIL",
        0,
        "0 passed, 1 failed, 0 skipped",
    ),
    ("death after a skip", "ok 1 - a # SKIP no root\n1..1\n", "ERROR", -6, "0 passed, 1 failed, 1 skipped"),
    ("all skipped", "1..0 # SKIP no kernel support\n", "SKIP", 0, "0 passed, 0 failed, 1 skipped"),
    ("death after a pass", "ok 1 - a\n", "FAIL", -11, "1 passed, 1 failed, 0 skipped"),
    ("a point short of the plan", "1..3\nok 1 - a\nok 2 - b\n", "ERROR", 0, "2 passed, 1 failed, 0 skipped"),
    ("no point", "hello\n", "OK", 0, "0 passed, 1 failed, 0 skipped"),
    ("empty plan", "", "OK", 0, "0 passed, 1 failed, 0 skipped"),
    ("timeout", "ok 1 - a\n", "TIMEOUT", -9, "1 passed, 1 failed, 0 skipped"),
    (
        "words that only look like points",
        "okay then\nok 1 - a\n1..1\n",
        "OK",
        0,
        "1 passed, 0 failed, 0 skipped",
    ),
]
for name, stdout, result, code, line in CASES:
    got = tally(stdout, result, code).line()
    tap.check(got == line, name, f"{got} instead of {line}")

told = tally("ok 1 - a # SKIP no such kernel\n1..1\n")
tap.check(told.skipped == [("t: a", "no such kernel")], "a skip has its reason", told.skipped)

CMOCKA = "ok 1 - a\n# skipped: no kernel\nnot ok 2 # SKIP b\nnot ok 3 - c\n1..3\n"
shown = subprocess.run(
    [root / "tests/unit/tap", "sh", "-c", f"printf '{CMOCKA}'; exit 3"],
    capture_output=True,
    text=True,
    check=False,
)
tap.check(
    shown.returncode == 3
    and shown.stdout == CMOCKA.replace("not ok 2 # SKIP b", "ok 2 - b # SKIP skipped: no kernel"),
    "a skip of cmocka stays a skip, and a failure a failure",
    shown,
)

skipped = tally("ok 1 - a # SKIP no reason that anyone allowed\n1..1\n")
os.environ["CI"] = "true"
with contextlib.redirect_stdout(sys.stderr):
    run_tests.judge_skips(root, skipped)
tap.check(
    len(skipped.failed) == 1 and not skipped.skipped, "CI does not accept an unlisted skip", skipped.line()
)

BUILD = root / "build"
SCRIPTS = [
    {
        "suite": ["toolcage:containers"],
        "cmd": ["python3", "../tests/integration/oci/runs.py", "src/toolcage"],
    },
    {"suite": ["toolcage:modules"], "cmd": ["python3", str(root / "tests/integration/wasm/runs.py")]},
    {"suite": ["toolcage:places"], "cmd": ["python3", "../tests/places/run.py", "tests/conformance/probe"]},
]
ALL = ["containers", "modules", "machines", "places"]
for name, areas in (
    ("src/helper/serve.c", ALL),
    ("src/tree/resolve.c", ALL),  # by way of cage, which backends may use
    ("src/backend/executor.c", ALL),
    ("src/meson.build", ALL),
    ("tests/tap.py", ALL),
    ("src/vm/start.c", ["machines"]),
    ("src/egress/proxy/main.c", ["containers", "machines"]),
    ("src/backend/landlock/executor.c", ["places"]),
    ("catalog/grep.c", ["modules"]),
    ("tests/integration/oci/runs.py", ["containers"]),
    ("tests/integration/wasm/deep/data", ["modules"]),
    ("tests/conformance/cases.py", ["places"]),
    ("src/policy/parse/keys.c", []),
    ("src/cli/main.c", []),
    ("src/api.c", []),
    ("docs/policy.md", []),
):
    left = run_tests.idle([name], SCRIPTS, BUILD, root)
    got = [area for area in ALL if area not in left]
    tap.check(got == areas, f"a change in {name} runs {', '.join(areas) or 'no area'}", got)
tap.check(
    run_tests.idle(["README.md", "src/vm/start.c"], [], BUILD, root) == ["containers", "modules", "places"],
    "of several files each counts",
)
rows = run_tests.read_table(root)
named = {folder for folders in run_tests.AREAS.values() for folder in folders}
unknown = [folder for folder in named if folder not in rows and not (root / folder).is_dir()]
tap.check(not unknown, "areas name folders that exist", unknown)
unseen = (
    {row for row in rows if row.startswith("backend/")}
    - run_tests.reach(rows, named)
    - {"backend/executor.c"}
)
tap.check(not unseen, "every backend belongs to an area", unseen)
tap.finish()

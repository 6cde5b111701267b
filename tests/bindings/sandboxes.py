# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The adapters for sandboxes of integrations/python in the frameworks' own suites, at pinned versions. docs/sdks.md has the numbers.

usage: sandboxes.py ROOT deepagents|inspect"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import tap
import toolcage

ROOT, NAME = pathlib.Path(sys.argv[1]), sys.argv[2]
PYTHON = ROOT / "build-sandboxes/python/bin/python"
TITLES = {"deepagents": "Deep Agents", "inspect": "Inspect"}
#: The 7 of Deep Agents are those of a bare subprocess, too: its BaseSandbox does otherwise than its suite expects.
KNOWN = {
    "deepagents": {
        "test_glob",
        "test_glob_basic_pattern",
        "test_glob_hidden_files_explicitly",
        "test_glob_with_character_class",
        "test_glob_with_directories",
        "test_glob_with_question_mark",
        "test_write_existing_file_fails",
    },
    "inspect": {"test_exec_as_user"},
}


def run_suite(here):
    """The outcomes of all tests by name."""
    report = here / "report.xml"
    suite = ROOT / f"tests/bindings/sandboxes/test_{NAME}.py"
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "asyncio_mode=auto",
        "--rootdir",
        here,
        "--junitxml",
        report,
    ]
    done = subprocess.run(
        [PYTHON, "-m", "pytest", *options, suite],
        cwd=here,
        env=os.environ
        | {
            "PATH": f"{PYTHON.parent}:{os.environ['PATH']}",  # has `python`, which the suite of Deep Agents runs
            "PYTHONPATH": f"{ROOT}/bindings/python:{ROOT}/integrations/python",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=560,
        check=False,
    )
    if not report.exists():
        tap.check(False, "the suite runs", done.stdout + done.stderr)
        return {}
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return {case.get("name"): [child.tag for child in case if child.tag != "properties"] for case in cases}


if not PYTHON.exists():
    tap.skip_all(f"{TITLES[NAME]} is not here: tools/sdks sandboxes installs it")
with toolcage.Engine() as engine:
    first = engine.run(toolcage.Call(toolcage.Policy.default(), command=["true"], workspace="/usr"))
    if first.error and first.error.code == "unenforceable":
        tap.skip_all(f"this machine cannot make the cage: {first.error.message}")
with tempfile.TemporaryDirectory(prefix="toolcage-sandboxes-", dir="/var/tmp") as directory:
    outcomes = run_suite(pathlib.Path(directory))
failed = {name for name, outcome in outcomes.items() if outcome}
tap.check(failed == KNOWN[NAME], "the known tests fail, and no others", sorted(failed ^ KNOWN[NAME]))
row = re.search(
    rf"^\| {TITLES[NAME]} .*\| (\d+) of (\d+) \|", (ROOT / "docs/sdks.md").read_text(), flags=re.M
)
numbers = (len(outcomes) - len(failed), len(outcomes))
tap.check(row and tuple(map(int, row.groups())) == numbers, "the page has the numbers", numbers)
tap.finish()

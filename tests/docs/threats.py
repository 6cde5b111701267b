# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""docs/threats.md and tests/escape hold the same attacks: each row has one, each one has a row, and every cell says something."""

import pathlib
import re
import sys

import tap

root = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "tests/escape"))
import modules  # noqa: E402  pylint: disable=wrong-import-position
import run  # noqa: E402  pylint: disable=wrong-import-position

text = (root / "docs/threats.md").read_text()
attackers = set(re.findall(r"^- \*\*(\w+)\*\*: ", text.split("\n## ")[0], re.M))
rows = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in text.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| attack |"))
]
in_docs = [row[0] for row in rows]
in_suite = [name for name, _, _ in run.CASES] + [name for name, _ in modules.CASES]

tap.check(
    len(in_suite) > 100 and len(set(in_suite)) == len(in_suite), "the suite's names are unique", in_suite
)
tap.check(not set(in_docs) - set(in_suite), "every row has an attack", sorted(set(in_docs) - set(in_suite)))
tap.check(not set(in_suite) - set(in_docs), "every attack has a row", sorted(set(in_suite) - set(in_docs)))
tap.check(
    len(set(in_docs)) == len(in_docs),
    "no attack has two",
    [name for name in in_docs if in_docs.count(name) > 1],
)
tap.check(
    all(len(row) == 6 and all(row) for row in rows),
    "attacker, goal, path, wall and second wall",
    [row for row in rows if len(row) != 6 or not all(row)],
)
tap.check(
    len(attackers) > 3 and {row[1] for row in rows} == attackers,
    "the attackers are those that are introduced",
    attackers ^ {row[1] for row in rows},
)
containers = set(
    re.findall(r"^\| ([^|]+) \|", text.split("\n## Containers\n")[1].split("\n## ")[0], re.M)
) - {"attack", "---"}
only = {name for name, _, traits in run.CASES if "only" in traits}
tap.check(containers == only, "the section on containers has what is about them alone", containers ^ only)
apart = {name for name, _, traits in run.CASES if "apart" in traits}
named = set(
    re.findall(r'"([^"]+)"', " ".join(text.split("\n## ")[0].split("apply to containers only.")[1].split()))
)
tap.check(apart and named == apart, "attacks left out for containers are named", named ^ apart)
files = {path.stem for path in (root / "tests/escape").glob("cases_*.py")}
named = set(re.findall(r"(cases_\w+)\.CASES", (root / "tests/escape/run.py").read_text()))
tap.check(files == named, "no file of attacks is left out of the suite", files ^ named)
tap.finish()

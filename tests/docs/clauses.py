# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""docs/clauses.md and src/policy/clauses.h say the same: names, order, promise, and which are always on."""

import pathlib
import re
import sys

import tap

root = pathlib.Path(sys.argv[1])
header = (root / "src/policy/clauses.h").read_text()
in_code = re.findall(r'X\(\w+, "([^"]+)", ([01]),[\s\\]*"([^"]+)"\)', header)
rows = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (root / "docs/clauses.md").read_text().splitlines()
    if line.startswith("| `")
]
in_docs = [(row[0].strip("`"), "1" if row[1] == "always" else "0", row[2]) for row in rows]

tap.check(len(in_code) > 20, "the header's list was found", header[:200])
tap.check(
    [c[0] for c in in_code] == [d[0] for d in in_docs],
    "same names in the same order",
    set(c[0] for c in in_code) ^ set(d[0] for d in in_docs),
)
for code, docs in zip(in_code, in_docs):
    tap.check(code == docs, code[0], f"header: {code}\ndocs:   {docs}")
tap.check(
    all(len(row) == 5 and row[3] and row[4] for row in rows),
    "every clause has accepted mechanisms and a conformance case",
    [row for row in rows if len(row) != 5],
)
tap.finish()

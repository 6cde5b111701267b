# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The table "Who may use whom" of docs/architecture.md, for tools/layering and tools/run-tests."""

import re
import sys


def read_table(root):
    """The rows below "Who may use whom": {folder: {what it may use}}."""
    text = (root / "docs" / "architecture.md").read_text()
    section = text.split("## Who may use whom", 1)
    if len(section) != 2:
        sys.exit('docs/architecture.md has no section "Who may use whom"')
    rows = {}
    for line in section[1].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 2:
            rows[cells[0].strip("`")] = set(re.findall(r"`([^`]+)`", cells[1]))
    if not rows:
        sys.exit("tools/layering: the table of docs/architecture.md has no rows")
    return rows


def owner(path, rows):
    """The row that a file of src belongs to: the file itself, or its nearest folder with a row."""
    for candidate in (path, *path.parents):
        if candidate.as_posix() in rows:
            return candidate.as_posix()
    return None


def reach(rows, folders):
    """The folders, those that they may use, and so on downwards."""
    found, left = set(), list(folders)
    while left:
        folder = left.pop()
        if folder not in found:
            found.add(folder)
            left += rows.get(folder, ())
    return found

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the documents show works: policies parse, C compiles, and no link of a page points nowhere."""

import os
import pathlib
import re
import sys
import tempfile

import tap
from program import run

root, toolcage = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.S | re.M)


with tempfile.TemporaryDirectory() as scratch:
    policies = [
        (path, path.relative_to(root).as_posix()) for path in sorted((root / "examples").glob("*.toml"))
    ]
    for page in pages:
        for number, text in enumerate(blocks(page, "toml"), 1):
            path = pathlib.Path(scratch) / f"{page.stem}-{number}.toml"
            path.write_text(text)
            policies.append((path, f"{page.name}, policy {number}"))
    for path, name in policies:
        done = run(toolcage, "policy", "check", path)
        tap.check(done.returncode == 0, f"{name} passes policy check", done.stdout + done.stderr)
    for page in pages:
        for number, text in enumerate(blocks(page, "c"), 1):
            source = pathlib.Path(scratch) / f"{page.stem}-{number}.c"
            source.write_text(
                "#include <stdio.h>\n#include <toolcage/toolcage.h>\nint main(void)\n{\n"
                + text
                + "return 0;\n}\n"
            )
            done = run(
                *os.environ["CC"].split(),
                "-std=c99",
                "-Wall",
                "-Wextra",
                "-Werror",
                f"-I{root / 'include'}",
                "-fsyntax-only",
                source,
            )
            tap.check(done.returncode == 0, f"{page.name}, C {number} compiles", done.stderr)


def anchors(page):
    """The headings of a page, as links name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead(page, link):
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    return not target.exists() or (anchor and anchor not in anchors(target))


for page in pages:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", page.read_text()) if "://" not in link]
    broken = [link for link in links if dead(page, link)]
    tap.check(not broken, f"the links of {page.name} lead somewhere", broken)

index = (root / "docs/README.md").read_text()
unlisted = [
    page.name
    for page in (root / "docs").glob("*.md")
    if page.name != "README.md" and f"]({page.name})" not in index
]
tap.check(not unlisted, "docs/README.md lists every page", unlisted)

# the features' table, whose columns are the backends that there are, is held against the code
there = (
    re.search(r"^\| feature \|(.*)\|$", (root / "docs/backends.md").read_text(), re.M)[1]
    .replace("|", " ")
    .split()
)
rows = [
    line.strip("|\n").split(" | ")
    for line in (root / "docs/choosing.md").read_text().splitlines()
    if re.search(r"\| (yes|no)\b[^|]*\|$", line)
]
said = [name for row in rows if row[-1].startswith("yes") for name in re.findall(r"`([a-z]+)`", row[0])]
tap.check(
    sorted(said) == sorted(there) and rows[0][0] == " `process`",
    "choosing.md has each backend that there is",
    (said, there),
)
tap.finish()

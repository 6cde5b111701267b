# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The settings on the pages of docs/agents can be read, start a verb that there is, and each page says what is not caged."""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

import tap

root, toolcage = (pathlib.Path(word) for word in sys.argv[1:])
listed = (root / "docs/agents/README.md").read_text()
for path in sorted((root / "docs/agents").glob("*.md")):
    page, name = path.read_text(), path.stem
    for number, (kind, body) in enumerate(
        re.findall(r"```(json|toml)(?: settings)?\n(.*?)```", page, re.S), 1
    ):
        try:
            settings = json.loads(body) if kind == "json" else tomllib.loads(body)
        except ValueError as error:
            settings = error
        tap.check(
            isinstance(settings, dict) and settings, f"{name}: block {number} is {kind.upper()}", settings
        )
    if name != "README":
        tap.check(f"({name}.md)" in listed, f"{name}: is in the list")
        tap.check("\n## What is not caged\n" in page, f"{name}: says what is not caged")
        tap.check(re.search(r"Checked\s+by\s+running|Not run", page), f"{name}: says how it was checked")
    for verb in set(re.findall(r"`toolcage ([a-z]+(?: import)?)", page)):
        done = subprocess.run(
            [toolcage, *verb.split(), "--help"], capture_output=True, text=True, check=False, timeout=60
        )
        tap.check(done.returncode == 0, f"{name}: toolcage {verb} is there", done.stderr)
tap.finish()

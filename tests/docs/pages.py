# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""docs/policy is what the table of keys says, each key of the schema has an example there, and each example means the
same in TOML and in YAML."""

import json
import pathlib
import re
import sys
import tempfile

import tap
from program import run

root, build, toolcage = (pathlib.Path(word) for word in sys.argv[1:])
PAIR = re.compile(r"```toml\n(.*?)```\n\n```yaml\n(.*?)```", re.S)


done = run(sys.executable, root / "tools/policy-pages", build, "--check")
tap.check(done.returncode == 0, "docs/policy is what the table of keys says", done.stdout + done.stderr)

pages = {
    path.stem: path.read_text()
    for path in sorted((root / "docs/policy").glob("*.md"))
    if path.stem != "README"
}
keys = set(json.loads(run(toolcage, "policy", "schema").stdout)["properties"])
tap.check(keys and not keys - set(pages), "every key of the file has a page", sorted(keys - set(pages)))

with tempfile.TemporaryDirectory() as scratch:
    for name, page in pages.items():
        pairs = PAIR.findall(page)
        promised = "Not provided by this version yet" in page
        tap.check(pairs or promised, f"{name} has an example")
        for number, texts in enumerate(pairs, 1):
            digests = []
            for text, suffix in zip(texts, ("toml", "yaml")):
                path = pathlib.Path(scratch) / f"{name}.{suffix}"
                path.write_text(text)
                done = run(toolcage, "policy", "digest", path)
                digests.append(done.stdout.split()[:1] if done.returncode == 0 else done.stderr)
            tap.check(
                digests[0] == digests[1] and isinstance(digests[0], list) and digests[0],
                f"{name}, example {number}: TOML and YAML have one digest",
                digests,
            )
tap.finish()

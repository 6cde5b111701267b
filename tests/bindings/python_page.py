# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Each program of docs/python.md prints what stands below it. The page's policy is tools.toml; output may go on where the page stops."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

page = pathlib.Path(sys.argv[1]).read_text()
policy = re.search(r"^```toml\n(.*?)^```", page, flags=re.S | re.M)
programs = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", page, flags=re.S | re.M)
tap.check(
    policy and len(programs) == page.count("```python") > 3,
    "the page has a policy, and a text below each program",
    len(programs),
)
with tempfile.TemporaryDirectory(prefix="toolcage-page-") as here:
    os.chmod(here, 0o755)
    (pathlib.Path(here) / "tools.toml").write_text(policy.group(1))
    for number, (program, text) in enumerate(programs, 1):
        done = subprocess.run(
            [sys.executable, "-"],
            input=program,
            cwd=here,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if "cannot enforce" in done.stdout or "unenforceable" in done.stdout:
            tap.skip(f"program {number}", "this machine cannot make the cage")
            continue
        tap.check(
            done.returncode == 0 and done.stdout.startswith(text),
            f"program {number} prints what the page says",
            done.stdout + done.stderr,
        )
tap.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Runs one example. Where this machine cannot make the cage the library says so by a refusal with the code
"unenforceable": that is a skip, with the refusal as its reason. Nothing else is."""

import os
import subprocess
import sys
import tempfile

command = [os.path.abspath(sys.argv[1])] + sys.argv[2:]
with tempfile.TemporaryDirectory(prefix="toolcage-example-") as here:
    os.chmod(here, 0o755)
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=290)
sys.stdout.write(done.stdout)
sys.stderr.write(done.stderr)
if done.returncode and '"code":"unenforceable"' in done.stdout + done.stderr:
    print("SKIP: this machine cannot make the cage: see the refusal above")
    sys.exit(77)
sys.exit(done.returncode)

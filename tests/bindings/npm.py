# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The npm packages: packed twice they are the same bytes; installed without a network and without scripts they make cages."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import tap

root, builds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PROGRAM = """
const { Engine, Policy } = require("toolcage");
const engine = new Engine();
engine.run({ policy: Policy.default(), command: ["sh", "-c", "echo caged; cat " + process.argv[2] + "; rm -rf " + process.argv[2]] })
  .then((result) => { console.log(result.status, JSON.stringify(result.stdoutText), result.error ? result.error.code : ""); engine.close(); });
"""
if (
    not shutil.which("node")
    or not shutil.which("npm")
    or not list(pathlib.Path("/usr/include").rglob("node_api.h"))
):
    tap.skip_all("there is no Node.js with npm and headers here")


def run(*command, **more):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=1500, **more
    )


with tempfile.TemporaryDirectory(prefix="toolcage-npm-") as directory:
    os.chmod(directory, 0o755)
    scratch, packed = pathlib.Path(directory), []
    for name in ("portable", "portable-again"):
        done = run(sys.executable, root / "tools/npm-packages", "--build", builds / name, scratch / name)
        tap.check(done.returncode == 0, f"the packages are packed ({name})", done.stdout + done.stderr)
        packed.append(sorted((scratch / name).glob("*.tgz")))
    sums = [
        [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths] for paths in packed
    ]
    tap.check(len(sums[0]) == 3 and sums[0] == sums[1], "packed twice, the same bytes", sums)
    for path in packed[0]:
        with tarfile.open(path) as archive:
            package = json.load(archive.extractfile("package/package.json"))
        tap.check(
            "scripts" not in package and package["license"] == "Apache-2.0",
            f"{path.name} has no install script",
            package,
        )
    home = scratch / "home"
    home.mkdir()
    (home / "package.json").write_text("{}")
    done = run(
        "npm",
        "install",
        "--offline",
        "--no-audit",
        "--no-fund",
        "--legacy-peer-deps",
        *packed[0],
        cwd=home,
        env={**os.environ, "HOME": directory},
    )
    tap.check(done.returncode == 0, "installed without a network", done.stdout + done.stderr)
    (scratch / "decoy").write_text("decoy")
    (home / "program.js").write_text(PROGRAM)
    clean = {"PATH": os.environ["PATH"], "HOME": directory}
    done = run("node", "program.js", scratch / "decoy", cwd=home, env=clean)
    if "unenforceable" in done.stdout:
        tap.skip("a call of the installed package", "this machine cannot make the cage")
    else:
        tap.check(
            '"caged\\n"' in done.stdout and "decoy" not in done.stdout and (scratch / "decoy").exists(),
            "a call of the installed package",
            done.stdout + done.stderr,
        )
    done = run(
        "node",
        "--input-type=module",
        "-e",
        'console.log((await import("openclaw-toolcage/backend")).WORKSPACE)',
        cwd=home,
        env=clean,
    )
    tap.check(done.stdout == "/workspace\n", "the plugin for OpenClaw is whole", done.stdout + done.stderr)
tap.finish()

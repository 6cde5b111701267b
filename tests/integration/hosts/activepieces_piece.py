# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""integrations/activepieces, built by the TypeScript compiler against Activepieces' framework and run in the context that the framework
makes for tests of pieces. Activepieces itself is not installed: no registry has its server or its engine."""

import json
import pathlib
import shutil
import subprocess

import five
from five import HOSTS, cli
from web import Web

HERE = pathlib.Path(__file__).resolve().parent
PIECE = HERE.parents[2] / "integrations/activepieces"
MODULES = HOSTS / "activepieces/node_modules"
if not MODULES.exists():
    cli.skip_all("Activepieces' framework is not here: tools/hosts activepieces installs it")
if not shutil.which("node"):
    cli.skip_all("there is no node here")


def build(place):
    at = pathlib.Path(place.root) / "piece"
    shutil.copytree(PIECE, at)
    (at / "node_modules").symlink_to(MODULES)
    done = subprocess.run(
        ["node_modules/.bin/tsc"], cwd=at, capture_output=True, text=True, check=False, timeout=300
    )
    cli.check(done.returncode == 0, "the piece is built, strictly typed", done.stdout + done.stderr)
    return at


with five.Scene() as here:
    piece = build(here.place)
    with Web(here.place, here.policy, "--workspace", here.place.project) as web:
        said = json.dumps({"url": web.url(""), "token": web.token, "calls": five.CALLS})
        done = subprocess.run(
            ["node", HERE / "activepieces.js", piece, said],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    seen = json.loads(done.stdout or "{}")
    if cli.check("answers" in seen, "the piece runs", done.stdout + done.stderr):
        here.judge(
            "piece",
            {
                question: (row["text"], row["error"], row["seconds"])
                for question, row in seen["answers"].items()
            },
        )
        cli.check(
            seen["answers"]["works"]["status"] == "ok", "piece: the whole result is the step's output", seen
        )
        cli.check(
            seen["metadata"] == ["call_tool"]
            and set(seen["options"]) == {"read_csv", "peek", "connect", "wait"},
            "piece: the editor lists the policy's tools",
            seen,
        )
        cli.check(
            seen["valid"] == {"valid": True}
            and seen["invalid"]["valid"] is False
            and "check the token" in seen["invalid"]["error"],
            "piece: a connection is checked when it is made",
            seen,
        )
        cli.check(
            seen["stranger"]["error"] and "check the token" in seen["stranger"]["text"],
            "piece: without the token nothing runs",
            seen["stranger"],
        )
        cli.check(
            seen["unknown"]["error"] and "no tool of this name" in seen["unknown"]["text"],
            "piece: what the policy does not name is no tool",
            seen["unknown"],
        )
cli.finish()

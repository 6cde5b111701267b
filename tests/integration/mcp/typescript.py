# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp under the official TypeScript clients (client.mjs)."""

import json
import pathlib
import shutil
import subprocess

import scene
from scene import CLIENTS, cli

cli.require_user()
if not shutil.which("node"):
    cli.skip_all("there is no node here")
if not (CLIENTS / "node_modules").exists():
    cli.skip_all("the official clients are not here: tools/clients installs them")
place, policy, mark = scene.place_with_policy()
with place:
    argv = place.argv("mcp", "--policy", policy)
    server = json.dumps({"command": argv[0], "args": argv[1:], "cwd": place.project, "env": place.environ})
    done = subprocess.run(
        ["node", pathlib.Path(__file__).with_name("client.mjs"), CLIENTS, server],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    cli.check(
        [s["name"] for s in seen] == ["sdk", "client"], "both clients went through", done.stdout + done.stderr
    )
    for s in seen:
        name = s["name"]
        cli.check(name == "sdk" or s["version"] == "2026-07-28", f"{name}: its version", s["version"])
        cli.check({t["name"] for t in s["tools"]} >= {"add", "note"}, f"{name}: listTools", s["tools"])
        cli.check(s["add"]["content"][0]["text"].endswith("stdout:\n42\n"), f"{name}: callTool", s["add"])
        cli.check(
            s["peek"]["isError"] is True and "the secret" not in json.dumps(s["peek"]),
            f"{name}: a refusal",
            s["peek"],
        )
        cli.check(s["cancelled"], f"{name}: a call is cancelled")
    cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "nothing is left")
cli.finish()

# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The settings that docs/agents shows for editors, in what the registries have of these: VS Code's own schema of mcp.json, out of its code
as a package for the web has it; and the code of Cursor's agent, out of its SDK, which reads .cursor/mcp.json and starts what stands there.
No editor runs, no account and no model takes part, and Cursor's code has no network."""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import cli  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = ROOT / "build-editors"
BRIDGE = HERE / "cursor/cursor_sdk/_vendor/bridge"
SCHEMA = """import { mcpServerSchema } from "@codingame/monaco-vscode-api/vscode/vs/workbench/contrib/mcp/common/mcpConfiguration";
console.log(JSON.stringify(mcpServerSchema));
"""
# What Cursor's SDK does before an agent's first turn: rules, MCP servers. "none" is no account's key.
PREPARE = """const [bridge, project] = process.argv.slice(2);
const sdk = await import(bridge + "/node_modules/@cursor/sdk/dist/esm/index.js");
const platform = await sdk.createAgentPlatform({ workspaceRef: project });
const release = await platform.prewarmLocalWorkspace({ apiKey: "none", model: { id: "none" }, local: { cwd: project, settingSources: ["project"] } });
console.log("prepared");
const { existsSync, readFileSync } = await import("node:fs");
const seen = () => existsSync(process.env.SAID) && readFileSync(process.env.SAID, "utf8").includes('"tools":[');
for (let n = 0; n < 600 && !seen(); n++) await new Promise((done) => setTimeout(done, 100));
await release();
process.exit(0);
"""


def block(page):
    return re.search(
        r"`(\.[^`\n]+)`:\n\n```json\n(.*?)```", (ROOT / "docs/agents" / f"{page}.md").read_text(), re.S
    ).groups()


def vscode(place):
    try:
        import jsonschema
    except ImportError:
        cli.skip("VS Code", "jsonschema is not here: tools/deps names it")
        return
    script = pathlib.Path(place.write("schema.mjs", SCHEMA))
    os.symlink(HERE / "node_modules", script.parent / "node_modules")
    said = subprocess.run(["node", script], capture_output=True, text=True, timeout=120, check=False)
    if not cli.check(said.returncode == 0, "VS Code's schema of mcp.json", said.stderr):
        return
    schema = jsonschema.Draft7Validator(json.loads(said.stdout))
    name, body = block("vscode")
    settings = json.loads(body)
    cli.check(
        name == ".vscode/mcp.json" and not list(schema.iter_errors(settings)),
        "VS Code: the page's settings keep to it",
        [error.message for error in schema.iter_errors(settings)],
    )
    server = settings["servers"]["caged"]
    for what, bad in (
        ("the key of other agents", {"mcpServers": settings["servers"]}),
        ("a word that it does not know", {"servers": {"caged": {**server, "arguments": []}}}),
        ("arguments that are no list", {"servers": {"caged": {**server, "args": "mcp"}}}),
    ):
        cli.check(list(schema.iter_errors(bad)), f"VS Code: and the schema refuses {what}")


def cursor(place):
    name, body = block("cursor")
    policy = place.write(
        "tools.toml",
        '[tool.list_files]\ndescription = "List the files of the project."\ncommand = ["ls", "-la", "/workspace"]\n'
        'filesystem.readable = ["/workspace"]\nmemory = { max = "512MiB", by = "any" }\n',
    )
    heard, said = os.path.join(place.root, "heard"), os.path.join(place.root, "said")
    between = place.write("between", f'#!/bin/sh\ntee {heard} | {cli.TOOLCAGE} "$@" | tee {said}\n', 0o755)
    for word, here in (
        ("/home/me/tools.toml", policy),
        ("/home/me/project", place.project),
        ('"toolcage"', json.dumps(between)),
    ):
        cli.check(word in body, f"Cursor: the page has {word}")
        body = body.replace(word, here)
    place.write(f"home/project/{name}", body)
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    done = subprocess.run(
        [*alone, BRIDGE / "bin/node", place.write("prepare.mjs", PREPARE), BRIDGE, place.project],
        env={**place.environ, "SAID": said},
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if not cli.check(
        name == ".cursor/mcp.json" and os.path.exists(said),
        "Cursor: its agent starts the server of the page's settings",
        done.stdout + done.stderr,
    ):
        return
    asked, told = (
        [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()] for path in (heard, said)
    )
    cli.check(
        asked[0]["method"] == "initialize" and asked[0]["params"]["clientInfo"]["name"] == "Cursor",
        "Cursor: it says who it is",
        asked[:1],
    )
    tools = [tool["name"] for answer in told for tool in answer.get("result", {}).get("tools", [])]
    cli.check(tools == ["list_files"], "Cursor: it asks for the tools, and gets the policy's", told)


cli.require_user()
if not HERE.exists():
    cli.skip_all("the editors' code is not here: tools/clients editors installs it")
with cli.Place() as where:
    vscode(where)
    cursor(where)
cli.finish()

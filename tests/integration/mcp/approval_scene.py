# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts about approvals share: tools of each tier, and a client that can ask its user, or not."""

import json

import scene
from ask_scene import read  # noqa: F401

POLICY = """
[tool.say]
description = "Says it."
tier = "HumanApprove"
backend = "process"
command = ["echo", "said", "{text}"]
arguments.text = { type = "string" }
[tool.show]
tier = "HumanApprove"
backend = "process"
command = ["cat", "{file}"]
arguments.file = { read = ["PROJECT"] }
[tool.byhand]
tier = "ManualOnly"
backend = "process"
command = ["echo", "by hand"]
[tool.sign]
tier = "ManualOnly"
backend = "process"
command = ["echo", "signed", "{text}"]
arguments.text = { type = "string" }
[tool.free]
backend = "process"
command = ["echo", "free"]
"""
# its changes are applied after a yes to their diff
EDIT = """
[tool.edit]
backend = "process"
command = ["sh", "-c", "{script}"]
arguments.script = { type = "string" }
filesystem.writable = ["PROJECT"]
workspace = { mode = "copy", commit = "ask" }
memory = { max = "256MiB", by = "any" }
"""
# of a stateless client that can ask its user
CAN = {**scene.STATELESS, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
YES = {"action": "accept", "content": {"answer": "yes"}}


class Elicited(scene.Server):
    """A client that can ask its user, or not."""

    def __init__(self, place, policy, *args, can=True, version="2025-11-25"):
        super().__init__(place, policy, *args)
        self.ask(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {"elicitation": {}} if can else {},
                "clientInfo": {"name": "lines", "version": "0"},
            },
            "init",
        )

    def question(self, tool, arguments, id=1):
        """The first message after a call: the question, or an answer."""
        return self.call(tool, arguments, id)

    def answer(self, question, result):
        self.send({"jsonrpc": "2.0", "id": question["id"], "result": result})
        return self.receive() or {}


def text_of(message):
    return "".join(part.get("text", "") for part in message.get("result", {}).get("content", []))


def names(server):
    return {tool["name"] for tool in server.ask("tools/list", {}, "list")["result"]["tools"]}


def staged(place):
    """The calls of this project with staged changes: root's list is shared with other tests."""
    mine = []
    for row in json.loads(place.run("changes", "--json").out)["held"]:
        changes = json.loads(place.run("changes", row["call"], "--json").out).get("changes", [])
        if any(change.get("host", "").startswith(place.project) for change in changes):
            mine.append(row["call"])
    return mine


def discard_all(place):
    for call in staged(place):
        place.run("changes", call, "discard")

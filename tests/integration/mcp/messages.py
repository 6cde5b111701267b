# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Notifications of toolcage mcp, over pipes and over HTTP."""

import time

import scene
from scene import STATELESS, cli
from web import Posted, Web, alone_heads

cli.require_user()
place, policy, mark = scene.place_with_policy()


def request(tool, meta=None, arguments=None, id=1):
    params = {"name": tool, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def progress_over_http():
    with Web(place, policy) as web:
        web.initialize()
        for meta, heads in (({}, None), (STATELESS, alone_heads("tools/call", "brief"))):
            answer = Posted(web, request("brief", {**meta, "progressToken": "t"}), heads)
            came = answer.messages()
            cli.check(
                len(came) == 2
                and came[0]["method"] == "notifications/progress"
                and came[0]["params"]["progressToken"] == "t"
                and came[0]["params"]["message"] == "running for 1 s"
                and came[1]["id"] == 1
                and came[1]["result"]["isError"] is False,
                "progress comes before the result, on the stream of its request",
                came,
            )
            began = time.monotonic()
            answer = Posted(web, request("brief", meta), heads)
            cli.check(
                answer.type == "application/json" and answer.message()["id"] == 1,
                "a call without a token is answered as before",
                answer.type,
            )
            cli.check(time.monotonic() - began < 10 * scene.PATIENCE, "and in time")
            answer = Posted(
                web,
                request("brief", {**meta, "progressToken": 3}),
                {**(heads or {}), "Accept": "application/json"},
            )
            cli.check(
                answer.type == "application/json" and answer.message()["id"] == 1,
                "a client without streams gets the result only",
                answer.type,
            )


with place:
    with open(policy, "a", encoding="utf-8") as more:
        more.write('\n[tool.brief]\ndescription = "Takes two seconds."\ncommand = ["sleep", "2"]\n')
    progress_over_http()
cli.finish()

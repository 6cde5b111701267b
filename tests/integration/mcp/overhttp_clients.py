# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp over HTTP under the official clients, Python and TypeScript, by both transports. Runs itself again under the Python
client's interpreter."""

import json
import pathlib
import shutil
import subprocess

import scene
from scene import CLIENTS, cli

scene.under_clients_python(CLIENTS / "node_modules")
if not shutil.which("node"):
    cli.skip_all("there is no node here")

import anyio  # noqa: E402
from mcp.client import Client  # noqa: E402
from mcp.client.sse import sse_client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: E402
from mcp.types import ElicitResult  # noqa: E402
from web import Web  # noqa: E402


async def drive(transport, mode, name):
    async with Client(transport, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        cli.check(tools["add"].title == "Adder", f"{name}: list_tools", tools)
        answer = await client.call_tool("add", {"a": 40, "b": 2})
        cli.check(
            not answer.is_error and answer.content[0].text.endswith("stdout:\n42\n"),
            f"{name}: call_tool",
            answer,
        )
        answer = await client.call_tool("peek", {})
        cli.check(
            answer.is_error and "the secret" not in str(answer),
            f"{name}: a refusal is an error for the model",
            answer,
        )
        answer = await client.call_tool("add", {"a": 5000, "b": 2})
        cli.check(
            answer.is_error and "1000" in answer.content[0].text,
            f"{name}: bad arguments come back with the bound",
            answer,
        )
        seen = []

        async def progress(done, total, message):
            seen.append(message)

        answer = await client.call_tool("brief", {}, progress_callback=progress)
        cli.check(not answer.is_error and seen == ["running for 1 s"], f"{name}: progress", (answer, seen))
        with anyio.move_on_after(1):
            await client.call_tool("wait", {})
        gone = await anyio.to_thread.run_sync(lambda: scene.until(lambda: scene.sleeping(mark) == 0))
        cli.check(gone, f"{name}: a cancelled call leaves no process")
        return client.protocol_version


async def python(web):
    heads = {"Authorization": f"Bearer {web.token}"}
    for mode in ("legacy", "auto"):
        async with create_mcp_http_client(headers=heads) as http:
            version = await drive(
                streamable_http_client(web.url(), http_client=http), mode, f"Python, Streamable HTTP, {mode}"
            )
            cli.check((version == "2026-07-28") == (mode == "auto"), f"it speaks {version}")
    await drive(sse_client(web.url("/sse"), headers=heads), "legacy", "Python, SSE")


async def approve(web):
    """The client's own form of a question; what it is answered decides."""
    heads = {"Authorization": f"Bearer {web.token}"}
    for way in ("legacy", "auto", "SSE"):
        for answer in ("yes", "no"):
            asked = []

            async def elicit(_, params, answer=answer, asked=asked):
                asked.append(params.message)
                return ElicitResult(action="accept", content={"answer": answer})

            async with create_mcp_http_client(headers=heads) as http:
                transport = (
                    sse_client(web.url("/sse"), headers=heads)
                    if way == "SSE"
                    else streamable_http_client(web.url(), http_client=http)
                )
                mode = "auto" if way == "auto" else "legacy"
                async with Client(transport, mode=mode, elicitation_callback=elicit) as client:
                    result = await client.call_tool("say", {"text": "hello"})
            cli.check(
                result.is_error == (answer == "no")
                and ("said hello" in str(result)) == (answer == "yes")
                and len(asked) == 1
                and "hello" in asked[0]
                and ("toolcage/receipt" in (result.meta or {})) == (answer == "yes"),
                f"Python, {way}: a call that needs an approval is answered {answer}",
                (asked, result),
            )


def typescript(web):
    done = subprocess.run(
        [
            "node",
            pathlib.Path(__file__).with_name("overhttp.mjs"),
            CLIENTS,
            json.dumps({"url": web.url(), "sse": web.url("/sse"), "token": web.token}),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    cli.check(
        [s["name"] for s in seen] == ["sdk", "sdk, SSE", "client", "client, SSE"],
        "the TypeScript clients went through",
        done.stdout + done.stderr,
    )
    for s in seen:
        name = s["name"]
        cli.check(name != "client" or s["version"] == "2026-07-28", f"{name}: its version", s["version"])
        cli.check({t["name"] for t in s["tools"]} >= {"add", "note"}, f"{name}: listTools", s["tools"])
        cli.check(s["add"]["content"][0]["text"].endswith("stdout:\n42\n"), f"{name}: callTool", s["add"])
        cli.check(
            s["peek"]["isError"] is True and "the secret" not in json.dumps(s["peek"]),
            f"{name}: a refusal",
            s["peek"],
        )
        cli.check(s["progress"] == ["running for 1 s"], f"{name}: progress", s["progress"])
        cli.check(s["cancelled"], f"{name}: a call is cancelled")
    cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "nothing is left")


place, policy, mark = scene.place_with_policy()
with open(policy, "a", encoding="utf-8") as more:
    more.write('\n[tool.brief]\ndescription = "Takes two seconds."\ncommand = ["sleep", "2"]\n')
approval = place.write(
    "home/project/approval.toml",
    '[audit]\n[tool.say]\ntier = "HumanApprove"\nbackend = "process"\ncommand = ["echo", "said", "{text}"]\n'
    'arguments.text = { type = "string" }\n',
)
place.run("receipt", "key")
with place, Web(place, policy) as web:
    anyio.run(python, web)
    typescript(web)
    with Web(place, approval, "--elicit", "--receipts") as asking:
        anyio.run(approve, asking)
cli.finish()

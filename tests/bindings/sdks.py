# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The adapters of integrations/python in the real, pinned SDKs, with a scripted model in place of a service. Of each: a call works,
/etc/shadow is absent, there is no network, a call is killed at its timeout, a refusal reaches the model as a sentence."""

import asyncio
import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import tap

for name in ("agents", "langchain", "smolagents", "mypy"):
    if not importlib.util.find_spec(name):
        tap.skip_all(f"{name} is not installed for {sys.executable}; tools/sdks installs it")
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

import toolcage  # noqa: E402

TOOLCAGE = os.path.abspath(sys.argv[1])
POLICY = """
[tool.shell]
memory = { max = "512MiB", by = "any" }
filesystem = { writable = ["/workspace"] }
env.pass = ["SAID"]
timeout = "20s"

[tool.short]
memory = { max = "512MiB", by = "any" }
timeout = "700ms"

[tool.other]
command = ["true"]
memory = { max = "512MiB", by = "any" }
"""
CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 2)"


def check_types():
    root = pathlib.Path(toolcage.__file__).parent
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, root],
            capture_output=True,
            text=True,
            check=False,
        )
    tap.check(
        done.returncode == 0 and "Success" in done.stdout,
        "the package is strictly typed",
        done.stdout + done.stderr,
    )


def check_bare(port):
    """What the cage takes away is there without one."""
    line = f'test -e /etc/shadow && /usr/bin/python3 -c "{CONNECT.format(port=port)}"'
    tap.check(
        subprocess.run(["sh", "-c", line], check=False).returncode == 0,
        "without a cage the file and the server are there",
    )


# ---- OpenAI Agents SDK


def scripted_shell(lines, timeout_ms=None):
    """A model that asks for these commands, then repeats what came of them."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText
    from openai.types.responses.response_function_shell_tool_call import Action, ResponseFunctionShellToolCall

    class Scripted(Model):
        seen = None

        async def get_response(self, system_instructions, input, *rest, **more):
            answers = [
                item for item in input if isinstance(item, dict) and item.get("type") == "shell_call_output"
            ]
            if not answers:
                item = ResponseFunctionShellToolCall(
                    id="s1",
                    call_id="c1",
                    status="completed",
                    type="shell_call",
                    action=Action(commands=lines, timeout_ms=timeout_ms, max_output_length=None),
                )
            else:
                Scripted.seen = answers[-1]["output"]
                item = ResponseOutputMessage(
                    id="m1",
                    role="assistant",
                    status="completed",
                    type="message",
                    content=[ResponseOutputText(type="output_text", text="done", annotations=[])],
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *rest, **more):
            raise NotImplementedError

    return Scripted()


def check_openai(engine, policy, port):
    from agents import Agent, Runner, ShellTool
    from toolcage_openai_agents import CagedShell

    def run(lines, tool="shell", timeout_ms=None):
        model = scripted_shell(lines, timeout_ms)
        agent = Agent(
            name="a", model=model, tools=[ShellTool(executor=CagedShell(engine, policy, tool, workspace="."))]
        )
        end = asyncio.run(Runner.run(agent, "go"))
        return end.final_output, model.seen

    end, seen = run(["echo one > f; cat f", "cat f; exit 3"])
    tap.check(
        end == "done"
        and [row["stdout"] for row in seen] == ["one\n", "one\n"]
        and seen[1]["outcome"] == {"type": "exit", "exit_code": 3},
        "OpenAI Agents: calls work",
        seen,
    )
    _, seen = run(["cat /etc/shadow", f'/usr/bin/python3 -c "{CONNECT.format(port=port)}"'])
    tap.check(
        "No such file" in seen[0]["stderr"] and not seen[0]["stdout"],
        "OpenAI Agents: /etc/shadow is absent",
        seen,
    )
    tap.check(
        seen[1]["outcome"]["exit_code"] == 1 and "Error" in seen[1]["stderr"],
        "OpenAI Agents: no network",
        seen,
    )
    began = time.monotonic()
    _, seen = run(["sleep 60", "echo never"], "short")
    tap.check(
        len(seen) == 1
        and seen[0]["outcome"]["type"] == "timeout"
        and "timeout" in seen[0]["stderr"]
        and time.monotonic() - began < 20,
        "OpenAI Agents: killed at its timeout",
        seen,
    )
    _, seen = run(["sleep 60"], "shell", 300)
    tap.check(
        seen[0]["outcome"]["type"] == "timeout", "OpenAI Agents: the model's timeout may come sooner", seen
    )
    _, seen = run(["id"], "other")
    tap.check(
        seen[0]["outcome"]["exit_code"] == 126
        and "denied" in seen[0]["stderr"]
        and "Hint" in seen[0]["stderr"],
        "OpenAI Agents: a refusal is a sentence",
        seen,
    )


# ---- LangChain


def check_langchain(policy_file, port):
    from langchain.agents import create_agent
    from langchain.agents.middleware import ShellToolMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from toolcage_langchain import CagedExecutionPolicy

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools, **more):
            return self

    def run(lines, tool="shell", policy=policy_file, workspace=None, **more):
        calls = [
            AIMessage(content="", tool_calls=[{"name": "shell", "args": {"command": line}, "id": f"c{n}"}])
            for n, line in enumerate(lines)
        ]
        shell = ShellToolMiddleware(
            workspace_root=workspace or os.getcwd(),
            env={"SAID": "by name"},
            execution_policy=CagedExecutionPolicy(policy=policy, tool=tool, binary=TOOLCAGE, **more),
        )
        agent = create_agent(
            Scripted(messages=iter([*calls, AIMessage(content="done")])), tools=[], middleware=[shell]
        )
        end = agent.invoke({"messages": [("user", "go")]})
        return [message.content for message in end["messages"] if message.type == "tool"]

    seen = run(["X=kept; echo $SAID; echo two > g", "echo $X; cat g"])
    tap.check(
        seen == ["by name\n", "kept\ntwo\n"], "LangChain: calls work, and the shell keeps its state", seen
    )
    os.mkdir("below")
    pathlib.Path("below/h").write_text("three\n")
    seen = run(["cat h"], policy=os.path.relpath(policy_file), workspace="below")
    tap.check(seen == ["three\n"], "LangChain: relative paths start at the program's directory", seen)
    seen = run(["cat /etc/shadow", f'/usr/bin/python3 -c "{CONNECT.format(port=port)}" 2>&1 | tail -1'])
    tap.check("No such file" in seen[0], "LangChain: /etc/shadow is absent", seen)
    tap.check("Error" in seen[1], "LangChain: no network", seen)
    began = time.monotonic()
    seen = run(["sleep 60", "echo after"], command_timeout=1.0, termination_timeout=1.0)
    tap.check(
        "timed out" in seen[0] and "after" in seen[1] and time.monotonic() - began < 40,
        "LangChain: killed at its timeout",
        seen,
    )
    try:
        run(["id"], "other")
        refused = ""
    except RuntimeError as error:
        refused = str(error)
    tap.check(
        "already has a command" in refused and "hint: " in refused,
        "LangChain: a refusal is a sentence",
        refused,
    )


# ---- smolagents


def check_smolagents(engine, policy, port):
    from smolagents import CodeAgent, Model, tool
    from smolagents.models import ChatMessage, MessageRole
    from toolcage_smolagents import CagedPython

    @tool
    def double(number: int) -> int:
        """Doubles a number.

        Args:
            number: The number.
        """
        return number * 2

    class Scripted(Model):
        def __init__(self, steps):
            super().__init__(model_id="scripted")
            self.steps, self.heard = iter(steps), []

        def generate(self, messages, **more):
            self.heard.append(str(messages[-1].content))
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{next(self.steps)}\n</code>")

    def run(steps, name="shell", **more):
        model, executor = Scripted(steps), CagedPython(engine, policy, name, workspace=".", **more)
        agent = CodeAgent(
            model=model, tools=[double], executor=executor, max_steps=len(steps), verbosity_level=0
        )
        try:
            return agent.run("go", additional_args={"given": 20}), model.heard
        finally:
            executor.cleanup()

    end, heard = run(
        [
            "import math\ndef f(x):\n    return x + 1\nprint('log')",
            "final_answer({'n': double(given) + f(1), 'pi': int(math.pi)})",
        ]
    )
    tap.check(
        end == {"n": 42, "pi": 3} and "log" in heard[1],
        "smolagents: steps work and keep functions, modules, variables",
        (end, heard),
    )
    end, heard = run(["open('/etc/shadow')", CONNECT.format(port=port), "final_answer(1)"])
    tap.check("No such file" in heard[1], "smolagents: /etc/shadow is absent", heard[1][-300:])
    tap.check(
        "Error" in heard[2] and "No such file" not in heard[2], "smolagents: no network", heard[2][-300:]
    )
    began = time.monotonic()
    end, heard = run(["while True: pass", "final_answer(double(1))"], step_timeout=1.0)
    tap.check(
        end == 2 and "more than 1 seconds" in heard[1] and time.monotonic() - began < 30,
        "smolagents: killed at its timeout, and goes on",
        heard[1][-300:],
    )
    end, heard = run(["while True: pass", "final_answer(3)"], "short")
    tap.check(
        "timeout" in heard[1] and "variables are gone" in heard[1],
        "smolagents: the policy's timeout is told",
        heard[1][-300:],
    )
    end, heard = run(["1", "final_answer(4)"], "other")
    tap.check(
        "denied" in heard[1] and "Hint" in heard[1], "smolagents: a refusal is a sentence", heard[1][-300:]
    )
    forged = "import os\nos.write(1, b'[1]' + bytes([10]))"
    end, heard = run([forged, "final_answer(5)"])
    tap.check(
        "something else than an object" in heard[1],
        "smolagents: what the cage forges is data",
        heard[1][-300:],
    )
    flood = "import os\nwhile True: os.write(1, b'x' * 65536)"
    end, heard = run([flood, "final_answer(6)"], answer_limit=100000)
    tap.check(
        end == 6 and "more than 100000 bytes" in heard[1],
        "smolagents: a flood ends the step",
        heard[1][-300:],
    )


with (
    tempfile.TemporaryDirectory(prefix="toolcage-sdks-") as here,
    socket.create_server(("127.0.0.1", 0)) as server,
):
    os.chmod(here, 0o755)
    os.chdir(here)
    pathlib.Path("tools.toml").write_text(POLICY)
    os.mkdir("work")
    policy_file = os.path.join(here, "tools.toml")
    policy = toolcage.Policy.from_file(policy_file)
    os.chdir("work")
    with toolcage.Engine() as engine:
        first = engine.run(toolcage.Call(policy, "other"))
        if first.error and first.error.code == "unenforceable":
            tap.skip_all("this machine cannot make the cage: " + first.error.message)
        check_types()
        check_bare(server.getsockname()[1])
        check_openai(engine, policy, server.getsockname()[1])
        check_langchain(policy_file, server.getsockname()[1])
        check_smolagents(engine, policy, server.getsockname()[1])
    os.chdir("/")
tap.finish()

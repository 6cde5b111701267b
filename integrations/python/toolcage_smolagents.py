# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The Python of smolagents' CodeAgent, in a cage that lives as long as the agent:

    CodeAgent(model=model, tools=tools, executor=CagedPython(engine, policy, "python"))

One interpreter keeps variables, functions and imports from step to step; the policy's `timeout` bounds its whole life and
`step_timeout` one step, after which it is a fresh one. Tools of the agent are sent there as source and do there what the policy lets them.
What comes back is JSON: nothing that the cage says is unpickled or evaluated here.
"""

from __future__ import annotations

import json
import select
import time
from typing import Any

import toolcage
from smolagents.local_python_executor import CodeOutput
from smolagents.monitoring import AgentLogger
from smolagents.remote_executors import RemotePythonExecutor

INSIDE = """
import ast, contextlib, io, json, sys, traceback

class FinalAnswer(BaseException):
    pass

def final_answer(answer=None):
    raise FinalAnswer(answer)

space, out = {"__name__": "__main__", "final_answer": final_answer}, sys.stdout

def plain(value):
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return repr(value)

for line in sys.stdin:
    said, answer = io.StringIO(), {"output": None, "final": False, "error": None}
    with contextlib.redirect_stdout(said):
        try:
            tree = ast.parse(json.loads(line))
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<step>", "exec"), space)
            if last:
                answer["output"] = plain(eval(compile(ast.Expression(last.value), "<step>", "eval"), space))
        except FinalAnswer as end:
            answer.update(final=True, output=plain(end.args[0]))
        except BaseException as error:
            answer["error"] = "".join(traceback.format_exception_only(error)).strip()
    out.write(json.dumps({**answer, "logs": said.getvalue()}) + chr(10))
    out.flush()
"""


class CagedPython(RemotePythonExecutor):
    """`more` narrows the call, as `toolcage.Call` has it: workspace, session, env…"""

    def __init__(
        self,
        engine: toolcage.Engine,
        policy: toolcage.Policy,
        tool: str | None = None,
        *,
        python: str = "/usr/bin/python3",
        step_timeout: float = 30.0,
        answer_limit: int = 1 << 20,
        **more: Any,
    ) -> None:
        super().__init__([], AgentLogger(level=0))
        self.engine, self.step_timeout, self.answer_limit = engine, step_timeout, answer_limit
        self.call = toolcage.Call(
            policy, tool, command=[python, "-u", "-c", INSIDE], stdin=toolcage.PIPE, **more
        )
        self._running: toolcage.Running | None = None
        self._setup: list[str] = []  # tools and variables, for a fresh interpreter
        self._kept = b""

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        if not self._running:
            self._start()
        return self._step(code)

    def send_tools(self, tools: dict[str, Any]) -> None:
        """All but final_answer, which is the interpreter's own: what it is given comes back as JSON, else as its repr()."""
        self._remember(
            super().send_tools, {name: tool for name, tool in tools.items() if name != "final_answer"}
        )

    def send_variables(self, variables: dict[str, Any]) -> None:
        self._remember(super().send_variables, variables)

    def install_packages(self, additional_imports: list[str]) -> list[str]:
        """Nothing is installed from within a cage; what a tool imports and the cage lacks is the import's own error there."""
        return additional_imports

    def cleanup(self) -> None:
        if self._running:
            self._running.close()
        self._running, self._kept = None, b""

    # ---- the interpreter

    def _remember(self, send: Any, what: Any) -> None:
        before, run = self.run_code_raise_errors, self._setup.append
        try:
            self.run_code_raise_errors = lambda code: (run(code), CodeOutput(None, "", False))[1]  # type: ignore[method-assign]
            send(what)
        finally:
            self.run_code_raise_errors = before  # type: ignore[method-assign]
        if self._running:
            self.cleanup()

    def _start(self) -> None:
        self._running = self.engine.start(self.call, stream=True)
        for code in self._setup:
            self._step(code)

    def _step(self, code: str) -> CodeOutput:
        assert self._running and self._running.stdin
        try:
            self._running.stdin.write(json.dumps(code).encode() + b"\n")
            answer = self._answer(time.monotonic() + self.step_timeout)
        except BrokenPipeError:
            raise self._ended() from None
        if answer.get("error"):
            raise RuntimeError(f"{answer['error']}\n{answer.get('logs', '')}".strip())
        return CodeOutput(answer.get("output"), str(answer.get("logs", "")), bool(answer.get("final")))

    def _answer(self, until: float) -> dict[str, Any]:
        """The next line of the cage."""
        assert self._running
        poll = select.poll()
        poll.register(self._running, select.POLLIN)
        while b"\n" not in self._kept:
            ended = self._running.dispatch()
            self._kept += b"".join(piece.data for piece in self._running.pending() if piece.stream == 1)
            if b"\n" in self._kept:
                break
            if ended:
                raise self._ended()
            left = until - time.monotonic()
            if left <= 0 or len(self._kept) > self.answer_limit:
                self.cleanup()
                why = (
                    f"took more than {self.step_timeout:g} seconds"
                    if left <= 0
                    else f"said more than {self.answer_limit} bytes"
                )
                raise TimeoutError(
                    f"the step {why} and was ended; its variables are gone. Hint: do less in one step"
                )
            poll.poll(left * 1000)
        line, _, self._kept = self._kept.partition(b"\n")
        answer = json.loads(line)
        if not isinstance(answer, dict):
            raise RuntimeError("the cage answered with something else than an object")
        return answer

    def _ended(self) -> RuntimeError:
        assert self._running
        result = self._running.wait()
        self.cleanup()
        return RuntimeError(f"the cage has ended, and its variables are gone. {result.message}")

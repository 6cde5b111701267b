# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The persistent shell of LangChain's agents, in one cage for the agent's run:

    ShellToolMiddleware(execution_policy=CagedExecutionPolicy(policy="tools.toml", tool="shell"))

The policy's tool has no command of its own, and its `timeout` bounds the whole session. Needs the command line (`toolcage-bin`), since
the middleware wants a process with pipes.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain.agents.middleware._execution import BaseExecutionPolicy


@dataclass
class CagedExecutionPolicy(BaseExecutionPolicy):
    """`policy` is a file; without one the shell has the strictest useful grant. Relative paths start at this process's directory."""

    policy: str | None = None
    tool: str | None = None
    binary: str | None = None  #: the command line: beside this interpreter, else in PATH

    def spawn(
        self, *, workspace: pathlib.Path, env: Mapping[str, str], command: Sequence[str]
    ) -> subprocess.Popen[str]:
        workspace = pathlib.Path(workspace).absolute()
        cage = self._words(workspace, env)
        refused = subprocess.run(
            [*cage, "--", "true"],
            env=dict(env),
            cwd=workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=self.startup_timeout,
        )
        if refused.returncode:
            raise RuntimeError(f"no cage for the shell: {refused.stderr.strip() or refused.returncode}")
        return subprocess.Popen(
            [*cage, "--", *command],
            env=dict(env),
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
            start_new_session=True,
        )

    def _words(self, workspace: pathlib.Path, env: Mapping[str, str]) -> list[str]:
        """Values of variables are handed over by name: a command line is anybody's to read."""
        words = [self._binary(), "exec", "--workspace", str(workspace)]
        if self.policy:
            words += ["--policy", str(pathlib.Path(self.policy).absolute())]
        if self.tool:
            words += ["--tool", self.tool]
        for name in env:
            if name not in ("PATH", "HOME"):  # of the host; the cage has its own
                words += ["--env", name]
        return words

    def _binary(self) -> str:
        beside = pathlib.Path(sys.executable).with_name("toolcage")
        found = self.binary or (str(beside) if beside.exists() else shutil.which("toolcage"))
        if not found:
            raise RuntimeError(
                "there is no toolcage beside this interpreter or in PATH: install toolcage-bin"
            )
        return found

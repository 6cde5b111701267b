# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A sandbox for Deep Agents, on this host and without a service:

    sandbox = ToolcageSandbox(toolcage.Sandbox.create(preset="python", workspace="."))
    agent = create_deep_agent(model=model, backend=sandbox)

The agent's shell and file tools work in the sandbox. Each command is a fresh shell; files and background processes stay.
"""

from __future__ import annotations

import toolcage
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

#: Of an error of the sandbox, the name that Deep Agents has.
NAMES: dict[type[Exception], str] = {
    FileNotFoundError: "file_not_found",
    IsADirectoryError: "is_directory",
    PermissionError: "permission_denied",
}
#: Of a file that is read into memory.
MOST = 1 << 30


class ToolcageSandbox(BaseSandbox):
    """`sandbox` stays the caller's to end, unless `close` does."""

    def __init__(self, sandbox: toolcage.Sandbox) -> None:
        self.sandbox = sandbox

    @property
    def id(self) -> str:
        return self.sandbox.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """One output with both streams in their order. What ended or refused a command is told below it."""
        result = self.sandbox.exec(["sh", "-c", "exec 2>&1\n" + command], timeout=timeout or None)
        output = result.stdout_text
        if result.status not in (toolcage.Status.OK, toolcage.Status.FAILED):
            reason = result.message if result.error else result.message.partition("\n")[0]
            output = "\n".join(part for part in (output, reason) if part)
        return ExecuteResponse(output=output, exit_code=result.shell_code, truncated=result.truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def close(self) -> toolcage.Result:
        """Ends the sandbox. The result has the changes."""
        try:
            return self.sandbox.end()
        finally:
            self.sandbox.close()

    def _upload(self, path: str, content: bytes) -> str | None:
        if not path.startswith("/"):
            return "invalid_path"
        try:
            self.sandbox.write(path, content)
        except (OSError, toolcage.CallError, toolcage.Error) as error:
            return _name(error)
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        if not path.startswith("/"):
            return FileDownloadResponse(path=path, error="invalid_path")
        try:
            return FileDownloadResponse(path=path, content=self.sandbox.read(path, MOST))
        except (OSError, toolcage.CallError, toolcage.Error) as error:
            return FileDownloadResponse(path=path, error=_name(error))


def _name(error: Exception) -> str:
    return NAMES.get(type(error), str(error))

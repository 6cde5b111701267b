# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The suite that LangChain has for sandboxes of Deep Agents."""

import pytest
import toolcage
from langchain_tests.integration_tests.sandboxes import SandboxIntegrationTests
from toolcage_deepagents import ToolcageSandbox


class TestToolcage(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self):
        sandbox = ToolcageSandbox(toolcage.Sandbox.create(preset="python", memory="1GiB"))
        try:
            yield sandbox
        finally:
            sandbox.close()

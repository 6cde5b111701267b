# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The suite that Inspect has for its sandboxes."""

import pytest
from inspect_ai.util._sandbox.self_check import *  # noqa: F403
from toolcage_inspect import ToolcageSandboxEnvironment as Toolcage


@pytest.fixture
async def sandbox_env():
    environment = await Toolcage.open(memory="1GiB")
    try:
        yield environment
    finally:
        await Toolcage.sample_cleanup("self_check", None, {"default": environment}, False)

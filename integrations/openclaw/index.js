// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The sandbox backend "toolcage" of OpenClaw. docs/agents/openclaw.md has the settings.
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { createRemoteShellSandboxFsBridge, registerSandboxBackend } from "openclaw/plugin-sdk/sandbox";
import { WORKSPACE, createBackend } from "./backend.js";

export default definePluginEntry({
  id: "toolcage",
  name: "toolcage",
  description: "A sandbox backend: each command and each access to a file in a cage of its own",
  register(api) {
    registerSandboxBackend("toolcage", {
      factory: async (params) => createBackend(api.pluginConfig ?? {}, params, createRemoteShellSandboxFsBridge),
      // A cage ends with its call: nothing runs between two calls, and nothing is left to remove.
      manager: {
        describeRuntime: async () => ({ running: true, configLabelMatch: true }),
        removeRuntime: async () => {},
      },
      resolveWorkdir: () => WORKSPACE,
    });
  },
});

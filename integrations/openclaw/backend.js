// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// What the backend does, without OpenClaw: its commands are run by `toolcage exec`, and its file tools by scripts in cages as well, so
// that the policy's paths hold for both. No grant is written here: the policy has them all.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

export const WORKSPACE = "/workspace";
const AGENT = "/agent"; // where a second workspace would be; the policy has no such place
const RESULT_MAX = 256 << 20;

// toolcage's own environment. What a model sets is the tool's alone: in this one it could name another policy.
function ownEnvironment() {
  const names = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"];
  return Object.fromEntries(names.filter((name) => process.env[name] !== undefined).map((name) => [name, process.env[name]]));
}

// PATH and HOME are the cage's own, and OPENCLAW_… tell a command about OpenClaw. All else the policy must pass, or the call is refused.
function wanted(env) {
  return Object.entries(env ?? {}).filter(([name]) => name !== "PATH" && name !== "HOME" && !name.startsWith("OPENCLAW_"));
}

// The values stand in a file, since everybody on the machine can read a command line; it goes when the command has ended.
async function writeEnvironment(entries) {
  const wrong = entries.find(([name, value]) => /[=\0]/.test(name) || value.includes("\0"));
  if (wrong) throw new Error(`toolcage: a variable of this name or value cannot be passed: ${JSON.stringify(wrong[0])}`);
  const directory = await mkdtemp(path.join(tmpdir(), "toolcage-openclaw-"));
  try {
    const file = path.join(directory, "env");
    await writeFile(file, entries.map(([name, value]) => `${name}=${value}\0`).join(""), { mode: 0o600, flag: "wx" });
    return { directory, file };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

function bytesOf(stream) {
  return stream.base64 === undefined ? Buffer.from(stream.text) : Buffer.from(stream.base64, "base64");
}

// A script's result as OpenClaw's file tools take it. Half a file must never pass for a whole one: an edit would write it back.
function readResult(json, said, code) {
  let result;
  try {
    result = JSON.parse(json);
  } catch {
    throw new Error(`toolcage did not run: ${said.trim() || `it ended with code ${code}`}`);
  }
  if (result.exit_code === null) throw Object.assign(new Error(`toolcage: ${result.message.trim()}`), { code: result.error?.code });
  if (result.stdout.truncated)
    throw new Error(`toolcage: more than the policy's output limit: ${result.stdout.bytes} bytes; an operator can raise \`output\` in the policy`);
  return { stdout: bytesOf(result.stdout), stderr: bytesOf(result.stderr), code: result.exit_code };
}

function collect(argv, { stdin, signal }) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const child = spawn(argv[0], argv.slice(1), { env: ownEnvironment(), cwd: "/", signal, stdio: ["pipe", "pipe", "pipe"] });
    const out = [];
    let said = "";
    let length = 0;
    child.on("error", reject);
    child.stdin.on("error", () => {}); // the tool need not read it all
    child.stdout.on("data", (data) => {
      length += data.length;
      if (length <= RESULT_MAX) out.push(data);
      else child.kill();
    });
    child.stderr.on("data", (data) => (said = (said + data).slice(-4096)));
    child.on("close", (code) => {
      if (length > RESULT_MAX) reject(new Error("toolcage: a result of more than 256 MiB"));
      else resolve({ json: Buffer.concat(out).toString("utf8"), said, code });
    });
    child.stdin.end(stdin);
  });
}

export function createBackend(config, params, createBridge) {
  if (typeof config.policy !== "string" || !path.isAbsolute(config.policy))
    throw new Error("toolcage: the plugin needs the absolute path of a policy: plugins.entries.toolcage.config.policy");
  const access = params.cfg?.workspaceAccess ?? "rw";
  if (access === "ro")
    throw new Error('toolcage: workspaceAccess "ro" is not supported: set "rw", and write filesystem.readable = ["/workspace"] in the policy');
  const base = [config.command ?? "toolcage", "exec", "--policy", config.policy, "--tool", config.tool ?? "openclaw", "--workspace", params.workspaceDir];

  const runShellCommand = async ({ script, args = [], stdin, allowFailure, signal }) => {
    const argv = [...base, "--json", "--cwd", WORKSPACE, "--", "sh", "-c", script, "openclaw", ...args];
    const { json, said, code } = await collect(argv, { stdin, signal });
    const result = readResult(json, said, code);
    if (result.code !== 0 && !allowFailure) throw new Error(result.stderr.toString("utf8").trim() || `the command ended with code ${result.code}`);
    return result;
  };

  return {
    id: "toolcage",
    runtimeId: `toolcage-${params.scopeKey}`.replace(/[^A-Za-z0-9_.-]/g, "-"),
    runtimeLabel: "toolcage",
    workdir: WORKSPACE,
    configLabel: config.policy,
    configLabelKind: "Policy",
    env: {}, // in place of what OpenClaw sets in every container
    async buildExecSpec({ command, workdir, env, usePty }) {
      if (usePty) throw new Error("toolcage: there is no terminal in this sandbox; run the command again without pty");
      const entries = wanted(env);
      const file = entries.length ? await writeEnvironment(entries) : null;
      const argv = [...base, ...(file ? ["--env-file", file.file] : []), "--cwd", workdir ?? WORKSPACE, "--", "sh", "-c", command];
      return { argv, env: ownEnvironment(), cwd: "/", stdinMode: "pipe-closed", finalizeToken: file?.directory };
    },
    async finalizeExec({ token }) {
      if (token !== undefined) await rm(token, { recursive: true, force: true });
    },
    runShellCommand,
    createFsBridge: ({ sandbox }) =>
      createBridge({ sandbox, runtime: { remoteWorkspaceDir: WORKSPACE, remoteAgentWorkspaceDir: AGENT, runRemoteShellScript: runShellCommand } }),
  };
}

// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The backend of integrations/openclaw as OpenClaw calls it, without OpenClaw (tests/integration/agents has that): what it starts, what its
// file scripts get back, what it refuses. usage: openclaw.mjs TOOLCAGE
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { WORKSPACE, createBackend } from "../../integrations/openclaw/backend.js";
import tap from "./tap.js";

const { check, raised, finish } = tap;
const TOOLCAGE = path.resolve(process.argv[2]);
const run = (spec) => spawnSync(spec.argv[0], spec.argv.slice(1), { env: spec.env, cwd: spec.cwd, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
const environments = (home) => fs.readdirSync(home).filter((name) => name.startsWith("toolcage-openclaw-"));

async function checkExec(backend, home) {
  process.env.LEAKED = "from the host";
  const secret = "line one\nvalue-two";
  let spec = await backend.buildExecSpec({ command: 'printf "%s|%s|%s" "$GREETING" "${LEAKED-none}" "$PWD"', workdir: WORKSPACE, usePty: false,
    env: { GREETING: secret, PATH: "/nowhere", HOME: "/nowhere", OPENCLAW_SHELL: "exec" } });
  check(!spec.argv.join("\0").includes("value-two") && !JSON.stringify(spec.env).includes("value-two") && spec.env.LEAKED === undefined,
    "a value stands on no command line and in no environment but the tool's", spec);
  const [directory] = environments(home);
  check((fs.statSync(path.join(home, directory, "env")).mode & 0o777) === 0o600 && (fs.statSync(path.join(home, directory)).mode & 0o777) === 0o700,
    "its file is private", directory);
  let done = run(spec);
  check(done.status === 0 && done.stdout === `${secret}|none|/workspace`, "the tool has it", done);
  await backend.finalizeExec({ status: "completed", exitCode: 0, timedOut: false, token: spec.finalizeToken });
  check(environments(home).length === 0, "and the file goes with the command", environments(home));
  done = run(await backend.buildExecSpec({ command: "exit 7", env: {}, usePty: false }));
  check(done.status === 7 && environments(home).length === 0, "without a variable there is no file", done);
  await backend.finalizeExec({ status: "completed", exitCode: 7, timedOut: false });
  spec = await backend.buildExecSpec({ command: "true", env: { TOOLCAGE_POLICY: "/workspace/mine.toml" }, usePty: false });
  done = run(spec);
  check(done.status === 126 && done.stderr.includes("env TOOLCAGE_POLICY is more than the policy grants") && done.stderr.includes("hint: "),
    "a variable that the policy does not pass is a refusal, and steers nothing", done);
  await backend.finalizeExec({ token: spec.finalizeToken });
  done = run(await backend.buildExecSpec({ command: "true", workdir: "/etc/../root", env: {}, usePty: false }));
  check([125, 126].includes(done.status) && done.stderr.includes("hint: "), "a directory that is not there is refused", done);
  for (const env of [{ "A=B": "c" }, { A: "b\0C=d" }]) {
    const error = await raised(() => backend.buildExecSpec({ command: "true", env, usePty: false }));
    check(error.message.includes("cannot be passed") && environments(home).length === 0, `refused: ${JSON.stringify(env)}`, error);
  }
  check((await raised(() => backend.buildExecSpec({ command: "sh", env: {}, usePty: true }))).message.includes("without pty"), "a terminal is refused by name");
}

async function checkScripts(backend, project) {
  const bytes = Buffer.from([0, 255, 10, 0]);
  let result = await backend.runShellCommand({ script: 'cat > "$1"; cat "$1"', args: ["a b"], stdin: bytes });
  check(result.code === 0 && result.stdout.equals(bytes) && fs.readFileSync(path.join(project, "a b")).equals(bytes), "bytes in and out", result);
  result = await backend.runShellCommand({ script: "echo why >&2; exit 3", allowFailure: true });
  check(result.code === 3 && result.stderr.toString() === "why\n", "a failure that is allowed", result);
  check((await raised(() => backend.runShellCommand({ script: "echo why >&2; exit 3" }))).message === "why", "a failure that is not");
  const error = await raised(() => backend.runShellCommand({ script: "head -c 300000 /dev/zero", allowFailure: true }));
  check(error.message.includes("300000 bytes") && error.message.includes("output"), "part of a file is not taken for the whole", error);
  result = await raised(() => backend.runShellCommand({ script: "cat .env", allowFailure: true }));
  check(result.value.code !== 0 && !result.value.stdout.includes("hidden"), "what the policy denies", result);
  const ended = await raised(() => backend.runShellCommand({ script: "sleep 60", allowFailure: true, signal: AbortSignal.timeout(300) }));
  check(ended.name === "AbortError" || ended.name === "TimeoutError", "an abort ends a script", ended);
  const late = await raised(() => backend.runShellCommand({ script: "true", signal: AbortSignal.abort() }));
  check(late.name === "AbortError", "one that is over starts none", late);
}

async function checkEnd(backend, project) {
  const beat = path.join(project, "beat");
  const spec = await backend.buildExecSpec({ command: "(while true; do date +%s%N > beat; sleep 0.05; done) & sleep 60", env: {}, usePty: false });
  const child = spawn(spec.argv[0], spec.argv.slice(1), { env: spec.env, cwd: spec.cwd, stdio: "ignore" });
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  for (let n = 0; n < 200 && !fs.existsSync(beat); n += 1) await wait(50);
  const running = fs.existsSync(beat);
  child.kill("SIGKILL");
  await wait(500);
  const left = fs.readFileSync(beat, "utf8");
  await wait(300);
  check(running && left === fs.readFileSync(beat, "utf8"), "its end, also by KILL, is the end of what it left in the background");
}

async function main(home) {
  const project = path.join(home, "project");
  const policy = path.join(home, "tools.toml");
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, ".env"), "KEY=hidden\n");
  fs.writeFileSync(policy, `[tool.openclaw]
filesystem = { writable = ["/workspace"], denied = ["/workspace/.env"] }
workspace = { mode = "bind" }
env.pass = ["GREETING"]
output = "256KiB"
memory = { max = "512MiB", by = "any" }
`);
  process.env.TMPDIR = home;
  const make = (config, cfg) => createBackend({ policy, command: TOOLCAGE, ...config }, { workspaceDir: project, scopeKey: "a:b/c", cfg }, (given) => given);
  const backend = make({}, { workspaceAccess: "rw" });
  const probe = await raised(() => backend.runShellCommand({ script: "true" }));
  if (probe.code === "unenforceable") {
    console.log(`1..0 # SKIP this machine cannot make the cage: ${probe.message}`);
    return;
  }
  check(probe.message === "" && backend.runtimeId === "toolcage-a-b-c" && backend.workdir === WORKSPACE, "a call works", probe);
  await checkExec(backend, home);
  await checkScripts(backend, project);
  await checkEnd(backend, project);
  const bridge = backend.createFsBridge({ sandbox: "its" });
  check(bridge.sandbox === "its" && bridge.runtime.remoteWorkspaceDir === WORKSPACE && bridge.runtime.runRemoteShellScript === backend.runShellCommand,
    "OpenClaw's file tools get the cage's shell", bridge);
  check((await raised(async () => make({}, { workspaceAccess: "ro" }))).message.includes("filesystem.readable"), 'workspaceAccess "ro" is refused');
  for (const wrong of [undefined, "tools.toml"])
    check((await raised(async () => make({ policy: wrong }))).message.includes("absolute path of a policy"), `no policy: ${wrong}`);
  const lost = await raised(() => make({ policy: "/nowhere/tools.toml" }).runShellCommand({ script: "true" }));
  check(lost.message.includes("/nowhere/tools.toml"), "a policy that is not there", lost);
  const gone = await raised(() => make({ command: "/nowhere/toolcage" }).runShellCommand({ script: "true" }));
  check(gone.code === "ENOENT", "a program that is not there", gone);
  finish();
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), "toolcage-claw-"));
main(home).finally(() => fs.rmSync(home, { recursive: true, force: true }));

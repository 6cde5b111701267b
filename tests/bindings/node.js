// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The Node package as a host meets it: the five of every way in, output as it comes, aborts, errors, sixteen calls in one thread.
"use strict";
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { Readable } = require("node:stream");
const { Worker } = require("node:worker_threads");

const { check, raised, finish } = require("./tap.js");

const PACKAGE = path.resolve(process.argv[2]);
const { Engine, PIPE, Policy, ToolcageError, version } = require(PACKAGE);

const POLICY = `
[tool.greet]
command = ["echo", "hello", "{name}"]
arguments.name = { type = "string", pattern = "^[a-z]+$" }
memory = { max = "512MiB", by = "any" }

[tool.sleep]
command = ["sleep", "60"]
timeout = "500ms"
memory = { max = "512MiB", by = "any" }

[tool.deploy]
tier = "HumanApprove"
backend = "process"
command = ["cat", "{file}"]
arguments.file = { read = ["/var/tmp"] }
memory = { max = "512MiB", by = "any" }

[tool.edit]
backend = "process"
command = ["sh", "-c", "echo a > a; echo b > b; mkdir d; echo c > d/c"]
filesystem = { writable = ["/workspace"] }
workspace = { mode = "copy", commit = "ask" }
memory = { max = "512MiB", by = "any" }
`;
const checked = Policy.fromText(POLICY);
const policy = Policy.default();
const sh = (line, more) => ({ policy, command: ["sh", "-c", line], ...more });

async function checkCage(engine, port) {
  let result = await engine.run({ policy: checked, tool: "greet", arguments: { name: "you" } });
  check(result.ok && result.exitCode === 0 && result.stdout.equals(Buffer.from("hello you\n")), "a call works", result);
  result = await engine.run({ policy: checked, tool: "greet", arguments: '{"name":"raw"}' });
  check(result.stdoutText === "hello raw\n" && result.details.status === "ok", "arguments as the model wrote them", result);
  check(fs.existsSync("/etc/shadow"), "/etc/shadow is there without a cage");
  result = await engine.run(sh("! test -e /etc/shadow && cat /etc/shadow"));
  check(result.status === "failed" && result.stderrText.includes("No such file"), "/etc/shadow is absent", result);
  const words = ["/usr/bin/python3", "-c", `import socket; socket.create_connection(('127.0.0.1', ${port}), 2)`];
  check(spawnSync(words[0], words.slice(1)).status === 0, "there is a network without a cage");
  result = await engine.run({ policy, command: words });
  check(result.status === "failed" && result.stderrText.includes("Error"), "no network", result);
  result = await engine.run({ policy: checked, tool: "sleep" });
  check(result.status === "timeout" && result.shellCode === 124, "killed at its timeout", result);
  result = await engine.run({ policy: checked, tool: "greet", arguments: { name: "$(id)" } });
  check(result.status === "denied" && result.error.code === "arguments" && result.message.includes("name") && result.exitCode === null,
    "a refusal is a sentence", result);
}

async function checkApproval(engine) {
  const place = fs.mkdtempSync("/var/tmp/toolcage-node-");
  const file = path.join(place, "plan");
  fs.writeFileSync(file, "plan A\n");
  const call = (approve) => ({ policy: checked, tool: "deploy", arguments: { file }, approve });
  let result = await engine.run({ policy: checked, tool: "deploy", arguments: { file } });
  check(result.status === "denied" && result.message.includes("needs a person's approval"), "nobody to ask is a no", result);
  let asked = [];
  result = await engine.run(call(async (request) => asked.push(request) && (await new Promise((done) => setTimeout(done, 20, true)))));
  check(result.ok && result.stdoutText === "plan A\n" && asked.length === 1 && asked[0].subject.arguments.file === file, "a yes, however late, runs the call", [result, asked]);
  for (const [answer, words] of [[false, "it was refused"], [undefined, "it was refused"], ["yes", "refused: yes"], [1, "it was refused"]]) {
    result = await engine.run(call(() => answer));
    check(result.status === "denied" && result.message.includes(words), `${JSON.stringify(answer)} is no yes`, result);
  }
  result = await engine.run(call(() => (fs.writeFileSync(file, "plan B\n"), true)));
  check(result.status === "denied" && result.message.includes("has changed"), "a file that changed after the request voids the yes", result);
  check((await raised(() => engine.run(call(() => { throw new RangeError("no"); })))) instanceof RangeError, "an error while asking is no yes");
  check((await raised(() => engine.start(call(() => true)))).code === "usage", "start() does not ask");
  asked = [];
  await engine.run({ policy: checked, tool: "greet", arguments: { name: "you" }, approve: (request) => asked.push(request) });
  check(!asked.length, "a tool without a tier asks nobody");
  fs.rmSync(place, { recursive: true });
}

async function checkAgain() {
  const place = fs.mkdtempSync("/var/tmp/toolcage-node-");
  const file = path.join(place, "plan");
  const before = process.env.XDG_STATE_HOME;
  process.env.XDG_STATE_HOME = path.join(place, "state");
  fs.writeFileSync(file, "plan A\n");
  const logged = Policy.fromText("[audit]\n" + POLICY);
  const engine = new Engine();
  const deploy = (approve) => engine.run({ policy: logged, tool: "deploy", arguments: { file }, approve });
  const approved = new Map();
  const approve = ({ digest }) => {
    approved.set(digest, approved.has(digest) ? approved.get(digest) + 1 : 0);
    return approved.get(digest) ? { again: approved.get(digest) } : true;
  };
  const results = [await deploy(approve), await deploy(approve), await deploy(approve)];
  fs.writeFileSync(file, "plan B\n");
  results.push(await deploy(approve));
  check(results.every((result) => result.ok), "an answer can be repeated", results);
  check([...approved.values()].sort().join() === "0,2", "a changed file is another request", [...approved]);
  for (const again of [0, -1, 1.5, "1", undefined, 2 ** 53]) {
    const error = await raised(() => deploy(() => ({ again })));
    check(error instanceof ToolcageError && error.code === "usage", `again: ${String(again)} is refused`, error);
  }
  check((await deploy(() => ({}))).status === "denied", "an object without again is no yes");
  engine.close();
  if (before === undefined) delete process.env.XDG_STATE_HOME;
  else process.env.XDG_STATE_HOME = before;
  const log = path.join(place, "state/toolcage/audit");
  const records = fs.readdirSync(log).flatMap((name) => fs.readFileSync(path.join(log, name), "utf8").trim().split("\n").map((line) => JSON.parse(line)));
  const counts = records.filter(({ kind }) => kind === "run").map((record) => record.approval_again ?? 0);
  check(counts.join() === "0,1,2,0", "the log counts the repeated ones", counts);
  fs.rmSync(place, { recursive: true });
}

async function checkChanges(engine) {
  const place = fs.mkdtempSync("/var/tmp/toolcage-node-");
  const result = await engine.run({ policy: checked, tool: "edit", workspace: place });
  check(result.ok && !fs.readdirSync(place).length, "changes wait for a person", result);
  const shown = await engine.changes(result.id);
  const paths = shown.changes.map((change) => change.path);
  check(paths.includes("/workspace/a") && paths.includes("/workspace/d/c") && shown.digest.startsWith("sha256:"), "they are listed with a digest", shown);
  check((await engine.changes()).held.some(({ call }) => call === result.id), "the call is in the list of calls");
  const some = await engine.changes(result.id, { paths: ["/workspace/d"] });
  check(some.changes.every((change) => change.path.startsWith("/workspace/d")) && some.digest === null, "a part is listed without one", some);
  let error = await raised(() => engine.settle(result.id, "commit", { seen: "sha256:" + "0".repeat(64) }));
  check(error.code === "denied" && error.hint && !fs.readdirSync(place).length, "another digest commits nothing", error);
  await engine.settle(result.id, "commit", { seen: shown.digest, paths: ["/workspace/a"] });
  check(fs.readdirSync(place).join() === "a", "the seen digest commits one file");
  error = await raised(() => engine.settle(result.id, "commit", { seen: shown.digest }));
  check(error.code === "denied", "the rest has another digest", error);
  await engine.settle(result.id, "discard", { seen: (await engine.changes(result.id)).digest });
  check((await raised(() => engine.changes(result.id))).code === "usage" && fs.readdirSync(place).join() === "a", "a discard leaves nothing");
  for (const words of [[result.id, "eat"], [undefined, "commit"], ["x", "commit", { paths: "/a" }], ["x", "commit", { seen: "\0" }], ["x", "commit", { seen: 5 }]]) {
    error = await raised(() => engine.settle(...words));
    check(error instanceof ToolcageError && error.code === "usage", `settle(${JSON.stringify(words)}) is refused`, error);
  }
  const other = new Engine();
  const late = other.changes();
  other.close();
  check(Array.isArray((await late).held), "an engine that is closed meanwhile still answers");
  check((await raised(() => other.changes())).code === "usage", "a closed engine has no changes");
  fs.rmSync(place, { recursive: true });
}

async function checkErrors(engine) {
  let error = await raised(() => Policy.fromText("[tool.x]\nnetwerk = 1\n", "there/x.toml"));
  check(error instanceof ToolcageError && error.code === "policy" && error.hint.includes("network") && error.location?.line === 2,
    "an invalid policy has hint and place", error);
  check((await raised(() => Policy.fromFile("/no/such.toml"))).code === "not_found", "a file that is not there");
  for (const [name, call] of Object.entries({
    "a word with a NUL byte": sh("echo a\0; id"), "arguments with a NUL byte": { policy: checked, tool: "greet", arguments: '{"name":"a"}\0' },
    "a path with a NUL byte": sh("id", { read: "/usr\0/x" }), "one text as command": { policy, command: "id" },
    "no policy": { command: ["id"] }, "an unknown key": sh("id", { options: [["speed", "1"]] }), "a name with =": sh("id", { env: { "A=B": "c" } }),
  })) {
    error = await raised(() => engine.run(call));
    check(error instanceof ToolcageError && error.code === "usage", `${name} is refused`, error);
  }
}

async function checkRunning(engine) {
  const running = engine.start(sh("for i in 1 2 3; do echo $i; sleep 0.1; done; echo e >&2"));
  const pieces = [];
  for await (const piece of running) pieces.push(piece);
  const text = pieces.filter((piece) => piece.stream === 1).map((piece) => piece.data.toString()).join("");
  const result = await running.result;
  check(text === "1\n2\n3\n" && pieces.length > 2 && result.stdoutText === text && result.stderrText === "e\n", "output as it comes", pieces);
  check((await engine.run(sh("cat", { stdin: Buffer.from([0, 255]) }))).stdout.equals(Buffer.from([0, 255])), "bytes in and out");
  let error = await raised(() => engine.run(sh("sleep 60"), { signal: AbortSignal.timeout(200) }));
  check(error.name === "TimeoutError", "a signal ends a call", error);
  error = await raised(() => engine.run(sh("sleep 60"), { signal: AbortSignal.abort() }));
  check(error.name === "AbortError", "an aborted signal starts none", error);
  const cancelled = engine.start(sh("sleep 60"));
  setTimeout(() => cancelled.cancel(), 50);
  check((await cancelled.result).status === "cancelled", "cancel");
  cancelled.cancel();
  let ticks = 0;
  const ticking = setInterval(() => (ticks += 1), 10);
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: 16 }, (_, n) => engine.run(sh(`sleep 0.2; echo ${n}`))));
  clearInterval(ticking);
  check(all.every((one, n) => one.stdoutText === `${n}\n`) && ticks > 5 && performance.now() - began < 3000, "sixteen at once, in one thread", { ticks });
}

const descriptors = () => fs.readdirSync("/proc/self/fd").length;

async function checkInput(engine) {
  const before = descriptors();
  const talk = engine.start(sh("read a; echo $a; read b; echo $b; cat", { stdin: PIPE }));
  talk.stdin.write("one\n");
  const said = [];
  for await (const { data } of talk) {
    said.push(data.toString());
    if (said.length === 1) talk.stdin.write("two\n");
    if (said.length === 2) talk.stdin.end(Buffer.from([0, 255]));
  }
  const talked = await talk.result;
  check(said[0] === "one\n" && talked.stdout.equals(Buffer.from([...Buffer.from("one\ntwo\n"), 0, 255])), "a pipe answers and is answered", said);
  check((await engine.run(sh("cat"))).stdout.length === 0, "without one the tool reads the end");

  const block = Buffer.alloc(1 << 16, 7);
  let read = 0;
  async function* blocks(count) {
    for (; read < count; read += 1) yield block;
  }
  let result = await engine.run(sh("wc -c", { stdin: blocks(160) }));
  check(result.stdoutText.trim() === String(160 << 16) && read === 160, "a stream is fed whole", result);
  read = 0;
  const slow = engine.start(sh("head -c 10 > /dev/null; sleep 0.5; cat > /dev/null; echo end", { stdin: blocks(1000) }));
  await new Promise((resolve) => setTimeout(resolve, 400));
  check(read < 20, "no faster than the tool reads", read);
  check((await slow.result).ok && read === 1000, "and to its end", read);
  read = 0;
  result = await engine.run(sh("head -c 3 | od -An -tu1", { stdin: blocks(1e9) }));
  check(result.ok && result.stdoutText.trim() === "7   7   7" && read < 1000, "what a tool does not read is no error", { result, read });
  const deaf = engine.start(sh("exec <&-; sleep 0.3; echo deaf", { stdin: PIPE }));
  const writing = setInterval(() => deaf.stdin.write(block), 20);
  check((await deaf.result).stdoutText === "deaf\n", "nor is writing to one that closed it");
  clearInterval(writing);

  async function* broken() {
    yield "half";
    throw new Error("the source broke");
  }
  fs.rmSync("whole", { force: true });
  const error = await raised(() => engine.run(sh("cat > /dev/null; echo > whole", { stdin: broken(), write: ["."] })));
  check(error.message === "the source broke" && !fs.existsSync("whole"), "a source that fails ends the call, which never sees an end of its input", error);
  check((await raised(() => engine.run(sh("cat", { stdin: Readable.from([{}]) })))).code === "ERR_INVALID_ARG_TYPE", "pieces are text or bytes");
  const endless = new Readable({ read() {} });
  result = await engine.run(sh("true", { stdin: endless }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  check(result.ok && endless.destroyed, "a call that ended lets go of its source", endless.destroyed);
  const held = engine.start(sh("cat", { stdin: PIPE }));
  held.cancel();
  check((await held.result).status === "cancelled" && held.stdin.destroyed, "a cancelled one closes its pipe");
  held.stdin.write("late");
  check((await raised(() => engine.run(sh("cat", { stdin: PIPE, options: [["speed", "1"]] })))).code === "usage", "a call that does not start");
  await new Promise((resolve) => setTimeout(resolve, 200));
  check(descriptors() <= before, "and no descriptor is left", { before, after: fs.readdirSync("/proc/self/fd").map((fd) => `${fd}`) });
}

function checkWorker() {
  const code = `const { Engine, Policy } = require(${JSON.stringify(PACKAGE)});
    const engine = new Engine();
    engine.start({ policy: Policy.default(), command: ["sleep", "60"] });
    setTimeout(() => process.exit(7), 100);`;
  return new Promise((resolve) => new Worker(code, { eval: true }).on("exit", (status) => check(status === 7, "a worker that goes ends its calls", status) || resolve()));
}

async function main() {
  check(/^\d+\.\d+\.\d+$/.test(version), "the version", version);
  const engine = new Engine();
  const first = await engine.run(sh("true"));
  if (first.error?.code === "unenforceable") {
    console.log(`1..0 # SKIP this machine cannot make the cage: ${first.error.message}`);
    return;
  }
  const server = net.createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  await checkCage(engine, server.address().port);
  server.close();
  await checkApproval(engine);
  await checkAgain();
  await checkChanges(engine);
  await checkErrors(engine);
  await checkRunning(engine);
  await checkInput(engine);
  check(checked.tools("openai").length === 3, "the tools as a model is told of them");
  await checkWorker();
  const last = engine.start(sh("sleep 60"));
  engine.close();
  check((await last.result).status === "cancelled", "the end of an engine ends its calls");
  check((await raised(() => engine.run(sh("true")))).code === "usage", "a closed engine is no engine");
  const env = { ...process.env, TOOLCAGE_ADDON: "toolcage.node" };
  const done = spawnSync(process.execPath, ["-e", `require(${JSON.stringify(PACKAGE)})`], { env });
  check(done.status !== 0 && done.stderr.toString().includes("absolute path"), "a relative path to the addon is refused", done.stderr.toString());
  finish();
}

const here = fs.mkdtempSync(path.join(os.tmpdir(), "toolcage-node-"));
fs.chmodSync(here, 0o755);
process.chdir(here);
main().finally(() => {
  process.chdir("/");
  fs.rmSync(here, { recursive: true });
});

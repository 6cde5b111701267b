// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// toolcage for Node.js: run one tool call of a language model in a cage built for it. index.d.ts describes it.
"use strict";
const net = require("node:net");
const path = require("node:path");

function load() {
  const said = process.env.TOOLCAGE_ADDON;
  if (said && !path.isAbsolute(said)) throw new Error(`TOOLCAGE_ADDON must be an absolute path, and is ${JSON.stringify(said)}`);
  return require(said || `@toolcage/${process.platform}-${process.arch}`);
}
const native = load();

class ToolcageError extends Error {
  constructor(said) {
    super(said.message + (said.hint ? `; hint: ${said.hint}` : ""));
    this.name = "ToolcageError";
    this.code = said.code;
    this.hint = said.hint || "";
    this.stage = said.stage || "";
    this.subject = said.subject || "";
    this.location = said.location || null;
  }
}

// What the library threw is its JSON.
function ask(work) {
  try {
    return work();
  } catch (error) {
    if (error.code !== "TOOLCAGE") throw error;
    throw new ToolcageError(JSON.parse(error.message));
  }
}

function misuse(message, hint) {
  return new ToolcageError({ code: "usage", message, hint });
}

class Policy {
  #held;
  constructor(held) {
    this.#held = held;
  }
  static fromFile(file) {
    return new Policy(ask(() => native.loadFile(String(file))));
  }
  static fromText(text, name = "policy.toml") {
    return new Policy(ask(() => native.loadText(text, name)));
  }
  static default() {
    return new Policy(ask(() => native.defaultPolicy()));
  }
  tools(format = "toolcage") {
    return JSON.parse(ask(() => native.tools(this.#held, format)));
  }
  static held(policy) {
    if (!(policy instanceof Policy)) throw misuse("a call needs a policy", "Policy.fromFile(path), or Policy.default()");
    return policy.#held;
  }
}

class Result {
  #details;
  constructor(id, said) {
    this.id = id;
    this.status = said.status;
    this.exitCode = said.exitCode < 0 ? null : said.exitCode;
    this.signal = said.signal || null;
    this.limit = said.limit || null;
    this.shellCode = said.shellCode;
    this.stdout = said.stdout;
    this.stderr = said.stderr;
    this.message = said.message;
    this.error = said.error === null ? null : new ToolcageError(JSON.parse(said.error));
    Object.defineProperty(this, "json", { value: said.json });
  }
  get ok() {
    return this.status === "ok";
  }
  get stdoutText() {
    return this.stdout.toString("utf8");
  }
  get stderrText() {
    return this.stderr.toString("utf8");
  }
  get details() {
    return (this.#details ??= JSON.parse(this.json));
  }
}

const WORDS = ["workspace", "cwd", "memory", "backend"];
const LISTS = ["read", "write", "network"];

function settings(call) {
  const said = [];
  for (const key of WORDS) if (call[key] != null) said.push(key, String(call[key]));
  if (call.timeout != null) said.push("timeout", typeof call.timeout === "number" ? `${Math.round(call.timeout)}ms` : call.timeout);
  for (const key of LISTS) for (const value of [call[key] ?? []].flat()) said.push(key, String(value));
  for (const [name, value] of Object.entries(call.env ?? {})) {
    if (name.includes("=")) throw misuse(`the name of a variable holds '=': ${name}`);
    said.push("env", `${name}=${value}`);
  }
  for (const [key, value] of call.options ?? []) said.push(key, String(value));
  return said;
}

// Of a call: its standard input is a pipe, which the host writes while it runs.
const PIPE = Symbol("toolcage.PIPE");

function readInput(stdin) {
  if (stdin == null) return {};
  if (stdin === PIPE) return { input: true };
  if (typeof stdin !== "string" && typeof stdin[Symbol.asyncIterator] === "function") return { input: true, source: stdin };
  return { input: Buffer.from(stdin) };
}

// The call in the addon's words.
function describe(engine, call) {
  if (typeof call.command === "string") throw misuse("a command is an array of words, not one text", '["sh", "-c", text] is a shell');
  const given = call.arguments;
  const text = given == null || typeof given === "string" ? given : JSON.stringify(given);
  const { input = null, source } = readInput(call.stdin);
  return { source, words: [engine, Policy.held(call.policy), call.tool, text, call.command?.map(String), input, call.session, settings(call)] };
}

function countOf(again) {
  if (Number.isSafeInteger(again) && again > 0) return again;
  throw misuse(`again counts calls from 1, not ${String(again)}`, "{ again: 1 }, { again: 2 }, …");
}

// Only true is a yes, and { again } an earlier one: to the request that was shown, not to the call as it may be by then.
async function askPerson(engine, call) {
  const text = ask(() => native.request(...describe(engine, call).words));
  const request = text === undefined ? { needed: false } : JSON.parse(text);
  if (!request.needed) return null;
  const answer = await call.approve(request);
  if (answer === true) return [request.digest];
  if (answer !== null && typeof answer === "object" && "again" in answer) return [request.digest, countOf(answer.again)];
  return [null, typeof answer === "string" ? answer : null];
}

// A tool that reads no further is no error of the host's.
function openPipe(fd) {
  const socket = new net.Socket({ fd, readable: false, writable: true });
  socket.on("error", () => {});
  return socket;
}

class Running {
  #held;
  #pieces = [];
  #wake = null;
  #ended = false;
  #failure = null;
  stdin = null;
  constructor(engine, call, answer) {
    const { source, words } = describe(engine, call);
    let resolve, reject;
    this.result = new Promise((...both) => ([resolve, reject] = both));
    const end = (error, said) => {
      this.#ended = true;
      this.#wake?.();
      this.stdin?.destroy();
      if (this.#failure) reject(this.#failure.error);
      else if (error !== null) reject(new ToolcageError(JSON.parse(error)));
      else resolve(new Result(this.id, said));
    };
    const output = (stream, data) => {
      this.#pieces.push({ stream, data });
      this.#wake?.();
    };
    let fd;
    [this.#held, this.id, fd] = ask(() => native.start(...words, answer, output, end));
    if (fd >= 0) this.stdin = openPipe(fd);
    if (source) this.#feed(source);
  }
  // The end of a source that failed must not look to the tool like the end of its input: the call ends first.
  async #feed(source) {
    const pipe = this.stdin;
    let done = false;
    let room = null;
    pipe.on("drain", () => room?.());
    pipe.on("close", () => {
      room?.();
      if (!done) source.destroy?.();
    });
    try {
      for await (const piece of source) {
        if (pipe.destroyed) return;
        if (!pipe.write(piece)) await new Promise((resolve) => (room = resolve));
      }
      done = true;
      pipe.end();
    } catch (error) {
      if (pipe.destroyed) return;
      this.#failure = { error };
      this.cancel();
    }
  }
  cancel() {
    native.cancel(this.#held);
  }
  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#pieces.length) yield this.#pieces.shift();
      if (this.#ended) return;
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }
}

const SETTLE = ["commit", "overwrite", "discard", "steering"]; // by number, as engine.h has them

class Engine {
  #held = ask(() => native.newEngine());
  #running = new Set();
  #closed = false;
  // Its output, as it comes, is kept until it is read: for await (const { stream, data } of running).
  start(call, { signal } = {}) {
    if (call.approve) throw misuse("only run() can wait for an approval", "await engine.run(call), or a call without `approve`");
    return this.#start(call, null, signal);
  }
  #start(call, answer, signal) {
    if (this.#closed) throw misuse("the engine is closed", "make one engine and keep it as long as there are calls");
    signal?.throwIfAborted();
    const running = new Running(this.#held, call, answer);
    const abort = () => running.cancel();
    const done = () => {
      this.#running.delete(running);
      signal?.removeEventListener("abort", abort);
    };
    this.#running.add(running);
    signal?.addEventListener("abort", abort);
    running.result.then(done, done);
    return running;
  }
  async run(call, { signal } = {}) {
    if (this.#closed) throw misuse("the engine is closed", "make one engine and keep it as long as there are calls");
    const answer = call.approve ? await askPerson(this.#held, call) : null;
    const result = await this.#start(call, answer, signal).result;
    if (result.status === "cancelled") signal?.throwIfAborted();
    return result;
  }
  async changes(call, { paths = [] } = {}) {
    return this.#changes(call, -1, undefined, paths);
  }
  async settle(call, action, { paths = [], seen } = {}) {
    if (typeof call !== "string") throw misuse("settle() needs the call whose changes are meant", "changes() lists the calls");
    if (!SETTLE.includes(action)) throw misuse(`changes have no action ${JSON.stringify(action)}`, `the actions are ${SETTLE.join(", ")}`);
    return this.#changes(call, SETTLE.indexOf(action), seen, paths);
  }
  async #changes(call, number, seen, paths) {
    if (this.#closed) throw misuse("the engine is closed", "make one engine and keep it as long as there are calls");
    if (!Array.isArray(paths)) throw misuse("paths is an array, not one path", '{ paths: ["/workspace/a"] }');
    const answer = ask(() => native.changes(this.#held, call, number, seen, paths.map(String)));
    try {
      return JSON.parse(await answer);
    } catch (error) {
      throw typeof error === "string" ? new ToolcageError(JSON.parse(error)) : error;
    }
  }
  close() {
    if (this.#closed) return;
    this.#closed = true;
    for (const running of this.#running) running.cancel();
    native.closeEngine(this.#held);
  }
}

module.exports = { Engine, PIPE, Policy, Result, Running, ToolcageError, version: native.version };

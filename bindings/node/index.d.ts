// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
import type { Writable } from "node:stream";

/** Misuse, an invalid policy, a lost helper; as `Result.error`, why a call was refused or did not run. */
export class ToolcageError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly stage: string;
  readonly subject: string;
  readonly location: { file: string; line: number; column: number } | null;
}

/** A compiled policy. It stands in a file, where people read and compare it. */
export class Policy {
  private constructor();
  static fromFile(file: string | URL): Policy;
  /** For tests. */
  static fromText(text: string, name?: string): Policy;
  /** What holds where there is no policy: the strictest useful grant for a bare command. */
  static default(): Policy;
  tools(format?: "openai" | "anthropic" | "mcp" | "toolcage" | "servers"): Array<Record<string, unknown>>;
}

export type Status = "ok" | "failed" | "timeout" | "limit" | "denied" | "cancelled" | "error";

/** `stdin: PIPE` */
export const PIPE: unique symbol;

/**
 * `{ again: n }`: an earlier yes covers this equal call, because the person has said so; it is the n-th such call, counted from 1. The
 * audit log has the number. Only a request with the same "digest" is equal.
 */
export type Answer = boolean | string | { readonly again: number } | null | undefined;

/** What is asked for: a tool of the policy with its arguments, or a bare command. All else can only narrow what the policy grants. */
export interface Call {
  policy: Policy;
  tool?: string;
  /** An object, or its text as the model wrote it. */
  arguments?: Record<string, unknown> | string;
  command?: readonly string[];
  /** Bytes; PIPE, to write `Running.stdin` while it runs; or a stream, which is read as fast as the tool reads, and whose failure ends the call. */
  stdin?: string | Uint8Array | typeof PIPE | AsyncIterable<string | Uint8Array>;
  session?: string;
  workspace?: string;
  cwd?: string;
  /** "30s", or milliseconds. */
  timeout?: string | number;
  memory?: string;
  backend?: string;
  read?: string | readonly string[];
  write?: string | readonly string[];
  network?: string | readonly string[];
  env?: Readonly<Record<string, string>>;
  /**
   * Asks a person, if the tool's tier needs an approval; for `run()` only. "subject" of the request says what will run. `true` is a yes
   * to exactly that call, `{ again }` repeats an earlier yes, a text is a no with the reason that the model reads, and all else is a no.
   */
  approve?: (request: Record<string, any>) => Answer | Promise<Answer>;
  /** Any other key, as the flags of the command line spell it. */
  options?: ReadonlyArray<readonly [string, string]>;
}

export class Result {
  private constructor();
  readonly id: string;
  readonly status: Status;
  readonly ok: boolean;
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly limit: string | null;
  readonly shellCode: number;
  /** What the output limit keeps: always bytes. */
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly stdoutText: string;
  readonly stderrText: string;
  /** One text for the model. */
  readonly message: string;
  readonly error: ToolcageError | null;
  /** The whole result as it came, and parsed when it is first asked for. */
  readonly json: string;
  readonly details: Record<string, any>;
}

export class Running implements AsyncIterable<{ stream: 1 | 2; data: Buffer }> {
  private constructor();
  readonly id: string;
  readonly result: Promise<Result>;
  /** Where standard input is a pipe. What a tool does not read is dropped, without an error. */
  readonly stdin: Writable | null;
  /** TERM, a grace, KILL. */
  cancel(): void;
  [Symbol.asyncIterator](): AsyncIterator<{ stream: 1 | 2; data: Buffer }>;
}

/** A helper process that makes cages: make one and keep it. */
export class Engine {
  /** Rejects with the signal's reason when it aborts, once the cage is gone. A refusal is a result. */
  run(call: Call, options?: { signal?: AbortSignal }): Promise<Result>;
  start(call: Call, options?: { signal?: AbortSignal }): Running;
  /** Staged changes of earlier calls: which calls have any, or those of one, with their "digest" unless `paths` (of the cage) selects some. */
  changes(call?: string, options?: { paths?: readonly string[] }): Promise<Record<string, any>>;
  /**
   * Applies or discards staged changes of a call: "overwrite" also over newer files of the host, "steering" also files that host programs
   * load or run automatically. `seen` is the "digest" of the list that a person has seen: the promise is rejected ("denied"), and nothing
   * happens, if the staged changes are others by now.
   */
  settle(call: string, action: "commit" | "overwrite" | "discard" | "steering", options?: { paths?: readonly string[]; seen?: string }): Promise<Record<string, any>>;
  /** Ends every call that still runs. */
  close(): void;
}

export const version: string;

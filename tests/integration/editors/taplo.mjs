// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Runs the TOML language server, a WebAssembly module without a program of its own, over standard input and output.
// Argument: the folder with node_modules.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const { TaploLsp } = createRequire(path.resolve(process.argv[2], "package.json"))("@taplo/lsp");

function write(message) {
  const body = Buffer.from(JSON.stringify(message));
  process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
}

const server = await TaploLsp.initialize({
  now: () => new Date(),
  envVar: (name) => process.env[name],
  envVars: () => Object.entries(process.env),
  stdErrAtty: () => false,
  stdin: process.stdin,
  stdout: process.stderr,
  stderr: process.stderr,
  glob: () => [],
  readFile: (file) => fs.promises.readFile(file),
  writeFile: (file, bytes) => fs.promises.writeFile(file, bytes),
  urlToFilePath: (url) => fileURLToPath(url),
  isAbsolute: (file) => path.isAbsolute(file),
  cwd: () => process.cwd(),
  findConfigFile: () => undefined,
  fetch: { fetch, Headers, Request, Response },
}, { onMessage: write });

let rest = Buffer.alloc(0);
process.stdin.on("data", (bytes) => {
  rest = Buffer.concat([rest, bytes]);
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    const length = end < 0 ? NaN : Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, end).toString())[1]);
    if (!(rest.length >= end + 4 + length))
      return;
    server.send(JSON.parse(rest.subarray(end + 4, end + 4 + length).toString()));
    rest = rest.subarray(end + 4 + length);
  }
});
process.stdin.on("end", () => process.exit(0));

// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Node.js's own WASI, which its makers call no security boundary: an instance and its start, in one process. Compiled once.
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'

const [path, rounds] = process.argv.slice(2)
const module = new WebAssembly.Module(readFileSync(path))
const times = []

for (let round = -20; round < Number(rounds); round++) {
  const start = process.hrtime.bigint()
  const wasi = new WASI({ version: 'preview1', args: ['noop'], env: {}, returnOnExit: true })
  wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()))
  const end = process.hrtime.bigint()
  if (round >= 0) times.push(Number(end - start) / 1000)
}
times.sort((a, b) => a - b)
const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(0).padStart(10)
console.log('node:wasi in one process (Node.js %s)'.replace('%s', process.version).padEnd(45) + at(0.5) + at(0.99).slice(1))

// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// What the scripts here share: points of the Test Anything Protocol.
"use strict";
let seen = 0;
let bad = 0;

function check(good, name, detail) {
  seen += 1;
  if (!good) {
    bad += 1;
    console.log(`# ${String(detail instanceof Error ? detail.stack : JSON.stringify(detail)).slice(0, 2000).replaceAll("\n", "\n# ")}`);
  }
  console.log(`${good ? "ok" : "not ok"} ${seen} - ${name}`);
}

// What was thrown; where nothing was, there is no message.
async function raised(work) {
  try {
    return { message: "", value: await work() };
  } catch (error) {
    return error;
  }
}

function finish() {
  console.log(`1..${seen}`);
  process.exitCode = bad ? 1 : 0;
}

module.exports = { check, raised, finish };

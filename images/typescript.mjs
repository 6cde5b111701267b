// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Debian's Node.js is built without its own way to take types off. In images that are built here the compiler
// does it, loaded when the first file of TypeScript is; nothing is checked, as Node.js itself would not.
import { createRequire, registerHooks } from "node:module";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

let ts;
const suffixes = /\.(ts|mts|cts)$/;

function formatOf(path, source, said) {
  if (path.endsWith(".mts")) return "module";
  if (path.endsWith(".cts")) return "commonjs";
  if (said === "module" || said === "module-typescript") return "module";
  return ts.isExternalModule(ts.createSourceFile(path, source, ts.ScriptTarget.ESNext)) ? "module" : "commonjs";
}

registerHooks({
  load(url, context, next) {
    if (!url.startsWith("file:") || !suffixes.test(new URL(url).pathname)) return next(url, context);
    const path = fileURLToPath(url), text = readFileSync(path, "utf8");
    if (!ts) ts = createRequire("/usr/share/nodejs/")("typescript");
    const format = formatOf(path, text, context.format);
    const options = { module: ts.ModuleKind.Preserve, target: ts.ScriptTarget.ESNext, verbatimModuleSyntax: true, inlineSourceMap: true };
    return { format, source: ts.transpileModule(text, { fileName: path, compilerOptions: options }).outputText, shortCircuit: true };
  },
});

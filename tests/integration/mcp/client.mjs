// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// toolcage mcp under the official TypeScript clients: the one of the handshake and the one of both eras.
// Started by typescript.py with the command of the server, as JSON; prints one line of JSON a client.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, server] = [process.argv[2], JSON.parse(process.argv[3])];
const require = createRequire(modules + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);

async function drive(name, Client, Transport, options) {
    const client = new Client({ name: "test", version: "0" }, options);
    await client.connect(new Transport(server));
    const seen = { name, version: client.getNegotiatedProtocolVersion?.() ?? null };
    seen.tools = (await client.listTools()).tools;
    seen.add = await client.callTool({ name: "add", arguments: { a: 40, b: 2 } });
    seen.peek = await client.callTool({ name: "peek", arguments: {} });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 1000);
    seen.cancelled = await client.callTool({ name: "wait", arguments: {} }, ...(options.spread ?? []), { signal: stop.signal })
        .then(() => false, () => true);
    await client.close();
    console.log(JSON.stringify(seen));
}

const old = [await load("@modelcontextprotocol/sdk/client/index.js"), await load("@modelcontextprotocol/sdk/client/stdio.js")];
await drive("sdk", old[0].Client, old[1].StdioClientTransport, { spread: [undefined] });
const both = [await load("@modelcontextprotocol/client"), await load("@modelcontextprotocol/client/stdio")];
await drive("client", both[0].Client, both[1].StdioClientTransport, { versionNegotiation: { mode: "auto" } });

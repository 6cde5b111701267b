// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// toolcage mcp over HTTP under the official TypeScript clients, by both transports. Started by overhttp_clients.py with where the
// server is, as JSON; prints one line of JSON a client.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, server] = [process.argv[2], JSON.parse(process.argv[3])];
const require = createRequire(modules + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const requestInit = { headers: { Authorization: `Bearer ${server.token}` } };

async function drive(name, Client, transport, options, spread) {
    const client = new Client({ name: "test", version: "0" }, options);
    await client.connect(transport);
    const seen = { name, version: client.getNegotiatedProtocolVersion?.() ?? null };
    seen.tools = (await client.listTools()).tools;
    seen.add = await client.callTool({ name: "add", arguments: { a: 40, b: 2 } });
    seen.peek = await client.callTool({ name: "peek", arguments: {} });
    seen.progress = [];
    await client.callTool({ name: "brief", arguments: {} }, ...spread, { onprogress: (p) => seen.progress.push(p.message) });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 1000);
    seen.cancelled = await client.callTool({ name: "wait", arguments: {} }, ...spread, { signal: stop.signal }).then(() => false, () => true);
    await new Promise((go) => setTimeout(go, 500)); // what cancels is on its way
    await client.close();
    console.log(JSON.stringify(seen));
}

const url = new URL(server.url), sse = new URL(server.sse);
const old = [await load("@modelcontextprotocol/sdk/client/index.js"), await load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
             await load("@modelcontextprotocol/sdk/client/sse.js")];
await drive("sdk", old[0].Client, new old[1].StreamableHTTPClientTransport(url, { requestInit }), {}, [undefined]);
await drive("sdk, SSE", old[0].Client, new old[2].SSEClientTransport(sse, { requestInit }), {}, [undefined]);
const both = await load("@modelcontextprotocol/client");
await drive("client", both.Client, new both.StreamableHTTPClientTransport(url, { requestInit }), { versionNegotiation: { mode: "auto" } }, []);
await drive("client, SSE", both.Client, new both.SSEClientTransport(sse, { requestInit }), {}, []);

// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Wrapped servers under the official TypeScript clients. Started by servers.py with toolcage's command, which lacks the
// server's name, as JSON; prints one line of JSON a client.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, wrap] = [process.argv[2], JSON.parse(process.argv[3])];
const require = createRequire(modules + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);

async function drive(name, Client, Transport, options, prepare) {
    const connect = async (server) => {
        const client = new Client({ name: "test", version: "0" }, { capabilities: { sampling: {} }, ...options });
        prepare(client, async () => ({ model: "none", role: "assistant", content: { type: "text", text: "from the client" } }));
        await client.connect(new Transport({ ...wrap, args: [...wrap.args, server], stderr: "ignore" }));
        return client;
    };
    const seen = { name };
    const files = await connect("files");
    seen.tools = (await files.listTools()).tools.map((tool) => tool.name);
    seen.read = await files.callTool({ name: "read_text_file", arguments: { path: "/workspace/todo.txt" } });
    seen.denied = await files.callTool({ name: "read_text_file", arguments: { path: "/etc/passwd" } });
    seen.unknown = await files.callTool({ name: "move_file", arguments: { source: "/workspace/todo.txt", destination: "/workspace/x" } })
        .then(() => "", (error) => error.message);
    await files.close();
    const everything = await connect("everything");
    seen.sampled = await everything.callTool({ name: "trigger-sampling-request", arguments: { prompt: "say it" } });
    await everything.close();
    console.log(JSON.stringify(seen));
}

const old = [await load("@modelcontextprotocol/sdk/client/index.js"), await load("@modelcontextprotocol/sdk/client/stdio.js"),
             await load("@modelcontextprotocol/sdk/types.js")];
await drive("sdk", old[0].Client, old[1].StdioClientTransport, {},
            (client, answer) => client.setRequestHandler(old[2].CreateMessageRequestSchema, answer));
const both = [await load("@modelcontextprotocol/client"), await load("@modelcontextprotocol/client/stdio")];
await drive("client", both[0].Client, both[1].StdioClientTransport, { versionNegotiation: { mode: "auto" } },
            (client, answer) => client.setRequestHandler("sampling/createMessage", answer));

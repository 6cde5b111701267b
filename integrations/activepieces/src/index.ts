// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The tools of a policy as steps of Activepieces flows: one request to `toolcage mcp --listen` for each call, in the version of the
// protocol that has no sessions. Nothing runs where Activepieces runs.
import { createAction, createPiece, PieceAuth, Property } from '@activepieces/pieces-framework';

const VERSION = '2026-07-28';

type Server = { url: string; token: string };
type Answer = { result?: any; error?: { message: string } };

/** The message of a body, or of the last event of a stream: a server that needs longer than ten seconds sends one. */
function messageOf(type: string | null, body: string): Answer {
  const text = type?.startsWith('text/event-stream')
    ? body.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).pop() ?? ''
    : body;
  return JSON.parse(text);
}

async function ask(server: Server, method: string, params: Record<string, unknown>): Promise<any> {
  const url = new URL('/mcp', server.url);
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error', // the token is for this server
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      Authorization: `Bearer ${server.token}`,
      'MCP-Protocol-Version': VERSION,
      'Mcp-Method': method,
      ...(typeof params['name'] === 'string' ? { 'Mcp-Name': params['name'] } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0', id: 1, method,
      params: { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientCapabilities': {} } },
    }),
  });
  const body = await response.text();
  if (response.status === 401 || response.status === 403) {
    throw new Error(`${url} refused the request (${response.status}): check the token, and that the server is called by this name (--host).`);
  }
  let answer: Answer;
  try {
    answer = messageOf(response.headers.get('content-type'), body);
  } catch {
    throw new Error(`${url} answered ${response.status} and no message of the protocol: is toolcage mcp --listen served there?`);
  }
  if (answer.error || !answer.result) {
    throw new Error(answer.error?.message ?? `${url} answered without a result.`);
  }
  return answer.result;
}

export const cageAuth = PieceAuth.CustomAuth({
  required: true,
  description: 'The server: toolcage mcp --policy FILE --listen ADDRESS:PORT',
  props: {
    url: Property.ShortText({ displayName: 'Server', description: 'For example http://127.0.0.1:8931', required: true }),
    token: PieceAuth.SecretText({ displayName: 'Token', description: 'What the server printed, or its --token-file', required: true }),
  },
  validate: async ({ auth }) => {
    try {
      await ask(auth, 'tools/list', {});
      return { valid: true };
    } catch (error) {
      return { valid: false, error: (error as Error).message };
    }
  },
});

export const callTool = createAction({
  auth: cageAuth,
  name: 'call_tool',
  displayName: 'Call a caged tool',
  description: 'Runs a tool of the policy in a cage of its own. A refused, failed or timed-out call fails the step with the reason.',
  props: {
    tool: Property.Dropdown({
      auth: cageAuth,
      displayName: 'Tool',
      required: true,
      refreshers: [],
      options: async ({ auth }) => {
        if (!auth) {
          return { disabled: true, placeholder: 'Connect a server first', options: [] };
        }
        const { tools } = await ask(auth.props, 'tools/list', {});
        return { disabled: false, options: tools.map((tool: any) => ({ label: tool.title ?? tool.name, value: tool.name })) };
      },
    }),
    arguments: Property.Json({ displayName: 'Arguments', required: false, defaultValue: {} }),
  },
  async run({ auth, propsValue }) {
    const result = await ask(auth.props, 'tools/call', { name: propsValue.tool, arguments: propsValue.arguments ?? {} });
    const text = result.content.filter((part: any) => part.type === 'text').map((part: any) => part.text).join('\n');
    if (result.isError) {
      throw new Error(text);
    }
    return { text, result: result._meta?.['toolcage/result'] };
  },
});

export const toolcage = createPiece({
  displayName: 'toolcage',
  description: 'Tools of a policy, each call in a cage',
  auth: cageAuth,
  logoUrl: '',
  authors: [],
  minimumSupportedRelease: '0.30.0',
  actions: [callTool],
  triggers: [],
});

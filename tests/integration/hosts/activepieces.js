// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The built piece in the context that Activepieces' framework makes for tests. Prints one line of JSON.
'use strict';
const [dir, said] = process.argv.slice(2);
const { url, token, calls } = JSON.parse(said);
const { toolcage } = require(`${dir}/dist/index.js`);
const { createMockActionContext } = require(`${dir}/node_modules/@activepieces/pieces-framework`);

const action = toolcage.getAction('call_tool');
const auth = (word) => ({ type: 'CUSTOM_AUTH', props: { url, token: word } });

async function run(tool, args, word = token) {
  const context = { ...createMockActionContext({ propsValue: { tool, arguments: args } }), auth: auth(word) };
  const began = Date.now();
  try {
    const { text, result } = await action.run(context);
    return { text, status: result.status, error: false, seconds: (Date.now() - began) / 1000 };
  } catch (error) {
    return { text: error.message, error: true, seconds: (Date.now() - began) / 1000 };
  }
}

(async () => {
  const answers = {};
  for (const [question, [tool, args]] of Object.entries(calls)) {
    answers[question] = await run(tool, args);
  }
  console.log(JSON.stringify({
    answers,
    metadata: Object.keys(toolcage.metadata().actions),
    valid: await toolcage.auth.validate({ auth: { url, token } }),
    invalid: await toolcage.auth.validate({ auth: { url, token: 'wrong' } }),
    options: (await action.props.tool.options({ auth: auth(token) }, {})).options.map((option) => option.value),
    stranger: await run('read_csv', { path: '/workspace/a.csv' }, 'wrong'),
    unknown: await run('rm', {}),
  }));
})();

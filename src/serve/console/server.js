// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Requests to the API, with the operator's token.

const KEY = 'toolcage-operator-token';
let token = sessionStorage.getItem(KEY);
export const hasToken = () => token !== null;
export function keepToken(said) {
    token = said;
    sessionStorage.setItem(KEY, said);
}
export function dropToken() {
    token = null;
    sessionStorage.removeItem(KEY);
}

export class Refused extends Error {
    constructor(status, problem) {
        super(problem.detail ?? `status ${status}`);
        this.status = status;
        this.hint = problem.hint ?? '';
    }
}

function ask(method, path, body, more = {}, bearer = token) {
    const headers = { Authorization: `Bearer ${bearer}`, ...more.headers };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    return fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: more.signal,
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
    });
}

export async function fetchText(method, path, body, more, bearer) {
    const response = await ask(method, path, body, more, bearer);
    const text = await response.text();
    if (response.ok) return text;
    let problem = {};
    try {
        problem = JSON.parse(text);
    } catch {
        problem = {};
    }
    throw new Refused(response.status, problem);
}
export const get = async (path, more) => JSON.parse(await fetchText('GET', path, undefined, more));
export const post = async (path, body) => JSON.parse(await fetchText('POST', path, body));

/* Passes the events of a call to `on`, until its end. */
export async function follow(id, signal, on) {
    const response = await ask('GET', `/v1/calls/${encodeURIComponent(id)}`, undefined, {
        signal,
        headers: { Accept: 'text/event-stream' },
    });
    if (!response.ok) throw new Refused(response.status, await response.json().catch(() => ({})));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let parts = [];
    let event = '';
    const take = (line) => {
        if (line.startsWith('event: ')) event = line.slice(7);
        else if (line.startsWith('data: ')) on(event, JSON.parse(line.slice(6)));
    };
    for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        let from = 0;
        for (let end = value.indexOf('\n'); end >= 0; end = value.indexOf('\n', from)) {
            parts.push(value.slice(from, end));
            take(parts.join(''));
            parts = [];
            from = end + 1;
        }
        if (from < value.length) parts.push(value.slice(from));
    }
}

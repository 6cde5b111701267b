// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The operator's page of `toolcage serve`: its frame, the token, and the routes to the views.

import { count, h } from './text.js';
import { show } from './parts.js';
import { Refused, dropToken, fetchText, get, hasToken, keepToken } from './server.js';
import { approvalsView } from './approvals.js';
import { callView, callsView } from './calls.js';
import { healthView } from './health.js';
import { historyView } from './history.js';
import { toolsView } from './tools.js';

const POLL_MS = 1500;
const HIDDEN_POLL_MS = 10000;
const TOKEN = /^[!-~]{16,512}$/;

const $ = (id) => document.getElementById(id);
const main = $('main');
let view = {};
let timer = 0;
let waiting = [];

/* Not again what is there: a screen reader would read it again. */
function say(id, text) {
    if ($(id).textContent !== text) $(id).replaceChildren(text);
}

function badge() {
    $('waiting').hidden = waiting.length === 0;
    $('waiting').replaceChildren(String(waiting.length), h('span', { class: 'unseen' }, ' waiting'));
    document.title = waiting.length ? `(${waiting.length}) toolcage` : 'toolcage';
}

async function poll() {
    clearTimeout(timer);
    if (!hasToken()) return;
    const seen = view;
    try {
        const before = new Set(waiting.map((request) => request.id));
        const { approvals, more } = await get('/v1/approvals');
        waiting = approvals;
        const fresh = waiting.filter((request) => !before.has(request.id)).length;
        if (fresh) say('news', `${count(fresh, 'new request waits', 'new requests wait')} for approval`);
        badge();
        if (seen === view && view.tick) await view.tick(waiting, more);
        say('link', 'Connected');
    } catch (error) {
        say('link', error instanceof Refused ? error.message : 'No answer from the server');
        if (error.status === 401 || error.status === 403) return void leave(error.message);
    }
    clearTimeout(timer);
    timer = setTimeout(poll, document.hidden ? HIDDEN_POLL_MS : POLL_MS);
}
document.addEventListener('visibilitychange', () => void (document.hidden || poll()));

function leave(why) {
    clearTimeout(timer);
    view.close?.();
    view = {};
    dropToken();
    waiting = [];
    badge();
    $('nav').hidden = $('leave').hidden = true;
    $('link').replaceChildren();
    const input = h('input', {
        type: 'password',
        id: 'token',
        autocomplete: 'off',
        spellcheck: 'false',
        required: true,
    });
    const said = h('p', { class: 'bad', role: 'alert' }, why ?? '');
    show(
        'Operator',
        h(
            'p',
            {},
            'Enter the operator’s token: that of --operator-token-file, or the part after # of the URL that toolcage serve --console printed. The token of clients cannot approve anything.',
        ),
        said,
        h(
            'form',
            {
                submit: async (event) => {
                    event.preventDefault();
                    const fault = await enter(input.value.trim());
                    said.replaceChildren(fault ?? '');
                    if (!fault) go();
                },
            },
            h(
                'div',
                { class: 'row' },
                h('div', { class: 'wide' }, h('label', { for: 'token' }, 'Token'), input),
                h('button', {}, 'Use it'),
            ),
        ),
    );
}

/* Keeps a token that the server accepts: that of an address could come from another page. Returns what is wrong with it. */
async function enter(said) {
    if (!TOKEN.test(said)) return 'A token has 16 to 512 characters and no spaces.';
    try {
        await fetchText('GET', '/v1/approvals', undefined, {}, said);
    } catch (error) {
        return error.status === 403 ? 'This is the token of clients. The console needs the operator’s.' : error.message;
    }
    keepToken(said);
    return null;
}

// ---- routes ----

const views = {
    approvals: approvalsView,
    calls: (id) => (id ? callView(id) : callsView()),
    history: historyView,
    tools: toolsView,
    health: healthView,
};

function go() {
    if (!hasToken()) return;
    const [name, id] = location.hash.replace(/^#\/?/, '').split('/');
    const chosen = Object.hasOwn(views, name) ? name : 'approvals';
    let named;
    try {
        named = id ? decodeURIComponent(id) : undefined;
    } catch {
        named = undefined;
    }
    view.close?.();
    $('nav').hidden = $('leave').hidden = false;
    for (const link of $('nav').querySelectorAll('a')) {
        if (link.hash === `#/${chosen}`) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
    }
    view = views[chosen](named);
    main.focus({ preventScroll: true });
    void poll();
}

$('leave').addEventListener('click', () => leave());
$('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
});

async function takeToken() {
    const said = location.hash.slice(1);
    if (!said || said.startsWith('/')) return null;
    history.replaceState(null, '', '/');
    return enter(decodeURIComponent(said));
}

async function begin() {
    const why = await takeToken().catch(() => 'The token in the address is not one.');
    if (hasToken()) go();
    else leave(why ?? undefined);
}
addEventListener('hashchange', () => void (location.hash.startsWith('#/') || !location.hash ? go() : begin()));
void begin();

// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Requests that wait for a person. Nothing that was not shown can be approved.

import { clock, h, parseExact, pretty, raw, roundsNumbers } from './text.js';
import { firstMinute, list, long, paths, show, tell, words } from './parts.js';
import { post } from './server.js';

const ARM_MS = 800; // a button that has just appeared or moved answers no click that was meant for something else
let focusedAt = performance.now();
addEventListener('focus', () => {
    focusedAt = performance.now();
});

const GROUPS = [
    ['tool', 'Tool', (v) => raw(v)],
    ['command', 'Runs', (v) => words(v)],
    [
        'arguments',
        'Arguments',
        (v, c) =>
            Object.keys(v).length
                ? h('ul', {}, ...Object.entries(v).map(([k, x]) => h('li', {}, raw(k), ' = ', long(pretty(x), c))))
                : 'none',
    ],
    ['input', 'Input', (v, c) => long(v, c)],
    ['input_base64', 'Input (base64)', (v, c) => long(v, c)],
    ['pipe', 'Input', () => 'from a pipe: its content is not known'],
    [
        'cwd',
        'Runs in',
        (v, c) =>
            list(
                v.map((entry) => entry.path),
                c,
                '',
            ),
    ],
    ['read', 'May read', (v, c) => paths(v, c, 'only system files and its private directories')],
    ['write', 'May write', (v, c) => paths(v, c, 'nothing of this host')],
    ['network', 'May connect to', (v, c) => list(v, c, 'nothing: no network')],
    ['unix_sockets', 'May use sockets', (v, c) => paths(v, c, 'none')],
    ['secrets', 'Uses secrets', (v, c) => list(v, c, 'none')],
    ['environment', 'Sees variables', (v) => words(v)],
    ['files', 'Files it is bound to', (v, c) => paths(v, c, 'none')],
    ['backend', 'Cage', (v) => raw(v)],
    ['tier', 'Tier', (v) => raw(v)],
    ['umask', 'umask', (v) => raw(typeof v === 'number' ? `0${v.toString(8)}` : pretty(v))],
    ['policy', 'Policy', (v) => raw(v)],
    ['grant', 'Grant', (v) => raw(v)],
];

/* All of the subject, also what this page does not know. */
function describe(subject, card) {
    const dl = h('dl');
    const row = (label, value) => dl.append(h('dt', {}, label), h('dd', {}, value));
    const known = new Set(['version']);
    for (const [key, label, write] of GROUPS) {
        known.add(key);
        if (!(key in subject)) continue;
        try {
            row(label, write(subject[key], card));
        } catch {
            row(label, long(pretty(subject[key]), card));
        }
    }
    for (const [key, value] of Object.entries(subject))
        if (!known.has(key)) dl.append(h('dt', {}, raw(key)), h('dd', {}, long(pretty(value), card)));
    return dl;
}

async function digestOf(text) {
    if (!globalThis.crypto?.subtle) return null; // not over HTTP from another host
    const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
    return `sha256:${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}

/* Why the request cannot be approved now; '': it can. */
function obstacle(card) {
    if (card.gone) return 'It no longer waits.';
    if (card.busy) return 'Sending.';
    if (card.fault) return card.fault;
    if (card.unread.size) return 'Show all of it first: something above is shown in part.';
    return performance.now() < Math.max(card.since, focusedAt) + ARM_MS ? 'Read it first.' : '';
}

function arm(card) {
    const why = obstacle(card);
    for (const button of card.yes) button.disabled = why !== '';
    for (const button of card.no) button.disabled = card.gone || card.busy;
    card.why.replaceChildren(why);
    if (why === 'Read it first.') setTimeout(() => arm(card), ARM_MS / 2);
}

async function answer(card, what, most) {
    if (what === 'approve' && obstacle(card)) return void arm(card);
    const sent = card.ids.slice(0, most);
    let done = 0;
    card.busy = true;
    arm(card);
    try {
        for (const id of sent) {
            const reason = card.reason.value.trim();
            await post(`/v1/approvals/${encodeURIComponent(id)}`, {
                answer: what,
                digest: card.digest,
                ...(reason && what === 'deny' ? { reason } : {}),
            });
            done++;
            card.ids = card.ids.filter((other) => other !== id);
            card.answered.add(id);
        }
        card.mine = true;
        card.state.replaceChildren(
            `${what === 'approve' ? 'Approved' : 'Denied'} ${clock(new Date())}${sent.length > 1 ? ` (${done})` : ''}`,
        );
    } catch (error) {
        card.state.replaceChildren(tell(error));
    }
    card.busy = false;
    refresh(card);
}

function refresh(card) {
    const n = card.ids.length;
    card.gone = n === 0;
    card.box.classList.toggle('gone', card.gone);
    card.many.hidden = n < 2;
    card.many.replaceChildren(`${n} identical requests`);
    for (const button of card.all) {
        button.hidden = n < 2;
        button.replaceChildren(`${button.value === 'approve' ? 'Approve' : 'Deny'} all ${n}`);
    }
    card.actions.hidden = card.gone;
    if (card.gone && !card.mine && !card.state.firstChild)
        card.state.replaceChildren('It no longer waits: it was answered elsewhere, cancelled, or its time is over.');
    arm(card);
}

function newCard(request, answered) {
    let subject = null;
    const card = {
        digest: request.digest,
        ids: [],
        answered,
        unread: new Set(),
        since: performance.now(),
        fault: 'Checking the digest.',
    };
    card.changed = () => arm(card);
    try {
        subject = parseExact(request.subject);
        card.damaged = subject === null || typeof subject !== 'object';
    } catch {
        card.damaged = true;
    }
    const button = (what, label, most, kind) =>
        h('button', { type: 'button', class: kind, value: what, click: () => answer(card, what, most) }, label);
    card.yes = [button('approve', 'Approve', 1, 'yes'), button('approve', '', Infinity, 'yes')];
    card.no = [button('deny', 'Deny', 1, 'no'), button('deny', '', Infinity, 'no')];
    card.all = [card.yes[1], card.no[1]];
    const field = `reason-${request.id}`;
    card.reason = h('input', { id: field, maxlength: '500', autocomplete: 'off' });
    card.many = h('p', { class: 'warn' });
    card.why = h('p', { class: 'soft' });
    card.state = h('p', { role: 'status' });
    card.left = h('span', { class: 'soft' });
    card.actions = h(
        'div',
        {},
        h(
            'div',
            { class: 'row' },
            h(
                'div',
                { class: 'wide' },
                h('label', { for: field }, 'Reason for a denial, for the model (optional)'),
                card.reason,
            ),
            ...card.no,
            ...card.yes,
        ),
        card.why,
    );
    const changes = subject?.changes;
    const title = changes ? 'Changes of a call' : 'A call';
    card.box = h(
        'section',
        { class: 'card', 'aria-label': title },
        h('h2', {}, title, ' by ', raw(request.asker ?? 'a program'), ' ', card.left),
        card.many,
    );
    if (changes) {
        card.fault = 'Changes are approved where their diff is shown.';
        card.box.append(h('p', {}, 'Approve them on a terminal: ', raw(`toolcage approvals approve ${request.id}`)));
    }
    card.box.append(subject && !card.damaged ? describe(subject, card) : raw(request.subject, 'pre'));
    if (roundsNumbers())
        card.box.append(h('p', {}, 'This browser rounds large numbers. Exactly:'), long(request.subject, card));
    card.box.append(h('p', { class: 'soft' }, 'Digest of all this: ', raw(request.digest)), card.state, card.actions);
    void digestOf(request.subject).then((digest) => {
        if (digest && digest !== request.digest)
            card.fault = 'The server sent another text than its digest says. Do not approve it.';
        else if (card.damaged) card.fault = 'The request is damaged.';
        else if (!changes) card.fault = '';
        arm(card);
    });
    return card;
}

export function approvalsView() {
    const cards = new Map();
    const place = h('div');
    const empty = h('div');
    const others = h(
        'p',
        { class: 'warn', hidden: true },
        'More requests wait than fit on this page. They appear when these are answered.',
    );
    show('Approvals', empty, place, others);

    /* Shows the requests with one digest, and says whether something moved. */
    const take = (key, requests) => {
        let card = cards.get(key);
        const answered = card?.answered ?? new Set();
        const ids = requests.map((request) => request.id).filter((id) => !answered.has(id));
        const moves = ids.length > 0 && (card?.gone || ids.length > 1 !== (card?.ids.length ?? 1) > 1);
        if (ids.length && card?.gone) {
            card.box.remove();
            card = undefined;
        }
        if (!card) {
            card = newCard(requests[0], answered);
            cards.set(key, card);
            place.append(card.box);
        }
        card.ids = ids;
        card.left.replaceChildren(
            `waits until ${clock(new Date(1000 * Math.min(...requests.map((request) => request.expires))))}`,
        );
        refresh(card);
        return moves;
    };

    const tick = async (waiting, more) => {
        const groups = new Map();
        for (const request of waiting) {
            const key = `${request.digest} ${request.asker}`;
            groups.set(key, [...(groups.get(key) ?? []), request]);
        }
        let moved = false;
        others.hidden = !more;
        for (const [key, requests] of groups) moved = take(key, requests) || moved;
        // A card that is answered stays in its place, so that no button moves under the pointer.
        for (const [key, card] of cards) {
            if (groups.has(key)) continue;
            card.ids = [];
            refresh(card);
        }
        for (const card of moved ? cards.values() : []) {
            card.since = performance.now();
            arm(card);
        }
        if (cards.size) empty.replaceChildren();
        else if (!empty.firstChild) empty.append(h('p', {}, 'Nothing waits for you.'), await firstMinute());
    };
    return { tick };
}

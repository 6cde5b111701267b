// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Parts of several views.

import { count, cutAt, h, pretty, put, raw, word } from './text.js';
import { Refused, get } from './server.js';

export const ROWS = 200;
export const SCREEN = 128 * 1024; // characters of output
const LONG = 2000; // characters of a value that are shown without being asked for

export function show(title, ...children) {
    document.getElementById('main').replaceChildren(h('h1', {}, title), ...children);
}

export function tell(error) {
    const box = h('p', { class: 'bad', role: 'alert' });
    put(box, error instanceof Refused ? error.message : `The server does not answer: ${error.message}`);
    if (error.hint) box.append(' ', raw(error.hint));
    return box;
}

/* A value; of a long one a part, and the request cannot be approved before the rest was shown. */
export function long(text, card) {
    const inline = text.length < 80 && !text.includes('\n');
    const box = h(inline ? 'span' : 'div', { class: 'raw' });
    if (!card) return put(box, text.slice(0, cutAt(text, SCREEN)), true);
    if (text.length <= LONG) return put(box, text, true);
    const end = cutAt(text, LONG);
    put(box, text.slice(0, end), true);
    const rest = h(
        'button',
        {
            type: 'button',
            click: () => {
                rest.remove();
                put(box, text.slice(end), true);
                card.unread.delete(rest);
                card.changed();
            },
        },
        `Show the other ${count(text.length - end, 'character', 'characters')}`,
    );
    card.unread.add(rest);
    return h('div', {}, box, rest);
}

export function several(items, card, none) {
    if (!items.length) return h('span', {}, none);
    const MANY = 40;
    const ul = h('ul', {}, ...items.slice(0, MANY));
    if (!card || items.length <= MANY) return ul;
    const rest = h(
        'button',
        {
            type: 'button',
            click: () => {
                rest.remove();
                ul.append(...items.slice(MANY));
                card.unread.delete(rest);
                card.changed();
            },
        },
        `Show the other ${count(items.length - MANY, 'entry', 'entries')}`,
    );
    card.unread.add(rest);
    return h('div', {}, ul, rest);
}
export const words = (values) => (values.length ? h('div', {}, ...values.map((v) => word(String(v)))) : 'none');
export const list = (values, card, none) =>
    several(
        values.map((v) => h('li', {}, raw(typeof v === 'string' ? v : pretty(v)))),
        card,
        none,
    );

const isDirectory = (entry) => (entry.mode & 0o170000) === 0o040000;

export function paths(entries, card, none) {
    return several(
        entries.map((entry) => {
            const li = h('li', {}, raw(entry.path));
            if (entry.from !== undefined && entry.from !== entry.path)
                li.append(' which is ', raw(entry.from), ' of this host');
            if (entry.inode === 0) li.append(' (does not exist)');
            else if (isDirectory(entry)) li.append(' and all below it');
            if (entry.digest)
                li.append(
                    h('span', { class: 'soft' }, ` ${count(entry.bytes ?? 0, 'byte', 'bytes')}, `),
                    raw(entry.digest),
                );
            return li;
        }),
        card,
        none ?? '',
    );
}

/* Arguments that a schema requires, as an example. */
function sampleOf(schema) {
    const of = (property) =>
        property?.enum?.[0] ?? { string: 'TEXT', boolean: true, array: [], object: {} }[property?.type] ?? 1;
    return Object.fromEntries((schema?.required ?? []).map((name) => [name, of(schema.properties?.[name])]));
}

let first = null;
/* What to do where no call was ever made. */
export async function firstMinute() {
    first = first ?? Promise.all([get('/v1/tools'), get('/v1/calls')]);
    const [{ tools }, { calls }] = await first.catch(() => [{ tools: [] }, { calls: [] }]);
    first = calls.length ? first : null;
    if (calls.length) return h('p', {}, h('a', { href: '#/calls' }, 'See the calls'));
    const [tool] = tools;
    const call = JSON.stringify({ tool: tool?.name ?? 'NAME', arguments: sampleOf(tool?.inputSchema) }).replaceAll(
        "'",
        "'\\''",
    );
    return h(
        'div',
        { class: 'card' },
        h('h2', {}, 'Make a first call'),
        h('p', {}, 'TOKEN is the one that toolcage serve printed for clients.'),
        raw(
            [
                'TOKEN=…',
                `curl ${location.origin}/v1/tools -H "Authorization: Bearer $TOKEN"`,
                `curl ${location.origin}/v1/calls -H "Authorization: Bearer $TOKEN" --json '${call}'`,
            ].join('\n'),
            'pre',
        ),
    );
}

export const heads = (...names) =>
    h(
        'thead',
        {},
        h(
            'tr',
            {},
            ...names.map((name) =>
                h(
                    'th',
                    { scope: 'col', class: name === 'Took' ? 'number' : name === 'Call' ? 'side' : undefined },
                    name,
                ),
            ),
        ),
    );
export const table = (name, head, body) =>
    h(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name },
        h('table', {}, h('caption', {}, name), head, body),
    );

const SVG = 'http://www.w3.org/2000/svg';
export function bars(title, values, labels, words) {
    const svg = document.createElementNS(SVG, 'svg');
    const most = Math.max(1, ...values);
    const set = (node, props) => Object.entries(props).forEach(([name, value]) => node.setAttribute(name, value));
    set(svg, { viewBox: '0 0 300 100', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title}: ${words}` });
    values.forEach((value, i) => {
        const bar = document.createElementNS(SVG, 'rect');
        const tip = document.createElementNS(SVG, 'title');
        const height = (96 * value) / most;
        set(bar, {
            x: (300 / values.length) * i + 0.5,
            y: 98 - height,
            width: Math.max(1, 300 / values.length - 1),
            height,
        });
        tip.append(`${labels[i]}: ${value}`);
        bar.append(tip);
        svg.append(bar);
    });
    const line = document.createElementNS(SVG, 'line');
    set(line, { x1: 0, x2: 300, y1: 99, y2: 99 });
    svg.append(line);
    return h('figure', { class: 'card' }, svg, put(h('figcaption', {}), `${title}: ${words}`));
}

export function plotsOf(calls) {
    const MINUTES = 30;
    const now = Math.floor(Date.now() / 60000);
    const perMinute = Array(MINUTES).fill(0);
    const denied = Array(MINUTES).fill(0);
    for (const call of calls) {
        const at = MINUTES - 1 - (now - Math.floor(call.began / 60));
        if (at < 0 || at >= MINUTES) continue;
        perMinute[at]++;
        denied[at] += call.status === 'denied';
    }
    const labels = perMinute.map((_, i) => `${MINUTES - 1 - i} min ago`);
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    return h(
        'div',
        { class: 'plots' },
        bars(
            'Calls per minute',
            perMinute,
            labels,
            `${sum(perMinute)} in 30 minutes, at most ${Math.max(...perMinute)} in one`,
        ),
        bars('Denied calls per minute', denied, labels, `${sum(denied)} in 30 minutes`),
    );
}

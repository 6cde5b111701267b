// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Text that tools, models and policies chose. It enters the document only through put() and text nodes.

// The characters that the command line escapes, too: control characters, and those that reorder, break or hide text.
const UNSHOWN =
    '[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]|(?! )\\p{Zs}';
const IN_LINE = new RegExp(`(?:${UNSHOWN})+`, 'gu');
const IN_TEXT = new RegExp(`(?:(?![\\n\\t])(?:${UNSHOWN}))+`, 'gu');

const escapeRun = (run) => Array.from(run, (c) => `\\u{${c.codePointAt(0).toString(16)}}`).join('');

/* Appends text, with what cannot be seen as an escape; `lines`: line ends and tabs stay. */
export function put(to, text, lines = false) {
    let at = 0;
    for (const found of text.matchAll(lines ? IN_TEXT : IN_LINE)) {
        if (found.index > at) to.append(document.createTextNode(text.slice(at, found.index)));
        to.append(h('span', { class: 'escape' }, escapeRun(found[0])));
        at = found.index + found[0].length;
    }
    if (at < text.length) to.append(document.createTextNode(text.slice(at)));
    return to;
}

export function h(tag, props = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
        if (name === 'click' || name === 'submit' || name === 'input') made.addEventListener(name, value);
        else if (typeof value === 'boolean') made.toggleAttribute(name, value);
        else if (value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
}

export const raw = (text, tag = 'code') => put(h(tag, { class: 'raw' }), String(text), tag === 'pre');
export const word = (text) => {
    const box = h('code', { class: 'raw word' });
    return text === '' ? h('code', { class: 'raw word soft' }, '(empty)') : put(box, String(text), true);
};

export function cutAt(text, most) {
    const code = text.charCodeAt(most - 1);
    return text.length <= most ? text.length : code >= 0xd800 && code < 0xdc00 ? most - 1 : most;
}

/* A number that JavaScript would round stays as it was written. */
export class Exact {
    constructor(source) {
        this.source = source;
    }
}
let exactNumbers = true;
export const roundsNumbers = () => !exactNumbers;
export function parseExact(text) {
    return JSON.parse(text, (_, value, context) => {
        if (typeof value !== 'number') return value;
        if (!context || context.source === undefined) exactNumbers = Number.isSafeInteger(value) && exactNumbers;
        else if (context.source !== String(value)) return new Exact(context.source);
        return value;
    });
}

export function pretty(value, indent = '') {
    const more = `${indent}  `;
    if (value instanceof Exact) return value.source;
    if (Array.isArray(value))
        return value.length ? `[\n${value.map((v) => more + pretty(v, more)).join(',\n')}\n${indent}]` : '[]';
    if (value && typeof value === 'object') {
        const rows = Object.entries(value).map(([k, v]) => `${more}${JSON.stringify(k)}: ${pretty(v, more)}`);
        return rows.length ? `{\n${rows.join(',\n')}\n${indent}}` : '{}';
    }
    return JSON.stringify(value);
}

export const duration = (us) =>
    us === undefined
        ? ''
        : us < 1e6
          ? `${Math.round(us / 1000)} ms`
          : us < 6e7
            ? `${(us / 1e6).toFixed(1)} s`
            : `${Math.round(us / 6e7)} min`;
export const clock = (date) => date.toLocaleTimeString([], { hour12: false });
export const day = (date) =>
    `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`;
export const count = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
export const tone = (status) =>
    ({ ok: 'good', denied: 'bad', failed: 'bad', error: 'bad', timeout: 'warn', limit: 'warn', cancelled: 'warn' })[
        status
    ] ?? '';

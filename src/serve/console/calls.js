// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The calls of this server, and one of them with what it prints.

import { clock, count, h, put, raw, tone } from './text.js';
import { ROWS, SCREEN, firstMinute, heads, list, long, plotsOf, show, table, tell } from './parts.js';
import { fetchText, follow, get } from './server.js';

export function callsView() {
    const rows = new Map();
    const body = h('tbody');
    const empty = h('div');
    const whole = table(
        'Calls of this server, the newest first',
        heads('Began', 'Tool', 'State', 'Took', 'Call'),
        body,
    );
    show('Calls', plotsOf([]), empty, whole);
    const tick = async () => {
        const { calls } = await get('/v1/calls');
        const known = new Set(calls.map((call) => call.id));
        for (const [id, row] of rows) if (!known.has(id)) (row.tr.remove(), rows.delete(id));
        for (const call of calls.toReversed()) {
            const text = JSON.stringify(call);
            const row = rows.get(call.id) ?? { tr: h('tr') };
            if (row.text === text) continue;
            const state = call.state === 'ended' ? call.status : call.state;
            const began = new Date(call.began * 1000);
            row.text = text;
            row.tr.replaceChildren(
                h('td', { class: 'time' }, h('time', { datetime: began.toISOString() }, clock(began))),
                h('td', {}, h('a', { href: `#/calls/${encodeURIComponent(call.id)}` }, raw(call.tool, 'span'))),
                h('td', { class: tone(state) }, state),
                h('td', { class: 'number' }, call.ended === undefined ? '' : `${call.ended - call.began} s`),
                h('td', { class: 'side' }, raw(call.id)),
            );
            if (!rows.has(call.id)) body.prepend(row.tr);
            rows.set(call.id, row);
        }
        whole.hidden = !calls.length;
        document.querySelector('.plots').replaceWith(plotsOf(calls));
        empty.replaceChildren();
        if (!calls.length) empty.append(await firstMinute());
    };
    return { tick };
}

/* Output: its last part, drawn again at most so often that the page stays usable. */
function screen(label) {
    const pre = h('pre', { tabindex: '0', 'aria-label': label });
    const note = h('p', { class: 'soft' });
    const box = h('div', { hidden: true }, h('h2', {}, label), note, pre);
    let text = '';
    let dropped = 0;
    let pending = 0;
    let pause = 150;
    const draw = () => {
        const began = performance.now();
        const follows = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 40;
        pre.replaceChildren();
        put(pre, text, true);
        note.replaceChildren(
            dropped ? `Cut: ${count(dropped, 'character', 'characters')} before this are not shown.` : '',
        );
        box.hidden = !text && !dropped;
        if (follows) pre.scrollTop = pre.scrollHeight;
        pending = 0;
        pause = Math.max(150, 4 * (performance.now() - began));
    };
    return {
        box,
        add(more) {
            text += more;
            const over = text.length - SCREEN;
            if (over > 0) {
                dropped += over;
                text = text.slice(over);
            }
            pending ||= setTimeout(draw, pause);
        },
        set(whole) {
            text = '';
            dropped = 0;
            this.add(whole);
        },
    };
}

const bytesOf = (piece) =>
    piece.base64 !== undefined
        ? Uint8Array.from(atob(piece.base64), (c) => c.charCodeAt(0))
        : new TextEncoder().encode(piece.text ?? '');
const textOf = (output) =>
    output?.text ?? (output?.base64 === undefined ? '' : new TextDecoder().decode(bytesOf(output)));

function showResult(result, facts) {
    const row = (label, value) =>
        value !== undefined && value !== null && value !== '' && facts.append(h('dt', {}, label), h('dd', {}, value));
    facts.replaceChildren();
    row('Tool', result.tool ? raw(result.tool) : null);
    row('Status', h('strong', { class: tone(result.status) }, String(result.status)));
    row('Exit code', result.exit_code === undefined || result.exit_code === null ? null : String(result.exit_code));
    row(
        'Message',
        result.status !== 'ok' && result.message
            ? long(String(result.message))
            : result.error?.message
              ? long(String(result.error.message))
              : null,
    );
    row('Hint', result.error?.hint ? raw(result.error.hint) : null);
    row('Cage', result.backend ? raw(result.backend) : null);
    row(
        'Denied',
        result.denials?.length
            ? list(
                  result.denials.slice(0, ROWS).map((d) => [d.action ?? d.kind, d.target].filter(Boolean).join(' ')),
                  null,
                  '',
              )
            : null,
    );
    row(
        'Changed',
        result.changes?.length
            ? list(
                  result.changes.slice(0, ROWS).map((c) => [c.kind ?? c.change, c.path].filter(Boolean).join(' ')),
                  null,
                  '',
              )
            : null,
    );
    row(
        'Cut',
        result.stdout?.truncated || result.stderr?.truncated ? 'the output is longer than the policy keeps' : null,
    );
}

export function callView(id) {
    const stop = new AbortController();
    const facts = h('dl');
    const state = h('p', { role: 'status' }, 'Connecting.');
    const cancel = h(
        'button',
        {
            type: 'button',
            class: 'no',
            hidden: true,
            click: () =>
                void fetchText('DELETE', `/v1/calls/${encodeURIComponent(id)}`).catch((error) =>
                    state.replaceChildren(tell(error)),
                ),
        },
        'Cancel this call',
    );
    const out = screen('Output');
    const err = screen('Error output');
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    show(
        'Call',
        h('p', {}, h('a', { href: '#/calls' }, 'All calls'), ' ', raw(id)),
        h('div', { class: 'card' }, state, facts, cancel),
        out.box,
        err.box,
    );
    const on = (event, data) => {
        if (event === 'call') {
            cancel.hidden = data.state === 'ended';
            state.replaceChildren(
                data.state === 'waiting'
                    ? 'It waits for an approval.'
                    : data.state === 'running'
                      ? 'It runs. What it prints from now on appears here.'
                      : '',
            );
            facts.replaceChildren(h('dt', {}, 'Tool'), h('dd', {}, raw(data.tool)));
        } else if (event === 'output') {
            const stream = data.stream === 'stderr' ? 'stderr' : 'stdout';
            (stream === 'stderr' ? err : out).add(decoders[stream].decode(bytesOf(data), { stream: true }));
        } else if (event === 'omitted') {
            out.add(
                `\n[${count(data.bytes, 'byte was', 'bytes were')} left out, because this page did not read in time]\n`,
            );
        } else if (event === 'result') {
            cancel.hidden = true;
            state.replaceChildren('It has ended.');
            showResult(data, facts);
            if (data.stdout) out.set(textOf(data.stdout));
            if (data.stderr) err.set(textOf(data.stderr));
        }
    };
    follow(id, stop.signal, on).catch((error) => void (stop.signal.aborted || state.replaceChildren(tell(error))));
    return { close: () => stop.abort() };
}

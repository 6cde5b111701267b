// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The newest calls of the audit log.

import { clock, count, cutAt, day, duration, h, put, raw, tone } from './text.js';
import { ROWS, heads, show, table, tell, words } from './parts.js';
import { get, post } from './server.js';

export function historyView() {
    let calls = [];
    let shown = 0;
    const body = h('tbody');
    const said = h('p', { role: 'status' });
    const hint = h('div');
    const more = h('button', { type: 'button', click: () => page() }, `Show ${ROWS} more`);
    const tool = h('input', { id: 'h-tool', autocomplete: 'off' });
    const status = h(
        'select',
        { id: 'h-status' },
        ...['', 'ok', 'failed', 'denied', 'timeout', 'limit', 'cancelled', 'error', 'unfinished'].map((value) =>
            h('option', { value }, value || 'any'),
        ),
    );
    const since = h('input', { id: 'h-since', placeholder: '2h, 7d, 2026-01-31', autocomplete: 'off' });
    const limit = h(
        'select',
        { id: 'h-limit' },
        ...['200', '1000', '10000'].map((value) => h('option', { value }, value)),
    );
    const whole = table(
        'Calls of the audit log, the newest first',
        heads('Time', 'Tool', 'Status', 'Took', 'Command'),
        body,
    );
    const field = (label, input) => h('div', {}, h('label', { for: input.id }, label), input);

    const rowOf = (call) => {
        const time = new Date(call.time ?? 0);
        const state = call.status ?? 'unfinished';
        const line = (call.command ?? []).join(' ');
        const details = h(
            'details',
            {},
            put(
                h('summary', { class: 'raw' }, ''),
                line.slice(0, cutAt(line, 100)) + (line.length > 100 ? '…' : '') || 'Details',
            ),
        );
        details.addEventListener('toggle', () => {
            if (!details.open || details.childElementCount > 1) return;
            const facts = {
                call: call.call,
                command: call.command,
                message: call.message,
                denied: call.denied,
                exit_code: call.exit_code,
                backend: call.backend,
                server: call.server,
                approved: call.approval,
            };
            const dl = h('dl');
            for (const [key, value] of Object.entries(facts))
                if (value !== undefined && value.length !== 0)
                    dl.append(h('dt', {}, key), h('dd', {}, Array.isArray(value) ? words(value) : raw(value)));
            details.append(dl, h('p', {}, 'All of it: ', raw(`toolcage audit show ${call.call}`)));
        });
        return h(
            'tr',
            {},
            h('td', { class: 'time' }, h('time', { datetime: call.time }, `${day(time)} ${clock(time)}`)),
            h('td', {}, raw(call.tool ?? '-', 'span')),
            put(h('td', { class: tone(state) }), state),
            h('td', { class: 'number' }, duration(call.us)),
            h('td', {}, details),
        );
    };
    const page = () => {
        body.append(...calls.slice(shown, shown + ROWS).map(rowOf));
        shown = Math.min(calls.length, shown + ROWS);
        more.hidden = shown >= calls.length;
    };
    const load = async () => {
        try {
            const query = new URLSearchParams({ limit: limit.value });
            for (const [name, input] of [
                ['tool', tool],
                ['status', status],
                ['since', since],
            ])
                if (input.value.trim()) query.set(name, input.value.trim());
            const found = await get(`/v1/audit?${query}`);
            calls = found.calls;
            shown = 0;
            body.replaceChildren();
            page();
            whole.hidden = !calls.length;
            said.replaceChildren(
                `${count(calls.length, 'call', 'calls')}${found.more ? ', and older ones (toolcage audit lists all)' : ''}`,
            );
            hint.replaceChildren();
            if (!calls.length) hint.append(await howToRecord(found.log));
        } catch (error) {
            said.replaceChildren(tell(error));
        }
    };
    show(
        'History',
        h(
            'form',
            {
                submit: (event) => {
                    event.preventDefault();
                    void load();
                },
            },
            h(
                'div',
                { class: 'row' },
                field('Tool', tool),
                field('Status', status),
                field('Since', since),
                field('At most', limit),
                h('button', {}, 'Show'),
            ),
        ),
        said,
        hint,
        whole,
        more,
    );
    whole.hidden = more.hidden = true;
    void load();
    return {};
}

async function howToRecord(log) {
    const { tools } = await get('/v1/tools').catch(() => ({ tools: [] }));
    const grant = tools.length ? await post('/v1/explain', { tool: tools[0].name }).catch(() => ({})) : {};
    if (grant.audit)
        return h(
            'p',
            {},
            log ? 'No call of the log matches.' : 'The policy records each call, and there was none yet.',
        );
    return h(
        'div',
        { class: 'card' },
        h('h2', {}, 'Record calls'),
        h(
            'p',
            {},
            grant.audit === null ? 'The policy has no audit log.' : 'Nothing is recorded yet.',
            ' Add this table to the policy, and start the server again: each call is then recorded before it runs, and when it has ended.',
        ),
        raw('[audit]', 'pre'),
    );
}

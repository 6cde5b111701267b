// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// The tools, and what one of them may do.

import { h, pretty, put, raw } from './text.js';
import { SCREEN, list, show, tell, words } from './parts.js';
import { get, post } from './server.js';

async function loadTools(list) {
    const { tools } = await get('/v1/tools');
    list.replaceChildren(
        ...tools.map((tool) =>
            h(
                'section',
                { class: 'card' },
                h('h2', {}, raw(tool.name, 'span')),
                put(h('p', {}), tool.description ?? '', true),
                h(
                    'p',
                    {},
                    h(
                        'a',
                        { href: `#/tools/${encodeURIComponent(tool.name)}` },
                        'What may ',
                        raw(tool.name, 'span'),
                        ' do?',
                    ),
                ),
            ),
        ),
    );
    if (!tools.length) list.append(h('p', {}, 'The policy has no tools.'));
}

export function toolsView(name) {
    if (name) return toolView(name);
    const list = h('div');
    show('Tools', list);
    loadTools(list).catch((error) => list.replaceChildren(tell(error)));
    return {};
}

function grantOf(grant) {
    const of = (access) =>
        (grant.filesystem ?? [])
            .filter((entry) => entry.access === access)
            .map((entry) => (entry.from && entry.from !== entry.path ? `${entry.path} (${entry.from})` : entry.path));
    const limits = Object.entries(grant.limits ?? {}).map(([key, limit]) => `${key} ${limit?.value ?? pretty(limit)}`);
    const rows = [
        ['Runs', Array.isArray(grant.command) ? words(grant.command) : null],
        ['Needs a person', grant.approval ? 'yes, each call' : 'no'],
        ['May read', list(of('read'), null, 'only system files and its private directories')],
        ['May write', list(of('write'), null, 'nothing of this host')],
        [
            'May connect to',
            list(
                (grant.network ?? []).map((n) => `${n.host}:${n.port}`),
                null,
                'nothing: no network',
            ),
        ],
        [
            'Uses secrets',
            list(
                (grant.secrets ?? []).map((s) => s.name ?? pretty(s)),
                null,
                'none',
            ),
        ],
        ['Sees variables', words(grant.env ?? [])],
        ['Limits', list(limits, null, 'none')],
        ['Cage', grant.backend ? raw(grant.backend) : null],
    ];
    const dl = h('dl');
    for (const [label, value] of rows) if (value) dl.append(h('dt', {}, label), h('dd', {}, value));
    return h(
        'div',
        { class: 'card' },
        h('h2', {}, 'The grant'),
        dl,
        h('details', {}, h('summary', {}, 'All of it, as JSON'), raw(pretty(grant).slice(0, SCREEN), 'pre')),
    );
}

function verdictOf(verdict) {
    const said = h(
        'p',
        { role: 'status' },
        h('strong', { class: verdict.allowed ? 'good' : 'bad' }, verdict.allowed ? 'Yes. ' : 'No. '),
    );
    put(said, [verdict.reason, verdict.key ? `${verdict.key}, line ${verdict.line}` : ''].filter(Boolean).join(' — '));
    if (verdict.hint) said.append(h('br'), 'To allow it: ', raw(verdict.hint));
    return said;
}

function toolView(name) {
    const verb = h(
        'select',
        { id: 'verb' },
        ...['read', 'write', 'exec', 'connect'].map((value) => h('option', { value }, value)),
    );
    const target = h('input', {
        id: 'target',
        autocomplete: 'off',
        spellcheck: 'false',
        placeholder: '/etc/passwd or example.com:443',
    });
    const args = h('textarea', { id: 'args', rows: '3', spellcheck: 'false' });
    const said = h('div');
    const place = h('div');
    const load = async () => {
        said.replaceChildren();
        try {
            const body = { tool: name };
            if (args.value.trim()) body.arguments = JSON.parse(args.value);
            if (target.value.trim()) body.access = `${verb.value} ${target.value.trim()}`;
            const grant = await post('/v1/explain', body);
            if (grant.verdict) said.append(verdictOf(grant.verdict));
            place.replaceChildren(grantOf(grant));
        } catch (error) {
            said.append(
                error instanceof SyntaxError
                    ? h('p', { class: 'bad', role: 'alert' }, 'The arguments are not JSON.')
                    : tell(error),
            );
        }
    };
    show(
        'May this tool …?',
        h('p', {}, h('a', { href: '#/tools' }, 'All tools'), ' ', raw(name)),
        h(
            'form',
            {
                class: 'card',
                submit: (event) => {
                    event.preventDefault();
                    void load();
                },
            },
            h(
                'div',
                { class: 'row' },
                h('div', {}, h('label', { for: 'verb' }, 'May it'), verb),
                h('div', { class: 'wide' }, h('label', { for: 'target' }, 'Path, or host and port'), target),
                h('button', {}, 'Explain'),
            ),
            h('label', { for: 'args' }, 'With these arguments (JSON, optional)'),
            args,
            said,
        ),
        place,
    );
    void load();
    return {};
}

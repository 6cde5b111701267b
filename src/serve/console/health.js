// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Whether the server is well, and its counters.

import { count, h, raw } from './text.js';
import { bars, plotsOf, show } from './parts.js';
import { fetchText, get } from './server.js';

function readMetrics(text) {
    const found = { buckets: [], calls: {} };
    for (const line of text.split('\n')) {
        const bucket = /^toolcage_call_seconds_bucket\{le="([^"]+)"\} (\d+)/.exec(line);
        const calls = /^toolcage_calls_total\{status="(\w+)"\} (\d+)/.exec(line);
        if (bucket) found.buckets.push([bucket[1], Number(bucket[2])]);
        if (calls) found.calls[calls[1]] = Number(calls[2]);
    }
    return found;
}

export function healthView() {
    const place = h('div');
    show('Health', place);
    const tick = async () => {
        const [health, policy, text, { calls }] = await Promise.all([
            get('/v1/health'),
            get('/v1/policy'),
            fetchText('GET', '/v1/metrics'),
            get('/v1/calls'),
        ]);
        const metrics = readMetrics(text);
        const times = metrics.buckets.map(([, n], i) => n - (i ? metrics.buckets[i - 1][1] : 0));
        const labels = metrics.buckets.map(([le]) => (le === '+Inf' ? 'longer' : `up to ${le} s`));
        const busiest = times.indexOf(Math.max(...times));
        const all = times.reduce((a, b) => a + b, 0);
        const plots = plotsOf(calls);
        plots.append(
            bars(
                'Times of calls',
                times,
                labels,
                all ? `${count(all, 'call', 'calls')}, most often ${labels[busiest]}` : 'no call has ended',
            ),
        );
        const dl = h('dl');
        const rows = [
            ['Server', `toolcage ${health.version}: ${health.status}`],
            ['Running', `${health.running} of at most ${health.calls_max} calls`],
            ...Object.entries(metrics.calls)
                .filter(([, n]) => n)
                .map(([status, n]) => [`Calls: ${status}`, String(n)]),
            ['Policy', policy.digest],
        ];
        for (const [label, value] of rows)
            dl.append(h('dt', {}, label), h('dd', {}, label === 'Policy' ? raw(value) : value));
        place.replaceChildren(h('div', { class: 'card' }, dl), plots);
    };
    return { tick };
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/plan.h"

#include <string.h>

#include "policy/endpoint.h"

enum { MOUNTS_MAX = 4096, NET_MAX = 4096 };

static void visit_mount(struct tc_wire *w, struct tc_mount *m)
{
    TC_WIRE_INT(w, m->kind);
    tc_wire_str(w, &m->path);
    tc_wire_str(w, &m->from);
    tc_wire_str(w, &m->content);
    tc_wire_str(w, &m->bound);
    TC_WIRE_INT(w, m->optional);
    TC_WIRE_INT(w, m->workspace);
    tc_wire_str(w, &m->key);
    tc_wire_i64(w, &m->line);
}

static void visit_deny(struct tc_wire *w, struct tc_deny *d)
{
    tc_wire_str(w, &d->path);
    tc_wire_str(w, &d->key);
    tc_wire_i64(w, &d->line);
    TC_WIRE_INT(w, d->own);
}

static void visit_limits(struct tc_wire *w, struct tc_limits *l)
{
    int64_t *numbers[] = {&l->timeout_ms, &l->grace_ms, &l->memory, &l->cpu_time_ms, &l->cpus_milli,
                          &l->pids,       &l->disk,     &l->inodes, &l->open_files,  &l->output};
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        tc_wire_i64(w, numbers[i]);
    TC_WIRE_INT(w, l->memory_any);
    TC_WIRE_INT(w, l->disk_set);
    TC_WIRE_INT(w, l->output_kill);
}

bool tc_session_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-";
    enum { LONGEST = 64 };
    size_t n = strnlen(name, LONGEST + 1);
    return n > 0 && n <= LONGEST && name[0] != '.' && name[0] != '-' && strspn(name, letters) == n;
}

void tc_plan_visit(struct tc_wire *w, struct tc_plan *p)
{
    char **texts[] = {&p->call,    &p->tool,    &p->backend,    &p->grant,
                      &p->image,   &p->runtime, &p->platform,   &p->payload,
                      &p->session, &p->bounds,  &p->policy_file};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        tc_wire_str(w, texts[i]);
    TC_WIRE_INT(w, p->clauses);
    TC_WIRE_INT(w, p->without);
    struct tc_strv *lists[] = {&p->argv,           &p->env,      &p->cwd,
                               &p->tool_writable,  &p->collect,  &p->syscalls_allow,
                               &p->syscalls_deny,  &p->extended, &p->steering.add,
                               &p->steering.remove};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_wire_strv(w, lists[i]);
    TC_WIRE_EACH(w, p->mounts, p->mount_count, MOUNTS_MAX, visit_mount);
    TC_WIRE_EACH(w, p->denies, p->deny_count, MOUNTS_MAX, visit_deny);
    TC_WIRE_EACH(w, p->net, p->net_count, NET_MAX, tc_net_entry_visit);
    visit_limits(w, &p->limits);
    TC_WIRE_INT(w, p->denials);
    TC_WIRE_INT(w, p->workspace);
    TC_WIRE_INT(w, p->commit);
    TC_WIRE_INT(w, p->overlay_or_copy);
    TC_WIRE_INT(w, p->unix_sockets);
    TC_WIRE_INT(w, p->steering.listed);
    TC_WIRE_INT(w, p->stream);
    TC_WIRE_INT(w, p->terminal);
    TC_WIRE_INT(w, p->rows);
    TC_WIRE_INT(w, p->columns);
}

static void mount_done(struct tc_mount *m)
{
    char *texts[] = {m->path, m->from, m->content, m->bound, m->key};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
}

void tc_plan_done(struct tc_plan *p)
{
    char *texts[] = {p->call,     p->tool,    p->backend, p->grant,  p->image,      p->runtime,
                     p->platform, p->payload, p->session, p->bounds, p->policy_file};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    struct tc_strv *lists[] = {&p->argv,           &p->env,      &p->cwd,
                               &p->tool_writable,  &p->collect,  &p->syscalls_allow,
                               &p->syscalls_deny,  &p->extended, &p->steering.add,
                               &p->steering.remove};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    for (size_t i = 0; i < p->mount_count; i++)
        mount_done(&p->mounts[i]);
    free(p->mounts);
    for (size_t i = 0; i < p->deny_count; i++) {
        free(p->denies[i].path);
        free(p->denies[i].key);
    }
    free(p->denies);
    for (size_t i = 0; i < p->net_count; i++)
        tc_net_entry_done(&p->net[i]);
    free(p->net);
    *p = (struct tc_plan){0};
}

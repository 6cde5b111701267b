/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Jobs that run no tool: what works on this host, and sweeping the leftovers of killed engines. */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/jsontext.h"
#include "call/engine.h"
#include "call/host/facts.h"
#include "call/host/install.h"
#include "call/packaged.h"
#include "policy/names/system_paths.h"
#include "state/places.h"
#include "version.h"

static void add_text(struct tc_buf *buf, const char *key, const char *text)
{
    tc_json_member(buf, key, text ? text : "");
}

static void add_machine(struct tc_buf *buf)
{
    struct utsname u;
    tc_json_key(buf, "machine");
    tc_buf_addc(buf, '{');
    if (uname(&u) == 0) {
        add_text(buf, "system", u.sysname);
        add_text(buf, "kernel", u.release);
        add_text(buf, "architecture", u.machine);
    }
    tc_json_number(buf, "uid", geteuid());
    add_text(buf, "toolcage", TC_VERSION);
    tc_buf_addc(buf, '}');
}

static void add_probe(struct tc_buf *buf, const struct tc_probe *p)
{
    tc_buf_addc(buf, '{');
    if (p->whole)
        add_text(buf, "backend", p->backend);
    if (!p->whole || !p->works)
        add_text(buf, "clause", tc_clause_name((enum tc_clause)p->clause));
    if (!p->whole)
        add_text(buf, "text", tc_clause_text((enum tc_clause)p->clause));
    tc_json_bool(buf, "works", p->works);
    add_text(buf, "mechanism", p->mechanism);
    add_text(buf, "reason", p->reason);
    add_text(buf, "fix", p->fix);
    tc_buf_addc(buf, '}');
}

/* A list of lines. */
static void add_lines(struct tc_buf *buf, const char *key, const char *lines)
{
    tc_json_key(buf, key);
    tc_buf_addc(buf, '[');
    for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        tc_buf_adds(buf, at == lines ? "" : ",");
        tc_json_string(buf, at, strcspn(at, "\n"));
    }
    tc_buf_addc(buf, ']');
}

/* False: out of memory. */
static bool add_packaged(struct toolcage_engine *engine, struct tc_buf *buf)
{
    _autofree_ char *state = NULL, *lines = NULL;
    if (!tc_state_directory(&state) || !tc_call_packaged(engine, state, &lines))
        return false;
    const char *at = lines;
    char path[PATH_MAX];
    tc_json_key(buf, "packaged");
    tc_buf_addc(buf, '[');
    for (bool first = true; tc_system_next(&at, path); first = false) {
        tc_buf_adds(buf, first ? "" : ",");
        tc_json_string(buf, path, strlen(path));
    }
    tc_buf_addc(buf, ']');
    return true;
}

static void add_probes(struct tc_buf *buf, const char *key, const struct tc_outcome *outcome,
                       bool whole)
{
    const char *comma = "";
    tc_json_key(buf, key);
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < outcome->probe_count; i++) {
        if (outcome->probes[i].whole != whole)
            continue;
        tc_buf_adds(buf, comma);
        add_probe(buf, &outcome->probes[i]);
        comma = ",";
    }
}

/* Adds the row of a backend that has a locator and that the helper does not probe. */
static void add_located(struct tc_buf *buf, const struct tc_locator *locator,
                        struct tc_search *search)
{
    _autofree_ char *how = NULL;
    _autoerror_ struct toolcage_error *why = NULL;
    int r = locator->tell(locator, search, &how, &why);
    struct tc_probe row = {.backend = (char *)(uintptr_t)locator->name,
                           .whole = true,
                           .works = r == 0,
                           .mechanism = how,
                           .reason = (char *)(uintptr_t)(why ? tc_error_message(why) : ""),
                           .fix = (char *)(uintptr_t)(why ? tc_error_hint(why) : "")};
    if (r == 0 && !how)
        return;
    tc_buf_adds(buf, buf->data[buf->len - 1] == '[' ? "" : ",");
    add_probe(buf, &row);
}

static void add_all_located(struct toolcage_engine *engine, struct tc_buf *buf)
{
    struct tc_search search = tc_errand_search(engine);
    const struct tc_locator *locator;
    for (size_t i = 0; !buf->failed && (locator = tc_locator_at(i)); i++)
        if (locator->tell)
            add_located(buf, locator, &search);
    tc_buf_adds(buf, "]");
    tc_json_key(buf, "kvm");
    tc_buf_adds(buf, search.kvm.boots ? "{\"works\":true" : "{\"works\":false");
    add_text(buf, "reason", search.kvm.reason);
    add_text(buf, "fix", search.kvm.fix);
    tc_buf_addc(buf, '}');
    tc_kvm_done(&search.kvm);
}

static char *write_report(struct toolcage_engine *engine, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '{');
    add_machine(&buf);
    add_probes(&buf, "clauses", outcome, false);
    tc_buf_addc(&buf, ']');
    add_probes(&buf, "backends", outcome, true);
    add_all_located(engine, &buf);
    add_lines(&buf, "cuts", outcome->notice ? outcome->notice : "");
    buf.failed = buf.failed || !add_packaged(engine, &buf);
    tc_buf_addc(&buf, '}');
    return tc_buf_steal(&buf);
}

int tc_engine_doctor(struct toolcage_engine *engine, char **ret_json, struct toolcage_error **err)
{
    struct tc_outcome outcome = {0};
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = tc_engine_probe(engine, &outcome, err);
    char *json = r == 0 ? write_report(engine, &outcome) : NULL;
    tc_outcome_done(&outcome);
    if (r == 0 && !json)
        r = tc_fail_memory(err);
    if (r == 0)
        *ret_json = json;
    return r;
}

int tc_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                    struct toolcage_error **err)
{
    struct tc_message message = {0};
    _autofd_ int fd = -1;
    int r = tc_engine_check(engine, err);
    if (r == 0)
        r = tc_engine_ask(engine, TC_JOB_CLEAN, -1, &message, &fd, err);
    _autosurroundings_ struct tc_surroundings here = {0};
    unsigned installs = 0;
    if (r == 0)
        r = tc_surroundings_gather(&here, err);
    if (r == 0)
        r = tc_install_sweep(&here.facts, &installs, err);
    if (r == 0 && ret_removed)
        *ret_removed = (uint32_t)message.removed + installs;
    return r;
}

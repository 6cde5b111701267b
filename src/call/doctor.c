/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The jobs that run no tool: what works on this machine, and sweeping what killed engines left. */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/jsontext.h"
#include "call/engine.h"
#include "call/host/facts.h"
#include "call/host/install.h"
#include "call/kata.h"
#include "call/machines.h"
#include "call/modules.h"
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

/* One line each. */
static void add_cuts(struct tc_buf *buf, const char *lines)
{
    tc_json_key(buf, "cuts");
    tc_buf_addc(buf, '[');
    for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        tc_buf_adds(buf, at == lines ? "" : ",");
        tc_json_string(buf, at, strcspn(at, "\n"));
    }
    tc_buf_addc(buf, ']');
}

/* What runs modules is looked for, not tried: its cage is the process backend's. */
static void add_engine(struct tc_buf *buf, const char *comma, const char *backend, const char *how,
                       const struct toolcage_error *why)
{
    struct tc_probe row = {.backend = (char *)(uintptr_t)backend, .whole = true, .works = !why};
    row.mechanism = (char *)(uintptr_t)how;
    row.reason = (char *)(uintptr_t)(why ? tc_error_message(why) : "");
    row.fix = (char *)(uintptr_t)(why ? tc_error_hint(why) : "");
    tc_buf_adds(buf, comma);
    add_probe(buf, &row);
}

static void add_modules(struct tc_buf *buf, const char *comma, const char *backend)
{
    _autofree_ char *how = NULL;
    struct toolcage_error *why = NULL;
    (void)tc_modules_engine(backend, &how, &why);
    add_engine(buf, comma, backend, how, why);
    tc_error_free(why);
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
    if (whole) {
        add_modules(buf, comma, "wasm");
        add_modules(buf, ",", "wasmedge");
    }
}

static void add_kata(struct tc_buf *buf, const struct tc_kvm *kvm)
{
    _autofree_ char *how = NULL, *reason = NULL;
    struct tc_probe row = {.backend = (char *)(uintptr_t) "kata", .whole = true};
    const char *fix;
    if (!tc_kata_tell(kvm, &how, &reason, &fix))
        buf->failed = true;
    if (!how && !reason)
        return;
    row.works = how != NULL;
    row.mechanism = how;
    row.reason = reason;
    row.fix = (char *)(uintptr_t)fix;
    tc_buf_addc(buf, ',');
    add_probe(buf, &row);
}

/* Its row, and what it knows of the processor's help; true where it runs guests here. */
static bool add_monitor(struct toolcage_engine *engine, const char *backend, struct tc_buf *buf,
                        struct tc_kvm *ret_kvm)
{
    _autofree_ char *how = NULL;
    struct toolcage_error *why = NULL;
    (void)tc_machines_tell(engine, backend, &how, ret_kvm, &why);
    add_engine(buf, ",", backend, how, why);
    tc_error_free(why);
    return how != NULL;
}

/* Machines are tried, too: once in a life of this one, and again while the answer is no. */
static void add_machines(struct toolcage_engine *engine, struct tc_buf *buf)
{
    struct tc_kvm kvm = {.boots = false}, other = {.boots = false};
    bool works = add_monitor(engine, "qemu", buf, &kvm);
    if (add_monitor(engine, "firecracker", buf, &other) && !works) {
        tc_kvm_done(&kvm);
        kvm = other;
        other = (struct tc_kvm){.boots = false};
    }
    add_kata(buf, &kvm);
    tc_buf_adds(buf, "]");
    tc_json_key(buf, "kvm");
    tc_buf_adds(buf, kvm.boots ? "{\"works\":true" : "{\"works\":false");
    add_text(buf, "reason", kvm.reason);
    add_text(buf, "fix", kvm.fix);
    tc_buf_addc(buf, '}');
    tc_kvm_done(&kvm);
    tc_kvm_done(&other);
}

static char *write_report(struct toolcage_engine *engine, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '{');
    add_machine(&buf);
    add_probes(&buf, "clauses", outcome, false);
    tc_buf_addc(&buf, ']');
    add_probes(&buf, "backends", outcome, true);
    add_machines(engine, &buf);
    add_cuts(&buf, outcome->notice ? outcome->notice : "");
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

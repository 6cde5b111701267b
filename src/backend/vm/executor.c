/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor of VMs: a process cage around the VMM. toolcage-vm sends the guest's report over a
 * socket after the call; the report is untrusted. */
#include "backend/registry.h"

#include <errno.h>
#include <string.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "backend/vm/parts.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/path.h"
#include "cage/cage.h"
#include "cage/worker.h"
#include "plan/protocol.h"
#include "policy/settings.h"
#include "state/seal.h"

enum { SAID_MAX = 1 << 20, KEPT_MOST = 8, DENIALS_MAX = 200 };

struct vm {
    int room; /* fd of its share of the user's VM memory; -1: none yet */
    int keep; /* unnamed file for the snapshot taken before the call; -1: none */
    bool kept;
    char *limit;
    bool killed; /* killed by the helper */
    void *more;  /* state of the backend that starts the VM */
};

static struct vm *vm_of(const struct tc_cage *cage)
{
    return TC_PRIV(cage)->own;
}

void **tc_vm_cage_own(const struct tc_cage *cage)
{
    return cage->priv && vm_of(cage) ? &vm_of(cage)->more : NULL;
}

bool tc_vm_cage_killed(const struct tc_cage *cage)
{
    return vm_of(cage)->killed;
}

/* ---- mechanisms of the clauses ---- */

static bool by_processor(const struct tc_cage *cage)
{
    return tc_setting(&cage->plan->settings, "accel") != NULL;
}

/* How the guest runs the call. */
enum within { PROCESS, CONTAINER, MODULE, CONTAINED_MODULE, WITHINS };

static enum within within(const struct tc_cage *cage)
{
    const char *said = tc_setting(&cage->plan->settings, "within");
    bool contained = said && strcmp(said, "oci") == 0;
    if (tc_setting(&cage->plan->settings, "module"))
        return contained ? CONTAINED_MODULE : MODULE;
    return contained ? CONTAINER : PROCESS;
}

/* Whether files other than the module are copied into the VM. */
static bool carries(const struct tc_cage *cage)
{
    for (size_t i = 0; i < cage->plan->mount_count; i++) {
        const struct tc_mount *m = &cage->plan->mounts[i];
        if ((m->kind == TC_MOUNT_READ || m->kind == TC_MOUNT_WRITE) &&
            !tc_path_within(TC_PLACE_OWN, m->path))
            return true;
    }
    return false;
}

#define CHANGES "changes copied out of the VM into a per-call copy or layer; "
#define GRANTED "only granted files are copied into the VM; "

/* In the order of enum within. */
#define INSIDE(outer, cage, container)                                             \
    {                                                                              \
        outer cage " inside", outer container " inside",                           \
            outer cage " inside, and a WebAssembly module with WASI in that",      \
            outer container " inside, and a WebAssembly module with WASI in that", \
    }

static const char *file_mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    static const char *const reads[WITHINS] =
        INSIDE(GRANTED, "mount namespace, Landlock", "container's mount namespace"),
                             *const writes[WITHINS] = INSIDE(CHANGES, "mount namespace, Landlock",
                                                             "container's mount namespace");
    if (!carries(cage))
        return "a VM without any host path";
    switch ((int)clause) {
    case TC_CLAUSE_FS_WRITE:
        return writes[within(cage)];
    case TC_CLAUSE_FS_DENIED:
        return "not copied into the VM";
    case TC_CLAUSE_FS_STEERING:
        return "not applied when the VM's changes are committed";
    default:
        return reads[within(cage)];
    }
}

#define EMULATED "an emulated VM (TCG) in a process cage; "
#define BY_KVM "a VM with KVM in a process cage; "

/* All isolation layers, from the outermost to the innermost. */
static const char *vm_and_own(const struct tc_cage *cage)
{
    static const char *const walls[][WITHINS] = {
        INSIDE(EMULATED, "a process cage", "a container of crun"),
        INSIDE(BY_KVM, "a process cage", "a container of crun")};
    return walls[by_processor(cage)][within(cage)];
}

#define WITHOUT_NETWORK "a VM without a network device; its connections go "

/* The guest's engine enforces its clauses inside the guest. */
const char *tc_vm_cage_mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    switch ((int)clause) {
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_STAT:
    case TC_CLAUSE_FS_WRITE:
    case TC_CLAUSE_FS_DENIED:
    case TC_CLAUSE_FS_STEERING:
        return file_mechanism(cage, clause);
    case TC_CLAUSE_NET_NONE:
        return "a VM without a network device";
    case TC_CLAUSE_NET_ALLOW:
        return strcmp(cage->executor->name, "qemu") == 0
                   ? WITHOUT_NETWORK "over a serial port to the egress proxy on the host"
                   : WITHOUT_NETWORK "over vsock to the egress proxy on the host";
    case TC_CLAUSE_NET_INSPECT:
        return "the egress proxy on the host inspects each request and terminates TLS with a "
               "per-call CA limited to the granted names";
    case TC_CLAUSE_NET_SECRET:
        return "the egress proxy on the host injects the values into requests; the guest has none";
    case TC_CLAUSE_LIMIT_TIMEOUT:
        return "timer in the helper";
    case TC_CLAUSE_LIMIT_OUTPUT:
        return "bounded buffers outside of the cage";
    case TC_CLAUSE_LIMIT_MEMORY:
        return p->group ? "the VM's memory, a cgroup for its VMM; a cgroup inside"
                        : "the VM's memory; a cgroup inside";
    case TC_CLAUSE_LIMIT_PIDS:
    case TC_CLAUSE_LIMIT_CPU_TIME:
        return "cgroup inside the VM";
    case TC_CLAUSE_LIMIT_CPUS:
        return "the VM's CPUs, cgroup inside";
    case TC_CLAUSE_LIMIT_DISK:
        return "size and inodes of a tmpfs in the VM's memory";
    case TC_CLAUSE_LIMIT_OPEN_FILES:
        return "RLIMIT_NOFILE inside the VM";
    default:
        return vm_and_own(cage);
    }
}

/* The share of the prestarted VM that serves the call, or a new one. */
static int take_room(struct tc_cage *cage, int *ret)
{
    *ret = tc_worker_held(TC_PRIV(cage));
    return *ret >= 0 ? 0 : tc_vm_memory_take(cage, ret);
}

int tc_vm_cage_make(struct tc_cage *cage, const struct tc_cage_ops *ops)
{
    struct vm *m = calloc(1, sizeof(*m));
    if (!m)
        return tc_cage_fail_memory(cage, "machine");
    m->keep = m->room = -1;
    int rc = tc_local_lease(cage, ops, m);
    if (!cage->priv) {
        free(m);
        return rc;
    }
    return rc < 0 ? rc : take_room(cage, &m->room);
}

static int make_vm(struct tc_cage *cage)
{
    static const struct tc_cage_ops ops = {.mechanism = tc_vm_cage_mechanism,
                                           .hold = tc_vm_memory_hold};
    return tc_vm_cage_make(cage, &ops);
}

/* If the snapshot's file cannot be created, the call runs without a snapshot. */
int tc_vm_cage_start(struct tc_cage *cage)
{
    const char *path = tc_setting(&cage->plan->settings, "keep");
    if (path)
        TC_PRIV(cage)->task.file = vm_of(cage)->keep = tc_sealed_open(path);
    return tc_process_run(cage);
}

/* ---- the guest's report ---- */

static bool is_listed(const struct tc_outcome *o, const struct tc_denial *d)
{
    for (size_t i = 0; i < o->denial_count; i++)
        if (o->denials[i].kind == d->kind && tc_streq(o->denials[i].target, d->target))
            return true;
    return false;
}

/* Denials by the egress proxy are already in the outcome and are trusted. The guest's report adds
 * rows, but does not change their counts. */
static void add_denials(struct tc_outcome *o, struct tc_outcome *said)
{
    for (size_t i = 0; i < said->denial_count; i++) {
        bool known = is_listed(o, &said->denials[i]);
        struct tc_denial *d =
            !known && o->denial_count < DENIALS_MAX ? TC_PUSH(o->denials, o->denial_count) : NULL;
        if (d) {
            *d = said->denials[i];
            said->denials[i] = (struct tc_denial){0};
        } else if (!known) {
            o->omitted_denials++;
        }
    }
    o->omitted_denials += said->omitted_denials;
}

/* The call's streams were received before. Everything in the report is untrusted. */
static void take_over(struct tc_cage *cage, struct tc_outcome *said)
{
    struct tc_outcome *o = cage->outcome;
    o->exit_code = said->exit_code;
    o->signal = said->signal;
    add_denials(o, said);
    o->pids_peak = said->pids_peak;
    vm_of(cage)->limit = TAKE(said->limit);
    if (said->failure.code && !o->failure.code) {
        o->failure = said->failure;
        said->failure = (struct tc_outcome_failure){.clause = -1};
        o->status = said->status;
    }
}

static bool is_status(const struct tc_outcome *said)
{
    return said->exit_code >= -1 && said->exit_code <= 255 && said->signal >= 0 &&
           said->signal < 128 && said->status >= 0;
}

static bool listen_to(struct tc_cage *cage, int fd)
{
    static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_DONE] = SAID_MAX};
    const uint32_t kept = TC_FRAME_KEPT;
    struct tc_frames frames = tc_frames_of(most, TC_FRAME_KINDS);
    struct tc_outcome said = {0};
    struct tc_frame f;
    int more = 0;
    struct tc_wire w = TC_WIRE_GET_INIT("", 0);
    while (more == 0 && tc_frames_read(&frames, fd) > 0)
        while ((more = tc_frames_next(&frames, &f)) > 0 && f.kind == kept)
            vm_of(cage)->kept = true;
    if (more > 0)
        w = TC_WIRE_GET_INIT(f.bytes, f.len);
    tc_outcome_visit(&w, &said);
    bool heard = more > 0 && !w.failed && !w.left && is_status(&said);
    cage->changes_lost = !heard || said.failure.code;
    if (heard)
        take_over(cage, &said);
    tc_outcome_done(&said);
    tc_frames_done(&frames);
    return heard;
}

/* The snapshot was written before the guest received the call. A snapshot that could not be
 * restored is deleted: the next call boots a VM. */
static void settle_file(struct tc_cage *cage)
{
    struct vm *m = vm_of(cage);
    const struct tc_strv *settings = &cage->plan->settings;
    const char *from = tc_setting(settings, "from"), *to = tc_setting(settings, "keep");
    const char *stage = cage->outcome->failure.stage;
    if (m->kept && m->keep >= 0 && to)
        (void)tc_sealed_put(m->keep, to, KEPT_MOST);
    if (from && stage && strcmp(stage, "boot") == 0)
        tc_sealed_drop(from);
}

/* No report is expected from a VMM that was killed. Incomplete changes of a tool would be worse
 * than none. */
const char *tc_vm_cage_usage(struct tc_cage *cage)
{
    struct tc_outcome *o = cage->outcome;
    const char *limit = tc_local_usage(cage);
    cage->changes_lost = true;
    int talk = TC_PRIV(cage)->worker ? tc_worker_talk(TC_PRIV(cage)) : TC_PRIV(cage)->talk;
    bool heard = talk >= 0 && listen_to(cage, talk);
    /* before the end is reported: the next call can use the share */
    tc_vm_memory_give(TAKE_FD(vm_of(cage)->room));
    tc_pool_want(TAKE(TC_PRIV(cage)->next), false);
    settle_file(cage);
    if (heard)
        return vm_of(cage)->limit ? vm_of(cage)->limit : limit;
    if (!o->failure.code && !vm_of(cage)->killed && !limit && cage->running)
        (void)tc_cage_fail(cage,
                           TC_WHY(TOOLCAGE_EBACKEND, "machine", "toolcage-vm",
                                  "call it again; `toolcage doctor` shows what this machine lacks"),
                           -1, "the VM's monitor ended without a report");
    return limit;
}

void tc_vm_cage_signal(struct tc_cage *cage, bool kill)
{
    vm_of(cage)->killed |= kill;
    tc_local_signal(cage, kill);
}

bool tc_vm_cage_destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct vm *m = p ? p->own : NULL;
    if (!tc_local_destroy(cage, may_block))
        return false;
    if (!m)
        return true;
    tc_vm_memory_give(m->room);
    if (m->keep >= 0)
        (void)close(m->keep);
    free(m->limit);
    free(m);
    return true;
}

/* Only toolcage-vm differs between VMMs. */
#define EXECUTOR(backend)                                                                  \
    {                                                                                      \
        .name = (backend), .make = make_vm, .prepare = tc_process_prepare,                 \
        .start = tc_vm_cage_start, .event = tc_process_event, .signal = tc_vm_cage_signal, \
        .reap = tc_process_reap, .usage = tc_vm_cage_usage, .destroy = tc_vm_cage_destroy, \
    }

const struct tc_executor tc_qemu_executor = EXECUTOR("qemu");
const struct tc_executor tc_firecracker_executor = EXECUTOR("firecracker");

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor of Kata Containers: a VM like the others, but without a VMM in a cage.
 * toolcage-engine requests a container with that runtime and passes the container's streams on.
 * toolcage-vm, in its cage, sends the call to the guest's engine over these streams. The two
 * processes are separate: the one that reads the guest's data has no access to the container
 * engine. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <toolcage/error.h>

#include "backend/engine/order.h"
#include "backend/kata/create.h"
#include "backend/vm/parts.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cage/cage.h"
#include "policy/names/system_paths.h"
#include "policy/settings.h"
#include "workspace/state.h"

enum { BOOT_SIZE = 37 };

struct kata {
    struct tc_engine_socket socket;
    struct tc_engine_root *root; /* of containerd's containers, else NULL */
    int control;                 /* socket to toolcage-engine; -1: none */
    int ours[2], theirs[2];      /* ends of the container's streams: [0] both ways, [1] errors */
    bool failed;
    char said[TC_ENGINE_TEXT_MAX];
};

static struct kata *kata_of(const struct tc_cage *cage)
{
    void **more = tc_vm_cage_own(cage);
    return more ? *more : NULL;
}

static const char *setting(const struct tc_cage *cage, const char *name, const char *otherwise)
{
    const char *said = tc_setting(&cage->plan->settings, name);
    return said ? said : otherwise;
}

static const char *engine_of(const struct tc_cage *cage)
{
    return setting(cage, "engine", TC_KATA_ENGINE);
}

/* ---- mechanisms of the clauses ---- */

/* That the runtime starts a VM is not verified; that the kernel is not the host's was verified by
 * the guest. */
static const char *mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    static const char both[] = "a container with a separate kernel, a VM as reported by the "
                               "runtime; a process cage inside";
    switch ((int)clause) {
    case TC_CLAUSE_NET_NONE:
        return "a container without a network, network namespace inside";
    case TC_CLAUSE_LIMIT_MEMORY:
        return "the container's memory, by the engine; a cgroup inside";
    case TC_CLAUSE_LIMIT_PIDS:
        return "the container's processes, by the engine; a cgroup inside";
    case TC_CLAUSE_LIMIT_CPUS:
        return "the container's CPUs, by the engine; a cgroup inside";
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_STAT:
    case TC_CLAUSE_FS_WRITE:
    case TC_CLAUSE_FS_DENIED:
    case TC_CLAUSE_FS_STEERING:
    case TC_CLAUSE_LIMIT_TIMEOUT:
    case TC_CLAUSE_LIMIT_OUTPUT:
    case TC_CLAUSE_LIMIT_CPU_TIME:
    case TC_CLAUSE_LIMIT_DISK:
    case TC_CLAUSE_LIMIT_OPEN_FILES:
        return tc_vm_cage_mechanism(cage, clause);
    default:
        return both;
    }
}

/* ---- the record ---- */

static void close_all(struct kata *k)
{
    int *fds[] = {&k->socket.fd, &k->control,   &k->ours[0],
                  &k->ours[1],   &k->theirs[0], &k->theirs[1]};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (*fds[i] >= 0)
            (void)close(TAKE_FD(*fds[i]));
}

static int make_kata(struct tc_cage *cage)
{
    static const struct tc_cage_ops ops = {.mechanism = mechanism};
    struct kata *k = calloc(1, sizeof(*k));
    if (!k)
        return tc_cage_fail_memory(cage, "runtime");
    *k = (struct kata){.control = -1, .ours = {-1, -1}, .theirs = {-1, -1}, .socket.fd = -1};
    int rc =
        tc_engine_enter(cage, engine_of(cage), &k->socket) < 0 ? -1 : tc_vm_cage_make(cage, &ops);
    void **more = tc_vm_cage_own(cage);
    if (more) {
        *more = k;
        return rc;
    }
    close_all(k);
    free(k);
    return rc;
}

/* ---- toolcage-engine ---- */

/* toolcage-engine outlives the helper, to remove the container. A double fork makes it no child of
 * the helper. */
static int clone_child(struct tc_cage *cage, int program)
{
    int pair[2], status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_engine_fail_start(cage, "socket");
    kata_of(cage)->control = pair[0];
    _autofd_ int theirs = pair[1];
    const struct tc_init_config init = {
        .stages = &tc_engine_stages, .report = theirs, .helper = pair[0], .own = &program};
    pid_t pid = _Fork();
    if (pid == 0) {
        pid = _Fork();
        if (pid == 0)
            tc_init_enter(&init, NULL);
        _exit(pid < 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        return tc_engine_fail_start(cage, "process");
    return 0;
}

static int64_t number_of(const struct tc_cage *cage, const char *name)
{
    return strtoll(setting(cage, name, "0"), NULL, 10);
}

static bool read_boot(char ret[BOOT_SIZE])
{
    _autofd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, BOOT_SIZE - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n == BOOT_SIZE - 1;
}

/* System directories owned by root, or links to such: the engine finds the same files by path. */
static bool list_system(struct tc_strv *ret)
{
    for (const struct tc_system_path *s = tc_system_paths; s->path; s++)
        if (!s->made && access(s->path, F_OK) == 0 && !tc_strv_add(ret, s->path))
            return false;
    return true;
}

static int find_root(struct tc_cage *cage, int program)
{
    char link[32];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", program);
    return tc_engine_take_root(cage, &kata_of(cage)->socket, link, &kata_of(cage)->root);
}

/* containerd's names of runtimes have a different form. */
static char *name_runtime(const struct tc_cage *cage)
{
    const char *said = setting(cage, "runtime", "kata");
    return kata_of(cage)->root ? tc_format("io.containerd.%s.v2", said) : strdup(said);
}

/* The directory where containerd and its client find the container's streams, by path. */
static char *find_fifos(const struct tc_cage *cage)
{
    static const char part[] = "engine-fifos";
    const char *where = "";
    if (!kata_of(cage)->root)
        return strdup("");
    _autofd_ int dir = tc_state_open(part, &where);
    return dir < 0 ? NULL : tc_format("%s/%s", where, part);
}

static char *describe_container(const struct tc_cage *cage, const char *image)
{
    _autostrv_ struct tc_strv system = {0};
    char boot[BOOT_SIZE];
    struct tc_kata_container c = {.image = image,
                                  .runtime = setting(cage, "runtime", "kata"),
                                  .call = cage->plan->call ? cage->plan->call : "",
                                  .tool = cage->plan->tool,
                                  .boot = boot,
                                  .root = setting(cage, "image", NULL),
                                  .system = &system,
                                  .mib = number_of(cage, "mib"),
                                  .cpus_milli = number_of(cage, "cpus"),
                                  .pids = number_of(cage, "pids")};
    const struct tc_engine_root *root = kata_of(cage)->root;
    if (!read_boot(boot) || !list_system(&system))
        return NULL;
    if (!root)
        return tc_kata_create(&c);
    c.directory = root->directory;
    c.program = root->program;
    return tc_kata_spec(&c);
}

static int send_order(struct tc_cage *cage, int program)
{
    struct kata *k = kata_of(cage);
    struct tc_engine_config config = {0};
    char name[TC_ULID_SIZE] = "";
    _autofree_ char *runtime = name_runtime(cage), *fifos = find_fifos(cage);
    const struct tc_engine_order order = {.engine = engine_of(cage),
                                          .socket = &k->socket,
                                          .repository = "localhost/toolcage-guest",
                                          .program = program,
                                          .name = name,
                                          .runtime = runtime,
                                          .fifos = fifos};
    bool fine = runtime && fifos && tc_ulid(name) == 0;
    _autofree_ char *image = fine ? tc_engine_order(cage, &order, &config) : NULL;
    config.create = image ? describe_container(cage, image) : NULL;
    config.port = k->theirs[0];
    config.console = k->theirs[1];
    return tc_engine_send(cage, k->control, &config);
}

/* ---- the start ---- */

static int open_lines(struct tc_cage *cage)
{
    struct kata *k = kata_of(cage);
    int both[2], errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
        return tc_engine_fail_start(cage, "streams");
    k->ours[0] = both[0];
    k->theirs[0] = both[1];
    if (pipe2(errors, O_CLOEXEC) < 0)
        return tc_engine_fail_start(cage, "streams");
    k->ours[1] = errors[0];
    k->theirs[1] = errors[1];
    TC_PRIV(cage)->task.port = k->ours[0];
    TC_PRIV(cage)->task.console = k->ours[1];
    return 0;
}

/* Closes the ends that both processes have inherited. */
static void let_go(struct kata *k)
{
    int *fds[] = {&k->ours[0], &k->ours[1], &k->theirs[0], &k->theirs[1]};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        (void)close(TAKE_FD(*fds[i]));
}

static int start_kata(struct tc_cage *cage)
{
    struct kata *k = kata_of(cage);
    _autofd_ int engine = -1, guest = -1;
    if (tc_engine_find(cage, "toolcage-engine", &engine) < 0 ||
        tc_engine_find(cage, "toolcage-guest", &guest) < 0 || find_root(cage, guest) < 0 ||
        open_lines(cage) < 0 || tc_vm_cage_start(cage) < 0 || clone_child(cage, engine) < 0 ||
        send_order(cage, guest) < 0)
        return -1;
    let_go(k);
    return tc_events_add(cage, k->control, EPOLLIN) < 0
               ? tc_engine_fail_start(cage, "event descriptor")
               : 0;
}

/* ---- messages from toolcage-engine ---- */

static void hang_up(struct tc_cage *cage)
{
    struct kata *k = kata_of(cage);
    if (k->control < 0)
        return;
    tc_events_drop(cage, k->control);
    (void)close(TAKE_FD(k->control));
}

/* Strings from the engine are untrusted; toolcage-engine has shortened them and reduced them to
 * plain words. A stage of its own start is reported as every child reports it. */
static void read_message(struct tc_cage *cage)
{
    struct kata *k = kata_of(cage);
    union {
        struct tc_engine_message said;
        struct tc_report report;
    } in;
    ssize_t n = 0;
    while (k->control >= 0 && (n = recv(k->control, &in, sizeof(in), MSG_DONTWAIT)) > 0) {
        in.said.text[sizeof(in.said.text) - 1] = '\0';
        bool word = n == (ssize_t)sizeof(in.said) && in.said.kind == TC_ENGINE_FAILED;
        if (!k->failed && word)
            memcpy(k->said, in.said.text, sizeof(k->said));
        if (!k->failed && !word && n == (ssize_t)sizeof(in.report))
            (void)snprintf(k->said, sizeof(k->said), "toolcage-engine cannot be started: %s",
                           strerror(in.report.errnum));
        k->failed = k->failed || word || n == (ssize_t)sizeof(in.report);
    }
    if (n == 0)
        hang_up(cage);
}

static int fail_engine(struct tc_cage *cage)
{
    const struct kata *k = kata_of(cage);
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "engine", k->socket.path,
               "[backend.kata] runtime names it as this engine does; `toolcage doctor` shows what "
               "is here of Kata; backend = \"qemu\" gives each call a separate kernel, too"),
        -1, "%s at %s did not run the container: %s", engine_of(cage), k->socket.path, k->said);
}

static int event(struct tc_cage *cage)
{
    const struct kata *k = kata_of(cage);
    read_message(cage);
    if (k->failed && !cage->over && !cage->outcome->failure.code && !tc_vm_cage_killed(cage))
        return fail_engine(cage);
    return tc_process_event(cage);
}

/* ---- the end of the cage ---- */

static void signal_cage(struct tc_cage *cage, bool kill)
{
    tc_vm_cage_signal(cage, kill);
    if (kill)
        hang_up(cage);
}

/* toolcage-vm has ended; closing the socket lets toolcage-engine remove the container. */
static void reap_kata(struct tc_cage *cage)
{
    tc_process_reap(cage);
    read_message(cage);
    hang_up(cage);
}

static const char *usage_of_kata(struct tc_cage *cage)
{
    if (kata_of(cage)->failed && !cage->outcome->failure.code && !tc_vm_cage_killed(cage))
        (void)fail_engine(cage);
    return tc_vm_cage_usage(cage);
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct kata *k = kata_of(cage);
    if (!tc_vm_cage_destroy(cage, may_block))
        return false;
    if (k) {
        close_all(k);
        free(k->root);
    }
    free(k);
    return true;
}

const struct tc_executor tc_kata_executor = {.name = "kata",
                                             .make = make_kata,
                                             .prepare = tc_process_prepare,
                                             .start = start_kata,
                                             .event = event,
                                             .signal = signal_cage,
                                             .reap = reap_kata,
                                             .usage = usage_of_kata,
                                             .destroy = destroy};

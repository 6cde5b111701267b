/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/oci/bundle.h"
#include "backend/oci/stages.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "base/sys.h"
#include "linux/mounts.h"

enum { STUCK_MS = 2000 }; /* that the kernel may take to end what was killed */

static int make_root(void)
{
    static const char *const directories[] = {"proc", "tmp", &TC_OCI_TALK[1]};
    _autofd_ int fd = tc_tmpfs(1 << 20, 0, "0755", true);
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        if (fd < 0 || tc_mkdirs(fd, directories[i]) < 0)
            return -1;
    return tc_put_file(fd, &TC_OCI_INIT[1], "", 0, 0444) < 0 ? -1 : TAKE_FD(fd);
}

static bool ends_within(int pidfd, int ms)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    int64_t until = tc_now_us() + (int64_t)ms * 1000, left = ms;
    while (left > 0) {
        int n = poll(&p, 1, (int)left);
        if (n > 0)
            return true;
        left = (until - tc_now_us() + 999) / 1000;
    }
    return false;
}

/* Did a stage before the runtime fail? */
static bool never_began(int report)
{
    struct tc_report r;
    size_t count;
    return tc_recv(report, &r, sizeof(r), NULL, 0, &count, NULL, NULL, false) == sizeof(r) &&
           r.kind == TC_REPORT_FAILED;
}

/* What the kernel does not let go of even then runs nothing any more, and goes with the helper. */
static void end(pid_t pid, int pidfd)
{
    (void)kill(pid, SIGKILL);
    if (ends_within(pidfd, STUCK_MS))
        (void)waitpid(pid, NULL, 0);
}

/* The runtime passes PID 1's exit code on. */
static enum tc_oci_finding judge(pid_t pid, int pidfd, int report, int bundle, char **ret_why)
{
    int status = 0;
    if (!ends_within(pidfd, TC_OCI_TRIAL_MS)) {
        end(pid, pidfd);
        *ret_why = tc_format("it did not answer within %d s", TC_OCI_TRIAL_MS / 1000);
        return TC_OCI_FAILS;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == TC_OCI_NOTHING)
        return TC_OCI_WORKS;
    if (never_began(report))
        return TC_OCI_UNTRIED;
    *ret_why = tc_oci_last_words(bundle);
    return TC_OCI_FAILS;
}

static enum tc_oci_finding run(struct tc_box *box, char **ret_why)
{
    int pair[2], pidfd_ = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return TC_OCI_UNTRIED;
    _autofd_ int ours = pair[0], theirs = pair[1];
    box->helper = ours;
    box->report = theirs;
    pid_t pid = tc_process_clone(NULL, box, &pidfd_);
    _autofd_ int pidfd = pidfd_;
    if (pid < 0)
        return TC_OCI_UNTRIED;
    (void)close(TAKE_FD(theirs));
    if (tc_process_map_ids(pid, box, ours) < 0) {
        end(pid, pidfd);
        return TC_OCI_UNTRIED;
    }
    return judge(pid, pidfd, ours, box->bundle, ret_why);
}

enum tc_oci_finding tc_oci_try(const struct tc_cage *cage, const struct tc_oci_runtime *runtime,
                               const char *path, const char *option, char **ret_why)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const char *words[TC_OCI_WORDS];
    _autofree_ char *config = tc_oci_config(&(struct tc_plan){0}, TC_OCI_SENTRY);
    _autofd_ int bundle = config ? tc_oci_bundle(p->trees.id, config) : -1;
    _autofd_ int root = make_root(), self = tc_oci_self(),
                 null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct tc_box_mount init = {.fd = self, .path = &TC_OCI_INIT[1]};
    struct tc_box box = {.stages = &tc_oci_stages,
                         .bundle = bundle,
                         .root = root,
                         .image = -1,
                         .runtime = words,
                         .hides_groups = runtime->hides_groups,
                         .mounts = &init,
                         .mount_count = 1,
                         .in = null,
                         .out = null,
                         .err = null};
    tc_oci_command(runtime, path, option, false, words);
    tc_oci_root_ids(p, &box);
    return bundle < 0 || root < 0 || self < 0 || null < 0 ? TC_OCI_UNTRIED : run(&box, ret_why);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each stage of each cage says which clause it is for, and what to do where it fails; and each of
 * these words is said of some place. */
#include "cage/stages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/engine/order.h"
#include "backend/landlock/child.h"
#include "backend/oci/bundle.h"
#include "cage/init_config.h"
#include "policy/clauses.h"
#include "test.h"

static const int errors[] = {0,      EPERM,  EACCES, ENOENT, ENOMEM, EINVAL, ENOSPC,
                             EUSERS, ENOSYS, EMFILE, EBUSY,  EAGAIN, ESTALE};

static void is_whole(const struct tc_stage *stage)
{
    for (size_t i = 0; i < TC_COUNT(errors); i++)
        if (strlen(tc_process_fix(stage->lack, errors[i])) < 20)
            fail_msg("stage %s: no hint for errno %d", stage->name, errors[i]);
}

/* What a stage is for is the same in each cage. */
static const struct {
    const char *name;
    int clause;
    enum tc_process_lack lack;
} meanings[] = {
    {"namespaces", TC_CLAUSE_PRIV_NONE, TC_LACK_USERNS},
    {"session", TC_CLAUSE_TTY_NONE, TC_LACK_OTHER},
    {"contained session", TC_CLAUSE_TTY_NONE, TC_LACK_OTHER},
    {"inner namespace", TC_CLAUSE_IDS_UNPRIVILEGED, TC_LACK_OTHER},
    {"ids", TC_CLAUSE_IDS_UNPRIVILEGED, TC_LACK_OTHER},
    {"inner ids", TC_CLAUSE_IDS_UNPRIVILEGED, TC_LACK_OTHER},
    {"loopback", TC_CLAUSE_NET_NONE, TC_LACK_OTHER},
    {"hostname", TC_CLAUSE_PROC_OWN, TC_LACK_OTHER},
    {"root", TC_CLAUSE_FS_READ, TC_LACK_OTHER},
    {"bundle", TC_CLAUSE_FS_READ, TC_LACK_OTHER},
    {"proc", TC_CLAUSE_PROC_OWN, TC_LACK_PROC},
    {"inner proc", TC_CLAUSE_PROC_OWN, TC_LACK_OTHER},
    {"pivot", TC_CLAUSE_FS_READ, TC_LACK_OTHER},
    {"call", TC_CLAUSE_PROC_SURVIVORS, TC_LACK_OTHER},
    {"orders", TC_CLAUSE_PROC_SURVIVORS, TC_LACK_OTHER},
    {"network", TC_CLAUSE_NET_ALLOW, TC_LACK_FILTER},
    {"trees", TC_CLAUSE_FS_READ, TC_LACK_PATH},
    {"talk", TC_CLAUSE_PROC_SURVIVORS, TC_LACK_OTHER},
    {"groups", TC_CLAUSE_LIMIT_MEMORY, TC_LACK_OTHER},
    {"directory", TC_CLAUSE_FS_READ, TC_LACK_OTHER},
    {"terminals", TC_CLAUSE_TTY_NONE, TC_LACK_OTHER},
    {"terminal", TC_CLAUSE_TTY_NONE, TC_LACK_OTHER},
    {"cwd", TC_CLAUSE_FS_READ, TC_LACK_CWD},
    {"privileges", TC_CLAUSE_PRIV_NONE, TC_LACK_OTHER},
    {"inner privileges", TC_CLAUSE_PRIV_NONE, TC_LACK_OTHER},
    {"landlock", TC_CLAUSE_FS_WRITE, TC_LACK_OTHER},
    {"descriptors", TC_CLAUSE_FDS_CLEAN, TC_LACK_OTHER},
    {"inner descriptors", TC_CLAUSE_FDS_CLEAN, TC_LACK_OTHER},
    {"rlimits", TC_CLAUSE_LIMIT_OPEN_FILES, TC_LACK_OTHER},
    {"inner rlimits", TC_CLAUSE_LIMIT_OPEN_FILES, TC_LACK_OTHER},
    {"report", TC_CLAUSE_PROC_SURVIVORS, TC_LACK_OTHER},
    {"parent", TC_CLAUSE_PROC_SURVIVORS, TC_LACK_OTHER},
    {"second filter", TC_CLAUSE_FS_WRITE, TC_LACK_OTHER},
    {"seccomp", TC_CLAUSE_SYSCALLS, TC_LACK_OTHER},
    {"inner seccomp", TC_CLAUSE_SYSCALLS, TC_LACK_OTHER},
};

/* No wall is left out, and none is raised before another that needs it down. */
static const struct {
    const struct tc_stages *stages;
    const char *order;
} cages[] = {
    {NULL, " namespaces, session, ids, loopback, hostname, root, proc, terminals, pivot, call, "
           "network, trees,"
           " terminal, cwd, privileges, landlock, descriptors, rlimits, parent, seccomp,"},
    {&tc_contained_stages,
     " contained session, namespaces, ids, loopback, hostname, root, proc, terminals, pivot, "
     "network,"
     " trees, cwd, privileges, landlock, descriptors, rlimits, parent, seccomp,"},
    {&tc_oci_stages, " namespaces, session, ids, network, bundle, proc, trees, talk, groups,"
                     " directory, descriptors, report, parent,"},
    {&tc_oci_inner_stages,
     " inner namespace, inner ids, inner proc, orders, trees, cwd, inner privileges,"
     " inner descriptors, inner rlimits, inner seccomp,"},
    {&tc_engine_stages, " session, privileges, descriptors,"},
    {&tc_landlock_stages,
     " session, cwd, privileges, descriptors, rlimits, second filter, seccomp,"},
};

static void means_the_same(const struct tc_stage *stage)
{
    size_t m = 0;
    while (m < TC_COUNT(meanings) && strcmp(meanings[m].name, stage->name) != 0)
        m++;
    if (m == TC_COUNT(meanings) || meanings[m].clause != stage->clause ||
        meanings[m].lack != stage->lack)
        fail_msg("stage %s is for something else", stage->name);
    is_whole(stage);
}

static void stages_of_each_cage_are_in_order(void **state)
{
    for (size_t i = 0; i < TC_COUNT(cages); i++) {
        const struct tc_init_config init = {.stages = cages[i].stages};
        int base = cages[i].stages ? cages[i].stages->base : 0;
        _autobuf_ struct tc_buf order = TC_BUF_INIT;
        const struct tc_stage *stage;
        for (int n = base; (stage = tc_init_stage(&init, n))->run; n++) {
            means_the_same(stage);
            tc_buf_addf(&order, " %s,", stage->name);
        }
        assert_string_equal(order.data, cages[i].order);
    }
}

static void says_it(enum tc_process_lack lack, int errnum, const char *words)
{
    const char *fix = tc_process_fix(lack, errnum);
    if (!strstr(fix, words))
        fail_msg("lack %d, errno %d: %s", (int)lack, errnum, fix);
}

static void every_lack_has_its_hint(void **state)
{
    says_it(TC_LACK_PRIVILEGE, EPERM, "--cap-add SYS_ADMIN");
    says_it(TC_LACK_PROC, EPERM, "unmount these mounts");
    says_it(TC_LACK_PROC, ENOMEM, "toolcage doctor");
    says_it(TC_LACK_FILTER, ENOENT, "nf_tables");
    says_it(TC_LACK_FILTER, EPERM, "toolcage doctor");
    says_it(TC_LACK_USERNS, ENOSPC, "max_user_namespaces");
    says_it(TC_LACK_OTHER, EUSERS, "max_user_namespaces");
    says_it(TC_LACK_PATH, ENOENT, "toolcage doctor");
    says_it(TC_LACK_CWD, ENOENT, "toolcage doctor");
}

/* ---- in a place of its own ---- */

static void wear_filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog all = {.len = 1, .filter = &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) < 0)
        _exit(77);
}

/* Puts a word where the kernel would say it; a kernel that never says it has no such file. */
static void pretend(const char *path, const char *word)
{
    char file[] = "/tmp/toolcage-unit-XXXXXX";
    int fd = mkstemp(file);
    bool fine = fd >= 0 && write(fd, word, strlen(word)) > 0 &&
                (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                mount(file, path, NULL, MS_BIND, NULL) == 0;
    (void)unlink(file);
    if (!fine)
        _exit(77);
}

static const struct {
    const char *path, *word; /* NULL: a filter is over the process */
    enum tc_process_lack lack;
    int errnum;
    const char *said;
} places[] = {
    {NULL, NULL, TC_LACK_USERNS, EPERM, "a seccomp filter restricts this process"},
    {NULL, NULL, TC_LACK_OTHER, EPERM, "a seccomp filter restricts this process"},
    {NULL, NULL, TC_LACK_OTHER, ENOSYS, "a seccomp filter restricts this process"},
    {NULL, NULL, TC_LACK_OTHER, EINVAL, "toolcage doctor"},
    {"/proc/sys/kernel/unprivileged_userns_clone", "0\n", TC_LACK_USERNS, EPERM,
     "kernel.unprivileged_userns_clone=1"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", TC_LACK_USERNS, EPERM,
     "apparmor-toolcage"},
};

static void hints_depend_on_the_environment(void **state)
{
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            /* what forbids them outright is said first */
            if (!places[i].path && strstr(tc_process_fix(places[i].lack, EPERM), "sysctl kernel."))
                _exit(77);
            if (places[i].path)
                pretend(places[i].path, places[i].word);
            else
                wear_filter();
            _exit(!strstr(tc_process_fix(places[i].lack, places[i].errnum), places[i].said));
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            print_message("# not tried here: %s\n", places[i].said);
        else if (WEXITSTATUS(status) != 0)
            fail_msg("lack %d, errno %d: not %s", (int)places[i].lack, places[i].errnum,
                     places[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_of_each_cage_are_in_order),
        cmocka_unit_test(every_lack_has_its_hint),
        cmocka_unit_test(hints_depend_on_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The key `syscalls`. Calls that can be added to the profile are a closed list: those that act only
 * on the cage's own processes and memory. Calls to remove must be in the profile: a misspelt name
 * would silently remove nothing. */
#include <stdio.h>
#include <string.h>

#include "policy/names/syscall_names.h"
#include "policy/parse/parse.h"

enum { NAMES_MAX = 256, NAME_MAX_BYTES = 40 };

/* System calls that cannot be denied. PID 1 of the cage runs under the same filter: it uses them to
 * start the tool, wait for its exit, kill remaining processes and report. Tools need some of them
 * to start, exit or write output. */
static const char *const needed[] = {
    "execve", "execveat", "exit", "exit_group",     "rt_sigreturn",    "restart_syscall", "read",
    "write",  "close",    "mmap", "rt_sigprocmask", "rt_sigtimedwait", "clone",           "vfork",
    "setsid", "ioctl",    "stat", "newfstatat",     "sendmsg",         "recvfrom",        "poll",
    "ppoll",  "wait4",    "kill", "futex",          "getrusage",       "clock_gettime"};

/* Can it be a system call's name? False after a finding. */
static bool is_name(struct tc_parse *p, const struct tc_node *array, const struct tc_node *item)
{
    const char *name = item->kind == TC_NODE_STRING ? item->text : "";
    if (name[0] && strlen(name) <= NAME_MAX_BYTES &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name))
        return true;
    tc_parse_bad_in(p, array, item, "write it as in \"ptrace\"",
                    "this is not the name of a system call");
    return false;
}

static bool judge_allow(struct tc_parse *p, const struct tc_node *node, const struct tc_node *item)
{
    static const char hint[] = "these can be allowed: ptrace, process_vm_readv, process_vm_writev, "
                               "process_madvise, kcmp, move_pages, migrate_pages and "
                               "name_to_handle_at";
    if (!is_name(p, node, item))
        return false;
    if (tc_syscall_allowable(item->text))
        return true;
    const char *why = tc_syscall_never(item->text);
    if (why)
        tc_parse_bad_in(p, node, item, hint, "%s is never allowed: %s", item->text, why);
    else
        tc_parse_bad_in(p, node, item, hint, "%s is not among the calls that a policy may allow",
                        item->text);
    return false;
}

static bool judge_deny(struct tc_parse *p, const struct tc_node *node, const struct tc_node *item)
{
    char hint[96] = "the profile already refuses what it does not have; remove it";
    if (!is_name(p, node, item))
        return false;
    if (TC_AMONG(needed, item->text)) {
        tc_parse_bad_in(p, node, item,
                        "remove it; `pids` bounds processes, and `network` and `filesystem` "
                        "what they reach",
                        "the cage itself needs %s to run a tool", item->text);
        return false;
    }
    if (tc_syscall_known(item->text))
        return true;
    const char *near = tc_syscall_nearest(item->text);
    if (near)
        (void)snprintf(hint, sizeof(hint), "did you mean \"%s\"?", near);
    tc_parse_bad_in(p, node, item, hint, "the default profile has no system call %s", item->text);
    return false;
}

void tc_set_syscalls_allow(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                           void *into)
{
    tc_parse_names(p, key, node, NAMES_MAX, judge_allow, &((struct tc_spec *)into)->syscalls_allow);
}

void tc_set_syscalls_deny(struct tc_parse *p, const struct tc_key *key, struct tc_node *node,
                          void *into)
{
    tc_parse_names(p, key, node, NAMES_MAX, judge_deny, &((struct tc_spec *)into)->syscalls_deny);
}

void tc_set_syscalls(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    const struct tc_spec *spec = into;
    if (tc_parse_inner(p, TC_SCOPE_SYSCALLS, node, into))
        tc_parse_apart(p, node, &spec->syscalls_allow, &spec->syscalls_deny, "allowed and denied");
}

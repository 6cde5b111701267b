/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/seccomp_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "linux/seccomp_profile.h"
#include "linux/seccomp_watched.h"
#include "seccomp_programs.h" /* made by gen_seccomp.c: programs, and rows by number */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* The kernel copies the instructions and writes nothing back, so the cast drops no promise. */
#define PROGRAM(code)                                                 \
    {                                                                 \
        .len = TC_COUNT(code), .filter = (struct sock_filter *)(code) \
    }
static const struct sock_fprog programs[][2] = {
    [TC_WATCH_NOTHING] = {PROGRAM(plain_code), PROGRAM(plain_unix_code)},
    [TC_WATCH_CALLS] = {PROGRAM(calls_code), PROGRAM(calls_unix_code)},
    [TC_WATCH_PATHS] = {PROGRAM(paths_code), PROGRAM(paths_unix_code)},
    [TC_WATCH_ACCESSES] = {PROGRAM(accesses_code), PROGRAM(accesses_unix_code)}};

const struct sock_fprog *tc_seccomp_program(enum tc_seccomp_watch watch, bool unix_sockets)
{
    return &programs[watch][unix_sockets];
}

static int set_filter(const struct sock_fprog *program, unsigned long flags)
{
    return (int)tc_sys(SYS_seccomp, SECCOMP_SET_MODE_FILTER, (long)flags, TC_ARG(program), 0, 0, 0);
}

bool tc_seccomp_waits(void)
{
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    return set_filter(NULL, flags) < 0 && errno == EFAULT;
}

int tc_seccomp_install(const struct sock_fprog *program, bool listens)
{
    if (!listens)
        return set_filter(program, 0);
    /* A signal must not make a notified call restart and be reported twice; kernels before 5.19
     * lack the flag and do so, which costs a duplicate in the list and nothing else. */
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    int fd = set_filter(program, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    return fd < 0 && errno == EINVAL ? set_filter(program, flags) : fd;
}

const struct tc_seccomp_row *tc_seccomp_row(int nr)
{
    size_t low = 0, high = TC_COUNT(rows_by_number);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rows_by_number[middle].nr == nr)
            return &tc_seccomp_rows[rows_by_number[middle].row];
        if (rows_by_number[middle].nr < nr)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool condition_holds(const struct tc_seccomp_cond *cond, const uint64_t args[6])
{
    uint64_t whole = args[cond->arg % TC_SECCOMP_ARGS];
    uint32_t value = (uint32_t)(cond->arg < TC_SECCOMP_ARGS ? whole : whole >> 32);
    switch (cond->op) {
    case TC_SECCOMP_EQ:
        return (value & cond->mask) == cond->value;
    case TC_SECCOMP_NE:
        return (value & cond->mask) != cond->value;
    case TC_SECCOMP_ANY:
        return (value & cond->value) != 0;
    case TC_SECCOMP_ALWAYS:
    default:
        return true;
    }
}

static const struct tc_seccomp_step *first_step(const struct tc_seccomp_step *step,
                                                const uint64_t args[6])
{
    while (!condition_holds(&step->cond[0], args) || !condition_holds(&step->cond[1], args))
        step++;
    return step;
}

/* What the row says where unix sockets are granted. */
static const struct tc_seccomp_row *with_sockets(const struct tc_seccomp_row *row)
{
    for (size_t i = 0; row && i < TC_COUNT(tc_seccomp_unix_rows); i++)
        if (strcmp(tc_seccomp_unix_rows[i].name, row->name) == 0)
            return &tc_seccomp_unix_rows[i];
    return row;
}

int tc_seccomp_answer(bool unix_sockets, int nr, const uint64_t args[6], const char **ret_name,
                      bool *ret_probe)
{
    const struct tc_seccomp_row *row =
        unix_sockets ? with_sockets(tc_seccomp_row(nr)) : tc_seccomp_row(nr);
    enum tc_seccomp_verdict verdict = row ? row->verdict : TC_SECCOMP_ABSENT;
    int errnum = row ? row->errnum : TC_SECCOMP_UNNAMED;
    if (verdict == TC_SECCOMP_CHECK) {
        const struct tc_seccomp_step *step = first_step(row->steps, args);
        verdict = step->verdict;
        errnum = step->errnum;
    }
    if (ret_name)
        *ret_name = row ? row->name : "?";
    if (ret_probe)
        *ret_probe = verdict == TC_SECCOMP_PROBE;
    bool shown = verdict == TC_SECCOMP_ALLOW && tc_seccomp_paths(nr, &(size_t){0});
    if (verdict == TC_SECCOMP_ASK || shown)
        return 0;
    /* No other allowed call is notified; were it, "go on" would be a hole. */
    return errnum ? errnum : TC_SECCOMP_UNNAMED;
}

int tc_seccomp_number(const char *name, bool *ret_refused)
{
    size_t row = 0;
    *ret_refused = false;
    while (row < TC_COUNT(tc_seccomp_rows) && strcmp(tc_seccomp_rows[row].name, name) != 0)
        row++;
    if (row == TC_COUNT(tc_seccomp_rows))
        return TC_SECCOMP_NO_NAME;
    *ret_refused = tc_seccomp_rows[row].verdict == TC_SECCOMP_REFUSE;
    for (size_t i = 0; i < TC_COUNT(rows_by_number); i++)
        if (rows_by_number[i].row == (int)row)
            return rows_by_number[i].nr;
    return TC_SECCOMP_NOT_HERE;
}

const struct tc_seccomp_watched *tc_seccomp_paths(int nr, size_t *ret_count)
{
    size_t first = 0, last;
    while (first < TC_COUNT(numbers_watched) && numbers_watched[first] != nr)
        first++;
    if (nr < 0 || first == TC_COUNT(numbers_watched))
        return NULL;
    for (last = first; last < TC_COUNT(numbers_watched) && numbers_watched[last] == nr;)
        last++;
    *ret_count = last - first;
    return &tc_seccomp_watched[first];
}

void tc_seccomp_wake_here(int listener)
{
#ifdef SECCOMP_IOCTL_NOTIF_SET_FLAGS
    (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
#else
    enum { SYNC_WAKE_UP = 1 };
    (void)ioctl(listener, _IOW('!', 4, uint64_t), SYNC_WAKE_UP);
#endif
}

/* ---- a policy's changes ---- */

/* Of each program: it kills other architectures, then loads the number. */
enum { HEAD = 4 };

static bool add_numbers(int *numbers, size_t *count, const struct tc_strv *names, bool allows,
                        const char **ret_bad)
{
    for (size_t i = 0; i < names->count; i++) {
        bool refused;
        int nr = tc_seccomp_number(names->items[i], &refused);
        bool fine = nr != TC_SECCOMP_NO_NAME && (refused || !allows);
        if (!fine || *count == TC_SECCOMP_CHANGES_MAX) {
            *ret_bad = names->items[i];
            return false;
        }
        if (nr >= 0)
            numbers[(*count)++] = nr;
    }
    return true;
}

bool tc_seccomp_changes(struct tc_seccomp_changes *ret, const struct tc_strv *deny,
                        const struct tc_strv *allow, const char **ret_bad)
{
    *ret = (struct tc_seccomp_changes){.denied_count = 0};
    return add_numbers(ret->denied, &ret->denied_count, deny, false, ret_bad) &&
           add_numbers(ret->allowed, &ret->allowed_count, allow, true, ret_bad);
}

bool tc_seccomp_denied(const struct tc_seccomp_changes *changes, int nr)
{
    for (size_t i = 0; i < changes->denied_count; i++)
        if (changes->denied[i] == nr)
            return true;
    return false;
}

static size_t add_return(struct sock_filter *code, int nr, unsigned ret)
{
    code[0] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)nr};
    code[1] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, ret};
    return 2;
}

size_t tc_seccomp_change(const struct sock_fprog *base, const struct tc_seccomp_changes *changes,
                         enum tc_seccomp_watch watch, struct sock_filter *code)
{
    unsigned refusal = watch ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
    size_t len = HEAD;
    if (base->len + 2 * (changes->denied_count + changes->allowed_count) > TC_SECCOMP_CODE_MAX)
        return 0;
    memcpy(code, base->filter, HEAD * sizeof(*code));
    for (size_t i = 0; i < changes->denied_count; i++)
        len += add_return(code + len, changes->denied[i], refusal);
    for (size_t i = 0; i < changes->allowed_count; i++)
        len += add_return(code + len, changes->allowed[i], SECCOMP_RET_ALLOW);
    memcpy(code + len, base->filter + HEAD, (base->len - HEAD) * sizeof(*code));
    return len + base->len - HEAD;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Build tool: turns seccomp_profile.h into classic BPF programs, one for each watch level, with and
 * without unix sockets, and tables of rows by system call number, as a C header on standard output.
 *
 * libseccomp resolves names to numbers. It does not emit the programs: its rules of one call
 * with different actions cannot be ordered, and the checks here are ordered lists. The program
 * is a binary search over ranges of numbers with one verdict each, followed by the argument
 * checks. The kernel caches calls that are always allowed, so their place in the tree does not
 * matter. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/seccomp_filter.h"
#include "linux/seccomp_profile.h"
#include "linux/seccomp_watched.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    ROWS = COUNT(tc_seccomp_rows),
    WATCHED = COUNT(tc_seccomp_watched),
    NUMBERS_MAX = 1024,
    CODE_MAX = BPF_MAXINSNS
};

/* Names newer than the libseccomp of a supported distribution; since 424 numbers are the same on
 * every architecture. */
static const struct {
    const char *name;
    int nr;
} newer[] = {{"fchmodat2", 452},     {"map_shadow_stack", 453}, {"futex_wake", 454},
             {"futex_wait", 455},    {"futex_requeue", 456},    {"mseal", 462},
             {"setxattrat", 463},    {"getxattrat", 464},       {"listxattrat", 465},
             {"removexattrat", 466}, {"open_tree_attr", 467}};

struct program {
    struct sock_filter code[CODE_MAX];
    size_t len;
    enum tc_seccomp_watch watch;
    bool unix_sockets;
};

/* A range of numbers with one verdict: a RET value, or the check of a row. */
struct range {
    unsigned first;
    unsigned ret;
    const struct tc_seccomp_step *steps;
    bool shown;  /* calls that the check allows are notified */
    size_t jump; /* index of the JA to the check */
};

static int row_of[NUMBERS_MAX];
static int watched_at[WATCHED]; /* its number, or negative */

static void fail_generator(const char *what, const char *subject)
{
    fprintf(stderr, "gen_seccomp: %s: %s\n", what, subject);
    exit(1);
}

static int resolve(const char *name, unsigned arch)
{
    int nr = seccomp_syscall_resolve_name_arch(arch, name);
    for (size_t i = 0; nr == __NR_SCMP_ERROR && i < COUNT(newer); i++) {
        if (strcmp(newer[i].name, name) == 0)
            nr = newer[i].nr;
    }
    if (nr == __NR_SCMP_ERROR)
        fail_generator("no such system call", name);
    return nr; /* other negative numbers: not on this architecture */
}

static void fill_rows(unsigned arch)
{
    for (size_t i = 0; i < NUMBERS_MAX; i++)
        row_of[i] = -1;
    for (size_t i = 0; i < ROWS; i++) {
        int nr = resolve(tc_seccomp_rows[i].name, arch);
        if (nr >= NUMBERS_MAX)
            fail_generator("number too large", tc_seccomp_rows[i].name);
        if (nr >= 0 && row_of[nr] >= 0)
            fail_generator("named twice", tc_seccomp_rows[i].name);
        if (nr >= 0)
            row_of[nr] = (int)i;
    }
}

static void fill_watched(unsigned arch)
{
    for (size_t i = 0; i < WATCHED; i++) {
        watched_at[i] = resolve(tc_seccomp_watched[i].name, arch);
        if (watched_at[i] >= 0 && row_of[watched_at[i]] < 0)
            fail_generator("watched, but not in the profile", tc_seccomp_watched[i].name);
    }
}

/* Is the call notified although it is allowed? */
static bool is_shown(const struct program *p, unsigned nr)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (watched_at[i] == (int)nr && p->watch >= TC_WATCH_PATHS)
            return true;
    return false;
}

static void emit(struct program *p, unsigned short op, unsigned char jt, unsigned char jf,
                 unsigned k)
{
    if (p->len == CODE_MAX)
        fail_generator("program too long", "BPF_MAXINSNS");
    p->code[p->len++] = (struct sock_filter){op, jt, jf, k};
}

static unsigned outcome(const struct program *p, enum tc_seccomp_verdict verdict, int errnum,
                        bool shown)
{
    switch (verdict) {
    case TC_SECCOMP_ALLOW:
        return shown ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    case TC_SECCOMP_BROKER:
        return SECCOMP_RET_USER_NOTIF;
    case TC_SECCOMP_ASK:
        return p->watch ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    case TC_SECCOMP_REFUSE:
    case TC_SECCOMP_PROBE:
        return p->watch ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | (unsigned)errnum;
    case TC_SECCOMP_ABSENT:
        return SECCOMP_RET_ERRNO | (unsigned)errnum;
    case TC_SECCOMP_CHECK:
    default:
        fail_generator("a check is no outcome", "verdict");
        return SECCOMP_RET_KILL_PROCESS;
    }
}

/* ---- the search over numbers ---- */

static bool same_range(const struct range *a, const struct range *b)
{
    return a->ret == b->ret && a->steps == b->steps && a->shown == b->shown;
}

static const struct tc_seccomp_row *find_row(const struct program *p, unsigned nr)
{
    const struct tc_seccomp_row *row = &tc_seccomp_rows[row_of[nr]];
    for (size_t i = 0; p->unix_sockets && i < COUNT(tc_seccomp_unix_rows); i++)
        if (strcmp(tc_seccomp_unix_rows[i].name, row->name) == 0)
            return &tc_seccomp_unix_rows[i];
    return row;
}

static size_t make_ranges(const struct program *p, struct range *ranges)
{
    size_t count = 0;
    for (unsigned nr = 0; nr < NUMBERS_MAX; nr++) {
        struct range r = {.first = nr, .ret = SECCOMP_RET_ERRNO | TC_SECCOMP_UNNAMED};
        if (row_of[nr] >= 0) {
            const struct tc_seccomp_row *row = find_row(p, nr);
            bool shown = is_shown(p, nr);
            if (row->verdict == TC_SECCOMP_CHECK) {
                r.steps = row->steps;
                r.shown = shown;
            } else {
                r.ret = outcome(p, row->verdict, row->errnum, shown);
            }
        }
        if (!count || !same_range(&ranges[count - 1], &r))
            ranges[count++] = r;
    }
    return count;
}

static void emit_leaf(struct program *p, struct range *r)
{
    r->jump = p->len;
    if (r->steps)
        emit(p, BPF_JMP | BPF_JA, 0, 0, 0); /* patched by emit_checks */
    else
        emit(p, BPF_RET | BPF_K, 0, 0, r->ret);
}

/* Every instruction costs time on every call of a tool. So a conditional jump goes straight to
 * the upper half, and through a JA only where that is out of reach. */
enum { REACH = 255 };

static size_t search_length(size_t count)
{
    if (count == 1)
        return 1;
    size_t lower = search_length(count / 2);
    return 1 + (lower > REACH) + lower + search_length(count - count / 2);
}

static void emit_search(struct program *p, struct range *ranges, size_t count)
{
    if (count == 1) {
        emit_leaf(p, ranges);
        return;
    }
    size_t middle = count / 2, lower = search_length(middle);
    if (lower > REACH) {
        emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, ranges[middle].first);
        emit(p, BPF_JMP | BPF_JA, 0, 0, (unsigned)lower);
    } else {
        emit(p, BPF_JMP | BPF_JGE | BPF_K, (unsigned char)lower, 0, ranges[middle].first);
    }
    emit_search(p, ranges, middle);
    emit_search(p, ranges + middle, count - middle);
}

/* ---- checks by arguments ---- */

static unsigned place(unsigned arg)
{
    unsigned half =
        arg < TC_SECCOMP_ARGS ? 0 : sizeof(uint32_t); /* little-endian, as are both architectures */
    return (unsigned)(offsetof(struct seccomp_data, args) +
                      arg % TC_SECCOMP_ARGS * sizeof(uint64_t)) +
           half;
}

static size_t cond_length(const struct tc_seccomp_cond *cond)
{
    if (cond->op == TC_SECCOMP_ALWAYS)
        return 0;
    return cond->op != TC_SECCOMP_ANY && cond->mask != 0xffffffff ? 3 : 2;
}

/* Falls through when the condition holds, else skips `rest` instructions. */
static void emit_cond(struct program *p, const struct tc_seccomp_cond *cond, size_t rest)
{
    if (cond->op == TC_SECCOMP_ALWAYS)
        return;
    unsigned char skip = (unsigned char)rest;
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, place(cond->arg));
    if (cond->op == TC_SECCOMP_ANY) {
        emit(p, BPF_JMP | BPF_JSET | BPF_K, 0, skip, cond->value);
        return;
    }
    if (cond->mask != 0xffffffff)
        emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, cond->mask);
    bool equal = cond->op == TC_SECCOMP_EQ;
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, equal ? 0 : skip, equal ? skip : 0, cond->value);
}

/* Does the step compare one whole argument and nothing else? */
static bool is_plain(const struct tc_seccomp_step *step)
{
    const struct tc_seccomp_cond *c = step->cond;
    return c[0].op == TC_SECCOMP_EQ && c[0].mask == 0xffffffff && c[1].op == TC_SECCOMP_ALWAYS;
}

/* How many steps from here on compare the same argument and have the same verdict. */
static size_t run_length(const struct tc_seccomp_step *step)
{
    size_t n = 0;
    while (n < REACH && is_plain(&step[n]) && step[n].cond[0].arg == step->cond[0].arg &&
           step[n].verdict == step->verdict && step[n].errnum == step->errnum)
        n++;
    return n;
}

/* One load, one comparison per step, one verdict. */
static void emit_run(struct program *p, const struct tc_seccomp_step *step, size_t count,
                     bool shown)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, place(step->cond[0].arg));
    for (size_t i = 0; i < count; i++)
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(count - 1 - i), i + 1 == count,
             step[i].cond[0].value);
    emit(p, BPF_RET | BPF_K, 0, 0, outcome(p, step->verdict, step->errnum, shown));
}

static void emit_steps(struct program *p, const struct tc_seccomp_step *step, bool shown)
{
    for (;;) {
        size_t run = run_length(step);
        if (run) {
            emit_run(p, step, run, shown);
            step += run;
            continue;
        }
        emit_cond(p, &step->cond[0], cond_length(&step->cond[1]) + 1);
        emit_cond(p, &step->cond[1], 1);
        emit(p, BPF_RET | BPF_K, 0, 0, outcome(p, step->verdict, step->errnum, shown));
        if (step->cond[0].op == TC_SECCOMP_ALWAYS)
            return;
        step++;
    }
}

static void emit_checks(struct program *p, struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!ranges[i].steps)
            continue;
        size_t at = p->len;
        emit_steps(p, ranges[i].steps, ranges[i].shown);
        /* calls that share a check share its code */
        for (size_t j = count; j-- > i;) {
            if (ranges[j].steps != ranges[i].steps || ranges[j].shown != ranges[i].shown)
                continue;
            p->code[ranges[j].jump].k = (unsigned)(at - ranges[j].jump - 1);
            if (j > i)
                ranges[j].steps = NULL;
        }
    }
}

/* ---- output ---- */

static void make_program(struct program *p, unsigned audit_arch)
{
    static struct range ranges[NUMBERS_MAX];
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, audit_arch);
    emit(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    size_t count = make_ranges(p, ranges);
    emit_search(p, ranges, count);
    emit_checks(p, ranges, count);
}

static void print_program(const struct program *p, const char *name)
{
    printf("static const struct sock_filter %s%s_code[] = {\n", name,
           p->unix_sockets ? "_unix" : "");
    for (size_t i = 0; i < p->len; i++)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", p->code[i].code, p->code[i].jt, p->code[i].jf,
               p->code[i].k);
    printf("};\n");
}

static void print_watched(void)
{
    printf("static const short numbers_watched[] = {\n");
    for (size_t i = 0; i < WATCHED; i++)
        printf("    %d,\n", watched_at[i]);
    printf("};\n");
}

int main(int argc, char **argv)
{
    static const char *const names[] = {[TC_WATCH_NOTHING] = "plain",
                                        [TC_WATCH_CALLS] = "calls",
                                        [TC_WATCH_PATHS] = "paths",
                                        [TC_WATCH_ACCESSES] = "accesses"};
    static struct program programs[2 * COUNT(names)];
    const char *name = argc > 1 ? argv[1] : "x86_64";
    bool arm = strcmp(name, "aarch64") == 0;
    if (!arm && strcmp(name, "x86_64") != 0)
        fail_generator("unknown architecture", name);
    fill_rows(arm ? SCMP_ARCH_AARCH64 : SCMP_ARCH_X86_64);
    fill_watched(arm ? SCMP_ARCH_AARCH64 : SCMP_ARCH_X86_64);
    printf("/* made by gen_seccomp for %s; do not edit */\n", name);
    for (size_t i = 0; i < COUNT(programs); i++) {
        programs[i].watch = (enum tc_seccomp_watch)(i / 2);
        programs[i].unix_sockets = i % 2;
        make_program(&programs[i], arm ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64);
        print_program(&programs[i], names[i / 2]);
    }
    printf("static const struct {\n    short nr, row;\n} rows_by_number[] = {\n");
    for (int nr = 0; nr < NUMBERS_MAX; nr++) {
        if (row_of[nr] >= 0)
            printf("    {%d, %d},\n", nr, row_of[nr]);
    }
    printf("};\n");
    print_watched();
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}

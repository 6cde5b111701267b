/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Fails one system call, or one allocation, of one of the processes that a program with libtoolcage
 * starts. It works from outside, by ptrace, on the very binaries that are shipped: no code of the
 * product knows of it.
 *
 *     inject LOG ROLE KIND NTH ERRNO -- HOST ARGUMENT…
 *
 * ROLE is who fails:
 *     host       the program, between its marks (marks.h)
 *     starter    the short-lived children that start the helper
 *     helper     toolcage-helper, all its threads
 *     carrier    a process that only holds a user namespace
 *     collector  a child of the helper that gathers changes
 *     init       PID 1 of a cage
 *     tool       PID 2, until it is the tool
 * KIND is "call" or "alloc" (host by its marks, helper by breakpoints on malloc and its kin).
 * NTH counts from 1, over all processes of the role; 0 only counts. ERRNO is a number; -1 kills the
 * process before the call instead, -2 every process but HOST, -3 every process.
 *
 * Ends when every process that was ever started has ended, with the status of HOST. LOG gets, one a
 * line: "fail NUMBER-OF-THE-CALL" where it was injected (for an allocation of the helper its name
 * and the address it came from), "call NUMBER" for each that was only counted, "seen COUNT", "role
 * ROLE PID", "exec COMMAND… groups GROUP…" for each tool, "hang" when the host did not end, "left
 * ROLE PID" for what had to be killed some seconds after the host's end, "open COUNT" for the
 * descriptors that the helper still had at its end, "heap COUNT" for its allocations. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "marks.h"

enum role { HOST, STARTER, HELPER, CARRIER, COLLECTOR, INIT, TOOL, RUNNING, ROLES };
static const char *const role_names[ROLES] = {"host",      "starter", "helper", "carrier",
                                              "collector", "init",    "tool",   "running"};

enum {
    TASKS = 4096,
    PATIENCE = 8,
    LONGEST = 150,
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
              PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL
};

struct task {
    pid_t pid;
    enum role role;
    bool known;      /* the parent's event came, so the role is right */
    bool stopped;    /* it waits for that */
    bool waited;     /* for a second already */
    bool failing;    /* inside the call that is to fail */
    uint64_t wanted; /* the end that brk() asked for */
    bool counts;     /* the host, and who descends from a helper of the life that counts */
};

static struct task tasks[TASKS];
static size_t task_count;
static FILE *notes;
static struct {
    enum role role;
    bool allocations;
    long nth;
    int errnum;
    bool counting; /* the host is between its marks */
    bool life;     /* helpers that start now count */
    bool over;
    bool done;
} plan;
static long seen[ROLES];

/* ---- processes ---- */

static struct task *find(pid_t pid)
{
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].pid == pid)
            return &tasks[i];
    if (task_count == TASKS) {
        (void)fprintf(stderr, "inject: too many processes\n");
        exit(125);
    }
    tasks[task_count] = (struct task){.pid = pid};
    return &tasks[task_count++];
}

static void forget(struct task *t)
{
    *t = tasks[--task_count];
}

static uint64_t flags_of_clone(pid_t pid, const struct user_regs_struct *regs)
{
    if (regs->orig_rax == SYS_clone)
        return regs->rdi;
    if (regs->orig_rax == SYS_clone3) {
        errno = 0;
        long flags = ptrace(PTRACE_PEEKDATA, pid, regs->rdi, NULL);
        return errno ? 0 : (uint64_t)flags;
    }
    return 0;
}

static enum role role_of_child(enum role parent, uint64_t flags)
{
    if (flags & CLONE_THREAD)
        return parent;
    switch (parent) {
    case HOST:
    case STARTER:
        return STARTER;
    case HELPER:
        return flags & CLONE_NEWPID ? INIT : flags & CLONE_NEWUSER ? CARRIER : COLLECTOR;
    case INIT:
        return TOOL;
    case TOOL:
    case RUNNING:
        return RUNNING;
    case CARRIER:
    case COLLECTOR:
    case ROLES:
        break;
    }
    return parent;
}

/* ---- breakpoints on the helper's allocator ---- */

enum { MALLOC, CALLOC, REALLOC, FREE, HOOKS };
static const char *const hooked[HOOKS] = {"malloc", "calloc", "realloc", "free"};
static struct hook {
    uint64_t address;
    long word; /* as it was */
} hooks[HOOKS];

/* What a thread's storage takes stays with its stack, which libc keeps for the next one. */
static const char *const storage_names[] = {"_dl_allocate_tls", "_dl_deallocate_tls"};
enum { STORAGES = sizeof(storage_names) / sizeof(storage_names[0]) };
static struct {
    uint64_t start, end;
} storage[STORAGES];

static struct {
    pid_t pid;
    long live; /* allocations */
} heap;

static void read_symbol(const char *name, const Elf64_Sym *symbol)
{
    for (int h = 0; symbol->st_value && h < HOOKS; h++)
        if (strcmp(name, hooked[h]) == 0)
            hooks[h].address = symbol->st_value;
    for (int i = 0; symbol->st_value && i < STORAGES; i++) {
        if (strcmp(name, storage_names[i]) != 0)
            continue;
        storage[i].start = symbol->st_value;
        storage[i].end = symbol->st_value + symbol->st_size;
    }
}

static void read_symbols(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    const char *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)file;
    if (file == MAP_FAILED || elf->e_type != ET_EXEC)
        return;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(file + elf->e_shoff);
    for (int i = 0; i < elf->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(file + sections[i].sh_offset);
        const char *names = file + sections[sections[i].sh_link].sh_offset;
        for (size_t s = 0; s < sections[i].sh_size / sizeof(*symbols); s++)
            read_symbol(names + symbols[s].st_name, &symbols[s]);
    }
}

static void set_hooks(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    read_symbols(path);
    heap.pid = pid;
    for (int h = 0; h < HOOKS; h++) {
        if (!hooks[h].address) {
            (void)fprintf(stderr, "inject: the helper has no symbol %s to stop at\n", hooked[h]);
            exit(125);
        }
        hooks[h].word = ptrace(PTRACE_PEEKTEXT, pid, hooks[h].address, NULL);
        (void)ptrace(PTRACE_POKETEXT, pid, hooks[h].address, (hooks[h].word & ~0xffL) | 0xcc);
    }
}

static bool due(const struct task *t)
{
    if (!t->counts || t->role != plan.role || ++seen[t->role] != plan.nth)
        return false;
    plan.done = true;
    return true;
}

/* Executes the instruction under the breakpoint, and that of another thread's past it: what begins
 * a function is one of these. Zero: it is not. */
static int imitate(pid_t pid, struct user_regs_struct *regs, long word)
{
    enum { ZERO = 1 << 6, SIGN = 1 << 7, PARITY = 1 << 2, ARITHMETIC = 0x8d5 };
    const unsigned long long pushed[] = {
        regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp, regs->rsi, regs->rdi,
        regs->r8,  regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15};
    const int first = (int)(word & 0xff), second = (int)(word >> 8 & 0xff);
    const bool high = first == 0x41;
    if (((high ? second : first) & 0xf8) == 0x50) { /* push */
        regs->rsp -= 8;
        (void)ptrace(PTRACE_POKEDATA, pid, regs->rsp,
                     pushed[((high ? second : first) & 7) + (high ? 8 : 0)]);
        return high ? 2 : 1;
    }
    if ((word & 0xffffff) == 0xff8548) { /* test %rdi,%rdi */
        bool even = __builtin_parityll(regs->rdi & 0xff) == 0;
        regs->eflags &= ~(unsigned long long)ARITHMETIC;
        regs->eflags |= (regs->rdi ? 0 : ZERO) | (regs->rdi >> 63 ? SIGN : 0) | (even ? PARITY : 0);
        return 3;
    }
    return (word & 0xffffffff) == 0xfa1e0ff3 ? 4 : 0; /* endbr64 */
}

/* Where it cannot be imitated, another thread may run past the breakpoint meanwhile; then one
 * allocation is not counted. */
static void step_over(pid_t pid, struct user_regs_struct *regs, const struct hook *h)
{
    int status, length = imitate(pid, regs, h->word);
    regs->rip = h->address + (uint64_t)length;
    (void)ptrace(PTRACE_SETREGS, pid, NULL, regs);
    if (length)
        return;
    (void)ptrace(PTRACE_POKETEXT, pid, h->address, h->word);
    (void)ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
    (void)waitpid(pid, &status, __WALL);
    (void)ptrace(PTRACE_POKETEXT, pid, h->address, (h->word & ~0xffL) | 0xcc);
}

/* realloc() of nothing comes by malloc() as well. */
static void count_heap(const struct task *t, int hook, uint64_t caller, uint64_t first)
{
    if (!t->counts || t->role != HELPER)
        return;
    for (int i = 0; i < STORAGES; i++)
        if (caller >= storage[i].start && caller < storage[i].end)
            return;
    heap.live += (hook == MALLOC && first <= INT64_MAX) || hook == CALLOC;
    heap.live -= hook == FREE && first;
}

/* True: it was a breakpoint of ours. What has to fail asks for more than there can be, so that it
 * fails as libc does it. */
static bool at_hook(const struct task *t)
{
    struct user_regs_struct regs;
    int h = 0;
    if (!hooks[0].address || ptrace(PTRACE_GETREGS, t->pid, NULL, &regs) < 0)
        return false;
    while (h < HOOKS && regs.rip != hooks[h].address + 1)
        h++;
    if (h == HOOKS)
        return false;
    uint64_t caller = (uint64_t)ptrace(PTRACE_PEEKDATA, t->pid, regs.rsp, NULL);
    if (plan.allocations && h != FREE && due(t)) {
        (void)fprintf(notes, "fail %s %llx\n", hooked[h], (unsigned long long)caller);
        regs.rdi = h == REALLOC ? regs.rdi : UINT64_MAX;
        regs.rsi = UINT64_MAX;
    } else {
        count_heap(t, h, caller, regs.rdi);
    }
    step_over(t->pid, &regs, &hooks[h]);
    return true;
}

/* ---- system calls ---- */

/* What cannot fail, or whose failure would say that something did not happen which did. A signal to
 * an own child that nobody has waited for always arrives; a futex answers by the words of its own
 * protocol only. */
static bool spared(uint64_t nr)
{
    static const int never[] = {SYS_close,
                                SYS_exit,
                                SYS_exit_group,
                                SYS_getpid,
                                SYS_getuid,
                                SYS_geteuid,
                                SYS_getgid,
                                SYS_getegid,
                                SYS_gettid,
                                SYS_getppid,
                                SYS_rt_sigreturn,
                                SYS_umask,
                                SYS_rt_sigaction,
                                SYS_munmap,
                                SYS_rt_sigprocmask,
                                SYS_arch_prctl,
                                SYS_set_tid_address,
                                SYS_rseq,
                                SYS_set_robust_list,
                                SYS_wait4,
                                SYS_waitid,
                                SYS_sched_yield,
                                SYS_kill,
                                SYS_futex,
                                SYS_restart_syscall};
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        if (nr == (uint64_t)never[i])
            return true;
    return false;
}

/* A mark of the host's; true when the call was one. */
static bool at_mark(struct task *t, struct user_regs_struct *regs)
{
    if (regs->orig_rax != SYS_prctl || regs->rdi != MARK || t->role != HOST)
        return false;
    if (regs->rsi == MARK_LIFE || regs->rsi == MARK_OVER) {
        plan.life = regs->rsi == MARK_LIFE;
        plan.over = !plan.life;
    } else if (regs->rsi != MARK_ALLOCATION) {
        plan.counting = regs->rsi == MARK_BEGIN;
    } else if (plan.allocations && plan.counting && due(t)) {
        (void)fprintf(notes, "fail malloc\n");
        t->failing = true;
    }
    return true;
}

static bool entering(pid_t pid)
{
    struct __ptrace_syscall_info info = {0};
    long n = ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
    return n > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

static void kill_at(const struct task *t)
{
    for (size_t i = 0; i < task_count; i++)
        if (&tasks[i] == t || plan.errnum == -3 || (plan.errnum == -2 && tasks[i].role != HOST))
            (void)kill(tasks[i].pid, SIGKILL);
}

static void enter_call(struct task *t)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, t->pid, NULL, &regs) < 0)
        return;
    if (at_mark(t, &regs) || plan.allocations || spared(regs.orig_rax) ||
        (t->role == HOST && !plan.counting))
        return;
    if (plan.nth == 0 && t->counts && t->role == plan.role)
        (void)fprintf(notes, "call %llu\n", regs.orig_rax);
    if (!due(t))
        return;
    (void)fprintf(notes, "fail %llu %llx %llx %llx\n", regs.orig_rax, regs.rdi, regs.rsi, regs.rdx);
    if (plan.errnum < 0) {
        kill_at(t);
        return;
    }
    t->failing = true;
    if (regs.orig_rax == SYS_brk) {
        t->wanted = regs.rdi;
        regs.rdi = 0; /* it fails by answering where the end is */
    } else {
        regs.orig_rax = SYS_getpid; /* -1 would be judged by the cage's filter */
    }
    (void)ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
}

static void leave_call(struct task *t)
{
    struct user_regs_struct regs;
    if (!t->failing || ptrace(PTRACE_GETREGS, t->pid, NULL, &regs) < 0)
        return;
    t->failing = false;
    if (t->wanted)
        regs.rdi = t->wanted;
    else
        regs.rax = (uint64_t)(plan.allocations ? 0 : -(long long)plan.errnum);
    t->wanted = 0;
    (void)ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
}

/* ---- the loop ---- */

static void resume(struct task *t, int sig)
{
    bool calls = !plan.allocations && t->counts && t->role == plan.role;
    bool watch = t->failing || (t->role == HOST && !plan.over) || (calls && !plan.done);
    (void)ptrace(watch ? PTRACE_SYSCALL : PTRACE_CONT, t->pid, NULL, (long)sig);
}

/* A file of /proc on the line, with spaces between its parts. */
static void note_file(pid_t pid, const char *name)
{
    char path[64], text[2048];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
    for (ssize_t i = 0; i < n; i++)
        (void)fputc(text[i] == '\n' || text[i] == '\0' ? ' ' : text[i], notes);
    if (fd >= 0)
        (void)close(fd);
}

static void note_tool(pid_t pid)
{
    (void)fprintf(notes, "exec ");
    note_file(pid, "cmdline");
    (void)fprintf(notes, "groups ");
    note_file(pid, "cgroup");
    (void)fputc('\n', notes);
}

/* What a helper still has open at its end, without the id maps: it keeps one for each id that its
 * cages had, and which ids these are depends on who else runs cages. */
static void note_descriptors(const struct task *t)
{
    char path[64], link[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)t->pid);
    DIR *dir = t->role == HELPER && t->counts ? opendir(path) : NULL;
    const struct dirent *e;
    int count = 0;
    if (!dir)
        return;
    while ((e = readdir(dir))) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link));
        count += n > 0 && strncmp(link, "user:", 5) != 0;
    }
    (void)closedir(dir);
    (void)fprintf(notes, "open %d\n", count);
    if (t->pid == heap.pid)
        (void)fprintf(notes, "heap %ld\n", heap.live);
}

static void at_exec(struct task *t)
{
    if (t->role == STARTER) {
        t->role = HELPER;
        if (!plan.life)
            return;
        (void)fprintf(notes, "role helper %d\n", (int)t->pid);
        set_hooks(t->pid);
    } else if (t->role == TOOL) {
        t->role = RUNNING;
        if (t->counts)
            note_tool(t->pid);
    }
}

static void at_birth(const struct task *parent)
{
    struct user_regs_struct regs = {0};
    unsigned long pid = 0;
    (void)ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid);
    (void)ptrace(PTRACE_GETREGS, parent->pid, NULL, &regs);
    enum role role = role_of_child(parent->role, flags_of_clone(parent->pid, &regs));
    struct task *child = find((pid_t)pid);
    child->role = role;
    child->counts = parent->role == HOST ? plan.life : parent->counts;
    child->known = true;
    if (child->counts)
        (void)fprintf(notes, "role %s %lu\n", role_names[role], pid);
    if (child->stopped)
        resume(child, 0);
}

static void at_stop(struct task *t, int status)
{
    int sig = WSTOPSIG(status), event = status >> 16;
    if (!t->known && event != PTRACE_EVENT_EXIT) { /* its parent's event comes later */
        t->stopped = true;
        return;
    }
    if (sig == (SIGTRAP | 0x80)) {
        if (entering(t->pid))
            enter_call(t);
        else
            leave_call(t);
        resume(t, 0);
        return;
    }
    if (event == PTRACE_EVENT_EXEC) {
        at_exec(t);
    } else if (event == PTRACE_EVENT_EXIT) {
        note_descriptors(t);
    } else if (event) {
        pid_t pid = t->pid;
        at_birth(t);
        t = find(pid);
    }
    bool ours = event || sig == SIGSTOP || (sig == SIGTRAP && at_hook(t));
    resume(t, ours ? 0 : sig);
}

static void on_alarm(int sig)
{
    (void)sig;
}

static void kill_rest(void)
{
    for (size_t i = 0; i < task_count; i++) {
        (void)fprintf(notes, "left %s %d\n", role_names[tasks[i].role], (int)tasks[i].pid);
        (void)kill(tasks[i].pid, SIGKILL);
    }
}

/* Who was killed while it cloned says nothing of its child, which then goes its own way. */
static void adopt(void)
{
    for (size_t i = 0; i < task_count; i++) {
        struct task *t = &tasks[i];
        if (t->known || !t->stopped)
            continue;
        if (t->waited) {
            t->known = t->counts = true;
            t->role = INIT;
            (void)fprintf(notes, "role orphan %d\n", (int)t->pid);
            resume(t, 0);
        }
        t->waited = true;
    }
}

/* Seconds in which we ran: whoever stops everything for a while is not waited for. */
static void tick(bool ended)
{
    static int seconds, bound;
    int patience = ended ? PATIENCE : LONGEST;
    seconds++;
    adopt();
    if (ended && !bound)
        bound = seconds;
    if (seconds - bound < patience)
        return;
    if (!ended)
        (void)fprintf(notes, "hang\n");
    kill_rest();
}

static int follow(pid_t host)
{
    int status, code = 125;
    bool ended = false;
    const struct itimerval second = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
    pid_t pid;
    (void)setitimer(ITIMER_REAL, &second, NULL);
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid < 0) {
            tick(ended);
            continue;
        }
        struct task *t = find(pid);
        if (WIFSTOPPED(status)) {
            at_stop(t, status);
            continue;
        }
        if (pid == host) {
            ended = true;
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        forget(t);
    }
    return code;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: inject LOG ROLE call|alloc NTH ERRNO -- HOST ARGUMENT…\n");
    return 125;
}

int main(int argc, char **argv)
{
    if (argc < 8 || strcmp(argv[6], "--") != 0 || !(notes = fopen(argv[1], "we")))
        return usage();
    (void)setvbuf(notes, NULL, _IOLBF, 0); /* whole, whatever becomes of us */
    for (plan.role = HOST; plan.role < RUNNING && strcmp(role_names[plan.role], argv[2]) != 0;)
        plan.role++;
    plan.allocations = strcmp(argv[3], "alloc") == 0;
    plan.nth = strtol(argv[4], NULL, 10);
    plan.errnum = (int)strtol(argv[5], NULL, 10);
    if (plan.role == RUNNING)
        return usage();
    pid_t host = fork();
    if (host == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
        (void)execv(argv[7], argv + 7);
        _exit(127);
    }
    int status;
    if (host < 0 || waitpid(host, &status, 0) != host ||
        ptrace(PTRACE_SETOPTIONS, host, NULL, OPTIONS) < 0) {
        perror("inject");
        return 125;
    }
    struct sigaction interrupt = {.sa_handler = on_alarm};
    (void)sigaction(SIGALRM, &interrupt, NULL);
    *find(host) = (struct task){.pid = host, .role = HOST, .known = true, .counts = true};
    resume(find(host), 0);
    int code = follow(host);
    (void)fprintf(notes, "seen %ld\n", seen[plan.role]);
    (void)fclose(notes);
    return code;
}

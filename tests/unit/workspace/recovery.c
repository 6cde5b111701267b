/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Commits whose process is killed, or whose disk is full, at each of the system calls that change
 * anything in turn: after the next start the directories are as before the commit or as the tool
 * had them, and nothing else is left. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "linux/mounts.h"
#include "scene.h"
#include "workspace/copy.h"
#include "workspace/journal.h"
#include "workspace/layer.h"
#include "workspace/state.h"

/* ---- linked in libc's place: from the n-th of these calls on, something is wrong ---- */

/* Every so many steps are tried; TOOLCAGE_SWEEP=1 in the environment tries each. */
static int stride(int usual)
{
    const char *all = getenv("TOOLCAGE_SWEEP");
    return all && all[0] ? 1 : usual;
}

enum trouble { NONE, KILLED, FULL, READ_ONLY };
static enum trouble trouble;
static int steps, last_step;

/* Is the disk full, or are the directories read-only? */
static bool step(void)
{
    if (trouble == NONE || ++steps < last_step)
        return false;
    if (trouble == KILLED)
        (void)raise(SIGKILL);
    errno = trouble == FULL ? ENOSPC : EROFS;
    return true;
}

#define STEP(type, name, fails, arguments, ...)                     \
    type __real_##name arguments;                                   \
    type __wrap_##name arguments;                                   \
    type __wrap_##name arguments                                    \
    {                                                               \
        return step() && (fails) ? -1 : __real_##name(__VA_ARGS__); \
    }

STEP(ssize_t, write, trouble == FULL, (int fd, const void *bytes, size_t len), fd, bytes, len)
STEP(ssize_t, pwrite64, trouble == FULL, (int fd, const void *bytes, size_t len, off_t at), fd,
     bytes, len, at)
STEP(int, renameat2, true, (int a, const char *from, int b, const char *to, unsigned flags), a,
     from, b, to, flags)
STEP(int, unlinkat, false, (int dir, const char *name, int flags), dir, name, flags)
STEP(int, mkdirat, true, (int dir, const char *name, mode_t mode), dir, name, mode)
STEP(int, symlinkat, true, (const char *target, int dir, const char *name), target, dir, name)
STEP(int, fchmod, false, (int fd, mode_t mode), fd, mode)
STEP(int, chmod, false, (const char *path, mode_t mode), path, mode)
STEP(int, fchmodat, false, (int dir, const char *name, mode_t mode, int flags), dir, name, mode,
     flags)
STEP(int, utimensat, false, (int dir, const char *name, const struct timespec *times, int flags),
     dir, name, times, flags)

/* No mount is needed. */
int __wrap_tc_tree_show(struct tc_cage *cage, const struct tc_item *item, int fd);

int __wrap_tc_tree_show(struct tc_cage *cage, const struct tc_item *item, int fd)
{
    (void)item;
    return tc_tree_keep(cage->trees, dup(fd));
}

/* ---- one commit to two directories ---- */

static const char before[] =
    "mkdir host two; cd host; for i in a b z h1 k e; do echo -n 1 >$i; "
    "done; chmod 640 b; ln h1 h2; "
    "ln -s a l; mkdir d x m r r/s; echo -n 1 >d/f; echo -n 1 >d/g; echo "
    "-n 1 >x/y; echo -n 1 >r/s/t; "
    "cd ../two; echo -n 1 >p; mkdir q v v/w; echo -n 1 >q/r; echo -n 1 >v/w/x";
static const char tool[] =
    "cd up1; echo -n two >a; gone b; ln -sfn b l; mkdir -p d; echo -n two >d/f; gone d/g; "
    "[ ! -d x ] || rm -r x; echo -n file >x; rm -f z; mkdir z; echo -n in >z/w; "
    "mkdir -p m; chmod 700 m; gone h1; echo -n three >h2; [ -e k ] || cp -p \"$OLDPWD/host/k\" k; "
    "chmod 755 k; "
    "mkdir -p hk/hooks; echo -n h >hk/hooks/post; mkdir -p n/o; echo -n new >n/o/p; ln -s p n/o/l; "
    "chmod 500 n; chmod 775 n/o; gone r; "
    "cd ../up2; echo -n two >p; mkdir -p q; gone q/r; gone v; echo -n 1 >s; mkdir t; echo -n u "
    ">t/u";

struct call {
    struct scene s;
    struct tc_mount mount;
    struct tc_item items[2];
};

static void open_item(struct call *c, size_t i, const char *from)
{
    struct tc_item *item = &c->items[i];
    char fd[64], target[PATH_MAX], name[8];
    *item = c->s.item;
    struct tc_mount *mount = i ? &c->mount : &c->s.mount;
    mount->from = realpath(from, NULL);
    assert_non_null(mount->from);
    item->mount = mount;
    item->path = mount->path;
    item->context = mount->from;
    item->fd = tc_tree_keep(&c->s.trees, open(from, O_PATH | O_DIRECTORY | O_CLOEXEC));
    assert_true(item->fd >= 0);
    bool overlay = c->s.plan.workspace == TC_WORKSPACE_OVERLAY;
    assert_true((overlay ? tc_overlay_open(&c->s.cage, item, "")
                         : tc_workspace_copy(&c->s.cage, item)) >= 0);
    assert_true(!overlay || item->near);
    (void)snprintf(name, sizeof(name), "up%zu", i + 1);
    if (!overlay) {
        assert_int_equal(rename(SCENE_COPY, name), 0);
        return;
    }
    (void)snprintf(fd, sizeof(fd), "/proc/self/fd/%d", item->copy);
    ssize_t n = readlink(fd, target, sizeof(target) - 1);
    assert_true(n > 0);
    target[n] = '\0';
    assert_int_equal(symlink(target, name), 0);
}

static void begin(struct call *c, int64_t mode)
{
    static char disk[PATH_MAX];
    char here[PATH_MAX - 8];
    scene_new();
    assert_non_null(getcwd(here, sizeof(here)));
    (void)snprintf(disk, sizeof(disk), "%s/disk", here);
    tc_state_set(disk);
    (void)rmdir("host");
    scene_sh(before);
    scene_plan(&c->s, mode, TC_COMMIT_ALWAYS);
    c->s.plan.limits.inodes = 1000;
    c->mount = c->s.mount;
    c->mount.path = (char *)(uintptr_t) "/two";
    c->s.trees.items = c->items;
    c->s.trees.item_count = 2;
    open_item(c, 0, "host");
    open_item(c, 1, "two");
    assert_int_equal(tc_workspace_single_files(&c->s.cage), 0);
    tc_workspace_start(&c->s.workspace);
    (void)usleep(12000);
    char line[sizeof(tool) + 128];
    (void)snprintf(line, sizeof(line), "gone() { %s; }; %s",
                   mode == TC_WORKSPACE_COPY ? "rm -r $1" : "rm -rf $1; mknod $1 c 0 0", tool);
    scene_sh(line);
}

static void end(struct call *c)
{
    tc_layers_remove(&c->s.workspace);
    free(c->mount.from);
    scene_done(&c->s);
}

/* Commits in a process that meets the trouble at its n-th call. Was it killed? */
static bool commit_until(struct call *c, enum trouble which, int n, bool *ret_failed)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        steps = 0;
        last_step = n;
        trouble = which;
        scene_end(&c->s, true);
        trouble = NONE;
        tc_layers_remove(&c->s.workspace);
        _exit(c->s.outcome.failure.code ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *ret_failed = !WIFSIGNALED(status) && WEXITSTATUS(status) == 1;
    return WIFSIGNALED(status);
}

/* Everything in the two directories: names, types, modes, contents. */
static char *picture(void)
{
    struct tc_buf text = TC_BUF_INIT;
    scene_sh("for i in host two; do find $i -printf '%p %y %m %l\\n' | LC_ALL=C sort; "
             "find $i -type f | LC_ALL=C sort | while read -r f; do echo \"$f=$(cat $f)\"; done; "
             "done >picture");
    assert_int_equal(tc_read_file(AT_FDCWD, "picture", &text), 0);
    assert_true(text.len);
    return tc_buf_steal(&text);
}

static char *old_tree, *new_tree;

static void learn(int64_t mode)
{
    struct call c;
    begin(&c, mode);
    free(old_tree);
    old_tree = picture();
    scene_end(&c.s, true);
    if (c.s.outcome.failure.code)
        fail_msg("%s", c.s.outcome.failure.message);
    free(new_tree);
    new_tree = picture();
    end(&c);
}

/* Is the tree the old or the new one? 0: old, 1: new, -1: neither. */
static int which_tree(void)
{
    _autofree_ char *now = picture();
    return strcmp(now, new_tree) == 0 ? 1 : strcmp(now, old_tree) == 0 ? 0 : -1;
}

static void check_whole(const char *what)
{
    if (which_tree() < 0) {
        _autofree_ char *now = picture(), *text = tc_journal_cuts();
        fail_msg("%s, step %d: neither the old nor the new tree:\n%s\n%s", what, last_step, now,
                 text ? text : "no report");
    }
}

static void check_clean(void)
{
    (void)tc_journal_forget();
    (void)tc_layers_sweep();
    scene_expect("forgotten", "journals", scene_tree("state/commits"), "");
    if (access("disk/layers", F_OK) == 0)
        scene_expect("swept", "layers", scene_tree("disk/layers"), "");
}

/* A process that is killed while it completes a commit, or cannot go on. */
static bool sweep_until(enum trouble which, int n)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        steps = 0;
        last_step = n;
        trouble = which;
        (void)tc_journal_sweep();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

static void check_kills(int64_t mode)
{
    struct call c;
    bool failed, killed = true;
    int between = 0, finished = 0, n = 1;
    learn(mode);
    for (; killed; n += stride(7)) {
        begin(&c, mode);
        killed = commit_until(&c, KILLED, n, &failed);
        assert_false(failed);
        end(&c); /* as the helper does, which lives */
        last_step = n;
        int left = which_tree();
        between += left < 0;
        for (int again = 1; n % 2 == 0 && sweep_until(KILLED, again); again += stride(9))
            ;
        if (n % 3 == 0)
            (void)sweep_until(READ_ONLY, 1 + n % 10);
        (void)tc_journal_sweep();
        check_whole("killed");
        finished += left < 0 && which_tree() == 1;
        _autofree_ char *first = tc_journal_notice(), *second = tc_journal_notice();
        assert_true(left >= 0 || which_tree() == 0 || first);
        assert_null(second);
        assert_int_equal(tc_journal_sweep(), 0);
        check_whole("swept again");
        check_clean();
        assert_null(tc_journal_cuts());
    }
    assert_int_equal(which_tree(), 1);
    if (n < 40 || finished < 15 / stride(7))
        fail_msg("%d steps, %d of them between, %d finished", n, between, finished);
}

static bool has_overlay(void)
{
    return geteuid() == 0; /* only root makes whiteouts */
}

static void killed_copy_commit_is_completed(void **state)
{
    (void)state;
    check_kills(TC_WORKSPACE_COPY);
}

static void killed_overlay_commit_is_completed(void **state)
{
    (void)state;
    if (has_overlay())
        check_kills(TC_WORKSPACE_OVERLAY);
}

static void check_full(int64_t mode)
{
    struct call c;
    bool failed = true;
    int unchanged = 0, waited = 0, n = 1;
    learn(mode);
    for (; failed; n += stride(7)) {
        begin(&c, mode);
        assert_false(commit_until(&c, FULL, n, &failed));
        last_step = n;
        int left = which_tree();
        _autofree_ char *now = picture();
        unchanged += left == 0;
        waited += left < 0;
        if (!failed && left != 1)
            fail_msg("step %d: a call that succeeds has committed:\n%s", n, now);
        end(&c);
        (void)tc_journal_sweep();
        check_whole("full");
        if (left == 0) /* the call has said so, and it stays so */
            assert_int_equal(which_tree(), 0);
        check_clean();
    }
    if (!unchanged || waited < 2)
        fail_msg("%d steps, %d unchanged, %d waited", n, unchanged, waited);
}

static void full_disk_leaves_no_half_commit(void **state)
{
    (void)state;
    check_full(TC_WORKSPACE_COPY);
    if (has_overlay())
        check_full(TC_WORKSPACE_OVERLAY);
}

/* ---- what happens between the end of a process and the next start ---- */

static int killed_at; /* the step of the kill */

static void expect_sh(const char *line)
{
    if (system(line) != 0) {
        _autofree_ char *now = picture(), *text = tc_journal_cuts();
        fail_msg("killed at %d: not so: %s\n%s\n%s", killed_at, line, now,
                 text ? text : "no report");
    }
}

static void after_each_kill(int64_t mode, const char *meanwhile, const char *expected)
{
    struct call c;
    bool failed, killed = true;
    for (killed_at = 3; killed; killed_at += stride(19)) {
        begin(&c, mode);
        scene_sh("mkdir out backup; for i in 0 1 f g r p t; do echo -n old >out/$i; done; "
                 "cp -a host two backup");
        killed = commit_until(&c, KILLED, killed_at, &failed);
        end(&c);
        scene_sh(meanwhile);
        (void)tc_journal_sweep();
        expect_sh(expected);
        check_clean();
    }
}

static void meanwhile(const char *work, const char *expected)
{
    after_each_kill(TC_WORKSPACE_COPY, work, expected);
    if (has_overlay())
        after_each_kill(TC_WORKSPACE_OVERLAY, work, expected);
}

static void work_of_the_user_stays(void **state)
{
    (void)state;
    meanwhile("cd host; echo -n mine >a; for i in b k d/f ../two/s; do rm -f $i; "
              "echo -n mine >$i; done; rm -rf z; echo -n mine >z; rm -f ../two/p; "
              "[ ! -e n ] || chmod 700 n; rm -rf n; echo -n mine >n",
              "for i in host/a host/b host/z two/s host/d/f host/k host/n; do "
              "[ \"$(cat $i)\" = mine ] || exit 1; done; [ ! -e two/p ]");
}

static void undone_commit_is_not_repeated(void **state)
{
    (void)state;
    meanwhile("cd backup; for i in host/* two/*; do rm -rf ../$i; cp -a $i ../$i; done",
              "cd backup; for i in $(find host two -type f -o -type l); do "
              "[ \"$(readlink $i; cat $i)\" = \"$(readlink ../$i; cat ../$i)\" ] && "
              "[ \"$(stat -c '%a %s' $i)\" = \"$(stat -c '%a %s' ../$i)\" ] || exit 1; done; "
              "[ $(stat -c %a ../host/m) = 755 ]");
}

static void replaced_directory_is_left_alone(void **state)
{
    (void)state;
    meanwhile("chmod -R u+rwx host; rm -rf host two; cp -a backup/host backup/two .",
              "diff -r --no-dereference host backup/host && diff -r two backup/two && "
              "[ -e host/l ]");
}

static void links_never_lead_a_recovery_out(void **state)
{
    (void)state;
    meanwhile("for i in host/d host/n host/x host/z host/r two/q two/t; do [ ! -d $i ] || "
              "{ mv $i $i.old; ln -s ../out $i; }; done; for i in host/.toolcage-*; do "
              "[ ! -d $i ] || { mv $i here; ln -s ../out $i; }; done",
              "[ \"$(ls out | tr -d '\n')\" = 01fgprt ] && [ \"$(cat out/*)\" = "
              "oldoldoldoldoldoldold ]");
}

static void bare_repository_of_the_user_gets_no_hook(void **state)
{
    (void)state;
    meanwhile("cd host; [ -e hk/hooks/post ] || { mkdir -p hk/objects hk/refs; echo >hk/HEAD; "
              "touch ../bare; }",
              "[ ! -e bare ] || [ ! -e host/hk/hooks/post ]");
}

static void new_directory_of_the_user_gets_nothing(void **state)
{
    (void)state;
    meanwhile("[ -e two/t ] || { mkdir two/t; echo -n mine >two/t/mine; touch made; }",
              "[ ! -e made ] || [ \"$(ls two/t)\" = mine ]");
}

static void changed_staged_files_are_not_installed(void **state)
{
    (void)state;
    static const char untouched[] = "[ -z \"$(grep -rsl evi host two/p two/s two/t)\" ]";
    meanwhile("for i in $(find host two -path '*/.toolcage-*/*' -type f); do "
              "echo -n evil >$i; ln $i two/link.${i##*/}; done",
              untouched);
    meanwhile("for i in $(find host two -path '*/.toolcage-*/*' -type f -size -4c); do "
              "touch -r $i time; echo -n evi >$i; touch -r time $i; done",
              untouched);
}

/* Who may use one directory may not use each. */
static void files_are_staged_where_they_belong(void **state)
{
    (void)state;
    meanwhile("[ $(cat host/.toolcage-*/* 2>/dev/null | grep -o two | wc -l) -le 1 ]", "true");
}

static void changed_list_is_not_applied(void **state)
{
    (void)state;
    meanwhile(
        "for i in state/commits/*; do [ -f $i ] || continue; n=$(stat -c %s $i); [ $n -lt 500 ] || "
        "printf X | dd of=$i bs=1 seek=$((n - 100)) conv=notrunc status=none; done; "
        "cp -a host two out",
        "for i in host two; do diff -r --no-dereference -x '.toolcage*' $i out/$i || exit 1; "
        "done");
}

/* ---- single journals ---- */

static void sweep_leaves_a_living_commit_alone(void **state)
{
    struct tc_journal j;
    struct tc_steps s;
    (void)state;
    scene_new();
    _autofd_ int dir = tc_journal_open(NULL);
    _autofree_ char *path = realpath("host", NULL);
    struct tc_step_root root = {.path = path};
    const struct tc_step_place place = {.above = (char *)(uintptr_t) "", .alone = true};
    assert_int_equal(tc_journal_begin(&j, dir, "tool", false), 0);
    tc_steps_begin(&s, j.temporary, false);
    s.roots = &root;
    s.root_count = 1;
    assert_int_equal(tc_journal_stage(&j, &s, &place), 0);
    char name[64];
    (void)snprintf(name, sizeof(name), "host/%s-0", j.temporary);
    assert_int_equal(tc_put_file(AT_FDCWD, name, "half", 4, 0600), 0);
    assert_int_equal(tc_journal_sweep(), 0);
    assert_int_equal(access(name, F_OK), 0);
    assert_null(tc_journal_cuts());
    (void)close(dup(j.fd));
    tc_journal_leave(&j); /* it dies */
    assert_int_equal(tc_journal_sweep(), 1);
    scene_expect("dead", "host", scene_tree("host"), "");
    scene_expect("dead", "journals", scene_tree("state/commits"), "");
}

/* What is not a journal, or says nothing, does no harm; a report is one line of plain text. */
static void odd_journals_are_harmless(void **state)
{
    static const struct {
        const char *make, *report; /* NULL: none */
        unsigned found;
        const char *left;
    } rows[] = {
        {"touch state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'Tx\\0I0123456789abcdef\\0' >state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'R/etc\\0Dx' >state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'Dx\\0Fy\\0' >state/commits/0123456789abcdef", NULL, 1, ""},
        {"printf 'Wx\\0' >state/commits/0123456789abcdeg", NULL, 0, "0123456789abcdeg=Wx"},
        {"ln -s /etc/passwd state/commits/0123456789abcdef", NULL, 0,
         "0123456789abcdef->/etc/passwd"},
        {"mkdir state/commits/0123456789abcdef", NULL, 0, "0123456789abcdef/"},
        {"mkfifo state/commits/0123456789abcdef", NULL, 0, "0123456789abcdef!"},
        {"{ printf 'Ta\\n\\33[2J\\0L1234567'; printf '%0100d' 0; } "
         ">state/commits/0123456789abcdef",
         "a commit to ? by tool a??[2J was interrupted, and its journal cannot be read: compare "
         "the directory with your last version of it\n",
         1, NULL},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        scene_new();
        _autofd_ int dir = tc_journal_open(NULL);
        assert_true(dir >= 0);
        scene_sh(rows[i].make);
        assert_int_equal(tc_journal_sweep(), rows[i].found);
        _autofree_ char *text = tc_journal_cuts();
        assert_true(!text == !rows[i].report);
        if (text)
            assert_string_equal(text, rows[i].report);
        if (rows[i].left)
            scene_expect(rows[i].make, "journals", scene_tree("state/commits"), rows[i].left);
        free(tc_journal_notice());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_copy_commit_is_completed),
        cmocka_unit_test(killed_overlay_commit_is_completed),
        cmocka_unit_test(full_disk_leaves_no_half_commit),
        cmocka_unit_test(work_of_the_user_stays),
        cmocka_unit_test(undone_commit_is_not_repeated),
        cmocka_unit_test(replaced_directory_is_left_alone),
        cmocka_unit_test(links_never_lead_a_recovery_out),
        cmocka_unit_test(bare_repository_of_the_user_gets_no_hook),
        cmocka_unit_test(new_directory_of_the_user_gets_nothing),
        cmocka_unit_test(changed_staged_files_are_not_installed),
        cmocka_unit_test(files_are_staged_where_they_belong),
        cmocka_unit_test(changed_list_is_not_applied),
        cmocka_unit_test(sweep_leaves_a_living_commit_alone),
        cmocka_unit_test(odd_journals_are_harmless),
    };
    return cmocka_run_group_tests(tests, scenes_open, scenes_close);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Builds an image. build.sh asks apt, apart from this host's packages, for the versions in each
 * suite of the mirror, and makes a root of the chosen suite with mmdebstrap. Timestamps are those
 * of the suite's last change, so that builds of the same packages have the same digest. */
#include "image/build.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "image/run.h"
#include "image/say.h"
#include "linux/mounts.h"
#include "progress/progress.h"
#include "state/store.h"

enum { ASK_SECONDS = 3000, BOOTSTRAP_SECONDS = 7200 };

/* ---- user input that becomes program arguments ---- */

static int check_value(const char *word, const char *pattern, const char *what,
                       struct toolcage_error **err)
{
    regex_t is;
    if (!word)
        return 0;
    if (regcomp(&is, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return tc_fail_memory(err);
    int no = regexec(&is, word, 0, NULL, 0);
    regfree(&is);
    return no ? tc_fail(err,
                        TC_WHY(TOOLCAGE_EUSAGE, "build", word, "see toolcage image build --help"),
                        "\"%s\" is not %s", word, what)
              : 0;
}

static int check_words(const struct tc_build *build, struct toolcage_error **err)
{
    int r = check_value(build->suite, "^[a-z0-9][a-z0-9-]*$", "the name of a suite", err);
    if (r == 0)
        r = check_value(build->mirror, "^(https?://|file:///)[^][ \t\n\"']*$",
                        "the address of a mirror (http://, https:// or file:///)", err);
    if (r == 0)
        r = check_value(build->keyring, "^/[^][ \t\n,\"]*$", "the absolute path of a keyring", err);
    for (size_t i = 0; r == 0 && i < build->packages.count; i++)
        r = check_value(build->packages.items[i], "^[a-z0-9][a-z0-9+.-]*$", "the name of a package",
                        err);
    for (size_t i = 0; r == 0 && i < build->options.count; i++)
        r = check_value(build->options.items[i], "^[A-Z][^\"\n;{}=]*=[^\"\n;{}]*$",
                        "an apt option (NAME=VALUE)", err);
    return r;
}

/* ---- the script's steps ---- */

static const char *text_of(const char *name)
{
    const struct tc_image_file *f = tc_image_files;
    while (strcmp(f->name, name) != 0)
        f++;
    return f->text;
}

/* The environment of every step. */
static bool add_common(const struct tc_import *how, const struct tc_build *build,
                       struct tc_strv *env)
{
    _autobuf_ struct tc_buf packages = TC_BUF_INIT;
    tc_buf_adds(&packages, "PACKAGES=");
    for (size_t i = 0; i < build->packages.count; i++)
        tc_buf_addf(&packages, "%s%s", i ? "," : "", build->packages.items[i]);
    return tc_strv_take(env, tc_buf_steal(&packages)) &&
           tc_strv_add(env, build->minimal ? "MINIMAL=yes" : "MINIMAL=") &&
           tc_strv_add(env, geteuid() == 0 ? "APT_USER=root" : "APT_USER=") &&
           tc_strv_take(env, tc_format("OWN=%s/%s", how->store->path, how->store->own_name));
}

static bool add_variable(struct tc_strv *env, const char *name, const char *value)
{
    return tc_strv_take(env, tc_format("%s=%s", name, value ? value : ""));
}

static int run_step(const char *step, const struct tc_build *build, const struct tc_strv *env,
                    struct tc_run run, struct toolcage_error **err)
{
    _autostrv_ struct tc_strv argv = {0};
    if (!tc_strv_add(&argv, "sh") || !tc_strv_add(&argv, "-c") ||
        !tc_strv_add(&argv, text_of("build.sh")) || !tc_strv_add(&argv, "build.sh") ||
        !tc_strv_add(&argv, step) || !tc_strv_copy(&argv, &build->options))
        return tc_fail_memory(err);
    run.argv = (const char *const *)argv.items;
    run.env = (const char *const *)env->items;
    return tc_run(&run, err);
}

/* Shows the script's "say" lines, and keeps the others. */
static bool take_answer(char *text, struct tc_strv *ret)
{
    bool fine = true;
    for (char *rest = text, *line; fine && (line = strsep(&rest, "\n"));)
        if (tc_startswith(line, "say "))
            tc_image_say("%s", line + strlen("say "));
        else
            fine = tc_strv_add(ret, line);
    return fine;
}

/* The value after NAME= in the script's lines; "": none. */
static const char *value_of(const struct tc_strv *answer, const char *name)
{
    for (size_t i = 0; i < answer->count; i++)
        if (tc_startswith(answer->items[i], name))
            return answer->items[i] + strlen(name);
    return "";
}

static int ask_store(const struct tc_import *how, const struct tc_build *build,
                     struct tc_strv *answer, struct toolcage_error **err)
{
    static const char *const programs[] = {"apt-get", "apt-cache", "awk", "date",
                                           "mkdir",   "sed",       NULL};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    _autostrv_ struct tc_strv env = {0};
    const struct tc_run run = {.programs = programs,
                               .seconds = ASK_SECONDS,
                               .hint =
                                   "images are built from Debian's packages: run this on Debian, "
                                   "or import an image that was built elsewhere",
                               .silent = true,
                               .output = &out};
    if (!add_common(how, build, &env) || !add_variable(&env, "SUITE", build->suite) ||
        !add_variable(&env, "MIRROR", build->mirror) ||
        !add_variable(&env, "KEYRING", build->keyring))
        return tc_fail_memory(err);
    tc_image_say("reading the mirror's package lists");
    int r = run_step("ask", build, &env, run, err);
    if (r < 0)
        return r;
    if (!take_answer(out.data, answer))
        return tc_fail_memory(err);
    if (!*value_of(answer, "KEYRING="))
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_ENOT_FOUND, "build", "apt",
                              "name one with --mirror ADDRESS and --keyring FILE"),
                       "this host's apt has no Debian mirror, or no keyring for it");
    if (*value_of(answer, "SUITE="))
        return 0;
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_ENOT_FOUND, "build", build->suite ? build->suite : "suites",
               "apt's messages are above; choose a suite with --suite or a mirror with --mirror, "
               "or accept an expired one with --apt-option Acquire::Check-Valid-Until=false"),
        "no usable suite of the mirror has Python and a Node.js that runs TypeScript");
}

/* Makes root.tar in the working directory, with timestamps of the epoch. */
static int bootstrap(const struct tc_import *how, const struct tc_build *build,
                     const struct tc_strv *answer, int64_t epoch, struct toolcage_error **err)
{
    static const char *const programs[] = {"mmdebstrap", NULL};
    _autostrv_ struct tc_strv env = {0};
    const struct tc_run run = {.programs = programs,
                               .seconds = BOOTSTRAP_SECONDS,
                               .mounts = true,
                               .hint = "apt-get install mmdebstrap",
                               .failed = "its messages are above; for an expired release file: "
                                         "--apt-option Acquire::Check-Valid-Until=false"};
    /* root's is in the store, so that the next run cleans up; the ids of a user's bootstrap cannot
     * enter the store */
    bool fine = add_common(how, build, &env) && tc_strv_copy(&env, answer) &&
                tc_strv_take(&env, tc_format("SOURCE_DATE_EPOCH=%lld", (long long)epoch)) &&
                tc_strv_take(&env, geteuid() ? strdup("TMPDIR=/tmp")
                                             : tc_format("TMPDIR=%s/%s", how->store->path,
                                                         how->store->own_name));
    return fine ? run_step("bootstrap", build, &env, run, err) : tc_fail_memory(err);
}

/* ---- the root ---- */

/* Removes files that differ between builds of the same packages, and that no tool needs. */
static void remove_traces(int root)
{
    static const char traces[] =
        "var/cache/ldconfig/aux-cache\0var/log/apt\0var/log/dpkg.log\0var/log/alternatives.log\0"
        "var/log/bootstrap.log\0var/lib/apt\0var/cache/apt\0var/lib/dpkg/lock\0"
        "var/lib/dpkg/lock-frontend\0var/lib/dpkg/triggers/Lock\0var/lib/dpkg/status-old\0"
        "var/lib/dpkg/diversions-old\0var/cache/debconf\0etc/machine-id\0etc/hostname\0"
        "etc/resolv.conf\0etc/apt\0var/lib/dbus/machine-id\0";
    static const char *const needed[] = {"dev", "tmp", "run", "proc", "sys"};
    for (const char *trace = traces; *trace; trace += strlen(trace) + 1)
        (void)tc_remove_tree(root, trace);
    for (size_t i = 0; i < TC_COUNT(needed); i++) {
        (void)tc_remove_tree(root, needed[i]);
        (void)mkdirat(root, needed[i], 0755);
    }
}

/* A file of images/. */
static bool put_file(int root, const char *path, const char *name, unsigned mode)
{
    const char *text = text_of(name);
    return tc_put_file(root, path, text, strlen(text), mode) == 0;
}

/* If both the compiler and Node.js are installed. */
static bool put_typescript(int root)
{
    if (faccessat(root, "usr/share/nodejs/typescript/package.json", F_OK, 0) < 0 ||
        faccessat(root, "usr/bin/node", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    return put_file(root, "usr/local/lib/typescript/typescript.mjs", "typescript.mjs", 0644) &&
           put_file(root, "usr/local/bin/node", "node", 0755);
}

static int fail_step(const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "build", what, errno,
                                "make room in the store's file system"),
                   "cannot open the %s that was built", what);
}

static int import_built(const struct tc_import *how, const struct tc_strv *answer,
                        struct tc_imported *ret, struct toolcage_error **err)
{
    struct tc_unpack_report report;
    int own = how->store->own;
    _autofd_ int file = openat(own, "root.tar", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || mkdirat(own, "built", 0700) < 0)
        return fail_step("archive", err);
    _autofd_ int root = openat(own, "built", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct tc_unpack_job job = {
        .archive = file, .target = root, .name = "the built root", .limits = how->limits};
    tc_progress_start("unpacking the built root", NULL);
    int r = root < 0 ? fail_step("root", err) : tc_unpack(&job, &report, err);
    tc_progress_end();
    if (r < 0)
        return r;
    remove_traces(root);
    if (*value_of(answer, "TYPESCRIPT=") && !put_typescript(root))
        return fail_step("root", err);
    (void)unlinkat(own, "root.tar", 0);
    r = tc_import_root(how, root, value_of(answer, "SUITE="), ret, err);
    ret->cleared += report.cleared;
    return r;
}

int tc_build(const struct tc_import *how, const struct tc_build *build, struct tc_imported *ret,
             struct toolcage_error **err)
{
    _autostrv_ struct tc_strv answer = {0};
    struct tc_import dated = *how;
    *ret = (struct tc_imported){.bytes = 0};
    int r = check_words(build, err);
    if (r == 0)
        r = ask_store(how, build, &answer, err);
    if (dated.epoch < 0)
        dated.epoch = strtoll(value_of(&answer, "EPOCH="), NULL, 10);
    if (r == 0)
        r = bootstrap(&dated, build, &answer, dated.epoch, err);
    return r < 0 ? r : import_built(&dated, &answer, ret, err);
}

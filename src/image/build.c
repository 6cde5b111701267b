/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * First apt is asked, apart from this machine's own packages, what each suite of the mirror has;
 * then mmdebstrap makes a root of the chosen one. Times are those of the suite's last change, so
 * that who builds the same packages gets the same digest. */
#include "image/build.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "image/files.h"
#include "image/run.h"
#include "image/say.h"
#include "linux/mounts.h"
#include "state/store.h"

static const char *const always[] = {"python3", "python3-pip",     "nodejs",
                                     "npm",     "node-typescript", "ca-certificates"};

/* The most settled first. */
static const char *const suites[] = {"stable", "testing", "unstable"};

static const char apt_hint[] = "images are built from Debian's packages: run this on Debian, or "
                               "import an image that was built elsewhere";

struct site {
    char *mirror, *keyring;
};

struct offer {
    const char *suite;
    char python[64], node[64];
};

/* ---- words that become arguments of programs ---- */

static int fail_word(const char *what, const char *word, struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "build", word, "see toolcage image build --help"),
                   "\"%s\" is not %s", word, what);
}

static bool is_word(const char *text, const char *signs)
{
    if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text))
        return false;
    for (; *text; text++)
        if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) &&
            !strchr(signs, *text))
            return false;
    return true;
}

static bool is_address(const char *text)
{
    bool known = tc_startswith(text, "http://") || tc_startswith(text, "https://") ||
                 tc_startswith(text, "file:///");
    return known && !strpbrk(text, " \t\n\"'[]");
}

static int check_words(const struct tc_build *build, struct toolcage_error **err)
{
    if (build->suite && !is_word(build->suite, "-"))
        return fail_word("the name of a suite", build->suite, err);
    if (build->mirror && !is_address(build->mirror))
        return fail_word("the address of a mirror (http://, https:// or file:///)", build->mirror,
                         err);
    if (build->keyring && (build->keyring[0] != '/' || strpbrk(build->keyring, " \t\n,[]\"")))
        return fail_word("the absolute path of a keyring", build->keyring, err);
    for (size_t i = 0; i < build->packages.count; i++)
        if (!is_word(build->packages.items[i], "+.-"))
            return fail_word("the name of a package", build->packages.items[i], err);
    for (size_t i = 0; i < build->options.count; i++)
        if (!isupper((unsigned char)build->options.items[i][0]) ||
            !strchr(build->options.items[i], '=') || strpbrk(build->options.items[i], "\"\n;{}"))
            return fail_word("an option of apt (NAME=VALUE)", build->options.items[i], err);
    return 0;
}

/* ---- the mirror, from this machine's apt ---- */

static void take_site(char *line, struct site *ret)
{
    enum { ADDRESS, COMPONENT, KEYRING, FIELDS };
    char *fields[FIELDS] = {NULL}, *rest = line;
    for (int i = 0; i < FIELDS; i++)
        fields[i] = strsep(&rest, "|");
    const char *keyring = fields[KEYRING];
    if (ret->mirror || !keyring || strcmp(fields[COMPONENT], "main") != 0 ||
        !is_address(fields[ADDRESS]) || !strstr(fields[ADDRESS], "debian") ||
        strstr(fields[ADDRESS], "security"))
        return;
    ret->mirror = strdup(fields[ADDRESS]);
    ret->keyring = keyring[0] == '/' && !strpbrk(keyring, " ,") ? strdup(keyring) : NULL;
}

/* REPO_URI is the archive's own address, without what apt adds to it. */
static int find_site(const struct tc_build *build, struct site *ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    const char *const argv[] = {"apt-get",
                                "indextargets",
                                "--format",
                                "$(REPO_URI)|$(COMPONENT)|$(SIGNED_BY)",
                                "Created-By: Packages",
                                NULL};
    if (build->mirror)
        ret->mirror = strdup(build->mirror);
    int r =
        build->mirror
            ? 0
            : tc_run(
                  &(struct tc_run){.argv = argv, .seconds = 600, .hint = apt_hint, .output = &out},
                  err);
    if (r < 0)
        return r;
    char *rest = out.data, *line;
    while (rest && (line = strsep(&rest, "\n")))
        take_site(line, ret);
    if (build->keyring) {
        free(ret->keyring);
        ret->keyring = strdup(build->keyring);
    }
    if (!ret->keyring && access("/usr/share/keyrings/debian-archive-keyring.gpg", R_OK) == 0)
        ret->keyring = strdup("/usr/share/keyrings/debian-archive-keyring.gpg");
    if (ret->mirror && ret->keyring)
        return 0;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_ENOT_FOUND, "build", "apt",
                          "name one by --mirror ADDRESS and --keyring FILE"),
                   "this machine's apt names no mirror of Debian, or no keyring for it");
}

/* ---- what the suites have ---- */

static int make_place(int own, const struct tc_build *build, const struct site *site,
                      struct toolcage_error **err)
{
    static const char *const places[] = {"apt",       "apt/state", "apt/state/lists",
                                         "apt/cache", "apt/etc",   "apt/state/lists/partial"};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    for (size_t i = 0; i < TC_COUNT(places); i++)
        if (mkdirat(own, places[i], 0700) < 0)
            return tc_fail_memory(err);
    for (size_t i = 0; i < (build->suite ? 1 : TC_COUNT(suites)); i++)
        tc_buf_addf(&text, "deb [signed-by=%s] %s %s main\n", site->keyring, site->mirror,
                    build->suite ? build->suite : suites[i]);
    _autofd_ int list = openat(own, "apt/sources.list", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    _autofd_ int status = openat(own, "apt/state/status", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool fine =
        !text.failed && list >= 0 && status >= 0 && tc_write_all(list, text.data, text.len) == 0;
    return fine ? 0 : tc_fail_memory(err);
}

/* apt with directories of ours in the place of this machine's. */
static bool add_apt(struct tc_strv *argv, const struct tc_import *how, const struct tc_build *build,
                    const char *program)
{
    const char *at = how->store->path, *own = how->store->own_name;
    bool fine =
        tc_strv_add(argv, program) &&
        tc_strv_take(argv, tc_format("-oDir::State=%s/%s/apt/state", at, own)) &&
        tc_strv_take(argv, tc_format("-oDir::State::status=%s/%s/apt/state/status", at, own)) &&
        tc_strv_take(argv, tc_format("-oDir::Cache=%s/%s/apt/cache", at, own)) &&
        tc_strv_take(argv, tc_format("-oDir::Etc::SourceList=%s/%s/apt/sources.list", at, own)) &&
        tc_strv_add(argv, "-oDir::Etc::SourceParts=/dev/null") &&
        tc_strv_add(argv, "-oAcquire::Languages=none") &&
        tc_strv_add(argv, "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false") &&
        tc_strv_add(argv, "-oAcquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false") &&
        tc_strv_add(argv, geteuid() == 0 ? "-oAPT::Sandbox::User=root" : "-oAPT::Sandbox::User=");
    for (size_t i = 0; fine && i < build->options.count; i++)
        fine = tc_strv_take(argv, tc_format("-o%s", build->options.items[i]));
    return fine;
}

/* Suites that cannot be had are said by apt, and have no offer. */
static int ask_apt(const struct tc_import *how, const struct tc_build *build, struct tc_buf *ret,
                   struct toolcage_error **err)
{
    _autostrv_ struct tc_strv update = {0}, show = {0};
    if (!add_apt(&update, how, build, "apt-get") || !tc_strv_add(&update, "-qq") ||
        !tc_strv_add(&update, "update") || !add_apt(&show, how, build, "apt-cache") ||
        !tc_strv_add(&show, "madison") || !tc_strv_add(&show, "python3") ||
        !tc_strv_add(&show, "nodejs"))
        return tc_fail_memory(err);
    struct tc_run run = {
        .argv = (const char *const *)update.items, .seconds = 1800, .hint = apt_hint};
    tc_image_say("asking the mirror what it has");
    struct toolcage_error *why = NULL;
    if (tc_run(&run, &why) < 0)
        tc_image_say("not every suite can be used (%s)", tc_error_message(why));
    tc_error_free(why);
    run = (struct tc_run){
        .argv = (const char *const *)show.items, .seconds = 600, .hint = apt_hint, .output = ret};
    return tc_run(&run, err);
}

/* " nodejs | 20.19.2 | ADDRESS SUITE/main amd64 Packages" */
static void take_offer(char *line, struct offer *offers, size_t count)
{
    char package[64], version[64], address[512], place[64];
    if (sscanf(line, " %63s | %63s | %511s %63s", package, version, address, place) != 4)
        return;
    char *slash = strchr(place, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < count; i++)
        if (strcmp(place, offers[i].suite) == 0)
            tc_strcopy(package[0] == 'p' ? offers[i].python : offers[i].node, 64, version);
}

static size_t take_offers(const struct tc_build *build, char *text, struct offer *offers)
{
    size_t count = build->suite ? 1 : TC_COUNT(suites);
    char *rest = text, *line;
    for (size_t i = 0; i < count; i++)
        offers[i] = (struct offer){.suite = build->suite ? build->suite : suites[i]};
    while (rest && (line = strsep(&rest, "\n")))
        take_offer(line, offers, count);
    for (size_t i = 0; i < count; i++)
        tc_image_say("suite %s: python3 %s, nodejs %s", offers[i].suite,
                     offers[i].python[0] ? offers[i].python : "none",
                     offers[i].node[0] ? offers[i].node : "none");
    return count;
}

/* Our hook needs module.registerHooks(), which Node.js has since 22.15 and 23.5. */
static bool runs_typescript(const char *version)
{
    enum { LONG_LIVED = 22, LONG_LIVED_SINCE = 15, SHORT_LIVED_SINCE = 5 };
    int major = 0, minor = 0;
    if (sscanf(version, "%d.%d", &major, &minor) != 2)
        return false;
    return major > LONG_LIVED + 1 || (major == LONG_LIVED && minor >= LONG_LIVED_SINCE) ||
           (major == LONG_LIVED + 1 && minor >= SHORT_LIVED_SINCE);
}

static int choose(const struct tc_build *build, const struct offer *offers, size_t count,
                  const struct offer **ret, struct toolcage_error **err)
{
    *ret = NULL;
    for (size_t i = 0; i < count && !*ret; i++)
        if (offers[i].python[0] &&
            (build->suite || build->minimal || runs_typescript(offers[i].node)))
            *ret = &offers[i];
    if (*ret) {
        tc_image_say("building from %s; Node.js there %s TypeScript as it is", (*ret)->suite,
                     runs_typescript((*ret)->node) ? "runs" : "does not run");
        return 0;
    }
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_ENOT_FOUND, "build", build->suite ? build->suite : "suites",
               "what apt said is above; name a suite by --suite, a mirror by --mirror, or let apt "
               "take an old one by --apt-option Acquire::Check-Valid-Until=false"),
        "no suite of the mirror can be used that has Python and a Node.js that runs "
        "TypeScript");
}

/* ---- when that was ---- */

/* "Date: " of the release that the packages are from; -1: it has none. */
static int64_t date_of(int lists, const char *name)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tm tm = {0};
    if (tc_read_file(lists, name, &text) < 0 || !text.data)
        return -1;
    const char *date = strstr(text.data, "\nDate: ");
    if (!date || !strptime(date + strlen("\nDate: "), "%a, %d %b %Y %H:%M:%S", &tm))
        return -1;
    return timegm(&tm);
}

static int64_t release_date(const struct tc_import *how, const char *suite)
{
    _autofree_ char *end = tc_format("_dists_%s_InRelease", suite);
    _autofd_ int lists =
        openat(how->store->own, "apt/state/lists", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int copied = lists < 0 ? -1 : openat(lists, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _autodir_ DIR *dir = tc_take_dir(copied);
    struct dirent *e;
    while (dir && end && tc_next_entry(dir, &e) > 0)
        if (tc_endswith(e->d_name, end))
            return date_of(lists, e->d_name);
    return -1;
}

/* ---- the root ---- */

static bool add_packages(const struct tc_build *build, struct tc_buf *out)
{
    tc_buf_adds(out, "--include=");
    for (size_t i = 0; !build->minimal && i < TC_COUNT(always); i++)
        tc_buf_addf(out, "%s%s", i ? "," : "", always[i]);
    for (size_t i = 0; i < build->packages.count; i++)
        tc_buf_addf(out, "%s%s", i || !build->minimal ? "," : "", build->packages.items[i]);
    return !out->failed;
}

/* Nobody reads manuals in a cage, nor compiles there without adding more; npm's packages bring what
 * links Node.js and OpenSSL into programs, and types for editors. */
static bool add_left_out(struct tc_strv *argv)
{
    static const char *const left_out[] = {
        "include/*",
        "share/man/*",
        "share/doc/*",
        "share/info/*",
        "share/locale/*",
        "share/lintian/*",
        "share/bash-completion/*",
        "share/nodejs/@types/*",
        "share/nodejs/typescript/lib/*/diagnosticMessages.generated.json",
        "lib/*/libcrypto.a",
        "lib/*/libssl.a",
        "lib/*/libuv.a"};
    bool fine = true;
    for (size_t i = 0; fine && i < TC_COUNT(left_out); i++)
        fine = tc_strv_take(argv, tc_format("--dpkgopt=path-exclude=/usr/%s", left_out[i]));
    return fine;
}

static bool add_bootstrap(struct tc_strv *argv, const struct tc_import *how,
                          const struct tc_build *build, const struct site *site, const char *suite)
{
    _autobuf_ struct tc_buf packages = TC_BUF_INIT;
    bool fine = tc_strv_add(argv, "mmdebstrap") && tc_strv_add(argv, "--variant=essential") &&
                tc_strv_add(argv, "--format=tar") &&
                tc_strv_add(argv, "--aptopt=APT::Install-Recommends \"false\"") &&
                tc_strv_take(argv, tc_format("--keyring=%s", site->keyring)) && add_left_out(argv);
    if (fine && (!build->minimal || build->packages.count))
        fine = add_packages(build, &packages) && tc_strv_add(argv, packages.data);
    for (size_t i = 0; fine && i < build->options.count; i++) {
        const char *option = build->options.items[i], *is = strchr(option, '=');
        fine = tc_strv_take(argv,
                            tc_format("--aptopt=%.*s \"%s\"", (int)(is - option), option, is + 1));
    }
    return fine && tc_strv_add(argv, suite) &&
           tc_strv_take(argv,
                        tc_format("%s/%s/root.tar", how->store->path, how->store->own_name)) &&
           tc_strv_add(argv, site->mirror);
}

/* What two builds of the same packages do not have in common, and no tool needs. */
static void remove_traces(int root)
{
    static const char *const traces[] = {"var/cache/ldconfig/aux-cache",
                                         "var/log/apt",
                                         "var/log/dpkg.log",
                                         "var/log/alternatives.log",
                                         "var/log/bootstrap.log",
                                         "var/lib/apt",
                                         "var/cache/apt",
                                         "var/lib/dpkg/lock",
                                         "var/lib/dpkg/lock-frontend",
                                         "var/lib/dpkg/triggers/Lock",
                                         "var/lib/dpkg/status-old",
                                         "var/lib/dpkg/diversions-old",
                                         "var/cache/debconf",
                                         "etc/machine-id",
                                         "etc/hostname",
                                         "etc/resolv.conf",
                                         "etc/apt",
                                         "var/lib/dbus/machine-id",
                                         "dev",
                                         "tmp",
                                         "run",
                                         "proc",
                                         "sys"};
    for (size_t i = 0; i < TC_COUNT(traces); i++)
        (void)tc_remove_tree(root, traces[i]);
    static const char *const needed[] = {"dev", "tmp", "run", "proc", "sys"};
    for (size_t i = 0; i < TC_COUNT(needed); i++)
        (void)mkdirat(root, needed[i], 0755);
}

static bool put_file(int root, const char *path, const char *name, unsigned mode)
{
    for (const struct tc_image_file *f = tc_image_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return tc_put_file(root, path, f->text, strlen(f->text), mode) == 0;
    return false;
}

/* Where there is the compiler, and a Node.js with hooks. */
static bool put_typescript(int root, const struct offer *offer)
{
    if (faccessat(root, "usr/share/nodejs/typescript/package.json", F_OK, 0) < 0 ||
        faccessat(root, "usr/bin/node", F_OK, AT_SYMLINK_NOFOLLOW) < 0 ||
        !runs_typescript(offer->node))
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

static int import_built(const struct tc_import *how, const struct offer *offer,
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
    int r = root < 0 ? fail_step("root", err) : tc_unpack(&job, &report, err);
    if (r < 0)
        return r;
    remove_traces(root);
    if (!put_typescript(root, offer))
        return fail_step("root", err);
    (void)unlinkat(own, "root.tar", 0);
    r = tc_import_root(how, root, offer->suite, ret, err);
    ret->cleared += report.cleared;
    return r;
}

static int bootstrap(const struct tc_import *how, const struct tc_build *build,
                     const struct site *site, const struct offer *offer, struct tc_imported *ret,
                     struct toolcage_error **err)
{
    _autostrv_ struct tc_strv argv = {0};
    struct tc_import dated = *how;
    const char *own = how->store->own_name;
    if (dated.epoch < 0)
        dated.epoch = release_date(how, offer->suite);
    if (dated.epoch < 0)
        dated.epoch = 0;
    _autofree_ char *epoch = tc_format("SOURCE_DATE_EPOCH=%lld", (long long)dated.epoch);
    /* where the next one sweeps; the ids that a user's bootstrap has could not enter there */
    _autofree_ char *place =
        geteuid() ? strdup("TMPDIR=/tmp") : tc_format("TMPDIR=%s/%s", how->store->path, own);
    if (!epoch || !place || !add_bootstrap(&argv, how, build, site, offer->suite))
        return tc_fail_memory(err);
    const char *const env[] = {epoch, place, NULL};
    const struct tc_run run = {.argv = (const char *const *)argv.items,
                               .env = env,
                               .seconds = 7200,
                               .mounts = true,
                               .hint = "apt-get install mmdebstrap",
                               .failed = "what it said is above; for a release file that is "
                                         "expired: --apt-option Acquire::Check-Valid-Until=false"};
    int r = tc_run(&run, err);
    return r < 0 ? r : import_built(&dated, offer, ret, err);
}

static int build_from(const struct tc_import *how, const struct tc_build *build,
                      const struct site *site, struct tc_imported *ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct offer offers[TC_COUNT(suites)];
    const struct offer *chosen = NULL;
    int r = make_place(how->store->own, build, site, err);
    if (r == 0)
        r = ask_apt(how, build, &text, err);
    if (r < 0)
        return r;
    size_t count = take_offers(build, text.data, offers);
    r = choose(build, offers, count, &chosen, err);
    return r < 0 ? r : bootstrap(how, build, site, chosen, ret, err);
}

int tc_build(const struct tc_import *how, const struct tc_build *build, struct tc_imported *ret,
             struct toolcage_error **err)
{
    struct site site = {NULL, NULL};
    *ret = (struct tc_imported){.bytes = 0};
    int r = check_words(build, err);
    if (r == 0)
        r = find_site(build, &site, err);
    if (r == 0)
        r = build_from(how, build, &site, ret, err);
    free(site.mirror);
    free(site.keyring);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-image: `toolcage image` executes it, and embedders can start it. Only this
 * program modifies the image store, and only it uses libarchive. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "image/build.h"
#include "image/form.h"
#include "image/guest.h"
#include "image/import.h"
#include "image/say.h"
#include "image/store.h"
#include "progress/progress.h"
#include "state/store.h"

enum { EXIT_OURS = 125, MIB = 1 << 20 };

/* Default limits: enough for a machine-learning image. */
static const struct tc_unpack_limits usual = {(int64_t)16 << 30, 1000000};

struct command {
    bool json, minimal;
    struct tc_unpack_limits limits;
    struct tc_build build;
    const char *kernel; /* directory of the kernel packages */
    const char *operands[3];
    size_t count;
};

static int fail_usage(struct toolcage_error **err, const char *subject, const char *hint,
                      const char *what)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "image", subject, hint), "%s%s%s", subject,
                   *subject ? ": " : "", what);
}

/* ---- list and inspect ---- */

/* Size of the root on disk; -1: missing. */
static int64_t root_bytes(const struct tc_images *store, const char *digest)
{
    return store->roots < 0 ? -1 : tc_tree_bytes(store->roots, strchr(digest, ':') + 1);
}

static void add_row(struct tc_buf *out, const struct tc_images *store,
                    const struct tc_image_entry *e, bool json)
{
    int64_t bytes = root_bytes(store, e->digest);
    if (json) {
        tc_buf_addf(out, "%s{", out->data[out->len - 1] == '}' ? "," : "");
        tc_json_member(out, "name", e->name);
        tc_json_member(out, "digest", e->digest);
        tc_buf_addf(out, ",\"bytes\":%" PRId64 ",\"older\":%s}", bytes,
                    e->older ? "true" : "false");
        return;
    }
    tc_buf_addf(out, "%-28s  %s  %6" PRId64 " MiB%s\n", e->name, e->digest,
                bytes < 0 ? 0 : (bytes + MIB - 1) / MIB, e->older ? "  older" : "");
}

/* The VM guest, after the images: a row of the table, or a member of the object. */
static void add_guest(struct tc_buf *out, const char *version, int64_t bytes, bool json)
{
    if (json) {
        tc_json_key(out, TC_IMAGE_GUEST);
        tc_buf_adds(out, bytes < 0 ? "null" : "{");
    }
    if (bytes < 0)
        return;
    if (json) {
        tc_json_member(out, "kernel", version);
        tc_buf_addf(out, ",\"bytes\":%" PRId64 "}", bytes);
        return;
    }
    _autofree_ char *what =
        tc_format("for virtual machines, kernel %s", *version ? version : "not known");
    tc_buf_addf(out, "%-28s  %-71s  %6" PRId64 " MiB\n", TC_IMAGE_GUEST, what ? what : "",
                (bytes + MIB - 1) / MIB);
}

static int list(const struct command *c, struct tc_buf *out, struct toolcage_error **err)
{
    _autoimages_ struct tc_images store = TC_IMAGES_INIT;
    _autoindex_ struct tc_image_index index = {0};
    char version[TC_GUEST_VERSION_MAX];
    int64_t guest;
    int r = tc_images_open(TC_IMAGES_READS, &store, err);
    if (r == 0 && store.dir >= 0)
        r = tc_image_index_read(store.dir, store.path, &index, err);
    if (r < 0)
        return r;
    tc_guest_look(&store, version, &guest);
    if (!index.count && guest < 0 && !c->json) {
        tc_image_say("there is no image");
        tc_image_hint("toolcage image build default, or toolcage image import SOURCE NAME");
        return 0;
    }
    tc_buf_adds(out, c->json ? "{\"images\":[" : "");
    if (!c->json)
        tc_buf_addf(out, "%-28s  %-71s  %10s\n", "image", "digest", "size");
    for (size_t i = 0; i < index.count; i++)
        add_row(out, &store, &index.items[i], c->json);
    tc_buf_adds(out, c->json ? "]" : "");
    add_guest(out, version, guest, c->json);
    tc_buf_adds(out, c->json ? "}\n" : "");
    return 0;
}

static int find_image(const struct tc_images *store, const char *name, struct tc_image_index *index,
                      const struct tc_image_entry **ret, struct toolcage_error **err)
{
    struct tc_image_ref ref;
    const char *complaint = tc_image_ref_parse(name, &ref);
    if (complaint)
        return fail_usage(err, name, "toolcage image list", complaint);
    int r = store->dir < 0 ? 0 : tc_image_index_read(store->dir, store->path, index, err);
    if (r < 0)
        return r;
    *ret = tc_image_index_find(index, &ref);
    const char *hint = strcmp(name, TC_IMAGE_GUEST) == 0
                           ? "the guest is for virtual machines, and not an image: toolcage image "
                             "list shows its kernel"
                           : "toolcage image list shows the images";
    return *ret ? 0
                : tc_fail(err, TC_WHY(TOOLCAGE_ENOT_FOUND, "image", name, hint),
                          "there is no image %s", name);
}

static void add_layers(struct tc_buf *out, const struct tc_image_manifest *m, bool json)
{
    for (size_t i = 0; i < m->count; i++)
        tc_buf_addf(out,
                    json ? "%s{\"digest\":\"%s\",\"bytes\":%" PRId64 "}"
                         : "%slayer   %s  %" PRId64 " bytes\n",
                    json && i ? "," : "", m->layers[i].digest, m->layers[i].size);
}

static void add_image(struct tc_buf *out, const struct tc_images *store,
                      const struct tc_image_entry *e, const struct tc_image_manifest *m, bool json)
{
    _autofree_ char *root =
        tc_format("%s/roots/%s/rootfs", store->path, strchr(e->digest, ':') + 1);
    int64_t bytes = root_bytes(store, e->digest);
    if (!json) {
        tc_buf_addf(out, "name    %s%s\ndigest  %s\nroot    %s\nsize    %" PRId64 " MiB\n", e->name,
                    e->older ? " (older)" : "", e->digest, root ? root : "",
                    (bytes + MIB - 1) / MIB);
        add_layers(out, m, false);
        tc_buf_addf(out, "pinned  image = \"%s@%s\"\n", e->name, e->digest);
        return;
    }
    tc_buf_adds(out, "{");
    tc_json_member(out, "name", e->name);
    tc_json_member(out, "digest", e->digest);
    tc_json_member(out, "root", root ? root : "");
    tc_buf_addf(out, ",\"bytes\":%" PRId64 ",\"older\":%s,\"layers\":[", bytes,
                e->older ? "true" : "false");
    add_layers(out, m, true);
    tc_buf_adds(out, "]}\n");
}

static int inspect(const struct command *c, struct tc_buf *out, struct toolcage_error **err)
{
    _autoimages_ struct tc_images store = TC_IMAGES_INIT;
    _autoindex_ struct tc_image_index index = {0};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tc_image_manifest m;
    const struct tc_image_entry *e;
    int r = tc_images_open(TC_IMAGES_READS, &store, err);
    if (r == 0)
        r = find_image(&store, c->operands[0], &index, &e, err);
    if (r < 0)
        return r;
    text.max = TC_IMAGE_JSON_MAX;
    int fd = tc_images_blob(&store, e->digest, err);
    if (fd < 0)
        return fd;
    _autofd_ int own = fd;
    const char *complaint = tc_read_all(own, &text) < 0 || !text.data
                                ? "it cannot be read"
                                : tc_image_read_manifest(text.data, text.len, &m);
    if (complaint)
        return fail_usage(err, e->digest, "remove the image, and import it again", complaint);
    add_image(out, &store, e, &m, c->json);
    return 0;
}

/* ---- import, build, remove ---- */

static int64_t wanted_epoch(void)
{
    const char *said = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL;
    errno = 0;
    long long epoch = said && *said ? strtoll(said, &end, 10) : -1;
    return end && !*end && !errno && epoch >= 0 ? epoch : -1;
}

static int print_imported(const struct command *c, const struct tc_imported *made,
                          struct tc_buf *out)
{
    if (made->left_out)
        tc_image_say("left out: %lld devices, pipes and sockets", (long long)made->left_out);
    if (made->cleared)
        tc_image_say("removed the set-id bits of %lld files", (long long)made->cleared);
    if (c->json) {
        tc_buf_adds(out, "{");
        tc_json_member(out, "name", made->name);
        tc_json_member(out, "digest", made->digest);
        tc_buf_addf(out, ",\"bytes\":%" PRId64 ",\"files\":%" PRId64 "}\n", made->bytes,
                    made->files);
        return 0;
    }
    tc_buf_addf(out, "%s@%s\n", made->name, made->digest);
    tc_image_say("image %s is stored: %lld files, %lld MiB", made->name, (long long)made->files,
                 (long long)(made->bytes / MIB));
    return 0;
}

static const char *check_name(const char *name)
{
    struct tc_image_ref ref;
    const char *complaint = tc_image_ref_parse(name, &ref);
    return complaint       ? complaint
           : ref.digest[0] ? "the digest of an image is that of its content"
           : strcmp(name, TC_IMAGE_GUEST) == 0
               ? "the name is reserved for the guest of virtual machines; choose another one"
               : NULL;
}

static int import(const struct command *c, struct tc_buf *out, struct toolcage_error **err)
{
    _autoimages_ struct tc_images store = TC_IMAGES_INIT;
    struct tc_imported made;
    const char *complaint = c->count > 1 ? check_name(c->operands[1]) : NULL;
    if (complaint)
        return fail_usage(err, c->operands[1], "toolcage image import SOURCE NAME", complaint);
    int r = tc_images_open(TC_IMAGES_ADDS, &store, err);
    const struct tc_import how = {
        .store = &store, .name = c->operands[1], .limits = c->limits, .epoch = wanted_epoch()};
    if (r == 0)
        r = tc_import(&how, c->operands[0], &made, err);
    return r < 0 ? r : print_imported(c, &made, out);
}

static int build_guest(const struct command *c, struct tc_buf *out, struct toolcage_error **err)
{
    _autoimages_ struct tc_images store = TC_IMAGES_INIT;
    _autoindex_ struct tc_image_index index = {0};
    const struct tc_image_entry *e = NULL;
    int r = tc_images_open(TC_IMAGES_ADDS, &store, err);
    if (r == 0 && c->count > 1)
        r = find_image(&store, c->operands[1], &index, &e, err);
    if (r == 0)
        r = tc_guest_build(&store, c->kernel ? c->kernel : "/", err);
    if (r == 0 && e)
        r = tc_guest_disk(&store, e->digest, err);
    if (r == 0)
        tc_buf_adds(out, c->json ? "{\"guest\":true}\n" : "guest\n");
    return r;
}

static int build(const struct command *c, struct tc_buf *out, struct toolcage_error **err)
{
    if (strcmp(c->operands[0], TC_IMAGE_GUEST) == 0)
        return build_guest(c, out, err);
    if (c->count > 1)
        return fail_usage(err, c->operands[1], "toolcage image build NAME", "too many arguments");
    _autoimages_ struct tc_images store = TC_IMAGES_INIT;
    struct tc_imported made;
    const char *complaint = check_name(c->operands[0]);
    if (complaint)
        return fail_usage(err, c->operands[0], "toolcage image build default", complaint);
    int r = tc_images_open(TC_IMAGES_ADDS, &store, err);
    const struct tc_import how = {
        .store = &store, .name = c->operands[0], .limits = c->limits, .epoch = wanted_epoch()};
    if (r == 0)
        r = tc_build(&how, &c->build, &made, err);
    return r < 0 ? r : print_imported(c, &made, out);
}

static int remove_image(const struct command *c, struct tc_buf *out, struct toolcage_error **err)
{
    _autoimages_ struct tc_images store = TC_IMAGES_INIT;
    struct tc_image_ref ref;
    unsigned count = 0;
    const char *complaint = tc_image_ref_parse(c->operands[0], &ref);
    if (complaint)
        return fail_usage(err, c->operands[0], "toolcage image list", complaint);
    int r = tc_images_open(TC_IMAGES_REMOVES, &store, err);
    if (r == 0)
        r = tc_images_remove(&store, &ref, &count, err);
    int guests =
        r == 0 && strcmp(c->operands[0], TC_IMAGE_GUEST) == 0 ? tc_guest_remove(&store) : 0;
    if (guests < 0)
        return tc_images_fail(&store, "the guest cannot be removed", err);
    count += (unsigned)guests;
    if (r < 0)
        return r;
    if (!count)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_ENOT_FOUND, "image", c->operands[0],
                              "toolcage image list shows the images"),
                       "there is no image %s", c->operands[0]);
    tc_buf_addf(out, c->json ? "{\"removed\":%u}\n" : "removed %u\n", count);
    return 0;
}

/* ---- the command line ---- */

static const struct {
    const char *name;
    size_t least, most;
    int (*run)(const struct command *c, struct tc_buf *out, struct toolcage_error **err);
} verbs[] = {
    {"list", 0, 0, list},   {"inspect", 1, 1, inspect},     {"import", 1, 2, import},
    {"build", 1, 2, build}, {"remove", 1, 1, remove_image},
};

static bool take_number(const char *text, int64_t unit, int64_t *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text || value < 1 || value > INT64_MAX / 4 / unit)
        return false;
    *ret = value * unit;
    return true;
}

/* A bare number is in MiB: the starting command line uses this unit. */
static bool take_size(const char *text, int64_t *ret)
{
    static const struct {
        const char *unit;
        int64_t bytes;
    } units[] = {{"GiB", (int64_t)1 << 30}, {"MiB", MIB}, {"GB", 1000000000}, {"MB", 1000000}};
    for (size_t i = 0; i < TC_COUNT(units); i++) {
        char number[32];
        size_t length = strlen(text), unit = strlen(units[i].unit);
        if (!tc_endswith(text, units[i].unit) || length - unit >= sizeof(number))
            continue;
        (void)snprintf(number, sizeof(number), "%.*s", (int)(length - unit), text);
        return take_number(number, units[i].bytes, ret);
    }
    return false;
}

static bool take_option(struct command *c, const char *name, const char *value)
{
    if (!strcmp(name, "max-size"))
        return take_size(value, &c->limits.bytes);
    if (!strcmp(name, "max-files"))
        return take_number(value, 1, &c->limits.files);
    if (!strcmp(name, "package"))
        return tc_strv_add(&c->build.packages, value);
    if (!strcmp(name, "apt-option"))
        return tc_strv_add(&c->build.options, value);
    const struct {
        const char *name, **into;
    } texts[] = {{"suite", &c->build.suite},
                 {"mirror", &c->build.mirror},
                 {"keyring", &c->build.keyring},
                 {"kernel", &c->kernel}};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        if (!strcmp(name, texts[i].name)) {
            *texts[i].into = value;
            return true;
        }
    return false;
}

static bool take_flag(struct command *c, const char *name)
{
    c->json |= !strcmp(name, "json");
    c->build.minimal |= !strcmp(name, "minimal");
    return !strcmp(name, "json") || !strcmp(name, "minimal");
}

static int parse(int argc, char **argv, struct command *c, struct toolcage_error **err)
{
    bool words = false;
    for (int i = 2; i < argc; i++) {
        if (!words && !strcmp(argv[i], "--")) {
            words = true;
        } else if (!words && tc_startswith(argv[i], "--")) {
            if (take_flag(c, argv[i] + 2))
                continue;
            if (i + 1 >= argc || !take_option(c, argv[i] + 2, argv[i + 1]))
                return fail_usage(err, argv[i],
                                  "see toolcage image build --help; sizes are written like 20GiB",
                                  "unknown option or invalid value");
            i++;
        } else if (c->count < 2) {
            c->operands[c->count++] = argv[i];
        } else {
            return fail_usage(err, argv[i], "toolcage image --help", "too many arguments");
        }
    }
    return 0;
}

static int run_command(int argc, char **argv, struct command *c, struct tc_buf *out,
                       struct toolcage_error **err)
{
    int r = parse(argc, argv, c, err);
    if (c->json)
        tc_progress_quiet();
    for (size_t i = 0; r == 0 && argc > 1 && i < TC_COUNT(verbs); i++) {
        if (strcmp(argv[1], verbs[i].name) != 0)
            continue;
        if (c->count < verbs[i].least || c->count > verbs[i].most)
            return fail_usage(err, argv[1], "toolcage image --help", "wrong number of arguments");
        return verbs[i].run(c, out, err);
    }
    return r < 0 ? r
                 : fail_usage(err, argc > 1 ? argv[1] : "",
                              "build, list, import, remove or inspect", "unknown action");
}

static int report(const struct command *c, const struct toolcage_error *err)
{
    tc_progress_end();
    if (c->json) {
        _autobuf_ struct tc_buf out = TC_BUF_INIT;
        tc_buf_addf(&out, "{\"error\":%s}\n", tc_error_json(err));
        (void)tc_write_all(STDOUT_FILENO, out.data, out.len);
        return EXIT_OURS;
    }
    tc_image_say("%s", tc_error_message(err));
    tc_image_hint(tc_error_hint(err));
    return EXIT_OURS;
}

int main(int argc, char **argv)
{
    _autoerror_ struct toolcage_error *err = NULL;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct command c = {.limits = usual};
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* archives use UTF-8 names */
    (void)umask(022);
    int r = run_command(argc, argv, &c, &out, &err);
    tc_progress_end();
    if (r == 0 && (out.failed || (out.len && tc_write_all(STDOUT_FILENO, out.data, out.len) < 0)))
        r = tc_fail(&err, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .errnum = errno},
                    "cannot write the output");
    int code = r < 0 ? report(&c, err) : 0;
    tc_strv_done(&c.build.packages);
    tc_strv_done(&c.build.options);
    return code;
}

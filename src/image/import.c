/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/strv.h"
#include "base/sys.h"
#include "image/form.h"
#include "image/say.h"
#include "progress/progress.h"
#include "state/store.h"

/* ---- reading the source ---- */

static int fail_form(const char *from, const char *complaint, struct toolcage_error **err)
{
    return tc_fail(
        err, TC_WHY(TOOLCAGE_EPATH, "import", from, "export it again, or with another program"),
        "%s cannot be imported: %s", from, complaint);
}

/* Opens a regular file below the directory by an untrusted name. */
static int open_below(int dir, const char *name)
{
    struct stat st;
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    _autofd_ int fd = tc_openat2(dir, name, &how);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    errno = EINVAL;
    return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -1;
}

static int fail_part(const char *from, const char *name, struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY_ERRNO(TOOLCAGE_EPATH, "import", name, errno, "export it again"),
                   "%s cannot be imported: its part %s cannot be read", from, name);
}

static int read_document(int dir, const char *name, const char *from, struct tc_buf *ret,
                         struct toolcage_error **err)
{
    ret->max = TC_IMAGE_JSON_MAX;
    _autofd_ int fd = open_below(dir, name);
    return fd < 0 || tc_read_all(fd, ret) < 0 ? fail_part(from, name, err) : 0;
}

/* Copies a blob of a layout into the store, and checks its digest. */
static int take_blob(const struct tc_import *how, int dir, const char *from,
                     struct tc_image_blob *blob, struct toolcage_error **err)
{
    _autofree_ char *name = tc_format("blobs/sha256/%s", strchr(blob->digest, ':') + 1);
    if (!name)
        return tc_fail_memory(err);
    _autofd_ int fd = open_below(dir, name);
    return fd < 0 ? fail_part(from, name, err) : tc_images_put(how->store, fd, name, blob, err);
}

static int read_blob(const struct tc_import *how, const char *digest, struct tc_buf *ret,
                     struct toolcage_error **err)
{
    ret->max = TC_IMAGE_JSON_MAX;
    int fd = tc_images_blob(how->store, digest, err);
    if (fd < 0)
        return fd;
    _autofd_ int own = fd;
    return tc_read_all(own, ret) < 0 ? tc_images_fail(how->store, "a document is too large", err)
                                     : 0;
}

/* ---- the root ---- */

static void tick(void *ud, const struct tc_unpack_report *report)
{
    (void)ud;
    tc_progress_step(report->bytes >> 20, 0);
}

static int unpack_layer(const struct tc_import *how, int rootfs, size_t i,
                        const struct tc_image_manifest *m, const struct tc_image_config *config,
                        struct tc_imported *ret, struct toolcage_error **err)
{
    struct tc_unpack_report report;
    char what[64];
    int fd = tc_images_blob(how->store, m->layers[i].digest, err);
    if (fd < 0)
        return fd;
    _autofd_ int archive = fd;
    (void)snprintf(what, sizeof(what), "unpacking layer %zu of %zu", i + 1, m->count);
    const struct tc_unpack_job job = {
        .archive = archive,
        .target = rootfs,
        .name = m->layers[i].digest,
        .layer = true,
        .first = i == 0,
        .limits = {how->limits.bytes - ret->bytes, how->limits.files - ret->files},
        .tick = tick};
    tc_progress_start(what, "MiB");
    int r = tc_unpack(&job, &report, err);
    tc_progress_end();
    if (r < 0)
        return r;
    if (strcmp(report.digest, config->diff_ids[i]) != 0)
        return fail_form(m->layers[i].digest,
                         "a layer's uncompressed digest differs from the configuration's", err);
    ret->bytes += report.bytes;
    ret->files += report.files;
    ret->left_out += report.left_out;
    ret->cleared += report.cleared;
    tc_image_say("layer %zu of %zu: %lld files, %lld MiB", i + 1, m->count, (long long)report.files,
                 (long long)(report.bytes >> 20));
    return 0;
}

/* Unpacks a root in the working directory. The complete root is then moved to its final path. */
static int make_root(const struct tc_import *how, const struct tc_image_manifest *m,
                     const struct tc_image_config *config, struct tc_imported *ret,
                     struct toolcage_error **err)
{
    struct tc_images *store = how->store;
    if (mkdirat(store->own, "root", 0700) < 0 || mkdirat(store->own, "root/rootfs", 0755) < 0 ||
        fchmodat(store->own, "root/rootfs", 0755, 0) < 0)
        return tc_images_fail(store, "an image cannot be unpacked", err);
    _autofd_ int rootfs =
        openat(store->own, "root/rootfs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (rootfs < 0)
        return tc_images_fail(store, "an image cannot be unpacked", err);
    for (size_t i = 0; i < m->count; i++) {
        int r = unpack_layer(how, rootfs, i, m, config, ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int choose_name(const struct tc_import *how, const char *brought, const char *from,
                       struct tc_imported *ret, struct toolcage_error **err)
{
    const char *name = how->name ? how->name : brought;
    tc_strcopy(ret->name, sizeof(ret->name), name ? name : "");
    if (ret->name[0])
        return 0;
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EUSAGE, "import", from, "toolcage image import SOURCE NAME"),
                   "%s contains no valid image name", from);
}

/* All blobs are in the store: unpacks the root, and names the image. */
static int finish_import(const struct tc_import *how, const struct tc_image_blob *manifest,
                         const char *from, struct tc_imported *ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT, config_text = TC_BUF_INIT;
    struct tc_image_manifest m;
    struct tc_image_config config;
    int r = read_blob(how, manifest->digest, &text, err);
    if (r < 0)
        return r;
    const char *complaint = tc_image_read_manifest(text.data ? text.data : "", text.len, &m);
    if (complaint)
        return fail_form(from, complaint, err);
    if ((r = read_blob(how, m.config.digest, &config_text, err)) < 0)
        return r;
    complaint = tc_image_read_config(config_text.data ? config_text.data : "", config_text.len,
                                     tc_image_architecture(), &config);
    if (!complaint && config.count != m.count)
        complaint = "its configuration and its manifest do not have the same layers";
    if (complaint)
        return fail_form(from, complaint, err);
    if ((r = make_root(how, &m, &config, ret, err)) < 0 ||
        (r = tc_images_keep_root(how->store, manifest->digest, err)) < 0)
        return r;
    tc_strcopy(ret->digest, sizeof(ret->digest), manifest->digest);
    return tc_images_name(how->store, ret->name, manifest, err);
}

/* ---- an OCI layout ---- */

/* Chooses the manifest for this host; an index may refer to another index. */
static int take_manifest(const struct tc_import *how, int dir, const char *from,
                         struct tc_image_choice *ret, struct toolcage_error **err)
{
    enum { MOST = 3 };
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    int r = read_document(dir, "index.json", from, &text, err);
    char name[TC_IMAGE_NAME_SIZE] = "";
    for (int i = 0; r == 0 && i < MOST; i++) {
        const char *complaint = tc_image_read_choice(text.data ? text.data : "", text.len,
                                                     tc_image_architecture(), ret);
        if (complaint)
            return fail_form(from, complaint, err);
        if (i == 0)
            tc_strcopy(name, sizeof(name), ret->name);
        if ((r = take_blob(how, dir, from, &ret->blob, err)) < 0)
            return r;
        if (!ret->index) {
            tc_strcopy(ret->name, sizeof(ret->name), name);
            return 0;
        }
        tc_buf_done(&text);
        text = TC_BUF_INIT;
        r = read_blob(how, ret->blob.digest, &text, err);
    }
    return r < 0 ? r : fail_form(from, "its indexes are nested too deeply", err);
}

static int import_layout(const struct tc_import *how, int dir, const char *from,
                         struct tc_imported *ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tc_image_choice choice;
    struct tc_image_manifest m;
    int r = take_manifest(how, dir, from, &choice, err);
    if (r == 0)
        r = choose_name(how, choice.name, from, ret, err);
    if (r == 0)
        r = read_blob(how, choice.blob.digest, &text, err);
    if (r < 0)
        return r;
    const char *complaint = tc_image_read_manifest(text.data ? text.data : "", text.len, &m);
    if (complaint)
        return fail_form(from, complaint, err);
    r = take_blob(how, dir, from, &m.config, err);
    for (size_t i = 0; r == 0 && i < m.count; i++)
        r = take_blob(how, dir, from, &m.layers[i], err);
    return r < 0 ? r : finish_import(how, &choice.blob, from, ret, err);
}

/* ---- Docker's format ---- */

static int take_part(const struct tc_import *how, int dir, const char *part, const char *from,
                     struct tc_image_blob *ret, struct toolcage_error **err)
{
    *ret = (struct tc_image_blob){.size = 0};
    _autofd_ int fd = open_below(dir, part);
    return fd < 0 ? fail_part(from, part, err) : tc_images_put(how->store, fd, part, ret, err);
}

static void add_blob(struct tc_buf *out, const char *type, const struct tc_image_blob *blob)
{
    tc_buf_addf(out,
                "{\"mediaType\":\"application/vnd.oci.image.%s\",\"digest\":\"%s\",\"size\":%lld}",
                type, blob->digest, (long long)blob->size);
}

/* The compression of a layer from its magic number; readers of layouts rely on the media type. */
static const char *layer_type(const struct tc_import *how, const struct tc_image_blob *layer)
{
    unsigned char magic[4] = {0};
    _autofd_ int fd = tc_images_blob(how->store, layer->digest, NULL);
    if (fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic)) {
        if (magic[0] == 0x1f && magic[1] == 0x8b)
            return "layer.v1.tar+gzip";
        if (memcmp(magic, "\x28\xb5\x2f\xfd", sizeof(magic)) == 0)
            return "layer.v1.tar+zstd";
    }
    return "layer.v1.tar";
}

static int put_manifest(const struct tc_import *how, const struct tc_image_blob *config,
                        const struct tc_image_blob *layers, size_t count, struct tc_image_blob *ret,
                        struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"schemaVersion\":2,\"mediaType\":"
                      "\"application/vnd.oci.image.manifest.v1+json\",\"config\":");
    add_blob(&out, "config.v1+json", config);
    tc_buf_adds(&out, ",\"layers\":[");
    for (size_t i = 0; i < count; i++) {
        tc_buf_adds(&out, i ? "," : "");
        add_blob(&out, layer_type(how, &layers[i]), &layers[i]);
    }
    tc_buf_adds(&out, "]}");
    return out.failed ? tc_fail_memory(err) : tc_images_put_text(how->store, out.data, ret, err);
}

static int take_docker(const struct tc_import *how, int dir, const char *from,
                       const struct tc_image_docker *docker, struct tc_imported *ret,
                       struct toolcage_error **err)
{
    struct tc_image_blob config, manifest;
    _autofree_ struct tc_image_blob *layers = calloc(docker->count + 1, sizeof(*layers));
    if (!layers)
        return tc_fail_memory(err);
    int r = take_part(how, dir, docker->config, from, &config, err);
    for (size_t i = 0; r == 0 && i < docker->count; i++)
        r = take_part(how, dir, docker->layers[i], from, &layers[i], err);
    if (r == 0)
        r = put_manifest(how, &config, layers, docker->count, &manifest, err);
    return r < 0 ? r : finish_import(how, &manifest, from, ret, err);
}

static int import_docker(const struct tc_import *how, int dir, const char *from,
                         struct tc_imported *ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct tc_image_docker docker;
    int r = read_document(dir, "manifest.json", from, &text, err);
    if (r < 0)
        return r;
    const char *complaint = tc_image_read_docker(text.data ? text.data : "", text.len, &docker);
    r = complaint ? fail_form(from, complaint, err) : choose_name(how, docker.name, from, ret, err);
    if (r == 0)
        r = take_docker(how, dir, from, &docker, ret, err);
    free(docker.layers);
    return r;
}

/* ---- a root directory ---- */

static int put_config(const struct tc_import *how, const char *diff, struct tc_image_blob *ret,
                      struct toolcage_error **err)
{
    const char *architecture = tc_image_architecture();
    time_t epoch = (time_t)how->epoch;
    char created[64] = "";
    struct tm tm;
    if (how->epoch >= 0 && gmtime_r(&epoch, &tm))
        (void)strftime(created, sizeof(created), "\"created\":\"%Y-%m-%dT%H:%M:%SZ\",", &tm);
    _autofree_ char *text = tc_format("{%s\"architecture\":\"%s\",\"os\":\"linux\",\"config\":{},"
                                      "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"%s\"]}}",
                                      created, architecture ? architecture : "unknown", diff);
    return text ? tc_images_put_text(how->store, text, ret, err) : tc_fail_memory(err);
}

int tc_import_root(const struct tc_import *how, int dir, const char *from, struct tc_imported *ret,
                   struct toolcage_error **err)
{
    struct tc_unpack_report report;
    struct tc_image_blob layer = {.size = 0}, config, manifest;
    char diff[TC_IMAGE_DIGEST_SIZE];
    _autofd_ int file =
        openat(how->store->own, "layer", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return tc_images_fail(how->store, "a layer cannot be stored", err);
    int r = choose_name(how, NULL, from, ret, err);
    if (r == 0)
        r = tc_tree_layer(dir, from, how->epoch, file, diff, &report, err);
    if (r == 0 && lseek(file, 0, SEEK_SET) < 0)
        r = tc_images_fail(how->store, "a layer cannot be stored", err);
    if (r == 0)
        r = tc_images_put(how->store, file, "the layer", &layer, err);
    if (r == 0)
        r = put_config(how, diff, &config, err);
    if (r == 0)
        r = put_manifest(how, &config, &layer, 1, &manifest, err);
    if (r < 0)
        return r;
    ret->left_out = report.left_out;
    ret->cleared = report.cleared;
    return finish_import(how, &manifest, from, ret, err);
}

/* ---- detecting the form ---- */

static bool has(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum form { FORM_ANY, FORM_LAYOUT, FORM_DOCKER, FORM_ROOT };

static int import_directory(const struct tc_import *how, int dir, enum form form, const char *from,
                            struct tc_imported *ret, struct toolcage_error **err)
{
    if (form == FORM_ANY)
        form = has(dir, "oci-layout") && has(dir, "index.json") ? FORM_LAYOUT
               : has(dir, "manifest.json")                      ? FORM_DOCKER
                                                                : FORM_ROOT;
    if (form == FORM_LAYOUT)
        return import_layout(how, dir, from, ret, err);
    return form == FORM_DOCKER ? import_docker(how, dir, from, ret, err)
                               : tc_import_root(how, dir, from, ret, err);
}

/* Unpacks an archive of an image or a root into the working directory, with the same confined
 * reader as for layers. */
static int import_archive(const struct tc_import *how, int file, enum form form, const char *from,
                          struct tc_imported *ret, struct toolcage_error **err)
{
    struct tc_unpack_report report;
    if (mkdirat(how->store->own, "archive", 0700) < 0)
        return tc_images_fail(how->store, "an archive cannot be opened", err);
    _autofd_ int dir =
        openat(how->store->own, "archive", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct tc_unpack_job job = {
        .archive = file, .target = dir, .name = from, .limits = how->limits, .tick = tick};
    tc_progress_start("opening the archive", "MiB");
    int r = dir < 0 ? tc_images_fail(how->store, "an archive cannot be opened", err)
                    : tc_unpack(&job, &report, err);
    tc_progress_end();
    if (r == 0)
        r = import_directory(how, dir, form, from, ret, err);
    if (r == 0) { /* the layer packed from it leaves nothing out */
        ret->left_out += report.left_out;
        ret->cleared += report.cleared;
    }
    return r;
}

static int fail_source(const char *source, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "import", source, errno,
                                "name a file, a directory, or an image of a store or registry "
                                "(docker://…, docker-daemon:…, containers-storage:…)"),
                   "cannot open %s", source);
}

static int import_path(const struct tc_import *how, const char *path, enum form form,
                       struct tc_imported *ret, struct toolcage_error **err)
{
    struct stat st;
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_source(path, err);
    return S_ISDIR(st.st_mode) ? import_directory(how, fd, form, path, ret, err)
                               : import_archive(how, fd, form, path, ret, err);
}

/* Fetches into a layout in the working directory. */
static int import_fetched(const struct tc_import *how, const char *source, struct tc_imported *ret,
                          struct toolcage_error **err)
{
    int r = tc_fetch(how, source, "fetched", err);
    if (r < 0)
        return r;
    _autofd_ int dir =
        openat(how->store->own, "fetched", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 ? fail_source(source, err)
                   : import_directory(how, dir, FORM_LAYOUT, source, ret, err);
}

int tc_import(const struct tc_import *how, const char *source, struct tc_imported *ret,
              struct toolcage_error **err)
{
    static const struct {
        const char *prefix;
        enum form form;
    } paths[] = {{"docker-archive:", FORM_DOCKER},
                 {"oci-archive:", FORM_LAYOUT},
                 {"oci:", FORM_LAYOUT},
                 {"directory:", FORM_ROOT}};
    static const char *const fetched[] = {"docker://", "docker-daemon:", "containers-storage:"};
    *ret = (struct tc_imported){.bytes = 0};
    for (size_t i = 0; i < TC_COUNT(paths); i++)
        if (tc_startswith(source, paths[i].prefix))
            return import_path(how, source + strlen(paths[i].prefix), paths[i].form, ret, err);
    for (size_t i = 0; i < TC_COUNT(fetched); i++)
        if (tc_startswith(source, fetched[i]))
            return import_fetched(how, source, ret, err);
    return import_path(how, source, FORM_ANY, ret, err);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/image/form.c, index.c, entry.c and the reader of archives (extract.c). Input: a
 * document of an image, a name, and an archive. What is taken from a document is bounded and well
 * formed; a clean name stays below its root; of an archive nothing leaves the directory. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sys.h"
#include "image/entry.h"
#include "image/form.h"
#include "image/index.h"
#include "image/unpack.h"
#include "state/store.h"

static void read_documents(const char *json, size_t size)
{
    struct tc_image_choice choice;
    struct tc_image_docker docker;
    static struct tc_image_manifest manifest;
    static struct tc_image_config config;
    struct tc_image_ref ref;
    if (!tc_image_read_choice(json, size, "amd64", &choice)) {
        INVARIANT(tc_digest_valid(choice.blob.digest) && choice.blob.size >= 0);
        INVARIANT(!choice.name[0] || !tc_image_ref_parse(choice.name, &ref));
    }
    if (!tc_image_read_manifest(json, size, &manifest)) {
        INVARIANT(manifest.count <= TC_IMAGE_LAYERS_MAX);
        for (size_t i = 0; i < manifest.count; i++)
            INVARIANT(tc_digest_valid(manifest.layers[i].digest));
    }
    if (!tc_image_read_config(json, size, "amd64", &config))
        INVARIANT(config.count <= TC_IMAGE_LAYERS_MAX);
    if (!tc_image_read_docker(json, size, &docker))
        INVARIANT(!docker.name[0] || !tc_image_ref_parse(docker.name, &ref));
    free(docker.layers);
}

static void read_index(const char *json, size_t size)
{
    _autoindex_ struct tc_image_index index = {0}, again = {0};
    if (tc_image_index_parse(json, size, &index))
        return;
    _autofree_ char *text = tc_image_index_text(&index);
    INVARIANT(text && !tc_image_index_parse(text, strlen(text), &again));
    INVARIANT(again.count == index.count);
}

static void read_name(const char *bytes, size_t size)
{
    char name[PATH_MAX + 64], clean[PATH_MAX], again[PATH_MAX];
    const char *meant;
    struct tc_image_ref ref;
    if (size >= sizeof(name))
        return;
    memcpy(name, bytes, size);
    name[size] = '\0';
    (void)tc_image_ref_parse(name, &ref);
    if (!tc_entry_clean(name, clean))
        return;
    INVARIANT(clean[0] != '/' && !strstr(clean, "//") && strcmp(clean, "..") != 0);
    INVARIANT(strncmp(clean, "../", 3) != 0 && !strstr(clean, "/../"));
    INVARIANT(!clean[0] || (tc_entry_clean(clean, again) && strcmp(clean, again) == 0));
    if (tc_entry_kind(clean, &meant) == TC_ENTRY_WHITEOUT)
        INVARIANT(*meant && strcmp(meant, ".") != 0 && strcmp(meant, "..") != 0);
}

/* Beside the root lies one file, which must stay alone. */
static void read_archive(const uint8_t *data, size_t size)
{
    char base[] = "/tmp/toolcage-fuzz-XXXXXX";
    struct stat st;
    INVARIANT(mkdtemp(base));
    _autofd_ int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    INVARIANT(dir >= 0);
    for (int layer = 0; layer < 2; layer++) {
        INVARIANT(mkdirat(dir, "root", 0700) == 0);
        _autofd_ int root = openat(dir, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _autofd_ int archive = openat(dir, "archive", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        INVARIANT(write(archive, data, size) == (ssize_t)size);
        struct tc_unpack_report report = {.over = 0};
        const struct tc_unpack_job job = {.archive = archive,
                                          .target = root,
                                          .name = "archive",
                                          .layer = layer,
                                          .limits = {1 << 20, 100}};
        tc_unpack_here(&job, &report, -1);
        INVARIANT(report.files <= 101 && (!report.bytes || report.bytes <= (2 << 20)));
        INVARIANT(tc_remove_tree(dir, "root") == 0);
        INVARIANT(fstatat(dir, "archive", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1 &&
                  st.st_size == (off_t)size);
    }
    INVARIANT(unlinkat(dir, "archive", 0) == 0);
    INVARIANT(rmdir(base) == 0); /* and so nothing is left beside them */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_documents((const char *)data, size);
    read_index((const char *)data, size);
    read_name((const char *)data, size);
    read_archive(data, size);
    return 0;
}

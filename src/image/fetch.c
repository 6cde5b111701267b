/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Fetches images with skopeo, from a registry or a container store. A registry is untrusted: the
 * size that it claims is checked before fetching, and the real size is limited while fetching. */
#include "image/import.h"

#include <string.h>

#include "base/strv.h"
#include "image/form.h"
#include "image/run.h"
#include "image/say.h"

/* Bytes that a fetch may need in addition to the size limit: for an image's documents, and because
 * a copied layer may be compressed less well. */
enum { BESIDE = 16 << 20 };

static const char raise_it[] = "raise the limit with --max-size, if you trust this image",
                  install[] = "apt-get install skopeo; or export the image to a file (docker save, "
                              "podman save) and import that";

/* ---- claimed size ---- */

static int inspect(const char *source, struct tc_buf *ret, struct toolcage_error **err)
{
    const char *const argv[] = {"skopeo", "inspect", "--raw", source, NULL};
    const struct tc_run run = {.argv = argv, .seconds = 600, .hint = install, .output = ret};
    tc_buf_done(ret);
    *ret = (struct tc_buf){.max = 2 * TC_IMAGE_JSON_MAX};
    return tc_run(&run, err);
}

/* The same repository, with this digest instead of a tag or digest. */
static char *by_digest(const char *source, const char *digest)
{
    size_t length = strcspn(source, "@");
    const char *slash = memrchr(source, '/', length);
    const char *tag = slash ? memchr(slash, ':', (size_t)(source + length - slash)) : NULL;
    return tc_format("%.*s@%s", (int)(tag ? tag - source : (ptrdiff_t)length), source, digest);
}

static bool fits(const struct tc_image_manifest *m, int64_t room)
{
    bool fit = m->config.size <= room;
    room -= fit ? m->config.size : 0;
    for (size_t i = 0; fit && i < m->count; i++) {
        fit = m->layers[i].size <= room;
        room -= fit ? m->layers[i].size : 0;
    }
    return fit;
}

/* Formats that do not claim a size are limited only while fetching. */
static int check_size(const char *source, int64_t room, struct toolcage_error **err)
{
    enum { MOST = 3 };
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *at = strdup(source);
    struct tc_image_manifest manifest;
    struct tc_image_choice choice;
    for (int i = 0; i < MOST; i++) {
        int r = at ? inspect(at, &text, err) : tc_fail_memory(err);
        if (r < 0)
            return r;
        const char *json = text.data ? text.data : "";
        if (!tc_image_read_manifest(json, text.len, &manifest))
            return fits(&manifest, room)
                       ? 0
                       : tc_fail(err, TC_WHY(TOOLCAGE_EPATH, "import", source, raise_it),
                                 "%s was not fetched: its compressed layers exceed the limit of "
                                 "%lld MiB",
                                 source, (long long)((room - BESIDE) >> 20));
        if (tc_image_read_choice(json, text.len, tc_image_architecture(), &choice))
            return 0;
        free(at);
        at = by_digest(source, choice.blob.digest);
    }
    return 0;
}

/* ---- fetching ---- */

int tc_fetch(const struct tc_import *how, const char *source, const char *name,
             struct toolcage_error **err)
{
    int64_t most = INT64_MAX - BESIDE,
            room = (how->limits.bytes < most ? how->limits.bytes : most) + BESIDE;
    _autofree_ char *to = tc_format("oci:%s/%s/%s", how->store->path, how->store->own_name, name);
    if (!to)
        return tc_fail_memory(err);
    /* skopeo, unlike docker, does not read DOCKER_HOST */
    const char *host = tc_startswith(source, "docker-daemon:") ? getenv("DOCKER_HOST") : NULL;
    const char *of = host && *host ? "--src-daemon-host" : NULL;
    const char *const argv[] = {"skopeo", "copy", "--quiet", source, to, of, host, NULL};
    const struct tc_run run = {.argv = argv,
                               .seconds = 3600,
                               .hint = install,
                               .silent = true,
                               .place = how->store->own,
                               .made = name,
                               .room = room,
                               .large = raise_it};
    tc_image_say("fetching %s", source);
    int r = tc_startswith(source, "docker://") ? check_size(source, room, err) : 0;
    return r < 0 ? r : tc_run(&run, err);
}

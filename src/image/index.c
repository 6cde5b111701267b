/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/index.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "base/strv.h"
#include "state/store.h"

static const char current_key[] = "org.opencontainers.image.ref.name";
static const char older_key[] = "toolcage.older.name";

bool tc_image_store_path(char **ret)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    *ret = NULL;
    if (geteuid() == 0)
        *ret = strdup("/var/lib/toolcage/images");
    else if (data && data[0] == '/')
        *ret = tc_path_join(data, "toolcage/images");
    else if (home && home[0] == '/')
        *ret = tc_path_join(home, ".local/share/toolcage/images");
    else
        return true;
    return *ret != NULL;
}

/* ---- the text ---- */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const char *parse_entry(const json_t *value, struct tc_image_index *ret)
{
    const json_t *notes = json_object_get(value, "annotations");
    const char *digest = text_of(value, "digest"), *name = text_of(notes, current_key);
    const char *older = name ? NULL : text_of(notes, older_key);
    struct tc_image_ref ref;
    if (!digest || !tc_digest_valid(digest))
        return "an entry has no sha256 digest";
    if (!(name || older) || tc_image_ref_parse(name ? name : older, &ref) || ref.digest[0])
        return "an entry has no name";
    struct tc_image_entry *entry = TC_PUSH(ret->items, ret->count);
    if (!entry)
        return "out of memory";
    tc_strcopy(entry->digest, sizeof(entry->digest), digest);
    entry->size = json_integer_value(json_object_get(value, "size"));
    entry->older = older != NULL;
    entry->name = strdup(ref.name);
    return entry->name ? NULL : "out of memory";
}

const char *tc_image_index_parse(const char *json, size_t length, struct tc_image_index *ret)
{
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *all = json_object_get(root, "manifests"), *value;
    const char *complaint = json_is_array(all) ? NULL : "it is not an image index";
    size_t i;
    *ret = (struct tc_image_index){0};
    json_array_foreach(all, i, value)
    {
        if (!complaint)
            complaint = parse_entry(value, ret);
    }
    json_decref(root);
    return complaint;
}

static void add_entry(struct tc_buf *out, const struct tc_image_entry *entry, bool more)
{
    tc_buf_addf(out,
                "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
                "\"digest\":\"%s\",\"size\":%lld,\"annotations\":{\"%s\":",
                entry->digest, (long long)entry->size, entry->older ? older_key : current_key);
    tc_json_string(out, entry->name, strlen(entry->name));
    tc_buf_adds(out, more ? "}}," : "}}");
}

char *tc_image_index_text(const struct tc_image_index *index)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"schemaVersion\":2,\"mediaType\":"
                      "\"application/vnd.oci.image.index.v1+json\",\"manifests\":[");
    for (size_t i = 0; i < index->count; i++)
        add_entry(&out, &index->items[i], i + 1 < index->count);
    tc_buf_adds(&out, "]}\n");
    return tc_buf_steal(&out);
}

/* ---- finding and naming ---- */

const struct tc_image_entry *tc_image_index_find(const struct tc_image_index *index,
                                                 const struct tc_image_ref *ref)
{
    for (size_t i = 0; i < index->count; i++) {
        const struct tc_image_entry *e = &index->items[i];
        if (strcmp(e->name, ref->name) == 0 &&
            (ref->digest[0] ? strcmp(e->digest, ref->digest) == 0 : !e->older))
            return e;
    }
    return NULL;
}

bool tc_image_index_put(struct tc_image_index *index, const char *name, const char *digest,
                        int64_t size)
{
    struct tc_image_entry *found = NULL;
    for (size_t i = 0; i < index->count; i++) {
        struct tc_image_entry *e = &index->items[i];
        if (strcmp(e->name, name) != 0)
            continue;
        e->older = strcmp(e->digest, digest) != 0;
        found = e->older ? found : e;
    }
    if (found)
        return true;
    struct tc_image_entry *entry = TC_PUSH(index->items, index->count);
    if (!entry)
        return false;
    tc_strcopy(entry->digest, sizeof(entry->digest), digest);
    entry->size = size;
    entry->name = strdup(name);
    return entry->name != NULL;
}

void tc_image_index_done(struct tc_image_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        free(index->items[i].name);
    free(index->items);
    *index = (struct tc_image_index){0};
}

static int fail_store(const char *path, const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "image", path, errno,
                                "it must be your own directory, writable only by you"),
                   "the image store %s %s", path, what);
}

int tc_image_index_read(int store, const char *path, struct tc_image_index *ret,
                        struct toolcage_error **err)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    text.max = TC_IMAGE_JSON_MAX;
    *ret = (struct tc_image_index){0};
    if (tc_read_file(store, "index.json", &text) < 0)
        return errno == ENOENT ? 0 : fail_store(path, "has an index that cannot be read", err);
    const char *complaint = tc_image_index_parse(text.data ? text.data : "", text.len, ret);
    if (!complaint)
        return 0;
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_EPATH, "image", path, "remove the directory, and import the images again"),
        "the index.json of the store %s cannot be parsed: %s", path, complaint);
}

/* ---- using an image ---- */

static int fail_missing(const struct tc_image_index *index, const struct tc_image_ref *ref,
                        struct toolcage_error **err)
{
    const struct tc_image_ref by_name = {0};
    struct tc_image_ref named = by_name;
    tc_strcopy(named.name, sizeof(named.name), ref->name);
    const struct tc_image_entry *now = tc_image_index_find(index, &named);
    bool standard = strcmp(ref->name, TC_IMAGE_DEFAULT) == 0;
    struct tc_why why = {
        .code = TOOLCAGE_ENOT_FOUND,
        .stage = "image",
        .subject = ref->name,
        .hint = standard
                    ? "toolcage image build default"
                    : "toolcage image import SOURCE NAME; toolcage image list shows the images"};
    if (!ref->digest[0] || !now)
        return tc_fail(err, &why, "there is no image %s in the store%s", ref->name,
                       standard ? "; build it once with: toolcage image build default" : "");
    why.hint = "import the intended image, or use the digest of the present one";
    return tc_fail(err, &why, "the image %s is %s here, not %s", ref->name, now->digest,
                   ref->digest);
}

/* Locks an image's root directory, so that it is not removed while it is used. All users share the
 * lock; removing the image needs it exclusively. Returns the fd that holds the lock, or -1. */
static int lock_root(int store, const char *digest)
{
    const char *hex = strchr(digest, ':') + 1;
    _autofd_ int roots = tc_store_enter(store, "roots");
    _autofd_ int own = roots < 0 ? -1 : tc_store_enter(roots, hex);
    _autofd_ int rootfs = own < 0 ? -1 : tc_store_enter(own, "rootfs");
    if (rootfs < 0 || flock(own, LOCK_SH | LOCK_NB) < 0)
        return -1;
    return TAKE_FD(own);
}

static int use(int store, const char *path, const struct tc_image_ref *ref, char **ret_path,
               int *ret_lock, struct toolcage_error **err)
{
    _autoindex_ struct tc_image_index index = {0};
    int r = store < 0 ? 0 : tc_image_index_read(store, path, &index, err);
    if (r < 0)
        return r;
    const struct tc_image_entry *entry = tc_image_index_find(&index, ref);
    if (!entry)
        return fail_missing(&index, ref, err);
    _autofd_ int lock = lock_root(store, entry->digest);
    if (lock < 0)
        return fail_store(path, "has lost the root of an image; import it again", err);
    *ret_path = tc_format("%s/roots/%s/rootfs", path, strchr(entry->digest, ':') + 1);
    if (!*ret_path)
        return tc_fail_memory(err);
    *ret_lock = TAKE_FD(lock);
    return 0;
}

int tc_image_use(const struct tc_image_ref *ref, char **ret_path, int *ret_lock,
                 struct toolcage_error **err)
{
    _autofree_ char *path = NULL;
    if (!tc_image_store_path(&path))
        return tc_fail_memory(err);
    _autofd_ int store = path ? tc_store_enter(AT_FDCWD, path) : -1;
    if (path && store < 0 && errno != ENOENT)
        return fail_store(path, "cannot be used", err);
    return use(store, path ? path : "", ref, ret_path, ret_lock, err);
}

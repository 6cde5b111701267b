/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/form.h"

#include <jansson.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/digest.h"
#include "base/strv.h"

const char *tc_image_architecture(void)
{
    static const char *const words[][2] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"riscv64", "riscv64"}};
    struct utsname name;
    for (size_t i = 0; uname(&name) == 0 && i < TC_COUNT(words); i++)
        if (strcmp(name.machine, words[i][0]) == 0)
            return words[i][1];
    return NULL;
}

static json_t *load_json(const char *json, size_t length)
{
    return json_loadb(json, length, JSON_REJECT_DUPLICATES, NULL);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool take_blob(const json_t *value, struct tc_image_blob *ret)
{
    const char *digest = text_of(value, "digest");
    const json_t *size = json_object_get(value, "size");
    if (!digest || !tc_digest_valid(digest) || !json_is_integer(size) ||
        json_integer_value(size) < 0)
        return false;
    tc_strcopy(ret->digest, sizeof(ret->digest), digest);
    ret->size = json_integer_value(size);
    return true;
}

/* A foreign name is used only if it is a valid name here. */
static void take_name(const char *name, char ret[TC_IMAGE_NAME_SIZE])
{
    struct tc_image_ref ref;
    ret[0] = '\0';
    if (name && !tc_image_ref_parse(name, &ref) && !ref.digest[0])
        tc_strcopy(ret, TC_IMAGE_NAME_SIZE, ref.name);
}

/* ---- the index ---- */

static bool is_for(const json_t *value, const char *architecture)
{
    const json_t *platform = json_object_get(value, "platform");
    return tc_streq(text_of(platform, "os"), "linux") &&
           tc_streq(text_of(platform, "architecture"), architecture);
}

/* The only entry, or the only one for this host. */
static const json_t *choose(const json_t *all, const char *architecture)
{
    const json_t *value, *found = NULL;
    size_t i, count = 0;
    if (json_array_size(all) == 1)
        return json_array_get(all, 0);
    json_array_foreach(all, i, value)
    {
        if (is_for(value, architecture)) {
            found = value;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

static const char *take_choice(const json_t *root, const char *architecture,
                               struct tc_image_choice *ret)
{
    const json_t *all = json_object_get(root, "manifests");
    const json_t *value = choose(all, architecture);
    const char *type = text_of(value, "mediaType");
    if (!json_is_array(all))
        return "its index is not an OCI index";
    if (!value)
        return "it does not have exactly one image for this host; export only the wanted one";
    if (!take_blob(value, &ret->blob))
        return "its image has no sha256 digest or no size";
    ret->index = type && (strstr(type, "image.index") || strstr(type, "manifest.list"));
    take_name(text_of(json_object_get(value, "annotations"), "org.opencontainers.image.ref.name"),
              ret->name);
    return NULL;
}

const char *tc_image_read_choice(const char *json, size_t length, const char *architecture,
                                 struct tc_image_choice *ret)
{
    json_t *root = load_json(json, length);
    *ret = (struct tc_image_choice){.index = false};
    const char *complaint = take_choice(root, architecture, ret);
    json_decref(root);
    return complaint;
}

/* ---- manifest and configuration ---- */

static const char *take_manifest(const json_t *root, struct tc_image_manifest *ret)
{
    const json_t *layers = json_object_get(root, "layers"), *value;
    size_t i;
    if (!take_blob(json_object_get(root, "config"), &ret->config))
        return "its manifest names no configuration by a sha256 digest";
    if (!json_is_array(layers) || json_array_size(layers) > TC_IMAGE_LAYERS_MAX)
        return "its manifest has no layers, or more than 256";
    json_array_foreach(layers, i, value)
    {
        if (!take_blob(value, &ret->layers[ret->count++]))
            return "a layer of its manifest has no sha256 digest or no size";
    }
    return NULL;
}

const char *tc_image_read_manifest(const char *json, size_t length, struct tc_image_manifest *ret)
{
    json_t *root = load_json(json, length);
    ret->count = 0;
    const char *complaint = take_manifest(root, ret);
    json_decref(root);
    return complaint;
}

static const char *take_config(const json_t *root, const char *architecture,
                               struct tc_image_config *ret)
{
    const json_t *ids = json_object_get(json_object_get(root, "rootfs"), "diff_ids"), *value;
    const char *os = text_of(root, "os"), *built_for = text_of(root, "architecture");
    size_t i;
    if (!json_is_object(root))
        return "its configuration is not a JSON object";
    if ((os && strcmp(os, "linux") != 0) || (built_for && !tc_streq(built_for, architecture)))
        return "it is an image for another architecture";
    if (!json_is_array(ids) || json_array_size(ids) > TC_IMAGE_LAYERS_MAX)
        return "its configuration has no digests of layers, or more than 256";
    json_array_foreach(ids, i, value)
    {
        const char *id = json_string_value(value);
        if (!id || !tc_digest_valid(id))
            return "its configuration has a layer without a sha256 digest";
        tc_strcopy(ret->diff_ids[ret->count++], TC_IMAGE_DIGEST_SIZE, id);
    }
    return NULL;
}

const char *tc_image_read_config(const char *json, size_t length, const char *architecture,
                                 struct tc_image_config *ret)
{
    json_t *root = load_json(json, length);
    ret->count = 0;
    const char *complaint = take_config(root, architecture, ret);
    json_decref(root);
    return complaint;
}

/* ---- Docker's manifest.json ---- */

static const char *take_docker(const json_t *root, struct tc_image_docker *ret)
{
    const json_t *image = json_array_get(root, 0), *layers = json_object_get(image, "Layers"),
                 *value;
    const char *config = text_of(image, "Config");
    size_t i;
    if (json_array_size(root) != 1)
        return "its manifest.json does not have exactly one image; save only the wanted one";
    if (!config || strlen(config) >= sizeof(ret->config))
        return "its manifest.json names no configuration";
    tc_strcopy(ret->config, sizeof(ret->config), config);
    take_name(json_string_value(json_array_get(json_object_get(image, "RepoTags"), 0)), ret->name);
    if (!json_is_array(layers) || json_array_size(layers) > TC_IMAGE_LAYERS_MAX)
        return "its manifest.json has no layers, or more than 256";
    ret->layers = calloc(json_array_size(layers) + 1, sizeof(*ret->layers));
    if (!ret->layers)
        return "out of memory";
    json_array_foreach(layers, i, value)
    {
        const char *layer = json_string_value(value);
        if (!layer || strlen(layer) >= PATH_MAX)
            return "its manifest.json has a layer without a name";
        tc_strcopy(ret->layers[ret->count++], PATH_MAX, layer);
    }
    return NULL;
}

const char *tc_image_read_docker(const char *json, size_t length, struct tc_image_docker *ret)
{
    json_t *root = load_json(json, length);
    ret->layers = NULL;
    ret->count = 0;
    ret->name[0] = ret->config[0] = '\0';
    const char *complaint = take_docker(root, ret);
    json_decref(root);
    return complaint;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "pins/store.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "state/stamp.h"
#include "state/store.h"

enum { FILE_MAX = 32 << 20, NAME_SIZE = TC_PINS_ID_SIZE + 8 };

_Static_assert((int)TC_PINS_STAMP_SIZE == (int)TC_STAMP_SIZE, "a stamp is one of stamp.h");

static const char ending[] = ".json";

/* ---- the directory ---- */

static const char what[] = "the approved definitions of tools";

int tc_pins_open(struct tc_fault *fault)
{
    return tc_fault_open("pins", what, fault);
}

int tc_pins_lock(int dir, struct tc_fault *fault)
{
    return tc_fault_lock(dir, what, fault);
}

/* ---- names ---- */

bool tc_pins_named(const char *name, char ret[TC_PINS_ID_SIZE])
{
    size_t digits = strspn(name, "0123456789abcdef");
    if (digits != TC_PINS_ID_SIZE - 1 || strcmp(name + digits, ending) != 0)
        return false;
    tc_strcopy(ret, TC_PINS_ID_SIZE, name);
    return true;
}

static void name_of(const char *id, char ret[NAME_SIZE])
{
    (void)snprintf(ret, NAME_SIZE, "%s%s", id, ending);
}

/* ---- content ---- */

static char *copy_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strdup(text) : NULL;
}

static bool take_tool(const json_t *said, struct tc_pinned *ret)
{
    *ret = (struct tc_pinned){.name = copy_text(said, "name"),
                              .approved = copy_text(said, "approved"),
                              .offered = copy_text(said, "offered"),
                              .missing = json_is_true(json_object_get(said, "missing"))};
    return ret->name;
}

static int order(const void *a, const void *b)
{
    return strcmp(((const struct tc_pinned *)a)->name, ((const struct tc_pinned *)b)->name);
}

static bool take_file(const json_t *file, struct tc_pins *ret)
{
    const json_t *tools = json_object_get(file, "tools");
    ret->policy = copy_text(file, "policy");
    ret->server = copy_text(file, "server");
    ret->command = copy_text(file, "command");
    ret->tools = calloc(json_array_size(tools) + 1, sizeof(*ret->tools));
    bool good = json_integer_value(json_object_get(file, "version")) == 1 && json_is_array(tools) &&
                ret->policy && ret->server && ret->command && ret->tools;
    for (size_t i = 0; good && i < json_array_size(tools); i++)
        good = take_tool(json_array_get(tools, i), &ret->tools[ret->count++]);
    if (good && ret->count)
        qsort(ret->tools, ret->count, sizeof(*ret->tools), order);
    return good;
}

/* The file must be the one of its name: a copied file approves nothing of another server. */
static bool is_named(const struct tc_pins *pins)
{
    char id[TC_PINS_ID_SIZE];
    return tc_pins_id(&(struct tc_pins_key){pins->policy, pins->server, pins->command}, id) &&
           strcmp(id, pins->id) == 0;
}

static int fail_damaged(const char *id, struct tc_fault *fault)
{
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM,
                        "remove the file, and approve the tools again: toolcage pins",
                        "the approved definitions in pins/%s%s of the state directory cannot be "
                        "used: the file is damaged, or another user owns it or can write it",
                        id, ending);
}

int tc_pins_read(int dir, const char *id, struct tc_pins *ret, struct tc_fault *fault)
{
    char name[NAME_SIZE];
    struct stat st;
    _autobuf_ struct tc_buf text = {.max = FILE_MAX};
    *ret = (struct tc_pins){0};
    name_of(id, name);
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 1;
    if (!tc_store_own(fd, S_IFREG) || fstat(fd, &st) < 0 || tc_read_all(fd, &text) < 0)
        return fail_damaged(id, fault);
    json_t *file = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    tc_strcopy(ret->id, sizeof(ret->id), id);
    tc_stamp(&st, ret->stamp);
    bool good = file && take_file(file, ret) && is_named(ret);
    json_decref(file);
    if (good)
        return 0;
    tc_pins_done(ret);
    return fail_damaged(id, fault);
}

static void put_tool(struct tc_buf *out, const struct tc_pinned *tool)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "name", tool->name);
    if (tool->approved)
        tc_json_member(out, "approved", tool->approved);
    if (tool->offered)
        tc_json_member(out, "offered", tool->offered);
    tc_json_bool(out, "missing", tool->missing);
    tc_buf_addc(out, '}');
}

int tc_pins_write(int dir, const struct tc_pins *pins, struct tc_fault *fault)
{
    char name[NAME_SIZE];
    _autobuf_ struct tc_buf out = {.max = FILE_MAX};
    tc_buf_addc(&out, '{');
    tc_json_number(&out, "version", 1);
    tc_json_member(&out, "policy", pins->policy);
    tc_json_member(&out, "server", pins->server);
    tc_json_member(&out, "command", pins->command);
    tc_json_key(&out, "tools");
    tc_buf_addc(&out, '[');
    for (size_t i = 0; i < pins->count; i++) {
        tc_buf_adds(&out, i ? "," : "");
        put_tool(&out, &pins->tools[i]);
    }
    tc_buf_adds(&out, "]}\n");
    if (out.failed)
        return tc_fault_set(fault, TOOLCAGE_ESYSTEM,
                            "name fewer of the server's tools in the policy",
                            "the definitions of the server's tools are too large to be stored");
    name_of(pins->id, name);
    if (tc_store_write(dir, name, out.data, out.len, 0600) == 0)
        return 0;
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "make room in the state directory",
                        "the definitions of the server's tools cannot be stored: %s",
                        strerror(errno));
}

int tc_pins_unlink(int dir, const char *id, struct tc_fault *fault)
{
    char name[NAME_SIZE];
    name_of(id, name);
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    return tc_fault_set(fault, errno == ENOENT ? TOOLCAGE_ENOT_FOUND : TOOLCAGE_ESYSTEM,
                        "toolcage pins list", "the pins %s cannot be removed: %s", id,
                        strerror(errno));
}

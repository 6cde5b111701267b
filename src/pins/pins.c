/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "pins/pins.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "base/fd.h"
#include "pins/store.h"
#include "state/stamp.h"

static void done_tool(struct tc_pinned *tool)
{
    free(tool->name);
    free(tool->approved);
    free(tool->offered);
}

void tc_pins_done(struct tc_pins *pins)
{
    for (size_t i = 0; i < pins->count; i++)
        done_tool(&pins->tools[i]);
    free(pins->tools);
    free(pins->policy);
    free(pins->server);
    free(pins->command);
    *pins = (struct tc_pins){0};
}

static int order(const void *name, const void *tool)
{
    return strcmp(name, ((const struct tc_pinned *)tool)->name);
}

static struct tc_pinned *find_tool(const struct tc_pins *pins, const char *name)
{
    return pins->count ? bsearch(name, pins->tools, pins->count, sizeof(*pins->tools), order)
                       : NULL;
}

const struct tc_pinned *tc_pins_tool(const struct tc_pins *pins, const char *name)
{
    return find_tool(pins, name);
}

/* ---- reading ---- */

/* Fills an empty record of this server. False: out of memory. */
static bool begin(const struct tc_pins_key *key, const char *id, struct tc_pins *ret)
{
    *ret = (struct tc_pins){.policy = strdup(key->policy),
                            .server = strdup(key->server),
                            .command = strdup(key->command)};
    tc_strcopy(ret->id, sizeof(ret->id), id);
    return ret->policy && ret->server && ret->command;
}

static int load(int dir, const struct tc_pins_key *key, struct tc_pins *ret, struct tc_fault *fault)
{
    char id[TC_PINS_ID_SIZE];
    if (!tc_pins_id(key, id))
        return tc_fault_no_memory(fault);
    int rc = tc_pins_read(dir, id, ret, fault);
    if (rc <= 0 || begin(key, id, ret))
        return rc < 0 ? rc : 0;
    tc_pins_done(ret);
    return tc_fault_no_memory(fault);
}

int tc_pins_load(const struct tc_pins_key *key, struct tc_pins *ret, struct tc_fault *fault)
{
    _autofd_ int dir = tc_pins_open(fault);
    *ret = (struct tc_pins){0};
    return dir < 0 ? TAKE_FD(dir) : load(dir, key, ret, fault);
}

bool tc_pins_stale(const struct tc_pins *pins)
{
    struct tc_fault fault;
    char stamp[TC_STAMP_SIZE] = "", name[TC_PINS_ID_SIZE + 8];
    struct stat st;
    _autofd_ int dir = tc_pins_open(&fault);
    if (dir < 0)
        return true;
    (void)snprintf(name, sizeof(name), "%s.json", pins->id);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        tc_stamp(&st, stamp);
    return strcmp(stamp, pins->stamp) != 0;
}

int tc_pins_list(struct tc_pins **ret, size_t *ret_count, struct tc_fault *fault)
{
    _autofd_ int dir = tc_pins_open(fault);
    _autodir_ DIR *list = dir < 0 ? NULL : tc_list_dir(dir);
    struct dirent *e;
    int more = list ? 1 : -1;
    *ret = NULL;
    *ret_count = 0;
    if (dir < 0)
        return TAKE_FD(dir);
    while (more > 0 && (more = tc_next_entry(list, &e)) > 0) {
        char id[TC_PINS_ID_SIZE];
        struct tc_pins one;
        if (!tc_pins_named(e->d_name, id))
            continue;
        int rc = tc_pins_read(dir, id, &one, fault);
        if (rc > 0)
            continue; /* it was removed meanwhile */
        struct tc_pins *slot = rc == 0 ? TC_PUSH(*ret, *ret_count) : NULL;
        if (!slot)
            return rc < 0 ? rc : (tc_pins_done(&one), tc_fault_no_memory(fault));
        *slot = one;
    }
    return more < 0 ? tc_fault_set(fault, TOOLCAGE_ESYSTEM, "try again",
                                   "the approved definitions of tools cannot be listed")
                    : 0;
}

void tc_pins_free(struct tc_pins *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tc_pins_done(&list[i]);
    free(list);
}

static bool is_meant(const struct tc_pins *pins, const char *word)
{
    size_t length = strlen(word);
    return tc_streq(pins->server, word) || (length >= 6 && strncmp(pins->id, word, length) == 0);
}

int tc_pins_find(const char *word, struct tc_pins *ret, struct tc_fault *fault)
{
    struct tc_pins *list = NULL;
    size_t count = 0, found = 0, at = 0;
    int rc = tc_pins_list(&list, &count, fault);
    *ret = (struct tc_pins){0};
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (is_meant(&list[i], word)) {
            at = i;
            found++;
        }
    if (rc == 0 && found == 1) {
        *ret = list[at];
        list[at] = (struct tc_pins){0};
    }
    tc_pins_free(list, count);
    if (rc == 0 && found > 1)
        return tc_fault_set(fault, TOOLCAGE_EUSAGE, "name one by its id: toolcage pins list",
                            "%zu servers are called %.60s", found, word);
    if (rc == 0 && !found)
        return tc_fault_set(fault, TOOLCAGE_ENOT_FOUND,
                            "toolcage wrap with `pin = true` records what a server offers once a "
                            "client has listed its tools; toolcage pins list",
                            "no pinned server is called %.60s", word);
    return rc;
}

/* ---- writing ---- */

static int open_locked(int *ret_lock, struct tc_fault *fault)
{
    _autofd_ int dir = tc_pins_open(fault);
    if (dir < 0)
        return TAKE_FD(dir);
    *ret_lock = tc_pins_lock(dir, fault);
    return *ret_lock < 0 ? *ret_lock : TAKE_FD(dir);
}

/* Replaces a text by a copy. False: out of memory. */
static bool set_text(char **text, const char *to)
{
    char *copy = to ? strdup(to) : NULL;
    if (to && !copy)
        return false;
    free(*text);
    *text = copy;
    return true;
}

/* `known`: how many of the tools are sorted; others were added in this call. */
static bool set_offer(struct tc_pins *pins, size_t known, const struct tc_pinned *seen)
{
    struct tc_pinned *tool =
        known ? bsearch(seen->name, pins->tools, known, sizeof(*pins->tools), order) : NULL;
    if (!tool && !seen->offered)
        return true;
    if (!tool) {
        tool = TC_PUSH(pins->tools, pins->count);
        if (!tool || !set_text(&tool->name, seen->name))
            return false;
    }
    tool->missing = seen->missing && tool->approved;
    return set_text(&tool->offered, tc_streq(seen->offered, tool->approved) ? NULL : seen->offered);
}

int tc_pins_offer(const struct tc_pins_key *key, const struct tc_pinned *seen, size_t count,
                  struct tc_fault *fault)
{
    struct tc_pins pins = {0};
    _autofd_ int lock = -1;
    _autofd_ int dir = open_locked(&lock, fault);
    int rc = dir < 0 ? TAKE_FD(dir) : load(dir, key, &pins, fault);
    size_t known = pins.count;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = set_offer(&pins, known, &seen[i]) ? 0 : tc_fault_no_memory(fault);
    if (rc == 0)
        rc = tc_pins_write(dir, &pins, fault);
    tc_pins_done(&pins);
    return rc;
}

/* Moves the offers to the approved ones. */
static int approve(const struct tc_pins *shown, char *const names[], size_t count,
                   struct tc_pins *pins, struct tc_fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        const struct tc_pinned *seen = find_tool(shown, names[i]);
        struct tc_pinned *tool = find_tool(pins, names[i]);
        if (!seen || !seen->offered)
            return tc_fault_set(fault, TOOLCAGE_ENOT_FOUND, "toolcage pins show NAME",
                                "the server %.60s offers no definition of %.60s that waits for "
                                "approval",
                                shown->server, names[i]);
        if (!tool || !tc_streq(tool->offered, seen->offered) ||
            !tc_streq(tool->approved, seen->approved))
            return tc_fault_set(fault, TOOLCAGE_EDENIED, "toolcage pins show NAME shows it",
                                "the definition of %.60s has changed since it was shown", names[i]);
        free(tool->approved);
        tool->approved = tool->offered;
        tool->offered = NULL;
    }
    return 0;
}

int tc_pins_accept(const struct tc_pins *shown, char *const names[], size_t count,
                   struct tc_fault *fault)
{
    struct tc_pins pins = {0};
    _autofd_ int lock = -1;
    _autofd_ int dir = open_locked(&lock, fault);
    int rc = dir < 0 ? TAKE_FD(dir) : tc_pins_read(dir, shown->id, &pins, fault);
    if (rc > 0)
        rc = tc_fault_set(fault, TOOLCAGE_ENOT_FOUND, "toolcage pins list",
                          "the pins of the server %.60s were removed", shown->server);
    if (rc == 0)
        rc = approve(shown, names, count, &pins, fault);
    if (rc == 0)
        rc = tc_pins_write(dir, &pins, fault);
    tc_pins_done(&pins);
    return rc;
}

int tc_pins_remove(const struct tc_pins *pins, struct tc_fault *fault)
{
    _autofd_ int lock = -1;
    _autofd_ int dir = open_locked(&lock, fault);
    return dir < 0 ? TAKE_FD(dir) : tc_pins_unlink(dir, pins->id, fault);
}

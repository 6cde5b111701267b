/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reading settings: shared by the readers of JSON and TOML. */
#ifndef TC_ADOPT_SETTINGS_H
#define TC_ADOPT_SETTINGS_H

#include "adopt/adopt.h"
#include "base/strv.h"

struct tc_adopt_reading {
    struct tc_adopt_settings *settings;
    struct tc_adopt_fault *fault;
    int rc; /* the first failure */
};

/* Records the first failure; returns false. */
bool tc_adopt_fail(struct tc_adopt_reading *r, size_t at, const char *fmt, ...) TC_PRINTF(3, 4);
bool tc_adopt_no_memory(struct tc_adopt_reading *r);
/* A new server; its strings are copied. NULL with the failure. */
struct tc_adopt_server *tc_adopt_add(struct tc_adopt_reading *r, const char *where,
                                     const char *name, size_t at);
/* A new element or variable at a range. False with the failure. `name` and `value` are taken. */
bool tc_adopt_add_item(struct tc_adopt_reading *r, struct tc_adopt_server *server, char *value,
                       struct tc_adopt_range range);
bool tc_adopt_add_variable(struct tc_adopt_reading *r, struct tc_adopt_server *server, char *name,
                           char *value, struct tc_adopt_range member);
/* Takes the text, also on failure; NULL is a failure. */
bool tc_adopt_add_word(struct tc_adopt_reading *r, struct tc_adopt_server *server, char *text);
/* Nothing is known to be done with this server. */
void tc_adopt_unclear(struct tc_adopt_server *server, const char *why);
/* After all its parts were read. */
void tc_adopt_classify(struct tc_adopt_server *server, bool remote);

bool tc_adopt_read_json(struct tc_adopt_reading *r);
bool tc_adopt_read_toml(struct tc_adopt_reading *r);

#endif

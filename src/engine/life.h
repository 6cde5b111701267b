/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The life of one container, as its engine is asked for it. */
#ifndef TC_ENGINE_LIFE_H
#define TC_ENGINE_LIFE_H

#include "engine/attach.h"
#include "engine/engine.h"
#include "engine/http.h"

/* Takes nothing. What comes of it is said on TC_ENGINE_CONTROL; nothing else of it matters. */
void tc_engine_live(struct tc_http *http, const struct tc_engine_config *config, int program,
                    const struct tc_engine_lines *lines);
/* words.c: whatever an engine wrote, as one line of at most that many bytes. */
void tc_engine_words(char to[TC_ENGINE_TEXT_MAX], const char *from);
/* To the helper: a message of this kind, with such a line. */
void tc_engine_say(int kind, const char *text);
/* Who wrote this answer to /version; owned, NULL when out of memory. */
char *tc_engine_about(const char *version);

#endif

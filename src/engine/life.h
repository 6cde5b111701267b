/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The life of one container, as its engine is asked for it. */
#ifndef TC_ENGINE_LIFE_H
#define TC_ENGINE_LIFE_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/http.h"

/* Takes nothing. What comes of it is said on TC_ENGINE_CONTROL; nothing else of it matters. */
void tc_engine_live(struct tc_engine_http *http, const struct tc_engine_config *config);
/* To the helper: a message of this kind, with whatever an engine wrote as one line. */
void tc_engine_say(int kind, const char *text);

/* A connection that is nothing but the container's streams; -1 and *ret_why. The name goes into a
 * path as it is. */
int tc_engine_attach(const struct tc_engine_config *config, const char **ret_why);
/* Passes on what either side says until one of them has ended, or the helper asks for the end. */
void tc_engine_relay(int streams, const struct tc_engine_config *config);

/* The life of one container of containerd's, by its own client. */

/* As tc_engine_live() does it over HTTP. Where it is attached, it closes port and console. False
 * when there was not even memory for it. */
bool tc_engine_live_by_client(const struct tc_engine_config *config);

/* The image of our containers as a tar: one program, and places for what engines mount. */

/* Of the program behind this descriptor, which stays open as long as the source is used. False with
 * errno. */
bool tc_engine_image(int program, struct tc_engine_http_source *ret);
void tc_engine_image_done(struct tc_engine_http_source *source);

#endif

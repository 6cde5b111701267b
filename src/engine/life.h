/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The lifetime of one container, driven through its engine. */
#ifndef TC_ENGINE_LIFE_H
#define TC_ENGINE_LIFE_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/http.h"

/* Creates, runs and removes the container. Takes no ownership; reports on TC_ENGINE_CONTROL only.
 */
void tc_engine_live(struct tc_engine_http *http, const struct tc_engine_config *config);
/* Sends the helper a message of this kind; text from an engine becomes one line. */
void tc_engine_say(int kind, const char *text);

/* A connection that carries the container's streams; -1 and *ret_why. The name is put into the URL
 * path unescaped. */
int tc_engine_attach(const struct tc_engine_config *config, const char **ret_why);
/* Copies bytes in both directions until one side has ended or the helper requests the end. */
void tc_engine_relay(int streams, const struct tc_engine_config *config);

/* client.c: the same for containerd, through ctr. */

/* Closes port and console when attached. False: out of memory. */
bool tc_engine_live_by_client(const struct tc_engine_config *config);

/* image.c: the image of toolcage's containers as a tar: one program, and mount points for the
 * engine. */

/* The fd of the program must stay open while the source is used. False with errno. */
bool tc_engine_image(int program, struct tc_engine_http_source *ret);
void tc_engine_image_done(struct tc_engine_http_source *source);

#endif

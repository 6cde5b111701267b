/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The streams of a container whose first program is spoken to by them. */
#ifndef TC_ENGINE_ATTACH_H
#define TC_ENGINE_ATTACH_H

struct tc_engine_lines {
    int engine;  /* its socket (O_PATH) */
    int port;    /* the container's standard input and output; -1: it is not attached to */
    int console; /* its standard error, a pipe; -1: the same */
};

/* A connection that is nothing but the container's streams; -1 and *ret_why. The name goes into a
 * path as it is. */
int tc_engine_attach(const struct tc_engine_lines *lines, const char *name, int patience_ms,
                     const char **ret_why);
/* Passes on what either side says until one of them has ended, or the helper asks for the end. */
void tc_engine_relay(int streams, const struct tc_engine_lines *lines);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The directory of pins and the content of its files. */
#ifndef TC_PINS_STORE_H
#define TC_PINS_STORE_H

#include "base/cleanup.h"
#include "base/strv.h"
#include "pins/pins.h"

/* Opens the directory, and makes it if it is missing. An fd, or a negative code: another user can
 * write it, or it is a link. */
int tc_pins_open(struct tc_fault *fault);
/* An fd whose close is the unlock, or a negative code. */
int tc_pins_lock(int dir, struct tc_fault *fault);

/* The id of a file's name "ID.json". False: it is another file. */
bool tc_pins_named(const char *name, char ret[TC_PINS_ID_SIZE]);
/* Reads a file. 0: *ret is filled; 1: there is none; or a negative code. */
int tc_pins_read(int dir, const char *id, struct tc_pins *ret, struct tc_fault *fault);
int tc_pins_write(int dir, const struct tc_pins *pins, struct tc_fault *fault);
int tc_pins_unlink(int dir, const char *id, struct tc_fault *fault);

/* The id of this server: a digest. False: out of memory, or the command is not JSON. */
bool tc_pins_id(const struct tc_pins_key *key, char ret[TC_PINS_ID_SIZE]);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Large files that are kept in the user's state and used for as long as nobody has written to them:
 * a record beside each says under a seal which file it is, and when it last changed. That much can
 * be asked whenever one is used, where reading all of it would take longer than what it saves. */
#ifndef TC_STATE_SEALED_H
#define TC_STATE_SEALED_H

#include <stdbool.h>

/* Is what stands at `path` what was put there, unchanged? */
bool tc_sealed_holds(const char *path);
/* A file without a name beside it, for writing; -1 with errno. Makes the directory. */
int tc_sealed_open(const char *path);
/* Gives the file that name, in place of what has it. Of its directory's no more than `most` stay,
 * the oldest go first. False: it is not kept. What it holds is not waited for to be on the disk, so
 * the path has to name this boot of the machine: what the next one finds there may be torn. */
bool tc_sealed_put(int fd, const char *path, unsigned most);
/* What is there cannot be used. */
void tc_sealed_drop(const char *path);

#endif

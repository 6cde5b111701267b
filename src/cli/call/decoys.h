/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The targets of the attacks that `toolcage doctor --prove` runs in a cage: a home with a key, a
 * workspace, listeners and a process. All are outside the cage, created for the test and removed
 * afterwards. After each attack, these functions look whether it reached its target. */
#ifndef TC_CLI_CALL_DECOYS_H
#define TC_CLI_CALL_DECOYS_H

#include <limits.h>
#include <sys/types.h>

#include "cli/cli.h"

enum tc_listener {
    TC_LISTENER_TCP,
    TC_LISTENER_PATH,     /* a unix socket in the workspace */
    TC_LISTENER_ABSTRACT, /* an abstract unix socket */
    TC_LISTENER_DATAGRAM, /* a unix datagram socket in the workspace */
    TC_LISTENERS,
};

struct tc_decoys {
    char root[64], work[80], key[128], notes[128], token[48], shared[80];
    char beats[112]; /* a new name after each renewal, so that an older run cannot pass for a newer
                        one */
    char made[64];   /* output of the last prepare command */
    int listeners[TC_LISTENERS];
    unsigned port, renewals;
    pid_t victim;
    int inherited; /* an open fd of the key, which child processes inherit */
};

/* 0, or -1 with errno; call tc_decoys_done() in both cases. Call it before a helper is started, so
 * that the helper can inherit the decoys. */
int tc_decoys_open(struct tc_decoys *decoys);
void tc_decoys_done(struct tc_decoys *decoys);
/* Recreates the files and the process. 0, or -1 with errno. */
int tc_decoys_renew(struct tc_decoys *decoys);

/* Replaces {placeholders} in a command; owned; NULL if memory is exhausted. */
char *tc_decoys_fill(const struct tc_decoys *decoys, const char *words);

bool tc_decoys_home_changed(const struct tc_decoys *decoys);
bool tc_decoys_arrived(const struct tc_decoys *decoys, enum tc_listener which);
bool tc_decoys_victim_gone(const struct tc_decoys *decoys);
/* Does the file that a running attack appends to still grow? */
bool tc_decoys_grows(const struct tc_decoys *decoys);
/* Does the workspace contain a set-id file or a device? */
bool tc_decoys_left_setid(const struct tc_decoys *decoys);
bool tc_decoys_left_device(const struct tc_decoys *decoys);
/* Does its repository have a hook, or another configuration? */
bool tc_decoys_planted(const struct tc_decoys *decoys);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What attacks are aimed at when they are tried on somebody's machine: a home with a key in it, a
 * workspace, listeners and a process, all made for that and all taken away again. They stand
 * outside of the cage, and are looked at from there. */
#ifndef TC_CLI_CALL_DECOYS_H
#define TC_CLI_CALL_DECOYS_H

#include <limits.h>
#include <sys/types.h>

#include "cli/cli.h"

enum tc_listener {
    TC_LISTENER_TCP,
    TC_LISTENER_PATH,     /* a unix socket in the workspace */
    TC_LISTENER_ABSTRACT, /* a unix socket by name */
    TC_LISTENER_DATAGRAM, /* a unix datagram socket in the workspace */
    TC_LISTENERS,
};

struct tc_decoys {
    char root[64], work[80], key[128], notes[128], token[48], shared[80];
    char beats[112]; /* another name after each renewal: an older run must not pass for a newer */
    char made[64];   /* what the last preparation printed */
    int listeners[TC_LISTENERS];
    unsigned port, renewals;
    pid_t victim;
    int inherited; /* a descriptor on the key, open for whoever is started */
};

/* 0, or -1 with errno; tc_decoys_done() in both cases. Makes them before any helper is started, so
 * that what it would pass on is there. */
int tc_decoys_open(struct tc_decoys *decoys);
void tc_decoys_done(struct tc_decoys *decoys);
/* Files and process as at first. 0, or -1 with errno. */
int tc_decoys_renew(struct tc_decoys *decoys);

/* Words with {places} filled in: NULL-terminated, owned by the text; NULL without memory. */
char *tc_decoys_fill(const struct tc_decoys *decoys, const char *words);

bool tc_decoys_home_changed(const struct tc_decoys *decoys);
bool tc_decoys_arrived(const struct tc_decoys *decoys, enum tc_listener which);
bool tc_decoys_victim_gone(const struct tc_decoys *decoys);
/* Does the file that an attack writes to show that it lives still grow? */
bool tc_decoys_grows(const struct tc_decoys *decoys);
/* Is there something of this kind in the workspace: a set-id file, a device? */
bool tc_decoys_left_setid(const struct tc_decoys *decoys);
bool tc_decoys_left_device(const struct tc_decoys *decoys);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a tool did and was refused, seen by seccomp notifications: calls, programs, connects and, in
 * a process of its own, paths; and the broker, which connects in the tool's place. Needs the
 * granted paths of a cage and its listener, whatever the cage is. */
#ifndef TC_OBSERVE_OBSERVE_H
#define TC_OBSERVE_OBSERVE_H

#include "linux/seccomp_filter.h"
#include "tree/tree.h"

enum { TC_PORTS_MAX = 8, TC_MISSED_MAX = 16 };

struct tc_seen;

/* A path that was refused, and where a search for its name may go on; by hashes. pid 0: none. */
struct tc_missed {
    enum tc_denial_kind kind;
    pid_t pid;
    uint64_t path, name;
};

/* What is told of a cage before it starts. */
struct tc_observed {
    enum tc_seccomp_watch watch;
    bool unix_sockets; /* the supervisor connects in the tool's place */
    bool mounts;       /* it has a root of its own; else Landlock decides by the rules alone */
    uid_t uid;         /* in the cage's user namespace */
    gid_t gid;
    bool clear_groups;
    const struct tc_seccomp_changes *changes; /* of the profile; NULL: none */
};

/* The state of this room for one cage, at cage->observer. */
struct tc_observer {
    struct tc_observed of;
    bool running; /* what is notified is the tool's own */
    int listener; /* -1: none, or somebody else's by now */
    bool here;    /* the helper itself serves it */
    int refused;  /* notifications answered with a refusal */
    /* of its loopback: ports that were seen listened on, and how often the tables were read */
    uint16_t ports[TC_PORTS_MAX];
    unsigned port_count, port_looks;
    struct tc_missed missed[TC_MISSED_MAX]; /* the last ones */
    unsigned missed_next;
    /* what is listed by whoever serves this cage alone, and has the listener then; NULL: nobody */
    struct tc_seen *seen;
    pid_t watcher_pid;
};

/* What a new one is. */
#define TC_OBSERVER_NEW ((struct tc_observer){.listener = -1})

/* watcher.c */
/* Takes the listener, which came out of the cage; -1: it has none. Is it to be waited for here? */
bool tc_observe_take(struct tc_cage *cage, int listener);
/* The tool's first words follow: from here on what is notified is its own. Starts the process that
 * serves this cage alone, where it has one. 0, or -1 with errno. */
int tc_observe_begin(struct tc_cage *cage);
/* Closes the listener. */
void tc_observe_release(struct tc_observer *o);

/* One thing to be listed. A hint is static; NULL: that of its kind. */
struct tc_listed {
    enum tc_denial_kind kind;
    const char *target, *hint;
    bool probe;
    bool allowed; /* an access that nothing refused */
};

/* Into the outcome; the same thing again is counted. */
void tc_notify_list(struct tc_cage *cage, const struct tc_listed *what, int64_t count);
/* A bounded share of those that wait, in the helper; false: nothing more is to come of it, and the
 * listener is to be closed, so that whoever waits gets ENOSYS and nobody hangs. */
bool tc_notify_share(struct tc_cage *cage);

/* Everything of the tool has ended: what was listed goes into the outcome. */
void tc_watcher_finish(struct tc_cage *cage);
/* Ends it; fine when there is none. */
void tc_watcher_end(struct tc_cage *cage);
/* Those that ended since. */
void tc_watcher_reap(void);

/* broker.c */
/* What this machine lacks for it, and what to do; NULL: nothing. */
const char *tc_broker_lacks(const char **ret_fix);

#endif

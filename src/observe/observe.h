/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Observes a tool by seccomp notifications: refused calls, programs, connects and, in a separate
 * process, paths; and the broker, which connects for the tool. Needs the granted paths of a cage
 * and its listener, whatever kind of cage it is. */
#ifndef TC_OBSERVE_OBSERVE_H
#define TC_OBSERVE_OBSERVE_H

#include "linux/seccomp_filter.h"
#include "tree/tree.h"

enum { TC_PORTS_MAX = 8, TC_MISSED_MAX = 16 };

struct tc_seen;

/* A refused path and its name, as hashes: the process may be searching for the name and find it at
 * another path. pid 0: an unused entry. */
struct tc_missed {
    enum tc_denial_kind kind;
    pid_t pid;
    uint64_t path, name;
};

/* Settings of a cage's observation, before it starts. */
struct tc_observed {
    enum tc_seccomp_watch watch;
    bool unix_sockets; /* the supervisor connects for the tool */
    bool mounts;       /* the cage has a private root; else Landlock decides by the rules alone */
    bool lasting;  /* a live session: a separate process serves it, because its refused calls have
                      no maximum */
    bool loopback; /* granted loopback ports are those of this kernel */
    uid_t uid;     /* in the cage's user namespace */
    gid_t gid;
    bool clear_groups;
    const struct tc_seccomp_changes *changes; /* to the profile; NULL: none */
};

/* The observer of one cage, at cage->observer. */
struct tc_observer {
    struct tc_observed of;
    bool running; /* notifications now come from the tool */
    int listener; /* -1: none, or passed on to another process */
    bool here;    /* the helper itself serves it */
    int refused;  /* notifications answered with a refusal */
    /* of the cage's loopback: ports with a listener, and how often the kernel's tables were read */
    uint16_t ports[TC_PORTS_MAX];
    unsigned port_count, port_looks;
    unsigned caller_looks;                  /* how often the code that made a call was looked up */
    struct tc_missed missed[TC_MISSED_MAX]; /* the last ones */
    unsigned missed_next;
    /* the list of the watcher, a process that serves only this cage and has its listener; NULL:
     * there is no watcher */
    struct tc_seen *seen;
    pid_t watcher_pid;
};

/* The initial value. */
#define TC_OBSERVER_NEW ((struct tc_observer){.listener = -1})

/* watcher.c */
/* Takes the listener, which the cage sent; -1: it has none. Must the helper poll it? */
bool tc_observe_take(struct tc_cage *cage, int listener);
/* The tool starts now: notifications from here on are the tool's. Starts the cage's watcher, if it
 * needs one. 0, or -1 with errno. */
int tc_observe_begin(struct tc_cage *cage);
/* Closes the listener. */
void tc_observe_release(struct tc_observer *o);

/* One entry to list. A hint is static; NULL: the default of its kind. */
struct tc_listed {
    enum tc_denial_kind kind;
    const char *target, *hint;
    bool probe;
    bool allowed;         /* an access that nothing refused */
    const char *endpoint; /* for a connect refused because of its address; NULL: none */
};

/* Adds an entry to the outcome; a repeated one increments its count. */
void tc_notify_list(struct tc_cage *cage, const struct tc_listed *what, int64_t count);
/* Serves a bounded number of pending notifications in the helper. False: no more will come, and
 * the caller must close the listener, so that waiting calls get ENOSYS and do not hang. */
bool tc_notify_share(struct tc_cage *cage);

/* The state of a live session's list at one time. */
struct tc_seen_mark {
    uint32_t *counts; /* of the entries; owned */
    uint32_t count, more;
};
/* Marks the state now. Without memory for that, or without a list, it is the empty one. */
struct tc_seen_mark tc_observe_mark(const struct tc_cage *cage);
/* Adds what was listed since the mark to another outcome. */
void tc_observe_since(const struct tc_cage *cage, const struct tc_seen_mark *mark,
                      struct tc_outcome *to);

/* All processes of the tool have ended: the list goes into the outcome. */
void tc_watcher_finish(struct tc_cage *cage);
/* Ends the watcher, if there is one. */
void tc_watcher_end(struct tc_cage *cage);
/* Reaps ended watchers. */
void tc_watcher_reap(void);

/* broker.c */
/* What this host lacks for the broker, and the fix; NULL: nothing. */
const char *tc_broker_lacks(const char **ret_fix);

#endif

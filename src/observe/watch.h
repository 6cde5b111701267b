/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Notifications. The paths of a call, observed: which of the paths that its calls name lie outside
 * of the grant. The walls have decided that already, or will; what is told here is a hint for
 * people and models, from memory that the tool can change meanwhile. */
#ifndef TC_OBSERVE_WATCH_H
#define TC_OBSERVE_WATCH_H

#include "observe/observe.h"

struct seccomp_notif;

/* asked.c */
/* Answers a notification: the call fails with the error, returns 0, or goes on where `flags` say
 * SECCOMP_USER_NOTIF_FLAG_CONTINUE. True also when whoever asked is gone
 * or has an answer; false: it still waits, and nothing will come. */
bool tc_notify_send(int listener, uint64_t id, int errnum, uint32_t flags);
/* Still waiting for its answer? If not, its pid may be somebody else's by now. */
bool tc_notify_waits(int listener, const struct seccomp_notif *n);
/* Bytes of the tool's memory, as far as they can be read; 0 when not at all. */
size_t tc_notify_bytes(pid_t pid, uint64_t at, void *to, size_t size);
/* A text of the tool's memory, at most size - 1 bytes; false when it cannot be read. */
bool tc_notify_text(pid_t pid, uint64_t at, char *to, size_t size);

/* seen.c: what the process that serves one cage lists lies in memory that it shares with the
 * helper, so there is nothing to wait for at the end. */
/* NULL with errno. */
struct tc_seen *tc_seen_new(void);
void tc_seen_free(struct tc_seen *w);
/* In that process. */
void tc_seen_list(struct tc_seen *w, const struct tc_listed *what);
/* For the process itself: it ends, and the call is an error. */
_Noreturn void tc_seen_break(struct tc_cage *cage);
/* Has it ended so? */
bool tc_seen_broken(const struct tc_seen *w);
/* All of it into the outcome. */
void tc_seen_tell(struct tc_cage *cage, const struct tc_seen *w);
/* One of either, as the cage is served. */
void tc_notify_note(struct tc_cage *cage, const struct tc_listed *what);
/* Nobody answers any more: calls of the tool fail that the grant allows, and whatever comes of that
 * is not the tool's own. The call is an error, which says `what`. */
void tc_notify_lost(struct tc_cage *cage, int errnum, const char *what);

/* A process was refused this path, which it had said so. */
void tc_search_missed(struct tc_cage *cage, enum tc_denial_kind kind, const char *path,
                      const char *said, pid_t pid);
/* It has found that name elsewhere: what it was refused of it before is a probe. */
void tc_search_found(struct tc_cage *cage, enum tc_denial_kind kind, const char *said, pid_t pid);

/* reach.c */
/* Lists where a connect went, as the tool says it now, when the grant has no network. */
void tc_notify_connect(struct tc_cage *cage, const struct seccomp_notif *n);

/* watch.c: in the process that observes */
/* What a call does with its paths, as far as it is worth listing. */
void tc_watch_call(struct tc_cage *cage, const struct seccomp_notif *n);
/* What an execve executes. */
void tc_watch_exec(struct tc_cage *cage, const struct seccomp_notif *n);

/* notify.c */
/* Takes one notification and answers it. False: the listener serves no more. */
bool tc_notify_serve(struct tc_cage *cage, int listener);

#endif

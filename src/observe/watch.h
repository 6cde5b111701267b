/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Notifications, and observed paths: which paths that a tool's calls name are outside the grant.
 * The isolation layers decide access independently; this list is a hint for people and models,
 * from memory that the tool can change meanwhile. */
#ifndef TC_OBSERVE_WATCH_H
#define TC_OBSERVE_WATCH_H

#include "linux/meant.h"
#include "observe/observe.h"

struct seccomp_notif;

/* asked.c */
/* Replies to a notification: the call fails with the error, returns 0, or continues where
 * `flags` is SECCOMP_USER_NOTIF_FLAG_CONTINUE. True also when the caller is gone or has a reply;
 * false: the caller still waits and will get no reply. */
bool tc_notify_send(int listener, uint64_t id, int errnum, uint32_t flags);
/* Is the call still waiting for its reply? If not, its pid may belong to another process by now. */
bool tc_notify_waits(int listener, const struct seccomp_notif *n);
/* Reads bytes of the tool's memory, as many as are readable; 0 when none. */
size_t tc_notify_bytes(pid_t pid, uint64_t at, void *to, size_t size);
/* Reads a string of the tool's memory, at most size - 1 bytes; false when it cannot be read. */
bool tc_notify_text(pid_t pid, uint64_t at, char *to, size_t size);

/* memory.c */
/* Answers sysinfo() with the call's memory limit, in the tool's memory. False: the call is to
 * continue. */
bool tc_notify_memory(const struct tc_cage *cage, int listener, const struct seccomp_notif *n);

/* seen.c: the list of accesses that a watcher (the process that serves one cage's notifications)
 * has seen. It is in memory shared with the helper, so the helper need not wait for the watcher's
 * end. */
/* An empty list. NULL with errno. */
struct tc_seen *tc_seen_new(void);
void tc_seen_free(struct tc_seen *w);
/* In the watcher: adds an entry. */
void tc_seen_list(struct tc_seen *w, const struct tc_listed *what);
/* In the watcher: exits, which makes the call an error. */
_Noreturn void tc_seen_break(struct tc_cage *cage);
/* Did the watcher exit in this way? */
bool tc_seen_broken(const struct tc_seen *w);
/* Copies the list into the outcome. */
void tc_seen_tell(struct tc_cage *cage, const struct tc_seen *w);
/* A port of the cage's loopback has a listener now: earlier refused connects to it are probes. */
void tc_seen_opened(struct tc_cage *cage, unsigned port);
/* Adds an entry to the shared list or to the outcome, depending on which process serves the
 * cage. */
void tc_notify_note(struct tc_cage *cage, const struct tc_listed *what);
/* Replies can no longer be sent: calls of the tool that the grant allows fail, and their
 * consequences are not the tool's fault. The call becomes an error with the message `what`. */
void tc_notify_lost(struct tc_cage *cage, int errnum, const char *what);

/* A process was refused this path, which it named as `said`. */
void tc_search_missed(struct tc_cage *cage, enum tc_denial_kind kind, const char *path,
                      const char *said, pid_t pid);
/* The process has found that name elsewhere: its earlier refusals for the name are probes. */
void tc_search_found(struct tc_cage *cage, enum tc_denial_kind kind, const char *said, pid_t pid);

/* caller.c */
/* Does the C library make this call for itself? True as well when that cannot be determined. */
bool tc_notify_by_libc(struct tc_observer *o, pid_t pid);

/* reach.c */
/* Reads the address of a connect; an IPv4-mapped one becomes IPv4. False: it has no port. */
bool tc_reach_read(pid_t pid, uint64_t at, size_t len, union tc_inet *ret);
bool tc_reach_is_local(const union tc_inet *to);
/* Lists the destination of a connect, as the tool's memory has it now, when the grant has no
 * network. */
void tc_notify_connect(struct tc_cage *cage, const struct seccomp_notif *n);

/* closed.c */
enum tc_closed {
    TC_CLOSED_NOT,
    TC_CLOSED_YES,   /* granted, and nothing listens there on the host */
    TC_CLOSED_OTHER, /* only the port's other loopback address is granted */
};
/* Must a connect to this address be refused, so that the program tries the next one? */
enum tc_closed tc_connect_closed(const struct tc_plan *plan, const union tc_inet *to);
/* The same for a notified connect; lists it where that is notable. */
bool tc_notify_closed(struct tc_cage *cage, const struct seccomp_notif *n);

/* watch.c: in the watcher */
/* Lists what a call does with its paths, where that is notable. */
void tc_watch_call(struct tc_cage *cage, const struct seccomp_notif *n);
/* Lists the program of an execve, if that is notable. */
void tc_watch_exec(struct tc_cage *cage, const struct seccomp_notif *n);

/* notify.c */
/* Receives one notification and replies. False: the listener serves no more. */
bool tc_notify_serve(struct tc_cage *cage, int listener);

#endif

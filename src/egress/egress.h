/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the supervisor of a cage and the cage's egress proxy say to each other.
 *
 * toolcage-egress serves one cage. It is started with a SOCK_SEQPACKET socket as descriptor 3, a
 * shared memory file of sizeof(struct tc_egress_stats) as descriptor 4, descriptors 0 to 2 on
 * /dev/null, argv {"toolcage-egress"} and an empty environment, as the user that it is to stay.
 *
 * On the socket the supervisor sends a tc_egress_config first, as its task. Where entries name
 * methods or paths the proxy makes its authority and writes its certificate down. It raises its own
 * walls then, sets `ready`, and says READY. What follows are messages that start with a
 * tc_egress_message:
 *     LISTEN   with as many listening sockets, made in the cage's network namespace, as there are
 *              rows in `listeners`; as often as need be.
 *     FINISH   the tool has ended by itself: what it sent is still delivered, nothing new is taken.
 *              The proxy says DONE and ends, at the latest after TC_EGRESS_FINISH_US.
 * The proxy ends when the socket is closed, and never by itself otherwise. Its end closes every
 * connection: a cage without its proxy has no network.
 *
 * What is to be told at the end lies in the shared memory, so that nobody waits for it, whatever
 * the proxy does meanwhile. The supervisor believes none of it beyond its bounds. */
#ifndef TC_EGRESS_EGRESS_H
#define TC_EGRESS_EGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/task.h"
#include "policy/grant.h"

enum { TC_EGRESS_CONTROL = 3, TC_EGRESS_SHARED = 4, TC_EGRESS_BESIDE = 5 };

/* ---- from the supervisor ---- */

struct tc_egress_config {
    struct tc_net_entry *net; /* of the grant, in its order */
    size_t net_count;
    struct tc_secret *secrets; /* what is put into requests, */
    size_t secret_count;
    int values_file;              /* their values (tc_secret_values_visit), sealed; -1: none */
    struct tc_strv values, lines; /* the proxy's own: what it read there; whole headers */
    struct tc_upstream upstream;  /* host NULL: none */
    char *tool;                   /* for refusals; NULL: a bare command */
    bool ipv6;                    /* the cage has IPv6, so that names may be answered with it */
    int64_t connections;          /* most at one time */
    int64_t transfer, bandwidth;  /* bytes in all, and a second; 0: unbounded */
};

extern const struct tc_fields tc_egress_config_fields;
/* Is it one that the proxy serves? Both sides look. */
bool tc_egress_config_fine(const struct tc_egress_config *config);

enum tc_egress_kind {
    TC_EGRESS_LISTEN = 1,
    TC_EGRESS_READY,
    TC_EGRESS_FINISH,
    TC_EGRESS_DONE,
};

enum { TC_EGRESS_FINISH_US = 2000000 };

/* What comes in by a listener. */
enum tc_egress_role {
    TC_EGRESS_PROXY = 1, /* HTTP in proxy form, CONNECT, SOCKS5 */
    TC_EGRESS_DNS_UDP,
    TC_EGRESS_DNS_TCP,
    TC_EGRESS_DIRECT, /* connections of programs that know no proxy, meant for where they arrive */
    TC_EGRESS_REDIRECTED, /* the same; the kernel knows where they were meant for */
    TC_EGRESS_DATAGRAMS,  /* UDP, meant for where it arrives */
};

enum { TC_EGRESS_LISTENERS_MAX = 60 }; /* a message; below TC_FDS_MAX */

struct tc_egress_message {
    int32_t kind;
    int32_t count; /* LISTEN: rows and descriptors */
    int32_t role[TC_EGRESS_LISTENERS_MAX];
};

/* ---- from the proxy ---- */

/* Why something was refused; the words for it are the supervisor's. */
enum tc_egress_reason {
    TC_EGRESS_NOT_NAMED = 1, /* no entry of the grant covers it */
    TC_EGRESS_NOT_PUBLIC,    /* the name leads to an address that the grant does not name */
    TC_EGRESS_OTHER_NAME,    /* the client spoke of another host than it connected to */
    TC_EGRESS_UNCLEAR,       /* two readers could read the request in two ways */
    TC_EGRESS_TOO_MANY,      /* connections at one time */
    TC_EGRESS_NOT_REQUEST,   /* the entries of the host name other methods or paths */
    TC_EGRESS_NOT_SPOKEN,    /* the client broke off TLS that is looked into */
    TC_EGRESS_SPENT,         /* the call has had its `transfer` */
    TC_EGRESS_REASONS
};

/* Beside the reasons of denials. */
enum tc_egress_failure {
    TC_EGRESS_NO_NAME = TC_EGRESS_REASONS, /* it has no address */
    TC_EGRESS_NO_ANSWER,                   /* nobody took the connection */
    TC_EGRESS_TOO_LATE,
    TC_EGRESS_NO_UPSTREAM,   /* the site's own proxy cannot be reached */
    TC_EGRESS_NOT_UPSTREAM,  /* it does not go there */
    TC_EGRESS_NOT_TRUSTED,   /* it did not prove who it is */
    TC_EGRESS_NO_PROXY_FORM, /* a request for a server, not for a proxy */
    TC_EGRESS_FAILURES
};

/* Of a certificate, as text. */
enum { TC_EGRESS_AUTHORITY_MAX = 65536 };

enum { TC_EGRESS_DENIALS_MAX = 100, TC_EGRESS_DESTINATIONS_MAX = 100, TC_EGRESS_TARGET_MAX = 272 };

/* Target: "host:port", of a name that was asked for "host"; printable ASCII, NUL-terminated. What
 * stands below a count is whole; the counts of a record go on. */
struct tc_egress_denial {
    char target[TC_EGRESS_TARGET_MAX];
    int32_t reason;
    bool resolve; /* a name was asked for; else a connection */
    _Atomic uint32_t count;
};

struct tc_egress_destination {
    char target[TC_EGRESS_TARGET_MAX];
    _Atomic uint32_t connections;    /* of UDP, pairs of addresses */
    _Atomic uint64_t sent, received; /* bytes, as the tool sees it */
};

struct tc_egress_stats {
    _Atomic uint32_t ready;
    _Atomic uint32_t denial_count, omitted_denials;
    _Atomic uint32_t destination_count, omitted_destinations;
    _Atomic uint64_t sent, received; /* of all destinations */
    _Atomic uint32_t spent;          /* more than the grant's `transfer` was wanted */
    /* of the first endpoint that could not be reached, a tc_egress_failure; 0: none */
    _Atomic uint32_t failure;
    char unreached[TC_EGRESS_TARGET_MAX];
    /* The certificate that the cage has to trust, where requests are looked into; whole when
     * `ready` is set. */
    _Atomic uint32_t authority_size;
    char authority[TC_EGRESS_AUTHORITY_MAX];
    struct tc_egress_denial denials[TC_EGRESS_DENIALS_MAX];
    struct tc_egress_destination destinations[TC_EGRESS_DESTINATIONS_MAX];
};

/* Where systems keep the certificates that they trust, all in one file. */

/* The first that is there is taken; ends with NULL. */
extern const char *const tc_bundle_places[];

/* Where a cage shows them with its proxy's own beside them, whatever its system looks like. */
#define TC_BUNDLE_OWN "/etc/toolcage-ca.pem"

#endif

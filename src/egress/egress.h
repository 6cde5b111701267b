/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The protocol between the supervisor of a cage and the cage's egress proxy.
 *
 * toolcage-egress serves one cage. Fd 3 is a SOCK_SEQPACKET socket, fd 4 a shared memory file of
 * sizeof(struct tc_egress_stats), fds 0 to 2 are /dev/null. argv is {"toolcage-egress"}, the
 * environment is empty, and the proxy keeps the user id that it was started with.
 *
 * The supervisor first sends a tc_egress_config on the socket, as a task message. If entries name
 * methods or paths, the proxy creates its CA and writes the certificate to the shared memory. The
 * proxy then confines itself, sets `ready` and sends READY. Later messages start with a
 * tc_egress_message:
 *     LISTEN   carries `count` listening sockets, made in the cage's network namespace, and their
 *              roles. It may be sent any number of times.
 *              With config.published, one such message has the listening sockets of the published
 *              ports, in that order.
 *     FINISH   the tool has exited normally: the proxy still delivers what the tool sent, accepts
 *              nothing new, sends DONE and exits, at the latest after TC_EGRESS_FINISH_US.
 * The proxy exits when the socket is closed, and otherwise only after FINISH. Its exit closes every
 * connection: a cage without its proxy has no network.
 *
 * The proxy's report is in the shared memory, so the supervisor never waits for it. The supervisor
 * treats the report as untrusted and checks only its bounds. */
#ifndef TC_EGRESS_EGRESS_H
#define TC_EGRESS_EGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/task.h"
#include "policy/grant.h"
#include "policy/publish.h"

/* Standalone, SHARED is the CA's new certificate file, and BESIDE its directory. */
enum { TC_EGRESS_CONTROL = 3, TC_EGRESS_SHARED = 4, TC_EGRESS_BESIDE = 5 };

/* ---- from the supervisor ---- */

struct tc_egress_config {
    struct tc_net_entry *net; /* the grant's, in order */
    size_t net_count;
    struct tc_secret *secrets; /* secrets to inject into requests */
    size_t secret_count;
    int values_file;              /* sealed, with their values (tc_secret_values_visit); -1: none */
    struct tc_strv values, lines; /* filled in by the proxy: values, and whole header lines */
    struct tc_upstream upstream;  /* host NULL: no upstream proxy */
    char *tool;                   /* for refusals; NULL: a bare command */
    bool ipv6;                    /* the cage has IPv6: DNS replies may hold IPv6 addresses */
    int64_t connections;          /* maximum of concurrent connections */
    int64_t transfer, bandwidth;  /* bytes in total, and per second; 0: unlimited */
    int exchanges;                /* the file of requests (exchanges.h); -1: none */
    bool replays;                 /* answer from that file; else record in it */
    struct tc_strv published;     /* ports of a live session (policy/publish.h) */
    int sockets; /* to the session's PID 1, which makes sockets in the cage's network
                    namespace on request (live/inside/sockets.h); -1: none */
};

extern const struct tc_fields tc_egress_config_fields;
/* Are all fields within their bounds? The supervisor and the proxy both check. */
bool tc_egress_config_fine(const struct tc_egress_config *config);

enum tc_egress_kind {
    TC_EGRESS_LISTEN = 1,
    TC_EGRESS_READY,
    TC_EGRESS_FINISH,
    TC_EGRESS_DONE,
};

enum { TC_EGRESS_FINISH_US = 2000000 };

/* The purpose of a listener. */
enum tc_egress_role {
    TC_EGRESS_PROXY = 1, /* HTTP in proxy form, CONNECT, SOCKS5 */
    TC_EGRESS_DNS_UDP,
    TC_EGRESS_DNS_TCP,
    TC_EGRESS_DIRECT,     /* connections of programs without proxy support, to their destination's
                             address */
    TC_EGRESS_REDIRECTED, /* the same, through a packet filter; the kernel stores the destination */
    TC_EGRESS_DATAGRAMS,  /* UDP, to its destination's address */
    TC_EGRESS_PUBLISHED,  /* outside: connections to a published port of the cage */
};

enum { TC_EGRESS_LISTENERS_MAX = 60 }; /* per message; below TC_FDS_MAX */

struct tc_egress_message {
    int32_t kind;
    int32_t count; /* LISTEN: number of rows and of fds */
    int32_t role[TC_EGRESS_LISTENERS_MAX];
};

/* ---- from the proxy ---- */

/* Why a request was refused. The supervisor has the messages. */
enum tc_egress_reason {
    TC_EGRESS_NOT_NAMED = 1, /* no entry of the grant covers the endpoint */
    TC_EGRESS_NOT_PUBLIC,    /* the name resolves to an address that the grant does not name */
    TC_EGRESS_OTHER_NAME,    /* the request names another host than the client connected to */
    TC_EGRESS_UNCLEAR,       /* two parsers could read the request differently */
    TC_EGRESS_TOO_MANY,      /* too many concurrent connections */
    TC_EGRESS_NOT_REQUEST,   /* the entries of the host name other methods or paths */
    TC_EGRESS_NOT_SPOKEN,    /* the client broke off a TLS connection that is inspected */
    TC_EGRESS_SPENT,         /* the call's `transfer` is used up */
    TC_EGRESS_NOT_KEPT,      /* a replay: the recorded call made no such request */
    TC_EGRESS_REASONS
};

/* Failures that are not denials; numbered after the reasons. */
enum tc_egress_failure {
    TC_EGRESS_NO_NAME = TC_EGRESS_REASONS, /* the name has no address */
    TC_EGRESS_NO_ANSWER,                   /* no address accepted the connection */
    TC_EGRESS_TOO_LATE,
    TC_EGRESS_NO_UPSTREAM,   /* the upstream proxy cannot be reached */
    TC_EGRESS_NOT_UPSTREAM,  /* the upstream proxy refused the connection */
    TC_EGRESS_NOT_TRUSTED,   /* the server's certificate was not accepted */
    TC_EGRESS_NO_PROXY_FORM, /* a request in the form for a server, not for a proxy */
    TC_EGRESS_FAILURES
};

/* Size of the PEM certificate. */
enum { TC_EGRESS_AUTHORITY_MAX = 65536 };

enum {
    TC_EGRESS_DENIALS_MAX = 100,
    TC_EGRESS_DESTINATIONS_MAX = 100,
    TC_EGRESS_TARGET_MAX = 272,
    TC_EGRESS_ADDRESS_MAX = 64,
    TC_EGRESS_DETAIL_MAX = 160
};

/* Target: "host:port", or "host" for a DNS query; printable ASCII, NUL-terminated. Records below
 * a list's count are complete; the counters inside a record still change. */
struct tc_egress_denial {
    char target[TC_EGRESS_TARGET_MAX];
    /* NOT_PUBLIC: the address of the name; NOT_KEPT: the request; "": not known */
    char detail[TC_EGRESS_DETAIL_MAX];
    int32_t reason;
    bool resolve; /* denied was a DNS query; otherwise a connection */
    _Atomic uint32_t count;
};

struct tc_egress_destination {
    char target[TC_EGRESS_TARGET_MAX];
    _Atomic uint32_t connections;    /* for UDP, address pairs */
    _Atomic uint64_t sent, received; /* bytes, from the tool's point of view */
};

struct tc_egress_stats {
    _Atomic uint32_t ready;
    _Atomic uint32_t denial_count, omitted_denials;
    _Atomic uint32_t destination_count, omitted_destinations;
    _Atomic uint64_t sent, received; /* all destinations together */
    _Atomic uint32_t spent;          /* the call wanted more than the grant's `transfer` */
    /* tc_egress_failure of the first endpoint that could not be reached; 0: none */
    _Atomic uint32_t failure;
    char unreached[TC_EGRESS_TARGET_MAX];
    /* The CA certificate that the cage must trust where requests are inspected; complete when
     * `ready` is set. */
    _Atomic uint32_t authority_size;
    char authority[TC_EGRESS_AUTHORITY_MAX];
    struct tc_egress_denial denials[TC_EGRESS_DENIALS_MAX];
    struct tc_egress_destination destinations[TC_EGRESS_DESTINATIONS_MAX];
    /* In the order of config.published, which their targets repeat. The supervisor writes the
     * targets and the count before it starts the proxy. */
    _Atomic uint32_t published_count;
    struct tc_egress_destination published[TC_PUBLISH_MAX];
};

/* Paths of the CA bundle on the distributions. The first that exists is used; ends with NULL. */
extern const char *const tc_bundle_places[];

/* Path, in every cage, of a bundle that also holds the CA of the cage's proxy. */
#define TC_BUNDLE_OWN "/etc/toolcage-ca.pem"

#endif

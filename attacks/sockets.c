/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attacks through sockets: unix sockets by path and by abstract name, the host's loopback, and
 * address families that no tool needs. Messages carry a token that a listener outside waits for. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "attack.h"

static struct sockaddr_un unix_address(const char *path, socklen_t *ret_len)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (a.sun_path[0] == '@')
        a.sun_path[0] = '\0';
    else
        *ret_len += 1;
    return a;
}

static void send_from(int fd, const struct sockaddr *to, socklen_t len, const char *token)
{
    if (fd < 0 || connect(fd, to, len) < 0 || send(fd, token, strlen(token), MSG_NOSIGNAL) < 0)
        missed("connect and send");
}

/* PATH (or @name: abstract), TOKEN */
static void unix_stream(char **args)
{
    socklen_t len;
    struct sockaddr_un a = unix_address(args[0], &len);
    send_from(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, len, args[1]);
}

static void unix_datagram(char **args)
{
    socklen_t len;
    struct sockaddr_un a = unix_address(args[0], &len);
    send_from(socket(AF_UNIX, SOCK_DGRAM, 0), (struct sockaddr *)&a, len, args[1]);
}

/* The same without socket(): socketpair() can make every type, and a datagram names its target. */
static void unix_pair(char **args)
{
    static const int types[] = {SOCK_DGRAM, SOCK_RAW, SOCK_STREAM, SOCK_SEQPACKET,
                                SOCK_DGRAM | SOCK_CLOEXEC};
    socklen_t len;
    struct sockaddr_un a = unix_address(args[0], &len);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        int pair[2];
        if (socketpair(AF_UNIX, types[i], 0, pair) < 0) {
            missed("socketpair");
            continue;
        }
        if (sendto(pair[0], args[1], strlen(args[1]), MSG_NOSIGNAL, (struct sockaddr *)&a, len) < 0)
            missed("sendto");
        struct sockaddr none = {.sa_family = AF_UNSPEC};
        (void)connect(pair[0], &none, sizeof(none));
        send_from(pair[0], (struct sockaddr *)&a, len, args[1]);
    }
}

/* ---- races with the broker that connects for the tool ---- */

enum { RACE_SECONDS = 2, RENAME_EXCHANGES = 2 };

/* Changed by one thread while another connects. */
static struct race {
    atomic_bool over;
    struct sockaddr_un own, theirs, now;
    socklen_t len, their_len;
    int inet, stream, number;
    char name[64], link[64];
} race;

/* Its own listener; connections to it are closed. */
static int listen_here(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/own-%d", (int)getpid());
    race.own = unix_address(path, &race.len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&race.own, race.len) < 0 || listen(fd, 64) < 0)
        missed("listen");
    return fd;
}

static void *swap_numbers(void *unused)
{
    while (!race.over) {
        (void)dup2(race.inet, race.number);
        (void)dup2(race.stream, race.number);
    }
    return unused;
}

static void *swap_addresses(void *unused)
{
    while (!race.over) {
        memcpy(&race.now, &race.theirs, sizeof(race.now));
        atomic_thread_fence(memory_order_seq_cst);
        memcpy(&race.now, &race.own, sizeof(race.now));
        atomic_thread_fence(memory_order_seq_cst);
    }
    return unused;
}

static void *swap_names(void *unused)
{
    while (!race.over)
        (void)syscall(SYS_renameat2, -100, race.name, -100, race.link, RENAME_EXCHANGES);
    return unused;
}

static bool is_theirs(int fd)
{
    struct sockaddr_un peer = {0};
    socklen_t len = sizeof(peer);
    return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
           strcmp(peer.sun_path, race.theirs.sun_path) == 0;
}

/* Connects to `to` again and again, through the swapped fd number or the socket itself. */
static void run_race(void *(*swap)(void *), const struct sockaddr_un *to, const char *token)
{
    pthread_t other;
    time_t end = time(NULL) + RACE_SECONDS;
    int own = listen_here();
    bool through = false;
    race.inet = socket(AF_INET, SOCK_STREAM, 0);
    race.number = dup(race.inet);
    if (swap == swap_names && rename(race.own.sun_path, race.name) < 0)
        missed("rename");
    if (pthread_create(&other, NULL, swap, NULL) != 0)
        return;
    while (!through && time(NULL) < end) {
        race.stream = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        int number = swap == swap_numbers ? race.number : race.stream;
        for (int i = 0; i < 50 && !through; i++) {
            (void)connect(number, (const struct sockaddr *)to,
                          race.their_len > race.len ? race.their_len : race.len);
            through = is_theirs(race.stream);
            if (swap != swap_numbers)
                break;
        }
        if (through && send(race.stream, token, strlen(token), MSG_NOSIGNAL) > 0)
            got("a connection");
        (void)close(race.stream);
        (void)close(accept(own, NULL, NULL));
    }
    race.over = true;
    (void)pthread_join(other, NULL);
    (void)unlink(race.own.sun_path);
}

/* PATH, TOKEN: swaps the socket behind the fd. */
static void race_number(char **args)
{
    race.theirs = unix_address(args[0], &race.their_len);
    run_race(swap_numbers, &race.theirs, args[1]);
}

/* PATH, TOKEN: swaps the address in memory. */
static void race_address(char **args)
{
    race.theirs = unix_address(args[0], &race.their_len);
    run_race(swap_addresses, &race.now, args[1]);
}

/* PATH, TOKEN: swaps the name for a symlink. */
static void race_name(char **args)
{
    socklen_t len;
    race.theirs = unix_address(args[0], &race.their_len);
    (void)snprintf(race.name, sizeof(race.name), "/tmp/race-%d", (int)getpid());
    (void)snprintf(race.link, sizeof(race.link), "/tmp/link-%d", (int)getpid());
    struct sockaddr_un to = unix_address(race.name, &len);
    if (symlink(args[0], race.link) < 0)
        missed("symlink");
    run_race(swap_names, &to, args[1]);
    (void)unlink(race.name);
    (void)unlink(race.link);
}

/* ADDRESS, PORT, TOKEN */
static void tcp(char **args)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(args[1]))};
    (void)inet_pton(AF_INET, args[0], &a.sin_addr);
    send_from(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a), args[2]);
}

static void udp(char **args)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(args[1]))};
    (void)inet_pton(AF_INET, args[0], &a.sin_addr);
    send_from(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&a, sizeof(a), args[2]);
}

/* Lists the host's network interfaces through netlink. */
static void interfaces(char **args)
{
    (void)args;
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } ask = {.header = {.nlmsg_len = sizeof(ask),
                        .nlmsg_type = RTM_GETLINK,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    char reply[16384];
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (fd < 0 || send(fd, &ask, sizeof(ask), 0) < 0) {
        missed("netlink");
        return;
    }
    int n = (int)recv(fd, reply, sizeof(reply), 0);
    for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)reply; NLMSG_OK(h, n);
         h = NLMSG_NEXT(h, n)) {
        struct ifinfomsg *info = NLMSG_DATA(h);
        if (h->nlmsg_type != RTM_NEWLINK)
            break;
        struct rtattr *attr = IFLA_RTA(info);
        for (int left = (int)IFLA_PAYLOAD(h); RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
            if (attr->rta_type == IFLA_IFNAME)
                got("interface %s", (char *)RTA_DATA(attr));
        }
    }
}

/* FAMILY, TYPE, PROTOCOL as numbers: can such a socket be created? */
static void family(char **args)
{
    int fd = socket(number(args[0]), number(args[1]), number(args[2]));
    if (fd < 0)
        missed("socket");
    else
        got("a socket of family %s, type %s", args[0], args[1]);
}

const struct attack tc_attacks_sockets[] = {{"unix-stream", 2, unix_stream},
                                            {"unix-datagram", 2, unix_datagram},
                                            {"unix-pair", 2, unix_pair},
                                            {"race-number", 2, race_number},
                                            {"race-address", 2, race_address},
                                            {"race-name", 2, race_name},
                                            {"tcp", 3, tcp},
                                            {"udp", 3, udp},
                                            {"interfaces", 0, interfaces},
                                            {"family", 3, family},
                                            {NULL, 0, NULL}};

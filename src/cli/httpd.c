/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Everything is decided here, where there is an operator to tell; the server gets an open socket
 * and a text that no list of processes shows. */
#include "cli/httpd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/listen.h"
#include "cli/say.h"
#include "cli/sibling.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 512, PEM_MAX = 256 << 10 };

struct httpd {
    const struct tc_args *args;
    union tc_address at;
    char *token, *certificate, *key;
    bool shown; /* the token is new, and to be told */
    long long idle_ms;
};

/* ---- options ------------------------------------------------------------------------------------
 */

int tc_httpd_check(const struct tc_args *args, struct tc_failure *failure)
{
    static const char *const need[] = {"token-file", "token-env", "no-token", "remote",
                                       "host",       "tls-cert",  "tls-key",  "idle"};
    static const char *const ways[] = {"token-file", "token-env", "no-token"};
    const char *first = NULL;
    for (size_t i = 0; i < TC_COUNT(need) && !tc_args_has(args, "listen"); i++)
        if (tc_args_has(args, need[i]))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add --listen 127.0.0.1:8931",
                                  "--%s is about the server over HTTP", need[i]);
    for (size_t i = 0; i < TC_COUNT(ways); i++) {
        if (first && tc_args_has(args, ways[i]))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "keep one of them",
                                  "--%s and --%s are two words on one token", first, ways[i]);
        if (tc_args_has(args, ways[i]))
            first = ways[i];
    }
    if (tc_args_has(args, "tls-cert") != tc_args_has(args, "tls-key"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "give --tls-cert and --tls-key",
                              "a certificate needs its key, and a key its certificate");
    if (tc_args_has(args, "no-token") && tc_args_has(args, "remote"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out --no-token",
                              "whoever reaches this server from another machine needs a token");
    return 0;
}

/* "90s", "30m", "8h". */
static int read_idle(struct httpd *h, struct tc_failure *failure)
{
    static const struct {
        char unit;
        long long ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}};
    const char *given = tc_args_value(h->args, "idle");
    char *end = NULL;
    long long n;
    if (!given)
        given = "30m";
    n = given[0] >= '1' && given[0] <= '9' ? strtoll(given, &end, 10) : 0;
    for (size_t i = 0; n > 0 && n <= 100000 && i < TC_COUNT(units); i++)
        if (end[0] == units[i].unit && !end[1])
            h->idle_ms = n * units[i].ms;
    if (h->idle_ms)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "write --idle 90s, --idle 30m or --idle 8h",
                          "--idle %s is no time", given);
}

/* ---- files that others must not read ------------------------------------------------------------
 */

/* All of it, owned; NULL with the failure. */
static char *read_text(const char *path, bool secret, struct tc_failure *failure)
{
    struct stat st;
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        (void)tc_failure_set(failure, errno == ENOENT ? TOOLCAGE_ENOT_FOUND : TOOLCAGE_ESYSTEM,
                             "name a file that you can read", "cannot read %s: %s", path,
                             strerror(errno));
        return NULL;
    }
    if (secret && S_ISREG(st.st_mode) && (st.st_mode & (S_IRWXG | S_IRWXO))) {
        (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, "chmod 600 it, and use another secret",
                             "others can read or write %s", path);
        (void)tc_failure_about(failure, path);
        return NULL;
    }
    _autofree_ char *text = calloc(1, PEM_MAX + 1);
    size_t length = 0;
    ssize_t n = 1;
    while (text && n > 0 && length < PEM_MAX) {
        n = read(fd, text + length, PEM_MAX - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (!text || n < 0 || length == PEM_MAX || strlen(text) != length) {
        (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name the right file",
                             "%s cannot be read, is too large, or is no text", path);
        return NULL;
    }
    char *ret = text;
    text = NULL;
    return ret;
}

/* ---- the token ----------------------------------------------------------------------------------
 */

static char *make_token(void)
{
    unsigned char bytes[32];
    char *token = calloc(2, sizeof(bytes) + 1);
    if (!token || getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        free(token);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return token;
}

/* What a client can send in a line of a head. */
static int judge_token(const char *token, const char *from, struct tc_failure *failure)
{
    size_t length = strlen(token);
    for (size_t i = 0; i < length; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return tc_failure_set(failure, TOOLCAGE_EUSAGE, "a token is one word of ASCII",
                                  "the token from %s cannot be sent in a line of a head", from);
    if (length >= TOKEN_MIN && length <= TOKEN_MAX)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "make one: openssl rand -hex 32",
                          "the token from %s has %zu characters, and it takes %d to %d", from,
                          length, TOKEN_MIN, TOKEN_MAX);
}

static int get_token(struct httpd *h, struct tc_failure *failure)
{
    const char *file = tc_args_value(h->args, "token-file");
    const char *name = tc_args_value(h->args, "token-env");
    const char *value = name ? getenv(name) : NULL;
    if (tc_args_has(h->args, "no-token"))
        return 0;
    if (name && !value)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "export it, or use --token-file",
                              "there is no variable %s for the token", name);
    if (file && !(h->token = read_text(file, true, failure)))
        return -1;
    if (name && (h->token = strdup(value)))
        (void)unsetenv(name); /* the tools' server needs it no more */
    if (!file && !name)
        h->token = make_token();
    if (!h->token)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    h->shown = !file && !name;
    h->token[strcspn(h->token, "\r\n")] = '\0';
    return judge_token(h->token, file ? file : name ? name : "here", failure);
}

/* ---- what the server is told --------------------------------------------------------------------
 */

static void put_text(FILE *out, const char *key, const char *value)
{
    if (!value)
        return;
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, value);
}

static void put_hosts(FILE *out, const struct httpd *h)
{
    char host[TC_ADDRESS_MAX];
    const struct tc_args *args = h->args;
    tc_listen_write_host(&h->at, host);
    (void)fputs(",\"hosts\":[", out);
    tc_cli_json_string(out, host);
    if (tc_listen_is_loopback(&h->at) || tc_listen_is_any(&h->at))
        (void)fputs(",\"localhost\",\"127.0.0.1\",\"[::1]\"", out);
    for (size_t i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, "host") == 0) {
            (void)fputc(',', out);
            tc_cli_json_string(out, args->given[i].value);
        }
    (void)fputc(']', out);
}

/* Owned; NULL: no memory. */
static char *write_config(const struct httpd *h, const struct tc_found *found)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "{\"port\":%u,\"idle_ms\":%lld", tc_listen_port(&h->at), h->idle_ms);
    put_text(out, "policy", found->path);
    put_text(out, "digest", toolcage_policy_digest(found->policy));
    put_text(out, "workspace", tc_args_value(h->args, "workspace"));
    put_text(out, "token", h->token);
    put_text(out, "certificate", h->certificate);
    put_text(out, "key", h->key);
    put_hosts(out, h);
    (void)fputc('}', out);
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}

/* In memory only. */
static int open_config(const struct httpd *h, const struct tc_found *found,
                       struct tc_failure *failure)
{
    _autofree_ char *text = write_config(h, found);
    _autofd_ int fd = memfd_create("toolcage-http", MFD_CLOEXEC);
    ssize_t length = text ? (ssize_t)strlen(text) : -1;
    bool good = text && fd >= 0 && write(fd, text, (size_t)length) == length;
    if (text)
        explicit_bzero(text, (size_t)length);
    if (!good)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    int ret = fd;
    fd = -1;
    return ret;
}

static void tell(const struct httpd *h)
{
    char where[TC_ADDRESS_MAX];
    const char *scheme = h->key ? "https" : "http";
    tc_listen_write(&h->at, where);
    if (!tc_listen_is_loopback(&h->at) && !h->key)
        tc_cli_say("warning: without TLS whoever sees the network sees the token");
    if (!h->token)
        tc_cli_say("warning: every user and program of this machine may call the tools");
    tc_cli_say("the tools are served at %s://%s/mcp (older clients: %s://%s/sse)", scheme, where,
               scheme, where);
    if (h->shown)
        tc_cli_say("clients send: Authorization: Bearer %s", h->token);
}

static int prepare(struct httpd *h, struct tc_failure *failure)
{
    const char *certificate = tc_args_value(h->args, "tls-cert");
    const char *key = tc_args_value(h->args, "tls-key");
    if (read_idle(h, failure) || get_token(h, failure))
        return -1;
    if (certificate && !(h->certificate = read_text(certificate, false, failure)))
        return -1;
    return key && !(h->key = read_text(key, true, failure)) ? -1 : 0;
}

static int judge_address(const struct httpd *h, const char *given, struct tc_failure *failure)
{
    union tc_address at;
    if (tc_args_has(h->args, "remote") || !tc_listen_read(given, &at) || tc_listen_is_loopback(&at))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                          "listen on 127.0.0.1, or add --remote, and --tls-cert and --tls-key",
                          "%s can be reached from other machines", given);
}

static int serve(struct httpd *h, const struct tc_found *found, struct tc_failure *failure)
{
    static char name[] = "toolcage-http";
    char *argv[] = {name, NULL};
    const char *given = tc_args_value(h->args, "listen");
    _autofd_ int program = tc_sibling_open(name, "which serves over HTTP", failure);
    if (program < 0 || judge_address(h, given, failure) || prepare(h, failure))
        return -1;
    _autofd_ int listener = tc_listen_open(given, "8931", &h->at, failure);
    if (listener < 0)
        return -1;
    _autofd_ int config = open_config(h, found, failure);
    if (config < 0)
        return -1;
    const int fds[] = {config, listener};
    tell(h);
    return tc_sibling_become(program, argv, environ, fds, TC_COUNT(fds), failure);
}

int tc_httpd_become(const struct tc_args *args, const struct tc_found *found,
                    struct tc_failure *failure)
{
    struct httpd h = {.args = args};
    int rc = serve(&h, found, failure);
    free(h.token);
    free(h.certificate);
    free(h.key);
    return rc;
}

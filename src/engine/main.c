/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-engine: a process for one container, and nothing else of the project knows
 * libcurl. It is handed its orders and the engine's socket, opens nothing else, and outlives the
 * helper by as long as it takes to have the container removed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/life.h"

/* What comes with the first message; the last two where the container is attached to. */
enum { CONFIG, IMAGE, ENGINE, PORT, CONSOLE, HANDED };

static char *read_whole(int fd, size_t *ret_len)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > TC_ENGINE_CONFIG_MAX)
        return NULL;
    _autofree_ char *bytes = malloc((size_t)st.st_size);
    *ret_len = (size_t)st.st_size;
    return bytes && pread(fd, bytes, *ret_len, 0) == st.st_size ? TAKE(bytes) : NULL;
}

/* The name goes into paths of requests, as it is. */
static bool is_name(const char *text)
{
    for (const char *c = text; c && *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '-' || *c == '/'))
            return false;
    return text && text[0];
}

static bool read_config(int fd, struct tc_engine_config *config)
{
    size_t len = 0;
    _autofree_ char *bytes = read_whole(fd, &len);
    struct tc_wire w = TC_WIRE_GET_INIT(bytes, len);
    if (!bytes)
        return false;
    tc_engine_config_visit(&w, config);
    return !w.failed && !w.left && config->engine && config->create && is_name(config->name) &&
           config->client && config->label && config->runtime && config->fifos &&
           (config->client[0] ? config->client[0] == '/'
                              : is_name(config->repository) && is_name(config->tag)) &&
           config->patience_ms > 0 && config->patience_ms <= 600000;
}

static bool live(const int *fds, const struct tc_engine_config *config)
{
    const struct tc_engine_lines lines = {fds[ENGINE], fds[PORT], fds[CONSOLE]};
    if (config->client[0])
        return tc_engine_live_by_client(&lines, config);
    struct tc_http *http = tc_http_new(fds[ENGINE], TC_ENGINE_CONTROL);
    if (http)
        tc_engine_live(http, config, fds[IMAGE], &lines);
    tc_http_free(http);
    return http != NULL;
}

int main(void)
{
    struct tc_engine_config config = {0};
    int fds[HANDED] = {-1, -1, -1, -1, -1};
    size_t count = 0;
    char word;
    (void)signal(SIGPIPE, SIG_IGN);
    if (fcntl(TC_ENGINE_CONTROL, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fputs("toolcage-engine is started by toolcage, for one container\n", stderr);
        return 2;
    }
    ssize_t n = tc_recv(TC_ENGINE_CONTROL, &word, 1, fds, HANDED, &count, NULL, NULL, true);
    if (n != 1 || (count != PORT && count != HANDED) || !read_config(fds[CONFIG], &config) ||
        config.attach != (count == HANDED)) {
        tc_engine_config_done(&config);
        return 2;
    }
    bool lived = live(fds, &config);
    tc_engine_config_done(&config);
    return lived ? 0 : 1;
}

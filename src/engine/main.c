/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-engine: one process per container, and the only one with libcurl. It
 * receives its configuration and the engine's socket, opens nothing else, and after the helper's
 * exit runs on only to remove the container. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#include "engine/life.h"

/* The names are put into URL paths unescaped. */
static bool is_name(const char *text)
{
    for (const char *c = text; c && *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '-' || *c == '/'))
            return false;
    return text && text[0];
}

static bool is_whole(const struct tc_engine_config *config)
{
    return config->program >= 0 && config->socket >= 0 &&
           (config->port < 0) == (config->console < 0) && config->engine && config->create &&
           is_name(config->name) && config->client && config->label && config->runtime &&
           config->fifos &&
           (config->client[0] ? config->client[0] == '/'
                              : is_name(config->repository) && is_name(config->tag)) &&
           config->patience_ms > 0 && config->patience_ms <= 600000;
}

static bool live(const struct tc_engine_config *config)
{
    if (config->client[0])
        return tc_engine_live_by_client(config);
    struct tc_engine_http *http = tc_engine_http_new(config->socket, TC_ENGINE_CONTROL);
    if (http)
        tc_engine_live(http, config);
    tc_engine_http_free(http);
    return http != NULL;
}

int main(void)
{
    struct tc_engine_config config = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    if (fcntl(TC_ENGINE_CONTROL, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fputs("toolcage-engine is started by toolcage, for one container\n", stderr);
        return 2;
    }
    int code = 2;
    if (tc_task_receive(TC_ENGINE_CONTROL, &tc_engine_config_fields, &config) && is_whole(&config))
        code = live(&config) ? 0 : 1;
    tc_fields_done(&tc_engine_config_fields, &config);
    return code;
}

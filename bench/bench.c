/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("bench: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

double clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void pause_ms(unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) < 0)
        ;
}

void samples_add(struct samples *s, double us)
{
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 256;
        s->us = realloc(s->us, s->room * sizeof(*s->us));
        if (!s->us)
            die("out of memory");
    }
    s->us[s->count++] = us;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double samples_at(struct samples *s, double part)
{
    if (s->count == 0)
        return 0;
    qsort(s->us, s->count, sizeof(*s->us), compare);
    return s->us[(size_t)(part * (double)(s->count - 1) + 0.5)];
}

struct host host_open(const char *command, const char *memory)
{
    struct host host = {.command = command};
    struct toolcage_error *err = NULL;
    char text[8192];
    int length = snprintf(text, sizeof(text),
                          "[tool.noop]\nfilesystem = { readable = [\"%s\"] }\n"
                          "network = \"none\"\nmemory = %s\n",
                          command, memory);

    if (length < 0 || (size_t)length >= sizeof(text))
        die("%s is too long a path", command);
    if (toolcage_policy_load_buffer(text, (size_t)length, "bench.toml", &host.policy, &err) < 0 ||
        toolcage_engine_new(&host.engine, &err) < 0)
        die("%s", toolcage_error_report(err));
    return host;
}

struct host host_open_file(const char *command, const char *path)
{
    struct host host = {.command = command};
    struct toolcage_error *err = NULL;

    if (toolcage_policy_load_file(path, &host.policy, &err) < 0 ||
        toolcage_engine_new(&host.engine, &err) < 0)
        die("%s", toolcage_error_report(err));
    return host;
}

void host_close(struct host *host)
{
    host->engine = toolcage_engine_unref(host->engine);
    host->policy = toolcage_policy_unref(host->policy);
}

struct toolcage_call *host_start(struct host *host)
{
    struct toolcage_call *call = NULL;
    struct toolcage_error *err = NULL;
    const char *argv[] = {host->command};

    if (toolcage_call_new(host->engine, host->policy, "noop", &call, &err) < 0 ||
        toolcage_call_set_command(call, 1, argv, &err) < 0 || toolcage_call_start(call, &err) < 0)
        die("%s", toolcage_error_report(err));
    return call;
}

void host_check(struct toolcage_call *call)
{
    const struct toolcage_result *result = toolcage_call_result(call);

    if (!result || toolcage_result_status(result) != TOOLCAGE_STATUS_OK)
        die("the call failed: %s", result ? toolcage_result_json(result) : "no result");
}

double host_call(struct host *host)
{
    struct toolcage_error *err = NULL;
    double start = clock_us(), end;
    struct toolcage_call *call = host_start(host);

    if (toolcage_call_wait(call, 60000, &err) != 1)
        die("no result after a minute: %s", toolcage_error_report(err));
    end = clock_us();
    host_check(call);
    toolcage_call_unref(call);
    return end - start;
}

void run_program(const char *const argv[])
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        die("%s failed", argv[0]);
}

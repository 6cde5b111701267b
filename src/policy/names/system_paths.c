/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/system_paths.h"

#include <stddef.h>
#include <string.h>

#include "base/path.h"
#include "base/strv.h"

const struct tc_system_path tc_system_paths[] = {
    {"/usr", false},
    {"/bin", false},
    {"/sbin", false},
    {"/lib", false},
    {"/lib32", false},
    {"/lib64", false},
    {"/libx32", false},
    {"/etc/ld.so.cache", false},
    {"/etc/alternatives", false},
    {"/etc/ssl/certs", false},
    {"/etc/ssl/openssl.cnf", false},
    {"/etc/ca-certificates", false},
    {"/etc/pki/ca-trust/extracted", false},
    {"/etc/pki/tls/certs", false},
    {"/etc/pki/tls/cert.pem", false},
    {"/etc/pki/tls/openssl.cnf", false},
    {"/etc/localtime", false},
    {"/etc/terminfo", false},
    {"/etc/passwd", true},
    {"/etc/group", true},
    {"/etc/hosts", true},
    {"/etc/resolv.conf", true},
    {"/etc/nsswitch.conf", true},
    {NULL, false},
};

const struct tc_system_path *tc_system_path_find(const char *path)
{
    for (const struct tc_system_path *row = tc_system_paths; row->path; row++)
        if (tc_path_within(row->path, path))
            return row;
    return NULL;
}

bool tc_system_path_below(const char *path)
{
    for (const struct tc_system_path *row = tc_system_paths; row->path; row++)
        if (!tc_streq(row->path, path) && tc_path_within(path, row->path))
            return true;
    return false;
}

/* Cuts the next line off: its length, or 0 at the end. */
static size_t next_line(const char **at, const char **ret)
{
    size_t length = *at ? strcspn(*at, "\n") : 0;
    *ret = *at;
    if (length)
        *at += length + ((*at)[length] == '\n');
    return length;
}

bool tc_system_next(const char **at, char path[PATH_MAX])
{
    const char *line;
    size_t length;
    do
        length = next_line(at, &line);
    while (length && (line[0] != '/' || length >= PATH_MAX));
    memcpy(path, line ? line : "", length);
    path[length] = '\0';
    return length > 0;
}

bool tc_system_shows(const char *lines, const char *path)
{
    const char *line;
    for (size_t length; (length = next_line(&lines, &line));)
        if (strncmp(line, path, length) == 0 && (path[length] == '/' || path[length] == '\0'))
            return true;
    return false;
}

bool tc_system_leads(const char *lines, const char *path)
{
    const char *line;
    size_t own = strlen(path);
    for (size_t length; (length = next_line(&lines, &line));)
        if (length > own && strncmp(line, path, own) == 0 && line[own] == '/')
            return true;
    return false;
}

bool tc_system_path_private(const char *path)
{
    return tc_path_within("/tmp", path) || tc_path_within("/dev/shm", path);
}

const char *tc_system_path_shm(const char *path)
{
    static const char shm[] = "/dev/shm/";
    return tc_startswith(path, shm) ? path + strlen(shm) : NULL;
}

bool tc_system_path_searched(const char *directory)
{
    size_t length = strlen(directory);
    for (const char *at = TC_SEARCH_PATH; *at;
         at += strcspn(at, ":") + (at[strcspn(at, ":")] == ':'))
        if (strcspn(at, ":") == length && memcmp(at, directory, length) == 0)
            return true;
    return false;
}

const char *const tc_devices[TC_DEVICES] = {"null", "zero", "full", "random", "urandom"};

bool tc_device_path(const char *path)
{
    for (size_t i = 0; i < TC_DEVICES; i++)
        if (tc_startswith(path, "/dev/") && tc_streq(path + 5, tc_devices[i]))
            return true;
    return false;
}

const struct tc_masked_proc tc_masked_proc[] = {
    {"/proc/acpi", true},           {"/proc/asound", true},       {"/proc/interrupts", false},
    {"/proc/kcore", false},         {"/proc/keys", false},        {"/proc/key-users", false},
    {"/proc/latency_stats", false}, {"/proc/sched_debug", false}, {"/proc/scsi", true},
    {"/proc/timer_list", false},    {"/proc/timer_stats", false}, {NULL, false},
};

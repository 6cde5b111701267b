/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/system_paths.h"

#include <stddef.h>

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

bool tc_system_path_private(const char *path)
{
    return tc_path_within("/tmp", path) || tc_path_within("/dev/shm", path);
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

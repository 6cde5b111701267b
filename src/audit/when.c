/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool read_ago(const char *said, time_t *ret)
{
    static const char units[] = "smhd";
    static const long seconds[] = {1, 60, 3600, 86400};
    char *end;
    long count = strtol(said, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (end == said || count < 0 || count > 100000 || !unit || end[1])
        return false;
    *ret = time(NULL) - count * seconds[unit - units];
    return true;
}

bool tc_audit_when(const char *said, char *to, size_t size)
{
    static const char form[] = "0000-00-00T00:00:00.000000Z";
    time_t at;
    struct tm tm;
    if (read_ago(said, &at))
        return gmtime_r(&at, &tm) && strftime(to, size, "%Y-%m-%dT%H:%M:%S", &tm);
    size_t length = strlen(said);
    for (size_t i = 0; i < length; i++)
        if (i >= sizeof(form) - 1 ||
            (form[i] == '0' ? said[i] < '0' || said[i] > '9' : said[i] != form[i]))
            return false;
    (void)snprintf(to, size, "%s", said);
    return length >= 4 && length < size;
}

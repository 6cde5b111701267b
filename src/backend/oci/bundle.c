/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/oci/config.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/strv.h"
#include "linux/mounts.h"

enum { BUNDLE_BYTES = 8 << 20, LOG_MAX = 64 << 10 };

/* The runtime may write only its state and its logs (different ones per gVisor platform), and may
 * replace none of them. */
static int fill_bundle(int fd, uid_t id, const char *config)
{
    static const char *const directories[] = {"rootfs", "state", "talk", "base", "image"};
    static const char *const written[] = {"log",    "systrap",    "ptrace",      "kvm",
                                          "failed", TC_OCI_HEARD, TC_OCI_LACKED, "state"};
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        if (mkdirat(fd, directories[i], 0700) < 0)
            return -1;
    for (size_t i = 0; i < TC_COUNT(written); i++)
        if ((strcmp(written[i], "state") != 0 && tc_put_file(fd, written[i], "", 0, 0600) < 0) ||
            (id != (uid_t)-1 && fchownat(fd, written[i], id, (gid_t)id, 0) < 0))
            return -1;
    return tc_put_file(fd, "config.json", config, strlen(config), 0444);
}

int tc_oci_bundle(uid_t id, const char *config)
{
    _autofd_ int fd = tc_tmpfs(BUNDLE_BYTES, 0, "0755", false);
    return fd < 0 || fill_bundle(fd, id, config) < 0 ? -1 : TAKE_FD(fd);
}

/* Opens the path again in the current mount namespace, in which mounts are made. */
int tc_oci_self(void)
{
    const char *path = tc_self_path();
    struct stat mine, found;
    _autofd_ int fd = !path ? -1 : open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || stat("/proc/self/exe", &mine) < 0 || fstat(fd, &found) < 0)
        return -1;
    if (mine.st_dev != found.st_dev || mine.st_ino != found.st_ino) {
        errno = ESTALE;
        return -1;
    }
    return tc_tree_open(fd, &(struct tc_tree){.userns = -1}, NULL);
}

void tc_oci_root_ids(const struct tc_process_host *host, uid_t id, struct tc_init_config *init)
{
    init->wait_for_maps = host->tree->privileged;
    init->uid = init->gid = 0;
    tc_id_map(init->uid_map, 0, host->tree->privileged ? id : host->tree->uid);
    tc_id_map(init->gid_map, 0, host->tree->privileged ? (gid_t)id : host->tree->gid);
}

/* runsc logs JSON objects, one per line, with the text in "msg"; crun and runc log plain text.
 * Decodes in place. */
static const char *said_in(char *line)
{
    static const char key[] = "\"msg\":\"";
    char *text = line[0] == '{' ? strstr(line, key) : NULL;
    if (!text)
        return line;
    text += sizeof(key) - 1;
    char *to = text;
    for (const char *at = text; *at && *at != '"'; at++) {
        bool escaped = *at == '\\' && at[1];
        at += escaped;
        *to++ = escaped && *at == 'n' ? ' ' : *at;
    }
    *to = '\0';
    return text;
}

char *tc_oci_log_tail(int bundle, const char *log)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    text.max = LOG_MAX;
    if (tc_read_file(bundle, log, &text) < 0 || !text.len)
        return strdup("it gave no reason");
    while (text.len && (unsigned char)text.data[text.len - 1] <= ' ')
        text.data[--text.len] = '\0';
    char *line = strrchr(text.data, '\n');
    return tc_format("%.600s", said_in(line ? line + 1 : text.data));
}

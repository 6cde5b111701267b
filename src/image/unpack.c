/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parent's side of unpacking: starts the confined child, and interprets its reports. */
#include "image/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strv.h"
#include "base/sys.h"

enum { ARCHIVE_FD = 3, TARGET_FD, SAY_FD, ABOVE };

static void place(int fd, int to)
{
    if (dup2(fd, to) < 0)
        _exit(1);
}

static int raise_fd(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 2 * ABOVE);
    if (moved < 0)
        _exit(1);
    return moved;
}

static void work(const struct tc_unpack_job *job, int say, pid_t parent)
{
    struct tc_unpack_report report = {.over = 0};
    struct tc_unpack_job own = *job;
    int archive = raise_fd(job->archive), target = raise_fd(job->target);
    say = raise_fd(say);
    place(archive, ARCHIVE_FD);
    place(target, TARGET_FD);
    place(say, SAY_FD);
    own.archive = ARCHIVE_FD;
    own.target = TARGET_FD;
    if (tc_close_range(ABOVE, ~0U, 0) < 0 || getppid() != parent)
        _exit(1);
    const char *failed = tc_unpack_confine(TARGET_FD, job->limits.bytes);
    if (failed) {
        report.fault = TC_UNPACK_WALLS;
        report.errnum = errno;
        tc_strcopy(report.subject, sizeof(report.subject), failed);
    } else {
        tc_unpack_here(&own, &report, SAY_FD);
    }
    report.over = 1;
    _exit(write(SAY_FD, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 1);
}

static int fail_unpacked(const struct tc_unpack_job *job, const struct tc_unpack_report *report,
                         struct toolcage_error **err)
{
    static const struct {
        const char *what, *hint;
    } words[] = {
        [TC_UNPACK_FINE] = {"", NULL},
        [TC_UNPACK_SYSTEM] = {"cannot be unpacked", NULL},
        [TC_UNPACK_WALLS] = {"was not unpacked: the unpacker could not be sandboxed on this host",
                             "toolcage doctor lists what this host lacks, and how to fix it"},
        [TC_UNPACK_FORMAT] = {"is not an archive, or is damaged",
                              "create it again, or fetch it again"},
        [TC_UNPACK_NAME] = {"has a name that escapes its root, or is too long or deep",
                            "do not trust this archive; names must be relative, without \"..\""},
        [TC_UNPACK_LINK] = {"has an entry whose path or link target does not exist in the image",
                            "do not trust this archive, or create it again with another program"},
        [TC_UNPACK_WHITEOUT] =
            {"has a whiteout with an invalid name",
             "do not trust this archive, or create it again with another program"},
        [TC_UNPACK_BYTES] = {"is larger than the limit when unpacked",
                             "raise the limit with --max-size, if you trust this image"},
        [TC_UNPACK_FILES] = {"has more files than the limit",
                             "raise the limit with --max-files, if you trust this image"},
    };
    unsigned fault = (unsigned)report->fault;
    if (fault >= TC_COUNT(words))
        fault = TC_UNPACK_FORMAT;
    bool named = report->subject[0] != '\0';
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "unpack", named ? report->subject : job->name,
                                report->errnum, words[fault].hint),
                   "%s %s%s%s", job->name, words[fault].what, named ? ": " : "", report->subject);
}

static int fail_child(const struct tc_unpack_job *job, int status, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EPATH, "unpack", job->name,
                          "do not trust this archive, or create it again with another program"),
                   "%s crashed its reader (%s %d)", job->name,
                   WIFSIGNALED(status) ? "signal" : "code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Until the last report, or the end of file. */
static void listen_to(const struct tc_unpack_job *job, int from, struct tc_unpack_report *ret)
{
    struct tc_unpack_report heard;
    ssize_t n;
    while (!ret->over &&
           ((n = read(from, &heard, sizeof(heard))) > 0 || (n < 0 && errno == EINTR))) {
        if (n != (ssize_t)sizeof(heard))
            continue;
        heard.digest[sizeof(heard.digest) - 1] = heard.subject[sizeof(heard.subject) - 1] = '\0';
        *ret = heard;
        if (job->tick)
            job->tick(job->ud, ret);
    }
}

int tc_unpack(const struct tc_unpack_job *job, struct tc_unpack_report *ret,
              struct toolcage_error **err)
{
    int pair[2], status = 0;
    struct stat st;
    struct tc_why why = {.code = TOOLCAGE_ESYSTEM, .stage = "unpack", .subject = job->name};
    *ret = (struct tc_unpack_report){.over = 0};
    if (fstat(job->archive, &st) < 0 || !S_ISREG(st.st_mode)) {
        why.hint = "name a file";
        return tc_fail(err, &why, "%s is not a regular file", job->name);
    }
    pid_t parent = getpid();
    if (pipe2(pair, O_CLOEXEC | O_DIRECT) < 0) {
        why.errnum = errno;
        return tc_fail(err, &why, "cannot make a pipe");
    }
    _autofd_ int from = pair[0], to = pair[1];
    pid_t child = fork();
    if (child == 0)
        work(job, to, parent);
    (void)close(TAKE_FD(to));
    if (child < 0) {
        why.errnum = errno;
        return tc_fail(err, &why, "cannot start the reader of %s", job->name);
    }
    listen_to(job, from, ret);
    (void)kill(child, SIGKILL); /* it has finished, or its reports are no longer read */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ret->over)
        return fail_child(job, status, err);
    return ret->fault ? fail_unpacked(job, ret, err) : 0;
}

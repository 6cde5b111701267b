/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage init`: writes a starter policy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/lookup.h"
#include "cli/call/trust.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    TC_OPTION_HELP,
    {0},
};

static const char starter[] =
    "# What each tool of a language model may touch. Whatever is not granted here is denied.\n"
    "#\n"
    "#   toolcage tools                             the tools below\n"
    "#   toolcage call list_files                   run one, as a model would\n"
    "#   toolcage policy explain --tool list_files  its whole grant\n"
    "#   toolcage policy trust toolcage.toml        after each edit\n"
    "\n"
    "# For commands that name no tool (toolcage exec CMD), and for keys that a tool leaves "
    "out.\n"
    "[defaults]\n"
    "filesystem = { readable = [\".\"] }\n"
    "network = \"none\"\n"
    "timeout = \"30s\"\n"
    "# by = \"any\": without a cgroup the limit applies to each process separately.\n"
    "memory = { max = \"512MiB\", by = \"any\" }\n"
    "\n"
    "[tool.list_files]\n"
    "description = \"List the files of the workspace.\"\n"
    "command = [\"ls\", \"-la\", \"/workspace\"]\n"
    "filesystem = { readable = [\"/workspace\"] }\n"
    "timeout = \"10s\"\n"
    "\n"
    "[tool.search]\n"
    "description = \"Find lines with a string in the files of the workspace.\"\n"
    "command = [\"grep\", \"-rnF\", \"--\", \"{text}\", \"/workspace\"]\n"
    "arguments.text = { type = \"string\", minLength = 1, maxLength = 200 }\n"
    "filesystem = { readable = [\"/workspace\"], denied = [\"/workspace/.env\"] }\n"
    "timeout = \"10s\"\n"
    "\n"
    "# A shell that may write the workspace. Uncomment to enable it.\n"
    "# [tool.shell]\n"
    "# description = \"Run a shell script in /workspace. There is no network.\"\n"
    "# command = [\"sh\"]\n"
    "# stdin = \"{script}\"\n"
    "# arguments.script = { type = \"string\", maxLength = 20000 }\n"
    "# filesystem = { writable = [\"/workspace\"] }\n"
    "# timeout = \"60s\"\n";

static int refuse_name(const char *name, struct tc_failure *failure)
{
    _autofree_ char *hint =
        tc_cli_format("edit it, or check it with toolcage policy check %s", name);
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                          "%s is already here, and init never overwrites", name);
}

/* Two policies in one directory are ambiguous, so a policy of another format is also refused. The
 * fd of the new file, or -1. */
static int write_starter(struct tc_failure *failure)
{
    _autofree_ char *there = NULL;
    if (tc_lookup_in(".", &there, failure))
        return -1;
    if (there)
        return refuse_name(strrchr(there, '/') + 1, failure);
    int fd = open(TC_POLICY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 && errno == EEXIST)
        return refuse_name(TC_POLICY_NAME, failure);
    ssize_t n = fd < 0 ? -1 : write(fd, starter, sizeof(starter) - 1);
    if (n == (ssize_t)sizeof(starter) - 1)
        return fd;
    int saved = n < 0 ? errno : ENOSPC;
    if (fd >= 0) {
        (void)unlink(TC_POLICY_NAME);
        (void)close(fd);
    }
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "change to a directory that you can write",
                          "cannot write " TC_POLICY_NAME ": %s", strerror(saved));
}

/* A tool that may write this directory can replace the file at any time. */
static int check_place(int fd, const char *path, struct tc_failure *failure)
{
    struct stat written, there;
    if (!fstat(fd, &written) && !lstat(path, &there) && written.st_dev == there.st_dev &&
        written.st_ino == there.st_ino)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUNTRUSTED,
                          "end the calls that may write this directory, remove the file and run "
                          "toolcage init again",
                          "%s was replaced while init wrote it, and nothing was trusted", path);
}

/* Trusts the text, not the file, which may have been replaced. */
static int trust_starter(int fd, struct tc_failure *failure)
{
    struct toolcage_policy *policy = NULL;
    _autofree_ char *directory = realpath(".", NULL), *path = NULL;
    if (directory)
        path = tc_cli_format("%s/%s", strcmp(directory, "/") ? directory : "", TC_POLICY_NAME);
    if (!path)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "change to a directory that exists",
                              "cannot look at the working directory: %s", strerror(errno));
    int rc = toolcage_policy_load_buffer(starter, sizeof(starter) - 1, path, &policy,
                                         tc_failure_error(failure));
    if (!rc)
        rc = check_place(fd, path, failure);
    if (!rc)
        rc = tc_trust_set(path, toolcage_policy_digest(policy), starter, failure);
    (void)toolcage_policy_unref(policy);
    return rc;
}

static int run_init(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofd_ int fd = write_starter(&failure);
    if (fd < 0 || trust_starter(fd, &failure))
        return tc_failure_tell(&failure, args, NULL);
    static const char done[] = "wrote " TC_POLICY_NAME " and trusted it\n"
                               "next: toolcage tools; toolcage call list_files\n";
    return tc_cli_print(done, sizeof(done) - 1);
}

const struct tc_verb tc_verb_init = {
    .name = "init",
    .operands = "",
    .summary = "write a commented starter policy here and trust it",
    .text = "Never overwrites a file, and writes none if a toolcage.yaml or .yml exists here.\n\n"
            "examples:\n  toolcage init\n",
    .options = options,
    .run = run_init,
};

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/oci/config.h"
#include "backend/oci/notes.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/strv.h"

/* By this code an older runsc says that it has no such option. */
enum { UNKNOWN_OPTION = 2 };

static const char name[] = "directfs", knows[] = "knows", lacks[] = "lacks";

char *tc_oci_direct_note(const char *runtime)
{
    char mark[TC_MARK_SIZE], note[TC_OCI_NOTE_SIZE];
    bool any = runtime && tc_oci_mark(runtime, mark) && tc_oci_note_read(name, mark, 0, note);
    return strdup(any ? note : "nothing");
}

void tc_oci_direct_learn(const char *runtime, int bundle)
{
    char mark[TC_MARK_SIZE];
    _autobuf_ struct tc_buf heard = TC_BUF_INIT;
    heard.max = TC_OCI_NOTE_SIZE;
    if (tc_read_file(bundle, TC_OCI_DIRECT, &heard) < 0 || !heard.len ||
        !tc_oci_mark(runtime, mark))
        return;
    const char *word = tc_oci_note_word(heard.data, mark);
    if (tc_streq(word, knows) || tc_streq(word, lacks))
        tc_oci_note_write(name, mark, word);
}

static bool ask(const char *runtime)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        char option[] = TC_OCI_NOT_DIRECT, version[] = "--version";
        char *argv[] = {(char *)(uintptr_t)runtime, option, version, NULL};
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
            (void)execv(runtime, argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && code != UNKNOWN_OPTION)
        _exit(127);
    return code == 0;
}

bool tc_oci_direct_known(const char *runtime, const char *note)
{
    char mark[TC_MARK_SIZE], after[TC_MARK_SIZE];
    bool marked = tc_oci_mark(runtime, mark);
    const char *word = marked ? tc_oci_note_word(note, mark) : NULL;
    if (tc_streq(word, knows) || tc_streq(word, lacks))
        return tc_streq(word, knows);
    bool answer = ask(runtime);
    if (marked && tc_oci_mark(runtime, after) && strcmp(mark, after) == 0) {
        _autofree_ char *heard = tc_format("%s %s", mark, answer ? knows : lacks);
        if (heard)
            (void)tc_write_file(AT_FDCWD, TC_OCI_BUNDLE "/" TC_OCI_DIRECT, heard);
    }
    return answer;
}

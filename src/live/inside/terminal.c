/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/inside/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int tc_live_terminal_open(int reply, const struct tc_live_extras *extras)
{
    const struct winsize size = {.ws_row = extras->rows, .ws_col = extras->columns};
    const struct tc_live_report report = {.kind = TC_LIVE_TERMINAL};
    int unlocked = 0;
    _autofd_ int other = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (other < 0 || ioctl(other, TIOCSPTLCK, &unlocked) < 0)
        return -1;
    _autofd_ int own = ioctl(other, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (own < 0 || ioctl(own, TIOCSWINSZ, &size) < 0 || ioctl(own, TIOCSCTTY, 0) < 0)
        return -1;
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (dup2(own, i) < 0)
            return -1;
    return tc_send_now(reply, &report, sizeof(report), &other, 1);
}

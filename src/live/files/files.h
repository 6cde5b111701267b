/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * File actions in the cage of a live session: PID 1 starts them like a command, but instead of a
 * program the new process runs this code. So it has the rights of a command, and nothing outside
 * opens a path of the cage. The content is on descriptor 0, a socket (transfer/transfer.h), the
 * report is a line of JSON on descriptor 1, an error is a line on descriptor 2. */
#ifndef TC_LIVE_FILES_FILES_H
#define TC_LIVE_FILES_FILES_H

/* put PATH MODE, get PATH MOST, put-tree PATH, get-tree PATH MOST, list PATH, stat PATH, remove
 * PATH, remove-tree PATH. Returns the exit code. */
int tc_files_run(const char *const *argv);

#endif

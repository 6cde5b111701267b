/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of places that a tool could ever write, under whatever policy. Each user has one in
 * the state directory; root's is /var/lib/toolcage/written, which every user's calls read: a tool
 * of root's may write in a directory of somebody else.
 *
 * Entries end with a NUL:
 *
 *   DEVICE:INODE:BIRTH /path/   a directory, in hexadecimal: found by its identity, also renamed
 *   DEVICE:INODE:BIRTH /path    a file, or without a time of birth: found by both
 *   /path                       nothing was there yet
 *   sha256:... /path            a file in such a place that a call used before a tool could write
 *                               there, or kept its tools from writing, and what it was then
 */
#ifndef TC_PROVENANCE_RECORD_H
#define TC_PROVENANCE_RECORD_H

#include "base/strv.h"
#include "linux/resolve.h"

/* Where the records are, borrowed: the caller's state directories, of which there are two where
 * $XDG_STATE_HOME names another one than the usual (a program that is started without that variable
 * knows the usual one alone); and the directory of root's record. */
struct tc_records {
    const struct tc_strv *states;
    const char *root;
};

#define TC_RECORDS_ROOT "/var/lib/toolcage"

/* Adds the entries of all records to the resolver. A record that is not there has none. 0, or -1
 * with errno: one cannot be read. */
int tc_record_learn(const struct tc_records *records, struct tc_resolver *r);

/* Notes these host paths, as they are now, before a tool can write there; and, unless `file` is
 * NULL, that it has this digest. What cannot be noted stops no call: links in the policy's own
 * places are not followed anyway. False: out of memory. */
bool tc_record_note(const struct tc_records *records, const struct tc_strv *places,
                    const char *file, const char *digest);

/* Is this the digest that the caller's own record has last for the file? */
bool tc_record_knows(const struct tc_records *records, const char *file, const char *digest);

#endif

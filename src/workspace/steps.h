/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A commit as an ordered list of steps. All of it is decided, and every new file is complete,
 * before the first step changes the host; the list is then applied alone, by the process that made
 * it, or by a later one from the journal. Where the new version of a file is shows whether its step
 * was taken; the journal counts the others. */
#ifndef TC_WORKSPACE_STEPS_H
#define TC_WORKSPACE_STEPS_H

#include "base/wire.h"
#include "linux/walk.h"
#include "workspace/workspace.h"

enum tc_step_kind {
    TC_STEP_REMOVE, /* a file, a link or an empty directory */
    TC_STEP_MAKE,   /* a directory, if there is none */
    TC_STEP_PUT,    /* the new version of a file or link gets the name */
    TC_STEP_MODE,   /* permissions of a directory */
    TC_STEP_KINDS,
};

struct tc_step {
    enum tc_step_kind kind;
    size_t root;
    char *relative;        /* owned; "": the root itself, for its mode */
    struct tc_version was; /* the host's entry; inode 0: none, or any directory */
    int64_t born_ns;       /* its creation time; 0: not known */
    bool loose;            /* it had several names, so its ctime may change by another step */
    struct tc_version now; /* PUT: the new version */
    int64_t place;         /* PUT: where it is; -1: under this name in the layer */
    unsigned made, mode;   /* MAKE: `made`. MODE: from `made` to `mode` */
    bool fresh;            /* MODE: of a directory that is new; if it has another mode it stays */
    bool leans; /* it steers nothing, if pieces of a bare repository above it are removed before */
    bool bare;  /* it was decided with the bare repository that it changes in view */
    size_t row; /* not stored: of the change in the result */
};

/* A granted directory that changes. */
struct tc_step_root {
    char *path; /* owned */
    int64_t device, inode, born_ns, uid, gid;
    char *layer; /* owned; the store of layers has the new versions. NULL: they are staged */
    int fd, copy;
    const struct tc_item *item; /* NULL: a later process completes the commit */
};

/* Where new versions are staged on the host: ".toolcage-ID-N" in the directory `above` of the
 * root. It is a directory with files named after their steps, or `alone` the file itself. */
struct tc_step_place {
    size_t root;
    char *above; /* owned */
    bool alone;
    bool made; /* the directory; not stored */
};

/* The parent directory of the last entry. */
struct tc_steps_near {
    int fd;
    size_t root;
    char path[PATH_MAX];
};

enum tc_steps_apart { TC_STEPS_UNSEEN, TC_STEPS_NEAR, TC_STEPS_APART };

struct tc_steps {
    struct tc_step_root *roots;
    struct tc_step_place *places;
    struct tc_step *steps;
    size_t root_count, place_count, count;
    bool privileged;
    const char *temporary; /* ".toolcage-ID"; borrowed */
    /* while it is decided */
    size_t removals, removals_end;                  /* those of the current item */
    bool leans;                                     /* the current decision depends on a removal */
    bool fresh[TC_WALK_DEEPEST + 2];                /* by depth: will a step make the directory? */
    enum tc_steps_apart apart[TC_WALK_DEEPEST + 2]; /* by depth: its quota, from the layer's */
    int errnum;        /* no space for the new versions: nothing is committed */
    const char *where; /* the granted directory whose disk is full; borrowed, NULL: the journal's */
    /* while it is applied */
    int journal;     /* -1: no step is counted */
    int64_t counter; /* where the journal counts */
    uint64_t done;   /* so many steps were taken */
    bool again;      /* another process may have taken some */
    bool pending;    /* the next counted step may be taken, but not counted */
    struct tc_steps_near from, to;
};

/* For a step that was not taken: its number, and why (tc_commit_conflict, tc_commit_undone). */
typedef void tc_steps_failed(void *userdata, size_t index, const char *held);

void tc_steps_begin(struct tc_steps *s, const char *temporary, bool privileged);
void tc_steps_done(struct tc_steps *s);
/* Reads or writes the list. */
void tc_steps_visit(struct tc_wire *w, struct tc_steps *s);
/* Adds a step; NULL with errno. */
struct tc_step *tc_steps_add(struct tc_steps *s, const struct tc_cage *cage,
                             const struct tc_item *item, enum tc_step_kind kind,
                             const char *relative);
/* Does a step of the current item remove this entry? */
bool tc_steps_remove(const struct tc_steps *s, const char *relative);
/* The name of a place, and the file in it. */
enum { TC_STEP_NAME = 64 };
void tc_steps_place_name(const struct tc_steps *s, size_t place, char name[TC_STEP_NAME]);
void tc_steps_file_name(const struct tc_steps *s, const struct tc_step *step,
                        char name[TC_STEP_NAME]);
/* Opens the directory that has the staged file. -1 with errno. */
int tc_steps_open_place(const struct tc_steps *s, size_t place);
/* Removes what was staged; with `above`: in that directory of the root only. */
void tc_steps_clear(const struct tc_steps *s);
void tc_steps_clear_in(const struct tc_steps *s, size_t root, const char *above);

/* The time of creation in nanoseconds; 0: not known. */
int64_t tc_step_born(const struct statx *st);
/* Notes the host's entry that the step may change. */
void tc_step_expect(struct tc_step *step, const struct statx *st);
/* Gives a new entry of `dir` to the owner of the workspace. 0, or -1 with errno. */
int tc_step_give(int dir, const char *name, unsigned type, uid_t uid, gid_t gid);
/* Does it change what steers a bare repository on the host, or complete one? */
bool tc_step_bare(int root, const struct tc_step *step);
/* Can it be done later what was not done now? There is no space, or the system failed. */
bool tc_steps_waits(const char *held, int errnum);
/* Takes the steps that are left. 0, or -1 with errno: there is no space, or the system failed, and
 * the rest waits from the step *ret_left on. */
int tc_steps_apply(struct tc_steps *s, tc_steps_failed *failed, void *userdata, size_t *ret_left);

#endif

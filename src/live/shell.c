/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each script is one line, so that line numbers in messages of a shell are those of TEXT, and is
 * parsed before the aliases of the state exist. */
#include "live/shell.h"

#include "live/inside/shell_state.h"

/* clang-format off */

/* The shell's own state, then saved by one program for both shells. A subshell writes it: a trap of
 * TEXT may run later. Options of `set` are not saved. The directory of a state whose directory no
 * longer exists stays, until TEXT changes to another; TEXT runs in an empty one. A shell that ends
 * while it evaluates the state must not save the part that it has. */
#define COMMON \
    "_toolcage_save() { if [ -z \"${_toolcage_saved-}\" ]; then _toolcage_saved=1; ( { set +eux; " \
    "_toolcage_dir=$PWD; [ \"$PWD\" != \"$_toolcage_gone\" ] || _toolcage_dir=$_toolcage_was; " \
    "_toolcage_old=$OLDPWD _toolcage_status=$1; unset _toolcage_saved _toolcage_text " \
    "_toolcage_state _toolcage_was _toolcage_gone PWD OLDPWD; _toolcage_dump; echo '" \
    TC_STATE_MARK "'; } >&$_toolcage_fd ); fi; return $1; }; " \
    "_toolcage_enter() { _toolcage_was=$_toolcage_dir; if [ \"$_toolcage_was\" ]; then " \
    "if command cd -- \"$_toolcage_was\"; then OLDPWD=$_toolcage_old; else " \
    "_toolcage_gone=$(mktemp -d) && command cd -- \"$_toolcage_gone\" && " \
    "rmdir -- \"$_toolcage_gone\" || command cd /proc; fi; fi; " \
    "trap '{ _toolcage_save $?; } 2>/dev/null' EXIT; set -- ${_toolcage_status:-0}; " \
    "unset _toolcage_dir _toolcage_old _toolcage_status; return $1; }; "

#define RUN \
    "_toolcage_text=$1; shift; eval \"$_toolcage_state\" 2>/dev/null; _toolcage_enter; " \
    "eval \"$_toolcage_text\"; { _toolcage_save $?; } 2>/dev/null"

/* The descriptor moves to a number that TEXT does not use by chance. */
static const char bash[] =
    "exec {_toolcage_fd}>&" TC_STATE_FD_TEXT " " TC_STATE_FD_TEXT ">&-; shopt -s expand_aliases; "
    "_toolcage_dump() { shopt -p; umask -p; unset -v RANDOM SRANDOM LINENO SECONDS _toolcage_fd; "
    "unset -f _toolcage_save _toolcage_enter _toolcage_dump; declare -p; declare -f; alias -p; }; "
    COMMON "IFS= read -r -d '' -u $_toolcage_fd _toolcage_state; " RUN;

static const char sh[] =
    "_toolcage_fd=" TC_STATE_FD_TEXT "; _toolcage_dump() { echo umask $(umask); "
    "export _toolcage_dir _toolcage_old _toolcage_status; export -p; }; "
    COMMON "_toolcage_state=$(cat <&$_toolcage_fd); " RUN;

/* Which shell exists is known only inside the cage. */
static const char launch[] =
    "command -v bash >/dev/null 2>&1 && exec bash -c \"$1\" bash \"$3\"; exec sh -c \"$2\" sh \"$3\"";

/* clang-format on */

const char *const *tc_live_shell_argv(const struct tc_plan *plan, struct tc_arena *arena)
{
    const char *const argv[] = {
        plan->argv.items[0], "-c", launch, "sh", bash, sh, plan->argv.items[plan->argv.count - 1]};
    const char **copy = tc_arena_alloc(arena, sizeof(argv) + sizeof(*argv));
    for (size_t i = 0; copy && i < TC_COUNT(argv); i++)
        copy[i] = argv[i];
    return copy;
}

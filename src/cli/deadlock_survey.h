/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deadlocks among many names, for `explain` and `doctor`.
 *
 * The searches of core/deadlock_search.h say which queue to list next, and each
 * list is a call of the public interface.  A survey is shown the tickets of one
 * name after the other, and searches from those names only where somebody waits
 * who holds something else, some hundred names at a time: a deadlock has no
 * other names.  What it keeps does not grow with the names that it is shown,
 * but for tickets of other programs (session_table.h), up to a bound.
 */
#ifndef HF_CLI_DEADLOCK_SURVEY_H
#define HF_CLI_DEADLOCK_SURVEY_H

#include <holdfast/status.h>

#include "base/tree.h"
#include "cli/session_table.h"
#include "core/deadlock_search.h"

struct hf_ticket_view;

/* How many names a search begins with. */
#define HF_SURVEY_NAMES 256

/* The waiters of deadlocks that were found are remembered, so that each
 * deadlock is reported once.  When there would be more of them, the survey is
 * cut. */
#define HF_SURVEY_WAITERS_MAX 65536

/* How long lists may take. */
struct hf_list_times {
    uint64_t until_ms; /* CLOCK_BOOTTIME: when all must have ended */
    uint64_t each_ms;  /* the longest that one may take */
};

struct hf_deadlock_survey {
    /* Set by the user. */
    struct hf_client *client;
    uint64_t wait_ms; /* the longest that a list may take */
    /* A deadlock was found: the cycle of ${search}. */
    void (*found)(void *arg, const struct hf_deadlock_search *search);
    void *arg;

    /* What was found. */
    uint64_t certain;    /* certain deadlocks */
    uint64_t possible;   /* deadlocks that are only possible */
    uint64_t silent;     /* waiting tickets that do not say what is held */
    uint64_t unreadable; /* queues that may not be read */
    bool cut;            /* not all could be looked at */
    struct hf_session_table sessions;

    /* The names that are still to be searched from. */
    char *names[HF_SURVEY_NAMES];
    size_t name_count;
    struct hf_tree waiters; /* of those deadlocks that were found, by id */
};

/* Does ${text}, that of a ticket of ${kind}, leave out what its owner holds, or
 * part of it?  That of another program always does.  False for candidates and
 * participants, which never say it. */
bool hf_ticket_is_silent(enum hf_ticket_kind kind, const char *text);

/* Run ${search}, which was begun, to its end.  Its status HF_EFULL is no
 * failure.  ${unreadable}, if it is not NULL, counts queues that may not be
 * read, which are taken as empty. */
hf_status hf_deadlock_survey_run(struct hf_client *client,
                                 struct hf_deadlock_search *search,
                                 const struct hf_list_times *times,
                                 uint64_t *unreadable, struct hf_error *error);

/* Look at ${view}, a ticket of the lock called ${name} for which somebody
 * waits.  True: this ticket waits, and its owner says that it holds something,
 * so ${name} is to be added. */
bool hf_deadlock_survey_sees(struct hf_deadlock_survey *survey,
                             const char *name,
                             const struct hf_ticket_view *view);

/* Add the lock called ${name}: search from it, now or later. */
hf_status hf_deadlock_survey_add(struct hf_deadlock_survey *survey,
                                 const char *name, struct hf_error *error);

/* Search from all names that were added, and from those where another program
 * waits whose session holds something else. */
hf_status hf_deadlock_survey_finish(struct hf_deadlock_survey *survey,
                                    struct hf_error *error);

/* Free what it keeps. */
void hf_deadlock_survey_free(struct hf_deadlock_survey *survey);

#endif

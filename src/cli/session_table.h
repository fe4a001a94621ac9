/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets of other programs in ZooKeeper, by the session of their owner.
 * They do not say what their owner holds, but the server says which session
 * each belongs to.  What another ticket of the session holds is possibly held
 * by the same owner; no more than that, because threads may share a session.
 *
 * Only names that somebody waits for are shown to it: a deadlock has no others.
 */
#ifndef HF_CLI_SESSION_TABLE_H
#define HF_CLI_SESSION_TABLE_H

#include <holdfast/status.h>

#include "base/tree.h"
#include "core/deadlock_reading.h"

struct hf_ticket_view;

/* The most tickets that are kept. */
#define HF_SESSION_TICKETS_MAX 65536

/* A name that was shown. */
struct hf_session_name {
    struct hf_session_name *next; /* the one that was shown before */
    bool visited;                 /* by hf_session_table_for_each() */
    char text[];
};

/* Zeroed before its first use. */
struct hf_session_table {
    struct hf_tree tickets;        /* by session: those that hold come first */
    struct hf_session_name *names; /* the last one */
    bool cut; /* some were left out: too many, or no memory for them */
};

/* Add ${view}, a ticket of the lock called ${name}, if it is one that counts.
 * All tickets of a name are added one after the other. */
void hf_session_table_add(struct hf_session_table *table, const char *name,
                          const struct hf_ticket_view *view);

/* The .find of a struct hf_deadlock_sessions, whose .arg is a table. */
size_t
hf_session_table_find(void *arg, uint64_t session, const char *lock,
                      struct hf_session_hold holds[HF_DEADLOCK_SESSION_HOLDS]);

/* Call ${visit} once for each name that some session waits for while it holds
 * something else.  Stops when ${visit} fails, and returns its status then.  A
 * table can be walked only once, because .visited is never reset. */
hf_status hf_session_table_for_each(struct hf_session_table *table,
                                    hf_status (*visit)(void *arg,
                                                       const char *name,
                                                       struct hf_error *error),
                                    void *arg, struct hf_error *error);

/* Free what it keeps. */
void hf_session_table_free(struct hf_session_table *table);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a server that leases tickets has, and whom it tells of changes: rows of
 * one list, in order; a run has dozens at most. */
#ifndef HF_ENGINES_SIM_LEASE_ROWS_H
#define HF_ENGINES_SIM_LEASE_ROWS_H

#include "engines/sim/lease_server.h"

struct lease_row {
    char *queue;
    char session[HF_STORE_SESSION_BYTES];
    char *payload;
    struct hf_ticket ticket;
    uint64_t expires_ms;
    uint32_t revoked;
    bool going; /* in the sweep that is under way */
};

struct lease_look {
    char *queue;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t expires_ms;
};

struct lease_server {
    struct lease_row **rows; /* in order */
    size_t row_count;
    size_t row_room;
    struct lease_look *looks;
    size_t look_count;
    size_t look_room;
    uint64_t last; /* sequence and token */
    bool partial;  /* answers show no more of a queue than they must */
    struct lease_watcher watcher;
};

void *lease_must(void *memory);

/* The ticket called ${id} in the queue, or NULL. */
struct lease_row *lease_row_find(const struct lease_server *server,
                                 const char *queue,
                                 const struct hf_ticket_id *id);

/* One more, with a sequence and token of its own, which never runs out. */
struct lease_row *lease_row_new(struct lease_server *server, uint64_t clock_ms,
                                const char *queue, const char *session,
                                const struct hf_ticket *like);

/* Take out all of the queue that are .going, and tell; ${by} knows, or NULL. */
void lease_rows_sweep(struct lease_server *server, const char *queue,
                      const char *by);

/* Take out what has run out. */
void lease_rows_purge(struct lease_server *server, const char *queue,
                      uint64_t clock_ms);

/* Tell who waits for the write ticket ${downgraded}, or (NULL) for one that is
 * .going. */
void lease_tell_waiters(struct lease_server *server, const char *queue,
                        const struct lease_row *downgraded);
void lease_tell_lookers(struct lease_server *server, const char *queue);
void lease_tell(struct lease_server *server, enum hf_store_notice_kind kind,
                const char *session, const char *queue,
                const struct lease_row *row, enum hf_ticket_kind was);

/* That the session looks at the queue, or none any more. */
void lease_look(struct lease_server *server, uint64_t clock_ms,
                const char *queue, const struct hf_store_call *call);
void lease_looks_end(struct lease_server *server, const char *session);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a server that leases tickets has, and whom it tells of changes: rows of
 * one list, in order; a run has dozens at most. */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_ROWS_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_ROWS_H

#include "simulator/model/lease_server.h"

struct lease_row {
    char *queue;
    char session[HF_STORE_SESSION_BYTES];
    char *payload;
    struct hf_ticket ticket;
    uint64_t expires_ms;
    uint32_t revoked;
    bool removing; /* in the sweep that is under way */
};

struct lease_queue_watch {
    char *queue;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t expires_ms;
};

struct lease_server {
    struct lease_row **rows; /* in order */
    size_t row_count;
    size_t row_room;
    struct lease_queue_watch *queue_watches;
    size_t queue_watch_count;
    size_t queue_watch_room;
    uint64_t last; /* sequence and token */
    bool partial;  /* answers show no more of a queue than they must */
    struct lease_observer observer;
};

void *lease_require_memory(void *memory);

/* The ticket called ${id} in the queue, or NULL. */
struct lease_row *lease_row_find(const struct lease_server *server,
                                 const char *queue,
                                 const struct hf_ticket_id *id);

/* One more, with a sequence and token of its own, which never runs out. */
struct lease_row *lease_row_new(struct lease_server *server, uint64_t clock_ms,
                                const char *queue, const char *session,
                                const struct hf_ticket *like);

/* Take out all of the queue that are .going, and tell; ${by} knows, or NULL. */
void lease_rows_remove_marked(struct lease_server *server, const char *queue,
                              const char *by);

/* Take out what has run out. */
void lease_rows_expire(struct lease_server *server, const char *queue,
                       uint64_t clock_ms);

/* Tell who waits for the write ticket ${downgraded}, or (NULL) for one that is
 * .going. */
void lease_notify_waiters(struct lease_server *server, const char *queue,
                          const struct lease_row *downgraded);
void lease_notify_queue_watches(struct lease_server *server, const char *queue);
void lease_send_notice(struct lease_server *server,
                       enum hf_store_notice_kind kind, const char *session,
                       const char *queue, const struct lease_row *row,
                       enum hf_ticket_kind was);

/* That the session looks at the queue, or none any more. */
void lease_queue_watch(struct lease_server *server, uint64_t clock_ms,
                       const char *queue, const struct hf_store_call *call);
void lease_queue_watches_end(struct lease_server *server, const char *session);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of the lease server as rows of one array, in the order of their
 * sequence; and the watches of its queues.  A run has some dozens of rows at a
 * time, so searches are linear. */
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
    bool removing;          /* lease_rows_remove_marked() removes it */
    const char *evicted_by; /* .removing: who does it, for its owner; or NULL */
};

struct lease_queue_watch {
    char *queue;
    char session[HF_STORE_SESSION_BYTES];
    uint64_t expires_ms;
};

struct lease_success {
    char *queue;
    uint64_t token;      /* 0: there is none */
    uint64_t at_ms;      /* by the clock of the server */
    uint64_t written_us; /* true time, for the checks */
};

struct lease_server {
    struct lease_row **rows; /* in the order of their sequence */
    size_t row_count;
    size_t row_room;
    struct lease_queue_watch *queue_watches;
    size_t queue_watch_count;
    size_t queue_watch_room;
    struct lease_success *successes;
    size_t success_count;
    size_t success_room;
    uint64_t last; /* the last sequence, which is also the last token */
    /* Answers show the part of a queue that the contract demands. */
    bool partial;
    bool names_first; /* see lease_server_set_names_first() */
    struct lease_observer observer;
};

void *lease_require_memory(void *memory);

/* The ticket called ${id} in the queue, or NULL. */
struct lease_row *lease_row_find(const struct lease_server *server,
                                 const char *queue,
                                 const struct hf_ticket_id *id);

/* Add a ticket like ${like}, with the next sequence and token.  It never
 * expires. */
struct lease_row *lease_row_new(struct lease_server *server, uint64_t clock_ms,
                                const char *queue, const char *session,
                                const struct hf_ticket *like);

/* Remove the rows of the queue that are marked .removing, and send notices to
 * waiters and owners; not to the session ${by}, which knows (NULL: to all). */
void lease_rows_remove_marked(struct lease_server *server, const char *queue,
                              const char *by);

/* Remove the rows of the queue that have expired by ${clock_ms}. */
void lease_rows_expire(struct lease_server *server, const char *queue,
                       uint64_t clock_ms);

/* Notify those whose nearest ticket ahead goes: the write ticket ${downgraded},
 * or (NULL) the rows marked .removing. */
void lease_notify_waiters(struct lease_server *server, const char *queue,
                          const struct lease_row *downgraded);
void lease_notify_queue_watches(struct lease_server *server, const char *queue);
void lease_send_notice(struct lease_server *server,
                       enum hf_store_notice_kind kind, const char *session,
                       const char *queue, const struct lease_row *row,
                       enum hf_ticket_kind was);

/* The session watches the queue; the second function: it watches none. */
void lease_queue_watch(struct lease_server *server, uint64_t clock_ms,
                       const char *queue, const struct hf_store_call *call);
void lease_queue_watches_end(struct lease_server *server, const char *session);

/* The success of the queue, or NULL; and write it. */
struct lease_success *lease_success_find(const struct lease_server *server,
                                         const char *queue);
void lease_success_write(struct lease_server *server, const char *queue,
                         uint64_t token, uint64_t at_ms, uint64_t written_us);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A client under test and its requests, with what was answered to each. */
#ifndef HF_TESTS_CONFORMANCE_SEAT_H
#define HF_TESTS_CONFORMANCE_SEAT_H

#include "conformance/bench.h"

#define CALLS_MAX 256
#define SNAPSHOT_MAX 128

/* A request and its answer, copied out of the event. */
struct call {
    struct hf_request request;
    unsigned answers; /* of any kind, to be 1 */
    unsigned gone;    /* GONE after WATCHING, CHANGED after LISTED: at most 1 */
    unsigned revoked; /* REVOKED, as often as it came */
    bool forgotten;
    enum hf_event_kind answer;
    bool found;
    enum hf_failure failure; /* and what follows: FAILED */
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    size_t count; /* ENQUEUED, LISTED */
    size_t more;  /* and so many are ahead that were not shown */
    struct hf_ticket tickets[SNAPSHOT_MAX];
    char payloads[SNAPSHOT_MAX][HF_PAYLOAD_BYTES];
    size_t foreign; /* LISTED: how many things are no tickets */
};

struct seat {
    struct bench *bench;
    struct hf_engine_host host;
    struct hf_engine *engine;
    bool connected;
    bool closed;
    struct call *calls[CALLS_MAX];
    size_t count;
};

/* Open a client and wait until it is connected. */
struct seat *seat_open(struct bench *bench);

/* END it, which answers every call; and free all of it. */
void seat_end(struct seat *seat);
void seat_free(struct seat *seat);
void seat_close(struct seat *seat); /* both */

/* Free what belongs to a client whose engine crashed. */
void seat_bury(struct seat *seat);

/* Make a request and wait for its answer.  The call is ${seat}'s.  A WATCH is
 * of a mutex' ticket but in seat_watch(). */
struct call *seat_enqueue(struct seat *seat, const char *queue,
                          struct hf_ticket_id id, enum hf_ticket_kind kind,
                          const char *payload);
struct call *seat_ask(struct seat *seat, enum hf_request_kind kind,
                      const char *queue, struct hf_ticket_id id);
struct call *seat_lease(struct seat *seat, const char *queue,
                        struct hf_ticket_id id, uint32_t weight);
struct call *seat_watch(struct seat *seat, const char *queue,
                        const struct hf_ticket *ticket);
/* The same without waiting; then seat_wait(). */
struct call *seat_enqueue_only(struct seat *seat, const char *queue,
                               struct hf_ticket_id id);
struct call *seat_ask_only(struct seat *seat, enum hf_request_kind kind,
                           const char *queue, struct hf_ticket_id id);

/* A whole LIST; of members, and of all else. */
struct call *seat_look_at_members(struct seat *seat, const char *queue);
struct call *seat_look(struct seat *seat, const char *queue);

/* The same request again and again while the answer is FAILED{RETRY}. */
struct call *seat_insist(struct seat *seat, enum hf_request_kind kind,
                         const char *queue, struct hf_ticket_id id);

/* DESCRIBE, likewise; ${payload} outlives ${seat}. */
struct call *seat_describe(struct seat *seat, const char *queue,
                           const struct hf_ticket *ticket, const char *payload);

/* Wait until a whole list of ${queue} shows that text for the ticket; false
 * past the bound. */
bool seat_sees_text(struct seat *seat, const char *queue,
                    struct hf_ticket_id id, const char *payload);

/* Wait until ${watch} was told REVOKED more than ${before} times; false past
 * the bound. */
bool seat_sees_revoked(struct seat *seat, struct call *watch, unsigned before);

struct call *seat_wait(struct seat *seat, struct call *call);

/* SET_FLAG, CLEAR_FLAG or WATCH_QUEUE at a barrier. */
struct call *seat_mark(struct seat *seat, enum hf_request_kind kind,
                       const char *queue);
struct call *seat_mark_only(struct seat *seat, enum hf_request_kind kind,
                            const char *queue);

/* LIST, WATCH_QUEUE or, with ${limit}, NEW_GENERATION of members; CLEAR_FLAG of
 * what was stamped. */
struct call *seat_members(struct seat *seat, enum hf_request_kind kind,
                          const char *queue, struct hf_ticket_id id,
                          uint32_t limit);
struct call *seat_members_only(struct seat *seat, enum hf_request_kind kind,
                               const char *queue, struct hf_ticket_id id,
                               uint32_t limit);

/* Take back a WATCH or WATCH_QUEUE. */
void seat_forget(struct seat *seat, struct call *watch);

/* Wait until the connection is down; and up again. */
void seat_wait_suspended(struct seat *seat);
void seat_wait_connected(struct seat *seat);

/* Wait until ${watch} was told GONE, or CHANGED, at once or later; false past
 * the bound. */
bool seat_sees_gone(struct seat *seat, struct call *watch);

/* Let the engine say whatever it still has to say. */
void seat_settle(struct seat *seat);

/* The ticket ${id} in what ${call} was answered, or NULL. */
const struct hf_ticket *call_find(const struct call *call,
                                  struct hf_ticket_id id);

/* A fresh id. */
struct hf_ticket_id fresh_id(void);

#endif

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
    unsigned gone;    /* GONE after WATCHING, at most 1 */
    bool forgotten;
    enum hf_event_kind answer;
    bool found;
    hf_status status;
    size_t count;
    struct hf_ticket tickets[SNAPSHOT_MAX];
    char payloads[SNAPSHOT_MAX][HF_PAYLOAD_BYTES];
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

/* END it, see that every call was answered once, and free all of it. */
void seat_close(struct seat *seat);

/* Free what belongs to a client whose engine crashed. */
void seat_bury(struct seat *seat);

/* Make a request and wait for its answer.  The call is ${seat}'s. */
struct call *seat_enqueue(struct seat *seat, const char *queue,
                          struct hf_ticket_id id, enum hf_ticket_kind kind,
                          const char *payload);
struct call *seat_ask(struct seat *seat, enum hf_request_kind kind,
                      const char *queue, struct hf_ticket_id id);
/* The same without waiting. */
struct call *seat_ask_only(struct seat *seat, enum hf_request_kind kind,
                           const char *queue, struct hf_ticket_id id);

/* Take back a WATCH. */
void seat_forget(struct seat *seat, struct call *watch);

/* Wait until ${watch} was told GONE, at once or later; false past the bound. */
bool seat_sees_gone(struct seat *seat, struct call *watch);

/* Let the engine say whatever it still has to say. */
void seat_settle(struct seat *seat);

/* The ticket ${id} in what ${call} was answered, or NULL. */
const struct hf_ticket *call_find(const struct call *call,
                                  struct hf_ticket_id id);

/* A fresh id. */
struct hf_ticket_id fresh_id(void);

#endif

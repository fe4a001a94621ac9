/* SPDX-License-Identifier: Apache-2.0 */
/* A client under test and its requests, with what was answered to each. */
#ifndef HF_TESTS_CONFORMANCE_ENGINE_CLIENT_H
#define HF_TESTS_CONFORMANCE_ENGINE_CLIENT_H

#include "conformance/fixture.h"

#define CLIENT_REQUESTS_MAX 256
#define SNAPSHOT_MAX 128

/* A request and its answer, copied out of the event. */
struct client_request {
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

struct engine_client {
    struct conformance_fixture *fixture;
    struct hf_engine_host host;
    struct hf_engine *engine;
    bool connected;
    bool closed;
    struct client_request *calls[CLIENT_REQUESTS_MAX];
    size_t count;
};

/* Open a client and wait until it is connected. */
struct engine_client *client_open(struct conformance_fixture *fixture);

/* END it, which answers every call; and free all of it. */
void client_end(struct engine_client *client);
void client_free(struct engine_client *client);
void client_close(struct engine_client *client); /* both */

/* Free what belongs to a client whose engine crashed. */
void client_free_crashed(struct engine_client *client);

/* Make a request and wait for its answer.  The call is ${seat}'s.  A WATCH is
 * of a mutex' ticket but in seat_watch(). */
struct client_request *client_enqueue(struct engine_client *client,
                                      const char *queue, struct hf_ticket_id id,
                                      enum hf_ticket_kind kind,
                                      const char *payload);
struct client_request *client_ask(struct engine_client *client,
                                  enum hf_request_kind kind, const char *queue,
                                  struct hf_ticket_id id);
struct client_request *client_lease(struct engine_client *client,
                                    const char *queue, struct hf_ticket_id id,
                                    uint32_t weight);
struct client_request *client_watch(struct engine_client *client,
                                    const char *queue,
                                    const struct hf_ticket *ticket);
/* The same without waiting; then seat_wait(). */
struct client_request *client_start_enqueue(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id);
struct client_request *client_start(struct engine_client *client,
                                    enum hf_request_kind kind,
                                    const char *queue, struct hf_ticket_id id);

/* A whole LIST; of members, and of all else. */
struct client_request *client_list_participants(struct engine_client *client,
                                                const char *queue);
struct client_request *client_detailed_list(struct engine_client *client,
                                            const char *queue);

/* The same request again and again while the answer is FAILED{RETRY}. */
struct client_request *client_ask_until_done(struct engine_client *client,
                                             enum hf_request_kind kind,
                                             const char *queue,
                                             struct hf_ticket_id id);

/* DESCRIBE, likewise; ${payload} outlives ${seat}. */
struct client_request *client_describe(struct engine_client *client,
                                       const char *queue,
                                       const struct hf_ticket *ticket,
                                       const char *payload);

/* Wait until a whole list of ${queue} shows that text for the ticket; false
 * past the bound. */
bool client_wait_text(struct engine_client *client, const char *queue,
                      struct hf_ticket_id id, const char *payload);

/* Wait until ${watch} was told REVOKED more than ${before} times; false past
 * the bound. */
bool client_wait_revoked(struct engine_client *client,
                         struct client_request *watch, unsigned before);

struct client_request *client_wait(struct engine_client *client,
                                   struct client_request *request);

/* SET_FLAG, CLEAR_FLAG or WATCH_QUEUE at a barrier. */
struct client_request *client_barrier(struct engine_client *client,
                                      enum hf_request_kind kind,
                                      const char *queue);
struct client_request *client_start_barrier(struct engine_client *client,
                                            enum hf_request_kind kind,
                                            const char *queue);

/* LIST, WATCH_QUEUE or, with ${limit}, NEW_GENERATION of members; CLEAR_FLAG of
 * what was stamped. */
struct client_request *client_double_barrier(struct engine_client *client,
                                             enum hf_request_kind kind,
                                             const char *queue,
                                             struct hf_ticket_id id,
                                             uint32_t limit);
struct client_request *client_start_double_barrier(struct engine_client *client,
                                                   enum hf_request_kind kind,
                                                   const char *queue,
                                                   struct hf_ticket_id id,
                                                   uint32_t limit);

/* Take back a WATCH or WATCH_QUEUE. */
void client_forget(struct engine_client *client, struct client_request *watch);

/* Wait until the connection is down; and up again. */
void client_wait_suspended(struct engine_client *client);
void client_wait_connected(struct engine_client *client);

/* Wait until ${watch} was told GONE, or CHANGED, at once or later; false past
 * the bound. */
bool client_wait_gone(struct engine_client *client,
                      struct client_request *watch);

/* Let the engine say whatever it still has to say. */
void client_drain(struct engine_client *client);

/* The ticket ${id} in what ${call} was answered, or NULL. */
const struct hf_ticket *
client_request_find(const struct client_request *request,
                    struct hf_ticket_id id);

/* A fresh id. */
struct hf_ticket_id fresh_id(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the engine under test and its requests.  The client plays the
 * core: it makes requests, keeps the answers, and checks that the engine keeps
 * the contract of core/engine.h.  Functions run the loop of the fixture. */
#ifndef HF_TESTS_CONFORMANCE_ENGINE_CLIENT_H
#define HF_TESTS_CONFORMANCE_ENGINE_CLIENT_H

#include "base/engine_host.h"
#include "conformance/fixture.h"

#define CLIENT_REQUESTS_MAX 256
#define SNAPSHOT_MAX 128

/* A request and the answer to it, which is a copy of the event. */
struct client_request {
    struct hf_request request;
    unsigned answers; /* 1 in the end */
    unsigned gone;    /* GONE, or QUEUE_CHANGED: at most 1 */
    unsigned revoked; /* how often REVOKED came */
    bool forgotten;
    enum hf_event_kind answer;
    bool found;
    enum hf_failure failure; /* of FAILED, with the next two */
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES]; /* also of GONE */
    size_t count; /* of ENQUEUED and LISTED: tickets that the answer shows, */
    size_t more;  /* and how many more are ahead of those */
    struct hf_ticket tickets[SNAPSHOT_MAX];
    char payloads[SNAPSHOT_MAX][HF_PAYLOAD_BYTES];
    struct hf_success success; /* of SUCCESS_READ */
    size_t foreign; /* of LISTED: entries of the queue that are no tickets */
};

struct engine_client {
    struct conformance_fixture *fixture;
    struct hf_engine_host host;
    struct hf_engine *engine;
    bool connected;
    bool closed;
    char warning[HF_ERROR_TEXT_BYTES]; /* the last one of the engine */
    struct client_request *requests[CLIENT_REQUESTS_MAX];
    size_t count;
};

/* Open a client and wait until it is connected. */
struct engine_client *client_open(struct conformance_fixture *fixture);

/* END, after which every request has its answer; free all. */
void client_end(struct engine_client *client);
void client_free(struct engine_client *client);
void client_close(struct engine_client *client); /* both */

/* Declare ${client}, open until the end of its block. */
#define OPEN_CLIENT(client, fixture)                                           \
    CLOSED_BY(client_close_at)                                                 \
    struct engine_client *client = client_open(fixture)
void client_close_at(struct engine_client **client);

/* Free a client whose engine has crashed and was freed. */
void client_free_crashed(struct engine_client *client);

/* Make a request and wait for its answer.  The request belongs to the client. A
 * WATCH is one of a mutex; client_watch() is for any ticket. */
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
/* The same without a wait; client_wait() follows. */
struct client_request *client_start_enqueue(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id);
struct client_request *client_start(struct engine_client *client,
                                    enum hf_request_kind kind,
                                    const char *queue, struct hf_ticket_id id);

/* A detailed LIST: of a double barrier; of any other queue with some of the
 * texts, and with all. */
struct client_request *client_list_participants(struct engine_client *client,
                                                const char *queue);
struct client_request *client_list_texts(struct engine_client *client,
                                         const char *queue,
                                         struct hf_text_range texts);
struct client_request *client_detailed_list(struct engine_client *client,
                                            const char *queue);

/* Make the request again as long as its answer is FAILED with RETRY. */
struct client_request *client_ask_until_done(struct engine_client *client,
                                             enum hf_request_kind kind,
                                             const char *queue,
                                             struct hf_ticket_id id);

/* DESCRIBE, likewise.  ${payload} must live as long as the client. */
struct client_request *client_describe(struct engine_client *client,
                                       const char *queue,
                                       const struct hf_ticket *ticket,
                                       const char *payload);

/* READ_SUCCESS, of a ticket or of NOBODY; and WRITE_SUCCESS of ${token}.
 * Likewise. */
#define NOBODY ((struct hf_ticket_id){{0}})
struct client_request *client_read_success(struct engine_client *client,
                                           const char *queue,
                                           struct hf_ticket_id id);
struct client_request *client_write_success(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id,
                                            uint64_t token);

/* Wait until a detailed list of ${queue} has that payload for the ticket; false
 * at the bound of the fixture. */
bool client_wait_text(struct engine_client *client, const char *queue,
                      struct hf_ticket_id id, const char *payload);

/* Wait until ${watch} has had REVOKED more than ${before} times; false at the
 * bound. */
bool client_wait_revoked(struct engine_client *client,
                         struct client_request *watch, unsigned before);

struct client_request *client_wait(struct engine_client *client,
                                   struct client_request *request);

/* SET_FLAG, CLEAR_FLAG or WATCH_QUEUE of a barrier. */
struct client_request *client_barrier(struct engine_client *client,
                                      enum hf_request_kind kind,
                                      const char *queue);
struct client_request *client_start_barrier(struct engine_client *client,
                                            enum hf_request_kind kind,
                                            const char *queue);

/* A request about a double barrier: LIST, WATCH_QUEUE, NEW_GENERATION for
 * ${limit} participants, or CLEAR_FLAG of the generation. */
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

/* REMOVE by somebody who is not the owner of the ticket; it says who evicts it,
 * unless that is NULL. */
struct client_request *client_evict(struct engine_client *client,
                                    const char *queue, struct hf_ticket_id id,
                                    const char *evicted_by);

/* Wait until ${watch} of a ticket of this client that is gone, or a warning,
 * has said ${text}; false at the bound. */
bool client_wait_says(struct engine_client *client,
                      struct client_request *watch, const char *text);

/* Take a WATCH or WATCH_QUEUE back: no event of it may come any more. */
void client_forget(struct engine_client *client, struct client_request *watch);

/* Wait until the connection is down; and up again. */
void client_wait_suspended(struct engine_client *client);
void client_wait_connected(struct engine_client *client);

/* Wait until ${watch} has had GONE or QUEUE_CHANGED, also before the call;
 * false at the bound. */
bool client_wait_gone(struct engine_client *client,
                      struct client_request *watch);

/* Run the loop until the engine has nothing more to report: a request that is
 * made now has its answer. */
void client_drain(struct engine_client *client);

/* The ticket ${id} in the answer to ${request}, or NULL. */
const struct hf_ticket *
client_request_find(const struct client_request *request,
                    struct hf_ticket_id id);

/* An id that no other process makes. */
struct hf_ticket_id fresh_id(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of leased tickets and its clients, in one process and in virtual
 * time.  It is the other side of engines/leased/store.h: a table of tickets in
 * memory, which clients reach over links with a fixed delay.  The test decides
 * which links break, which messages are lost and what clocks show; nothing is
 * random.  The simulator tests the same client with random faults.
 *
 * The events of a client go to the host that the test gives.  Without one the
 * model keeps them as text, joined by "; ":
 *
 *     CONNECTED 1000; RESUMED 1000     with the anchor, in ms
 *     SUSPENDED; LOST; CLOSED; WATCHING a; GONE a; REVOKED a
 *     QUEUE_CHANGED a                  of the queue watch for a
 *     ENQUEUED a: a b; LISTED a: b     with the queue, in order
 *     REMOVED a; REMOVED a found; DOWNGRADED a; REVOKE_SENT a found
 *     FLAG_UPDATED a; FLAG_UPDATED a found
 *     PROVEN 2000; PROVED 2000         that was asked for, and that was not
 *     FAILED ENQUEUE a UNSURE
 *
 * A ticket has one letter, of which its id is made.  The generation of a double
 * barrier is '!'.
 */
#ifndef HF_TESTS_UNIT_LEASED_MODEL_H
#define HF_TESTS_UNIT_LEASED_MODEL_H

#include "engines/leased/leased.h"
#include "engines/leased/store.h"

#define MODEL_TTL_MS UINT64_C(10000)
#define MODEL_START_MS 1000
/* What the clock of the server shows at 0 ms of the model. */
#define MODEL_SERVER_MS UINT64_C(1700000000000)
/* Of each message, one way. */
#define MODEL_DELAY_MS UINT64_C(2)

struct leased_model;

/* A client: the store that the model gives to an hf_leased, and that. */
struct hf_store;

struct leased_model *model_new(void);
void model_free(struct leased_model *model);

/* Do the next thing that is due: a message arrives, or a client gets its TICK.
 * False if nothing is due ever. */
bool model_step(struct leased_model *model);
/* Do all that is due in the next ${ms}; then it is that much later. */
void model_run(struct leased_model *model, uint64_t ms);
uint64_t model_now_ms(const struct leased_model *model);

/* A new client, which connects.  With ${host} NULL its events become text.  It
 * is freed with the model. */
struct hf_store *model_open(struct leased_model *model,
                            const struct hf_engine_host *host);
/* The same with leases of ${ttl_ms}. */
struct hf_store *model_open_with(struct leased_model *model,
                                 const struct hf_engine_host *host,
                                 uint64_t ttl_ms);
/* Clients that are opened from now on renew at most ${most} tickets in one
 * call; 0: all. */
void model_renew_in_pieces(struct leased_model *model, size_t most);
struct hf_leased *model_leased(struct hf_store *store);
/* The client ends without a call to the server.  The two do the same and say
 * what the test means: the process died, or the engine was freed. */
void model_crash(struct hf_store *store);
void model_close(struct hf_store *store);

/* The events since the last call, as text; valid until the next call. */
const char *model_events(struct hf_store *store);

/* Requests of ${store} belong to the ticket ${owner} from now on, as
 * hf_request.own has it; NULL: to none. */
void model_set_owner(struct hf_store *store, struct hf_own_ticket *owner);

/* Make a request, about a mutex if no kind is given.  The model frees it. */
struct hf_request *model_ask(struct hf_store *store, enum hf_request_kind kind,
                             const char *queue, char ticket);
struct hf_request *model_enqueue(struct hf_store *store, const char *queue,
                                 char ticket, enum hf_ticket_kind kind);
struct hf_request *model_watch(struct hf_store *store, const char *queue,
                               char ticket, enum hf_ticket_kind kind);

/* A request about a double barrier: ENQUEUE, LIST or WATCH_QUEUE of
 * participants, NEW_GENERATION if ${limit} are there, CLEAR_FLAG of the
 * generation. */
struct hf_request *model_participant(struct hf_store *store,
                                     enum hf_request_kind kind,
                                     const char *queue, char ticket,
                                     uint32_t limit);

/* How many calls of that kind have reached the server. */
unsigned model_calls(const struct leased_model *model,
                     enum hf_store_call_kind kind);

/* Tickets that the server has in ${queue}, expired ones too that it has not
 * removed yet; true if it has that one. */
size_t model_tickets(const struct leased_model *model, const char *queue);
bool model_has(const struct leased_model *model, const char *queue,
               char ticket);

/* Remove a ticket as an administrator would.  False if it is not there. */
bool model_evict(struct leased_model *model, const char *queue, char ticket);

/* ---------------------------------------------------------------- faults -- */

/* While frozen the server answers nothing; then it answers all that came. */
void model_freeze(struct leased_model *model, bool frozen);
/* While set: notices of the server are lost; answers to that client are lost;
 * links cannot be made. */
void model_lose_notices(struct leased_model *model, bool lost);
void model_lose_answers(struct hf_store *store, bool lost);
void model_refuse(struct leased_model *model, bool refused);
/* Break the link.  Calls that are on their way arrive if ${late}, and are lost
 * if not; their answers are lost. */
void model_cut(struct hf_store *store, bool late);
/* Set the clock of the server forward, or back if ${ms} is negative. */
void model_step_clock(struct leased_model *model, int64_t ms);
/* The server needs ${ms} for each ticket of a CLOSE_SESSION; 0: no time. */
void model_slow_close(struct leased_model *model, uint64_t ms);
/* While ${fail}, calls of that kind fail in that way.  A call that is UNSURE
 * takes effect all the same. */
void model_fail(struct leased_model *model, bool fail,
                enum hf_store_call_kind kind, enum hf_failure failure);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that leases tickets and its clients, in virtual time: the other side
 * of engines/leased/store.h kept in memory, and a store that reaches it over
 * links with a delay.  What happens to links, messages and clocks is the
 * story's.
 *
 * Each client has a host; without one of its own what it is told is read as
 * text, one word group for each event:
 *
 *     CONNECTED 1000; RESUMED 1000     with the anchor
 *     SUSPENDED; LOST; CLOSED; QUEUE_CHANGED a; WATCHING a; GONE a; REVOKED a;
 *     ENQUEUED a: a b; LISTED a: b     with the queue
 *     REMOVED a; REMOVED a found; DOWNGRADED a; REVOKE_SENT a found
 *     FLAG_UPDATED a; FLAG_UPDATED a found
 *     PROVEN 2000; PROVED 2000         asked for; unasked
 *     FAILED ENQUEUE a UNSURE
 *
 * Tickets are called by one letter, of which their ids are made, and what the
 * members of a double barrier have stamped is '!'.
 */
#ifndef HF_TESTS_UNIT_LEASED_MODEL_H
#define HF_TESTS_UNIT_LEASED_MODEL_H

#include "engines/leased/leased.h"

#define MODEL_TTL_MS UINT64_C(10000)
#define MODEL_START_MS 1000
/* What the server's clock shows when ours shows nothing. */
#define MODEL_SERVER_MS UINT64_C(1700000000000)
#define MODEL_DELAY_MS UINT64_C(2)

struct leased_model;

/* A client: a store, its machine and its host. */
struct hf_store;

struct leased_model *model_new(void);
void model_free(struct leased_model *model);

/* The next thing happens.  False if nothing ever will. */
bool model_step(struct leased_model *model);
/* Everything until then happens. */
void model_run(struct leased_model *model, uint64_t ms);
uint64_t model_now_ms(const struct leased_model *model);

/* A client that begins to connect.  ${host} NULL: it writes texts. */
struct hf_store *model_open(struct leased_model *model,
                            const struct hf_engine_host *host);
/* The same with another ttl. */
struct hf_store *model_open_with(struct leased_model *model,
                                 const struct hf_engine_host *host,
                                 uint64_t ttl_ms);
/* Clients that are opened from now on renew in pieces of so many tickets; 0:
 * in one. */
void model_renew_in_pieces(struct leased_model *model, size_t most);
struct hf_leased *model_leased(struct hf_store *store);
/* It is gone without a word, or frees what it has. */
void model_crash(struct hf_store *store);
void model_close(struct hf_store *store);

/* What was told since the last call, joined by "; ". */
const char *model_events(struct hf_store *store);

/* Requests of ${store} are ${asker}'s from now on; NULL, as in the beginning:
 * one and the same's. */
void model_set_owner(struct hf_store *store, struct hf_own_ticket *owner);

/* A request of ${store}, which the model frees at its end. */
struct hf_request *model_ask(struct hf_store *store, enum hf_request_kind kind,
                             const char *queue, char ticket);
struct hf_request *model_enqueue(struct hf_store *store, const char *queue,
                                 char ticket, enum hf_ticket_kind kind);
struct hf_request *model_watch(struct hf_store *store, const char *queue,
                               char ticket, enum hf_ticket_kind kind);

/* ENQUEUE, LIST or WATCH_QUEUE of members, their NEW_GENERATION by so many as
 * ${limit}, CLEAR_FLAG of their mark. */
struct hf_request *model_participant(struct hf_store *store,
                                     enum hf_request_kind kind,
                                     const char *queue, char ticket,
                                     uint32_t limit);

/* Calls that reached the server, of that kind, since the model began. */
unsigned model_calls(const struct leased_model *model,
                     enum hf_store_call_kind kind);

/* Tickets in ${queue}, those that have run out and not been seen yet too. */
size_t model_tickets(const struct leased_model *model, const char *queue);
bool model_has(const struct leased_model *model, const char *queue,
               char ticket);

/* Remove a ticket behind everybody's back.  False if it is not there. */
bool model_evict(struct leased_model *model, const char *queue, char ticket);

/* ---------------------------------------------------------------- faults -- */

/* The server does nothing, and then all that has come meanwhile. */
void model_freeze(struct leased_model *model, bool frozen);
/* Notices are lost; answers are; links cannot be made. */
void model_lose_notices(struct leased_model *model, bool lost);
void model_lose_answers(struct hf_store *store, bool lost);
void model_refuse(struct leased_model *model, bool refused);
/* End a link.  What was sent and has not arrived yet arrives if ${late}. */
void model_cut(struct hf_store *store, bool late);
/* The server's wall clock is set on, or back. */
void model_step_clock(struct leased_model *model, int64_t ms);
/* Answer each call of this kind with a failure of that kind, and if that is
 * UNSURE carry it out; undone by false. */
void model_fail(struct leased_model *model, bool fail,
                enum hf_store_call_kind kind, enum hf_failure failure);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls about all queues on a Redis Cluster.  RENEW and CLOSE_SESSION become
 * one routed call for each ticket set, and their answers are joined to one.
 * EXAMINE becomes a routed call for each node; if a node does not answer, that
 * is one of the findings.
 *
 * A RENEW proves nothing unless all nodes have answered their parts.  So one
 * node that is down would cost the session its tickets at all other nodes, too.
 * Therefore, when nothing was renewed in a hash slot for most of a ttl, the
 * slot is given up: its tickets are answered as missing, which notifies their
 * owners before the leases end, and the RENEW proves the rest.  If the slot has
 * tickets that the client does not know yet, they are hidden from it until they
 * are renewed (routed_call.c, must_hide()).
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "core/finding_list.h"
#include "engines/redis/redis_private.h"

/* A slot is given up 5/8 of a ttl after its last renewal.  A renewal that
 * begins just before that must still end before the session is lost, and it may
 * take as long as the timeout of a node, which is 1/4 of a ttl at most. */
#define GIVE_UP_TTL_EIGHTHS 5

/* A call about all queues, and the answer into which the answers of its routed
 * calls are put. */
struct hf_redis_fan_out {
    struct hf_store_call *call;
    size_t pending; /* number of routed calls without an answer */
    uint64_t begun_at_ms;
    struct hf_store_answer answer;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    size_t room;
    struct hf_finding_list findings; /* EXAMINE */
};

static void fan_out_free(struct hf_redis_fan_out *fan_out)
{
    hf_finding_list_free(&fan_out->findings);
    hf_free(fan_out->tickets);
    hf_free(fan_out->leases);
    hf_free(fan_out);
}

void hf_redis_fan_out_drop(struct hf_redis_fan_out *fan_out)
{
    assert(fan_out->pending > 0);
    if (--fan_out->pending == 0)
        fan_out_free(fan_out);
}

struct hf_redis_fan_out *hf_redis_fan_out_new(struct hf_store *store,
                                              struct hf_store_call *call)
{
    struct hf_redis_fan_out *fan_out = hf_alloc(sizeof *fan_out);

    if (fan_out == NULL)
        return NULL;
    fan_out->call = call;
    fan_out->begun_at_ms = hf_redis_store_now_ms(store);
    if (call->kind == HF_STORE_RENEW && !call->not_first_piece)
        memset(store->slot_map->giving_up, 0,
               sizeof store->slot_map->giving_up);
    return fan_out;
}

void hf_redis_fan_out_add(struct hf_redis_fan_out *fan_out)
{
    fan_out->pending++;
}

void hf_redis_fan_out_begun(struct hf_redis_fan_out *fan_out)
{
    if (fan_out->pending == 0)
        fan_out_free(fan_out);
}

/* --------------------------------------------------------------- answers -- */

/* Make the answer a failure, unless it is one already. */
static void fail(struct hf_redis_fan_out *fan_out, enum hf_failure failure,
                 hf_status status, const char *text)
{
    struct hf_store_answer *to = &fan_out->answer;

    if (to->status != HF_OK)
        return;
    to->failure = failure;
    to->status = status;
    (void)snprintf(fan_out->text, sizeof fan_out->text, "%s", text);
    to->text = fan_out->text;
}

/* Make room for ${count} tickets.  False if memory runs out. */
static bool make_room(struct hf_redis_fan_out *fan_out, size_t count)
{
    size_t room = fan_out->room > 0 ? fan_out->room : 16;
    void *memory;

    while (room < count)
        room *= 2;
    if (room == fan_out->room)
        return true;
    memory = hf_realloc(fan_out->tickets, room * sizeof *fan_out->tickets);
    if (memory == NULL)
        return false;
    fan_out->tickets = memory;
    memory = hf_realloc(fan_out->leases, room * sizeof *fan_out->leases);
    if (memory == NULL)
        return false;
    fan_out->leases = memory;
    fan_out->room = room;
    return true;
}

/* Append a ticket to the answer. */
static void add(struct hf_redis_fan_out *fan_out, const struct hf_ticket_id *id,
                struct hf_store_lease lease)
{
    size_t at = fan_out->answer.count;

    if (!make_room(fan_out, at + 1)) {
        fail(fan_out, HF_FAILURE_UNSURE, HF_ENOMEM, "out of memory");
        return;
    }
    fan_out->tickets[at] = (struct hf_ticket){.id = *id, .payload = ""};
    fan_out->leases[at] = lease;
    fan_out->answer.count++;
}

static void add_rows(struct hf_redis_fan_out *fan_out,
                     const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        add(fan_out, &answer->tickets[i].id, answer->leases[i]);
}

/* ------------------------------------------------------------- giving up -- */

/* Returns whether nothing was renewed in the hash slot of ${routed} for too
 * long. */
static bool is_due_to_give_up(const struct hf_store *store,
                              const struct hf_redis_routed_call *routed)
{
    uint64_t since_ms = store->slot_map->renewed_at_ms[routed->slot];

    return hf_redis_store_now_ms(store) >=
           hf_after_ms(since_ms,
                       store->config.ttl_ms / 8 * GIVE_UP_TTL_EIGHTHS);
}

/* Give up the slot of ${routed}: answer the tickets of its set as missing. */
static void give_up(struct hf_store *store, struct hf_redis_fan_out *fan_out,
                    const struct hf_redis_routed_call *routed, const char *why)
{
    const struct hf_engine_host *host = &store->shared.engine->host;
    const struct hf_store_ticket_set *set = &routed->set;

    store->slot_map->giving_up[routed->slot] = true;
    for (size_t i = 0; i < set->count; i++)
        add(fan_out, &set->tickets[i],
            (struct hf_store_lease){.missing = true});
    if (!store->slot_map->given_up[routed->slot] && set->count > 0)
        host->log(
            host->host, HF_LOG_WARNING,
            "the tickets of \"%s\" are given up because they could not be "
            "renewed: %s",
            set->queue, why);
}

/* --------------------------------------------------------------- answers -- */

/* Note which slots the answered renewal, or piece of a renewal, has given up.
 * A slot that one piece gives up stays given up until a complete renewal was
 * answered in which no piece gives it up, because other pieces may be about
 * other queues of that slot. */
static void commit_given_up(struct hf_redis_slot_map *map,
                            const struct hf_store_call *call)
{
    if (!call->not_last_piece) {
        memcpy(map->given_up, map->giving_up, sizeof map->given_up);
        return;
    }
    for (size_t i = 0; i < HF_REDIS_HASH_SLOTS; i++)
        map->given_up[i] = map->given_up[i] || map->giving_up[i];
}

/* Answer the call, because all routed calls are answered. */
static void finish(struct hf_store *store, struct hf_redis_fan_out *fan_out)
{
    struct hf_store_answer *answer = &fan_out->answer;

    answer->ok = answer->status == HF_OK;
    answer->tickets = fan_out->tickets;
    answer->leases = fan_out->leases;
    answer->findings = &fan_out->findings;
    answer->server_ms = hf_redis_store_now_ms(store);
    if (answer->ok && fan_out->call->kind == HF_STORE_RENEW)
        commit_given_up(store->slot_map, fan_out->call);
    hf_leased_answered(store->shared.engine->leased, fan_out->call, answer,
                       answer->server_ms);
    fan_out_free(fan_out);
}

/* When a list has this many findings, only findings that are not OK are added,
 * because the nodes of a large cluster have more findings than an answer can
 * hold (HF_FINDINGS_MAX). */
#define OK_FINDINGS_MAX 128

/* Append the findings of a node to ${list}. */
static void add_findings_of(struct hf_finding_list *list,
                            const struct hf_finding_list *of_node)
{
    for (size_t i = 0; i < of_node->count; i++) {
        const struct hf_finding *item = &of_node->items[i];
        struct hf_finding_head head = {item->severity, item->id, item->subject,
                                       item->advice};

        if (list->count < OK_FINDINGS_MAX || item->severity != HF_SEVERITY_OK)
            hf_finding_add(list, &head, "%s", item->text);
    }
    list->failed = list->failed || of_node->failed;
}

/* Add the findings of the node that ${routed} asked; if it did not answer, that
 * is the finding. */
static void add_findings(const struct hf_store *store,
                         struct hf_redis_fan_out *fan_out,
                         const struct hf_redis_routed_call *routed,
                         const struct hf_store_answer *answer)
{
    const struct hf_redis_node *node =
        routed->slot < HF_REDIS_HASH_SLOTS
            ? store->slot_map->owners.of[routed->slot]
            : NULL;
    char subject[HF_REDIS_HOST_TEXT_BYTES] = "";
    struct hf_finding_head head = {
        HF_SEVERITY_ERROR, "redis-node", subject,
        "see whether the node runs, and can be reached from here"};

    if (answer->ok) {
        add_findings_of(&fan_out->findings, answer->findings);
        return;
    }
    if (node != NULL)
        hf_redis_host_format(&node->host, subject);
    hf_finding_add(&fan_out->findings, &head,
                   "this node of the cluster does not answer, and locks of its "
                   "slots cannot be taken: %.300s",
                   answer->text);
}

void hf_redis_fan_out_answered(struct hf_store *store,
                               const struct hf_redis_routed_call *routed,
                               const struct hf_store_answer *answer)
{
    struct hf_redis_fan_out *fan_out = routed->fan_out;
    bool renews = routed->call.kind == HF_STORE_RENEW &&
                  routed->slot != HF_REDIS_ANY_HASH_SLOT;

    if (answer->ok && renews)
        store->slot_map->renewed_at_ms[routed->slot] = fan_out->begun_at_ms;
    if (routed->call.kind == HF_STORE_EXAMINE)
        add_findings(store, fan_out, routed, answer);
    else if (answer->ok)
        add_rows(fan_out, answer);
    else if (renews && is_due_to_give_up(store, routed))
        give_up(store, fan_out, routed, answer->text);
    else
        fail(fan_out, answer->failure, answer->status, answer->text);
    if (--fan_out->pending == 0)
        finish(store, fan_out);
}

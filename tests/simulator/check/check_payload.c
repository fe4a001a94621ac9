/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of payloads: a ticket has the payload of its owner, or that of a
 * revocation.  When there are no faults, the owner has marked a revoked ticket
 * in its payload; also if the revocation left no trace in the payload and its
 * client was answered that the ticket is there. */
#include <inttypes.h>
#include <string.h>

#include "base/time_math.h"
#include "simulator/cluster/operation.h"

/* The payload that a revocation leaves until the owner writes its own again. */
#define OVERWRITTEN "__REVOKE__"

/* The payload that other programs write in the models. */
#define OTHER_CLIENT "another"

static const struct client *client_of(const struct ticket_record *record)
{
    return record->group != NULL ? record->group->client
                                 : record->attempt->client;
}

/* Is the ticket in use, and not about to go? */
static bool stays(const struct hf_own_ticket *ticket,
                  const struct hf_ticket_id *id)
{
    return ticket != NULL && hf_ticket_id_equal(&ticket->id, id) &&
           !ticket->acquisition->tickets.downgrading &&
           (ticket->state == HF_OWN_TICKET_QUEUED ||
            ticket->state == HF_OWN_TICKET_HELD);
}

/* Does its owner wait or hold, and so react to a revocation? */
static bool owner_listens(const struct ticket_record *record)
{
    const struct attempt *attempt = record->attempt;

    if (record->group != NULL)
        return record->group->ready &&
               record->group->incarnation ==
                   record->group->client->incarnation &&
               record->group->cohort.ticket != NULL &&
               stays(record->group->cohort.ticket->tickets.current,
                     &record->id);
    if (attempt->forgotten)
        return false;
    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (stays(attempt->items[i].a->tickets.current, &record->id))
            return true;
    }
    return false;
}

/* A shared ticket has the payload of the attempt that enqueued it. */
static bool is_written_by_owner(const struct ticket_record *record,
                                const char *text)
{
    const char *name = client_of(record)->name;
    size_t bytes = strlen(text);

    if (bytes >= strlen(PAYLOAD_REVOKED) &&
        strcmp(text + bytes - strlen(PAYLOAD_REVOKED), PAYLOAD_REVOKED) == 0)
        bytes -= strlen(PAYLOAD_REVOKED);
    if (record->group != NULL)
        return strncmp(text, name, strlen(name)) == 0 &&
               text[strlen(name)] == '/';
    return bytes == strlen(record->attempt->payload) &&
           memcmp(text, record->attempt->payload, bytes) == 0;
}

/* 4: the owner has marked the revocation in the payload. */
static void check_revoke_shown(struct cluster *cluster,
                               struct ticket_record *record, const char *text)
{
    const struct client *client = client_of(record);
    bool overwritten = strcmp(text, OVERWRITTEN) == 0;
    uint64_t now_us = hf_sim_now_us(cluster->sim);

    if ((!overwritten && !record->revoke_received && !record->revoke_found) ||
        strstr(text, PAYLOAD_REVOKED) != NULL || !owner_listens(record) ||
        !client->alive || client->closing || cluster->denied ||
        !hf_sim_connected(client->engine) || hf_sim_frozen(client->engine)) {
        record->not_shown_us = 0;
        return;
    }
    if (record->not_shown_us == 0)
        record->not_shown_us = now_us;
    if (now_us > hf_max_ms(record->not_shown_us, client->last_fault_us) +
                     cluster->grant_limit_us)
        cluster_broken(cluster, 4,
                       "since %" PRIu64 ".%03u a ticket of %s says \"%s\" and "
                       "not that it was revoked",
                       record->not_shown_us / 1000,
                       (unsigned)(record->not_shown_us % 1000), client->name,
                       text);
}

/* 8: a ticket has the payload of its owner, or that of a revocation. */
static void check_one(struct cluster *cluster, const struct hf_ticket *ticket)
{
    struct ticket_record *record = cluster_ticket_record(cluster, &ticket->id);

    if (record == NULL || (record->attempt == NULL && record->group == NULL) ||
        strcmp(ticket->payload, OTHER_CLIENT) == 0)
        return;
    if (strcmp(ticket->payload, OVERWRITTEN) != 0 &&
        !is_written_by_owner(record, ticket->payload))
        cluster_broken(cluster, 8, "a ticket of %s says \"%s\"",
                       client_of(record)->name, ticket->payload);
    check_revoke_shown(cluster, record, ticket->payload);
}

void check_payloads(struct cluster *cluster)
{
    struct hf_snapshot queue;

    if (!cluster->revoked || cluster->answers_garbled)
        return;
    for (unsigned i = 0; i < cluster->lock_count; i++) {
        queue = hf_sim_queue(cluster->sim, cluster->locks[i].name);
        for (size_t k = 0; k < queue.count; k++)
            check_one(cluster, &queue.tickets[k]);
    }
}

/* The engine notifies the core of a revocation. */
void check_revoke_received(struct client *client, const struct hf_event *event)
{
    const struct hf_request *watch = event->as.answer.request;
    struct ticket_record *record;

    if (event->kind != HF_EVENT_REVOKED || watch->own_ticket == NULL ||
        !stays(watch->own_ticket, &watch->ticket))
        return;
    record = cluster_ticket_record(client->cluster, &watch->ticket);
    if (record != NULL)
        record->revoke_received = true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the texts of tickets say: what their owners wrote, or the request to
 * release; and once things are calm, that the owner has heard of that, also
 * where the text shows nothing of a request whose asker was told that it found
 * the ticket. */
#include <inttypes.h>
#include <string.h>

#include "core/time_math.h"
#include "question.h"

/* What stands in the place of a text until the owner writes it again. */
#define OVERWRITTEN "__REVOKE__"

/* What the model has others write to tickets that are not theirs. */
#define FOREIGN "foreign"

static const struct client *client_of(const struct ticket_record *record)
{
    return record->crew != NULL ? record->crew->client
                                : record->attempt->client;
}

static bool stays(const struct hf_own_ticket *ticket,
                  const struct hf_ticket_id *id)
{
    return ticket != NULL && hf_ticket_id_equal(&ticket->id, id) &&
           !ticket->acquisition->tickets.downgrading &&
           (ticket->state == HF_OWN_TICKET_QUEUED ||
            ticket->state == HF_OWN_TICKET_HELD);
}

/* Has it an owner who listens, and would not rather be rid of it? */
static bool is_listened_to(const struct ticket_record *record)
{
    const struct attempt *attempt = record->attempt;

    if (record->crew != NULL)
        return record->crew->ready &&
               record->crew->life == record->crew->client->life &&
               record->crew->cohort.ticket != NULL &&
               stays(record->crew->cohort.ticket->tickets.current, &record->id);
    if (attempt->forgotten)
        return false;
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (stays(attempt->claims[i].a->tickets.current, &record->id))
            return true;
    }
    return false;
}

/* A crew's ticket says what its first member said. */
static bool is_owners(const struct ticket_record *record, const char *text)
{
    const char *name = client_of(record)->name;
    size_t bytes = strlen(text);

    if (bytes >= strlen(WORLD_ASKED) &&
        strcmp(text + bytes - strlen(WORLD_ASKED), WORLD_ASKED) == 0)
        bytes -= strlen(WORLD_ASKED);
    if (record->crew != NULL)
        return strncmp(text, name, strlen(name)) == 0 &&
               text[strlen(name)] == '/';
    return bytes == strlen(record->attempt->payload) &&
           memcmp(text, record->attempt->payload, bytes) == 0;
}

static void check_said(struct world *world, struct ticket_record *record,
                       const char *text)
{
    const struct client *client = client_of(record);
    bool overwritten = strcmp(text, OVERWRITTEN) == 0;
    uint64_t now_us = hf_sim_now_us(world->sim);

    if ((!overwritten && !record->heard && !record->found) ||
        strstr(text, WORLD_ASKED) != NULL || !is_listened_to(record) ||
        !client->alive || client->closing || world->denied ||
        !hf_sim_connected(client->engine) || hf_sim_frozen(client->engine)) {
        record->unsaid_us = 0;
        return;
    }
    if (record->unsaid_us == 0)
        record->unsaid_us = now_us;
    if (now_us >
        hf_max_ms(record->unsaid_us, client->disturbed_us) + world->patience_us)
        world_broken(world, 4,
                     "since %" PRIu64 ".%03u a ticket of %s says \"%s\" and "
                     "not that its owner was asked",
                     record->unsaid_us / 1000,
                     (unsigned)(record->unsaid_us % 1000), client->name, text);
}

static void check_one(struct world *world, const struct hf_ticket *ticket)
{
    struct ticket_record *record = world_record(world, &ticket->id);

    if (record == NULL || (record->attempt == NULL && record->crew == NULL) ||
        strcmp(ticket->payload, FOREIGN) == 0)
        return;
    if (strcmp(ticket->payload, OVERWRITTEN) != 0 &&
        !is_owners(record, ticket->payload))
        world_broken(world, 8, "a ticket of %s says \"%s\"",
                     client_of(record)->name, ticket->payload);
    check_said(world, record, ticket->payload);
}

void check_texts(struct world *world)
{
    struct hf_snapshot queue;

    if (!world->asked || world->lied_to)
        return;
    for (unsigned i = 0; i < world->place_count; i++) {
        queue = hf_sim_queue(world->sim, world->places[i].name);
        for (size_t k = 0; k < queue.count; k++)
            check_one(world, &queue.tickets[k]);
    }
}

void check_heard(struct client *client, const struct hf_event *event)
{
    const struct hf_request *watch = event->as.answer.request;
    struct ticket_record *record;

    if (event->kind != HF_EVENT_REVOKED || watch->own_ticket == NULL ||
        !stays(watch->own_ticket, &watch->ticket))
        return;
    record = world_record(client->world, &watch->ticket);
    if (record != NULL)
        record->heard = true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of calls, and answers with memory of their own. */
#include "simulator/model/lease_rows.h"

#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- calls -- */

static char *copy_text(void **memory, const char *text)
{
    if (text == NULL)
        return NULL;
    *memory = lease_require_memory(strdup(text));
    return *memory;
}

static void *copy_bytes(void **memory, const void *bytes, size_t count)
{
    *memory = lease_require_memory(malloc(count + 1));
    if (count > 0)
        memcpy(*memory, bytes, count);
    return *memory;
}

/* The ticket sets of a renewal, each with copies of its texts. */
static struct hf_store_ticket_set *
copy_ticket_sets(const struct hf_store_call *call)
{
    struct hf_store_ticket_set *ticket_sets = lease_require_memory(
        calloc(call->ticket_set_count + 1, sizeof *ticket_sets));
    void *memory;

    for (size_t i = 0; i < call->ticket_set_count; i++) {
        ticket_sets[i] = call->ticket_sets[i];
        ticket_sets[i].queue = copy_text(&memory, call->ticket_sets[i].queue);
        ticket_sets[i].tickets =
            copy_bytes(&memory, call->ticket_sets[i].tickets,
                       ticket_sets[i].count * sizeof(struct hf_ticket_id));
    }
    return ticket_sets;
}

static const struct hf_names_request *
copy_names(struct lease_call *copy, const struct hf_names_request *from)
{
    struct hf_names_request *names =
        copy_bytes(&copy->memory[6], from, sizeof *from);

    names->cursor =
        copy_bytes(&copy->memory[7], from->cursor, from->cursor_bytes);
    return names;
}

/* .memory holds what lease_call_free() has to free. */
void lease_call_copy(struct lease_call *copy, const struct hf_store_call *call)
{
    copy->call = *call;
    copy->call.session = copy_text(&copy->memory[0], call->session);
    copy->call.queue = copy_text(&copy->memory[1], call->queue);
    copy->call.payload = copy_text(&copy->memory[2], call->payload);
    copy->call.tickets = copy_bytes(&copy->memory[3], call->tickets,
                                    call->count * sizeof(struct hf_ticket_id));
    copy->call.ticket_sets = copy->memory[4] = copy_ticket_sets(call);
    copy->call.prefix = copy_text(&copy->memory[5], call->prefix);
    if (call->names != NULL)
        copy->call.names = copy_names(copy, call->names);
}

void lease_call_free(struct lease_call *copy)
{
    if (copy->memory[4] != NULL) {
        for (size_t i = 0; i < copy->call.ticket_set_count; i++) {
            free((void *)(uintptr_t)copy->call.ticket_sets[i].queue);
            free((void *)(uintptr_t)copy->call.ticket_sets[i].tickets);
        }
    }
    for (size_t i = 0; i < sizeof copy->memory / sizeof copy->memory[0]; i++)
        free(copy->memory[i]);
}

/* --------------------------------------------------------------- answers -- */

void lease_answer_fail(struct lease_answer *answer, enum hf_failure failure,
                       hf_status status, const char *text, uint64_t clock_ms)
{
    answer->answer.failure = failure;
    answer->answer.status = status;
    answer->answer.text = text;
    answer->answer.server_ms = clock_ms;
}

void lease_answer_add(struct lease_answer *answer,
                      const struct hf_ticket *ticket,
                      const struct hf_store_lease *lease)
{
    size_t n = answer->answer.count++;

    answer->tickets = lease_require_memory(
        realloc(answer->tickets, (n + 1) * sizeof *answer->tickets));
    answer->leases = lease_require_memory(
        realloc(answer->leases, (n + 1) * sizeof *answer->leases));
    answer->tickets[n] = *ticket;
    answer->tickets[n].payload = lease_require_memory(
        strdup(ticket->payload == NULL ? "" : ticket->payload));
    answer->tickets[n].dialect = "model";
    answer->leases[n] = *lease;
    answer->answer.tickets = answer->tickets;
    answer->answer.leases = answer->leases;
}

void lease_answer_name(struct lease_answer *answer,
                       const struct names_page *names)
{
    struct names_page *copy = answer->names =
        lease_require_memory(malloc(sizeof *copy));

    *copy = *names;
    for (size_t i = 0; i < copy->count; i++)
        copy->names[i].name =
            lease_require_memory(strdup(names->names[i].name));
    names_page_end(copy);
    answer->answer.names = &copy->answer;
}

void lease_answer_free(struct lease_answer *answer)
{
    if (answer->names != NULL) {
        for (size_t i = 0; i < answer->names->count; i++)
            free((void *)(uintptr_t)answer->names->names[i].name);
    }
    free(answer->names);
    for (size_t i = 0; i < answer->answer.count; i++)
        free((void *)(uintptr_t)answer->tickets[i].payload);
    free(answer->tickets);
    free(answer->leases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the holders of a lock wait for themselves.  Only the tickets by which
 * they wait say so: "holds=" in these has the name of the lock, and the first
 * digits of the ticket by which it is held.  So these tickets are looked for in
 * the queues that the search for a deadlock has read, and, if the user has said
 * where, in the queues of names.
 */
#include "cli/explain.h"

#include <string.h>

#include <holdfast/tickets.h>

#include "base/error.h"
#include "base/memory.h"

/* A ticket that waits. */
struct waiting_ticket {
    const char *lock; /* that it waits for */
    struct hf_ticket_id id;
    const char *text;
};

/* The ticket that holds the lock and whose id begins with ${digits}; NULL:
 * there is none, or the ids do not say it: in a queue called NAME/locks all
 * begin alike (core/ticket.h). */
static const struct hf_deadlock_ticket *
find_holder(const struct hf_explanation *explanation, uint32_t digits)
{
    const struct hf_deadlock_graph *graph =
        hf_deadlock_search_graph(&explanation->search);
    const struct hf_deadlock_ticket *ticket;

    if (hf_queue_has_roles(explanation->name))
        return NULL;
    FOR_EACH_TICKET (ticket, graph) {
        if (ticket->lock > 0)
            break;
        if (ticket->state == HF_DEADLOCK_ADMITTED &&
            hf_ticket_text_hold_id(&ticket->id) == digits)
            return ticket;
    }
    return NULL;
}

/* Add that the owner of ${holder} waits by ${waiting}, unless that was added
 * before.  False: no memory. */
static bool add(struct hf_explanation *explanation,
                const struct hf_deadlock_ticket *holder,
                const struct waiting_ticket *waiting)
{
    struct hf_holder_wait **link = &explanation->waits;
    uint64_t pid = hf_ticket_text_number(waiting->text, "pid");
    size_t bytes = strlen(waiting->lock) + 1;
    struct hf_holder_wait *wait;

    for (; *link != NULL; link = &(*link)->next) {
        if (hf_ticket_id_equal(&(*link)->id, &waiting->id))
            return true;
    }
    if (explanation->wait_count == HF_HOLDER_WAITS_MAX) {
        explanation->waits_cut = true;
        return true;
    }
    if ((wait = hf_alloc(sizeof *wait + bytes)) == NULL)
        return false;
    wait->holder = holder;
    wait->id = waiting->id;
    if (pid != hf_ticket_text_number(holder->text, "pid"))
        wait->inner_run_pid = pid;
    memcpy(wait->name, waiting->lock, bytes);
    *link = wait;
    explanation->wait_count++;
    return true;
}

/* The ticket that holds the lock by what the word ${key} of ${text} says; NULL:
 * none. */
static const struct hf_deadlock_ticket *
named_holder(const struct hf_explanation *explanation, const char *text,
             const char *key)
{
    struct hf_ticket_holds holds = hf_ticket_text_list(text, key);
    const struct hf_deadlock_ticket *holder = NULL;
    struct hf_ticket_hold hold;

    while (holder == NULL && hf_ticket_text_next_hold(&holds, &hold)) {
        if (strcmp(hold.name, explanation->name) == 0)
            holder = find_holder(explanation, hold.id);
    }
    return holder;
}

/* Add ${waiting} if its owner holds the lock, or if a run around its owner
 * does.  False: no memory. */
static bool consider(struct hf_explanation *explanation,
                     const struct waiting_ticket *waiting)
{
    const struct hf_deadlock_ticket *holder =
        named_holder(explanation, waiting->text, "holds");

    if (holder == NULL)
        holder = named_holder(explanation, waiting->text, "outer");
    return holder == NULL || add(explanation, holder, waiting);
}

/* --------------------------------------------------------- of the search -- */

bool hf_explain_waits_of_search(struct hf_explanation *explanation)
{
    const struct hf_deadlock_graph *graph =
        hf_deadlock_search_graph(&explanation->search);
    const struct hf_deadlock_ticket *ticket;

    FOR_EACH_TICKET (ticket, graph) {
        struct waiting_ticket waiting = {graph->locks[ticket->lock].name,
                                         ticket->id, ticket->text};

        if (ticket->state != HF_DEADLOCK_ADMITTED &&
            !consider(explanation, &waiting))
            return false;
    }
    return true;
}

/* -------------------------------------------------------------- of names -- */

/* Consider those of ${tickets} that wait for the lock called ${name}. */
static hf_status consider_tickets(void *arg, const char *name,
                                  const struct hf_tickets *tickets,
                                  struct hf_error *error)
{
    struct hf_explanation *explanation = arg;
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = hf_tickets_at(tickets, i)) != NULL; i++) {
        struct waiting_ticket waiting = {.lock = name, .text = view->owner};

        if (!view->holds &&
            hf_ticket_id_parse(&waiting.id, view->id, strlen(view->id)) &&
            !consider(explanation, &waiting))
            return hf_error_set(error, HF_ENOMEM, "out of memory");
    }
    return HF_OK;
}

hf_status hf_explain_waits_of_names(struct hf_client *client,
                                    struct hf_names *names, uint64_t wait_ms,
                                    struct hf_explanation *explanation,
                                    struct hf_error *error)
{
    explanation->walk = (struct hf_waiters_walk){
        .client = client,
        .names = names,
        .wait_ms = wait_ms,
        .aim = "what the holders wait for",
        .visit = consider_tickets,
        .arg = explanation,
    };
    return hf_waiters_walk_run(&explanation->walk, error);
}

void hf_explain_waits_free(struct hf_explanation *explanation)
{
    struct hf_holder_wait *next;

    for (; explanation->waits != NULL; explanation->waits = next) {
        next = explanation->waits->next;
        hf_free(explanation->waits);
    }
}

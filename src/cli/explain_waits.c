/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the holders of a lock wait for themselves.  Only the tickets by which
 * they wait say so: "holds=" in these has the name of the lock, and the first
 * digits of the ticket by which it is held.  So these tickets are looked for in
 * the queues that the search for a deadlock has read, and, if the user has said
 * where, in the queues of names.
 */
#include "cli/explain.h"

#include <inttypes.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/ui.h"
#include "core/error.h"
#include "core/memory.h"

/* A ticket that waits. */
struct waiting_ticket {
    const char *lock; /* that it waits for */
    struct hf_ticket_id id;
    const char *text;
};

/* The ticket that holds the lock and whose id begins with ${digits}; NULL: none
 * does.  In a queue called NAME/locks all ids begin alike (core/ticket.h). */
static const struct hf_deadlock_ticket *
find_holder(const struct hf_explanation *explanation, uint32_t digits)
{
    const struct hf_deadlock_reading *reading =
        &explanation->search.readings[explanation->search.current];

    if (hf_queue_has_roles(explanation->name))
        return NULL;
    for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
        const struct hf_deadlock_queue *queue =
            &reading->locks.locks[0].queues[role];

        for (size_t i = 0; i < queue->count; i++) {
            if (queue->tickets[i].admitted &&
                hf_ticket_text_hold_id(&queue->tickets[i].id) == digits)
                return &queue->tickets[i];
        }
    }
    return NULL;
}

/* Add that the owner of ${holder} waits by ${waiting}, unless that is known.
 * False: no memory. */
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

/* The holder of the lock that the word ${key} of ${text} names; NULL: none. */
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

/* Add ${waiting}, if its owner holds the lock, or a run that it is inside of
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

/* ---------------------------------------------------------- of the search --
 */

/* Consider the tickets of one queue that was read. */
static bool consider_queue(struct hf_explanation *explanation, const char *lock,
                           const struct hf_deadlock_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_deadlock_ticket *ticket = &queue->tickets[i];
        struct waiting_ticket waiting = {lock, ticket->id, ticket->text};

        if (!ticket->admitted && !consider(explanation, &waiting))
            return false;
    }
    return true;
}

bool hf_explain_waits_of_search(struct hf_explanation *explanation)
{
    const struct hf_deadlock_reading *reading =
        &explanation->search.readings[explanation->search.current];
    bool memory = true;

    for (size_t i = 0; i < reading->locks.count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES && memory; role++)
            memory = consider_queue(explanation, reading->locks.locks[i].name,
                                    &reading->locks.locks[i].queues[role]);
    }
    return memory;
}

/* -------------------------------------------------------------- of names -- */

/* Consider those who wait, ${tickets}, for the lock called ${name}. */
static hf_status consider_tickets(struct hf_explanation *explanation,
                                  const char *name,
                                  const struct hf_tickets *tickets,
                                  struct hf_error *error)
{
    const struct hf_ticket_view *view;

    for (size_t i = 0; (view = hf_tickets_at(tickets, i)) != NULL; i++) {
        struct waiting_ticket waiting = {.lock = name, .text = view->owner};

        if (hf_ticket_id_parse(&waiting.id, view->id, strlen(view->id)) &&
            !consider(explanation, &waiting))
            return hf_error_set(error, HF_ENOMEM, "out of memory");
    }
    return HF_OK;
}

/* List those who wait for ${name}. */
static hf_status list_waiters(struct hf_client *client,
                              const struct hf_name_view *name, uint64_t wait_ms,
                              struct hf_explanation *explanation,
                              struct hf_error *error)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_tickets *tickets = NULL;
    struct hf_lock *lock;
    hf_status status;

    if (name->kind == HF_KIND_SEMAPHORE)
        opts.kind = HF_KIND_SEMAPHORE;
    status = hf_lock_open(client, name->name, &opts, &lock);
    if (status != HF_OK) {
        hf_client_error(client, error);
        return status;
    }
    status = hf_lock_tickets(lock, HF_TICKETS_WAITERS, wait_ms, &tickets);
    if (status == HF_OK)
        status = consider_tickets(explanation, name->name, tickets, error);
    else
        hf_lock_error(lock, error);
    hf_tickets_free(tickets);
    hf_lock_free(lock);
    return status;
}

/* A wait that keeps somebody from going on: candidates of elections and
 * participants of barriers do not count as such. */
static bool has_waiters(const struct hf_name_view *name)
{
    return name->waiters > 0 && name->kind != HF_KIND_ELECTION &&
           name->kind != HF_KIND_PARTICIPANT;
}

/* Look through one page of names. */
static hf_status look_through(struct hf_client *client,
                              const struct hf_names_page *page,
                              uint64_t wait_ms, struct hf_progress *progress,
                              struct hf_explanation *explanation,
                              struct hf_error *error)
{
    const struct hf_name_view *name;
    hf_status status = HF_OK;

    explanation->unreadable = hf_names_unreadable(page);
    for (size_t i = 0; status == HF_OK && (name = hf_names_at(page, i)) != NULL;
         i++) {
        explanation->names++;
        if (hf_progress_is_due(progress))
            hf_ui_show_progress("looking for what the holders wait for: "
                                "%" PRIu64 " names, of %" PRIu64
                                " entries looked at",
                                explanation->names, hf_names_looked_at(page));
        if (has_waiters(name))
            status = list_waiters(client, name, wait_ms, explanation, error);
    }
    return status;
}

/* Look through all pages. */
static hf_status walk(struct hf_client *client, struct hf_names *names,
                      uint64_t wait_ms, struct hf_explanation *explanation,
                      struct hf_error *error)
{
    struct hf_progress progress;
    struct hf_names_page *page = NULL;
    hf_status status;

    hf_progress_begin(&progress);
    do {
        hf_names_page_free(page);
        status = hf_names_next(names, wait_ms, &page);
        if (status != HF_OK)
            hf_names_error(names, error);
        else if (page != NULL)
            status = look_through(client, page, wait_ms, &progress, explanation,
                                  error);
    } while (status == HF_OK && page != NULL);
    hf_names_page_free(page);
    return status;
}

hf_status hf_explain_waits_of_names(struct hf_client *client,
                                    struct hf_names *names, uint64_t wait_ms,
                                    struct hf_explanation *explanation,
                                    struct hf_error *error)
{
    hf_status status = walk(client, names, wait_ms, explanation, error);

    hf_ui_clear_wait();
    explanation->within_ended = status == HF_OK;
    return status;
}

void hf_explain_waits_free(struct hf_explanation *explanation)
{
    struct hf_holder_wait *next;

    for (; explanation->waits != NULL; explanation->waits = next) {
        next = explanation->waits->next;
        hf_free(explanation->waits);
    }
}

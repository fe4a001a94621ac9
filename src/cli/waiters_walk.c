/* SPDX-License-Identifier: Apache-2.0 */
/* See waiters_walk.h. */
#include "cli/waiters_walk.h"

#include <inttypes.h>

#include <holdfast/lock.h>
#include <holdfast/names.h>
#include <holdfast/tickets.h>

#include "command/clock.h"
#include "command/ui.h"

/* Where a walk is. */
struct position {
    struct hf_waiters_walk *walk;
    struct hf_progress shown;
    uint64_t unreadable_lists;
};

/* Does anybody wait who cannot go on?  Candidates of elections and participants
 * of barriers do not count. */
static bool has_waiters(const struct hf_name_view *name)
{
    return name->waiters > 0 && name->kind != HF_KIND_ELECTION &&
           name->kind != HF_KIND_PARTICIPANT;
}

/* A list failed with ${status}: HF_OK if only this queue cannot be read, which
 * is counted; else ${error} is set. */
static hf_status skip(struct position *at, hf_status status,
                      struct hf_error *error)
{
    if (status != HF_EDENIED && status != HF_EDIR && status != HF_ELIMIT) {
        *error = *hf_last_error();
        return status;
    }
    at->unreadable_lists++;
    return HF_OK;
}

/* List the tickets of ${name}, which somebody waits for. */
static hf_status list_tickets(struct position *at,
                              const struct hf_name_view *name,
                              struct hf_error *error)
{
    const struct hf_waiters_walk *walk = at->walk;
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_tickets *tickets = NULL;
    struct hf_lock *lock;
    hf_status status;

    if (name->kind == HF_KIND_SEMAPHORE)
        opts.kind = HF_KIND_SEMAPHORE;
    status = hf_lock_open(walk->client, name->name, &opts, &lock);
    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    status = hf_lock_tickets(lock, HF_TICKETS_ALL, walk->wait_ms, &tickets);
    if (status == HF_OK)
        status = walk->visit(walk->arg, name->name, tickets, error);
    else
        status = skip(at, status, error);
    hf_tickets_free(tickets);
    hf_lock_free(lock);
    return status;
}

/* Look through one page of names. */
static hf_status look_through(struct position *at,
                              const struct hf_names_page *page,
                              struct hf_error *error)
{
    struct hf_waiters_walk *walk = at->walk;
    const struct hf_name_view *name;
    hf_status status = HF_OK;

    for (size_t i = 0; status == HF_OK && (name = hf_names_at(page, i)) != NULL;
         i++) {
        walk->name_count++;
        if (hf_progress_is_due(&at->shown))
            hf_ui_show_progress("looking for %s: %" PRIu64 " names, of %" PRIu64
                                " entries looked at",
                                walk->aim, walk->name_count,
                                hf_names_looked_at(page));
        if (has_waiters(name))
            status = list_tickets(at, name, error);
    }
    walk->unreadable = hf_names_unreadable(page) + at->unreadable_lists;
    return status;
}

/* Is the time of the walk over? */
static bool is_over(const struct hf_waiters_walk *walk)
{
    return walk->until_ms != 0 && hf_clock_now_ms() >= walk->until_ms;
}

hf_status hf_waiters_walk_run(struct hf_waiters_walk *walk,
                              struct hf_error *error)
{
    struct position at = {.walk = walk};
    struct hf_names_page *page = NULL;
    hf_status status;

    hf_progress_begin(&at.shown);
    do {
        hf_names_page_free(page);
        status = hf_names_next(walk->names, walk->wait_ms, &page);
        if (status != HF_OK)
            *error = *hf_last_error();
        else if (page != NULL)
            status = look_through(&at, page, error);
    } while (status == HF_OK && page != NULL && !is_over(walk));
    hf_ui_clear_wait();
    walk->ended = status == HF_OK && page == NULL;
    hf_names_page_free(page);
    return status;
}

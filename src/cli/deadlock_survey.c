/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a search, and the searches of a survey. */
#include "cli/deadlock_survey.h"

#include <string.h>

#include <holdfast/tickets.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/lock.h"
#include "command/clock.h"
#include "command/ui.h"
#include "core/ticket_text.h"

/* ----------------------------------------------------------------- lists -- */

/* The ticket that ${view} shows, at position ${index}. */
static struct hf_ticket ticket_of(const struct hf_ticket_view *view,
                                  size_t index)
{
    struct hf_ticket ticket = {
        .sequence = index,
        .token = view->token,
        .kind = hf_kind_to_ticket(view->kind),
        .weight = view->permits,
        .payload = view->owner,
        .session = view->session,
    };

    (void)hf_ticket_id_parse(&ticket.id, view->id, strlen(view->id));
    return ticket;
}

/* Hand ${listed} to ${search}. */
static hf_status take_in(struct hf_deadlock_search *search,
                         const struct hf_tickets *listed,
                         struct hf_error *error)
{
    size_t count = hf_tickets_count(listed);
    struct hf_ticket *tickets = hf_alloc((count + 1) * sizeof *tickets);
    struct hf_snapshot snapshot = {tickets, count, 0};

    if (tickets == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        tickets[i] = ticket_of(hf_tickets_at(listed, i), i);
    hf_deadlock_search_listed(search, &snapshot);
    hf_free(tickets);
    return HF_OK;
}

/* How long the next list may take. */
static uint64_t wait_of(const struct hf_list_times *times)
{
    uint64_t now_ms = hf_clock_now_ms();
    uint64_t left_ms = times->until_ms > now_ms ? times->until_ms - now_ms : 0;

    if (times->until_ms == HF_FOREVER)
        left_ms = HF_FOREVER;
    return left_ms < times->each_ms ? left_ms : times->each_ms;
}

/* Does ${status} mean that this queue cannot be read, and others perhaps
 * can? */
static bool is_unreadable(hf_status status)
{
    return status == HF_EDENIED || status == HF_EDIR || status == HF_ELIMIT;
}

/* List ${queue} for ${search}.  A ticket may say any text of what its owner
 * holds: what is no valid name is a queue in which nobody waits. */
static hf_status list(struct hf_client *client, const char *queue,
                      const struct hf_list_times *times,
                      struct hf_deadlock_search *search, uint64_t *unreadable,
                      struct hf_error *error)
{
    static const struct hf_snapshot empty = {.count = 0};
    struct hf_tickets *tickets = NULL;
    struct hf_lock *lock;
    hf_status status = hf_lock_open(client, queue, NULL, &lock);

    if (status == HF_ENAME) {
        hf_deadlock_search_listed(search, &empty);
        return HF_OK;
    }
    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    status = hf_lock_tickets(lock, HF_TICKETS_ALL, wait_of(times), &tickets);
    if (status == HF_OK) {
        status = take_in(search, tickets, error);
    } else if (unreadable != NULL && is_unreadable(status)) {
        ++*unreadable;
        hf_deadlock_search_listed(search, &empty);
        status = HF_OK;
    } else {
        *error = *hf_last_error();
    }
    hf_tickets_free(tickets);
    hf_lock_free(lock);
    return status;
}

hf_status hf_deadlock_survey_run(struct hf_client *client,
                                 struct hf_deadlock_search *search,
                                 const struct hf_list_times *times,
                                 uint64_t *unreadable, struct hf_error *error)
{
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES];
    struct hf_text_range texts;
    struct hf_progress progress;
    hf_status status = HF_OK;
    size_t count = 0;

    hf_progress_begin(&progress);
    while (status == HF_OK && hf_deadlock_search_next(search, queue, &texts)) {
        if (hf_progress_is_due(&progress))
            hf_ui_show_progress("looking for a deadlock: %zu queue%s read",
                                count, count == 1 ? "" : "s");
        status = list(client, queue, times, search, unreadable, error);
        count++;
    }
    hf_ui_clear_wait();
    if (status == HF_OK && hf_deadlock_search_status(search) == HF_ENOMEM)
        status = hf_error_set(error, HF_ENOMEM, "out of memory");
    return status;
}

/* --------------------------------------------------------------- tickets -- */

bool hf_ticket_is_silent(enum hf_ticket_kind kind, const char *text)
{
    struct hf_ticket_holds holds = hf_ticket_text_list(text, "holds");

    if (kind == HF_TICKET_ELECTION || kind == HF_TICKET_PARTICIPANT)
        return false;
    return !hf_ticket_text_is_ours(text) ||
           (holds.length > 0 && holds.rest[holds.length - 1] == '+');
}

bool hf_deadlock_survey_sees(struct hf_deadlock_survey *survey,
                             const char *name,
                             const struct hf_ticket_view *view)
{
    hf_session_table_add(&survey->sessions, name, view);
    if (view->holds || view->kind == HF_KIND_ELECTION ||
        view->kind == HF_KIND_PARTICIPANT)
        return false;
    survey->silent +=
        hf_ticket_is_silent(hf_kind_to_ticket(view->kind), view->owner);
    return hf_ticket_text_list(view->owner, "holds").length > 0 ||
           hf_ticket_text_list(view->owner, "outer").length > 0;
}

/* -------------------------------------------------------------- searches -- */

/* A waiter of a deadlock that was found. */
struct known_waiter {
    struct hf_tree_node node;
    struct hf_ticket_id id;
};

static int compare_waiters(const void *id, const struct hf_tree_node *node)
{
    const struct known_waiter *waiter =
        container_of(node, const struct known_waiter, node);

    return memcmp(id, &waiter->id, sizeof waiter->id);
}

/* Note that a deadlock with the waiter ${id} was found.  False: no memory. */
static bool add_known(struct hf_deadlock_survey *survey,
                      const struct hf_ticket_id *id)
{
    struct known_waiter *waiter;

    if (hf_tree_find(&survey->waiters, id) != NULL)
        return true;
    if ((waiter = hf_alloc(sizeof *waiter)) == NULL)
        return false;
    waiter->id = *id;
    hf_tree_add(&survey->waiters, &waiter->node, id);
    return true;
}

static size_t count_known(const struct hf_deadlock_survey *survey)
{
    return survey->waiters.root != NULL ? survey->waiters.root->count : 0;
}

static void forget_known(struct hf_deadlock_survey *survey)
{
    while (survey->waiters.root != NULL) {
        struct known_waiter *waiter =
            container_of(survey->waiters.root, struct known_waiter, node);

        hf_tree_remove(&survey->waiters, &waiter->node, &waiter->id);
        hf_free(waiter);
    }
}

/* ${search} has found a cycle: report it, unless it is known. */
static hf_status report(struct hf_deadlock_survey *survey,
                        const struct hf_deadlock_search *search,
                        struct hf_error *error)
{
    const struct hf_deadlock_cycle *cycle = &search->cycle;

    survey->waiters.compare = compare_waiters;
    if (hf_tree_find(&survey->waiters, &cycle->waiters[0]->id) != NULL)
        return HF_OK;
    if (count_known(survey) + cycle->count > HF_SURVEY_WAITERS_MAX) {
        survey->cut = true;
        return HF_OK;
    }
    for (size_t i = 0; i < cycle->count; i++) {
        if (!add_known(survey, &cycle->waiters[i]->id))
            return hf_error_set(error, HF_ENOMEM, "out of memory");
    }
    if (search->possible)
        survey->possible++;
    else
        survey->certain++;
    survey->found(survey->arg, search);
    return HF_OK;
}

/* Search from ${count} of the names.  Sets ${cut} if that was ended early,
 * because it took too much. */
static hf_status search_from(struct hf_deadlock_survey *survey,
                             char *const *names, size_t count, bool *cut,
                             struct hf_error *error)
{
    const struct hf_list_times times = {HF_FOREVER, survey->wait_ms};
    const struct hf_deadlock_sessions sessions = {hf_session_table_find,
                                                  &survey->sessions};
    struct hf_deadlock_search search = {.sessions = &sessions};
    hf_status status = hf_deadlock_search_begin_locks(
        &search, (const char *const *)names, count);

    if (status == HF_ENOMEM)
        hf_error_set(error, status, "out of memory");
    if (status == HF_OK)
        status = hf_deadlock_survey_run(survey->client, &search, &times,
                                        &survey->unreadable, error);
    *cut = hf_deadlock_search_status(&search) == HF_EFULL;
    while (status == HF_OK && search.cycle.count > 0) {
        status = report(survey, &search, error);
        if (!hf_deadlock_search_next_cycle(&search))
            break;
    }
    hf_deadlock_search_free(&search);
    return status;
}

/* Search from all names.  If a search takes too much, its names are searched in
 * halves; a name that takes too much alone is left out. */
static hf_status search_from_all(struct hf_deadlock_survey *survey,
                                 struct hf_error *error)
{
    size_t from = 0, count = survey->name_count;
    hf_status status = HF_OK;
    bool cut;

    while (status == HF_OK && from < survey->name_count) {
        if (count > survey->name_count - from)
            count = survey->name_count - from;
        status = search_from(survey, &survey->names[from], count, &cut, error);
        if (cut && count > 1) {
            count /= 2;
            continue;
        }
        survey->cut |= cut;
        from += count;
    }
    return status;
}

static void forget_names(struct hf_deadlock_survey *survey)
{
    while (survey->name_count > 0)
        hf_free(survey->names[--survey->name_count]);
}

/* Search from the names that were added, and forget them. */
static hf_status search_from_added(struct hf_deadlock_survey *survey,
                                   struct hf_error *error)
{
    hf_status status = search_from_all(survey, error);

    forget_names(survey);
    return status;
}

hf_status hf_deadlock_survey_add(struct hf_deadlock_survey *survey,
                                 const char *name, struct hf_error *error)
{
    char *copy = hf_strdup(name);

    if (copy == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    survey->names[survey->name_count++] = copy;
    return survey->name_count < HF_SURVEY_NAMES
               ? HF_OK
               : search_from_added(survey, error);
}

static hf_status add_name(void *arg, const char *name, struct hf_error *error)
{
    return hf_deadlock_survey_add(arg, name, error);
}

hf_status hf_deadlock_survey_finish(struct hf_deadlock_survey *survey,
                                    struct hf_error *error)
{
    hf_status status =
        hf_session_table_for_each(&survey->sessions, add_name, survey, error);

    if (status == HF_OK)
        status = search_from_added(survey, error);
    survey->cut |= survey->sessions.cut;
    return status;
}

void hf_deadlock_survey_free(struct hf_deadlock_survey *survey)
{
    forget_names(survey);
    forget_known(survey);
    hf_session_table_free(&survey->sessions);
}

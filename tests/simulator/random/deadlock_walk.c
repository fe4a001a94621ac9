/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that walks over all names, again and again, while owners come and
 * go.  A page that fails is asked for again.  Of each queue it is noted whether
 * it had tickets in the committed state during all of the walk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"
#include "simulator/random/deadlock_private.h"

#define QUEUES_MAX ((size_t)3 * DEADLOCK_LOCKS)

/* A page that is asked for. */
struct page {
    struct hf_operation operation; /* first: who frees it has a pointer to it */
    struct hf_names_request request;
    bool named; /* what it lists is in .listed */
    unsigned listed[QUEUES_MAX];
    char cursor[];
};

static struct {
    struct deadlock_client *client;
    struct page *page; /* NULL: none is asked for */
    char *cursor;      /* of the next page */
    size_t cursor_bytes;
    unsigned listed[QUEUES_MAX]; /* how often, in this walk */
    bool there[QUEUES_MAX];      /* with a ticket, since it has begun */
    bool has_no_faults;          /* it has begun when these had ended */
    uint64_t ended_without_faults;
} walk;

/* ---------------------------------------------------------------- queues -- */

/* The names of queues: of each lock, and of the two queues of a semaphore. */
static const char *queue_name(size_t queue)
{
    const struct deadlock_lock *lock = &deadlock_run.locks[queue / 3];

    return queue % 3 == 0   ? lock->name
           : queue % 3 == 1 ? lock->entry
                            : lock->leases;
}

static bool is_there(size_t queue)
{
    return hf_sim_queue(deadlock_run.sim, queue_name(queue)).count > 0;
}

/* The number of the queue ${name}; QUEUES_MAX: there is none of that name. */
static size_t find_queue(const char *name)
{
    size_t queue = 0;

    while (queue < QUEUES_MAX && strcmp(queue_name(queue), name) != 0)
        queue++;
    return queue;
}

static void gone(void *arg, const char *name, const struct hf_ticket *ticket,
                 struct hf_request *const *watches, size_t count)
{
    size_t queue = find_queue(name);

    (void)arg;
    (void)ticket;
    (void)watches;
    (void)count;
    if (queue < QUEUES_MAX && !is_there(queue))
        walk.there[queue] = false;
}

/* ------------------------------------------------------------- the walk -- */

static void ask(void *arg);

static void ask_later(uint64_t ms)
{
    deadlock_later_us(1000 * ms, ask, NULL);
}

static void begin_walk(void)
{
    free(walk.cursor);
    walk.cursor = NULL;
    walk.cursor_bytes = 0;
    walk.has_no_faults = deadlock_run.stopping;
    for (size_t i = 0; i < QUEUES_MAX; i++) {
        walk.listed[i] = 0;
        walk.there[i] = is_there(i);
    }
}

/* What must hold of a name that was there all the time. */
static void end_walk(void)
{
    for (size_t i = 0; i < QUEUES_MAX; i++) {
        if (!walk.there[i])
            continue;
        deadlock_check(walk.listed[i] > 0, 4,
                       "a name was there during a walk and is not listed");
        deadlock_check(walk.listed[i] <= 1, 4,
                       "a name was there during a walk and is listed twice");
        deadlock_run.end->counts.names++;
    }
    deadlock_run.end->counts.walks++;
    walk.ended_without_faults += walk.has_no_faults;
}

/* Ask for the next page; a stopped process does nothing. */
static void ask(void *arg)
{
    struct page *page;

    (void)arg;
    if (hf_sim_frozen(walk.client->engine)) {
        ask_later(10);
        return;
    }
    if (walk.cursor_bytes == 0)
        begin_walk();
    page = calloc(1, sizeof *page + walk.cursor_bytes + 1);
    if (page == NULL)
        abort();
    if (walk.cursor_bytes > 0)
        memcpy(page->cursor, walk.cursor, walk.cursor_bytes);
    page->request =
        (struct hf_names_request){page->cursor, walk.cursor_bytes, false};
    page->operation.kind = HF_REQUEST_NAMES;
    page->operation.queue = "";
    page->operation.names = &page->request;
    page->operation.deadline_at_ms =
        hf_after_ms(hf_sim_client_now_ms(walk.client->engine), 5000);
    walk.page = page;
    deadlock_client_step(walk.client,
                         (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                           .as.operation = &page->operation});
}

void deadlock_walk_named(const struct hf_event *event)
{
    const struct hf_names_answer *answer = event->as.answer.names;
    struct page *page = walk.page;

    if (page == NULL || event->as.answer.request->operation != &page->operation)
        return;
    for (size_t i = 0; i < answer->count; i++) {
        size_t queue = find_queue(answer->queues[i].queue);

        deadlock_check(queue < QUEUES_MAX, 4,
                       "a name is listed that was never");
        if (queue < QUEUES_MAX)
            page->listed[queue]++;
    }
    free(walk.cursor);
    walk.cursor_bytes = answer->cursor_bytes;
    walk.cursor = malloc(answer->cursor_bytes + 1);
    if (walk.cursor == NULL)
        abort();
    if (answer->cursor_bytes > 0)
        memcpy(walk.cursor, answer->cursor, answer->cursor_bytes);
    page->named = true;
}

void deadlock_walk_answered(const struct hf_operation *operation)
{
    struct page *page = walk.page;

    if (page == NULL || operation != &page->operation)
        return;
    walk.page = NULL;
    if (!page->named) {
        deadlock_check(operation->status != HF_OK, 4, "a page has no names");
        ask_later(deadlock_below(300));
        return;
    }
    for (size_t i = 0; i < QUEUES_MAX; i++)
        walk.listed[i] += page->listed[i];
    if (walk.cursor_bytes == 0)
        end_walk();
    ask_later(deadlock_below(walk.cursor_bytes == 0 ? 2000 : 300));
}

/* ------------------------------------------------------- begin and end -- */

void deadlock_walk_start(uint64_t seed)
{
    static const struct hf_sim_observer observer = {.gone = gone};

    memset(&walk, 0, sizeof walk);
    hf_sim_observe(deadlock_run.sim, &observer);
    walk.client = deadlock_client_new(seed);
    ask_later(deadlock_below(1000));
}

void deadlock_walk_check_end(void)
{
    deadlock_check(walk.ended_without_faults > 0, 4,
                   "no walk over the names has ended since the faults have");
}

void deadlock_walk_free(void)
{
    free(walk.page);
    free(walk.cursor);
    memset(&walk, 0, sizeof walk);
}

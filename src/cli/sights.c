/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sights.h"

#include <string.h>

#include "cli/clock.h"
#include "core/ticket.h"

/* Digits of one. */
#define KAZOO_PERMIT_BYTES 32

static const enum hf_kind kinds[HF_SIGHT_MEMBERS] = {
    [HF_SIGHT_PLAIN] = HF_KIND_MUTEX,
    [HF_SIGHT_SEMAPHORE] = HF_KIND_SEMAPHORE,
};

static uint64_t left_ms(uint64_t until_ms)
{
    uint64_t now_ms = hf_clock_now_ms();

    if (until_ms == HF_FOREVER)
        return HF_FOREVER;
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

static hf_status look_as(struct hf_client *client, const char *name, int sight,
                         enum hf_tickets_which which, uint64_t until_ms,
                         struct hf_sights *sights, struct hf_error *error)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    hf_status status;

    opts.kind = kinds[sight];
    status = hf_lock_open(client, name, &opts, &sights->locks[sight]);
    if (status != HF_OK) {
        hf_client_error(client, error);
        return status;
    }
    status = hf_lock_tickets(sights->locks[sight], which, left_ms(until_ms),
                             &sights->tickets[sight]);
    if (status != HF_OK)
        hf_lock_error(sights->locks[sight], error);
    return status;
}

/* Not every engine has double barriers. */
static hf_status look_for_members(struct hf_client *client, const char *name,
                                  uint64_t until_ms, struct hf_sights *sights,
                                  struct hf_error *error)
{
    hf_status status =
        hf_double_barrier_open(client, name, 1, &sights->barrier);

    if (status != HF_OK) {
        hf_client_error(client, error);
        return status;
    }
    status = hf_double_barrier_participants(sights->barrier, left_ms(until_ms),
                                            &sights->tickets[HF_SIGHT_MEMBERS]);
    if (status == HF_EUNSUPPORTED)
        return HF_OK;
    if (status != HF_OK)
        hf_double_barrier_error(sights->barrier, error);
    return status;
}

hf_status hf_sights_look(struct hf_client *client, const char *name,
                         enum hf_tickets_which which, uint64_t wait_ms,
                         struct hf_sights *sights, struct hf_error *error)
{
    uint64_t until_ms = hf_clock_add(hf_clock_now_ms(), wait_ms);
    hf_status status = HF_OK;

    *sights = (struct hf_sights){0};
    for (int i = 0; i < HF_SIGHT_MEMBERS && status == HF_OK; i++)
        status = look_as(client, name, i, which, until_ms, sights, error);
    if (status == HF_OK && which == HF_TICKETS_ALL)
        status = look_for_members(client, name, until_ms, sights, error);
    if (status == HF_OK)
        sights->name = hf_lock_name(sights->locks[HF_SIGHT_PLAIN]);
    return status;
}

void hf_sights_free(struct hf_sights *sights)
{
    for (int i = 0; i < HF_SIGHTS; i++)
        hf_tickets_free(sights->tickets[i]);
    for (int i = 0; i < HF_SIGHT_MEMBERS; i++)
        hf_lock_free(sights->locks[i]);
    hf_double_barrier_free(sights->barrier);
}

const struct hf_ticket_view *hf_sights_at(const struct hf_sights *sights,
                                          size_t place)
{
    const struct hf_ticket_view *view;

    for (int i = 0; i < HF_SIGHTS; i++) {
        const struct hf_tickets *tickets = sights->tickets[i];

        if (tickets == NULL) /* not looked at, or there are none here */
            continue;
        for (size_t k = 0; (view = hf_tickets_at(tickets, k)) != NULL; k++) {
            /* kazoo's permits are where a lock's tickets are, which were seen
             * already. */
            if (i == HF_SIGHT_SEMAPHORE && view->kind != HF_KIND_SEMAPHORE)
                continue;
            if (place-- == 0)
                return view;
        }
    }
    return NULL;
}

/* Where queues are nodes, what a semaphore of that name consists of is below
 * the node of the name: Curator's two queues, and the permits of kazoo. */
static bool is_of_semaphore(const char *child)
{
    return strcmp(child, &HF_QUEUE_LOCKS[1]) == 0 ||
           strcmp(child, &HF_QUEUE_LEASES[1]) == 0 ||
           (strlen(child) == KAZOO_PERMIT_BYTES &&
            strspn(child, "0123456789abcdef") == KAZOO_PERMIT_BYTES);
}

/* So are members and their mark, where they were seen: who has come or gone
 * since is no stranger for that. */
static bool is_of_barrier(const char *child)
{
    struct hf_ticket_id id;

    return strcmp(child, "ready") == 0 ||
           hf_ticket_id_parse(&id, child, strlen(child));
}

const char *hf_sights_unknown(const struct hf_sights *sights, size_t n)
{
    const char *child;

    for (int i = 0; i < HF_SIGHT_MEMBERS; i++) {
        const struct hf_tickets *tickets = sights->tickets[i];

        for (size_t k = 0; (child = hf_tickets_unknown(tickets, k)) != NULL;
             k++) {
            if (i == HF_SIGHT_PLAIN &&
                (is_of_semaphore(child) || is_of_barrier(child)))
                continue;
            if (n-- == 0)
                return child;
        }
    }
    return NULL;
}

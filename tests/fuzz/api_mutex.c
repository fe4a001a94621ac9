/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of mutexes and read/write locks, which count per owner.  The owner
 * is a number that the step chooses. */
#include "api.h"

static _Thread_local uint64_t current_owner;

static uint64_t owner_of(void *arg)
{
    (void)arg;
    return current_owner + 1;
}

static _Atomic unsigned opened, dropped;

static void on_drop(void *arg)
{
    MUST(arg == &opened);
    dropped++;
}

bool api_mutex_all_dropped(void)
{
    return dropped == opened;
}

/* The handle may be freed during the callback, and must stay valid until it
 * ends. */
static void on_mutex_revoke(void *arg, struct hf_mutex *mutex, uint64_t owner)
{
    MUST(arg == &opened && owner >= 1 && owner <= API_OWNERS);
    current_owner = owner - 1;
    (void)hf_mutex_token(mutex);
}

static void on_rwlock_revoke(void *arg, struct hf_rwlock *rwlock,
                             uint64_t owner)
{
    MUST(arg == &opened && owner >= 1 && owner <= API_OWNERS);
    current_owner = owner - 1;
    (void)hf_rwlock_token(rwlock);
}

void api_mutex_open(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    struct api_mutex *counted = NULL, made = {.name = s->b % API_NAMES};
    struct hf_mutex_opts mutex_opts = HF_MUTEX_OPTS_INIT;
    struct hf_rwlock_opts rwlock_opts = HF_RWLOCK_OPTS_INIT;
    static const uint32_t handoffs[] = {HF_MUTEX_HANDOFFS, 0, 1, 2};
    const char *name = api_name(s->b % API_NAMES);
    hf_status status;

    if (c == NULL)
        return;
    made.client = c;
    mutex_opts.owner = rwlock_opts.owner = owner_of;
    mutex_opts.text = rwlock_opts.text = s->c / 8 % 2 != 0 ? "text" : NULL;
    mutex_opts.handoffs = handoffs[s->c / 2 % 4];
    mutex_opts.on_revoke =
        (struct hf_on_mutex_revoke){on_mutex_revoke, &opened, on_drop};
    rwlock_opts.on_revoke =
        (struct hf_on_rwlock_revoke){on_rwlock_revoke, &opened, on_drop};
    opened++;
    c->busy++;
    if (s->c % 2 == 0)
        status = hf_mutex_open(c->client, name, &mutex_opts, &made.mutex);
    else
        status = hf_rwlock_open(c->client, name, &rwlock_opts, &made.rwlock);
    c->busy--;
    api_expect("hf_mutex_open", status, BIT(HF_OK) | BIT(HF_ENOMEM));
    MUST((made.mutex != NULL || made.rwlock != NULL) == (status == HF_OK));
    for (unsigned i = 0; i < API_FEW; i++)
        if (api.mutexes[i].client == NULL)
            counted = &api.mutexes[i];
    if (status == HF_OK && counted != NULL) {
        *counted = made;
    } else {
        hf_mutex_free(made.mutex);
        hf_rwlock_free(made.rwlock);
    }
}

static struct api_mutex *choose(uint8_t n)
{
    for (unsigned i = 0; i < API_FEW; i++) {
        struct api_mutex *counted = &api.mutexes[(n + i) % API_FEW];

        if (counted->client != NULL)
            return counted;
    }
    return NULL;
}

/* ------------------------------------------------------------------ lock -- */

static hf_status lock_(struct api_mutex *counted, bool writes, uint64_t wait_ms)
{
    if (counted->mutex != NULL && wait_ms == HF_FOREVER)
        return hf_mutex_lock(counted->mutex);
    if (counted->mutex != NULL)
        return wait_ms == 0 ? hf_mutex_trylock(counted->mutex)
                            : hf_mutex_timedlock(counted->mutex, wait_ms);
    if (writes && wait_ms == HF_FOREVER)
        return hf_rwlock_wrlock(counted->rwlock);
    if (writes)
        return wait_ms == 0 ? hf_rwlock_trywrlock(counted->rwlock)
                            : hf_rwlock_timedwrlock(counted->rwlock, wait_ms);
    if (wait_ms == HF_FOREVER)
        return hf_rwlock_rdlock(counted->rwlock);
    return wait_ms == 0 ? hf_rwlock_tryrdlock(counted->rwlock)
                        : hf_rwlock_timedrdlock(counted->rwlock, wait_ms);
}

static uint64_t lock_statuses(uint64_t wait_ms)
{
    uint64_t allowed = BIT(HF_OK) | BIT(HF_EUNREACHABLE) | BIT(HF_ECLOSED) |
                       BIT(HF_EKIND) | BIT(HF_ENOMEM) | BIT(HF_ECANCELLED);

    if (wait_ms == 0)
        return allowed | BIT(HF_EBUSY);
    return wait_ms == HF_FOREVER ? allowed : allowed | BIT(HF_ETIMEDOUT);
}

static uint64_t token(const struct api_mutex *counted)
{
    return counted->mutex != NULL ? hf_mutex_token(counted->mutex)
                                  : hf_rwlock_token(counted->rwlock);
}

/* An owner that holds it already need not wait. */
void api_mutex_lock(const struct api_step *s)
{
    struct api_mutex *counted = choose(s->a);
    bool writes = s->b / API_OWNERS % 2 == 0;
    uint64_t wait_ms = api_wait_ms(s->c, true), allowed;
    unsigned n = s->b % API_OWNERS, had;
    struct api_blocking call;
    hf_status status;

    if (counted == NULL || counted->owners[n].busy)
        return;
    writes |= counted->mutex != NULL;
    had = counted->owners[n].writes + counted->owners[n].reads;
    allowed = lock_statuses(wait_ms);
    if (had > 0)
        allowed = BIT(HF_OK) | BIT(HF_ELOST);
    if (had > 0 && writes && counted->owners[n].writes == 0)
        allowed = BIT(HF_EREENTRANT) | BIT(HF_ELOST);
    if (had > 6)
        return;
    current_owner = n;
    counted->busy++;
    counted->owners[n].busy = true;
    call = api_blocks(counted->client, wait_ms);
    if (had == 0)
        counted->owners[n].interruptions =
            sim_clients_at(counted->client->sim_client)->interruptions;
    call.reentrant &= had == 0;
    status = lock_(counted, writes, wait_ms);
    (void)api_blocked(&call, "hf_mutex_lock", status, allowed);
    if (status == HF_OK && writes)
        counted->owners[n].writes++;
    else if (status == HF_OK)
        counted->owners[n].reads++;
    MUST((token(counted) != 0) ==
         (counted->owners[n].writes + counted->owners[n].reads > 0));
    counted->owners[n].busy = false;
    counted->busy--;
}

/* ---------------------------------------------------------------- unlock -- */

static hf_status unlock_(struct api_mutex *counted, bool writes)
{
    if (counted->mutex != NULL)
        return hf_mutex_unlock(counted->mutex);
    return writes ? hf_rwlock_wrunlock(counted->rwlock)
                  : hf_rwlock_rdunlock(counted->rwlock);
}

/* An owner that unlocks has no claim from this call on. */
static void unlock(struct api_mutex *counted, unsigned n, bool writes)
{
    unsigned had =
        writes ? counted->owners[n].writes : counted->owners[n].reads;
    struct api_blocking call = api_blocks(counted->client, 0);
    hf_status status;

    current_owner = n;
    counted->busy++;
    counted->owners[n].busy = true;
    status = unlock_(counted, writes);
    if (had == 0) {
        api_expect("hf_mutex_unlock", status, BIT(HF_EOWNER));
    } else {
        call.reentrant &= status == HF_EREENTRANT;
        (void)api_blocked(&call, "hf_mutex_unlock", status,
                          BIT(HF_OK) | BIT(HF_ELOST) | BIT(HF_ECLOSED));
        had -= status != HF_EREENTRANT;
        if (writes)
            counted->owners[n].writes = had;
        else
            counted->owners[n].reads = had;
    }
    counted->owners[n].busy = false;
    counted->busy--;
}

void api_mutex_unlock(const struct api_step *s)
{
    struct api_mutex *counted = choose(s->a);
    unsigned n = s->b % API_OWNERS;

    if (counted == NULL || counted->owners[n].busy)
        return;
    unlock(counted, n, s->b / API_OWNERS % 2 == 0 || counted->mutex != NULL);
}

void api_mutex_unlock_all(struct api_mutex *counted)
{
    for (unsigned n = 0; n < API_OWNERS; n++) {
        while (counted->owners[n].reads > 0 && !counted->owners[n].busy)
            unlock(counted, n, false);
        while (counted->owners[n].writes > 0 && !counted->owners[n].busy)
            unlock(counted, n, true);
    }
}

/* --------------------------------------------------------------- listing -- */

static void cancel(struct api_mutex *counted, uint64_t owner)
{
    hf_status status = counted->mutex != NULL
                           ? hf_mutex_cancel(counted->mutex, owner)
                           : hf_rwlock_cancel(counted->rwlock, owner);

    api_expect("hf_mutex_cancel", status, BIT(HF_OK) | BIT(HF_EGONE));
}

/* An entry without a ticket is one of ours that waits. */
static void check_listed(const struct api_mutex *counted,
                         const struct hf_tickets *tickets)
{
    for (size_t i = 0; i < hf_tickets_count(tickets); i++) {
        const struct hf_ticket_view *view = hf_tickets_at(tickets, i);

        MUST(view->id[0] != '\0' ||
             (counted->mutex != NULL && view->own && !view->holds));
    }
}

static void list(struct api_mutex *counted, enum hf_tickets_which which,
                 uint64_t wait_ms)
{
    struct api_blocking call = api_blocks(counted->client, wait_ms);
    struct hf_tickets *tickets;
    hf_status status =
        counted->mutex != NULL
            ? hf_mutex_tickets(counted->mutex, which, wait_ms, &tickets)
            : hf_rwlock_tickets(counted->rwlock, which, wait_ms, &tickets);

    (void)api_blocked(&call, "hf_mutex_tickets", status,
                      BIT(HF_OK) | BIT(HF_ETIMEDOUT) | BIT(HF_EUNREACHABLE) |
                          BIT(HF_ECLOSED) | BIT(HF_ENOMEM));
    MUST((tickets != NULL) == (status == HF_OK));
    if (status == HF_OK)
        check_listed(counted, tickets);
    hf_tickets_free(tickets);
}

void api_mutex_look(const struct api_step *s)
{
    struct api_mutex *counted = choose(s->a);

    if (counted == NULL)
        return;
    counted->busy++;
    if (s->b % 2 == 0)
        cancel(counted, s->c % (API_OWNERS + 1));
    else
        list(counted, s->b / 2 % 3, api_wait_ms(s->c, true));
    counted->busy--;
}

/* ------------------------------------------------------------------ free -- */

void api_mutex_free(const struct api_step *s)
{
    struct api_mutex *counted = choose(s->a);
    struct api_mutex freed;

    if (counted == NULL || counted->busy > 0)
        return;
    freed = *counted;
    *counted = (struct api_mutex){.client = NULL};
    hf_mutex_free(freed.mutex);
    hf_rwlock_free(freed.rwlock);
}

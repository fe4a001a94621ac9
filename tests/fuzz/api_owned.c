/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that are counted per owner, who is here a number that goes with the
 * step. */
#include "api.h"

static _Thread_local uint64_t caller;

static uint64_t owner_of(void *arg)
{
    (void)arg;
    return caller + 1;
}

static _Atomic unsigned opened, dropped;

static void on_drop(void *arg)
{
    MUST(arg == &opened);
    dropped++;
}

bool api_owned_all_dropped(void)
{
    return dropped == opened;
}

/* The handle may be freed meanwhile, and goes on to be there until the end. */
static void on_mutex_revoke(void *arg, struct hf_mutex *mutex, uint64_t owner)
{
    MUST(arg == &opened && owner >= 1 && owner <= API_OWNERS);
    caller = owner - 1;
    (void)hf_mutex_token(mutex);
}

static void on_rwlock_revoke(void *arg, struct hf_rwlock *rwlock,
                             uint64_t owner)
{
    MUST(arg == &opened && owner >= 1 && owner <= API_OWNERS);
    caller = owner - 1;
    (void)hf_rwlock_token(rwlock);
}

void api_owned_open(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    struct api_owned *owned = NULL, made = {.name = s->b % API_NAMES};
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
        if (api.owned[i].client == NULL)
            owned = &api.owned[i];
    if (status == HF_OK && owned != NULL) {
        *owned = made;
    } else {
        hf_mutex_free(made.mutex);
        hf_rwlock_free(made.rwlock);
    }
}

static struct api_owned *choose(uint8_t n)
{
    for (unsigned i = 0; i < API_FEW; i++) {
        struct api_owned *owned = &api.owned[(n + i) % API_FEW];

        if (owned->client != NULL)
            return owned;
    }
    return NULL;
}

/* ----------------------------------------------------------------- lock -- */

static hf_status lock_(struct api_owned *owned, bool writes, uint64_t wait_ms)
{
    if (owned->mutex != NULL && wait_ms == HF_FOREVER)
        return hf_mutex_lock(owned->mutex);
    if (owned->mutex != NULL)
        return wait_ms == 0 ? hf_mutex_trylock(owned->mutex)
                            : hf_mutex_timedlock(owned->mutex, wait_ms);
    if (writes && wait_ms == HF_FOREVER)
        return hf_rwlock_wrlock(owned->rwlock);
    if (writes)
        return wait_ms == 0 ? hf_rwlock_trywrlock(owned->rwlock)
                            : hf_rwlock_timedwrlock(owned->rwlock, wait_ms);
    if (wait_ms == HF_FOREVER)
        return hf_rwlock_rdlock(owned->rwlock);
    return wait_ms == 0 ? hf_rwlock_tryrdlock(owned->rwlock)
                        : hf_rwlock_timedrdlock(owned->rwlock, wait_ms);
}

static uint64_t lock_statuses(uint64_t wait_ms)
{
    uint64_t allowed = BIT(HF_OK) | BIT(HF_EUNREACHABLE) | BIT(HF_ECLOSED) |
                       BIT(HF_EKIND) | BIT(HF_ENOMEM) | BIT(HF_ECANCELLED);

    if (wait_ms == 0)
        return allowed | BIT(HF_EBUSY);
    return wait_ms == HF_FOREVER ? allowed : allowed | BIT(HF_ETIMEDOUT);
}

static uint64_t token(const struct api_owned *owned)
{
    return owned->mutex != NULL ? hf_mutex_token(owned->mutex)
                                : hf_rwlock_token(owned->rwlock);
}

/* One who has it already is not refused where others would have to wait. */
void api_owned_lock(const struct api_step *s)
{
    struct api_owned *owned = choose(s->a);
    bool writes = s->b / API_OWNERS % 2 == 0;
    uint64_t wait_ms = api_wait_ms(s->c, true), allowed;
    unsigned n = s->b % API_OWNERS, had;
    struct api_blocking call;
    hf_status status;

    if (owned == NULL || owned->owners[n].busy)
        return;
    writes |= owned->mutex != NULL;
    had = owned->owners[n].writes + owned->owners[n].reads;
    allowed = lock_statuses(wait_ms);
    if (had > 0)
        allowed = BIT(HF_OK) | BIT(HF_ELOST);
    if (had > 0 && writes && owned->owners[n].writes == 0)
        allowed = BIT(HF_EREENTRANT) | BIT(HF_ELOST);
    if (had > 6)
        return;
    caller = n;
    owned->busy++;
    owned->owners[n].busy = true;
    call = api_blocks(owned->client, wait_ms);
    if (had == 0)
        owned->owners[n].troubles = seats_at(owned->client->seat)->troubles;
    call.reentrant &= had == 0;
    status = lock_(owned, writes, wait_ms);
    (void)api_blocked(&call, "hf_mutex_lock", status, allowed);
    if (status == HF_OK && writes)
        owned->owners[n].writes++;
    else if (status == HF_OK)
        owned->owners[n].reads++;
    MUST((token(owned) != 0) ==
         (owned->owners[n].writes + owned->owners[n].reads > 0));
    owned->owners[n].busy = false;
    owned->busy--;
}

/* --------------------------------------------------------------- unlock -- */

static hf_status unlock_(struct api_owned *owned, bool writes)
{
    if (owned->mutex != NULL)
        return hf_mutex_unlock(owned->mutex);
    return writes ? hf_rwlock_wrunlock(owned->rwlock)
                  : hf_rwlock_rdunlock(owned->rwlock);
}

/* Whoever unlocks makes no claim from the call on. */
static void unlock(struct api_owned *owned, unsigned n, bool writes)
{
    unsigned had = writes ? owned->owners[n].writes : owned->owners[n].reads;
    struct api_blocking call = api_blocks(owned->client, 0);
    hf_status status;

    caller = n;
    owned->busy++;
    owned->owners[n].busy = true;
    status = unlock_(owned, writes);
    if (had == 0) {
        api_expect("hf_mutex_unlock", status, BIT(HF_EOWNER));
    } else {
        call.reentrant &= status == HF_EREENTRANT;
        (void)api_blocked(&call, "hf_mutex_unlock", status,
                          BIT(HF_OK) | BIT(HF_ELOST) | BIT(HF_ECLOSED));
        had -= status != HF_EREENTRANT;
        if (writes)
            owned->owners[n].writes = had;
        else
            owned->owners[n].reads = had;
    }
    owned->owners[n].busy = false;
    owned->busy--;
}

void api_owned_unlock(const struct api_step *s)
{
    struct api_owned *owned = choose(s->a);
    unsigned n = s->b % API_OWNERS;

    if (owned == NULL || owned->owners[n].busy)
        return;
    unlock(owned, n, s->b / API_OWNERS % 2 == 0 || owned->mutex != NULL);
}

void api_owned_give_up(struct api_owned *owned)
{
    for (unsigned n = 0; n < API_OWNERS; n++) {
        while (owned->owners[n].reads > 0 && !owned->owners[n].busy)
            unlock(owned, n, false);
        while (owned->owners[n].writes > 0 && !owned->owners[n].busy)
            unlock(owned, n, true);
    }
}

/* ----------------------------------------------------------------- look -- */

static void cancel(struct api_owned *owned, uint64_t owner)
{
    hf_status status = owned->mutex != NULL
                           ? hf_mutex_cancel(owned->mutex, owner)
                           : hf_rwlock_cancel(owned->rwlock, owner);

    api_expect("hf_mutex_cancel", status, BIT(HF_OK) | BIT(HF_EGONE));
}

/* Who has no ticket is ours, and holds nothing. */
static void check_listed(const struct api_owned *owned,
                         const struct hf_tickets *tickets)
{
    for (size_t i = 0; i < hf_tickets_count(tickets); i++) {
        const struct hf_ticket_view *view = hf_tickets_at(tickets, i);

        MUST(view->id[0] != '\0' ||
             (owned->mutex != NULL && view->own && !view->holds));
    }
}

static void list(struct api_owned *owned, enum hf_tickets_which which,
                 uint64_t wait_ms)
{
    struct api_blocking call = api_blocks(owned->client, wait_ms);
    struct hf_tickets *tickets;
    hf_status status =
        owned->mutex != NULL
            ? hf_mutex_tickets(owned->mutex, which, wait_ms, &tickets)
            : hf_rwlock_tickets(owned->rwlock, which, wait_ms, &tickets);

    (void)api_blocked(&call, "hf_mutex_tickets", status,
                      BIT(HF_OK) | BIT(HF_ETIMEDOUT) | BIT(HF_EUNREACHABLE) |
                          BIT(HF_ECLOSED) | BIT(HF_ENOMEM));
    MUST((tickets != NULL) == (status == HF_OK));
    if (status == HF_OK)
        check_listed(owned, tickets);
    hf_tickets_free(tickets);
}

void api_owned_look(const struct api_step *s)
{
    struct api_owned *owned = choose(s->a);

    if (owned == NULL)
        return;
    owned->busy++;
    if (s->b % 2 == 0)
        cancel(owned, s->c % (API_OWNERS + 1));
    else
        list(owned, s->b / 2 % 3, api_wait_ms(s->c, true));
    owned->busy--;
}

/* ----------------------------------------------------------------- free -- */

void api_owned_free(const struct api_step *s)
{
    struct api_owned *owned = choose(s->a);
    struct api_owned freed;

    if (owned == NULL || owned->busy > 0)
        return;
    freed = *owned;
    *owned = (struct api_owned){.client = NULL};
    hf_mutex_free(freed.mutex);
    hf_rwlock_free(freed.rwlock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of grants: release, downgrade, queries; and steps that list a queue,
 * evict and ask for a release. */
#include <string.h>
#include <unistd.h>

#include "api.h"

/* While a grant is being released no other step may choose it. */
static struct hf_grant *take(struct api_grant *kept,
                             struct api_operation **operation)
{
    struct hf_grant *grant = kept->grant;

    *operation = NULL;
    for (unsigned i = 0; i < API_OPERATIONS; i++)
        if (api.operations[i].granted == kept)
            *operation = &api.operations[i];
    kept->grant = NULL;
    return grant;
}

static void put_back(const struct api_grant *before, struct hf_grant *grant,
                     struct api_operation *operation)
{
    struct api_grant *kept = FREE_ONE(api.grants);

    MUST(kept != NULL);
    *kept = *before;
    kept->grant = grant;
    if (operation != NULL)
        operation->granted = kept;
}

static void given_back(struct api_operation *operation)
{
    if (operation == NULL)
        return;
    operation->granted = NULL;
    operation->released = true;
}

static bool release(struct api_grant *kept)
{
    const struct api_grant before = *kept;
    struct api_blocking call = api_blocks(kept->client, 0);
    struct api_operation *operation;
    struct hf_grant *grant = take(kept, &operation);
    hf_status status = hf_grant_release(grant);
    bool gone = api_blocked(&call, "hf_grant_release", status,
                            BIT(HF_OK) | BIT(HF_ELOST));

    if (gone)
        given_back(operation);
    else
        put_back(&before, grant, operation);
    return gone;
}

static void release_start(struct api_grant *kept, bool notified,
                          const struct api_step *next_step)
{
    const struct hf_done nobody = {NULL, NULL, NULL};
    const struct api_grant before = *kept;
    struct api_operation *grants;
    struct hf_grant *grant;
    struct api_operation *operation =
        api_operation("hf_grant_release_start", kept->client,
                      BIT(HF_OK) | BIT(HF_ELOST), next_step);
    hf_status status;

    if (operation == NULL)
        notified = false;
    grant = take(kept, &grants);
    status =
        hf_grant_release_start(grant, notified ? api_done(operation) : nobody);
    if (notified) {
        api_started(operation, status, BIT(HF_OK) | BIT(HF_ECLOSED));
    } else if (operation != NULL) {
        operation->wanted_drops = 0;
        api_finished(operation);
    }
    MUST(notified || status == HF_OK);
    MUST(status == HF_OK || kept->client->client == NULL);
    if (status == HF_OK)
        given_back(grants);
    else
        put_back(&before, grant, grants);
}

void api_release(const struct api_step *s)
{
    struct api_grant *kept = CHOOSE(api.grants, s->a);

    if (kept != NULL && kept->busy == 0)
        (void)release(kept);
}

void api_release_start(const struct api_step *s)
{
    const struct api_step next_step = {s->c, s->b, s->a, 0};
    struct api_grant *kept = CHOOSE(api.grants, s->a);

    if (kept != NULL && kept->busy == 0)
        release_start(kept, s->b % 4 != 0, &next_step);
}

void api_release_one(struct api_grant *kept)
{
    release_start(kept, false, NULL);
}

/* ------------------------------------------------------------- downgrade -- */

#define DOWNGRADED                                                             \
    (BIT(HF_OK) | BIT(HF_ELOST) | BIT(HF_ESTATE) | BIT(HF_ECANCELLED))

/* From this call on a reader may hold the lock too. */
void api_downgrade(const struct api_step *s)
{
    struct api_grant *kept = CHOOSE(api.grants, s->a);
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;
    bool can;

    if (kept == NULL)
        return;
    can = kept->count == 1 && kept->claims[0].kind == HF_KIND_WRITE;
    if (can)
        kept->claims[0].kind = HF_KIND_READ;
    kept->busy++;
    if (s->b % 2 != 0) {
        call = api_blocks(kept->client, 0);
        status = hf_grant_downgrade(kept->grant);
        (void)api_blocked(&call, "hf_grant_downgrade", status,
                          DOWNGRADED | BIT(HF_ECLOSED));
        MUST(can || status != HF_OK || kept->claims[0].kind == HF_KIND_READ);
    } else if ((operation = api_operation("hf_grant_downgrade_start",
                                          kept->client, DOWNGRADED, NULL)) !=
               NULL) {
        status = hf_grant_downgrade_start(kept->grant, api_done(operation));
        api_started(operation, status,
                    BIT(HF_OK) | BIT(HF_ELOST) | BIT(HF_ESTATE) |
                        BIT(HF_ECLOSED));
    }
    kept->busy--;
}

/* --------------------------------------------------------------- listing -- */

void api_grant_look(const struct api_step *s)
{
    struct api_grant *kept = CHOOSE(api.grants, s->a);
    struct api_lock *lock = CHOOSE(api.locks, s->b);
    hf_status status;
    int fd;

    if (kept == NULL)
        return;
    kept->busy++;
    status = hf_grant_check(kept->grant);
    api_expect("hf_grant_check", status, BIT(HF_OK) | BIT(HF_ELOST));
    MUST(hf_grant_token(kept->grant) == kept->claims[0].token);
    if (s->c % 2 == 0) {
        status = hf_grant_loss_fd(kept->grant, &fd);
        api_expect("hf_grant_loss_fd", status, BIT(HF_OK));
        MUST(fd >= 0);
    }
    status = hf_grant_hold_fd(kept->grant, &fd);
    api_expect("hf_grant_hold_fd", status,
               BIT(HF_EUNSUPPORTED) | BIT(HF_ELOST));
    MUST(fd == -1);
    if (lock != NULL) {
        lock->busy++;
        (void)hf_grant_token_of(kept->grant, lock->lock);
        status = hf_grant_hold_fd_of(kept->grant, lock->lock, &fd);
        api_expect("hf_grant_hold_fd_of", status,
                   BIT(HF_EUNSUPPORTED) | BIT(HF_ELOST) | BIT(HF_EINVAL));
        lock->busy--;
    }
    kept->busy--;
}

/* ---------------------------------------------------------------- queues -- */

#define LISTED                                                                 \
    (BIT(HF_OK) | BIT(HF_ETIMEDOUT) | BIT(HF_EUNREACHABLE) | BIT(HF_ECLOSED) | \
     BIT(HF_ENOMEM))
#define BEGUN (BIT(HF_OK) | BIT(HF_ECLOSED) | BIT(HF_ENOMEM))

void api_list(const struct api_step *s)
{
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    const struct api_step next_step = {s->c, s->b, s->a, 0};
    enum hf_tickets_which which = s->b / 2 % 3;
    uint64_t wait_ms = api_wait_ms(s->c, true);
    struct hf_tickets *tickets;
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;

    if (lock == NULL)
        return;
    lock->busy++;
    if (s->b % 2 != 0) {
        call = api_blocks(lock->client, wait_ms);
        status = hf_lock_tickets(lock->lock, which, wait_ms, &tickets);
        (void)api_blocked(&call, "hf_lock_tickets", status, LISTED);
        MUST((tickets != NULL) == (status == HF_OK));
        hf_tickets_free(tickets);
    } else if ((operation = api_operation("hf_lock_tickets_start", lock->client,
                                          LISTED, &next_step)) != NULL) {
        status = hf_lock_tickets_start(lock->lock, which, wait_ms,
                                       api_done(operation));
        api_started(operation, status, BEGUN);
    }
    lock->busy--;
}

/* An id that was listed, an id of nobody, or something that is no id. */
static void choose_id(uint8_t n, char id[sizeof(api.id)], bool *bad)
{
    static const char *const ids[] = {"00000000-0000-4000-8000-000000000000",
                                      "", "x",
                                      "00000000-0000-4000-8000-00000000000"};
    const char *chosen = ids[n % 8 < 4 ? n % 4 : 0];

    *bad = n % 8 < 4 && n % 4 != 0;
    if (n % 8 >= 4 && api.id[0] != '\0')
        chosen = api.id;
    memcpy(id, chosen, strlen(chosen) + 1);
}

/* From now on another owner may hold the lock before the evicted one knows. */
void api_evict(const struct api_step *s)
{
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    uint64_t wait_ms = api_wait_ms(s->c, true), found;
    const struct api_step next_step = {s->c, s->b, s->a, 0};
    struct api_blocking call;
    struct api_operation *operation;
    char id[sizeof(api.id)];
    hf_status status;
    bool bad;

    if (lock == NULL)
        return;
    choose_id(s->b / 2, id, &bad);
    found = bad ? 0 : LISTED | BIT(HF_EGONE);
    if (!bad)
        api.unchecked[lock->name] = true;
    lock->busy++;
    if (s->b % 2 != 0) {
        call = api_blocks(lock->client, wait_ms);
        status = hf_lock_evict(lock->lock, id, NULL, wait_ms);
        (void)api_blocked(&call, "hf_lock_evict", status,
                          found | BIT(HF_EINVAL) | BIT(HF_ECLOSED));
        MUST(!bad || status != HF_OK);
    } else if ((operation = api_operation("hf_lock_evict_start", lock->client,
                                          found, &next_step)) != NULL) {
        status = hf_lock_evict_start(lock->lock, id, NULL, wait_ms,
                                     api_done(operation));
        api_started(operation, status,
                    bad ? BIT(HF_EINVAL) | BIT(HF_ECLOSED) : BEGUN);
    }
    lock->busy--;
}

void api_request_release(const struct api_step *s)
{
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    uint64_t wait_ms = api_wait_ms(s->c, true), found;
    struct api_blocking call;
    struct api_operation *operation;
    char id[sizeof(api.id)];
    hf_status status;
    bool bad = false, all = s->b / 2 % 3 == 0;

    if (lock == NULL)
        return;
    if (!all)
        choose_id(s->b / 6, id, &bad);
    found = bad ? 0 : LISTED | BIT(HF_EGONE);
    lock->busy++;
    if (s->b % 2 != 0) {
        call = api_blocks(lock->client, wait_ms);
        status = hf_lock_revoke(lock->lock, all ? NULL : id, wait_ms);
        (void)api_blocked(&call, "hf_lock_revoke", status,
                          found | BIT(HF_EINVAL) | BIT(HF_ECLOSED));
    } else if ((operation = api_operation("hf_lock_revoke_start", lock->client,
                                          found, NULL)) != NULL) {
        status = hf_lock_revoke_start(lock->lock, all ? NULL : id, wait_ms,
                                      api_done(operation));
        api_started(operation, status,
                    bad ? BIT(HF_EINVAL) | BIT(HF_ECLOSED) : BEGUN);
    }
    lock->busy--;
}

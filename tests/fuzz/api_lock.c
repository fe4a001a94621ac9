/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of locks: open, acquire, cancel. */
#include <string.h>

#include "api.h"

/* The statuses of an acquire on the simulator.  A wrong text is refused at
 * once, and the client may be closed. */
#define REFUSED (BIT(HF_EINVAL) | BIT(HF_ECLOSED) | BIT(HF_ENOMEM))
#define ENDED                                                                  \
    (BIT(HF_OK) | BIT(HF_EUNREACHABLE) | BIT(HF_ECLOSED) | BIT(HF_EKIND) |     \
     BIT(HF_ENOMEM))

void api_lock_open(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    unsigned name = s->b % API_NAMES;
    struct api_lock *lock;
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *made;
    hf_status status;

    if (c == NULL)
        return;
    opts.kind = (enum hf_kind)(s->c % 5);
    if (opts.kind == HF_KIND_SEMAPHORE) {
        opts.permits = 1 + s->c / 5 % 3;
        opts.limit = opts.permits + s->c / 15 % 3;
    }
    c->busy++;
    status = hf_lock_open(c->client, api_name(name), s->c == 0 ? NULL : &opts,
                          &made);
    c->busy--;
    api_expect("hf_lock_open", status, BIT(HF_OK) | BIT(HF_ENOMEM));
    MUST((made != NULL) == (status == HF_OK));
    if (made == NULL)
        return;
    MUST(strcmp(hf_lock_name(made), api_name(name)) == 0);
    if ((lock = FREE_ONE(api.locks)) == NULL) {
        hf_lock_free(made);
        return;
    }
    *lock = (struct api_lock){.lock = made,
                              .client = c,
                              .name = name,
                              .kind = opts.kind,
                              .permits = opts.permits};
    if (api.limit[name] < opts.limit)
        api.limit[name] = opts.limit;
}

void api_lock_free(const struct api_step *s)
{
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    struct hf_lock *freed;

    if (lock == NULL || lock->busy > 0)
        return;
    freed = lock->lock;
    lock->lock = NULL;
    hf_lock_free(freed);
}

void api_lock_set_limit(const struct api_step *s)
{
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    bool is_wrong;

    if (lock == NULL)
        return;
    is_wrong = lock->kind != HF_KIND_SEMAPHORE || s->b % 8 < lock->permits;
    if (!is_wrong && api.limit[lock->name] < s->b % 8)
        api.limit[lock->name] = s->b % 8;
    lock->busy++;
    api_expect("hf_lock_set_limit", hf_lock_set_limit(lock->lock, s->b % 8),
               is_wrong ? BIT(HF_EINVAL) : BIT(HF_OK));
    lock->busy--;
}

/* --------------------------------------------------------------- options -- */

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct api_operation *operation = arg;

    MUST(wait->holder != NULL);
    MUST(operation->begun ? !operation->ended : !operation->returned);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct api_operation *operation = arg;

    MUST(!operation->begun || operation->ended);
    MUST(grant != NULL && !operation->released);
    MUST(hf_grant_safe_until_ms(grant) == 0);
    MUST(hf_last_error()->status == HF_ELOST);
    MUST(strstr(hf_last_error()->text, "lost: ") != NULL);
    api_check();
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct api_operation *operation = arg;

    MUST(!operation->begun || operation->ended);
    MUST(grant != NULL && !operation->released);
}

static const char *text_of(uint8_t n)
{
    static const char *const texts[] = {
        NULL,
        "",
        "nightly \"report\" %41 =",
        "1234567890123456789012345678901234567890123456789012345678901234567890"
        "1"
        "234567890",
        "123456789012345678901234567890123456789012345678901234567890123456789"
        "012345678\xc3\xa9",
        "a\nb",
        "\xff",
        "\xe2\x82\xac"};

    return texts[n % 8];
}

/* From ${byte}: the callbacks and the text. */
static struct hf_acquire_opts options(struct api_operation *operation,
                                      uint8_t wait, uint8_t byte, bool blocks)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = api_wait_ms(wait, blocks);
    opts.text = text_of(byte / 8);
    if ((byte & 1) != 0)
        opts.on_wait = (struct hf_on_wait){on_wait, operation, api_drop};
    if ((byte & 2) != 0)
        opts.on_loss = (struct hf_on_loss){on_loss, operation, api_drop};
    if ((byte & 4) != 0)
        opts.on_revoke = (struct hf_on_revoke){on_revoke, operation, api_drop};
    opts.on_wait_every_ms = wait / 8 % 4 * UINT64_C(700);
    operation->wanted_drops =
        (unsigned)((byte & 1) + (byte >> 1 & 1) + (byte >> 2 & 1));
    operation->acquires = true;
    operation->tries = opts.wait_ms == 0;
    operation->waits_for_ever = opts.wait_ms == HF_FOREVER;
    operation->allowed = ENDED;
    operation->allowed |= operation->tries ? BIT(HF_EBUSY) : 0;
    operation->allowed |=
        operation->tries || operation->waits_for_ever ? 0 : BIT(HF_ETIMEDOUT);
    return opts;
}

static void want(struct api_operation *operation, const struct api_lock *lock)
{
    operation->wanted.claims[operation->wanted.count++] = (struct api_claim){
        .name = lock->name, .kind = lock->kind, .permits = lock->permits};
}

/* --------------------------------------------------------------- acquire -- */

static void finish(struct api_operation *operation,
                   const struct api_blocking *call, const char *name,
                   hf_status status, struct hf_grant *grant)
{
    (void)api_blocked(call, name, status, operation->allowed | REFUSED);
    MUST((grant != NULL) == (status == HF_OK));
    api_finished(operation);
    if (grant != NULL)
        api_keep(operation, grant);
}

void api_acquire(const struct api_step *s)
{
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    struct api_operation *operation;
    struct hf_acquire_opts opts;
    struct api_blocking call;
    struct hf_grant *grant;
    hf_status status;

    if (lock == NULL || (operation = api_operation(
                             "hf_lock_acquire", lock->client, 0, NULL)) == NULL)
        return;
    opts = options(operation, s->b, s->c, true);
    want(operation, lock);
    lock->busy++;
    call = api_blocks(lock->client, opts.wait_ms);
    if (operation->tries && operation->wanted_drops == 0)
        status = hf_lock_try_acquire(lock->lock, &grant);
    else
        status = hf_lock_acquire(lock->lock, &opts, &grant);
    lock->busy--;
    finish(operation, &call, "hf_lock_acquire", status, grant);
}

void api_acquire_start(const struct api_step *s)
{
    const struct api_step next_step = {s->c, s->b, s->a, 0};
    struct api_lock *lock = CHOOSE(api.locks, s->a);
    struct hf_acquire_opts opts;
    struct hf_op *op = NULL;
    struct api_operation *operation;
    hf_status status;

    if (lock == NULL ||
        (operation = api_operation("hf_lock_acquire_start", lock->client, 0,
                                   &next_step)) == NULL)
        return;
    opts = options(operation, s->b, s->c, false);
    operation->wanted_drops++;
    operation->allowed |= BIT(HF_ECANCELLED);
    want(operation, lock);
    lock->busy++;
    status = hf_lock_acquire_start(lock->lock, &opts, api_done(operation),
                                   s->b % 2 ? NULL : &op);
    lock->busy--;
    MUST(op == NULL || status == HF_OK);
    operation->op = op;
    api_started(operation, status, BIT(HF_OK) | REFUSED);
}

/* Locks of one client from ${first} on; the last may be chosen twice. */
static size_t gather(uint8_t first, uint8_t how, struct api_lock **chosen,
                     bool *twice)
{
    struct api_lock *lock = CHOOSE(api.locks, first);
    size_t count = 0;

    *twice = false;
    for (uint8_t i = 0;
         lock != NULL && i < API_LOCKS && count < 1u + how % API_ITEMS; i++) {
        struct api_lock *other = &api.locks[(first + i) % API_LOCKS];
        bool same = false;

        if (other->lock == NULL || other->client != lock->client)
            continue;
        for (size_t n = 0; n < count; n++)
            same |= chosen[n]->name == other->name;
        if (same && how % 32 != 31)
            continue;
        *twice |= same;
        chosen[count++] = other;
    }
    return count;
}

void api_acquire_all(const struct api_step *s)
{
    struct hf_lock *locks[API_ITEMS];
    struct api_lock *chosen[API_ITEMS];
    bool blocks = s->b % 2 != 0, twice;
    size_t count = gather(s->a, s->b / 2, chosen, &twice);
    struct hf_grant *grant = NULL;
    struct hf_acquire_opts opts;
    struct hf_op *op = NULL;
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;

    if (count == 0 ||
        (operation = api_operation("hf_locks_acquire", chosen[0]->client, 0,
                                   NULL)) == NULL)
        return;
    opts = options(operation, s->c, s->c, blocks);
    for (size_t i = 0; i < count; i++) {
        want(operation, chosen[i]);
        locks[i] = chosen[i]->lock;
        chosen[i]->busy++;
    }
    call = api_blocks(operation->client, opts.wait_ms);
    if (blocks) {
        status = hf_locks_acquire(locks, count, &opts, &grant);
        finish(operation, &call, "hf_locks_acquire", status, grant);
    } else {
        operation->wanted_drops++;
        operation->allowed |= BIT(HF_ECANCELLED);
        status = hf_locks_acquire_start(locks, count, &opts,
                                        api_done(operation), &op);
        operation->op = op;
        api_started(operation, status, BIT(HF_OK) | REFUSED);
    }
    MUST(!twice || status != HF_OK);
    for (size_t i = 0; i < count; i++)
        chosen[i]->busy--;
}

/* -------------------------------------------------------------------- op -- */

static struct api_operation *with_op(uint8_t n)
{
    for (unsigned i = 0; i < API_OPERATIONS; i++) {
        struct api_operation *operation =
            &api.operations[(n + i) % API_OPERATIONS];

        if (operation->op != NULL)
            return operation;
    }
    return NULL;
}

void api_cancel(const struct api_step *s)
{
    struct api_operation *operation = with_op(s->a);
    struct hf_op *op;

    if (operation == NULL)
        return;
    op = operation->op;
    operation->op = NULL; /* no other step may use it now */
    hf_op_cancel(op);
    operation->op = op;
}

void api_op_free(const struct api_step *s)
{
    struct api_operation *operation = with_op(s->a);
    struct hf_op *op;

    if (operation == NULL)
        return;
    op = operation->op;
    operation->op = NULL;
    hf_op_free(op);
}

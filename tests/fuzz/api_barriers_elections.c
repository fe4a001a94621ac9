/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of elections, barriers and double barriers. */
#include "api.h"

#define OPENED (BIT(HF_OK) | BIT(HF_ENOMEM))
#define BEGUN (BIT(HF_OK) | BIT(HF_ECLOSED) | BIT(HF_ENOMEM))
#define WAITED                                                                 \
    (BIT(HF_OK) | BIT(HF_ETIMEDOUT) | BIT(HF_EUNREACHABLE) | BIT(HF_ECLOSED) | \
     BIT(HF_ENOMEM))

/* ------------------------------------------------------------- elections -- */

/* No callback comes while the election is idle or after it was freed. */
static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct api_election *e = arg;

    MUST(election != NULL && token != 0);
    MUST(!e->leads && !e->is_idle && !e->freed && e->drops == 0);
    e->leads = true;
    api_check();
    api_step_inside(&e->next_step);
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct api_election *e = arg;

    MUST(election != NULL && token != 0);
    MUST(e->leads && !e->is_idle && !e->freed && e->drops == 0);
    e->leads = false;
}

static void on_revoke(void *arg, struct hf_election *election, uint64_t token)
{
    struct api_election *e = arg;

    MUST(election != NULL && token != 0);
    MUST(e->leads && !e->is_idle && !e->freed && e->drops == 0);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct api_election *e = arg;

    MUST(election != NULL && why->text[0] != '\0');
    MUST(!e->leads && !e->is_idle && !e->freed && e->drops == 0);
    api_expect("hf_election_campaign_start", why->status,
               BIT(HF_EUNREACHABLE) | BIT(HF_ECLOSED) | BIT(HF_EKIND) |
                   BIT(HF_ENOMEM));
    if (why->status == HF_EKIND)
        return; /* it would fail again */
    if (e->next_step.c % 2 == 0 && why->status != HF_ECLOSED)
        api_expect("hf_election_campaign_start",
                   hf_election_campaign_start(election), BEGUN);
}

static void on_election_drop(void *arg)
{
    struct api_election *e = arg;

    MUST(e->drops++ < 4);
}

static struct api_election *new_election(void)
{
    for (unsigned i = 0; i < API_FEW; i++)
        if (!api.elections[i].used)
            return &api.elections[i];
    return NULL;
}

void api_election_open(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct api_election *e = new_election();
    struct hf_election *made;
    hf_status status;

    if (c == NULL || e == NULL)
        return;
    *e = (struct api_election){
        .used = true, .is_idle = true, .client = c, .name = s->b % API_NAMES};
    e->next_step = (struct api_step){s->c, s->b, s->a, s->c};
    opts.kind = s->c % 4 == 3 ? HF_KIND_MUTEX : HF_KIND_ELECTION;
    opts.on_elected = (struct hf_on_election){on_elected, e, on_election_drop};
    opts.on_deposed = (struct hf_on_election){on_deposed, e, on_election_drop};
    opts.on_revoke = (struct hf_on_election){on_revoke, e, on_election_drop};
    opts.on_ended = (struct hf_on_ended){on_ended, e, on_election_drop};
    c->busy++;
    status = hf_election_open(c->client, api_name(e->name), &opts, &made);
    c->busy--;
    api_expect("hf_election_open", status, OPENED);
    MUST((made != NULL) == (status == HF_OK));
    MUST(status == HF_OK || e->drops == 4);
    e->election = made;
}

void api_election_run(const struct api_step *s)
{
    struct api_election *e = CHOOSE(api.elections, s->a);
    bool was_idle;
    hf_status status;

    if (e == NULL || e->busy > 0)
        return;
    was_idle = e->is_idle;
    e->is_idle = false;
    e->busy++;
    status = hf_election_campaign_start(e->election);
    e->busy--;
    api_expect("hf_election_campaign_start", status, BEGUN | BIT(HF_ESTATE));
    if (status != HF_OK)
        e->is_idle = was_idle;
}

static void on_resign_end(struct api_operation *operation, hf_status status)
{
    struct api_election *e = operation->subject;

    (void)status;
    e->busy--;
    e->leads = false;
    e->is_idle = true;
}

void api_election_resign(const struct api_step *s)
{
    struct api_election *e = CHOOSE(api.elections, s->a);
    const struct api_step next_step = {s->c, s->b, s->a, 0};
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;

    /* Another call at the same time would make the outcome ambiguous. */
    if (e == NULL || e->busy > 0)
        return;
    e->busy++;
    if (s->b % 2 != 0) {
        call = api_blocks(e->client, 0);
        status = hf_election_resign(e->election);
        if (api_blocked(&call, "hf_election_resign", status, BIT(HF_OK))) {
            e->leads = false;
            e->is_idle = true;
        }
    } else if ((operation = api_operation("hf_election_resign_start", e->client,
                                          BIT(HF_OK), &next_step)) != NULL) {
        operation->on_end = on_resign_end;
        operation->subject = e;
        e->busy++;
        status = hf_election_resign_start(e->election, api_done(operation));
        api_started(operation, status, BIT(HF_OK) | BIT(HF_ECLOSED));
        if (status != HF_OK)
            e->busy--;
    }
    e->busy--;
}

#define LED                                                                    \
    (WAITED | BIT(HF_EBUSY) | BIT(HF_ESTATE) | BIT(HF_EKIND) |                 \
     BIT(HF_ECANCELLED))

/* It may be freed only after this call, so the wait has a limit. */
static void wait_to_lead(struct api_election *e, const struct api_step *s)
{
    uint64_t wait_ms = api_wait_ms(s->c, true);
    struct hf_op *op = NULL;
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;

    if (s->b % 2 != 0) {
        wait_ms = wait_ms > 25000 ? 25000 : wait_ms;
        call = api_blocks(e->client, wait_ms);
        status = hf_election_wait(e->election, wait_ms);
        (void)api_blocked(&call, "hf_election_wait", status, LED);
    } else if ((operation = api_operation("hf_election_wait_start", e->client,
                                          LED, NULL)) != NULL) {
        status = hf_election_wait_start(e->election, api_wait_ms(s->c, false),
                                        api_done(operation),
                                        s->b / 2 % 2 != 0 ? &op : NULL);
        api_started(operation, status, LED);
        MUST(op == NULL || status == HF_OK);
        operation->op = op;
    }
}

void api_election_look(const struct api_step *s)
{
    struct api_election *e = CHOOSE(api.elections, s->a);
    enum hf_tickets_which which = s->b / 2 % 3;
    uint64_t wait_ms = api_wait_ms(s->c, true);
    struct hf_tickets *tickets;
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;

    if (e == NULL)
        return;
    e->busy++;
    if (s->b >= 192) {
        wait_to_lead(e, s);
    } else if (s->b % 2 != 0) {
        call = api_blocks(e->client, wait_ms);
        status = hf_election_tickets(e->election, which, wait_ms, &tickets);
        (void)api_blocked(&call, "hf_election_tickets", status, WAITED);
        MUST((tickets != NULL) == (status == HF_OK));
        hf_tickets_free(tickets);
    } else if ((operation = api_operation("hf_election_tickets_start",
                                          e->client, WAITED, NULL)) != NULL) {
        status = hf_election_tickets_start(e->election, which, wait_ms,
                                           api_done(operation));
        api_started(operation, status, BEGUN);
    }
    e->busy--;
}

void api_election_free(const struct api_step *s)
{
    struct api_election *e = CHOOSE(api.elections, s->a);
    struct hf_election *freed;

    if (e == NULL || e->busy > 0)
        return;
    freed = e->election;
    e->election = NULL;
    hf_election_free(freed);
    e->freed = true;
}

/* -------------------------------------------------------------- barriers -- */

void api_barrier_open(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    struct api_barrier *b;
    struct hf_barrier *made;
    hf_status status;

    if (c == NULL)
        return;
    c->busy++;
    status = hf_barrier_open(c->client, s->b % 2 ? "gate/1" : "gate/2", &made);
    c->busy--;
    api_expect("hf_barrier_open", status, OPENED);
    MUST((made != NULL) == (status == HF_OK));
    if ((b = FREE_ONE(api.barriers)) == NULL)
        hf_barrier_free(made);
    else
        *b = (struct api_barrier){made, c, 0};
}

/* Each of the three operations, by a call that waits or one that starts. */
static hf_status (*const waiting[])(struct hf_barrier *, uint64_t) = {
    hf_barrier_wait, hf_barrier_set, hf_barrier_clear};

static hf_status start(struct hf_barrier *barrier, unsigned which,
                       uint64_t wait_ms, struct api_operation *operation)
{
    struct hf_op *op = NULL;
    hf_status status;

    if (which == 1)
        return hf_barrier_set_start(barrier, wait_ms, api_done(operation));
    if (which == 2)
        return hf_barrier_clear_start(barrier, wait_ms, api_done(operation));
    operation->allowed |= BIT(HF_ECANCELLED);
    status = hf_barrier_wait_start(barrier, wait_ms, api_done(operation), &op);
    MUST((op != NULL) == (status == HF_OK));
    operation->op = op;
    return status;
}

void api_barrier_call(const struct api_step *s)
{
    struct api_barrier *b = CHOOSE(api.barriers, s->a);
    bool blocks = s->b % 2 != 0;
    uint64_t wait_ms = api_wait_ms(s->c, blocks);
    unsigned which = s->b / 2 % 3;
    uint64_t allowed = WAITED;
    struct api_blocking call;
    struct api_operation *operation;
    hf_status status;

    if (b == NULL)
        return;
    if (which == 0 && wait_ms == 0)
        allowed |= BIT(HF_EBUSY);
    b->busy++;
    if (blocks) {
        call = api_blocks(b->client, wait_ms);
        status = waiting[which](b->barrier, wait_ms);
        (void)api_blocked(&call, "hf_barrier_wait", status, allowed);
    } else if ((operation = api_operation("hf_barrier_wait_start", b->client,
                                          allowed, NULL)) != NULL) {
        status = start(b->barrier, which, wait_ms, operation);
        api_started(operation, status, BEGUN);
    }
    b->busy--;
}

void api_barrier_free(const struct api_step *s)
{
    struct api_barrier *b = CHOOSE(api.barriers, s->a);
    struct hf_barrier *freed;

    if (b == NULL || b->busy > 0)
        return;
    freed = b->barrier;
    b->barrier = NULL;
    hf_barrier_free(freed);
}

/* ------------------------------------------------------- double barriers -- */

static struct api_double *new_double(void)
{
    for (unsigned i = 0; i < API_FEW; i++)
        if (!api.doubles[i].used)
            return &api.doubles[i];
    return NULL;
}

void api_double_open(const struct api_step *s)
{
    static const char *const names[] = {"pair/1", "pair/2", "pair/3"};
    struct api_client *c = CHOOSE(api.clients, s->a);
    struct api_double *d = new_double();
    struct hf_double_barrier *made;
    hf_status status;

    if (c == NULL || d == NULL)
        return;
    *d = (struct api_double){.client = c, .used = true, .state = API_OUTSIDE};
    c->busy++;
    status =
        hf_double_barrier_open(c->client, names[s->b % 3], 1 + s->b % 3, &made);
    c->busy--;
    api_expect("hf_double_barrier_open", status, OPENED);
    MUST((made != NULL) == (status == HF_OK));
    d->barrier = made;
}

static void on_enter_end(struct api_operation *operation, hf_status status)
{
    struct api_double *d = operation->subject;

    d->state = status == HF_OK ? API_INSIDE : API_OUTSIDE;
}

static void on_leave_end(struct api_operation *operation, hf_status status)
{
    struct api_double *d = operation->subject;

    (void)status;
    d->state = API_OUTSIDE;
}

static void move_start(struct api_double *d, bool enters, uint64_t wait_ms,
                       uint64_t allowed)
{
    bool can = d->state == (enters ? API_OUTSIDE : API_INSIDE);
    struct api_operation *operation =
        api_operation("hf_double_barrier_enter_start", d->client,
                      allowed | BIT(HF_ECANCELLED), NULL);
    struct hf_op *op = NULL;
    hf_status status;
    enum api_position before = d->state;

    if (operation == NULL)
        return;
    operation->on_end = enters ? on_enter_end : on_leave_end;
    operation->subject = d;
    if (can)
        d->state = API_MOVING;
    status = enters ? hf_double_barrier_enter_start(d->barrier, wait_ms,
                                                    api_done(operation), &op)
                    : hf_double_barrier_leave_start(d->barrier, wait_ms,
                                                    api_done(operation), &op);
    MUST((op != NULL) == (status == HF_OK));
    operation->op = op;
    api_started(operation, status,
                can ? BEGUN : BIT(HF_ESTATE) | BIT(HF_ECLOSED));
    if (status != HF_OK && can)
        d->state = before;
}

static void move(struct api_double *d, bool enters, uint64_t wait_ms,
                 uint64_t allowed)
{
    struct api_blocking call = api_blocks(d->client, wait_ms);
    bool can = d->state == (enters ? API_OUTSIDE : API_INSIDE), ran;
    enum api_position before = d->state;
    hf_status status;

    if (can)
        d->state = API_MOVING;
    status = enters ? hf_double_barrier_enter(d->barrier, wait_ms)
                    : hf_double_barrier_leave(d->barrier, wait_ms);
    ran = api_blocked(&call, "hf_double_barrier_enter", status,
                      can ? allowed : BIT(HF_ESTATE) | BIT(HF_ECLOSED));
    if (can && !ran)
        d->state = before;
    else if (can)
        d->state = enters && status == HF_OK ? API_INSIDE : API_OUTSIDE;
}

void api_double_move(const struct api_step *s)
{
    struct api_double *d = CHOOSE(api.doubles, s->a);
    bool enters = s->b / 2 % 2 == 0;
    uint64_t wait_ms = api_wait_ms(s->c, s->b % 2 != 0);
    uint64_t allowed = WAITED;

    if (d == NULL)
        return;
    if (wait_ms == 0)
        allowed |= BIT(HF_EBUSY);
    if (!enters)
        allowed |= BIT(HF_ELOST);
    d->busy++;
    if (s->b % 2 != 0)
        move(d, enters, wait_ms, allowed);
    else
        move_start(d, enters, wait_ms, allowed);
    d->busy--;
}

void api_double_free(const struct api_step *s)
{
    struct api_double *d = CHOOSE(api.doubles, s->a);
    struct hf_double_barrier *freed;

    if (d == NULL || d->busy > 0)
        return;
    freed = d->barrier;
    d->barrier = NULL;
    hf_double_barrier_free(freed);
}

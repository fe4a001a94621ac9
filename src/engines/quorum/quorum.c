/* SPDX-License-Identifier: Apache-2.0 */
/* The links to the servers, and what time does. */
#include "engines/quorum/quorum.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/session.h"
#include "core/time_math.h"
#include "engines/leased/check.h"
#include "engines/quorum/private.h"

/* Of each server, while a majority of others is there. */
static const struct hf_retry_policy between_attempts = {
    .base_ms = 100,
    .cap_ms = 2000,
    .tries = HF_RETRY_UNLIMITED,
    .elapsed_ms = HF_FOREVER,
};

/* How long an attempt may take. */
#define ATTEMPT_LEAST_MS UINT64_C(500)
#define ATTEMPT_MOST_MS UINT64_C(2000)

/* How long those are waited for that are there a little later than a majority:
 * what goes to all outlives more. */
#define COMPANY_MS 50

/* A server tells for how long it has served in whole seconds, each end of them
 * rounded down. */
#define SERVED_FUZZ_MS 1000

struct hf_quorum *hf_quorum_new(const struct hf_quorum_config *config,
                                const struct hf_quorum_ops *ops, void *servers,
                                const struct hf_quorum_user *user)
{
    struct hf_quorum *quorum = hf_alloc(sizeof *quorum);

    assert(config->servers >= HF_QUORUM_SERVERS_LEAST &&
           config->servers <= HF_QUORUM_SERVERS_MOST &&
           config->servers % 2 == 1);
    assert(config->rejoin_ms >= config->ttl_ms);
    if (quorum == NULL)
        return NULL;
    quorum->config = *config;
    quorum->ops = *ops;
    quorum->servers_arg = servers;
    quorum->user = *user;
    quorum->up_at_ms = HF_FOREVER;
    return quorum;
}

void hf_quorum_free(struct hf_quorum *quorum)
{
    assert(!quorum->linked);
    hf_quorum_owns_clear(&quorum->owns);
    hf_free(quorum);
}

/* ----------------------------------------------------------------- links -- */

static void open_link(struct hf_quorum *quorum, size_t place)
{
    struct hf_quorum_server *server = &quorum->servers[place];
    uint64_t patience_ms =
        hf_min_ms(hf_max_ms(quorum->config.ttl_ms / 4, ATTEMPT_LEAST_MS),
                  ATTEMPT_MOST_MS);

    server->link = HF_QUORUM_OPENING;
    server->until_ms = hf_after_ms(quorum->now_ms, patience_ms);
    quorum->ops.connect(quorum->servers_arg, place, quorum->session);
}

static void close_links(struct hf_quorum *quorum)
{
    for (size_t i = 0; i < quorum->config.servers; i++) {
        if (quorum->servers[i].link != HF_QUORUM_WAITING)
            quorum->ops.disconnect(quorum->servers_arg, i);
        quorum->servers[i].link = HF_QUORUM_WAITING;
    }
    hf_quorum_ops_cut(quorum); /* what was called was the links' until then */
    quorum->linked = quorum->up = quorum->starved = false;
    quorum->up_at_ms = HF_FOREVER;
}

/* Whatever was being agreed on when the link ended is not any more. */
static void bury_undecided(struct hf_quorum *quorum)
{
    struct hf_quorum_own *own;

    for (own = hf_quorum_own_first(&quorum->owns); own != NULL;
         own = hf_quorum_own_after(&quorum->owns, own))
        own->dead |= own->number == 0;
}

void hf_quorum_connect(struct hf_quorum *quorum, const char *session,
                       uint64_t now_ms)
{
    assert(!quorum->linked);
    quorum->now_ms = now_ms;
    quorum->linked = true;
    if (strcmp(quorum->session, session) != 0)
        hf_quorum_owns_clear(&quorum->owns);
    bury_undecided(quorum);
    (void)snprintf(quorum->session, sizeof quorum->session, "%s", session);
    for (size_t i = 0; i < quorum->config.servers; i++) {
        quorum->servers[i].tried = false;
        quorum->servers[i].backoff = (struct hf_retry_state){0};
        open_link(quorum, i);
    }
}

void hf_quorum_disconnect(struct hf_quorum *quorum)
{
    assert(quorum->linked);
    close_links(quorum);
}

void hf_quorum_go_down(struct hf_quorum *quorum, hf_status status,
                       const char *why)
{
    close_links(quorum);
    quorum->user.down(quorum->user.arg, status, why, quorum->now_ms);
}

/* --------------------------------------------------------------- who is up --
 */

static bool counts(const struct hf_quorum *quorum,
                   const struct hf_quorum_server *server)
{
    return server->link == HF_QUORUM_LINKED &&
           server->counts_at_ms <= quorum->now_ms;
}

static size_t count_counting(const struct hf_quorum *quorum)
{
    size_t count = 0;

    for (size_t i = 0; i < quorum->config.servers; i++)
        count += counts(quorum, &quorum->servers[i]) ? 1 : 0;
    return count;
}

static void describe(const struct hf_quorum *quorum,
                     const struct hf_quorum_server *server, char *text,
                     size_t bytes)
{
    if (server->link == HF_QUORUM_LINKED)
        (void)snprintf(text, bytes,
                       "one was started not long ago, may have forgotten "
                       "tickets, and counts in %" PRIu64 " ms",
                       server->counts_at_ms - quorum->now_ms);
    else
        (void)snprintf(text, bytes, "%s",
                       server->why[0] != '\0' ? server->why : "no answer yet");
}

/* Is there no majority for the one reason that ${one} has?  A server that
 * refuses us does not speak for others that will soon be there. */
static bool speaks_for_all(const struct hf_quorum *quorum,
                           const struct hf_quorum_server *one)
{
    size_t same = 0;

    for (size_t i = 0; i < quorum->config.servers; i++) {
        const struct hf_quorum_server *server = &quorum->servers[i];

        same +=
            server->link != HF_QUORUM_LINKED && server->status == one->status;
    }
    return one->link != HF_QUORUM_LINKED && one->status != HF_OK &&
           one->status != HF_EUNREACHABLE && same >= hf_quorum_majority(quorum);
}

/* Which of two servers that cannot be used explains more? */
static bool explains_more(const struct hf_quorum *quorum,
                          const struct hf_quorum_server *a,
                          const struct hf_quorum_server *b)
{
    if (speaks_for_all(quorum, a) != speaks_for_all(quorum, b))
        return speaks_for_all(quorum, a);
    return a->link != HF_QUORUM_LINKED && b->link == HF_QUORUM_LINKED;
}

/* ${count} of the servers can be used, which is too few. */
static void tell_too_few(struct hf_quorum *quorum, size_t count)
{
    const struct hf_quorum_server *worst = NULL;
    char reason[HF_QUORUM_WHY_BYTES];
    char why[HF_QUORUM_WHY_BYTES + 80];

    for (size_t i = 0; i < quorum->config.servers; i++) {
        const struct hf_quorum_server *server = &quorum->servers[i];

        if (counts(quorum, server))
            continue;
        if (worst == NULL || explains_more(quorum, server, worst))
            worst = server;
    }
    assert(worst != NULL);
    describe(quorum, worst, reason, sizeof reason);
    (void)snprintf(why, sizeof why,
                   "%zu of %zu servers can be used, expected %zu: %s", count,
                   quorum->config.servers, hf_quorum_majority(quorum), reason);
    hf_quorum_go_down(
        quorum, speaks_for_all(quorum, worst) ? worst->status : HF_EUNREACHABLE,
        why);
}

static bool all_tried(const struct hf_quorum *quorum)
{
    for (size_t i = 0; i < quorum->config.servers; i++) {
        if (!quorum->servers[i].tried)
            return false;
    }
    return true;
}

/* A link has come or gone. */
static void weigh(struct hf_quorum *quorum)
{
    size_t count = count_counting(quorum);

    if (!quorum->linked)
        return;
    if (count < hf_quorum_majority(quorum)) {
        quorum->up_at_ms = HF_FOREVER;
        if (quorum->up || all_tried(quorum))
            tell_too_few(quorum, count);
        return;
    }
    if (quorum->up)
        return;
    quorum->up_at_ms =
        hf_min_ms(quorum->up_at_ms, hf_after_ms(quorum->now_ms, COMPANY_MS));
    if (!all_tried(quorum) && quorum->now_ms < quorum->up_at_ms)
        return;
    quorum->up = true;
    quorum->up_at_ms = HF_FOREVER;
    /* The user's clock of the server is the time here. */
    quorum->user.up(quorum->user.arg, quorum->now_ms, quorum->now_ms);
}

static void lose_link(struct hf_quorum *quorum, size_t place, hf_status status,
                      const char *why)
{
    struct hf_quorum_server *server = &quorum->servers[place];

    server->link = HF_QUORUM_WAITING;
    server->tried = true;
    server->status = status;
    (void)snprintf(server->why, sizeof server->why, "%s", why);
    server->until_ms = hf_retry_next(&between_attempts, &server->backoff,
                                     quorum->now_ms, &quorum->config.random);
    /* Telling of one may end everything. */
    while (quorum->linked && server->link == HF_QUORUM_WAITING &&
           server->first != NULL)
        hf_quorum_part_done(quorum, server->first, NULL);
    if (quorum->linked)
        weigh(quorum);
}

/* ------------------------------------------------------------------ told -- */

/* What a server may have forgotten has run out when it has served for so long:
 * counted by our clock, which may be the faster one. */
static uint64_t counts_at_ms(const struct hf_quorum *quorum, uint64_t served_ms)
{
    uint64_t rejoin_ms = hf_after_ms(quorum->config.rejoin_ms, SERVED_FUZZ_MS);

    if (served_ms >= rejoin_ms)
        return 0;
    return hf_after_ms(quorum->now_ms,
                       rejoin_ms - served_ms + hf_margin_ms(rejoin_ms));
}

void hf_quorum_server_up(struct hf_quorum *quorum, size_t place,
                         uint64_t server_ms, uint64_t served_ms,
                         uint64_t now_ms)
{
    struct hf_quorum_server *server = &quorum->servers[place];

    quorum->now_ms = now_ms;
    assert(server->link == HF_QUORUM_OPENING);
    server->link = HF_QUORUM_LINKED;
    server->tried = true;
    server->backoff = (struct hf_retry_state){0};
    server->server_ms = server_ms;
    server->heard_at_ms = now_ms;
    server->counts_at_ms = counts_at_ms(quorum, served_ms);
    weigh(quorum);
}

void hf_quorum_server_down(struct hf_quorum *quorum, size_t place,
                           hf_status status, const char *why, uint64_t now_ms)
{
    quorum->now_ms = now_ms;
    lose_link(quorum, place, status, why);
}

void hf_quorum_server_answered(struct hf_quorum *quorum,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t now_ms)
{
    struct hf_quorum_part *part = (struct hf_quorum_part *)call;
    size_t place = part->server;
    struct hf_error why;

    quorum->now_ms = now_ms;
    /* A call that has been answered, as a majority said, is its user's again.
     */
    if (answer->ok && part->op->asked != NULL &&
        hf_store_answer_check(call, answer, &why) != HF_OK) {
        quorum->ops.disconnect(quorum->servers_arg, place);
        lose_link(quorum, place, why.status, why.text);
        return;
    }
    hf_quorum_part_done(quorum, part, answer);
}

/* A ticket of ours has gone from one server: gone it is when no majority can
 * have it. */
static bool is_still_ours(struct hf_quorum *quorum, size_t place,
                          const struct hf_store_notice *notice)
{
    struct hf_quorum_own *own =
        hf_quorum_own_find(&quorum->owns, &notice->ticket);

    if (own == NULL || notice->ticket_kind != 0)
        return false;
    own->missing |= UINT32_C(1) << place;
    if (own->number == 0 ||
        hf_quorum_count(own->missing) <=
            quorum->config.servers - hf_quorum_majority(quorum))
        return true;
    hf_quorum_own_drop(&quorum->owns, own);
    return false;
}

void hf_quorum_server_notice(struct hf_quorum *quorum, size_t place,
                             const struct hf_store_notice *notice,
                             uint64_t now_ms)
{
    quorum->now_ms = now_ms;
    if (!quorum->up ||
        (notice->kind == HF_STORE_GONE && is_still_ours(quorum, place, notice)))
        return;
    quorum->user.notice(quorum->user.arg, notice, now_ms);
}

/* ----------------------------------------------------------------- calls -- */

void hf_quorum_call(struct hf_quorum *quorum, struct hf_store_call *call,
                    uint64_t now_ms)
{
    struct hf_quorum_op *op;

    quorum->now_ms = now_ms;
    assert(quorum->up);
    op = hf_quorum_op_new(quorum, call);
    if (op == NULL)
        quorum->starved = true;
    else
        hf_quorum_begin(quorum, op);
}

/* ------------------------------------------------------------------ time -- */

static uint64_t op_wake_at_ms(const struct hf_quorum_op *op)
{
    if (op->asked == NULL)
        return HF_FOREVER;
    if (op->refused)
        return 0;
    return op->graced ? op->grace_at_ms : HF_FOREVER;
}

static struct hf_quorum_op *find_due(const struct hf_quorum *quorum)
{
    struct hf_quorum_op *op = quorum->first;

    while (op != NULL && op_wake_at_ms(op) > quorum->now_ms)
        op = op->next;
    return op;
}

/* Each is answered then, and so they come to an end. */
static void tick_ops(struct hf_quorum *quorum)
{
    struct hf_quorum_op *op;

    while ((op = find_due(quorum)) != NULL) {
        if (op->refused)
            hf_quorum_op_refuse(quorum, op, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
                                "quorum: has no barriers and no double "
                                "barriers; expected a lock, a read/write lock, "
                                "a semaphore or an election");
        else
            hf_quorum_judge(quorum, op);
    }
}

static struct hf_quorum_own *find_looking(const struct hf_quorum *quorum,
                                          uint64_t by_ms)
{
    struct hf_quorum_own *own = hf_quorum_own_first(&quorum->owns);

    while (own != NULL && own->look_at_ms > by_ms)
        own = hf_quorum_own_after(&quorum->owns, own);
    return own;
}

static void tick_looks(struct hf_quorum *quorum)
{
    struct hf_quorum_own *own;

    while (quorum->up && (own = find_looking(quorum, quorum->now_ms)) != NULL) {
        struct hf_store_notice notice = {
            .kind = HF_STORE_GONE, .queue = own->queue, .ticket = own->before};

        own->look_at_ms = HF_FOREVER;
        quorum->user.notice(quorum->user.arg, &notice, quorum->now_ms);
    }
}

static void run_out_of_patience(struct hf_quorum *quorum, size_t place)
{
    const char *missing = NULL;
    char why[HF_QUORUM_WHY_BYTES];

    if (quorum->ops.missing != NULL)
        missing = quorum->ops.missing(quorum->servers_arg, place);
    (void)snprintf(why, sizeof why, "no %s in time",
                   missing != NULL ? missing : "connection");
    quorum->ops.disconnect(quorum->servers_arg, place);
    lose_link(quorum, place, HF_EUNREACHABLE, why);
}

static void tick_server(struct hf_quorum *quorum, size_t place)
{
    struct hf_quorum_server *server = &quorum->servers[place];

    if (server->link == HF_QUORUM_LINKED) {
        if (server->first == NULL ||
            server->first->deadline_at_ms > quorum->now_ms)
            return;
        quorum->ops.disconnect(quorum->servers_arg, place);
        lose_link(quorum, place, HF_EUNREACHABLE, "no answer in time");
    } else if (server->until_ms <= quorum->now_ms) {
        if (server->link == HF_QUORUM_OPENING) {
            run_out_of_patience(quorum, place);
        } else {
            open_link(quorum, place);
        }
    }
}

void hf_quorum_tick(struct hf_quorum *quorum, uint64_t now_ms)
{
    quorum->now_ms = now_ms;
    if (quorum->linked && quorum->starved)
        hf_quorum_go_down(quorum, HF_EUNREACHABLE, "out of memory");
    for (size_t i = 0; quorum->linked && i < quorum->config.servers; i++)
        tick_server(quorum, i);
    if (quorum->linked && quorum->up_at_ms <= now_ms)
        weigh(quorum);
    if (quorum->linked)
        tick_ops(quorum);
    tick_looks(quorum);
}

uint64_t hf_quorum_wake_at_ms(const struct hf_quorum *quorum)
{
    uint64_t at_ms = HF_FOREVER;

    if (!quorum->linked)
        return HF_FOREVER;
    if (quorum->starved)
        return 0;
    at_ms = quorum->up_at_ms;
    for (size_t i = 0; i < quorum->config.servers; i++) {
        const struct hf_quorum_server *server = &quorum->servers[i];

        if (server->link != HF_QUORUM_LINKED)
            at_ms = hf_min_ms(at_ms, server->until_ms);
        else if (server->first != NULL)
            at_ms = hf_min_ms(at_ms, server->first->deadline_at_ms);
    }
    for (const struct hf_quorum_op *op = quorum->first; op != NULL;
         op = op->next)
        at_ms = hf_min_ms(at_ms, op_wake_at_ms(op));
    if (!quorum->up)
        return at_ms;
    for (const struct hf_quorum_own *own = hf_quorum_own_first(&quorum->owns);
         own != NULL; own = hf_quorum_own_after(&quorum->owns, own))
        at_ms = hf_min_ms(at_ms, own->look_at_ms);
    return at_ms;
}

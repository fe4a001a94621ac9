/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of the user is a call of every server that is linked, in rounds.  It
 * is answered when enough servers have said what they did; what the others say
 * later is taken in where it is of use.
 */
#include <assert.h>
#include <stdio.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/quorum/private.h"

/* How long an answer of one server is waited for before it is taken for cut
 * off: less than the user's own patience, which would cut off all of them. */
#define PATIENCE_LEAST_MS UINT64_C(250)
#define PATIENCE_MOST_MS UINT64_C(5000)

/* How long what is doubtful after a majority has spoken is waited for: longer
 * than servers of one place differ, and no more than a handoff may be late. */
#define GRACE_LEAST_MS UINT64_C(10)
#define GRACE_MOST_MS UINT64_C(200)

static uint64_t share_ms(const struct hf_quorum *quorum, uint64_t of,
                         uint64_t least_ms, uint64_t most_ms)
{
    return hf_min_ms(hf_max_ms(quorum->config.ttl_ms / of, least_ms), most_ms);
}

/* ------------------------------------------------------------------- ops -- */

struct hf_quorum_op *hf_quorum_op_new(struct hf_quorum *quorum,
                                      struct hf_store_call *asked)
{
    struct hf_quorum_op *op = hf_alloc(sizeof *op);

    if (op == NULL)
        return NULL;
    op->asked = asked;
    op->previous = quorum->last;
    if (quorum->last != NULL)
        quorum->last->next = op;
    else
        quorum->first = op;
    quorum->last = op;
    return op;
}

static void op_free(struct hf_quorum_op *op)
{
    hf_quorum_tally_clear(&op->tally);
    hf_free(op->numbers);
    hf_free(op);
}

static void op_end(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        quorum->first = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
    else
        quorum->last = op->previous;
    if (op->telling)
        op->dead = true;
    else
        op_free(op);
}

void hf_quorum_op_leave(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    if (op->asked == NULL && op->pending == 0)
        op_end(quorum, op);
}

/* ----------------------------------------------------------------- parts -- */

static void put(struct hf_quorum_server *server, struct hf_quorum_part *part)
{
    part->previous = server->last;
    if (server->last != NULL)
        server->last->next = part;
    else
        server->first = part;
    server->last = part;
}

static void take_out(struct hf_quorum_server *server,
                     struct hf_quorum_part *part)
{
    if (part->previous != NULL)
        part->previous->next = part->next;
    else
        server->first = part->next;
    if (part->next != NULL)
        part->next->previous = part->previous;
    else
        server->last = part->previous;
}

/* Each server's clock is its own. */
static uint64_t not_after_ms(const struct hf_quorum *quorum,
                             const struct hf_quorum_server *server)
{
    uint64_t since_ms = quorum->now_ms - server->heard_at_ms;

    return hf_after_ms(hf_after_ms(server->server_ms, since_ms),
                       quorum->config.ttl_ms);
}

void hf_quorum_op_ask_one(struct hf_quorum *quorum, struct hf_quorum_op *op,
                          size_t place, const struct hf_store_call *call,
                          const struct hf_store_accord *accord)
{
    struct hf_quorum_server *server = &quorum->servers[place];
    struct hf_quorum_part *part = hf_alloc(sizeof *part);

    if (part == NULL) {
        quorum->starved = true;
        return;
    }
    part->call = *call;
    part->call.store_data = NULL;
    part->call.store_count = 0;
    part->call.not_after_ms = not_after_ms(quorum, server);
    part->accord = *accord;
    part->call.accord = &part->accord;
    part->op = op;
    part->server = place;
    part->round = op->round;
    part->counts = server->counts_at_ms <= quorum->now_ms;
    part->deadline_at_ms =
        hf_after_ms(quorum->now_ms,
                    share_ms(quorum, 6, PATIENCE_LEAST_MS, PATIENCE_MOST_MS));
    put(server, part);
    op->pending++;
    op->open += part->counts ? 1 : 0;
    quorum->ops.call(quorum->servers_arg, place, &part->call);
}

void hf_quorum_op_ask(struct hf_quorum *quorum, struct hf_quorum_op *op,
                      const struct hf_store_call *call,
                      const struct hf_store_accord *accord)
{
    op->round++;
    op->open = 0;
    op->ok = op->found = op->settled = 0;
    op->taken = op->graced = op->failed = false;
    hf_quorum_tally_clear(&op->tally);
    for (size_t i = 0; i < quorum->config.servers; i++) {
        if (quorum->servers[i].link == HF_QUORUM_LINKED)
            hf_quorum_op_ask_one(quorum, op, i, call, accord);
    }
}

static void note_failure(struct hf_quorum_op *op, enum hf_failure failure,
                         hf_status status, const char *text)
{
    if (op->failed)
        return;
    op->failed = true;
    op->failure = failure;
    op->status = status;
    (void)snprintf(op->text, sizeof op->text, "%s", text);
}

static void note(struct hf_quorum *quorum, struct hf_quorum_part *part,
                 const struct hf_store_answer *answer)
{
    struct hf_quorum_op *op = part->op;
    bool late = part->round != op->round;

    if (answer == NULL || answer->ok || answer->failure == HF_FAILURE_UNSURE)
        op->touched = true;
    if (answer == NULL && !late) {
        note_failure(op, HF_FAILURE_UNSURE, HF_EUNREACHABLE,
                     quorum->servers[part->server].why);
    } else if (answer != NULL && !answer->ok && !late) {
        note_failure(op, answer->failure, answer->status, answer->text);
    } else if (answer != NULL && answer->ok) {
        if (!late && part->counts)
            op->ok |= UINT32_C(1) << part->server;
        hf_quorum_take(quorum, op, part, answer);
    }
    if (op->tally.starved)
        quorum->starved = true;
}

void hf_quorum_part_done(struct hf_quorum *quorum, struct hf_quorum_part *part,
                         const struct hf_store_answer *answer)
{
    struct hf_quorum_server *server = &quorum->servers[part->server];
    struct hf_quorum_op *op = part->op;

    take_out(server, part);
    op->pending--;
    if (part->counts && part->round == op->round)
        op->open--;
    if (answer != NULL && answer->server_ms != 0) {
        server->server_ms = answer->server_ms;
        server->heard_at_ms = quorum->now_ms;
    }
    note(quorum, part, answer);
    hf_free(part);
    if (op->asked != NULL)
        hf_quorum_judge(quorum, op);
    else
        hf_quorum_op_leave(quorum, op);
}

/* --------------------------------------------------------------- answers -- */

bool hf_quorum_op_can_have(const struct hf_quorum_op *op, size_t have,
                           size_t count)
{
    return have + op->open >= count;
}

bool hf_quorum_op_wait(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    if (op->open == 0)
        return false;
    if (!op->graced) {
        op->graced = true;
        op->grace_at_ms =
            hf_after_ms(quorum->now_ms,
                        share_ms(quorum, 32, GRACE_LEAST_MS, GRACE_MOST_MS));
    }
    return quorum->now_ms < op->grace_at_ms;
}

void hf_quorum_op_answer(struct hf_quorum *quorum, struct hf_quorum_op *op,
                         struct hf_store_answer *answer)
{
    struct hf_store_call *asked = op->asked;

    assert(asked != NULL && !op->telling);
    op->asked = NULL;
    /* The user's clock of the server is the time here. */
    answer->server_ms = quorum->now_ms;
    op->telling = true;
    quorum->user.answered(quorum->user.arg, asked, answer, quorum->now_ms);
    op->telling = false;
    if (op->dead)
        op_free(op);
    else
        hf_quorum_op_leave(quorum, op);
}

void hf_quorum_op_refuse(struct hf_quorum *quorum, struct hf_quorum_op *op,
                         enum hf_failure failure, hf_status status,
                         const char *text)
{
    struct hf_store_answer answer = {
        .failure = failure, .status = status, .text = text};

    hf_quorum_op_answer(quorum, op, &answer);
}

void hf_quorum_op_fail(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    enum hf_failure failure = op->touched  ? HF_FAILURE_UNSURE
                              : op->failed ? op->failure
                                           : HF_FAILURE_RETRY;
    char text[HF_ERROR_TEXT_BYTES];

    (void)snprintf(text, sizeof text,
                   "a majority of the servers could not be had: %.250s",
                   op->failed ? op->text : "they do not have the ticket");
    hf_quorum_op_refuse(quorum, op, failure,
                        op->failed ? op->status : HF_EUNREACHABLE, text);
}

void hf_quorum_ops_cut(struct hf_quorum *quorum)
{
    struct hf_quorum_part *part;

    for (size_t i = 0; i < quorum->config.servers; i++) {
        struct hf_quorum_server *server = &quorum->servers[i];

        while ((part = server->first) != NULL) {
            take_out(server, part);
            hf_free(part);
        }
    }
    while (quorum->first != NULL)
        op_end(quorum, quorum->first);
}

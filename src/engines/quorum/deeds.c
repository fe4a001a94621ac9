/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of servers for each kind of call, and when they have said
 * enough. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/quorum/private.h"

/* Have so many answered?  If they never will, it has failed. */
static bool has_enough(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    size_t have = hf_quorum_count(op->ok);

    if (have >= hf_quorum_majority(quorum))
        return true;
    if (!hf_quorum_op_can_have(op, have, hf_quorum_majority(quorum)))
        hf_quorum_op_fail(quorum, op);
    return false;
}

static void ask(struct hf_quorum *quorum, struct hf_quorum_op *op,
                uint64_t number)
{
    const struct hf_store_accord accord = {.number = number,
                                           .numbers = op->numbers};
    const struct hf_store_call call = *op->asked;

    hf_quorum_op_ask(quorum, op, &call, &accord);
}

/* ---------------------------------------------------------------- queues -- */

static bool may_be_there(const struct hf_quorum *quorum,
                         const struct hf_quorum_op *op,
                         const struct hf_quorum_row *row)
{
    return hf_quorum_may_hold(quorum, row->there, op->ok);
}

/* Perhaps a majority has it, and perhaps not; and it matters. */
static bool is_doubtful(const struct hf_quorum *quorum,
                        const struct hf_quorum_op *op,
                        const struct hf_quorum_row *row)
{
    uint64_t below = op->number > 0 ? op->number : UINT64_MAX;

    return hf_quorum_count(row->there) < hf_quorum_majority(quorum) &&
           may_be_there(quorum, op, row) && hf_quorum_row_number(row) < below;
}

static bool has_doubts(const struct hf_quorum *quorum,
                       const struct hf_quorum_op *op)
{
    for (size_t i = 0; i < op->tally.count; i++) {
        if (is_doubtful(quorum, op, &op->tally.rows[i]))
            return true;
    }
    return false;
}

/* The row as it is shown; false if it is not. */
static bool show(const struct hf_quorum *quorum, const struct hf_quorum_op *op,
                 struct hf_quorum_row *row)
{
    const struct hf_quorum_own *own =
        hf_quorum_own_find(&quorum->owns, &row->ticket.id);
    bool whole = op->asked->whole;

    if (!may_be_there(quorum, op, row) || (own != NULL && own->dead))
        return false;
    row->ticket.sequence = hf_quorum_row_number(row);
    /* Who has my number and is not I is ahead of me, until it is settled who
     * has it. */
    row->ticket.token = whole ? row->settled : 0;
    if (own != NULL && own->number > 0)
        row->ticket.sequence = row->ticket.token = own->number;
    if (row->ticket.payload == NULL)
        row->ticket.payload = hf_strdup("");
    return row->ticket.payload != NULL;
}

static int compare_rows(const void *a, const void *b)
{
    return hf_ticket_compare(&((const struct hf_quorum_row *)a)->ticket,
                             &((const struct hf_quorum_row *)b)->ticket);
}

struct answer {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
};

/* With room for what the tally has. */
static bool answer_begin(struct answer *answer, struct hf_quorum *quorum,
                         const struct hf_quorum_op *op)
{
    size_t room = op->tally.count + 1;

    *answer = (struct answer){.answer = {.ok = true}};
    answer->tickets = hf_alloc(room * sizeof *answer->tickets);
    answer->leases = hf_alloc(room * sizeof *answer->leases);
    if (answer->tickets == NULL || answer->leases == NULL) {
        quorum->starved = true;
        return false;
    }
    answer->answer.tickets = answer->tickets;
    answer->answer.leases = answer->leases;
    return true;
}

static void answer_add(struct answer *answer, const struct hf_quorum_row *row)
{
    answer->tickets[answer->answer.count] = row->ticket;
    answer->leases[answer->answer.count] = row->lease;
    answer->answer.count++;
}

static void answer_end(struct answer *answer)
{
    hf_free(answer->tickets);
    hf_free(answer->leases);
}

/* What is ahead of ${at} and only proposed, as far as whoever is there waits
 * for it; or NULL. */
static const struct hf_quorum_row *undecided(const struct hf_quorum_row *rows,
                                             size_t at)
{
    bool reads = rows[at].ticket.kind == HF_TICKET_READ;

    while (at-- > 0) {
        if (!reads || rows[at].ticket.kind == HF_TICKET_WRITE)
            return rows[at].settled == 0 ? &rows[at] : NULL;
    }
    return NULL;
}

#define LOOK_FIRST_MS 20

/* Look again soon, and then less and less often. */
static void plan_look(struct hf_quorum *quorum, struct hf_quorum_own *own,
                      const struct hf_quorum_row *before)
{
    if (before == NULL) {
        own->look_at_ms = HF_FOREVER;
        own->look_every_ms = 0;
        return;
    }
    own->before = before->ticket.id;
    own->look_every_ms =
        hf_min_ms(hf_max_ms(2 * own->look_every_ms, LOOK_FIRST_MS),
                  quorum->config.ttl_ms / 4);
    own->look_at_ms = hf_after_ms(quorum->now_ms, own->look_every_ms);
}

static void plan_looks(struct hf_quorum *quorum,
                       const struct hf_quorum_row *rows, size_t count)
{
    struct hf_quorum_own *own;

    for (size_t i = 0; i < count; i++) {
        own = hf_quorum_own_find(&quorum->owns, &rows[i].ticket.id);
        if (own != NULL && own->number > 0)
            plan_look(quorum, own, undecided(rows, i));
    }
}

static void answer_rows(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct hf_quorum_tally *tally = &op->tally;
    struct answer answer;
    size_t kept = 0;

    for (size_t i = 0; i < tally->count; i++) {
        struct hf_quorum_row row;

        if (!show(quorum, op, &tally->rows[i]))
            continue;
        row = tally->rows[i];
        tally->rows[i] = tally->rows[kept];
        tally->rows[kept++] = row;
    }
    if (kept > 1)
        qsort(tally->rows, kept, sizeof *tally->rows, compare_rows);
    if (op->kind != HF_STORE_PROBE)
        plan_looks(quorum, tally->rows, kept);
    if (answer_begin(&answer, quorum, op)) {
        for (size_t i = 0; i < kept; i++)
            answer_add(&answer, &tally->rows[i]);
        hf_quorum_op_answer(quorum, op, &answer.answer);
    }
    answer_end(&answer);
}

void hf_quorum_answer_queue(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    if (has_doubts(quorum, op) && hf_quorum_op_wait(quorum, op))
        return;
    answer_rows(quorum, op);
}

/* ----------------------------------------------------------------- renew -- */

static bool renew_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    const struct hf_store_call *call = op->asked;
    struct hf_quorum_own *own;
    size_t count = 0, at = 0;

    for (size_t i = 0; i < call->stake_count; i++)
        count += call->stakes[i].count;
    op->numbers = hf_alloc((count + 1) * sizeof *op->numbers);
    if (op->numbers == NULL)
        return false;
    op->renewal = ++quorum->renewals;
    for (size_t i = 0; i < call->stake_count; i++) {
        for (size_t k = 0; k < call->stakes[i].count; k++) {
            own =
                hf_quorum_own_find(&quorum->owns, &call->stakes[i].tickets[k]);
            op->numbers[at++] = own != NULL ? own->number : 0;
            if (own != NULL)
                own->renewal = op->renewal;
        }
    }
    ask(quorum, op, 0);
    return true;
}

/* What one server lacks is put in again once a majority has all.  The answer
 * says nothing of tickets that its RENEW, a piece of one, has not named. */
static void note_missing(struct hf_quorum *quorum,
                         const struct hf_quorum_op *op, size_t server,
                         const struct hf_store_answer *answer)
{
    uint32_t bit = UINT32_C(1) << server;
    struct hf_quorum_own *own;

    for (own = hf_quorum_own_first(&quorum->owns); own != NULL;
         own = hf_quorum_own_after(&quorum->owns, own)) {
        if (own->renewal == op->renewal)
            own->missing &= ~bit;
    }
    for (size_t i = 0; i < answer->count; i++) {
        own = hf_quorum_own_find(&quorum->owns, &answer->tickets[i].id);
        if (own != NULL && answer->leases[i].missing)
            own->missing |= bit;
    }
}

/* Have too few renewed it for a majority, of those that have answered? */
static bool is_short(const struct hf_quorum *quorum,
                     const struct hf_quorum_op *op,
                     const struct hf_quorum_row *row)
{
    const struct hf_quorum_own *own =
        hf_quorum_own_find(&quorum->owns, &row->ticket.id);

    if (own != NULL && own->number == 0)
        return false; /* nobody counts on it yet */
    return hf_quorum_count(op->ok & ~row->missing) < hf_quorum_majority(quorum);
}

/* And will not even with those that have not? */
static bool is_gone(const struct hf_quorum *quorum,
                    const struct hf_quorum_row *row)
{
    return hf_quorum_count(row->missing) >
           quorum->config.servers - hf_quorum_majority(quorum);
}

static bool has_shortage(const struct hf_quorum *quorum,
                         const struct hf_quorum_op *op)
{
    for (size_t i = 0; i < op->tally.count; i++) {
        if (is_short(quorum, op, &op->tally.rows[i]) &&
            !is_gone(quorum, &op->tally.rows[i]))
            return true;
    }
    return false;
}

static void renewed(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct answer answer;

    if (!answer_begin(&answer, quorum, op)) {
        answer_end(&answer);
        return;
    }
    for (size_t i = 0; i < op->tally.count; i++) {
        struct hf_quorum_row *row = &op->tally.rows[i];
        struct hf_quorum_own *own =
            hf_quorum_own_find(&quorum->owns, &row->ticket.id);

        row->lease.missing = is_short(quorum, op, row) && is_gone(quorum, row);
        if (row->lease.missing && own != NULL)
            hf_quorum_own_drop(&quorum->owns, own);
        if (row->lease.missing || row->lease.revoked > 0)
            answer_add(&answer, row);
    }
    hf_quorum_mend(quorum, op->renewal);
    hf_quorum_op_answer(quorum, op, &answer.answer);
    answer_end(&answer);
}

static void judge_renew(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    if (!has_enough(quorum, op))
        return;
    if (!has_shortage(quorum, op))
        renewed(quorum, op);
    else if (op->open == 0)
        hf_quorum_op_refuse(quorum, op, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                            "too few of the servers that answer have a ticket "
                            "of ours, and others do not answer");
}

/* --------------------------------------------------------------- changes -- */

static void answer_found(struct hf_quorum *quorum, struct hf_quorum_op *op,
                         bool found)
{
    struct hf_store_answer answer = {.ok = true, .found = found};

    hf_quorum_op_answer(quorum, op, &answer);
}

/* A removal answers when a majority has carried it out, so a server that has
 * not heard of it yet may still find the ticket.  A ticket counts as found
 * unless the answers show that no majority has it.  Servers that have not
 * answered are given a moment, except when the ticket is our own: nobody has to
 * learn whether that was found. */
static void judge_found(struct hf_quorum *quorum, struct hf_quorum_op *op,
                        bool own)
{
    bool found;

    if (!has_enough(quorum, op))
        return;
    found = hf_quorum_may_hold(quorum, op->found, op->ok);
    if (!own && found &&
        hf_quorum_count(op->found) < hf_quorum_majority(quorum) &&
        hf_quorum_op_wait(quorum, op))
        return;
    answer_found(quorum, op, found);
}

static void judge_withdraw(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct hf_quorum_own *own = hf_quorum_own_find(&quorum->owns, &op->ticket);
    bool removed = hf_quorum_count(op->ok) >= hf_quorum_majority(quorum);

    if (own != NULL && removed)
        hf_quorum_own_drop(&quorum->owns, own);
    judge_found(quorum, op, own != NULL);
}

/* What one has done no other may undo: a majority shows every reader that there
 * is no writer any more. */
static void judge_downgrade(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    size_t majority = hf_quorum_majority(quorum);
    size_t found = hf_quorum_count(op->found);

    if (!has_enough(quorum, op))
        return;
    if (found >= majority)
        answer_found(quorum, op, true);
    else if (hf_quorum_op_can_have(op, found, majority))
        return;
    else if (hf_quorum_may_hold(quorum, op->found, op->ok))
        hf_quorum_op_fail(quorum, op);
    else
        answer_found(quorum, op, false);
}

/* First how often it was asked for, and then that once more: so that all have
 * one number for it. */
static void judge_revoke(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    const struct hf_quorum_row *row =
        hf_quorum_tally_find(&op->tally, &op->ticket);

    if (op->number > 0) {
        judge_found(quorum, op, false);
        return;
    }
    if (!has_enough(quorum, op))
        return;
    if (row == NULL || !may_be_there(quorum, op, row)) {
        answer_found(quorum, op, false);
    } else {
        op->number = (uint64_t)row->lease.revoked + 1;
        ask(quorum, op, op->number);
    }
}

static void revoke_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    const struct hf_store_accord accord = {0};
    struct hf_store_call call = *op->asked;

    call.kind = HF_STORE_PROBE;
    call.tickets = &op->ticket;
    call.count = 1;
    hf_quorum_op_ask(quorum, op, &call, &accord);
}

static void leave_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct hf_quorum_own *own = hf_quorum_own_find(&quorum->owns, &op->ticket);

    if (own != NULL)
        own->leaving = true;
    ask(quorum, op, 0);
}

/* Whoever begins it is no writer any more. */
static void downgrade_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct hf_quorum_own *own = hf_quorum_own_find(&quorum->owns, &op->ticket);

    if (own != NULL)
        own->kind = HF_TICKET_READ;
    ask(quorum, op, 0);
}

/* What a server gets that is to have the ticket later says it too. */
static void describe_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct hf_quorum_own *own = hf_quorum_own_find(&quorum->owns, &op->ticket);

    if (own != NULL)
        hf_quorum_own_describe(own, op->asked->payload);
    ask(quorum, op, 0);
}

/* ------------------------------------------------------------- all kinds -- */

/* Marks live for ever, and so would one that a server still had which was away
 * when it was lowered. */
static bool is_supported(const struct hf_store_call *call)
{
    const char *queue = call->queue;

    switch (call->kind) {
    case HF_STORE_RENEW:
    case HF_STORE_GOODBYE:
        return true;
    case HF_STORE_RAISE:
    case HF_STORE_LOWER:
    case HF_STORE_STAMP:
        return false;
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
        return call->ticket_kind <= HF_TICKET_QUEUED_LAST &&
               queue[strlen(queue) - 1] != '/';
    case HF_STORE_PROBE:
    case HF_STORE_REMOVE:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_REVOKE:
    case HF_STORE_DESCRIBE:
        return true;
    }
    return false;
}

void hf_quorum_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    op->kind = op->asked->kind;
    op->ticket = op->asked->ticket;
    op->refused = !is_supported(op->asked);
    if (op->refused)
        return;
    switch (op->kind) {
    case HF_STORE_ENQUEUE:
        hf_quorum_place_begin(quorum, op);
        break;
    case HF_STORE_RENEW:
        if (!renew_begin(quorum, op))
            quorum->starved = true;
        break;
    case HF_STORE_LIST:
        op->number = hf_quorum_own_number(&quorum->owns, op->asked->queue);
        ask(quorum, op, op->number);
        break;
    case HF_STORE_REMOVE:
        leave_begin(quorum, op);
        break;
    case HF_STORE_DOWNGRADE:
        downgrade_begin(quorum, op);
        break;
    case HF_STORE_REVOKE:
        revoke_begin(quorum, op);
        break;
    case HF_STORE_DESCRIBE:
        describe_begin(quorum, op);
        break;
    default:
        ask(quorum, op, 0);
    }
}

void hf_quorum_take(struct hf_quorum *quorum, struct hf_quorum_op *op,
                    const struct hf_quorum_part *part,
                    const struct hf_store_answer *answer)
{
    bool heeded = op->asked != NULL && part->round == op->round && part->counts;

    if (op->kind == HF_STORE_ENQUEUE) {
        hf_quorum_place_take(quorum, op, part, answer);
        return;
    }
    if (op->kind == HF_STORE_RENEW)
        note_missing(quorum, op, part->server, answer);
    if (!heeded)
        return;
    if (answer->found)
        op->found |= UINT32_C(1) << part->server;
    hf_quorum_tally_take(&op->tally, part->server, answer);
}

void hf_quorum_judge(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    switch (op->kind) {
    case HF_STORE_ENQUEUE:
        hf_quorum_place_judge(quorum, op);
        break;
    case HF_STORE_RENEW:
        judge_renew(quorum, op);
        break;
    case HF_STORE_LIST:
    case HF_STORE_PROBE:
        if (has_enough(quorum, op))
            hf_quorum_answer_queue(quorum, op);
        break;
    case HF_STORE_REMOVE:
        judge_withdraw(quorum, op);
        break;
    case HF_STORE_DOWNGRADE:
        judge_downgrade(quorum, op);
        break;
    case HF_STORE_REVOKE:
        judge_revoke(quorum, op);
        break;
    case HF_STORE_DESCRIBE:
        judge_found(quorum, op, false);
        break;
    case HF_STORE_GOODBYE:
        if (op->pending == 0)
            answer_found(quorum, op, true);
        break;
    default:
        assert(false && "a call that was refused");
    }
}

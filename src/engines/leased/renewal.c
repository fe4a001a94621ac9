/* SPDX-License-Identifier: Apache-2.0 */
/* Sends renewals piece by piece, and handles the answers.  The losses that an
 * answer shows are reported before the proof. */
#include "engines/leased/renewal.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"
#include "engines/leased/ticket_sets.h"

/* A renewal is sent 5/16 of a ttl after the last one was sent, so two may fail
 * before the session is in danger.  After a failure the next one is sent 1/16
 * of a ttl later.  While grants depend on the session, renewals are usually
 * sent earlier than that, because the core asks for proofs (PROVE) a little
 * more often. */
#define RENEWAL_SIXTEENTHS 5

/* The longest interval between renewals.  It is there to notice a dead link
 * even if the lease is long. */
#define RENEWAL_INTERVAL_MAX_MS UINT64_C(30000)

static uint64_t share_ms(const struct hf_leased *leased, uint64_t sixteenths)
{
    return hf_max_ms(leased->config.ttl_ms * sixteenths / 16, 1);
}

/* --------------------------------------------------------------- answers -- */

/* Fail the PROVE that waits, if there is one, as ${answer} says. */
static void fail_prove(struct hf_leased *leased,
                       const struct hf_store_answer *answer)
{
    struct hf_request *prove = leased->renewal.prove;

    leased->renewal.prove = NULL;
    if (prove != NULL)
        hf_leased_fail_with_answer(leased, prove, answer);
}

/* Fail the PROVE that waits, because the renewal found a ticket missing whose
 * loss no watch reports yet.  The core must not get a proof before it knows of
 * the loss. */
static void fail_prove_ticket_lost(struct hf_leased *leased)
{
    struct hf_request *prove = leased->renewal.prove;

    leased->renewal.prove = NULL;
    if (prove != NULL)
        hf_leased_fail(leased, prove, HF_FAILURE_RETRY, HF_ELOST,
                       "a ticket of this session has run out");
}

static void answer_prove(struct hf_leased *leased, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.request = leased->renewal.prove;
    event.as.answer.anchor_ms = anchor_ms;
    leased->renewal.prove = NULL;
    hf_leased_notify(leased, &event);
}

/* Returns whether no event would report the loss of the ticket ${id} now.  That
 * is so if its owner does not watch it yet, or is asking for a downgrade,
 * during which it watches the ticket neither as a write ticket nor as a read
 * ticket. */
static bool loss_goes_unseen(const struct hf_leased *leased,
                             const struct hf_ticket_id *id)
{
    const struct hf_leased_ticket *ticket = hf_leased_ticket_find(leased, id);

    if (hf_leased_calls_has(leased, HF_STORE_DOWNGRADE, id))
        return true;
    return ticket != NULL && ticket->state == HF_LEASED_TICKET_PRESENT &&
           !ticket->abandoned && !hf_leased_owner_watches(ticket);
}

/* Returns whether ${answer} shows a missing ticket whose loss no event would
 * report. */
static bool loses_ticket_unseen(const struct hf_leased *leased,
                                const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->leases[i].missing &&
            loss_goes_unseen(leased, &answer->tickets[i].id))
            return true;
    }
    return false;
}

/* Report missing tickets, and tickets that are to be released.  Skip a ticket
 * whose ENQUEUE is not answered, because it may be missing without being
 * lost. */
static void apply_renewal(struct hf_leased *leased,
                          const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        const struct hf_ticket_id *id = &answer->tickets[i].id;
        const struct hf_leased_ticket *ticket =
            hf_leased_ticket_find(leased, id);

        if (ticket == NULL || ticket->state != HF_LEASED_TICKET_PRESENT)
            continue;
        if (answer->leases[i].missing)
            hf_leased_ticket_gone(leased, ticket->queue->name, id,
                                  HF_LEASED_MISSING, NULL);
        else
            hf_leased_watches_revoked(leased, id, answer->leases[i].revoked);
    }
}

static bool is_missing(const struct hf_store_answer *answer,
                       const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->leases[i].missing &&
            hf_ticket_id_equal(&answer->tickets[i].id, id))
            return true;
    }
    return false;
}

/* If the renewal has found a ticket whose ENQUEUE got no answer, the ticket is
 * there to stay, because the answer to a RENEW confirms all that was done
 * before it. */
static void confirm_unsure(struct hf_leased *leased,
                           const struct hf_leased_call *call,
                           const struct hf_store_answer *answer)
{
    for (size_t s = 0; s < call->store_call.ticket_set_count; s++) {
        const struct hf_store_ticket_set *set =
            &call->store_call.ticket_sets[s];

        for (size_t i = 0; i < set->count; i++) {
            struct hf_leased_ticket *ticket =
                hf_leased_ticket_find(leased, &set->tickets[i]);

            if (ticket != NULL && ticket->state == HF_LEASED_TICKET_UNSURE &&
                !is_missing(answer, &ticket->id))
                ticket->state = HF_LEASED_TICKET_PRESENT;
        }
    }
}

/* Note that no renewal is under way any more. */
static void end(struct hf_leased *leased)
{
    struct hf_leased_renewal *renewal = &leased->renewal;

    hf_free(renewal->sets);
    renewal->sets = NULL;
    renewal->under_way = false;
    renewal->at_ms = HF_FOREVER;
}

/* End the renewal without an answer, because the link has ended or the session
 * is being closed.  The next link begins with a renewal. */
static void abandon(struct hf_leased *leased)
{
    end(leased);
    fail_prove(leased, NULL);
}

/* The renewal has failed and proves nothing.  The next renewal begins with the
 * first piece again. */
static void fail(struct hf_leased *leased, const struct hf_store_answer *answer)
{
    end(leased);
    leased->renewal.at_ms = hf_after_ms(leased->now_ms, share_ms(leased, 1));
    fail_prove(leased, answer);
    leased->renewal.listener->not_renewed(leased, answer);
}

/* All pieces were answered: every ticket that was there when the first piece
 * was sent has been renewed since, or was found missing. */
static void complete(struct hf_leased *leased)
{
    struct hf_leased_renewal *renewal = &leased->renewal;
    uint64_t anchor_ms = renewal->sent_at_ms;
    bool unseen = renewal->lost_unseen;

    assert(hf_leased_ticket_sets_done(renewal->sets));
    end(leased);
    renewal->at_ms =
        hf_after_ms(anchor_ms, hf_min_ms(share_ms(leased, RENEWAL_SIXTEENTHS),
                                         RENEWAL_INTERVAL_MAX_MS));
    if (unseen) {
        fail_prove_ticket_lost(leased);
        leased->renewal.listener->proved_nothing(leased);
    } else if (leased->renewal.listener->renewed(leased, anchor_ms)) {
        answer_prove(leased, anchor_ms);
    }
}

static bool send_piece(struct hf_leased *leased);

/* Handle the answer to one piece; ${answer} is NULL if the link has ended. */
static void piece_answered(struct hf_leased *leased,
                           struct hf_leased_call *call,
                           const struct hf_store_answer *answer)
{
    const struct hf_store_answer no_memory = {.failure = HF_FAILURE_RETRY,
                                              .status = HF_ENOMEM,
                                              .text = "out of memory"};
    struct hf_leased_renewal *renewal = &leased->renewal;

    assert(renewal->under_way && renewal->sets != NULL);
    if (answer == NULL) {
        abandon(leased);
        return;
    }
    if (!answer->ok) {
        fail(leased, answer);
        return;
    }
    /* Losses are reported before the proof.  If an owner cannot be notified
     * now, this renewal becomes no proof. */
    if (loses_ticket_unseen(leased, answer))
        renewal->lost_unseen = true;
    confirm_unsure(leased, call, answer);
    apply_renewal(leased, answer);
    /* because the receiver of an event has closed the session */
    if (leased->session.connectivity.state == HF_CONNECTIVITY_CLOSED)
        end(leased);
    else if (hf_leased_ticket_sets_done(renewal->sets))
        complete(leased);
    else if (leased->session.connectivity.state == HF_CONNECTIVITY_CLOSING)
        abandon(leased); /* nothing may be sent after a CLOSE_SESSION */
    else if (!send_piece(leased))
        fail(leased, &no_memory);
}

void hf_leased_renewal_clear(struct hf_leased *leased)
{
    leased->renewal.at_ms = HF_FOREVER;
    fail_prove(leased, NULL);
}

/* -------------------------------------------------------------- requests -- */

/* Send the next piece.  Returns false if memory runs out. */
static bool send_piece(struct hf_leased *leased)
{
    struct hf_leased_call *call;

    call = hf_leased_call_new(leased, HF_STORE_RENEW, NULL, NULL);
    if (call == NULL)
        return false;
    hf_leased_ticket_sets_next(leased->renewal.sets, &call->store_call);
    hf_leased_call_begin(leased, call, piece_answered);
    return true;
}

void hf_leased_renew(struct hf_leased *leased)
{
    struct hf_leased_renewal *renewal = &leased->renewal;
    size_t max = leased->config.renewal_piece_max;

    if (renewal->under_way)
        return;
    assert(renewal->sets == NULL);
    renewal->sets = hf_leased_ticket_sets_new(leased, max > 0 ? max : SIZE_MAX);
    if (renewal->sets == NULL || !send_piece(leased)) {
        end(leased);
        renewal->at_ms = hf_after_ms(leased->now_ms, share_ms(leased, 1));
        return;
    }
    renewal->under_way = true;
    renewal->lost_unseen = false;
    renewal->sent_at_ms = leased->now_ms;
    renewal->at_ms = HF_FOREVER;
}

void hf_leased_prove(struct hf_leased *leased, struct hf_request *request)
{
    assert(leased->renewal.prove == NULL);
    hf_leased_renew(leased);
    if (leased->renewal.under_way)
        leased->renewal.prove = request;
    else
        hf_leased_fail_no_memory(leased, request);
}

void hf_leased_renewal_tick(struct hf_leased *leased)
{
    if (leased->now_ms >= leased->renewal.at_ms)
        hf_leased_renew(leased);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See session_close.h.  Sends the pieces of a CLOSE_SESSION, and counts their
 * answers. */
#include "engines/leased/session_close.h"

#include <assert.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"
#include "engines/leased/ticket_sets.h"

/* The most tickets in a piece of a CLOSE_SESSION.  Even a server that is ten
 * times as slow as an idle one answers such a piece well within the timeout of
 * a call.  If the store wants smaller pieces of a renewal, these are used here,
 * too. */
#define PIECE_MAX 128

struct hf_leased_ticket_sets *
hf_leased_session_close_sets(const struct hf_leased *leased)
{
    size_t max = leased->config.renewal_piece_max;

    return hf_leased_ticket_sets_new(
        leased, max > 0 && max < PIECE_MAX ? max : PIECE_MAX);
}

/* Send the next piece of ${sets}.  Returns false if memory runs out. */
static bool send_piece(struct hf_leased *leased,
                       struct hf_leased_ticket_sets *sets,
                       hf_leased_answered_fn *answered)
{
    struct hf_leased_call *call =
        hf_leased_call_new(leased, HF_STORE_CLOSE_SESSION, NULL, NULL);

    if (call == NULL)
        return false;
    hf_leased_ticket_sets_next(sets, &call->store_call);
    hf_leased_call_begin(leased, call, answered);
    return true;
}

/* Allow the server to be silent for .limit_ms from now on. */
static void restart_timeout(struct hf_leased *leased)
{
    hf_connectivity_closing(&leased->session.connectivity, leased->now_ms,
                            leased->session.close.limit_ms);
}

static bool is_closing(const struct hf_leased *leased)
{
    return leased->session.connectivity.state == HF_CONNECTIVITY_CLOSING;
}

/* Handle that a piece was answered.  The last answer ends the close.  Any other
 * answer restarts the timeout, but a failure does not, because it is no
 * progress. */
static void go_on(struct hf_leased *leased,
                  const struct hf_store_answer *answer)
{
    struct hf_leased_session_close *close = &leased->session.close;

    /* the link has ended, or this was a piece of an older session only */
    if (answer == NULL || !is_closing(leased))
        return;
    if (close->own == NULL && close->old == NULL)
        close->closed(leased);
    else if (answer->ok)
        restart_timeout(leased);
}

/* ---------------------------------------------------- the session before -- */

void hf_leased_session_close_keep(struct hf_leased *leased,
                                  struct hf_leased_ticket_sets *sets)
{
    hf_leased_session_close_free(leased);
    leased->session.close.old = sets;
}

void hf_leased_session_close_free(struct hf_leased *leased)
{
    hf_free(leased->session.close.old);
    leased->session.close.old = NULL;
}

/* Send the next piece even if this one failed.  Tickets that are not removed
 * expire by themselves. */
static void old_piece_answered(struct hf_leased *leased,
                               struct hf_leased_call *call,
                               const struct hf_store_answer *answer)
{
    struct hf_leased_ticket_sets *old = leased->session.close.old;

    (void)call;
    if (answer == NULL || hf_leased_ticket_sets_done(old) ||
        !send_piece(leased, old, old_piece_answered))
        hf_leased_session_close_free(leased);
    go_on(leased, answer);
}

void hf_leased_session_close_old(struct hf_leased *leased)
{
    struct hf_leased_ticket_sets *old = leased->session.close.old;

    if (old != NULL && !send_piece(leased, old, old_piece_answered))
        hf_leased_session_close_free(leased);
}

/* ---------------------------------------------------------- this session -- */

static void own_piece_answered(struct hf_leased *leased,
                               struct hf_leased_call *call,
                               const struct hf_store_answer *answer)
{
    struct hf_leased_session_close *close = &leased->session.close;

    (void)call;
    assert(close->own_calls > 0);
    if (--close->own_calls == 0) {
        hf_free(close->own);
        close->own = NULL;
    }
    go_on(leased, answer);
}

/* Returns how long the server may be silent.  A single piece is removed at once
 * if the server is there at all, so the short time is enough. */
static uint64_t limit_ms(const struct hf_leased *leased)
{
    const struct hf_leased_session_close *close = &leased->session.close;

    if (close->own_calls == 1 && close->old == NULL)
        return HF_CLOSE_TIMEOUT_MS;
    return hf_max_ms(HF_CLOSE_TIMEOUT_MS,
                     hf_leased_call_timeout_ms(leased->config.ttl_ms));
}

bool hf_leased_session_close_begin(struct hf_leased *leased)
{
    struct hf_leased_session_close *close = &leased->session.close;

    close->own = hf_leased_session_close_sets(leased);
    if (close->own == NULL)
        return false;
    do {
        if (!send_piece(leased, close->own, own_piece_answered))
            break; /* the other tickets expire by themselves */
        close->own_calls++;
    } while (!hf_leased_ticket_sets_done(close->own));
    if (close->own_calls == 0) {
        hf_free(close->own);
        close->own = NULL;
        return false;
    }
    close->limit_ms = limit_ms(leased);
    restart_timeout(leased);
    return true;
}

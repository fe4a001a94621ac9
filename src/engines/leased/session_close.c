/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the pieces of a CLOSE_SESSION, and counts their answers. */
#include "engines/leased/session_close.h"

#include <assert.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"
#include "engines/leased/ticket_sets.h"

/* The most tickets in a piece, so that a server that is ten times as slow as
 * an idle one answers well within the timeout of a call.  A store that wants
 * smaller pieces of a renewal gets smaller pieces here, too. */
#define PIECE_MAX 128

struct hf_leased_ticket_sets *
hf_leased_session_close_sets(const struct hf_leased *leased)
{
    size_t max = leased->config.renewal_piece_max;

    return hf_leased_ticket_sets_new(
        leased, max > 0 && max < PIECE_MAX ? max : PIECE_MAX);
}

/* Send the next piece of ${sets}.  False if memory runs out. */
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

/* From now on the server may be silent for .limit_ms, and not longer. */
static void restart_timeout(struct hf_leased *leased)
{
    hf_connectivity_closing(&leased->session.connectivity, leased->now_ms,
                            leased->session.close.limit_ms);
}

static bool is_closing(const struct hf_leased *leased)
{
    return leased->session.connectivity.state == HF_CONNECTIVITY_CLOSING;
}

/* The server has answered a piece.  The answer to the last one ends the close;
 * any other restarts the timeout, except a failure, which is no progress. */
static void go_on(struct hf_leased *leased,
                  const struct hf_store_answer *answer)
{
    struct hf_leased_session_close *close = &leased->session.close;

    if (answer == NULL || !is_closing(leased))
        return; /* the link ended, or the session goes on */
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

/* Even if a piece failed, the next one is sent.  Tickets that are not removed
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

/* One piece is removed at once if the server is there at all, so the short
 * time is enough. */
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
            break; /* the rest of the tickets expires */
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

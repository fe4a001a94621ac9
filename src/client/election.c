/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An election: its references, and what any thread may read of it without the
 * lock.
 */
#include "client/election.h"

#include <assert.h>

#include "client/list_evict_revoke.h"

void hf_election_reference(struct hf_election *e)
{
    e->references++;
}

void hf_election_dereference(struct hf_election *e)
{
    assert(e->references > 0);
    if (--e->references == 0)
        hf_monitor_defer_free(&e->client->monitor, &e->deferred);
}

/* -------------------------------------------------------------- looking -- */

/* Safe-until of this leadership by the clock of the core, without the lock.
 * The token is read before and after, because leaderships follow one another: a
 * value that was read before this one began may belong to the session before,
 * and may be later than what this one has. */
static uint64_t safe_until_ms(const struct hf_election *e)
{
    const struct hf_safe_until *word = &e->client->core.session.published;
    uint64_t token = atomic_load(&e->token);
    uint64_t until_ms = hf_safe_until_read(word, &e->valid);

    return token != 0 && token == atomic_load(&e->token) ? until_ms : 0;
}

/* In a lazy session a leadership outlasts safe-until, so it is over only when
 * safe-until reads as 0, which it does as soon as the token or .valid is
 * gone. */
bool hf_election_is_leader(const struct hf_election *e)
{
    uint64_t until_ms = safe_until_ms(e);

    if (hf_session_is_lazy(&e->client->core.session))
        return until_ms != 0;
    return until_ms > hf_now_ms();
}

/* 0 in a child of a fork, where nothing is led. */
uint64_t hf_election_token(const struct hf_election *e)
{
    return hf_fork_is_child(&e->client->monitor.fork) ? 0
                                                      : atomic_load(&e->token);
}

uint64_t hf_election_safe_until_ms(const struct hf_election *e)
{
    return hf_boottime_of_ms(safe_until_ms(e));
}

hf_status hf_election_tickets(struct hf_election *e,
                              enum hf_tickets_which which, uint64_t wait_ms,
                              struct hf_tickets **tickets)
{
    return hf_lock_list_for(e->lock, "hf_election_tickets", which, wait_ms,
                            tickets);
}

hf_status hf_election_tickets_start(struct hf_election *e,
                                    enum hf_tickets_which which,
                                    uint64_t wait_ms, struct hf_done done)
{
    return hf_lock_list_start_for(e->lock, "hf_election_tickets_start", which,
                                  wait_ms, done);
}

void hf_election_error(const struct hf_election *e, struct hf_error *error)
{
    hf_lock_error(e->lock, error);
}

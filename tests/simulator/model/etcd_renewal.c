/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of keep-alives.  A stream answers one after the other, and the header
 * of an answer is filled in before the renewal (v3rpc/lease.go).  A follower
 * asks its leader by HTTP (lease/leasehttp), in a request that may hang for as
 * long as the leader does, and holds up the whole stream. */
#include "simulator/model/etcd_internal.h"

#define MS_US UINT64_C(1000)
#define AGAIN_US (50 * MS_US)
#define PAUSE_US (20 * MS_US)

static uint64_t limit_us(const struct hf_sim *sim)
{
    return 5000 * MS_US + 2 * etcd_election_us(sim); /* ReqTimeout() */
}

static void try_renew(struct etcd_renewal *renewal);

/* ---------------------------------------------------------------- answer -- */

static void answer(struct etcd_renewal *renewal, int64_t ttl)
{
    struct etcd_call *call = renewal->call;
    struct etcd_writer out = {0};

    if (renewal->done)
        return;
    renewal->done = true;
    if (!etcd_call_lives(call))
        return;
    etcd_put_header(call, &out, renewal->revision, renewal->term);
    etcd_put_integer(&out, 2, (uint64_t)renewal->lease);
    etcd_put_integer(&out, 3, (uint64_t)ttl);
    etcd_call_message(call, etcd_written(&out));
    etcd_writer_free(&out);
    etcd_call_go_on(call);
}

static void time_out(void *arg)
{
    struct etcd_renewal *renewal = arg;

    if (renewal->done)
        return;
    renewal->done = true;
    if (etcd_call_lives(renewal->call))
        etcd_call_end(renewal->call, ETCD_TIMED_OUT);
}

/* --------------------------------------------------------------- waiting -- */

static void wait_at(struct etcd_renewal *renewal, struct etcd_member *lessor)
{
    renewal->waits_at = lessor;
    renewal->next = lessor->waiting_renewals;
    lessor->waiting_renewals = renewal;
}

static void send_back(struct etcd_member *lessor, struct etcd_renewal *renewal,
                      enum etcd_message_kind kind, int64_t ttl)
{
    struct etcd_message *message = etcd_message_new(lessor->sim, kind);

    message->renewal = renewal;
    message->ttl = ttl;
    etcd_peer_forward(lessor, renewal->member, message);
}

/* The second half of a renewal. */
static void refresh(void *arg)
{
    struct etcd_renewal *renewal = arg;
    struct etcd_member *lessor = renewal->waits_at;
    int64_t ttl = etcd_lessor_refresh(lessor, renewal->lease);

    if (renewal->member == lessor)
        answer(renewal, ttl);
    else
        send_back(lessor, renewal, ETCD_RENEWED, ttl);
}

/* The process may be stopped between the two halves. */
static void refresh_soon(struct etcd_renewal *renewal,
                         struct etcd_member *lessor)
{
    struct hf_sim *sim = lessor->sim;

    renewal->waits_at = lessor;
    if (sim_happens(sim, sim->config.etcd.lag_chance))
        etcd_member_later(lessor, PAUSE_US, refresh, renewal);
    else
        refresh(renewal);
}

/* A leader renews what a follower has forwarded.  It does not ask whether it
 * still leads. */
static void renew_for(struct etcd_member *lessor, struct etcd_renewal *renewal)
{
    switch (lessor->down ? ETCD_IS_NOT_PRIMARY
                         : etcd_lessor_check(lessor, renewal->lease)) {
    case ETCD_IS_RENEWED:
        refresh_soon(renewal, lessor);
        break;
    case ETCD_IS_NO_LEASE:
        send_back(lessor, renewal, ETCD_RENEWED, 0);
        break;
    case ETCD_IS_EXPIRED:
        wait_at(renewal, lessor);
        break;
    default:
        send_back(lessor, renewal, ETCD_RENEW_FAILED, 0);
    }
}

void etcd_renewals_retry(struct etcd_member *member)
{
    struct etcd_renewal *first = member->waiting_renewals;

    member->waiting_renewals = NULL;
    while (first != NULL) {
        struct etcd_renewal *next = first->next;

        if (first->member == member)
            try_renew(first);
        else
            renew_for(member, first);
        first = next;
    }
}

/* -------------------------------------------------------------- renewals -- */

static void again(void *arg)
{
    try_renew(arg);
}

/* Without a leader etcd waits for an election, and looks again. */
static void forward(struct etcd_renewal *renewal)
{
    struct etcd_member *member = renewal->member;
    struct etcd_member *leader = etcd_known_leader(member);
    struct etcd_message *message;

    if (renewal->until_us == 0) {
        renewal->until_us = member->sim->now_us + limit_us(member->sim);
        etcd_member_after(member, limit_us(member->sim), time_out, renewal);
    }
    if (leader == NULL || leader == member) {
        etcd_member_after(
            member, leader == NULL ? etcd_election_us(member->sim) : AGAIN_US,
            again, renewal);
        return;
    }
    message = etcd_message_new(member->sim, ETCD_RENEW);
    message->renewal = renewal;
    etcd_peer_forward(member, leader, message);
}

static void try_renew(struct etcd_renewal *renewal)
{
    if (renewal->done || !etcd_call_lives(renewal->call))
        return;
    switch (etcd_lessor_check(renewal->member, renewal->lease)) {
    case ETCD_IS_RENEWED:
        refresh_soon(renewal, renewal->member);
        break;
    case ETCD_IS_NO_LEASE:
        answer(renewal, 0);
        break;
    case ETCD_IS_EXPIRED:
        wait_at(renewal, renewal->member);
        break;
    default:
        forward(renewal);
    }
}

/* The member of the stream has stopped meanwhile: its renewals are of an
 * earlier life. */
void etcd_renewal_receive(struct etcd_member *member, struct etcd_member *from,
                          struct etcd_message *message)
{
    struct etcd_renewal *renewal = message->renewal;

    (void)from;
    if (message->kind == ETCD_RENEW)
        renew_for(member, renewal);
    else if (message->kind == ETCD_RENEWED)
        answer(renewal, message->ttl);
    else if (!renewal->done && etcd_call_lives(renewal->call))
        etcd_member_after(member, AGAIN_US, again, renewal);
}

/* The token of the stream is not looked at again, as in etcd 3.4. */
void etcd_keep_alive(struct etcd_call *call, struct etcd_bytes message)
{
    struct etcd_member *member = call->member;
    struct etcd_renewal *renewal = sim_alloc(member->sim, sizeof *renewal);
    struct etcd_pair pair;

    if (!etcd_read_pair(message, &pair)) {
        etcd_call_end(call, ETCD_MALFORMED);
        return;
    }
    call->busy = true;
    renewal->call = call;
    renewal->member = member;
    renewal->lease = pair.first;
    renewal->revision = member->applied->revision;
    renewal->term = etcd_applied_term(member);
    try_renew(renewal);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lessor of each member (lease/lessor.go).  That of the leader is primary:
 * it alone knows when leases expire, by its own clock and in its memory, and
 * proposes their end.
 *
 * What makes it dangerous: whether the lessor is primary is not the same as
 * whether the member leads.  It is promoted when the member applies the first
 * entry of its term, and demoted when etcdserver handles that it leads no more.
 * In between it renews leases although another leader is in office.
 */
#include "simulator/model/etcd_internal.h"

#define SECOND_US 1000000
#define EXPIRY_US (SECOND_US / 2)
#define RETRY_US                                                               \
    (3 * (uint64_t)SECOND_US) /* defaultExpiredleaseRetryInterval */

struct etcd_lease *etcd_lease_find(const struct etcd_cluster *cluster,
                                   int64_t id, uint64_t index)
{
    struct etcd_lease *lease = cluster->leases;

    while (lease != NULL &&
           (lease->id != id || lease->granted_index > index ||
            (lease->ended_index != 0 && lease->ended_index <= index)))
        lease = lease->next;
    return lease;
}

/* minTTL: one and a half elections, in whole seconds. */
uint64_t etcd_least_ttl_ms(const struct hf_sim *sim)
{
    return (3 * sim->config.etcd.election_ms / 2 + 999) / 1000 * 1000;
}

static bool is_known(const struct etcd_member *member,
                     const struct etcd_lease *lease)
{
    uint64_t applied = member->applied->index;

    return lease->granted_index <= applied &&
           (lease->ended_index == 0 || lease->ended_index > applied);
}

static void start_anew(struct etcd_member *member, struct etcd_lease *lease,
                       uint64_t extension_us)
{
    lease->expires_us[member->index] =
        etcd_clock_us(member) + extension_us + 1000 * lease->ttl_ms;
}

/* Every lease lasts at least as long from now on. */
void etcd_lessor_promote(struct etcd_member *member)
{
    struct etcd_lease *lease = member->sim->etcd->leases;

    member->primary = true;
    member->primary_term = member->applied->term;
    member->expiry_us = etcd_clock_us(member) + EXPIRY_US;
    for (; lease != NULL; lease = lease->next) {
        if (is_known(member, lease))
            start_anew(member, lease, etcd_election_us(member->sim));
        lease->retry_us[member->index] = 0;
    }
    etcd_member_arm(member);
}

void etcd_lessor_demote(struct etcd_member *member)
{
    if (!member->primary)
        return;
    member->primary = false;
    etcd_renewals_retry(member);
}

void etcd_lessor_granted(struct etcd_member *member, struct etcd_lease *lease)
{
    lease->expires_us[member->index] = UINT64_MAX;
    if (member->primary)
        start_anew(member, lease, 0);
}

static void propose_end(struct etcd_member *member, struct etcd_lease *lease)
{
    struct etcd_command *command = sim_alloc(member->sim, sizeof *command);

    command->kind = ETCD_REVOKE;
    command->lease = lease->id;
    command->engine = lease->engine;
    command->decided_in = member->primary_term;
    etcd_propose(member, command);
}

/* etcd carries out the proposals one by one, so that a leader that is deposed
 * meanwhile forwards those that are left. */
void etcd_lessor_expire(struct etcd_member *member)
{
    uint64_t now_us = etcd_clock_us(member);
    unsigned i = member->index;

    if (now_us < member->expiry_us)
        return;
    member->expiry_us = now_us + EXPIRY_US;
    for (struct etcd_lease *l = member->sim->etcd->leases;
         l != NULL && member->primary; l = l->next) {
        if (!is_known(member, l) || l->expires_us[i] > now_us ||
            l->retry_us[i] > now_us)
            continue;
        l->retry_us[i] = now_us + RETRY_US;
        propose_end(member, l);
    }
}

/* The two halves of Renew() of the lessor, which asks nobody whether its member
 * leads.  It looks whether the lease has expired, and begins it anew a moment
 * later, whatever has been decided in between. */
enum etcd_renewed etcd_lessor_check(struct etcd_member *member, int64_t id)
{
    struct etcd_lease *lease =
        etcd_lease_find(member->sim->etcd, id, member->applied->index);

    if (!member->primary)
        return ETCD_IS_NOT_PRIMARY;
    if (lease == NULL)
        return ETCD_IS_NO_LEASE;
    if (lease->expires_us[member->index] <= etcd_clock_us(member))
        return ETCD_IS_EXPIRED;
    return ETCD_IS_RENEWED;
}

int64_t etcd_lessor_refresh(struct etcd_member *member, int64_t id)
{
    struct etcd_lease *lease =
        etcd_lease_find(member->sim->etcd, id, member->applied->index);

    if (lease == NULL) /* it has ended in between */
        return 1;
    start_anew(member, lease, 0);
    return (int64_t)(lease->ttl_ms / 1000);
}

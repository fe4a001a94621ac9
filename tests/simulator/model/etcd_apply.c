/* SPDX-License-Identifier: Apache-2.0 */
/* A member applies the entries that are committed, some time after it has
 * learnt that they are: then it answers the calls that wait for them, and sends
 * the events. */
#include "simulator/model/etcd_internal.h"

uint64_t etcd_applied_term(const struct etcd_member *member)
{
    return member->applied->term;
}

/* As applyEntryNormal(): a leader's lessor is promoted by the first entry of
 * its term. */
static void apply(struct etcd_member *member, struct etcd_entry *entry)
{
    struct etcd_command *command = entry->command;
    int64_t before = member->applied->revision;

    member->applied = entry;
    if (command->kind == ETCD_NO_OP && member->leads)
        etcd_lessor_promote(member);
    if (command->kind == ETCD_GRANT && entry->lease != NULL)
        etcd_lessor_granted(member, (struct etcd_lease *)entry->lease);
    if (command->kind == ETCD_REVOKE && entry->lease != NULL)
        etcd_renewals_retry(member);
    if (entry->token != NULL)
        etcd_token_applied(member, entry->token);
    if (entry->revision > before)
        etcd_watches_notify(member);
    if (command->call != NULL && command->member == member)
        etcd_proposal_done(command->call, entry);
}

/* Those that waited for the entry. */
static void run_reads(struct etcd_member *member)
{
    struct etcd_read **at = &member->reads;

    while (*at != NULL) {
        struct etcd_read *read = *at;

        if (read->index > member->applied->index) {
            at = &read->next;
            continue;
        }
        *at = read->next;
        read->next = NULL;
        etcd_read_done(read);
    }
}

static void apply_all(void *arg)
{
    struct etcd_member *member = arg;

    member->applying = false;
    while (member->applied != member->handed)
        apply(member, member->applied->following);
    run_reads(member);
}

void etcd_apply_soon(struct etcd_member *member)
{
    if (member->applying || member->applied == member->handed)
        return;
    member->applying = true;
    etcd_member_later(member, member->sim->config.etcd.apply_max_us, apply_all,
                      member);
}

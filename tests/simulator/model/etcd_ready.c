/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What etcdserver does with what raft has decided (raftNode.start() of
 * etcdserver/raft.go): it writes the log to the disk, sends the messages,
 * publishes who leads, and hands over what is committed.
 *
 * All that is one goroutine, which also counts the ticks of raft.  While it
 * waits for the disk none of that happens, but raft goes on receiving messages
 * and taking proposals, and the lessor of a leader stays primary although raft
 * may know of another leader.
 */
#include "simulator/model/etcd_internal.h"

struct etcd_member *etcd_known_leader(const struct etcd_member *member)
{
    return member->known_lead < 0
               ? NULL
               : &member->sim->etcd->members[member->known_lead];
}

static void save(struct etcd_member *member)
{
    member->saved_log = member->log;
    member->saved_term = member->term;
    member->saved_vote = member->vote;
}

static void send_all(struct etcd_member *member)
{
    struct etcd_message *message = member->outbox;

    member->outbox = NULL;
    member->outbox_end = &member->outbox;
    while (message != NULL) {
        struct etcd_message *next = message->next;

        message->next = NULL;
        etcd_peer_send(member, message);
        message = next;
    }
}

/* The lessor of a member that does not lead is demoted. */
static void publish(struct etcd_member *member)
{
    bool leads = member->role == ETCD_LEADER;
    bool changes = leads != member->leads || member->lead != member->known_lead;

    member->leads = leads;
    member->known_lead = member->lead;
    if (member->lead >= 0)
        member->no_leader_since_us = 0;
    else if (member->no_leader_since_us == 0)
        member->no_leader_since_us = member->sim->now_us;
    if (changes && !leads)
        etcd_lessor_demote(member);
}

void etcd_ready(struct etcd_member *member)
{
    if (member->down || member->frozen || member->disk_stuck)
        return;
    etcd_propose_waiting(member);
    save(member);
    publish(member);
    send_all(member);
    member->handed = member->commit;
    etcd_commit(member->sim->etcd, member->commit);
    etcd_apply_soon(member);
    if (member->leads)
        etcd_commands_push(member->sim->etcd);
    etcd_member_arm(member);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Raft (Ongaro, Ousterhout 2014) as etcd's package raft does it, with
 * CheckQuorum and without PreVote: a leader that no majority answers for an
 * election timeout steps down, and a follower whose leader sends votes for
 * nobody.  Messages go into .outbox; etcd_ready() sends them.
 *
 * A log is a chain of entries that is shared in memory, so an append carries
 * the end of the leader's log and brings all of it: what takes several round
 * trips of etcd takes one here. */
#include "simulator/model/etcd_internal.h"

#include <assert.h>

/* A leader sends heartbeats this often in an election timeout. */
#define HEARTBEATS 3

uint64_t etcd_election_us(const struct hf_sim *sim)
{
    return 1000 * sim->config.etcd.election_ms;
}

static unsigned bit(const struct etcd_member *member)
{
    return 1u << member->index;
}

static bool is_majority(const struct etcd_member *member, unsigned bits)
{
    return (unsigned)__builtin_popcount(bits) > member->sim->etcd->count / 2;
}

/* The logs part at most a few entries before the end. */
bool etcd_log_has(const struct etcd_entry *entry, const struct etcd_entry *part)
{
    while (entry != NULL && entry->index > part->index)
        entry = entry->previous;
    return entry == part;
}

static bool is_newer(const struct etcd_entry *a, const struct etcd_entry *b)
{
    return a->term != b->term ? a->term > b->term : a->index >= b->index;
}

/* -------------------------------------------------------------- messages -- */

static struct etcd_message *put(struct etcd_member *from,
                                struct etcd_member *to,
                                enum etcd_message_kind kind)
{
    struct etcd_message *message = etcd_message_new(from->sim, kind);

    message->term = from->term;
    message->to = to;
    *from->outbox_end = message;
    from->outbox_end = &message->next;
    return message;
}

static void send_append(struct etcd_member *leader, struct etcd_member *to,
                        struct etcd_read *read)
{
    struct etcd_message *message = put(leader, to, ETCD_APPEND);

    message->entry = leader->log;
    message->commit = leader->commit;
    message->read = read;
    message->item.background = leader->match[to->index] == leader->log->index &&
                               leader->log == leader->commit && read == NULL;
}

static void append_to_all(struct etcd_member *leader, struct etcd_read *read)
{
    struct etcd_cluster *cluster = leader->sim->etcd;

    for (unsigned i = 0; i < cluster->count; i++) {
        if (i != leader->index)
            send_append(leader, &cluster->members[i], read);
    }
}

/* ----------------------------------------------------------------- roles -- */

static void draw_election(struct etcd_member *member)
{
    uint64_t timeout_us = etcd_election_us(member->sim);

    member->election_us =
        etcd_ticks_us(member) +
        sim_random_between(member->sim, timeout_us, 2 * timeout_us - 1);
}

/* etcd demotes the lessor when it handles this, which may be later.  Without
 * stale renewals it is at once. */
static void become_follower(struct etcd_member *member, uint64_t term, int lead)
{
    bool led = member->role == ETCD_LEADER;

    if (term > member->term) {
        member->term = term;
        member->vote = -1;
    }
    member->role = ETCD_FOLLOWER;
    member->lead = lead;
    member->received_us = etcd_ticks_us(member);
    draw_election(member);
    if (led)
        sim_trace(member->sim, NULL, "m%u leads no more", member->index + 1);
    if (led && !member->sim->config.etcd.stale_renewals)
        etcd_lessor_demote(member);
}

/* The greatest entry of its own term that a majority has. */
static void commit_what_can_be(struct etcd_member *leader)
{
    struct etcd_entry *entry = leader->log;
    struct etcd_cluster *cluster = leader->sim->etcd;

    for (; entry->index > leader->commit->index && entry->term == leader->term;
         entry = entry->previous) {
        unsigned bits = bit(leader);

        for (unsigned i = 0; i < cluster->count; i++)
            bits |= leader->match[i] >= entry->index ? 1u << i : 0;
        if (!is_majority(leader, bits))
            continue;
        leader->commit = entry;
        append_to_all(leader, NULL);
        return;
    }
}

static void append(struct etcd_member *leader, struct etcd_command *command)
{
    struct etcd_entry *entry = sim_alloc(leader->sim, sizeof *entry);

    entry->index = leader->log->index + 1;
    entry->term = leader->term;
    entry->previous = leader->log;
    entry->command = command;
    leader->log = entry;
    leader->match[leader->index] = entry->index;
    append_to_all(leader, NULL);
    commit_what_can_be(leader);
}

static void become_leader(struct etcd_member *member)
{
    struct etcd_command *nothing = sim_alloc(member->sim, sizeof *nothing);

    member->role = ETCD_LEADER;
    member->lead = (int)member->index;
    member->active = bit(member);
    for (unsigned i = 0; i < ETCD_MEMBERS_MAX; i++)
        member->match[i] = 0;
    member->heartbeat_us = etcd_ticks_us(member);
    member->quorum_us = etcd_ticks_us(member) + etcd_election_us(member->sim);
    sim_trace(member->sim, NULL, "m%u leads in term %u", member->index + 1,
              (unsigned)member->term);
    append(member, nothing);
}

static void campaign(struct etcd_member *member)
{
    struct etcd_cluster *cluster = member->sim->etcd;

    member->term++;
    member->role = ETCD_CANDIDATE;
    member->vote = (int)member->index;
    member->lead = -1;
    member->votes = bit(member);
    member->refusals = 0;
    draw_election(member);
    if (is_majority(member, member->votes)) {
        become_leader(member);
        return;
    }
    for (unsigned i = 0; i < cluster->count; i++) {
        if (i != member->index)
            put(member, &cluster->members[i], ETCD_VOTE)->entry = member->log;
    }
}

void etcd_raft_start(struct etcd_member *member)
{
    member->role = ETCD_FOLLOWER;
    member->lead = -1;
    draw_election(member);
}

/* ----------------------------------------------------------------- votes -- */

static bool in_lease(const struct etcd_member *member)
{
    return member->role == ETCD_LEADER ||
           (member->lead >= 0 &&
            etcd_ticks_us(member) <
                member->received_us + etcd_election_us(member->sim));
}

/* The term of the message is the term of the member. */
static void vote(struct etcd_member *member, struct etcd_member *from,
                 const struct etcd_message *message)
{
    bool free = member->vote == (int)from->index ||
                (member->vote < 0 && member->lead < 0);
    bool granted = free && is_newer(message->entry, member->log);

    if (granted) {
        member->vote = (int)from->index;
        draw_election(member);
    }
    put(member, from, ETCD_VOTED)->granted = granted;
}

static void count_vote(struct etcd_member *member,
                       const struct etcd_member *from, bool granted)
{
    if (member->role != ETCD_CANDIDATE)
        return;
    *(granted ? &member->votes : &member->refusals) |= bit(from);
    if (is_majority(member, member->votes))
        become_leader(member);
    else if (is_majority(member, member->refusals))
        become_follower(member, member->term, -1);
}

/* --------------------------------------------------------------- appends -- */

static void receive_append(struct etcd_member *member,
                           struct etcd_member *leader,
                           const struct etcd_message *message)
{
    struct etcd_message *answer;

    assert(member->role != ETCD_LEADER || message->term > member->term);
    become_follower(member, message->term, (int)leader->index);
    if (!etcd_log_has(member->log, message->entry))
        member->log = message->entry;
    if (message->commit->index > member->commit->index)
        member->commit = message->commit;
    assert(etcd_log_has(member->log, member->commit));
    answer = put(member, leader, ETCD_APPENDED);
    answer->index = message->entry->index;
    answer->read = message->read;
    answer->item.background = message->item.background;
}

static void finish_read(struct etcd_member *leader, struct etcd_read *read)
{
    if (read->at_known || read->leader != leader ||
        read->term != leader->term || !is_majority(leader, read->acked))
        return;
    read->at_known = true;
    if (read->member == leader) {
        etcd_read_done(read);
        return;
    }
    put(leader, read->member, ETCD_READ_AT)->read = read;
}

static void receive_appended(struct etcd_member *leader,
                             const struct etcd_member *from,
                             const struct etcd_message *message)
{
    if (leader->role != ETCD_LEADER)
        return;
    leader->active |= bit(from);
    if (message->index > leader->match[from->index]) {
        leader->match[from->index] = message->index;
        commit_what_can_be(leader);
    }
    if (message->read != NULL) {
        message->read->acked |= bit(from);
        finish_read(leader, message->read);
    }
}

/* ----------------------------------------------------------------- reads -- */

/* A leader that has committed nothing in its term does not know which index is
 * committed; etcd drops the request then, and the member repeats it. */
static void read_at_leader(struct etcd_member *leader, struct etcd_read *read)
{
    if (leader->role != ETCD_LEADER || leader->commit->term != leader->term)
        return;
    read->leader = leader;
    read->term = leader->term;
    read->index = leader->commit->index;
    read->acked = bit(leader);
    finish_read(leader, read);
    if (!read->at_known)
        append_to_all(leader, read);
}

void etcd_read_begin(struct etcd_member *member, struct etcd_read *read)
{
    struct etcd_member *leader = etcd_known_leader(member);

    if (member->role == ETCD_LEADER)
        read_at_leader(member, read);
    else if (leader != NULL && leader != member)
        put(member, leader, ETCD_READ)->read = read;
    etcd_ready(member);
}

/* ------------------------------------------------------------- proposals -- */

/* Without stale revocations the end of a lease is committed only in the term
 * whose lessor has decided it: the assumption of docs/engine-etcd.md. */
static bool is_stale(const struct etcd_member *member,
                     const struct etcd_command *command)
{
    return command->decided_in != 0 &&
           !member->sim->config.etcd.stale_revokes &&
           (member->role != ETCD_LEADER || member->term != command->decided_in);
}

static void propose(struct etcd_member *member, struct etcd_command *command)
{
    if (is_stale(member, command))
        return;
    if (member->role == ETCD_LEADER) {
        append(member, command);
    } else if (member->lead >= 0) {
        put(member, &member->sim->etcd->members[member->lead], ETCD_PROPOSE)
            ->command = command;
    } else {
        command->next = member->waiting;
        member->waiting = command;
    }
}

void etcd_propose(struct etcd_member *member, struct etcd_command *command)
{
    propose(member, command);
    etcd_ready(member);
}

/* Those that waited for a leader, unless the call has ended meanwhile. */
void etcd_propose_waiting(struct etcd_member *member)
{
    struct etcd_command *command;

    while (member->lead >= 0 && (command = member->waiting) != NULL) {
        member->waiting = command->next;
        command->next = NULL;
        if (command->call == NULL || etcd_call_lives(command->call))
            propose(member, command);
    }
}

/* --------------------------------------------------------------- receive -- */

/* False: the message is of no use. */
static bool take_term(struct etcd_member *member, struct etcd_member *from,
                      const struct etcd_message *message)
{
    if (message->term > member->term) {
        if (message->kind == ETCD_VOTE && in_lease(member))
            return false;
        if (message->kind != ETCD_APPEND)
            become_follower(member, message->term, -1);
        return true;
    }
    if (message->term == member->term)
        return true;
    /* A leader of an earlier term learns that it is none any more. */
    if (message->kind == ETCD_APPEND)
        put(member, from, ETCD_APPENDED);
    return false;
}

static void receive_of_term(struct etcd_member *member,
                            struct etcd_member *from,
                            const struct etcd_message *message)
{
    switch (message->kind) {
    case ETCD_APPEND:
        receive_append(member, from, message);
        break;
    case ETCD_APPENDED:
        receive_appended(member, from, message);
        break;
    case ETCD_VOTE:
        vote(member, from, message);
        break;
    case ETCD_VOTED:
        count_vote(member, from, message->granted);
        break;
    default:
        break;
    }
}

/* What a follower forwards has no term. */
void etcd_raft_receive(struct etcd_member *member, struct etcd_member *from,
                       struct etcd_message *message)
{
    switch (message->kind) {
    case ETCD_PROPOSE:
        if (member->lead >= 0 && member->role != ETCD_CANDIDATE)
            propose(member, message->command);
        break;
    case ETCD_READ:
        read_at_leader(member, message->read);
        break;
    case ETCD_READ_AT:
        etcd_read_done(message->read);
        break;
    default:
        if (take_term(member, from, message))
            receive_of_term(member, from, message);
    }
    etcd_ready(member);
}

/* ------------------------------------------------------------------ time -- */

static void leader_tick(struct etcd_member *leader)
{
    uint64_t now_us = etcd_ticks_us(leader);
    uint64_t election_us = etcd_election_us(leader->sim);

    if (now_us >= leader->quorum_us) {
        bool quorum = is_majority(leader, leader->active);

        leader->active = bit(leader);
        leader->quorum_us = now_us + election_us;
        if (!quorum) {
            become_follower(leader, leader->term, -1);
            return;
        }
    }
    if (now_us >= leader->heartbeat_us) {
        leader->heartbeat_us = now_us + election_us / HEARTBEATS;
        append_to_all(leader, NULL);
    }
}

void etcd_raft_tick(struct etcd_member *member)
{
    if (member->role == ETCD_LEADER)
        leader_tick(member);
    else if (etcd_ticks_us(member) >= member->election_us)
        campaign(member);
    etcd_ready(member);
}

uint64_t etcd_raft_next_us(const struct etcd_member *member)
{
    if (member->role != ETCD_LEADER)
        return member->election_us;
    return member->heartbeat_us < member->quorum_us ? member->heartbeat_us
                                                    : member->quorum_us;
}

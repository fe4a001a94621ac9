/* SPDX-License-Identifier: Apache-2.0 */
/* What a committed entry does to keys, leases and users (etcdserver/apply.go).
 * It is computed once, at the instant in which the leader publishes that a
 * majority has the entry: the answer and the events that every member brings
 * its clients when it applies the entry. */
#include "simulator/model/etcd_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Seconds; MaxLeaseTTL. */
#define TTL_MAX 9000000000

static bool lease_known(void *arg, int64_t lease)
{
    return etcd_lease_find(arg, lease, UINT64_MAX) != NULL;
}

static enum etcd_error write_keys(struct etcd_cluster *cluster,
                                  const struct etcd_command *command,
                                  struct etcd_writer *out)
{
    struct etcd_store *store = &cluster->store;
    enum etcd_error error;

    etcd_store_begin(store);
    error =
        command->op.kind == ETCD_OP_TXN
            ? etcd_store_txn(store, command->op.txn, lease_known, cluster, out)
            : etcd_store_op(store, &command->op, lease_known, cluster, out);
    etcd_store_end(store);
    return error;
}

static bool needs_space(const struct etcd_command *command)
{
    switch (command->kind) {
    case ETCD_GRANT:
        return true;
    case ETCD_WRITE:
        return command->op.kind == ETCD_OP_PUT ||
               (command->op.kind == ETCD_OP_TXN &&
                etcd_txn_puts(command->op.txn));
    default:
        return false;
    }
}

static enum etcd_error grant(struct etcd_cluster *cluster,
                             struct etcd_entry *entry, struct etcd_writer *out)
{
    const struct etcd_command *command = entry->command;
    struct etcd_lease *lease;
    uint64_t ttl_ms = 1000 * (uint64_t)command->number;

    if (cluster->store.no_space)
        return ETCD_NO_SPACE;
    if (command->number > TTL_MAX)
        return ETCD_LEASE_TOO_LONG;
    if (lease_known(cluster, command->lease))
        return ETCD_LEASE_EXISTS;
    lease = sim_alloc(cluster->sim, sizeof *lease);
    lease->id = command->lease;
    lease->ttl_ms = ttl_ms < etcd_least_ttl_ms(cluster->sim)
                        ? etcd_least_ttl_ms(cluster->sim)
                        : ttl_ms;
    lease->engine = command->engine;
    lease->granted_index = entry->index;
    lease->next = cluster->leases;
    cluster->leases = lease;
    entry->lease = lease;
    sim_trace(cluster->sim, lease->engine, "server grants a lease of %u ms",
              (unsigned)lease->ttl_ms);
    etcd_put_integer(out, 2, (uint64_t)lease->id);
    etcd_put_integer(out, 3, lease->ttl_ms / 1000);
    return ETCD_DONE;
}

static enum etcd_error revoke(struct etcd_cluster *cluster,
                              struct etcd_entry *entry)
{
    struct etcd_lease *lease =
        etcd_lease_find(cluster, entry->command->lease, UINT64_MAX);

    if (lease == NULL)
        return ETCD_LEASE_NOT_FOUND;
    lease->ended_index = entry->index;
    entry->lease = lease;
    sim_trace(cluster->sim, lease->engine, "server ends the lease%s",
              entry->command->decided_in != 0 ? ", which has expired" : "");
    etcd_store_begin(&cluster->store);
    etcd_store_delete_of(&cluster->store, lease->id);
    etcd_store_end(&cluster->store);
    return ETCD_DONE;
}

static enum etcd_error compact(struct etcd_store *store, int64_t revision)
{
    if (revision <= store->compacted)
        return ETCD_COMPACTED;
    if (revision > store->revision)
        return ETCD_FUTURE_REVISION;
    store->compacted = revision;
    return ETCD_DONE;
}

static void evict(struct etcd_cluster *cluster,
                  const struct hf_ticket_id *ticket)
{
    struct etcd_store *store = &cluster->store;

    etcd_store_begin(store);
    for (struct etcd_key *k = store->keys; k != NULL; k = k->next) {
        const struct etcd_version *latest = k->latest;

        if (latest != NULL && !latest->deleted && latest->ticket != NULL &&
            hf_ticket_id_equal(&latest->ticket->ticket.id, ticket))
            etcd_store_delete_key(store, k);
    }
    etcd_store_end(store);
}

static enum etcd_error carry_out(struct etcd_cluster *cluster,
                                 struct etcd_entry *entry,
                                 struct etcd_writer *out)
{
    struct etcd_command *command = entry->command;

    if (command->auth_revision != 0 &&
        command->auth_revision != cluster->auth_revision)
        return ETCD_OLD_AUTH_REVISION;
    switch (command->kind) {
    case ETCD_WRITE:
        return write_keys(cluster, command, out);
    case ETCD_GRANT:
        return grant(cluster, entry, out);
    case ETCD_REVOKE:
        return revoke(cluster, entry);
    case ETCD_AUTHENTICATE:
        entry->token = etcd_token_new(cluster);
        etcd_put_bytes(out, 2,
                       etcd_text(etcd_token_text(cluster->sim, entry->token)));
        break;
    case ETCD_COMPACT:
        return compact(&cluster->store, command->number);
    case ETCD_SET_ALARM:
        cluster->store.no_space = command->number != 0;
        cluster->full = false;
        break;
    case ETCD_CHANGE_AUTH:
        cluster->auth_revision++;
        break;
    case ETCD_EVICT:
        evict(cluster, &command->ticket);
        break;
    default:
        break;
    }
    return ETCD_DONE;
}

/* The first write that finds the quota used up is carried out, answered as if
 * it were not (quotaApplierV3), and followed by the alarm. */
static void raise_alarm(struct etcd_cluster *cluster, struct etcd_entry *entry)
{
    if (!cluster->full || entry->error != ETCD_DONE ||
        !needs_space(entry->command))
        return;
    cluster->full = false;
    entry->error = ETCD_NO_SPACE;
    etcd_command_new(cluster->sim, ETCD_SET_ALARM)->number = 1;
}

static void commit_one(struct etcd_cluster *cluster, struct etcd_entry *entry)
{
    struct etcd_command *command = entry->command;
    int64_t before = cluster->store.revision;
    struct etcd_writer out = {0};
    uint8_t *answer;

    cluster->committed->following = entry;
    cluster->committed = entry;
    entry->committed = true;
    if (!command->done)
        entry->error = carry_out(cluster, entry, &out);
    command->done = true;
    raise_alarm(cluster, entry);
    answer = sim_alloc(cluster->sim, out.count + 1);
    if (out.count > 0)
        memcpy(answer, out.at, out.count);
    entry->answer = (struct etcd_bytes){answer, out.count};
    etcd_writer_free(&out);
    entry->revision = cluster->store.revision;
    entry->compacted = cluster->store.compacted;
    entry->auth_revision = cluster->auth_revision;
    if (entry->revision > before)
        etcd_committed_changes(cluster, entry->revision);
}

/* Raft makes sure that the committed log is a part of every log that is
 * committed later. */
void etcd_commit(struct etcd_cluster *cluster, struct etcd_entry *entry)
{
    if (entry->index <= cluster->committed->index) {
        assert(etcd_log_has(cluster->committed, entry));
        return;
    }
    assert(etcd_log_has(entry, cluster->committed));
    while (cluster->committed != entry) {
        struct etcd_entry *next = entry;

        while (next->previous != cluster->committed)
            next = next->previous;
        commit_one(cluster, next);
    }
}

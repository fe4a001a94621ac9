/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the text of INFO into findings. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engines/redis/examine.h"

/* A use of at least this many percent of a limit counts as near to the
 * limit. */
#define NEAR UINT64_C(90)

/* Room for a value of INFO. */
#define VALUE_BYTES 64

/* Room for an advice that quotes a value. */
#define ADVICE_BYTES 160

/* Returns whether ${used} is near to ${limit}.  A limit of 0 means that there
 * is none. */
static bool is_near(uint64_t used, uint64_t limit)
{
    return limit > 0 && used / NEAR >= limit / 100 && used >= limit / 100;
}

/* Add the version.  A fork of Redis has redis_version and a version of its
 * own. */
static void add_version(struct hf_finding_list *list, const char *subject,
                        const char *info)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-version", subject,
                                   NULL};
    char version[VALUE_BYTES], fork[VALUE_BYTES];

    if (!hf_redis_info_value(info, "redis_version", version, sizeof version)) {
        head.severity = HF_SEVERITY_UNKNOWN;
        hf_finding_add(list, &head, "INFO has no version");
        return;
    }
    if (hf_redis_info_value(info, "valkey_version", fork, sizeof fork))
        hf_finding_add(list, &head, "it is Valkey %s, as Redis %s", fork,
                       version);
    else
        hf_finding_add(list, &head, "it is Redis %s; 6.0 or later is needed",
                       version);
}

/* Add whether the server may evict keys.  The policy can be changed at any
 * time; a client checks it only once a minute. */
static void add_eviction(struct hf_finding_list *list, const char *subject,
                         const char *info)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-eviction", subject,
                                   NULL};
    char policy[VALUE_BYTES];

    if (!hf_redis_info_value(info, "maxmemory_policy", policy, sizeof policy)) {
        head.severity = HF_SEVERITY_UNKNOWN;
        hf_finding_add(list, &head, "INFO has no maxmemory-policy");
        return;
    }
    if (strcmp(policy, "noeviction") != 0) {
        head.severity = HF_SEVERITY_ERROR;
        head.advice = "set maxmemory-policy noeviction (CONFIG SET)";
        hf_finding_add(list, &head,
                       "maxmemory-policy is %s: the server may throw tickets "
                       "away, and two hold one lock",
                       policy);
        return;
    }
    hf_finding_add(list, &head,
                   "maxmemory-policy is noeviction: no ticket is "
                   "thrown away for lack of memory");
}

static void add_memory(struct hf_finding_list *list, const char *subject,
                       const char *info)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-memory", subject,
                                   NULL};
    uint64_t used = hf_redis_info_number(info, "used_memory");
    uint64_t limit = hf_redis_info_number(info, "maxmemory");

    if (limit == 0) {
        hf_finding_add(list, &head,
                       "%" PRIu64 " MiB are used, and maxmemory sets no limit",
                       used >> 20);
        return;
    }
    if (is_near(used, limit)) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "raise maxmemory, or keep other data elsewhere";
    }
    hf_finding_add(list, &head,
                   "%" PRIu64 " of the %" PRIu64 " KiB of maxmemory are "
                   "used%s",
                   used >> 10, limit >> 10,
                   head.advice == NULL
                       ? ""
                       : ": at the limit no new ticket can be had (HF_EFULL)");
}

static void add_clients(struct hf_finding_list *list, const char *subject,
                        const char *info)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-clients", subject,
                                   NULL};
    uint64_t used = hf_redis_info_number(info, "connected_clients");
    uint64_t limit = hf_redis_info_number(info, "maxclients");

    if (limit == 0) {
        head.severity = HF_SEVERITY_UNKNOWN;
        hf_finding_add(list, &head,
                       "%" PRIu64 " connections are open; INFO does not say "
                       "how many there can be",
                       used);
        return;
    }
    if (is_near(used, limit)) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "raise maxclients (and the server's limit of open files)";
    }
    hf_finding_add(list, &head,
                   "%" PRIu64 " of %" PRIu64 " connections are open, of which "
                   "a client of locks needs two",
                   used, limit);
}

/* Add what a failover would lose.  In a quorum there must be no failover behind
 * the address of a server. */
static void add_replicas(const struct hf_redis_examination *examination,
                         struct hf_finding_list *list, const char *subject,
                         const char *info, uint64_t wait)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-replicas", subject,
                                   NULL};
    uint64_t replicas = hf_redis_info_number(info, "connected_slaves");
    char advice[ADVICE_BYTES], id[VALUE_BYTES];

    (void)hf_redis_info_value(info, "master_replid", id, sizeof id);
    if (wait > replicas) {
        head.severity = HF_SEVERITY_ERROR;
        head.advice = "bring the replicas back, or write a smaller wait= into "
                      "the URL";
        hf_finding_add(list, &head,
                       "it has %" PRIu64 " replicas, and wait=%" PRIu64
                       " of the URL: nothing is granted",
                       replicas, wait);
    } else if (examination->of_quorum && replicas > 0) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "see that no replica is ever promoted behind this "
                      "address, or have none";
        hf_finding_add(list, &head,
                       "it has %" PRIu64 " replicas: one that is promoted "
                       "lacks tickets, and the quorum does not notice",
                       replicas);
    } else if (replicas > 0 && wait == 0) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "write wait=N into the URL, if a failover is to lose "
                      "none, or check tokens";
        hf_finding_add(list, &head,
                       "it has %" PRIu64 " replicas: one that is promoted may "
                       "lack the last tickets, and two hold one lock",
                       replicas);
    } else if (replicas == 0 &&
               hf_redis_info_number(info, "repl_backlog_active") == 1) {
        /* A server begins a backlog when its first replica connects, and keeps
         * it for repl-backlog-ttl after the last replica has gone. */
        (void)snprintf(advice, sizeof advice,
                       "see whether one was promoted: its INFO replication has "
                       "role:master and master_replid2:%s",
                       id);
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = advice;
        hf_finding_add(list, &head,
                       "it had a replica lately, or was one, and has none now: "
                       "one that was promoted takes writes too, and locks of "
                       "the one are none of the other");
    } else {
        hf_finding_add(list, &head,
                       replicas == 0 ? "it has no replicas: there is no "
                                       "failover, which could lose tickets"
                                     : "replicas have a ticket before it "
                                       "counts (wait=)");
    }
}

/* Add whether the server can write its files.  A server that cannot refuses all
 * changes. */
static void add_writes(struct hf_finding_list *list, const char *subject,
                       const char *info)
{
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "redis-disk", subject,
        "see the server's log, and whether its disk is full"};
    char file[VALUE_BYTES], snapshot[VALUE_BYTES];

    (void)hf_redis_info_value(info, "aof_last_write_status", file, sizeof file);
    (void)hf_redis_info_value(info, "rdb_last_bgsave_status", snapshot,
                              sizeof snapshot);
    if (strcmp(file, "err") == 0 || strcmp(snapshot, "err") == 0) {
        hf_finding_add(list, &head,
                       "it could not write its %s when it last tried: it may "
                       "refuse all changes (MISCONF)",
                       strcmp(file, "err") == 0 ? "append-only file"
                                                : "snapshot");
        return;
    }
    head.severity = HF_SEVERITY_OK;
    head.advice = NULL;
    hf_finding_add(list, &head, "it could write its files when it last tried");
}

void hf_redis_examine_info(struct hf_redis_examination *examination,
                           const char *subject, const char *info, uint64_t wait)
{
    struct hf_finding_list *list = &examination->findings;

    examination->saw_info = true;
    examination->append_only = !hf_redis_info_forgets(info);
    add_version(list, subject, info);
    add_eviction(list, subject, info);
    add_memory(list, subject, info);
    add_clients(list, subject, info);
    add_writes(list, subject, info);
    add_replicas(examination, list, subject, info, wait);
}

void hf_redis_examine_persistence(struct hf_redis_examination *examination,
                                  const char *subject, const char *fsync)
{
    struct hf_finding_list *list = &examination->findings;
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-persistence", subject,
                                   NULL};

    if (examination->of_quorum) {
        hf_finding_add(list, &head,
                       "appendonly is %s; it does not matter, because a server "
                       "of a quorum may forget: after a start it does not "
                       "count for a while (rejoin=)",
                       examination->append_only ? "yes" : "no");
    } else if (!examination->append_only) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "set appendonly yes and appendfsync always, or "
                      "use a quorum of three servers";
        hf_finding_add(list, &head,
                       "appendonly is no: a restart forgets all tickets, and "
                       "two hold one lock");
    } else if (fsync[0] == '\0') {
        head.severity = HF_SEVERITY_UNKNOWN;
        hf_finding_add(list, &head,
                       "appendonly is yes; this user cannot see appendfsync "
                       "(+config|get): unless it is always, a crash forgets "
                       "the last second");
    } else if (strcmp(fsync, "always") == 0) {
        hf_finding_add(list, &head,
                       "appendonly is yes and appendfsync is always: a restart "
                       "forgets nothing");
    } else {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "set appendfsync always, if a crash of the server is "
                      "to lose no lock";
        hf_finding_add(list, &head,
                       "appendfsync is %s: a crash forgets the tickets of %s",
                       fsync,
                       strcmp(fsync, "no") == 0 ? "up to half a minute"
                                                : "the last second or two");
    }
}

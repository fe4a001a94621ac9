/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for a server that was promoted in place of ours.
 *
 * If a replica is promoted while its primary lives, two servers take writes,
 * and nothing that the old primary says shows that.  A client of the old
 * primary would go on holding its locks, while other clients get the same locks
 * at the new primary.
 *
 * So from time to time a second link is made to the address of the URL.  When
 * the host name, a proxy or the address itself has been moved to the new
 * primary, this link reaches the new primary.  Like every link it reads INFO.
 * A server that was promoted still names the replication id that it had before
 * (master_replid2), and that is the id of our server.  Then our link is ended,
 * and the next link goes to the new primary, where our tickets are found or are
 * lost.
 *
 * A new primary is not found if the address of the URL does not lead to it, or
 * if we may not read its INFO.  docs/safety.md says what that means.
 *
 * An EXAMINE makes such a look, too, and reports what it finds instead of
 * ending our link.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time_math.h"
#include "engines/redis/examine.h"
#include "engines/redis/redis_private.h"

/* The shortest time between two looks.  A look costs the server two connections
 * and the commands of a handshake. */
#define INTERVAL_MIN_MS UINT64_C(5000)

static void plan(struct hf_store *store)
{
    uint64_t interval_ms = hf_max_ms(store->config.ttl_ms, INTERVAL_MIN_MS);

    store->look_at_ms = hf_after_ms(hf_redis_store_now_ms(store), interval_ms);
    hf_redis_store_wake_by(store, store->look_at_ms);
}

/* Returns whether the server of ${found} was promoted in place of the server of
 * ${ours}. */
static bool is_successor(const struct hf_redis_link *ours,
                         const struct hf_redis_link *found)
{
    return ours->replication_id[0] != '\0' &&
           strcmp(found->earlier_replication_id, ours->replication_id) == 0 &&
           strcmp(found->run_id, ours->run_id) != 0;
}

/* ----------------------------------------------------------- examination -- */

/* Returns whether the server of ${link} was promoted, or restarted with its
 * data.  In both cases it has an earlier id that is not all zeros. */
static bool has_earlier_id(const struct hf_redis_link *link)
{
    const char *id = link->earlier_replication_id;

    return id[strspn(id, "0")] != '\0';
}

/* Add the finding for a look that has reached a server that can be used,
 * ${found}. */
static void add_met(struct hf_store *store, const struct hf_redis_link *found)
{
    const struct hf_redis_link *ours = store->default_node->link;
    char subject[HF_REDIS_SUBJECT_BYTES];
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "redis-primaries",
                                   subject, NULL};
    struct hf_finding_list *list = &store->look_findings;

    hf_redis_examine_subject(ours, subject);
    if (ours->run_id[0] == '\0' || found->run_id[0] == '\0') {
        hf_finding_add(list, &head,
                       "whether a second connection reaches the same server "
                       "cannot be seen without its INFO");
    } else if (strcmp(ours->run_id, found->run_id) != 0) {
        head.severity = HF_SEVERITY_ERROR;
        head.advice = "stop the one that was replaced, or have it follow the "
                      "other (REPLICAOF), and let the address lead to one "
                      "server";
        hf_finding_add(
            list, &head,
            "a second connection has reached another server that takes writes "
            "too, and %s: locks of the one are none of the other",
            is_successor(ours, found)   ? "was promoted in place of the first"
            : is_successor(found, ours) ? "the first was promoted in its place"
                                        : "neither was promoted in place of "
                                          "the other");
    } else if (has_earlier_id(ours)) {
        hf_finding_add(list, &head,
                       "it was promoted, or started again: whether the server "
                       "that had master_replid %s before it still takes writes "
                       "cannot be seen from here",
                       ours->earlier_replication_id);
    } else {
        head.severity = HF_SEVERITY_OK;
        hf_finding_add(list, &head,
                       "a second connection has reached the same server");
    }
}

/* Add the finding for a look that has reached no server that can be used, for
 * the reason ${why}. */
static void add_unmet(struct hf_store *store, const char *why)
{
    char subject[HF_REDIS_SUBJECT_BYTES];
    const struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "redis-primaries",
                                         subject, NULL};

    hf_redis_examine_subject(store->default_node->link, subject);
    hf_finding_add(&store->look_findings, &head,
                   "whether a second connection reaches the same server cannot "
                   "be seen: %.300s",
                   why);
}

/* End the look, and carry out the EXAMINE that waited for it. */
static void continue_examination(struct hf_store *store)
{
    struct hf_store_call *call = store->examination;

    store->examination = NULL;
    hf_redis_link_close(store->look);
    plan(store);
    hf_redis_link_call(store->default_node->link, call);
}

void hf_redis_successor_examine(struct hf_store *store,
                                struct hf_store_call *call)
{
    /* The look may take only a part of the time that the call has. */
    uint64_t limit_ms = hf_redis_node_timeout_ms(store) / 2;

    if (store->look == NULL || store->examination != NULL) {
        hf_redis_link_call(store->default_node->link, call);
        return;
    }
    hf_finding_list_free(&store->look_findings);
    store->examination = call;
    store->look_at_ms = hf_after_ms(hf_redis_store_now_ms(store), limit_ms);
    hf_redis_store_wake_by(store, store->look_at_ms);
    hf_redis_link_close(store->look);
    hf_redis_link_open(store->look, store->session);
}

void hf_redis_successor_take_findings(struct hf_store *store,
                                      struct hf_finding_list *findings)
{
    *findings = store->look_findings;
    store->look_findings = (struct hf_finding_list){0};
}

/* -------------------------------------------------------------- the look -- */

/* The second link is up: it has reached a server that can be used. */
static void on_up(void *arg, struct hf_redis_link *link, uint64_t server_ms)
{
    struct hf_store *store = arg;
    struct hf_redis_link *ours = store->default_node->link;
    bool replaced = is_successor(ours, link);

    (void)server_ms;
    if (store->examination != NULL) {
        add_met(store, link);
        continue_examination(store);
        return;
    }
    hf_redis_link_close(link);
    if (replaced)
        hf_redis_link_down(ours, HF_EUNREACHABLE, "",
                           "another server was promoted in its place, and is "
                           "found at this address now; locks that only the old "
                           "one has are lost");
}

/* The second link has failed.  That says nothing about our own server. */
static void on_down(void *arg, struct hf_redis_link *link, hf_status status,
                    const char *why)
{
    struct hf_store *store = arg;

    (void)link;
    (void)status;
    if (store->examination == NULL)
        return;
    add_unmet(store, why);
    continue_examination(store);
}

/* Ignore notices, because our own link receives the same ones. */
static void on_notice(void *arg, struct hf_redis_link *link,
                      const struct hf_store_notice *notice)
{
    (void)arg;
    (void)link;
    (void)notice;
}

void hf_redis_successor_watch(struct hf_store *store)
{
    const struct hf_redis_link_listener listener = {
        .up = on_up, .down = on_down, .notice = on_notice, .arg = store};

    if (store->config.path[0] != '\0')
        return; /* the path of a socket is not moved to another server */
    if (store->look == NULL)
        store->look = hf_redis_link_new(
            &store->shared, &store->default_node->link->config, &listener);
    if (store->look != NULL) /* if memory runs out, nobody looks */
        plan(store);
}

void hf_redis_successor_tick(struct hf_store *store)
{
    if (store->look_at_ms == HF_FOREVER)
        return;
    if (hf_redis_store_now_ms(store) < store->look_at_ms) {
        hf_redis_store_wake_by(store, store->look_at_ms);
        return;
    }
    if (store->examination != NULL) {
        add_unmet(store, "no answer");
        continue_examination(store);
        return;
    }
    /* if the last look is still under way, it got no answer */
    hf_redis_link_close(store->look);
    hf_redis_link_open(store->look, store->session);
    plan(store);
}

void hf_redis_successor_stop(struct hf_store *store)
{
    store->look_at_ms = HF_FOREVER;
    store->examination = NULL;
    hf_finding_list_free(&store->look_findings);
    if (store->look != NULL)
        hf_redis_link_close(store->look);
}

void hf_redis_successor_free(struct hf_store *store)
{
    if (store->look != NULL)
        hf_redis_link_free(store->look);
    store->look = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual exclusion and tokens: claims that contradict each other are never
 * valid at the same time, and tokens rise. */
#include <string.h>

#include "api.h"

static bool is_alone(enum hf_kind kind)
{
    return kind != HF_KIND_READ && kind != HF_KIND_SEMAPHORE;
}

static bool is_valid(const struct hf_grant *grant)
{
    return hf_grant_safe_until_ms(grant) > scheduler_now_ms();
}

/* ---------------------------------------------------------------- tokens -- */

/* A claim that is no longer valid may be reported late. */
static void check_token(const struct api_claim *claim)
{
    uint64_t *highest = &api.highest[claim->name];
    uint64_t *alone = &api.highest_alone[claim->name];

    MUST(claim->token != 0);
    if (claim->kind == HF_KIND_SEMAPHORE || api.unchecked[claim->name])
        return;
    MUST(claim->token > *alone);
    if (is_alone(claim->kind)) {
        MUST(claim->token > *highest);
        *alone = claim->token;
    }
    if (claim->token > *highest)
        *highest = claim->token;
}

void api_keep(struct api_operation *operation, struct hf_grant *grant)
{
    struct api_grant *kept = FREE_ONE(api.grants);
    const struct hf_done nobody = {NULL, NULL, NULL};

    for (unsigned i = 0; i < operation->wanted.count; i++) {
        struct api_claim *claim = &operation->wanted.claims[i];

        /* The locks of the others may be freed. */
        claim->token = i == 0 ? hf_grant_token(grant) : 0;
        if (is_valid(grant) && i == 0)
            check_token(claim);
    }
    if (kept == NULL || api.ends) {
        api_expect("hf_grant_release_start",
                   hf_grant_release_start(grant, nobody), BIT(HF_OK));
        return;
    }
    *kept = operation->wanted;
    kept->grant = grant;
    kept->client = operation->client;
    kept->busy = 0;
    operation->granted = kept;
}

/* ------------------------------------------------------------- exclusion -- */

/* The claims on one name that are valid now. */
struct tally {
    unsigned alone, readers;
    uint32_t permits;
};

static void count(struct tally *tallies, unsigned name, enum hf_kind kind,
                  uint32_t permits)
{
    struct tally *tally = &tallies[name];

    if (kind == HF_KIND_SEMAPHORE)
        tally->permits += permits;
    else if (kind == HF_KIND_READ)
        tally->readers++;
    else
        tally->alone++;
}

static void count_grants(struct tally *tallies)
{
    for (unsigned i = 0; i < API_GRANTS; i++) {
        const struct api_grant *kept = &api.grants[i];

        if (kept->grant == NULL || !is_valid(kept->grant))
            continue;
        for (unsigned n = 0; n < kept->count; n++)
            count(tallies, kept->claims[n].name, kept->claims[n].kind,
                  kept->claims[n].permits);
    }
}

static void count_leaders(struct tally *tallies)
{
    for (unsigned i = 0; i < API_FEW; i++) {
        const struct api_election *e = &api.elections[i];

        if (e->election != NULL && hf_election_is_leader(e->election))
            count(tallies, e->name, HF_KIND_ELECTION, 1);
    }
}

/* An owner's lock has no safe_until to ask for: it counts as valid if its
 * session was not interrupted since. */
static void count_owners(struct tally *tallies)
{
    for (unsigned i = 0; i < API_FEW; i++) {
        const struct api_mutex *counted = &api.mutexes[i];

        if (counted->client == NULL || counted->client->client == NULL)
            continue; /* closed, so it holds nothing */
        for (unsigned n = 0; n < API_OWNERS; n++) {
            unsigned writes = counted->owners[n].writes;
            unsigned reads = counted->owners[n].reads;

            if (writes + reads == 0 || counted->owners[n].busy ||
                counted->owners[n].interruptions !=
                    sim_clients_at(counted->client->sim_client)->interruptions)
                continue;
            count(tallies, counted->name,
                  writes > 0 ? HF_KIND_WRITE : HF_KIND_READ, 1);
        }
    }
}

void api_check(void)
{
    struct tally tallies[API_NAMES] = {{0, 0, 0}};

    count_grants(tallies);
    count_leaders(tallies);
    count_owners(tallies);
    for (unsigned i = 0; i < API_NAMES; i++) {
        if (api.unchecked[i])
            continue;
        MUST(tallies[i].alone <= 1);
        MUST(tallies[i].alone == 0 || tallies[i].readers == 0);
        MUST(tallies[i].permits <= api.limit[i]);
    }
}

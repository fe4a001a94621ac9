/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a client's cohorts, by name and number of handoffs.  The number
 * is part of the key because a cohort has one bound for all of its waiters.
 */
#include "client/client_cohort.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "client/client.h"

/* What a cohort is found by. */
struct key {
    const char *name;
    uint32_t handoffs;
};

/* The order of the tree; ${a} is a struct key. */
static int compare_key(const void *a, const struct hf_tree_node *node)
{
    const struct key *key = a;
    const struct hf_client_cohort *client_cohort =
        (const struct hf_client_cohort *)(const void *)node;

    if (key->handoffs != client_cohort->cohort.handoffs)
        return key->handoffs < client_cohort->cohort.handoffs ? -1 : 1;
    return strcmp(key->name, client_cohort->name);
}

/* Add a cohort for ${key} to the tree, with no reference yet. */
static struct hf_client_cohort *new_client_cohort(struct hf_client *client,
                                                  const struct key *key)
{
    size_t bytes = strlen(key->name) + 1;
    struct hf_client_cohort *client_cohort =
        hf_alloc(sizeof(*client_cohort) + bytes);

    if (client_cohort == NULL)
        return NULL;
    memcpy(client_cohort->name, key->name, bytes);
    hf_cohort_init(&client_cohort->cohort, client_cohort->name, key->handoffs);
    client_cohort->references = 0;
    hf_tree_add(&client->cohorts, &client_cohort->node, key);
    return client_cohort;
}

struct hf_client_cohort *hf_client_cohort_get(struct hf_client *client,
                                              const char *name,
                                              uint32_t handoffs)
{
    const struct key key = {name, handoffs};
    struct hf_client_cohort *client_cohort;

    client->cohorts.compare = compare_key;
    client_cohort =
        (struct hf_client_cohort *)(void *)hf_tree_find(&client->cohorts, &key);
    if (client_cohort == NULL &&
        (client_cohort = new_client_cohort(client, &key)) == NULL)
        return NULL;
    client_cohort->references++;
    return client_cohort;
}

void hf_client_cohort_put(struct hf_client *client,
                          struct hf_client_cohort *client_cohort)
{
    const struct key key = {client_cohort->name,
                            client_cohort->cohort.handoffs};

    assert(client_cohort->references > 0);
    if (--client_cohort->references > 0)
        return;
    assert(hf_cohort_is_idle(&client_cohort->cohort));
    hf_cohort_free(&client->core, &client_cohort->cohort);
    hf_tree_remove(&client->cohorts, &client_cohort->node, &key);
    hf_free(client_cohort);
}

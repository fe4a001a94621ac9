/* SPDX-License-Identifier: Apache-2.0 */
#include "host/op.h"

#include "host/departure.h"
#include "host/election_wait.h"
#include "host/errand.h"
#include "host/grant.h"

static struct hf_client *client_of(const struct hf_op *op)
{
    if (op->departure != NULL)
        return op->departure->client;
    if (op->election_wait != NULL)
        return op->election_wait->client;
    return op->grant != NULL ? op->grant->client : op->errand->lock->client;
}

void hf_op_cancel(struct hf_op *op)
{
    struct hf_client *client = client_of(op);

    if (hf_client_enter(client) != HF_OK)
        return;
    if (op->grant != NULL)
        hf_grant_cancel(op->grant);
    else if (op->departure != NULL)
        hf_departure_cancel(op->departure);
    else if (op->election_wait != NULL)
        hf_election_wait_cancel(op->election_wait);
    else
        hf_errand_cancel(op->errand);
    hf_client_leave(client);
}

void hf_op_free(struct hf_op *op)
{
    struct hf_client *client;

    if (op == NULL)
        return;
    client = client_of(op);
    if (hf_client_enter(client) != HF_OK)
        return;
    hf_client_reference(client); /* ours, until the lock is given up */
    if (op->grant != NULL)
        hf_grant_dereference(op->grant);
    else if (op->departure != NULL)
        hf_departure_dereference(op->departure);
    else if (op->election_wait != NULL)
        hf_election_wait_dereference(op->election_wait);
    else
        hf_errand_dereference(op->errand);
    hf_client_leave(client);
    hf_client_release(client);
}

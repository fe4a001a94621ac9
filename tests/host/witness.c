/* SPDX-License-Identifier: Apache-2.0 */
#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kit.h"

static void say(struct witness *witness, const char *word)
{
    atomic_fetch_add(&witness->entered, 1);
    pthread_mutex_lock(&witness->gate);
    assert_true(strlen(witness->told) + strlen(word) + 2 <
                sizeof(witness->told));
    strcat(witness->told, word);
    strcat(witness->told, " ");
    pthread_mutex_unlock(&witness->gate);
    atomic_fetch_add(&witness->count, 1);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct witness *witness = arg;

    assert_ptr_equal(election, witness->election);
    assert_int_equal(hf_election_resign(election), HF_EREENTRANT);
    assert_int_equal(hf_election_wait(election, 0), HF_EREENTRANT);
    assert_true(token > witness->token);
    witness->token = token;
    if (witness->frees) {
        hf_election_free(election);
        assert_int_equal(atomic_load(&witness->drops), 0);
    }
    say(witness, "elected");
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct witness *witness = arg;

    assert_true(token == witness->token);
    assert_true(hf_election_token(election) != token);
    say(witness, "deposed");
}

static void on_resigned(void *arg, const struct hf_result *result)
{
    struct witness *witness = arg;

    witness->status = result->status;
    assert_null(result->grant);
    assert_null(result->tickets);
    atomic_fetch_add(&witness->ended, 1);
}

static struct hf_done resigned(struct witness *witness)
{
    return (struct hf_done){on_resigned, witness, NULL};
}

static void on_revoke(void *arg, struct hf_election *election, uint64_t token)
{
    struct witness *witness = arg;

    assert_true(token == witness->token);
    say(witness, "asked");
    if (witness->resigns)
        assert_int_equal(hf_election_resign_start(election, resigned(witness)),
                         HF_OK);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct witness *witness = arg;

    witness->why = *why;
    if (witness->runs_again)
        assert_int_equal(hf_election_campaign_start(election), HF_OK);
    say(witness, "ended");
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct witness *)arg)->drops, 1);
}

void witness_set_callbacks(struct witness *witness,
                           struct hf_election_opts *opts)
{
    opts->on_elected = (struct hf_on_election){on_elected, witness, on_drop};
    opts->on_deposed = (struct hf_on_election){on_deposed, witness, on_drop};
    opts->on_revoke = (struct hf_on_election){on_revoke, witness, on_drop};
    opts->on_ended = (struct hf_on_ended){on_ended, witness, on_drop};
}

void witness_open(struct witness *witness, struct front *front,
                  const char *name, const struct hf_election_opts *opts)
{
    static const struct hf_election_opts defaults = HF_ELECTION_OPTS_INIT;
    struct hf_election_opts own = opts != NULL ? *opts : defaults;

    memset(witness, 0, sizeof(*witness));
    witness->front = front;
    pthread_mutex_init(&witness->gate, NULL);
    witness_set_callbacks(witness, &own);
    assert_int_equal(
        hf_election_open(front->client, name, &own, &witness->election), HF_OK);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct witness *)arg)->drops) == WITNESS_DROPS;
}

void witness_free(struct witness *witness)
{
    hf_election_free(witness->election);
    front_until(witness->front, is_dropped, witness);
    assert_int_equal(atomic_load(&witness->drops), WITNESS_DROPS);
    pthread_mutex_destroy(&witness->gate);
}

struct expectation {
    struct witness *witness;
    int count;
};

static bool has_heard(void *arg)
{
    struct expectation *e = arg;

    return atomic_load(&e->witness->count) >= e->count;
}

static int words(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++)
        count += *text == ' ';
    return count;
}

void witness_hears(struct witness *witness, const char *told)
{
    struct expectation e = {witness, words(told)};

    front_until(witness->front, has_heard, &e);
    pthread_mutex_lock(&witness->gate);
    assert_string_equal(witness->told, told);
    pthread_mutex_unlock(&witness->gate);
}

void witness_runs(struct witness *witness)
{
    assert_int_equal(hf_election_campaign_start(witness->election), HF_OK);
}

void witness_begins_to_resign(struct witness *witness)
{
    atomic_store(&witness->ended, 0);
    assert_int_equal(
        hf_election_resign_start(witness->election, resigned(witness)), HF_OK);
}

bool witness_has_resigned(void *arg)
{
    return atomic_load(&((struct witness *)arg)->ended) > 0;
}

hf_status witness_resigns(struct witness *witness)
{
    if (witness->front->way == WAY_BLOCKING)
        return hf_election_resign(witness->election);
    if (witness->front->way == WAY_UV)
        assert_int_equal(hf_election_resign(witness->election), HF_EREENTRANT);
    witness_begins_to_resign(witness);
    assert_false(hf_election_is_leader(witness->election));
    front_until(witness->front, witness_has_resigned, witness);
    assert_int_equal(atomic_load(&witness->ended), 1);
    return witness->status;
}

/* --------------------------------------------------------------- looking -- */

struct looked {
    _Atomic int ended;
    hf_status status;
    struct hf_tickets *tickets;
};

static void on_listed(void *arg, const struct hf_result *result)
{
    struct looked *looked = arg;

    looked->status = result->status;
    looked->tickets = result->tickets;
    atomic_fetch_add(&looked->ended, 1);
}

static bool has_looked(void *arg)
{
    return atomic_load(&((struct looked *)arg)->ended) > 0;
}

struct hf_tickets *witness_lists(struct witness *witness,
                                 enum hf_tickets_which which)
{
    struct hf_election *election = witness->election;
    struct looked looked = {.status = HF_OK};
    struct hf_done done = {on_listed, &looked, NULL};

    if (witness->front->way == WAY_BLOCKING) {
        looked.status =
            hf_election_tickets(election, which, 10000, &looked.tickets);
    } else {
        assert_int_equal(
            hf_election_tickets_start(election, which, 10000, done), HF_OK);
        front_until(witness->front, has_looked, &looked);
    }
    assert_int_equal(looked.status, HF_OK);
    assert_non_null(looked.tickets);
    return looked.tickets;
}

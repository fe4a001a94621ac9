/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of an election that record what they get, under a lock that a
 * test may hold. */
#include "election_candidate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "process.h"

static void record(struct election_candidate *candidate, const char *word)
{
    atomic_fetch_add(&candidate->started, 1);
    pthread_mutex_lock(&candidate->callback_lock);
    assert_true(strlen(candidate->received) + strlen(word) + 2 <
                sizeof(candidate->received));
    strcat(candidate->received, word);
    strcat(candidate->received, " ");
    pthread_mutex_unlock(&candidate->callback_lock);
    atomic_fetch_add(&candidate->count, 1);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct election_candidate *candidate = arg;

    assert_ptr_equal(election, candidate->election);
    assert_int_equal(hf_election_resign(election), HF_EREENTRANT);
    assert_int_equal(hf_election_wait(election, 0), HF_EREENTRANT);
    assert_true(token > candidate->token);
    candidate->token = token;
    if (candidate->frees_when_elected) {
        hf_election_free(election);
        assert_int_equal(atomic_load(&candidate->drops), 0);
    }
    record(candidate, "elected");
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct election_candidate *candidate = arg;

    assert_true(token == candidate->token);
    assert_true(hf_election_token(election) != token);
    assert_int_equal(hf_last_error()->status, HF_ELOST);
    assert_non_null(strstr(hf_last_error()->text, "the leadership of \""));
    record(candidate, "deposed");
}

static void on_resigned(void *arg, const struct hf_result *result)
{
    struct election_candidate *candidate = arg;

    candidate->status = result->status;
    assert_last_error(result->status, result->text);
    assert_null(result->grant);
    assert_null(result->tickets);
    atomic_fetch_add(&candidate->ended, 1);
}

static struct hf_done resigned(struct election_candidate *candidate)
{
    return (struct hf_done){on_resigned, candidate, NULL};
}

static void on_revoke(void *arg, struct hf_election *election, uint64_t token)
{
    struct election_candidate *candidate = arg;

    assert_true(token == candidate->token);
    record(candidate, "asked");
    if (candidate->resigns_on_revoke)
        assert_int_equal(
            hf_election_resign_start(election, resigned(candidate)), HF_OK);
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    struct election_candidate *candidate = arg;

    candidate->error = *why;
    assert_last_error(why->status, why->text);
    if (candidate->campaigns_again)
        assert_int_equal(hf_election_campaign_start(election), HF_OK);
    record(candidate, "ended");
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct election_candidate *)arg)->drops, 1);
}

void candidate_set_callbacks(struct election_candidate *candidate,
                             struct hf_election_opts *opts)
{
    opts->on_elected = (struct hf_on_election){on_elected, candidate, on_drop};
    opts->on_deposed = (struct hf_on_election){on_deposed, candidate, on_drop};
    opts->on_revoke = (struct hf_on_election){on_revoke, candidate, on_drop};
    opts->on_ended = (struct hf_on_ended){on_ended, candidate, on_drop};
}

void candidate_open(struct election_candidate *candidate,
                    struct client_fixture *fixture, const char *name,
                    const struct hf_election_opts *opts)
{
    static const struct hf_election_opts defaults = HF_ELECTION_OPTS_INIT;
    struct hf_election_opts with_callbacks = opts != NULL ? *opts : defaults;

    memset(candidate, 0, sizeof(*candidate));
    candidate->fixture = fixture;
    pthread_mutex_init(&candidate->callback_lock, NULL);
    candidate_set_callbacks(candidate, &with_callbacks);
    assert_int_equal(hf_election_open(fixture->client, name, &with_callbacks,
                                      &candidate->election),
                     HF_OK);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct election_candidate *)arg)->drops) ==
           CANDIDATE_DROPS;
}

void candidate_free(struct election_candidate *candidate)
{
    hf_election_free(candidate->election);
    client_wait_until(candidate->fixture, is_dropped, candidate);
    assert_int_equal(atomic_load(&candidate->drops), CANDIDATE_DROPS);
    pthread_mutex_destroy(&candidate->callback_lock);
}

struct candidate_expectation {
    struct election_candidate *candidate;
    int count;
};

static bool has_received(void *arg)
{
    struct candidate_expectation *e = arg;

    return atomic_load(&e->candidate->count) >= e->count;
}

static int count_words(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++)
        count += *text == ' ';
    return count;
}

void candidate_expect(struct election_candidate *candidate,
                      const char *received)
{
    struct candidate_expectation e = {candidate, count_words(received)};

    client_wait_until(candidate->fixture, has_received, &e);
    pthread_mutex_lock(&candidate->callback_lock);
    assert_string_equal(candidate->received, received);
    pthread_mutex_unlock(&candidate->callback_lock);
}

void candidate_campaign(struct election_candidate *candidate)
{
    assert_int_equal(hf_election_campaign_start(candidate->election), HF_OK);
}

void candidate_begin_resign(struct election_candidate *candidate)
{
    atomic_store(&candidate->ended, 0);
    assert_int_equal(
        hf_election_resign_start(candidate->election, resigned(candidate)),
        HF_OK);
}

bool candidate_has_resigned(void *arg)
{
    return atomic_load(&((struct election_candidate *)arg)->ended) > 0;
}

hf_status candidate_resign(struct election_candidate *candidate)
{
    if (candidate->fixture->way == WAY_BLOCKING)
        return hf_election_resign(candidate->election);
    if (candidate->fixture->way == WAY_UV)
        assert_int_equal(hf_election_resign(candidate->election),
                         HF_EREENTRANT);
    candidate_begin_resign(candidate);
    assert_false(hf_election_is_leader(candidate->election));
    client_wait_until(candidate->fixture, candidate_has_resigned, candidate);
    assert_int_equal(atomic_load(&candidate->ended), 1);
    return candidate->status;
}

/* --------------------------------------------------------------- listing -- */

struct listing {
    _Atomic int ended;
    hf_status status;
    struct hf_tickets *tickets;
};

static void on_listed(void *arg, const struct hf_result *result)
{
    struct listing *listing = arg;

    listing->status = result->status;
    listing->tickets = result->tickets;
    atomic_fetch_add(&listing->ended, 1);
}

static bool is_listed(void *arg)
{
    return atomic_load(&((struct listing *)arg)->ended) > 0;
}

struct hf_tickets *candidate_list(struct election_candidate *candidate,
                                  enum hf_tickets_which which)
{
    struct hf_election *election = candidate->election;
    struct listing listing = {.status = HF_OK};
    struct hf_done done = {on_listed, &listing, NULL};

    if (candidate->fixture->way == WAY_BLOCKING) {
        listing.status =
            hf_election_tickets(election, which, 10000, &listing.tickets);
    } else {
        assert_int_equal(
            hf_election_tickets_start(election, which, 10000, done), HF_OK);
        client_wait_until(candidate->fixture, is_listed, &listing);
    }
    assert_int_equal(listing.status, HF_OK);
    assert_non_null(listing.tickets);
    return listing.tickets;
}

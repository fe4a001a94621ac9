/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails, one after the other: each call then has a status,
 * nothing is lost, and no ticket stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/memory.h"
#include "heap/heap.h"
#include "shortage.h"

/* ---------------------------------------------------------------- parties */

struct party {
    struct hf_client *client;
    struct hf_lock *lock;
    _Atomic int ended;
    _Atomic int dropped;
    _Atomic hf_status status;
    struct hf_grant *grant;
};

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    assert_true(line[0] != '\0');
}

static void on_state(void *arg, enum hf_state state)
{
    (void)arg;
    (void)state;
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct party *)arg)->dropped, 1);
}

static bool party_open(struct party *party, const struct place *place)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_error error;

    memset(party, 0, sizeof(*party));
    opts.on_log = (struct hf_on_log){on_log, NULL, HF_LOG_DEBUG};
    opts.on_state = (struct hf_on_state){on_state, party, NULL};
    if (!shortage_note(
            hf_client_open(place->url, &opts, &party->client, &error))) {
        assert_true(error.text[0] != '\0');
        assert_null(party->client);
        return false;
    }
    if (shortage_note(
            hf_lock_open(party->client, "nightly", NULL, &party->lock)))
        return true;
    hf_client_error(party->client, &error);
    assert_int_equal(error.status, HF_ENOMEM);
    assert_null(party->lock);
    return false;
}

static void party_close(struct party *party)
{
    hf_lock_free(party->lock);
    assert_int_equal(hf_client_close(party->client), HF_OK);
}

static struct hf_acquire_opts patient(void)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = shortage_patience_ms();
    return opts;
}

static bool has_ended(void *arg)
{
    return atomic_load(&((struct party *)arg)->ended) > 0;
}

static bool has_queued_or_ended(void *arg)
{
    struct party *party = arg;
    struct hf_grant *grant;

    /* Somebody is in the queue before whoever asks now. */
    if (has_ended(party))
        return true;
    if (hf_lock_try_acquire(party->lock, &grant) == HF_OK)
        return hf_grant_release(grant) != HF_OK;
    return true;
}

/* ---------------------------------------------------------------- stories */

static void *wait_main(void *arg)
{
    struct party *party = arg;
    struct hf_acquire_opts opts = patient();

    party->status = hf_lock_acquire(party->lock, &opts, &party->grant);
    atomic_fetch_add(&party->ended, 1);
    return NULL;
}

static void wait_and_hand_over(struct party *a, struct party *b)
{
    struct hf_acquire_opts opts = patient();
    struct hf_grant *grant;
    pthread_t thread;

    if (!shortage_note(hf_lock_acquire(a->lock, &opts, &grant))) {
        assert_null(grant);
        return;
    }
    thread = kit_thread(wait_main, b);
    kit_until(has_queued_or_ended, a);
    (void)shortage_note(hf_grant_release(grant));
    pthread_join(thread, NULL);
    if (shortage_note(b->status))
        (void)shortage_note(hf_grant_release(b->grant));
    else
        assert_null(b->grant);
}

static void waiting(const struct place *place)
{
    struct party a = {.client = NULL}, b = {.client = NULL};

    if (party_open(&a, place) && party_open(&b, place))
        wait_and_hand_over(&a, &b);
    party_close(&a);
    party_close(&b);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    (void)arg;
    assert_non_null(wait->holder);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct party *party = arg;

    party->status = result->status;
    party->grant = result->grant;
    assert_true(result->status == HF_OK || result->text[0] != '\0');
    atomic_fetch_add(&party->ended, 1);
}

/* True if it was started, and has ended. */
static bool called_back(struct party *party, hf_status started)
{
    if (!shortage_note(started)) {
        assert_int_equal(atomic_load(&party->ended), 0);
        return false;
    }
    kit_until(has_ended, party);
    assert_int_equal(atomic_load(&party->ended), 1);
    atomic_store(&party->ended, 0);
    return shortage_note(party->status);
}

/* How many drops there must have been in the end. */
static int start_and_give_back(struct party *a)
{
    struct hf_acquire_opts opts = patient();
    struct hf_done done = {on_done, a, on_drop};
    struct hf_op *op;
    int drops = 2; /* of the acquire: its end and its waiting */

    opts.on_wait = (struct hf_on_wait){on_wait, a, on_drop};
    if (called_back(a, hf_lock_acquire_start(a->lock, &opts, done, &op))) {
        assert_non_null(a->grant);
        (void)called_back(a, hf_grant_release_start(a->grant, done));
        drops++;
    }
    hf_op_free(op);
    return drops;
}

static void starting(const struct place *place)
{
    struct party a = {.client = NULL};
    int drops = 0;

    if (party_open(&a, place))
        drops = start_and_give_back(&a);
    party_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void on_asked(void *arg, struct hf_mutex *mutex, uint64_t owner)
{
    (void)arg;
    (void)mutex;
    (void)owner;
}

static void count_and_look(struct hf_mutex *mutex)
{
    struct hf_tickets *tickets;

    if (!shortage_note(hf_mutex_timedlock(mutex, shortage_patience_ms())))
        return;
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    (void)shortage_note(hf_mutex_tickets(mutex, HF_TICKETS_ALL,
                                         shortage_patience_ms(), &tickets));
    hf_tickets_free(tickets);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
}

static void counting(const struct place *place)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct party a = {.client = NULL};
    struct hf_mutex *mutex = NULL;
    int drops = 0;

    opts.on_revoke = (struct hf_on_mutex_revoke){on_asked, &a, on_drop};
    if (party_open(&a, place)) {
        drops = 1;
        if (shortage_note(hf_mutex_open(a.client, "counted", &opts, &mutex)))
            count_and_look(mutex);
    }
    hf_mutex_free(mutex);
    party_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    (void)election;
    assert_true(token != 0);
    atomic_fetch_add(&((struct party *)arg)->ended, 1);
}

static void on_candidacy_ended(void *arg, struct hf_election *election,
                               const struct hf_error *why)
{
    struct party *party = arg;

    (void)election;
    assert_true(why->text[0] != '\0');
    party->status = why->status;
    atomic_fetch_add(&party->ended, 1);
}

/* It leads, is thrown out, and leads again; or hears why not. */
static void lead_and_fall(struct party *a, struct hf_election *election,
                          const struct place *place)
{
    for (int i = 0; i < 2 && shortage_note(a->status); i++) {
        if (i > 0)
            place_rob(place);
        kit_until(has_ended, a);
        atomic_store(&a->ended, 0);
    }
    (void)shortage_note(hf_election_resign(election));
}

static void stand(struct party *a, const struct place *place)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_election *election;

    opts.on_elected = (struct hf_on_election){on_elected, a, on_drop};
    opts.on_ended = (struct hf_on_ended){on_candidacy_ended, a, on_drop};
    if (shortage_note(
            hf_election_open(a->client, "nightly", &opts, &election)) &&
        shortage_note(hf_election_campaign_start(election))) {
        if (shortage_is_for_good()) /* its retries would outlast us */
            (void)shortage_note(hf_election_resign(election));
        else
            lead_and_fall(a, election, place);
    }
    hf_election_free(election);
}

static void standing(const struct place *place)
{
    struct party a = {.client = NULL};
    int drops = 0;

    if (party_open(&a, place)) {
        stand(&a, place);
        drops = 2;
    }
    party_close(&a);
    assert_int_equal(atomic_load(&a.dropped), drops);
}

static void raise_and_wait(struct hf_barrier *barrier)
{
    uint64_t wait_ms = shortage_patience_ms();
    hf_status status;

    if (!shortage_note(hf_barrier_raise(barrier, wait_ms)))
        return;
    status = hf_barrier_wait(barrier, 0);
    assert_int_not_equal(status, HF_OK);
    if (status != HF_EBUSY)
        (void)shortage_note(status);
    if (shortage_note(hf_barrier_lower(barrier, wait_ms)))
        (void)shortage_note(hf_barrier_wait(barrier, wait_ms));
}

static void barring(const struct place *place)
{
    struct party a = {.client = NULL};
    struct hf_barrier *barrier = NULL;

    if (party_open(&a, place) &&
        shortage_note(hf_barrier_open(a.client, "gate", &barrier)))
        raise_and_wait(barrier);
    hf_barrier_free(barrier);
    party_close(&a);
}

/* ------------------------------------------------------------- the sweep */

SHORTAGE(each_fails_while_waiting, all_fail_while_waiting, waiting)
SHORTAGE(each_fails_with_callbacks, all_fail_with_callbacks, starting)
SHORTAGE(each_fails_while_counting, all_fail_while_counting, counting)
SHORTAGE(each_fails_while_standing, all_fail_while_standing, standing)
SHORTAGE(each_fails_at_a_barrier, all_fail_at_a_barrier, barring)

static void it_is_too_late_for_another(void **state)
{
    struct hf_allocator another = *hf_allocator_in_use();

    (void)state;
    assert_int_equal(hf_set_allocator(&another), HF_ESTATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fails_while_waiting),
        cmocka_unit_test(all_fail_while_waiting),
        cmocka_unit_test(each_fails_with_callbacks),
        cmocka_unit_test(all_fail_with_callbacks),
        cmocka_unit_test(each_fails_while_counting),
        cmocka_unit_test(all_fail_while_counting),
        cmocka_unit_test(each_fails_while_standing),
        cmocka_unit_test(all_fail_while_standing),
        cmocka_unit_test(each_fails_at_a_barrier),
        cmocka_unit_test(all_fail_at_a_barrier),
        cmocka_unit_test(it_is_too_late_for_another),
    };

    heap_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

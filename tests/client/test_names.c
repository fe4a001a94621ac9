/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the names that there are, in each way to use a client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation_faults.h"
#include "client_fixture.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "in_each_way.h"

#define WAIT_MS 10000

/* More than one page, and some more. */
#define NAMES 600

struct walk_fixture {
    struct client_directory directory;
    struct client_fixture looker;
    struct client_fixture owner;
    struct hf_lock *locks[NAMES];
    struct hf_grant *grants[NAMES];
    int seen[NAMES];
    int pages;
};

static struct hf_lock *open_numbered(struct client_fixture *fixture, int number)
{
    char name[32];

    snprintf(name, sizeof(name), "all/%03d", number);
    return client_open_lock(fixture, name);
}

static void take(struct walk_fixture *f, int number)
{
    f->locks[number] = open_numbered(&f->owner, number);
    assert_int_equal(
        hf_lock_acquire(f->locks[number], NULL, &f->grants[number]), HF_OK);
}

static void give(struct walk_fixture *f, int number)
{
    if (f->grants[number] != NULL)
        assert_int_equal(hf_grant_release(f->grants[number]), HF_OK);
    hf_lock_free(f->locks[number]);
    f->grants[number] = NULL;
    f->locks[number] = NULL;
}

static struct walk_fixture *fixture_open(enum way way)
{
    struct walk_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    client_directory_create(&f->directory);
    client_open(&f->looker, way, f->directory.url, no_listener);
    client_open(&f->owner, WAY_BLOCKING, f->directory.url, no_listener);
    return f;
}

static void fixture_close(struct walk_fixture *f)
{
    for (int i = 0; i < NAMES; i++)
        give(f, i);
    client_close(&f->looker);
    client_close(&f->owner);
    client_directory_remove(&f->directory);
    free(f);
}

/* ---------------------------------------------------------------- a page -- */

/* The end of hf_names_next_start(). */
struct page_outcome {
    _Atomic int ended;
    _Atomic int dropped;
    hf_status status;
    struct hf_names_page *page;
};

static void on_page(void *arg, const struct hf_result *result)
{
    struct page_outcome *outcome = arg;

    outcome->status = result->status;
    outcome->page = result->names;
    atomic_fetch_add(&outcome->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct page_outcome *)arg)->dropped, 1);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct page_outcome *)arg)->dropped) > 0;
}

static struct hf_done done_of(struct page_outcome *outcome)
{
    return (struct hf_done){on_page, outcome, on_drop};
}

/* The next page, which must come, or NULL. */
static struct hf_names_page *next_page(struct client_fixture *fixture,
                                       struct hf_names *names)
{
    struct page_outcome outcome = {.status = HF_OK};

    if (fixture->way == WAY_BLOCKING) {
        assert_int_equal(hf_names_next(names, WAIT_MS, &outcome.page), HF_OK);
        return outcome.page;
    }
    assert_int_equal(hf_names_next_start(names, WAIT_MS, done_of(&outcome)),
                     HF_OK);
    client_wait_until(fixture, is_dropped, &outcome);
    assert_int_equal(outcome.ended, 1);
    assert_int_equal(outcome.status, HF_OK);
    return outcome.page;
}

/* Count the names of ${page}. */
static void count_page(struct walk_fixture *f, struct hf_names_page *page)
{
    const struct hf_name_view *view;
    int number;

    f->pages++;
    for (size_t i = 0; (view = hf_names_at(page, i)) != NULL; i++) {
        assert_int_equal(sscanf(view->name, "all/%d", &number), 1);
        assert_in_range(number, 0, NAMES - 1);
        f->seen[number]++;
        assert_int_equal(view->kind, HF_KIND_MUTEX);
        assert_int_equal(view->holders, 1);
        assert_int_equal(view->waiters, 0);
        assert_non_null(view->holder);
        assert_null(view->waiter);
        assert_true(view->holder->age_ms < (uint64_t)WAIT_MS * 100);
        assert_non_null(strstr(view->holder->owner, "pid="));
    }
    assert_true(hf_names_count(page) <= 256);
    assert_int_equal(hf_names_unreadable(page), 0);
    assert_true(hf_names_looked_at(page) >= hf_names_count(page));
    hf_names_page_free(page);
}

/* ----------------------------------------------------------------- cases -- */

TEST_IN_EACH_WAY(pages_have_each_name_once)
{
    struct walk_fixture *f = fixture_open(way);
    struct hf_names_page *page;
    struct hf_names *names;

    for (int i = 0; i < NAMES; i++)
        take(f, i);
    assert_int_equal(hf_names_open(f->looker.client, "all", NULL, &names),
                     HF_OK);
    while ((page = next_page(&f->looker, names)) != NULL)
        count_page(f, page);
    assert_true(f->pages >= 3);
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(f->seen[i], 1);
    assert_null(next_page(&f->looker, names)); /* and no more */
    hf_names_free(names);
    fixture_close(f);
}

/* Of every three one stays, one goes and one comes while the walk is at its
 * second page. */
TEST_IN_EACH_WAY(changes_between_pages)
{
    struct walk_fixture *f = fixture_open(way);
    struct hf_names_page *page;
    struct hf_names *names;

    for (int i = 0; i < NAMES; i++)
        if (i % 3 != 2)
            take(f, i);
    assert_int_equal(hf_names_open(f->looker.client, "/all", NULL, &names),
                     HF_OK);
    page = next_page(&f->looker, names);
    assert_non_null(page);
    count_page(f, page);
    for (int i = 0; i < NAMES; i++) {
        if (i % 3 == 1)
            give(f, i);
        else if (i % 3 == 2)
            take(f, i);
    }
    while ((page = next_page(&f->looker, names)) != NULL)
        count_page(f, page);
    for (int i = 0; i < NAMES; i++) {
        if (i % 3 == 0)
            assert_int_equal(f->seen[i], 1);
        else
            assert_in_range(f->seen[i], 0, 1);
    }
    hf_names_free(names);
    fixture_close(f);
}

/* Only one page at a time, and the walk may be freed meanwhile. */
TEST_WITH_CALLBACKS(one_page_at_a_time)
{
    struct walk_fixture *f = fixture_open(way);
    struct page_outcome first = {.status = HF_OK}, second = {.status = HF_OK};
    struct hf_names *names;

    take(f, 0);
    assert_int_equal(hf_names_open(f->looker.client, "", NULL, &names), HF_OK);
    assert_int_equal(hf_names_next_start(names, WAIT_MS, done_of(&first)),
                     HF_OK);
    if (way != WAY_THREAD) { /* else it may have ended */
        assert_int_equal(hf_names_next_start(names, WAIT_MS, done_of(&second)),
                         HF_ESTATE);
        assert_non_null(strstr(hf_last_error()->text, "a page is under way"));
        assert_int_equal(second.dropped, 1);
        assert_int_equal(second.ended, 0);
    }
    hf_names_free(names);
    client_wait_until(&f->looker, is_dropped, &first);
    assert_int_equal(first.status, HF_OK);
    count_page(f, first.page);
    assert_int_equal(f->seen[0], 1);
    fixture_close(f);
}

/* A barrier is no name; a double barrier and a semaphore are of their kinds. */
TEST_IN_EACH_WAY(other_kinds)
{
    struct walk_fixture *f = fixture_open(way);
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_double_barrier *meeting;
    struct hf_barrier *barrier;
    const struct hf_name_view *view;
    struct hf_names_page *page;
    struct hf_names *names;
    unsigned kinds = 0;

    opts.kind = HF_KIND_SEMAPHORE;
    opts.limit = 2;
    assert_int_equal(hf_lock_open(f->owner.client, "pool", &opts, &f->locks[0]),
                     HF_OK);
    assert_int_equal(hf_lock_acquire(f->locks[0], NULL, &f->grants[0]), HF_OK);
    assert_int_equal(hf_barrier_open(f->owner.client, "closed", &barrier),
                     HF_OK);
    assert_int_equal(hf_barrier_set(barrier, WAIT_MS), HF_OK);
    assert_int_equal(
        hf_double_barrier_open(f->owner.client, "round", 1, &meeting), HF_OK);
    assert_int_equal(hf_double_barrier_enter(meeting, WAIT_MS), HF_OK);
    assert_int_equal(hf_names_open(f->looker.client, "", NULL, &names), HF_OK);
    page = next_page(&f->looker, names);
    for (size_t i = 0; (view = hf_names_at(page, i)) != NULL; i++) {
        assert_int_equal(view->holders, 1);
        if (strcmp(view->name, "pool") == 0 && view->kind == HF_KIND_SEMAPHORE)
            kinds += 1;
        else if (strcmp(view->name, "round") == 0 &&
                 view->kind == HF_KIND_PARTICIPANT)
            kinds += 10;
        else
            fail_msg("%s", view->name);
    }
    assert_int_equal(kinds, 11);
    hf_names_page_free(page);
    assert_null(next_page(&f->looker, names));
    hf_names_free(names);
    assert_int_equal(hf_double_barrier_leave(meeting, WAIT_MS), HF_OK);
    assert_int_equal(hf_barrier_clear(barrier, WAIT_MS), HF_OK);
    hf_double_barrier_free(meeting);
    hf_barrier_free(barrier);
    fixture_close(f);
}

TEST(refusals)
{
    struct walk_fixture *f = fixture_open(WAY_BLOCKING);
    struct hf_names_opts opts = HF_NAMES_OPTS_INIT;
    struct hf_names_page *page;
    struct hf_names *names;

    assert_int_equal(hf_names_open(f->looker.client, "a/", NULL, &names),
                     HF_ENAME);
    assert_null(names);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_names_open: the lock name"));
    opts.size = 1;
    assert_int_equal(hf_names_open(f->looker.client, "", &opts, &names),
                     HF_EINVAL);
    assert_int_equal(hf_names_open(f->looker.client, "", NULL, &names), HF_OK);
    client_close(&f->looker);
    assert_int_equal(hf_names_next(names, WAIT_MS, &page), HF_ECLOSED);
    assert_null(page);
    assert_int_equal(hf_last_error()->status, HF_ECLOSED);
    hf_names_free(names);
    hf_names_free(NULL);
    hf_names_page_free(NULL);
    client_open(&f->looker, WAY_BLOCKING, f->directory.url, no_listener);
    fixture_close(f);
}

/* ---------------------------------------------------------------- memory -- */

/* A page that fails for lack of memory loses nothing: the next one has it. */
static void walk_names(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_names_page *page = NULL;
    struct hf_names *names;
    struct hf_grant *grant;
    size_t found = 0;
    bool failed = false;

    if (!status_is_expected(hf_lock_acquire(lock, NULL, &grant)))
        return;
    if (status_is_expected(hf_names_open(client, "", NULL, &names))) {
        for (int i = 0; i < 4; i++) {
            if (!status_is_expected(
                    hf_names_next(names, allocation_wait_ms(), &page))) {
                failed = true;
                continue;
            }
            if (page == NULL)
                break;
            failed = false;
            found += hf_names_count(page);
            hf_names_page_free(page);
        }
        if (!failed && !all_allocations_fail())
            assert_int_equal(found, 1);
        hf_names_free(names);
    }
    (void)status_is_expected(hf_grant_release(grant));
}

static void walking(const struct client_directory *directory)
{
    struct hf_client *client;
    struct hf_lock *lock;

    if (!status_is_expected(hf_client_open(directory->url, NULL, &client)))
        return;
    if (status_is_expected(hf_lock_open(client, "nightly", NULL, &lock)))
        walk_names(client, lock);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
}

EACH_ALLOCATION_FAILS(each_fails_while_walking, all_fail_while_walking, walking)

TEST_FILE(names)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}

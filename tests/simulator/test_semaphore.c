/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a semaphore is not "the first n tickets of one queue, each watching the
 * ticket n places ahead", as many articles have it: a model of that scheme, in
 * which a release wakes nobody though a permit is free.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>

#define PERMITS 2
#define PLACES 8

struct contender {
    bool there;
    bool holds;
    int watches; /* place of the ticket it waits for, -1: none */
};

struct queue {
    struct contender locks[PLACES];
    int count;
};

/* How many are ahead of ${place}, and who is ${back} before it. */
static int ahead(const struct queue *queue, int lock, int back, int *who)
{
    int count = 0;

    *who = -1;
    for (int i = lock - 1; i >= 0; i--) {
        if (queue->locks[i].there && ++count == back)
            *who = i;
    }
    return count;
}

/* The rule of the articles. */
static void look(struct queue *queue, int lock)
{
    struct contender *mine = &queue->locks[lock];

    mine->holds = ahead(queue, lock, PERMITS, &mine->watches) < PERMITS;
}

static int enter(struct queue *queue)
{
    queue->locks[queue->count] = (struct contender){.there = true};
    look(queue, queue->count);
    return queue->count++;
}

/* Returns how many were woken by it. */
static int leave(struct queue *queue, int lock)
{
    int woken = 0;

    queue->locks[lock].there = false;
    for (int i = 0; i < queue->count; i++) {
        if (!queue->locks[i].there || queue->locks[i].holds ||
            queue->locks[i].watches != lock)
            continue;
        look(queue, i);
        woken++;
    }
    return woken;
}

static int holders(const struct queue *queue)
{
    int count = 0;

    for (int i = 0; i < queue->count; i++)
        count += queue->locks[i].there && queue->locks[i].holds;
    return count;
}

static void the_scheme_works_in_the_order_of_the_articles(void **state)
{
    struct queue queue = {0};
    int a = enter(&queue);
    int b = enter(&queue);
    int c = enter(&queue);

    (void)state;
    assert_true(queue.locks[b].holds);
    assert_false(queue.locks[c].holds);
    assert_int_equal(leave(&queue, a), 1);
    assert_true(queue.locks[c].holds);
}

static void the_scheme_loses_the_wakeup_when_another_holder_leaves(void **state)
{
    struct queue queue = {0};
    int b;
    int c;

    (void)state;
    enter(&queue);
    b = enter(&queue);
    c = enter(&queue);
    /* B's permit is free, C is the next in line, and nobody tells it. */
    assert_int_equal(leave(&queue, b), 0);
    assert_int_equal(holders(&queue), PERMITS - 1);
    assert_false(queue.locks[c].holds);
    /* A look would have let it in. */
    look(&queue, c);
    assert_true(queue.locks[c].holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scheme_works_in_the_order_of_the_articles),
        cmocka_unit_test(
            the_scheme_loses_the_wakeup_when_another_holder_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

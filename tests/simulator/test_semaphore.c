/* SPDX-License-Identifier: Apache-2.0 */
/* Why a semaphore of this library is not "the first n tickets of one queue
 * hold, and each other ticket watches the one n positions ahead", as many
 * articles have it: a model of that scheme in which a release wakes nobody
 * although a permit is free. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>

#define PERMITS 2
#define CONTENDERS_MAX 8

struct contender {
    bool there;
    bool holds;
    int watches; /* position of the ticket that it watches, -1: none */
};

struct queue {
    struct contender contenders[CONTENDERS_MAX];
    int count;
};

/* How many are ahead of ${position}; ${who}: the one ${back} positions before
 * it. */
static int ahead(const struct queue *queue, int position, int back, int *who)
{
    int count = 0;

    *who = -1;
    for (int i = position - 1; i >= 0; i--) {
        if (queue->contenders[i].there && ++count == back)
            *who = i;
    }
    return count;
}

/* The rule of the articles. */
static void look(struct queue *queue, int position)
{
    struct contender *mine = &queue->contenders[position];

    mine->holds = ahead(queue, position, PERMITS, &mine->watches) < PERMITS;
}

static int enter(struct queue *queue)
{
    queue->contenders[queue->count] = (struct contender){.there = true};
    look(queue, queue->count);
    return queue->count++;
}

/* Returns how many contenders this wakes. */
static int leave(struct queue *queue, int position)
{
    int woken = 0;

    queue->contenders[position].there = false;
    for (int i = 0; i < queue->count; i++) {
        if (!queue->contenders[i].there || queue->contenders[i].holds ||
            queue->contenders[i].watches != position)
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
        count += queue->contenders[i].there && queue->contenders[i].holds;
    return count;
}

static void the_scheme_works_in_the_order_of_the_articles(void **state)
{
    struct queue queue = {0};
    int a = enter(&queue);
    int b = enter(&queue);
    int c = enter(&queue);

    (void)state;
    assert_true(queue.contenders[b].holds);
    assert_false(queue.contenders[c].holds);
    assert_int_equal(leave(&queue, a), 1);
    assert_true(queue.contenders[c].holds);
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
    /* B's permit is free and C is next in line, but nothing wakes C. */
    assert_int_equal(leave(&queue, b), 0);
    assert_int_equal(holders(&queue), PERMITS - 1);
    assert_false(queue.contenders[c].holds);
    /* If C looked again, it would get the permit. */
    look(&queue, c);
    assert_true(queue.contenders[c].holds);
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

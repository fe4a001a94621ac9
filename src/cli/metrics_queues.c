/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See metrics_queues.h.  The samples of a family are written one behind the
 * other, as OpenMetrics wants them.
 *
 * A walk brings each name once, so the most contended are found by keeping the
 * best of those seen: no estimate is needed, and the memory does not depend on
 * how many names there are.  A name that is a lock and a semaphore comes twice.
 * Its numbers are added up, unless the first part had to make room before the
 * second came.
 */
#include "cli/metrics_queues.h"

#include <string.h>

#include "base/memory.h"
#include "command/format.h"
#include "core/name_list.h"
#include "metrics/metrics_block.h"

#define MICROSECONDS_PER_MS 1000

static void keep_oldest(struct hf_queue_tickets *tickets, uint64_t age_ms)
{
    tickets->age_known = true;
    if (age_ms > tickets->oldest_ms)
        tickets->oldest_ms = age_ms;
}

void hf_queue_tickets_add(struct hf_queue_tickets *tickets, uint64_t count,
                          const struct hf_ticket_view *oldest, uint64_t utc_ms)
{
    uint64_t age_ms =
        oldest != NULL ? hf_format_age_ms(oldest, utc_ms, NULL) : HF_FOREVER;

    tickets->count += count;
    if (age_ms != HF_FOREVER)
        keep_oldest(tickets, age_ms);
}

static void add_tickets(struct hf_queue_tickets *tickets,
                        const struct hf_queue_tickets *other)
{
    tickets->count += other->count;
    if (other->age_known)
        keep_oldest(tickets, other->oldest_ms);
}

/* Count those of ${other} among ${numbers}. */
static void add_numbers(struct hf_queue_numbers *numbers,
                        const struct hf_queue_numbers *other)
{
    add_tickets(&numbers->hold, &other->hold);
    add_tickets(&numbers->wait, &other->wait);
}

/* Write how many tickets there are. */
static void write_counts(struct hf_openmetrics *out,
                         const struct hf_metric_family *family,
                         const struct hf_queue_numbers *numbers, size_t count,
                         bool hold)
{
    hf_openmetrics_family(out, family);
    for (size_t i = 0; i < count; i++)
        hf_openmetrics_number(
            out, family, (struct hf_metric_label){"name", numbers[i].name},
            hold ? numbers[i].hold.count : numbers[i].wait.count);
}

/* Write how old the oldest ticket is.  There is no sample if there are tickets,
 * but the age of none is known. */
static void write_ages(struct hf_openmetrics *out,
                       const struct hf_metric_family *family,
                       const struct hf_queue_numbers *numbers, size_t count,
                       bool hold)
{
    hf_openmetrics_family(out, family);
    for (size_t i = 0; i < count; i++) {
        const struct hf_queue_tickets *tickets =
            hold ? &numbers[i].hold : &numbers[i].wait;

        if (tickets->count == 0 || tickets->age_known)
            hf_openmetrics_number(
                out, family, (struct hf_metric_label){"name", numbers[i].name},
                tickets->oldest_ms * MICROSECONDS_PER_MS);
    }
}

void hf_metrics_write_queues(struct hf_openmetrics *out,
                             const struct hf_queue_numbers *numbers,
                             size_t count)
{
    static const struct hf_metric_family holders = {
        "holdfast_queue_holders", HF_METRIC_GAUGE,
        "Tickets that hold the lock, or permits of the semaphore."};
    static const struct hf_metric_family waiters = {
        "holdfast_queue_waiters", HF_METRIC_GAUGE, "Tickets that wait."};
    static const struct hf_metric_family oldest_wait = {
        "holdfast_queue_oldest_wait_seconds", HF_METRIC_GAUGE_SECONDS,
        "Time since the oldest waiter began to ask; not there if that is not "
        "known."};
    static const struct hf_metric_family oldest_hold = {
        "holdfast_queue_oldest_hold_seconds", HF_METRIC_GAUGE_SECONDS,
        "Time since the oldest holder began to ask, so at most that long it "
        "has held; not there if that is not known."};

    write_counts(out, &holders, numbers, count, true);
    write_counts(out, &waiters, numbers, count, false);
    write_ages(out, &oldest_wait, numbers, count, false);
    write_ages(out, &oldest_hold, numbers, count, true);
}

/* ------------------------------------------------- the most contended -- */

/* Names that have numbers of their own, as many as a client has. */
#define NAMES_MAX HF_METRICS_NAMES
/* The numbers of names, of prefixes and of the others. */
#define NUMBERS_MAX (NAMES_MAX + HF_METRICS_NAMED + HF_METRICS_FOLDS + 1)

struct hf_metrics_names {
    const struct hf_metrics_folds *folds;
    uint64_t seen; /* names that were counted */
    struct hf_queue_numbers others;
    struct hf_queue_numbers of_fold[HF_METRICS_FOLDS];
    struct hf_queue_numbers of_named[HF_METRICS_NAMED];
    struct hf_queue_numbers of_name[NAMES_MAX];
    char texts[NAMES_MAX][HF_NAME_BYTES + 1]; /* of .of_name */
    size_t count;                             /* of .of_name */
};

struct hf_metrics_names *
hf_metrics_names_new(const struct hf_metrics_folds *folds)
{
    struct hf_metrics_names *names = hf_alloc(sizeof *names);

    if (names == NULL)
        return NULL;
    names->folds = folds;
    names->others.name = HF_METRICS_OTHERS;
    for (size_t i = 0; i < folds->count; i++)
        names->of_fold[i].name = folds->prefixes[i];
    for (size_t i = 0; i < folds->name_count; i++)
        names->of_named[i].name = folds->names[i];
    return names;
}

void hf_metrics_names_free(struct hf_metrics_names *names)
{
    hf_free(names);
}

/* -------------------------------------------------------------- counting -- */

/* Is ${one} more contended than ${other}?  More tickets wait for it, or they
 * wait longer.  Names decide last, so that an idle engine always shows the same
 * ones. */
static bool is_more_contended(const struct hf_queue_numbers *one,
                              const struct hf_queue_numbers *other)
{
    if (one->wait.count != other->wait.count)
        return one->wait.count > other->wait.count;
    if (one->wait.oldest_ms != other->wait.oldest_ms)
        return one->wait.oldest_ms > other->wait.oldest_ms;
    return strcmp(one->name, other->name) < 0;
}

/* The numbers in which ${name} is counted already: its own, or those of its
 * prefix.  NULL: none. */
static struct hf_queue_numbers *find(struct hf_metrics_names *names,
                                     const char *name)
{
    for (size_t i = 0; i < names->folds->name_count; i++)
        if (strcmp(names->of_named[i].name, name) == 0)
            return &names->of_named[i];
    for (size_t i = 0; i < names->folds->count; i++)
        if (hf_name_is_below(name, names->folds->prefixes[i]))
            return &names->of_fold[i];
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->of_name[i].name, name) == 0)
            return &names->of_name[i];
    return NULL;
}

/* Set entry ${i} to ${numbers}, with a copy of the name. */
static void keep(struct hf_metrics_names *names, size_t i,
                 const struct hf_queue_numbers *numbers)
{
    size_t bytes = strnlen(numbers->name, HF_NAME_BYTES);

    memcpy(names->texts[i], numbers->name, bytes);
    names->texts[i][bytes] = '\0';
    names->of_name[i] = *numbers;
    names->of_name[i].name = names->texts[i];
}

/* Keep the numbers of a new name.  If there is no room, the least contended
 * name of all is counted among the others. */
static void add_name(struct hf_metrics_names *names,
                     const struct hf_queue_numbers *numbers)
{
    size_t least = 0;

    if (names->count < NAMES_MAX) {
        keep(names, names->count++, numbers);
        return;
    }
    for (size_t i = 1; i < NAMES_MAX; i++)
        if (is_more_contended(&names->of_name[least], &names->of_name[i]))
            least = i;
    if (!is_more_contended(numbers, &names->of_name[least])) {
        add_numbers(&names->others, numbers);
        return;
    }
    add_numbers(&names->others, &names->of_name[least]);
    keep(names, least, numbers);
}

void hf_metrics_names_add(struct hf_metrics_names *names,
                          const struct hf_name_view *view, uint64_t utc_ms)
{
    struct hf_queue_numbers numbers = {.name = view->name};
    struct hf_queue_numbers *counted;

    if (view->kind == HF_KIND_PARTICIPANT)
        return;
    names->seen++;
    hf_queue_tickets_add(&numbers.hold, view->holders, view->holder, utc_ms);
    hf_queue_tickets_add(&numbers.wait, view->waiters, view->waiter, utc_ms);
    if ((counted = find(names, view->name)) != NULL)
        add_numbers(counted, &numbers);
    else
        add_name(names, &numbers);
}

/* --------------------------------------------------------------- writing -- */

static void write_number(struct hf_openmetrics *out,
                         const struct hf_metric_family *family, uint64_t number)
{
    static const struct hf_metric_label no_label;

    hf_openmetrics_family(out, family);
    hf_openmetrics_number(out, family, no_label, number);
}

void hf_metrics_names_write(struct hf_openmetrics *out,
                            struct hf_metrics_names *names, uint64_t unreadable)
{
    static const struct hf_metric_family seen = {
        "holdfast_queue_names", HF_METRIC_GAUGE,
        "Names that have a ticket; a lock and a semaphore of one name are "
        "two."};
    static const struct hf_metric_family not_read = {
        "holdfast_queue_names_unreadable", HF_METRIC_GAUGE,
        "What could not be read and is in no other number."};
    struct hf_queue_numbers all[NUMBERS_MAX];
    size_t count = names->count, folds = names->folds->count;
    size_t named = names->folds->name_count;

    memcpy(all, names->of_name, count * sizeof *all);
    memcpy(all + count, names->of_fold, folds * sizeof *all);
    count += folds;
    memcpy(all + count, names->of_named, named * sizeof *all);
    count += named;
    all[count++] = names->others;
    hf_metrics_write_queues(out, all, count);
    write_number(out, &seen, names->seen);
    write_number(out, &not_read, unreadable);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds blocks to a sum, and converts a sum to a block.
 */
#include "metrics/metrics_sum.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

/* -------------------------------------------------------------- reading -- */

static bool are_below(const void *numbers, size_t bytes, uint64_t most)
{
    const uint64_t *number = numbers;

    for (size_t i = 0; i < bytes / sizeof(*number); i++)
        if (number[i] > most)
            return false;
    return true;
}

/* Everything is a number, except for the header, the ids and the names. */
bool hf_metrics_sum_check(const struct hf_metrics_block *block, size_t entries,
                          uint64_t most)
{
    const size_t first = offsetof(struct hf_metrics_block, all);

    if (!are_below(&block->all, hf_metrics_block_bytes(0) - first, most))
        return false;
    for (size_t i = 0; i < entries; i++) {
        const struct hf_metrics_entry *entry = &block->entries[i];

        if (entry->weight > most ||
            !are_below(&entry->series, sizeof(entry->series), most))
            return false;
    }
    return true;
}

static void add(uint64_t *to, uint64_t number)
{
    *to = number < HF_METRICS_SUM_MAX - *to ? *to + number : HF_METRICS_SUM_MAX;
}

static void add_histogram(struct hf_histogram *to,
                          const struct hf_metrics_histogram *from)
{
    add(&to->sum_us, from->sum_us);
    to->count = 0;
    for (size_t i = 0; i < HF_HISTOGRAM_BUCKETS; i++) {
        add(&to->buckets[i], from->buckets[i]);
        to->count += to->buckets[i];
    }
}

static void add_series(struct hf_lock_stats *to,
                       const struct hf_metrics_series *from)
{
    add(&to->acquired, from->acquired);
    add(&to->waited, from->waited);
    add(&to->failed, from->failed);
    add(&to->lost, from->lost);
    add(&to->revoked, from->revoked);
    add_histogram(&to->wait, &from->wait);
    add_histogram(&to->hold, &from->hold);
    add_histogram(&to->handoff, &from->handoff);
}

/* Return the name with ${id}, which is added if necessary; NULL if there is no
 * memory. */
static struct hf_metrics_sum_name *get_name(struct hf_metrics_sum *sum,
                                            uint64_t id)
{
    struct hf_metrics_sum_name *names = sum->names;

    for (size_t i = 0; i < sum->count; i++)
        if (names[i].id == id)
            return &names[i];
    if (sum->count == sum->room) {
        size_t room = sum->room != 0 ? 2 * sum->room : HF_METRICS_NAMES;

        names = hf_realloc(names, room * sizeof(*names));
        if (names == NULL)
            return NULL;
        sum->names = names;
        sum->room = room;
    }
    names = &names[sum->count++];
    memset(names, 0, sizeof(*names));
    names->id = id;
    return names;
}

/* Is ${id} the id of the name ${text}?  A name that was cut has its id at its
 * end.  So each text has only one id. */
static bool is_id_of(uint64_t id, const char *text)
{
    enum { TAIL = 17, CUT = HF_METRICS_NAME_BYTES - 1 - 3 };

    char unused[HF_METRICS_NAME_BYTES], tail[TAIL + 1];
    size_t bytes = strlen(text);

    if (bytes < CUT || text[bytes - TAIL] != '~' ||
        strspn(text + bytes - TAIL + 1, "0123456789abcdef") != TAIL - 1)
        return hf_metrics_name_id(text, unused) == id;
    (void)snprintf(tail, sizeof(tail), "~%016" PRIx64, id);
    return strcmp(text + bytes - TAIL, tail) == 0;
}

/* Does ${entry} have a name that a client can have written?  Then no entry of
 * any file has that name with another id, so the name appears once in the sum.
 */
static bool is_named(const struct hf_metrics_entry *entry)
{
    return entry->id != 0 &&
           memchr(entry->name, '\0', sizeof(entry->name)) != NULL &&
           hf_metrics_name_valid(entry->name) &&
           is_id_of(entry->id, entry->name);
}

static bool add_entry(struct hf_metrics_sum *sum,
                      const struct hf_metrics_entry *entry)
{
    struct hf_metrics_sum_name *name;

    if (!is_named(entry))
        return true;
    if ((name = get_name(sum, entry->id)) == NULL)
        return false;
    add(&name->weight, entry->weight);
    memcpy(name->text, entry->name, sizeof(name->text));
    add_series(&name->stats, &entry->series);
    return true;
}

/* The names are trimmed from time to time, so that the memory is limited for
 * any number of files. */
bool hf_metrics_sum_add(struct hf_metrics_sum *sum,
                        const struct hf_metrics_block *block, size_t entries)
{
    uint64_t used = block->header.used;

    add_series(&sum->all, &block->all);
    add_series(&sum->named, &block->named);
    for (size_t i = 0; i < HF_METRICS_STATUSES; i++)
        add(&sum->ended[i], block->ended[i]);
    add(&sum->reconnects, block->reconnects);
    add(&sum->suspensions, block->suspensions);
    add(&sum->sessions_lost, block->sessions_lost);
    add(&sum->deadlock_searches_cut, block->deadlock_searches_cut);
    add_histogram(&sum->round_trip, &block->round_trip);
    for (size_t i = 0; i < entries && i < used; i++)
        if (!add_entry(sum, &block->entries[i]))
            return false;
    if (sum->count / 2 > HF_METRICS_SUM_NAMES)
        hf_metrics_sum_trim(sum);
    return true;
}

/* -------------------------------------------------------------- writing -- */

static int compare_weights(const void *a, const void *b)
{
    const struct hf_metrics_sum_name *one = a, *other = b;

    return (one->weight < other->weight) - (one->weight > other->weight);
}

void hf_metrics_sum_trim(struct hf_metrics_sum *sum)
{
    if (sum->count <= HF_METRICS_SUM_NAMES)
        return;
    qsort(sum->names, sum->count, sizeof(*sum->names), compare_weights);
    sum->count = HF_METRICS_SUM_NAMES;
}

static void write_histogram(struct hf_metrics_histogram *to,
                            const struct hf_histogram *from)
{
    to->sum_us = from->sum_us;
    for (size_t i = 0; i < HF_HISTOGRAM_BUCKETS; i++)
        to->buckets[i] = from->buckets[i];
}

static void write_series(struct hf_metrics_series *to,
                         const struct hf_lock_stats *from)
{
    to->acquired = from->acquired;
    to->waited = from->waited;
    to->failed = from->failed;
    to->lost = from->lost;
    to->revoked = from->revoked;
    write_histogram(&to->wait, &from->wait);
    write_histogram(&to->hold, &from->hold);
    write_histogram(&to->handoff, &from->handoff);
}

void hf_metrics_sum_write(const struct hf_metrics_sum *sum,
                          struct hf_metrics_block *block)
{
    write_series(&block->all, &sum->all);
    write_series(&block->named, &sum->named);
    for (size_t i = 0; i < HF_METRICS_STATUSES; i++)
        block->ended[i] = sum->ended[i];
    block->reconnects = sum->reconnects;
    block->suspensions = sum->suspensions;
    block->sessions_lost = sum->sessions_lost;
    block->deadlock_searches_cut = sum->deadlock_searches_cut;
    write_histogram(&block->round_trip, &sum->round_trip);
    for (size_t i = 0; i < sum->count; i++) {
        struct hf_metrics_entry *entry = &block->entries[i];

        entry->id = sum->names[i].id;
        entry->weight = sum->names[i].weight;
        memcpy(entry->name, sum->names[i].text, sizeof(entry->name));
        write_series(&entry->series, &sum->names[i].stats);
    }
    block->header.used = sum->count;
}

/* --------------------------------------------------------------- others -- */

/* An entry may have an event that the sum does not have, if a killed writer has
 * counted the event in part. */
static void subtract(uint64_t *from, uint64_t number)
{
    *from = *from > number ? *from - number : 0;
}

static void subtract_histogram(struct hf_histogram *from,
                               const struct hf_histogram *histogram)
{
    subtract(&from->sum_us, histogram->sum_us);
    from->count = 0;
    for (size_t i = 0; i < HF_HISTOGRAM_BUCKETS; i++) {
        subtract(&from->buckets[i], histogram->buckets[i]);
        from->count += from->buckets[i];
    }
}

void hf_metrics_sum_others(const struct hf_metrics_sum *sum,
                           struct hf_lock_stats *others)
{
    *others = sum->named;
    for (size_t i = 0; i < sum->count; i++) {
        const struct hf_lock_stats *stats = &sum->names[i].stats;

        subtract(&others->acquired, stats->acquired);
        subtract(&others->waited, stats->waited);
        subtract(&others->failed, stats->failed);
        subtract(&others->lost, stats->lost);
        subtract(&others->revoked, stats->revoked);
        subtract_histogram(&others->wait, &stats->wait);
        subtract_histogram(&others->hold, &stats->hold);
        subtract_histogram(&others->handoff, &stats->handoff);
    }
}

void hf_metrics_sum_free(struct hf_metrics_sum *sum)
{
    hf_free(sum->names);
    *sum = (struct hf_metrics_sum){0};
}

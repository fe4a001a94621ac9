/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a queue that is watched is listed: after a change, but so seldom that
 * nobody notices it.  In the long run lists take a tenth of the time at most,
 * unless one takes longer than HF_LIST_PACE_TOOK_MS.
 *
 * Each list uses up ten times as long as it took.  What was not used in the
 * last ten seconds is saved up, so that lists of a short queue may follow each
 * other closely for a while, and one that was slow by chance has no pause
 * behind it. This is the generic cell rate algorithm (ITU-T I.371): one instant
 * says all.
 *
 * Everything here is arithmetic with times of one clock, in milliseconds; there
 * is no clock in it.
 */
#ifndef HF_CLIENT_LIST_PACE_H
#define HF_CLIENT_LIST_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The shortest time from the beginning of a list to that of the next one. */
#define HF_LIST_PACE_MS 20

/* A list uses up so many times as long as it took. */
#define HF_LIST_PACE_SHARE 10

/* No list counts for more.  One that takes longer has mostly waited for a
 * server that did not answer, and the watch must not be silent for ten times
 * that. */
#define HF_LIST_PACE_TOOK_MS 3000

/* How much is saved up, in milliseconds. */
#define HF_LIST_PACE_SAVED_MS 10000

/* A list that comes later than this after the change that it was made for is
 * late: more may have happened than it shows. */
#define HF_LIST_PACE_LATE_MS 50

/* All zero at first. */
struct hf_list_pace {
    uint64_t used_until_ms; /* what the lists so far have used up */
    uint64_t next_at_ms;    /* no list begins before this */
    bool changed;           /* since the last list began; then since when */
    uint64_t changed_at_ms;
    /* When the list under way began; is it for a change, and since when. */
    uint64_t began_at_ms;
    bool for_change;
    uint64_t for_change_at_ms;
};

/* The queue has changed.  ${shown}: the list under way shows that, because it
 * is requested later. */
void hf_list_pace_changed(struct hf_list_pace *pace, uint64_t now_ms,
                          bool shown);

/* When the next list, if one is wanted, may begin. */
uint64_t hf_list_pace_next_at_ms(const struct hf_list_pace *pace);

/* Not before ${at_ms}. */
void hf_list_pace_postpone(struct hf_list_pace *pace, uint64_t at_ms);

/* A list begins. */
void hf_list_pace_begin(struct hf_list_pace *pace, uint64_t now_ms);

/* The connection that it has waited for is there: the time until now does not
 * count as its time. */
void hf_list_pace_connected(struct hf_list_pace *pace, uint64_t now_ms);

/* It has come.  True if it is late. */
bool hf_list_pace_end(struct hf_list_pace *pace, uint64_t now_ms);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: what a client counts of its own locks, as numbers for its program
 * and as OpenMetrics text for an endpoint of the program's own.  The library
 * opens no port.
 *
 *     struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
 *
 *     opts.metrics = HF_METRICS_COUNT | HF_METRICS_DIR;
 *     hf_client_open(NULL, &opts, &client);
 *     ...
 *     hf_client_metrics_write(client,
 *                             (struct hf_metrics_write){send_part, peer});
 *
 * These numbers are what only the client knows: how its acquires ended, and how
 * long they took.  Who holds a lock now, and who waits for it, is known to the
 * engine: hf_lock_tickets(), holdfast-metrics(1).  The two are never mixed.
 *
 * A client counts nothing unless .metrics of its options says so.
 *
 * By name     The 64 names that were most often waited for have numbers of
 *             their own, and all other names share those of "others".  Names
 *             are counted as they come while there is room.  After that a name
 *             takes the place of another one only when an acquire of it had to
 *             wait, by the algorithm Space-Saving (Metwally, Agrawal and El
 *             Abbadi, "Efficient Computation of Frequent and Top-k Elements in
 *             Data Streams", ICDT 2005).  What was counted for the other name
 *             moves to "others", so the sum over all names never falls.
 *             .metrics_name of the options of the client says what a lock is
 *             called here, for instance "user" for all names below "user/".
 * Several     An acquire of several locks counts once in .all, and once for the
 *             name of each of its locks in .names and .others.
 * Events      A program that has metrics of its own, or a log for audits, gets
 *             each event itself: .on_event of the options of the client.
 * Time        is that of CLOCK_BOOTTIME, in microseconds.
 */
#ifndef HOLDFAST_METRICS_H
#define HOLDFAST_METRICS_H

#include <holdfast/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The upper bounds of the buckets of a histogram, inclusive, in microseconds:
 * about two a decade.  The last bucket has no bound.  X(bound, seconds as
 * OpenMetrics writes them) */
#define HF_HISTOGRAM_TABLE(X)                                                  \
    X(10, "1e-05")                                                             \
    X(30, "3e-05")                                                             \
    X(100, "0.0001")                                                           \
    X(300, "0.0003")                                                           \
    X(1000, "0.001")                                                           \
    X(3000, "0.003")                                                           \
    X(10000, "0.01")                                                           \
    X(30000, "0.03")                                                           \
    X(100000, "0.1")                                                           \
    X(300000, "0.3")                                                           \
    X(1000000, "1.0")                                                          \
    X(3000000, "3.0")                                                          \
    X(10000000, "10.0")                                                        \
    X(30000000, "30.0")                                                        \
    X(100000000, "100.0")                                                      \
    X(300000000, "300.0")                                                      \
    X(1000000000, "1000.0")                                                    \
    X(3000000000, "3000.0")                                                    \
    X(10000000000, "10000.0")

/* How many buckets a histogram has, with the last one. */
#define HF_HISTOGRAM_BUCKETS 20

/* Durations.  This struct will not grow. */
struct hf_histogram {
    uint64_t count;
    uint64_t sum_us;
    uint64_t buckets[HF_HISTOGRAM_BUCKETS]; /* each without those below it */
};

/* The acquires of a client, or those of one name. */
struct hf_lock_stats {
    const char *name;  /* as .metrics_name says; "" of all, and of others */
    uint64_t acquired; /* granted, leaderships of an election included */
    uint64_t waited;   /* of all that have ended, those with others ahead */
    uint64_t failed;   /* ended without a grant, timeouts included */
    uint64_t lost;     /* grants that ended before their release, and those
                          whose release ended with HF_ELOST */
    uint64_t revoked;  /* requests to release that were received */
    /* From the call to the grant, of those that were granted. */
    struct hf_histogram wait;
    /* From the grant to the call that releases it, or to its loss. */
    struct hf_histogram hold;
    /* From the notice that the predecessor is gone, as this client received it,
     * to the grant.  Only where it is known: of mutexes, readers, writers and
     * elections that waited for a ticket of another client or of their own; not
     * of semaphores, of several locks, and of threads that share a ticket. */
    struct hf_histogram handoff;
};

/* What a client has counted since it was opened. */
struct hf_client_stats {
    const struct hf_lock_stats *all;
    /* How many acquires ended with each status, HF_OK included; index it with a
     * status, below .status_count. */
    const uint64_t *by_status;
    size_t status_count;
    uint64_t reconnects;    /* connections after the first one */
    uint64_t suspensions;   /* connections that were lost */
    uint64_t sessions_lost; /* sessions that ended before hf_client_close() */
    /* Looks for deadlocks (.detect_deadlock of an acquire) that ended without a
     * result, because they would have taken more than 4096 queues or 65536
     * tickets.  The first one is logged as a warning. */
    uint64_t deadlock_searches_cut;
    /* From a request that writes at the engine to its answer.  One request is
     * measured at a time, as TCP does it, and none whose answer was lost. */
    struct hf_histogram round_trip;
    /* By name, in no particular order; .others is of all other names. */
    const struct hf_lock_stats *const *names;
    size_t name_count;
    const struct hf_lock_stats *others;
};

/**
 * hf_client_stats(client, stats):
 * Set ${stats} to what ${client} has counted until now, all of one instant.
 *   Ownership ${stats} must be freed with hf_client_stats_free().
 *   Thread    any; also in a callback.
 *   Fails     HF_ESTATE if the options of ${client} did not ask for it;
 *             HF_ENOMEM HF_EFORKED; ${stats} is then NULL.
 */
HF_API hf_status hf_client_stats(struct hf_client *client,
                                 struct hf_client_stats **stats)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/**
 * hf_client_stats_free(stats):
 * Free ${stats} (NULL is fine).
 */
HF_API void hf_client_stats_free(struct hf_client_stats *stats);

/* Receives a text in pieces, with no lock held.  After it has returned false it
 * is not called again. */
struct hf_metrics_write {
    bool (*fn)(void *arg, const char *text, size_t bytes);
    void *arg;
};

/**
 * hf_client_metrics_write(client, write):
 * Write the same as OpenMetrics text, version 1.0.0, whose type is
 * "application/openmetrics-text; version=1.0.0; charset=utf-8".  It ends with
 * "# EOF".  holdfast-metrics(1) has the table of all metrics.
 *   Ownership the text that ${write} gets is valid until it returns.
 *   Callback  ${write}, once or several times, on this thread and inside this
 *             call.
 *   Fails     HF_ECANCELLED if ${write} returned false; else as
 *             hf_client_stats().
 */
HF_API hf_status hf_client_metrics_write(struct hf_client *client,
                                         struct hf_metrics_write write)
    HF_NONNULL(1) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif

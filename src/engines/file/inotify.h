/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices changes in the directories, by one inotify instance of the session;
 * or by a timer, if the user has no inotify instance or watch left.
 *
 * Both report to .on_change what may have changed.  Its receiver checks the
 * files themselves, so a report without a change does no harm.
 */
#ifndef HF_ENGINES_FILE_INOTIFY_H
#define HF_ENGINES_FILE_INOTIFY_H

#include <uv.h>

#include "base/tree.h"
#include "core/engine.h"

struct hf_file_ticket;
struct hf_file_watch;

struct hf_file_inotify {
    /* These three functions are set when the engine is opened.
     *
     * Called when something may have changed: what inotify watches as ${wd}, or
     * anything if ${all}.  If ${file} is not NULL, the file with that name was
     * added to the directory ${wd} or removed from it. */
    void (*on_change)(struct hf_engine *engine, int wd, bool all,
                      const char *file);
    /* Called by the timer.  Anything may have changed, but usually nothing
     * has. */
    void (*on_tick)(struct hf_engine *engine);
    /* Called when it is time to arm the watches that are
     * HF_FILE_WATCH_TO_ARM. */
    void (*on_arm)(struct hf_engine *engine);
    /* -1: there is no instance yet, or the user has none left */
    int inotify_fd;
    int timer_fd;           /* -1: the timer was not needed yet */
    uv_poll_t inotify_poll; /* a handle while .inotify_fd is not -1 */
    uv_poll_t timer_poll;   /* a handle while .timer_fd is not -1 */
    uv_timer_t arm_timer;   /* calls .on_arm */
    /* when .arm_timer is due, if it is active, by the time of the loop */
    uint64_t arm_at_ms;
    bool arm_timer_made; /* .arm_timer was initialized */
    /* The watches of kind OWN that are HF_FILE_WATCH_TO_ARM, the last added
     * first. */
    struct hf_file_watch *to_arm;
    /* The watches by their inotify watch descriptors: .wds by .wd, .dir_wds by
     * .dir_wd (watch.h).  A FIFO or symlink has a descriptor of its own.  All
     * watches in one directory share the descriptor of that directory, and the
     * watches of queues without tickets share that of the directory above. */
    struct hf_tree wds;
    struct hf_tree dir_wds;
    int root_wd;  /* watch descriptor of the root directory; -1: none */
    int locks_wd; /* watch descriptor of "locks" in it; -1: none */
    bool warned;  /* a warning was logged that the timer is used */
};

/* Initialize ${inotify}, which is zeroed; nothing is open then. */
void hf_file_inotify_init(struct hf_file_inotify *inotify);

/* Begin to watch what ${watch} is about: its FIFO or symlink, if it has one,
 * and the directory of the lock.  For a queue watch whose directory is missing,
 * or which is .empty, also the directory above, or the nearest one above it
 * that exists.  Returns false if neither inotify nor the timer can be used,
 * because memory or descriptors ran out.
 *
 * A second call shows whether the same directories are still at these paths: if
 * they are not, .dir_wd or .wd changes. */
bool hf_file_inotify_arm(struct hf_file_watch *watch);

/* Stop watching for ${watch}, which is already out of the engine's list. */
void hf_file_inotify_disarm(struct hf_file_watch *watch);

/* Returns the watch that follows ${after} among those with the watch descriptor
 * ${wd}; if ${after} is NULL, the first; NULL if there is no further one.
 * Watches with this .wd come before watches with this .dir_wd; no file is in
 * both roles. */
struct hf_file_watch *hf_file_inotify_next(const struct hf_engine *engine,
                                           int wd,
                                           const struct hf_file_watch *after);

/* Watch the root directory and its "locks".  Called when the first watch is
 * armed, and when the root directory was opened again.  Does nothing without an
 * instance. */
void hf_file_inotify_watch_root(struct hf_engine *engine);

/* Handle the events that inotify has so far, up to 64 KiB; the loop handles the
 * rest.  Called when the FIFO of another session has hung up, before that is
 * reported.  Otherwise the report could admit a ticket of ours that was removed
 * earlier. */
void hf_file_inotify_read(struct hf_engine *engine);

/* Have the timer call .on_tick once a second.  Returns false if there is no
 * timer. */
bool hf_file_inotify_start_timer(struct hf_engine *engine);

/* How many milliseconds after a ticket has moved up its watch is armed, and how
 * long after its list a queue watch is.  The core waits as long
 * (HF_OWN_WATCH_AFTER_MS) before it watches a ticket that was admitted at
 * once. */
#define HF_FILE_ARM_AFTER_MS 5

/* Have .on_arm called in ${ms} milliseconds, or earlier if an earlier call
 * asked for that.  Returns false if there is no memory or no loop. */
bool hf_file_inotify_arm_later(struct hf_engine *engine, uint64_t ms);

/* Give the FIFO of ${ticket} a higher descriptor number than that of inotify,
 * if it is lower.  The kernel closes the descriptors of a killed process from
 * the highest down, and takes 10 ms for that of inotify.  The next waiter would
 * have to wait for that. */
void hf_file_inotify_put_fifo_above(struct hf_engine *engine,
                                    struct hf_file_ticket *ticket);

/* Close everything.  The handles are counted in .handles of the engine until
 * libuv has closed them. */
void hf_file_inotify_close(struct hf_engine *engine);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How changes in the directories are noticed: by one inotify instance of the
 * session and, where the user has no instance or watch left, by a timer.
 *
 * Both pass what may have changed to .on_change.  Its receiver checks the files
 * themselves, so a change that is reported in vain does no harm.
 */
#ifndef HF_ENGINES_FILE_INOTIFY_H
#define HF_ENGINES_FILE_INOTIFY_H

#include <uv.h>

#include "base/tree.h"
#include "core/engine.h"

struct hf_file_ticket;
struct hf_file_watch;

struct hf_file_inotify {
    /* These three are set when the engine is opened.  Something may have
     * changed in what inotify watches as ${wd}, or in anything if ${all}.  If
     * ${file} is not NULL, the change is that ${file} has come into that
     * directory or has gone from it. */
    void (*on_change)(struct hf_engine *engine, int wd, bool all,
                      const char *file);
    /* The timer: anything may have changed, and most often nothing has. */
    void (*on_tick)(struct hf_engine *engine);
    /* Watches that are to be armed are to be armed now. */
    void (*on_arm)(struct hf_engine *engine);
    int inotify_fd;         /* -1: no instance yet, or none is left */
    int timer_fd;           /* -1: the timer has not been needed */
    uv_poll_t inotify_poll; /* a handle while .inotify_fd is not -1 */
    uv_poll_t timer_poll;   /* a handle while .timer_fd is not -1 */
    uv_timer_t arm_timer;   /* it calls .on_arm */
    uint64_t arm_at_ms;     /* when, by the time of the loop, if it is active */
    bool arm_timer_made;    /* .arm_timer is a handle */
    /* The watches of the kind OWN that are TO_ARM, the last one added first. */
    struct hf_file_watch *to_arm;
    /* The watches by their watch descriptors.  A FIFO or link has one of its
     * own; the watches in one directory share that of the directory, and those
     * of queues without tickets that of the directory above. */
    struct hf_tree wds;
    struct hf_tree dir_wds;
    int root_wd;  /* of the root directory; -1: not watched */
    int locks_wd; /* of its "locks"; -1: not watched */
    bool warned;  /* that the timer is used */
};

/* Set ${inotify}, which is zeroed, to having nothing open. */
void hf_file_inotify_init(struct hf_file_inotify *inotify);

/* Watch the FIFO or the link of ${watch}, if it is of one, and the directory.
 * Of a queue watch the directory above too, if the directory is missing or
 * .empty is set; where that one is missing, the nearest one above it.  False if
 * neither inotify nor the timer can be had, for want of memory or descriptors.
 * A second call sees whether the directories at these paths are still the same
 * ones: if they are not, .dir_wd or .wd changes. */
bool hf_file_inotify_arm(struct hf_file_watch *watch);

/* Watch it no longer.  ${watch} is out of the engine's list by then. */
void hf_file_inotify_disarm(struct hf_file_watch *watch);

/* The watch after ${after} among those that have ${wd}; ${after} NULL: the
 * first.  First come those that have it as .wd, then those that have it as
 * .dir_wd; no inode is both.  NULL: there is none. */
struct hf_file_watch *hf_file_inotify_next(const struct hf_engine *engine,
                                           int wd,
                                           const struct hf_file_watch *after);

/* Watch the root directory and its "locks": when the first watch is armed, and
 * when the root directory was opened anew.  Does nothing without an instance.
 */
void hf_file_inotify_watch_root(struct hf_engine *engine);

/* Pass on what inotify has reported so far, up to 64 KiB; the loop passes on
 * the rest.  Called when a ticket of another session has hung up, before that
 * is answered: the answer must not admit a ticket of ours that was removed
 * before. */
void hf_file_inotify_read(struct hf_engine *engine);

/* Have the timer call .on_tick once a second.  False if it cannot be had. */
bool hf_file_inotify_start_timer(struct hf_engine *engine);

/* A watch of a ticket is armed this long after it has moved up, and one of a
 * queue this long after its list.  The core waits as long
 * (HF_OWN_WATCH_AFTER_MS) before it watches a ticket that was admitted at once.
 */
#define HF_FILE_ARM_AFTER_MS 5

/* Have .on_arm called in ${ms}, or earlier if that was asked for before.  False
 * if there is no memory or loop. */
bool hf_file_inotify_arm_later(struct hf_engine *engine, uint64_t ms);

/* Give the FIFO of ${ticket} a higher number than that of inotify, if it has
 * not.  The kernel closes the descriptors of a killed process from the highest
 * down and needs 10 ms for inotify's, which the next in line would wait for. */
void hf_file_inotify_put_fifo_above(struct hf_engine *engine,
                                    struct hf_file_ticket *ticket);

/* Close everything.  The handles count in .handles of the engine until libuv
 * has closed them. */
void hf_file_inotify_close(struct hf_engine *engine);

#endif

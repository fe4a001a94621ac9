/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runs around this one can do nothing before this one has ended?
 *
 * The locks of such a run wait together with this one, and then a deadlock can
 * go through them.  The locks of any other run may be released while this one
 * still waits: its command goes on beside us, or goes on when it is tired of
 * waiting.  If such a lock counted, a wait would end with a deadlock that
 * would have ended with the lock.  So the sure side is that a run does not
 * wait.
 *
 * A run is known to wait for this one only if all processes of its command's
 * tree are in one line that leads to us, without another process on either
 * side, and each of them is
 *
 *  - a launcher or a supervisor of ours: these do what we know; or
 *  - bash or dash, with one thread, blocked in a wait for a child that has no
 *    timeout (the kernel function do_wait), and started by that run with the
 *    words of its command and nothing else.  Such a shell goes on only when its
 *    child ends: neither sets itself a timer.  Of any other program that cannot
 *    be known: the kernel does not show the timers of another process
 *    (setitimer(2)), and an exec keeps them.  So the shell must be the program
 *    that the run has started, or a fork of it.
 *
 * What is true of this line stays true as long as we wait, unless somebody
 * outside of the tree sends a signal.  So it does not matter that the processes
 * are not looked at in one instant.
 */
#ifndef HF_CLI_OUTER_WAITS_H
#define HF_CLI_OUTER_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs that are nested deeper count as unknown. */
#define HF_OUTER_WAITS_MAX 16

struct hf_outer_waits {
    pid_t supervisors[HF_OUTER_WAITS_MAX]; /* the innermost run first */
    size_t count;
};

/* Set ${waits} to the runs that wait for this one.  To be called by its
 * supervisor, which has no children, with the pid of its launcher as
 * ${waited_for}; or by a hold, which has none either, with its own.  ${text} is
 * the value of HOLDFAST_HELD, or NULL. */
void hf_outer_waits_find(struct hf_outer_waits *waits, const char *text,
                         pid_t waited_for);

/* Is the run with the supervisor ${pid} one of them? */
bool hf_outer_waits_have(const struct hf_outer_waits *waits, pid_t pid);

#endif

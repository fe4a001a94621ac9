/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast: distributed locks for C.
 *
 * A lock is a fair queue of tickets that an engine (a directory on this
 * machine, ZooKeeper, etcd, Redis, PostgreSQL) keeps in order and clears of the
 * dead.
 *
 *     struct hf_client *client;
 *     struct hf_lock *lock;
 *     struct hf_grant *grant;
 *
 *     if (hf_client_open(NULL, NULL, &client) != HF_OK ||
 *         hf_lock_open(client, "nightly-report", NULL, &lock) != HF_OK ||
 *         hf_lock_acquire(lock, NULL, &grant) != HF_OK)
 *         errx(1, "%s", hf_last_error()->text);
 *     write_report(hf_grant_token(grant));
 *     if (hf_grant_release(grant) != HF_OK)
 *         errx(1, "%s", hf_last_error()->text);
 *     hf_lock_free(lock);
 *     hf_client_close(client);
 *
 * hf_lock_run() does all of that in one call.  In the description of a call
 * ${client} is its argument of that name.
 *
 * What holds for every call
 *
 * Threads    Any thread may make any call unless its entry says otherwise.
 *            A handle must not be used once the call that frees it has begun.
 *            No call is a cancellation point: a thread that is cancelled in
 *            one, waiting or not, ends after it.
 * Blocking   A call that waits is named without _start.  It is refused with
 *            HF_EREENTRANT inside a callback of this library and on the
 *            thread of a borrowed uv loop, where it could only wait for
 *            itself.
 * Callbacks  A call that returns anything but HF_OK never calls back.  One
 *            that returns HF_OK calls back exactly once, with no lock of the
 *            library held, and never from inside the call; on another thread
 *            the callback may run before the call has returned.  Where
 *            callbacks run is chosen when the client is opened (enum
 *            hf_delivery).  The .drop of a callback, if any, runs once when
 *            .arg is no longer needed, also when the call failed; it is a
 *            callback like the others.  A callback may take as long as it
 *            likes.  Meanwhile the other callbacks of its client wait, and so
 *            do the calls that wait for callbacks, such as the one that closes
 *            the client.  Nothing else waits where callbacks run on a thread of
 *            the client or in hf_client_dispatch(): leases are renewed, and a
 *            loss is shown by hf_grant_loss_fd(), hf_grant_check() and
 *            safe-until.  On a borrowed uv loop it blocks the loop: then no
 *            lease is renewed, and a loss is shown only by calls on other
 *            threads and by safe-until, which passes.  Two kinds of functions
 *            are no callbacks, because locks of the library are held while they
 *            run: .fn of struct hf_reconnect, and those of struct hf_allocator.
 * Time       Names end in their unit.  An instant (_at_ms, safe_until_ms) is
 *            on CLOCK_BOOTTIME; a duration (_ms) starts at the call.  No wall
 *            clock decides anything; what is called _utc_ms is for people.
 *            ${wait_ms} means the same in every call: HF_FOREVER is no limit
 *            but those of the first connection (connect_ms of the client) and
 *            of the policy for reconnecting (struct hf_reconnect), and 0 is one
 *            answer of the engine: no wait for another owner, and for the link
 *            at most connect_ms.
 * Failure    Every failure is an hf_status from one table.  hf_last_error() has
 *            the last one of the thread and a text that explains it: the
 *            failure of a call, on whatever handle, and inside a callback the
 *            failure that this reports.
 * fork       A child must not use its parent's handles: every call on one
 *            answers HF_EFORKED there, and nothing it does, exit included,
 *            disturbs the parent's locks.
 * Descriptors  None of the library is below 3, and all are close-on-exec.  A
 *            program must not close them.  One that closes all, as closefrom()
 *            and close_range() do, has lost what it held: its handles are as
 *            if their client was closed, and open grants are lost.  Callbacks
 *            come at once where a thread of the library runs them, and else
 *            when the next call is made; calls answer HF_ECLOSED or HF_ELOST
 *            with a text that says so; the handles are freed as ever; a new
 *            client works.  What the program opens under the old numbers is
 *            not touched.  Not noticed are: a descriptor that is closed alone,
 *            by its number; descriptors that are closed while another thread
 *            is inside of the library, and not in a wait; and the pipe that
 *            libuv keeps for all loops, whose two numbers libuv closes in
 *            each child of a fork and at exit, whosever they are by then.  On
 *            a borrowed uv loop, which lost its own, callbacks are left to the
 *            call that closes the client.
 * Growth     Enumerations, statuses included, may get new values, and structs
 *            that the library fills may get new fields at their end: switch
 *            with a default, and treat an unknown status by its class.  A
 *            struct of options begins with its .size, which its _INIT sets
 *            and its ..._init() where there are no macros,
 *            and may get new fields at its end, whose default is 0.  So
 *            programs and libraries of different versions work together:
 *            a program that was compiled with an earlier header gets the
 *            defaults of the options that it does not know; one that was
 *            compiled with a later header is served as long as it leaves the
 *            options that the library does not know at 0, and gets
 *            HF_EUNSUPPORTED otherwise.  A .size that is less than in the
 *            first release, or more than 4096, is HF_EINVAL, and nothing else
 *            of the struct is read: no .drop in it is called either.  Other
 *            structs that a program fills, such as those of callbacks, and
 *            struct hf_error do not change.
 *
 * There is one header for each noun: a program that acquires a lock needs only
 * <holdfast/lock.h> and <holdfast/grant.h>.  This one includes all of them, but
 * for <holdfast/uv.h>, and <holdfast/zookeeper.h> and those that build on it.
 */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include <holdfast/barrier.h>
#include <holdfast/client.h>
#include <holdfast/election.h>
#include <holdfast/findings.h>
#include <holdfast/grant.h>
#include <holdfast/lock.h>
#include <holdfast/metrics.h>
#include <holdfast/mutex.h>
#include <holdfast/names.h>
#include <holdfast/queue_watch.h>
#include <holdfast/status.h>
#include <holdfast/success.h>
#include <holdfast/tickets.h>
#include <holdfast/version.h>

#endif

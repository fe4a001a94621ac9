/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client does when its monitor ends: it closes the session, then it
 * notifies its user.  And the undoing of a client that could not be opened.
 */
#ifndef HF_HOST_CLIENT_CLOSE_H
#define HF_HOST_CLIENT_CLOSE_H

struct hf_client;

/* All with the lock.  The first two are .close and .ended of its monitor. */

/* The .close of the client's monitor: have the core close the session.  The
 * state CLOSED follows, and with it hf_monitor_closed(). */
void hf_client_close_begin(void *client);

/* The .ended of the client's monitor: drop the listeners, and call what the
 * user gave to hf_client_close_start().  Releases the lock meanwhile. */
void hf_client_close_ended(void *client);

/* Undo a client whose opening failed, without a callback of the user.  Releases
 * the lock and frees the client. */
void hf_client_abandon(struct hf_client *client);

#endif

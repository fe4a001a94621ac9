/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a client's monitor is for the client. */
#ifndef HF_HOST_CLIENT_CLOSE_H
#define HF_HOST_CLIENT_CLOSE_H

struct hf_client;

/* All with the lock.  The first two are .close and .ended of its monitor. */

/* Have the core close the session; the state CLOSED follows. */
void hf_client_close_begin(void *client);

/* Drop the listeners and run what the user gave to hf_client_close_start().
 * Gives the lock up meanwhile. */
void hf_client_close_ended(void *client);

/* Undo a half-made client: gives the lock up and frees it, without a callback
 * of the user. */
void hf_client_abandon(struct hf_client *client);

#endif

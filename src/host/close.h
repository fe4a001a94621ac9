/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a client, in this order: the core is told; the engine says
 * goodbye (CLOSED); every callback that is queued has run; the close is
 * answered; when the last thread has left the loop, engine and loop go; when
 * the last handle is freed, the memory goes.
 */
#ifndef HF_HOST_CLOSE_H
#define HF_HOST_CLOSE_H

struct hf_client;

/* All with the lock. */

/* The core has reached CLOSED. */
void hf_close_reached(struct hf_client *client);

/* The last callback of a client. */
void hf_close_run(struct hf_client *client, void *arg);

/* The borrowed loop has let go of our handles. */
void hf_close_borrowed_gone(struct hf_client *client);

/* Free engine and loop if it is time to. */
void hf_close_wind_up(struct hf_client *client);

/* Undo a half-made client: gives the lock up and frees it, without a callback
 * of the user. */
void hf_close_abandon(struct hf_client *client);

#endif

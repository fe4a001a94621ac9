/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of a client, as the core uses it: what it was asked and has not
 * answered, and its end when it cannot be used any more.
 */
#ifndef HF_HOST_CLIENT_ENGINE_H
#define HF_HOST_CLIENT_ENGINE_H

#include "client/client.h"

/* All with the lock. */

/* Hand ${request} to the engine; take back a watch. */
void hf_client_engine_request(struct hf_client *client,
                              struct hf_request *request);
void hf_client_engine_unwatch(struct hf_client *client,
                              struct hf_request *watch);

/* The engine has sent ${event}, which the core is about to get. */
void hf_client_engine_sent(const struct hf_event *event);

/* The descriptors of the engine are gone: never call it again, answer what it
 * was asked, and end the session. */
void hf_client_engine_abandon(struct hf_client *client);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Fake Redis servers in this process.  They read the bytes that the engine
 * sends as commands, and reply as a server does, or wrongly.  The linker
 * replaces the connections of src/transport by those of this file. */
#ifndef HF_TESTS_FUZZ_RESP_SERVER_H
#define HF_TESTS_FUZZ_RESP_SERVER_H

#include "lease_fake_server.h"

void resp_begin(struct leased_client *client);
void resp_end(struct leased_client *client);
/* Answer all commands on all connections, and deliver the replies. */
void resp_serve(struct leased_client *client);
/* A step in which a server misbehaves. */
void resp_step(struct leased_client *client);

/* Are the servers nodes of a Redis Cluster? */
void resp_cluster(bool clustered);

#endif

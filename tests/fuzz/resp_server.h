/* SPDX-License-Identifier: Apache-2.0 */
/* Redis servers in this process: bytes that the engine's links send are read as
 * commands, and replies are put into bytes, as a server does or as one that
 * lies.  The linker puts its links in place of those of src/transport. */
#ifndef HF_TESTS_FUZZ_RESP_SERVER_H
#define HF_TESTS_FUZZ_RESP_SERVER_H

#include "lease_fake_server.h"

void resp_begin(struct leased_client *client);
void resp_end(struct leased_client *client);
/* Answer all commands on all links, and let the replies arrive. */
void resp_serve(struct leased_client *client);
/* One step of a server that is not what it should be. */
void resp_step(struct leased_client *client);

/* The servers are nodes of a Redis Cluster. */
void resp_cluster(bool clustered);

#endif

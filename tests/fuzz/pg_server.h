/* SPDX-License-Identifier: Apache-2.0 */
/* A PostgreSQL server in this process, at the other end of a socket: the
 * messages of libpq are read, and answered as a server does or as one that
 * lies. CommandComplete and ReadyForQuery are two moments: the bytes may be cut
 * in between, and an error or a notice may come there. */
#ifndef HF_TESTS_FUZZ_PG_SERVER_H
#define HF_TESTS_FUZZ_PG_SERVER_H

#include "lease_fake_server.h"

void pg_begin(struct leased_client *client);
void pg_end(struct leased_client *client);
/* Accept connections, answer all messages, and let the answers arrive. */
void pg_serve(struct leased_client *client);
/* One step of a server that is not what it should be. */
void pg_step(struct leased_client *client);

/* Where it listens: a directory for libpq's host=, and the port. */
const char *pg_url(uint8_t choice);

#endif

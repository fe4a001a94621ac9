/* SPDX-License-Identifier: Apache-2.0 */
/* A fake PostgreSQL server in this process, at the other end of a socket.
 * It reads the messages of libpq and answers them as a server does, or
 * wrongly. CommandComplete and ReadyForQuery are two moments: the bytes may
 * be cut between them, and an error or a notice may come there. */
#ifndef HF_TESTS_FUZZ_PG_SERVER_H
#define HF_TESTS_FUZZ_PG_SERVER_H

#include "lease_fake_server.h"

void pg_begin(struct leased_client *client);
void pg_end(struct leased_client *client);
/* Accept connections, answer all messages, and deliver the answers. */
void pg_serve(struct leased_client *client);
/* A step in which the server misbehaves. */
void pg_step(struct leased_client *client);

/* Its address: a directory for host= of libpq, and the port. */
const char *pg_url(uint8_t choice);

#endif

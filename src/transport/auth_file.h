/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials in a file, which neither a process list nor a log shows.  Lines
 * besides empty ones and those that begin with '#':
 *
 *     zk://USER:PASSWORD@HOST:PORT,HOST:PORT       for these servers
 *     redis://:PASSWORD@/run/redis/redis.sock      for this socket
 *     digest:USER:PASSWORD                         for whatever is asked for
 *
 * A URL chooses by auth_file= the file that it is to use.  Without that, and
 * without a user of its own, it gets what HOLDFAST_AUTH_FILE names; but there
 * every line names its servers: the environment does not know which URL an
 * argument gives, so one to somebody else's server must not get anything.  The
 * scheme counts too, so that what is for TLS is never said in plain text.
 *
 * No error text has any of a line.
 */
#ifndef HF_TRANSPORT_AUTH_FILE_H
#define HF_TRANSPORT_AUTH_FILE_H

#include <stdbool.h>

#include <holdfast/holdfast.h>

#include "core/url.h"

#define HF_AUTH_BYTES 512

struct hf_auth {
    char user[HF_AUTH_BYTES];     /* may be "" */
    char password[HF_AUTH_BYTES]; /* "": none was found */
    const char *path; /* of the file, as the URL or the environment has it */
    bool elsewhere;   /* HOLDFAST_AUTH_FILE has lines for other servers only */
};

/* What is to be said to the servers of ${url}, which has been checked but for
 * this.  ${word} begins a line for any server, ${port} is that of a server
 * without one.  HF_EURL or HF_EDENIED, naming the file; where auth_file= names
 * one, also if it has no line for these servers.  The caller wipes ${auth}. */
hf_status hf_auth_find(const struct hf_url *url, const char *word,
                       unsigned port, struct hf_auth *auth,
                       struct hf_error *error);

#endif

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
#include <stddef.h>

#include <holdfast/holdfast.h>

#include "core/url.h"

#define HF_AUTH_BYTES 512

struct hf_auth {
    char user[HF_AUTH_BYTES];     /* may be "" */
    char password[HF_AUTH_BYTES]; /* "": none was found */
    const char *path; /* of the file, as the URL or the environment has it */
    bool for_other_servers; /* HOLDFAST_AUTH_FILE has lines for other servers
                               only */
};

/* Whose credentials are looked for. */
struct hf_auth_wanted {
    const struct hf_url *url; /* checked but for this */
    const char *prefix;       /* begins a line for any server */
    unsigned port;            /* of a server without one */
};

/* Find the credentials for the servers of the URL.  HF_EURL or HF_EDENIED,
 * naming the file; where auth_file= names one, also if it has no line for these
 * servers.  The caller wipes ${auth}. */
hf_status hf_auth_find(const struct hf_auth_wanted *wanted,
                       struct hf_auth *auth, struct hf_error *error);

/* The same by the ${bytes} of ${text}, which came from ${path} and are changed:
 * for fuzzing. */
hf_status hf_auth_parse(const struct hf_auth_wanted *wanted, const char *path,
                        char *text, size_t bytes, struct hf_auth *auth,
                        struct hf_error *error);

#endif

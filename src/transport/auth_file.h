/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of credentials, which unlike a URL appears neither in a process list
 * nor in a log.  Apart from empty lines and comments, which begin with '#',
 * its lines are:
 *
 *     zk://USER:PASSWORD@HOST:PORT,HOST:PORT       for these servers
 *     redis://:PASSWORD@/run/redis/redis.sock      for this socket
 *     digest:USER:PASSWORD                         for any server
 *
 * A URL names the file to use by auth_file=.  Without that option, and without
 * a user of its own, it gets the file that HOLDFAST_AUTH_FILE names.  In that
 * file every line must name its servers: the environment does not know which
 * URL a program gets as an argument, and a URL of somebody else's server must
 * not get credentials.  The scheme counts too, so that credentials for TLS are
 * never sent in plain text.
 *
 * No error text contains any part of a line.
 */
#ifndef HF_TRANSPORT_AUTH_FILE_H
#define HF_TRANSPORT_AUTH_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/status.h>

#include "base/url.h"

#define HF_AUTH_BYTES 512

/* Credentials that were found. */
struct hf_auth {
    char user[HF_AUTH_BYTES];     /* "" is possible */
    char password[HF_AUTH_BYTES]; /* "" if none were found */
    const char *path; /* the path of the file, as the URL or the environment
                         gives it; NULL: no file is named */
    bool for_other_servers; /* HOLDFAST_AUTH_FILE has only lines for other
                               servers */
};

/* The server and the URL for which credentials are wanted. */
struct hf_auth_wanted {
    const struct hf_url *url; /* already checked, except for its credentials */
    const char *prefix;       /* first word of the lines that are for any
                                 server, such as "digest" */
    unsigned port;            /* the default port of a server */
};

/* Find the credentials for the servers of the URL.  Returns HF_OK with "" as
 * password if no file is named, or if HOLDFAST_AUTH_FILE has only lines for
 * other servers.  Fails with HF_EURL or HF_EDENIED and a text that names the
 * file, also if the file of auth_file= has no line for these servers.  The
 * caller wipes ${auth}. */
hf_status hf_auth_find(const struct hf_auth_wanted *wanted,
                       struct hf_auth *auth, struct hf_error *error);

/* The same for a file that was read already: ${text} has its ${bytes}, which
 * are modified, and ${path} is its name.  The fuzzer calls this function, too.
 */
hf_status hf_auth_parse(const struct hf_auth_wanted *wanted, const char *path,
                        char *text, size_t bytes, struct hf_auth *auth,
                        struct hf_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SASL as a client, without I/O to the server: tokens go in and come out.  It
 * is a module that is loaded for the first URL that needs it, so the library
 * itself does not need a SASL library.
 *
 * One exchange:
 *
 *     client = sasl->open(memory, &settings)
 *     sasl->step(client, NULL, 0, &token, &error)   our first token, if any
 *     sasl->step(client, bytes, count, &token, ..)  for each token of the
 *                                                   server
 *     sasl->close(client)
 *
 * A step may block, because a mechanism may ask another server (Kerberos).  No
 * other function blocks.  One client is used by one thread at a time; different
 * clients may be used by different threads.
 */
#ifndef HF_TRANSPORT_SASL_H
#define HF_TRANSPORT_SASL_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/status.h>

/* The allocator that the module uses for its own memory, see hf_tls_memory. */
struct hf_sasl_memory {
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
};

/* What a client needs to prove its identity to a server.  The texts must stay
 * valid until the client is closed. */
struct hf_sasl_settings {
    const char *mechanism; /* "DIGEST-MD5", "GSSAPI" */
    const char *service;   /* name of the service: "zookeeper" */
    const char *host;      /* name of the server, as in its principal */
    const char *user;      /* "": the mechanism knows the user */
    const char *password;
};

/* The token that goes to the server. */
struct hf_sasl_token {
    const void *bytes; /* valid until the next step */
    size_t count;
    bool done; /* the exchange needs no further token of the server */
};

struct hf_sasl;

/* The functions of the module. */
struct hf_sasl_ops {
    unsigned abi; /* HF_SASL_ABI; a module with another number is refused */

    /* Is ${mechanism} installed?  Call this before .open.  Fails with
     * HF_EUNSUPPORTED and a text that says what to install. */
    hf_status (*check)(const char *mechanism, struct hf_error *error);

    /* Make a client.  Returns NULL for lack of memory. */
    struct hf_sasl *(*open)(const struct hf_sasl_memory *memory,
                            const struct hf_sasl_settings *settings);
    void (*close)(struct hf_sasl *sasl);

    /* Take the server's token, and set ${token} to ours.  Fails with HF_EDENIED
     * if one side refuses the other; HF_EUNREACHABLE if it may work later, for
     * example because Kerberos gives no ticket now; or HF_EPROTOCOL, HF_ENOMEM
     * or HF_EUNSUPPORTED. */
    hf_status (*step)(struct hf_sasl *sasl, const void *bytes, size_t count,
                      struct hf_sasl_token *token, struct hf_error *error);
};
#define HF_SASL_ABI 1

/* The only symbol that the module exports, of type struct hf_sasl_ops. */
#define HF_SASL_MODULE_SYMBOL "hf_sasl_module"

#endif

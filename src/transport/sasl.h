/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SASL as a client, without I/O to the server: tokens go in and come out.  It
 * is a module that is loaded for the first URL that needs it, so the library
 * itself does not need a SASL library.
 *
 * One exchange:
 *
 *     client = sasl->open(&settings)
 *     sasl->step(client, NULL, 0, &token)           the first token, if any
 *     sasl->step(client, bytes, count, &token)      for each of the server's
 *     sasl->close(client)
 *
 * A step may block, because a mechanism may ask a server of its own (Kerberos).
 * No other function blocks.  A client is used by one thread at a time;
 * different clients by any.
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
    const char *service;   /* of the server: "zookeeper" */
    const char *host;      /* of the server, as its principal has it */
    const char *user;      /* "": the mechanism knows it */
    const char *password;
};

/* The token that goes to the server. */
struct hf_sasl_token {
    const void *bytes; /* valid until the next step */
    size_t count;
    bool done; /* no further token of the server is needed */
};

struct hf_sasl;

/* The functions of the module. */
struct hf_sasl_ops {
    unsigned abi; /* HF_SASL_ABI; a module with another number is refused */

    /* Is ${mechanism} installed?  To be called before .open.  HF_EUNSUPPORTED
     * with a text that says what to install. */
    hf_status (*check)(const char *mechanism, struct hf_error *error);

    /* NULL for lack of memory. */
    struct hf_sasl *(*open)(const struct hf_sasl_memory *memory,
                            const struct hf_sasl_settings *settings);
    void (*close)(struct hf_sasl *sasl);

    /* Take the server's token, and set ${token}.  HF_EDENIED: one side refuses
     * the other.  HF_EUNREACHABLE: it may work later, for example because no
     * ticket of Kerberos can be had now.  HF_EPROTOCOL, HF_ENOMEM,
     * HF_EUNSUPPORTED. */
    hf_status (*step)(struct hf_sasl *sasl, const void *bytes, size_t count,
                      struct hf_sasl_token *token, struct hf_error *error);
};
#define HF_SASL_ABI 1

/* The only symbol that the module exports, of type struct hf_sasl_ops. */
#define HF_SASL_MODULE_SYMBOL "hf_sasl_module"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS as a filter without I/O: ciphertext in, plaintext out and back.  The
 * filter is a module, so that the library itself needs no TLS library; it is
 * loaded on the first URL that wants it.
 *
 * One connection:
 *
 *     tls->open(context, host, &filter, &error)
 *     until tls->handshake(filter) is HF_TLS_DONE, and after that for ever:
 *         tls->pull(filter, ...)     what is to be sent
 *         tls->push(filter, ...)     what was received
 *         tls->read(filter, ...)     what it means
 *         tls->write(filter, ...)    what is to be said
 *     tls->close(filter)
 *
 * A context and its filters are used by one thread at a time.
 */
#ifndef HF_TRANSPORT_TLS_H
#define HF_TRANSPORT_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/holdfast.h>

/* Where a module takes its own memory from: that of the library, since its copy
 * of the functions would not know of hf_set_allocator().  As in
 * core/memory.h. */
struct hf_tls_memory {
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
};

/* Paths of PEM files; NULL or "" for none. */
struct hf_tls_files {
    const char *ca;   /* whom to trust; none: the system's trust store */
    const char *cert; /* the client's own certificate, with its chain */
    const char *key;  /* and its key, without a passphrase, closed to others */
};

enum hf_tls_result {
    HF_TLS_DONE,   /* did what it says */
    HF_TLS_MORE,   /* wants to be pushed first */
    HF_TLS_CLOSED, /* the peer said goodbye */
    HF_TLS_FAILED, /* for good: see .why */
};

struct hf_tls_context;
struct hf_tls;

struct hf_tls_ops {
    unsigned abi; /* HF_TLS_ABI; a module of another is refused */

    /* Read ${files} and make a context.  HF_EURL or, of a key that others can
     * read, HF_EDENIED, naming the file; HF_ENOMEM or HF_EUNSUPPORTED. */
    hf_status (*context_new)(const struct hf_tls_memory *memory,
                             const struct hf_tls_files *files,
                             struct hf_tls_context **context,
                             struct hf_error *error);
    /* Its filters have been closed. */
    void (*context_free)(struct hf_tls_context *context);

    /* A filter for one connection.  The peer must show a certificate for
     * ${host}, a name or an address.  NULL for lack of memory. */
    struct hf_tls *(*open)(struct hf_tls_context *context, const char *host);
    void (*close)(struct hf_tls *tls);

    /* Go on with the handshake.  DONE, MORE or FAILED; there may be something
     * to be pulled after each. */
    enum hf_tls_result (*handshake)(struct hf_tls *tls);

    /* Take in ${count} bytes that were received.  DONE or FAILED. */
    enum hf_tls_result (*push)(struct hf_tls *tls, const void *bytes,
                               size_t count);
    /* Up to ${room} bytes that are to be sent; how many there are. */
    size_t (*pull)(struct hf_tls *tls, void *bytes, size_t room);

    /* After the handshake.  Up to ${room} bytes of what the peer says: DONE
     * with ${count} > 0, MORE, CLOSED or FAILED. */
    enum hf_tls_result (*read)(struct hf_tls *tls, void *bytes, size_t room,
                               size_t *count);
    /* Say ${count} > 0 bytes, all of them: pull what that makes.  DONE or
     * FAILED. */
    enum hf_tls_result (*write)(struct hf_tls *tls, const void *bytes,
                                size_t count);

    /* After FAILED: a text for people, and its status.  HF_EDENIED: a
     * certificate was refused, by us or the peer; HF_EURL: the peer does not
     * speak TLS; else HF_EUNREACHABLE. */
    const char *(*why)(const struct hf_tls *tls);
    hf_status (*status)(const struct hf_tls *tls);
};
#define HF_TLS_ABI 2

/* The one symbol the module exports, of type struct hf_tls_ops. */
#define HF_TLS_MODULE_SYMBOL "hf_tls_module"

#endif

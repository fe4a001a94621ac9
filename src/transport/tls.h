/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS as a filter without I/O, which turns ciphertext into plaintext and back.
 * The filter is a module that is loaded for the first URL that needs it, so
 * the library itself does not need a TLS library.
 *
 * One connection:
 *
 *     filter = tls->open(context, host, protocol)
 *     until tls->handshake(filter) is HF_TLS_DONE, and after that for ever:
 *         tls->pull(filter, ...)     ciphertext to send
 *         tls->push(filter, ...)     ciphertext that arrived
 *         tls->read(filter, ...)     plaintext that arrived
 *         tls->write(filter, ...)    plaintext to send
 *     tls->close(filter)
 *
 * A context and its filters are used by one thread at a time.
 */
#ifndef HF_TRANSPORT_TLS_H
#define HF_TRANSPORT_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/status.h>

/* The allocator that a module uses for its own memory.  It is that of the
 * library: the module has its own copy of base/memory.h, which does not know of
 * hf_set_allocator(). */
struct hf_tls_memory {
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
};

/* Paths of PEM files; NULL or "" for none. */
struct hf_tls_files {
    const char *ca;   /* certificates to trust; none: those that the system
                         trusts */
    const char *cert; /* the client's certificate with its chain */
    const char *key;  /* its private key, without a passphrase, not readable
                         by others */
};

/* The result of a function of the module. */
enum hf_tls_result {
    HF_TLS_DONE,   /* success */
    HF_TLS_MORE,   /* more ciphertext must be pushed first */
    HF_TLS_CLOSED, /* the peer has closed TLS (close_notify) */
    HF_TLS_FAILED, /* permanent failure, see .why */
};

struct hf_tls_context;
struct hf_tls;

/* The functions of a module. */
struct hf_tls_ops {
    unsigned abi; /* HF_TLS_ABI; a module with another number is refused */

    /* Read ${files} and make a context.  Fails with a text that names the file:
     * HF_EDENIED for a private key that others can read or that we cannot read,
     * HF_EURL for any other fault of a file.  Or fails with HF_ENOMEM or
     * HF_EUNSUPPORTED. */
    hf_status (*context_new)(const struct hf_tls_memory *memory,
                             const struct hf_tls_files *files,
                             struct hf_tls_context **context,
                             struct hf_error *error);
    /* Free a context whose filters have all been closed. */
    void (*context_free)(struct hf_tls_context *context);

    /* Make the filter for one connection.  The peer must present a certificate
     * for ${host}, a name or an address.  If ${protocol} is not NULL, the peer
     * must choose that protocol, for example "h2", by ALPN (RFC 7301).  Both
     * texts are copied.  Returns NULL for lack of memory, if one of the texts
     * is empty or too long, or while the process ends. */
    struct hf_tls *(*open)(struct hf_tls_context *context, const char *host,
                           const char *protocol);
    void (*close)(struct hf_tls *tls);

    /* Continue the handshake.  Returns DONE, MORE or FAILED.  Call .pull after
     * each call, and send what it returns. */
    enum hf_tls_result (*handshake)(struct hf_tls *tls);

    /* Take ${count} received bytes.  Returns DONE or FAILED. */
    enum hf_tls_result (*push)(struct hf_tls *tls, const void *bytes,
                               size_t count);
    /* Copy up to ${room} bytes that are to be sent; returns how many. */
    size_t (*pull)(struct hf_tls *tls, void *bytes, size_t room);

    /* After the handshake: copy up to ${room} bytes of plaintext.  Returns DONE
     * with ${count} > 0, or MORE, CLOSED or FAILED. */
    enum hf_tls_result (*read)(struct hf_tls *tls, void *bytes, size_t room,
                               size_t *count);
    /* After the handshake: encrypt all ${count} > 0 bytes; .pull returns the
     * ciphertext.  Returns DONE or FAILED. */
    enum hf_tls_result (*write)(struct hf_tls *tls, const void *bytes,
                                size_t count);

    /* After FAILED: the text of the failure, and its status.  HF_EDENIED: one
     * side refused the other's certificate.  HF_EURL: the peer does not speak
     * TLS, or does not choose the protocol.  Otherwise HF_EUNREACHABLE. */
    const char *(*why)(const struct hf_tls *tls);
    hf_status (*status)(const struct hf_tls *tls);
};
#define HF_TLS_ABI 3

/* The only symbol that a module exports, of type struct hf_tls_ops. */
#define HF_TLS_MODULE_SYMBOL "hf_tls_module"

#endif

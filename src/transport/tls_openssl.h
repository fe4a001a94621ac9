/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the module share: tls_openssl.c is the filter of tls.h,
 * tls_failure.c says why a connection failed, and tls_private_key.c reads our
 * key. */
#ifndef HF_TRANSPORT_TLS_OPENSSL_H
#define HF_TRANSPORT_TLS_OPENSSL_H

#include <stdbool.h>

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <holdfast/status.h>

#include "transport/tls.h"

/* Length of an error text. */
#define WHY_BYTES 224

/* Room for the name of a protocol of ALPN. */
#define PROTOCOL_BYTES 16

/* An object that can no longer be freed because the process is exiting: see
 * keep_reachable() of tls_openssl.c. */
struct hf_tls_leaked {
    struct hf_tls_leaked *next;
};

/* A context; its filters share the certificates. */
struct hf_tls_context {
    struct hf_tls_leaked leaked;
    struct hf_tls_memory memory;
    SSL_CTX *ssl;
    bool trusts_system;   /* ca= was not given */
    bool has_certificate; /* cert= was given */
};

/* The filter of one connection. */
struct hf_tls {
    struct hf_tls_leaked leaked;
    struct hf_tls_context *context;
    SSL *ssl;
    BIO *in;        /* ciphertext that arrived; owned by .ssl */
    BIO *out;       /* ciphertext to be sent; owned by .ssl */
    char host[256]; /* the name or address that the certificate must have */
    char protocol[PROTOCOL_BYTES]; /* the protocol that the server must
                                      choose; "": any */
    char why[WHY_BYTES];
    hf_status status; /* status of .why; HF_OK stands for HF_EUNREACHABLE */
};

/* -------------------------------------------------------- tls_failure.c -- */

/* Set the error text of the filter, unless one is set already. */
void hf_tls_set_failure(struct hf_tls *tls, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return the text of the first error in OpenSSL's queue.  Later errors are
 * consequences of the first. */
const char *hf_tls_openssl_reason(void);

/* Set the error text for the error that OpenSSL had while doing ${what}. */
void hf_tls_explain(struct hf_tls *tls, const char *what);

/* Set the error text for a server that does not choose our protocol. */
void hf_tls_explain_no_protocol(struct hf_tls *tls);

/* Set the error text for ${shown}, a certificate of the server that OpenSSL
 * does not accept.  ${problem} is OpenSSL's number of the reason. */
void hf_tls_explain_certificate(struct hf_tls *tls, int problem, X509 *shown);

/* ---------------------------------------------------- tls_private_key.c -- */

/* Read the key in the PEM file ${path} into ${key}; free it with
 * EVP_PKEY_free().  Fails with HF_EDENIED or HF_EURL as hf_secret_file_open().
 * If the file could be opened but has no usable key, ${key} is NULL, HF_OK is
 * returned, and OpenSSL's error queue has the reason. */
hf_status hf_tls_private_key_read(const char *path, EVP_PKEY **key,
                                  struct hf_error *error);

/* A pem_password_cb that gives no passphrase, because OpenSSL's own callback
 * asks on the terminal. */
int hf_tls_no_passphrase(char *buffer, int size, int writing, void *arg);

#endif

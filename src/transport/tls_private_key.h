/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the client's private key for key=. */
#ifndef HF_TRANSPORT_TLS_PRIVATE_KEY_H
#define HF_TRANSPORT_TLS_PRIVATE_KEY_H

#include <openssl/evp.h>

#include <holdfast/holdfast.h>

/* Read the key in the PEM file ${path}; free it with EVP_PKEY_free().
 * HF_EDENIED or HF_EURL as hf_secret_file_open().  HF_OK with NULL if the file
 * could be opened but has no usable key; OpenSSL's error queue then says why.
 */
hf_status hf_tls_private_key_read(const char *path, EVP_PKEY **key,
                                  struct hf_error *error);

/* A pem_password_cb that has no passphrase, because OpenSSL's own asks on the
 * terminal. */
int hf_tls_no_passphrase(char *buffer, int size, int writing, void *arg);

#endif

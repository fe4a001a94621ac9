/* SPDX-License-Identifier: Apache-2.0 */
/* The client's own key. */
#ifndef HF_TRANSPORT_TLS_PRIVATE_KEY_H
#define HF_TRANSPORT_TLS_PRIVATE_KEY_H

#include <openssl/evp.h>

#include <holdfast/holdfast.h>

/* The key in the PEM file ${path}, to be freed with EVP_PKEY_free(). HF_EDENIED
 * or HF_EURL as hf_secret_file_open(); HF_OK with NULL where the file is
 * ours and OpenSSL's error queue says why there is no key in it. */
hf_status hf_tls_private_key_read(const char *path, EVP_PKEY **key,
                                  struct hf_error *error);

/* In the place of OpenSSL's own, which asks on the terminal: a
 * pem_password_cb that has none. */
int hf_tls_no_passphrase(char *buffer, int size, int writing, void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a certificate is for, in words. */
#ifndef HF_TRANSPORT_TLS_NAMES_H
#define HF_TRANSPORT_TLS_NAMES_H

#include <stddef.h>

#include <openssl/x509.h>

/* Write the names and addresses of ${certificate} to ${text}, or its common
 * name if it has none; cut to ${bytes}.  What is not plain text in them is
 * replaced: they are the peer's words. */
void hf_tls_names(X509 *certificate, char *text, size_t bytes);

#endif

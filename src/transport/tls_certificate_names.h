/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a certificate is for, in words. */
#ifndef HF_TRANSPORT_TLS_CERTIFICATE_NAMES_H
#define HF_TRANSPORT_TLS_CERTIFICATE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/x509.h>

/* Write the names and addresses of ${certificate} to ${text}, or its common
 * name if it has none, and return whether it has; cut to ${bytes}.  What is not
 * plain text in them is replaced: they are the peer's words. */
bool hf_tls_certificate_names(X509 *certificate, char *text, size_t bytes);

#endif

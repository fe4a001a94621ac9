/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a certificate is for, as a text for error messages. */
#ifndef HF_TRANSPORT_TLS_CERTIFICATE_NAMES_H
#define HF_TRANSPORT_TLS_CERTIFICATE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/x509.h>

/* Write the names and addresses of ${certificate} to ${text}, or its common
 * name if it has none.  Returns whether it has any.  The text is cut to
 * ${bytes}.  Characters that are not plain text are replaced, because the peer
 * chose them. */
bool hf_tls_certificate_names(X509 *certificate, char *text, size_t bytes);

#endif

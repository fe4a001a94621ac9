/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests of TLS, made in a directory of their own: good ones,
 * and ones that a client must refuse.  NAME.pem has the certificate, NAME.key
 * its key. */
#ifndef HF_TESTS_TRANSPORT_CERTIFICATES_H
#define HF_TESTS_TRANSPORT_CERTIFICATES_H

#define CERTIFICATES_PATH_BYTES 128

struct certificates {
    char directory[64];
};

/*
 *  ca          signs all below but untrusted
 *  other_ca    signs untrusted
 *  server      a server at 127.0.0.1, ::1 and localhost
 *  client      a client
 *  wrong_name  a server at elsewhere.test
 *  expired     as server, ended yesterday
 *  untrusted   as server, of the other CA
 *  nameless    no alternative name; a common name with a line break in it
 *  localhost   no alternative name; the common name "localhost"
 *  locked      as client, its key has a passphrase
 */
void certificates_make(struct certificates *certificates);
void certificates_remove(struct certificates *certificates);

/* The path of a file, as "ca.pem". */
void certificates_path(const struct certificates *certificates,
                       const char *name, char path[CERTIFICATES_PATH_BYTES]);

#endif

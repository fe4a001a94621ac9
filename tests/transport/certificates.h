/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for a test, in a directory of their own: good ones, and ones
 * that must be refused.  NAME.pem is the certificate, NAME.key its key. */
#ifndef HF_TESTS_TRANSPORT_CERTIFICATES_H
#define HF_TESTS_TRANSPORT_CERTIFICATES_H

#define CERTIFICATES_PATH_BYTES 128

struct certificates {
    char directory[64];
};

/*
 *  ca          signed all below but stranger
 *  other_ca    signed stranger
 *  server      for 127.0.0.1, ::1 and localhost
 *  client      for a client to show
 *  wrong_name  for elsewhere.test
 *  expired     as server, but it was yesterday
 *  stranger    as server, but of the other CA
 *  nameless    for nobody but a common name with a line break in it
 *  localhost   for nobody but that common name
 *  locked      as client, its key under a passphrase
 */
void certificates_make(struct certificates *certificates);
void certificates_remove(struct certificates *certificates);

/* The path of "ca.pem" and the like. */
void certificates_path(const struct certificates *certificates,
                       const char *name, char path[CERTIFICATES_PATH_BYTES]);

#endif

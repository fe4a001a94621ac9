/* SPDX-License-Identifier: Apache-2.0 */
/* The file is opened by secret_file.c, which checks who may read it, and read
 * by OpenSSL through the descriptor. */
#include "transport/tls_openssl.h"

#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/pem.h>

#include "transport/secret_file.h"

int hf_tls_no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

hf_status hf_tls_private_key_read(const char *path, EVP_PKEY **key,
                                  struct hf_error *error)
{
    static const struct hf_secret_kind kind = {
        .name = "key=",
        .expected = "the PEM file of the key to cert=",
        .named_by = "key=",
    };
    BIO *bio;
    int fd;
    hf_status status = hf_secret_file_open(path, &kind, &fd, error);

    *key = NULL;
    if (status != HF_OK)
        return status;
    bio = BIO_new_fd(fd, BIO_NOCLOSE);
    if (bio != NULL)
        *key = PEM_read_bio_PrivateKey(bio, NULL, hf_tls_no_passphrase, NULL);
    (void)BIO_free(bio);
    (void)close(fd);
    return HF_OK;
}

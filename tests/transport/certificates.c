/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, made with OpenSSL. */
#include "certificates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define DAY_S 86400L
#define LABEL "a-label-of-thirty-one-characters"
#define LONG_NAME LABEL "." LABEL "." LABEL "." LABEL ".test"
#define HERE "IP:127.0.0.1,IP:::1,DNS:localhost"

/* A certificate and its key, to sign others with. */
struct certificate_key {
    X509 *certificate;
    EVP_PKEY *key;
};

void certificates_path(const struct certificates *certificates,
                       const char *name, char path[CERTIFICATES_PATH_BYTES])
{
    int length = snprintf(path, CERTIFICATES_PATH_BYTES, "%s/%s",
                          certificates->directory, name);

    assert_true(length > 0 && length < CERTIFICATES_PATH_BYTES);
}

static FILE *create(const struct certificates *certificates, const char *name,
                    const char *suffix)
{
    char file[64], path[CERTIFICATES_PATH_BYTES];
    FILE *certificate_key;

    (void)snprintf(file, sizeof(file), "%s.%s", name, suffix);
    certificates_path(certificates, file, path);
    certificate_key = fopen(path, "we");
    assert_non_null(certificate_key);
    return certificate_key;
}

static void save(const struct certificates *certificates, const char *name,
                 const struct certificate_key *certificate_key,
                 const char *passphrase)
{
    FILE *file = create(certificates, name, "pem");

    assert_int_equal(PEM_write_X509(file, certificate_key->certificate), 1);
    assert_int_equal(fclose(file), 0);
    file = create(certificates, name, "key");
    assert_int_equal(
        PEM_write_PKCS8PrivateKey(
            file, certificate_key->key,
            passphrase != NULL ? EVP_aes_128_cbc() : NULL, passphrase,
            passphrase != NULL ? (int)strlen(passphrase) : 0, NULL, NULL),
        1);
    assert_int_equal(fclose(file), 0);
}

static void add_extension(X509 *certificate, int which, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, which, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* ${signer} NULL: it signs itself. */
static struct certificate_key make(const char *name,
                                   const struct certificate_key *signer,
                                   const char *alternatives, long ends_in_s)
{
    static long serial;
    struct certificate_key certificate_key = {X509_new(), EVP_EC_gen("P-256")};
    X509_NAME *subject;

    assert_true(certificate_key.certificate != NULL &&
                certificate_key.key != NULL);
    assert_int_equal(
        X509_set_version(certificate_key.certificate, X509_VERSION_3), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_key.certificate),
                     ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate_key.certificate),
                    -2 * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(certificate_key.certificate), ends_in_s);
    assert_int_equal(
        X509_set_pubkey(certificate_key.certificate, certificate_key.key), 1);
    subject = X509_get_subject_name(certificate_key.certificate);
    assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                                (const unsigned char *)name, -1,
                                                -1, 0),
                     1);
    X509_set_issuer_name(
        certificate_key.certificate,
        signer != NULL ? X509_get_subject_name(signer->certificate) : subject);
    add_extension(certificate_key.certificate, NID_basic_constraints,
                  signer != NULL ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (alternatives != NULL)
        add_extension(certificate_key.certificate, NID_subject_alt_name,
                      alternatives);
    assert_true(X509_sign(certificate_key.certificate,
                          signer != NULL ? signer->key : certificate_key.key,
                          EVP_sha256()) > 0);
    return certificate_key;
}

static void drop(struct certificate_key *certificate_key)
{
    X509_free(certificate_key->certificate);
    EVP_PKEY_free(certificate_key->key);
}

static void make_leaf(const struct certificates *certificates, const char *name,
                      const struct certificate_key *signer,
                      const char *alternatives, long ends_in_s)
{
    bool odd = strcmp(name, "nameless") == 0;
    struct certificate_key certificate_key =
        make(odd ? "odd\nname" : name, signer, alternatives, ends_in_s);

    save(certificates, name, &certificate_key,
         strcmp(name, "locked") == 0 ? "passphrase" : NULL);
    drop(&certificate_key);
}

void certificates_make(struct certificates *certificates)
{
    struct certificate_key ca = make("ca", NULL, NULL, DAY_S);
    struct certificate_key other = make("other_ca", NULL, NULL, DAY_S);
    mode_t mask = umask(077);

    (void)snprintf(certificates->directory, sizeof(certificates->directory),
                   "/tmp/holdfast-certificates-XXXXXX");
    assert_non_null(mkdtemp(certificates->directory));
    save(certificates, "ca", &ca, NULL);
    save(certificates, "other_ca", &other, NULL);
    make_leaf(certificates, "server", &ca, HERE, DAY_S);
    make_leaf(certificates, "client", &ca, "DNS:client.test", DAY_S);
    make_leaf(certificates, "wrong_name", &ca, "DNS:elsewhere.test", DAY_S);
    make_leaf(certificates, "long_name", &ca, "DNS:" LONG_NAME, DAY_S);
    make_leaf(certificates, "expired", &ca, HERE, -DAY_S);
    make_leaf(certificates, "untrusted", &other, HERE, DAY_S);
    make_leaf(certificates, "nameless", &ca, NULL, DAY_S);
    make_leaf(certificates, "localhost", &ca, NULL, DAY_S);
    make_leaf(certificates, "locked", &ca, "DNS:client.test", DAY_S);
    (void)umask(mask);
    drop(&ca);
    drop(&other);
}

void certificates_remove(struct certificates *certificates)
{
    static const char *const names[] = {
        "ca",      "other_ca",  "server",   "client",    "wrong_name",
        "expired", "untrusted", "nameless", "localhost", "locked"};
    char file[64], path[CERTIFICATES_PATH_BYTES];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(file, sizeof(file), "%s.pem", names[i]);
        certificates_path(certificates, file, path);
        assert_int_equal(unlink(path), 0);
        (void)snprintf(file, sizeof(file), "%s.key", names[i]);
        certificates_path(certificates, file, path);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(certificates->directory), 0);
}

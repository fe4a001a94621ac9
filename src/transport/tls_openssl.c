/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of tls.h with OpenSSL 3.  It is a module, so only programs that
 * use TLS load OpenSSL.
 *
 * OpenSSL frees its global state in an exit handler while our threads still
 * run.  We ask OpenSSL not to register that handler, but the program may have
 * initialised OpenSSL before.  So a handler of ours waits until no thread is in
 * this module, and keeps all threads out from then on.  It is registered after
 * OpenSSL's, and therefore runs before it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/error.h"
#include "transport/tls_openssl.h"

/* ------------------------------------------------------------- exit lock -- */

/* The exit lock: read-locked while a thread is in this module, write-locked by
 * the exit handler. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t exit_lock = PTHREAD_RWLOCK_INITIALIZER;
static bool exiting; /* written with exit_lock held; never reset */
static struct hf_tls_leaked
    *leaked_list; /* written with exit_lock held, after exiting is set */
static int index_of_tls = -1;

/* The exit handler: wait for all threads to leave this module. */
static void on_process_exit(void)
{
    pthread_rwlock_wrlock(&exit_lock);
    exiting = true;
    pthread_rwlock_unlock(&exit_lock);
}

/* Initialise OpenSSL and register the exit handler after its own. */
static void start_openssl(void)
{
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) != 1 ||
        atexit(on_process_exit) != 0)
        return;
    index_of_tls = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

/* Call this at the start of each function of the module.  If it returns true,
 * call leave_openssl() at the end.  If it returns false, OpenSSL must not be
 * used: the process is exiting, or OpenSSL did not start. */
static bool enter_openssl(void)
{
    (void)pthread_once(&once, start_openssl);
    pthread_rwlock_rdlock(&exit_lock);
    if (!exiting && index_of_tls >= 0) {
        /* Drop the errors that other code left in this thread's queue. */
        ERR_clear_error();
        return true;
    }
    pthread_rwlock_unlock(&exit_lock);
    return false;
}

/* Release the exit lock. */
static void leave_openssl(void)
{
    ERR_clear_error();
    pthread_rwlock_unlock(&exit_lock);
}

/* Keep ${leaked}, and with it OpenSSL's objects, in a list while the process is
 * exiting, so that a leak checker finds them reachable. */
static void keep_reachable(struct hf_tls_leaked *leaked)
{
    pthread_rwlock_wrlock(&exit_lock);
    leaked->next = leaked_list;
    leaked_list = leaked;
    pthread_rwlock_unlock(&exit_lock);
}

/* --------------------------------------------------------------- context -- */

/* OpenSSL's callback for each certificate of the chain.  It only sets the error
 * text and never changes OpenSSL's decision. */
static int on_verify(int good, X509_STORE_CTX *store)
{
    SSL *ssl =
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct hf_tls *tls = SSL_get_ex_data(ssl, index_of_tls);

    if (!good)
        hf_tls_explain_certificate(tls, X509_STORE_CTX_get_error(store),
                                   X509_STORE_CTX_get0_cert(store));
    return good;
}

/* Is ${path} set? */
static bool given(const char *path)
{
    return path != NULL && path[0] != '\0';
}

/* Fail because OpenSSL cannot use a file. */
static hf_status refuse_file(const char *key, const char *path,
                             const char *expected, struct hf_error *error)
{
    return hf_error_set(error, HF_EURL, "%s=%s cannot be used: %s; expected %s",
                        key, path, hf_tls_openssl_reason(), expected);
}

/* Load the certificates to trust: ca=, or the system's. */
static hf_status load_trusted(SSL_CTX *ssl, const char *ca,
                              struct hf_error *error)
{
    if (given(ca) && SSL_CTX_load_verify_file(ssl, ca) != 1)
        return refuse_file("ca", ca, "a PEM file of certificates to trust",
                           error);
    if (!given(ca) && SSL_CTX_set_default_verify_paths(ssl) != 1)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the system's certificates cannot be used: %s; "
                            "name those to trust with ca=",
                            hf_tls_openssl_reason());
    return HF_OK;
}

/* Load the private key. */
static hf_status use_key(SSL_CTX *ssl, const char *path, struct hf_error *error)
{
    EVP_PKEY *key;
    hf_status status = hf_tls_private_key_read(path, &key, error);

    if (status == HF_OK &&
        (key == NULL || SSL_CTX_use_PrivateKey(ssl, key) != 1))
        status = refuse_file("key", path,
                             "the PEM file of the key to cert=, without a "
                             "passphrase",
                             error);
    EVP_PKEY_free(key);
    return status;
}

/* Load the client's certificate, its chain and its key. */
static hf_status load_certificate(SSL_CTX *ssl,
                                  const struct hf_tls_files *files,
                                  struct hf_error *error)
{
    if (!given(files->cert))
        return HF_OK;
    if (SSL_CTX_use_certificate_chain_file(ssl, files->cert) != 1)
        return refuse_file("cert", files->cert,
                           "a PEM file of our certificate and its chain",
                           error);
    return use_key(ssl, files->key, error);
}

/* Configure the OpenSSL context. */
static hf_status fill(SSL_CTX *ssl, const struct hf_tls_files *files,
                      struct hf_error *error)
{
    hf_status status;

    if (SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "this OpenSSL has no TLS 1.2: %s; install 3.0 or "
                            "later",
                            hf_tls_openssl_reason());
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, on_verify);
    SSL_CTX_set_default_passwd_cb(ssl, hf_tls_no_passphrase);
    /* A session cache would be of no use, because no session is resumed. */
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    status = load_trusted(ssl, files->ca, error);
    if (status == HF_OK)
        status = load_certificate(ssl, files, error);
    return status;
}

/* Make the OpenSSL context and configure it. */
static hf_status make_context(struct hf_tls_context *context,
                              const struct hf_tls_files *files,
                              struct hf_error *error)
{
    hf_status status;

    context->trusts_system = !given(files->ca);
    context->has_certificate = given(files->cert);
    context->ssl = SSL_CTX_new(TLS_client_method());
    if (context->ssl == NULL)
        return hf_error_set(error, HF_ENOMEM, "OpenSSL makes no context: %s",
                            hf_tls_openssl_reason());
    status = fill(context->ssl, files, error);
    if (status != HF_OK)
        SSL_CTX_free(context->ssl);
    return status;
}

/* See .context_new of struct hf_tls_ops.  The functions below are the members
 * of that struct, too. */
static hf_status context_new(const struct hf_tls_memory *memory,
                             const struct hf_tls_files *files,
                             struct hf_tls_context **context,
                             struct hf_error *error)
{
    struct hf_tls_context *made = memory->alloc(sizeof(*made));
    hf_status status;

    *context = NULL;
    if (made == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for TLS");
    made->memory = *memory;
    if (!enter_openssl()) {
        memory->free(made);
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "OpenSSL does not start, or the process is ending");
    }
    status = make_context(made, files, error);
    leave_openssl();
    if (status != HF_OK)
        memory->free(made);
    else
        *context = made;
    return status;
}

/* While the process exits, the context is kept instead of freed. */
static void context_free(struct hf_tls_context *context)
{
    if (!enter_openssl()) {
        keep_reachable(&context->leaked);
        return;
    }
    SSL_CTX_free(context->ssl);
    leave_openssl();
    context->memory.free(context);
}

/* ---------------------------------------------------------------- filter -- */

/* Set the host that the certificate must be for.  An address is compared by its
 * bytes, a name by its spelling.  A final dot, which only resolvers need, is
 * removed. */
static bool set_expected_host(struct hf_tls *tls, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(tls->ssl);
    size_t bytes = strlen(host);

    if (bytes > 0 && host[bytes - 1] == '.')
        bytes--;
    if (bytes == 0 || bytes >= sizeof(tls->host))
        return false;
    memcpy(tls->host, host, bytes);
    tls->host[bytes] = '\0';
    if (X509_VERIFY_PARAM_set1_ip_asc(param, tls->host) == 1)
        return true;
    /* The common name is ignored because it is free text (RFC 9525, 6.3): an
     * authority that checks alternative names may accept anything there. */
    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(param, tls->host, bytes) == 1 &&
           SSL_set_tlsext_host_name(tls->ssl, tls->host) == 1;
}

/* Offer ${protocol} as the only one.  OpenSSL wants its length in front of it.
 */
static bool offer_protocol(struct hf_tls *tls, const char *protocol)
{
    unsigned char offered[1 + PROTOCOL_BYTES];
    size_t bytes = strlen(protocol);

    if (bytes == 0 || bytes >= sizeof tls->protocol)
        return false;
    memcpy(tls->protocol, protocol, bytes + 1);
    offered[0] = (unsigned char)bytes;
    memcpy(offered + 1, protocol, bytes);
    /* Unlike OpenSSL's other functions this one returns 0 for success. */
    return SSL_set_alpn_protos(tls->ssl, offered, (unsigned)bytes + 1) == 0;
}

/* Has the server chosen the protocol that was offered?  A server that does not
 * know ALPN chooses nothing. */
static bool has_protocol(const struct hf_tls *tls)
{
    const unsigned char *chosen = NULL;
    unsigned bytes = 0;

    if (tls->protocol[0] == '\0')
        return true;
    SSL_get0_alpn_selected(tls->ssl, &chosen, &bytes);
    return bytes == strlen(tls->protocol) &&
           memcmp(chosen, tls->protocol, bytes) == 0;
}

/* Make the OpenSSL objects of one connection. */
static bool make_filter(struct hf_tls *tls, const char *host,
                        const char *protocol)
{
    if ((tls->ssl = SSL_new(tls->context->ssl)) == NULL)
        return false;
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (tls->in == NULL || tls->out == NULL)
        goto free_bios;
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_connect_state(tls->ssl);
    if (SSL_set_ex_data(tls->ssl, index_of_tls, tls) == 1 &&
        set_expected_host(tls, host) &&
        (protocol == NULL || offer_protocol(tls, protocol)))
        return true;
    goto free_ssl; /* tls->ssl owns the BIOs now */
free_bios:
    (void)BIO_free(tls->in);
    (void)BIO_free(tls->out);
free_ssl:
    SSL_free(tls->ssl);
    return false;
}

/* The underscore avoids the names of POSIX. */
static struct hf_tls *open_(struct hf_tls_context *context, const char *host,
                            const char *protocol)
{
    struct hf_tls *tls = context->memory.alloc(sizeof(*tls));
    bool made = false;

    if (tls == NULL)
        return NULL;
    tls->context = context;
    if (enter_openssl()) {
        made = make_filter(tls, host, protocol);
        leave_openssl();
    }
    if (made)
        return tls;
    context->memory.free(tls);
    return NULL;
}

/* While the process exits, the filter is kept instead of freed. */
static void close_(struct hf_tls *tls)
{
    if (!enter_openssl()) {
        keep_reachable(&tls->leaked);
        return;
    }
    SSL_free(tls->ssl);
    leave_openssl();
    tls->context->memory.free(tls);
}

/* Return the result of a call on tls->ssl that returned ${result}.  If the call
 * failed, set the error text; ${what} names the call in it. */
static enum hf_tls_result result_of(struct hf_tls *tls, int result,
                                    const char *what)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_NONE:
        return HF_TLS_DONE;
    case SSL_ERROR_WANT_READ:
        return HF_TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return HF_TLS_CLOSED;
    default:
        hf_tls_explain(tls, what);
        return HF_TLS_FAILED;
    }
}

/* Fail because the process is exiting. */
static enum hf_tls_result fail_exiting(struct hf_tls *tls)
{
    hf_tls_set_failure(tls, "the process is ending");
    return HF_TLS_FAILED;
}

/* The functions of struct hf_tls_ops: see tls.h. */
static enum hf_tls_result handshake(struct hf_tls *tls)
{
    enum hf_tls_result answer;

    if (!enter_openssl())
        return fail_exiting(tls);
    answer = result_of(tls, SSL_do_handshake(tls->ssl), "the handshake");
    if (answer == HF_TLS_CLOSED) {
        hf_tls_set_failure(tls, "the server closed TLS during the handshake");
        answer = HF_TLS_FAILED;
    } else if (answer == HF_TLS_DONE && !has_protocol(tls)) {
        hf_tls_explain_no_protocol(tls);
        answer = HF_TLS_FAILED;
    }
    leave_openssl();
    return answer;
}

/* The ciphertext goes into a memory BIO, from which OpenSSL reads. */
static enum hf_tls_result push(struct hf_tls *tls, const void *bytes,
                               size_t count)
{
    size_t written = 0;

    if (!enter_openssl())
        return fail_exiting(tls);
    if (BIO_write_ex(tls->in, bytes, count, &written) != 1)
        written = 0;
    leave_openssl();
    if (written == count)
        return HF_TLS_DONE;
    hf_tls_set_failure(tls, "no memory for what was received");
    return HF_TLS_FAILED;
}

/* The ciphertext comes from the memory BIO that OpenSSL writes to. */
static size_t pull(struct hf_tls *tls, void *bytes, size_t room)
{
    size_t count = 0;

    if (!enter_openssl())
        return 0;
    if (BIO_read_ex(tls->out, bytes, room, &count) != 1)
        count = 0;
    leave_openssl();
    return count;
}

/* Decrypt.  Returns MORE if there is no complete record yet.  ${count} is 0
 * unless DONE is returned. */
static enum hf_tls_result read_(struct hf_tls *tls, void *bytes, size_t room,
                                size_t *count)
{
    enum hf_tls_result answer;

    *count = 0;
    if (!enter_openssl())
        return fail_exiting(tls);
    answer =
        result_of(tls, SSL_read_ex(tls->ssl, bytes, room, count), "reading");
    leave_openssl();
    assert(answer != HF_TLS_DONE || *count > 0);
    return answer;
}

/* Encrypt everything into the memory BIO. */
static enum hf_tls_result write_(struct hf_tls *tls, const void *bytes,
                                 size_t count)
{
    enum hf_tls_result answer;
    size_t written = 0;

    if (!enter_openssl())
        return fail_exiting(tls);
    answer = result_of(tls, SSL_write_ex(tls->ssl, bytes, count, &written),
                       "writing");
    leave_openssl();
    if (answer == HF_TLS_DONE && written == count)
        return HF_TLS_DONE;
    /* A write never has to wait for input, because renegotiation is off. */
    hf_tls_set_failure(tls,
                       "writing failed: the server wants something else first");
    return HF_TLS_FAILED;
}

static const char *why(const struct hf_tls *tls)
{
    return tls->why;
}

static hf_status status_(const struct hf_tls *tls)
{
    return tls->status != HF_OK ? tls->status : HF_EUNREACHABLE;
}

extern const struct hf_tls_ops hf_tls_module;
__attribute__((visibility("default"))) const struct hf_tls_ops hf_tls_module = {
    .abi = HF_TLS_ABI,
    .context_new = context_new,
    .context_free = context_free,
    .open = open_,
    .close = close_,
    .handshake = handshake,
    .push = push,
    .pull = pull,
    .read = read_,
    .write = write_,
    .why = why,
    .status = status_,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SASL by libsasl2 (Cyrus SASL).
 *
 * libsasl2 has state of the process, which its plugins share.  Only functions
 * that the program may set guard it (sasl_set_mutex), and a library must not
 * set them for the program.  So each call is made with a lock of ours held.  A
 * step that waits for a Kerberos server delays all other steps; at worst they
 * miss the timeout of their attempt to connect.  The calls that never wait have
 * a second lock, because they are made while the lock of a client is held.
 *
 * No security layer is negotiated, because ZooKeeper has none: what follows the
 * exchange is protected by TLS, or by nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sasl/sasl.h>

#include "base/error.h"
#include "transport/sasl.h"
#include "transport/set_user_id.h"

#define CALLBACKS 6

struct hf_sasl {
    struct hf_sasl_memory memory;
    struct hf_sasl_settings settings;
    sasl_conn_t *connection; /* NULL: no step was done yet */
    sasl_callback_t callbacks[CALLBACKS];
    sasl_secret_t *secret; /* the password, allocated when libsasl2 asks for
                              it */
    size_t secret_bytes;
};

static pthread_mutex_t steps = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------- callbacks -- */

/* Return the name of the user.  The authorization identity is "", so that we
 * ask to act as the user and as nobody else. */
static int get_name(void *context, int id, const char **result,
                    unsigned *length)
{
    const struct hf_sasl *sasl = context;
    const char *name = id == SASL_CB_AUTHNAME ? sasl->settings.user : "";

    *result = name;
    if (length != NULL)
        *length = (unsigned)strlen(name);
    return SASL_OK;
}

static int get_password(sasl_conn_t *connection, void *context, int id,
                        sasl_secret_t **secret)
{
    struct hf_sasl *sasl = context;
    size_t length = strlen(sasl->settings.password);

    (void)connection;
    (void)id;
    if (sasl->secret == NULL) {
        sasl->secret_bytes = sizeof *sasl->secret + length;
        sasl->secret = sasl->memory.alloc(sasl->secret_bytes);
        if (sasl->secret == NULL)
            return SASL_NOMEM;
        sasl->secret->len = length;
        memcpy(sasl->secret->data, sasl->settings.password, length);
    }
    *secret = sasl->secret;
    return SASL_OK;
}

/* Return the server's first realm.  A server has only one. */
static int get_realm(void *context, int id, const char **realms,
                     const char **result)
{
    (void)context;
    (void)id;
    *result = realms != NULL ? realms[0] : NULL;
    return *result != NULL ? SASL_OK : SASL_FAIL;
}

/* Drop log lines of libsasl2, which would go to syslog.  Texts come from
 * sasl_errdetail() instead. */
static int drop_line(void *context, int level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
    return SASL_OK;
}

/* Cast to the one type that libsasl2 has for callbacks of all types. */
#define CALLBACK(function) ((int (*)(void))(void (*)(void))(function))

static void set_callbacks(struct hf_sasl *sasl)
{
    const sasl_callback_t callbacks[CALLBACKS] = {
        {SASL_CB_AUTHNAME, CALLBACK(get_name), sasl},
        {SASL_CB_USER, CALLBACK(get_name), sasl},
        {SASL_CB_PASS, CALLBACK(get_password), sasl},
        {SASL_CB_GETREALM, CALLBACK(get_realm), sasl},
        {SASL_CB_LOG, CALLBACK(drop_line), NULL},
        {SASL_CB_LIST_END, NULL, NULL},
    };

    memcpy(sasl->callbacks, callbacks, sizeof callbacks);
}

/* ------------------------------------------------------------- mechanism -- */

static bool is_there(const char *mechanism)
{
    const char **names = sasl_global_listmech();

    while (names != NULL && *names != NULL && strcmp(*names, mechanism) != 0)
        names++;
    return names != NULL && *names != NULL;
}

/* Load the plugins, once; they stay loaded.  The variable SASL_PATH says from
 * which directories.  libsasl2 ignores the variable only while the real and the
 * effective ids differ, so it is removed here for every set-user-id program. */
static int init(void)
{
    static bool begun;
    int code;

    hf_set_user_id_clear("SASL_");
    code = begun ? SASL_OK : sasl_client_init(NULL);
    begun = code == SASL_OK;
    return code;
}

static hf_status check(const char *mechanism, struct hf_error *error)
{
    bool there;
    int code;

    pthread_mutex_lock(&others);
    code = init();
    there = code == SASL_OK && is_there(mechanism);
    pthread_mutex_unlock(&others);
    if (code != SASL_OK)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "libsasl2 cannot be used: %s",
                            sasl_errstring(code, NULL, NULL));
    if (!there)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "libsasl2 has no mechanism %s; install its plugin "
                            "(Debian: %s)",
                            mechanism,
                            strcmp(mechanism, "GSSAPI") == 0
                                ? "libsasl2-modules-gssapi-mit"
                                : "libsasl2-modules");
    return HF_OK;
}

/* -------------------------------------------------------------- exchange -- */

static struct hf_sasl *open_client(const struct hf_sasl_memory *memory,
                                   const struct hf_sasl_settings *settings)
{
    struct hf_sasl *sasl = memory->alloc(sizeof *sasl);

    if (sasl == NULL)
        return NULL;
    *sasl = (struct hf_sasl){.memory = *memory, .settings = *settings};
    set_callbacks(sasl);
    return sasl;
}

static void close_client(struct hf_sasl *sasl)
{
    struct hf_sasl_memory memory = sasl->memory;

    pthread_mutex_lock(&others);
    if (sasl->connection != NULL)
        sasl_dispose(&sasl->connection);
    pthread_mutex_unlock(&others);
    if (sasl->secret != NULL)
        explicit_bzero(sasl->secret, sasl->secret_bytes);
    memory.free(sasl->secret);
    memory.free(sasl);
}

/* The status for ${code} of libsasl2.  SASL_FAIL stands for everything that
 * Kerberos may lack: a ticket, a server that gives one, a clock that is right.
 */
static hf_status status_of(int code)
{
    switch (code) {
    case SASL_FAIL:
    case SASL_UNAVAIL:
        return HF_EUNREACHABLE;
    case SASL_NOMEM:
        return HF_ENOMEM;
    case SASL_BADPROT:
    case SASL_BADPARAM:
        return HF_EPROTOCOL;
    case SASL_NOMECH:
        return HF_EUNSUPPORTED;
    default:
        return HF_EDENIED;
    }
}

/* Fail with ${code}.  libsasl2's text contains neither password nor token. */
static hf_status fail(const struct hf_sasl *sasl, int code,
                      struct hf_error *error)
{
    const char *detail = sasl->connection != NULL
                             ? sasl_errdetail(sasl->connection)
                             : sasl_errstring(code, NULL, NULL);

    return hf_error_set(error, status_of(code), "%s: %.300s",
                        sasl->settings.mechanism, detail);
}

/* Make libsasl2's connection object, without a security layer. */
static int begin(struct hf_sasl *sasl)
{
    static const sasl_security_properties_t no_layer = {0};
    int code =
        sasl_client_new(sasl->settings.service, sasl->settings.host, NULL, NULL,
                        sasl->callbacks, 0, &sasl->connection);

    if (code == SASL_OK)
        code = sasl_setprop(sasl->connection, SASL_SEC_PROPS, &no_layer);
    return code;
}

/* Produce our first token.  With DIGEST-MD5 the server sends the first token,
 * so ours is dropped.  libsasl2 makes one for a server that it knows from
 * before ("subsequent authentication"), which Java does not understand
 * (JDK-6682540). */
static int start(struct hf_sasl *sasl, const char **bytes, unsigned *count)
{
    int code = begin(sasl);

    if (code == SASL_OK)
        code = sasl_client_start(sasl->connection, sasl->settings.mechanism,
                                 NULL, bytes, count, NULL);
    if (strcmp(sasl->settings.mechanism, "DIGEST-MD5") == 0)
        *count = 0;
    return code;
}

static hf_status step(struct hf_sasl *sasl, const void *bytes, size_t count,
                      struct hf_sasl_token *token, struct hf_error *error)
{
    const char *out = NULL;
    unsigned out_count = 0;
    hf_status status = HF_OK;
    int code;

    pthread_mutex_lock(&steps);
    if (sasl->connection == NULL)
        code = start(sasl, &out, &out_count);
    else
        code = sasl_client_step(sasl->connection, bytes, (unsigned)count, NULL,
                                &out, &out_count);
    if (code != SASL_OK && code != SASL_CONTINUE)
        status = fail(sasl, code, error);
    pthread_mutex_unlock(&steps);
    *token = (struct hf_sasl_token){out, out_count, code == SASL_OK};
    return status;
}

extern const struct hf_sasl_ops hf_sasl_module;
__attribute__((visibility("default")))
const struct hf_sasl_ops hf_sasl_module = {
    .abi = HF_SASL_ABI,
    .check = check,
    .open = open_client,
    .close = close_client,
    .step = step,
};

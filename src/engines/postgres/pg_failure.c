/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies errors of servers and of libpq.  The texts of a server may be
 * translated, so its SQLSTATE is used. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "engines/postgres/pg_private.h"

#define STATE_BYTES 5

/* Failures by SQLSTATE, or by its first characters, of which two make a class.
 * The first entry that fits counts. */
static const struct {
    const char *state;
    struct hf_pg_failure failure;
} failures[] = {
    /* the server has become a standby */
    {"25006", {HF_FAILURE_RETRY, HF_EUNREACHABLE, true}},
    {"28", {HF_FAILURE_FATAL, HF_EDENIED, true}}, /* password or user */
    {"3D000", {HF_FAILURE_FATAL, HF_EURL, true}}, /* no such database */
    /* the role lacks a privilege */
    {"42501", {HF_FAILURE_FATAL, HF_EDENIED, false}},
    /* The schema was dropped or changed meanwhile. */
    {"0A000", {HF_FAILURE_RETRY, HF_EUNREACHABLE, true}},
    /* a statement of that name exists, so a pooler pools by transaction */
    {"42P05", {HF_FAILURE_RETRY, HF_EUNSUPPORTED, true}},
    {"3F", {HF_FAILURE_RETRY, HF_EUNREACHABLE, true}},
    {"42", {HF_FAILURE_RETRY, HF_EUNSUPPORTED, true}},
    /* serialization, deadlock, lock_timeout, statement_timeout */
    {"40", {HF_FAILURE_RETRY, HF_EUNREACHABLE, false}},
    {"55P03", {HF_FAILURE_RETRY, HF_EUNREACHABLE, false}},
    {"57014", {HF_FAILURE_RETRY, HF_EUNREACHABLE, false}},
    {"53100", {HF_FAILURE_RETRY, HF_EFULL, false}},
    {"53", {HF_FAILURE_RETRY, HF_EUNREACHABLE, false}},
    /* the server, or this connection, starts or stops */
    {"57P", {HF_FAILURE_UNSURE, HF_EUNREACHABLE, true}},
    {"08", {HF_FAILURE_UNSURE, HF_EUNREACHABLE, true}},
};

struct hf_pg_failure hf_pg_failure(const char *state)
{
    static const struct hf_pg_failure cut = {HF_FAILURE_UNSURE, HF_EUNREACHABLE,
                                             true};
    static const struct hf_pg_failure other = {HF_FAILURE_FATAL, HF_EPROTOCOL,
                                               false};

    if (state == NULL)
        return cut;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        if (strncmp(state, failures[i].state, strlen(failures[i].state)) == 0)
            return failures[i].failure;
    }
    return other;
}

hf_status hf_pg_connection_status(const char *state)
{
    hf_status status = hf_pg_failure(state).status;

    return status == HF_EPROTOCOL ? HF_EUNREACHABLE : status;
}

/* A commit that was not replicated comes with a WARNING (01000, 57P01), and
 * there may be more such warnings.  So a warning is harmless only if it is
 * known to be.  The two that are known here come with every transaction of a
 * database that must be vacuumed soon.  Their SQLSTATEs are not distinct and
 * their texts may be translated, so the server's source file is compared. */
bool hf_pg_is_harmless(const PGresult *warning)
{
    const char *file = PQresultErrorField(warning, PG_DIAG_SOURCE_FILE);

    return file != NULL &&
           (strcmp(file, "varsup.c") == 0 || strcmp(file, "multixact.c") == 0);
}

void hf_pg_one_line(char *to, size_t room, const char *from)
{
    size_t at = 0;

    while (at + 1 < room && from[at] != '\0' && from[at] != '\n') {
        to[at] = (char)(iscntrl((unsigned char)from[at]) ? ' ' : from[at]);
        at++;
    }
    /* do not cut inside of a character */
    if (from[at] != '\0' && from[at] != '\n')
        while (at > 0 && ((unsigned char)from[at] & 0xC0) == 0x80)
            at--;
    to[at] = '\0';
}

void hf_pg_format_error(const PGresult *result, char text[HF_PG_TEXT_BYTES])
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    char line[HF_PG_TEXT_BYTES - 32];

    if (message == NULL)
        message = PQresultErrorMessage(result);
    hf_pg_one_line(line, sizeof line, message);
    if (state != NULL)
        (void)snprintf(text, HF_PG_TEXT_BYTES, "the server said: %s (%.5s)",
                       line, state);
    else
        (void)snprintf(text, HF_PG_TEXT_BYTES, "%s", line);
}

/* Returns the SQLSTATE in "FATAL:  28P01: text", in any language; NULL if there
 * is none. */
static const char *find_state(const char *message)
{
    for (; (message = strstr(message, ":  ")) != NULL; message++) {
        const char *state = message + 3;
        size_t length = strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");

        if (length == STATE_BYTES && state[length] == ':')
            return state;
    }
    return NULL;
}

/* Returns ${message} without the server's address, which the reader knows.  The
 * path of a socket stays, because its directory may be libpq's default. */
static const char *after_address(const char *message)
{
    static const char before[] = "connection to server ";
    static const char failed[] = " failed: ";
    const char *at = strstr(message, failed);

    if (at == NULL || strncmp(message, before, strlen(before)) != 0)
        return message;
    message += strlen(before);
    return strncmp(message, "on socket ", 10) == 0 ? message + 3
                                                   : at + strlen(failed);
}

/* Known failures of libpq, with advice.  libpq has no codes for them, so its
 * English texts are compared; in another language they are tried again like
 * unknown failures.  The first entry that fits counts. */
static const struct libpq_failure {
    const char *part; /* a part of the first line of libpq's message */
    hf_status status;
    const char *advice;
} libpq_failures[] = {
    {"invalid ", HF_EURL, ""},
    {"server does not support SSL", HF_EURL,
     "; expected a server with ssl=on, or sslmode=disable"},
    {"root certificate file", HF_EURL,
     "; expected the PEM file of the CA as sslrootcert="},
    {"certificate file", HF_EURL,
     "; expected the PEM file of our certificate as sslcert="},
    {"private key file", HF_EURL,
     "; expected the PEM file of our key as sslkey=, of mode 0600"},
    {"alert unknown ca", HF_EDENIED,
     "; expected a certificate in sslcert= that the server's ssl_ca_file "
     "vouches for"},
    {"alert bad certificate", HF_EDENIED,
     "; expected a certificate in sslcert= that the server accepts"},
    {"alert certificate", HF_EDENIED,
     "; expected a certificate in sslcert= that the server accepts"},
    /* A server that stops removes its socket file, and systemd removes the
     * directory.  Both come back when the server starts, and the rights of the
     * file a little later, so neither failure is final. */
    {"No such file or directory", HF_EUNREACHABLE,
     "; expected the directory of the server's socket as host="},
    {"Not a directory", HF_EURL,
     "; expected the directory of the server's socket as host="},
    {"Permission denied", HF_EUNREACHABLE,
     "; expected write permission on the socket file, and search permission on "
     "its path"},
    {"certificate verify failed", HF_EDENIED,
     "; expected a certificate that sslrootcert= vouches for"},
    {"does not match host name", HF_EDENIED,
     "; expected the host that the certificate is for"},
    /* counts only after several attempts */
    {"expected authentication request from server", HF_EPROTOCOL,
     "; expected a port of PostgreSQL's that is not for TLS alone"},
};

static const struct libpq_failure *find_libpq_failure(const char *line)
{
    for (size_t i = 0; i < sizeof libpq_failures / sizeof libpq_failures[0];
         i++) {
        if (strstr(line, libpq_failures[i].part) != NULL)
            return &libpq_failures[i];
    }
    return NULL;
}

hf_status hf_pg_libpq_status(const char *line)
{
    const struct libpq_failure *found = find_libpq_failure(line);

    return found != NULL ? found->status : HF_EUNREACHABLE;
}

const char *hf_pg_cause(size_t index)
{
    size_t states = sizeof failures / sizeof failures[0];
    size_t texts = sizeof libpq_failures / sizeof libpq_failures[0];

    if (index < states)
        return failures[index].state;
    return index - states < texts ? libpq_failures[index - states].part : NULL;
}

/* Returns advice if the server closed the connection without an answer to the
 * startup message.  That may be a port that speaks only TLS, or another
 * program. */
static const char *advice_on_closed(const struct hf_store *store,
                                    const char *line)
{
    bool ended = strstr(line, "server closed the connection") != NULL ||
                 strstr(line, "Connection reset by peer") != NULL;

    return ended && store->state == HF_PG_CONNECTING
               ? "; expected a port of PostgreSQL's: one for TLS alone, or of "
                 "another program, hangs up like that"
               : "";
}

/* Write to ${text} why the connection failed, from a message of libpq.  Returns
 * the status. */
static hf_status why_of_libpq(const struct hf_store *store, const char *message,
                              char text[HF_PG_TEXT_BYTES])
{
    const struct libpq_failure *found;
    char line[HF_PG_TEXT_BYTES - 128];

    hf_pg_one_line(line, sizeof line, after_address(message));
    if (line[0] == '\0')
        (void)snprintf(line, sizeof line, "the connection ended");
    /* Later lines are not searched, because they may only be consequences of
     * the first: if memory runs out, libpq cannot read its options either. */
    found = find_libpq_failure(line);
    (void)snprintf(text, HF_PG_TEXT_BYTES, "%s%s", line,
                   found != NULL ? found->advice
                                 : advice_on_closed(store, line));
    return hf_pg_libpq_status(line);
}

/* Returns advice for a refusal whose SQLSTATE says too little.  Only English
 * texts are known. */
static const char *advice_on(const char *state, const char *message)
{
    bool unencrypted = strstr(message, ", no encryption") != NULL ||
                       /* the text before PostgreSQL 13 */
                       strstr(message, ", SSL off") != NULL;

    return strncmp(state, "28000", STATE_BYTES) == 0 && unencrypted
               ? "; expected sslmode=require if the server wants TLS"
               : "";
}

/* Looks for a reason in this order: a missing password; the SQLSTATE; what the
 * server sent before it closed the connection; libpq's own text. */
hf_status hf_pg_connection_error(const struct hf_store *store,
                                 char text[HF_PG_TEXT_BYTES])
{
    const PGconn *conn = store->conn;
    const char *message = PQerrorMessage(conn);
    const char *state = find_state(message);
    char line[HF_PG_TEXT_BYTES - 96];

    if (PQconnectionNeedsPassword(conn)) {
        (void)snprintf(text, HF_PG_TEXT_BYTES,
                       "the server wants a password and there is none; "
                       "expected one in PGPASSFILE, ~/.pgpass or the URL");
        return HF_EDENIED;
    }
    if (state != NULL) {
        hf_pg_one_line(line, sizeof line, state + STATE_BYTES + 2);
        (void)snprintf(text, HF_PG_TEXT_BYTES, "the server said: %s (%.5s)%s",
                       line, state, advice_on(state, line));
        return hf_pg_connection_status(state);
    }
    if (store->server_message[0] != '\0') {
        memcpy(text, store->server_message, HF_PG_TEXT_BYTES);
        return HF_EUNREACHABLE;
    }
    return why_of_libpq(store, message, text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes findings about the server: those of sql/examine.sql, and what the
 * connection shows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/finding_list.h"
#include "engines/leased/clock_finding.h"
#include "engines/postgres/pg_private.h"
#include "engines/postgres/schema.h"

/* Room for the subject of the findings: an address and a port. */
#define SUBJECT_BYTES 300

bool hf_pg_examine_send(PGconn *conn)
{
    return PQsendQueryParams(conn, hf_pg_examine, 0, NULL, NULL, NULL, NULL,
                             1) == 1 &&
           PQpipelineSync(conn) == 1;
}

void hf_pg_server_format(const PGconn *conn, char *text, size_t bytes)
{
    const char *host = PQhost(conn);
    const char *port = PQport(conn);

    (void)snprintf(text, bytes, "%.200s:%.16s",
                   host != NULL && host[0] != '\0' ? host : "localhost",
                   port != NULL ? port : "");
}

/* ------------------------------------------------- what the client knows -- */

/* Returns whether the server's certificate is compared with one that we
 * trust. */
static bool checks_certificate(PGconn *conn)
{
    PQconninfoOption *options = PQconninfo(conn);
    bool checks = false;

    for (const PQconninfoOption *option = options;
         option != NULL && option->keyword != NULL; option++) {
        if (strcmp(option->keyword, "sslmode") == 0 && option->val != NULL)
            checks = strncmp(option->val, "verify-", 7) == 0;
    }
    PQconninfoFree(options);
    return checks;
}

static void add_connection(const struct hf_store *store, const char *subject,
                           struct hf_finding_list *list)
{
    const char *host = PQhost(store->conn);
    bool tls = PQsslInUse(store->conn) != 0;
    struct hf_finding_head head = {HF_SEVERITY_NOTICE, "postgres-certificate",
                                   subject, NULL};

    hf_finding_add_transport(list, host != NULL ? host : "", tls,
                             "sslmode=verify-full");
    if (tls && !checks_certificate(store->conn)) {
        head.advice = "write sslmode=verify-full and sslrootcert= into the URL";
        hf_finding_add(list, &head,
                       "the server's certificate is not checked: another one "
                       "on the way can pose as the server");
    }
    head.id = "postgres-pooler";
    head.severity = HF_SEVERITY_OK;
    head.advice = NULL;
    if (store->config.pooler == HF_PG_NO_POOLER) {
        hf_finding_add(list, &head,
                       "there is no pooler in front of the server");
        return;
    }
    head.severity = HF_SEVERITY_NOTICE;
    head.advice = "see that its pool_mode is session";
    hf_finding_add(list, &head,
                   "the URL has pooler=session: a pooler may be in front of "
                   "the server, and one that pools by transaction is noticed "
                   "only when it changes the connection");
}

/* Add that the other servers of the URL were not examined.  Only their
 * timelines are known (successor.c). */
static void add_others(const struct hf_store *store, const char *subject,
                       struct hf_finding_list *list)
{
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "postgres-others", "",
                                   NULL};

    if (store->config.host_count > 1)
        hf_finding_add(list, &head,
                       "of the %zu servers of the URL only the primary, %s, "
                       "was asked",
                       store->config.host_count, subject);
}

/* Add each pair of servers of the URL that both take writes, as the last look
 * has seen them. */
static void add_primaries(const struct hf_store *store,
                          struct hf_finding_list *list)
{
    const struct hf_pg_look *look = store->look;
    struct hf_finding_head head = {HF_SEVERITY_ERROR, "postgres-primaries", "",
                                   "stop the one with the lower timeline, and "
                                   "have it follow the other (pg_rewind)"};
    const struct hf_pg_host *hosts = store->config.hosts;
    size_t own = store->host_index;

    for (size_t i = 0; look != NULL && i < store->config.host_count; i++) {
        if (i != own && look->hosts[own].timeline != 0 &&
            look->hosts[i].timeline != 0)
            hf_finding_add(list, &head,
                           "%.100s:%.16s (timeline %" PRIu64
                           ") and %.100s:%.16s (timeline %" PRIu64
                           ") both take writes: locks of the one are none of "
                           "the other",
                           hosts[own].name, hf_pg_host_port(&hosts[own]),
                           look->hosts[own].timeline, hosts[i].name,
                           hf_pg_host_port(&hosts[i]), look->hosts[i].timeline);
    }
}

/* --------------------------------------------- what the server has found -- */

/* Add a finding of examine.sql.  ${text}, which is changed, has its id, text
 * and advice, separated by 0x1f.  If it is malformed, it is ignored. */
static void add_row(struct hf_finding_list *list, const char *subject,
                    uint64_t severity, char *text)
{
    char *rest = text;
    const char *id = strsep(&rest, "\x1f");
    const char *what = rest != NULL ? strsep(&rest, "\x1f") : NULL;
    struct hf_finding_head head = {(enum hf_severity)severity, id, subject,
                                   rest};

    if (what != NULL && severity <= HF_SEVERITY_ERROR)
        hf_finding_add(list, &head, "%s", what);
}

void hf_pg_examine_begin(const struct hf_store *store,
                         struct hf_finding_list *list)
{
    char subject[SUBJECT_BYTES];

    hf_pg_server_format(store->conn, subject, sizeof subject);
    add_connection(store, subject, list);
    add_others(store, subject, list);
    add_primaries(store, list);
    hf_finding_add_clock(list, subject, store->server_ms);
}

void hf_pg_examine_add(const struct hf_store *store,
                       struct hf_finding_list *list, uint64_t severity,
                       const char *text)
{
    char subject[SUBJECT_BYTES];
    char *copy = hf_strdup(text);

    if (copy == NULL) {
        list->failed = true;
        return;
    }
    hf_pg_server_format(store->conn, subject, sizeof subject);
    add_row(list, subject, severity, copy);
    hf_free(copy);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See examine_members.h.  Every TICK_MS a timer checks whether all servers have
 * answered and the client's own session is usable.  Then, or after
 * HF_EXAMINE_SERVER_MS, or if no server can be used, the findings are made from
 * what is known.  This is done only by the timer, so nothing is freed within a
 * notification of a session. */
#include "engines/etcd/examine_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/finding_list.h"
#include "engines/etcd/etcd_engine.h"
#include "engines/etcd/examine.h"
#include "etcd/message.h"
#include "etcd/server_version.h"
#include "etcd_io/etcd_io.h"

#define TICK_MS 20
#define TICKS_MAX (HF_EXAMINE_SERVER_MS / TICK_MS)

/* The default quota of a server, and the size at which it is nearly used up. */
#define QUOTA_BYTES (INT64_C(2) << 30)
#define NEARLY_FULL (QUOTA_BYTES / 10 * 8)

#define WHY_BYTES 256

enum member_state {
    MEMBER_ASKED,
    MEMBER_ANSWERED,
    MEMBER_FAILED, /* .why has the reason */
};

/* A server of the URL. */
struct member {
    struct hf_etcd_member_examination *examination;
    enum member_state state;
    bool opened; /* .session and .io are in use */
    struct hf_etcd_url_config config;
    struct hf_etcd_session session;
    struct hf_etcd_io io;
    struct hf_etcd_call call;
    char version[HF_ETCD_VERSION_BYTES];
    uint64_t id;
    uint64_t cluster;
    uint64_t leader;
    int64_t db_size;
    int64_t db_used;
    char why[WHY_BYTES];
};

struct hf_etcd_member_examination {
    struct hf_etcd_examiner *examiner; /* must not be used once the examination
                                          is closing */
    struct hf_engine_host host; /* a copy, for connections that are closing */
    struct hf_request *request;
    struct hf_etcd_member_examination *next;
    struct hf_finding_list list;
    uv_timer_t timer;
    unsigned ticks;
    size_t handles; /* not closed yet: the timer, and .io of members */
    size_t count;
    struct member members[];
};

/* --------------------------------------------------------------- the end -- */

static void one_closed(void *arg)
{
    struct hf_etcd_member_examination *examination = arg;

    if (--examination->handles > 0)
        return;
    hf_finding_list_free(&examination->list);
    hf_free(examination);
}

static void on_timer_closed(uv_handle_t *handle)
{
    one_closed(handle->data);
}

/* Remove ${examination} from the list and close all that is open.  Its memory
 * is freed when the loop has closed the handles. */
static void close_all(struct hf_etcd_member_examination *examination)
{
    struct hf_etcd_member_examination **link = &examination->examiner->first;

    while (*link != examination)
        link = &(*link)->next;
    *link = examination->next;
    uv_close((uv_handle_t *)&examination->timer, on_timer_closed);
    for (size_t i = 0; i < examination->count; i++) {
        struct member *member = &examination->members[i];

        explicit_bzero(&member->config.session.password,
                       sizeof member->config.session.password);
        if (!member->opened)
            continue;
        member->opened = false;
        hf_etcd_session_free(&member->session);
        hf_etcd_io_close(&member->io);
    }
}

/* -------------------------------------------------------------- findings -- */

/* Has a member before the one at ${index} answered with the same version? */
static bool
is_known_version(const struct hf_etcd_member_examination *examination,
                 size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (examination->members[i].state == MEMBER_ANSWERED &&
            strcmp(examination->members[i].version,
                   examination->members[index].version) == 0)
            return true;
    }
    return false;
}

/* Add a finding about the version of the member at ${index}, once for each
 * version. */
static void add_version(struct hf_etcd_member_examination *examination,
                        size_t index)
{
    const char *version = examination->members[index].version;
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-version", "", NULL};

    if (is_known_version(examination, index))
        return;
    if (hf_etcd_version_checks_leader(version)) {
        hf_finding_add(&examination->list, &head,
                       "etcd %s: a leader checks that it still is one before "
                       "it ends leases",
                       version);
        return;
    }
    head.severity = HF_SEVERITY_WARNING;
    head.advice = "upgrade to 3.4.31, 3.5.13 or later; until then let what is "
                  "protected refuse lower tokens";
    hf_finding_add(&examination->list, &head,
                   "etcd %s: before 3.4.31 and 3.5.13 a leader whose disk or "
                   "processor stands still for longer than a lease ends all "
                   "leases of the cluster when it goes on, and two may hold "
                   "one lock",
                   version);
}

static void add_leader(struct hf_etcd_member_examination *examination,
                       const char *name, const struct member *member)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-member", name, NULL};

    hf_finding_add(
        &examination->list, &head,
        member->leader == member->id
            ? "member %" PRIx64 " of cluster %" PRIx64 ", which leads"
            : "member %" PRIx64 " of cluster %" PRIx64 ", which follows",
        member->id, member->cluster);
}

/* Add a finding about the size of the database.  No answer of the API has the
 * quota of a server, so the default is assumed. */
static void add_space(struct hf_etcd_member_examination *examination,
                      const char *name, const struct member *member)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-space", name, NULL};

    if (member->db_size >= NEARLY_FULL) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "compact and defragment, or see that "
                      "--quota-backend-bytes allows more";
    }
    hf_finding_add(&examination->list, &head,
                   "the database has %" PRId64 " KiB, of which %" PRId64
                   " are in use; the quota is %" PRId64
                   " KiB unless the server was started with another one",
                   member->db_size >> 10, member->db_used >> 10,
                   QUOTA_BYTES >> 10);
}

static void add_failed(struct hf_etcd_member_examination *examination,
                       const char *name, const struct member *member)
{
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "etcd-member", name,
        "see that it runs and reaches the others, or take it out of the URL"};

    hf_finding_add(&examination->list, &head, "it cannot be used: %s",
                   member->why[0] != '\0' ? member->why
                                          : "no answer within 3 s");
}

/* Is the host of the server at ${index} different from all hosts before it? */
static bool is_new_host(const struct hf_etcd_session_config *config,
                        size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(config->servers[i].host, config->servers[index].host) == 0)
            return false;
    }
    return true;
}

static const struct hf_etcd_session_config *
config_of(const struct hf_etcd_member_examination *examination)
{
    return &hf_etcd_engine_url(examination->examiner->etcd)->session;
}

static void add_member(struct hf_etcd_member_examination *examination,
                       size_t index)
{
    const struct hf_etcd_session_config *config = config_of(examination);
    const struct hf_etcd_server *server = &config->servers[index];
    const struct member *member = &examination->members[index];
    char name[HF_ETCD_ADDRESS_TEXT_BYTES];

    (void)snprintf(name, sizeof name,
                   strchr(server->host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   server->host, (unsigned)server->port);
    if (is_new_host(config, index))
        hf_finding_add_transport(&examination->list, server->host, config->tls,
                                 "etcds:");
    if (member->state != MEMBER_ANSWERED) {
        add_failed(examination, name, member);
        return;
    }
    add_leader(examination, name, member);
    add_version(examination, index);
    add_space(examination, name, member);
}

/* Add a finding if members belong to different clusters, or name different
 * leaders. */
static void add_differences(struct hf_etcd_member_examination *examination)
{
    struct hf_finding_head cluster = {
        HF_SEVERITY_ERROR, "etcd-cluster", "",
        "have all servers of the URL be members of one cluster: locks of one "
        "exclude nobody at another"};
    struct hf_finding_head leader = {
        HF_SEVERITY_NOTICE, "etcd-leader", "",
        "look again: an election may have gone on"};
    const struct member *first = NULL;
    bool clusters = false, leaders = false;

    for (size_t i = 0; i < examination->count; i++) {
        const struct member *member = &examination->members[i];

        if (member->state != MEMBER_ANSWERED)
            continue;
        if (first == NULL)
            first = member;
        clusters |= member->cluster != first->cluster;
        leaders |= member->leader != first->leader;
    }
    if (clusters)
        hf_finding_add(&examination->list, &cluster,
                       "the servers of the URL are of different clusters");
    else if (leaders)
        hf_finding_add(&examination->list, &leader,
                       "the members do not name the same leader");
}

static void add_all_failed(struct hf_etcd_member_examination *examination)
{
    struct hf_finding_head head = {HF_SEVERITY_ERROR, "etcd-member", "",
                                   "start the servers, and see that more than "
                                   "half of them reach each other"};

    hf_finding_add(&examination->list, &head,
                   "no server of the URL can be used");
}

/* ------------------------------------------------------------- the steps -- */

static size_t
count_members(const struct hf_etcd_member_examination *examination,
              enum member_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < examination->count; i++)
        count += examination->members[i].state == state;
    return count;
}

/* Add the findings of all members, then go on with what the session sees. */
static void members_examined(struct hf_etcd_member_examination *examination)
{
    struct hf_etcd_examiner *examiner = examination->examiner;
    struct hf_request *request = examination->request;
    struct hf_finding_list list;

    for (size_t i = 0; i < examination->count; i++)
        add_member(examination, i);
    add_differences(examination);
    if (count_members(examination, MEMBER_ANSWERED) == 0)
        add_all_failed(examination);
    list = examination->list;
    examination->list = (struct hf_finding_list){0};
    close_all(examination);
    hf_etcd_engine_examine(examiner->etcd, request, &list,
                           examiner->host->now_ms(examiner->host->host));
    hf_etcd_io_run_soon(examiner->io);
}

static void on_tick(uv_timer_t *timer)
{
    struct hf_etcd_member_examination *examination = timer->data;
    struct hf_etcd_session *session =
        hf_etcd_engine_session(examination->examiner->etcd);
    bool answered = count_members(examination, MEMBER_ASKED) == 0;
    bool dead = answered && count_members(examination, MEMBER_ANSWERED) == 0;

    if (++examination->ticks < TICKS_MAX && !dead &&
        !(answered && hf_etcd_session_is_usable(session)))
        return;
    (void)uv_timer_stop(timer);
    members_examined(examination);
}

static void on_status(struct hf_etcd_call *call,
                      const struct hf_etcd_result *result)
{
    struct member *member = call->user;
    struct hf_etcd_status_answer status;

    if (result->end != HF_ETCD_DONE ||
        !hf_etcd_read_status(result->answer, &status)) {
        (void)snprintf(member->why, sizeof member->why, "%s",
                       result->end != HF_ETCD_DONE
                           ? result->text
                           : "its status makes no sense");
        member->state = MEMBER_FAILED;
        return;
    }
    (void)snprintf(member->version, sizeof member->version, "%s",
                   member->session.version);
    member->id = status.header.member_id;
    member->cluster = status.header.cluster_id;
    member->leader = status.leader;
    member->db_size = status.db_size;
    member->db_used = status.db_size_in_use;
    member->state = MEMBER_ANSWERED;
}

static void on_connected(void *user, const struct hf_etcd_connected *connected)
{
    struct member *member = user;
    struct hf_etcd_buffer buffer = {0};

    (void)connected;
    if (member->state != MEMBER_ASKED || !hf_etcd_call_is_idle(&member->call))
        return;
    member->call.ended = on_status;
    member->call.user = member;
    if (!hf_etcd_call_start(&member->session, &member->call, HF_ETCD_STATUS,
                            &buffer))
        member->state = MEMBER_FAILED;
}

static void on_connection_error(void *user,
                                const struct hf_etcd_connection_error *error)
{
    struct member *member = user;

    if (member->state != MEMBER_ASKED)
        return;
    (void)snprintf(member->why, sizeof member->why, "%s", error->text);
    member->state = MEMBER_FAILED;
}

__attribute__((format(printf, 3, 4))) static void
on_line(void *user, enum hf_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format; /* the line would repeat a finding */
}

/* --------------------------------------------------------- the beginning -- */

static void ask(struct member *member, size_t index)
{
    struct hf_etcd_member_examination *examination = member->examination;
    const struct hf_etcd_url_config *url =
        hf_etcd_engine_url(examination->examiner->etcd);
    const struct hf_etcd_listener listener = {
        .user = member,
        .connection_error = on_connection_error,
        .connected = on_connected,
    };
    const struct hf_etcd_log log = {.user = NULL, .line = on_line};
    struct hf_error error = {HF_OK, ""};

    member->config = *url;
    member->config.session.servers[0] = url->session.servers[index];
    member->config.session.server_count = 1;
    member->config.session.lease_mode = HF_ETCD_NO_LEASE;
    hf_etcd_io_init(&member->io, &examination->host,
                    &(struct hf_etcd_io_user){NULL, one_closed, examination});
    examination->handles++;
    if (hf_etcd_io_open(&member->io, &member->config, &error) != HF_OK) {
        (void)snprintf(member->why, sizeof member->why, "%s", error.text);
        member->state = MEMBER_FAILED;
        hf_etcd_io_close(&member->io);
        return;
    }
    hf_etcd_session_begin(&member->session, &member->config.session, &listener,
                          &log,
                          examination->host.now_ms(examination->host.host));
    member->opened = true;
    hf_etcd_io_start(&member->io, &member->session);
}

/* Make an examination, with its timer.  Returns NULL if that fails. */
static struct hf_etcd_member_examination *
make(struct hf_etcd_examiner *examiner, struct hf_request *request)
{
    size_t count = hf_etcd_engine_url(examiner->etcd)->session.server_count;
    struct hf_etcd_member_examination *examination =
        hf_alloc(sizeof *examination + count * sizeof(struct member));

    if (examination == NULL)
        return NULL;
    if (uv_timer_init(examiner->io->loop, &examination->timer) != 0) {
        hf_free(examination);
        return NULL;
    }
    examination->timer.data = examination;
    examination->handles = 1;
    examination->examiner = examiner;
    examination->host = *examiner->host;
    examination->request = request;
    examination->count = count;
    examination->next = examiner->first;
    examiner->first = examination;
    return examination;
}

/* Fail ${request}, which has no examination or has lost it. */
static void fail(const struct hf_engine_host *host, struct hf_request *request,
                 enum hf_failure failure, hf_status status, const char *text)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    host->event(host->host, &event);
}

void hf_etcd_examine_members(struct hf_etcd_examiner *examiner,
                             struct hf_request *request)
{
    struct hf_etcd_member_examination *examination = make(examiner, request);

    if (examination == NULL) {
        fail(examiner->host, request, HF_FAILURE_FATAL, HF_ENOMEM,
             "no memory to examine the servers");
        return;
    }
    for (size_t i = 0; i < examination->count; i++) {
        examination->members[i].examination = examination;
        ask(&examination->members[i], i);
    }
    uv_update_time(examiner->io->loop);
    (void)uv_timer_start(&examination->timer, on_tick, TICK_MS, TICK_MS);
}

void hf_etcd_examiner_end(struct hf_etcd_examiner *examiner)
{
    while (examiner->first != NULL) {
        struct hf_request *request = examiner->first->request;

        close_all(examiner->first);
        fail(examiner->host, request, HF_FAILURE_RETRY, HF_ECLOSED,
             "the session has been ended");
    }
}

void hf_etcd_examiner_after_fork(const struct hf_etcd_examiner *examiner)
{
    struct hf_etcd_member_examination *examination = examiner->first;

    for (; examination != NULL; examination = examination->next) {
        for (size_t i = 0; i < examination->count; i++) {
            if (examination->members[i].opened)
                hf_etcd_io_after_fork(&examination->members[i].io);
        }
    }
}

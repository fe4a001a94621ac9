/* SPDX-License-Identifier: Apache-2.0 */
/* See examine.h.  The calls are made one after the other.  A call that fails is
 * a finding too, and the next call follows. */
#include "engines/etcd/examine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engines/etcd/etcd_request.h"
#include "engines/etcd/key_name.h"
#include "etcd/message.h"

/* If a revision that is this much older can still be read, nobody compacts. */
#define HISTORY INT64_C(1000000)

/* Room for names of members in a text. */
#define NAMES_BYTES 128

/* The name of a lock that nobody uses, to see what the user may do. */
#define LOCK "holdfast-doctor"

struct examining {
    struct hf_etcd_engine_request base;
    struct hf_finding_list list;
};

static struct examining *examining_of(struct hf_etcd_engine_request *req)
{
    return (struct examining *)req;
}

static void cleanup(struct hf_etcd_engine_request *req)
{
    hf_finding_list_free(&examining_of(req)->list);
}

static void answer(struct hf_etcd_engine_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_EXAMINED};

    event.as.answer.findings = &examining_of(req)->list;
    event.as.answer.text = "";
    hf_etcd_engine_request_answer(req, &event);
}

/* Add the finding that ${what} cannot be seen, because a call has ended with
 * ${result}. */
static void add_unseen(struct hf_etcd_engine_request *req, const char *id,
                       const char *what, const struct hf_etcd_result *result)
{
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, id, "", NULL};

    hf_finding_add(&examining_of(req)->list, &head, "%s cannot be seen: %.200s",
                   what,
                   result->end == HF_ETCD_DONE ? "the answer makes no sense"
                                               : result->text);
}

/* --------------------------------------------------------------- history -- */

static void history_answered(struct hf_etcd_engine_request *req,
                             const struct hf_etcd_result *result)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-compaction", "", NULL};

    if (result->end == HF_ETCD_DONE) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "compact (etcdctl compaction), and run the servers with "
                      "--auto-compaction-retention";
        hf_finding_add(&examining_of(req)->list, &head,
                       "the last %" PRId64 " revisions are all still there: "
                       "nobody compacts, and the database grows until there "
                       "is no space left",
                       HISTORY);
    } else if (result->status == HF_GRPC_OUT_OF_RANGE) {
        hf_finding_add(&examining_of(req)->list, &head,
                       "old revisions are compacted");
    } else {
        add_unseen(req, head.id, "whether revisions are compacted", result);
    }
    answer(req);
}

/* Read at an old revision.  The read is refused if that revision was compacted.
 */
static void ask_history(struct hf_etcd_engine_request *req, int64_t revision)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-compaction", "", NULL};
    struct hf_etcd_range range = {.revision = revision - HISTORY,
                                  .serializable = true};
    char missing[HF_ETCD_KEY_BYTES];
    struct hf_etcd_buffer buffer = {0};

    if (revision <= HISTORY) {
        hf_finding_add(&examining_of(req)->list, &head,
                       "there were %" PRId64 " revisions so far: too few to "
                       "see whether they are compacted",
                       revision);
        answer(req);
        return;
    }
    range.key = (struct hf_etcd_bytes){
        missing, hf_etcd_engine_missing_key(req->engine->config.session.prefix,
                                            missing)};
    hf_etcd_write_range(&buffer, &range);
    hf_etcd_engine_request_call(req, HF_ETCD_RANGE, &buffer, history_answered);
}

/* ---------------------------------------------------------------- rights -- */

static void add_rights(struct hf_etcd_engine_request *req, bool may)
{
    const char *prefix = req->engine->config.session.prefix;
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-rights", prefix, NULL};

    if (may) {
        hf_finding_add(&examining_of(req)->list, &head,
                       "this user may read and write below '%.200s'", prefix);
        return;
    }
    head.severity = HF_SEVERITY_ERROR;
    head.advice = "give the user a role that may do both (etcdctl role "
                  "grant-permission ROLE --prefix=true readwrite PREFIX), or "
                  "have a prefix in the URL for which it has one";
    hf_finding_add(&examining_of(req)->list, &head,
                   "this user may not read and write all keys below '%.200s', "
                   "so it can take no lock",
                   prefix);
}

static void rights_answered(struct hf_etcd_engine_request *req,
                            const struct hf_etcd_result *result)
{
    struct hf_etcd_header header;

    if (result->end == HF_ETCD_DONE &&
        hf_etcd_read_header(result->answer, &header)) {
        add_rights(req, true);
        ask_history(req, header.revision);
        return;
    }
    if (result->status == HF_GRPC_PERMISSION_DENIED)
        add_rights(req, false);
    else
        add_unseen(req, "etcd-rights", "what this user may do", result);
    answer(req);
}

/* Send a transaction whose first branch is never carried out, because its
 * comparison does not hold.  The server checks the rights for both branches all
 * the same. */
static void ask_rights(struct hf_etcd_engine_request *req)
{
    const char *prefix = req->engine->config.session.prefix;
    size_t prefix_bytes = strlen(prefix);
    char key[HF_ETCD_KEY_BYTES], missing[HF_ETCD_KEY_BYTES];
    char end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range = {.limit = 1, .keys_only = true};
    struct hf_etcd_put put = {0};
    struct hf_etcd_buffer buffer = {0};
    size_t bytes = hf_etcd_engine_missing_key(prefix, missing);

    hf_etcd_engine_compare_created(&buffer, missing, bytes, 1);
    put.key = (struct hf_etcd_bytes){
        key, hf_etcd_engine_queue_prefix(prefix, LOCK, key)};
    hf_etcd_txn_put(&buffer, HF_ETCD_SUCCESS, &put);
    range.key = prefix_bytes > 0 ? hf_etcd_bytes_of(prefix)
                                 : (struct hf_etcd_bytes){"", 1};
    range.range_end = hf_etcd_prefix_end(hf_etcd_bytes_of(prefix), end);
    hf_etcd_txn_range(&buffer, HF_ETCD_FAILURE, &range);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, rights_answered);
}

/* ----------------------------------------------------------------- lease -- */

static void add_granted(struct hf_etcd_engine_request *req, uint64_t ttl_ms)
{
    uint64_t asked_ms = req->engine->config.session.ttl_ms;
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-lease", "", NULL};

    if (ttl_ms != asked_ms) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "nothing, or ask for one that is granted (ttl=): whole "
                      "seconds, and no less than one and a half election "
                      "timeouts of the servers";
    }
    hf_finding_add(&examining_of(req)->list, &head,
                   "a lease of %" PRIu64 " ms is granted; the URL asks for "
                   "%" PRIu64 " ms",
                   ttl_ms, asked_ms);
}

/* Go on even if the revocation has failed, because the lease expires. */
static void revoke_answered(struct hf_etcd_engine_request *req,
                            const struct hf_etcd_result *result)
{
    (void)result;
    ask_rights(req);
}

static void grant_answered(struct hf_etcd_engine_request *req,
                           const struct hf_etcd_result *result)
{
    struct hf_etcd_lease_answer granted;
    struct hf_etcd_buffer buffer = {0};

    if (result->end != HF_ETCD_DONE ||
        !hf_etcd_read_lease(result->answer, &granted) || granted.ttl_s <= 0) {
        add_unseen(req, "etcd-lease", "which lease is granted", result);
        ask_rights(req);
        return;
    }
    add_granted(req, (uint64_t)granted.ttl_s * 1000);
    hf_etcd_write_revoke(&buffer, granted.lease);
    hf_etcd_engine_request_call(req, HF_ETCD_LEASE_REVOKE, &buffer,
                                revoke_answered);
}

/* A session that only lists has no lease.  So one is granted and revoked. */
static void ask_lease(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_session *session = &req->engine->session;
    struct hf_etcd_buffer buffer = {0};

    if (session->lease != 0) {
        add_granted(req, session->ttl_ms);
        ask_rights(req);
        return;
    }
    /* The number 0 leaves the choice to the server. */
    hf_etcd_write_grant(&buffer, 0,
                        (int64_t)((session->config->ttl_ms + 999) / 1000));
    hf_etcd_engine_request_call(req, HF_ETCD_LEASE_GRANT, &buffer,
                                grant_answered);
}

/* ---------------------------------------------------------------- alarms -- */

static void add_alarm(struct hf_etcd_engine_request *req,
                      const struct hf_etcd_alarm *alarm)
{
    struct hf_finding_head head = {HF_SEVERITY_ERROR, "etcd-alarm", "", NULL};
    char member[24];

    (void)snprintf(member, sizeof member, "%" PRIx64, alarm->member_id);
    head.subject = member;
    if (alarm->type == HF_ETCD_ALARM_NOSPACE) {
        head.advice = "compact, defragment, then etcdctl alarm disarm; or "
                      "raise --quota-backend-bytes";
        hf_finding_add(&examining_of(req)->list, &head,
                       "the alarm NOSPACE is raised: no lock can be taken; "
                       "those that are held can be released");
    } else if (alarm->type == HF_ETCD_ALARM_CORRUPT) {
        head.advice = "replace the member";
        hf_finding_add(&examining_of(req)->list, &head,
                       "the alarm CORRUPT is raised: the data of this member "
                       "are not those of the others");
    } else {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "see etcdctl alarm list";
        hf_finding_add(&examining_of(req)->list, &head,
                       "an alarm of type %" PRId64 " is raised", alarm->type);
    }
}

static void alarms_answered(struct hf_etcd_engine_request *req,
                            const struct hf_etcd_result *result)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-alarm", "", NULL};
    struct hf_etcd_alarm_answer alarms;
    struct hf_etcd_alarm alarm;

    if (result->end == HF_ETCD_DONE &&
        hf_etcd_read_alarms(result->answer, &alarms)) {
        if (alarms.alarms.count == 0)
            hf_finding_add(&examining_of(req)->list, &head,
                           "no alarm is raised");
        while (hf_etcd_next_alarm(&alarms.alarms, &alarm))
            add_alarm(req, &alarm);
    } else {
        add_unseen(req, head.id, "which alarms are raised", result);
    }
    ask_lease(req);
}

static void ask_alarms(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_buffer buffer = {0};

    hf_etcd_write_alarm_get(&buffer);
    hf_etcd_engine_request_call(req, HF_ETCD_ALARM, &buffer, alarms_answered);
}

/* --------------------------------------------------------------- members -- */

struct members {
    unsigned voting;
    unsigned learners;
    unsigned unstarted;
    char names[NAMES_BYTES];
};

static void count_member(struct members *members,
                         const struct hf_etcd_member *member)
{
    size_t used = strlen(members->names);

    if (member->is_learner)
        members->learners++;
    else
        members->voting++;
    if (member->name.count == 0) {
        members->unstarted++;
        return;
    }
    (void)snprintf(members->names + used, sizeof members->names - used,
                   "%s%.*s", used > 0 ? ", " : "",
                   (int)(member->name.count < 32 ? member->name.count : 32),
                   (const char *)member->name.bytes);
}

static void add_members(struct hf_etcd_engine_request *req,
                        const struct members *members)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "etcd-members", "", NULL};

    if (members->unstarted > 0) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "start it, or remove it: it counts for the majority";
    } else if (members->voting == 1) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "have a cluster of three, if locks have to be taken also "
                      "while a machine is down";
    } else if (members->voting % 2 == 0) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "have an odd number: one more costs nothing, and one "
                      "less survives as many failures";
    }
    hf_finding_add(&examining_of(req)->list, &head,
                   "%u members vote and %u are learners (%s)%s",
                   members->voting, members->learners, members->names,
                   members->unstarted > 0 ? "; one was added and has never "
                                            "started"
                                          : "");
}

static void members_answered(struct hf_etcd_engine_request *req,
                             const struct hf_etcd_result *result)
{
    struct hf_etcd_member_list_answer list;
    struct hf_etcd_member member;
    struct members members = {0};

    if (result->end == HF_ETCD_DONE &&
        hf_etcd_read_member_list(result->answer, &list)) {
        while (hf_etcd_next_member(&list.members, &member))
            count_member(&members, &member);
        add_members(req, &members);
    } else {
        add_unseen(req, "etcd-members", "the list of members", result);
    }
    ask_alarms(req);
}

void hf_etcd_engine_examine(struct hf_etcd_engine *engine,
                            struct hf_request *request,
                            struct hf_finding_list *list, uint64_t now_ms)
{
    struct examining *examining =
        hf_etcd_engine_request_new(engine, request, sizeof *examining);
    struct hf_etcd_buffer buffer = {0};

    if (examining == NULL) {
        hf_finding_list_free(list);
        return;
    }
    examining->base.cleanup = cleanup;
    examining->list = *list;
    *list = (struct hf_finding_list){0};
    hf_etcd_session_set_now(&engine->session, now_ms);
    if (hf_etcd_session_is_usable(&engine->session))
        hf_etcd_engine_request_call(&examining->base, HF_ETCD_MEMBER_LIST,
                                    &buffer, members_answered);
    else
        answer(&examining->base);
}

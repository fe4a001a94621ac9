/* SPDX-License-Identifier: Apache-2.0 */
/* See examine.h.  All commands are sent at once, and their replies come in that
 * order.  Only the command that runs the script is sent later, when SCRIPT LOAD
 * has returned the SHA1 of the script. */
#include "engines/redis/examine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engines/leased/clock_finding.h"
#include "engines/redis/command.h"

/* What each reply answers, in the order of the replies. */
enum step {
    STEP_INFO,
    STEP_TIME,
    STEP_FSYNC,
    STEP_CLUSTER, /* only if the server is a node of a Redis Cluster */
    STEP_SCRIPT,
    STEP_RIGHTS,
};

/* How many slots a Redis Cluster has. */
#define SLOTS UINT64_C(16384)

void hf_redis_examine_subject(const struct hf_redis_link *link,
                              char subject[HF_REDIS_SUBJECT_BYTES])
{
    const struct hf_redis_config *config = &link->config;

    if (config->path[0] != '\0')
        (void)snprintf(subject, HF_REDIS_SUBJECT_BYTES, "%s", config->path);
    else
        hf_redis_host_format(&config->host, subject);
}

/* -------------------------------------------------------------- commands -- */

/* Append a command of ${count} words. */
static void put_words(struct hf_resp *out, const char *const *words,
                      size_t count)
{
    hf_resp_begin(out, count);
    for (size_t i = 0; i < count; i++)
        hf_resp_put_text(out, words[i]);
}

/* Send a command whose reply answers ${call}.  False if memory runs out. */
static bool ask(struct hf_redis_link *link, struct hf_store_call *call,
                const char *const *words, size_t count)
{
    struct hf_redis_answer *answer = call->store_data;

    put_words(&link->calls.out, words, count);
    if (!hf_redis_expect(link, HF_REDIS_REPLY_EXAMINE, call))
        return false;
    answer->pending++;
    return true;
}

bool hf_redis_examine_put(struct hf_redis_link *link,
                          struct hf_store_call *call)
{
    static const char *const info[] = {"INFO"};
    static const char *const time[] = {"TIME"};
    static const char *const fsync[] = {"CONFIG", "GET", "appendfsync"};
    static const char *const cluster[] = {"CLUSTER", "INFO"};
    static const char *const script[] = {"SCRIPT", "LOAD", hf_redis_script};
    struct hf_redis_answer *answer = call->store_data;
    char subject[HF_REDIS_SUBJECT_BYTES];
    bool asked;

    answer->pending = 0;
    answer->answer.findings = &answer->examination.findings;
    answer->examination.of_quorum = call->quorum != NULL;
    hf_redis_examine_subject(link, subject);
    hf_finding_add_transport(&answer->examination.findings,
                             link->config.path[0] != '\0'
                                 ? link->config.path
                                 : link->config.host.name,
                             link->shared->tls != NULL, "rediss:");
    asked = ask(link, call, info, 1);
    asked |= ask(link, call, time, 1);
    asked |= ask(link, call, fsync, 3);
    if (link->info == HF_REDIS_INFO_CLUSTER_NODE)
        asked |= ask(link, call, cluster, 2);
    asked |= ask(link, call, script, 3);
    return asked;
}

/* -------------------------------------------------------------- findings -- */

/* Add the finding that ${what} cannot be seen, because ${reply} is an error or
 * not of the expected form. */
static void add_unseen(struct hf_redis_examination *examination,
                       const char *subject, const char *id, const char *what,
                       const struct redisReply *reply)
{
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, id, subject, NULL};

    hf_finding_add(&examination->findings, &head,
                   "%s cannot be seen by this user: %.200s", what,
                   reply->type == REDIS_REPLY_ERROR
                       ? reply->str
                       : "the answer is none that we know");
}

static void add_time(struct hf_redis_answer *answer, const char *subject,
                     const struct redisReply *reply)
{
    uint64_t server_ms;

    if (!hf_redis_read_time(reply, &server_ms)) {
        add_unseen(&answer->examination, subject, "clock", "its clock", reply);
        return;
    }
    answer->answer.server_ms = server_ms;
    hf_finding_add_clock(&answer->examination.findings, subject, server_ms);
}

/* Add the findings about persistence.  ${reply} is the reply to CONFIG GET: a
 * name and its value. */
static void add_fsync(struct hf_redis_examination *examination,
                      const char *subject, const struct redisReply *reply)
{
    bool seen = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                reply->element[1]->type == REDIS_REPLY_STRING;

    if (examination->saw_info)
        hf_redis_examine_persistence(examination, subject,
                                     seen ? reply->element[1]->str : "");
}

/* Add the findings of CLUSTER INFO, whose text has the form of that of INFO. */
static void add_cluster(struct hf_redis_examination *examination,
                        const char *subject, const struct redisReply *reply)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "redis-cluster", subject,
                                   NULL};
    uint64_t assigned, failing;
    char state[16];

    if (reply->type != REDIS_REPLY_STRING) {
        add_unseen(examination, subject, head.id, "CLUSTER INFO", reply);
        return;
    }
    (void)hf_redis_info_value(reply->str, "cluster_state", state, sizeof state);
    assigned = hf_redis_info_number(reply->str, "cluster_slots_assigned");
    failing = hf_redis_info_number(reply->str, "cluster_slots_fail") +
              hf_redis_info_number(reply->str, "cluster_slots_pfail");
    if (strcmp(state, "ok") == 0 && assigned == SLOTS && failing == 0) {
        hf_finding_add(&examination->findings, &head,
                       "the cluster is ok, and all slots have a node, as this "
                       "node sees it; replicas were not asked");
        return;
    }
    head.severity = HF_SEVERITY_ERROR;
    head.advice = "see redis-cli --cluster check, and bring the nodes of those "
                  "slots back";
    hf_finding_add(&examination->findings, &head,
                   "the state of the cluster is '%s': %" PRIu64 " slots have "
                   "no node and those of %" PRIu64 " do not answer, as this "
                   "node sees it; locks of such a slot cannot be taken",
                   state, assigned > SLOTS ? 0 : SLOTS - assigned, failing);
}

/* ---------------------------------------------------------------- rights -- */

/* Add the finding that follows from the reply of rights.lua.  Its four elements
 * are: how many commands with a key locks need, how many of these the user may
 * run, and the names of the commands that the user lacks: needed ones, and ones
 * that only some users of locks need. */
static void add_known_rights(struct hf_redis_examination *examination,
                             const char *subject,
                             const struct redisReply *reply)
{
    long long required = reply->element[0]->integer;
    long long allowed = reply->element[1]->integer;
    const char *missing = reply->element[2]->str;
    const char *others = reply->element[3]->str;
    struct hf_finding_head head = {
        HF_SEVERITY_ERROR, "redis-rights", subject,
        "give the user the rights that holdfast-url(7) has (ACL SETUSER), and "
        "do not rename commands"};

    if (allowed == 0 && required > 0) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "nothing, if the user is meant to take only locks of "
                      "some names; else give it ~holdfast:* (ACL SETUSER)";
        hf_finding_add(&examination->findings, &head,
                       "this user may not use the keys of every lock: not "
                       "those of a lock called holdfast-doctor");
    } else if (missing[0] != '\0') {
        hf_finding_add(&examination->findings, &head,
                       "this user may not run what locks need: %.300s",
                       missing);
    } else if (others[0] != '\0') {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "nothing, unless that is needed";
        hf_finding_add(&examination->findings, &head,
                       "this user may take locks, and may not run %.200s "
                       "(scan is for holdfast ls, wait for wait=, exists for "
                       "layout=redis-py)",
                       others);
    } else {
        head.severity = HF_SEVERITY_OK;
        head.advice = NULL;
        hf_finding_add(&examination->findings, &head,
                       "this user may run all that locks need");
    }
}

static void add_rights(struct hf_redis_examination *examination,
                       const char *subject, const struct redisReply *reply)
{
    static const struct hf_finding_head unknown = {HF_SEVERITY_UNKNOWN,
                                                   "redis-rights", "", NULL};
    struct hf_finding_head head = unknown;

    head.subject = subject;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 4 &&
        reply->element[0]->type == REDIS_REPLY_INTEGER &&
        reply->element[1]->type == REDIS_REPLY_INTEGER &&
        reply->element[2]->type == REDIS_REPLY_STRING &&
        reply->element[3]->type == REDIS_REPLY_STRING)
        add_known_rights(examination, subject, reply);
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 0)
        hf_finding_add(&examination->findings, &head,
                       "the rights of this user cannot be seen before Redis "
                       "7.0: --probe shows whether it can take a lock");
    else
        add_unseen(examination, subject, head.id, "what it may do", reply);
}

/* Run the script, which SCRIPT LOAD has loaded.  EVALSHA needs the same right
 * here as for locks. */
static void run_script(struct hf_redis_link *link, struct hf_store_call *call,
                       const char *subject, const struct redisReply *reply)
{
    struct hf_redis_answer *answer = call->store_data;
    const char *run[] = {"EVALSHA", reply->str, "0", "rights"};

    if (reply->type != REDIS_REPLY_STRING)
        add_unseen(&answer->examination, subject, "redis-rights",
                   "what it may do", reply);
    else
        (void)ask(link, call, run, 4);
}

/* --------------------------------------------------------------- replies -- */

static void add_info(struct hf_redis_link *link,
                     struct hf_redis_examination *examination,
                     const char *subject, const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_STRING)
        hf_redis_examine_info(examination, subject, reply->str,
                              link->config.wait);
    else
        add_unseen(examination, subject, "redis-info",
                   "INFO (version, persistence, memory, replicas)", reply);
}

void hf_redis_examine_reply(struct hf_redis_link *link,
                            struct hf_store_call *call,
                            const struct redisReply *reply)
{
    struct hf_redis_answer *answer = call->store_data;
    struct hf_redis_examination *examination = &answer->examination;
    char subject[HF_REDIS_SUBJECT_BYTES];
    enum step step = (enum step)examination->step++;

    hf_redis_examine_subject(link, subject);
    if (step == STEP_FSYNC && link->info != HF_REDIS_INFO_CLUSTER_NODE)
        examination->step = STEP_SCRIPT;
    switch (step) {
    case STEP_INFO:
        add_info(link, examination, subject, reply);
        break;
    case STEP_TIME:
        add_time(answer, subject, reply);
        break;
    case STEP_FSYNC:
        add_fsync(examination, subject, reply);
        break;
    case STEP_CLUSTER:
        add_cluster(examination, subject, reply);
        break;
    case STEP_SCRIPT:
        run_script(link, call, subject, reply);
        break;
    case STEP_RIGHTS:
        add_rights(examination, subject, reply);
        break;
    }
}

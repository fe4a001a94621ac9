/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a link: authenticates, selects the database, reads INFO,
 * loads the script, checks the rights of the user and reads the clock; on the
 * connection for notices, authenticates and subscribes.  Ends the link if the
 * server cannot be used. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"
#include "engines/redis/redis_link.h"
#include "engines/redis/reply.h"

/* The longest part of an error text of the server that a message quotes. */
#define SERVER_TEXT_BYTES 130

void hf_redis_load_script(struct hf_redis_link *link,
                          enum hf_redis_reply_kind what)
{
    struct hf_resp *out = &link->calls.out;

    hf_resp_begin(out, 3);
    hf_resp_put_text(out, "SCRIPT");
    hf_resp_put_text(out, "LOAD");
    hf_resp_put_text(out, hf_redis_script);
    (void)hf_redis_expect(link, what, NULL);
}

bool hf_redis_ask_time(struct hf_redis_link *link,
                       enum hf_redis_reply_kind what,
                       struct hf_store_call *call)
{
    hf_resp_begin(&link->calls.out, 1);
    hf_resp_put_text(&link->calls.out, "TIME");
    return hf_redis_expect(link, what, call);
}

bool hf_redis_ask_rights(struct hf_redis_link *link,
                         enum hf_redis_reply_kind what, const char *channel,
                         struct hf_store_call *call)
{
    struct hf_resp *out = &link->calls.out;

    hf_resp_begin(out, channel != NULL ? 5 : 4);
    hf_resp_put_text(out, "EVALSHA");
    hf_resp_put_text(out, link->script.sha);
    hf_resp_put_text(out, "0");
    hf_resp_put_text(out, "rights");
    if (channel != NULL)
        hf_resp_put_text(out, channel);
    return hf_redis_expect(link, what, call);
}

/* Send INFO, which shows how the server is configured. */
static void ask_info(struct hf_redis_link *link)
{
    hf_resp_begin(&link->calls.out, 1);
    hf_resp_put_text(&link->calls.out, "INFO");
    (void)hf_redis_expect(link, HF_REDIS_REPLY_INFO, NULL);
    link->info_asked_at_ms = hf_leased_engine_now_ms(link->shared->engine);
}

#define INFO_INTERVAL_MS UINT64_C(60000)

void hf_redis_refresh_info(struct hf_redis_link *link)
{
    uint64_t now_ms = hf_leased_engine_now_ms(link->shared->engine);

    if (link->info != HF_REDIS_INFO_DENIED &&
        now_ms >= hf_after_ms(link->info_asked_at_ms, INFO_INTERVAL_MS))
        ask_info(link);
}

/* Append AUTH, if there are credentials.  Returns the number of replies to
 * expect. */
static size_t put_auth(struct hf_resp *resp,
                       const struct hf_redis_config *config)
{
    bool has_user = config->user[0] != '\0';

    if (!config->authenticates)
        return 0;
    hf_resp_begin(resp, has_user ? 3 : 2);
    hf_resp_put_text(resp, "AUTH");
    if (has_user)
        hf_resp_put_text(resp, config->user);
    hf_resp_put_text(resp, config->password);
    return 1;
}

void hf_redis_handshake_begin(struct hf_redis_link *link)
{
    struct hf_resp *out = &link->calls.out;

    if (put_auth(out, &link->config) > 0)
        (void)hf_redis_expect(link, HF_REDIS_REPLY_AUTH, NULL);
    if (link->config.db > 0) {
        hf_resp_begin(out, 2);
        hf_resp_put_text(out, "SELECT");
        hf_resp_put_number(out, link->config.db);
        (void)hf_redis_expect(link, HF_REDIS_REPLY_SELECT, NULL);
    }
    ask_info(link);
    hf_redis_load_script(link, HF_REDIS_REPLY_SCRIPT_LOAD);
}

void hf_redis_handshake_subscribe(struct hf_redis_link *link)
{
    struct hf_resp *out = &link->notices.out;

    (void)put_auth(out, &link->config);
    hf_resp_begin(out, 2);
    hf_resp_put_text(out, "SUBSCRIBE");
    hf_resp_put_text(out, link->channel);
}

void hf_redis_link_check_up(struct hf_redis_link *link)
{
    assert(link->state != HF_REDIS_LINK_CLOSED);
    if (link->state == HF_REDIS_LINK_UP || !link->handshake_done ||
        !link->subscribed)
        return;
    link->state = HF_REDIS_LINK_UP;
    link->tls = HF_REDIS_TLS_KNOWN;
    link->listener.up(link->listener.arg, link, link->server_ms);
}

void hf_redis_link_refused(struct hf_redis_link *link, const char *what,
                           const struct redisReply *reply)
{
    struct hf_redis_error error_class = hf_redis_error_classify(reply->str);
    size_t bytes = strlen(reply->str);
    char text[HF_CONNECTION_TEXT_BYTES];

    if (bytes > 0 && reply->str[bytes - 1] == '.')
        bytes--; /* because our text continues the sentence */
    (void)snprintf(text, sizeof text, "%.*s%.100s",
                   (int)(bytes < SERVER_TEXT_BYTES ? bytes : SERVER_TEXT_BYTES),
                   reply->str, error_class.advice);
    hf_redis_link_down(link, hf_redis_connection_status(reply->str), what,
                       text);
}

/* Log ${text} as a warning and set ${*warned}, unless it is set already.  It is
 * one of the flags in struct hf_redis_link_shared, which all links share. */
static void warn_once(const struct hf_redis_link *link, bool *warned,
                      const char *text)
{
    const struct hf_engine_host *host = &link->shared->engine->host;

    if (!*warned)
        host->log(host->host, HF_LOG_WARNING, "%s", text);
    *warned = true;
}

/* Returns how long the server process has run at least.  INFO shows too little
 * if the server's clock was set back, so the time since we first met this
 * process counts as well. */
static uint64_t served_ms(struct hf_redis_link *link, const char *info)
{
    uint64_t now_ms = hf_leased_engine_now_ms(link->shared->engine);

    if (!hf_redis_info_same_run(info, link->run_id))
        link->run_id_since_ms = now_ms;
    return hf_max_ms(hf_redis_info_served_ms(info),
                     now_ms - link->run_id_since_ms);
}

/* Handle the text of INFO: end the link if the server cannot be used, and warn
 * if it is not durable. */
static void handle_info_text(struct hf_redis_link *link, const char *info)
{
    hf_status status = HF_OK;
    const char *error_class = hf_redis_info_problem(info, &status);

    link->info = hf_redis_info_clustered(info) ? HF_REDIS_INFO_CLUSTER_NODE
                                               : HF_REDIS_INFO_SINGLE_SERVER;
    link->script.declares_keys = link->info == HF_REDIS_INFO_CLUSTER_NODE;
    link->served_ms = served_ms(link, info);
    (void)hf_redis_info_value(info, "master_replid", link->replication_id,
                              sizeof link->replication_id);
    (void)hf_redis_info_value(info, "master_replid2",
                              link->earlier_replication_id,
                              sizeof link->earlier_replication_id);
    if (error_class != NULL)
        hf_redis_link_down(link, status, "", error_class);
    /* false while the server is loading that file */
    else if (hf_redis_info_forgets(info))
        warn_once(
            link, &link->shared->warned_not_durable,
            "the server has appendonly no: a restart forgets tickets, and "
            "lets another client in while the holder still counts on its "
            "lock; expected appendonly yes in redis.conf, and now "
            "redis-cli CONFIG SET appendonly yes");
}

/* Handle the reply to INFO.  If the user lacks the right to run it, the server
 * can still be used. */
static void handle_info(struct hf_redis_link *link,
                        const struct redisReply *reply)
{
    bool failed = reply->type == REDIS_REPLY_ERROR;

    if (reply->type == REDIS_REPLY_STRING) {
        handle_info_text(link, reply->str);
    } else if (link->state == HF_REDIS_LINK_UP) {
        return; /* an older INFO is known, and INFO will be sent again later */
    } else if (!failed) {
        hf_redis_link_down(link, HF_EPROTOCOL, "",
                           "INFO gave no text; expected that of a Redis 6.0 or "
                           "later; see whether the port is right");
    } else if (strstr(reply->str, "NOPERM") == NULL) {
        hf_redis_link_refused(link, "", reply);
    } else {
        link->info = HF_REDIS_INFO_DENIED;
        warn_once(
            link, &link->shared->warned_info_denied,
            "the server does not let us see its INFO: see to it yourself that "
            "it is a primary of 6.0 or later, with maxmemory-policy "
            "noeviction and appendonly yes");
    }
}

bool hf_redis_read_time(const struct redisReply *reply, uint64_t *ms)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return false;
    *ms = strtoull(reply->element[0]->str, NULL, 10) * 1000 +
          strtoull(reply->element[1]->str, NULL, 10) / 1000;
    return true;
}

/* Handle the reply to SCRIPT LOAD.  During the handshake, then run the script
 * to check whether the user may run it and all commands in it. */
static void handle_script_sha(struct hf_redis_link *link,
                              const struct redisReply *reply)
{
    link->reloading = false;
    if (reply->type != REDIS_REPLY_STRING ||
        reply->len != HF_REDIS_SHA_BYTES - 1) {
        hf_redis_link_down(link, HF_EPROTOCOL, "", "SCRIPT LOAD gave no SHA1");
        return;
    }
    memcpy(link->script.sha, reply->str, HF_REDIS_SHA_BYTES);
    if (link->state == HF_REDIS_LINK_UP)
        return;
    /* such a client takes no locks */
    if (!link->shared->engine->host.list_only)
        (void)hf_redis_ask_rights(link, HF_REDIS_REPLY_RIGHTS, link->channel,
                                  NULL);
    (void)hf_redis_ask_time(link, HF_REDIS_REPLY_TIME, NULL);
}

/* End the link, because the user may not run the commands ${missing}, or the
 * server does not have them. */
static void refuse_for_rights(struct hf_redis_link *link, const char *missing)
{
    bool lacks = strstr(missing, "(no such command)") != NULL;
    char text[HF_CONNECTION_TEXT_BYTES];

    (void)snprintf(text, sizeof text,
                   lacks ? "unknown command: %.100s; expected a Redis of 6.0 "
                           "or later without rename-command"
                         : "NOPERM for what locks need: %.100s; "
                           "holdfast-url(7) has the rights of a user",
                   missing);
    hf_redis_link_down(link, lacks ? HF_EUNSUPPORTED : HF_EDENIED, "", text);
}

/* Returns whether ${others}, commands that the user may not run, has one that
 * an option of our URL needs. */
static bool lacks_optional(const struct hf_redis_link *link, const char *others)
{
    return (link->config.wait > 0 && strstr(others, "wait") != NULL) ||
           (link->script.redis_py && strstr(others, "exists") != NULL);
}

/* Handle the reply of rights.lua, which says what the user may do.  If the user
 * may run nothing with the key that was tried, the user may be meant for locks
 * with other names, and is not refused.  A server before 7.0 can say only
 * whether the user may publish. */
static void handle_rights(struct hf_redis_link *link,
                          const struct redisReply *reply)
{
    bool known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 4 &&
                 reply->element[1]->type == REDIS_REPLY_INTEGER &&
                 reply->element[2]->type == REDIS_REPLY_STRING &&
                 reply->element[3]->type == REDIS_REPLY_STRING;
    hf_status status;

    if (reply->type == REDIS_REPLY_ERROR) {
        /* other errors will come again with the first call, which reports
         * them */
        status = hf_redis_connection_status(reply->str);
        if (status == HF_EDENIED ||
            strstr(reply->str, "unknown command") != NULL)
            hf_redis_link_refused(link, "", reply);
    } else if (known && reply->element[1]->integer > 0) {
        if (reply->element[2]->str[0] != '\0')
            refuse_for_rights(link, reply->element[2]->str);
        else if (lacks_optional(link, reply->element[3]->str))
            refuse_for_rights(link, reply->element[3]->str);
    }
}

void hf_redis_handshake_reply(struct hf_redis_link *link,
                              enum hf_redis_reply_kind what,
                              const struct redisReply *reply)
{
    bool failed = reply->type == REDIS_REPLY_ERROR;

    if (what == HF_REDIS_REPLY_INFO) {
        handle_info(link, reply);
    } else if (what == HF_REDIS_REPLY_RIGHTS) {
        handle_rights(link, reply);
    } else if (failed && what == HF_REDIS_REPLY_SELECT) {
        hf_redis_link_refused(link,
                              "it has not the database of the URL (a Redis "
                              "Cluster has only 0): ",
                              reply);
    } else if (failed) {
        hf_redis_link_refused(link, "", reply);
    } else if (what == HF_REDIS_REPLY_SCRIPT_LOAD ||
               what == HF_REDIS_REPLY_SCRIPT_RELOAD) {
        handle_script_sha(link, reply);
    } else if (what == HF_REDIS_REPLY_TIME) {
        link->handshake_done = hf_redis_read_time(reply, &link->server_ms);
        if (link->handshake_done)
            hf_redis_link_check_up(link);
        else
            hf_redis_link_down(link, HF_EPROTOCOL, "", "TIME gave no time");
    }
}

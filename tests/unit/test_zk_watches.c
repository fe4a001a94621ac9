/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: one at the server for each path, however many wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

/* x, y and z are in the queue, and they are known. */
static void queue_known(struct stage *s)
{
    stage_connected(s);
    have(s, "a", 9, 17);
    ask(s, HF_REQUEST_LIST, "a");
    children(s, "w#1 x#2 y#3 z#4 a#9");
    data(s, "head", 1, 1);
    (void)stage_sent(s);
    (void)stage_told(s);
}

static void a_watch_fires_once(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    assert_string_equal(stage_sent(&s), "DATA q/x#2 w");
    assert_string_equal(stage_told(&s), "");
    data(&s, "him", 2, 2);
    assert_string_equal(stage_told(&s), "WATCHING x");
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "GONE x");
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    event(&s, HF_ZK_NODE_DELETED, "q/y#3"); /* nobody asked */
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

static void fn58_what_has_gone_is_gone(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    ask(&s, HF_REQUEST_WATCH, "x");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "GONE x; GONE x");
    ask(&s, HF_REQUEST_WATCH, "a"); /* one's own */
    assert_string_equal(stage_sent(&s), "DATA q/x#2 w | DATA q/a#9 w");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "GONE a");
    ask(&s, HF_REQUEST_PROVE, ""); /* and is no ticket of ours any more */
    assert_string_equal(stage_sent(&s), "MULTI /");
    stage_close(&s);
}

/* A ticket that the last list has not shown is looked for. */
static void unknown_tickets_are_looked_for(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
    done(&s);
    children(&s, "x#2");
    assert_string_equal(stage_sent(&s), "DATA q/x#2 w");
    data(&s, "him", 2, 2);
    assert_string_equal(stage_told(&s), "WATCHING x");
    ask(&s, HF_REQUEST_WATCH, "y");
    done(&s);
    children(&s, "x#2");
    assert_string_equal(stage_told(&s), "GONE y");
    ask(&s, HF_REQUEST_WATCH, "y");
    done(&s);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "GONE y");
    ask(&s, HF_REQUEST_WATCH, "y");
    done(&s);
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED WATCH y FATAL");
    ask(&s, HF_REQUEST_WATCH, "y");
    refused(&s, HF_ZK_THROTTLED);
    children(&s, "y#3");
    assert_string_equal(stage_told(&s), "FAILED WATCH y RETRY");
    stage_close(&s);
}

static void a_search_is_forgotten(void **state)
{
    struct hf_request *x, *y;
    struct stage s;

    (void)state;
    stage_connected(&s);
    for (int i = 0; i < 4; i++) {
        x = ask(&s, HF_REQUEST_WATCH, "x");
        y = ask(&s, HF_REQUEST_WATCH, "y");
        if (i % 2 == 0)
            done(&s);
        forget(&s, x);
        if (i < 2)
            forget(&s, y);
        if (i % 2 != 0)
            done(&s);
        children(&s, "x#2");
        done(&s);
        children(&s, "x#2");
        assert_string_equal(stage_told(&s), i < 2 ? "" : "GONE y");
    }
    x = ask(&s, HF_REQUEST_WATCH, "x");
    forget(&s, x);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED");
    stage_close(&s);
}

static void one_watch_for_all(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    ask(&s, HF_REQUEST_WATCH, "x"); /* while the first is being set */
    assert_string_equal(stage_sent(&s), "DATA q/x#2 w");
    data(&s, "him", 2, 2);
    assert_string_equal(stage_told(&s), "WATCHING x; WATCHING x");
    ask(&s, HF_REQUEST_WATCH, "x"); /* and when it is */
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "WATCHING x");
    ask(&s, HF_REQUEST_WATCH, "y");
    data(&s, "her", 2, 2);
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "WATCHING y; GONE x; GONE x; GONE x");
    event(&s, HF_ZK_NODE_DELETED, "q/y#3");
    assert_string_equal(stage_told(&s), "GONE y");
    stage_close(&s);
}

static void only_a_deletion_is_gone(void **state)
{
    static const int32_t others[] = {HF_ZK_NODE_CREATED,
                                     HF_ZK_NODE_DATA_CHANGED, 5, 6, 99};
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    (void)stage_sent(&s);
    assert_string_equal(stage_told(&s), "WATCHING x");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        event(&s, others[i], "q/x#2");
        assert_string_equal(stage_sent(&s), "DATA q/x#2 w");
        event(&s, others[i], "q/x#2"); /* while it is being set anew */
        assert_string_equal(stage_sent(&s), "");
        ask(&s, HF_REQUEST_WATCH, "x");
        assert_string_equal(stage_told(&s), "");
        data(&s, "__REVOKED__", 2, 2);
        assert_string_equal(stage_told(&s), "WATCHING x"); /* the new one */
    }
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/x#2"); /* of another watch */
    event(&s, -1, "q/x#2");                          /* of the session */
    event(&s, 0, "q/x#2");
    assert_string_equal(stage_sent(&s), "");
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    refused(&s, HF_ZK_NO_NODE); /* it went before the watch was set anew */
    assert_string_equal(stage_told(&s), "GONE x; GONE x; GONE x; GONE x; "
                                        "GONE x; GONE x");
    stage_close(&s);
}

static unsigned heard;

static void count_heard(struct hf_zk_watcher *watcher,
                        enum hf_zk_event_type type)
{
    (void)watcher;
    (void)type;
    heard++;
}

/* Somebody else's who uses the session: at the path of ours, and elsewhere. */
static void watchers_of_another_are_let_alone(void **state)
{
    struct hf_zk_watcher elsewhere = {.fired = count_heard, .path = "/z"};
    struct hf_zk_watcher there = {.fired = count_heard};
    struct hf_zk_watch_set *set;
    char path[256];
    struct stage s;

    (void)state;
    queue_known(&s);
    set = &hf_zk_session(s.zk)->watches;
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    snprintf(path, sizeof path, "%s", set->first->path);
    there.path = path;
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "WATCHING x; GONE x");
    (void)stage_sent(&s);
    heard = 0;
    hf_zk_watch_set_add(set, &there);
    hf_zk_watch_set_add(set, &elsewhere);
    ask(&s, HF_REQUEST_WATCH, "x");
    assert_string_equal(stage_sent(&s), "DATA q/x#2 w");
    data(&s, "him", 2, 2);
    assert_string_equal(stage_told(&s), "WATCHING x");
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "GONE x");
    assert_int_equal(heard, 1);
    stage_close(&s);
    assert_true(there.in_set && elsewhere.in_set);
}

/* Whoever was told WATCHING is still, whatever the connection does. */
static void setting_anew_can_be_cut(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    ask(&s, HF_REQUEST_WATCH, "x"); /* waits for the same answer */
    assert_string_equal(stage_told(&s), "WATCHING x");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED WATCH x RETRY");
    ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_non_null(strstr(stage_sent(&s), " q/x#2"));
    (void)stage_told(&s);
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "GONE x");
    stage_close(&s);
}

/* Another answer has named the transaction by then, so a SetWatches says
 * nothing of it. */
static void what_was_being_read_is_read_on_the_next_connection(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    (void)stage_told(&s);
    link_down(&s, "reset");
    ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_non_null(strstr(stage_sent(&s), "DATA q/x#2 w"));
    (void)stage_told(&s);
    data(&s, "__REVOKE__", 2, 2);
    assert_string_equal(stage_told(&s), "REVOKED x");
    stage_close(&s);
}

/* ---------------------------------------------------------- description -- */

/* Our ticket x, whose owner has heard a request to release. */
static void asked(struct stage *s)
{
    stage_init(s);
    stage_connected(s);
    have(s, "x", 1, 2);
    ask(s, HF_REQUEST_WATCH, "x");
    data(s, "__REVOKE__", 2, 2);
    assert_non_null(strstr(stage_told(s), "WATCHING x; REVOKED x"));
    (void)stage_sent(s);
}

/* The event of our own write comes before its answer. */
static void what_was_heard_is_written_over(void **state)
{
    struct stage s;

    (void)state;
    asked(&s);
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    assert_string_equal(stage_sent(&s), "SET q/x#1 v2 me");
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#1");
    written(&s);
    assert_string_equal(stage_told(&s), "DESCRIBED x found");
    assert_string_equal(stage_sent(&s), "DATA q/x#1 w");
    data(&s, "me", 2, 2);
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

static void a_request_in_between_is_heard(void **state)
{
    struct stage s;

    (void)state;
    asked(&s);
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#1"); /* asked once more */
    refused(&s, HF_ZK_BAD_VERSION);
    assert_string_equal(stage_told(&s), "FAILED DESCRIBE x RETRY");
    ask(&s, HF_REQUEST_DESCRIBE, "x"); /* while it is being read */
    assert_string_equal(stage_told(&s), "FAILED DESCRIBE x RETRY");
    data(&s, "__REVOKE__", 2, 2);
    assert_string_equal(stage_told(&s), "REVOKED x");
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    written(&s);
    assert_string_equal(stage_told(&s), "DESCRIBED x found");
    stage_close(&s);
}

static void what_may_not_be_written_is_not(void **state)
{
    struct stage s;

    (void)state;
    asked(&s);
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED DESCRIBE x FATAL");
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED DESCRIBE x UNSURE");
    stage_close(&s);
}

/* In the order in which they were asked for. */
static void a_withdrawal_overtakes_nothing(void **state)
{
    struct stage s;

    (void)state;
    asked(&s);
    ask(&s, HF_REQUEST_REMOVE, "x");
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    assert_string_equal(stage_told(&s), "DESCRIBED x");
    done(&s);
    assert_non_null(strstr(stage_told(&s), "REMOVED x found"));
    ask(&s, HF_REQUEST_DESCRIBE, "x");
    assert_string_equal(stage_told(&s), "DESCRIBED x");
    stage_close(&s);
}

static void errors_fail_who_was_not_told(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED WATCH x FATAL");
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    ask(&s, HF_REQUEST_WATCH, "x");
    refused(&s, HF_ZK_THROTTLED);
    assert_string_equal(stage_told(&s),
                        "WATCHING x; FAILED WATCH x RETRY; SUSPENDED");
    stage_close(&s);
}

/* ---------------------------------------------------------------- forget -- */

static void forget_at_each_stage(void **state)
{
    struct hf_request *watch;
    struct stage s;

    (void)state;
    for (int step = 0; step < 6; step++) {
        queue_known(&s);
        watch = ask(&s, HF_REQUEST_WATCH, "x");
        if (step == 0)
            forget(&s, watch); /* while it is asked for */
        data(&s, "him", 2, 2);
        if (step == 1)
            forget(&s, watch);
        if (step == 2 || step == 3) {
            event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
            if (step == 2)
                forget(&s, watch); /* while it is asked for anew */
            data(&s, "him", 2, 2);
            if (step == 3)
                forget(&s, watch);
        }
        if (step == 4) {
            link_down(&s, "reset");
            forget(&s, watch);
            while (s.server == NULL)
                ring(&s);
            link_up(&s);
            (void)stage_sent(&s);
            accept_session(&s);
            assert_null(strstr(stage_sent(&s), "q/x#2"));
        }
        if (step == 5) {
            resume(&s);
            forget(&s, watch);
        }
        (void)stage_told(&s);
        event(&s, HF_ZK_NODE_DELETED, "q/x#2");
        assert_string_equal(stage_told(&s), "");
        stage_close(&s);
    }
}

/* The server's watch is there still: it is not set twice. */
static void what_was_forgotten_is_watched_again(void **state)
{
    struct hf_request *watch;
    struct stage s;

    (void)state;
    queue_known(&s);
    watch = ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    forget(&s, watch);
    (void)stage_sent(&s);
    (void)stage_told(&s);
    watch = ask(&s, HF_REQUEST_WATCH, "x");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "WATCHING x");
    forget(&s, watch);
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#2"); /* now it is not */
    assert_string_equal(stage_sent(&s), "");
    watch = ask(&s, HF_REQUEST_WATCH, "x");
    assert_string_equal(stage_sent(&s), "DATA q/x#2 w");
    forget(&s, watch);
    ask(&s, HF_REQUEST_WATCH, "x"); /* it is being set */
    assert_string_equal(stage_sent(&s), "");
    data(&s, "him", 2, 2);
    assert_string_equal(stage_told(&s), "WATCHING x");
    stage_close(&s);
}

static void one_of_many_forgets(void **state)
{
    struct hf_request *watches[3];
    struct stage s;

    (void)state;
    for (int which = 0; which < 3; which++) {
        queue_known(&s);
        for (int i = 0; i < 3; i++)
            watches[i] = ask(&s, HF_REQUEST_WATCH, "x");
        data(&s, "him", 2, 2);
        (void)stage_told(&s);
        forget(&s, watches[which]);
        event(&s, HF_ZK_NODE_DELETED, "q/x#2");
        assert_string_equal(stage_told(&s), "GONE x; GONE x");
        stage_close(&s);
    }
}

/* --------------------------------------------------- from inside an event */

static struct hf_request *others[8];
static enum hf_event_kind act_at;

/* Told of one, take all others back, and watch y and x. */
static void forget_others(struct stage *s, const struct hf_event *event_)
{
    const struct hf_request *ended = NULL;

    if (event_->kind == HF_EVENT_GONE || event_->kind == HF_EVENT_FAILED)
        ended = event_->as.answer.request;
    for (int i = 0; i < 8; i++) {
        if (others[i] == ended)
            others[i] = NULL;
        if (others[i] != NULL && event_->kind == act_at) {
            forget(s, others[i]);
            others[i] = NULL;
        }
    }
    if (event_->kind != act_at)
        return;
    act_at = HF_EVENT_TICK; /* once */
    ask(s, HF_REQUEST_WATCH, "y");
    ask(s, HF_REQUEST_WATCH, "x");
}

static void watching_and_forgetting_inside_an_event(void **state)
{
    static const enum hf_event_kind kinds[] = {
        HF_EVENT_GONE, HF_EVENT_WATCHING, HF_EVENT_FAILED, HF_EVENT_SUSPENDED};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (int gone_at_once = 0; gone_at_once < 2; gone_at_once++) {
            queue_known(&s);
            act_at = kinds[i];
            for (int k = 0; k < 8; k++)
                others[k] = ask(&s, HF_REQUEST_WATCH, k < 6 ? "x" : "z");
            s.then = forget_others;
            if (gone_at_once)
                refused(&s, HF_ZK_NO_NODE);
            else
                data(&s, "him", 2, 2);
            if (s.first != NULL && s.first->opcode == HF_ZK_GET_DATA)
                data(&s, "z", 2, 2);
            event(&s, HF_ZK_NODE_DELETED, "q/x#2");
            link_down(&s, "reset");
            while (s.server == NULL)
                ring(&s);
            link_up(&s);
            refuse_session(&s);
            assert_int_equal(s.under_way, 0);
            stage_close(&s);
        }
    }
}

/* ---------------------------------------------------------------- resume -- */

static void watches_are_set_again_before_all_else(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    strcpy(s.config.session.auth, "");
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    ask(&s, HF_REQUEST_WATCH, "y");
    s.zxid = 0x40;
    data(&s, "her", 2, 2);
    link_down(&s, "reset");
    ring(&s);
    link_up(&s);
    (void)stage_told(&s);
    assert_non_null(strstr(stage_sent(&s), "GREET 0x40 "));
    /* The zxid of the disconnect, and in the write of the greeting's answer,
     * before the host could ask for anything. */
    accept_session(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    {
        const char *sent = stage_sent(&s);

        assert_int_equal(strncmp(sent, "SETWATCHES 0x40 q/", 18), 0);
        assert_non_null(strstr(sent, "q/x#2"));
        assert_non_null(strstr(sent, "q/y#3"));
        assert_null(strstr(sent, "q/z#4"));
        assert_non_null(strstr(sent, " | LIST q"));
    }
    header(&s, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    event(&s, HF_ZK_NODE_DELETED, "q/x#2"); /* what it missed */
    children(&s, "y#3 a#9");
    data(&s, "her", 2, 2);
    event(&s, HF_ZK_NODE_DELETED, "q/y#3");
    assert_string_equal(stage_told(&s) + strlen("RESUMED 10000 1000"),
                        "; GONE x; LISTED a: y#3=her a#9@17; GONE y");
    stage_close(&s);
}

/* The answers to one packet say nothing of the others. */
static void a_cut_among_the_packets(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    for (int i = 0; i < 3; i++) {
        resume(&s);
        link_down(&s, "reset");
        ring(&s);
        link_up(&s);
        (void)stage_sent(&s);
        accept_session(&s);
        assert_non_null(strstr(stage_sent(&s), "q/x#2"));
    }
    (void)stage_told(&s);
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "GONE x");
    stage_close(&s);
}

/* The packets' answer to a node that is not there any more: an event, as for
 * one that goes now. */
static void fn39_fn51_gone_while_away(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "a");
    data(&s, "me", 17, s.session);
    resume(&s);
    hold(&s);
    event(&s, HF_ZK_NODE_DELETED, "q/a#9");
    header(&s, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    deliver(&s);
    assert_string_equal(stage_told(&s), "GONE a");
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI /");
    stage_close(&s);
}

static void a_lost_session_ends_watches_in_silence(void **state)
{
    struct stage s;

    (void)state;
    queue_known(&s);
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    link_down(&s, "reset");
    ring(&s);
    link_up(&s);
    refuse_session(&s);
    (void)stage_sent(&s);
    link_up(&s);
    accept_session_as(&s, 10000, 9);
    (void)stage_told(&s);
    assert_null(strstr(stage_sent(&s), "SETWATCHES"));
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

#define MANY 10000

static char many_list[MANY * 16];

static void ask_for_many(struct stage *s)
{
    size_t used = 0;
    char name[16];

    for (int i = 0; i < MANY; i++)
        used += (size_t)snprintf(many_list + used, sizeof many_list - used,
                                 "n%d#%d ", i, i);
    stage_connected(s);
    have(s, "a", MANY, 17);
    ask(s, HF_REQUEST_LIST, "a");
    strcat(many_list, "a#10000");
    children(s, many_list);
    data(s, "head", 1, 1);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ask(s, HF_REQUEST_WATCH, name);
    }
    assert_int_equal(s->under_way, MANY);
    while (s->first != NULL)
        data(s, "", 1, 1);
    assert_int_equal(s->under_way, 0);
    assert_int_equal(s->answered, MANY + 2);
}

static void many_watches_need_many_packets(void **state)
{
    size_t before;
    struct stage s;

    (void)state;
    ask_for_many(&s);
    link_down(&s, "reset");
    while (s.server == NULL)
        ring(&s);
    link_up(&s);
    s.longest = 0;
    before = s.frames;
    accept_session(&s);
    /* Of 10,000 paths of 53 bytes with their lengths: five packets, none of
     * them near the megabyte that servers refuse. */
    assert_in_range(s.longest, 100 << 10, 129 << 10);
    assert_in_range(s.frames - before, 4, 6);
    ask(&s, HF_REQUEST_END, "");
    done(&s);
    assert_true(s.closed);
    stage_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_fires_once),
        cmocka_unit_test(fn58_what_has_gone_is_gone),
        cmocka_unit_test(unknown_tickets_are_looked_for),
        cmocka_unit_test(a_search_is_forgotten),
        cmocka_unit_test(one_watch_for_all),
        cmocka_unit_test(only_a_deletion_is_gone),
        cmocka_unit_test(watchers_of_another_are_let_alone),
        cmocka_unit_test(setting_anew_can_be_cut),
        cmocka_unit_test(what_was_being_read_is_read_on_the_next_connection),
        cmocka_unit_test(what_was_heard_is_written_over),
        cmocka_unit_test(a_request_in_between_is_heard),
        cmocka_unit_test(what_may_not_be_written_is_not),
        cmocka_unit_test(a_withdrawal_overtakes_nothing),
        cmocka_unit_test(errors_fail_who_was_not_told),
        cmocka_unit_test(forget_at_each_stage),
        cmocka_unit_test(what_was_forgotten_is_watched_again),
        cmocka_unit_test(one_of_many_forgets),
        cmocka_unit_test(watching_and_forgetting_inside_an_event),
        cmocka_unit_test(watches_are_set_again_before_all_else),
        cmocka_unit_test(a_cut_among_the_packets),
        cmocka_unit_test(fn39_fn51_gone_while_away),
        cmocka_unit_test(a_lost_session_ends_watches_in_silence),
        cmocka_unit_test(many_watches_need_many_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of writes that are retried (src/zookeeper_retry): the test plays
 * the servers, answer by answer, and compares the steps, which are kept as
 * text: "create /q/_c_ID-job-; sync /q; end HF_OK". */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper/op_codec.h"
#include "zookeeper_retry/retry_create.h"
#include "zookeeper_retry/retry_delete.h"
#include "zookeeper_retry/retry_removal.h"
#include "zookeeper_retry/retry_update.h"

#define TIMEOUT_MS 10000
#define SESSION 7
#define KNOWN_ZXID 100

static const struct hf_random seed = {{1, 2, 3, 4}};

struct retry_fixture {
    const struct hf_zk_retry_ops *ops;
    void *machine;
    struct hf_zk_retry_event event; /* what the session is now */
    struct hf_zk_retry_step step;   /* the last one */
    hf_status ended;
    struct hf_zookeeper_result *result; /* of the end */
    char id[64]; /* "_c_UUID-" of the last create; it is "_c_ID-" in .steps */
    char removed[128]; /* the path of the last removal */
    size_t removed_parent_bytes;
    char steps[4096];
};

/* ----------------------------------------------------------------- steps -- */

__attribute__((format(printf, 2, 3))) static void add(struct retry_fixture *f,
                                                      const char *format, ...)
{
    size_t used = strlen(f->steps);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(f->steps + used, sizeof f->steps - used, format, args);
    va_end(args);
}

/* ${path} with "_c_ID-" in place of an id, which is kept. */
static const char *without_id(struct retry_fixture *f, const char *path)
{
    static char text[256];
    const char *id = strstr(path, "_c_");

    if (id == NULL)
        return path;
    (void)snprintf(f->id, sizeof f->id, "%.40s", id);
    (void)snprintf(text, sizeof text, "%.*s_c_ID%s", (int)(id - path), path,
                   id + 39);
    return text;
}

static void add_op(struct retry_fixture *f, const struct hf_zookeeper_op *op)
{
    static const char *const kinds[] = {
        [HF_ZOOKEEPER_CREATE] = "create", [HF_ZOOKEEPER_DELETE] = "delete",
        [HF_ZOOKEEPER_EXISTS] = "exists", [HF_ZOOKEEPER_GET] = "get",
        [HF_ZOOKEEPER_SET] = "set",       [HF_ZOOKEEPER_CHILDREN] = "children",
        [HF_ZOOKEEPER_SYNC] = "sync"};

    add(f, "%s %s", kinds[op->kind], without_id(f, op->path));
    if (op->kind == HF_ZOOKEEPER_CREATE && op->mode != 0)
        add(f, " %d", (int)op->mode);
    if (op->kind == HF_ZOOKEEPER_SET || op->kind == HF_ZOOKEEPER_DELETE)
        add(f, " v%d", (int)op->version);
    if (op->kind == HF_ZOOKEEPER_SET)
        add(f, "=%.*s", (int)op->bytes, (const char *)op->data);
}

static void add_step(struct retry_fixture *f)
{
    const struct hf_zk_retry_step *step = &f->step;

    if (step->remains.path != NULL) {
        add(f, "remove %s%s; ", without_id(f, step->remains.path),
            step->remains.looked ? " later" : "");
        (void)snprintf(f->removed, sizeof f->removed, "%s", step->remains.path);
        f->removed_parent_bytes = step->remains.parent_bytes;
        assert_int_equal(step->remains.until_ms, f->event.now_ms + TIMEOUT_MS);
    }
    if (step->kind == HF_ZK_RETRY_DO) {
        add_op(f, &step->op);
    } else if (step->kind == HF_ZK_RETRY_PAUSE) {
        add(f, "pause");
        assert_true(step->pause_ms > 0);
    } else if (step->kind == HF_ZK_RETRY_ASK) {
        add(f, "ask");
    } else {
        f->result = step->result;
        f->ended = f->result != NULL ? f->result->status : HF_OK;
        add(f, "end %s", hf_status_name(f->ended));
    }
    add(f, "; ");
}

/* ${kind} happens. */
static void happens(struct retry_fixture *f, enum hf_zk_retry_event_kind kind,
                    hf_status status, struct hf_zookeeper_result *result)
{
    f->event.kind = kind;
    f->event.status = status;
    f->event.result = result;
    f->event.text = "why";
    f->step = (struct hf_zk_retry_step){.kind = HF_ZK_RETRY_END};
    f->ops->next(f->machine, &f->event, &f->step);
    add_step(f);
}

/* The steps since the last call must be ${wanted}. */
static void expect(struct retry_fixture *f, const char *wanted)
{
    size_t used = strlen(f->steps);

    f->steps[used >= 2 ? used - 2 : 0] = '\0';
    assert_string_equal(f->steps, wanted);
    f->steps[0] = '\0';
}

/* --------------------------------------------------------------- answers -- */

static struct hf_zookeeper_result *result_of(hf_status status)
{
    struct hf_zookeeper_result *result = hf_zk_op_reserve();

    assert_non_null(result);
    if (status != HF_OK)
        hf_zk_op_end(result, status, "text");
    return result;
}

static void answer(struct retry_fixture *f, hf_status status)
{
    happens(f, HF_ZK_RETRY_ANSWERED, status, result_of(status));
}

/* A server has answered with the number ${error}. */
static void answer_error(struct retry_fixture *f, hf_status status,
                         int32_t error)
{
    struct hf_zookeeper_result *result = result_of(status);

    result->error = error;
    happens(f, HF_ZK_RETRY_ANSWERED, status, result);
}

/* A node with ${stat} and ${data}, which is static. */
static void answer_node(struct retry_fixture *f, struct hf_zookeeper_stat stat,
                        const char *data)
{
    struct hf_zookeeper_result *result = result_of(HF_OK);

    result->has_stat = true;
    result->stat = stat;
    result->data = data;
    result->bytes = data != NULL ? strlen(data) : 0;
    happens(f, HF_ZK_RETRY_ANSWERED, HF_OK, result);
}

/* The children are that of another create, and that of the last id with
 * ${digits}. */
static void answer_children(struct retry_fixture *f, const char *digits)
{
    static char name[128];
    static const char *children[] = {
        "_c_00000000-0000-4000-8000-00000000ffff-job-0000000001", name};
    struct hf_zookeeper_result *result = result_of(HF_OK);

    (void)snprintf(name, sizeof name, "%sjob-%s", f->id, digits);
    result->children = children;
    result->child_count = 2;
    happens(f, HF_ZK_RETRY_ANSWERED, HF_OK, result);
}

static void resume(struct retry_fixture *f)
{
    happens(f, HF_ZK_RETRY_RESUMED, HF_OK, NULL);
}

static void stop_retry(struct retry_fixture *f, hf_status status)
{
    happens(f, HF_ZK_RETRY_STOPPED, status, NULL);
}

/* Another session follows. */
static void lose_session(struct retry_fixture *f)
{
    f->event.previous = f->event.session;
    f->event.session++;
    f->event.zxid = 0;
}

/* -------------------------------------------------------------- machines -- */

static void begin(struct retry_fixture *f, const struct hf_zk_retry_ops *ops,
                  void *machine)
{
    assert_non_null(machine);
    *f = (struct retry_fixture){.ops = ops,
                                .machine = machine,
                                .event = {.now_ms = 1000,
                                          .session = SESSION,
                                          .zxid = KNOWN_ZXID,
                                          .user_waits = true,
                                          .timeout_ms = TIMEOUT_MS}};
    happens(f, HF_ZK_RETRY_BEGIN, HF_OK, NULL);
}

static void begin_create(struct retry_fixture *f, const char *path,
                         enum hf_zookeeper_mode mode, unsigned flags)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = path,
                                       .data = "mine",
                                       .bytes = 4,
                                       .mode = mode};

    begin(f, &hf_zk_retry_create_ops,
          hf_zk_retry_create_new(&op, flags, &seed));
}

static void begin_delete(struct retry_fixture *f, int32_t version)
{
    begin(f, &hf_zk_retry_delete_ops,
          hf_zk_retry_delete_new("/a", version, &seed));
}

static void begin_update(struct retry_fixture *f)
{
    begin(f, &hf_zk_retry_update_ops, hf_zk_retry_update_new("/a", &seed));
}

/* It has ended with ${status}; nothing of it is left. */
static void end(struct retry_fixture *f, hf_status status)
{
    assert_int_equal(f->step.kind, HF_ZK_RETRY_END);
    assert_int_equal(f->ended, status);
    hf_zookeeper_result_free(f->result);
    f->ops->free(f->machine);
    assert_int_equal(heap_live(), 0);
}

/* ---------------------------------------------------- sequential creates -- */

TEST(a_create_that_is_answered_is_sent_once)
{
    struct retry_fixture f;

    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    assert_int_equal(f.step.reserve_bytes, strlen("/q/job-") + 40);
    answer(&f, HF_OK);
    expect(&f, "create /q/_c_ID-job- 2; end HF_OK");
    end(&f, HF_OK);
}

TEST(what_a_lost_create_has_made_is_found)
{
    char path[128];
    struct retry_fixture f;

    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer_children(&f, "0000000007");
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 101}, NULL);
    expect(&f, "create /q/_c_ID-job- 2; sync /q; children /q; "
               "exists /q/_c_ID-job-0000000007; end HF_OK");
    (void)snprintf(path, sizeof path, "/q/%sjob-0000000007", f.id);
    assert_string_equal(f.result->path, path);
    assert_int_equal(f.result->stat.czxid, 101);
    end(&f, HF_OK);
}

/* The second attempt has another id, so that what the first one makes late is
 * known from it. */
TEST(what_was_not_made_is_made_anew_and_removed_if_it_comes)
{
    char first[64];
    struct retry_fixture f;

    begin_create(&f, "/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    strcpy(first, f.id);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer_children(&f, "17"); /* no ten digits: nobody's */
    expect(&f, "create /_c_ID-job- 2; sync /; children /; "
               "remove /_c_ID-job- later; pause");
    assert_string_equal(f.id, first);
    resume(&f);
    assert_string_not_equal(f.id, first);
    answer(&f, HF_OK);
    expect(&f, "create /_c_ID-job- 2; end HF_OK");
    end(&f, HF_OK);
}

TEST(an_ephemeral_node_of_an_old_session_is_removed)
{
    struct retry_fixture f;

    begin_create(&f, "/q/job-", HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL, 0);
    answer(&f, HF_EUNSURE);
    lose_session(&f);
    answer(&f, HF_ELOST);
    resume(&f);
    answer(&f, HF_OK);
    answer_children(&f, "-000000007");
    answer_node(&f, (struct hf_zookeeper_stat){.ephemeral_owner = SESSION},
                NULL);
    resume(&f);
    expect(&f, "create /q/_c_ID-job- 3; sync /q; pause; sync /q; children /q; "
               "exists /q/_c_ID-job--000000007; remove /q/_c_ID-job-; pause; "
               "create /q/_c_ID-job- 3");
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer_children(&f, "0000000008");
    answer_node(&f, (struct hf_zookeeper_stat){.ephemeral_owner = SESSION + 1},
                NULL);
    expect(&f, "sync /q; children /q; exists /q/_c_ID-job-0000000008; "
               "end HF_OK");
    end(&f, HF_OK);
}

/* Whatever ends a create whose outcome is open, its node is removed. */
TEST(a_create_that_is_given_up_leaves_a_removal)
{
    static const struct {
        hf_status stopped;
        hf_status ended;
        const char *steps;
    } rows[] = {
        {HF_ETIMEDOUT, HF_ETIMEDOUT, "remove /q/_c_ID-job-; end HF_ETIMEDOUT"},
        {HF_ECANCELLED, HF_ECANCELLED,
         "remove /q/_c_ID-job-; end HF_ECANCELLED"},
        {HF_EUNREACHABLE, HF_EUNREACHABLE,
         "remove /q/_c_ID-job-; end HF_EUNREACHABLE"},
        {HF_ENOMEM, HF_ENOMEM, "remove /q/_c_ID-job-; end HF_ENOMEM"},
        /* Nothing is removed after a close. */
        {HF_ECLOSED, HF_EUNSURE, "end HF_EUNSURE"},
    };
    struct retry_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
        answer(&f, HF_EUNSURE);
        expect(&f, "create /q/_c_ID-job- 2; sync /q");
        stop_retry(&f, rows[i].stopped);
        expect(&f, rows[i].steps);
        end(&f, rows[i].ended);
    }
    /* The session may go on after the handle, if it is that of a client. */
    begin_create(&f, "/q/job-", HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL, 0);
    answer(&f, HF_EUNSURE);
    stop_retry(&f, HF_ECLOSED);
    end(&f, HF_EUNSURE);
    begin_create(&f, "/q/job", HF_ZOOKEEPER_EPHEMERAL, 0);
    answer(&f, HF_EUNSURE);
    stop_retry(&f, HF_ECLOSED);
    end(&f, HF_EUNSURE);
    /* Before it was sent, and where the parent cannot be listed. */
    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    answer(&f, HF_ETIMEDOUT);
    expect(&f, "create /q/_c_ID-job- 2; end HF_ETIMEDOUT");
    end(&f, HF_ETIMEDOUT);
    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer(&f, HF_EDENIED);
    end(&f, HF_EUNSURE);
    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer(&f, HF_ELIMIT);
    end(&f, HF_EUNSURE);
}

/* An answer that cannot be kept says that the node was created. */
TEST(what_could_not_be_kept_is_looked_for)
{
    static const hf_status statuses[] = {HF_EUNSURE, HF_ENOMEM, HF_EPROTOCOL,
                                         HF_ELIMIT};
    struct retry_fixture f;

    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
        answer(&f, statuses[i]);
        answer(&f, HF_OK);
        answer_children(&f, "0000000000");
        answer_node(&f, (struct hf_zookeeper_stat){.czxid = 101}, NULL);
        end(&f, HF_OK);
    }
}

TEST(a_create_is_not_tried_for_ever)
{
    struct retry_fixture f;
    unsigned tries;

    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    for (tries = 0; f.step.kind != HF_ZK_RETRY_END; tries++) {
        assert_true(tries < 40);
        answer_error(&f, HF_EUNREACHABLE, -127);
        f.steps[0] = '\0';
        if (f.step.kind == HF_ZK_RETRY_PAUSE)
            resume(&f);
    }
    assert_int_equal(tries, HF_ZK_RETRY_ATTEMPTS_MAX + 1);
    end(&f, HF_EUNREACHABLE);
    begin_create(&f, "/q/job-", HF_ZOOKEEPER_SEQUENTIAL, 0);
    for (tries = 0; f.step.kind != HF_ZK_RETRY_END; tries++) {
        assert_true(tries < 40);
        answer(&f, HF_EUNSURE);
        f.steps[0] = '\0';
        if (f.step.kind == HF_ZK_RETRY_END)
            break;
        answer(&f, HF_OK);
        answer(&f, HF_OK);
        resume(&f);
    }
    expect(&f, "");
    end(&f, HF_EUNREACHABLE);
}

/* --------------------------------------------------------- other creates -- */

/* What a node at the path says of a create whose answer was lost. */
struct node_row {
    enum hf_zookeeper_mode mode;
    unsigned flags;
    struct hf_zookeeper_stat stat;
    const char *data;
    hf_status ended;
};

TEST(a_node_says_whose_it_is)
{
    static const struct node_row rows[] = {
        /* Of this session, and newer than the call. */
        {1, 0, {.czxid = 101, .ephemeral_owner = SESSION}, "mine", HF_OK},
        {1, 0, {.czxid = 100, .ephemeral_owner = SESSION}, "mine", HF_EEXISTS},
        {1, 0, {.czxid = 101, .ephemeral_owner = 99}, "mine", HF_EEXISTS},
        {1, 0, {.czxid = 101}, "mine", HF_EEXISTS},
        /* Older, ephemeral, or with other data. */
        {0, 0, {.czxid = 100}, "mine", HF_EEXISTS},
        {0, 0, {.czxid = 101, .ephemeral_owner = SESSION}, "mine", HF_EEXISTS},
        {0, 0, {.czxid = 101}, "else", HF_EEXISTS},
        {0, 0, {.czxid = 101}, NULL, HF_EEXISTS},
        /* It may be another program's. */
        {0, 0, {.czxid = 101}, "mine", HF_EUNSURE},
        {4, 0, {.czxid = 101}, "mine", HF_EUNSURE},
        {0, 0, {.czxid = 101, .version = 1}, "else", HF_EUNSURE},
        {4,
         0,
         {.czxid = 101, .ephemeral_owner = INT64_MIN},
         "mine",
         HF_EUNSURE},
        {5,
         0,
         {.czxid = 101, .ephemeral_owner = -71776119061217280},
         "mine",
         HF_EUNSURE},
        /* The data show that it is not. */
        {0, HF_ZOOKEEPER_UNIQUE_DATA, {.czxid = 101}, "mine", HF_OK},
        {0,
         HF_ZOOKEEPER_UNIQUE_DATA,
         {.czxid = 101, .version = 1},
         "mine",
         HF_EUNSURE},
        {4,
         HF_ZOOKEEPER_UNIQUE_DATA,
         {.czxid = 101, .ephemeral_owner = INT64_MIN},
         "mine",
         HF_OK},
    };
    struct retry_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_create(&f, "/a", rows[i].mode, rows[i].flags);
        answer(&f, HF_EUNSURE);
        answer(&f, HF_OK);
        answer_node(&f, rows[i].stat, rows[i].data);
        if (f.ended != rows[i].ended)
            print_error("row %zu: %s\n", i, f.steps);
        if (f.ended == HF_OK)
            assert_string_equal(f.result->path, "/a");
        end(&f, rows[i].ended);
    }
}

/* If the first one comes late after all, the second one meets it. */
TEST(a_node_that_is_not_there_is_created_again)
{
    struct retry_fixture f;

    begin_create(&f, "/a", HF_ZOOKEEPER_PERSISTENT, HF_ZOOKEEPER_UNIQUE_DATA);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE);
    f.event.zxid = 500; /* what counts is what was known before the first */
    resume(&f);
    answer(&f, HF_EEXISTS);
    answer(&f, HF_OK);
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 101}, "mine");
    expect(&f, "create /a; sync /; get /a; pause; create /a; sync /; get /a; "
               "end HF_OK");
    end(&f, HF_OK);
}

TEST(a_node_that_may_come_after_its_session_is_unsure)
{
    struct retry_fixture f;

    begin_create(&f, "/a", HF_ZOOKEEPER_PERSISTENT, 0);
    answer(&f, HF_EUNSURE);
    lose_session(&f);
    answer(&f, HF_ELOST);
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE);
    expect(&f, "create /a; sync /; pause; sync /; get /a; end HF_EUNSURE");
    end(&f, HF_EUNSURE);
}

/* One that goes with its session cannot come after it. */
TEST(an_ephemeral_node_is_created_again_in_the_next_session)
{
    struct retry_fixture f;

    begin_create(&f, "/a", HF_ZOOKEEPER_EPHEMERAL, 0);
    answer(&f, HF_EUNSURE);
    lose_session(&f);
    answer(&f, HF_ELOST);
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE);
    resume(&f);
    answer(&f, HF_OK);
    expect(&f, "create /a 1; sync /; pause; sync /; exists /a; pause; "
               "create /a 1; end HF_OK");
    end(&f, HF_OK);
}

TEST(what_an_old_session_has_left_is_waited_for)
{
    const struct hf_zookeeper_stat left = {.czxid = 50,
                                           .ephemeral_owner = SESSION};
    struct retry_fixture f;

    begin_create(&f, "/a", HF_ZOOKEEPER_EPHEMERAL, 0);
    answer(&f, HF_EEXISTS);
    expect(&f, "create /a 1; end HF_EEXISTS"); /* nothing was left */
    end(&f, HF_EEXISTS);
    begin_create(&f, "/a", HF_ZOOKEEPER_EPHEMERAL, 0);
    answer(&f, HF_ELOST);
    lose_session(&f);
    resume(&f);
    answer(&f, HF_EEXISTS);
    answer(&f, HF_OK);
    answer_node(&f, left, NULL);
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE);
    resume(&f);
    answer(&f, HF_OK);
    expect(&f, "create /a 1; pause; create /a 1; sync /; exists /a; pause; "
               "sync /; exists /a; pause; create /a 1; end HF_OK");
    end(&f, HF_OK);
    /* The servers keep it for longer than they may. */
    begin_create(&f, "/a", HF_ZOOKEEPER_EPHEMERAL, 0);
    f.event.previous = SESSION;
    f.event.session = SESSION + 1;
    answer(&f, HF_EEXISTS);
    answer(&f, HF_OK);
    answer_node(&f, left, NULL);
    f.event.now_ms += UINT64_C(2) * TIMEOUT_MS - 1;
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, left, NULL);
    assert_int_equal(f.step.kind, HF_ZK_RETRY_PAUSE);
    f.event.now_ms++;
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, left, NULL);
    end(&f, HF_EEXISTS);
}

/* --------------------------------------------------------------- parents -- */

TEST(missing_parents_are_made)
{
    struct retry_fixture f;

    begin_create(&f, "/a/b/c/d", HF_ZOOKEEPER_PERSISTENT,
                 HF_ZOOKEEPER_CONTAINER_PARENTS);
    answer(&f, HF_EGONE);
    answer(&f, HF_EGONE);
    answer(&f, HF_EGONE);
    answer(&f, HF_EUNSUPPORTED); /* no containers */
    answer(&f, HF_EEXISTS);
    answer(&f, HF_EUNSURE);
    resume(&f);
    answer(&f, HF_EEXISTS);
    answer(&f, HF_OK);
    answer(&f, HF_OK);
    expect(&f, "create /a/b/c/d; create /a/b/c 4; create /a/b 4; create /a 4; "
               "create /a; create /a/b; pause; create /a/b; create /a/b/c; "
               "create /a/b/c/d; end HF_OK");
    end(&f, HF_OK);
}

TEST(the_root_is_made_and_no_more)
{
    struct retry_fixture f;

    begin_create(&f, "/a", HF_ZOOKEEPER_PERSISTENT,
                 HF_ZOOKEEPER_CONTAINER_PARENTS);
    answer(&f, HF_EGONE);
    answer(&f, HF_OK);
    answer(&f, HF_OK);
    expect(&f, "create /a; create /; create /a; end HF_OK");
    end(&f, HF_OK);
    begin_create(&f, "/a/b", HF_ZOOKEEPER_PERSISTENT, HF_ZOOKEEPER_PARENTS);
    answer(&f, HF_EGONE);
    answer(&f, HF_EGONE);
    answer(&f, HF_EGONE);
    expect(&f, "create /a/b; create /a; create /; end HF_EGONE");
    end(&f, HF_EGONE);
    begin_create(&f, "/a/b", HF_ZOOKEEPER_PERSISTENT, HF_ZOOKEEPER_PARENTS);
    answer(&f, HF_EGONE);
    answer(&f, HF_EDENIED);
    end(&f, HF_EDENIED);
    begin_create(&f, "/a/b", HF_ZOOKEEPER_PERSISTENT, 0);
    answer(&f, HF_EGONE);
    expect(&f, "create /a/b; end HF_EGONE");
    end(&f, HF_EGONE);
}

/* Somebody deletes them as often as they are made. */
TEST(parents_are_not_made_for_ever)
{
    struct retry_fixture f;
    unsigned creates = 0;

    begin_create(&f, "/a/b", HF_ZOOKEEPER_PERSISTENT, HF_ZOOKEEPER_PARENTS);
    while (f.step.kind != HF_ZK_RETRY_END) {
        answer(&f, strcmp(f.step.op.path, "/a") == 0 ? HF_OK : HF_EGONE);
        f.steps[0] = '\0';
        assert_true(creates++ < 200);
    }
    end(&f, HF_EGONE);
    begin_create(&f, "/a/b/c", HF_ZOOKEEPER_PERSISTENT, HF_ZOOKEEPER_PARENTS);
    while (f.step.kind != HF_ZK_RETRY_END) {
        answer(&f, strcmp(f.step.op.path, "/a") == 0 ? HF_OK : HF_EGONE);
        f.steps[0] = '\0';
        assert_true(creates++ < 400);
    }
    end(&f, HF_EGONE);
}

TEST(flags_are_checked)
{
    const struct hf_zookeeper_op create = {
        .kind = HF_ZOOKEEPER_CREATE, .path = "/a", .data = "x", .bytes = 1};
    struct hf_zookeeper_op op = create;
    struct hf_error error;

    assert_int_equal(hf_zk_retry_create_check(&op, 7, &error), HF_OK);
    assert_int_equal(hf_zk_retry_create_check(&op, 8, &error), HF_EINVAL);
    op.mode = HF_ZOOKEEPER_SEQUENTIAL;
    assert_int_equal(hf_zk_retry_create_check(&op, 3, &error), HF_OK);
    assert_int_equal(hf_zk_retry_create_check(&op, 4, &error), HF_EINVAL);
    op.mode = HF_ZOOKEEPER_EPHEMERAL;
    assert_int_equal(hf_zk_retry_create_check(&op, 4, &error), HF_EINVAL);
    op = create;
    op.bytes = 0;
    assert_int_equal(hf_zk_retry_create_check(&op, 4, &error), HF_EINVAL);
    op.kind = HF_ZOOKEEPER_SET;
    assert_int_equal(hf_zk_retry_create_check(&op, 0, &error), HF_EINVAL);
    assert_string_equal(error.text, "the kind of the operation is 5; expected "
                                    "1, which is HF_ZOOKEEPER_CREATE");
}

/* -------------------------------------------------------------- removals -- */

static void begin_removal(struct retry_fixture *f, bool looked)
{
    static const char path[] =
        "/q/_c_00000000-0000-4000-8000-000000000000-job-";
    const struct hf_zk_retry_remains remains = {path, 2, looked, 5000};
    struct hf_zk_retry_removal *removal =
        hf_zk_retry_removal_new(sizeof path - 1);

    hf_zk_retry_removal_set(removal, &remains);
    begin(f, &hf_zk_retry_removal_ops, removal);
    (void)without_id(f, path);
}

TEST(what_comes_late_is_removed)
{
    struct retry_fixture f;

    begin_removal(&f, false);
    answer(&f, HF_EUNREACHABLE);
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE); /* no parent: nothing yet */
    assert_int_equal(f.step.pause_ms, 4000);
    f.event.now_ms = 5000;
    resume(&f);
    answer(&f, HF_OK);
    answer_children(&f, "0000000009");
    answer(&f, HF_EUNSURE);
    resume(&f);
    answer(&f, HF_EGONE);
    expect(&f, "sync /q; pause; sync /q; children /q; pause; sync /q; "
               "children /q; delete /q/_c_ID-job-0000000009 v-1; pause; "
               "delete /q/_c_ID-job-0000000009 v-1; end HF_OK");
    end(&f, HF_OK);
}

TEST(what_cannot_come_any_more_is_forgotten)
{
    struct retry_fixture f;

    begin_removal(&f, true);
    f.event.now_ms = 5000;
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_OK); /* no children */
    expect(&f, "pause; sync /q; children /q; end HF_OK");
    end(&f, HF_OK);
    begin_removal(&f, false);
    answer(&f, HF_OK);
    answer(&f, HF_EDENIED);
    end(&f, HF_EDENIED);
    begin_removal(&f, false);
    stop_retry(&f, HF_ECLOSED);
    end(&f, HF_OK);
}

/* Somebody has made a node below it. */
TEST(what_has_children_stays)
{
    struct retry_fixture f;

    begin_removal(&f, false);
    answer(&f, HF_OK);
    answer_children(&f, "0000000009");
    answer(&f, HF_ENOTEMPTY);
    expect(&f, "sync /q; children /q; delete /q/_c_ID-job-0000000009 v-1; "
               "end HF_ENOTEMPTY");
    end(&f, HF_ENOTEMPTY);
}

/* The pauses of a removal grow, and begin anew after an answer. */
TEST(an_answer_shortens_the_pauses)
{
    struct retry_fixture f;
    uint64_t longest_ms;

    begin_removal(&f, false);
    for (int i = 0; i < 10; i++) {
        answer(&f, HF_EUNREACHABLE);
        longest_ms = f.step.pause_ms;
        resume(&f);
    }
    answer(&f, HF_OK);
    answer(&f, HF_EUNREACHABLE);
    assert_true(f.step.pause_ms < longest_ms / 4);
    stop_retry(&f, HF_ECLOSED);
    end(&f, HF_OK);
}

/* --------------------------------------------------------------- deletes -- */

/* Each repetition is sent behind a read, which shows that it is the same
 * node. */
TEST(a_delete_goes_on_until_the_node_is_gone)
{
    static const hf_status unsent[] = {HF_EUNREACHABLE, HF_EREADONLY, HF_ELOST,
                                       HF_ETIMEDOUT, HF_EUNSURE};
    const struct hf_zookeeper_stat stat = {.czxid = 100, .version = 3};
    struct retry_fixture f;

    begin_delete(&f, 3);
    expect(&f, "delete /a v3");
    for (size_t i = 0; i < sizeof unsent / sizeof unsent[0]; i++) {
        answer(&f, unsent[i]);
        resume(&f);
        answer(&f, HF_OK);
        answer_node(&f, stat, NULL);
        expect(&f, "pause; sync /a; exists /a; delete /a v3");
    }
    answer(&f, HF_EGONE);
    end(&f, HF_OK);
    /* It was not sent, and somebody else has deleted it. */
    begin_delete(&f, 3);
    answer(&f, HF_ETIMEDOUT);
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE);
    end(&f, HF_EGONE);
}

/* The node may be younger than anything that was known when the call was made:
 * as long as the caller waits, a delete that was never sent is the first one.
 * What comes after one that was sent is another node. */
TEST(a_delete_that_was_not_sent_repeats_nothing)
{
    static const hf_status unsent[] = {HF_EUNREACHABLE, HF_EREADONLY, HF_ELOST,
                                       HF_ETIMEDOUT};
    struct retry_fixture f;

    begin_delete(&f, -1);
    for (size_t i = 0; i < sizeof unsent / sizeof unsent[0]; i++) {
        answer(&f, unsent[i]);
        resume(&f);
        answer(&f, HF_OK);
        f.steps[0] = '\0';
        answer_node(&f, (struct hf_zookeeper_stat){.czxid = 200 + (int64_t)i},
                    NULL);
        expect(&f, "delete /a v-1");
    }
    answer(&f, HF_EUNSURE);
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 204}, NULL);
    end(&f, HF_EUNSURE);
    begin_delete(&f, 3);
    answer(&f, HF_EUNREACHABLE);
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 200, .version = 4},
                NULL);
    end(&f, HF_EVERSION);
    /* The caller has gone: what is there now may be a new node. */
    begin_delete(&f, -1);
    answer(&f, HF_ETIMEDOUT);
    f.event.user_waits = false;
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 101}, NULL);
    end(&f, HF_EUNSURE);
}

/* Before the first connection nothing is known. */
TEST(a_delete_that_was_not_sent_takes_the_node_that_is_there)
{
    struct retry_fixture f;

    begin_delete(&f, -1);
    f.ops->free(f.machine);
    f.machine = hf_zk_retry_delete_new("/a", -1, &seed);
    f.event.zxid = 0;
    happens(&f, HF_ZK_RETRY_BEGIN, HF_OK, NULL);
    answer(&f, HF_EUNREACHABLE);
    resume(&f);
    answer(&f, HF_OK);
    f.steps[0] = '\0';
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 50}, NULL);
    answer(&f, HF_EUNSURE);
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 51}, NULL);
    expect(&f, "delete /a v-1; pause; sync /a; exists /a; end HF_EUNSURE");
    end(&f, HF_EUNSURE);
}

TEST(a_lost_delete_is_looked_for)
{
    static const struct {
        int32_t version;
        struct hf_zookeeper_stat stat;
        hf_status ended;
    } rows[] = {
        {3, {.czxid = 101, .version = 3}, HF_EUNSURE},
        {3, {.czxid = 100, .version = 4}, HF_EVERSION},
        {0, {.czxid = 100, .version = 1}, HF_EVERSION}, /* never written */
    };
    struct retry_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_delete(&f, rows[i].version);
        answer(&f, HF_EUNSURE);
        resume(&f);
        answer(&f, HF_OK);
        answer_node(&f, rows[i].stat, NULL);
        end(&f, rows[i].ended);
    }
    /* What counts is what was known before the first delete that was sent. */
    begin_delete(&f, -1);
    answer(&f, HF_EUNSURE);
    f.event.zxid = 500;
    resume(&f);
    answer(&f, HF_OK);
    answer_node(&f, (struct hf_zookeeper_stat){.czxid = 101}, NULL);
    end(&f, HF_EUNSURE);
    begin_delete(&f, -1);
    answer(&f, HF_EUNSURE);
    resume(&f);
    answer(&f, HF_ELOST);
    resume(&f);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE);
    expect(&f, "delete /a v-1; pause; sync /a; pause; sync /a; exists /a; "
               "end HF_OK");
    end(&f, HF_OK);
}

TEST(a_delete_that_is_refused_ends)
{
    static const hf_status statuses[] = {HF_OK, HF_EGONE, HF_EVERSION,
                                         HF_ENOTEMPTY, HF_EDENIED};
    struct retry_fixture f;

    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        begin_delete(&f, -1);
        answer(&f, statuses[i]);
        end(&f, statuses[i]);
    }
    begin_delete(&f, -1);
    answer(&f, HF_EUNSURE);
    stop_retry(&f, HF_ECLOSED);
    end(&f, HF_EUNSURE);
    begin_delete(&f, -1);
    stop_retry(&f, HF_ECANCELLED);
    end(&f, HF_ECANCELLED);
    begin_delete(&f, -1);
    answer(&f, HF_EUNSURE);
    resume(&f);
    answer(&f, HF_EDENIED);
    end(&f, HF_EUNSURE);
    begin_delete(&f, -1);
    answer(&f, HF_ETIMEDOUT);
    resume(&f);
    answer(&f, HF_EDENIED);
    end(&f, HF_EDENIED);
}

/* --------------------------------------------------------------- updates -- */

/* The node as an update reads it. */
static void read_node(struct retry_fixture *f, int32_t version,
                      const char *data)
{
    answer_node(f, (struct hf_zookeeper_stat){.czxid = 50, .version = version},
                data);
}

/* The user wants ${data}. */
static void reply(struct retry_fixture *f, const char *data, bool unique)
{
    const struct hf_zookeeper_new_data new_data = {data, strlen(data), unique};

    hf_zk_retry_update_set(f->machine, hf_zk_retry_update_take(f->machine),
                           &new_data);
    happens(f, HF_ZK_RETRY_REPLIED, HF_OK, NULL);
}

TEST(an_update_meets_other_writers)
{
    struct retry_fixture f;

    begin_update(&f);
    answer(&f, HF_ELOST);
    resume(&f);
    read_node(&f, 3, "5");
    reply(&f, "6", false);
    answer(&f, HF_EVERSION);
    resume(&f);
    read_node(&f, 4, "6");
    reply(&f, "7", false);
    answer(&f, HF_OK);
    expect(&f, "get /a; pause; get /a; ask; set /a v3=6; pause; get /a; ask; "
               "set /a v4=7; end HF_OK");
    end(&f, HF_OK);
}

TEST(a_lost_update_goes_on_where_the_version_shows_it)
{
    struct retry_fixture f;

    begin_update(&f);
    read_node(&f, 3, "5");
    reply(&f, "6", false);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    read_node(&f, 3, "5"); /* not carried out */
    resume(&f);
    expect(&f, "get /a; ask; set /a v3=6; sync /a; get /a; pause; "
               "set /a v3=6");
    answer(&f, HF_EVERSION); /* perhaps by ours, after all */
    answer(&f, HF_OK);
    read_node(&f, 4, "9"); /* no: another program's */
    reply(&f, "10", false);
    answer(&f, HF_EVERSION); /* not by ours, which was never unsure */
    resume(&f);
    read_node(&f, 5, "9");
    reply(&f, "10", false);
    answer(&f, HF_OK);
    expect(&f, "sync /a; get /a; ask; set /a v4=10; pause; get /a; ask; "
               "set /a v5=10; end HF_OK");
    end(&f, HF_OK);
}

/* It is looked at behind a sync, for which a server needs a quorum. */
TEST(a_lost_update_waits_for_a_quorum)
{
    struct retry_fixture f;

    begin_update(&f);
    read_node(&f, 3, "5");
    reply(&f, "6", true);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_EREADONLY);
    resume(&f);
    answer(&f, HF_OK);
    read_node(&f, 4, "6");
    expect(&f, "get /a; ask; set /a v3=6; sync /a; pause; sync /a; get /a; "
               "end HF_OK");
    end(&f, HF_OK);
}

TEST(a_lost_update_is_unsure_where_nothing_shows_it)
{
    static const struct {
        int64_t czxid;
        int32_t version;
        const char *data;
        bool unique;
        hf_status ended;
    } rows[] = {
        {50, 4, "6", false, HF_EUNSURE}, {50, 4, "6", true, HF_OK},
        {50, 5, "6", true, HF_EUNSURE},  {50, 5, "7", false, HF_EUNSURE},
        {60, 3, "5", false, HF_EUNSURE}, {60, 4, "6", true, HF_EUNSURE},
    };
    struct retry_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_update(&f);
        read_node(&f, 3, "5");
        reply(&f, "6", rows[i].unique);
        answer(&f, HF_EUNSURE);
        answer(&f, HF_OK);
        answer_node(&f,
                    (struct hf_zookeeper_stat){.czxid = rows[i].czxid,
                                               .version = rows[i].version},
                    rows[i].data);
        if (f.ended != rows[i].ended)
            print_error("row %zu: %s\n", i, f.steps);
        end(&f, rows[i].ended);
    }
    begin_update(&f);
    read_node(&f, 3, "5");
    reply(&f, "6", false);
    answer(&f, HF_EUNSURE);
    answer(&f, HF_OK);
    answer(&f, HF_EGONE); /* it was deleted since, before it or after it */
    end(&f, HF_EUNSURE);
}

TEST(an_update_ends_where_it_cannot_go_on)
{
    struct retry_fixture f;

    begin_update(&f);
    answer(&f, HF_EGONE);
    end(&f, HF_EGONE);
    begin_update(&f);
    read_node(&f, 3, "5");
    happens(&f, HF_ZK_RETRY_REPLIED, HF_EBUSY, NULL);
    assert_string_equal(f.result->text,
                        "/a: the function of the update returned HF_EBUSY");
    end(&f, HF_EBUSY);
    begin_update(&f);
    read_node(&f, 3, "5");
    stop_retry(&f, HF_ETIMEDOUT);
    end(&f, HF_ETIMEDOUT);
    begin_update(&f);
    read_node(&f, 3, "5");
    reply(&f, "6", false);
    answer(&f, HF_EUNSURE);
    stop_retry(&f, HF_ETIMEDOUT);
    end(&f, HF_EUNSURE);
    begin_update(&f);
    for (int i = 0; f.step.kind != HF_ZK_RETRY_END; i++) {
        assert_true(i < 40);
        read_node(&f, i, "5");
        reply(&f, "6", false);
        answer(&f, HF_EVERSION);
        f.steps[0] = '\0';
        if (f.step.kind == HF_ZK_RETRY_PAUSE)
            resume(&f);
    }
    end(&f, HF_EVERSION);
}

TEST_FILE(zk_retry)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Registrations on a real server: the node is there again after whatever took
 * it away, nothing of anybody else is deleted, and nothing is left when a
 * registration is closed. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/zookeeper_registration.h>

#include "cmocka/runner.h"
#include "zookeeper_client/zookeeper_registration.h"
#include "zookeeper_fixture.h"

/* -------------------------------------------------------------- fixture -- */

static void on_event(void *arg, struct hf_zookeeper_registration *registration,
                     const struct hf_zookeeper_registration_event *event)
{
    static const char *const kinds[] = {"?", "REGISTERED", "UNREGISTERED",
                                        "BLOCKED", "FAILED"};
    const struct log_name *name = arg;

    (void)registration;
    assert_int_equal(event->status == HF_OK,
                     event->kind == HF_ZOOKEEPER_REGISTERED);
    assert_int_equal(event->status == HF_OK, event->text[0] == '\0');
    if (event->status != HF_OK)
        assert_string_equal(hf_last_error()->text, event->text);
    assert_int_equal(event->has_stat,
                     event->status == HF_OK || event->status == HF_EEXISTS);
    log_add(name->log, "%s %s %s %s", name->name, kinds[event->kind],
            hf_status_name(event->status), event->path);
}

static void on_drop(void *arg)
{
    const struct log_name *name = arg;

    log_add(name->log, "%s dropped", name->name);
}

static struct hf_zookeeper_registration_opts to_log(struct log_name *name)
{
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;

    opts.on_event =
        (struct hf_zookeeper_on_registration){on_event, name, on_drop};
    return opts;
}

/* Register ${path} with ${text}, and events in the record. */
static struct hf_zookeeper_registration *
open_registration(struct hf_zookeeper *zookeeper, const char *path,
                  const char *text, struct log_name *name)
{
    const struct hf_zookeeper_registration_opts opts = to_log(name);
    struct hf_zookeeper_registration *registration;

    assert_int_equal(hf_zookeeper_registration_open(zookeeper, path, text,
                                                    strlen(text), &opts,
                                                    &registration),
                     HF_OK);
    return registration;
}

static void await_registered(struct hf_zookeeper_registration *registration)
{
    assert_int_equal(hf_zookeeper_registration_wait(registration, WAIT_MS),
                     HF_OK);
}

static struct hf_zookeeper_registration *
registered(struct hf_zookeeper *zookeeper, const char *path, const char *text,
           struct log_name *name)
{
    struct hf_zookeeper_registration *registration =
        open_registration(zookeeper, path, text, name);

    await_registered(registration);
    return registration;
}

static void close_registration(struct hf_zookeeper_registration *registration)
{
    assert_int_equal(hf_zookeeper_registration_close(registration, WAIT_MS),
                     HF_OK);
}

/* The Stat of ${path}; .czxid is 0 if it is not there. */
static struct hf_zookeeper_stat stat_of(struct hf_zookeeper *zookeeper,
                                        const char *path)
{
    struct hf_zookeeper_stat stat = {.czxid = 0};
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_exists(zookeeper, path, WAIT_MS, &result);

    assert_true(status == HF_OK || status == HF_EGONE);
    if (status == HF_OK)
        stat = result->stat;
    hf_zookeeper_result_free(result);
    return stat;
}

static bool exists(struct hf_zookeeper *zookeeper, const char *path)
{
    return stat_of(zookeeper, path).czxid != 0;
}

static int64_t session_of(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_session session;

    assert_int_equal(hf_zookeeper_session(zookeeper, &session), HF_OK);
    return session.id;
}

static struct hf_zookeeper *open_other(const struct zookeeper_fixture *f)
{
    return zookeeper_open(f, "", "?acl=open", NULL);
}

static void close_handle(struct hf_zookeeper *zookeeper)
{
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

static void make_ephemeral(struct hf_zookeeper *zookeeper, const char *path)
{
    assert_int_equal(hf_zookeeper_create(zookeeper, path, "o", 1,
                                         HF_ZOOKEEPER_EPHEMERAL, WAIT_MS, NULL),
                     HF_OK);
}

static void delete_node(struct hf_zookeeper *zookeeper, const char *path)
{
    assert_int_equal(
        hf_zookeeper_delete(zookeeper, path, HF_ZOOKEEPER_ANY_VERSION, WAIT_MS),
        HF_OK);
}

/* What await_another() waits for. */
struct another {
    struct hf_zookeeper *zookeeper;
    const char *path;
    int64_t than_czxid;
};

static bool is_another(void *arg)
{
    const struct another *another = arg;
    int64_t czxid = stat_of(another->zookeeper, another->path).czxid;

    return czxid != 0 && czxid != another->than_czxid;
}

/* Wait until there is a node at ${path} that another transaction has made than
 * ${czxid}. */
static void await_another(struct hf_zookeeper *zookeeper, const char *path,
                          int64_t czxid)
{
    struct another another = {zookeeper, path, czxid};

    wait_for(is_another, &another);
}

/* Have another client end the session of ${zookeeper}. */
static void kill_session(const struct zookeeper_fixture *f,
                         struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_session session;
    struct hf_zookeeper *killer;

    assert_int_equal(hf_zookeeper_session(zookeeper, &session), HF_OK);
    opts.session = &session;
    killer = zookeeper_open(f, "", "", &opts);
    assert_int_equal(hf_zookeeper_sync(killer, "/", WAIT_MS), HF_OK);
    close_handle(killer);
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

/* -------------------------------------------------------------- the node -- */

FIXTURE_TEST(a_node_is_there_until_it_is_closed)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);

    zookeeper_expect_data(f->zookeeper, "/r", "data");
    assert_int_equal(stat_of(f->zookeeper, "/r").ephemeral_owner,
                     session_of(f->zookeeper));
    log_await(&f->log, 1);
    close_registration(r);
    assert_false(exists(f->zookeeper, "/r"));
    log_expect(&f->log, 0,
               (const char *[]){"r REGISTERED HF_OK /r", "r dropped", NULL});
}

FIXTURE_TEST(null_and_no_bytes_are_two_things)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_registration *r;
    struct hf_zookeeper_result *result;

    for (int i = 0; i < 4; i++) {
        const int is_null = i & 1;
        const char *data = is_null ? NULL : "";
        const bool sets = (i & 2) != 0;

        assert_int_equal(hf_zookeeper_registration_open(f->zookeeper, "/r",
                                                        sets ? "x" : data,
                                                        sets ? 1 : 0, NULL, &r),
                         HF_OK);
        await_registered(r);
        if (sets)
            assert_int_equal(hf_zookeeper_registration_set(r, data, 0), HF_OK);
        await_registered(r);
        assert_int_equal(hf_zookeeper_get(f->zookeeper, "/r", WAIT_MS, &result),
                         HF_OK);
        assert_int_equal(result->data == NULL, is_null);
        assert_int_equal(result->bytes, 0);
        hf_zookeeper_result_free(result);
        close_registration(r);
    }
}

FIXTURE_TEST(nodes_above_it_are_made)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    zookeeper_make(f->zookeeper, "/a", "");
    r = registered(f->zookeeper, "/a/b/c/d", "x", &name);
    assert_int_equal(stat_of(f->zookeeper, "/a/b").bytes, 0);
    assert_int_equal(stat_of(f->zookeeper, "/a/b/c").children, 1);
    close_registration(r);
    assert_true(exists(f->zookeeper, "/a/b/c"));
}

static bool is_gone(void *arg)
{
    const struct another *another = arg;

    return !exists(another->zookeeper, another->path);
}

/* They are made again, too. */
FIXTURE_TEST(nodes_above_it_are_deleted)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/a/b/r", "x", &name);
    struct hf_zookeeper_op ops[3] = {
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a/b/r", .version = -1},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a/b", .version = -1},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a", .version = -1}};
    int64_t czxid = stat_of(other, "/a/b/r").czxid;

    assert_int_equal(hf_zookeeper_multi(other, ops, 3, WAIT_MS, NULL), HF_OK);
    await_another(other, "/a/b/r", czxid);
    close_registration(r);
    close_handle(other);
}

/* The chroot is a node above it like any other, but nothing is made above
 * that. */
FIXTURE_TEST(the_chroot_is_made_and_nothing_above_it)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper *zookeeper =
        zookeeper_open(f, "", "/deep?timeout=10s", NULL);
    struct hf_zookeeper_registration *r =
        registered(zookeeper, "/x/r", "x", &name);

    assert_true(exists(f->zookeeper, "/deep/x/r"));
    close_registration(r);
    close_handle(zookeeper);
    f->log.count = 0;
    zookeeper = zookeeper_open(f, "", "/no/such", NULL);
    r = open_registration(zookeeper, "/r", "x", &name);
    assert_int_equal(hf_zookeeper_registration_wait(r, WAIT_MS), HF_EGONE);
    zookeeper_expect_error("hf_zookeeper_registration_wait: /r: the node above "
                           "the chroot of the URL is not there; create it");
    (void)log_await_line(&f->log, 0, "r FAILED HF_EGONE /r");
    close_registration(r);
    close_handle(zookeeper);
}

FIXTURE_TEST(the_access_list_is_that_of_the_options)
{
    static const struct hf_zookeeper_acl acls[] = {
        {HF_ZOOKEEPER_PERM_READ | HF_ZOOKEEPER_PERM_WRITE, "world", "anyone"},
        {HF_ZOOKEEPER_PERM_ADMIN, "ip", "127.0.0.1"}};
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_registration *r;
    struct hf_zookeeper_result *result;

    opts.acls = acls;
    opts.acl_count = 2;
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/p/r", "x", 1, &opts, &r),
        HF_OK);
    await_registered(r);
    assert_int_equal(
        hf_zookeeper_get_acl(f->zookeeper, "/p/r", WAIT_MS, &result), HF_OK);
    assert_int_equal(result->acl_count, 2);
    assert_int_equal(result->acls[0].permissions, 3);
    assert_string_equal(result->acls[1].id, "127.0.0.1");
    hf_zookeeper_result_free(result);
    close_registration(r);
}

/* ----------------------------------------------------------- taken away -- */

#define DELETIONS 1000

FIXTURE_TEST(a_node_is_deleted_a_thousand_times)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);
    int64_t czxid = stat_of(other, "/r").czxid;
    size_t lines;

    for (int i = 0; i < DELETIONS; i++) {
        delete_node(other, "/r");
        await_another(other, "/r", czxid);
        czxid = stat_of(other, "/r").czxid;
    }
    await_registered(r);
    zookeeper_expect_data(other, "/r", "data");
    close_registration(r);
    assert_false(exists(other, "/r"));
    lines = log_count(&f->log) - 1; /* the last is "dropped" */
    for (size_t i = 0; i < lines; i++)
        assert_string_equal(f->log.lines[i],
                            i % 2 == 0 ? "r REGISTERED HF_OK /r"
                                       : "r UNREGISTERED HF_EGONE /r");
    assert_true(lines > 2);
    close_handle(other);
}

FIXTURE_TEST(a_session_is_ended_by_another_client)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);

    log_await(&f->log, 1);
    for (int i = 0; i < 3; i++) {
        size_t at = log_count(&f->log);

        kill_session(f, f->zookeeper);
        at = log_await_line(&f->log, at, "r UNREGISTERED HF_ELOST /r");
        (void)log_await_line(&f->log, at, "r REGISTERED HF_OK /r");
        assert_int_equal(stat_of(f->zookeeper, "/r").ephemeral_owner,
                         session_of(f->zookeeper));
    }
    close_registration(r);
    assert_false(exists(f->zookeeper, "/r"));
}

/* What the lost session had is over as soon as another node is there. */
FIXTURE_TEST(a_loss_is_forgotten_in_the_next_session)
{
    static const struct hf_zookeeper_op replace[2] = {
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/r", .version = -1},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/r", .data = "o", .bytes = 1}};
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);
    size_t at;

    log_await(&f->log, 1);
    kill_session(f, f->zookeeper);
    at = log_await_line(&f->log, 0, "r UNREGISTERED HF_ELOST /r");
    at = log_await_line(&f->log, at, "r REGISTERED HF_OK /r");
    assert_int_equal(hf_zookeeper_multi(other, replace, 2, WAIT_MS, NULL),
                     HF_OK);
    (void)log_await_line(&f->log, at, "r BLOCKED HF_EEXISTS /r");
    close_registration(r);
    delete_node(other, "/r");
    close_handle(other);
}

FIXTURE_TEST(the_last_data_are_those_of_the_next_session)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "first", &name);

    for (int i = 0; i < 100; i++) {
        char text[16];

        (void)snprintf(text, sizeof text, "set %d", i);
        assert_int_equal(hf_zookeeper_registration_set(r, text, strlen(text)),
                         HF_OK);
    }
    await_registered(r);
    zookeeper_expect_data(f->zookeeper, "/r", "set 99");
    log_await(&f->log, 1);
    kill_session(f, f->zookeeper);
    (void)log_await_line(&f->log, 0, "r UNREGISTERED HF_ELOST /r");
    await_registered(r);
    zookeeper_expect_data(f->zookeeper, "/r", "set 99");
    close_registration(r);
}

/* ----------------------------------------------------------- other nodes -- */

FIXTURE_TEST(the_node_of_another_session_is_waited_for)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    make_ephemeral(other, "/r");
    r = open_registration(f->zookeeper, "/r", "data", &name);
    (void)log_await_line(&f->log, 0, "r BLOCKED HF_EEXISTS /r");
    assert_int_equal(hf_zookeeper_registration_wait(r, 0), HF_ETIMEDOUT);
    zookeeper_expect_error("there is the node of another "
                           "session, 0x");
    zookeeper_expect_data(other, "/r", "o");
    close_handle(other);
    await_registered(r);
    zookeeper_expect_data(f->zookeeper, "/r", "data");
    log_await(&f->log, 2); /* a close discards what was not reported */
    close_registration(r);
    log_expect(&f->log, 0,
               (const char *[]){"r BLOCKED HF_EEXISTS /r",
                                "r REGISTERED HF_OK /r", "r dropped", NULL});
}

/* It is neither deleted nor changed, whatever is called. */
FIXTURE_TEST(a_node_that_is_not_ours_stays)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;
    int64_t mzxid;

    zookeeper_make(f->zookeeper, "/r", "o");
    mzxid = stat_of(f->zookeeper, "/r").mzxid;
    r = open_registration(f->zookeeper, "/r", "data", &name);
    (void)log_await_line(&f->log, 0, "r BLOCKED HF_EEXISTS /r");
    assert_int_equal(hf_zookeeper_registration_set(r, "new", 3), HF_OK);
    assert_int_equal(hf_zookeeper_registration_wait(r, 20), HF_ETIMEDOUT);
    zookeeper_expect_error("hf_zookeeper_registration_wait: /r was not "
                           "registered within 20 ms: /r: there is a node that "
                           "is not ephemeral; expected none, delete it");
    close_registration(r);
    assert_int_equal(stat_of(f->zookeeper, "/r").mzxid, mzxid);
}

/* A wait says why there is no connection, once one attempt to connect has
 * failed. */
FIXTURE_TEST(a_wait_without_a_connection_says_why)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *unreachable;

    opts.connect_ms = HF_FOREVER; /* the registration itself goes on trying */
    assert_int_equal(hf_zookeeper_open("zk://127.0.0.1:1", &opts, &unreachable),
                     HF_OK);
    r = open_registration(unreachable, "/r", "data", &name);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(hf_zookeeper_registration_wait(r, 30), HF_ETIMEDOUT);
        if (strstr(hf_last_error()->text,
                   "within 30 ms: 127.0.0.1:1: connection "
                   "refused") != NULL)
            break;
    }
    zookeeper_expect_error("127.0.0.1:1: connection refused");
    assert_int_equal(hf_zookeeper_close(unreachable), HF_OK);
    hf_zookeeper_registration_free(r);
}

/* Somebody deletes ours and makes another in one transaction. */
FIXTURE_TEST(a_node_is_replaced)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);
    const struct hf_zookeeper_op ops[2] = {
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/r", .version = -1},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/r", .data = "o", .bytes = 1}};
    size_t at;

    log_await(&f->log, 1);
    assert_int_equal(hf_zookeeper_multi(other, ops, 2, WAIT_MS, NULL), HF_OK);
    at = log_await_line(&f->log, 0, "r UNREGISTERED HF_EGONE /r");
    (void)log_await_line(&f->log, at, "r BLOCKED HF_EEXISTS /r");
    zookeeper_expect_data(other, "/r", "o");
    delete_node(other, "/r");
    (void)log_await_line(&f->log, at, "r REGISTERED HF_OK /r");
    close_registration(r);
    close_handle(other);
}

/* The same reason is reported again. */
FIXTURE_TEST(it_is_blocked_after_it_was_registered)
{
    static const struct hf_zookeeper_op replace[2] = {
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/r", .version = -1},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/r", .data = "o", .bytes = 1}};
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;
    size_t at;

    zookeeper_make(other, "/r", "o");
    r = open_registration(f->zookeeper, "/r", "data", &name);
    at = log_await_line(&f->log, 0, "r BLOCKED HF_EEXISTS /r");
    delete_node(other, "/r");
    at = log_await_line(&f->log, at, "r REGISTERED HF_OK /r");
    assert_int_equal(hf_zookeeper_multi(other, replace, 2, WAIT_MS, NULL),
                     HF_OK);
    (void)log_await_line(&f->log, at, "r BLOCKED HF_EEXISTS /r");
    close_registration(r);
    close_handle(other);
}

/* What blocked it is over before the user is notified. */
FIXTURE_TEST(it_is_blocked_between_two_dispatches)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    opts.delivery = HF_DELIVER_DISPATCH;
    zookeeper_reopen(f, &opts);
    zookeeper_make(f->zookeeper, "/r", "o");
    r = open_registration(f->zookeeper, "/r", "data", &name);
    assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
    delete_node(f->zookeeper, "/r");
    await_registered(r);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_zookeeper_dispatch(f->zookeeper), HF_OK);
    log_expect(&f->log, 0, (const char *[]){"r REGISTERED HF_OK /r", NULL});
    close_registration(r);
}

FIXTURE_TEST(a_node_of_this_session_gets_the_data)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    make_ephemeral(f->zookeeper, "/r");
    r = registered(f->zookeeper, "/r", "data", &name);
    zookeeper_expect_data(f->zookeeper, "/r", "data");
    close_registration(r);
    assert_false(exists(f->zookeeper, "/r"));
}

/* The data of the node that it had do not count. */
FIXTURE_TEST(a_node_made_anew_by_this_session_gets_the_data)
{
    static const struct hf_zookeeper_op replace[2] = {
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/r", .version = -1},
        {.kind = HF_ZOOKEEPER_CREATE,
         .path = "/r",
         .data = "o",
         .bytes = 1,
         .mode = HF_ZOOKEEPER_EPHEMERAL}};
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);
    size_t at;

    log_await(&f->log, 1);
    assert_int_equal(
        hf_zookeeper_multi(f->zookeeper, replace, 2, WAIT_MS, NULL), HF_OK);
    at = log_await_line(&f->log, 0, "r UNREGISTERED HF_EGONE /r");
    (void)log_await_line(&f->log, at, "r REGISTERED HF_OK /r");
    zookeeper_expect_data(f->zookeeper, "/r", "data");
    close_registration(r);
}

/* At once, when nothing is known of the node, and after it was registered. */
FIXTURE_TEST(a_node_of_this_session_is_deleted)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};

    for (int i = 0; i < 40; i++) {
        struct hf_zookeeper_registration *r;

        f->log.count = 0;
        make_ephemeral(f->zookeeper, "/r");
        r = open_registration(f->zookeeper, "/r", "data", &name);
        if (i % 2 != 0)
            await_registered(r);
        close_registration(r);
        assert_false(exists(f->zookeeper, "/r"));
    }
}

FIXTURE_TEST(data_of_others_stay_until_the_next_set)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "data", &name);

    for (int i = 0; i < 50; i++)
        assert_int_equal(
            hf_zookeeper_set(other, "/r", "o", 1, -1, WAIT_MS, NULL), HF_OK);
    await_registered(r);
    zookeeper_expect_data(other, "/r", "o");
    assert_int_equal(hf_zookeeper_registration_set(r, "new", 3), HF_OK);
    await_registered(r);
    zookeeper_expect_data(other, "/r", "new");
    assert_int_equal(hf_zookeeper_set(other, "/r", "o", 1, -1, WAIT_MS, NULL),
                     HF_OK);
    close_registration(r);
    assert_false(exists(other, "/r"));
    close_handle(other);
}

/* -------------------------------------------------------------- failures -- */

FIXTURE_TEST(no_node_is_made_below_an_ephemeral_one)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    make_ephemeral(f->zookeeper, "/e");
    r = open_registration(f->zookeeper, "/e/r", "x", &name);
    assert_int_equal(hf_zookeeper_registration_wait(r, WAIT_MS), HF_EINVAL);
    (void)log_await_line(&f->log, 0, "r FAILED HF_EINVAL /e/r");
    assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_EINVAL);
    close_registration(r);
    f->log.count = 0;
    r = open_registration(f->zookeeper, "/e/a/b/r", "x", &name);
    (void)log_await_line(&f->log, 0, "r FAILED HF_EINVAL /e/a/b/r");
    close_registration(r);
}

/* Make ${path}, below and at which everybody may do ${permissions}. */
static void make_restricted(struct hf_zookeeper *zookeeper, const char *path,
                            int32_t permissions)
{
    const struct hf_zookeeper_acl acl = {permissions, "world", "anyone"};
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = path,
                                       .acls = &acl,
                                       .acl_count = 1};

    zookeeper_expect(zookeeper, &op, HF_OK);
}

FIXTURE_TEST(a_session_may_not_create_the_node)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    make_restricted(f->zookeeper, "/no", HF_ZOOKEEPER_PERM_READ);
    r = open_registration(f->zookeeper, "/no/r", "x", &name);
    assert_int_equal(hf_zookeeper_registration_wait(r, WAIT_MS), HF_EDENIED);
    (void)log_await_line(&f->log, 0, "r FAILED HF_EDENIED /no/r");
    close_registration(r);
    f->log.count = 0;
    r = open_registration(f->zookeeper, "/no/a/r", "x", &name);
    (void)log_await_line(&f->log, 0, "r FAILED HF_EDENIED /no/a/r");
    hf_zookeeper_registration_free(r);
}

/* The registration fails with the set, and its node stays until it is
 * closed. */
FIXTURE_TEST(a_session_may_not_set_the_data)
{
    static const struct hf_zookeeper_acl acl = {HF_ZOOKEEPER_PERM_READ, "world",
                                                "anyone"};
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration_opts opts = to_log(&name);
    struct hf_zookeeper_registration *r;

    opts.acls = &acl;
    opts.acl_count = 1;
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/r", "x", 1, &opts, &r),
        HF_OK);
    await_registered(r);
    assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
    assert_int_equal(hf_zookeeper_registration_wait(r, WAIT_MS), HF_EDENIED);
    (void)log_await_line(&f->log, 0, "r FAILED HF_EDENIED /r");
    assert_true(exists(f->zookeeper, "/r"));
    close_registration(r);
    assert_false(exists(f->zookeeper, "/r"));
}

/* Not even when its node goes, and in the next session. */
FIXTURE_TEST(nothing_is_done_after_a_failure)
{
    static const struct hf_zookeeper_acl acl = {HF_ZOOKEEPER_PERM_READ, "world",
                                                "anyone"};
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration_opts opts = to_log(&name);
    struct hf_zookeeper_registration *r;

    opts.acls = &acl;
    opts.acl_count = 1;
    for (int loses = 0; loses < 2; loses++) {
        f->log.count = 0;
        assert_int_equal(hf_zookeeper_registration_open(f->zookeeper, "/r", "x",
                                                        1, &opts, &r),
                         HF_OK);
        await_registered(r);
        (void)log_await_line(&f->log, 0, "r REGISTERED HF_OK /r");
        assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
        (void)log_await_line(&f->log, 0, "r FAILED HF_EDENIED /r");
        if (loses)
            kill_session(f, f->zookeeper);
        else
            delete_node(f->zookeeper, "/r");
        (void)hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS); /* HF_ELOST */
        assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
        assert_false(exists(f->zookeeper, "/r"));
        assert_int_equal(hf_zookeeper_registration_wait(r, 0), HF_EDENIED);
        close_registration(r);
        log_expect(&f->log, 0,
                   (const char *[]){"r REGISTERED HF_OK /r",
                                    "r FAILED HF_EDENIED /r", "r dropped",
                                    NULL});
    }
}

/* It does not follow its node any more, so it does not know that the node there
 * is that of another session, of the same version. */
FIXTURE_TEST(what_has_failed_deletes_no_node_of_another)
{
    static const struct hf_zookeeper_acl acl = {HF_ZOOKEEPER_PERM_READ, "world",
                                                "anyone"};
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration_opts opts = to_log(&name);
    struct hf_zookeeper *other = open_other(f);
    struct hf_zookeeper_registration *r;

    opts.acls = &acl;
    opts.acl_count = 1;
    for (int loses = 0; loses < 2; loses++) {
        f->log.count = 0;
        assert_int_equal(hf_zookeeper_registration_open(f->zookeeper, "/r", "x",
                                                        1, &opts, &r),
                         HF_OK);
        await_registered(r);
        assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
        (void)log_await_line(&f->log, 0, "r FAILED HF_EDENIED /r");
        if (loses)
            kill_session(f, f->zookeeper);
        else
            delete_node(f->zookeeper, "/r");
        make_ephemeral(other, "/r");
        (void)hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS); /* HF_ELOST */
        assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
        close_registration(r);
        assert_true(exists(other, "/r"));
        delete_node(other, "/r");
    }
    close_handle(other);
}

FIXTURE_TEST(a_session_may_not_delete_the_node)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    make_restricted(f->zookeeper, "/no",
                    HF_ZOOKEEPER_PERM_READ | HF_ZOOKEEPER_PERM_CREATE);
    r = registered(f->zookeeper, "/no/r", "x", &name);
    assert_int_equal(hf_zookeeper_registration_close(r, WAIT_MS), HF_EDENIED);
    assert_true(exists(f->zookeeper, "/no/r"));
}

FIXTURE_TEST(arguments_are_checked)
{
    static const char too_long[2000000];
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration_opts opts = to_log(&name);
    struct hf_zookeeper_registration *r;
    struct hf_zookeeper_registration *first =
        registered(f->zookeeper, "/r", "x", &name);

    log_await(&f->log, 1);
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "r", "x", 1, &opts, &r),
        HF_EINVAL);
    assert_null(r);
    zookeeper_expect_error("hf_zookeeper_registration_open: ");
    assert_int_equal(hf_zookeeper_registration_open(f->zookeeper, "/a",
                                                    too_long, sizeof too_long,
                                                    &opts, &r),
                     HF_EINVAL);
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/r", "x", 1, &opts, &r),
        HF_EEXISTS);
    zookeeper_expect_error("hf_zookeeper_registration_open: /r is registered "
                           "by this handle; expected one registration for each "
                           "path, free that one first");
    opts.acls = (const struct hf_zookeeper_acl[]){{1, NULL, "anyone"}};
    opts.acl_count = 1;
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/a", "x", 1, &opts, &r),
        HF_EINVAL);
    log_expect(&f->log, 0,
               (const char *[]){"r REGISTERED HF_OK /r", "r dropped",
                                "r dropped", "r dropped", "r dropped", NULL});
    assert_int_equal(
        hf_zookeeper_registration_set(first, too_long, sizeof too_long),
        HF_EINVAL);
    zookeeper_expect_data(f->zookeeper, "/r", "x");
    hf_zookeeper_registration_free(NULL);
    assert_int_equal(hf_zookeeper_registration_close(NULL, 0), HF_OK);
    close_registration(first);
}

/* --------------------------------------------------------------- freeing -- */

/* At whatever moment the registration is closed. */
FIXTURE_TEST(nothing_is_left_of_a_registration)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    for (int i = 0; i < 200; i++) {
        f->log.count = 0;
        r = open_registration(f->zookeeper, "/a/b/r", "x", &name);
        for (int done = 0; done < i % 20; done++)
            assert_int_equal(hf_zookeeper_registration_set(r, "y", 1), HF_OK);
        close_registration(r);
        assert_false(exists(f->zookeeper, "/a/b/r"));
        if (i % 2 == 0)
            (void)hf_zookeeper_delete(f->zookeeper, "/a/b", -1, WAIT_MS);
    }
}

/* The new one takes the path from the removal of the old one. */
FIXTURE_TEST(a_path_is_registered_again_at_once)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;

    for (int i = 0; i < 200; i++) {
        char text[16];

        f->log.count = 0;
        (void)snprintf(text, sizeof text, "%d", i);
        r = open_registration(f->zookeeper, "/r", text, &name);
        if (i % 3 != 0)
            await_registered(r);
        if (i % 3 == 2)
            zookeeper_expect_data(f->zookeeper, "/r", text);
        hf_zookeeper_registration_free(r);
    }
    r = registered(f->zookeeper, "/r", "last", &name);
    zookeeper_expect_data(f->zookeeper, "/r", "last");
    close_registration(r);
    assert_false(exists(f->zookeeper, "/r"));
}

/* The removal of the first one has ended before it knew anything. */
FIXTURE_TEST(a_path_is_registered_again_and_closed_at_once)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};

    for (int i = 0; i < 200; i++) {
        f->log.count = 0;
        hf_zookeeper_registration_free(
            open_registration(f->zookeeper, "/r", "first", &name));
        if (i % 3 == 0)
            hf_zookeeper_registration_free(
                open_registration(f->zookeeper, "/r", "second", &name));
        close_registration(
            open_registration(f->zookeeper, "/r", "last", &name));
        assert_false(exists(f->zookeeper, "/r"));
    }
}

static void
free_in_callback(void *arg, struct hf_zookeeper_registration *registration,
                 const struct hf_zookeeper_registration_event *event)
{
    const struct log_name *name = arg;

    (void)event;
    assert_int_equal(hf_zookeeper_registration_close(registration, 1000),
                     HF_EREENTRANT);
    assert_int_equal(hf_zookeeper_registration_wait(registration, 1000),
                     HF_EREENTRANT);
    hf_zookeeper_registration_free(registration);
    log_add(name->log, "%s freed", name->name);
}

FIXTURE_TEST(a_registration_is_freed_in_its_callback)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct another another = {f->zookeeper, "/r", 0};
    struct hf_zookeeper_registration_opts opts = to_log(&name);
    struct hf_zookeeper_registration *r;

    opts.on_event.fn = free_in_callback;
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/r", "x", 1, &opts, &r),
        HF_OK);
    log_await(&f->log, 2);
    log_expect(&f->log, 0, (const char *[]){"r freed", "r dropped", NULL});
    wait_for(is_gone, &another);
}

struct slow {
    struct hf_zookeeper_registration *r;
    unsigned pause_us;
    atomic_bool runs;
    atomic_bool freeing;
    atomic_bool returned;
    atomic_bool dropped;
};

static bool slow_is_freed(void *arg)
{
    return atomic_load(&((struct slow *)arg)->freeing);
}

static void run_until_freed(void *arg, struct hf_zookeeper_registration *r,
                            const struct hf_zookeeper_registration_event *event)
{
    struct slow *slow = arg;

    (void)r;
    (void)event;
    atomic_store(&slow->runs, true);
    wait_for(slow_is_freed, slow);
    /* The other thread waits by now, probably: for this callback, or for the
     * node to be deleted. */
    (void)usleep(slow->pause_us);
    atomic_store(&slow->returned, true);
}

static void drop_slow(void *arg)
{
    struct slow *slow = arg;

    assert_true(atomic_load(&slow->returned));
    (void)usleep(2000);
    atomic_store(&slow->dropped, true);
}

static bool slow_runs(void *arg)
{
    return atomic_load(&((struct slow *)arg)->runs);
}

FIXTURE_TEST(a_free_waits_for_a_callback)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;

    for (int i = 0; i < 20; i++) {
        struct slow slow = {.pause_us = i % 4 < 2 ? 2000 : 0};

        opts.on_event = (struct hf_zookeeper_on_registration){run_until_freed,
                                                              &slow, drop_slow};
        assert_int_equal(hf_zookeeper_registration_open(f->zookeeper, "/r", "x",
                                                        1, &opts, &slow.r),
                         HF_OK);
        wait_for(slow_runs, &slow);
        atomic_store(&slow.freeing, true);
        if (i % 2 == 0)
            hf_zookeeper_registration_free(slow.r);
        else
            close_registration(slow.r);
        assert_true(atomic_load(&slow.dropped));
    }
}

static void *await_cancelled(void *arg)
{
    assert_int_equal(hf_zookeeper_registration_wait(arg, HF_FOREVER),
                     HF_ECANCELLED);
    return NULL;
}

/* Does a call wait for the registration? */
static bool is_waited_for(void *arg)
{
    struct hf_zookeeper_registration *r = arg;
    struct hf_monitor *monitor = r->zookeeper->monitor;
    bool waited_for;

    pthread_mutex_lock(&monitor->lock);
    waited_for = r->waits != NULL;
    pthread_mutex_unlock(&monitor->lock);
    return waited_for;
}

FIXTURE_TEST(a_wait_ends_when_it_is_freed)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;
    pthread_t thread;

    zookeeper_make(f->zookeeper, "/r", "");
    r = open_registration(f->zookeeper, "/r", "x", &name);
    assert_int_equal(pthread_create(&thread, NULL, await_cancelled, r), 0);
    wait_for(is_waited_for, r); /* the call must not begin after the free */
    hf_zookeeper_registration_free(r);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Before and after its handle. */
FIXTURE_TEST(a_registration_outlives_its_handle)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);
    struct hf_zookeeper_registration *first =
        registered(zookeeper, "/r1", "x", &name);
    struct hf_zookeeper_registration *second =
        registered(zookeeper, "/r2", "x", &name);

    hf_zookeeper_registration_free(first);
    close_handle(zookeeper);
    assert_false(exists(f->zookeeper, "/r1"));
    assert_false(exists(f->zookeeper, "/r2"));
    assert_int_equal(hf_zookeeper_registration_wait(second, 100), HF_ECLOSED);
    assert_int_equal(hf_zookeeper_registration_set(second, "y", 1), HF_ECLOSED);
    assert_int_equal(hf_zookeeper_registration_close(second, 100), HF_ECLOSED);
}

/* ------------------------------------------------------------------ many -- */

#define MANY 100

FIXTURE_TEST(a_hundred_are_in_one_session)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_registration *many[MANY];
    struct log_name name = {&f->log, "r"};
    char path[32];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(path, sizeof path, "/many/%d", i);
        many[i] = open_registration(f->zookeeper, path, "x", &name);
    }
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < MANY; i++)
            await_registered(many[i]);
        assert_int_equal(stat_of(f->zookeeper, "/many").children, MANY);
        if (step == 1)
            break;
        log_await(&f->log, MANY); /* what is over before is not reported */
        kill_session(f, f->zookeeper);
        log_await(&f->log, (size_t)2 * MANY);
    }
    for (int i = 0; i < MANY; i++)
        close_registration(many[i]);
    assert_int_equal(stat_of(f->zookeeper, "/many").children, 0);
}

/* Nothing of it needs the user to dispatch, who gets the loss of the first node
 * before the second one, although both were there long before. */
FIXTURE_TEST(it_goes_on_without_dispatch)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r;
    int64_t czxid;

    opts.delivery = HF_DELIVER_DISPATCH;
    zookeeper_reopen(f, &opts);
    r = registered(f->zookeeper, "/a/r", "x", &name);
    assert_int_equal(log_count(&f->log), 0);
    assert_int_equal(hf_zookeeper_dispatch(f->zookeeper), HF_OK);
    czxid = stat_of(f->zookeeper, "/a/r").czxid;
    delete_node(f->zookeeper, "/a/r");
    await_another(f->zookeeper, "/a/r", czxid);
    await_registered(r);
    assert_int_equal(log_count(&f->log), 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_zookeeper_dispatch(f->zookeeper), HF_OK);
    log_expect(&f->log, 0,
               (const char *[]){"r REGISTERED HF_OK /a/r",
                                "r UNREGISTERED HF_EGONE /a/r",
                                "r REGISTERED HF_OK /a/r", NULL});
    close_registration(r);
}

static void on_waited(void *arg, const struct hf_result *result)
{
    assert_int_equal(result->text[0] == '\0', result->status == HF_OK);
    if (result->status != HF_OK)
        assert_string_equal(hf_last_error()->text, result->text);
    log_add(arg, "waited %s", hf_status_name(result->status));
}

static void on_wait_dropped(void *arg)
{
    log_add(arg, "wait dropped");
}

/* Begin a wait of ${r}, whose end is recorded. */
static void start_wait(struct zookeeper_fixture *f,
                       struct hf_zookeeper_registration *r, uint64_t wait_ms)
{
    assert_int_equal(
        hf_zookeeper_registration_wait_start(
            r, wait_ms, (struct hf_done){on_waited, &f->log, on_wait_dropped}),
        HF_OK);
}

/* The record is that of one wait, which ended with ${line}; it begins anew. */
static void expect_waited(struct zookeeper_fixture *f, const char *line)
{
    log_await(&f->log, 2);
    log_expect(&f->log, 0, (const char *[]){line, "wait dropped", NULL});
    f->log.count = 0;
}

FIXTURE_TEST(waits_call_back)
{
    const struct hf_done nobody = {NULL, NULL, NULL};
    const struct hf_done done = {on_waited, NULL, on_wait_dropped};
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = open_other(f);
    struct hf_zookeeper_registration *r;
    struct hf_done late = done;

    make_ephemeral(other, "/r");
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/r", "x", 1, NULL, &r),
        HF_OK);
    start_wait(f, r, 0);
    expect_waited(f, "waited HF_ETIMEDOUT");
    start_wait(f, r, 20);
    expect_waited(f, "waited HF_ETIMEDOUT");
    start_wait(f, r, HF_FOREVER);
    assert_int_equal(
        hf_zookeeper_registration_wait_start(r, HF_FOREVER, nobody), HF_OK);
    assert_int_equal(hf_zookeeper_delete(other, "/r", -1, WAIT_MS), HF_OK);
    expect_waited(f, "waited HF_OK");
    start_wait(f, r, 0);
    expect_waited(f, "waited HF_OK");
    close_registration(r);
    make_ephemeral(other, "/r");
    assert_int_equal(
        hf_zookeeper_registration_open(f->zookeeper, "/r", "x", 1, NULL, &r),
        HF_OK);
    start_wait(f, r, HF_FOREVER);
    hf_zookeeper_registration_free(r);
    expect_waited(f, "waited HF_ECANCELLED");
    assert_int_equal(
        hf_zookeeper_registration_open(other, "/s", "x", 1, NULL, &r), HF_OK);
    await_registered(r);
    assert_int_equal(hf_zookeeper_delete(f->zookeeper, "/s", -1, WAIT_MS),
                     HF_OK);
    close_handle(other);
    late.arg = &f->log;
    assert_int_equal(hf_zookeeper_registration_wait_start(r, 1, late),
                     HF_ECLOSED);
    log_expect(&f->log, 0, (const char *[]){"wait dropped", NULL});
    hf_zookeeper_registration_free(r);
}

/* Waits that were started end, and are reported, before their handle is gone.
 */
FIXTURE_TEST(waits_end_with_their_handle)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_registration *r;
    struct hf_zookeeper *unreachable;

    assert_int_equal(hf_zookeeper_open("zk://127.0.0.1:1", NULL, &unreachable),
                     HF_OK);
    assert_int_equal(
        hf_zookeeper_registration_open(unreachable, "/r", "x", 1, NULL, &r),
        HF_OK);
    start_wait(f, r, HF_FOREVER);
    assert_int_equal(hf_zookeeper_close(unreachable), HF_OK);
    expect_waited(f, "waited HF_ECLOSED");
    hf_zookeeper_registration_free(r);
}

FIXTURE_TEST(a_child_of_a_fork_disturbs_nothing)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "r"};
    struct hf_zookeeper_registration *r =
        registered(f->zookeeper, "/r", "x", &name);
    const struct hf_done nobody = {NULL, NULL, NULL};
    struct hf_zookeeper_registration *child_r;
    int status;
    pid_t child = fork();

    if (child == 0) {
        bool refused =
            hf_zookeeper_registration_set(r, "y", 1) == HF_EFORKED &&
            hf_zookeeper_registration_wait(r, 10) == HF_EFORKED &&
            hf_zookeeper_registration_wait_start(r, 10, nobody) == HF_EFORKED &&
            hf_zookeeper_registration_close(r, 10) == HF_EFORKED &&
            hf_zookeeper_registration_open(f->zookeeper, "/s", "x", 1, NULL,
                                           &child_r) == HF_EFORKED;

        hf_zookeeper_registration_free(r);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    zookeeper_expect_data(f->zookeeper, "/r", "x");
    close_registration(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the ZooKeeper engine around its client: how it begins, what
 * runs it, and how it ends at each stage.  What it sends to servers is tested
 * in tests/unit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engine_fixture.h"
#include "heap/heap.h"

/* ------------------------------------------------------------------ ends -- */

static bool end_after(enum fake_zookeeper_mode fake_zookeeper_mode, int turns)
{
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;
    bool connected;

    fake_zookeeper_start(&zookeeper, fake_zookeeper_mode);
    engine_fixture_start(&fixture);
    engine_fixture_open_at(&fixture, &zookeeper, "?timeout=1s");
    for (int i = 0; i < turns; i++) {
        (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
        fake_zookeeper_serve(&zookeeper);
    }
    connected = fixture.connected;
    engine_fixture_end(&fixture, &zookeeper);
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
    return connected;
}

TEST(it_can_end_at_each_stage)
{
    bool connected = end_after(REFUSES, 0); /* libuv keeps some for itself */
    int fds = count_fds();

    for (enum fake_zookeeper_mode fake_zookeeper_mode = REFUSES;
         fake_zookeeper_mode < FAKE_ZOOKEEPER_MODES; fake_zookeeper_mode++)
        for (int turns = 0; turns < 12; turns++)
            connected = end_after(fake_zookeeper_mode, turns);
    assert_true(connected); /* there was nothing left to interrupt */
    assert_int_equal(count_fds(), fds);
    assert_int_equal(heap_live(), 0);
}

/* Memory runs out in any call, once or from then on. */
TEST(it_can_end_without_memory)
{
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;
    bool opened = false;
    unsigned long n = 0;
    int extra = 0;

    for (n = 1; extra < 20; n++) {
        fake_zookeeper_start(&zookeeper, ACCEPTS);
        engine_fixture_start(&fixture);
        heap_fail(n, true);
        opened = true;
        if (engine_fixture_open(&fixture, "zk://127.0.0.1:1") != HF_OK) {
            opened = false;
            assert_int_equal(fixture.error.status, HF_ENOMEM);
        }
        for (int i = 0; opened && i < 4; i++)
            loop_turn(&fixture.loop);
        heap_fail(0, false);
        if (opened)
            engine_fixture_end(&fixture, &zookeeper);
        extra += opened;
        loop_end(&fixture.loop);
        fake_server_stop(&zookeeper.server);
        assert_int_equal(heap_live(), 0);
    }
    assert_true(n > 21);
}

TEST(it_can_end_without_descriptors)
{
    struct rlimit limit, few;
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;
    hf_status status = HF_ELIMIT;
    int fds;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    fake_zookeeper_start(&zookeeper, ACCEPTS);
    engine_fixture_start(&fixture);
    fds = count_fds();
    for (rlim_t more = 0; status != HF_OK; more++) {
        few = (struct rlimit){(rlim_t)fds - 1 + more, limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        status = engine_fixture_open(&fixture, "zk://127.0.0.1:1");
        if (status != HF_OK)
            assert_true(status == HF_ELIMIT || status == HF_ENOMEM);
        for (int i = 0; i < 4; i++)
            loop_turn(&fixture.loop);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    engine_fixture_end(&fixture, &zookeeper);
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
    assert_int_equal(heap_live(), 0);
}

/* -------------------------------------------------------------- sessions -- */

TEST(a_session_begins_and_ends)
{
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;

    fake_zookeeper_start(&zookeeper, ACCEPTS);
    engine_fixture_start(&fixture);
    engine_fixture_open_at(&fixture, &zookeeper, "");
    engine_fixture_run_until(&fixture, &zookeeper, &fixture.connected);
    assert_true(strstr(fixture.ops->describe(fixture.engine), "/locks") !=
                NULL);
    engine_fixture_end(&fixture, &zookeeper);
    assert_true(zookeeper.received_password); /* only the server */
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
}

TEST(it_is_described_without_secrets)
{
    static const struct {
        const char *url;
        const char *description;
    } rows[] = {
        {"zk://127.0.0.1", "zk://127.0.0.1:2181"},
        {"zk://u:" ENGINE_FIXTURE_PASSWORD
         "@127.0.0.1:7,[::1]:8/a/b?timeout=4s",
         "zk://127.0.0.1:7,[::1]:8/a/b"},
        {"zk://[::1]/", "zk://[::1]:2181"},
    };
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;

    fake_zookeeper_start(&zookeeper, REFUSES);
    engine_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(engine_fixture_open(&fixture, rows[i].url), HF_OK);
        assert_string_equal(fixture.ops->describe(fixture.engine),
                            rows[i].description);
        engine_fixture_end(&fixture, &zookeeper);
    }
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
}

TEST(a_connection_that_breaks_is_made_again)
{
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;

    fake_zookeeper_start(&zookeeper, ACCEPTS);
    engine_fixture_start(&fixture);
    engine_fixture_open_at(&fixture, &zookeeper, "");
    for (int i = 0; i < 3; i++) {
        engine_fixture_run_until(&fixture, &zookeeper, &fixture.connected);
        if (i % 2 == 0)
            fake_server_reset(&zookeeper.server);
        else
            fake_server_hang_up(&zookeeper.server);
        fixture.connected = false;
    }
    engine_fixture_run_until(&fixture, &zookeeper, &fixture.connected);
    engine_fixture_end(&fixture, &zookeeper);
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
    assert_int_equal(heap_live(), 0);
}

/* The timer and the link belong to the engine, the other handles to the loop.
 */
TEST(a_child_closes_what_is_the_engines)
{
    struct engine_fixture fixture;
    struct fake_zookeeper zookeeper;
    int status;
    pid_t child;

    fake_zookeeper_start(&zookeeper, ACCEPTS);
    engine_fixture_start(&fixture);
    engine_fixture_open_at(&fixture, &zookeeper, "");
    engine_fixture_run_until(&fixture, &zookeeper, &fixture.connected);
    child = test_fork();
    if (child == 0) {
        int fds = count_fds();

        fixture.ops->after_fork(fixture.engine);
        _exit(fds - count_fds());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    engine_fixture_end(&fixture, &zookeeper);
    loop_end(&fixture.loop);
    fake_server_stop(&zookeeper.server);
}

TEST_FILE(engine)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}

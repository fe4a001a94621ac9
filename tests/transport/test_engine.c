/* SPDX-License-Identifier: Apache-2.0 */
/* The ZooKeeper engine's own part: how it begins, what moves it, how it ends at
 * each stage.  What it says to servers is tested elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "seat.h"

/* ------------------------------------------------------------------ ends -- */

static bool end_after(enum manner manner, int turns)
{
    struct seat seat;
    struct peer peer;
    bool connected;

    peer_start(&peer, manner);
    seat_start(&seat);
    seat_open_at(&seat, &peer, "?timeout=1s");
    for (int i = 0; i < turns; i++) {
        (void)uv_run(&seat.loop, UV_RUN_NOWAIT);
        peer_serve(&peer);
    }
    connected = seat.connected;
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    return connected;
}

static void it_can_end_at_each_stage(void **state)
{
    bool connected = end_after(REFUSES, 0); /* libuv keeps some for itself */
    int fds = kit_fds();

    (void)state;
    for (enum manner manner = REFUSES; manner < MANNERS; manner++)
        for (int turns = 0; turns < 12; turns++)
            connected = end_after(manner, turns);
    assert_true(connected); /* there was nothing left to interrupt */
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(heap_live(), 0);
}

/* In whichever call memory runs out, once or from then on. */
static void it_can_end_without_memory(void **state)
{
    struct seat seat;
    struct peer peer;
    bool opened = false;
    unsigned long n = 0;
    int extra = 0;

    (void)state;
    for (n = 1; extra < 20; n++) {
        peer_start(&peer, GREETS);
        seat_start(&seat);
        heap_fail(n, true);
        opened = true;
        if (seat_open(&seat, "zk://127.0.0.1:1") != HF_OK) {
            opened = false;
            assert_int_equal(seat.error.status, HF_ENOMEM);
        }
        for (int i = 0; opened && i < 4; i++)
            kit_turn(&seat.loop);
        heap_fail(0, false);
        if (opened)
            seat_end(&seat, &peer);
        extra += opened;
        kit_loop_end(&seat.loop);
        server_stop(&peer.server);
        assert_int_equal(heap_live(), 0);
    }
    assert_true(n > 21);
}

static void it_can_end_without_descriptors(void **state)
{
    struct rlimit limit, few;
    struct seat seat;
    struct peer peer;
    hf_status status = HF_ELIMIT;
    int fds;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    peer_start(&peer, GREETS);
    seat_start(&seat);
    fds = kit_fds();
    for (rlim_t more = 0; status != HF_OK; more++) {
        few = (struct rlimit){(rlim_t)fds - 1 + more, limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        status = seat_open(&seat, "zk://127.0.0.1:1");
        if (status != HF_OK)
            assert_true(status == HF_ELIMIT || status == HF_ENOMEM);
        for (int i = 0; i < 4; i++)
            kit_turn(&seat.loop);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    assert_int_equal(heap_live(), 0);
}

/* -------------------------------------------------------------- sessions -- */

static void a_session_begins_and_ends(void **state)
{
    struct seat seat;
    struct peer peer;

    (void)state;
    peer_start(&peer, GREETS);
    seat_start(&seat);
    seat_open_at(&seat, &peer, "");
    seat_run_until(&seat, &peer, &seat.connected);
    assert_true(strstr(seat.ops->describe(seat.engine), "/locks") != NULL);
    seat_end(&seat, &peer);
    assert_true(peer.heard_password); /* only the server */
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
}

static void it_is_described_without_secrets(void **state)
{
    static const struct {
        const char *url;
        const char *description;
    } rows[] = {
        {"zk://127.0.0.1", "zk://127.0.0.1:2181"},
        {"zk://u:" SEAT_PASSWORD "@127.0.0.1:7,[::1]:8/a/b?timeout=4s",
         "zk://127.0.0.1:7,[::1]:8/a/b"},
        {"zk://[::1]/", "zk://[::1]:2181"},
    };
    struct seat seat;
    struct peer peer;

    (void)state;
    peer_start(&peer, REFUSES);
    seat_start(&seat);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(seat_open(&seat, rows[i].url), HF_OK);
        assert_string_equal(seat.ops->describe(seat.engine),
                            rows[i].description);
        seat_end(&seat, &peer);
    }
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
}

static void a_connection_that_breaks_is_made_again(void **state)
{
    struct seat seat;
    struct peer peer;

    (void)state;
    peer_start(&peer, GREETS);
    seat_start(&seat);
    seat_open_at(&seat, &peer, "");
    for (int i = 0; i < 3; i++) {
        seat_run_until(&seat, &peer, &seat.connected);
        if (i % 2 == 0)
            server_reset(&peer.server);
        else
            server_hang_up(&peer.server);
        seat.connected = false;
    }
    seat_run_until(&seat, &peer, &seat.connected);
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    assert_int_equal(heap_live(), 0);
}

/* The timer and the link are the engine's; the rest the loop's. */
static void a_child_closes_what_is_the_engines(void **state)
{
    struct seat seat;
    struct peer peer;
    int status;
    pid_t child;

    (void)state;
    peer_start(&peer, GREETS);
    seat_start(&seat);
    seat_open_at(&seat, &peer, "");
    seat_run_until(&seat, &peer, &seat.connected);
    child = fork();
    if (child == 0) {
        int fds = kit_fds();

        seat.ops->after_fork(seat.engine);
        _exit(fds - kit_fds());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_can_end_at_each_stage),
        cmocka_unit_test(it_can_end_without_memory),
        cmocka_unit_test(it_can_end_without_descriptors),
        cmocka_unit_test(a_session_begins_and_ends),
        cmocka_unit_test(it_is_described_without_secrets),
        cmocka_unit_test(a_connection_that_breaks_is_made_again),
        cmocka_unit_test(a_child_closes_what_is_the_engines),
    };

    heap_own();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

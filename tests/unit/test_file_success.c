/* SPDX-License-Identifier: Apache-2.0 */
/* The success of a lock on disk: its two places, its clocks, and who may write
 * it. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/file_names.h"
#include "engines/file/state_dir.h"
#include "engines/file/success.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"

#define HOUR_MS INT64_C(3600000)
#define SLACK_MS 60000

static uint64_t take(struct engine_client *client, struct hf_ticket_id id)
{
    struct client_request *request =
        client_enqueue(client, "q", id, HF_TICKET_MUTEX, "");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    return client_request_find(request, id)->token;
}

static void release(struct engine_client *client, struct hf_ticket_id id)
{
    assert_true(client_ask(client, HF_REQUEST_REMOVE, "q", id)->found);
}

/* Take "q", write its success and release it; its token. */
static uint64_t succeed(struct engine_client *client)
{
    struct hf_ticket_id id = fresh_id();
    uint64_t token = take(client, id);

    assert_true(client_write_success(client, "q", id, token)->found);
    release(client, id);
    return token;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Put that text in the place of the success in the directory of the lock. */
static void replace(uint64_t token, int64_t utc_ms, struct hf_ticket_id boot,
                    int64_t boot_ms)
{
    char path[CONFORMANCE_FILE_PATH_BYTES + sizeof("/" HF_SUCCESS_FILE)];
    char dir[CONFORMANCE_FILE_PATH_BYTES], id[HF_TICKET_ID_TEXT_BYTES];
    char text[160];

    conformance_file_path("q", dir);
    (void)snprintf(path, sizeof path, "%s/" HF_SUCCESS_FILE, dir);
    hf_ticket_id_format(&boot, id);
    (void)snprintf(text, sizeof text, "%" PRIu64 " %" PRId64 " %s %" PRId64,
                   token, utc_ms, id, boot_ms);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(text, path), 0);
}

static void expect_age(struct engine_client *client, uint64_t token,
                       int64_t age_ms)
{
    struct client_request *request = client_read_success(client, "q", NOBODY);

    assert_true(request->success.token == token);
    assert_true(request->success.age_ms >= age_ms);
    assert_true(request->success.age_ms <= age_ms + SLACK_MS);
}

static int no_descriptors(const char *request)
{
    return strcmp(request, "openat") == 0 ? EMFILE : 0;
}

/* A success that cannot be read for want of descriptors is not taken for none.
 * STATE was not named, so one that cannot be opened for another reason is. */
FILE_TEST(want_of_descriptors_is_not_no_success)
{
    struct hf_file_root_settings settings = {.state_required = false};
    struct hf_success success;
    struct hf_error error;

    (void)snprintf(settings.root, sizeof(settings.root), "%s",
                   conformance_file_root());
    (void)snprintf(settings.state, sizeof(settings.state), "%s",
                   conformance_file_root());
    hf_file_sys_hook = no_descriptors;
    assert_int_equal(hf_file_success_read(&settings, -1, "q", &success, &error),
                     HF_ELIMIT);
    hf_file_sys_hook = NULL;
    assert_int_equal(hf_file_success_read(&settings, -1, "q", &success, &error),
                     HF_OK);
}

/* The wall clock was set: by a day forward, by a day back. */
FILE_TEST(in_one_boot_the_wall_clock_does_not_matter)
{
    OPEN_CLIENT(a, &conformance_file);
    uint64_t token = succeed(a);
    int64_t now_ms = clock_ms(CLOCK_REALTIME);
    int64_t boot_ms = clock_ms(CLOCK_BOOTTIME) - 1000;

    replace(token, now_ms + 24 * HOUR_MS, hf_file_boot(), boot_ms);
    expect_age(a, token, 1000);
    replace(token, now_ms - 24 * HOUR_MS, hf_file_boot(), boot_ms);
    expect_age(a, token, 1000);
}

/* CLOCK_BOOTTIME of another boot says nothing. */
FILE_TEST(over_a_reboot_the_wall_clock_counts)
{
    OPEN_CLIENT(a, &conformance_file);
    uint64_t token = succeed(a);
    int64_t now_ms = clock_ms(CLOCK_REALTIME);

    replace(token, now_ms - 3 * HOUR_MS, fresh_id(), 5);
    expect_age(a, token, 3 * HOUR_MS);
    replace(token, now_ms + 3 * HOUR_MS, fresh_id(), 5);
    expect_age(a, token, -3 * HOUR_MS);
}

/* The root is in memory, and gone after a reboot. */
FILE_TEST(a_success_outlives_the_locks)
{
    struct engine_client *a = client_open(&conformance_file);
    struct hf_ticket_id id = fresh_id();
    uint64_t token = succeed(a), next;
    char command[128];

    client_close(a);
    (void)snprintf(command, sizeof command, "rm -r %s/locks %s/counter",
                   conformance_file_root(), conformance_file_root());
    assert_int_equal(system(command), 0);
    a = client_open(&conformance_file);
    expect_age(a, token, 0);
    next = take(a, id);
    assert_true(next > token);
    assert_true(client_read_success(a, "q", id)->success.token == token);
    release(a, id);
    client_close(a);
}

/* Another container has the root and not STATE. */
FILE_TEST(a_success_outlives_the_state)
{
    struct engine_client *a = client_open(&conformance_file);
    uint64_t token = succeed(a);
    char command[128];

    client_close(a);
    (void)snprintf(command, sizeof command, "rm -r %s/state-%u",
                   conformance_file_root(), (unsigned)geteuid());
    assert_int_equal(system(command), 0);
    a = client_open(&conformance_file);
    expect_age(a, token, 0);
    client_close(a);
}

FILE_TEST(who_was_evicted_writes_nothing)
{
    struct hf_ticket_id evicted = fresh_id(), next = fresh_id();
    OPEN_CLIENT(a, &conformance_file);
    OPEN_CLIENT(b, &conformance_file);
    uint64_t token = take(a, evicted);

    assert_true(client_ask(b, HF_REQUEST_REMOVE, "q", evicted)->found);
    (void)take(b, next);
    assert_false(client_write_success(a, "q", evicted, token)->found);
    assert_true(client_read_success(b, "q", next)->success.token == 0);
    release(b, next);
}

static int refuse_sync(const char *request)
{
    return strcmp(request, "fdatasync") == 0 ? 5 /* EIO */ : 0;
}

/* A success that did not reach the disk was not written. */
FILE_TEST(a_disk_that_fails_is_an_error)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, &conformance_file);
    uint64_t token = take(a, id);
    struct client_request *request;

    hf_file_sys_hook = refuse_sync;
    request = client_start(a, HF_REQUEST_WRITE_SUCCESS, "q", id);
    (void)client_wait(a, request);
    hf_file_sys_hook = NULL;
    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_non_null(strstr(request->text, "success-"));
    assert_true(client_read_success(a, "q", id)->success.token == 0);
    assert_true(client_write_success(a, "q", id, token)->found);
    release(a, id);
}

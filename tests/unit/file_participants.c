/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of tests of double barriers in the file engine. */
#include "file_participants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "file_fixture.h"

struct hf_ticket_id participant_enter(struct engine_client *client)
{
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(client, BARRIER, id, HF_TICKET_PARTICIPANT, "me");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_non_null(client_request_find(request, id));
    return id;
}

void participant_leave(struct engine_client *client, struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_REMOVE, BARRIER, id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_true(request->found);
}

/* The answer to ${kind}, checked: see participants_list(). */
static struct client_request *expect_participants(struct engine_client *client,
                                                  enum hf_request_kind kind,
                                                  size_t participants,
                                                  bool has_flag)
{
    struct client_request *request =
        client_double_barrier(client, kind, BARRIER, fresh_id(), 0);
    size_t flags = 0;

    assert_int_equal(request->answer, HF_EVENT_LISTED);
    for (size_t i = 0; i < request->count; i++)
        flags += request->tickets[i].kind == HF_TICKET_READY;
    assert_int_equal(request->count, participants + flags);
    assert_int_equal(flags, has_flag);
    return request;
}

struct client_request *participants_list(struct engine_client *client,
                                         size_t participants, bool has_flag)
{
    return expect_participants(client, HF_REQUEST_LIST, participants, has_flag);
}

struct client_request *participants_look(struct engine_client *client,
                                         size_t participants, bool has_flag)
{
    return expect_participants(client, HF_REQUEST_WATCH_QUEUE, participants,
                               has_flag);
}

struct client_request *participants_new_generation(struct engine_client *client,
                                                   struct hf_ticket_id id,
                                                   uint32_t limit)
{
    return client_double_barrier(client, HF_REQUEST_NEW_GENERATION, BARRIER, id,
                                 limit);
}

bool participants_clear(struct engine_client *client)
{
    struct client_request *request = client_double_barrier(
        client, HF_REQUEST_CLEAR_FLAG, BARRIER, fresh_id(), 0);

    assert_int_equal(request->answer, HF_EVENT_FLAG_UPDATED);
    return request->found;
}

void participants_path(const char *file, char path[BARRIER_PATH_BYTES])
{
    char directory[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path(BARRIER, directory);
    (void)snprintf(path, BARRIER_PATH_BYTES, "%s/%s", directory, file);
}

bool participants_has(const char *file)
{
    char path[BARRIER_PATH_BYTES];
    struct stat status;

    participants_path(file, path);
    return lstat(path, &status) == 0;
}

unsigned participants_files(void)
{
    char path[CONFORMANCE_FILE_PATH_BYTES];

    conformance_file_path(BARRIER, path);
    return count_files(path);
}

static void enter(void *nothing)
{
    (void)nothing;
    (void)participant_enter(client_open(&conformance_file));
}

pid_t participant_victim_start(void)
{
    return victim_start_process(enter, NULL);
}

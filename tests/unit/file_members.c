/* SPDX-License-Identifier: Apache-2.0 */
#include "file_members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "file_story.h"

struct hf_ticket_id crew_come(struct seat *seat)
{
    struct hf_ticket_id id = fresh_id();
    struct call *call =
        seat_enqueue(seat, CREW, id, HF_TICKET_PARTICIPANT, "me");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_non_null(call_find(call, id));
    return id;
}

void crew_go(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_REMOVE, CREW, id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_true(call->found);
}

static struct call *see(struct seat *seat, enum hf_request_kind kind,
                        size_t members, bool marked)
{
    struct call *call = seat_members(seat, kind, CREW, fresh_id(), 0);
    size_t marks = 0;

    assert_int_equal(call->answer, HF_EVENT_LISTED);
    for (size_t i = 0; i < call->count; i++)
        marks += call->tickets[i].kind == HF_TICKET_READY;
    assert_int_equal(call->count, members + marks);
    assert_int_equal(marks, marked);
    return call;
}

struct call *crew_list(struct seat *seat, size_t members, bool marked)
{
    return see(seat, HF_REQUEST_LIST, members, marked);
}

struct call *crew_look(struct seat *seat, size_t members, bool marked)
{
    return see(seat, HF_REQUEST_WATCH_QUEUE, members, marked);
}

struct call *crew_stamp(struct seat *seat, struct hf_ticket_id id,
                        uint32_t limit)
{
    return seat_members(seat, HF_REQUEST_NEW_GENERATION, CREW, id, limit);
}

bool crew_lower(struct seat *seat)
{
    struct call *call =
        seat_members(seat, HF_REQUEST_CLEAR_FLAG, CREW, fresh_id(), 0);

    assert_int_equal(call->answer, HF_EVENT_FLAG_UPDATED);
    return call->found;
}

void crew_path(const char *file, char path[CREW_PATH_BYTES])
{
    char directory[BENCH_FILE_PATH_BYTES];

    bench_file_path(CREW, directory);
    (void)snprintf(path, CREW_PATH_BYTES, "%s/%s", directory, file);
}

bool crew_has(const char *file)
{
    char path[CREW_PATH_BYTES];
    struct stat status;

    crew_path(file, path);
    return lstat(path, &status) == 0;
}

unsigned crew_files(void)
{
    char path[BENCH_FILE_PATH_BYTES];

    bench_file_path(CREW, path);
    return story_files(path);
}

static void come(void *nothing)
{
    (void)nothing;
    (void)crew_come(seat_open(&bench_file));
}

pid_t crew_victim_start(void)
{
    return story_victim_start(come, NULL);
}

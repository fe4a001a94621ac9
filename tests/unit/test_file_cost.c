/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that a ticket makes on its way through a queue. close()
 * and the waiting of the loop do not count; docs/engine-file.md has both. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "conformance/conformance_file.h"
#include "conformance/engine_client.h"
#include "engines/file/syscalls.h"
#include "file_fixture.h"

#define CALLS_BYTES 512

/* In a directory that exists and is open. */
#define ENQUEUE                                                                \
    "flock lstat lstat symlinkat mkfifoat openat fstat flock renameat lseek "  \
    "getdents getdents flock"

static char calls[CALLS_BYTES];

static int note_call(const char *request)
{
    size_t used = strlen(calls);

    assert_true(used + strlen(request) + 2 <= sizeof(calls));
    (void)snprintf(calls + used, sizeof(calls) - used, "%s%s",
                   used > 0 ? " " : "", request);
    return 0;
}

static void begin_noting(void)
{
    calls[0] = '\0';
    hf_file_sys_hook = note_call;
}

static void assert_noted(const char *expected)
{
    hf_file_sys_hook = NULL;
    assert_string_equal(calls, expected);
}

static struct hf_ticket_id enqueue(struct engine_client *client,
                                   enum hf_ticket_kind kind)
{
    struct hf_ticket_id id = fresh_id();

    assert_int_equal(client_enqueue(client, "q", id, kind, "me")->answer,
                     HF_EVENT_ENQUEUED);
    return id;
}

static void leave(struct engine_client *client, struct hf_ticket_id id)
{
    assert_true(client_ask(client, HF_REQUEST_REMOVE, "q", id)->found);
}

static struct client_request *watch(struct engine_client *client,
                                    struct hf_ticket_id id,
                                    enum hf_ticket_kind kind)
{
    const struct hf_ticket ticket = {.id = id, .kind = kind};
    struct client_request *request = client_watch(client, "q", &ticket);

    assert_int_equal(request->answer, HF_EVENT_WATCHING);
    return request;
}

/* The directory exists and is open from the second time on. */
FILE_TEST(nobody_else)
{
    OPEN_CLIENT(client, &conformance_file);
    struct hf_ticket_id id = enqueue(client, HF_TICKET_MUTEX);

    leave(client, id);
    begin_noting();
    id = enqueue(client, HF_TICKET_MUTEX);
    assert_noted(ENQUEUE);
    begin_noting();
    leave(client, id);
    assert_noted("unlink unlink");
}

/* In a root that others may write to, the counter is read and written. */
FILE_TEST(nobody_else_in_a_shared_root)
{
    struct engine_client *client;
    struct hf_ticket_id id;

    conformance_file_share();
    client = client_open(&conformance_file);
    id = enqueue(client, HF_TICKET_MUTEX);
    leave(client, id);
    begin_noting();
    id = enqueue(client, HF_TICKET_MUTEX);
    assert_noted(
        "flock lstat flock lstat pread pwrite flock symlinkat "
        "mkfifoat openat fstat fchmod fstat flock renameat pread lseek "
        "getdents getdents pread flock");
    leave(client, id);
    client_close(client);
}

/* The descriptor of inotify is below those of the tickets. */
FILE_TEST(a_ticket_is_watched)
{
    OPEN_CLIENT(client, &conformance_file);
    struct hf_ticket_id id = enqueue(client, HF_TICKET_MUTEX);

    (void)watch(client, id, HF_TICKET_MUTEX);
    leave(client, id);
    begin_noting();
    id = enqueue(client, HF_TICKET_MUTEX);
    assert_noted(ENQUEUE);
    leave(client, id);
}

/* Each ticket keeps one descriptor, also behind another of its session. */
FILE_TEST(descriptors)
{
    OPEN_CLIENT(client, &conformance_file);
    unsigned before;

    (void)enqueue(client, HF_TICKET_MUTEX);
    before = count_descriptors();
    for (unsigned i = 1; i <= 3; i++) {
        (void)enqueue(client, HF_TICKET_MUTEX);
        assert_int_equal(count_descriptors(), before + i);
    }
}

/* The third of three tickets, which is admitted when the second leaves: the
 * calls of that, those of leaving among them. */
static void hand_over(enum hf_ticket_kind kind, const char *in_its_turn)
{
    struct engine_client *clients[3];
    struct hf_ticket_id ids[3];
    struct client_request *other, *list;

    for (size_t i = 0; i < 3; i++)
        clients[i] = client_open(&conformance_file);
    leave(clients[2], enqueue(clients[2], kind));
    for (size_t i = 0; i < 2; i++)
        ids[i] = enqueue(clients[i], kind);
    begin_noting();
    ids[2] = enqueue(clients[2], kind);
    assert_noted(ENQUEUE " open flock readlinkat");
    begin_noting();
    other = watch(clients[2], ids[1], kind);
    assert_noted("");
    begin_noting();
    (void)watch(clients[2], ids[2], kind);
    assert_noted("lstat");
    leave(clients[0], ids[0]);
    assert_int_equal(
        client_ask(clients[1], HF_REQUEST_LIST, "q", ids[1])->count, 1);
    /* Without a turn of the loop, in which the watch of its own ticket might
     * be set. */
    begin_noting();
    leave(clients[1], ids[1]);
    assert_int_equal(other->gone, 1);
    list = client_start(clients[2], HF_REQUEST_LIST, "q", ids[2]);
    assert_noted(in_its_turn);
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, 1);
    for (size_t i = 3; i-- > 0;)
        client_close(clients[i]);
}

FILE_TEST(a_mutex_is_handed_over)
{
    hand_over(HF_TICKET_MUTEX, "unlink unlink fstat lstat lstat");
}

/* It checks whether the writer has become a reader. */
FILE_TEST(a_write_lock_is_handed_over)
{
    hand_over(HF_TICKET_WRITE, "unlink unlink fstat lstat lstat lstat");
}

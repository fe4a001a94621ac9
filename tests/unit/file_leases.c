/* SPDX-License-Identifier: Apache-2.0 */
#include "file_leases.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct hf_ticket_id leases_take(struct seat *seat, uint32_t weight)
{
    struct hf_ticket_id id = fresh_id();
    struct call *call = seat_lease(seat, LEASES, id, weight);

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call_find(call, id)->weight, weight);
    return id;
}

bool leases_leave(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_REMOVE, LEASES, id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    return call->found;
}

struct call *leases_look(struct seat *seat, size_t expected)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *call = seat_ask(seat, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);

    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_int_equal(call->count, expected);
    return call;
}

void leases_expect_nothing(struct seat *seat, const struct call *call)
{
    seat_settle(seat);
    assert_int_equal(call->gone, 0);
}

unsigned leases_open_in_root(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const char *root = bench_file_root();
    const struct dirent *found;
    unsigned count = 0;

    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL) {
        char target[BENCH_FILE_PATH_BYTES] = "";

        (void)readlinkat(dirfd(dir), found->d_name, target, sizeof(target) - 1);
        if (strncmp(target, root, strlen(root)) == 0)
            count++;
    }
    (void)closedir(dir);
    return count;
}

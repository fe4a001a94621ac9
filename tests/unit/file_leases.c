/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of tests of leases in the file engine. */
#include "file_leases.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct hf_ticket_id leases_take(struct engine_client *client, uint32_t weight)
{
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = client_lease(client, LEASES, id, weight);

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(client_request_find(request, id)->weight, weight);
    return id;
}

bool leases_leave(struct engine_client *client, struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_REMOVE, LEASES, id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    return request->found;
}

struct client_request *leases_look(struct engine_client *client,
                                   size_t expected)
{
    struct hf_ticket_id nobody = {{0}};
    struct client_request *request =
        client_ask(client, HF_REQUEST_WATCH_QUEUE, LEASES, nobody);

    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_int_equal(request->count, expected);
    return request;
}

void leases_expect_nothing(struct engine_client *client,
                           const struct client_request *request)
{
    client_drain(client);
    assert_int_equal(request->gone, 0);
}

unsigned leases_open_in_root(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const char *root = conformance_file_root();
    const struct dirent *found;
    unsigned count = 0;

    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL) {
        char target[CONFORMANCE_FILE_PATH_BYTES] = "";

        (void)readlinkat(dirfd(dir), found->d_name, target, sizeof(target) - 1);
        if (strncmp(target, root, strlen(root)) == 0)
            count++;
    }
    (void)closedir(dir);
    return count;
}

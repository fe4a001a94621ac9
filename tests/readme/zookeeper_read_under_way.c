/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with the program of docs/zookeeper-migrating.md by
 * --wrap=hf_zookeeper_get_start, so that a test decides when its first read
 * begins, and sees how each of its reads ends.  On standard error it says
 * "reading" and waits for a line on standard input, and then "read: STATUS" of
 * each read. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/zookeeper.h>

/* The callback of the program, while its read is under way. */
struct read {
    struct hf_zookeeper_done done;
};

hf_status __real_hf_zookeeper_get_start(struct hf_zookeeper *zookeeper,
                                        const char *path, uint64_t wait_ms,
                                        struct hf_zookeeper_done done);
hf_status __wrap_hf_zookeeper_get_start(struct hf_zookeeper *zookeeper,
                                        const char *path, uint64_t wait_ms,
                                        struct hf_zookeeper_done done);

static void ended(void *arg, const struct hf_zookeeper_result *result)
{
    struct read *read = arg;
    struct hf_zookeeper_done done = read->done;

    fprintf(stderr, "read: %s\n", hf_status_name(result->status));
    free(read);
    done.fn(done.arg, result);
}

hf_status __wrap_hf_zookeeper_get_start(struct hf_zookeeper *zookeeper,
                                        const char *path, uint64_t wait_ms,
                                        struct hf_zookeeper_done done)
{
    static bool begun; /* the first call is made before there are events */
    struct read *read = malloc(sizeof *read);
    const struct hf_zookeeper_done seen = {ended, read, NULL};

    if (read == NULL)
        abort();
    read->done = done;
    if (!begun) {
        begun = true;
        fprintf(stderr, "reading\n");
        if (getchar() == EOF)
            abort();
    }
    return __real_hf_zookeeper_get_start(zookeeper, path, wait_ms, seen);
}

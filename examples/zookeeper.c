/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of ZooKeeper: a counter that several programs raise, and a watch
 * that shows what happens to it.
 *
 *     cc zookeeper.c -o zookeeper $(pkg-config --cflags --libs holdfast)
 *     ./zookeeper zk://127.0.0.1:2181 /examples/counter
 *
 * Run it in two terminals: each shows the changes that the other makes.  Each
 * line of input adds 1; the end of the input (Ctrl-D) ends the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/zookeeper.h>

#define WAIT_MS 10000

/* Say why the last call failed. */
static int complain(void)
{
    fprintf(stderr, "%s\n", hf_last_error()->text);
    return 1;
}

/* Create the node ${path}, and the nodes above it if they are missing.  Nodes
 * that are there already, because another program was first, are fine. */
static hf_status create_with_parents(struct hf_zookeeper *zookeeper,
                                     const char *path)
{
    hf_status status = hf_zookeeper_create(
        zookeeper, path, NULL, 0, HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL);
    const char *slash = strrchr(path, '/');
    char *parent;

    if (status == HF_EEXISTS)
        return HF_OK;
    if (status != HF_EGONE || strcmp(path, "/") == 0)
        return status;
    /* There is no node above it.  "/" is the path of the URL. */
    parent =
        slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    if (parent == NULL)
        return HF_ENOMEM;
    status = create_with_parents(zookeeper, parent);
    free(parent);
    return status == HF_OK ? create_with_parents(zookeeper, path) : status;
}

/* The data of ${result} as a number.  They have no NUL at their end, and no
 * data are 0. */
static long number_of(const struct hf_zookeeper_result *result)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%.*s", (int)result->bytes,
                   result->data != NULL ? (const char *)result->data : "");
    return strtol(text, NULL, 10);
}

/* Add 1 to the number at ${path}.  The server refuses the set if the version is
 * not the one that was read: then another program was faster, so read again. */
static hf_status add_one(struct hf_zookeeper *zookeeper, const char *path)
{
    struct hf_zookeeper_result *result;
    hf_status status;
    char text[32];

    do {
        status = hf_zookeeper_get(zookeeper, path, WAIT_MS, &result);
        if (status == HF_OK) {
            (void)snprintf(text, sizeof text, "%ld", number_of(result) + 1);
            status = hf_zookeeper_set(zookeeper, path, text, strlen(text),
                                      result->stat.version, WAIT_MS, NULL);
        }
        hf_zookeeper_result_free(result);
    } while (status == HF_EVERSION);
    return status;
}

static const char *name_of(enum hf_zookeeper_event_kind kind)
{
    switch (kind) {
    case HF_ZOOKEEPER_CREATED:
        return "created";
    case HF_ZOOKEEPER_DELETED:
        return "deleted";
    case HF_ZOOKEEPER_CHANGED:
        return "changed";
    case HF_ZOOKEEPER_CHILDREN_CHANGED:
        return "children changed";
    default: /* RESYNC, and what later versions have: read again */
        return "read again";
    }
}

/* On a thread of the library. */
static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    (void)arg;
    printf("%s: %s\n", event->path, name_of(event->kind));
    fflush(stdout);
}

/* Set a watch that shows each event until it is freed. */
static hf_status watch(struct hf_zookeeper *zookeeper, const char *path,
                       struct hf_zookeeper_watch **watch)
{
    const struct hf_zookeeper_on_event show = {on_event, NULL, NULL};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    hf_status status = hf_zookeeper_watch_open(
        zookeeper, path, HF_ZOOKEEPER_WATCH_PERSISTENT, show, watch);

    if (status != HF_OK)
        return status;
    op.watch = *watch;
    return hf_zookeeper_run(zookeeper, &op, WAIT_MS, NULL);
}

/* Add 1 for each line of input. */
static int count_lines(struct hf_zookeeper *zookeeper, const char *path)
{
    struct hf_zookeeper_watch *watching = NULL;
    hf_status status = create_with_parents(zookeeper, path);
    char line[256];

    if (status == HF_OK)
        status = watch(zookeeper, path, &watching);
    if (status == HF_OK) {
        printf("watching %s\n", path);
        fflush(stdout);
    }
    while (status == HF_OK && fgets(line, sizeof line, stdin) != NULL)
        status = add_one(zookeeper, path);
    hf_zookeeper_watch_free(watching);
    return status == HF_OK ? 0 : complain();
}

int main(int argc, char **argv)
{
    const char *path = argc > 2 ? argv[2] : "/examples/counter";
    struct hf_zookeeper *zookeeper;
    int status;

    if (hf_zookeeper_open(argc > 1 ? argv[1] : "zk://127.0.0.1:2181", NULL,
                          &zookeeper) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    status = count_lines(zookeeper, path);
    hf_zookeeper_close(zookeeper);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle of ZooKeeper (holdfast/zookeeper.h) that a test drives.
 *
 *     zk_reader URL [read_only]
 *
 * It runs commands from standard input, one on each line, and answers each with
 * one line that begins with "=":
 *
 *     get PATH          = STATUS DATA
 *     create PATH DATA  = STATUS
 *     set PATH DATA     = STATUS
 *     sync PATH         = STATUS
 *     read_only         = 0 or 1
 *     session           = STATUS ID
 *     watch PATH        = STATUS    adds a persistent watch
 *     servers LIST      = STATUS    hf_zookeeper_set_servers()
 *     close             = STATUS    and the program ends
 *
 * The end of standard input is a close.  Between the answers there are lines
 * "state NAME", "event KIND PATH" and "log TEXT".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/zookeeper.h>

#define WAIT_MS 20000
#define LINE_BYTES 1024

static void on_state(void *arg, enum hf_state state)
{
    (void)arg;
    printf("state %s\n", hf_state_name(state));
}

static void on_log(void *arg, enum hf_log_level level, const char *text)
{
    (void)arg;
    (void)level;
    printf("log %s\n", text);
}

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    (void)arg;
    printf("event %d %s\n", (int)event->kind, event->path);
}

static void answer(hf_status status, const char *text)
{
    printf("= %s %s\n", hf_status_name(status), text);
}

static void get(struct hf_zookeeper *zookeeper, const char *path)
{
    struct hf_zookeeper_result *result;
    char data[LINE_BYTES] = "";
    hf_status status = hf_zookeeper_get(zookeeper, path, WAIT_MS, &result);

    if (result != NULL && result->data != NULL)
        (void)snprintf(data, sizeof data, "%.*s", (int)result->bytes,
                       (const char *)result->data);
    answer(status, data);
    hf_zookeeper_result_free(result);
}

static void session(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_session session;
    hf_status status = hf_zookeeper_session(zookeeper, &session);
    char id[32];

    (void)snprintf(id, sizeof id, "%" PRIx64, (uint64_t)session.id);
    answer(status, id);
}

/* The handle frees what is left of it when it is closed. */
static void watch(struct hf_zookeeper *zookeeper, const char *path)
{
    struct hf_zookeeper_on_event on = {on_event, NULL, NULL};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    static struct hf_zookeeper_watch *opened;
    hf_status status = hf_zookeeper_watch_open(
        zookeeper, path, HF_ZOOKEEPER_WATCH_PERSISTENT, on, &opened);

    op.watch = opened;
    if (status == HF_OK)
        status = hf_zookeeper_run(zookeeper, &op, WAIT_MS, NULL);
    answer(status, "");
}

static void run(struct hf_zookeeper *zookeeper, const char *command,
                const char *path, const char *data)
{
    if (strcmp(command, "get") == 0)
        get(zookeeper, path);
    else if (strcmp(command, "create") == 0)
        answer(hf_zookeeper_create(zookeeper, path, data, strlen(data),
                                   HF_ZOOKEEPER_PERSISTENT, WAIT_MS, NULL),
               "");
    else if (strcmp(command, "set") == 0)
        answer(hf_zookeeper_set(zookeeper, path, data, strlen(data),
                                HF_ZOOKEEPER_ANY_VERSION, WAIT_MS, NULL),
               "");
    else if (strcmp(command, "sync") == 0)
        answer(hf_zookeeper_sync(zookeeper, path, WAIT_MS), "");
    else if (strcmp(command, "read_only") == 0)
        printf("= %d\n", (int)hf_zookeeper_is_read_only(zookeeper));
    else if (strcmp(command, "session") == 0)
        session(zookeeper);
    else if (strcmp(command, "watch") == 0)
        watch(zookeeper, path);
    else if (strcmp(command, "servers") == 0)
        answer(hf_zookeeper_set_servers(zookeeper, path), "");
    else
        printf("= unknown command %s\n", command);
}

int main(int argc, char **argv)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    char line[LINE_BYTES], command[32], path[512], data[512];
    struct hf_zookeeper *zookeeper;

    if (argc < 2) {
        fprintf(stderr, "usage: zk_reader URL [read_only]\n");
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    opts.on_state.fn = on_state;
    opts.on_log.fn = on_log;
    opts.on_log.level = HF_LOG_INFO;
    opts.read_only = argc > 2;
    if (hf_zookeeper_open(argv[1], &opts, &zookeeper) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        command[0] = path[0] = data[0] = '\0';
        if (sscanf(line, "%31s %511s %511s", command, path, data) < 1)
            continue;
        if (strcmp(command, "close") == 0)
            break;
        run(zookeeper, command, path, data);
    }
    answer(hf_zookeeper_close(zookeeper), "");
    return 0;
}

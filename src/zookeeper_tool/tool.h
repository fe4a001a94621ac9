/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of `holdfast zk` share: the common options, the session
 * with the servers, windows of operations under way, and the printing of
 * failures.
 *
 * A command first reads all of its words, so that a wrong word is refused
 * before a connection is made.  All callbacks of the library run in
 * hf_tool_dispatch(), on the one thread of the program, so no command needs a
 * lock.
 */
#ifndef HF_ZOOKEEPER_TOOL_TOOL_H
#define HF_ZOOKEEPER_TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/zookeeper.h>

#include "command/command_line.h"
#include "zookeeper_tool/operand.h"

/* The options that all commands have.  This must be the first field of the
 * options of each command. */
struct hf_tool_common {
    const char *url;  /* NULL: HOLDFAST_URL */
    uint64_t wait_ms; /* how long to wait for the connection, and each answer */
    bool json;
};
#define HF_TOOL_COMMON_INIT                                                    \
    {                                                                          \
        NULL, 15000, false                                                     \
    }

#define HF_TOOL_COMMON_FIELD(field)                                            \
    HF_OPTION_FIELD(struct hf_tool_common, field)

/* The rows of the common options. */
#define HF_TOOL_OPTIONS                                                        \
    HF_OPTION('c', "url", "URL", hf_option_url, HF_TOOL_COMMON_FIELD(url),     \
              .help = "the servers, such as zk://h1,h2, or @PROFILE; else "    \
                      "HOLDFAST_URL"),                                         \
        HF_OPTION('w', "timeout", "DURATION", hf_option_wait,                  \
                  HF_TOOL_COMMON_FIELD(wait_ms),                               \
                  .help = "wait at most so long for an answer; else 15s")

/* The row of --json, for commands that have it. */
#define HF_TOOL_JSON_OPTION                                                    \
    HF_OPTION('j', "json", NULL, hf_option_set, HF_TOOL_COMMON_FIELD(json),    \
              .set = true, .help = "write JSON")

/* A session with the servers. */
struct hf_tool {
    struct hf_zookeeper *zookeeper;
    uint64_t wait_ms;
    bool has_chroot; /* the URL has a path, so "/" is that node and not the
                        root */
    bool was_lost;   /* the session has ended */
    int exit_code;   /* the exit status if it could not be opened */
};

/* Open a session with the servers of ${common}.  If that fails, print an error,
 * set .exit_code and return false. */
bool hf_tool_open(const struct hf_tool_common *common, struct hf_tool *tool);

/* How many milliseconds to wait for an operation that is started now.  While
 * there is no connection this is twice .wait_ms, so that a failure to connect
 * is reported as such and not as a timeout of the operation. */
uint64_t hf_tool_wait(const struct hf_tool *tool);

/* End the session.  Returns ${exit_code}, so that a command ends in one line.
 */
int hf_tool_close(struct hf_tool *tool, int exit_code);

/* Wait until ${fd} is readable or callbacks have run; -1 means no descriptor.
 * True if ${fd} is readable. */
bool hf_tool_dispatch(struct hf_tool *tool, int fd);

/* Block SIGINT, SIGTERM and SIGHUP, and return a descriptor that becomes
 * readable when one of them arrives; -1 after printing an error.  To be called
 * before hf_tool_open(), so that no thread of the library gets the signals. */
int hf_tool_signal_fd(void);

/* The exit status for ${status}.  HF_EXIT_CONDITION if the node is missing,
 * exists, has another version or has children; else as for other commands of
 * holdfast. */
int hf_tool_exit_status(hf_status status);

/* Copy hf_last_error() to ${error}, without the name of the library call. */
void hf_tool_error(struct hf_error *error);

/* Print hf_last_error(), with which the last library call failed.  Returns the
 * exit status for ${status}. */
int hf_tool_fail(hf_status status);

/* Print the text of ${error}.  Returns the exit status for it. */
int hf_tool_fail_error(const struct hf_error *error);

/* The text of ${result}, a result in a multi, without the number of the
 * operation, because commands print the number of a line instead. */
const char *hf_tool_text_in_multi(const struct hf_zookeeper_result *result);

/* Print that no memory is left.  Returns the exit status. */
int hf_tool_fail_memory(void);

/* ---------------------------------------------------------------- paths -- */

/* Create the nodes above ${path} that are missing, without data.  HF_OK, or the
 * status with which a library call failed. */
hf_status hf_tool_create_parents(struct hf_tool *tool, const char *path);

/* Sort ${count} ${names}, byte by byte. */
void hf_tool_sort(const char **names, size_t count);

/* ---------------------------------------- operations under way together -- */

/*
 * At most 256 operations of a command are under way at the same time.
 *
 * The servers carry out the operations of a session in the order in which they
 * were started.  So a command need not wait for one operation before it starts
 * the next, and does not wait a round trip for each node.
 */

/* Called with each result of a window.  ${tag} is the tag with which the
 * operation was started. */
typedef void hf_tool_on_result(void *arg, size_t tag,
                               const struct hf_zookeeper_result *result);

struct hf_tool_window {
    struct hf_tool *tool;
    hf_tool_on_result *on_result;
    void *arg;
    size_t pending;        /* operations that have not ended */
    hf_status ignored;     /* a status that does not count as a failure; HF_OK:
                              none */
    struct hf_error error; /* the error of the first operation that failed */
};

/* Initialise ${window}, which is then empty.  Operations that end with
 * ${ignored} do not count as failed.  ${on_result} may be NULL. */
void hf_tool_window_init(struct hf_tool_window *window, struct hf_tool *tool,
                         hf_status ignored, hf_tool_on_result *on_result,
                         void *arg);

/* Wait until there is room in ${window}, and start ${op}.  If an operation of
 * ${window} has failed, return its status, which is in ${window}->error, and do
 * not start ${op}. */
hf_status hf_tool_window_start(struct hf_tool_window *window,
                               const struct hf_zookeeper_op *op, size_t tag);

/* Wait until all operations of ${window} have ended.  Must be called before
 * ${window} goes out of scope.  Returns ${window}->error.status. */
hf_status hf_tool_window_finish(struct hf_tool_window *window);

#endif

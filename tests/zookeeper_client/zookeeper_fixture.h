/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle of the public client on a real server, which serve.py runs beside
 * the program, and a record of the callbacks in the order in which they came.
 *
 * Each test has a chroot of its own, so that no test sees nodes of another.
 */
#ifndef HF_TESTS_ZOOKEEPER_FIXTURE_H
#define HF_TESTS_ZOOKEEPER_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <holdfast/zookeeper.h>

/* The time of an operation that must succeed. */
#define WAIT_MS 20000

#define LOG_LINES 4096
#define LOG_LINE_BYTES 64

/* Callbacks in the order in which they came, one line of text for each.  Any
 * thread may write. */
struct callback_log {
    pthread_mutex_t lock;
    size_t count;
    char lines[LOG_LINES][LOG_LINE_BYTES];
};

struct zookeeper_fixture {
    char chroot[32]; /* "/test-N" */
    struct hf_zookeeper *zookeeper;
    struct callback_log log;
    struct callback_log states; /* of .zookeeper */
};

/* The setup and the teardown of a test: a new chroot, whose node is there, and
 * a handle on it.  The teardown fails the test if the handle cannot be
 * closed. */
int zookeeper_setup(void **state);
int zookeeper_teardown(void **state);

/* Open another handle.  ${user} stands in front of the servers, such as
 * "u:p@", or is ""; ${options} follows the chroot, such as "?timeout=4s". */
struct hf_zookeeper *zookeeper_open(const struct zookeeper_fixture *f,
                                    const char *user, const char *options,
                                    const struct hf_zookeeper_opts *opts);

/* Replace the handle of the fixture by one with ${opts}, whose states are
 * recorded. */
void zookeeper_reopen(struct zookeeper_fixture *f,
                      const struct hf_zookeeper_opts *opts);

/* Carry out ${op} on ${zookeeper} and fail the test if it does not end with
 * ${wanted}.  The result must be freed. */
struct hf_zookeeper_result *zookeeper_do(struct hf_zookeeper *zookeeper,
                                         const struct hf_zookeeper_op *op,
                                         hf_status wanted);

/* The same without the result. */
void zookeeper_expect(struct hf_zookeeper *zookeeper,
                      const struct hf_zookeeper_op *op, hf_status wanted);

/* Create ${path} with ${text} as data, or "" for no bytes. */
void zookeeper_make(struct hf_zookeeper *zookeeper, const char *path,
                    const char *text);

/* Fail the test if the data of ${path} are not ${text}. */
void zookeeper_expect_data(struct hf_zookeeper *zookeeper, const char *path,
                           const char *text);

/* The text of the last error of this thread must contain ${part}. */
void zookeeper_expect_error(const char *part);

/* ------------------------------------------------------------ the record -- */

__attribute__((format(printf, 2, 3))) void log_add(struct callback_log *log,
                                                   const char *format, ...);

size_t log_count(struct callback_log *log);

/* The index of the first line at or behind ${from} that is ${line}; LOG_LINES
 * if there is none. */
size_t log_find(struct callback_log *log, size_t from, const char *line);

/* Wait until there are ${count} lines, or a line behind ${from} that is
 * ${line}; fails the test after WAIT_MS. */
void log_await(struct callback_log *log, size_t count);
size_t log_await_line(struct callback_log *log, size_t from, const char *line);

/* Fail the test if the lines from ${from} on are not ${lines}, which ends with
 * NULL. */
void log_expect(struct callback_log *log, size_t from,
                const char *const *lines);

/* A name for lines, and the record that they go to. */
struct log_name {
    struct callback_log *log;
    const char *name;
};

/* Callbacks that add "NAME STATUS" or "NAME EVENT PATH", and "NAME dropped". */
struct hf_zookeeper_done log_done(struct log_name *name);
struct hf_zookeeper_on_event log_events(struct log_name *name);

/* Wait until ${condition} holds; fails the test after WAIT_MS. */
void wait_for(bool (*condition)(void *arg), void *arg);

#endif

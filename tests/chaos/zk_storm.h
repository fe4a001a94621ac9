/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of zk_client_storm share: a handle of the storm, the requests
 * that it makes, and the lines that it writes.
 */
#ifndef HF_TESTS_CHAOS_ZK_STORM_H
#define HF_TESTS_CHAOS_ZK_STORM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>
#include <holdfast/zookeeper_retry.h>

#define REGISTERS 4
#define NODES 4
#define PLANS 12 /* watches that a handle may have */
#define SUBS_MAX 4
#define PATH_BYTES 16
#define DATA_BYTES 64
#define CACHES 5   /* caches that a handle may have */
#define CREATED 16 /* protected creates of a handle that are deleted later */
#define PROTECTED_PATH_BYTES 96
#define PROCESSES 8 /* and two handles of each may have a registration */

/* Long enough for everything to end after the last fault. */
#define LAST_WAIT_MS 60000

/* A watch of a handle. */
struct storm_watch {
    struct hf_zookeeper_watch *watch; /* NULL: not open */
    unsigned number;
    bool is_set; /* or is being set */
};

/* A cache of a handle, and the argument of its callback. */
struct storm_cache {
    struct storm_handle *handle;
    _Atomic(struct hf_zookeeper_cache *) cache; /* NULL: not set yet */
    unsigned number;
    uint64_t random;  /* of its callbacks */
    hf_status waited; /* the end of the last wait */
};

/* A node that a protected create has made. */
struct created {
    char path[PROTECTED_PATH_BYTES]; /* "": none */
    char data[DATA_BYTES];
};

/* A handle, with the threads that use it. */
struct storm_handle {
    unsigned number;
    const char *name; /* of the process */
    struct hf_zookeeper *zookeeper;
    bool quiet;
    bool dispatches;
    pthread_t starter, caller, dispatcher;
    atomic_bool dispatched;                    /* the dispatcher has to end */
    uint64_t random;                           /* of the thread that starts */
    uint64_t caller_random, dispatcher_random; /* of the other threads */
    atomic_uint next;                          /* number of an operation */
    atomic_uint under_way;                     /* of those with a callback */
    atomic_uint started, refused, ended, dropped; /* the same */
    atomic_int versions[REGISTERS];               /* as last seen */
    /* Taken around each start, so that the lines have the order of the starts,
     * and for what follows. */
    pthread_mutex_t lock;
    struct storm_watch watches[PLANS];
    unsigned next_watch;
    struct created created[CREATED];
    /* Only the thread that starts operations uses this one. */
    unsigned
        kept_number; /* of the write that is retried and may be cancelled */
    /* Only the thread that makes calls uses these, and the main one after its
     * end. */
    bool one_shot; /* it takes the servers for ones without AddWatch */
    struct storm_cache *caches[CACHES]; /* NULL: not open */
    unsigned next_cache;
    /* The registration, of the thread that starts, and then of the main one. */
    struct hf_zookeeper_registration *registration; /* NULL: none */
    char registered_path[PATH_BYTES];
    char registered_data[DATA_BYTES];
    unsigned next_registered;
};

/* A request with the memory that it points to. */
struct request {
    struct hf_zookeeper_op op;
    struct hf_zookeeper_op subs[SUBS_MAX];
    char paths[SUBS_MAX][PATH_BYTES];
    char data[SUBS_MAX][DATA_BYTES];
    uint64_t wait_ms;
    unsigned watch; /* number; 0: none */
};

/* ----------------------------------------------- zk_storm_requests.c -- */

/* Below ${bound}. */
unsigned draw(uint64_t *random, unsigned bound);

/* True in ${percent} of 100 cases. */
bool chance(uint64_t *random, unsigned percent);

/* Make ${request} one of ${kind} for ${path}, with data of its own if it writes
 * some.  ${number} is that of the operation. */
void plan_one(const struct storm_handle *handle, struct request *request,
              enum hf_zookeeper_op_kind kind, const char *path,
              unsigned number);

/* Make ${request} any operation. */
void plan_any(const struct storm_handle *handle, struct request *request,
              unsigned number, uint64_t *random);

/* ------------------------------------------------- zk_storm_caches.c -- */

/* Open some of the caches that ${handle} may have. */
void open_caches(struct storm_handle *handle);

/* Free some cache and open another one in its place, now and then, and ask the
 * others what they have. */
void use_caches(struct storm_handle *handle);

/* ${handle} has written ${path}, whose Stat has ${mzxid} since: see that a
 * cache has it after a wait. */
void await_in_caches(struct storm_handle *handle, const char *path,
                     int64_t mzxid);

/* Wait until the caches have read everything, and write down all that they
 * have. */
void await_caches(struct storm_handle *handle);
void list_caches(struct storm_handle *handle);

/* Free those from number ${first} on, in steps of ${step}. */
void free_caches(struct storm_handle *handle, size_t first, size_t step);

/* ------------------------------------------ zk_storm_registrations.c -- */

/* Open the registration of ${handle}, or none. */
void open_registration(struct storm_handle *handle);

/* Give the node other data, now and then. */
void use_registration(struct storm_handle *handle);

/* Wait until the node is there, and write down what it has to be. */
void check_registration(struct storm_handle *handle);

/* Free it.  ${closes}: with a close that waits. */
void free_registration(struct storm_handle *handle, bool closes);

/* ------------------------------------------------ zk_storm_retries.c -- */

/* Carry out a write that is retried, and wait for it, or start it.  ${kept} is
 * set to what cancels it. */
void run_retried(struct storm_handle *handle);
void start_retried(struct storm_handle *handle, struct hf_op **kept);

/* Start an update of a counter. */
void start_update(struct storm_handle *handle);

/* ------------------------------------------------ zk_storm_history.c -- */

/* Write the lines to ${path} from now on. */
void history_open(const char *path);
void history_flush(void);
void history_close(void);

/* Print what is wrong, and abort. */
void fail(const char *what);

/* Memory of ${bytes}; without any the program fails. */
void *alloc_or_fail(size_t bytes);

/* CLOCK_BOOTTIME in microseconds. */
uint64_t now_us(void);

/* Write one line. */
__attribute__((format(printf, 1, 2))) void write_line(const char *format, ...);
void write_start(const struct storm_handle *handle, unsigned number, char how,
                 const struct request *request);
void write_end(const struct storm_handle *handle, unsigned number,
               const struct hf_zookeeper_result *result);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zk_client_storm URL HISTORY SEED NAME HANDLES STEP: use the public ZooKeeper
 * client in every possible way, and write down what was asked and what came.
 *
 * STEP is "prepare": create the nodes; "storm": operations on HANDLES handles;
 * "walk": list all nodes; or "final": read every node, and list all.  All
 * handles of a process, and of all processes of a storm, use the same few
 * nodes:
 *
 *     /r0 ... /r3      registers, which are set and read and never deleted
 *     /d               a node whose children are created and deleted
 *     /d/n0 ... /d/n3  these
 *     /c0, /c1         counters (zk_storm_retries.c)
 *     /p               what protected creates make (the same)
 *     /g               registrations (zk_storm_registrations.c)
 *
 * Every write has data that no other write has: NAME.HANDLE.NUMBER.
 *
 * A storm begins to end with a line "quiet" of standard input: everything that
 * was started ends, and "quiet" is printed.  After "check" the process writes
 * down what its caches and registrations have, and prints "checked".  At the
 * end of standard input it closes its handles.
 *
 * One thread of a handle starts operations, up to 100 under way, and one makes
 * calls that wait.  One in three handles is quiet: it asks for little, so that
 * the last thing that its connection brings is often an event, and it reads
 * after an event when that connection has ended.  The callbacks of a handle
 * with an even number come on the library's thread, and those of the others on
 * a thread that dispatches them, at times late.
 *
 * HISTORY has one line for each thing that happened.  US is CLOCK_BOOTTIME in
 * microseconds, H a handle, N an operation of it, W a watch of it.  The lines e
 * of started operations, w and t of a handle are in the order of its callbacks,
 * and its lines s, with how "a", in the order in which the operations were
 * started:
 *
 *     s H N US HOW PRIORITY WAIT_MS W WHAT {KIND PATH VERSION DATA}
 *         starts.  HOW is a (callback) or b (a call that waits), W is 0 without
 *         a watch, WHAT is op, multi or mread
 *     x H N STATUS      it was refused
 *     e H N US STATUS ZXID WATCHING
 *         {STATUS CZXID MZXID PZXID VERSION DATA CHILDREN}
 *         it ended.  CZXID is 0 without a Stat, DATA and CHILDREN are - without
 *     v H W KIND PATH   a watch was opened
 *     w H W US KIND PATH  its event
 *     F H W             it is about to be freed
 *     f H W             it was freed
 *     t H US STATE
 *     k H C MODE DEPTH WITHOUT_DATA PATH   a cache was opened; DEPTH is -1 for
 *                         a tree, MODE recursive or one-shot
 *     j H C KIND PATH BEFORE AFTER  its event.  BEFORE and AFTER are
 *                         CZXID MZXID VERSION DATA, or 0 0 0 - without a node
 *     Q H C N MZXID PATH  it is asked what it has of PATH, which has MZXID or a
 *                         later one
 *     A H C N STATUS CZXID MZXID VERSION DATA   and answers
 *     z H C             it was freed
 *     K H C STATUS UNREADABLE   it was waited for in the end, and has
 *     i H C PATH CZXID MZXID VERSION DATA   these nodes
 *     r H KIND STATUS CZXID OWNER   an event of the registration
 *     G H STATUS SESSION PATH DATA  the registration was waited for in the end,
 *                         and has to be like this; - without one
 *     h H STATUS PATH   it was closed
 *     o H N HOW WAIT_MS KIND MODE PATH DATA   a write that is retried begins;
 *                         DATA is unique, and of a delete that of the node
 *     p H N STATUS CZXID MZXID VERSION OWNER PATH   it ended; - without a path
 *     X H N             it is cancelled
 *     n H PATH CZXID MZXID VERSION OWNER DATA   a node, in a list of all
 *     c H US STARTED REFUSED ENDED DROPPED   it was closed; counts of what had
 *                         a callback, and of the calls of .fn and .drop
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zk_storm.h"

#define HANDLES_MAX 8
#define UNDER_WAY_MAX 100

static const char *url;
static atomic_bool over;
static const char *name;

/* One watch that a handle may have, and the operation that sets it. */
struct watch_plan {
    enum hf_zookeeper_watch_kind kind;
    enum hf_zookeeper_op_kind sets;
    const char *path;
    unsigned chance; /* that a handle has it, in percent */
};

/* Several of them share a path, because servers before 3.9 keep one mode for
 * each path. */
static const struct watch_plan plans[PLANS] = {
    {HF_ZOOKEEPER_WATCH_DATA, HF_ZOOKEEPER_GET, "/r0", 70},
    {HF_ZOOKEEPER_WATCH_DATA, HF_ZOOKEEPER_GET, "/r1", 60},
    {HF_ZOOKEEPER_WATCH_DATA, HF_ZOOKEEPER_EXISTS, "/r2", 60},
    {HF_ZOOKEEPER_WATCH_DATA, HF_ZOOKEEPER_EXISTS, "/d/n0", 70},
    {HF_ZOOKEEPER_WATCH_DATA, HF_ZOOKEEPER_EXISTS, "/d/n1", 70},
    {HF_ZOOKEEPER_WATCH_CHILDREN, HF_ZOOKEEPER_CHILDREN, "/d", 70},
    {HF_ZOOKEEPER_WATCH_PERSISTENT, HF_ZOOKEEPER_ADD_WATCH, "/r1", 40},
    {HF_ZOOKEEPER_WATCH_PERSISTENT, HF_ZOOKEEPER_ADD_WATCH, "/r3", 50},
    {HF_ZOOKEEPER_WATCH_PERSISTENT, HF_ZOOKEEPER_ADD_WATCH, "/d", 40},
    {HF_ZOOKEEPER_WATCH_PERSISTENT, HF_ZOOKEEPER_ADD_WATCH, "/d/n1", 30},
    {HF_ZOOKEEPER_WATCH_RECURSIVE, HF_ZOOKEEPER_ADD_WATCH, "/d", 30},
    {HF_ZOOKEEPER_WATCH_RECURSIVE, HF_ZOOKEEPER_ADD_WATCH, "/", 20},
};
/* The argument of the callback of an operation. */
struct pending {
    struct storm_handle *handle;
    unsigned number;
    int shows;   /* the register whose version the answer shows; -1: none */
    size_t plan; /* PLANS: it sets no watch */
    unsigned watch;
};

/* The argument of the callback of a watch. */
struct watching {
    struct storm_handle *handle;
    size_t plan;
    unsigned number;
};

/* The pace of a thread; nothing is waited for. */
static void pass_ms(unsigned ms)
{
    (void)poll(NULL, 0, (int)ms);
}

/* -------------------------------------------------------------- starting -- */

static void operation_ended(void *arg,
                            const struct hf_zookeeper_result *result);

static void operation_dropped(void *arg)
{
    struct pending *pending = arg;

    atomic_fetch_add(&pending->handle->dropped, 1);
    atomic_fetch_sub(&pending->handle->under_way, 1);
    free(pending);
}

static int shown_register(const struct hf_zookeeper_op *op)
{
    return op->path != NULL && op->path[1] == 'r' ? op->path[2] - '0' : -1;
}

/* What the end of operation ${number} needs; operation_dropped() frees it. */
static struct pending *new_pending(struct storm_handle *handle,
                                   const struct request *request,
                                   unsigned number, size_t plan)
{
    struct pending *pending = alloc_or_fail(sizeof *pending);

    *pending = (struct pending){.handle = handle,
                                .number = number,
                                .shows = shown_register(&request->op),
                                .plan = plan,
                                .watch = request->watch};
    return pending;
}

/* Start ${request} as operation ${number}, with .lock.  ${op} may be NULL. */
static void start(struct storm_handle *handle, const struct request *request,
                  unsigned number, size_t plan, struct hf_op **op)
{
    const struct hf_zookeeper_done done = {
        operation_ended, new_pending(handle, request, number, plan),
        operation_dropped};
    hf_status status;

    write_start(handle, number, 'a', request);
    atomic_fetch_add(&handle->under_way, 1);
    status = hf_zookeeper_start(handle->zookeeper, &request->op,
                                request->wait_ms, done, op);
    if (status == HF_OK) {
        atomic_fetch_add(&handle->started, 1);
        return;
    }
    atomic_fetch_add(&handle->refused, 1);
    write_line("x %u %u %s", handle->number, number, hf_status_name(status));
}

/* --------------------------------------------------------------- watches -- */

/* Set the watch of ${plan}, unless it is set. */
static void set_watch(struct storm_handle *handle, size_t plan)
{
    struct storm_watch *watch = &handle->watches[plan];
    struct request request = {.wait_ms = HF_FOREVER};
    unsigned number;

    pthread_mutex_lock(&handle->lock);
    if (watch->watch != NULL && !watch->is_set && !atomic_load(&over)) {
        watch->is_set = true;
        number = atomic_fetch_add(&handle->next, 1);
        plan_one(handle, &request, plans[plan].sets, plans[plan].path, number);
        request.op.watch = watch->watch;
        request.watch = watch->number;
        start(handle, &request, number, plan, NULL);
    }
    pthread_mutex_unlock(&handle->lock);
}

/* Watch ${number} of ${plan} is not set any more. */
static void note_unset(struct storm_handle *handle, size_t plan,
                       unsigned number)
{
    pthread_mutex_lock(&handle->lock);
    if (handle->watches[plan].number == number)
        handle->watches[plan].is_set = false;
    pthread_mutex_unlock(&handle->lock);
}

static const char *event_name(enum hf_zookeeper_event_kind kind)
{
    static const char *const names[] = {
        [HF_ZOOKEEPER_CREATED] = "created",
        [HF_ZOOKEEPER_DELETED] = "deleted",
        [HF_ZOOKEEPER_CHANGED] = "changed",
        [HF_ZOOKEEPER_CHILDREN_CHANGED] = "children",
        [HF_ZOOKEEPER_RESYNC] = "resync",
    };

    return names[kind];
}

static bool is_one_shot(size_t plan)
{
    return plans[plan].kind == HF_ZOOKEEPER_WATCH_DATA ||
           plans[plan].kind == HF_ZOOKEEPER_WATCH_CHILDREN;
}

/* A one-shot watch is set again at once, but that of a quiet handle later, and
 * at the latest when the connection has ended. */
static void event_came(void *arg, const struct hf_zookeeper_event *event)
{
    const struct watching *watching = arg;
    struct storm_handle *handle = watching->handle;

    write_line("w %u %u %" PRIu64 " %s %s", handle->number, watching->number,
               now_us(), event_name(event->kind), event->path);
    if (!is_one_shot(watching->plan))
        return;
    note_unset(handle, watching->plan, watching->number);
    if (!handle->quiet)
        set_watch(handle, watching->plan);
}

static void open_watch(struct storm_handle *handle, size_t plan)
{
    static const char *const kinds[] = {
        [HF_ZOOKEEPER_WATCH_DATA] = "data",
        [HF_ZOOKEEPER_WATCH_CHILDREN] = "children",
        [HF_ZOOKEEPER_WATCH_PERSISTENT] = "persistent",
        [HF_ZOOKEEPER_WATCH_RECURSIVE] = "recursive",
    };
    struct storm_watch *watch = &handle->watches[plan];
    struct watching *watching = alloc_or_fail(sizeof *watching);
    const struct hf_zookeeper_on_event on_event = {event_came, watching, free};

    pthread_mutex_lock(&handle->lock);
    *watching = (struct watching){handle, plan, ++handle->next_watch};
    *watch = (struct storm_watch){.number = watching->number};
    write_line("v %u %u %s %s", handle->number, watch->number,
               kinds[plans[plan].kind], plans[plan].path);
    if (hf_zookeeper_watch_open(handle->zookeeper, plans[plan].path,
                                plans[plan].kind, on_event,
                                &watch->watch) != HF_OK)
        fail("a watch cannot be opened");
    pthread_mutex_unlock(&handle->lock);
}

/* Its callback may run and may want .lock, so the free comes without it. */
static void free_watch(struct storm_handle *handle, size_t plan)
{
    struct hf_zookeeper_watch *watch;
    unsigned number;

    pthread_mutex_lock(&handle->lock);
    watch = handle->watches[plan].watch;
    number = handle->watches[plan].number;
    handle->watches[plan] = (struct storm_watch){.watch = NULL};
    pthread_mutex_unlock(&handle->lock);
    if (watch == NULL)
        return;
    write_line("F %u %u", handle->number, number);
    hf_zookeeper_watch_free(watch);
    write_line("f %u %u", handle->number, number);
}

/* ------------------------------------------------------------- callbacks -- */

static void operation_ended(void *arg, const struct hf_zookeeper_result *result)
{
    const struct pending *pending = arg;
    struct storm_handle *handle = pending->handle;

    write_end(handle, pending->number, result);
    if (pending->shows >= 0 && result->has_stat)
        atomic_store(&handle->versions[pending->shows], result->stat.version);
    atomic_fetch_add(&handle->ended, 1);
    if (pending->plan == PLANS || result->watching)
        return;
    note_unset(handle, pending->plan, pending->watch);
    if (result->status == HF_ELOST)
        set_watch(handle, pending->plan);
}

/* Read what the persistent watch of ${plan} is about. */
static void read_again(struct storm_handle *handle, size_t plan)
{
    struct request request = {.wait_ms = HF_FOREVER};
    unsigned number;

    pthread_mutex_lock(&handle->lock);
    if (handle->watches[plan].watch != NULL && !atomic_load(&over)) {
        number = atomic_fetch_add(&handle->next, 1);
        plan_one(handle, &request, HF_ZOOKEEPER_EXISTS, plans[plan].path,
                 number);
        start(handle, &request, number, PLANS, NULL);
    }
    pthread_mutex_unlock(&handle->lock);
}

/* Start a read as soon as the connection has ended, so that it is the first
 * operation on the next one. */
static void state_changed(void *arg, enum hf_state state)
{
    struct storm_handle *handle = arg;

    write_line("t %u %" PRIu64 " %s", handle->number, now_us(),
               hf_state_name(state));
    if (state != HF_STATE_SUSPENDED)
        return;
    for (size_t plan = 0; plan < PLANS; plan++)
        if (is_one_shot(plan))
            set_watch(handle, plan);
        else
            read_again(handle, plan);
}

/* --------------------------------------------------------------- threads -- */

/* Free some watch and open another one in its place, now and then, and set what
 * is not set. */
static void see_to_watches(struct storm_handle *handle)
{
    size_t plan = draw(&handle->random, PLANS);

    if (handle->watches[plan].watch != NULL && chance(&handle->random, 4)) {
        free_watch(handle, plan);
        open_watch(handle, plan);
    }
    for (plan = 0; plan < PLANS; plan++)
        set_watch(handle, plan);
}

/* Start any operation.  One in 20 is cancelled when the next one of these is
 * started, or only its handle is freed. */
static void start_any(struct storm_handle *handle, struct hf_op **kept)
{
    unsigned number = atomic_fetch_add(&handle->next, 1);
    bool keep = chance(&handle->random, 5);
    struct request request = {.wait_ms = 0};

    if (keep && *kept != NULL) {
        if (chance(&handle->random, 70))
            hf_op_cancel(*kept);
        hf_op_free(*kept);
    }
    plan_any(handle, &request, number, &handle->random);
    pthread_mutex_lock(&handle->lock);
    start(handle, &request, number, PLANS, keep ? kept : NULL);
    pthread_mutex_unlock(&handle->lock);
}

/* How many to start at once. */
static unsigned draw_count(struct storm_handle *handle)
{
    if (handle->quiet)
        return chance(&handle->random, 15);
    return chance(&handle->random, 5) ? UNDER_WAY_MAX
                                      : draw(&handle->random, 5);
}

static void *start_operations(void *arg)
{
    struct storm_handle *handle = arg;
    struct hf_op *kept = NULL, *kept_retried = NULL;

    while (!atomic_load(&over)) {
        see_to_watches(handle);
        for (unsigned i = draw_count(handle);
             i > 0 && atomic_load(&handle->under_way) < UNDER_WAY_MAX; i--)
            start_any(handle, &kept);
        use_registration(handle);
        if (chance(&handle->random, 25))
            start_retried(handle, &kept_retried);
        pass_ms(handle->quiet ? 300 + draw(&handle->random, 1200)
                              : 20 + draw(&handle->random, 100));
    }
    hf_op_free(kept);
    hf_op_free(kept_retried);
    return NULL;
}

/* Carry out ${request} and wait for its end. */
static hf_status run(struct storm_handle *handle, const struct request *request,
                     unsigned number)
{
    struct hf_zookeeper_result *result;
    hf_status status;

    write_start(handle, number, 'b', request);
    status = hf_zookeeper_run(handle->zookeeper, &request->op, request->wait_ms,
                              &result);
    if (result != NULL)
        write_end(handle, number, result);
    else
        write_line("x %u %u %s", handle->number, number,
                   hf_status_name(status));
    if (status == HF_OK && request->op.kind == HF_ZOOKEEPER_SET)
        await_in_caches(handle, request->op.path, result->stat.mzxid);
    hf_zookeeper_result_free(result);
    return status;
}

static void *call_operations(void *arg)
{
    struct storm_handle *handle = arg;
    unsigned number;

    while (!atomic_load(&over)) {
        struct request request = {.wait_ms = 0};

        number = atomic_fetch_add(&handle->next, 1);
        plan_any(handle, &request, number, &handle->caller_random);
        (void)run(handle, &request, number);
        use_caches(handle);
        if (chance(&handle->caller_random, 15))
            run_retried(handle);
        pass_ms(handle->quiet ? 2000 + draw(&handle->caller_random, 4000)
                              : 20 + draw(&handle->caller_random, 150));
    }
    return NULL;
}

/* Run the callbacks, at times late. */
static void *dispatch(void *arg)
{
    struct storm_handle *handle = arg;
    struct pollfd poll_fd = {hf_zookeeper_fd(handle->zookeeper), POLLIN, 0};

    while (!atomic_load(&handle->dispatched)) {
        (void)poll(&poll_fd, 1, 20);
        if (hf_zookeeper_dispatch(handle->zookeeper) != HF_OK)
            fail("a dispatch was refused");
        if (chance(&handle->dispatcher_random, 10))
            pass_ms(draw(&handle->dispatcher_random, 60));
    }
    return NULL;
}

/* --------------------------------------------------------------- handles -- */

static void begin_thread(pthread_t *thread, void *(*function)(void *),
                         struct storm_handle *handle)
{
    if (pthread_create(thread, NULL, function, handle) != 0)
        fail("no thread");
}

static void open_handle(struct storm_handle *handle, unsigned number,
                        uint64_t seed)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    handle->number = number;
    handle->name = name;
    handle->random = (seed * HANDLES_MAX + number) * 3;
    handle->caller_random = handle->random + 1;
    handle->dispatcher_random = handle->random + 2;
    handle->next = 1;
    handle->dispatches = number % 2 == 1;
    handle->quiet = chance(&handle->random, 35);
    handle->one_shot = chance(&handle->random, 30);
    if (pthread_mutex_init(&handle->lock, NULL) != 0)
        fail("no mutex");
    opts.on_state = (struct hf_on_state){state_changed, handle, NULL};
    if (handle->dispatches)
        opts.delivery = HF_DELIVER_DISPATCH;
    if (hf_zookeeper_open(url, &opts, &handle->zookeeper) != HF_OK)
        fail(hf_last_error()->text);
}

static void begin_storm(struct storm_handle *handle)
{
    for (size_t plan = 0; plan < PLANS; plan++)
        if (chance(&handle->random, plans[plan].chance) &&
            (is_one_shot(plan) || !handle->one_shot))
            open_watch(handle, plan);
    open_caches(handle);
    open_registration(handle);
    begin_thread(&handle->starter, start_operations, handle);
    begin_thread(&handle->caller, call_operations, handle);
    if (handle->dispatches)
        begin_thread(&handle->dispatcher, dispatch, handle);
}

/* Wait until nothing is under way, but for the callers' threads. */
static void await_operations(struct storm_handle *handle)
{
    for (int left_ms = LAST_WAIT_MS;
         left_ms > 0 && atomic_load(&handle->under_way) > 0; left_ms -= 10)
        pass_ms(10);
    if (atomic_load(&handle->under_way) > 0)
        fail("operations do not end");
}

/* Close it; every callback has come then. */
static void close_handle(struct storm_handle *handle)
{
    if (hf_zookeeper_close(handle->zookeeper) != HF_OK)
        fail("a handle cannot be closed");
    write_line("c %u %" PRIu64 " %u %u %u %u", handle->number, now_us(),
               atomic_load(&handle->started), atomic_load(&handle->refused),
               atomic_load(&handle->ended), atomic_load(&handle->dropped));
}

/* Start operations that a close will find. */
static void start_last(struct storm_handle *handle)
{
    struct hf_op *kept = NULL;

    for (unsigned i = 0; i < UNDER_WAY_MAX; i++)
        start_any(handle, &kept);
    hf_op_free(kept);
    start_update(handle);
}

/* Its threads have ended, and everything that they have started. */
static void be_quiet(struct storm_handle *handle)
{
    (void)pthread_join(handle->starter, NULL);
    (void)pthread_join(handle->caller, NULL);
    await_operations(handle);
}

/* One in two is closed while operations are under way.  Some of what there is
 * on it is freed before, and the rest afterwards. */
static void end_storm(struct storm_handle *handle)
{
    if (chance(&handle->random, 50))
        start_last(handle);
    for (size_t plan = 0; plan < PLANS; plan += 2)
        free_watch(handle, plan);
    free_caches(handle, 0, 2);
    if (chance(&handle->random, 70))
        free_registration(handle, chance(&handle->random, 70));
    if (handle->dispatches) {
        atomic_store(&handle->dispatched, true);
        (void)pthread_join(handle->dispatcher, NULL);
    }
    close_handle(handle);
    for (size_t plan = 1; plan < PLANS; plan += 2)
        free_watch(handle, plan);
    free_caches(handle, 1, 2);
    free_registration(handle, false);
}

/* ----------------------------------------------------------------- steps -- */

/* One operation that must end in one of two ways. */
static hf_status run_one(struct storm_handle *handle,
                         enum hf_zookeeper_op_kind kind, const char *path,
                         hf_status other)
{
    struct request request = {.wait_ms = LAST_WAIT_MS};
    unsigned number = atomic_fetch_add(&handle->next, 1);
    hf_status status;

    plan_one(handle, &request, kind, path, number);
    status = run(handle, &request, number);
    if (status != HF_OK && status != other)
        fail(hf_status_name(status));
    return status;
}

/* Have what is read after this be at least as new as now.  The session may have
 * to be replaced first. */
static void sync_all(struct storm_handle *handle)
{
    while (run_one(handle, HF_ZOOKEEPER_SYNC, "/", HF_ELOST) != HF_OK)
        ;
}

/* Write down ${path}, and what is below it.  ${path} has room for more. */
static void walk(struct storm_handle *handle, char *path, size_t bytes)
{
    struct hf_zookeeper_result *node, *list;
    hf_status status =
        hf_zookeeper_get(handle->zookeeper, path, LAST_WAIT_MS, &node);
    size_t used = path[1] == '\0' ? 0 : strlen(path);

    if (status == HF_OK)
        write_line("n %u %s %" PRId64 " %" PRId64 " %d %" PRId64 " %.*s",
                   handle->number, path, node->stat.czxid, node->stat.mzxid,
                   (int)node->stat.version, node->stat.ephemeral_owner,
                   node->bytes > 0 ? (int)node->bytes : 1,
                   node->bytes > 0 ? (const char *)node->data : "-");
    hf_zookeeper_result_free(node);
    status =
        hf_zookeeper_children(handle->zookeeper, path, LAST_WAIT_MS, &list);
    for (size_t i = 0; status == HF_OK && i < list->child_count; i++) {
        (void)snprintf(path + used, bytes - used, "/%s", list->children[i]);
        walk(handle, path, bytes);
        path[used] = '\0';
    }
    hf_zookeeper_result_free(list);
}

/* Create the nodes, or read them. */
static void do_all(const char *step)
{
    static const char *const paths[] = {
        "/",   "/r0", "/r1", "/r2",   "/r3",   "/d",    "/c0",
        "/c1", "/p",  "/g",  "/d/n0", "/d/n1", "/d/n2", "/d/n3"};
    bool creates = strcmp(step, "prepare") == 0;
    bool reads = strcmp(step, "final") == 0;
    char path[PROTECTED_PATH_BYTES] = "/";
    static struct storm_handle handle;

    open_handle(&handle, 0, 0);
    if (!creates)
        sync_all(&handle);
    for (size_t i = 0; creates && i < 10; i++)
        run_one(&handle, HF_ZOOKEEPER_CREATE, paths[i], HF_OK);
    for (size_t i = 0; reads && i < sizeof paths / sizeof paths[0]; i++)
        if (i < 6 || i >= 10)
            run_one(&handle, HF_ZOOKEEPER_GET, paths[i], HF_EGONE);
    if (!creates)
        walk(&handle, path, sizeof path);
    close_handle(&handle);
}

/* Wait until the callbacks have run that are queued: that of another operation
 * comes after them. */
static void await_callbacks(struct storm_handle *handle)
{
    struct request request = {.wait_ms = LAST_WAIT_MS};
    unsigned number = atomic_fetch_add(&handle->next, 1);

    plan_one(handle, &request, HF_ZOOKEEPER_SYNC, "/", number);
    start(handle, &request, number, PLANS, NULL);
    await_operations(handle);
}

/* Write down what caches and registrations have in the end. */
static void check(struct storm_handle *handle)
{
    sync_all(handle);
    await_caches(handle);
    await_callbacks(handle);
    list_caches(handle);
    check_registration(handle);
}

static void say(const char *word)
{
    if (puts(word) == EOF || fflush(stdout) == EOF)
        fail("standard output is closed");
}

static void storm(uint64_t seed, unsigned count)
{
    static struct storm_handle handles[HANDLES_MAX];
    char line[16];

    for (unsigned i = 0; i < count; i++) {
        open_handle(&handles[i], i, seed);
        begin_storm(&handles[i]);
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        bool quiet = strcmp(line, "quiet\n") == 0;

        atomic_store(&over, true);
        for (unsigned i = 0; i < count; i++)
            if (quiet)
                be_quiet(&handles[i]);
            else
                check(&handles[i]);
        history_flush();
        say(quiet ? "quiet" : "checked");
    }
    for (unsigned i = 0; i < count; i++)
        end_storm(&handles[i]);
}

int main(int argc, char **argv)
{
    unsigned long count = argc == 7 ? strtoul(argv[5], NULL, 10) : 0;

    if (count == 0 || count > HANDLES_MAX) {
        fputs("usage: see the top of zk_client_storm.c\n", stderr);
        return 64;
    }
    url = argv[1];
    name = argv[4];
    history_open(argv[2]);
    if (strcmp(argv[6], "storm") == 0)
        storm(strtoull(argv[3], NULL, 10), (unsigned)count);
    else
        do_all(argv[6]);
    history_close();
    return 0;
}

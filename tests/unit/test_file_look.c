/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a queue of leases: the list, and the news of one that goes. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/bench_file.h"
#include "conformance/seat.h"
#include "engines/file/file.h"
#include "engines/file/sys.h"

#define LOCKS "s" HF_QUEUE_LOCKS
#define LEASES "s" HF_QUEUE_LEASES
#define VICTIMS_MAX 4

/* ----------------------------------------------------------------- heap -- */

static atomic_long live; /* pieces of memory; the helper has some, too */
static unsigned fail_in; /* so many until one fails; 0: none */

static bool fails_now(void)
{
    return fail_in > 0 && --fail_in == 0;
}

static void *allocate(size_t bytes, void *arg)
{
    void *memory = fails_now() ? NULL : malloc(bytes);

    (void)arg;
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    void *resized = fails_now() ? NULL : realloc(memory, bytes);

    (void)arg;
    atomic_fetch_add(&live, memory == NULL && resized != NULL);
    return resized;
}

static void release(void *memory, void *arg)
{
    (void)arg;
    atomic_fetch_sub(&live, 1);
    free(memory);
}

static int begin(void **state)
{
    (void)state;
    bench_file.begin(&bench_file);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    hf_sys_step = NULL;
    bench_file.finish(&bench_file);
    return 0;
}

static struct hf_ticket_id take(struct seat *seat, uint32_t weight)
{
    struct hf_ticket_id id = fresh_id();
    struct call *call = seat_lease(seat, LEASES, id, weight);

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call_find(call, id)->weight, weight);
    return id;
}

static bool leave(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_WITHDRAW, LEASES, id);

    assert_int_equal(call->answer, HF_EVENT_WITHDRAWN);
    return call->found;
}

static struct call *look(struct seat *seat, size_t expected)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *call = seat_ask(seat, HF_REQUEST_LOOK, LEASES, nobody);

    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_int_equal(call->count, expected);
    return call;
}

static void expect_nothing(struct seat *seat, const struct call *call)
{
    seat_settle(seat);
    assert_int_equal(call->gone, 0);
}

/* Descriptors that are open in the root. */
static unsigned open_in_root(void)
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

/* What is in the directory of the leases, dot files and all. */
static unsigned files_of_leases(void)
{
    char path[BENCH_FILE_PATH_BYTES];
    unsigned count = 0;
    DIR *dir;

    bench_file_path(LEASES, path);
    dir = opendir(path);
    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count - 2;
}

/* ----------------------------------------------------------------- list -- */

static void a_list_says_who_has_how_many(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id first = take(a, 3);
    struct hf_ticket_id second = take(b, HF_WEIGHT_MAX);
    struct call *call = look(b, 2);

    (void)state;
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &first));
    assert_int_equal(call->tickets[0].kind, HF_TICKET_LEASE);
    assert_int_equal(call->tickets[0].weight, 3);
    assert_string_equal(call->tickets[0].payload, "lease");
    assert_true(hf_ticket_id_equal(&call->tickets[1].id, &second));
    assert_int_equal(call->tickets[1].weight, HF_WEIGHT_MAX);
    seat_close(b);
    seat_close(a);
}

/* Nobody goes where nobody is, and who comes is no news. */
static void a_queue_without_tickets_stays_quiet(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call = look(b, 0);

    (void)state;
    (void)take(a, 1);
    expect_nothing(b, call);
    seat_close(b);
    seat_close(a);
}

/* The name of a queue is longer than the longest name of a lock. */
static void the_longest_name_has_leases(void **state)
{
    static char name[HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES)];
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = fresh_id();
    struct call *call;

    (void)state;
    memset(name, 'n', HF_NAME_BYTES);
    (void)strcpy(name + HF_NAME_BYTES, HF_QUEUE_LEASES);
    call = seat_lease(a, name, id, 1);
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    call = seat_lease(b, name, fresh_id(), 1);
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call->count, 2);
    call = seat_ask(b, HF_REQUEST_LOOK, name, id);
    assert_int_equal(call->count, 2);
    assert_true(seat_ask(a, HF_REQUEST_WITHDRAW, name, id)->found);
    assert_true(seat_sees_gone(b, call));
    seat_close(b);
    seat_close(a);
}

static pthread_t loop_thread;

/* Whoever waits for the lock of a directory is another thread. */
static int busy_here(const char *call)
{
    bool here = pthread_equal(pthread_self(), loop_thread) != 0;

    return here && strcmp(call, "flock") == 0 ? EWOULDBLOCK : 0;
}

static void a_lease_that_had_to_wait_has_its_weight(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id;
    struct call *call;

    (void)state;
    loop_thread = pthread_self();
    hf_sys_step = busy_here;
    id = take(a, 5);
    hf_sys_step = NULL;
    call = look(a, 1);
    assert_int_equal(call_find(call, id)->weight, 5);
    seat_close(a);
}

static unsigned lists_left;

/* The directory goes between its opening and the reading of it. */
static int remove_before_list(const char *call)
{
    char path[BENCH_FILE_PATH_BYTES];
    char command[BENCH_FILE_PATH_BYTES + 8];

    if (strcmp(call, "getdents") != 0 || --lists_left > 0)
        return 0;
    hf_sys_step = NULL;
    bench_file_path(LEASES, path);
    (void)snprintf(command, sizeof(command), "rm -r %s", path);
    assert_int_equal(system(command), 0);
    return 0;
}

static void expect_empty(struct seat *seat, enum hf_request_kind kind,
                         unsigned lists)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *call;

    (void)take(seat, 1);
    lists_left = lists;
    hf_sys_step = remove_before_list;
    call = seat_ask(seat, kind, LEASES, nobody);
    assert_null(hf_sys_step);
    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_int_equal(call->count, 0);
}

/* As the last one out removes it; whether nothing was read of it or part. */
static void a_directory_that_is_removed_is_empty(void **state)
{
    struct seat *a = seat_open(&bench_file);

    (void)state;
    for (unsigned lists = 1; lists <= 2; lists++) {
        expect_empty(a, HF_REQUEST_LIST, lists);
        expect_empty(a, HF_REQUEST_LOOK, lists);
    }
    seat_close(a);
}

/* ---------------------------------------------------------------- going -- */

static void whoever_goes_is_told_once(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id ids[3];
    struct call *call;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        ids[i] = take(a, 1);
    for (size_t i = 0; i < 3; i++) {
        /* From the middle, the end, the beginning. */
        struct hf_ticket_id id = ids[(i + 1) % 3];

        call = look(b, 3 - i);
        expect_nothing(b, call);
        assert_true(leave(a, id));
        assert_true(seat_sees_gone(b, call));
    }
    (void)look(b, 0);
    seat_settle(b);
    seat_close(b); /* which sees that none was told twice */
    seat_close(a);
}

static void all_going_at_once_is_one_change(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)take(a, 1);
    call = look(b, 5);
    seat_close(a);
    assert_true(seat_sees_gone(b, call));
    (void)look(b, 0);
    seat_settle(b);
    seat_close(b);
}

/* Looks by one client, of which each has its own end. */
static void looks_do_not_mix(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = take(a, 1);
    struct hf_ticket_id other = fresh_id();
    struct call *here, *there, *again;

    (void)state;
    (void)seat_lease(a, "t/leases", other, 1);
    here = look(b, 1);
    there = seat_ask(b, HF_REQUEST_LOOK, "t/leases", other);
    again = look(b, 1);
    assert_true(leave(a, id));
    assert_true(seat_sees_gone(b, here));
    assert_true(seat_sees_gone(b, again));
    expect_nothing(b, there);
    assert_true(seat_ask(a, HF_REQUEST_WITHDRAW, "t/leases", other)->found);
    assert_true(seat_sees_gone(b, there));
    seat_close(b);
    seat_close(a);
}

/* ------------------------------------------------------------- one's own -- */

static void ones_own_ticket_that_goes_is_told(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id first = take(a, 1);
    struct hf_ticket_id second = take(a, 1);
    struct call *call, *elsewhere;

    (void)state;
    (void)take(b, 1);
    call = look(a, 3);
    elsewhere = seat_ask(a, HF_REQUEST_LOOK, "t/leases", first);
    assert_true(leave(a, first));
    assert_int_equal(call->gone, 1);
    call = look(a, 2);
    assert_true(leave(a, second));
    assert_int_equal(call->gone, 1);
    expect_nothing(a, elsewhere);
    seat_close(b);
    seat_close(a);
}

static void ones_own_take_no_descriptor(void **state)
{
    struct seat *a = seat_open(&bench_file);
    unsigned before;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)take(a, 1);
    before = open_in_root();
    (void)look(a, 5);
    assert_int_equal(open_in_root(), before);
    seat_close(a);
}

/* Given up here, and in the queue for as long as somebody has a copy. */
static void a_copy_keeps_a_lease(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = take(a, 1);
    struct call *call;
    int copy;

    (void)state;
    assert_int_equal(hf_engine_file.hold(a->engine, &id, &copy), HF_OK);
    call = look(a, 1);
    assert_true(leave(a, id));
    assert_int_equal(call->gone, 1);
    call = look(a, 1); /* by its hang-up from now on */
    expect_nothing(a, call);
    assert_int_equal(close(copy), 0);
    assert_true(seat_sees_gone(a, call));
    (void)look(a, 0);
    seat_close(a);
}

/* A host at the head of the locks, which has no use for a look once that is
 * lost. */
struct head {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_ticket gate;
    struct hf_request look;
    unsigned gone;
    unsigned changed;
};

static void on_head_event(void *arg, struct hf_event *event)
{
    struct head *head = arg;

    if (event->kind == HF_EVENT_ENQUEUED)
        head->gate = event->as.answer.snapshot.tickets[0];
    if (event->kind == HF_EVENT_CHANGED)
        head->changed++;
    if (event->kind != HF_EVENT_GONE)
        return;
    head->gone++;
    hf_engine_file.forget(head->engine, &head->look);
}

static bool head_is_lost(void *arg)
{
    return ((struct head *)arg)->gone > 0;
}

/* The loop hears of the lease first, and yet it is told last, or not at all. */
static void a_lost_head_is_told_before_a_change(void **state)
{
    struct head head = {.look = {.kind = HF_REQUEST_LOOK, .queue = LEASES}};
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id lease = take(b, 1);
    struct hf_request end = {.kind = HF_REQUEST_END};
    struct hf_request enqueue = {.kind = HF_REQUEST_ENQUEUE,
                                 .queue = LOCKS,
                                 .ticket = fresh_id(),
                                 .ticket_kind = HF_TICKET_MUTEX,
                                 .weight = 1,
                                 .payload = ""};
    struct hf_request watch = {
        .kind = HF_REQUEST_WATCH, .queue = LOCKS, .ticket = enqueue.ticket};

    (void)state;
    head.host = (struct hf_engine_host){.event = on_head_event, .host = &head};
    head.engine = bench_file.open(&bench_file, &head.host);
    hf_engine_file.request(head.engine, &enqueue);
    hf_engine_file.request(head.engine, &watch);
    hf_engine_file.request(head.engine, &head.look);
    assert_non_null(head.look.engine_data);
    seat_settle(b); /* the loop waits for all of it from here on */
    assert_true(seat_ask_only(b, HF_REQUEST_WITHDRAW, LEASES, lease)->found);
    bench_file.evict(&bench_file, LOCKS, &head.gate);
    bench_file.pump(&bench_file, head_is_lost, &head);
    assert_int_equal(head.gone, 1);
    seat_settle(b);
    assert_int_equal(head.changed, 0);
    hf_engine_file.request(head.engine, &end);
    hf_engine_file.free(head.engine);
    seat_close(b);
}

/* A host that looks again from inside the news. */
struct eager {
    struct hf_engine_host host;
    struct hf_engine *engine;
    struct hf_request look;
    unsigned listed;
    unsigned changed;
};

static void on_event(void *arg, struct hf_event *event)
{
    struct eager *eager = arg;

    if (event->kind == HF_EVENT_LISTED)
        eager->listed++;
    if (event->kind != HF_EVENT_CHANGED || ++eager->changed > 3)
        return;
    eager->look.engine_data = NULL;
    hf_engine_file.request(eager->engine, &eager->look);
}

static void looking_again_at_once_is_another_look(void **state)
{
    struct eager eager = {.look = {.kind = HF_REQUEST_LOOK, .queue = LEASES}};
    struct hf_request end = {.kind = HF_REQUEST_END};
    struct hf_request enqueue = {.kind = HF_REQUEST_ENQUEUE,
                                 .queue = LEASES,
                                 .ticket = fresh_id(),
                                 .ticket_kind = HF_TICKET_LEASE,
                                 .weight = 1,
                                 .payload = ""};
    struct hf_request withdraw = {
        .kind = HF_REQUEST_WITHDRAW, .queue = LEASES, .ticket = enqueue.ticket};

    (void)state;
    eager.host = (struct hf_engine_host){.event = on_event, .host = &eager};
    eager.engine = bench_file.open(&bench_file, &eager.host);
    hf_engine_file.request(eager.engine, &enqueue);
    hf_engine_file.request(eager.engine, &eager.look);
    hf_engine_file.request(eager.engine, &withdraw);
    assert_int_equal(eager.changed, 1);
    assert_int_equal(eager.listed, 2);
    hf_engine_file.request(eager.engine, &end);
    hf_engine_file.free(eager.engine);
}

/* -------------------------------------------------------------- crashes -- */

struct victim_task {
    int said;
    uint32_t weight;
};

/* Take a lease, say so, and wait to be killed. */
static void be_victim(void *arg)
{
    struct victim_task *task = arg;
    struct seat *seat = seat_open(&bench_file);

    (void)take(seat, task->weight);
    if (write(task->said, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static pid_t victim_start(uint32_t weight)
{
    struct victim_task task = {.weight = weight};
    int said[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(said), 0);
    task.said = said[1];
    pid = bench_file_fork(be_victim, &task);
    (void)close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    (void)close(said[0]);
    return pid;
}

static void victim_kill(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_crash_is_told(void **state)
{
    pid_t victim = victim_start(2);
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    (void)take(a, 1);
    call = look(b, 2);
    victim_kill(victim);
    assert_true(seat_sees_gone(b, call));
    /* Its ticket was removed before: a plain list has it no more. */
    assert_int_equal(
        seat_ask(a, HF_REQUEST_LIST, LEASES, call->tickets[0].id)->count, 1);
    (void)look(b, 1);
    seat_close(b);
    seat_close(a);
}

/* Nobody looked at the time; no lease stands in another's way, so only a look
 * finds the dead among them. */
static void the_dead_are_dropped(void **state)
{
    struct seat *a = seat_open(&bench_file);
    pid_t victims[VICTIMS_MAX];
    struct hf_ticket_id id;
    struct call *call;

    (void)state;
    for (size_t i = 0; i < VICTIMS_MAX; i++) {
        if (i == VICTIMS_MAX / 2)
            id = take(a, 7);
        victims[i] = victim_start(1);
    }
    for (size_t i = 0; i < VICTIMS_MAX; i++)
        victim_kill(victims[i]);
    assert_int_equal(files_of_leases(), 2 * (VICTIMS_MAX + 1));
    call = look(a, 1);
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &id));
    assert_int_equal(call->tickets[0].weight, 7);
    assert_int_equal(files_of_leases(), 2);
    expect_nothing(a, call); /* they had gone before the list */
    seat_close(a);
}

static void a_queue_of_the_dead_is_removed(void **state)
{
    struct seat *a = seat_open(&bench_file);
    pid_t victim = victim_start(1);
    char path[BENCH_FILE_PATH_BYTES];

    (void)state;
    victim_kill(victim);
    (void)look(a, 0);
    bench_file_path(LEASES, path);
    assert_int_equal(access(path, F_OK), -1);
    seat_close(a);
}

/* ------------------------------------------------------------- eviction -- */

/* Its owner is told, lets go, and that is what the others hear. */
static void an_evicted_lease_is_told(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = take(a, 1);
    struct call *own = seat_ask(a, HF_REQUEST_WATCH, LEASES, id);
    struct call *mine = look(a, 1);
    struct call *call = look(b, 1);

    (void)state;
    bench_file.evict(&bench_file, LEASES, &call->tickets[0]);
    assert_true(seat_sees_gone(a, own));
    assert_false(leave(a, id));
    assert_int_equal(mine->gone, 1);
    assert_true(seat_sees_gone(b, call));
    (void)look(b, 0);
    seat_close(b);
    seat_close(a);
}

/* Whoever evicts need not wait for the owner. */
static void ones_own_eviction_is_told_at_once(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = take(a, 1);
    struct call *call = look(b, 1);

    (void)state;
    assert_true(leave(b, id));
    assert_int_equal(call->gone, 1);
    call = look(b, 0);
    assert_false(leave(b, id));
    expect_nothing(b, call);
    assert_false(leave(a, id));
    seat_close(b);
    seat_close(a);
}

/* Asked for once more, a lease that was removed is put in anew. */
static void a_lease_put_in_anew_has_been_gone(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id id = take(a, 1);
    struct call *call = look(a, 1);

    (void)state;
    bench_file.evict(&bench_file, LEASES, &call->tickets[0]);
    assert_int_equal(seat_lease(a, LEASES, id, 1)->answer, HF_EVENT_ENQUEUED);
    assert_int_equal(call->gone, 1);
    seat_close(a);
}

/* -------------------------------------------------------------- the end -- */

static void a_forgotten_look_is_silent(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct hf_ticket_id id = take(a, 1);
    struct call *call, *witness;
    unsigned before;

    (void)state;
    (void)take(a, 1);
    before = open_in_root();
    call = look(b, 2);
    assert_int_equal(open_in_root(), before + 2);
    seat_forget(b, call);
    assert_int_equal(open_in_root(), before);
    seat_forget(b, call); /* of what is over */
    witness = look(b, 2);
    assert_true(leave(a, id));
    assert_true(seat_sees_gone(b, witness));
    seat_forget(b, witness);
    seat_settle(b);
    assert_int_equal(call->gone, 0);
    assert_int_equal(open_in_root(), before - 1);
    seat_close(b);
    seat_close(a);
}

static void an_end_is_silent(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    (void)take(a, 1);
    (void)take(b, 1);
    call = look(b, 2);
    seat_end(b);
    seat_close(a);
    assert_int_equal(call->gone, 0);
    seat_free(b);
}

struct family {
    struct seat *holder;
    struct seat *looker;
};

static void be_child(void *arg)
{
    const struct family *family = arg;
    unsigned rest;

    hf_engine_file.after_fork(family->holder->engine);
    rest = open_in_root();
    hf_engine_file.after_fork(family->looker->engine);
    _exit(rest > 2 && open_in_root() == 0 ? 0 : 1);
}

static void a_forked_child_looks_at_nothing(void **state)
{
    struct family family = {seat_open(&bench_file), seat_open(&bench_file)};
    int ended;
    pid_t pid;

    (void)state;
    (void)take(family.holder, 1);
    (void)take(family.holder, 1);
    (void)look(family.looker, 2);
    pid = bench_file_fork(be_child, &family);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
    seat_close(family.looker);
    seat_close(family.holder);
}

/* --------------------------------------------------------------- limits -- */

static unsigned opens_left;
static int error_now;

static int fail_an_open(const char *call)
{
    if (strcmp(call, "open") != 0)
        return 0;
    return opens_left == 0 || --opens_left == 0 ? error_now : 0;
}

/* After the directory ${opens} tickets can be opened, and no more. */
static struct call *look_with(struct seat *seat, unsigned opens, int error)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *call;

    opens_left = opens + 2;
    error_now = error;
    hf_sys_step = fail_an_open;
    call = seat_ask(seat, HF_REQUEST_LOOK, LEASES, nobody);
    hf_sys_step = NULL;
    return call;
}

static void too_few_descriptors_are_told_of(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    unsigned before;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        (void)take(a, 1);
    before = open_in_root();
    for (unsigned i = 0; i < 3; i++) {
        struct call *call = look_with(b, i, i == 1 ? ENFILE : EMFILE);

        assert_int_equal(call->answer, HF_EVENT_FAILED);
        assert_int_equal(call->status, HF_ELIMIT);
        assert_int_equal(call->failure, HF_FAILURE_FATAL);
        assert_non_null(strstr(call->text, "3 tickets"));
        assert_non_null(strstr(call->text, "\"" LEASES "\""));
        assert_non_null(strstr(call->text, "ulimit -n"));
        assert_int_equal(open_in_root(), before);
    }
    assert_int_equal(look_with(b, 3, EMFILE)->answer, HF_EVENT_LISTED);
    seat_close(b);
    seat_close(a);
}

static void other_trouble_is_told_as_it_is(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct seat *b = seat_open(&bench_file);
    struct call *call;

    (void)state;
    (void)take(a, 1);
    call = look_with(b, 0, EACCES);
    assert_int_equal(call->answer, HF_EVENT_FAILED);
    assert_int_equal(call->status, HF_EDIR);
    assert_non_null(strstr(call->text, "write access"));
    seat_close(b);
    seat_close(a);
}

static void memory_may_run_out(void **state)
{
    struct seat *a = seat_open(&bench_file);
    struct hf_ticket_id nobody = {{0}};
    unsigned before, step = 0;
    struct call *call;
    bool met;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        (void)take(a, 1);
    before = open_in_root();
    do {
        struct seat *b = seat_open(&bench_file);

        fail_in = ++step;
        call = seat_ask(b, HF_REQUEST_LOOK, LEASES, nobody);
        met = fail_in == 0;
        fail_in = 0;
        if (met) {
            assert_int_equal(call->answer, HF_EVENT_FAILED);
            assert_int_equal(call->status, HF_ENOMEM);
        } else {
            assert_int_equal(call->answer, HF_EVENT_LISTED);
        }
        seat_close(b);
        seat_settle(a); /* closed handles */
    } while (met);
    assert_true(step > 5);
    assert_int_equal(open_in_root(), before);
    seat_close(a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_list_says_who_has_how_many),
        TEST(a_queue_without_tickets_stays_quiet),
        TEST(the_longest_name_has_leases),
        TEST(a_lease_that_had_to_wait_has_its_weight),
        TEST(a_directory_that_is_removed_is_empty),
        TEST(whoever_goes_is_told_once),
        TEST(all_going_at_once_is_one_change),
        TEST(looks_do_not_mix),
        TEST(ones_own_ticket_that_goes_is_told),
        TEST(ones_own_take_no_descriptor),
        TEST(a_copy_keeps_a_lease),
        TEST(a_lost_head_is_told_before_a_change),
        TEST(looking_again_at_once_is_another_look),
        TEST(a_crash_is_told),
        TEST(the_dead_are_dropped),
        TEST(a_queue_of_the_dead_is_removed),
        TEST(an_evicted_lease_is_told),
        TEST(ones_own_eviction_is_told_at_once),
        TEST(a_lease_put_in_anew_has_been_gone),
        TEST(a_forgotten_look_is_silent),
        TEST(an_end_is_silent),
        TEST(a_forked_child_looks_at_nothing),
        TEST(too_few_descriptors_are_told_of),
        TEST(other_trouble_is_told_as_it_is),
        TEST(memory_may_run_out),
    };
    const struct hf_allocator allocator = {allocate, resize, release, NULL};
    int failed;

    if (hf_set_allocator(&allocator) != HF_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed != 0 ? failed : atomic_load(&live) != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owners URL: many owners of locks in one process, on one client.  A test
 * drives it: it writes one command on each line of standard input.  ID is the
 * number of an acquire and OWNER that of an owner; the test chooses both.
 *
 *     acquire ID OWNER WAIT_MS HOW LOCK [LOCK...]
 *         WAIT_MS -1: for ever.  HOW: detect (look for deadlocks) or plain.
 *         LOCK: NAME:KIND, where KIND is m (mutex), r, w (read, write), or
 *         P/L (P permits of L).  Several LOCKs are acquired together.
 *     cancel ID
 *     release ID
 *     revoke NAME:KIND            ask those that hold it to release it
 *     evict NAME:KIND             remove the ticket of the first that holds it
 *
 * The program prints one line for each event:
 *
 *     ready                       once, when there is a session
 *     ID waits                    its ticket is in the queue
 *     ID granted
 *     ID ended STATUS TEXT        without a grant
 *     ID asked                    somebody asks for its release
 *     ID lost
 *     ID released
 *
 * The end of standard input closes the client and ends the process.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/uv.h>

#define ACQUIRES_MAX 65536
#define LINE_BYTES 4096
#define LOCKS_MAX 8
#define ADMIN_WAIT_MS 30000

struct acquire {
    unsigned number;
    struct hf_op *op;
    struct hf_grant *grant;
};

static uv_loop_t loop;
static uv_pipe_t input;
static struct hf_client *client;
static char line[LINE_BYTES];
static size_t line_bytes;
static struct acquire acquires[ACQUIRES_MAX];

static void fail(const char *what)
{
    fprintf(stderr, "owners: %s\n", what);
    exit(64);
}

static void check(hf_status status)
{
    if (status != HF_OK)
        fail(hf_status_name(status));
}

/* ----------------------------------------------------------------- locks -- */

/* Open the lock that ${word} describes; ${word} is cut after the name. */
static struct hf_lock *open_lock(char *word)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    char *kind = strrchr(word, ':');
    struct hf_lock *lock;

    if (kind == NULL)
        fail("a lock without a kind");
    *kind++ = '\0';
    if (sscanf(kind, "%u/%u", &opts.permits, &opts.limit) == 2)
        opts.kind = HF_KIND_SEMAPHORE;
    else if (*kind != 'm')
        opts.kind = *kind == 'r' ? HF_KIND_READ : HF_KIND_WRITE;
    check(hf_lock_open(client, word, &opts, &lock));
    return lock;
}

/* -------------------------------------------------------------- acquires -- */

static struct acquire *acquire_at(unsigned number)
{
    struct acquire *a = &acquires[number % ACQUIRES_MAX];

    a->number = number;
    return a;
}

static void on_wait(void *arg, const struct hf_wait *state)
{
    const struct acquire *a = arg;

    (void)state;
    printf("%u waits\n", a->number);
}

static void on_revoke(void *arg, struct hf_grant *grant)
{
    const struct acquire *a = arg;

    (void)grant;
    printf("%u asked\n", a->number);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    const struct acquire *a = arg;

    (void)grant;
    printf("%u lost\n", a->number);
}

static void on_acquired(void *arg, const struct hf_result *result)
{
    struct acquire *a = arg;

    hf_op_free(a->op);
    a->op = NULL;
    a->grant = result->grant;
    if (result->status == HF_OK)
        printf("%u granted\n", a->number);
    else
        printf("%u ended %s %s\n", a->number, hf_status_name(result->status),
               result->text);
}

static void acquire(struct acquire *a, uint64_t owner, long wait_ms,
                    bool detects, char *words)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_acquired, a, NULL};
    struct hf_lock *locks[LOCKS_MAX];
    size_t count = 0;
    char *rest;

    if (a->op != NULL || a->grant != NULL)
        fail("acquire with the number of another one");
    for (char *word = strtok_r(words, " ", &rest);
         word != NULL && count < LOCKS_MAX; word = strtok_r(NULL, " ", &rest))
        locks[count++] = open_lock(word);
    opts.wait_ms = wait_ms < 0 ? HF_FOREVER : (uint64_t)wait_ms;
    opts.owner = owner;
    opts.detect_deadlock = detects;
    opts.on_wait.fn = on_wait;
    opts.on_revoke.fn = on_revoke;
    opts.on_loss.fn = on_loss;
    opts.on_wait.arg = opts.on_revoke.arg = opts.on_loss.arg = a;
    check(hf_locks_acquire_start(locks, count, &opts, done, &a->op));
    while (count > 0)
        hf_lock_free(locks[--count]);
}

static void on_released(void *arg, const struct hf_result *result)
{
    const struct acquire *a = arg;

    (void)result; /* it may have been lost */
    printf("%u released\n", a->number);
}

static void release(struct acquire *a)
{
    if (a->grant == NULL)
        fail("release of what was not granted");
    check(hf_grant_release_start(a->grant,
                                 (struct hf_done){on_released, a, NULL}));
    a->grant = NULL;
}

/* ----------------------------------------------------- others' grants -- */

static const struct hf_done nobody = {NULL, NULL, NULL};

/* ${arg} is the lock.  Its holder may have gone meanwhile. */
static void on_holders(void *arg, const struct hf_result *result)
{
    const struct hf_ticket_view *holder =
        result->status == HF_OK ? hf_tickets_at(result->tickets, 0) : NULL;

    if (holder != NULL)
        check(
            hf_lock_evict_start(arg, holder->id, NULL, ADMIN_WAIT_MS, nobody));
    hf_tickets_free(result->tickets);
    hf_lock_free(arg);
}

static void evict(char *word)
{
    struct hf_lock *lock = open_lock(word);

    check(hf_lock_tickets_start(lock, HF_TICKETS_HOLDERS, ADMIN_WAIT_MS,
                                (struct hf_done){on_holders, lock, NULL}));
}

static void ask(char *word)
{
    struct hf_lock *lock = open_lock(word);

    check(hf_lock_revoke_start(lock, NULL, ADMIN_WAIT_MS, nobody));
    hf_lock_free(lock);
}

/* -------------------------------------------------------------- commands -- */

static void run_command(const char *command)
{
    char how[8], words[LINE_BYTES];
    unsigned long long owner;
    unsigned number;
    long wait_ms;

    if (sscanf(command, "acquire %u %llu %ld %7s %4095[^\n]", &number, &owner,
               &wait_ms, how, words) == 5)
        acquire(acquire_at(number), owner, wait_ms, strcmp(how, "detect") == 0,
                words);
    else if (sscanf(command, "release %u", &number) == 1)
        release(acquire_at(number));
    else if (sscanf(command, "revoke %4095s", words) == 1)
        ask(words);
    else if (sscanf(command, "evict %4095s", words) == 1)
        evict(words);
    else if (sscanf(command, "cancel %u", &number) != 1)
        fail(command);
    else if (acquire_at(number)->op != NULL) /* else it has ended */
        hf_op_cancel(acquire_at(number)->op);
}

static void take_in(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (line_bytes == sizeof(line))
            fail("a line that is too long");
        line[line_bytes++] = bytes[i];
        if (bytes[i] != '\n')
            continue;
        line[line_bytes - 1] = '\0';
        line_bytes = 0;
        run_command(line);
    }
}

static void end(void)
{
    uv_close((uv_handle_t *)&input, NULL);
    check(hf_client_close_start(client, nobody));
    for (size_t i = 0; i < ACQUIRES_MAX; i++) {
        if (acquires[i].grant != NULL)
            check(hf_grant_release_start(acquires[i].grant, nobody));
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[65536];

    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof(bytes));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    (void)stream;
    if (count < 0)
        end();
    else
        take_in(buffer->base, (size_t)count);
}

static void on_state(void *arg, enum hf_state state)
{
    bool *ready = arg;

    if (state == HF_STATE_CONNECTED && !*ready) {
        *ready = true;
        puts("ready");
    }
}

int main(int argc, char **argv)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    static bool ready;

    if (argc != 2)
        fail("expected a URL");
    (void)setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    (void)uv_loop_init(&loop);
    (void)uv_pipe_init(&loop, &input, 0);
    opts.on_state.fn = on_state;
    opts.on_state.arg = &ready;
    if (hf_client_open_uv(&loop, argv[1], &opts, &client) != HF_OK)
        fail(hf_last_error()->text);
    if (uv_pipe_open(&input, STDIN_FILENO) != 0 ||
        uv_read_start((uv_stream_t *)&input, on_alloc, on_read) != 0)
        fail("standard input is no pipe");
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return 0;
}

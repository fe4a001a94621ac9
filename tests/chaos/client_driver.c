/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients and waits in one process, on one borrowed loop.  A test drives
 * it: it writes one command on each line of standard input.  S is the number of
 * a session and ID the number of a wait; the test chooses both.
 *
 *     open S URL                  a client of its own session
 *     close S
 *     acquire ID S NAME WAIT_MS   -1: for ever, 0: only try
 *     pass ID S NAME WAIT_MS      the same, and release as soon as granted
 *     cancel ID
 *     release ID
 *     check ID
 *
 * The program prints one line for each event.  It begins with the instant, in
 * ms of CLOCK_BOOTTIME:
 *
 *     session S STATE             each state of the session; CLOSED is the last
 *     session S refused STATUS TEXT    open failed
 *     session S log TEXT          warnings
 *     ID waits AHEAD
 *     ID granted TOKEN
 *     ID ended STATUS TEXT        without a grant
 *     ID lost
 *     ID released STATUS
 *     ID checked STATUS SAFE_UNTIL
 *
 * The end of standard input closes every client and ends the process.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/uv.h>

#define SESSIONS_MAX 256
#define WAITS_MAX 16384
#define LINE_BYTES 4096

struct session {
    unsigned number;
    struct hf_client *client; /* NULL: not open, or closing */
};

struct wait {
    unsigned number;
    bool passes; /* releases as soon as granted */
    struct hf_op *op;
    struct hf_grant *grant;
};

static uv_loop_t loop;
static uv_pipe_t input;
static char line[LINE_BYTES];
static size_t line_bytes;
static struct session sessions[SESSIONS_MAX];
static struct wait waits[WAITS_MAX];

__attribute__((format(printf, 1, 2))) static void print_line(const char *format,
                                                             ...)
{
    struct timespec now;
    va_list args;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    printf("%" PRIu64 " ",
           (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void fail(const char *what)
{
    fprintf(stderr, "client_driver: %s\n", what);
    exit(64);
}

/* -------------------------------------------------------------- sessions -- */

static void on_state(void *arg, enum hf_state state)
{
    const struct session *session = arg;

    print_line("session %u %s", session->number, hf_state_name(state));
}

static void on_log(void *arg, enum hf_log_level level, const char *text)
{
    const struct session *session = arg;

    (void)level;
    print_line("session %u log %s", session->number, text);
}

static void open_session(struct session *session, const char *url)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.on_state.fn = on_state;
    opts.on_state.arg = session;
    opts.on_log.fn = on_log;
    opts.on_log.arg = session;
    if (hf_client_open_uv(&loop, url, &opts, &session->client) != HF_OK)
        print_line("session %u refused %s %s", session->number,
                   hf_status_name(hf_last_error()->status),
                   hf_last_error()->text);
}

static void close_session(struct session *session)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    hf_status status = HF_OK;

    if (session->client != NULL)
        status = hf_client_close_start(session->client, nobody);
    assert(status == HF_OK);
    session->client = NULL;
}

/* ----------------------------------------------------------------- waits -- */

static void on_wait(void *arg, const struct hf_wait *state)
{
    const struct wait *wait = arg;

    print_line("%u waits %" PRIu32, wait->number, state->ahead);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    const struct wait *wait = arg;

    (void)grant;
    print_line("%u lost", wait->number);
}

static void on_released(void *arg, const struct hf_result *result)
{
    const struct wait *wait = arg;

    print_line("%u released %s", wait->number, hf_status_name(result->status));
}

static void release(struct wait *wait)
{
    struct hf_done done = {on_released, wait, NULL};
    hf_status status;

    if (wait->grant == NULL)
        fail("release of a wait that was not granted");
    status = hf_grant_release_start(wait->grant, done);
    /* The client is closed already, so it makes no callback. */
    if (status == HF_ECLOSED)
        status = hf_grant_release_start(wait->grant,
                                        (struct hf_done){NULL, NULL, NULL});
    assert(status == HF_OK);
    wait->grant = NULL;
}

/* hf_grant_check() cannot wait on the thread of the loop, and fails.  It starts
 * the proof all the same. */
static void check(struct wait *wait)
{
    if (wait->grant == NULL)
        fail("check of a wait that was not granted");
    print_line("%u checked %s %" PRIu64, wait->number,
               hf_status_name(hf_grant_check(wait->grant)),
               hf_grant_safe_until_ms(wait->grant));
}

static void on_acquired(void *arg, const struct hf_result *result)
{
    struct wait *wait = arg;

    hf_op_free(wait->op);
    wait->op = NULL;
    wait->grant = result->grant;
    if (result->status == HF_OK)
        print_line("%u granted %" PRIu64, wait->number,
                   hf_grant_token(wait->grant));
    else
        print_line("%u ended %s %s", wait->number,
                   hf_status_name(result->status), result->text);
    if (wait->grant != NULL && wait->passes)
        release(wait);
}

static void acquire(struct wait *wait, const struct session *session,
                    const char *name, long wait_ms, bool passes)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_acquired, wait, NULL};
    struct hf_lock *lock;
    hf_status status = HF_EINVAL;

    if (wait->op != NULL || wait->grant != NULL || session->client == NULL)
        fail("acquire of a wait that has begun, or without a client");
    wait->passes = passes;
    opts.wait_ms = wait_ms < 0 ? HF_FOREVER : (uint64_t)wait_ms;
    opts.on_wait.fn = on_wait;
    opts.on_wait.arg = wait;
    opts.on_loss.fn = on_loss;
    opts.on_loss.arg = wait;
    status = hf_lock_open(session->client, name, NULL, &lock);
    if (status == HF_OK) {
        status = hf_lock_acquire_start(lock, &opts, done, &wait->op);
        hf_lock_free(lock);
    }
    if (status != HF_OK)
        print_line("%u ended %s", wait->number, hf_status_name(status));
}

/* -------------------------------------------------------------- commands -- */

static struct session *session_at(unsigned number)
{
    if (number >= SESSIONS_MAX)
        fail("a session number that is too large");
    sessions[number].number = number;
    return &sessions[number];
}

static struct wait *wait_at(unsigned number)
{
    if (number >= WAITS_MAX)
        fail("a wait number that is too large");
    waits[number].number = number;
    return &waits[number];
}

static void run_command(const char *command)
{
    char text[LINE_BYTES];
    unsigned number, other;
    char how[8];
    long wait_ms;

    if (sscanf(command, "open %u %4095s", &number, text) == 2)
        open_session(session_at(number), text);
    else if (sscanf(command, "close %u", &number) == 1)
        close_session(session_at(number));
    else if (sscanf(command, "%7[a-z] %u %u %4095s %ld", how, &number, &other,
                    text, &wait_ms) == 5)
        acquire(wait_at(number), session_at(other), text, wait_ms,
                strcmp(how, "pass") == 0);
    else if (sscanf(command, "cancel %u", &number) == 1 &&
             wait_at(number)->op != NULL)
        hf_op_cancel(wait_at(number)->op);
    else if (sscanf(command, "check %u", &number) == 1)
        check(wait_at(number));
    else if (sscanf(command, "release %u", &number) == 1)
        release(wait_at(number));
    else if (strncmp(command, "cancel ", 7) != 0) /* of a wait that has ended */
        fail(command);
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
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        close_session(&sessions[i]);
    for (size_t i = 0; i < WAITS_MAX; i++)
        if (waits[i].grant != NULL)
            release(&waits[i]);
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

int main(void)
{
    int rc;

    (void)setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    (void)uv_loop_init(&loop);
    (void)uv_pipe_init(&loop, &input, 0);
    rc = uv_pipe_open(&input, STDIN_FILENO);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&input, on_alloc, on_read);
    if (rc != 0)
        fail("standard input is no pipe");
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&loop);
    assert(rc == 0);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A holder of one lock that prints each event of the library and its instant.
 *
 *     holder URL NAME STORE
 *
 * It takes the lock and runs commands from standard input, one on each line:
 *
 *     check     hf_grant_check()
 *     write     bring the token to STORE, a file with the highest token seen,
 *               without a call of the library: as a program that was about to
 *               write when it was frozen
 *     another   take a second lock, NAME/another, and release it
 *     release   hf_grant_release(), then leave
 *     close     hf_client_close(), then leave
 *
 * The end of standard input is a release.  Each line that it prints begins
 * with an instant in microseconds on CLOCK_BOOTTIME, taken before the call
 * whose result it prints ("lost" and "state": when the callback ran):
 *
 *     AT granted TOKEN            AT state NAME          AT lost
 *     AT safe_until SAFE_UNTIL_MS    each time another is seen, 0 included
 *     AT readable                 the descriptor of the loss
 *     AT done STATUS SAFE_UNTIL_MS READABLE
 *     AT stored                   AT refused HIGHEST
 *
 * "done" answers check, another, release and close: what the call returned,
 * and what the grant said right after it (0 0 once it is no more).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

/* How often safe_until is read. */
#define LOOK_MS 2

struct holder {
    const char *store;
    char name[HF_NAME_BYTES + 1];
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    uint64_t token;
    uint64_t safe_until_ms; /* the last one printed */
    int loss_fd;
    bool readable; /* printed */
};

/* ----------------------------------------------------------------- lines -- */

/* The kernel's clock, whatever a library that is preloaded makes of it. */
static uint64_t now_us(void)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* One write, also between threads. */
static void print(uint64_t at_us, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(uint64_t at_us, const char *format, ...)
{
    char line[256];
    va_list args;
    int begin = snprintf(line, sizeof line, "%" PRIu64 " ", at_us);
    int length;

    va_start(args, format);
    length =
        vsnprintf(line + begin, sizeof line - (size_t)begin - 1, format, args);
    va_end(args);
    line[begin + length] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)begin + (size_t)length + 1) < 0)
        _exit(1);
}

static void need(bool ok, const char *what, const char *text)
{
    if (ok)
        return;
    fprintf(stderr, "holder: %s: %s\n", what, text);
    exit(1);
}

static void on_state(void *arg, enum hf_state state)
{
    (void)arg;
    print(now_us(), "state %s", hf_state_name(state));
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    (void)arg;
    (void)grant;
    print(now_us(), "lost");
}

/* ----------------------------------------------------------------- store -- */

/* A store that compares tokens is what covers a holder that was paused. */
static void bring_to_store(const struct holder *holder)
{
    uint64_t at_us = now_us(), highest;
    char text[32] = "";
    int fd = open(holder->store, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int length;

    need(fd >= 0 && flock(fd, LOCK_EX) == 0 &&
             pread(fd, text, sizeof text - 1, 0) >= 0,
         "cannot read", holder->store);
    highest = strtoull(text, NULL, 10);
    if (holder->token < highest) {
        print(at_us, "refused %" PRIu64, highest);
    } else {
        length = snprintf(text, sizeof text, "%020" PRIu64, holder->token);
        need(pwrite(fd, text, (size_t)length, 0) == length, "cannot write",
             holder->store);
        print(at_us, "stored");
    }
    close(fd);
}

/* ----------------------------------------------------------------- grant -- */

static bool is_readable(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    return poll(&polled, 1, 0) == 1;
}

static void take(struct holder *holder, const char *url)
{
    struct hf_client_opts client_opts = HF_CLIENT_OPTS_INIT;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    client_opts.on_state.fn = on_state;
    opts.on_loss.fn = on_loss;
    need(hf_client_open(url, &client_opts, &holder->client) == HF_OK, "open",
         hf_last_error()->text);
    need(hf_lock_open(holder->client, holder->name, NULL, &holder->lock) ==
             HF_OK,
         "lock", holder->name);
    if (hf_lock_acquire(holder->lock, &opts, &holder->grant) != HF_OK)
        need(false, "acquire", hf_last_error()->text);
    holder->token = hf_grant_token(holder->grant);
    print(now_us(), "granted %" PRIu64, holder->token);
    need(hf_grant_loss_fd(holder->grant, &holder->loss_fd) == HF_OK, "loss_fd",
         "no descriptor");
}

/* Print what has changed of the safe_until. */
static void look(struct holder *holder)
{
    uint64_t at_us = now_us();
    uint64_t safe_until_ms = hf_grant_safe_until_ms(holder->grant);

    if (safe_until_ms != holder->safe_until_ms)
        print(at_us, "safe_until %" PRIu64, safe_until_ms);
    holder->safe_until_ms = safe_until_ms;
    if (!holder->readable && is_readable(holder->loss_fd)) {
        print(at_us, "readable");
        holder->readable = true;
    }
}

/* -------------------------------------------------------------- commands -- */

static hf_status take_another(struct holder *holder)
{
    char name[HF_NAME_BYTES + 16];
    struct hf_grant *grant;
    struct hf_lock *lock;
    hf_status status;

    (void)snprintf(name, sizeof name, "%s/another", holder->name);
    status = hf_lock_open(holder->client, name, NULL, &lock);
    if (status != HF_OK)
        return status;
    status = hf_lock_acquire(lock, NULL, &grant);
    hf_lock_free(lock);
    return status == HF_OK ? hf_grant_release(grant) : status;
}

static void done(const struct holder *holder, uint64_t at_us, hf_status status)
{
    print(at_us, "done %s %" PRIu64 " %d", hf_status_name(status),
          holder->grant ? hf_grant_safe_until_ms(holder->grant) : 0,
          holder->grant ? is_readable(holder->loss_fd) : 0);
}

static void release(struct holder *holder)
{
    uint64_t at_us = now_us();
    hf_status status = hf_grant_release(holder->grant);

    holder->grant = NULL;
    done(holder, at_us, status);
}

static void run_command(struct holder *holder, const char *word)
{
    uint64_t at_us = now_us();

    if (strcmp(word, "check") == 0) {
        done(holder, at_us, hf_grant_check(holder->grant));
    } else if (strcmp(word, "write") == 0) {
        bring_to_store(holder);
    } else if (strcmp(word, "another") == 0) {
        done(holder, at_us, take_another(holder));
    } else if (strcmp(word, "release") == 0) {
        release(holder);
    } else if (strcmp(word, "close") == 0) {
        done(holder, at_us, hf_client_close(holder->client));
        holder->client = NULL;
        (void)hf_grant_release(holder->grant);
        holder->grant = NULL;
    } else {
        need(false, "no such word", word);
    }
}

/* Run the commands that have come; false at the end of the input. */
static bool run_commands(struct holder *holder)
{
    char text[256];
    char *word, *rest = text;
    ssize_t got = read(STDIN_FILENO, text, sizeof text - 1);

    if (got <= 0)
        return false;
    text[got] = '\0';
    while (holder->grant && (word = strtok_r(rest, "\n", &rest)) != NULL)
        run_command(holder, word);
    return true;
}

/* safe_until is read after the commands: the first call that a holder makes
 * after it was frozen must be the one of the test. */
static void hold(struct holder *holder)
{
    struct pollfd polled = {.fd = STDIN_FILENO, .events = POLLIN};

    look(holder);
    while (holder->grant) {
        if (poll(&polled, 1, LOOK_MS) == 1 && !run_commands(holder))
            release(holder);
        if (holder->grant)
            look(holder);
    }
}

/* ------------------------------------------------------------------ main -- */

int main(int count, char **arguments)
{
    struct holder holder = {.safe_until_ms = HF_FOREVER, .loss_fd = -1};

    if (count != 4) {
        fputs("usage: see the top of holder.c\n", stderr);
        return 64;
    }
    (void)snprintf(holder.name, sizeof holder.name, "%s", arguments[2]);
    holder.store = arguments[3];
    take(&holder, arguments[1]);
    hold(&holder);
    hf_lock_free(holder.lock);
    hf_client_close(holder.client);
    return 0;
}

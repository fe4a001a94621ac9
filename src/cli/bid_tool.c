/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bid for a mutex by 'holdfast run', which promises that the lock is held for
 * as long as its command lives.  The command says its token and then sends back
 * whatever it is sent: who answers lived when it was asked, so up to then the
 * lock was held.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bid.h"
#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/say.h"
#include "core/memory.h"

/* Who has not answered for so long is not relied on. */
#define SILENCE_MAX_US 500000

#define TOKEN_BYTES 32

struct tool_bid {
    struct hf_bid bid; /* .fd: the command's standard input and output */
    pid_t front;
    char text[TOKEN_BYTES]; /* what it said, until it has said a token */
    size_t bytes;
    uint64_t asked_at_us; /* 0: it has answered */
    uint64_t ask_at_ms;   /* not before, unless there is something to do */
    bool written;         /* what it was all for is done */
    bool shot;            /* we have killed the front */
    bool warned;          /* or asked it to end */
};

static struct tool_bid *of(struct hf_bid *bid)
{
    return (struct tool_bid *)bid;
}

static hf_status open_bid(struct hf_bid *bid, struct hf_error *error)
{
    (void)error;
    bid->stakes[0].wanted = true;
    return HF_OK;
}

/* ------------------------------------------------------------------ want -- */

static _Noreturn void become_tool(const struct hf_bid *bid, pid_t parent,
                                  int end)
{
    static char wait[] = "10s";
    static char script[] = "echo $HOLDFAST_TOKEN && exec cat";
    char name[HF_NAME_BYTES + 1];
    char *argv[] = {(char[]){"holdfast"},
                    (char[]){"run"},
                    (char[]){"-q"},
                    (char[]){"-t"},
                    wait,
                    name,
                    (char[]){"--"},
                    (char[]){"sh"},
                    (char[]){"-c"},
                    script,
                    NULL};
    sigset_t none;

    /* What kills us kills the front with us, and nothing else. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(HF_EXIT_BUG);
    memcpy(name, bid->stakes[0].name, strlen(bid->stakes[0].name) + 1);
    dup2(end, STDIN_FILENO);
    dup2(end, STDOUT_FILENO);
    /* Its losses are part of the game. */
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", argv);
    _exit(HF_EXIT_NOT_RUN);
}

static void fail(struct hf_bid *bid, const char *what)
{
    hf_say("%s: %s; end some of what is running, or raise the limits "
           "(ulimit -a)",
           what, strerror(errno));
    bid->exit_code = HF_EXIT_LIMIT;
}

static void want(struct hf_bid *bid)
{
    struct tool_bid *mine = of(bid);
    pid_t parent = getpid();
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        fail(bid, "no descriptors for a command");
        return;
    }
    hf_bid_wait(bid);
    hf_bid_note_want(bid, HF_KIND_MUTEX, 1, 1);
    mine->front = fork();
    if (mine->front == 0)
        become_tool(bid, parent, ends[1]);
    close(ends[1]);
    bid->fd = ends[0];
    mine->bytes = 0;
    mine->asked_at_us = mine->ask_at_ms = 0;
    mine->written = mine->shot = mine->warned = false;
    if (mine->front < 0)
        fail(bid, "no process for a command");
}

/* ----------------------------------------------------------------- hears -- */

static bool parse_token(const char *text, uint64_t *token)
{
    char *end;

    errno = 0;
    *token = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *token > 0;
}

/* What is not its token yet is kept. */
static void hear_token(struct hf_bid *bid, const char *text, size_t bytes)
{
    struct tool_bid *mine = of(bid);

    if (bytes > sizeof mine->text - mine->bytes)
        bytes = sizeof mine->text - mine->bytes;
    memcpy(mine->text + mine->bytes, text, bytes);
    mine->bytes += bytes;
    if (mine->bytes == 0 || mine->text[mine->bytes - 1] != '\n')
        return;
    mine->text[mine->bytes - 1] = '\0';
    if (!parse_token(mine->text, &bid->stakes[0].token)) {
        hf_say("HOLDFAST_TOKEN of holdfast run: '%s'; expected a number",
               mine->text);
        bid->exit_code = HF_EXIT_BUG;
        return;
    }
    hf_bid_hold(bid);
    hf_bid_note(bid, HF_NOTE_GRANT);
}

static void hear(struct hf_bid *bid, const char *text, size_t bytes)
{
    struct tool_bid *mine = of(bid);

    if (bid->state == HF_BID_WAITING) {
        hear_token(bid, text, bytes);
    } else if (bid->state == HF_BID_HOLDING) {
        hf_bid_note_seen(bid, mine->asked_at_us);
        mine->asked_at_us = 0;
    }
}

static bool may_be(const struct tool_bid *mine, int status)
{
    if (WIFSIGNALED(status))
        return mine->shot || mine->warned;
    switch (WEXITSTATUS(status)) {
    case HF_EXIT_SIGNAL +
        SIGTERM: /* the command had begun, and was passed it */
        return mine->warned;
    case 0:
    case HF_EXIT_UNREACHABLE:
    case HF_EXIT_BUSY:
    case HF_EXIT_LOST:
        return true;
    default:
        return false;
    }
}

/* Of the tool and its command nothing is left that could say anything. */
static void hear_end(struct hf_bid *bid)
{
    struct tool_bid *mine = of(bid);
    int status = 0;

    if (bid->state == HF_BID_HOLDING)
        hf_bid_note(bid, HF_NOTE_LOST);
    else if (bid->state == HF_BID_WAITING)
        hf_bid_note(bid, HF_NOTE_GAVEUP);
    close(bid->fd);
    bid->fd = -1;
    while (waitpid(mine->front, &status, 0) < 0 && errno == EINTR)
        continue;
    hf_bid_let_go(bid);
    hf_bid_rest(bid);
    if (may_be(mine, status))
        return;
    hf_say("holdfast run ended with the wait status %d; expected 0, %d, %d or "
           "%d: see what 'holdfast run %s -- true' says",
           status, HF_EXIT_UNREACHABLE, HF_EXIT_BUSY, HF_EXIT_LOST,
           bid->stakes[0].name);
    bid->exit_code = WIFEXITED(status) ? WEXITSTATUS(status)
                                       : HF_EXIT_SIGNAL + WTERMSIG(status);
}

static void listen_to(struct hf_bid *bid)
{
    char text[256];
    ssize_t bytes = 1;

    while (bid->fd >= 0 && bytes > 0) {
        bytes = recv(bid->fd, text, sizeof text, MSG_DONTWAIT);
        if (bytes > 0)
            hear(bid, text, (size_t)bytes);
        else if (bytes == 0 || errno != EAGAIN)
            hear_end(bid);
    }
}

/* ------------------------------------------------------------------ does -- */

static void ask(struct hf_bid *bid)
{
    uint64_t now_us = hf_bid_now_us();

    if (send(bid->fd, "\n", 1, MSG_NOSIGNAL) == 1)
        of(bid)->asked_at_us = now_us;
    of(bid)->ask_at_ms = hf_clock_now_ms() + HF_BID_LOOK_MS;
}

/* The command sees the end of its input. */
static void let_go(struct hf_bid *bid, enum hf_note_word word)
{
    hf_bid_let_go(bid);
    hf_bid_note(bid, word);
    shutdown(bid->fd, SHUT_WR);
}

static void hold(struct hf_bid *bid)
{
    struct tool_bid *mine = of(bid);
    bool due = hf_clock_now_ms() >= bid->until_ms || bid->ending;

    if (mine->asked_at_us != 0) {
        if (hf_bid_now_us() - mine->asked_at_us > SILENCE_MAX_US)
            let_go(bid, HF_NOTE_LOST);
        return;
    }
    /* It has answered since. */
    if (mine->written && !mine->shot) {
        let_go(bid, HF_NOTE_RELEASE);
        return;
    }
    if (due && !mine->written) {
        hf_bid_write_fenced(bid);
        mine->written = true;
        mine->shot = hf_bid_one_in(bid, 8) && kill(mine->front, SIGKILL) == 0;
        ask(bid);
    } else if (hf_clock_now_ms() >= mine->ask_at_ms) {
        ask(bid);
    }
}

static void advance(struct hf_bid *bid)
{
    struct tool_bid *mine = of(bid);

    listen_to(bid);
    if (bid->state == HF_BID_IDLE && !bid->ending &&
        hf_clock_now_ms() >= bid->until_ms)
        want(bid);
    else if (bid->state == HF_BID_HOLDING)
        hold(bid);
    else if (bid->state == HF_BID_WAITING && bid->ending && !mine->warned)
        mine->warned = kill(mine->front, SIGTERM) == 0;
}

static void close_bid(struct hf_bid *bid)
{
    if (bid->fd >= 0)
        close(bid->fd);
}

struct hf_bid *hf_bid_new_tool(void)
{
    static const struct hf_bid_rules rules = {open_bid, advance, close_bid};
    struct tool_bid *mine = hf_alloc(sizeof *mine);

    if (mine == NULL)
        return NULL;
    *mine = (struct tool_bid){.bid.rules = &rules, .bid.fd = -1};
    return &mine->bid;
}

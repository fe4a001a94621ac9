/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keeper.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/say.h"
#include "core/error.h"
#include "host/grant_check.h"

/* How long the first connection may take, whatever the wait. */
#define HF_CONNECT_MAX_MS 15000

/* How often the wait is shown on a terminal. */
#define HF_SHOW_EVERY_MS 1000

/* A lease is looked up so many times while it lasts, at least so far apart. */
#define HF_LEASE_LOOKS 8
#define HF_LEASE_LOOK_MIN_MS 20

/* When there were no descriptors or threads to watch the grant with. */
#define HF_WATCH_RETRY_MS 1000

static void offer_line(int end, const char *line)
{
    struct hf_message message = {.kind = HF_MESSAGE_TEXT};

    snprintf(message.as.text.line, sizeof message.as.text.line, "%s", line);
    (void)hf_message_offer(end, &message);
}

void hf_keeper_tell(struct hf_keeper *keeper, enum hf_verbosity at_least,
                    const char *format, ...)
{
    char line[HF_ERROR_TEXT_BYTES];
    va_list arguments;

    if (keeper->run->options->verbosity < at_least)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    offer_line(keeper->run->keeper_end, line);
}

/* ----------------------------------------------------------- callbacks -- */

/* On any thread of the library. */
static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    const struct hf_run *run = arg;

    (void)level;
    offer_line(run->keeper_end, line);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct hf_message message = {.kind = HF_MESSAGE_WAITING};
    struct hf_keeper *keeper = arg;

    keeper->queued = true;
    if (hf_keeper_waits_for_itself(keeper, wait->holder))
        keeper->waits_for_itself = true;
    if (keeper->run->options->verbosity == HF_QUIET)
        return;
    message.as.wait.ahead = wait->ahead;
    message.as.wait.waited_ms = wait->waited_ms;
    snprintf(message.as.wait.holder, sizeof message.as.wait.holder, "%s",
             wait->holder);
    (void)hf_message_offer(keeper->run->keeper_end, &message);
}

static void on_acquired(void *arg, const struct hf_result *result)
{
    struct hf_keeper *keeper = arg;

    keeper->answered = true;
    keeper->grant = result->grant;
    keeper->failure.status = result->status;
    snprintf(keeper->failure.text, sizeof keeper->failure.text, "%s",
             result->text);
}

/* ---------------------------------------------------------------- open -- */

static bool open_client(struct hf_keeper *keeper)
{
    static const enum hf_log_level levels[] = {
        [HF_QUIET] = HF_LOG_ERROR,
        [HF_NORMAL] = HF_LOG_WARNING,
        [HF_VERBOSE] = HF_LOG_INFO,
    };
    const struct hf_run_options *options = keeper->run->options;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.connect_ms = HF_CONNECT_MAX_MS;
    if (options->wait_ms > 0 && options->wait_ms < HF_CONNECT_MAX_MS)
        opts.connect_ms = options->wait_ms;
    opts.on_log.fn = on_log;
    opts.on_log.arg = keeper->run;
    opts.on_log.level = levels[options->verbosity];
    return hf_client_open(options->url, &opts, &keeper->client,
                          &keeper->failure) == HF_OK;
}

static hf_status start_acquire(struct hf_keeper *keeper)
{
    const struct hf_run_options *options = keeper->run->options;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_acquired, keeper, NULL};

    opts.wait_ms = options->wait_ms;
    opts.text = options->text[0] != '\0' ? options->text : NULL;
    opts.owner = hf_owner_self(); /* for holds= of what is inherited */
    opts.on_wait.fn = on_wait;
    opts.on_wait.arg = keeper;
    if (options->verbosity != HF_QUIET)
        opts.on_wait_every_ms = hf_say_shows_wait(options->verbosity)
                                    ? HF_SHOW_EVERY_MS
                                    : HF_LINE_EVERY_MS;
    return hf_locks_acquire_start(keeper->locks, keeper->lock_count, &opts,
                                  done, &keeper->op);
}

static void describe(struct hf_keeper *keeper)
{
    char place[HF_ERROR_TEXT_BYTES - 16];

    if (keeper->run->options->verbosity < HF_VERBOSE)
        return;
    hf_client_describe(keeper->client, place, sizeof place);
    hf_keeper_tell(keeper, HF_VERBOSE, "engine %s", place);
}

bool hf_keeper_open(struct hf_keeper *keeper)
{
    const struct hf_run_options *options = keeper->run->options;
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;

    if (!open_client(keeper))
        return false;
    describe(keeper);
    lock_opts.kind = options->kind;
    lock_opts.permits = options->permits;
    lock_opts.limit = options->limit;
    for (int i = 0; i < options->name_count; i++) {
        if (hf_lock_open(keeper->client, options->names[i], &lock_opts,
                         &keeper->locks[i]) != HF_OK) {
            hf_client_error(keeper->client, &keeper->failure);
            return false;
        }
        keeper->lock_count++;
    }
    if (hf_keeper_refuse_nested(keeper))
        return false;
    hf_keeper_inherit(keeper);
    if (start_acquire(keeper) != HF_OK) {
        hf_lock_error(keeper->locks[0], &keeper->failure);
        return false;
    }
    return true;
}

/* --------------------------------------------------------------- grant -- */

uint64_t hf_keeper_publish_lease(struct hf_keeper *keeper, uint64_t now_ms)
{
    struct hf_page *page = keeper->run->page;
    uint64_t safe_until_ms = hf_grant_safe_until_ms(keeper->grant);
    uint64_t look_ms;

    /* Not 0: the page says what was promised, and a loss is not a promise. */
    if (safe_until_ms == HF_FOREVER || safe_until_ms == 0)
        return HF_FOREVER;
    (void)hf_grant_ask(keeper->grant); /* the command ends with the promise */
    hf_page_promise(page, safe_until_ms, now_ms);
    look_ms = atomic_load(&page->lease_ms) / HF_LEASE_LOOKS;
    return now_ms +
           (look_ms > HF_LEASE_LOOK_MIN_MS ? look_ms : HF_LEASE_LOOK_MIN_MS);
}

/* Give the front a descriptor of the ticket of ${lock}, if there is such a
 * thing.  False with .failure set if that fails. */
static bool share_ticket(struct hf_keeper *keeper, struct hf_lock *lock)
{
    struct hf_message message = {.kind = HF_MESSAGE_TICKET};
    const char *why = "";
    hf_status status;
    int fd = -1;

    status = hf_grant_hold_fd_of(keeper->grant, lock, &fd);
    if (status == HF_EUNSUPPORTED)
        return true;
    if (status != HF_OK) {
        why = hf_status_text(status);
    } else if (hf_message_send(keeper->run->keeper_end, &message, fd)) {
        keeper->shared = true;
    } else {
        why = strerror(errno);
        status = HF_ELIMIT;
    }
    if (fd >= 0)
        close(fd);
    if (status != HF_OK)
        hf_error_set(&keeper->failure, status,
                     "the ticket of '%.200s' cannot be shared between two "
                     "processes: %s; end some of what is running",
                     hf_lock_name(lock), why);
    return status == HF_OK;
}

bool hf_keeper_share_grant(struct hf_keeper *keeper)
{
    struct hf_message message = {.kind = HF_MESSAGE_GRANTED};

    for (size_t i = 0; i < keeper->lock_count; i++) {
        if (!share_ticket(keeper, keeper->locks[i]))
            return false;
    }
    hf_keeper_publish_lease(keeper, hf_clock_now_ms());
    atomic_store(&keeper->run->page->phase, HF_PHASE_RUNNING);
    if (hf_message_send(keeper->run->keeper_end, &message, -1))
        return true;
    hf_error_set(&keeper->failure, HF_ELIMIT,
                 "'%.200s' was granted, but the process that should know "
                 "cannot be told: %s; end some of what is running",
                 keeper->run->options->label, strerror(errno));
    return false;
}

uint64_t hf_keeper_watch_grant(struct hf_keeper *keeper, uint64_t now_ms)
{
    if (keeper->loss_fd >= 0)
        return HF_FOREVER;
    if (now_ms < keeper->watch_at_ms)
        return keeper->watch_at_ms;
    if (hf_grant_loss_fd(keeper->grant, &keeper->loss_fd) == HF_OK)
        return HF_FOREVER;
    keeper->loss_fd = -1;
    keeper->watch_at_ms = now_ms + HF_WATCH_RETRY_MS;
    return keeper->watch_at_ms;
}

bool hf_keeper_part(struct hf_keeper *keeper)
{
    struct hf_message message = {.kind = HF_MESSAGE_RELEASING};

    return keeper->shared && !keeper->front_gone &&
           hf_message_send(keeper->run->keeper_end, &message, -1);
}

bool hf_keeper_close(struct hf_keeper *keeper)
{
    bool kept = true;

    if (keeper->grant)
        kept = hf_grant_release(keeper->grant) != HF_ELOST;
    hf_op_free(keeper->op);
    for (size_t i = 0; i < keeper->lock_count; i++)
        hf_lock_free(keeper->locks[i]);
    hf_client_close(keeper->client);
    return kept;
}

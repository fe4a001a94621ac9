/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See show.h.  A watch lists the queue, waits, and lists it again.  Each list
 * has a price in requests and bytes, which depends on the engine and on how
 * much was listed.  The wait is so long that the price stays below a limit on
 * average.  So a watch of a long queue is slow, and never heavy.
 *
 * Nothing shows what a name is used as, so all its queues are listed; those in
 * which nobody is, only now and then.
 *
 * All callbacks of the library run in hf_client_dispatch(), on the one thread
 * of the program.  Signals do what they always do: each line is written at
 * once, and nothing is left behind at the engine but a session that ends by
 * itself.
 */
#include "cli/show.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/barrier.h>

#include "base/error.h"
#include "cli/list_client.h"
#include "cli/watched_queue.h"
#include "client/client.h"
#include "client/list_evict_revoke.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/json.h"
#include "command/ui.h"

/* The limits, on average: 2 requests and 200,000 bytes a second.  The renewals
 * of the session are not counted, because ttl= says how often they come. */
#define REQUEST_MS 500
#define BYTES_PER_MS 200

/* The shortest pause.  Where nothing is sent to a server, the pause is also at
 * least IDLE_SHARE times as long as the look. */
#define PAUSE_MIN_MS 250
#define IDLE_SHARE 10

/* The queues in which nobody is are listed in one look of this many. */
#define EMPTY_EVERY 8

/* Lines of a terminal that are no tickets: the time, the titles, and how many
 * more there are. */
#define TERMINAL_LINES 4
#define TERMINAL_LINES_DEFAULT 24

/* The queues of one name.  A semaphore's waiters are listed before its holders:
 * a waiter that is granted in between is then in both, and not in none. */
enum source { LOCK, WAITERS, HOLDERS, PARTICIPANTS, SOURCES };

/* What a list costs at an engine.  The bytes are those of both directions, and
 * are rather too many than too few. */
struct price {
    const char *engine; /* how hf_client_describe() begins */
    unsigned requests;
    unsigned requests_with_texts; /* more, if texts are read */
    unsigned ticket_bytes;
    unsigned text_bytes; /* besides the text */
};

static const struct price prices[] = {
    {"file:", 0, 0, 0, 0},
    {"zk", 2, 1, 80, 260},
    {"", 1, 0, 170, 60},
};

/* How what happens is printed. */
enum form {
    JSON,  /* an object in a line for each event */
    LINES, /* a line for each event */
    TABLE, /* the queue, again when it has changed: on a terminal */
};

struct watching {
    const struct hf_show_watch_options *options;
    enum form form;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_lock *semaphore;
    struct hf_double_barrier *barrier;
    const struct price *price;
    struct hf_watched_queue queues[SOURCES];
    bool unsupported[SOURCES]; /* the engine has no such thing */
    unsigned looks;
    uint64_t requests, bytes; /* of the current look */
    /* The answer to the list that is under way. */
    bool answered;
    struct hf_error outcome;
    struct hf_tickets *tickets;
    bool suspended; /* there is no connection, and that was printed */
    bool changed;   /* TABLE: it has to be printed again */
};

/* --------------------------------------------------------------- events -- */

static void format_now(char text[32])
{
    time_t now = time(NULL);
    struct tm parts;

    if (gmtime_r(&now, &parts) == NULL ||
        strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        strcpy(text, "-");
}

/* Print an event as an object in one line.  ${view} is NULL if it is about no
 * ticket. */
static void print_json(const char *event, size_t position,
                       const struct hf_ticket_view *view, const char *why)
{
    struct hf_json json = {.out = stdout, .one_line = true};
    char now[32];

    format_now(now);
    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "event", event);
    hf_json_string(&json, "at", now);
    if (why != NULL)
        hf_json_string(&json, "why", why);
    if (view != NULL) {
        if (position != 0)
            hf_json_number(&json, "place", position);
        else
            hf_json_null(&json, "place");
        hf_show_json_ticket(&json, view);
    }
    hf_json_end_object(&json);
}

/* One event as a line of words. */
static void print_line(const char *event, const struct hf_ticket_view *view)
{
    char now[32], token[24] = "-", owner[HF_FORMAT_BYTES];

    format_now(now);
    hf_format_owner(view->owner, owner);
    if (view->token != 0)
        (void)snprintf(token, sizeof token, "%" PRIu64, view->token);
    printf("%s %-7s %-6s %-11s %s %s\n", now, event, hf_format_state(view),
           hf_format_kind(view->kind), token, owner[0] != '\0' ? owner : "-");
}

static void report(void *arg, const char *event, size_t position,
                   const struct hf_ticket_view *view)
{
    struct watching *watching = arg;

    watching->changed = true;
    if (watching->form == JSON)
        print_json(event, position, view, NULL);
    else if (watching->form == LINES)
        print_line(event, view);
}

/* Print that the connection is gone, or back. */
static void set_suspended(struct watching *watching, bool suspended,
                          const char *why)
{
    char now[32], text[HF_ERROR_TEXT_BYTES + HF_FORMAT_BYTES];

    if (watching->suspended == suspended)
        return;
    watching->suspended = suspended;
    format_now(now);
    hf_format_error(why, hf_clock_now_ms(), text, sizeof text);
    if (watching->form == JSON)
        print_json(suspended ? "suspended" : "resumed", 0, NULL,
                   suspended ? text : NULL);
    else if (suspended)
        printf("%s suspended: %s\n", now, text);
    else
        printf("%s resumed\n", now);
    (void)fflush(stdout);
}

static void on_state(void *arg, enum hf_state state)
{
    struct watching *watching = arg;

    if (state == HF_STATE_SUSPENDED || state == HF_STATE_LOST)
        set_suspended(watching, true,
                      "there is no connection; the watch goes on when there is "
                      "one");
}

/* ---------------------------------------------------------------- table -- */

/* Ticket number ${index} of all queues, or NULL. */
static const struct hf_ticket_view *ticket_at(const void *arg, size_t index)
{
    static const enum source order[SOURCES] = {LOCK, HOLDERS, WAITERS,
                                               PARTICIPANTS};
    const struct watching *watching = arg;

    for (int i = 0; i < SOURCES; i++) {
        const struct hf_watched_queue *queue = &watching->queues[order[i]];

        if (index < queue->count)
            return &queue->tickets[index]->view;
        index -= queue->count;
    }
    return NULL;
}

/* How many tickets fit on the terminal. */
static size_t terminal_tickets(void)
{
    struct winsize size;
    unsigned lines = TERMINAL_LINES_DEFAULT;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_row > TERMINAL_LINES)
        lines = size.ws_row;
    return lines - TERMINAL_LINES;
}

/* On a terminal: print the queue again, if it has changed. */
static void print_table(struct watching *watching)
{
    size_t count = 0, room = terminal_tickets();
    uint64_t now_ms = hf_clock_now_ms();
    char now[32];

    if (watching->form != TABLE || (!watching->changed && watching->looks > 0))
        return;
    for (int i = 0; i < SOURCES; i++) {
        struct hf_watched_queue *queue = &watching->queues[i];

        count += queue->count;
        for (size_t k = 0; k < queue->count; k++)
            queue->tickets[k]->view.age_ms =
                queue->tickets[k]->began_at_ms == HF_FOREVER
                    ? HF_FOREVER
                    : now_ms - queue->tickets[k]->began_at_ms;
    }
    format_now(now);
    printf("-- %s\n", now);
    if (count == 0)
        printf("nobody holds or waits for %s\n", hf_lock_name(watching->lock));
    else
        hf_show_tickets(stdout, ticket_at, watching, room,
                        (uint64_t)time(NULL) * 1000);
    if (count > room)
        printf("... and %zu more\n", count - room);
    watching->changed = false;
}

/* ----------------------------------------------------------------- look -- */

static void on_list(void *arg, const struct hf_result *result)
{
    struct watching *watching = arg;

    watching->answered = true;
    watching->tickets = result->tickets;
    watching->outcome = (struct hf_error){.status = HF_OK};
    if (result->status != HF_OK)
        (void)hf_error_set(&watching->outcome, result->status, "%s",
                           result->text);
}

/* Run callbacks until the list was answered, or until ${at_ms}. */
static void dispatch(struct watching *watching, uint64_t at_ms)
{
    struct pollfd descriptor = {hf_client_fd(watching->client), POLLIN, 0};

    while (!watching->answered) {
        uint64_t now_ms = hf_clock_now_ms();
        int wait_ms = -1;

        if (at_ms != HF_FOREVER) {
            if (now_ms >= at_ms)
                return;
            wait_ms = at_ms - now_ms < 60000 ? (int)(at_ms - now_ms) : 60000;
        }
        if (poll(&descriptor, 1, wait_ms) > 0)
            (void)hf_client_dispatch(watching->client);
    }
}

/* Begin the list of ${source}. */
static hf_status start_list(struct watching *watching, enum source source)
{
    const struct hf_text_range *texts = &watching->queues[source].texts;
    const struct hf_done done = {on_list, watching, NULL};
    uint64_t wait_ms = watching->options->wait_ms;

    switch (source) {
    case WAITERS:
        return hf_lock_list_texts_start(watching->semaphore, HF_TICKETS_WAITERS,
                                        texts, wait_ms, done);
    case HOLDERS:
        return hf_lock_list_texts_start(watching->semaphore, HF_TICKETS_HOLDERS,
                                        texts, wait_ms, done);
    case PARTICIPANTS:
        return hf_double_barrier_participants_start(watching->barrier, wait_ms,
                                                    done);
    case LOCK:
    case SOURCES:
        break;
    }
    return hf_lock_list_texts_start(watching->lock, HF_TICKETS_ALL, texts,
                                    wait_ms, done);
}

/* Add what the list that was answered has cost. */
static void add_price(struct watching *watching)
{
    const struct price *price = watching->price;
    const struct hf_ticket_view *view;
    bool has_texts = false;

    watching->requests += price->requests;
    for (size_t i = 0; (view = hf_tickets_at(watching->tickets, i)) != NULL;
         i++) {
        watching->bytes += price->ticket_bytes;
        if (view->owner == NULL)
            continue;
        has_texts = true;
        watching->bytes += price->text_bytes + strlen(view->owner);
    }
    if (has_texts)
        watching->requests += price->requests_with_texts;
}

/* List ${source} and report what has happened there. */
static hf_status look_at(struct watching *watching, enum source source,
                         struct hf_error *error)
{
    bool kept;
    hf_status status;

    watching->answered = false;
    status = start_list(watching, source);
    if (status != HF_OK) {
        *error = *hf_last_error();
        return status;
    }
    dispatch(watching, HF_FOREVER);
    *error = watching->outcome;
    if (error->status == HF_EUNSUPPORTED && source == PARTICIPANTS) {
        watching->unsupported[source] = true;
        return HF_OK;
    }
    if (error->status != HF_OK)
        return error->status;
    set_suspended(watching, false, "");
    add_price(watching);
    kept = hf_watched_queue_take(&watching->queues[source], watching->tickets,
                                 source == WAITERS || source == HOLDERS,
                                 hf_clock_now_ms(), report, watching);
    hf_tickets_free(watching->tickets);
    watching->tickets = NULL;
    return kept ? HF_OK : hf_error_set(error, HF_ENOMEM, "no memory is left");
}

/* Is ${source} listed in this look? */
static bool is_due(const struct watching *watching, enum source source)
{
    bool others = false;

    if (watching->unsupported[source])
        return false;
    if (watching->looks % EMPTY_EVERY == 0 || watching->price->requests == 0 ||
        watching->queues[source].count > 0)
        return true;
    if (source == WAITERS || source == HOLDERS)
        return watching->queues[WAITERS].count > 0 ||
               watching->queues[HOLDERS].count > 0;
    for (int i = 0; i < SOURCES; i++)
        others = others || watching->queues[i].count > 0;
    return source == LOCK && !others;
}

static hf_status look(struct watching *watching, struct hf_error *error)
{
    hf_status status = HF_OK;

    watching->requests = 0;
    watching->bytes = 0;
    for (int i = 0; i < SOURCES && status == HF_OK; i++)
        if (is_due(watching, (enum source)i))
            status = look_at(watching, (enum source)i, error);
    return status;
}

/* ---------------------------------------------------------------- pause -- */

/* When to look again after a look that began at ${began_ms}. */
static uint64_t next_look(const struct watching *watching, uint64_t began_ms)
{
    uint64_t took_ms = hf_clock_now_ms() - began_ms;
    uint64_t pause_ms = watching->requests * REQUEST_MS;

    if (pause_ms < watching->bytes / BYTES_PER_MS)
        pause_ms = watching->bytes / BYTES_PER_MS;
    if (watching->price->requests == 0)
        pause_ms = took_ms * IDLE_SHARE;
    if (pause_ms < PAUSE_MIN_MS)
        pause_ms = PAUSE_MIN_MS;
    return hf_clock_now_ms() + pause_ms;
}

/* Does the watch go on after ${status}?  Not if there never was an answer: the
 * URL may be mistyped. */
static bool goes_on(const struct watching *watching, hf_status status)
{
    return watching->looks > 0 &&
           (status == HF_ETIMEDOUT || status == HF_EUNREACHABLE);
}

/* Returns the exit status. */
static int watch(struct watching *watching)
{
    for (;;) {
        uint64_t began_ms = hf_clock_now_ms();
        struct hf_error error;
        hf_status status = look(watching, &error);

        if (status == HF_OK) {
            print_table(watching);
            watching->looks++;
        } else if (goes_on(watching, status)) {
            set_suspended(watching, true, error.text);
            watching->requests++;
        } else {
            hf_ui_print_error(&error);
            return hf_exit_status(status);
        }
        if (hf_command_line_end_output() != 0)
            return HF_EXIT_DIRECTORY;
        watching->answered = false;
        dispatch(watching, next_look(watching, began_ms));
    }
}

/* ----------------------------------------------------------------- open -- */

static hf_status open_client(struct watching *watching)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.connect_ms = watching->options->wait_ms;
    opts.on_state = (struct hf_on_state){on_state, watching, NULL};
    hf_list_client_set_log(&opts, HF_LOG_WARNING);
    return hf_client_open_list_only(watching->options->url, &opts,
                                    &watching->client);
}

/* Open the locks and the barrier by which the queues are listed. */
static hf_status open_queues(struct watching *watching)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    const char *name = watching->options->name;
    hf_status status =
        hf_lock_open(watching->client, name, &opts, &watching->lock);

    opts.kind = HF_KIND_SEMAPHORE;
    if (status == HF_OK)
        status =
            hf_lock_open(watching->client, name, &opts, &watching->semaphore);
    if (status == HF_OK)
        status = hf_double_barrier_open(watching->client, name, 1,
                                        &watching->barrier);
    return status;
}

/* What a list costs at the engine of the client. */
static const struct price *find_price(const struct hf_client *client)
{
    const struct price *price = prices;
    char engine[HF_ERROR_TEXT_BYTES];

    hf_client_describe(client, engine, sizeof engine);
    while (strncmp(engine, price->engine, strlen(price->engine)) != 0)
        price++;
    return price;
}

static void close_all(struct watching *watching)
{
    for (int i = 0; i < SOURCES; i++)
        hf_watched_queue_free(&watching->queues[i]);
    hf_lock_free(watching->lock);
    hf_lock_free(watching->semaphore);
    hf_double_barrier_free(watching->barrier);
    (void)hf_client_close(watching->client);
}

int hf_show_watch(const struct hf_show_watch_options *options)
{
    struct watching watching = {.options = options, .form = JSON};
    hf_status status;
    int exit_code;

    if (!options->json)
        watching.form = isatty(STDOUT_FILENO) == 1 ? TABLE : LINES;
    for (int i = 0; i < PARTICIPANTS; i++)
        watching.queues[i].texts.count = HF_WATCH_TEXTS;
    status = open_client(&watching);
    if (status == HF_OK)
        status = open_queues(&watching);
    if (status == HF_OK) {
        watching.price = find_price(watching.client);
        exit_code = watch(&watching);
    } else {
        hf_ui_print_error(hf_last_error());
        exit_code = hf_exit_status(status);
    }
    close_all(&watching);
    return exit_code;
}

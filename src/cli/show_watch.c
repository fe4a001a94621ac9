/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See show.h.  The library watches the queues of the name
 * (<holdfast/queue_watch.h>); each event is printed as it comes.
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

#include <holdfast/queue_watch.h>

#include "base/error.h"
#include "base/time_math.h"
#include "cli/list_client.h"
#include "client/client.h"
#include "client/queue_watch.h"
#include "command/clock.h"
#include "command/command_line.h"
#include "command/exit_status.h"
#include "command/format.h"
#include "command/json.h"
#include "command/ui.h"

/* Lines of a terminal that are no tickets: the time, the titles, and how many
 * more there are. */
#define TERMINAL_LINES 4
#define TERMINAL_LINES_DEFAULT 24

/* Room for a time as text. */
#define TIME_BYTES 32

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
    struct hf_queue_watch *watch;
    bool listed; /* the first list has come */
    /* Until when it has to come, by hf_clock_now_ms(); HF_FOREVER while there
     * was no connection, whose time the client limits. */
    uint64_t list_by_ms;
    bool ended; /* the watch has failed: .why */
    struct hf_error why;
};

/* What the events are called. */
static const char *const names[] = {
    [HF_QUEUE_THERE] = "there",
    [HF_QUEUE_CAME] = "came",
    [HF_QUEUE_GRANTED] = "granted",
    [HF_QUEUE_CHANGED] = "changed",
    [HF_QUEUE_REVOKED] = "revoked",
    [HF_QUEUE_GONE] = "gone",
    [HF_QUEUE_GAP] = "gap",
    [HF_QUEUE_LISTED] = "listed",
    [HF_QUEUE_SUSPENDED] = "suspended",
    [HF_QUEUE_RESUMED] = "resumed",
    [HF_QUEUE_ENDED] = "ended",
};

/* Why an event about the watch has come, for people; NULL: its name says it. */
static const char *reason(enum hf_queue_event_kind kind)
{
    if (kind == HF_QUEUE_SUSPENDED)
        return "there is no connection; the watch goes on when there is one";
    if (kind == HF_QUEUE_GAP)
        return "tickets may have come and gone unseen";
    return NULL;
}

/* ---------------------------------------------------------------- events -- */

static void format_time(uint64_t utc_ms, char text[TIME_BYTES])
{
    time_t at = (time_t)(utc_ms / 1000);
    struct tm parts;

    if (gmtime_r(&at, &parts) == NULL ||
        strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        strcpy(text, "-");
}

/* Print an event as an object in one line. */
static void print_json(const struct hf_queue_event *event)
{
    struct hf_json json = {.out = stdout, .one_line = true};
    const char *why = reason(event->kind);
    char at[TIME_BYTES];

    format_time(event->at_utc_ms, at);
    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "event", names[event->kind]);
    hf_json_string(&json, "at", at);
    if (why != NULL)
        hf_json_string(&json, "why", why);
    if (event->ticket != NULL) {
        if (event->position != 0)
            hf_json_number(&json, "place", event->position);
        else
            hf_json_null(&json, "place");
        hf_show_json_ticket(&json, event->ticket);
    }
    hf_json_end_object(&json);
}

/* One event about a ticket as a line of words. */
static void print_ticket(const struct hf_queue_event *event)
{
    const struct hf_ticket_view *view = event->ticket;
    char at[TIME_BYTES], token[24] = "-", owner[HF_FORMAT_BYTES];

    format_time(event->at_utc_ms, at);
    hf_format_owner(view->owner, owner);
    if (view->token != 0)
        (void)snprintf(token, sizeof token, "%" PRIu64, view->token);
    printf("%s %-7s %-6s %-11s %s %s\n", at, names[event->kind],
           hf_format_state(view), hf_format_kind(view->kind), token,
           owner[0] != '\0' ? owner : "-");
}

/* One event about the watch. */
static void print_watch(const struct hf_queue_event *event)
{
    const char *why = reason(event->kind);
    char at[TIME_BYTES];

    format_time(event->at_utc_ms, at);
    printf("%s %s%s%s\n", at, names[event->kind], why != NULL ? ": " : "",
           why != NULL ? why : "");
}

/* ---------------------------------------------------------------- table -- */

/* The ticket at ${index} of all queues, or NULL. */
static const struct hf_ticket_view *ticket_at(const void *arg, size_t index)
{
    const struct watching *watching = arg;

    return hf_queue_watch_at(watching->watch, index);
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

/* On a terminal: print the queue, which has changed. */
static void print_table(const struct watching *watching,
                        const struct hf_queue_event *event)
{
    size_t count = 0, room = terminal_tickets();
    char at[TIME_BYTES];

    while (ticket_at(watching, count) != NULL)
        count++;
    format_time(event->at_utc_ms, at);
    printf("-- %s\n", at);
    if (count == 0)
        printf("nobody holds or waits for %s\n", watching->options->name);
    else
        hf_show_tickets(stdout, ticket_at, watching, room, event->at_utc_ms);
    if (count > room)
        printf("... and %zu more\n", count - room);
}

/* ------------------------------------------------------------- callbacks -- */

static void print_event(const struct watching *watching,
                        const struct hf_queue_event *event)
{
    bool listed = event->kind == HF_QUEUE_LISTED;

    if (watching->form == TABLE && listed)
        print_table(watching, event);
    else if (watching->form == JSON && !listed)
        print_json(event);
    else if (event->ticket == NULL && !listed)
        print_watch(event);
    else if (watching->form == LINES && !listed)
        print_ticket(event);
}

static void on_event(void *arg, const struct hf_queue_event *event)
{
    struct watching *watching = arg;

    if (event->kind == HF_QUEUE_ENDED) {
        watching->ended = true;
        watching->why = *event->why;
        return;
    }
    /* The first list has come, though all of it may not be printed yet. */
    if (event->kind == HF_QUEUE_LISTED || event->ticket != NULL) {
        watching->listed = true;
        watching->list_by_ms = HF_FOREVER;
    }
    /* An event of a later version of the library is not known here. */
    if ((size_t)event->kind < sizeof names / sizeof *names)
        print_event(watching, event);
}

static void on_state(void *arg, enum hf_state state)
{
    struct watching *watching = arg;

    if (state == HF_STATE_CONNECTED && !watching->listed)
        watching->list_by_ms =
            hf_deadline_ms(hf_clock_now_ms(), watching->options->wait_ms);
}

/* ----------------------------------------------------------------- watch -- */

/* Run callbacks when there are any, and wait at most until the first list has
 * to have come. */
static void dispatch(struct watching *watching)
{
    struct pollfd descriptor = {hf_client_fd(watching->client), POLLIN, 0};
    uint64_t now_ms = hf_clock_now_ms();
    int wait_ms = -1;

    if (watching->list_by_ms != HF_FOREVER) {
        wait_ms = watching->list_by_ms > now_ms
                      ? (int)hf_min_ms(watching->list_by_ms - now_ms, INT_MAX)
                      : 0;
    }
    if (poll(&descriptor, 1, wait_ms) > 0)
        (void)hf_client_dispatch(watching->client);
    if (!watching->ended && hf_clock_now_ms() >= watching->list_by_ms) {
        watching->ended = true;
        (void)hf_error_set(&watching->why, HF_ETIMEDOUT,
                           "the queue was not listed in time");
    }
}

/* Returns the exit status. */
static int watch(struct watching *watching)
{
    while (!watching->ended) {
        dispatch(watching);
        if (hf_command_line_end_output() != 0)
            return HF_EXIT_DIRECTORY;
    }
    hf_ui_print_error(&watching->why);
    return hf_exit_status(watching->why.status);
}

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

int hf_show_watch(const struct hf_show_watch_options *options)
{
    struct watching watching = {
        .options = options, .form = JSON, .list_by_ms = HF_FOREVER};
    const struct hf_on_queue_event on = {on_event, &watching, NULL};
    hf_status status;
    int exit_code;

    if (!options->json)
        watching.form = isatty(STDOUT_FILENO) == 1 ? TABLE : LINES;
    status = open_client(&watching);
    if (status == HF_OK)
        status = hf_queue_watch_open(watching.client, options->name, NULL, on,
                                     &watching.watch);
    if (status == HF_OK) {
        exit_code = watch(&watching);
    } else {
        hf_ui_print_error(hf_last_error());
        exit_code = hf_exit_status(status);
    }
    hf_queue_watch_free(watching.watch);
    (void)hf_client_close(watching.client);
    return exit_code;
}

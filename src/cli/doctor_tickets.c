/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tickets that there are show: owners of this machine that have ended,
 * names that are used by programs of several kinds, nodes among the tickets
 * that are none, and deadlocks (doctor_deadlocks.c).  A bounded number of names
 * is looked at.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <holdfast/names.h>

#include "cli/doctor.h"
#include "cli/process.h"
#include "command/clock.h"
#include "command/format.h"
#include "command/queue_view.h"
#include "command/ui.h"

/* How much is looked at, and how many findings of a kind are listed. */
#define NAMES_MAX 1000
#define LISTED_MAX 20

/* A pid may have been used again.  The process is another one if it was started
 * later than the ticket says, by more than the clocks may be stepped. */
#define START_SLACK_MS 1000

/* The walk. */
struct walk {
    struct hf_client *client;
    struct hf_finding_list *list;
    uint64_t wait_ms;
    char host[sizeof((struct utsname *)0)->nodename];
    struct hf_progress shown;
    uint64_t names;
    uint64_t tickets;
    uint64_t gone;    /* tickets whose process has ended */
    uint64_t mixed;   /* names with tickets of several layouts */
    uint64_t unknown; /* names with nodes that are no tickets */
    uint64_t unreadable;
    bool more; /* there are more names */
    struct hf_doctor_deadlocks deadlocks;
};

/* -------------------------------------------------------- processes gone -- */

/* Has the process of ${owner}, which is of this machine and boot, ended?
 * ${now_ms}: hf_clock_now_ms(). */
static bool has_ended(const struct hf_owner *owner, uint64_t now_ms)
{
    uint64_t started, ticks = (uint64_t)sysconf(_SC_CLK_TCK);

    if (owner->pid == 0 || owner->pid > INT32_MAX)
        return false;
    if (hf_process_has_ended((pid_t)owner->pid))
        return true;
    started = hf_process_started((pid_t)owner->pid);
    return started / ticks * 1000 > now_ms - owner->age_ms + START_SLACK_MS;
}

/* Add a finding if the process of the ticket ${view} of ${name} has ended. */
static void check_owner(struct walk *walk, const char *name,
                        const struct hf_ticket_view *view)
{
    uint64_t now_ms = hf_clock_now_ms();
    char advice[HF_FINDING_TEXT_BYTES];
    struct hf_finding_head head = {HF_SEVERITY_WARNING, "ticket-owner-ended",
                                   name, advice};
    struct hf_owner owner;

    if (!hf_owner_text_parse(view->owner, now_ms, &owner) ||
        owner.age_ms == HF_FOREVER || owner.age_ms > now_ms ||
        strcmp(owner.host, walk->host) != 0 || !has_ended(&owner, now_ms))
        return;
    if (++walk->gone > LISTED_MAX)
        return;
    (void)snprintf(
        advice, sizeof advice,
        "if it is there when its session must have ended, and the "
        "process is in no other pid namespace: holdfast evict %.200s "
        "%.40s",
        name, view->id);
    hf_finding_add(walk->list, &head,
                   "a ticket that %s is of %s, process %" PRIu64
                   " of this machine, which has ended",
                   view->holds ? "holds it" : "waits for it", owner.command,
                   owner.pid);
}

/* ---------------------------------------------------------------- a name -- */

/* What the tickets of one name have shown so far. */
struct name_check {
    const char *layout; /* of the first ticket */
    const char *other;  /* another layout, or NULL */
    bool waited_for;    /* somebody waits */
    bool leads_on;      /* the survey is to search from this name */
};

static void check_ticket(struct walk *walk, const char *name,
                         const struct hf_ticket_view *view,
                         struct name_check *check)
{
    walk->tickets++;
    check_owner(walk, name, view);
    if (check->waited_for)
        check->leads_on |=
            hf_deadlock_survey_sees(&walk->deadlocks.survey, name, view);
    if (check->layout == NULL)
        check->layout = view->layout;
    else if (strcmp(check->layout, view->layout) != 0)
        check->other = view->layout;
}

static void report_mixed(struct walk *walk, const char *name,
                         const struct name_check *check)
{
    struct hf_finding_head head = {
        HF_SEVERITY_NOTICE, "mixed-layouts", name,
        "see \"Layouts\" in the document of the engine for what they mean to "
        "each other, and have all programs use one"};

    if (check->other == NULL || ++walk->mixed > LISTED_MAX)
        return;
    hf_finding_add(walk->list, &head,
                   "its tickets are written in several layouts: %s and %s",
                   check->layout, check->other);
}

static void report_unknown(struct walk *walk, const char *name,
                           const struct hf_queue_view *queue)
{
    struct hf_finding_head head = {
        HF_SEVERITY_NOTICE, "unknown-entry", name,
        "find out which program makes it, and give it a path of its own"};
    const char *unknown = hf_queue_view_unknown(queue, 0);

    if (unknown == NULL || ++walk->unknown > LISTED_MAX)
        return;
    hf_finding_add(walk->list, &head,
                   "something is among its tickets that is none and does not "
                   "count: %.200s",
                   unknown);
}

/* Look at all tickets of ${name}. */
static void check_name(struct walk *walk, const char *name)
{
    struct name_check check = {.layout = NULL};
    const struct hf_ticket_view *view;
    struct hf_queue_view queue;
    struct hf_error error;

    if (hf_queue_view_load(walk->client, name, HF_TICKETS_ALL, walk->wait_ms,
                           &queue, &error) == HF_OK) {
        for (size_t i = 0; (view = hf_queue_view_at(&queue, i)) != NULL; i++)
            check.waited_for |= !view->holds;
        for (size_t i = 0; (view = hf_queue_view_at(&queue, i)) != NULL; i++)
            check_ticket(walk, queue.name, view, &check);
        report_mixed(walk, queue.name, &check);
        report_unknown(walk, queue.name, &queue);
        if (check.leads_on)
            hf_doctor_deadlocks_add(&walk->deadlocks, queue.name);
    } else {
        walk->unreadable++;
    }
    hf_queue_view_free(&queue);
}

/* -------------------------------------------------------------- the walk -- */

static void show_progress(struct walk *walk)
{
    if (hf_progress_is_due(&walk->shown))
        hf_ui_show_progress("looking at tickets: %" PRIu64 " names",
                            walk->names);
}

/* Look at the names of ${page}.  False: there are more names than are looked
 * at. */
static bool check_page(struct walk *walk, const struct hf_names_page *page)
{
    const struct hf_name_view *view;

    walk->unreadable += hf_names_unreadable(page);
    for (size_t i = 0; (view = hf_names_at(page, i)) != NULL; i++) {
        if (walk->names == NAMES_MAX) {
            walk->more = true;
            return false;
        }
        walk->names++;
        check_name(walk, view->name);
        show_progress(walk);
    }
    return true;
}

/* Add that the names, or the rest of them, cannot be listed. */
static void report_failure(struct walk *walk, const struct hf_error *error)
{
    struct hf_finding_head head = {
        error->status == HF_EUNSUPPORTED || error->status == HF_ELIMIT ||
                error->status == HF_EDENIED
            ? HF_SEVERITY_UNKNOWN
            : HF_SEVERITY_WARNING,
        "tickets", "", "look at a name that matters: holdfast show NAME"};
    char text[HF_ERROR_TEXT_BYTES + HF_FORMAT_BYTES];

    hf_format_error(error->text, 0, text, sizeof text);
    hf_finding_add(walk->list, &head, "the names cannot be listed: %.400s",
                   text);
}

static void report_totals(struct walk *walk)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "tickets", "", NULL};

    hf_finding_add(walk->list, &head,
                   "%" PRIu64 " names with %" PRIu64
                   " tickets were looked at; of %" PRIu64
                   " tickets the process has ended",
                   walk->names, walk->tickets, walk->gone);
    head.severity = HF_SEVERITY_UNKNOWN;
    if (walk->more)
        hf_finding_add(walk->list, &head,
                       "there are more names than %d, which were not looked "
                       "at; holdfast explain --all looks for deadlocks in all",
                       NAMES_MAX);
    if (walk->unreadable > 0)
        hf_finding_add(walk->list, &head,
                       "%" PRIu64 " of what is there could not be read",
                       walk->unreadable);
}

static void walk_names(struct walk *walk, struct hf_names *names)
{
    struct hf_names_page *page;
    bool more = true;

    while (more) {
        if (hf_names_next(names, walk->wait_ms, &page) != HF_OK) {
            walk->deadlocks.error = *hf_last_error();
            walk->deadlocks.status = walk->deadlocks.error.status;
            report_failure(walk, &walk->deadlocks.error);
            break;
        }
        more = page != NULL && check_page(walk, page);
        hf_names_page_free(page);
    }
}

void hf_doctor_examine_tickets(struct hf_client *client, uint64_t wait_ms,
                               struct hf_finding_list *list)
{
    struct walk walk = {.client = client, .list = list, .wait_ms = wait_ms};
    struct hf_names *names;
    struct utsname machine;

    if (uname(&machine) == 0)
        memcpy(walk.host, machine.nodename, sizeof walk.host);
    hf_progress_begin(&walk.shown);
    if (hf_names_open(client, "", NULL, &names) == HF_OK) {
        hf_doctor_deadlocks_begin(&walk.deadlocks, client, wait_ms, list);
        walk_names(&walk, names);
        hf_doctor_deadlocks_end(&walk.deadlocks);
        hf_names_free(names);
        hf_ui_clear_wait();
        report_totals(&walk);
    } else {
        report_failure(&walk, hf_last_error());
    }
}

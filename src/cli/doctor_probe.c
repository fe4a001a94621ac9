/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of `holdfast doctor --probe`: one lock is taken, its queue listed,
 * and it is released. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <holdfast/grant.h>
#include <holdfast/tickets.h>

#include "cli/doctor.h"
#include "cli/list_client.h"
#include "command/clock.h"
#include "command/format.h"

/* How far the clocks of two machines may be apart before people, who compare
 * the times that they show, are misled. */
#define CLOCKS_MS 2000

/* A probe under way. */
struct probe {
    struct hf_doctor_report *report;
    const char *name;
    uint64_t wait_ms;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
};

/* A time from which only differences are taken. */
static uint64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ------------------------------------------------------------ its result -- */

/* The probe failed with ${error}. */
static void add_failure(const struct probe *probe, const char *what,
                        const struct hf_error *error)
{
    bool busy = error->status == HF_ETIMEDOUT || error->status == HF_EBUSY;
    struct hf_finding_head head = {
        busy ? HF_SEVERITY_WARNING : HF_SEVERITY_ERROR, "probe", probe->name,
        busy ? "probe another name, or wait longer (-w)"
             : "see the other findings, and holdfast-run(1)"};
    char text[HF_ERROR_TEXT_BYTES + HF_FORMAT_BYTES];

    hf_format_error(error->text, 0, text, sizeof text);
    hf_finding_add(&probe->report->findings, &head, "%s: %.400s", what, text);
}

static void add_success(const struct probe *probe, uint64_t token)
{
    const struct hf_doctor_probe *times = &probe->report->probe;
    struct hf_finding_head head = {HF_SEVERITY_OK, "probe", probe->name, NULL};

    hf_finding_add(&probe->report->findings, &head,
                   "taken in %.1f ms with the token %" PRIu64
                   ", released in %.1f ms; a round trip takes %.1f ms",
                   (double)times->acquire_us / 1000, token,
                   (double)times->release_us / 1000,
                   (double)times->round_trip_us / 1000);
}

/* Compare our clock with that which made our ticket, the first of ${tickets}.
 * By ours the ticket was made between ${from_ms} and now. */
static void compare_clocks(const struct probe *probe,
                           const struct hf_tickets *tickets, uint64_t from_ms)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "clock", "", NULL};
    const struct hf_ticket_view *view = hf_tickets_at(tickets, 0);
    uint64_t until_ms = hf_clock_utc_ms(), made_ms;
    int64_t apart_ms = 0;

    if (view == NULL || !view->own || view->created_utc_ms == 0)
        return;
    made_ms = view->created_utc_ms;
    if (made_ms < from_ms)
        apart_ms = -(int64_t)(from_ms - made_ms);
    else if (made_ms > until_ms)
        apart_ms = (int64_t)(made_ms - until_ms);
    if (llabs(apart_ms) < CLOCKS_MS) {
        hf_finding_add(&probe->report->findings, &head,
                       "the clock of the service and ours are less than %d s "
                       "apart",
                       CLOCKS_MS / 1000);
        return;
    }
    head.severity = HF_SEVERITY_NOTICE;
    head.advice = "have both machines follow one clock (NTP)";
    hf_finding_add(&probe->report->findings, &head,
                   "the clock of the service is %.1f s %s ours; times that are "
                   "shown to people are wrong by that, and no decision rests "
                   "on it",
                   (double)llabs(apart_ms) / 1000,
                   apart_ms > 0 ? "ahead of" : "behind");
}

/* ---------------------------------------------------------------- steps -- */

/* List the queue while we hold the lock. */
static bool list(const struct probe *probe, uint64_t from_ms)
{
    uint64_t began_us = now_us();
    struct hf_tickets *tickets;

    if (hf_lock_tickets(probe->lock, HF_TICKETS_HOLDERS, probe->wait_ms,
                        &tickets) != HF_OK) {
        add_failure(probe, "its queue cannot be listed", hf_last_error());
        return false;
    }
    probe->report->probe.round_trip_us = now_us() - began_us;
    compare_clocks(probe, tickets, from_ms);
    hf_tickets_free(tickets);
    return true;
}

static bool acquire(struct probe *probe)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    uint64_t began_us = now_us();

    opts.wait_ms = probe->wait_ms;
    opts.text = "holdfast doctor --probe";
    if (hf_lock_acquire(probe->lock, &opts, &probe->grant) != HF_OK) {
        add_failure(probe, "it cannot be taken", hf_last_error());
        return false;
    }
    probe->report->probe.acquire_us = now_us() - began_us;
    return true;
}

/* Returns whether the release was confirmed. */
static bool release(struct probe *probe)
{
    uint64_t began_us = now_us();
    struct hf_error error;
    hf_status status = hf_grant_release(probe->grant);

    if (status != HF_OK) {
        error.status = status;
        (void)snprintf(error.text, sizeof error.text, "%s",
                       hf_status_text(status));
        add_failure(probe, "it cannot be released", &error);
        return false;
    }
    probe->report->probe.release_us = now_us() - began_us;
    return true;
}

/* The first connection is made before anything is timed. */
static bool connect_first(const struct probe *probe)
{
    struct hf_tickets *tickets;

    if (hf_lock_tickets(probe->lock, HF_TICKETS_HOLDERS, probe->wait_ms,
                        &tickets) == HF_OK) {
        hf_tickets_free(tickets);
        return true;
    }
    add_failure(probe, "its queue cannot be listed", hf_last_error());
    return false;
}

static void run(struct probe *probe)
{
    uint64_t from_ms, token;
    bool listed;

    if (!connect_first(probe))
        return;
    from_ms = hf_clock_utc_ms();
    if (!acquire(probe))
        return;
    token = hf_grant_token(probe->grant);
    listed = list(probe, from_ms);
    if (release(probe) && listed) {
        probe->report->probe.done = true;
        add_success(probe, token);
    }
}

void hf_doctor_run_probe(const char *url, const char *name, uint64_t wait_ms,
                         struct hf_doctor_report *report)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct probe probe = {.report = report, .name = name, .wait_ms = wait_ms};

    report->probe.name = name;
    opts.connect_ms = wait_ms;
    hf_list_client_set_log(&opts, HF_LOG_ERROR);
    if (hf_client_open(url, &opts, &probe.client) != HF_OK) {
        add_failure(&probe, "no client can be opened", hf_last_error());
        return;
    }
    if (hf_lock_open(probe.client, name, NULL, &probe.lock) == HF_OK) {
        run(&probe);
        hf_lock_free(probe.lock);
    } else {
        add_failure(&probe, "it cannot be the name of a lock", hf_last_error());
    }
    (void)hf_client_close(probe.client);
}

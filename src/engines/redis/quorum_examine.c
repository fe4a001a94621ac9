/* SPDX-License-Identifier: Apache-2.0 */
/* The findings about the servers of a quorum as a whole: how many of them
 * count, whether two addresses lead to one server, and how far their clocks are
 * apart. */
#include "engines/redis/redis_quorum.h"

#include <inttypes.h>
#include <string.h>

#include "base/time_math.h"
#include "engines/redis/examine.h"

/* If the clocks of two servers are farther apart than this, people who compare
 * their times are misled. */
#define CLOCKS_MS 2000

/* Add the state of the server of ${link}.  Returns whether the server counts
 * towards the majority. */
static bool add_server(const struct hf_quorum_view *view,
                       const struct hf_redis_link *link,
                       struct hf_finding_list *list)
{
    char subject[HF_REDIS_SUBJECT_BYTES];
    struct hf_finding_head head = {HF_SEVERITY_OK, "quorum-server", subject,
                                   NULL};

    hf_redis_examine_subject(link, subject);
    if (!view->linked) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "see whether the server runs, and can be reached from "
                      "here";
        hf_finding_add(list, &head, "the server cannot be used: %.300s",
                       view->why[0] != '\0' ? view->why
                                            : "it has not answered yet");
    } else if (view->counts_in_ms > 0) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "wait";
        hf_finding_add(list, &head,
                       "the server was started lately, may have forgotten "
                       "tickets, and counts in %" PRIu64 " s (rejoin=)",
                       view->counts_in_ms / 1000 + 1);
    } else {
        hf_finding_add(list, &head, "the server answers, and counts");
    }
    return view->linked && view->counts_in_ms == 0;
}

/* Add how many servers may still fail, if ${working} of ${count} servers
 * count. */
static void add_majority(size_t working, size_t count,
                         struct hf_finding_list *list)
{
    size_t majority = count / 2 + 1;
    struct hf_finding_head head = {HF_SEVERITY_OK, "quorum-majority", "", NULL};

    if (working < majority) {
        head.severity = HF_SEVERITY_ERROR;
        head.advice = "bring servers back until a majority counts";
        hf_finding_add(list, &head,
                       "%zu of %zu servers count, and %zu are needed: no lock "
                       "can be taken, and those that are held get lost",
                       working, count, majority);
    } else if (working < count) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "bring the others back";
        hf_finding_add(list, &head,
                       "%zu of %zu servers count: locks work until %zu more "
                       "fail",
                       working, count, working - majority + 1);
    } else {
        hf_finding_add(list, &head,
                       "all %zu servers count: locks work until %zu fail",
                       count, working - majority + 1);
    }
}

/* Add each pair of addresses that lead to the same server, which would count
 * twice. */
static void add_same_servers(struct hf_redis_link *const *links, size_t count,
                             struct hf_finding_list *list)
{
    char subject[HF_REDIS_SUBJECT_BYTES], other[HF_REDIS_SUBJECT_BYTES];
    struct hf_finding_head head = {
        HF_SEVERITY_ERROR, "quorum-same-server", subject,
        "name servers that fail independently of each other, each once"};
    bool unknown = false, same = false;

    for (size_t i = 0; i < count; i++) {
        unknown = unknown || links[i]->run_id[0] == '\0';
        for (size_t k = 0; k < i; k++) {
            if (links[i]->run_id[0] == '\0' ||
                strcmp(links[i]->run_id, links[k]->run_id) != 0)
                continue;
            same = true;
            hf_redis_examine_subject(links[i], subject);
            hf_redis_examine_subject(links[k], other);
            hf_finding_add(list, &head,
                           "this is the same server as %s, which counts twice: "
                           "if it fails, two fail",
                           other);
        }
    }
    if (same)
        return;
    subject[0] = '\0';
    head.severity = unknown ? HF_SEVERITY_UNKNOWN : HF_SEVERITY_OK;
    head.advice = NULL;
    hf_finding_add(list, &head,
                   unknown
                       ? "whether each address is another server cannot be "
                         "seen, because one does not answer, or does not show "
                         "its INFO"
                       : "each address is another server");
}

/* Add ${skew_ms}, the distance between the slowest and the fastest clock of the
 * servers. */
static void add_skew(uint64_t skew_ms, struct hf_finding_list *list)
{
    struct hf_finding_head head = {HF_SEVERITY_OK, "quorum-clocks", "", NULL};

    if (skew_ms >= CLOCKS_MS) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "have the servers follow one clock (NTP), slewed and not "
                      "stepped";
        hf_finding_add(list, &head,
                       "the clocks of the servers are up to %" PRIu64
                       ".%" PRIu64 " s apart: exclusion does not depend on "
                       "that, and after several failures tokens may fall if it "
                       "is more than rejoin=",
                       skew_ms / 1000, skew_ms % 1000 / 100);
        return;
    }
    hf_finding_add(list, &head,
                   "the clocks of the servers are less than %d s apart",
                   CLOCKS_MS / 1000);
}

void hf_redis_quorum_examine(const struct hf_quorum *quorum,
                             struct hf_redis_link *const *links, size_t count,
                             struct hf_finding_list *list)
{
    uint64_t least_ms = HF_FOREVER, most_ms = 0;
    size_t working = 0;

    for (size_t i = 0; i < count; i++) {
        struct hf_quorum_view view;

        hf_quorum_look(quorum, i, &view);
        working += add_server(&view, links[i], list) ? 1 : 0;
        if (!view.linked)
            continue;
        least_ms = hf_min_ms(least_ms, view.server_ms);
        most_ms = hf_max_ms(most_ms, view.server_ms);
    }
    add_majority(working, count, list);
    add_same_servers(links, count, list);
    if (most_ms >= least_ms)
        add_skew(most_ms - least_ms, list);
}

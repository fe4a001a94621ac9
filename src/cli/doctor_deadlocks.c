/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlocks among the tickets that doctor looks at, which are listed anyway. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "cli/doctor.h"
#include "command/format.h"

/* How many deadlocks are listed one by one. */
#define LISTED_MAX 20

/* How many names of a deadlock are listed. */
#define NAMES_MAX 4

/* Write the names of the locks that the waiters of the cycle wait for, the
 * first few. */
static void write_names(const struct hf_deadlock_search *search, char *text,
                        size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < search->cycle.count && i <= NAMES_MAX; i++) {
        const char *name =
            hf_deadlock_search_lock(search, search->cycle.waiters[i]);
        int wrote =
            snprintf(text + used, bytes - used, "%s%s", i == 0 ? "" : ", ",
                     i < NAMES_MAX ? hf_quote(name, strlen(name)).text : "...");

        if (wrote < 0 || (size_t)wrote >= bytes - used)
            return;
        used += (size_t)wrote;
    }
}

/* The survey has found a deadlock. */
static void add_deadlock(void *arg, const struct hf_deadlock_search *search)
{
    struct hf_doctor_deadlocks *deadlocks = arg;
    const struct hf_deadlock_survey *survey = &deadlocks->survey;
    const char *name =
        hf_deadlock_search_lock(search, search->cycle.waiters[0]);
    char advice[HF_FINDING_TEXT_BYTES], names[HF_FINDING_TEXT_BYTES];
    struct hf_finding_head head = {search->possible ? HF_SEVERITY_WARNING
                                                    : HF_SEVERITY_ERROR,
                                   "deadlock", name, advice};

    if (survey->certain + survey->possible > LISTED_MAX)
        return;
    (void)snprintf(advice, sizeof advice,
                   "see who they are, holdfast explain %.200s, and end one of "
                   "them",
                   name);
    write_names(search, names, sizeof names);
    hf_finding_add(deadlocks->list, &head,
                   "%zu wait for each other%s, and none of them goes on by "
                   "itself: for %s",
                   search->cycle.count,
                   search->possible ? ", as far as can be seen" : "", names);
}

void hf_doctor_deadlocks_begin(struct hf_doctor_deadlocks *deadlocks,
                               struct hf_client *client, uint64_t wait_ms,
                               struct hf_finding_list *list)
{
    *deadlocks = (struct hf_doctor_deadlocks){
        .survey = {.client = client,
                   .wait_ms = wait_ms,
                   .found = add_deadlock,
                   .arg = deadlocks},
        .list = list,
        .status = HF_OK,
    };
}

void hf_doctor_deadlocks_add(struct hf_doctor_deadlocks *deadlocks,
                             const char *name)
{
    if (deadlocks->status == HF_OK)
        deadlocks->status =
            hf_deadlock_survey_add(&deadlocks->survey, name, &deadlocks->error);
}

/* Add what could not be found out. */
static void add_unknown(const struct hf_doctor_deadlocks *deadlocks)
{
    const struct hf_deadlock_survey *survey = &deadlocks->survey;
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "deadlock", "", NULL};
    char text[HF_ERROR_TEXT_BYTES + HF_FORMAT_BYTES];

    if (deadlocks->status != HF_OK) {
        hf_format_error(deadlocks->error.text, 0, text, sizeof text);
        hf_finding_add(deadlocks->list, &head,
                       "not all names could be looked at for deadlocks: %.400s",
                       text);
    }
    if (survey->cut)
        hf_finding_add(deadlocks->list, &head,
                       "not all that may be in a deadlock could be looked at: "
                       "that would take more than %d queues, %d tickets, or "
                       "%d locks of one session",
                       HF_DEADLOCK_QUEUES_MAX, HF_DEADLOCK_TICKETS_MAX,
                       HF_DEADLOCK_SESSION_HOLDS);
    if (survey->silent > 0)
        hf_finding_add(deadlocks->list, &head,
                       "a deadlock through other programs cannot be seen for "
                       "certain: %" PRIu64 " of the tickets that wait do not "
                       "say what their owners hold",
                       survey->silent);
}

void hf_doctor_deadlocks_end(struct hf_doctor_deadlocks *deadlocks)
{
    struct hf_deadlock_survey *survey = &deadlocks->survey;
    struct hf_finding_head head = {HF_SEVERITY_OK, "deadlock", "", NULL};

    if (deadlocks->status == HF_OK)
        deadlocks->status =
            hf_deadlock_survey_finish(survey, &deadlocks->error);
    if (survey->certain + survey->possible > LISTED_MAX)
        hf_finding_add(
            deadlocks->list,
            &(struct hf_finding_head){
                survey->certain > 0 ? HF_SEVERITY_ERROR : HF_SEVERITY_WARNING,
                "deadlock", "", "see all of them: holdfast explain --all"},
            "%" PRIu64 " more are not listed",
            survey->certain + survey->possible - LISTED_MAX);
    else if (survey->certain + survey->possible == 0 &&
             deadlocks->status == HF_OK)
        hf_finding_add(deadlocks->list, &head,
                       "no deadlock was found among the tickets that were "
                       "looked at");
    add_unknown(deadlocks);
    hf_deadlock_survey_free(survey);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the supervisor: the legal moves between them, and which fields
 * are set in each. */
#include "cli/supervisor.h"

#include <assert.h>

#include "base/state_machine.h"

#define STATE(name) HF_SUPERVISOR_##name
#define TO(name) (1U << HF_SUPERVISOR_##name)

/* Nothing of the command runs: release, now or when the launcher has closed its
 * tickets, and then campaign again or end. */
#define TO_RELEASE (TO(CLOSING_TICKETS) | TO(RELEASING) | TO(DONE))

/* The legal moves.  From RUNNING the lock is released, or something else
 * started, only through TERMINATING: while anything of the command may run the
 * ticket stays.  From there and from ENDED only --on-resign is started. */
static const struct hf_state_machine_state states[] = {
    [STATE(WAITING)] = {"WAITING", TO(GRANTED) | TO(DONE)},
    [STATE(GRANTED)] = {"GRANTED", TO(READING) | TO(ANNOUNCED) | TO_RELEASE},
    [STATE(READING)] = {"READING", TO(ANNOUNCED) | TO_RELEASE},
    [STATE(ANNOUNCED)] = {"ANNOUNCED",
                          TO(RUNNING) | TO(RESTARTING) | TO_RELEASE},
    [STATE(RUNNING)] = {"RUNNING", TO(TERMINATING)},
    [STATE(TERMINATING)] = {"TERMINATING", TO(ENDED) | TO(WRITING) |
                                               TO(RUNNING) | TO(KEEPING) |
                                               TO(RESTARTING) | TO_RELEASE},
    [STATE(ENDED)] = {"ENDED", TO(WRITING) | TO(KEEPING) | TO(RESTARTING) |
                                   TO(RUNNING) | TO_RELEASE},
    [STATE(WRITING)] = {"WRITING", TO(KEEPING) | TO_RELEASE},
    [STATE(KEEPING)] = {"KEEPING", TO_RELEASE},
    [STATE(RESTARTING)] = {"RESTARTING", TO(RUNNING) | TO_RELEASE},
    [STATE(CLOSING_TICKETS)] = {"CLOSING_TICKETS", TO(RELEASING) | TO(DONE)},
    [STATE(RELEASING)] = {"RELEASING", TO(RESIGNED)},
    [STATE(RESIGNED)] = {"RESIGNED", TO(WAITING) | TO(DONE)},
    [STATE(DONE)] = {"DONE", 0},
};

static const struct hf_state_machine table = {"supervisor", states,
                                              sizeof states / sizeof states[0]};

void hf_supervisor_move(struct hf_supervisor *supervisor,
                        enum hf_supervisor_state state)
{
    hf_state_machine_move(&table, &supervisor->state, state);
}

static bool is_one_of(const struct hf_supervisor *supervisor, uint32_t set)
{
    return ((1U << supervisor->state) & set) != 0;
}

void hf_supervisor_check(const struct hf_supervisor *supervisor)
{
    uint32_t no_grant = TO(WAITING) | TO(RELEASING) | TO(RESIGNED);
    uint32_t started =
        TO(RUNNING) | TO(TERMINATING) | TO(ENDED) | TO(WRITING) | TO(KEEPING);

    hf_supervisor_check_command(supervisor);
    if (supervisor->state == HF_SUPERVISOR_DONE)
        return;
    assert((supervisor->op == NULL) ==
           is_one_of(supervisor, TO(RELEASING) | TO(RESIGNED)));
    assert((supervisor->grant == NULL) == is_one_of(supervisor, no_grant));
    assert(supervisor->grant != NULL ||
           (!supervisor->lost && !supervisor->not_renewed &&
            supervisor->loss_fd < 0));
    assert(hf_supervisor_has_started(supervisor) ||
           !is_one_of(supervisor, started));
    assert(supervisor->state == HF_SUPERVISOR_RUNNING ||
           !hf_supervisor_command_runs(supervisor));
}

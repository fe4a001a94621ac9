/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elect --on-lead and --on-resign.  A hook is run in place of the command, as a
 * process of it: with its environment, descriptors, group and signals, and what
 * it leaves behind is ended before anything follows.
 *
 * --on-lead may take its time, as the command may.  --on-resign delays the next
 * leader, so it is killed after a limit, and before the lease ends if that is
 * not renewed.  If the leadership is lost already, that deadline has passed or
 * means nothing, and only the limit counts: an address that this machine kept
 * would do more harm than a few seconds with two leaders.
 */
#include "cli/supervisor.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include <holdfast/grant.h>

#include "base/time_math.h"

/* ----------------------------------------------------------- what is run -- */

enum hf_command_role
hf_supervisor_next_role(const struct hf_supervisor *supervisor)
{
    return supervisor->run->options->on_lead != NULL && !supervisor->prepared
               ? HF_ROLE_ON_LEAD
               : HF_ROLE_COMMAND;
}

bool hf_supervisor_has_to_resign(const struct hf_supervisor *supervisor)
{
    return supervisor->leading && supervisor->run->options->on_resign != NULL;
}

/* --------------------------------------------------------- under a lease -- */

/* --on-resign is killed so long before the tree must have got SIGKILL, because
 * the launcher takes us for frozen soon after that. */
static uint64_t ahead_ms(const struct hf_shared_page *page)
{
    return hf_shared_page_margin_ms(atomic_load(&page->lease_ms)) / 4;
}

/* How much of the time that the tree has before that is for --on-resign: no
 * more than half. */
static uint64_t share_ms(const struct hf_supervisor *supervisor)
{
    const struct hf_run_options *options = supervisor->run->options;

    if (options->on_resign == NULL ||
        hf_shared_page_kill_at_ms(supervisor->run->page) == HF_FOREVER)
        return 0;
    return hf_min_ms(
        options->resign_timeout_ms,
        hf_shared_page_grace_ms(supervisor->run->page, HF_FOREVER) / 2);
}

uint64_t hf_supervisor_grace_ms(const struct hf_supervisor *supervisor)
{
    const struct hf_shared_page *page = supervisor->run->page;

    return hf_min_ms(
        hf_shared_page_grace_ms(page, supervisor->run->options->grace_ms),
        hf_shared_page_grace_ms(page, HF_FOREVER) - share_ms(supervisor));
}

uint64_t hf_supervisor_resign_ms(const struct hf_supervisor *supervisor)
{
    uint64_t share = share_ms(supervisor);

    return share > 0 ? share + ahead_ms(supervisor->run->page) : 0;
}

/* --on-resign must have ended by then; HF_FOREVER without a lease. */
static uint64_t lease_until_ms(const struct hf_shared_page *page)
{
    uint64_t kill_at_ms = hf_shared_page_kill_at_ms(page);

    return kill_at_ms == HF_FOREVER ? HF_FOREVER
                                    : hf_before_ms(kill_at_ms, ahead_ms(page));
}

/* ------------------------------------------------------------- on-resign -- */

bool hf_supervisor_start_on_resign(struct hf_supervisor *supervisor,
                                   uint64_t now_ms)
{
    struct hf_shared_page *page = supervisor->run->page;

    if (supervisor->next == HF_SUPERVISOR_END && !supervisor->outcome_is_set) {
        hf_supervisor_set_outcome(supervisor);
        supervisor->outcome_is_set = true;
    }
    hf_supervisor_forget_command(supervisor);
    supervisor->leading = false;
    supervisor->resign_until_ms =
        hf_clock_add(now_ms, supervisor->run->options->resign_timeout_ms);
    atomic_store(&page->phase,
                 supervisor->lost || now_ms >= lease_until_ms(page)
                     ? HF_RUN_LOST
                     : HF_RUN_TERMINATING);
    if (hf_supervisor_start_command(supervisor, HF_ROLE_ON_RESIGN))
        return true;
    hf_supervisor_print(supervisor, HF_QUIET, "%s", supervisor->failure.text);
    hf_supervisor_forget_command(supervisor);
    return false;
}

uint64_t hf_supervisor_resign_until_ms(struct hf_supervisor *supervisor)
{
    struct hf_shared_page *page = supervisor->run->page;

    assert(supervisor->command.role == HF_ROLE_ON_RESIGN);
    /* From now on neither the lease nor the launcher bounds it. */
    if (supervisor->lost)
        atomic_store(&page->phase, HF_RUN_LOST);
    if (atomic_load(&page->phase) == HF_RUN_LOST)
        return supervisor->resign_until_ms;
    return hf_min_ms(supervisor->resign_until_ms, lease_until_ms(page));
}

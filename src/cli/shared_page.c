/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shared_page.h"

#include <sys/mman.h>

#include "base/time_math.h"
#include "monitor/clock.h"

#define NS_PER_MS 1000000

struct hf_shared_page *hf_shared_page_new(void)
{
    struct hf_shared_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    hf_shared_page_clear(page);
    return page;
}

/* The phase is set first: without a grant the launcher ignores the lease. */
void hf_shared_page_clear(struct hf_shared_page *page)
{
    atomic_store(&page->phase, HF_RUN_WAITING);
    atomic_store(&page->safe_until_ms, HF_FOREVER);
    atomic_store(&page->lease_ms, 0);
    atomic_store(&page->left_at_renewal_ms, 0);
}

uint64_t hf_shared_page_margin_ms(uint64_t lease_ms)
{
    return lease_ms / 20 > 200 ? lease_ms / 20 : 200;
}

int64_t hf_shared_page_slew_ms(void)
{
    return hf_slew_read().least_ns / NS_PER_MS;
}

/* Safe-until by CLOCK_BOOTTIME as it runs now: earlier than what was written,
 * by as much as the clock was slewed to be slow since then. */
static uint64_t safe_until_now_ms(const struct hf_shared_page *page)
{
    uint64_t safe_until_ms = atomic_load(&page->safe_until_ms);
    int64_t lost_ms = hf_shared_page_slew_ms() - atomic_load(&page->slew_ms);

    return lost_ms > 0 ? hf_before_ms(safe_until_ms, (uint64_t)lost_ms)
                       : safe_until_ms;
}

uint64_t hf_shared_page_kill_at_ms(const struct hf_shared_page *page)
{
    uint64_t safe_until_ms = safe_until_now_ms(page);
    uint64_t margin_ms;

    if (safe_until_ms == HF_FOREVER)
        return HF_FOREVER;
    margin_ms = hf_shared_page_margin_ms(atomic_load(&page->lease_ms));
    return safe_until_ms > margin_ms ? safe_until_ms - margin_ms : 0;
}

uint64_t hf_shared_page_tree_deadline_ms(const struct hf_shared_page *page)
{
    uint32_t phase = atomic_load(&page->phase);

    return phase == HF_RUN_RUNNING || phase == HF_RUN_TERMINATING
               ? hf_shared_page_kill_at_ms(page)
               : HF_FOREVER;
}

uint64_t hf_shared_page_grace_ms(const struct hf_shared_page *page,
                                 uint64_t wanted_ms)
{
    uint64_t margin_ms, left_at_renewal_ms, spare_ms;

    if (atomic_load(&page->safe_until_ms) == HF_FOREVER)
        return wanted_ms;
    margin_ms = hf_shared_page_margin_ms(atomic_load(&page->lease_ms));
    left_at_renewal_ms = atomic_load(&page->left_at_renewal_ms);
    spare_ms =
        left_at_renewal_ms > margin_ms ? left_at_renewal_ms - margin_ms : 0;
    return wanted_ms < spare_ms / 2 ? wanted_ms : spare_ms / 2;
}

/* From ${now_ms} to ${at_ms}; 0 if that has passed. */
static uint64_t until_ms(uint64_t at_ms, uint64_t now_ms)
{
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

void hf_shared_page_set_safe_until(struct hf_shared_page *page,
                                   uint64_t safe_until_ms, int64_t slew_ms,
                                   uint64_t now_ms)
{
    uint64_t before_ms = atomic_load(&page->safe_until_ms);
    uint64_t lease_ms = until_ms(safe_until_ms, now_ms);

    /* The lease is not known to the tool.  The longest time that a renewal has
     * given is never more than the lease, and close to it. */
    if (lease_ms > atomic_load(&page->lease_ms))
        atomic_store(&page->lease_ms, lease_ms);
    /* This is the first value, and no renewal.  Engines renew when a quarter of
     * the lease or more is left, so assume a quarter. */
    if (before_ms == HF_FOREVER)
        atomic_store(&page->left_at_renewal_ms, lease_ms / 4);
    else if (safe_until_ms > before_ms)
        atomic_store(&page->left_at_renewal_ms, until_ms(before_ms, now_ms));
    atomic_store(&page->safe_until_ms, safe_until_ms);
    atomic_store(&page->slew_ms, slew_ms);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page.h"

#include <sys/mman.h>

struct hf_page *hf_page_new(void)
{
    struct hf_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    atomic_init(&page->phase, HF_PHASE_WAITING);
    atomic_init(&page->safe_until_ms, HF_FOREVER);
    atomic_init(&page->lease_ms, HF_FOREVER);
    return page;
}

uint64_t hf_page_margin_ms(uint64_t lease_ms)
{
    return lease_ms / 20 > 200 ? lease_ms / 20 : 200;
}

uint64_t hf_page_kill_at_ms(const struct hf_page *page)
{
    uint64_t safe_until_ms = atomic_load(&page->safe_until_ms);
    uint64_t margin_ms;

    if (safe_until_ms == HF_FOREVER)
        return HF_FOREVER;
    margin_ms = hf_page_margin_ms(atomic_load(&page->lease_ms));
    return safe_until_ms > margin_ms ? safe_until_ms - margin_ms : 0;
}

uint64_t hf_page_grace_ms(const struct hf_page *page, uint64_t wanted_ms)
{
    uint64_t third_ms = atomic_load(&page->lease_ms) / 3;

    return wanted_ms < third_ms ? wanted_ms : third_ms;
}

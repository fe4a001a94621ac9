/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the test that runs now. */
#include "leased_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct leased_model *model;

int finish(void **state)
{
    (void)state;
    model_free(model);
    return 0;
}

uint64_t run_until_event(struct hf_store *store, const char *text, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        model_run(model, 1);
        if (strstr(model_events(store), text) != NULL)
            return model_now_ms(model);
    }
    fail_msg("no event has %s", text);
    return 0;
}

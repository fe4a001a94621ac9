/* SPDX-License-Identifier: Apache-2.0 */
/* How time passes for an engine that leases tickets. */
#include "engines/leased/leased_engine.h"
#include "leased_client.h"

void leased_tick(struct leased_client *client)
{
    hf_leased_engine_enter(client->engine);
    hf_leased_tick(client->engine->leased, client->now_ms);
    hf_leased_engine_leave(client->engine);
}

uint64_t leased_wake_at_ms(const struct leased_client *client)
{
    return hf_leased_wake_at_ms(client->engine->leased);
}

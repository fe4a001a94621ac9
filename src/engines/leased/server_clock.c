/* SPDX-License-Identifier: Apache-2.0 */
/* The server's clock as last read.  It moves on with ours until the next answer
 * shows it again. */
#include "base/time_math.h"
#include "engines/leased/leased_private.h"

void hf_leased_session_set_server_clock(struct hf_leased *leased,
                                        uint64_t server_ms)
{
    leased->session.server_ms = server_ms;
    leased->session.server_clock_at_ms = leased->now_ms;
}

uint64_t hf_leased_session_not_after_ms(const struct hf_leased *leased)
{
    const struct hf_leased_session *session = &leased->session;
    uint64_t since_ms = leased->now_ms - session->server_clock_at_ms;

    return hf_after_ms(hf_after_ms(session->server_ms, since_ms),
                       leased->config.ttl_ms);
}

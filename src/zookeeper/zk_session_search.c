/* SPDX-License-Identifier: Apache-2.0 */
/* The second connection of a session that is connected to a read-only server:
 * which server is asked on it, and what its answer leads to. */
#include "zookeeper/zk_search.h"
#include "zookeeper/zk_session_private.h"

/* Is ${number} the connection on which a server is asked now? */
static bool is_asking(const struct hf_zk_session *session, uint64_t number)
{
    return hf_zk_session_read_only(session) &&
           session->search.state == HF_ZK_SEARCH_ASKING &&
           session->search.number == number;
}

const struct hf_zk_server *
hf_zk_session_asked_server(const struct hf_zk_session *session,
                           uint64_t *number)
{
    *number = session->search.number;
    return is_asking(session, *number)
               ? &session->config->servers[session->search.server]
               : NULL;
}

void hf_zk_session_asked_received(struct hf_zk_session *session,
                                  uint64_t number, uint64_t now_ms,
                                  const void *bytes, size_t count)
{
    session->now_ms = now_ms;
    if (is_asking(session, number) &&
        hf_zk_search_received(&session->search, bytes, count, now_ms))
        hf_zk_session_leave_for(session, session->search.server,
                                "a server with a quorum was found");
}

void hf_zk_session_asked_down(struct hf_zk_session *session, uint64_t number,
                              uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (is_asking(session, number))
        hf_zk_search_failed(&session->search, now_ms);
}

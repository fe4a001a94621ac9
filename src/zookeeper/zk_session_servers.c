/* SPDX-License-Identifier: Apache-2.0 */
/* Another list of servers for a session that is under way.  What is known of a
 * server goes with it to its new index.  The current server keeps an index
 * behind the list, until its connection has ended. */
#include <assert.h>
#include <string.h>

#include "zookeeper/zk_session_private.h"

/* The index of ${server} among the ${count} of ${servers}, or SIZE_MAX. */
static size_t index_of(const struct hf_zk_server *servers, size_t count,
                       const struct hf_zk_server *server)
{
    for (size_t i = 0; i < count; i++) {
        if (servers[i].port == server->port &&
            strcmp(servers[i].host, server->host) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* The index that ${server} has now; that of the current one may be behind the
 * list. */
static size_t index_now(const struct hf_zk_session *session,
                        const struct hf_zk_server *server)
{
    const struct hf_zk_session_config *config = session->config;

    if (index_of(&config->servers[session->server], 1, server) == 0)
        return session->server;
    return index_of(config->servers, config->server_count, server);
}

/* Are the ${count} servers those that the session has? */
static bool are_the_same(const struct hf_zk_session *session,
                         const struct hf_zk_server *servers, size_t count)
{
    const struct hf_zk_session_config *config = session->config;
    bool same = count == config->server_count;

    for (size_t i = 0; i < count && same; i++)
        same = index_of(config->servers, count, &servers[i]) != SIZE_MAX &&
               index_of(servers, count, &config->servers[i]) != SIZE_MAX;
    return same;
}

/* Take what is known of each server to its new index. */
static void move_probes(struct hf_zk_session *session, const size_t *was)
{
    enum hf_zk_tls_probe moved[HF_ZK_SERVERS_MAX + 1];

    for (size_t i = 0; i <= HF_ZK_SERVERS_MAX; i++)
        moved[i] = was[i] == SIZE_MAX ? HF_ZK_TLS_UNPROBED
                                      : session->tls_probe[was[i]];
    memcpy(session->tls_probe, moved, sizeof moved);
}

/* Write the list, and set ${was} as .servers_changed of a listener gets it. */
static void replace(struct hf_zk_session *session,
                    const struct hf_zk_server *servers, size_t count,
                    size_t *was)
{
    struct hf_zk_session_config *config = session->config;
    const struct hf_zk_server current = config->servers[session->server];
    size_t server = index_of(servers, count, &current);

    for (size_t i = 0; i < HF_ZK_SERVERS_MAX; i++)
        was[i] = i < count ? index_now(session, &servers[i]) : SIZE_MAX;
    was[HF_ZK_SERVER_LEFT] = session->server;
    memcpy(config->servers, servers, count * sizeof *servers);
    config->servers[HF_ZK_SERVER_LEFT] = current;
    config->server_count = count;
    session->server = server != SIZE_MAX ? server : HF_ZK_SERVER_LEFT;
    move_probes(session, was);
}

/* Where to go from the current server.  It is left if it is not in the list, or
 * for ${chosen}, if that was found to have a quorum and is in the list. */
static void choose_next(struct hf_zk_session *session,
                        const struct hf_zk_server *chosen)
{
    const struct hf_zk_session_config *config = session->config;
    size_t next = index_of(config->servers, config->server_count, chosen);
    bool read_only = hf_zk_session_read_only(session);
    bool found = read_only && session->leaving && next != SIZE_MAX &&
                 session->search.state == HF_ZK_SEARCH_FOUND;

    session->next_server = next != SIZE_MAX ? next : 0;
    session->leaving = session->server == HF_ZK_SERVER_LEFT || found;
    if (read_only && !session->leaving)
        hf_zk_search_begin(&session->search, config->server_count,
                           session->server, session->now_ms);
    else if (!found)
        hf_zk_search_end(&session->search);
}

void hf_zk_session_set_servers(struct hf_zk_session *session,
                               const struct hf_zk_server *servers, size_t count,
                               uint64_t now_ms)
{
    struct hf_zk_server chosen = session->config->servers[session->next_server];
    size_t was[HF_ZK_SERVERS_MAX + 1];

    assert(count > 0 && count <= HF_ZK_SERVERS_MAX);
    session->now_ms = now_ms;
    if (are_the_same(session, servers, count))
        return;
    if (!session->leaving)
        chosen = servers[0];
    replace(session, servers, count, was);
    hf_connectivity_set_servers(&session->connectivity, count);
    choose_next(session, &chosen);
    HF_ZK_NOTIFY(&session->listeners, servers_changed, (listener->user, was));
    if (session->leaving)
        hf_zk_session_leave_for(session, session->next_server,
                                "it is not in the list of servers any more");
}

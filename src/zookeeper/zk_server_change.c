/* SPDX-License-Identifier: Apache-2.0 */
/* A session moves to another server because its list of servers was replaced,
 * because a server with a quorum was found, or because
 * hf_zk_session_change_server() is called.  After a connection that failed,
 * hf_zk_session_connect_next() in zk_session.c chooses the server.
 *
 * What is known of a server goes with it to its new index.  A current server
 * that is not in the new list has an index behind the list until its connection
 * has ended. */
#include <assert.h>
#include <string.h>

#include "zookeeper/zk_session_private.h"

/* ------------------------------------------------------- another server -- */

void hf_zk_session_change_server_if_idle(struct hf_zk_session *session)
{
    unsigned state = session->connectivity.state;

    if (session->leaving && session->wire.calls == 0 &&
        (state == HF_CONNECTIVITY_CONNECTING ||
         state == HF_CONNECTIVITY_HANDSHAKING || state == HF_CONNECTIVITY_UP))
        hf_zk_session_change_connection(session);
}

void hf_zk_session_change_server(struct hf_zk_session *session, size_t server,
                                 const char *why)
{
    char left[HF_ZK_ADDRESS_TEXT_BYTES];

    hf_zk_session_server_text(session, left);
    if (hf_zk_session_usable(session))
        session->log.line(session->log.user, HF_LOG_INFO,
                          "%s: left, because %s", left, why);
    session->leaving = true;
    session->next_server = server;
    hf_zk_session_change_server_if_idle(session);
}

/* ----------------------------------------------- the probe for a quorum -- */

static const char quorum_found[] = "a server with a quorum was found";

/* Is ${number} the connection on which a server is probed now? */
static bool is_probing(const struct hf_zk_session *session, uint64_t number)
{
    return hf_zk_session_read_only(session) &&
           session->rw_probe.state == HF_ZK_RW_PROBE_ASKING &&
           session->rw_probe.number == number;
}

const struct hf_zk_server *
hf_zk_session_rw_probe_server(const struct hf_zk_session *session,
                              uint64_t *number)
{
    *number = session->rw_probe.number;
    return is_probing(session, *number)
               ? &session->config->servers[session->rw_probe.server]
               : NULL;
}

void hf_zk_session_rw_probe_received(struct hf_zk_session *session,
                                     uint64_t number, uint64_t now_ms,
                                     const void *bytes, size_t count)
{
    session->now_ms = now_ms;
    if (is_probing(session, number) &&
        hf_zk_rw_probe_received(&session->rw_probe, bytes, count, now_ms))
        hf_zk_session_change_server(session, session->rw_probe.server,
                                    quorum_found);
}

void hf_zk_session_rw_probe_down(struct hf_zk_session *session, uint64_t number,
                                 uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (is_probing(session, number))
        hf_zk_rw_probe_failed(&session->rw_probe, now_ms);
}

/* --------------------------------------------------------- another list -- */

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

/* The index that ${server} has now, or SIZE_MAX.  The current server may be
 * behind the list. */
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

/* Move .tls_probe of each server to its new index. */
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

/* Set .leaving and .next_server for the new list.  The current server is left
 * if it is not in the list.  A read-only one is also left if it was being left
 * for ${chosen}, which has a quorum and is in the list. */
static void choose_next(struct hf_zk_session *session,
                        const struct hf_zk_server *chosen)
{
    const struct hf_zk_session_config *config = session->config;
    size_t next = index_of(config->servers, config->server_count, chosen);
    bool read_only = hf_zk_session_read_only(session);
    bool found = read_only && session->leaving && next != SIZE_MAX &&
                 session->rw_probe.state == HF_ZK_RW_PROBE_FOUND;

    session->next_server = next != SIZE_MAX ? next : 0;
    session->leaving = session->server == HF_ZK_SERVER_LEFT || found;
    if (read_only && !session->leaving)
        hf_zk_rw_probe_begin(&session->rw_probe, config->server_count,
                             session->server, session->now_ms);
    else if (!found)
        hf_zk_rw_probe_end(&session->rw_probe);
}

void hf_zk_session_set_servers(struct hf_zk_session *session,
                               const struct hf_zk_server *servers, size_t count,
                               uint64_t now_ms)
{
    struct hf_zk_server chosen = session->config->servers[session->next_server];
    size_t was[HF_ZK_SERVERS_MAX + 1];
    const char *why;

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
    if (!session->leaving)
        return;
    why = session->server == HF_ZK_SERVER_LEFT
              ? "it is not in the list of servers any more"
              : quorum_found;
    hf_zk_session_change_server(session, session->next_server, why);
}

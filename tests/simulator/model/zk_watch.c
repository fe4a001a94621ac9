/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of one server.  A connection has at most one data watch and one
 * child watch for each path; setting one again changes nothing. */
#include "simulator/model/zk_internal.h"

#include <string.h>

#define CONNECTED_STATE 3 /* KeeperState.SyncConnected */

/* The pointer to that watch in the server's list; it points to NULL if there is
 * none. */
static struct zk_watch **find_watch(struct zk_connection *connection,
                                    const char *path, bool child)
{
    struct zk_watch **at = &connection->server->watches;

    while (*at != NULL &&
           ((*at)->connection != connection || (*at)->child != child ||
            strcmp((*at)->path, path) != 0))
        at = &(*at)->next;
    return at;
}

/* Remove the watch that ${at} points to. */
static void drop(struct zk_server *server, struct zk_watch **at)
{
    struct zk_ensemble *zk = server->sim->zk;
    struct zk_watch *watch = *at;

    *at = watch->next;
    server->watch_count--;
    watch->next = zk->spare_watches;
    zk->spare_watches = watch;
}

void zk_watch_set(struct zk_connection *connection, const char *path,
                  bool child)
{
    struct zk_server *server = connection->server;
    struct zk_ensemble *zk = connection->sim->zk;
    struct zk_watch *watch = *find_watch(connection, path, child);

    if (watch != NULL)
        return;
    watch = zk->spare_watches;
    if (watch == NULL)
        watch = sim_alloc(connection->sim, sizeof *watch);
    else
        zk->spare_watches = watch->next;
    *watch = (struct zk_watch){.path = path,
                               .connection = connection,
                               .child = child,
                               .next = server->watches};
    server->watches = watch;
    server->watch_count++;
}

bool zk_watch_unset(struct zk_connection *connection, const char *path,
                    bool child)
{
    struct zk_watch **at = find_watch(connection, path, child);

    if (*at == NULL)
        return false;
    drop(connection->server, at);
    return true;
}

/* Send a watch event.  Servers from 3.9 on put the zxid of the transaction
 * being applied into its header. */
static void notify(struct zk_connection *connection, const char *path,
                   int32_t type)
{
    struct zk_server *server = connection->server;
    bool event_zxid = server->sim->config.ensemble.event_zxid;
    struct hf_jute_writer out = {0};
    size_t begin = hf_jute_begin_frame(&out);

    hf_jute_put_int(&out, HF_ZK_XID_EVENT);
    hf_jute_put_long(&out, event_zxid ? zk_replica_zxid(&server->replica) : -1);
    hf_jute_put_int(&out, 0);
    hf_jute_put_int(&out, type);
    hf_jute_put_int(&out, CONNECTED_STATE);
    hf_jute_put_string(&out, path);
    hf_jute_end_frame(&out, begin);
    zk_reply(connection, out.bytes, out.used);
    hf_jute_free(&out);
    if (connection->reset_after_event ||
        sim_happens(server->sim, server->sim->config.lose_chance))
        zk_connection_end_after_output(connection);
}

/* Watches fire once: each is removed before its event is sent. */
void zk_watches_fire(struct zk_server *server, const char *path, bool child,
                     int32_t type)
{
    struct zk_watch **at = &server->watches;

    while (*at != NULL) {
        struct zk_connection *connection = (*at)->connection;

        if ((*at)->child != child || strcmp((*at)->path, path) != 0) {
            at = &(*at)->next;
            continue;
        }
        drop(server, at);
        notify(connection, path, type);
    }
}

/* The connection has ended. */
void zk_watches_drop(struct zk_connection *connection)
{
    struct zk_watch **at = &connection->server->watches;

    while (*at != NULL) {
        if ((*at)->connection == connection)
            drop(connection->server, at);
        else
            at = &(*at)->next;
    }
}

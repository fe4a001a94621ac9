/* SPDX-License-Identifier: Apache-2.0 */
/* One watch per path and connection, and one of children: asked for twice it is
 * there once. */
#include "engines/sim/zk_model.h"

#include <string.h>

#define CONNECTED_STATE 3 /* KeeperState.SyncConnected */

static struct zk_watch **place_of(struct zk_connection *connection,
                                  const char *path, bool child)
{
    struct zk_watch **place = &connection->server->watches;

    while (*place != NULL &&
           ((*place)->connection != connection || (*place)->child != child ||
            strcmp((*place)->path, path) != 0))
        place = &(*place)->next;
    return place;
}

static void drop(struct zk_server *server, struct zk_watch **place)
{
    struct zk_ensemble *zk = server->sim->zk;
    struct zk_watch *watch = *place;

    *place = watch->next;
    server->watch_count--;
    watch->next = zk->spare_watches;
    zk->spare_watches = watch;
}

void zk_watch_set(struct zk_connection *connection, const char *path,
                  bool child)
{
    struct zk_server *server = connection->server;
    struct zk_ensemble *zk = connection->sim->zk;
    struct zk_watch *watch = *place_of(connection, path, child);

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
    struct zk_watch **place = place_of(connection, path, child);

    if (*place == NULL)
        return false;
    drop(connection->server, place);
    return true;
}

/* Servers from 3.9 on say which transaction it was: the one that is being
 * carried out. */
static void notify(struct zk_connection *connection, const char *path,
                   int32_t type)
{
    struct zk_server *server = connection->server;
    bool tells_zxid = server->sim->config.ensemble.tells_zxid;
    struct hf_jute_writer out = {0};
    size_t begin = hf_jute_begin_frame(&out);

    hf_jute_put_int(&out, HF_ZK_XID_EVENT);
    hf_jute_put_long(&out, tells_zxid ? zk_replica_zxid(&server->replica) : -1);
    hf_jute_put_int(&out, 0);
    hf_jute_put_int(&out, type);
    hf_jute_put_int(&out, CONNECTED_STATE);
    hf_jute_put_string(&out, path);
    hf_jute_end_frame(&out, begin);
    zk_reply(connection, out.bytes, out.used);
    hf_jute_free(&out);
    if (connection->torn ||
        sim_happens(server->sim, server->sim->config.lose_chance))
        zk_connection_tear(connection);
}

void zk_watches_fire(struct zk_server *server, const char *path, bool child,
                     int32_t type)
{
    struct zk_watch **place = &server->watches;

    while (*place != NULL) {
        struct zk_connection *connection = (*place)->connection;

        if ((*place)->child != child || strcmp((*place)->path, path) != 0) {
            place = &(*place)->next;
            continue;
        }
        drop(server, place);
        notify(connection, path, type);
    }
}

void zk_watches_drop(struct zk_connection *connection)
{
    struct zk_watch **place = &connection->server->watches;

    while (*place != NULL) {
        if ((*place)->connection == connection)
            drop(connection->server, place);
        else
            place = &(*place)->next;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of one server.  A connection has at most one data watch and one
 * child watch for each path.  Each has a mode, and setting it again replaces
 * that, whatever it was: so a read that sets a one-shot watch ends a persistent
 * one (WatcherModeManager of ZooKeeper 3.6 to 3.8). */
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
                  bool child, enum zk_watch_mode mode)
{
    struct zk_server *server = connection->server;
    struct zk_ensemble *zk = connection->sim->zk;
    struct zk_watch *watch = *find_watch(connection, path, child);

    if (watch != NULL) {
        watch->mode = mode;
        return;
    }
    watch = zk->spare_watches;
    if (watch == NULL)
        watch = sim_alloc(connection->sim, sizeof *watch);
    else
        zk->spare_watches = watch->next;
    *watch = (struct zk_watch){.path = path,
                               .connection = connection,
                               .child = child,
                               .mode = mode,
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

void zk_event_sent(struct zk_connection *connection, int32_t type,
                   const char *path, int64_t zxid)
{
    struct zk_sent_event *event = sim_alloc(connection->sim, sizeof *event);

    *event = (struct zk_sent_event){type, sim_strdup(connection->sim, path),
                                    zxid, NULL};
    if (connection->last_event != NULL)
        connection->last_event->next = event;
    else
        connection->first_event = event;
    connection->last_event = event;
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

    zk_event_sent(connection, type, path, zk_replica_zxid(&server->replica));
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

/* The connection may not read the node, and is not notified
 * (NIOServerCnxn.process()). */
static void keep_back(const struct zk_connection *connection, const char *path,
                      int32_t type, const struct zk_acl *acl)
{
    const struct hf_sim *sim = connection->sim;
    const struct hf_engine *engine = connection->engine;

    if (sim->observer.event_kept_back != NULL && !engine->gone &&
        engine->zk->connection == connection)
        sim->observer.event_kept_back(
            sim->observer.arg, engine, type, path,
            zk_replica_zxid(&connection->server->replica), acl);
}

/* Is ${path} below ${ancestor}? */
static bool is_below(const char *path, const char *ancestor)
{
    size_t bytes = strlen(ancestor);

    if (bytes == 1)
        return true;
    return strncmp(path, ancestor, bytes) == 0 && path[bytes] == '/';
}

/* Does an event of ${path} concern the watch?  A recursive one is not notified
 * of children that change, because it is notified of the children. */
static bool concerns(const struct zk_watch *watch, const char *path,
                     int32_t type)
{
    bool exact = strcmp(watch->path, path) == 0;

    if (watch->mode != ZK_WATCH_RECURSIVE)
        return exact;
    return type != HF_ZK_NODE_CHILDREN_CHANGED &&
           (exact || is_below(path, watch->path));
}

/* One-shot watches are removed before their event is sent.  A connection that
 * has several watches gets one event (WatchManager.triggerWatch()). */
uint64_t zk_watches_fire(struct zk_server *server, const char *path, bool child,
                         int32_t type, const struct zk_acl *acl,
                         uint64_t suppressed)
{
    uint64_t number = ++server->sim->zk->triggers;
    struct zk_watch **at = &server->watches;

    while (*at != NULL) {
        struct zk_connection *connection = (*at)->connection;
        bool due = connection->notified_by != number &&
                   (suppressed == 0 || connection->notified_by != suppressed);

        if ((*at)->child != child || !concerns(*at, path, type)) {
            at = &(*at)->next;
            continue;
        }
        if ((*at)->mode == ZK_WATCH_ONE_SHOT)
            drop(server, at);
        else
            at = &(*at)->next;
        if (!due)
            continue;
        connection->notified_by = number;
        if (!server->sim->config.ensemble.checks_readers ||
            zk_acl_permits(acl, ZK_PERM_READ, &connection->who))
            notify(connection, path, type);
        else
            keep_back(connection, path, type, acl);
    }
    return number;
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See own_tickets.h.  The tickets are in two trees: all by id, and those that
 * wait by their blocker.  The file at the path of a ticket is compared with its
 * FIFO by device and inode.
 */
#include "engines/file/own_tickets.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/container_of.h"
#include "engines/file/engine.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"

/* The orders of the two trees: by id; and by blocker, then by id. */
static int compare_ids(const void *id, const struct hf_tree_node *node)
{
    const struct hf_file_ticket *own_ticket =
        container_of(node, const struct hf_file_ticket, by_id);

    return memcmp(id, &own_ticket->ticket.id, sizeof(struct hf_ticket_id));
}

/* A key in the tree of blocked tickets. */
struct blocker_key {
    struct hf_ticket_id blocker;
    struct hf_ticket_id id;
};

static int compare_blockers(const void *a, const struct hf_tree_node *node)
{
    const struct hf_file_ticket *own_ticket =
        container_of(node, const struct hf_file_ticket, by_blocker);
    const struct blocker_key *key = a;
    int order =
        memcmp(&key->blocker, &own_ticket->blocker, sizeof(key->blocker));

    return order != 0
               ? order
               : memcmp(&key->id, &own_ticket->ticket.id, sizeof(key->id));
}

void hf_file_tickets_init(struct hf_file_tickets *tickets)
{
    tickets->ids.compare = compare_ids;
    tickets->blocked.compare = compare_blockers;
}

/* Returns whether the ticket has a blocker, and so is in that tree. */
static bool is_blocked(const struct hf_file_ticket *own_ticket)
{
    static const struct hf_ticket_id none;

    return !hf_ticket_id_equal(&own_ticket->blocker, &none);
}

void hf_file_ticket_set_stat(struct hf_file_ticket *own_ticket,
                             const struct stat *fifo_stat)
{
    own_ticket->device = fifo_stat->st_dev;
    own_ticket->inode = fifo_stat->st_ino;
    own_ticket->created_mtime = fifo_stat->st_mtim;
    own_ticket->last_mtime = fifo_stat->st_mtim;
}

void hf_file_tickets_add(struct hf_file_tickets *tickets,
                         struct hf_file_ticket *own_ticket)
{
    assert(!is_blocked(own_ticket) && own_ticket->watches == NULL);
    hf_tree_add(&tickets->ids, &own_ticket->by_id, &own_ticket->ticket.id);
}

void hf_file_tickets_remove(struct hf_file_tickets *tickets,
                            struct hf_file_ticket *own_ticket)
{
    hf_file_tickets_set_blocker(tickets, own_ticket, NULL);
    hf_tree_remove(&tickets->ids, &own_ticket->by_id, &own_ticket->ticket.id);
}

void hf_file_tickets_set_blocker(struct hf_file_tickets *tickets,
                                 struct hf_file_ticket *own_ticket,
                                 const struct hf_ticket_id *blocker)
{
    struct blocker_key key = {own_ticket->blocker, own_ticket->ticket.id};

    if (is_blocked(own_ticket))
        hf_tree_remove(&tickets->blocked, &own_ticket->by_blocker, &key);
    if (blocker == NULL) {
        own_ticket->blocker = (struct hf_ticket_id){{0}};
        return;
    }
    key.blocker = own_ticket->blocker = *blocker;
    assert(is_blocked(own_ticket)); /* no ticket has an id of zeros */
    hf_tree_add(&tickets->blocked, &own_ticket->by_blocker, &key);
}

struct hf_file_ticket *
hf_file_tickets_first(const struct hf_file_tickets *tickets)
{
    static const struct hf_ticket_id none;

    return container_of_or_null(hf_tree_after(&tickets->ids, &none),
                                struct hf_file_ticket, by_id);
}

struct hf_file_ticket *
hf_file_tickets_after(const struct hf_file_tickets *tickets,
                      const struct hf_file_ticket *own_ticket)
{
    return container_of_or_null(
        hf_tree_after(&tickets->ids, &own_ticket->ticket.id),
        struct hf_file_ticket, by_id);
}

struct hf_file_ticket *
hf_file_tickets_blocked_by(const struct hf_file_tickets *tickets,
                           const struct hf_ticket_id *blocker,
                           const struct hf_file_ticket *after)
{
    const struct blocker_key key = {*blocker, after != NULL
                                                  ? after->ticket.id
                                                  : (struct hf_ticket_id){{0}}};
    struct hf_file_ticket *own_ticket =
        container_of_or_null(hf_tree_after(&tickets->blocked, &key),
                             struct hf_file_ticket, by_blocker);

    return own_ticket != NULL &&
                   hf_ticket_id_equal(&own_ticket->blocker, blocker)
               ? own_ticket
               : NULL;
}

int hf_file_tickets_take_probed(const struct hf_file_tickets *tickets,
                                const struct hf_ticket_id *blocker)
{
    struct hf_file_ticket *own_ticket =
        hf_file_tickets_blocked_by(tickets, blocker, NULL);
    int fifo = -1;

    if (own_ticket != NULL &&
        hf_ticket_id_equal(&own_ticket->probed, blocker)) {
        fifo = own_ticket->probed_fifo;
        own_ticket->probed_fifo = -1;
    }
    return fifo;
}

struct hf_file_ticket *hf_file_own_ticket(const struct hf_engine *engine,
                                          const struct hf_ticket_id *id)
{
    return container_of_or_null(hf_tree_find(&engine->tickets.ids, id),
                                struct hf_file_ticket, by_id);
}

/* -------------------------------------------------------------- presence -- */

/* Returns whether ${error}, the errno of an lstat(), means that the path does
 * not exist.  Other errors (EACCES, ENOMEM) say nothing about the ticket. */
static bool means_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* It is enough to compare device and inode: while the FIFO is open, no other
 * file can have its inode number. */
enum hf_file_presence hf_file_ticket_presence(const struct hf_engine *engine,
                                              struct hf_file_ticket *ticket)
{
    char path[HF_PATH_BYTES];
    struct stat at_path;

    ticket->present = false;
    hf_file_root_settings_path(&engine->settings, ticket->dir_name,
                               ticket->file, path);
    if (hf_file_sys_lstat(path, &at_path) != 0)
        return means_gone(errno) ? HF_GONE : HF_PRESENCE_UNKNOWN;
    if (at_path.st_dev != ticket->device || at_path.st_ino != ticket->inode)
        return HF_GONE;
    ticket->last_mtime = at_path.st_mtim;
    ticket->present = true;
    return HF_PRESENT;
}

bool hf_file_ticket_is_present(const struct hf_engine *engine,
                               struct hf_file_ticket *ticket)
{
    return hf_file_ticket_presence(engine, ticket) != HF_GONE;
}

/* The payload is the target of a symbolic link. */
void hf_file_ticket_read_why(const struct hf_engine *engine,
                             const struct hf_file_ticket *ticket,
                             char why[HF_EVICTED_WHY_BYTES])
{
    const size_t mark = strlen(HF_FILE_EVICTED_BY);
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[HF_PATH_BYTES];
    char text[HF_PAYLOAD_BYTES];
    ssize_t bytes;

    why[0] = '\0';
    hf_file_payload_name_of(ticket->file, file);
    hf_file_root_settings_path(&engine->settings, ticket->dir_name, file, path);
    bytes = hf_file_sys_readlinkat(AT_FDCWD, path, text, sizeof(text));
    if (bytes > (ssize_t)mark && memcmp(text, HF_FILE_EVICTED_BY, mark) == 0)
        (void)hf_evicted_by_explain(text + mark, (size_t)bytes - mark, why);
}

/* The text is for the person who deleted or moved the whole directory without
 * knowing that it was in use. */
void hf_file_answer_own_gone(struct hf_engine *engine,
                             struct hf_request *request, const char *why)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};
    char locks[HF_PATH_BYTES];
    struct stat status;

    hf_file_root_settings_path(&engine->settings, ".", NULL, locks);
    event.as.answer.request = request;
    event.as.answer.text = why;
    if (hf_file_sys_lstat(locks, &status) != 0 && means_gone(errno))
        event.as.answer.text =
            "the lock directory was deleted or moved away; make sure that "
            "nothing cleans it up while it is in use";
    engine->host.event(engine->host.host, &event);
}

/* --------------------------------------------------------------- release -- */

/* Release a ticket whose descriptor was copied, and whose FIFO is at ${path}.
 * The copies keep the ticket in its queue until the last of them is closed;
 * then a session that waits for the ticket finds it dead.  If all are closed
 * already, the ticket is removed here, because perhaps nobody waits for it.
 * Returns whether it was in its queue. */
static bool release_held(struct hf_engine *engine,
                         struct hf_file_ticket *own_ticket, const char *path)
{
    bool found = hf_file_ticket_is_present(engine, own_ticket);
    struct hf_error unused;
    bool removed;

    hf_file_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    if (hf_file_fifo_probe(&engine->descriptors, path, NULL, &unused) ==
        HF_OWNER_DEAD)
        (void)hf_file_fifo_and_payload_remove(path, &removed, &unused);
    return found;
}

/* The name is removed first, so that nobody finds the ticket dead.  Then the
 * FIFO is closed before anything else, because the next waiter waits for
 * that. */
bool hf_file_ticket_release(struct hf_engine *engine,
                            struct hf_file_ticket *own_ticket)
{
    char path[HF_PATH_BYTES];
    struct hf_error error;
    bool found;

    assert(own_ticket->fifo >= 0);
    hf_file_root_settings_path(&engine->settings, own_ticket->dir_name,
                               own_ticket->file, path);
    if (own_ticket->copied)
        return release_held(engine, own_ticket, path);
    if (hf_file_fifo_remove(path, &found, &error) != HF_OK) {
        found = true; /* it will be found dead when it is closed */
        engine->host.log(
            engine->host.host, HF_LOG_WARNING,
            "a ticket that was given up is left to be found dead: %s",
            error.text);
    }
    hf_file_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_file_payload_remove(path);
    return found;
}

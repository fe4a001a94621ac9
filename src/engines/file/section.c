/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/section_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/error.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

/* How often the directory may turn out to be another one, or gone, between
 * opening and locking it.  Each time somebody left the lock empty meanwhile. */
#define TRIES 64

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define WAITER_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW)

enum hf_section_answer hf_section_trouble(struct hf_section *s,
                                          const char *what)
{
    hf_trouble(s->error, what, s->path);
    return HF_SECTION_FAILED;
}

/* Unlock the directory, open as ${dir}, and wake who waits for that.  By name:
 * the child of a fork may have a copy of the descriptor.  ${current}: the
 * counter has been found current since it was locked, so that need not be asked
 * again. */
static void unlock(struct hf_place *place, const char *entry, int dir,
                   bool current)
{
    struct hf_counter *counter = &place->counter;

    (void)hf_sys_flock(dir, LOCK_UN);
    if (current || hf_counter_current(counter, place->site->counter))
        hf_patience_wake(hf_counter_contended(counter, entry));
}

static void unlock_directory(struct hf_section *s)
{
    unlock(s->place, s->entry, s->directory->fd, s->counter_current);
    s->counter_current = false;
}

static void leave_directory(struct hf_section *s)
{
    unlock_directory(s);
    hf_descriptors_close(s->place->descriptors, &s->directory->fd);
}

/* Make the directory for a ticket; ${made} is false if it is there. */
static enum hf_section_answer make_directory(struct hf_section *s, bool *made)
{
    *made = false;
    if (s->order->work != HF_REQUEST_ENQUEUE)
        return HF_SECTION_DONE;
    *made = hf_sys_mkdir(s->path, hf_site_dir_mode(s->place->site)) == 0;
    if (!*made && errno == ENOENT)
        return HF_SECTION_STALE; /* ROOT/locks is not there */
    if (!*made && errno != EEXIST)
        return hf_section_trouble(s, "create");
    return HF_SECTION_DONE;
}

/* It is not there: nobody is, unless it was removed again by whoever left the
 * lock empty. */
static enum hf_section_answer no_directory(const struct hf_section *s)
{
    return s->order->work == HF_REQUEST_ENQUEUE ? HF_SECTION_BUSY
                                                : HF_SECTION_DONE;
}

/* Open the directory; .fd is -1 with HF_SECTION_DONE if nobody is there. */
static enum hf_section_answer open_directory(struct hf_section *s)
{
    const struct hf_site *site = s->place->site;
    struct hf_directory *directory = s->directory;
    enum hf_section_answer answer;
    struct stat status;
    bool made;

    answer = make_directory(s, &made);
    if (answer != HF_SECTION_DONE)
        return answer;
    directory->fd = hf_sys_open(s->path, DIR_FLAGS, 0);
    if (directory->fd < 0 && errno == ENOENT)
        return no_directory(s);
    if (directory->fd < 0 ||
        !hf_descriptors_add(s->place->descriptors, directory->fd)) {
        directory->fd = -1;
        (void)hf_section_trouble(s, "open");
        if (made)
            (void)hf_sys_rmdir(s->path);
        return HF_SECTION_FAILED;
    }
    if (hf_sys_fstat(directory->fd, &status) != 0)
        return hf_section_trouble(s, "examine");
    directory->device = status.st_dev;
    directory->inode = status.st_ino;
    if (made && site->shared &&
        hf_place_share(directory->fd, hf_site_dir_mode(site), s->path,
                       s->error) != HF_OK)
        return HF_SECTION_FAILED;
    if (hf_trust_check(&s->place->trust, &status, s->path, s->error) == HF_OK)
        return HF_SECTION_DONE;
    /* Closed, so that nobody keeps it and uses it without another check. */
    hf_descriptors_close(s->place->descriptors, &directory->fd);
    return HF_SECTION_FAILED;
}

/* Is the directory that is locked the one that is at its path? */
static bool is_current(const struct hf_section *s)
{
    struct stat status;

    return hf_sys_lstat(s->path, &status) == 0 &&
           status.st_dev == s->directory->device &&
           status.st_ino == s->directory->inode;
}

/* The counter's page is touched only while the counter is current: a page
 * beyond the end of a file that was truncated is a SIGBUS. */
static enum hf_lock_answer take_lock(struct hf_section *s)
{
    struct hf_counter *counter = &s->place->counter;
    const struct hf_section_order *order = s->order;
    int fd = s->directory->fd;
    _Atomic uint32_t *word = NULL;

    if (order->patience == HF_PATIENCE_NONE)
        return hf_patience_try(fd, s->path, s->error);
    if (hf_counter_current(counter, s->place->site->counter))
        word = hf_counter_contended(counter, s->entry);
    return hf_patience_wait(fd, s->path, order->patience, word,
                            order->cancelled, s->error);
}

/* Have the directory that is at the path, locked; .fd is -1 if nobody is there.
 * HF_SECTION_BUSY with no directory left open means: it went away meanwhile,
 * try again. */
static enum hf_section_answer lock_directory(struct hf_section *s)
{
    enum hf_section_answer answer;

    if (s->directory->fd < 0) {
        answer = open_directory(s);
        if (answer != HF_SECTION_DONE || s->directory->fd < 0)
            return answer;
    }
    switch (take_lock(s)) {
    case HF_LOCK_BUSY:
        return HF_SECTION_BUSY;
    case HF_LOCK_FAILED:
        return HF_SECTION_FAILED;
    case HF_LOCK_TAKEN:
        break;
    }
    if (is_current(s))
        return HF_SECTION_DONE;
    leave_directory(s);
    return HF_SECTION_BUSY;
}

enum hf_section_answer hf_section_take_number(struct hf_section *s)
{
    struct hf_counter *counter = &s->place->counter;
    const char *path = s->place->site->counter;
    struct hf_ticket *ticket = &s->result->ticket;

    s->counter_current = hf_counter_current(counter, path);
    if (!s->counter_current)
        return HF_SECTION_STALE;
    if (!hf_counter_next(counter, &ticket->sequence)) {
        if (s->order->patience == HF_PATIENCE_NONE)
            return HF_SECTION_BUSY;
        if (hf_counter_extend(counter, path, s->error) != HF_OK)
            return HF_SECTION_FAILED;
        if (!hf_counter_next(counter, &ticket->sequence)) {
            hf_error_set(s->error, HF_EEXHAUSTED,
                         "%s gives no number after a reservation; try again",
                         path);
            return HF_SECTION_FAILED;
        }
    }
    ticket->token = ticket->sequence;
    return HF_SECTION_DONE;
}

static enum hf_section_answer work(struct hf_section *s)
{
    switch (s->order->work) {
    case HF_REQUEST_NEW_GENERATION:
        return hf_section_stamp(s);
    case HF_REQUEST_CLEAR_FLAG:
        return hf_section_lower(s);
    default:
        assert(s->order->work == HF_REQUEST_ENQUEUE);
        return hf_section_put_ticket(s);
    }
}

/* HF_SECTION_BUSY with no directory left open: try again. */
static enum hf_section_answer attempt(struct hf_section *s)
{
    enum hf_section_answer answer = lock_directory(s);

    if (answer != HF_SECTION_DONE || s->directory->fd < 0)
        return answer;
    answer = work(s);
    if (answer == HF_SECTION_FAILED && !is_current(s)) {
        leave_directory(s); /* removed under our hands */
        return HF_SECTION_BUSY;
    }
    unlock_directory(s);
    if (answer == HF_SECTION_DONE && s->order->work == HF_REQUEST_ENQUEUE)
        return hf_section_settle_ticket(s);
    return answer;
}

static enum hf_section_answer run(struct hf_section *s)
{
    for (unsigned try = 0; try < TRIES; try++) {
        enum hf_section_answer answer = attempt(s);

        if (answer != HF_SECTION_BUSY || s->directory->fd >= 0)
            return answer;
    }
    if (s->order->patience == HF_PATIENCE_NONE)
        return HF_SECTION_BUSY;
    hf_error_set(s->error, HF_EDIR,
                 "%s was removed %d times while being opened; what does that?",
                 s->path, TRIES);
    return HF_SECTION_FAILED;
}

static enum hf_listing_of listed_for(const struct hf_section_order *order)
{
    return order->work != HF_REQUEST_ENQUEUE ||
                   order->ticket.kind == HF_TICKET_PARTICIPANT
               ? HF_LISTING_MEMBERS
               : HF_LISTING_QUEUE;
}

enum hf_section_answer
hf_section_carry_out(struct hf_place *place,
                     const struct hf_section_order *order,
                     struct hf_directory *directory,
                     struct hf_section_result *result, struct hf_error *error)
{
    struct hf_section s = {.place = place,
                           .order = order,
                           .directory = directory,
                           .result = result,
                           .error = error};
    bool enqueues = order->work == HF_REQUEST_ENQUEUE;
    enum hf_section_answer answer;

    s.digest = hf_entry_format(order->queue, s.entry);
    hf_site_path(place->site, s.entry, NULL, s.path);
    *result = (struct hf_section_result){
        .ticket = order->ticket, .fifo = -1, .before_fifo = -1};
    result->listing = hf_listing_new(s.entry, listed_for(order));
    if (result->listing == NULL) {
        hf_error_set(error, HF_ENOMEM, "no memory to list %s", s.path);
        return HF_SECTION_FAILED;
    }
    answer = run(&s);
    assert((answer == HF_SECTION_DONE && enqueues) == (result->fifo >= 0));
    if (answer == HF_SECTION_DONE && enqueues)
        return answer;
    hf_listing_unref(result->listing);
    result->listing = NULL;
    if (answer == HF_SECTION_FAILED && directory->fd >= 0)
        hf_section_tidy(place, s.entry, directory->fd);
    return answer;
}

enum hf_life hf_section_probe(struct hf_descriptors *descriptors,
                              const char *path, int *fifo,
                              struct hf_error *error)
{
    int fd = hf_sys_open(path, WAITER_FLAGS, 0);
    enum hf_life life = HF_LIFE_ALIVE;

    if (fifo != NULL)
        *fifo = -1;
    if (fd < 0 && errno == ENOENT)
        return HF_LIFE_DEAD;
    if (fd < 0 || !hf_descriptors_add(descriptors, fd)) {
        hf_trouble(error, "open", path);
        return HF_LIFE_UNKNOWN;
    }
    if (hf_sys_flock(fd, LOCK_SH | LOCK_NB) == 0) {
        (void)hf_sys_flock(fd, LOCK_UN);
        life = HF_LIFE_DEAD;
    } else if (errno != EWOULDBLOCK) {
        hf_trouble(error, "test", path);
        life = HF_LIFE_UNKNOWN;
    }
    if (life == HF_LIFE_ALIVE && fifo != NULL)
        *fifo = fd;
    else
        hf_descriptors_close(descriptors, &fd);
    return life;
}

hf_status hf_section_remove_ticket(const struct hf_site *site,
                                   const char *entry,
                                   const struct hf_ticket *ticket, bool *found,
                                   struct hf_error *error)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];

    hf_ticket_file_format(ticket, file);
    hf_site_path(site, entry, file, path);
    *found = hf_sys_unlink(path) == 0;
    if (*found || errno == ENOENT)
        return HF_OK;
    return hf_trouble(error, "remove", path);
}

void hf_section_remove_payload(const struct hf_site *site, const char *entry,
                               const struct hf_ticket *ticket)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    char path[HF_PATH_BYTES];

    hf_payload_file_format(ticket, file);
    hf_site_path(site, entry, file, path);
    (void)hf_sys_unlink(path);
}

hf_status hf_section_remove(const struct hf_site *site, const char *entry,
                            const struct hf_ticket *ticket, bool *found,
                            struct hf_error *error)
{
    hf_status status =
        hf_section_remove_ticket(site, entry, ticket, found, error);

    if (status == HF_OK)
        hf_section_remove_payload(site, entry, ticket);
    return status;
}

static bool same_directory(int dir, const char *path)
{
    struct stat open_one, at_path;

    return hf_sys_fstat(dir, &open_one) == 0 &&
           hf_sys_lstat(path, &at_path) == 0 &&
           open_one.st_dev == at_path.st_dev &&
           open_one.st_ino == at_path.st_ino;
}

/* Under the directory's lock: remove what only the dead have left.  False if
 * somebody alive has a ticket, or it cannot be told. */
static bool clear_directory(struct hf_place *place, struct hf_listing *listing,
                            int dir)
{
    const struct hf_site *site = place->site;
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool found;

    if (hf_listing_read(listing, dir, listing->entry, NULL, &unused) != HF_OK)
        return false;
    while (listing->tickets.count > 0) {
        hf_ticket_file_format(listing->tickets.items, file);
        hf_site_path(site, listing->entry, file, path);
        if (hf_section_probe(place->descriptors, path, NULL, &unused) !=
                HF_LIFE_DEAD ||
            hf_section_remove(site, listing->entry, listing->tickets.items,
                              &found, &unused) != HF_OK)
            return false;
        hf_listing_drop(listing, 0);
    }
    hf_listing_sweep(listing, dir);
    (void)hf_sys_unlinkat(dir, HF_NEW_FILE);
    (void)hf_sys_unlinkat(dir, HF_NAME_FILE);
    return true;
}

void hf_section_tidy(struct hf_place *place, const char *entry, int dir)
{
    char path[HF_PATH_BYTES];
    struct hf_listing *listing;

    if (hf_sys_flock(dir, LOCK_EX | LOCK_NB) != 0)
        return; /* somebody is at work in it */
    hf_site_path(place->site, entry, NULL, path);
    /* Not another one that has come to be at the path since. */
    if (same_directory(dir, path) && hf_sys_rmdir(path) != 0 &&
        errno == ENOTEMPTY) {
        listing = hf_listing_new(entry, HF_LISTING_ALL);
        if (listing != NULL && clear_directory(place, listing, dir))
            (void)hf_sys_rmdir(path);
        hf_listing_unref(listing);
    }
    unlock(place, entry, dir, false);
}

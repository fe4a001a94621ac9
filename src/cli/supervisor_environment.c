/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that the command is started with.  Our variables are written
 * to one text; the entries for execve() point into it.
 */
#include "cli/supervisor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/grant.h>

#include "base/memory.h"
#include "base/url.h"
#include "cli/variables_text.h"
#include "client/client_url.h"
#include "client/grant.h"
#include "core/ticket.h"

/* What the variables say. */
struct values {
    const char *url;                 /* the URL that the run uses */
    size_t count;                    /* how many locks */
    const char *names[HF_LOCKS_MAX]; /* in the order of the command line */
    uint64_t tokens[HF_LOCKS_MAX];   /* the fencing token of each */
    /* The values that all locks of the run share; .ticket and .name are not
     * used. */
    struct hf_held_lock held;
    char tickets[HF_LOCKS_MAX]
                [HF_HELD_LOCK_TICKET_BYTES]; /* the id of each, cut */
};

static const char *const own_variables[] = {
    "HOLDFAST_URL",   "HOLDFAST_NAME",   "HOLDFAST_NAMES",
    "HOLDFAST_TOKEN", "HOLDFAST_TOKENS", HF_HELD_LOCKS_VARIABLE,
};
#define OWN_VARIABLES (sizeof own_variables / sizeof *own_variables)

/* Does ${entry} ("NAME=VALUE") set a variable that we set ourselves? */
static bool is_own_variable(const char *entry)
{
    for (size_t i = 0; i < OWN_VARIABLES; i++) {
        size_t length = strlen(own_variables[i]);

        if (strncmp(entry, own_variables[i], length) == 0 &&
            entry[length] == '=')
            return true;
    }
    return false;
}

/* Write HOLDFAST_HELD: the locks of the runs around this one, then ours. */
static void write_held(struct hf_variables_text *out,
                       const struct values *values)
{
    struct hf_held_lock held = values->held;

    hf_variables_text_add(out, "%s=", HF_HELD_LOCKS_VARIABLE);
    hf_held_locks_write_inherited(out, secure_getenv(HF_HELD_LOCKS_VARIABLE));
    for (size_t i = 0; i < values->count; i++) {
        (void)snprintf(held.name, sizeof held.name, "%s", values->names[i]);
        memcpy(held.ticket, values->tickets[i], sizeof held.ticket);
        hf_held_lock_write(out, &held);
    }
    hf_variables_text_end(out);
}

/* Write each of our variables. */
static void write_own_variables(struct hf_variables_text *out, const char *url,
                                const struct values *values)
{
    hf_variables_text_add(out, "HOLDFAST_URL=%s", url);
    hf_variables_text_end(out);
    hf_variables_text_add(out, "HOLDFAST_NAME=%s", values->names[0]);
    hf_variables_text_end(out);
    hf_variables_text_add(out, "HOLDFAST_NAMES=");
    for (size_t i = 0; i < values->count; i++)
        hf_variables_text_add(out, "%s%s", i > 0 ? "\n" : "", values->names[i]);
    hf_variables_text_end(out);
    hf_variables_text_add(out, "HOLDFAST_TOKEN=%" PRIu64, values->tokens[0]);
    hf_variables_text_end(out);
    hf_variables_text_add(out, "HOLDFAST_TOKENS=");
    for (size_t i = 0; i < values->count; i++)
        hf_variables_text_add(out, "%s%" PRIu64, i > 0 ? " " : "",
                              values->tokens[i]);
    hf_variables_text_end(out);
    write_held(out, values);
}

/* Make the command's environment from ours: HOLDFAST_NAME(S),
 * HOLDFAST_TOKEN(S), HOLDFAST_HELD and HOLDFAST_URL are set.  If
 * ${values}->url has a secret, HOLDFAST_URL is a reference to a descriptor that
 * has the URL.  False with errno if there is no memory or no descriptor.
 *   Ownership  ${environment} points into environ, and must be freed with
 *              hf_environment_free(), also after a failure. */
static bool make(const struct values *values,
                 struct hf_environment *environment)
{
    char reference[HF_URL_REFERENCE_BYTES];
    const char *url = values->url;
    struct hf_variables_text own = {0};
    size_t entries = 0, kept = 0;

    *environment = (struct hf_environment){.url_fd = -1};
    if (hf_url_has_secret(url)) {
        environment->url_fd = hf_client_url_refer(url, reference);
        if (environment->url_fd < 0)
            return false;
        url = reference;
    }
    while (environ[entries])
        entries++;
    environment->entries =
        hf_alloc((entries + OWN_VARIABLES + 1) * sizeof *environment->entries);
    write_own_variables(&own, url, values);
    environment->text = own.text;
    if (!environment->entries || own.failed) {
        errno = ENOMEM;
        return false;
    }
    for (size_t i = 0; i < entries; i++)
        if (!is_own_variable(environ[i]))
            environment->entries[kept++] = environ[i];
    for (size_t at = 0; at < own.bytes;
         at += strlen(environment->text + at) + 1)
        environment->entries[kept++] = environment->text + at;
    environment->entries[kept] = NULL;
    return true;
}

/* How many words the command has; 0 if a timer ends this run, and for a hook.
 */
static uint32_t count_words(const struct hf_supervisor *supervisor)
{
    const struct hf_run *run = supervisor->run;
    uint32_t count = 0;

    if (supervisor->command.role != HF_ROLE_COMMAND)
        return 0;
    while (!run->has_timer && run->options->command[count] != NULL)
        count++;
    return count;
}

bool hf_supervisor_environment(const struct hf_supervisor *supervisor,
                               struct hf_environment *environment)
{
    const char *url = supervisor->run->options->url;
    struct values values = {.count = supervisor->lock_count};
    struct hf_error ignored;

    /* If HOLDFAST_URL were empty, the client could not have been opened. */
    if (!url)
        (void)hf_client_url_of_environment(&url, &ignored);
    values.url = url ? url : "file:";
    hf_nested_describe(supervisor->client, supervisor->run->options,
                       &values.held);
    values.held.words = count_words(supervisor);
    for (size_t i = 0; i < supervisor->lock_count; i++) {
        const struct hf_lock *lock = supervisor->locks[i];
        char id[HF_TICKET_ID_TEXT_BYTES];

        values.names[i] = hf_lock_name(lock);
        values.tokens[i] = hf_grant_token_of(supervisor->grant, lock);
        hf_ticket_id_format(hf_grant_ticket_id(supervisor->grant, lock), id);
        (void)snprintf(values.tickets[i], HF_HELD_LOCK_TICKET_BYTES, "%.8s",
                       id);
    }
    return make(&values, environment);
}

void hf_environment_free(struct hf_environment *environment)
{
    hf_free(environment->entries);
    hf_free(environment->text);
    if (environment->url_fd >= 0)
        (void)close(environment->url_fd);
    *environment = (struct hf_environment){.url_fd = -1};
}

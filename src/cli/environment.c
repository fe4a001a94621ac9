/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our variables are written one after the other, each with its NUL, to one
 * text; the entries point into it.
 */
#include "cli/environment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/url.h"

static const char *const ours[] = {
    "HOLDFAST_URL",   "HOLDFAST_NAME",   "HOLDFAST_NAMES",
    "HOLDFAST_TOKEN", "HOLDFAST_TOKENS", HF_HELD_VARIABLE,
};
#define OURS (sizeof ours / sizeof *ours)

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < OURS; i++) {
        size_t length = strlen(ours[i]);

        if (strncmp(entry, ours[i], length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

static void write_held(FILE *out, const struct hf_environment_facts *facts)
{
    struct hf_held held = facts->held;

    fprintf(out, "%s=", HF_HELD_VARIABLE);
    hf_held_write_inherited(out, getenv(HF_HELD_VARIABLE));
    for (size_t i = 0; i < facts->count; i++) {
        (void)snprintf(held.name, sizeof held.name, "%s", facts->names[i]);
        memcpy(held.ticket, facts->tickets[i], sizeof held.ticket);
        hf_held_write(out, &held);
    }
    fputc('\0', out);
}

static void write_ours(FILE *out, const struct hf_environment_facts *facts)
{
    if (!hf_url_has_secret(facts->url))
        fprintf(out, "HOLDFAST_URL=%s%c", facts->url, '\0');
    fprintf(out, "HOLDFAST_NAME=%s%c", facts->names[0], '\0');
    fprintf(out, "HOLDFAST_NAMES=");
    for (size_t i = 0; i < facts->count; i++)
        fprintf(out, "%s%s", i > 0 ? "\n" : "", facts->names[i]);
    fprintf(out, "%cHOLDFAST_TOKEN=%" PRIu64 "%c", '\0', facts->tokens[0],
            '\0');
    fprintf(out, "HOLDFAST_TOKENS=");
    for (size_t i = 0; i < facts->count; i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? " " : "", facts->tokens[i]);
    fputc('\0', out);
    write_held(out, facts);
}

/* The text, of ${bytes}; NULL if there is no memory. */
static char *write_text(const struct hf_environment_facts *facts, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    bool failed;

    if (!out)
        return NULL;
    write_ours(out, facts);
    failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

bool hf_environment_make(const struct hf_environment_facts *facts,
                         struct hf_environment *environment)
{
    size_t entries = 0, kept = 0, bytes;

    *environment = (struct hf_environment){0};
    while (environ[entries])
        entries++;
    environment->entries =
        hf_alloc((entries + OURS + 1) * sizeof *environment->entries);
    environment->text = write_text(facts, &bytes);
    if (!environment->entries || !environment->text) {
        hf_environment_free(environment);
        return false;
    }
    for (size_t i = 0; i < entries; i++)
        if (!is_ours(environ[i]))
            environment->entries[kept++] = environ[i];
    for (size_t at = 0; at < bytes; at += strlen(environment->text + at) + 1)
        environment->entries[kept++] = environment->text + at;
    environment->entries[kept] = NULL;
    return true;
}

void hf_environment_free(struct hf_environment *environment)
{
    hf_free(environment->entries);
    free(environment->text);
    *environment = (struct hf_environment){0};
}

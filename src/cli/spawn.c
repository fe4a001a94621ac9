/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "core/errno_text.h"
#include "core/memory.h"
#include "core/url.h"

#define HF_TOKEN_BYTES sizeof "HOLDFAST_TOKEN=18446744073709551615"

/* Async-signal-safe: the client has threads. */
static _Noreturn void cannot_run(const char *command, int error)
{
    char text[512];
    ssize_t written;
    int length =
        snprintf(text, sizeof text, "holdfast: cannot run '%.300s': %s\n",
                 command, hf_errno_text(error));

    /* If even that cannot be said, the exit status still tells. */
    written = length > 0 ? write(STDERR_FILENO, text, (size_t)length) : 0;
    (void)written;
    _exit(error == ENOENT ? HF_EXIT_NOT_FOUND : HF_EXIT_NOT_RUN);
}

static _Noreturn void become_command(const struct hf_spawn *spawn, pid_t keeper)
{
    /* Should both of our processes be killed at once nobody is left to sweep:
     * then at least the command itself goes with its keeper. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper)
        _exit(HF_EXIT_BUG);
    /* Fails only if the front and all its group are gone, and with them the
     * reason to run. */
    if (setpgid(0, spawn->group) < 0)
        _exit(HF_EXIT_BUG);
    hf_signals_restore(spawn->signals);
    execvpe(spawn->argv[0], spawn->argv, spawn->environment);
    cannot_run(spawn->argv[0], errno);
}

pid_t hf_spawn(const struct hf_spawn *spawn)
{
    pid_t keeper = getpid();
    /* Not vfork: the command can be stopped before its exec, and would stop
     * us with it. */
    pid_t child = fork();

    if (child == 0)
        become_command(spawn, keeper);
    return child;
}

/* Does ${entry} set the variable ${name}? */
static bool sets(const char *entry, const char *name)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool passes(const char *entry)
{
    if (sets(entry, "HOLDFAST_NAME") || sets(entry, "HOLDFAST_TOKEN") ||
        sets(entry, "HOLDFAST_TOKENS"))
        return false;
    return !sets(entry, "HOLDFAST_URL") ||
           !hf_url_has_secret(strchr(entry, '=') + 1);
}

static void put_tokens(char *text, const uint64_t *tokens, size_t count)
{
    text += sprintf(text, "HOLDFAST_TOKENS=");
    for (size_t i = 0; i < count; i++)
        text += sprintf(text, "%s%" PRIu64, i > 0 ? " " : "", tokens[i]);
}

char **hf_spawn_environment(const char *name, const uint64_t *tokens,
                            size_t count)
{
    size_t entries = 0, kept = 0;
    size_t name_bytes = sizeof "HOLDFAST_NAME=" + strlen(name);
    char **block;
    char *text;

    while (environ[entries])
        entries++;
    block = hf_alloc((entries + 4) * sizeof *block + name_bytes +
                     (1 + count) * HF_TOKEN_BYTES);
    if (!block)
        return NULL;
    text = (char *)(block + entries + 4);
    for (size_t i = 0; i < entries; i++)
        if (passes(environ[i]))
            block[kept++] = environ[i];
    snprintf(text, name_bytes, "HOLDFAST_NAME=%s", name);
    block[kept++] = text;
    text += name_bytes;
    snprintf(text, HF_TOKEN_BYTES, "HOLDFAST_TOKEN=%" PRIu64, tokens[0]);
    block[kept++] = text;
    text += HF_TOKEN_BYTES;
    put_tokens(text, tokens, count);
    block[kept++] = text;
    block[kept] = NULL;
    return block;
}

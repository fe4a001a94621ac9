/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options in front of a script have to be understood to find it.  Where one
 * is unknown the search ends: what comes next may be its value.
 */
#include "cli/command_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "host/owner.h"

/* Arguments beyond this are not looked at. */
#define HF_ARGUMENTS_MAX 16

/* The letters of an interpreter's options, by what follows them. */
struct interpreter {
    const char *names;  /* each between blanks */
    const char *plain;  /* nothing */
    const char *valued; /* a value, which says nothing of the script */
    const char *code;   /* what to run */
    const char *script; /* a module or file to run: as if it stood alone */
};

static const struct interpreter interpreters[] = {
    {" sh bash dash ash ksh mksh zsh ", "abefhiklmnprtuvxBCDEHPT", "oO", "c",
     ""},
    {" python ", "bBdEiIOPqsSuvx", "WX", "c", "m"},
    {" perl ", "acflnpsStTuUwWX", "CIM", "eE", ""},
    {" ruby ", "acdlnpsSvwy", "CEIKr", "e", ""},
    {" node nodejs ", "i", "r", "ep", ""},
    {" php ", "nq", "cdz", "r", "f"},
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Versions belong to no name: python3.11 is a python. */
static const struct interpreter *find(const char *base)
{
    size_t length = strcspn(base, "0123456789");
    size_t version = strspn(base + length, "0123456789.");
    char word[16];

    if (length == 0 || length > 8 || base[length + version] != '\0')
        return NULL;
    (void)snprintf(word, sizeof word, " %.*s ", (int)length, base);
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
        if (strstr(interpreters[i].names, word) != NULL)
            return &interpreters[i];
    return NULL;
}

/* What a word of options says of those that follow it. */
struct reading {
    char letter;        /* of code or script; else 0 */
    const char *script; /* the script, attached to its letter; else NULL */
    bool skips;         /* the next word is a value */
    bool unknown;
};

static struct reading read_options(const struct interpreter *interpreter,
                                   const char *word)
{
    struct reading reading = {0};

    for (const char *at = word + 1; *at != '\0'; at++) {
        if (strchr(interpreter->plain, *at) != NULL)
            continue;
        if (strchr(interpreter->valued, *at) != NULL) {
            reading.skips = at[1] == '\0';
        } else if (strchr(interpreter->code, *at) != NULL) {
            reading.letter = *at;
        } else if (strchr(interpreter->script, *at) != NULL) {
            reading.letter = *at;
            reading.script = at[1] != '\0' ? at + 1 : NULL;
        } else {
            reading.unknown = true;
        }
        return reading;
    }
    /* A '-' by itself: the script is on standard input. */
    reading.unknown = word[1] == '\0';
    return reading;
}

/* The place of the word that says what is run: the script, or an option with a
 * letter for code or for a script, which ${reading} then has.  0 if it is not
 * known. */
static int find_script(const struct interpreter *interpreter, char **argv,
                       struct reading *reading)
{
    for (int i = 1; i < HF_ARGUMENTS_MAX && argv[i] != NULL; i++) {
        *reading = (struct reading){0};
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        if (argv[i][0] != '-')
            return i;
        *reading = read_options(interpreter, argv[i]);
        if (reading->unknown)
            return 0;
        if (reading->letter != 0)
            return i;
        if (reading->skips && argv[++i] == NULL)
            return 0;
    }
    return 0;
}

/* Write what follows the name of the interpreter to ${rest}; "" if it is not
 * known. */
static void describe(const struct interpreter *interpreter, char **argv,
                     char *rest, size_t bytes)
{
    struct reading reading;
    int place = find_script(interpreter, argv, &reading);
    const char *script = argv[place];

    if (place == 0)
        return;
    if (reading.letter != 0) {
        if (strchr(interpreter->code, reading.letter) != NULL) {
            (void)snprintf(rest, bytes, " -%c", reading.letter);
            return;
        }
        script = reading.script != NULL ? reading.script : argv[place + 1];
    }
    if (script != NULL && script[0] != '\0')
        (void)snprintf(rest, bytes, "%s %s", reading.letter == 'm' ? " -m" : "",
                       base_of(script));
}

static bool is_fit(const char *text)
{
    struct hf_error unwanted;

    return hf_owner_check_text(text, &unwanted) == HF_OK;
}

void hf_command_text(char **argv, char text[HF_COMMAND_TEXT_BYTES])
{
    const char *base = base_of(argv[0]);
    const struct interpreter *interpreter = find(base);
    /* A byte more than fits, so that what is cut is seen to be too long. */
    char rest[HF_COMMAND_TEXT_BYTES + 1] = "", whole[HF_COMMAND_TEXT_BYTES + 1];

    text[0] = '\0';
    if (!is_fit(base))
        return;
    if (interpreter != NULL)
        describe(interpreter, argv, rest, sizeof rest);
    (void)snprintf(whole, sizeof whole, "%s%s", base, rest);
    strcpy(text, is_fit(whole) ? whole : base);
}

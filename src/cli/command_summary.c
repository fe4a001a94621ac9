/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options in front of a script have to be understood to find it.  Where one
 * is unknown the search ends: what comes next may be its value.
 */
#include "cli/command_summary.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "host/owner_text.h"

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
static const struct interpreter *find_interpreter(const char *base)
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
struct option_word {
    char letter;        /* of code or script; else 0 */
    const char *script; /* the script, attached to its letter; else NULL */
    bool skips;         /* the next word is a value */
    bool unknown;
};

static struct option_word
parse_option_word(const struct interpreter *interpreter, const char *word)
{
    struct option_word option = {0};

    for (const char *at = word + 1; *at != '\0'; at++) {
        if (strchr(interpreter->plain, *at) != NULL)
            continue;
        if (strchr(interpreter->valued, *at) != NULL) {
            option.skips = at[1] == '\0';
        } else if (strchr(interpreter->code, *at) != NULL) {
            option.letter = *at;
        } else if (strchr(interpreter->script, *at) != NULL) {
            option.letter = *at;
            option.script = at[1] != '\0' ? at + 1 : NULL;
        } else {
            option.unknown = true;
        }
        return option;
    }
    /* A '-' by itself: the script is on standard input. */
    option.unknown = word[1] == '\0';
    return option;
}

/* The place of the word that says what is run: the script, or an option with a
 * letter for code or for a script, which ${reading} then has.  0 if it is not
 * known. */
static int find_script(const struct interpreter *interpreter, char **argv,
                       struct option_word *option)
{
    for (int i = 1; i < HF_ARGUMENTS_MAX && argv[i] != NULL; i++) {
        *option = (struct option_word){0};
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        if (argv[i][0] != '-')
            return i;
        *option = parse_option_word(interpreter, argv[i]);
        if (option->unknown)
            return 0;
        if (option->letter != 0)
            return i;
        if (option->skips && argv[++i] == NULL)
            return 0;
    }
    return 0;
}

/* Write what follows the name of the interpreter to ${rest}; "" if it is not
 * known. */
static void describe_script(const struct interpreter *interpreter, char **argv,
                            char *rest, size_t bytes)
{
    struct option_word option;
    int index = find_script(interpreter, argv, &option);
    const char *script = argv[index];

    if (index == 0)
        return;
    if (option.letter != 0) {
        if (strchr(interpreter->code, option.letter) != NULL) {
            (void)snprintf(rest, bytes, " -%c", option.letter);
            return;
        }
        script = option.script != NULL ? option.script : argv[index + 1];
    }
    if (script != NULL && script[0] != '\0')
        (void)snprintf(rest, bytes, "%s %s", option.letter == 'm' ? " -m" : "",
                       base_of(script));
}

static bool is_valid_text(const char *text)
{
    struct hf_error unwanted;

    return hf_owner_text_check(text, &unwanted) == HF_OK;
}

void hf_command_summary(char **argv, char text[HF_COMMAND_SUMMARY_BYTES])
{
    const char *base = base_of(argv[0]);
    const struct interpreter *interpreter = find_interpreter(base);
    /* A byte more than fits, so that what is cut is seen to be too long. */
    char rest[HF_COMMAND_SUMMARY_BYTES + 1] = "",
                                         whole[HF_COMMAND_SUMMARY_BYTES + 1];

    text[0] = '\0';
    if (!is_valid_text(base))
        return;
    if (interpreter != NULL)
        describe_script(interpreter, argv, rest, sizeof rest);
    (void)snprintf(whole, sizeof whole, "%s%s", base, rest);
    strcpy(text, is_valid_text(whole) ? whole : base);
}

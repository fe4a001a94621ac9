/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of an interpreter is its first argument that is no option, so the
 * options before it have to be understood.  At an unknown option the search
 * ends, because the next word may be its value, and that may be secret.
 */
#include "cli/command_summary.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "client/owner_text.h"

/* Arguments after these are not looked at. */
#define HF_ARGUMENTS_MAX 16

/* An interpreter and the letters of its short options, by what they take. */
struct interpreter {
    const char *names;  /* with a blank before and after each */
    const char *plain;  /* options that take nothing */
    const char *valued; /* options that take a value */
    const char *code;   /* options that take the code to run */
    const char *script; /* options that take a script or module to run */
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

/* The last component of ${path}. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* The interpreter called ${base}, whatever the version behind its name
 * (python3.11), or NULL. */
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

/* What was found in one word of options, "-xyz". */
struct option_word {
    char letter;        /* the option that takes code or a script; 0: none */
    const char *script; /* the script, if it follows its letter in the same
                           word; else NULL */
    bool skips;         /* the next word is the value of an option */
    bool unknown;       /* there is an option that we do not know */
};

/* Read the letters of ${word} up to the first that takes something. */
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
    /* "-" alone: the script comes from standard input. */
    option.unknown = word[1] == '\0';
    return option;
}

/* Index of the word that says what is run: the script, or an option that takes
 * code or a script and is then in ${option}.  0 if that is not known. */
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

/* Write to ${rest} what follows the name of the interpreter; nothing if that is
 * not known. */
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

/* May ${text} stand in a ticket? */
static bool is_valid_text(const char *text)
{
    struct hf_error unwanted;

    return hf_owner_text_check(text, &unwanted) == HF_OK;
}

void hf_command_summary(char **argv, char text[HF_COMMAND_SUMMARY_BYTES])
{
    const char *base = base_of(argv[0]);
    const struct interpreter *interpreter = find_interpreter(base);
    /* One byte more than fits, so that a text that was cut is too long for
     * is_valid_text(). */
    char rest[HF_COMMAND_SUMMARY_BYTES + 1] = "";
    char joined[HF_COMMAND_SUMMARY_BYTES + 1];

    text[0] = '\0';
    if (!is_valid_text(base))
        return;
    if (interpreter != NULL)
        describe_script(interpreter, argv, rest, sizeof rest);
    (void)snprintf(joined, sizeof joined, "%s%s", base, rest);
    strcpy(text, is_valid_text(joined) ? joined : base);
}

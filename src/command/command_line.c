/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See command_line.h.  getopt_long() splits the words into options, because
 * glibc and musl both have it, unlike argp.  Its own messages are off, because
 * each of ours says what to write instead.
 */
#include "command/command_line.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/url.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* getopt_long() returns the letter of a short option.  For a long option it
 * returns this number plus the number of the row, so that error texts name the
 * form that was written. */
#define LONG_OPTION 256

/* In the output of --help, the columns where the texts of options begin and
 * end. */
#define HELP_TEXT_COLUMN 26
#define HELP_COLUMNS 80

/* Room for the name of an option in a text. */
#define OPTION_NAME_BYTES 100

static const struct hf_option_row help_row = {
    .letter = 'h', .name = "help", .help = "this text"};

/* The state of reading one command line. */
struct reading {
    const struct hf_command *command;
    struct hf_command_line line;
    void *options;
    struct hf_error *error;
    char shorts[2 + 4 * (HF_OPTION_ROWS_MAX + 1) + 1]; /* for getopt_long() */
    struct option longs[HF_OPTION_ROWS_MAX + 2];
    bool given[HF_OPTION_ROWS_MAX]; /* whether the option of each row was
                                       given */
};

/* Return the row number ${i}.  The row behind the last one is that of --help.
 */
static const struct hf_option_row *row_at(const struct hf_command *command,
                                          size_t i)
{
    return i < command->row_count ? &command->rows[i] : &help_row;
}

/* ----------------------------------------------------------------- help -- */

/* Print ${text} in the column of texts, in several lines if necessary.
 * ${column} is where the cursor is.  Returns where it is afterwards. */
static int print_wrapped(const char *text, int column)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");

        if (column >= HELP_TEXT_COLUMN && column + 1 + length >= HELP_COLUMNS) {
            putchar('\n');
            column = 0;
        }
        column +=
            printf("%*s%.*s",
                   column < HELP_TEXT_COLUMN ? HELP_TEXT_COLUMN - column : 1,
                   "", length, text);
        text += length + (text[length] != '\0');
    }
    return column;
}

static void print_option(const struct hf_option_row *row)
{
    char choices[HF_OPTION_CHOICES_BYTES];
    int column =
        row->letter != '\0' ? printf("  -%c, ", row->letter) : printf("      ");

    if (row->also != '\0')
        column += printf("-%c, ", row->also);
    column += printf("--%s%s%s", row->name, row->value != NULL ? " " : "",
                     row->value != NULL ? row->value : "");

    if (column > HELP_TEXT_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    if (row->choices != NULL) {
        hf_option_list_choices(row, choices);
        column = print_wrapped(choices, column) + printf(";");
    }
    print_wrapped(row->help, column);
    putchar('\n');
}

static void print_help(const struct hf_command *command)
{
    printf("usage: holdfast %s %s\n\n%s\n", command->name, command->synopsis,
           command->about);
    for (size_t i = 0; i <= command->row_count; i++)
        print_option(row_at(command, i));
    printf("\n%s", command->notes);
}

int hf_command_line_end_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    hf_ui_print("standard output cannot be written to; expected room there");
    return HF_EXIT_DIRECTORY;
}

/* -------------------------------------------------------------- options -- */

/* Append the letter ${option} of ${row} to ${letters}, for getopt_long(),
 * unless it is 0.  Returns the end of ${letters}. */
static char *add_letter(char *letters, char option,
                        const struct hf_option_row *row)
{
    if (option == '\0')
        return letters;
    *letters++ = option;
    if (row->value != NULL)
        *letters++ = ':';
    return letters;
}

/* Prepare the tables that getopt_long() needs. */
static void prepare(struct reading *reading)
{
    const struct hf_command *command = reading->command;
    char *letter = reading->shorts;

    assert(command->row_count <= HF_OPTION_ROWS_MAX);
    /* '+': options end at the first operand; ':': print nothing. */
    if (command->options_first)
        *letter++ = '+';
    *letter++ = ':';
    for (size_t i = 0; i <= command->row_count; i++) {
        const struct hf_option_row *row = row_at(command, i);

        letter = add_letter(letter, row->letter, row);
        letter = add_letter(letter, row->also, row);
        reading->longs[i] = (struct option){
            row->name, row->value != NULL ? required_argument : no_argument,
            NULL, LONG_OPTION + (int)i};
    }
}

/* Return the number of the row for ${option}, which getopt_long() has returned.
 * There must be such a row. */
static size_t find_row(const struct hf_command *command, int option)
{
    size_t i = 0;

    if (option >= LONG_OPTION)
        return (size_t)(option - LONG_OPTION);
    while (row_at(command, i)->letter != option &&
           row_at(command, i)->also != option)
        i++;
    return i;
}

/* Write the option to ${name} as the user wrote it, "-w" or "--timeout".
 * ${option} is what getopt_long() has returned.  A letter need not be in any
 * row. */
static void name_option(const struct hf_command *command, int option,
                        char name[OPTION_NAME_BYTES])
{
    if (option >= LONG_OPTION)
        (void)snprintf(name, OPTION_NAME_BYTES, "--%s",
                       row_at(command, find_row(command, option))->name);
    else
        (void)snprintf(name, OPTION_NAME_BYTES, "-%c", option);
}

/* Return how many bytes must be changed, added or removed to turn the first
 * ${length} bytes of ${word} into ${other}: the Levenshtein distance, computed
 * row by row.  Both are shorter than OPTION_NAME_BYTES. */
static size_t distance(const char *word, size_t length, const char *other)
{
    size_t row[OPTION_NAME_BYTES];
    size_t width = strlen(other);

    assert(width < OPTION_NAME_BYTES);
    for (size_t k = 0; k <= width; k++)
        row[k] = k;
    for (size_t i = 0; i < length; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t k = 0; k < width; k++) {
            size_t changed = diagonal + (word[i] != other[k]);
            size_t either = row[k] < row[k + 1] ? row[k] : row[k + 1];

            diagonal = row[k + 1];
            row[k + 1] = changed < either + 1 ? changed : either + 1;
        }
    }
    return row[width];
}

/* Return the long option that ${word}, such as "--timout" or "--timout=5", was
 * perhaps meant to be; NULL: none.  There may be at most two mistakes, and
 * fewer than half the length of the option's name. */
static const char *find_meant(const struct hf_command *command,
                              const char *word)
{
    size_t length = strcspn(word, "="), nearest = 3;
    const char *meant = NULL;

    if (length >= OPTION_NAME_BYTES || strncmp(word, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i <= command->row_count; i++) {
        const char *name = row_at(command, i)->name;
        size_t apart = distance(word + 2, length - 2, name);

        if (apart < nearest && 2 * apart < strlen(name)) {
            nearest = apart;
            meant = name;
        }
    }
    return meant;
}

/* Refuse ${word}, which is no option. */
static hf_status refuse_unknown(const struct reading *reading, const char *word)
{
    const char *meant = find_meant(reading->command, word);

    return hf_error_set(
        reading->error, HF_EINVAL,
        "%.80s: no such option; %s%s%ssee 'holdfast %s --help'", word,
        meant != NULL ? "expected --" : "", meant != NULL ? meant : "",
        meant != NULL ? " or another one; " : "", reading->command->name);
}

/* Refuse an option that getopt_long() has refused.  optopt says which one it
 * is; 0: an unknown long option. */
static hf_status refuse(const struct reading *reading, int answer)
{
    const struct hf_command *command = reading->command;
    const char *word = reading->line.argv[optind - 1];
    const char *why = "its value is missing";
    char name[OPTION_NAME_BYTES];

    name_option(command, optopt, name);
    if (answer == ':') {
        word = name;
    } else if (optopt >= LONG_OPTION) {
        if (!command->options_first)
            return hf_error_set(reading->error, HF_EINVAL,
                                "%.80s: this option takes no value; write %s",
                                word, name);
        why = "it takes no value";
    } else {
        return refuse_unknown(reading, optopt != 0 ? name : word);
    }
    return hf_error_set(reading->error, HF_EINVAL,
                        "%.80s: %s; see 'holdfast %s --help'", word, why,
                        command->name);
}

/* Read the value of ${option}, which getopt_long() has returned.  Fails if
 * another option with the same .one_of was given before. */
static hf_status read_option(struct reading *reading, int option)
{
    const struct hf_command *command = reading->command;
    size_t i = find_row(command, option);
    const struct hf_option_row *row = &command->rows[i];
    char name[OPTION_NAME_BYTES];

    reading->given[i] = true;
    for (size_t k = 0; k < command->row_count; k++)
        if (reading->given[k] && k != i && row->one_of != NULL &&
            command->rows[k].one_of == row->one_of)
            return hf_error_set(reading->error, HF_EINVAL, "%s", row->one_of);
    name_option(command, option, name);
    return row->read(row, name, optarg, (char *)reading->options + row->offset,
                     reading->error);
}

/* If no URL is given by -c, HOLDFAST_URL may name a profile: read it. */
static hf_status read_url(const struct reading *reading)
{
    const struct hf_command *command = reading->command;

    for (size_t i = 0; i < command->row_count; i++)
        if (command->rows[i].read == hf_option_url && !reading->given[i])
            return hf_option_url_of_environment((char *)reading->options +
                                                    command->rows[i].offset,
                                                reading->error);
    return HF_OK;
}

/* Return the last operand in front of a "--"; NULL if there is no such "--".
 * getopt_long() would move that "--" to the front, and take all words behind it
 * for operands. */
static const char *find_late_separator(const struct reading *reading)
{
    const struct hf_command_line *line = &reading->line;
    char in_order[sizeof reading->shorts + 1];
    const char *operand = NULL;
    int option, end;

    (void)snprintf(in_order, sizeof in_order, "-%s", reading->shorts);
    do {
        end = optind;
        option =
            getopt_long(line->argc, line->argv, in_order, reading->longs, NULL);
        if (option == 1)
            operand = optarg;
    } while (option != -1 && option != '?' && option != ':');
    if (option != -1 || optind == end)
        operand = NULL;
    optind = 0; /* makes getopt_long() begin anew */
    return operand;
}

/* Read all options.  At --help ${*help} is set, and the rest is not read. */
static hf_status read_options(struct reading *reading, bool *help)
{
    struct hf_command_line *line = &reading->line;
    const char *late = NULL;
    hf_status status = HF_OK;
    int option;

    prepare(reading);
    if (!reading->command->options_first)
        late = find_late_separator(reading);
    while (status == HF_OK &&
           (option = getopt_long(line->argc, line->argv, reading->shorts,
                                 reading->longs, NULL)) != -1) {
        if (option == ':' || option == '?')
            return refuse(reading, option);
        *help =
            find_row(reading->command, option) == reading->command->row_count;
        if (*help)
            return HF_OK;
        status = read_option(reading, option);
    }
    line->operands = optind;
    if (status == HF_OK && late != NULL)
        return hf_error_set(reading->error, HF_EINVAL,
                            "'--' behind '%.80s': expected it before the first "
                            "operand, where it ends the options, or nowhere; "
                            "holdfast %s runs no command",
                            late, reading->command->name);
    return status == HF_OK ? read_url(reading) : status;
}

/* ------------------------------------------------------------- operands -- */

hf_status hf_command_line_missing(const struct hf_command *command,
                                  const char *name, struct hf_error *error)
{
    return hf_error_set(error, HF_EINVAL,
                        "%s is missing; expected holdfast %s %s", name,
                        command->name, command->synopsis);
}

hf_status hf_command_line_too_many(const struct hf_command *command,
                                   const char *name, const char *word,
                                   struct hf_error *error)
{
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s': one %s at a time; expected holdfast %s %s",
                        word, name, command->name, command->synopsis);
}

/* Read ${word}, the operand of ${row}.  ${word} is NULL if it is not given. */
static hf_status read_operand(const struct reading *reading,
                              const struct hf_operand_row *row, char *word)
{
    if (word == NULL && row->is_optional)
        return HF_OK;
    if (word == NULL)
        return hf_command_line_missing(reading->command, row->name,
                                       reading->error);
    memcpy((char *)reading->options + row->offset, &word, sizeof word);
    return row->check != NULL ? row->check(word, reading->error) : HF_OK;
}

static hf_status read_operands(const struct reading *reading)
{
    const struct hf_command *command = reading->command;
    char **words = reading->line.argv + reading->line.operands;
    int count = reading->line.argc - reading->line.operands, rows = 0;

    while (rows < HF_OPERANDS_MAX && command->operands[rows].name != NULL)
        rows++;
    if (count > rows && !command->more_operands && rows == 0)
        return hf_error_set(reading->error, HF_EINVAL,
                            "'%.80s': not expected; see 'holdfast %s --help'",
                            words[0], command->name);
    if (count > rows && !command->more_operands)
        return hf_command_line_too_many(command,
                                        command->operands[rows - 1].name,
                                        words[rows], reading->error);
    for (int i = 0; i < rows; i++) {
        hf_status status = read_operand(reading, &command->operands[i],
                                        i < count ? words[i] : NULL);

        if (status != HF_OK)
            return status;
    }
    return command->check != NULL
               ? command->check(&reading->line, reading->options,
                                reading->error)
               : HF_OK;
}

bool hf_command_line_read(const struct hf_command *command, int argc,
                          char **argv, void *options, int *exit_code)
{
    struct hf_error error;
    struct reading reading = {.command = command,
                              .line = {argc, argv, argc},
                              .options = options,
                              .error = &error};
    bool help = false;
    hf_status status = read_options(&reading, &help);

    if (status == HF_OK && help) {
        print_help(command);
        *exit_code = hf_command_line_end_output();
        return false;
    }
    if (status == HF_OK)
        status = read_operands(&reading);
    if (status == HF_OK)
        return true;
    hf_ui_print_error(&error);
    *exit_code = HF_EXIT_USAGE;
    return false;
}

void hf_command_line_warn_password(const char *url)
{
    if (url != NULL && hf_url_has_secret(url) &&
        !hf_option_url_is_of_profile(url))
        hf_ui_log(
            HF_LOG_WARNING,
            "warning: every user of this machine can read the password in "
            "-c; put the URL into a profile or HOLDFAST_URL instead");
}

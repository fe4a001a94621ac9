/* SPDX-License-Identifier: Apache-2.0 */
/* See input.h. */
#include "zookeeper_tool/input.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "command/exit_status.h"
#include "command/ui.h"

#define LINE_BYTES_MAX (64U << 20)
#define FIRST_BYTES 4096

FILE *hf_tool_input_open(const char *file)
{
    FILE *in = stdin;

    if (file != NULL && strcmp(file, "-") != 0)
        in = fopen(file, "re");
    if (in == NULL)
        hf_ui_print("%.200s cannot be read: %s; expected a file, or - for "
                    "standard input",
                    file, strerror(errno));
    return in;
}

/* Copy the rest of ${in} to a temporary file, which is then at its beginning.
 * NULL, with errno set, if that fails. */
static FILE *spool(FILE *in)
{
    FILE *kept = tmpfile();
    char bytes[FIRST_BYTES];
    size_t count;

    if (kept == NULL)
        return NULL;
    while ((count = fread(bytes, 1, sizeof bytes, in)) > 0 &&
           fwrite(bytes, 1, count, kept) == count)
        ;
    if (!ferror(in) && !ferror(kept) && fseek(kept, 0, SEEK_SET) == 0)
        return kept;
    (void)fclose(kept);
    return NULL;
}

FILE *hf_tool_input_keep(FILE *in)
{
    FILE *kept;

    if (in == NULL || ftell(in) >= 0)
        return in;
    kept = spool(in);
    if (kept == NULL)
        hf_ui_print("the input cannot be kept to be read twice: %s; expected a "
                    "file, or room for temporary ones",
                    strerror(errno));
    hf_tool_input_close(in);
    return kept;
}

void hf_tool_input_close(FILE *in)
{
    if (in != stdin)
        (void)fclose(in);
}

/* ----------------------------------------------------------------- data -- */

/* Double ${*capacity}, the size of ${*memory}, but to no more than ${max}.
 * False: no memory. */
static bool grow(char **memory, size_t *capacity, size_t max)
{
    size_t more = *capacity == 0 ? FIRST_BYTES : *capacity * 2;
    char *larger = hf_realloc(*memory, more < max ? more : max);

    if (larger == NULL)
        return false;
    *memory = larger;
    *capacity = more < max ? more : max;
    return true;
}

/* Read ${in} to its end.  One byte more than ${max} is read, to see whether
 * there are too many.  Returns 0, or the exit status after printing an
 * error. */
static int read_all(FILE *in, size_t max, struct hf_tool_data *data)
{
    char *memory = NULL;
    size_t capacity = 0;

    while (data->bytes == capacity && capacity <= max) {
        if (!grow(&memory, &capacity, max + 1)) {
            hf_free(memory);
            hf_ui_print("no memory is left for the data");
            return HF_EXIT_LIMIT;
        }
        data->bytes +=
            fread(memory + data->bytes, 1, capacity - data->bytes, in);
    }
    data->data = data->memory = memory;
    if (ferror(in)) {
        hf_ui_print("the data cannot be read: %s; expected a file or a pipe",
                    strerror(errno));
        return HF_EXIT_NO_INPUT;
    }
    if (data->bytes > max) {
        hf_ui_print("the data have more than %zu bytes; expected at most what "
                    "ZooKeeper takes for one node",
                    max);
        return HF_EXIT_DATA;
    }
    return 0;
}

int hf_tool_data_read(const char *word, const char *file,
                      struct hf_tool_data *data)
{
    const struct hf_zookeeper_opts limits = HF_ZOOKEEPER_OPTS_INIT;
    FILE *in;
    int exit_code;

    *data = (struct hf_tool_data){NULL, 0, NULL};
    if (file == NULL && (word == NULL || strcmp(word, "-") != 0)) {
        data->data = word;
        data->bytes = word != NULL ? strlen(word) : 0;
        return 0;
    }
    in = hf_tool_input_open(file);
    if (in == NULL)
        return HF_EXIT_NO_INPUT;
    exit_code = read_all(in, limits.max_request_bytes, data);
    hf_tool_input_close(in);
    if (exit_code != 0)
        hf_tool_data_free(data);
    return exit_code;
}

void hf_tool_data_free(struct hf_tool_data *data)
{
    hf_free(data->memory);
    *data = (struct hf_tool_data){NULL, 0, NULL};
}

/* ---------------------------------------------------------------- lines -- */

/* Read up to the end of the line.  HF_EGONE: the file has no more lines. */
static hf_status read_line(FILE *in, struct hf_tool_line *line,
                           size_t *capacity)
{
    int c = EOF;

    flockfile(in);
    for (;;) {
        if (line->bytes == *capacity &&
            !grow(&line->text, capacity, LINE_BYTES_MAX + 1)) {
            funlockfile(in);
            return HF_ENOMEM;
        }
        c = getc_unlocked(in);
        if (c == '\n' || c == EOF || line->bytes == LINE_BYTES_MAX)
            break;
        line->text[line->bytes++] = (char)c;
    }
    funlockfile(in);
    line->text[line->bytes] = '\0';
    if (c == EOF && line->bytes == 0)
        return HF_EGONE;
    return c == '\n' || c == EOF ? HF_OK : HF_ELIMIT;
}

hf_status hf_tool_line_read(FILE *in, struct hf_tool_line *line,
                            struct hf_error *error)
{
    unsigned long number = line->number + 1;
    size_t capacity = 0;
    hf_status status;

    *line = (struct hf_tool_line){NULL, 0, number};
    status = read_line(in, line, &capacity);
    if (ferror(in))
        status = hf_error_set(error, HF_EINVAL,
                              "line %lu cannot be read; expected a file or a "
                              "pipe",
                              number);
    else if (status == HF_ENOMEM)
        status = hf_error_set(error, HF_ENOMEM,
                              "no memory is left for line %lu", number);
    else if (status == HF_ELIMIT)
        status = hf_error_set(error, HF_ELIMIT,
                              "line %lu is longer than %u bytes; expected one "
                              "node on a line",
                              number, LINE_BYTES_MAX);
    else if (status == HF_OK && strlen(line->text) != line->bytes)
        status = hf_error_set(error, HF_EINVAL,
                              "line %lu has a NUL; expected text", number);
    if (status == HF_OK)
        return HF_OK;
    hf_free(line->text);
    line->text = NULL;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a history of `holdfast verify`: it is refused with a text, or
 * read, checked and drawn, and the results are consistent. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "torture/timeline.h"

static void check_attempt(const struct hf_history *history,
                          const struct hf_history_attempt *attempt)
{
    MUST(attempt->client < history->clients.count);
    MUST(attempt->lock < history->locks.count);
    MUST(attempt->permits >= 1 && attempt->permits <= attempt->limit);
    MUST(attempt->granted_us == HF_FOREVER ||
         attempt->granted_us >= attempt->want_us);
    MUST((attempt->ending == HF_ENDING_NONE) ==
             (attempt->ended_us == HF_FOREVER) ||
         attempt->ended_us == history->ended_us);
    MUST(attempt->want_us >= history->began_us);
    MUST(attempt->want_us <= history->ended_us);
}

static void check_verdict(const struct hf_history *history,
                          const struct hf_check_result *result)
{
    MUST(result->kept <= HF_VIOLATIONS_KEPT);
    MUST(result->kept <= hf_check_result_violations(result));
    for (size_t i = 0; i < result->kept; i++) {
        MUST(result->violations[i].attempt < history->attempt_count);
        MUST(result->violations[i].other < history->attempt_count);
        MUST(result->violations[i].from_us <= result->violations[i].until_us);
    }
}

static void draw(const struct hf_history *history,
                 const struct hf_check_result *result)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    MUST(file != NULL);
    hf_timeline_write(file, history, result);
    MUST(fclose(file) == 0);
    MUST(strstr(text, "nan") == NULL || history->clients.count > 0);
    MUST(strcmp(text + bytes - 7, "</svg>\n") == 0);
    free(text);
}

static void check_history(const struct hf_history *history)
{
    struct hf_check_result result;

    for (uint32_t i = 0; i < history->attempt_count; i++)
        check_attempt(history, &history->attempts[i]);
    MUST(hf_check_history(history, 1000, &result));
    check_verdict(history, &result);
    draw(history, &result);
    hf_check_result_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char first[] = HF_HISTORY_FIRST_LINE "\n";
    char *text = malloc(sizeof first + bytes);
    struct hf_error error = {HF_OK, ""};
    struct hf_history history;
    FILE *file;

    MUST(text != NULL);
    memcpy(text, first, sizeof first - 1);
    if (bytes > 0)
        memcpy(text + sizeof first - 1, data, bytes);
    file = fmemopen(text, sizeof first - 1 + bytes, "r");
    MUST(file != NULL);
    if (hf_history_read(file, HF_HISTORY_BYTES, &history, &error) == HF_OK)
        check_history(&history);
    else
        MUST(error.status == HF_EINVAL &&
             strstr(error.text, "expected") != NULL);
    hf_history_free(&history);
    fclose(file);
    free(text);
    return 0;
}

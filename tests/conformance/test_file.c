/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on the file engine. */
#include "cmocka/runner.h"
#include "conformance/conformance_file.h"

TEST_FILE(file)
{
    return suite_run(&conformance_file);
}

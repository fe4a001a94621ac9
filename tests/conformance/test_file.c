/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka/runner.h"
#include "conformance/conformance_file.h"

TEST_FILE(file)
{
    return suite_run(&conformance_file);
}

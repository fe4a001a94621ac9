/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/conformance_file.h"

int main(void)
{
    return suite_run(&conformance_file);
}

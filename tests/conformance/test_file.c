/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/bench_file.h"

int main(void)
{
    return suite_run(&bench_file);
}

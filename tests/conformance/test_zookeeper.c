/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/bench_zk.h"

int main(void)
{
    return suite_run(&bench_zk);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that is not an engine module. */
__attribute__((visibility("default"))) extern const int hf_no_module;
const int hf_no_module = 1;

# SPDX-License-Identifier: Apache-2.0
# Read by ctest before it runs a test.  A test that takes locks in files names a
# directory of its own: in the default one of the machine it would meet the locks
# of other tests and of other programs, and they its.  Here nothing can be made.
set(ENV{HOLDFAST_DIR} /proc/a-test-names-a-directory-of-its-own)

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_TESTS_SIM_SORT_H
#define HF_TESTS_SIM_SORT_H

/* Which model a world is on: the plain one, an ensemble that the client of
 * ZooKeeper speaks to, or a server for the client of leased tickets. */
enum world_sort { WORLD_PLAIN, WORLD_ZOOKEEPER, WORLD_LEASED, WORLD_SORTS };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of sql/, made part of the program when it is built. */
#ifndef HF_ENGINES_POSTGRES_SCHEMA_H
#define HF_ENGINES_POSTGRES_SCHEMA_H

/* What makes the schema, for psql or for one PQsendQuery(). */
extern const char hf_pg_schema[];

/* Its version, and a query that brings the version and the fingerprint of one
 * that is there: the second is HF_PG_FINGERPRINT unless somebody has changed
 * it.  Whoever changes sql/ raises the version, once it was released, and puts
 * in here what tests/postgres/test_schema.py then says. */
#define HF_PG_VERSION 1
#define HF_PG_FINGERPRINT                                                      \
    "56a7a6c28b6f2695c065f89f126207259e84833c15a9a08c9280f078d900a539"
extern const char hf_pg_check[];

#endif

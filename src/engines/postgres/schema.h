/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of sql/, made part of the program when it is built. */
#ifndef HF_ENGINES_POSTGRES_SCHEMA_H
#define HF_ENGINES_POSTGRES_SCHEMA_H

/* What makes the schema, for psql or for one PQsendQuery(). */
extern const char hf_pg_schema[];

/* What takes the schema of an earlier version to this one, for psql: those who
 * use the earlier one are refused from then on, so that no library does it
 * unasked. */
extern const char hf_pg_upgrade[];

/* Its version, and a query that brings the version and the fingerprint of one
 * that is there: the second is HF_PG_FINGERPRINT unless somebody has changed
 * it.  Whoever changes sql/ raises the version, once it was released, sees to
 * it that upgrade.sql still comes from there, and puts in here what
 * tests/postgres/test_schema.py then says. */
#define HF_PG_VERSION 2
#define HF_PG_FINGERPRINT                                                      \
    "19c8b1272be901ea9d7c18eb9b90a67bf6b6ae631ef936a41e291616e31a828d"
extern const char hf_pg_check[];

#endif

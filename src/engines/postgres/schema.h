/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of sql/, which are built into the program. */
#ifndef HF_ENGINES_POSTGRES_SCHEMA_H
#define HF_ENGINES_POSTGRES_SCHEMA_H

/* The schema "holdfast" has the tables.  Each version has its functions in a
 * schema of its own, so clients of several versions can share the tables. */
#define HF_PG_FUNCTIONS "holdfast_4"

/* SQL for psql or for one PQsendQuery().  hf_pg_tables creates the schema of
 * the tables, hf_pg_functions the schema of the functions, and hf_pg_schema
 * both. */
extern const char hf_pg_schema[];
extern const char hf_pg_tables[];
extern const char hf_pg_functions[];

/* SQL for psql -v role=NAME: grants the role the rights to use both schemas. */
extern const char hf_pg_grant[];

/* A query that returns one value: what lets others act as the owners of the
 * schemas, or "".  The setting holdfast.schema_owner must be the name of a role
 * that is trusted, or "".  It runs before any other query that names something
 * in the schemas. */
extern const char hf_pg_rights[];

/* SQL that prepares the statements of hf_pg_call_send() on a connection. */
extern const char hf_pg_prepare[];

/* A query that returns the findings of the server: a head, and a row for each
 * finding. */
extern const char hf_pg_examine[];

/*
 * A query that returns the version of the tables, the definition of both
 * schemas, whether the functions are there, and whether this role may create
 * them for all.  The definition is hf_pg_definition if nobody has changed a
 * schema.  It has one line for each table, column, function and whatever else
 * decides what these do, sorted by bytes.  The lines of the functions contain
 * HF_PG_FUNCTIONS, the others do not.
 *
 * A change to sql/ after a release needs a new number, one more than the last:
 * sed -i 's/holdfast_4/holdfast_5/' over sql/ and this file.  If it changes
 * tables, or notices between clients, their version becomes the same number,
 * and clients of other versions are refused.  Any change needs a new
 * sql/definition.txt: python3 tests/postgres/schema.py.
 */
#define HF_PG_TABLES_VERSION 4
extern const char hf_pg_check[];
extern const char hf_pg_definition[];

#endif

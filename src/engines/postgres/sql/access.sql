-- SPDX-License-Identifier: Apache-2.0
-- Which rights a role needs, and which roles have them.

-- Returns the rights on tables and functions that the current role lacks, as a
-- text; '' if it has all.  PUBLIC may execute the functions of the server, but
-- somebody may have revoked that.  Then a call fails only on the path that
-- needs the function: an acquire works, but its release does not, because it
-- has to notify.  So this looks for the names of revoked functions in our
-- source.
CREATE FUNCTION holdfast_4.missing_rights()
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    WITH needed (relation, privilege) AS (
        VALUES ('version', 'SELECT'),
               ('queue', 'SELECT'), ('queue', 'INSERT'),
               ('counter', 'SELECT'), ('counter', 'INSERT'),
               ('counter', 'UPDATE'),
               ('session', 'SELECT'), ('session', 'INSERT'),
               ('session', 'UPDATE'), ('session', 'DELETE'),
               ('ticket', 'SELECT'), ('ticket', 'INSERT'),
               ('ticket', 'UPDATE'), ('ticket', 'DELETE'),
               ('watcher', 'SELECT'), ('watcher', 'INSERT'),
               ('watcher', 'DELETE'),
               ('success', 'SELECT'), ('success', 'INSERT'),
               ('success', 'UPDATE')
    ), source (words) AS (
        SELECT prosrc FROM pg_proc
         WHERE pronamespace = 'holdfast_4'::regnamespace
        UNION ALL
        SELECT statement FROM pg_prepared_statements
    ), type (oid) AS (
        VALUES ('integer'::regtype), ('bigint'::regtype), ('numeric'::regtype),
               ('double precision'::regtype), ('boolean'::regtype),
               ('text'::regtype), ('bytea'::regtype), ('uuid'::regtype),
               ('timestamptz'::regtype), ('interval'::regtype)
    ), implicit (oid) AS (
        SELECT oprcode::oid FROM pg_operator
         WHERE oprleft IN (SELECT oid FROM type)
           AND oprright IN (SELECT oid FROM type)
        UNION
        SELECT castfunc FROM pg_cast
         WHERE castsource IN (SELECT oid FROM type)
           AND casttarget IN (SELECT oid FROM type)
    ), revoked AS MATERIALIZED (
        -- Few or none, so that the words are hardly ever looked for.  Not what
        -- initdb takes away from PUBLIC.
        SELECT oid, proname, pronamespace FROM pg_proc p
         WHERE pronamespace IN ('holdfast_4'::regnamespace,
                                'pg_catalog'::regnamespace)
           AND proacl IS NOT NULL
           AND NOT has_function_privilege(oid, 'EXECUTE')
           AND NOT EXISTS (SELECT FROM pg_init_privs i
                            WHERE i.classoid = 'pg_proc'::regclass
                              AND i.objoid = p.oid)
    ), missing (what) AS (
        SELECT format('%s on %s', privilege, relation) FROM needed
         WHERE NOT has_table_privilege(
                   to_regclass('holdfast.' || relation), privilege)
        UNION ALL
        SELECT format('EXECUTE on %s', r.oid::regprocedure) FROM revoked r
         WHERE r.pronamespace = 'holdfast_4'::regnamespace
            OR r.oid IN (SELECT oid FROM implicit)
            OR EXISTS (SELECT FROM source WHERE words ~
                       format('[[:<:]]%s[[:>:]]', r.proname))
    )
    SELECT coalesce(string_agg(what, ', ' ORDER BY what COLLATE "C"), '')
      FROM missing
$$;

-- The roles that may use the tables may use this version of the functions, too.
-- So a version that is added beside another one needs no grant of its own.
DO $$
DECLARE
    role text;
BEGIN
    FOR role IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC'
                             ELSE quote_ident(pg_get_userbyid(grantee)) END
          FROM pg_namespace, aclexplode(nspacl)
         WHERE nspname = 'holdfast' AND privilege_type = 'USAGE'
           AND grantee <> nspowner LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA holdfast_4 TO %s', role);
        EXECUTE format(
            'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA holdfast_4 TO %s', role);
    END LOOP;
END
$$;

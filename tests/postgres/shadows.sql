-- SPDX-License-Identifier: Apache-2.0
-- A schema that has everything that pg_catalog has under the same name:
-- functions and operators that fail, types that take nothing.  Somebody who
-- may create objects in a schema that comes early in search_path could have
-- made it.  Not bytea, since clients' literals name it.
CREATE SCHEMA shadow;
GRANT USAGE ON SCHEMA shadow TO PUBLIC;
SET check_function_bodies = off;

DO $do$
DECLARE
    it record;
    fails text := 'LANGUAGE plpgsql AS $f$ BEGIN '
                  'RAISE EXCEPTION ''this is a shadow''; END $f$';
BEGIN
    FOR it IN
        SELECT p.proname, oidvectortypes(p.proargtypes) AS arguments,
               CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END ||
                   format_type(p.prorettype, NULL) AS result
          FROM pg_proc p
         WHERE p.pronamespace = 'pg_catalog'::regnamespace
           AND p.prokind = 'f' AND p.provariadic = 0
           AND NOT EXISTS (SELECT FROM pg_type t
                            WHERE t.oid = ANY (p.proargtypes ||
                                      NULLIF(p.prorettype, 'void'::regtype))
                              AND t.typtype = 'p'
                              AND t.typname NOT IN ('anyarray',
                                                    'anyelement')) LOOP
        EXECUTE format('CREATE FUNCTION shadow.%I(%s) RETURNS %s ' || fails,
                       it.proname, it.arguments, it.result);
    END LOOP;
    FOR it IN
        SELECT o.oid, o.oprname, o.oprkind,
               format_type(NULLIF(o.oprleft, 0), NULL) AS a,
               format_type(o.oprright, NULL) AS b,
               format_type(o.oprresult, NULL) AS result
          FROM pg_operator o
         WHERE o.oprnamespace = 'pg_catalog'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_type t
                            WHERE t.oid IN (o.oprleft, o.oprright, o.oprresult)
                              AND t.typtype = 'p') LOOP
        EXECUTE format('CREATE FUNCTION shadow.operator_%s(%s) RETURNS %s ' ||
                           fails,
                       it.oid, concat_ws(', ', it.a, it.b), it.result);
        EXECUTE format('CREATE OPERATOR shadow.%s (FUNCTION = '
                       'shadow.operator_%s, %s RIGHTARG = %s)', it.oprname,
                       it.oid, 'LEFTARG = ' || it.a || ',', it.b);
    END LOOP;
    FOR it IN
        SELECT t.typname FROM pg_type t
         WHERE t.typnamespace = 'pg_catalog'::regnamespace
           AND t.typtype = 'b' AND t.typelem = 0 AND t.typname <> 'bytea' LOOP
        EXECUTE format('CREATE TYPE shadow.%I AS ENUM ()', it.typname);
    END LOOP;
    FOR it IN
        SELECT c.relname FROM pg_class c
         WHERE c.relnamespace = 'pg_catalog'::regnamespace
           AND c.relkind IN ('r', 'v') LOOP
        EXECUTE format('CREATE VIEW shadow.%I AS SELECT', it.relname);
    END LOOP;
END
$do$;

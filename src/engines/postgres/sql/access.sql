-- SPDX-License-Identifier: Apache-2.0
-- The roles that may use the tables may use this version of the functions, too:
-- so a version that is added beside another one needs no grant of its own.
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

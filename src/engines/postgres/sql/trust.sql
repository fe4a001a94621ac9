-- SPDX-License-Identifier: Apache-2.0
-- What lets somebody who is not trusted run code as those who use the schema:
-- one row, '' if there is nothing.  Owners can change what they own at any
-- time, so no look at what is there now makes up for an owner who is not
-- trusted.  Trusted are the role that logged in (the current role can be left
-- with RESET ROLE), superusers, and the role that the client has set
-- holdfast.schema_owner to.
--
-- Only catalogs are read here, because to read a table of such an owner can be
-- enough to run his code: it may be a view, or have policies.
WITH trusted AS (
    SELECT oid FROM pg_roles
     WHERE rolsuper OR rolname = session_user OR
           rolname::text = current_setting('holdfast.schema_owner', true)
), schema AS (
    SELECT * FROM pg_namespace WHERE nspname IN ('holdfast', 'holdfast_4')
), object (kind, name, owner, acl) AS (
    SELECT 'SCHEMA ', n.nspname::text, n.nspowner,
           coalesce(n.nspacl, acldefault('n', n.nspowner))
      FROM schema n
    UNION ALL
    SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END,
           c.oid::regclass::text, c.relowner,
           coalesce(c.relacl, acldefault(
               CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char",
               c.relowner))
      FROM pg_class c
     WHERE c.relnamespace IN (SELECT oid FROM schema)
    UNION ALL
    SELECT 'FUNCTION ', format('%I.%I', n.nspname, p.proname), p.proowner, NULL
      FROM pg_proc p JOIN schema n ON n.oid = p.pronamespace
), granted (object, privilege, grantee) AS (
    SELECT kind || name, privilege_type, grantee
      FROM object, aclexplode(acl)
     WHERE privilege_type NOT IN ('USAGE', 'SELECT', 'INSERT', 'DELETE')
       AND NOT (privilege_type = 'UPDATE' AND kind = '')
    UNION ALL
    SELECT c.oid::regclass::text,
           format('%s (%I)', privilege_type, a.attname), grantee
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid,
           aclexplode(a.attacl)
     WHERE c.relnamespace IN (SELECT oid FROM schema)
       AND privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE')
), finding (rank, line) AS (
    SELECT CASE kind WHEN 'SCHEMA ' THEN 1 ELSE 2 END,
           format('%s%s belongs to %I, who can act as all who use it; expected '
                  'this role or a superuser, or schema_owner=%s in the URL if '
                  'that role is to be trusted', lower(kind), name,
                  pg_get_userbyid(owner), pg_get_userbyid(owner))
      FROM object
     WHERE owner NOT IN (SELECT oid FROM trusted)
    UNION ALL
    SELECT 3,
           format('%s has rights that no user of locks needs and that can harm '
                  'the others; expected none of them: REVOKE %s ON %s FROM '
                  '%1$s', role, privileges, object)
      FROM (SELECT object, string_agg(privilege, ', ' ORDER BY privilege),
                   CASE grantee WHEN 0 THEN 'PUBLIC'
                        ELSE quote_ident(pg_get_userbyid(grantee)) END
              FROM granted
             WHERE grantee NOT IN (SELECT oid FROM trusted)
             GROUP BY object, grantee) AS too_much (object, privileges, role)
)
SELECT coalesce((SELECT replace(line, E'\n', ' ') FROM finding
                  ORDER BY rank, line COLLATE "C" LIMIT 1), '')

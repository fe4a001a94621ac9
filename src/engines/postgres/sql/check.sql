-- SPDX-License-Identifier: Apache-2.0
-- The version of the tables; the definition of the two schemas, a line for each
-- object that decides what the functions do, or that runs along with them;
-- whether the schema of the functions is there; and whether this role may create
-- it for all.  definition.txt is the definition when holdfast has made both.
--
-- Not in it: names of constraints and indexes, a second index that is like
-- another one (REINDEX CONCURRENTLY), the NOT NULL constraints of 18, which
-- columns have already, and storage.
WITH schema AS (
    SELECT oid, nspname FROM pg_namespace
     WHERE nspname IN ('holdfast', 'holdfast_4')
), ours AS (
    SELECT * FROM pg_class WHERE relnamespace IN (SELECT oid FROM schema)
)
SELECT (SELECT max(version) FROM holdfast.version),
       string_agg(replace(line, E'\n', ' ') || E'\n', ''
                  ORDER BY line COLLATE "C"),
       EXISTS (SELECT FROM schema WHERE nspname = 'holdfast_4'),
       (SELECT pg_get_userbyid(nspowner) = current_user OR
               (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
          FROM pg_namespace WHERE nspname = 'holdfast')
  FROM (SELECT concat_ws(' ',
                   CASE c.relpersistence WHEN 'p' THEN NULL
                        ELSE 'unlogged' END,
                   CASE c.relkind WHEN 'r' THEN 'table' WHEN 'c' THEN 'type'
                        WHEN 'S' THEN 'sequence'
                        ELSE format('relation of kind %s', c.relkind) END,
                   c.oid::regclass,
                   CASE c.reloftype WHEN 0 THEN NULL
                        ELSE format('of %s', c.reloftype::regtype) END,
                   CASE WHEN c.relrowsecurity OR c.relforcerowsecurity
                        THEN 'with row security' END)
          FROM ours c
         WHERE c.relkind NOT IN ('i', 'I')
        UNION
        SELECT concat_ws(' ', 'column', a.attnum, 'of', c.oid::regclass,
                   quote_ident(a.attname),
                   format_type(a.atttypid, a.atttypmod),
                   CASE WHEN a.attnotnull THEN 'not null' END,
                   CASE a.attidentity WHEN '' THEN NULL
                        ELSE format('identity %s', a.attidentity) END,
                   CASE a.attgenerated WHEN '' THEN NULL
                        ELSE format('generated %s', a.attgenerated) END,
                   'default ' || pg_get_expr(d.adbin, d.adrelid))
          FROM ours c JOIN pg_attribute a ON a.attrelid = c.oid
               LEFT JOIN pg_attrdef d
                      ON d.adrelid = a.attrelid AND d.adnum = a.attnum
         WHERE c.relkind NOT IN ('i', 'I', 'S')
           AND a.attnum > 0 AND NOT a.attisdropped
        UNION
        SELECT format('constraint on %s: %s', k.conrelid::regclass,
                      pg_get_constraintdef(k.oid))
          FROM pg_constraint k
         WHERE (k.conrelid IN (SELECT oid FROM ours) OR
                k.confrelid IN (SELECT oid FROM ours))
           AND k.contype <> 'n'
        UNION
        SELECT replace(pg_get_indexdef(x.oid),
                       ' ' || quote_ident(x.relname) || ' ON ', ' ON ')
          FROM ours c JOIN pg_index i ON i.indrelid = c.oid
               JOIN pg_class x ON x.oid = i.indexrelid
        UNION
        SELECT concat_ws(' ', 'trigger',
                   CASE WHEN NOT t.tgisinternal THEN quote_ident(t.tgname) END,
                   'on', c.oid::regclass, 'calls', t.tgfoid::regproc,
                   CASE t.tgenabled WHEN 'O' THEN NULL
                        ELSE format('enabled %s', t.tgenabled) END)
          FROM ours c JOIN pg_trigger t ON t.tgrelid = c.oid
        UNION
        SELECT format('rule %I on %s', r.rulename, c.oid::regclass)
          FROM ours c JOIN pg_rewrite r ON r.ev_class = c.oid
        UNION
        SELECT format('policy %I on %s', p.polname, c.oid::regclass)
          FROM ours c JOIN pg_policy p ON p.polrelid = c.oid
        UNION
        SELECT format('%s inherits from %s', h.inhrelid::regclass,
                      h.inhparent::regclass)
          FROM pg_inherits h
         WHERE h.inhrelid IN (SELECT oid FROM ours)
            OR h.inhparent IN (SELECT oid FROM ours)
        UNION
        SELECT concat_ws(' ',
                   CASE p.prokind WHEN 'f' THEN 'function'
                        ELSE format('routine of kind %s', p.prokind) END,
                   format('%I.%I', n.nspname, p.proname), l.lanname,
                   CASE p.provolatile WHEN 'v' THEN 'volatile'
                        WHEN 's' THEN 'stable' ELSE 'immutable' END,
                   CASE WHEN p.prosecdef THEN 'security definer' END,
                   CASE WHEN p.proleakproof THEN 'leakproof' END,
                   CASE WHEN p.proisstrict THEN 'strict' END,
                   CASE p.proparallel WHEN 'u' THEN NULL
                        ELSE format('parallel %s', p.proparallel) END,
                   'set ' || array_to_string(p.proconfig, '; '),
                   format('(%s)', pg_get_function_arguments(p.oid)),
                   pg_get_function_result(p.oid),
                   encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'))
          FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
               JOIN schema n ON n.oid = p.pronamespace) AS lines (line)

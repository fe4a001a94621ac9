-- SPDX-License-Identifier: Apache-2.0
SELECT (SELECT max(version) FROM holdfast.version),
       encode(sha256(convert_to(string_agg(line, ';' ORDER BY line COLLATE "C"),
                                'UTF8')), 'hex')
  FROM (SELECT format('%s.%s %s %s %s', c.relname, a.attname, a.attnum,
                      format_type(a.atttypid, a.atttypmod), a.attnotnull)
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'holdfast'::regnamespace
           AND c.relname IN ('queue', 'session', 'ticket', 'look', 'answer')
           AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT format('%s %s %s', c.relname, i.indkey, i.indisunique)
          FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid
         WHERE c.relnamespace = 'holdfast'::regnamespace
           AND c.relname IN ('queue', 'session', 'ticket', 'look')
        UNION ALL
        SELECT format('%s(%s) %s %s', p.proname, pg_get_function_arguments(p.oid),
                      p.provolatile, p.prosrc)
          FROM pg_proc p
         WHERE p.pronamespace = 'holdfast'::regnamespace) AS lines (line)

-- SPDX-License-Identifier: Apache-2.0
-- What the server says of itself, for holdfast doctor: only settings, catalogs
-- and counts that every role may read.  The first row is the head of an answer;
-- each other row is a finding, with its severity (of findings.h) as the kind,
-- and its id, what is so and what to do as the payload, separated by 0x1f.
WITH seen AS (
    SELECT current_setting('fsync') AS fsync,
           current_setting('full_page_writes') AS full_page_writes,
           current_setting('synchronous_commit') AS synchronous_commit,
           current_setting('synchronous_standby_names') AS names,
           current_setting('autovacuum') AS autovacuum,
           current_setting('track_counts') AS track_counts,
           current_setting('max_connections')::bigint
               - current_setting('superuser_reserved_connections')::bigint
               - coalesce(current_setting('reserved_connections', true)::bigint,
                          0) AS connections,
           (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)
               AS connected,
           (SELECT max(age(datfrozenxid)) FROM pg_database) AS age
), standby AS (
    SELECT count(*) AS count, count(sync_state) AS visible,
           count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))
               AS synchronous
      FROM pg_stat_replication
), lacking (what) AS (
    SELECT nullif(holdfast_4.missing_rights(), '')
), ours AS (
    SELECT count(*) FILTER (WHERE reloptions::text[] &&
               ARRAY['autovacuum_enabled=false', 'autovacuum_enabled=off'])
               AS unvacuumed,
           sum(pg_stat_get_dead_tuples(oid)) AS dead
      FROM pg_class
     WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r'
), snapshot (what, age) AS (
    -- What keeps VACUUM from removing versions in this database.  Not
    -- catalog_xmin, which is for catalogs only.
    SELECT format('process %s of %I', pid, coalesce(usename, backend_type)),
           greatest(age(backend_xmin), age(backend_xid))
      FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND
           (datname = current_database() OR backend_type = 'walsender')
    UNION ALL
    SELECT format('the replication slot %I', slot_name), age(xmin)
      FROM pg_replication_slots
    UNION ALL
    SELECT format('a prepared transaction of %I', owner), age(transaction)
      FROM pg_prepared_xacts WHERE database = current_database()
), oldest AS (
    SELECT max(age) AS age, (array_agg(what ORDER BY age DESC NULLS LAST))[1]
               AS what
      FROM snapshot
), finding (severity, id, what, advice) AS (
    SELECT 0, 'postgres-version',
           format('it is PostgreSQL %s, a primary; 12 or later is needed',
                  current_setting('server_version')), ''
    UNION ALL
    SELECT 0, 'postgres-schema',
           format('the schema is of the version of this client, nobody has '
                  'changed it, and it belongs to %I',
                  pg_get_userbyid(nspowner)), ''
      FROM pg_namespace WHERE nspname = 'holdfast'
    UNION ALL
    SELECT CASE WHEN what IS NULL THEN 0 ELSE 4 END, 'postgres-rights',
           CASE WHEN what IS NULL
                THEN format('the role %I has all rights that locks need',
                            current_user)
                ELSE format('the role %I lacks rights that locks need: %s',
                            current_user, what) END,
           CASE WHEN what IS NULL THEN ''
                ELSE 'have the owner of the schema run what "holdfast sql '
                     '--grant" prints; EXECUTE on a function of the server '
                     'has to be granted by a superuser' END
      FROM lacking
    UNION ALL
    SELECT CASE WHEN fsync = 'off' OR full_page_writes = 'off' THEN 3
                ELSE 0 END, 'postgres-durability',
           CASE WHEN fsync = 'off'
                THEN 'fsync is off: if the machine fails, tickets and the '
                     'whole database may be lost, and two hold one lock'
                WHEN full_page_writes = 'off'
                THEN 'full_page_writes is off: if the machine fails, pages '
                     'with tickets may be torn'
                ELSE format('a ticket is on disk before it counts (fsync is '
                            'on, synchronous_commit is %s for this '
                            'connection)', synchronous_commit) END,
           CASE WHEN fsync = 'off' THEN 'have fsync = on set'
                WHEN full_page_writes = 'off'
                THEN 'have full_page_writes = on set' ELSE '' END
      FROM seen
    UNION ALL
    SELECT CASE WHEN names = '' AND count = 0 THEN 0
                WHEN names = '' THEN 2
                WHEN synchronous_commit IN ('local', 'remote_write') THEN 3
                WHEN names ~ '[*]' THEN 3
                WHEN count = 0 OR (visible = count AND synchronous = 0) THEN 4
                WHEN visible < count THEN 1
                ELSE 0 END, 'postgres-standbys',
           CASE WHEN names = '' AND count = 0
                THEN 'no standby is connected: there is no failover, which '
                     'could lose tickets'
                WHEN names = ''
                THEN format('of %s standbys none is synchronous: one that is '
                            'promoted may lack the last tickets, and two hold '
                            'one lock', count)
                WHEN synchronous_commit IN ('local', 'remote_write')
                THEN format('synchronous_commit is %s: a standby that is '
                            'promoted may lack the last tickets, although '
                            'synchronous_standby_names is set',
                            synchronous_commit)
                WHEN names ~ '[*]'
                THEN format('synchronous_standby_names is %s: a backup that '
                            'is running may count as the standby', names)
                WHEN count = 0 OR (visible = count AND synchronous = 0)
                THEN format('synchronous_standby_names is %s and no such '
                            'standby is connected: nothing is granted', names)
                WHEN visible < count
                THEN format('%s standbys are connected; whether one is '
                            'synchronous this role cannot see '
                            '(pg_read_all_stats)', count)
                ELSE format('a standby has each ticket before it counts '
                            '(%s of %s are synchronous)', synchronous, count)
                END,
           CASE WHEN names = '' AND count = 0 THEN ''
                WHEN names = ''
                THEN 'name one in synchronous_standby_names, if a failover is '
                     'to lose no lock'
                WHEN synchronous_commit IN ('local', 'remote_write')
                THEN 'have synchronous_commit = on set for this role'
                WHEN names ~ '[*]'
                THEN 'name the standbys in synchronous_standby_names'
                WHEN count = 0 OR (visible = count AND synchronous = 0)
                THEN 'bring the standby back, or name another one'
                ELSE '' END
      FROM seen, standby
    UNION ALL
    SELECT CASE WHEN connected * 10 >= connections * 9 THEN 3 ELSE 0 END,
           'postgres-connections',
           format('%s of %s connections are taken, of which a client of locks '
                  'needs one', connected, connections),
           CASE WHEN connected * 10 >= connections * 9
                THEN 'raise max_connections, or end those that are idle'
                ELSE '' END
      FROM seen
    UNION ALL
    SELECT CASE WHEN autovacuum = 'off' OR track_counts = 'off' OR
                     unvacuumed > 0 OR dead > 1000000 THEN 3 ELSE 0 END,
           'postgres-vacuum',
           CASE WHEN autovacuum = 'off' OR track_counts = 'off'
                THEN 'autovacuum is off: the tables of locks change all the '
                     'time, grow, and get slow'
                WHEN unvacuumed > 0
                THEN 'autovacuum is off for a table of locks, which grows, '
                     'and gets slow'
                WHEN dead > 1000000
                THEN format('the tables of locks have %s dead rows, which '
                            'vacuum does not remove: they get slow', dead)
                ELSE format('autovacuum is on, and the tables of locks have '
                            '%s dead rows', coalesce(dead, 0)) END,
           CASE WHEN autovacuum = 'off' OR track_counts = 'off'
                THEN 'have autovacuum = on and track_counts = on set'
                WHEN unvacuumed > 0
                THEN 'have ALTER TABLE holdfast.NAME RESET '
                     '(autovacuum_enabled) run for it'
                WHEN dead > 1000000
                THEN 'look for old transactions, prepared transactions and '
                     'replication slots, and VACUUM the tables'
                ELSE '' END
      FROM seen, ours
    UNION ALL
    SELECT CASE WHEN age > 100000 THEN 3 ELSE 0 END, 'postgres-snapshots',
           CASE WHEN age > 100000
                THEN format('%s has a snapshot or a transaction that is %s '
                            'transactions old: until it ends, no version of a '
                            'row since then is removed', what, age)
                ELSE format('the oldest snapshot is %s transactions old',
                            coalesce(age, 0)) END,
           CASE WHEN age > 100000
                THEN 'end it, or see that it ends: a dump, a transaction that '
                     'is idle, a standby with hot_standby_feedback, a slot '
                     'that nobody reads'
                ELSE '' END
      FROM oldest
    UNION ALL
    SELECT CASE WHEN age > 2000000000 THEN 4 WHEN age > 1000000000 THEN 3
                ELSE 0 END, 'postgres-wraparound',
           format('the oldest transaction id is %s transactions old; at about '
                  '2140 million the server takes no more changes', age),
           CASE WHEN age > 1000000000
                THEN 'VACUUM the database with the greatest '
                     'age(datfrozenxid), and see why autovacuum does not'
                ELSE '' END
      FROM seen
), answer (code, server_ms, backend, found, own_ids, id, sequence, kind, weight,
           payload, expires_in_ms, revoked, created_ms, more_ahead) AS (
    SELECT 0, holdfast_4.epoch_ms(clock_timestamp()), pg_backend_pid(), true,
           NULL::bytea, NULL::uuid, NULL::bigint, NULL::integer, NULL::integer,
           NULL::bytea, NULL::bigint, NULL::integer, NULL::bigint,
           NULL::integer
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL,
           '00000000-0000-0000-0000-000000000000'::uuid, NULL, severity, NULL,
           convert_to(concat_ws(E'\x1f', id, what, advice), 'UTF8'),
           NULL, NULL, NULL, NULL
      FROM finding
)
SELECT * FROM answer ORDER BY code NULLS LAST

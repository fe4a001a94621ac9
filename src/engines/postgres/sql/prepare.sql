-- SPDX-License-Identifier: Apache-2.0
-- The calls of a client, prepared for one connection, whose search_path is
-- pg_catalog, pg_temp.  Each is a transaction of its own.

PREPARE hf_enqueue (uuid, bigint, bigint, bytea, uuid, integer, integer, bytea)
AS SELECT * FROM holdfast.enqueue($1, $2, $3, $4, $5, $6, $7, $8);
PREPARE hf_withdraw (uuid, bigint, bytea, uuid)
AS SELECT * FROM holdfast.withdraw($1, $2, $3, $4);
PREPARE hf_ahead (bytea, uuid, boolean)
AS SELECT * FROM holdfast.ahead($1, $2, $3);
PREPARE hf_renew (uuid, bigint, bigint)
AS SELECT * FROM holdfast.renew($1, $2, $3);
PREPARE hf_renew_without (uuid, bigint, bigint, uuid[])
AS SELECT * FROM holdfast.renew_without($1, $2, $3, $4);
PREPARE hf_list (bytea, boolean, boolean)
AS SELECT * FROM holdfast.list($1, $2, $3);
-- The whole for people, with the texts of the first $4 tickets from the
-- sequence $3 on: who lists again and again reads each text once.
PREPARE hf_list_texts (bytea, boolean, bigint, bigint)
AS SELECT code, server_ms, backend, found, own, id, sequence, kind, weight,
          CASE WHEN sequence IS NULL OR
                    (sequence >= $3 AND
                     row_number() OVER (PARTITION BY sequence >= $3
                                        ORDER BY sequence) <= $4)
               THEN payload ELSE ''::bytea END,
          expires_in_ms, revoked, made_ms, more
     FROM holdfast.list($1, true, $2) ORDER BY sequence NULLS FIRST;
PREPARE hf_look (uuid, bigint, bigint, bytea, boolean)
AS SELECT * FROM holdfast.look($1, $2, $3, $4, $5);
PREPARE hf_probe (bytea, uuid[])
AS SELECT * FROM holdfast.probe($1, $2);
PREPARE hf_downgrade (uuid, bigint, bytea, uuid)
AS SELECT * FROM holdfast.downgrade($1, $2, $3, $4);
PREPARE hf_revoke (bigint, bytea, uuid)
AS SELECT * FROM holdfast.revoke($1, $2, $3);
PREPARE hf_describe (uuid, bigint, bytea, uuid, bytea)
AS SELECT * FROM holdfast.describe($1, $2, $3, $4, $5);
PREPARE hf_raise (bigint, bytea, integer, uuid)
AS SELECT * FROM holdfast.raise($1, $2, $3, $4);
PREPARE hf_lower (bigint, bytea, integer)
AS SELECT * FROM holdfast.lower($1, $2, $3);
PREPARE hf_stamp (bigint, bytea, uuid, integer, uuid)
AS SELECT * FROM holdfast.stamp($1, $2, $3, $4, $5);
-- The names that there are behind $1, from $2 on and before $3: of at most $4
-- rows those that have tickets.  The head has the last row that was looked at;
-- each other row has a name, and whether it has tickets and members.
PREPARE hf_names (bytea, bytea, bytea, integer)
AS WITH page AS MATERIALIZED (
    SELECT q.number, q.name FROM holdfast.queue q
     WHERE q.name > $1 AND q.name >= $2 AND q.name < $3
     ORDER BY q.name LIMIT $4
), answer (code, server_ms, backend, found, own, id, sequence, kind, weight,
           payload, expires_in_ms, revoked, made_ms, more) AS (
    SELECT 0, holdfast.ms(clock_timestamp()), pg_backend_pid(),
           count(*) = $4, NULL::bytea, NULL::uuid, count(*), NULL::integer,
           NULL::integer,
           (SELECT name FROM page ORDER BY name DESC LIMIT 1),
           NULL::bigint, NULL::integer, NULL::bigint, NULL::integer
      FROM page
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL,
           '00000000-0000-0000-0000-000000000000'::uuid, NULL, t.queue_there,
           t.members_there, p.name, NULL, NULL, NULL, NULL
      FROM page p, LATERAL (
          SELECT EXISTS (SELECT FROM holdfast.ticket
                          WHERE queue = p.number AND kind NOT IN (8, 9))::integer,
                 EXISTS (SELECT FROM holdfast.ticket
                          WHERE queue = p.number AND kind = 8)::integer
      ) AS t (queue_there, members_there)
     WHERE t.queue_there + t.members_there > 0
)
SELECT * FROM answer ORDER BY code NULLS LAST;
PREPARE hf_goodbye (uuid, bigint)
AS SELECT * FROM holdfast.goodbye($1, $2);

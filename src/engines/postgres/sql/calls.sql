-- SPDX-License-Identifier: Apache-2.0
-- What clients call, one call to a transaction.  Sessions and tickets are
-- named by random numbers.  Nothing is written once this server's clock is
-- past not_after_ms: the call may have lain in a buffer for long.
--
-- Each sets search_path for itself and for what it calls, so that no function,
-- operator, type or table of another schema can stand in for one that is meant
-- here.

-- The queue, a row for each ticket: of members what is apart, else the others;
-- NULL: all.  Payloads are for people, and that of the first for everybody.
CREATE FUNCTION holdfast.tickets(q bigint, whole boolean, members boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT NULL::integer, NULL::bigint, NULL::integer, NULL::boolean,
           NULL::bytea, t.id, t.sequence, t.kind, t.weight,
           CASE WHEN whole OR row_number() OVER (ORDER BY t.sequence) = 1
                THEN t.payload ELSE ''::bytea END,
           holdfast.lives_ms(s.expires_at, at), t.revoked,
           holdfast.ms(t.made_at), NULL::integer
      FROM holdfast.ticket t LEFT JOIN holdfast.session s ON s.id = t.session
     WHERE t.queue = q
       AND (members IS NULL OR (t.kind IN (8, 9)) = members)
     ORDER BY t.sequence;
END
$$;

-- The queue, or of members what is apart.  Nothing is locked nor written unless
-- a ticket's session has ended, or there are standbys that have to have what it
-- shows: people, who want the whole, do not enter by that.
CREATE FUNCTION holdfast.list(queue_name bytea, whole boolean,
                              members boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    IF holdfast.has_dead(q) THEN
        PERFORM holdfast.lock_queue(queue_name, false);
        PERFORM holdfast.purge(q, queue_name);
    END IF;
    IF NOT whole THEN
        PERFORM holdfast.await_standbys();
    END IF;
    RETURN NEXT holdfast.head(0, NULL);
    RETURN QUERY SELECT * FROM holdfast.tickets(q, whole, members);
END
$$;

-- The queue, and the session is told once when a ticket leaves it, a member
-- comes or members make their mark.
CREATE FUNCTION holdfast.look(whose uuid, ttl_ms bigint, not_after_ms bigint,
                              queue_name bytea, members boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The lock, so that no ticket can leave between the list and the look.
    q bigint := holdfast.lock_queue(queue_name, true);
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast.begin(whose, ttl_ms);
    PERFORM holdfast.purge(q, queue_name);
    UPDATE holdfast.queue SET sole = NULL
     WHERE number = q AND sole IS NOT NULL;
    INSERT INTO holdfast.look (queue, session) VALUES (q, whose)
    ON CONFLICT DO NOTHING;
    RETURN NEXT holdfast.head(0, NULL);
    RETURN QUERY SELECT * FROM holdfast.tickets(q, false, members);
END
$$;

-- Those of the tickets that are in the queue.
CREATE FUNCTION holdfast.probe(queue_name bytea, ticket_ids uuid[])
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint;
    at timestamptz;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    IF holdfast.has_ended(q, ticket_ids) THEN
        PERFORM holdfast.lock_queue(queue_name, false);
        PERFORM holdfast.purge(q, queue_name);
    END IF;
    PERFORM holdfast.await_standbys();
    RETURN NEXT holdfast.head(0, NULL);
    at := clock_timestamp();
    RETURN QUERY
    SELECT NULL::integer, NULL::bigint, NULL::integer, NULL::boolean,
           NULL::bytea, t.id, t.sequence, t.kind, t.weight, ''::bytea,
           holdfast.lives_ms(s.expires_at, at), t.revoked,
           holdfast.ms(t.made_at), NULL::integer
      FROM unnest(ticket_ids) AS its (id),
           LATERAL (SELECT * FROM holdfast.ticket
                     WHERE queue = q AND id = its.id OFFSET 0) AS t
      LEFT JOIN holdfast.session s ON s.id = t.session
     ORDER BY t.sequence;
END
$$;

-- Every ticket that still lives, lives on.  The head has what tickets there
-- are; each that its owner is asked to let go has a row.
CREATE FUNCTION holdfast.renew(whose uuid, ttl_ms bigint, not_after_ms bigint)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a holdfast.answer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    a := holdfast.head(0, NULL);
    IF holdfast.extend(whose, ttl_ms) THEN
        SELECT string_agg(uuid_send(id), ''::bytea) INTO a.own
          FROM holdfast.ticket WHERE session = whose;
        RETURN NEXT a;
        a := NULL;
        FOR a.id, a.revoked IN
            SELECT id, revoked FROM holdfast.ticket
             WHERE session = whose AND revoked > 0 LOOP
            RETURN NEXT a;
        END LOOP;
    ELSE
        RETURN NEXT a;
    END IF;
END
$$;

-- The same, but first the tickets of unknown, which the client does not know
-- any more, are taken out: their removal was lost, and nobody asks for it again.
CREATE FUNCTION holdfast.renew_without(whose uuid, ttl_ms bigint,
                                       not_after_ms bigint, unknown uuid[])
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    its record;
BEGIN
    PERFORM holdfast.check_isolation();
    IF NOT holdfast.is_late(not_after_ms) THEN
        FOR its IN SELECT q.number, q.name FROM holdfast.queue q
                    WHERE q.number IN (SELECT t.queue FROM holdfast.ticket t
                                        WHERE t.session = whose
                                          AND t.id = ANY (unknown))
                    ORDER BY q.number FOR NO KEY UPDATE OF q LOOP
            PERFORM holdfast.remove(its.number, its.name, array(
                SELECT t.id FROM holdfast.ticket t
                 WHERE t.queue = its.number AND t.session = whose
                   AND t.id = ANY (unknown)), whose);
        END LOOP;
    END IF;
    RETURN QUERY SELECT * FROM holdfast.renew(whose, ttl_ms, not_after_ms);
END
$$;

-- Make a write ticket of the session a read ticket, with everything else as it
-- is.
CREATE FUNCTION holdfast.downgrade(whose uuid, not_after_ms bigint,
                                   queue_name bytea, ticket_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast.lock_queue(queue_name, false);
    was holdfast.ticket;
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    IF holdfast.has_ended(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast.purge(q, queue_name);
    END IF;
    SELECT * INTO was FROM holdfast.ticket
     WHERE queue = q AND id = ticket_id AND session = whose
       AND kind IN (2, 3);
    IF was.kind = 3 THEN
        PERFORM holdfast.tell_waiters(q, queue_name, was, 3);
        UPDATE holdfast.ticket SET kind = 2
         WHERE queue = q AND id = ticket_id;
    END IF;
    RETURN NEXT holdfast.head(0, was.kind IS NOT NULL);
END
$$;

-- Ask the ticket's owner to let go.
CREATE FUNCTION holdfast.revoke(not_after_ms bigint, queue_name bytea,
                                ticket_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast.lock_queue(queue_name, false);
    asked record;
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    IF holdfast.has_ended(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast.purge(q, queue_name);
    END IF;
    UPDATE holdfast.ticket SET revoked = revoked + 1
     WHERE queue = q AND id = ticket_id
     RETURNING session, revoked INTO asked;
    IF asked.session IS NOT NULL THEN
        PERFORM holdfast.tell(asked.session,
            format('revoked %s %s %s', ticket_id, asked.revoked,
                   encode(queue_name, 'hex')));
    END IF;
    RETURN NEXT holdfast.head(0, asked.session IS NOT NULL);
END
$$;

-- Put another payload in the place of that of a ticket of the session.  Nobody
-- is told.
CREATE FUNCTION holdfast.describe(whose uuid, not_after_ms bigint,
                                  queue_name bytea, ticket_id uuid,
                                  ticket_payload bytea)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast.lock_queue(queue_name, false);
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    IF holdfast.has_ended(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast.purge(q, queue_name);
    END IF;
    UPDATE holdfast.ticket SET payload = ticket_payload
     WHERE queue = q AND id = ticket_id AND session = whose;
    RETURN NEXT holdfast.head(0, FOUND);
END
$$;

-- Put a mark of that kind in, unless there is one.
CREATE FUNCTION holdfast.raise(not_after_ms bigint, queue_name bytea,
                               mark_kind integer, mark_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast.lock_queue(queue_name, true);
    is_there boolean;
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    is_there := EXISTS (SELECT FROM holdfast.ticket
                         WHERE queue = q AND kind = mark_kind);
    IF NOT is_there THEN
        PERFORM holdfast.put_mark(q, mark_kind, mark_id);
    END IF;
    RETURN NEXT holdfast.head(0, is_there);
END
$$;

-- Take the mark of that kind out; that of members where none of them is there.
CREATE FUNCTION holdfast.lower(not_after_ms bigint, queue_name bytea,
                               mark_kind integer)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast.lock_queue(queue_name, false);
    marks uuid[];
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast.purge(q, queue_name);
    marks := array(SELECT id FROM holdfast.ticket
                    WHERE queue = q AND kind = mark_kind
                      AND NOT (mark_kind = 9 AND EXISTS (
                          SELECT FROM holdfast.ticket
                           WHERE queue = q AND kind = 8)));
    IF cardinality(marks) > 0 THEN
        PERFORM holdfast.remove(q, queue_name, marks,
                                'ffffffff-ffff-ffff-ffff-ffffffffffff');
    END IF;
    RETURN NEXT holdfast.head(0, cardinality(marks) > 0);
END
$$;

-- If the ticket, a member, and so many in all are there, make their mark anew.
CREATE FUNCTION holdfast.stamp(not_after_ms bigint, queue_name bytea,
                               ticket_id uuid, parties integer, mark_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast.lock_queue(queue_name, false);
    are_there boolean;
BEGIN
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast.purge(q, queue_name);
    -- One whose session has ended may have been passed over.
    SELECT count(*) >= parties AND bool_or(t.id = ticket_id) INTO are_there
      FROM holdfast.ticket t JOIN holdfast.session s ON s.id = t.session
     WHERE t.queue = q AND t.kind = 8 AND s.expires_at > clock_timestamp();
    IF are_there THEN
        DELETE FROM holdfast.ticket WHERE queue = q AND kind = 9;
        PERFORM holdfast.put_mark(q, 9, mark_id);
        PERFORM holdfast.tell_lookers(q, queue_name);
    END IF;
    RETURN NEXT holdfast.head(0, coalesce(are_there, false));
END
$$;

-- Take out all that the session has, and the session.
CREATE FUNCTION holdfast.goodbye(whose uuid, not_after_ms bigint)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    its record;
BEGIN
    PERFORM holdfast.check_isolation();
    IF holdfast.is_late(not_after_ms) THEN
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    FOR its IN SELECT q.number, q.name FROM holdfast.queue q
                WHERE q.number IN (SELECT t.queue FROM holdfast.ticket t
                                    WHERE t.session = whose)
                ORDER BY q.number FOR NO KEY UPDATE OF q LOOP
        PERFORM holdfast.remove(its.number, its.name, array(
            SELECT t.id FROM holdfast.ticket t
             WHERE t.queue = its.number AND t.session = whose), whose);
    END LOOP;
    -- Should a ticket have come since, it has ended with the session.
    PERFORM FROM holdfast.session WHERE id = whose FOR UPDATE;
    UPDATE holdfast.session SET expires_at = '-infinity' WHERE id = whose;
    DELETE FROM holdfast.session WHERE id = whose
       AND NOT EXISTS (SELECT FROM holdfast.ticket WHERE session = whose);
    RETURN NEXT holdfast.head(0, NULL);
END
$$;

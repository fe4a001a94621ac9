-- SPDX-License-Identifier: Apache-2.0
-- What clients call, one call a transaction.  The ids of sessions and tickets
-- are random numbers.  Nothing is written after this server's clock has passed
-- not_after_ms, because a call may have been in a buffer for long.
--
-- Each sets search_path for itself and for what it calls, so that no function,
-- operator, type or table of another schema can replace one that is named here.

-- Returns the tickets of the queue, one row each.  If participants is true,
-- only participants and their flag; if it is false, only the others; if it is
-- NULL, all.  The payload is filled in for the first ticket only, or for all if
-- detailed.
CREATE FUNCTION holdfast_4.read_tickets(
    q bigint, detailed boolean, participants boolean)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    instant timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT NULL::integer, NULL::bigint, NULL::integer, NULL::boolean,
           NULL::bytea, t.id, t.sequence, t.kind, t.weight,
           CASE WHEN detailed OR row_number() OVER (ORDER BY t.sequence) = 1
                THEN t.payload ELSE ''::bytea END,
           holdfast_4.remaining_ms(s.expires_at, instant), t.revoked,
           holdfast_4.epoch_ms(t.created_at), NULL::integer
      FROM holdfast.ticket t LEFT JOIN holdfast.session s ON s.id = t.session
     WHERE t.queue = q AND t.sequence >= holdfast_4.lowest(q)
       AND (participants IS NULL OR (t.kind IN (8, 9)) = participants)
     ORDER BY t.sequence;
END
$$;

-- Returns the tickets of the queue, or only its participants.  It locks and
-- writes nothing unless a ticket's session has ended, or there are standbys
-- that must have what this returns.  A detailed list is for people, and no lock
-- is granted by it.
CREATE FUNCTION holdfast_4.list(
    queue_name bytea, detailed boolean, participants boolean)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint;
BEGIN
    PERFORM holdfast_4.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    IF holdfast_4.has_ended_ticket(q) THEN
        PERFORM holdfast_4.lock_queue(queue_name, false);
        PERFORM holdfast_4.remove_ended(q, queue_name);
    END IF;
    IF NOT detailed THEN
        PERFORM holdfast_4.await_standbys();
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, NULL);
    RETURN QUERY SELECT * FROM holdfast_4.read_tickets(q, detailed,
                                                       participants);
END
$$;

-- Return the same as holdfast_4.list, and watch the queue for the session:  it
-- is notified once when a ticket enters the queue or leaves it, when a write
-- ticket becomes a read ticket, or when the flag of the participants is set.
CREATE FUNCTION holdfast_4.list_and_watch(
    session_id uuid, ttl_ms bigint, not_after_ms bigint, queue_name bytea,
    participants boolean)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Locked, so that nothing can change between the list and the watch.
    q bigint := holdfast_4.lock_queue(queue_name, true);
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast_4.open_session(session_id, ttl_ms);
    PERFORM holdfast_4.remove_ended(q, queue_name);
    PERFORM holdfast_4.forget_sole(q);
    INSERT INTO holdfast.watcher (queue, session) VALUES (q, session_id)
    ON CONFLICT DO NOTHING;
    RETURN NEXT holdfast_4.answer_head(0, NULL);
    RETURN QUERY SELECT * FROM holdfast_4.read_tickets(q, false, participants);
END
$$;

-- Returns those of the given tickets that are in the queue.
CREATE FUNCTION holdfast_4.find_tickets(queue_name bytea, ticket_ids uuid[])
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint;
    instant timestamptz;
BEGIN
    PERFORM holdfast_4.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    IF holdfast_4.has_ended_among(q, ticket_ids) THEN
        PERFORM holdfast_4.lock_queue(queue_name, false);
        PERFORM holdfast_4.remove_ended(q, queue_name);
    END IF;
    PERFORM holdfast_4.await_standbys();
    RETURN NEXT holdfast_4.answer_head(0, NULL);
    instant := clock_timestamp();
    RETURN QUERY
    SELECT NULL::integer, NULL::bigint, NULL::integer, NULL::boolean,
           NULL::bytea, t.id, t.sequence, t.kind, t.weight, ''::bytea,
           holdfast_4.remaining_ms(s.expires_at, instant), t.revoked,
           holdfast_4.epoch_ms(t.created_at), NULL::integer
      FROM unnest(ticket_ids) AS its (id),
           LATERAL (SELECT * FROM holdfast.ticket
                     WHERE queue = q AND id = its.id OFFSET 0) AS t
      LEFT JOIN holdfast.session s ON s.id = t.session
     ORDER BY t.sequence;
END
$$;

-- Prolong the lease of the session, and so of its tickets.  The head of the
-- answer has the ids of all its tickets.  Each ticket whose release was
-- requested has a row, too.
CREATE FUNCTION holdfast_4.renew(
    session_id uuid, ttl_ms bigint, not_after_ms bigint)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a holdfast_4.answer;
BEGIN
    PERFORM holdfast_4.check_isolation();
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    a := holdfast_4.answer_head(0, NULL);
    IF holdfast_4.extend_session(session_id, ttl_ms) THEN
        SELECT string_agg(uuid_send(id), ''::bytea) INTO a.own_ids
          FROM holdfast.ticket WHERE session = session_id;
        RETURN NEXT a;
        a := NULL;
        FOR a.id, a.revoked IN
            SELECT id, revoked FROM holdfast.ticket
             WHERE session = session_id AND revoked > 0 LOOP
            RETURN NEXT a;
        END LOOP;
    ELSE
        RETURN NEXT a;
    END IF;
END
$$;

-- Do the same as holdfast_4.renew, but first remove the orphans.  These are
-- tickets of the session that its client does not know any more, because the
-- call that was to remove them was lost.
CREATE FUNCTION holdfast_4.renew_and_remove(
    session_id uuid, ttl_ms bigint, not_after_ms bigint, orphans uuid[])
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM holdfast_4.check_isolation();
    IF NOT holdfast_4.is_late(not_after_ms) THEN
        PERFORM holdfast_4.remove_own(session_id, orphans);
    END IF;
    RETURN QUERY SELECT * FROM holdfast_4.renew(session_id, ttl_ms,
                                                not_after_ms);
END
$$;

-- Make a write ticket of the session a read ticket.
CREATE FUNCTION holdfast_4.downgrade(
    session_id uuid, not_after_ms bigint, queue_name bytea, ticket_id uuid)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, false);
    was holdfast.ticket;
    is_watched boolean;
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    IF holdfast_4.has_ended_among(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast_4.remove_ended(q, queue_name);
    END IF;
    SELECT * INTO was FROM holdfast.ticket
     WHERE queue = q AND id = ticket_id AND session = session_id
       AND kind IN (2, 3);
    IF was.kind = 3 THEN
        PERFORM holdfast_4.notify_waiters(q, queue_name, was.id, was.sequence,
                                          was.kind, 3, false);
        UPDATE holdfast.ticket SET kind = 2
         WHERE queue = q AND id = ticket_id
        RETURNING EXISTS (SELECT FROM holdfast.watcher w WHERE w.queue = q)
             INTO is_watched;
        IF is_watched THEN
            PERFORM holdfast_4.notify_watchers(q, queue_name);
        END IF;
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, was.kind IS NOT NULL);
END
$$;

-- Request the release of the ticket from its owner.
CREATE FUNCTION holdfast_4.request_release(
    not_after_ms bigint, queue_name bytea, ticket_id uuid)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, false);
    asked record;
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    IF holdfast_4.has_ended_among(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast_4.remove_ended(q, queue_name);
    END IF;
    UPDATE holdfast.ticket SET revoked = revoked + 1
     WHERE queue = q AND id = ticket_id
     RETURNING session, revoked INTO asked;
    IF asked.session IS NOT NULL THEN
        PERFORM holdfast_4.notify_session(asked.session,
            format('revoked %s %s %s', ticket_id, asked.revoked,
                   encode(queue_name, 'hex')));
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, asked.session IS NOT NULL);
END
$$;

-- Replace the payload of a ticket of the session.  Nobody is notified.
CREATE FUNCTION holdfast_4.describe(
    session_id uuid, not_after_ms bigint, queue_name bytea, ticket_id uuid,
    ticket_payload bytea)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, false);
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    IF holdfast_4.has_ended_among(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast_4.remove_ended(q, queue_name);
    END IF;
    UPDATE holdfast.ticket SET payload = ticket_payload
     WHERE queue = q AND id = ticket_id AND session = session_id;
    RETURN NEXT holdfast_4.answer_head(0, FOUND);
END
$$;

-- Returns the success of the queue as one row, with its token as the sequence
-- and its time as created_ms; no row if there is none.
CREATE FUNCTION holdfast_4.read_success(queue_name bytea)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a holdfast_4.answer;
    q bigint;
BEGIN
    PERFORM holdfast_4.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    PERFORM holdfast_4.await_standbys();
    a := holdfast_4.answer_head(0, NULL);
    SELECT token, holdfast_4.epoch_ms(succeeded_at) INTO a.sequence, a.created_ms
      FROM holdfast.success WHERE queue = q;
    RETURN NEXT a;
END
$$;

-- Make this token and the present time the success of the queue.  This is done
-- only if the ticket of the session is in the queue, and the success that is
-- there has no greater token.
CREATE FUNCTION holdfast_4.write_success(
    session_id uuid, not_after_ms bigint, queue_name bytea, ticket_id uuid,
    success_token bigint)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, false);
    is_there boolean;
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    IF holdfast_4.has_ended_among(q, ARRAY[ticket_id]) THEN
        PERFORM holdfast_4.remove_ended(q, queue_name);
    END IF;
    is_there := EXISTS (SELECT FROM holdfast.ticket t
                          JOIN holdfast.session s ON s.id = t.session
                         WHERE t.queue = q AND t.id = ticket_id
                           AND s.id = session_id
                           AND s.expires_at > clock_timestamp())
        AND NOT EXISTS (SELECT FROM holdfast.success
                         WHERE queue = q AND token > success_token);
    IF is_there THEN
        INSERT INTO holdfast.success (queue, token, succeeded_at)
        VALUES (q, success_token, clock_timestamp())
        ON CONFLICT (queue) DO UPDATE
           SET token = excluded.token, succeeded_at = excluded.succeeded_at;
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, is_there);
END
$$;

-- Set the flag of that kind, unless it is set already.
CREATE FUNCTION holdfast_4.set_flag(
    not_after_ms bigint, queue_name bytea, flag_kind integer, flag_id uuid)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, true);
    is_there boolean;
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    is_there := EXISTS (SELECT FROM holdfast.ticket
                         WHERE queue = q AND sequence >= holdfast_4.lowest(q)
                           AND kind = flag_kind);
    IF NOT is_there THEN
        PERFORM holdfast_4.add_flag(q, flag_kind, flag_id);
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, is_there);
END
$$;

-- Clear the flag of that kind.  The flag of the participants is cleared only if
-- there are no participants.
CREATE FUNCTION holdfast_4.clear_flag(
    not_after_ms bigint, queue_name bytea, flag_kind integer)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, false);
    flags uuid[];
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast_4.remove_ended(q, queue_name);
    flags := array(SELECT id FROM holdfast.ticket
                    WHERE queue = q AND sequence >= holdfast_4.lowest(q)
                      AND kind = flag_kind
                      AND NOT (flag_kind = 9 AND EXISTS (
                          SELECT FROM holdfast.ticket
                           WHERE queue = q
                             AND sequence >= holdfast_4.lowest(q)
                             AND kind = 8)));
    IF cardinality(flags) > 0 THEN
        PERFORM holdfast_4.remove_tickets(q, queue_name, flags,
                                'ffffffff-ffff-ffff-ffff-ffffffffffff');
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, cardinality(flags) > 0);
END
$$;

-- Set the flag of the participants anew.  This is done only if the ticket,
-- which is a participant, is in the queue, and at least needed participants in
-- all.
CREATE FUNCTION holdfast_4.new_generation(
    not_after_ms bigint, queue_name bytea, ticket_id uuid, needed integer,
    flag_id uuid)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q bigint := holdfast_4.lock_queue(queue_name, false);
    are_there boolean;
BEGIN
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast_4.remove_ended(q, queue_name);
    -- A participant whose session has ended may have been skipped above.
    SELECT count(*) >= needed AND bool_or(t.id = ticket_id) INTO are_there
      FROM holdfast.ticket t JOIN holdfast.session s ON s.id = t.session
     WHERE t.queue = q AND t.sequence >= holdfast_4.lowest(q)
       AND t.kind = 8 AND s.expires_at > clock_timestamp();
    IF are_there THEN
        DELETE FROM holdfast.ticket
         WHERE queue = q AND sequence >= holdfast_4.lowest(q) AND kind = 9;
        PERFORM holdfast_4.add_flag(q, 9, flag_id);
        PERFORM holdfast_4.notify_watchers(q, queue_name);
    END IF;
    RETURN NEXT holdfast_4.answer_head(0, coalesce(are_there, false));
END
$$;

-- Remove some tickets of the session.  It is for a session with so many tickets
-- that it is closed in several calls.
CREATE FUNCTION holdfast_4.close_in_part(
    session_id uuid, not_after_ms bigint, ids uuid[])
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM holdfast_4.check_isolation();
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast_4.remove_own(session_id, ids);
    RETURN NEXT holdfast_4.answer_head(0, NULL);
END
$$;

-- Remove all tickets of the session, and the session itself.
CREATE FUNCTION holdfast_4.close_session(session_id uuid, not_after_ms bigint)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM holdfast_4.check_isolation();
    IF holdfast_4.is_late(not_after_ms) THEN
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    PERFORM holdfast_4.remove_own(session_id, NULL);
    -- A ticket that came meanwhile ends with the session.
    PERFORM FROM holdfast.session WHERE id = session_id FOR UPDATE;
    UPDATE holdfast.session SET expires_at = '-infinity' WHERE id = session_id;
    DELETE FROM holdfast.session WHERE id = session_id
       AND NOT EXISTS (SELECT FROM holdfast.ticket WHERE session = session_id);
    RETURN NEXT holdfast_4.answer_head(0, NULL);
END
$$;

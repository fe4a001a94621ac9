-- SPDX-License-Identifier: Apache-2.0
-- What the functions that clients call are made of.  Those set search_path, and
-- so these do not, for each time costs; but what is made of one expression
-- names everything by its schema, and sweep(), which clients call, sets it.
--
-- Locks are taken in one order: rows of queues by their number, then one row
-- of a session, then rows of tickets.  Where more sessions than one would be
-- locked, those that others have locked are passed over.  So nobody waits for
-- each other.
--
-- A planner believes that each queue has as many tickets as the average one, one
-- or none perhaps, and then takes any index and reads a long queue whole.  So a
-- query about a few tickets of a queue has an ORDER BY sequence, or looks each
-- up by its id or number behind OFFSET 0.

CREATE FUNCTION holdfast.ms(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.floor(pg_catalog.date_part('epoch', at)
                            OPERATOR(pg_catalog.*) 1000)::bigint
$$;

-- How long what lives until then lives on.
CREATE FUNCTION holdfast.lives_ms(expires_at timestamptz, at timestamptz)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN coalesce(expires_at OPERATOR(pg_catalog.<=) at, true) THEN 0
        WHEN pg_catalog.isfinite(expires_at) THEN
            holdfast.ms(expires_at) OPERATOR(pg_catalog.-) holdfast.ms(at)
        ELSE 9223372036854775807 END
$$;

-- The row that an answer begins with.
CREATE FUNCTION holdfast.head(code integer, was_there boolean)
RETURNS holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    a holdfast.answer;
BEGIN
    a.code := code;
    a.found := was_there;
    a.server_ms := holdfast.ms(clock_timestamp());
    a.backend := pg_backend_pid();
    RETURN a;
END
$$;

-- Each statement must see what was committed before it began: what is read
-- once a lock was got would otherwise be as old as the wait for it.
CREATE FUNCTION holdfast.check_isolation() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast works at READ COMMITTED only, not at %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
END
$$;

-- Lock the queue against everybody else who changes it; NULL if there is none
-- and make is false.
CREATE FUNCTION holdfast.lock_queue(queue_name bytea, make boolean)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT number INTO q FROM holdfast.queue
     WHERE name = queue_name FOR NO KEY UPDATE;
    IF q IS NULL AND make THEN
        INSERT INTO holdfast.queue (name, counter) VALUES (queue_name, 0)
        ON CONFLICT (name) DO NOTHING;
        SELECT number INTO STRICT q FROM holdfast.queue
         WHERE name = queue_name FOR NO KEY UPDATE;
    END IF;
    RETURN q;
END
$$;

-- The next number of the queue, which is locked.  Should the row be an old one
-- (a backup, a replica that had not got all), numbers rise all the same, unless
-- the clock was set back as well.  Who takes one puts a ticket in.
CREATE FUNCTION holdfast.next(q bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n bigint;
BEGIN
    UPDATE holdfast.queue
       SET sole = NULL,
           counter = greatest(counter + 1, floor(
               extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
     WHERE number = q RETURNING counter INTO STRICT n;
    RETURN n;
END
$$;

-- A transaction that only reads does not wait for synchronous standbys, and may
-- see what they lack: commits whose wait was given up, or a crash ended it.  One
-- that writes a record waits behind all that it has seen.
CREATE FUNCTION holdfast.await_standbys() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('synchronous_standby_names') <> '' THEN
        PERFORM pg_logical_emit_message(true, 'holdfast', ''::text);
    END IF;
END
$$;

CREATE FUNCTION holdfast.is_late(not_after_ms bigint) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
    SELECT holdfast.ms(pg_catalog.clock_timestamp())
           OPERATOR(pg_catalog.>) not_after_ms
$$;

-- ------------------------------------------------------------- session --

-- Have the session live for ttl_ms from now on, unless it has ended.
CREATE FUNCTION holdfast.extend(whose uuid, ttl_ms bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE holdfast.session
       SET expires_at = greatest(
               expires_at, clock_timestamp() + ttl_ms * interval '1 ms')
     WHERE id = whose AND expires_at > clock_timestamp();
    RETURN FOUND;
END
$$;

-- The same, and should it have ended, it begins anew: none of what it had
-- comes back.
CREATE FUNCTION holdfast.begin(whose uuid, ttl_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF holdfast.extend(whose, ttl_ms) THEN
        RETURN;
    END IF;
    INSERT INTO holdfast.session (id, expires_at)
    VALUES (whose, '-infinity') ON CONFLICT (id) DO NOTHING;
    -- Nothing is added meanwhile: an enqueue shares the session's row.
    PERFORM FROM holdfast.session WHERE id = whose FOR UPDATE;
    UPDATE holdfast.session
       SET expires_at = clock_timestamp() + ttl_ms * interval '1 ms'
     WHERE id = whose;
    UPDATE holdfast.ticket
       SET session = '00000000-0000-0000-0000-000000000000'
     WHERE session = whose;
    DELETE FROM holdfast.look WHERE session = whose;
END
$$;

-- ------------------------------------------------------------- notices --

-- These are no functions of SQL, because one that returns nothing is planned
-- anew by each statement that calls it.
CREATE FUNCTION holdfast.tell(whom uuid, notice text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_notify('holdfast_' || replace(whom::text, '-', ''), notice);
END
$$;

-- That the ticket is gone or, if as_kind is 3, no write ticket any more.
CREATE FUNCTION holdfast.tell_gone(whom uuid, queue_name bytea, ticket_id uuid,
                                   as_kind integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_notify('holdfast_' || replace(whom::text, '-', ''),
                      format('gone %s %s %s', ticket_id, as_kind,
                             encode(queue_name, 'hex')));
END
$$;

-- Tell those who wait for the ticket, which is in the queue still, that it is
-- gone or, if as_kind is 3, that it is not a write ticket any more.  A reader
-- waits for the nearest writer, a lease for nothing, any other for the ticket
-- before it; what is apart does not count.
CREATE FUNCTION holdfast.tell_waiters(q bigint, queue_name bytea,
                                      gone holdfast.ticket, as_kind integer)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    behind record;
BEGIN
    IF gone.kind IN (8, 9) THEN
        RETURN;
    END IF;
    SELECT session, kind INTO behind FROM holdfast.ticket
     WHERE queue = q AND sequence > gone.sequence AND kind NOT IN (8, 9)
     ORDER BY sequence LIMIT 1;
    IF behind.kind NOT IN (2, 4) THEN
        PERFORM holdfast.tell_gone(behind.session, queue_name, gone.id,
                                   as_kind);
    END IF;
    IF gone.kind = 3 THEN
        PERFORM holdfast.tell_gone(session, queue_name, gone.id, as_kind)
           FROM (
            SELECT DISTINCT session FROM (
                SELECT t.session FROM holdfast.ticket t
                 WHERE t.queue = q AND t.kind = 2 AND t.sequence > gone.sequence
                   AND t.sequence < coalesce(
                       (SELECT w.sequence FROM holdfast.ticket w
                         WHERE w.queue = q AND w.kind = 3
                           AND w.sequence > gone.sequence
                         ORDER BY w.sequence LIMIT 1),
                       9223372036854775807)
                 ORDER BY t.sequence OFFSET 0) AS nearest) AS reader;
    END IF;
END
$$;

-- Tell those who look at the queue, which is locked, that it has changed.
CREATE FUNCTION holdfast.tell_lookers(q bigint, queue_name bytea) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    looker uuid;
BEGIN
    FOR looker IN DELETE FROM holdfast.look WHERE queue = q
                  RETURNING session LOOP
        PERFORM holdfast.tell(looker,
                              'changed ' || encode(queue_name, 'hex'));
    END LOOP;
END
$$;

-- Take out of the queue, which is locked, the tickets of ids that are in it,
-- and tell everybody whom that concerns but the session by.
CREATE FUNCTION holdfast.remove(q bigint, queue_name bytea, ids uuid[],
                                by uuid)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    one uuid;
    gone holdfast.ticket;
BEGIN
    -- All are told of before the first one goes: who waited for whom is
    -- decided in the queue as it was.
    FOREACH one IN ARRAY ids LOOP
        SELECT * INTO gone FROM holdfast.ticket WHERE queue = q AND id = one;
        CONTINUE WHEN gone.id IS NULL;
        PERFORM holdfast.tell_waiters(q, queue_name, gone, 0);
        IF gone.session IS DISTINCT FROM by THEN
            PERFORM holdfast.tell_gone(gone.session, queue_name, gone.id, 0);
        END IF;
    END LOOP;
    FOREACH one IN ARRAY ids LOOP
        DELETE FROM holdfast.ticket WHERE queue = q AND id = one;
    END LOOP;
    PERFORM holdfast.tell_lookers(q, queue_name);
END
$$;

-- ---------------------------------------------------------------- marks --

-- Put a mark in, which belongs to nobody, at the end of the queue, which is
-- locked.
CREATE FUNCTION holdfast.put_mark(q bigint, mark_kind integer, mark_id uuid)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO holdfast.ticket
        (queue, sequence, id, session, kind, weight, payload)
    VALUES (q, holdfast.next(q), mark_id,
            'ffffffff-ffff-ffff-ffff-ffffffffffff', mark_kind, 1, '');
END
$$;

-- ----------------------------------------------------------------- end --

-- Is a ticket in the queue whose session seems to have ended?
CREATE FUNCTION holdfast.has_dead(q bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at timestamptz := clock_timestamp();
BEGIN
    RETURN EXISTS (
        SELECT FROM holdfast.ticket t
          LEFT JOIN holdfast.session s ON s.id = t.session
         WHERE t.queue = q AND coalesce(s.expires_at <= at, true));
END
$$;

-- Does one of these tickets seem to have ended?
CREATE FUNCTION holdfast.has_ended(q bigint, ids uuid[]) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at timestamptz := clock_timestamp();
BEGIN
    RETURN EXISTS (
        SELECT FROM unnest(ids) AS its (id),
               LATERAL (SELECT session FROM holdfast.ticket
                         WHERE queue = q AND id = its.id OFFSET 0) AS t
          LEFT JOIN holdfast.session s ON s.id = t.session
         WHERE coalesce(s.expires_at <= at, true));
END
$$;

-- Take out of the queue, which is locked, every ticket whose session has
-- ended; false if there is none.  A session is judged by what its row says once
-- that is locked: a renewal may be under way that nobody sees yet.  A row that
-- somebody else has locked is being renewed, or is dealt with elsewhere; the
-- ticket is there for whoever comes next.
CREATE FUNCTION holdfast.purge(q bigint, queue_name bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at timestamptz := clock_timestamp();
    ended uuid[];
    gone uuid[];
BEGIN
    IF NOT holdfast.has_dead(q) THEN
        RETURN false;
    END IF;
    ended := array(
        SELECT s.id FROM holdfast.session s
         WHERE s.expires_at <= at
           AND EXISTS (SELECT FROM holdfast.ticket t
                        WHERE t.session = s.id AND t.queue = q)
           FOR UPDATE OF s SKIP LOCKED);
    -- For good, even if this server's clock is set back.
    UPDATE holdfast.session SET expires_at = '-infinity'
     WHERE id = ANY (ended) AND expires_at > '-infinity';
    gone := array(
        SELECT t.id FROM holdfast.ticket t
          LEFT JOIN holdfast.session s ON s.id = t.session
         WHERE t.queue = q AND (s.id IS NULL OR s.id = ANY (ended)));
    PERFORM holdfast.remove(q, queue_name, gone, NULL);
    RETURN cardinality(gone) > 0;
END
$$;

-- ----------------------------------------------------------------- part --

-- What decides on the ticket with that number: it, the first one, and the
-- nearest three that may be in its way, behind a head that counts the others
-- ahead, up to a thousand.  If there is none (NULL): the first one.  reads: it
-- is a reader's, and other readers are not in its way.  If one of these has
-- ended, all that has ended is taken out, and the next ones are looked at;
-- otherwise what has ended is left to those behind.  is_locked: the queue is.
CREATE FUNCTION holdfast.near(q bigint, queue_name bytea, own bigint,
                              reads boolean, is_locked boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at timestamptz;
    shown holdfast.answer[];
    head holdfast.answer;
    its holdfast.answer;
    has_ended boolean;
BEGIN
    LOOP
        at := clock_timestamp();
        -- One statement, so that all of it stood in the queue at one time.
        -- OFFSET 0: each is looked up by its number, whatever a planner thinks
        -- that a queue has.
        shown := array(
            SELECT ROW(NULL, NULL, NULL, NULL, NULL, t.id, t.sequence, t.kind,
                       t.weight, t.payload,
                       holdfast.lives_ms(s.expires_at, at), t.revoked,
                       holdfast.ms(t.made_at), NULL)::holdfast.answer
              FROM (SELECT own
                     UNION
                    (SELECT sequence FROM holdfast.ticket
                      WHERE queue = q AND kind NOT IN (8, 9)
                        AND sequence < coalesce(own, 9223372036854775807)
                      ORDER BY sequence LIMIT 1)
                     UNION
                    (SELECT sequence FROM holdfast.ticket
                      WHERE reads AND queue = q AND sequence < own
                        AND kind NOT IN (2, 8, 9)
                      ORDER BY sequence DESC LIMIT 3)
                     UNION
                    (SELECT sequence FROM holdfast.ticket
                      WHERE NOT reads AND queue = q AND sequence < own
                        AND kind NOT IN (8, 9)
                      ORDER BY sequence DESC LIMIT 3)) AS place (number),
                   LATERAL (SELECT * FROM holdfast.ticket
                             WHERE queue = q AND sequence = place.number
                            OFFSET 0) AS t
              LEFT JOIN holdfast.session s ON s.id = t.session
             ORDER BY t.sequence);
        has_ended := false;
        FOREACH its IN ARRAY shown LOOP
            has_ended := has_ended OR its.expires_in_ms = 0;
        END LOOP;
        EXIT WHEN NOT has_ended;
        IF NOT is_locked THEN
            PERFORM holdfast.lock_queue(queue_name, false);
            is_locked := true;
        END IF;
        EXIT WHEN NOT holdfast.purge(q, queue_name);
    END LOOP;
    head := holdfast.head(0, NULL);
    head.more := 0;
    -- Of fewer than five that are no reader's, none is left out.
    IF reads OR cardinality(shown) > 4 THEN
        head.more := count(*) FROM (
            SELECT FROM holdfast.ticket t
             WHERE t.queue = q AND t.sequence < own AND t.kind NOT IN (8, 9)
               AND t.sequence <> ALL (array(
                   SELECT one.sequence FROM unnest(shown) AS one))
             ORDER BY t.sequence LIMIT 1000) AS others;
    END IF;
    RETURN NEXT head;
    FOR i IN 1 .. cardinality(shown) LOOP
        its := shown[i];
        IF i > 1 THEN
            its.payload := ''; -- the first one's is for everybody
        END IF;
        RETURN NEXT its;
    END LOOP;
END
$$;

-- Remove what nobody has come by to remove: tickets of sessions that ended
-- minutes ago, and these.  As many as can be done at once.
CREATE FUNCTION holdfast.sweep() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    since timestamptz := clock_timestamp() - interval '5 minutes';
    left_behind record;
BEGIN
    PERFORM holdfast.check_isolation();
    FOR left_behind IN
        SELECT q.number, q.name FROM holdfast.queue q
         WHERE q.number IN (SELECT t.queue FROM holdfast.ticket t
                              LEFT JOIN holdfast.session s ON s.id = t.session
                             WHERE coalesce(s.expires_at, '-infinity') <= since)
         ORDER BY q.number LIMIT 100
           FOR NO KEY UPDATE OF q SKIP LOCKED LOOP
        PERFORM holdfast.purge(left_behind.number, left_behind.name);
    END LOOP;
    DELETE FROM holdfast.session WHERE id IN (
        SELECT s.id FROM holdfast.session s
         WHERE s.expires_at <= since
           AND s.id <> '00000000-0000-0000-0000-000000000000'
           AND NOT EXISTS (SELECT FROM holdfast.ticket t
                            WHERE t.session = s.id)
         LIMIT 1000 FOR UPDATE SKIP LOCKED);
END
$$;

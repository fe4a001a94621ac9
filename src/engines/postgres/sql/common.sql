-- SPDX-License-Identifier: Apache-2.0
-- The schema with the functions of this version.  Other versions have schemas
-- of their own beside it, for the same tables.  These are the functions that
-- those of clients call.  They do not set search_path, because that costs, and
-- their callers have set it.  But functions of one SQL expression name
-- everything by its schema, and remove_abandoned(), which clients call, sets
-- it.
--
-- Locks are taken in one order: counters of queues by their number, then one row
-- of a session, then rows of tickets.  Where several sessions would be locked,
-- those that others have locked are skipped.  So there is no deadlock.
--
-- The planner assumes that each queue has as many tickets as the average one,
-- one or none perhaps.  It may then take any index and read all of a long
-- queue.  So a query for a few tickets of a queue has an ORDER BY sequence, or
-- looks up each by its id or number behind OFFSET 0.

-- No object of another schema can replace one that is named here.
SET search_path = pg_catalog, pg_temp;

CREATE SCHEMA holdfast_4;

-- What each call returns: one row of the first five columns, the head, and one
-- of the others for each ticket.  The head may have the first ticket as well.
CREATE TYPE holdfast_4.answer AS (
    code integer,       -- 0: done; 1: it came too late and was not done
    server_ms bigint,   -- this server's clock
    backend integer,    -- the process that did it
    found boolean,
    own_ids bytea,          -- renew: the ids of the session's tickets
    id uuid,
    sequence bigint,
    kind integer,
    weight integer,
    payload bytea,
    expires_in_ms bigint,
    revoked integer,
    created_ms bigint,
    more_ahead integer  -- of the head: tickets ahead that have no row
);

CREATE FUNCTION holdfast_4.epoch_ms(instant timestamptz)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.floor(pg_catalog.date_part('epoch', instant)
                            OPERATOR(pg_catalog.*) 1000)::bigint
$$;

-- Milliseconds from instant to expires_at; 0 if that has passed.
CREATE FUNCTION holdfast_4.remaining_ms(
    expires_at timestamptz, instant timestamptz)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN coalesce(expires_at OPERATOR(pg_catalog.<=) instant, true) THEN 0
        WHEN pg_catalog.isfinite(expires_at) THEN
            holdfast_4.epoch_ms(expires_at)
                OPERATOR(pg_catalog.-) holdfast_4.epoch_ms(instant)
        ELSE 9223372036854775807 END
$$;

-- The head of an answer.
CREATE FUNCTION holdfast_4.answer_head(code integer, was_there boolean)
RETURNS holdfast_4.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    a holdfast_4.answer;
BEGIN
    a.code := code;
    a.found := was_there;
    a.server_ms := holdfast_4.epoch_ms(clock_timestamp());
    a.backend := pg_backend_pid();
    RETURN a;
END
$$;

-- Each statement must see what was committed before it began.  Otherwise what
-- is read after a lock was granted is as old as the wait for the lock.
CREATE FUNCTION holdfast_4.check_isolation()
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast works at READ COMMITTED only, not at %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
END
$$;

-- Lock the queue's counter, which every change of the queue does first.  Every
-- query of a counter reads only the versions of its greatest block.
CREATE FUNCTION holdfast_4.lock_counter(q bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM holdfast.counter WHERE queue = q
      ORDER BY block DESC LIMIT 1 FOR UPDATE;
END
$$;

-- The same by name.  Returns the queue's number; NULL if there is no such queue
-- and create_missing is false.
CREATE FUNCTION holdfast_4.lock_queue(queue_name bytea, create_missing boolean)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
BEGIN
    PERFORM holdfast_4.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    IF q IS NULL AND create_missing THEN
        INSERT INTO holdfast.queue (name) VALUES (queue_name)
        ON CONFLICT (name) DO NOTHING RETURNING number INTO q;
        IF q IS NOT NULL THEN
            INSERT INTO holdfast.counter (queue, counter, lowest)
            VALUES (q, 0, 0);
        ELSE
            SELECT number INTO STRICT q FROM holdfast.queue
             WHERE name = queue_name;
        END IF;
    END IF;
    PERFORM holdfast_4.lock_counter(q);
    RETURN q;
END
$$;

-- The number that no ticket of the queue is below.
CREATE FUNCTION holdfast_4.lowest(q bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT lowest FROM holdfast.counter WHERE queue = q
             ORDER BY block DESC LIMIT 1);
END
$$;

-- The queue, which is locked, is not known to be empty or to have one ticket.
CREATE FUNCTION holdfast_4.forget_sole(q bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE holdfast.counter SET sole = NULL
     WHERE queue = q AND sole IS NOT NULL AND block >= (
           SELECT block FROM holdfast.counter WHERE queue = q
            ORDER BY block DESC LIMIT 1);
END
$$;

-- The next number of the queue, which is locked.  Numbers rise even if the row is
-- an old one (from a backup, or a replica that lacked commits), unless the clock
-- was set back as well.  The caller inserts a ticket with the number.
CREATE FUNCTION holdfast_4.next_sequence(q bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n bigint;
BEGIN
    UPDATE holdfast.counter
       SET sole = NULL,
           counter = greatest(counter + 1, floor(
               extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
     WHERE queue = q AND block >= (
           SELECT block FROM holdfast.counter WHERE queue = q
            ORDER BY block DESC LIMIT 1)
    RETURNING counter INTO STRICT n;
    RETURN n;
END
$$;

-- A transaction that only reads does not wait for synchronous standbys, and may
-- see what they lack:  commits whose wait was cancelled or ended by a crash.
-- One that writes a record waits for all that it has seen.
CREATE FUNCTION holdfast_4.await_standbys()
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('synchronous_standby_names') <> '' THEN
        PERFORM pg_logical_emit_message(true, 'holdfast', ''::text);
    END IF;
END
$$;

CREATE FUNCTION holdfast_4.is_late(not_after_ms bigint)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT holdfast_4.epoch_ms(pg_catalog.clock_timestamp())
           OPERATOR(pg_catalog.>) not_after_ms
$$;

-- ------------------------------------------------------------- session --

-- Prolong the session's lease to ttl_ms from now; false if it has ended.
CREATE FUNCTION holdfast_4.extend_session(session_id uuid, ttl_ms bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE holdfast.session
       SET expires_at = greatest(
               expires_at, clock_timestamp() + ttl_ms * interval '1 ms')
     WHERE id = session_id AND expires_at > clock_timestamp();
    RETURN FOUND;
END
$$;

-- The same; a session that has ended, or is new, is opened.  None of the
-- tickets that it had comes back.
CREATE FUNCTION holdfast_4.open_session(session_id uuid, ttl_ms bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF holdfast_4.extend_session(session_id, ttl_ms) THEN
        RETURN;
    END IF;
    INSERT INTO holdfast.session (id, expires_at)
    VALUES (session_id, '-infinity') ON CONFLICT (id) DO NOTHING;
    -- No ticket is added meanwhile, because an enqueue locks this row, shared.
    PERFORM FROM holdfast.session WHERE id = session_id FOR UPDATE;
    UPDATE holdfast.session
       SET expires_at = clock_timestamp() + ttl_ms * interval '1 ms'
     WHERE id = session_id;
    UPDATE holdfast.ticket
       SET session = '00000000-0000-0000-0000-000000000000'
     WHERE session = session_id;
    DELETE FROM holdfast.watcher WHERE session = session_id;
END
$$;

-- ------------------------------------------------------------- notices --

-- These are not in SQL, because a SQL function that returns nothing is planned
-- again by each statement that calls it.
CREATE FUNCTION holdfast_4.notify_session(session_id uuid, notice text)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_notify('holdfast_' || replace(session_id::text, '-', ''),
                      notice);
END
$$;

-- Notify the session that the ticket is gone or, if as_kind is 3, is no write
-- ticket any more.
CREATE FUNCTION holdfast_4.notify_gone(
    session_id uuid, queue_name bytea, ticket_id uuid, as_kind integer)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_notify('holdfast_' || replace(session_id::text, '-', ''),
                      format('gone %s %s %s', ticket_id, as_kind,
                             encode(queue_name, 'hex')));
END
$$;

-- Notify the sessions that wait for the ticket that it is gone or, if as_kind
-- is 3, is no write ticket any more.  A reader waits for the nearest writer, a
-- lease for no ticket, any other for the ticket before it.  Participants and
-- their flag do not count.
--
-- was_first: there is none ahead of the ticket, so the next one is the first
-- now, and enters without reading the queue.  Not if there are standbys:  the
-- notice is sent too when the wait for them is given up, and then the removal
-- may be undone.  The queue is read then, which waits for them.
CREATE FUNCTION holdfast_4.notify_waiters(
    q bigint, queue_name bytea, gone_id uuid, gone_sequence bigint,
    gone_kind integer, as_kind integer, was_first boolean)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    behind record;
BEGIN
    IF gone_kind IN (8, 9) THEN
        RETURN;
    END IF;
    SELECT id, session, kind INTO behind FROM holdfast.ticket
     WHERE queue = q AND sequence > gone_sequence AND kind NOT IN (8, 9)
     ORDER BY sequence LIMIT 1;
    IF behind.kind NOT IN (2, 4) THEN
        IF was_first AND current_setting('synchronous_standby_names') = '' THEN
            PERFORM holdfast_4.notify_session(behind.session,
                format('first %s %s %s', behind.id, gone_id,
                       encode(queue_name, 'hex')));
        ELSE
            PERFORM holdfast_4.notify_gone(behind.session, queue_name, gone_id,
                                           as_kind);
        END IF;
    END IF;
    IF gone_kind = 3 THEN
        PERFORM holdfast_4.notify_gone(session, queue_name, gone_id, as_kind)
           FROM (
            SELECT DISTINCT session FROM (
                SELECT t.session FROM holdfast.ticket t
                 WHERE t.queue = q AND t.kind = 2 AND t.sequence > gone_sequence
                   AND t.sequence < coalesce(
                       (SELECT w.sequence FROM holdfast.ticket w
                         WHERE w.queue = q AND w.kind = 3
                           AND w.sequence > gone_sequence
                         ORDER BY w.sequence LIMIT 1),
                       9223372036854775807)
                 ORDER BY t.sequence OFFSET 0) AS nearest) AS reader;
    END IF;
END
$$;

-- Notify the watchers of the queue, which is locked, that it has changed.
CREATE FUNCTION holdfast_4.notify_watchers(q bigint, queue_name bytea)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    watcher_id uuid;
BEGIN
    FOR watcher_id IN DELETE FROM holdfast.watcher WHERE queue = q
                      RETURNING session LOOP
        PERFORM holdfast_4.notify_session(
            watcher_id, 'changed ' || encode(queue_name, 'hex'));
    END LOOP;
END
$$;

-- Remove those of the tickets that are in the queue, which is locked.  Notify
-- waiters, watchers and owners, but not the session remover.
CREATE FUNCTION holdfast_4.remove_tickets(
    q bigint, queue_name bytea, ids uuid[], remover uuid)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    one uuid;
    gone holdfast.ticket;
BEGIN
    -- Notify before the first one is removed: the queue as it was says which
    -- ticket waited for which.
    FOREACH one IN ARRAY ids LOOP
        SELECT * INTO gone FROM holdfast.ticket WHERE queue = q AND id = one;
        CONTINUE WHEN gone.id IS NULL;
        PERFORM holdfast_4.notify_waiters(q, queue_name, gone.id,
                                          gone.sequence, gone.kind, 0, false);
        IF gone.session IS DISTINCT FROM remover THEN
            PERFORM holdfast_4.notify_gone(gone.session, queue_name, gone.id,
                                           0);
        END IF;
    END LOOP;
    FOREACH one IN ARRAY ids LOOP
        DELETE FROM holdfast.ticket WHERE queue = q AND id = one;
    END LOOP;
    UPDATE holdfast.counter SET lowest = coalesce((
           SELECT sequence FROM holdfast.ticket t
            WHERE t.queue = q AND t.sequence >= lowest
            ORDER BY t.sequence LIMIT 1), counter)
     WHERE queue = q AND block >= (
           SELECT block FROM holdfast.counter WHERE queue = q
            ORDER BY block DESC LIMIT 1);
    PERFORM holdfast_4.notify_watchers(q, queue_name);
END
$$;

-- Remove these tickets of the session, or all (NULL).  Queues are locked in the
-- order of their numbers, so that no two calls wait for each other.
CREATE FUNCTION holdfast_4.remove_own(session_id uuid, ids uuid[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    its record;
BEGIN
    FOR its IN SELECT q.number, q.name FROM holdfast.queue q
                WHERE q.number IN (SELECT t.queue FROM holdfast.ticket t
                                    WHERE t.session = session_id
                                      AND (ids IS NULL OR t.id = ANY (ids)))
                ORDER BY q.number LOOP
        PERFORM holdfast_4.lock_counter(its.number);
        PERFORM holdfast_4.remove_tickets(its.number, its.name, array(
            SELECT t.id FROM holdfast.ticket t
             WHERE t.queue = its.number AND t.session = session_id
               AND (ids IS NULL OR t.id = ANY (ids))), session_id);
    END LOOP;
END
$$;

-- ---------------------------------------------------------------- flags --

-- Add a flag, which belongs to no client, at the end of the queue, which is
-- locked.
CREATE FUNCTION holdfast_4.add_flag(q bigint, flag_kind integer, flag_id uuid)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO holdfast.ticket
        (queue, sequence, id, session, kind, weight, payload)
    VALUES (q, holdfast_4.next_sequence(q), flag_id,
            'ffffffff-ffff-ffff-ffff-ffffffffffff', flag_kind, 1, '');
END
$$;

-- ----------------------------------------------------------------- end --

-- Is a ticket in the queue whose session seems to have ended?
CREATE FUNCTION holdfast_4.has_ended_ticket(q bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    instant timestamptz := clock_timestamp();
BEGIN
    RETURN EXISTS (
        SELECT FROM holdfast.ticket t
          LEFT JOIN holdfast.session s ON s.id = t.session
         WHERE t.queue = q AND t.sequence >= holdfast_4.lowest(q)
           AND coalesce(s.expires_at <= instant, true));
END
$$;

-- Does one of these tickets seem to have ended?
CREATE FUNCTION holdfast_4.has_ended_among(q bigint, ids uuid[])
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    instant timestamptz := clock_timestamp();
BEGIN
    RETURN EXISTS (
        SELECT FROM unnest(ids) AS its (id),
               LATERAL (SELECT session FROM holdfast.ticket
                         WHERE queue = q AND id = its.id OFFSET 0) AS t
          LEFT JOIN holdfast.session s ON s.id = t.session
         WHERE coalesce(s.expires_at <= instant, true));
END
$$;

-- Remove every ticket whose session has ended from the queue, which is locked;
-- false if there is none.  A session is judged by its row after that is locked,
-- because a renewal may be under way that is not visible yet.  A row that
-- another transaction has locked is being renewed, or its tickets are being
-- removed: they are left to the next call.
CREATE FUNCTION holdfast_4.remove_ended(q bigint, queue_name bytea)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    instant timestamptz := clock_timestamp();
    ended uuid[];
    gone uuid[];
BEGIN
    IF NOT holdfast_4.has_ended_ticket(q) THEN
        RETURN false;
    END IF;
    ended := array(
        SELECT s.id FROM holdfast.session s
         WHERE s.expires_at <= instant
           AND EXISTS (SELECT FROM holdfast.ticket t
                        WHERE t.session = s.id AND t.queue = q)
           FOR UPDATE OF s SKIP LOCKED);
    -- For good, even if this server's clock is set back.
    UPDATE holdfast.session SET expires_at = '-infinity'
     WHERE id = ANY (ended) AND expires_at > '-infinity';
    gone := array(
        SELECT t.id FROM holdfast.ticket t
          LEFT JOIN holdfast.session s ON s.id = t.session
         WHERE t.queue = q AND t.sequence >= holdfast_4.lowest(q)
           AND (s.id IS NULL OR s.id = ANY (ended)));
    PERFORM holdfast_4.remove_tickets(q, queue_name, gone, NULL);
    RETURN cardinality(gone) > 0;
END
$$;

-- ----------------------------------------------------------- neighbours --

-- What decides about the ticket with the number own: it, the first ticket, and
-- the nearest three that it may have to wait for, behind a head that counts the
-- other tickets ahead, up to a thousand.  own is NULL: only the first ticket.
-- reads: own is a reader's, so it does not wait for other readers.  If one of
-- these tickets has ended, all ended ones are removed, and the next ones are
-- read; other ended tickets are left to the tickets behind them.  is_locked:
-- the caller has locked the queue.
CREATE FUNCTION holdfast_4.neighbours(
    q bigint, queue_name bytea, own bigint, reads boolean, is_locked
    boolean)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    instant timestamptz;
    lowest_there bigint := holdfast_4.lowest(q);
    shown holdfast_4.answer[];
    head holdfast_4.answer;
    its holdfast_4.answer;
    has_ended boolean;
BEGIN
    LOOP
        instant := clock_timestamp();
        -- One statement, so that these tickets were in the queue at one time.
        -- OFFSET 0: each is looked up by its number, whatever the planner
        -- assumes of the queue.
        shown := array(
            SELECT ROW(NULL, NULL, NULL, NULL, NULL, t.id, t.sequence, t.kind,
                       t.weight, t.payload,
                       holdfast_4.remaining_ms(s.expires_at, instant),
                       t.revoked, holdfast_4.epoch_ms(t.created_at),
                       NULL)::holdfast_4.answer
              FROM (SELECT own
                     UNION
                    (SELECT sequence FROM holdfast.ticket
                      WHERE queue = q AND kind NOT IN (8, 9)
                        AND sequence >= lowest_there
                        AND sequence < coalesce(own, 9223372036854775807)
                      ORDER BY sequence LIMIT 1)
                     UNION
                    (SELECT sequence FROM holdfast.ticket
                      WHERE reads AND queue = q AND sequence < own
                        AND sequence >= lowest_there AND kind NOT IN (2, 8, 9)
                      ORDER BY sequence DESC LIMIT 3)
                     UNION
                    (SELECT sequence FROM holdfast.ticket
                      WHERE NOT reads AND queue = q AND sequence < own
                        AND sequence >= lowest_there AND kind NOT IN (8, 9)
                      ORDER BY sequence DESC LIMIT 3)) AS listed (number),
                   LATERAL (SELECT * FROM holdfast.ticket
                             WHERE queue = q AND sequence = listed.number
                            OFFSET 0) AS t
              LEFT JOIN holdfast.session s ON s.id = t.session
             ORDER BY t.sequence);
        has_ended := false;
        FOREACH its IN ARRAY shown LOOP
            has_ended := has_ended OR its.expires_in_ms = 0;
        END LOOP;
        EXIT WHEN NOT has_ended;
        IF NOT is_locked THEN
            PERFORM holdfast_4.lock_queue(queue_name, false);
            is_locked := true;
        END IF;
        EXIT WHEN NOT holdfast_4.remove_ended(q, queue_name);
    END LOOP;
    head := holdfast_4.answer_head(0, NULL);
    head.more_ahead := 0;
    -- A reader's list leaves out readers; any other one of fewer than five rows
    -- leaves out none.
    IF reads OR cardinality(shown) > 4 THEN
        head.more_ahead := count(*) FROM (
            SELECT FROM holdfast.ticket t
             WHERE t.queue = q AND t.sequence >= lowest_there
               AND t.sequence < own AND t.kind NOT IN (8, 9)
               AND t.sequence <> ALL (array(
                   SELECT one.sequence FROM unnest(shown) AS one))
             ORDER BY t.sequence LIMIT 1000) AS others;
    END IF;
    RETURN NEXT head;
    FOR i IN 1 .. cardinality(shown) LOOP
        its := shown[i];
        IF i > 1 THEN
            its.payload := ''; -- only the first one's is shown
        END IF;
        RETURN NEXT its;
    END LOOP;
END
$$;

-- Remove tickets of sessions that ended minutes ago, and these sessions, where
-- no other call has done it.  At most a hundred queues and a thousand sessions
-- a call.
CREATE FUNCTION holdfast_4.remove_abandoned()
RETURNS void LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    since timestamptz := clock_timestamp() - interval '5 minutes';
    left_behind record;
BEGIN
    PERFORM holdfast_4.check_isolation();
    FOR left_behind IN
        SELECT q.number, q.name FROM holdfast.queue q
         WHERE q.number IN (SELECT t.queue FROM holdfast.ticket t
                              LEFT JOIN holdfast.session s ON s.id = t.session
                             WHERE coalesce(s.expires_at, '-infinity') <= since)
         ORDER BY q.number LIMIT 100 LOOP
        PERFORM FROM holdfast.counter WHERE queue = left_behind.number
          ORDER BY block DESC LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            PERFORM holdfast_4.remove_ended(left_behind.number,
                                            left_behind.name);
        END IF;
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

-- SPDX-License-Identifier: Apache-2.0
--
-- Removes tickets, and notifies sessions of that and of other changes.  Each
-- run of the script first removes the expired tickets.  If there are none, some
-- operations do not need these functions; an enqueue needs them only if the
-- queue is watched.

local expired = {}

-- If the ticket that expires first has not expired, no ticket has.
if not (soonest and soonest[2] and tonumber(soonest[2]) > now) then
    expired = call('ZRANGEBYSCORE', expiries, '-inf', text(now))
end

local notify, notify_waiters, notify_watchers, remove_tickets

if #expired > 0 or redis_py_key or not (
        op == 'enqueue' or op == 'list' or op == 'exists' or op == 'renew') or
        op == 'enqueue' and call('ZCARD', watchers) > 0 then
    -- How many tickets one step of a walk through the queue reads.
    local STEP = 16

    function notify(session_notified, notice)
        call('PUBLISH', 'holdfast:session:' .. session_notified, notice)
    end

    -- Send the notice GONE about the ticket ${id} of ${kind} to the sessions of
    -- the tickets that wait for it, except those in ${removed}.  A READ waits
    -- for the nearest WRITE ahead, a LEASE for no ticket, any other ticket for
    -- the next one ahead.  ${as_kind} is WRITE if the ticket stays but is no
    -- longer a WRITE, else '0'.
    function notify_waiters(id, kind, removed, as_kind)
        local sequence = call('ZSCORE', queue, id)
        local step = kind == WRITE and STEP or 1
        local at = 0
        local nearest = true
        local behind, other

        if not sequence then
            return
        end
        repeat
            behind = call('ZRANGEBYSCORE', queue, '(' .. sequence, '+inf',
                          'LIMIT', at, step)
            for _, id_behind in ipairs(behind) do
                other = ticket(id_behind)
                if other then
                    if not removed[id_behind] and (
                            (kind == WRITE and other.kind == READ) or
                            (nearest and other.kind ~= READ and
                             other.kind ~= LEASE)) then
                        notify(other.session,
                               table.concat({'gone', as_kind, id, name}, ' '))
                    end
                    if kind ~= WRITE or other.kind == WRITE then
                        return
                    end
                    nearest = false
                end
            end
            at = at + step
        until #behind < step
    end

    -- Send the notice CHANGED to the sessions that watch the queue; their
    -- watches end.
    function notify_watchers()
        if call('ZCARD', watchers) == 0 then
            return
        end
        for _, watcher in ipairs(call('ZRANGEBYSCORE', watchers,
                                      '(' .. text(now), '+inf')) do
            notify(watcher, 'changed ' .. name)
        end
        call('DEL', watchers)
    end

    -- Remove the tickets ${ids}.  Notifies the sessions that wait for them,
    -- those that watch the queue, and the owners of the tickets, except owners
    -- of the session ${by}.  ${evicted_by} says who removes the tickets, or is
    -- nil.
    function remove_tickets(ids, by, evicted_by)
        local removed = {}

        if #ids == 0 then
            return
        end
        for _, id in ipairs(ids) do
            removed[id] = ticket(id) or {kind = '0', session = ''}
        end
        for _, id in ipairs(ids) do
            notify_waiters(id, removed[id].kind, removed, '0')
        end
        for _, id in ipairs(ids) do
            call('ZREM', set_of(removed[id].kind), id)
            if removed[id].kind == WRITE then
                call('ZREM', writers, id)
            end
            call('ZREM', expiries, id)
            call('HDEL', tickets, id)
            -- redis-py releases its lock in the same way
            if redis_py_key and call('GET', redis_py_key) == id then
                call('DEL', redis_py_key, holder_key)
            end
            if removed[id].session ~= by then
                notify(removed[id].session, table.concat(
                    evicted_by and {'evicted', evicted_by, id, name} or
                    {'gone', '0', id, name}, ' '))
            end
        end
        notify_watchers()
    end
end

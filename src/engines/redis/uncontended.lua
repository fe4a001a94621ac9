-- SPDX-License-Identifier: Apache-2.0
--
-- The short path for a queue with one ticket.  Most acquires find no other
-- ticket, and most releases leave none, so no session has to be notified.  The
-- server makes the functions of the other parts each time that the script runs;
-- this path does without them.  It does what they would do, and leaves to them
-- whatever is in doubt.

-- ARGV of enqueue: id, kind, weight, payload
if op == 'enqueue' and not redis_py_key and ARGV[7] ~= PARTICIPANT and
        redis.call('HLEN', tickets) == 0 then
    local id, kind, at = ARGV[6], ARGV[7], text(now)
    local sequence = text(math.max(micros, before + 1))
    local data = table.concat({kind, ARGV[8], '0', at, session, ARGV[9]}, ' ')
    local lifetime = text(2 * ttl + ABANDONED_MS)

    redis.call('SET', last, sequence)
    redis.call('ZADD', queue, sequence, id)
    redis.call('ZADD', expiries, text(now + ttl), id)
    redis.call('HSET', tickets, id, data)
    redis.call('PEXPIRE', queue, lifetime)
    redis.call('PEXPIRE', expiries, lifetime)
    redis.call('PEXPIRE', tickets, lifetime)
    if kind == WRITE then
        redis.call('ZADD', writers, sequence, id)
        redis.call('PEXPIRE', writers, lifetime)
    end
    return {at, 'ok', {{id, sequence, ARGV[4], data}},
            kind ~= LEASE and '0' or nil}
end

-- ARGV of remove, and of close_session with one ticket: id
if (op == 'remove' or op == 'close_session' and #ARGV == 6) and
        not redis_py_key then
    local first = redis.call('ZRANGE', expiries, 0, 1, 'WITHSCORES')
    local kind, owner

    if #first == 2 and first[1] == ARGV[6] and tonumber(first[2]) > now then
        kind, owner = string.match(redis.call('HGET', tickets, ARGV[6]) or '',
                                   '^(%d) %d+ %d+ %d+ (%x+) ')
    end
    if owner == session and kind < PARTICIPANT and
            redis.call('ZCARD', watchers) == 0 then
        redis.call('DEL', queue, expiries, tickets, writers)
        return {text(now), 'ok', 1}
    end
end

-- SPDX-License-Identifier: Apache-2.0
--
-- The only ticket of its name: most acquires find no other, and most releases
-- leave none.  Then nobody is told and nobody is looked at, and the server is
-- spared the functions that follow, which it makes anew each time that the
-- script runs.  What is done here is what they would do; where there is any
-- doubt they do it.

-- ARGV of enqueue: id, kind, weight, payload
if ARGV[1] == 'enqueue' and not plain and ARGV[7] ~= MEMBER and
        redis.call('HLEN', tickets) == 0 then
    local id, kind, at = ARGV[6], ARGV[7], text(now)
    local before = tonumber(redis.call('GET', last) or '0') or 0
    local sequence = text(math.max(micros, before + 1))
    local data = table.concat({kind, ARGV[8], '0', at, session, ARGV[9]}, ' ')
    local lives = text(2 * ttl + LEFT_ALONE)

    redis.call('SET', last, sequence)
    redis.call('ZADD', queue, sequence, id)
    redis.call('ZADD', untils, text(now + ttl), id)
    redis.call('HSET', tickets, id, data)
    redis.call('PEXPIRE', queue, lives)
    redis.call('PEXPIRE', untils, lives)
    redis.call('PEXPIRE', tickets, lives)
    if kind == WRITE then
        redis.call('ZADD', writers, sequence, id)
        redis.call('PEXPIRE', writers, lives)
    end
    return {at, 'ok', {{id, sequence, ARGV[4], data}},
            kind ~= LEASE and '0' or nil}
end

-- ARGV of withdraw, and of a goodbye to one ticket: id
if (ARGV[1] == 'withdraw' or ARGV[1] == 'goodbye' and #ARGV == 6) and
        not plain then
    local alive = redis.call('ZRANGE', untils, 0, 1, 'WITHSCORES')
    local kind, whose

    if #alive == 2 and alive[1] == ARGV[6] and tonumber(alive[2]) > now then
        kind, whose = string.match(redis.call('HGET', tickets, ARGV[6]) or '',
                                   '^(%d) %d+ %d+ %d+ (%x+) ')
    end
    if whose == session and kind < MEMBER and
            redis.call('ZCARD', looks) == 0 then
        redis.call('DEL', queue, untils, tickets, writers)
        return {text(now), 'ok', 1}
    end
end

-- SPDX-License-Identifier: Apache-2.0
--
-- The short path for a queue with one ticket.  Most acquires find no other
-- ticket, and most releases leave none, so no session has to be notified.  A
-- ticket that nobody else has asked about is in the key "last" alone, behind
-- its sequence, so that an acquire and a release are one GET and one SET.  The
-- key has
--
--     NUMBER            the other keys have the tickets, if there are any
--     2 NUMBER          there is no ticket, and nobody watches the queue
--     2 NUMBER TICKET   nobody watches the queue, and there is this ticket:
--                       "session id ttl kind weight payload", as in the call
--                       that has added it at NUMBER
--
-- NUMBER is the last sequence that was given out.  Behind "2 " it has 16
-- digits.  Every other operation moves the ticket to the other keys first
-- (common.lua).  This path leaves to them whatever is in doubt.  Its answer is
-- the server's clock in microseconds, which is the sequence of a new ticket,
-- too.

-- What the key "last" has, and the first tickets by the ends of their leases,
-- with these; nil if they were not read.
local state, soonest

if op == 'enqueue' and micros <= ARGV[2] * 1000 then
    local before

    state = call('GET', KEYS[1]) or '0'
    if #state == 18 and sub(state, 1, 2) == '2 ' then
        before = tonumber(sub(state, 3))
    elseif not string.find(state, '%D') then
        local prefix = sub(KEYS[1], 1, -5)

        soonest = call('ZRANGE', prefix .. 'until', 0, 0, 'WITHSCORES')
        before = #soonest == 0 and
            call('ZCARD', prefix .. 'queue') == 0 and
            call('ZCARD', prefix .. 'watchers') == 0 and tonumber(state)
    end
    if before and micros > before then
        call('SET', KEYS[1], '2 ' .. time[1] .. sub('000000', #time[2] + 1) ..
             time[2] .. ' ' .. ARGV[4])
        return micros
    end
end

-- The ticket has surely not expired while the seconds that have begun since
-- NUMBER are less than its ttl.
if op == 'remove' and micros <= ARGV[2] * 1000 then
    state = call('GET', KEYS[1]) or '0'
    if sub(state, 20, 88) == ARGV[4] and sub(state, 1, 2) == '2 ' then
        local since = time[1] - sub(state, 3, 12)

        -- A server that is out of memory refuses the SET, and nothing that the
        -- other keys need after the DEL with which their path begins.
        if since >= 0 and (since + 1) * 1000 <= tonumber(ARGV[3]) and
                not redis.pcall('SET', KEYS[1], sub(state, 1, 18)).err then
            return micros
        end
    elseif not string.find(state, '%D') then
        local prefix = sub(KEYS[1], 1, -5)
        local id, now = sub(ARGV[4], 34), math.floor(micros / 1000)
        local kind, owner

        soonest = call('ZRANGE', prefix .. 'until', 0, 1, 'WITHSCORES')
        if #soonest == 2 and soonest[1] == id and
                tonumber(soonest[2]) > now then
            kind, owner = string.match(
                call('HGET', prefix .. 'tickets', id) or '',
                '^(%d) %d+ %d+ %d+ (%x+) ')
        end
        if owner == sub(ARGV[4], 1, 32) and kind < '8' and
                call('ZCARD', prefix .. 'watchers') == 0 then
            call('DEL', prefix .. 'queue', prefix .. 'until',
                 prefix .. 'tickets', prefix .. 'writers')
            return micros
        end
    end
end

-- SPDX-License-Identifier: Apache-2.0
--
-- The success of a queue: the token of the last ticket whose owner reported
-- success.  The key has "token milliseconds", with the time of the report by
-- the clock of this server.  The key does not expire.

if not operations[op] then
    local key = prefix .. 'success'

    -- The token and the time; nil if there is no success.
    local function read()
        return string.match(call('GET', key) or '', '^(%d+) (%d+)$')
    end

    -- Returns the token and the time, or an empty array.
    function operations.read_success()
        return {read()}
    end

    -- ARGV: id, token.  Writes the success of a ticket of this session, unless
    -- the success of a later ticket was written.  Returns whether it was
    -- written.
    function operations.write_success()
        local found = ticket(ARGV[4])

        if not found or found.session ~= session or
                tonumber(read() or '0') > tonumber(ARGV[5]) then
            return 0
        end
        call('SET', key, ARGV[5] .. ' ' .. text(now))
        return 1
    end
end

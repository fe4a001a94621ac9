-- SPDX-License-Identifier: Apache-2.0
--
-- Marks, which are tickets of nobody: a barrier that is up, and READY, what
-- those at a double barrier have stamped.

if not operations[ARGV[1]] then
    -- The tickets of that kind.
    local function those_of(kind)
        local found = {}
        local its

        for _, id in ipairs(redis.call('ZRANGE', line_of(kind), 0, -1)) do
            its = ticket(id)
            if its and its.kind == kind then
                found[#found + 1] = id
            end
        end
        return found
    end

    local function mark(id, kind)
        place(id, kind, NEVER)
        put(id, {kind = kind, weight = '1', revoked = '0', created = text(now),
                 session = '0', payload = ''})
    end

    -- ARGV: kind, id.  Whether there was a mark.
    function operations.raise()
        local found = #those_of(ARGV[6])

        if found == 0 then
            mark(ARGV[7], ARGV[6])
        end
        return found
    end

    -- ARGV: kind.  Whether there was one, which is out.
    function operations.lower()
        local found

        if ARGV[6] == READY and #those_of(MEMBER) > 0 then
            return 0
        end
        found = those_of(ARGV[6])
        remove(found, nil)
        return #found
    end

    -- ARGV: id, how many there are to be, id of the mark.  Whether they are
    -- there and have stamped.
    function operations.stamp()
        local member = ticket(ARGV[6])

        if not member or member.kind ~= MEMBER or
                #those_of(MEMBER) < tonumber(ARGV[7]) then
            return 0
        end
        remove(those_of(READY), nil)
        mark(ARGV[8], READY)
        tell_lookers()
        return 1
    end
end

-- SPDX-License-Identifier: Apache-2.0

local outcome, more

if ARGV[3] ~= '' and now > tonumber(ARGV[3]) then
    return {text(now), 'late'}
end
-- What has run out goes first, whatever is asked for.
remove(redis.call('ZRANGEBYSCORE', untils, '-inf', text(now)), nil)
settle()
outcome, more = operations[ARGV[1]]()
if not outcome then
    return {text(now), 'unsupported'}
end
settle()
return {text(now), 'ok', outcome, more}

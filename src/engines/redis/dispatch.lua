-- SPDX-License-Identifier: Apache-2.0

if ARGV[3] ~= '' and now > tonumber(ARGV[3]) then
    return {text(now), 'late'}
end
-- What has run out goes first, whatever is asked for.
remove(redis.call('ZRANGEBYSCORE', untils, '-inf', text(now)), nil)
return {text(now), 'ok', operations[ARGV[1]]()}

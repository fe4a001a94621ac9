#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Write VALUE to FILE, unless somebody with a greater token has written to it:
#
#     holdfast run report -- ./fencing.sh FILE VALUE
#
# FILE.token is the highest token that was seen.  It is replaced before FILE is,
# so that after a crash between the two the older holder is still refused.
set -eu
file=$1
value=$2

exec 9>>"$file.guard" # looking and writing is one step
flock 9
seen=0
if [ -e "$file.token" ]; then
    seen=$(cat "$file.token")
fi
if [ "$HOLDFAST_TOKEN" -lt "$seen" ]; then
    echo "refused: token $HOLDFAST_TOKEN is below $seen" >&2
    exit 1
fi
printf '%s\n' "$HOLDFAST_TOKEN" >"$file.token.new"
sync "$file.token.new"
mv "$file.token.new" "$file.token"
printf '%s\n' "$value" >"$file.new"
sync "$file.new"
mv "$file.new" "$file"

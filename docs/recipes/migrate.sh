#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bring a PostgreSQL database to the newest version of its schema:
#
#     holdfast run -c postgresql:// -w 10m migrate-shop -- ./migrate.sh
#
# Both find the database by PGHOST, PGDATABASE, PGUSER and their like.
set -eu
exec psql -X -q -v ON_ERROR_STOP=1 --single-transaction \
    -v token="$HOLDFAST_TOKEN" -f "$(dirname "$0")/migrate.sql"

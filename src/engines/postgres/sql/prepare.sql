-- SPDX-License-Identifier: Apache-2.0
-- The calls of a client, prepared for one connection, whose search_path is
-- pg_catalog, pg_temp.  Each is a transaction of its own.

PREPARE hf_enqueue (uuid, bigint, bigint, bytea, uuid, integer, integer, bytea)
AS SELECT * FROM holdfast.enqueue($1, $2, $3, $4, $5, $6, $7, $8);
PREPARE hf_withdraw (uuid, bigint, bytea, uuid)
AS SELECT * FROM holdfast.withdraw($1, $2, $3, $4);
PREPARE hf_ahead (bytea, uuid, boolean)
AS SELECT * FROM holdfast.ahead($1, $2, $3);
PREPARE hf_renew (uuid, bigint, bigint)
AS SELECT * FROM holdfast.renew($1, $2, $3);
PREPARE hf_renew_without (uuid, bigint, bigint, uuid[])
AS SELECT * FROM holdfast.renew_without($1, $2, $3, $4);
PREPARE hf_list (bytea, boolean, boolean)
AS SELECT * FROM holdfast.list($1, $2, $3);
PREPARE hf_look (uuid, bigint, bigint, bytea, boolean)
AS SELECT * FROM holdfast.look($1, $2, $3, $4, $5);
PREPARE hf_probe (bytea, uuid[])
AS SELECT * FROM holdfast.probe($1, $2);
PREPARE hf_downgrade (uuid, bigint, bytea, uuid)
AS SELECT * FROM holdfast.downgrade($1, $2, $3, $4);
PREPARE hf_revoke (bigint, bytea, uuid)
AS SELECT * FROM holdfast.revoke($1, $2, $3);
PREPARE hf_describe (uuid, bigint, bytea, uuid, bytea)
AS SELECT * FROM holdfast.describe($1, $2, $3, $4, $5);
PREPARE hf_raise (bigint, bytea, integer, uuid)
AS SELECT * FROM holdfast.raise($1, $2, $3, $4);
PREPARE hf_lower (bigint, bytea, integer)
AS SELECT * FROM holdfast.lower($1, $2, $3);
PREPARE hf_stamp (bigint, bytea, uuid, integer, uuid)
AS SELECT * FROM holdfast.stamp($1, $2, $3, $4, $5);
PREPARE hf_goodbye (uuid, bigint)
AS SELECT * FROM holdfast.goodbye($1, $2);

/* Functions of wellspring for PostgreSQL 15 and later.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include <wellspring.h>

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(wellspring_pg_uuid4);
PG_FUNCTION_INFO_V1(wellspring_pg_uuid7);
PG_FUNCTION_INFO_V1(wellspring_pg_bytes);
PG_FUNCTION_INFO_V1(wellspring_pg_random);

/* PostgreSQL's own words and SQL state where its generator fails. */
static void check(int result) {
    if (result != WS_OK)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values"),
                        errdetail("wellspring: %s", ws_strerror(result))));
}

Datum wellspring_pg_uuid4(PG_FUNCTION_ARGS) {
    pg_uuid_t *uuid = palloc(UUID_LEN);
    check(ws_uuid4(uuid->data));
    PG_RETURN_UUID_P(uuid);
}

Datum wellspring_pg_uuid7(PG_FUNCTION_ARGS) {
    pg_uuid_t *uuid = palloc(UUID_LEN);
    check(ws_uuid7(uuid->data));
    PG_RETURN_UUID_P(uuid);
}

Datum wellspring_pg_bytes(PG_FUNCTION_ARGS) {
    int32 length = PG_GETARG_INT32(0);
    bytea *bytes;
    /* The words and the SQL state of gen_random_bytes of pgcrypto, which gives up to 1024 bytes. */
    if (length < 1 || length > MaxAllocSize - VARHDRSZ)
        ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION), errmsg("Length not in range")));
    bytes = palloc(VARHDRSZ + length);
    SET_VARSIZE(bytes, VARHDRSZ + length);
    check(ws_fill(VARDATA(bytes), length));
    PG_RETURN_BYTEA_P(bytes);
}

Datum wellspring_pg_random(PG_FUNCTION_ARGS) { PG_RETURN_FLOAT8(ws_double()); }

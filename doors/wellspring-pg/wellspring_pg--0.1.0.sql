CREATE FUNCTION ws_uuid4() RETURNS uuid
    AS 'MODULE_PATHNAME', 'wellspring_pg_uuid4' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ws_uuid4() IS 'a UUID of version 4, as gen_random_uuid()';

CREATE FUNCTION ws_uuid7() RETURNS uuid
    AS 'MODULE_PATHNAME', 'wellspring_pg_uuid7' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ws_uuid7() IS 'a UUID of version 7; those of a session ascend';

CREATE FUNCTION ws_bytes(n integer) RETURNS bytea
    AS 'MODULE_PATHNAME', 'wellspring_pg_bytes' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ws_bytes(integer) IS 'n random bytes fit for keys, 1 or more';

CREATE FUNCTION ws_random() RETURNS double precision
    AS 'MODULE_PATHNAME', 'wellspring_pg_random' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ws_random() IS 'a number from 0 to 1, without 1; setseed() has no effect on it';

//! Measures a UUID of the extension beside one of the server, inside of a query over a million rows:
//!
//! ```text
//! cargo run --release -p wellspring-pg --example ratios
//! ```
//!
//! Prints a line for each round, with tabs: what, the nanoseconds of a row with the extension, and those of the other query.

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let rounds = common::with_server(
        "",
        r"
sql <<'END'
CREATE FUNCTION ns_of_row(value text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE start timestamptz := clock_timestamp();
BEGIN
  EXECUTE format('SELECT count(%s) FROM generate_series(1, 1000000) number', value);
  RETURN extract(epoch FROM clock_timestamp() - start) * 1e3;
END $$;
SET jit = off;
DO $$ BEGIN PERFORM ns_of_row(value) FROM unnest(ARRAY['ws_uuid4()', 'gen_random_uuid()', 'number']) value; END $$;
CREATE TABLE times AS SELECT round, ns_of_row('ws_uuid4()') AS ours, ns_of_row('gen_random_uuid()') AS theirs,
    ns_of_row('number') AS floor FROM generate_series(1, 7) round;
SELECT concat_ws(E'\t', 'PostgreSQL ws_uuid4(), beside gen_random_uuid()', ours, theirs) FROM times;
SELECT concat_ws(E'\t', 'PostgreSQL ws_uuid4(), beside the number of the row', ours, floor) FROM times;
END",
    );
    print!("{}", rounds.unwrap_or_default());
}

//! The extension in a PostgreSQL server of its own.

mod common;

use common::with_server;

#[test]
fn values_have_their_form_and_wrong_input_the_state_of_pgcrypto() {
    with_server(
        "",
        r#"
sql <<'END'
DO $$
DECLARE state text;
BEGIN
  ASSERT (SELECT bool_and(get_byte(uuid_send(u), 6) >> 4 = 4 AND get_byte(uuid_send(u), 8) >> 6 = 2) AND
                 count(DISTINCT u) = 100000 FROM (SELECT ws_uuid4() u FROM generate_series(1, 100000)) t);
  ASSERT (SELECT bool_and(get_byte(uuid_send(u), 6) >> 4 = 7 AND (before IS NULL OR before < u)) FROM
                 (SELECT u, lag(u) OVER (ORDER BY g) before FROM
                         (SELECT g, ws_uuid7() u FROM generate_series(1, 100000) g) t) t);
  ASSERT (SELECT bool_and(length(ws_bytes(n)) = n) FROM generate_series(1, 2000) n);
  ASSERT length(ws_bytes(100000000)) = 100000000;
  ASSERT (SELECT min(r) >= 0 AND max(r) < 1 AND count(DISTINCT r) > 99990 AND abs(avg(r) - 0.5) < 0.01 FROM
                 (SELECT ws_random() r FROM generate_series(1, 100000)) t);
  ASSERT ws_bytes(NULL) IS NULL;
  FOR n IN 1..4 LOOP
    BEGIN
      PERFORM ws_bytes((ARRAY[0, -1, -2147483648, 2147483647])[n]);
      RAISE 'no error';
    EXCEPTION WHEN external_routine_invocation_exception THEN
      state := SQLSTATE;
    END;
    ASSERT state = '39000';
  END LOOP;
END $$;
CREATE TABLE rows (id uuid PRIMARY KEY DEFAULT ws_uuid7(), secret bytea DEFAULT ws_bytes(32));
INSERT INTO rows SELECT FROM generate_series(1, 1000);
DROP TABLE rows;
DROP EXTENSION wellspring_pg;
END"#,
    );
}

#[test]
fn parallel_workers_and_sessions_repeat_nothing() {
    let script = r#"
sql <<'END'
CREATE TABLE numbers AS SELECT FROM generate_series(1, 200000);
ALTER TABLE numbers SET (parallel_workers = 4);
CREATE TABLE seen (id uuid);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
DO $$
DECLARE line text; is_parallel boolean := false;
BEGIN
  FOR line IN EXPLAIN (ANALYZE, VERBOSE) SELECT ws_uuid4(), ws_uuid7() FROM numbers LOOP
    is_parallel := is_parallel OR line ~ 'Workers Launched: [1-9]';
  END LOOP;
  ASSERT is_parallel;
  ASSERT (SELECT count(DISTINCT u) FROM (SELECT ws_uuid4() u FROM numbers UNION ALL SELECT ws_uuid7() FROM numbers) t)
         = 400000;
END $$;
END
for i in 1 2 3 4 5 6 7 8; do
    sql -c 'INSERT INTO seen SELECT ws_uuid7() FROM generate_series(1, 2000)' & all="${all:-} $!"
done
for i in $all; do wait $i; done
test "$(sql -c 'SELECT count(DISTINCT id) FROM seen')" = 16000"#;
    with_server("", script);
    // The library is loaded before the sessions are forked.
    with_server("-c shared_preload_libraries=wellspring_pg", script);
}

/// The server ends all sessions then, and starts again.
#[test]
fn a_session_that_is_killed_while_it_draws_does_no_harm() {
    with_server(
        "-c restart_after_crash=on",
        r#"
sql -c 'CREATE TABLE seen AS SELECT ws_uuid7() id FROM generate_series(1, 1000)'
for i in 1 2 3; do
    { sql -c "SET application_name = 'drawing'" -c 'SELECT count(ws_uuid4()), count(ws_bytes(100)) FROM
        generate_series(1, 2000000000)' > drawing.log 2>&1 || true; } &
    drawing="SELECT pid FROM pg_stat_activity WHERE application_name = 'drawing' AND query LIKE '%count%' AND state = 'active'"
    j=0
    until pid=$(sql -c "$drawing") && test -n "$pid"; do j=$((j+1)); test $j -lt 600; sleep 0.1; done
    kill -9 $pid
    wait $!
    j=0
    until sql -c 'INSERT INTO seen SELECT ws_uuid7() FROM generate_series(1, 1000)' > insert.log 2>&1; do
        j=$((j+1)); test $j -lt 600; sleep 0.1
    done
done
# The server may end a session that has stored its rows and has not said so: then 1000 more are stored.
test "$(sql -c 'SELECT count(*) >= 4000 AND count(DISTINCT id) = count(*) FROM seen')" = t"#,
    );
}

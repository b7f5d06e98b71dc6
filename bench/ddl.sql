-- ddl.sql: what DDL costs in a database with the extension in which nothing is live, in microseconds of
-- processor time: the lower quartile of rounds without the event triggers and with them, and the difference.
-- Usage: tools/with-server.sh psql -qXf bench/ddl.sql
SET client_min_messages = warning;
SET synchronous_commit = off;
CREATE EXTENSION IF NOT EXISTS fastclust;
CREATE TABLE times (statement text, is_enabled boolean, microseconds float8);
CREATE TABLE altered (a int);

CREATE FUNCTION processor_time() RETURNS float8 LANGUAGE sql VOLATILE AS
    $$SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1000$$;

-- The kernel counts processor time in steps of some milliseconds, hence the long rounds.
-- Alternates rounds of 1000 statements with and without the event triggers.
CREATE PROCEDURE measure(name text, one text, other text) LANGUAGE plpgsql AS $$
DECLARE
    is_enabled boolean;
    event_trigger text;
    start float8;
BEGIN
    FOR round IN 0..31 LOOP
        is_enabled := round % 2 = 0;
        FOR event_trigger IN SELECT evtname FROM pg_event_trigger WHERE evtname LIKE 'fastclust_live_%' LOOP
            EXECUTE format('ALTER EVENT TRIGGER %I %s', event_trigger,
                           CASE WHEN is_enabled THEN 'ENABLE ALWAYS' ELSE 'DISABLE' END);
        END LOOP;
        COMMIT;
        FOR i IN 1..505 LOOP
            IF i = 6 THEN                                -- the first statements fill caches
                start := processor_time();
            END IF;
            EXECUTE one;
            COMMIT;
            EXECUTE other;
            COMMIT;
        END LOOP;
        INSERT INTO times SELECT name, is_enabled, (processor_time() - start) / 1000 WHERE round > 1;
        COMMIT;
    END LOOP;
END $$;

-- A partitioned table has no file, whose making would take most of the time and vary.
CALL measure('CREATE TABLE, DROP TABLE', 'CREATE TABLE made (a int) PARTITION BY RANGE (a)', 'DROP TABLE made');
CALL measure('ALTER TABLE', 'ALTER TABLE altered ALTER a SET STATISTICS 10', 'ALTER TABLE altered ALTER a SET STATISTICS 20');
CALL measure('COMMENT', 'COMMENT ON TABLE altered IS ''a''', 'COMMENT ON TABLE altered IS ''b''');

SELECT statement, round(d::numeric, 1) AS without, round(e::numeric, 1) AS "with", round((e - d)::numeric, 1) AS difference
FROM (SELECT statement, percentile_cont(0.25) WITHIN GROUP (ORDER BY microseconds) FILTER (WHERE is_enabled) AS e,
             percentile_cont(0.25) WITHIN GROUP (ORDER BY microseconds) FILTER (WHERE NOT is_enabled) AS d
      FROM times GROUP BY statement) q ORDER BY 1;

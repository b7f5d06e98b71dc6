-- indexes made by hand on live_deltas: those that cannot find the deltas of a live sketch are not used
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_indexes;
SET search_path = of_live_indexes, public, fastclust;
CREATE TABLE visits AS SELECT i AS id, ARRAY[i % 7, i % 11]::real[] AS x FROM generate_series(1, 100) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
SELECT keep_sketch('visits', 'visits', 'x', s), keep_sketch('other', 'visits', 'x', s) FROM made;
CREATE FUNCTION folded_with(index_by_hand text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    folded bigint;
BEGIN
    EXECUTE 'CREATE INDEX by_hand ON fastclust_internal.live_deltas ' || index_by_hand;
    INSERT INTO visits VALUES (1000, '{1,1}');
    DELETE FROM visits WHERE id = 1000;
    folded := fold_sketches('visits');
    DROP INDEX fastclust_internal.by_hand;
    RETURN format('%s folded, %s left, %s differ', folded, (SELECT count(*) FROM fastclust_internal.live_deltas), (SELECT count(*) FROM check_sketch('visits')));
END
$$;
SELECT kind, folded_with(kind), fold_sketches()
  FROM unnest('{USING hash (live_id),USING brin (live_id),(live_id DESC NULLS LAST) INCLUDE (at),"(at, live_id)",(came)}'::text[]) kind;
-- without any; the deltas are searched
BEGIN;
DROP INDEX fastclust_internal.live_deltas_live_id_idx;
SELECT folded_with('USING hash (live_id)'), fold_sketches();
ROLLBACK;
-- those that trigger code cannot keep are told to whoever writes
SELECT folded_with('(live_id) WHERE at IS NULL');
SELECT folded_with('((live_id + 1))');
BEGIN;
ALTER TABLE fastclust_internal.live_deltas ADD CONSTRAINT by_hand EXCLUDE (live_id WITH =);
INSERT INTO visits VALUES (1001, '{1,1}');
ROLLBACK;
SELECT count(*) FROM check_sketch('visits');
DROP SCHEMA of_live_indexes CASCADE;

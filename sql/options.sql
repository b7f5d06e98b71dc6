-- Every option of every function that takes options changes the result, or is an error or a
-- warning; none is silently without effect.
-- Each option is tried in each way to call the function: rows, a sketch, a live model.
SET client_min_messages = error;
CREATE TABLE cases AS
SELECT i AS id, u.a, u.b, i % 2 AS g, timestamp '2026-01-01' + i * interval '1 hour' AS at,
       (ARRAY['red', 'blue', 'green', 'grey'])[1 + i % 4] AS colour,
       CASE WHEN i % 9 > 0 THEN u.c END AS c, ARRAY[u.a - 50, 3 * u.b]::real[] AS x
  FROM generate_series(1, 600) i,
       LATERAL (SELECT (i * 2654435761 % 10007) / 100.07::float8 AS a,
                       (i * 40503::bigint % 1009) / 100.9::float8 AS b,
                       (i * 69069::bigint % 503) / 100.6::float8 AS c) u;
ALTER TABLE cases ADD PRIMARY KEY (id);
CREATE TABLE later AS SELECT * FROM cases WHERE a > 20;
ANALYZE cases, later;

-- given has a value of each option, and the options that accompany it on both sides of the
-- comparison.
CREATE TABLE given (option text PRIMARY KEY, value jsonb NOT NULL, beside jsonb NOT NULL DEFAULT '{}');
INSERT INTO given VALUES
    ('k', '{"k": 4}', '{}'),
    ('method', '{"method": "compressive"}', '{}'),
    ('relation', '{"relation": "later"}', '{}'),
    ('replace', '{"replace": true}', '{}'),
    ('frozen', '{"frozen": true, "relation": "later"}', '{"relation": "later"}'),
    ('group_by', '{"group_by": "g"}', '{}'),
    ('unit', '{"unit": "id"}', '{}'),
    ('where', '{"where": "a > 30"}', '{}'),
    ('row_weight', '{"row_weight": "id"}', '{}'),
    ('since', '{"since": {"where": "a > 30"}}', '{}'),
    ('since.column', '{"since": {"column": "at", "interval": "9 days"}}', '{}'),
    ('since.interval', '{"since": {"column": "at", "interval": "9 days"}}',
     '{"since": {"column": "at", "interval": "8 days"}}'),
    ('since.partition', '{"since": {"partition": "last"}}', '{}'),
    ('since.where', '{"since": {"where": "a > 40"}}', '{}'),
    ('since.except', '{"since": {"where": "a > 30", "except": {"where": "a > 90"}}}',
     '{"since": {"where": "a > 30"}}'),
    ('standardize', '{"standardize": false}', '{"standardize": true}'),
    ('metric', '{"metric": "cosine"}', '{}'),
    ('encoder', '{"encoder": {"transform": "none"}}', '{}'),
    ('encoder.transform', '{"encoder": {"transform": "robust"}}', '{}'),
    ('encoder.weight', '{"encoder": {"weight": {"a": 3}}}', '{}'),
    ('encoder.nulls', '{"encoder": {"nulls": "skip"}}', '{}'),
    ('encoder.categories', '{"encoder": {"categories": 2}}', '{}'),
    ('encoder.period', '{"encoder": {"period": {"a": 20}}}', '{}'),
    ('encoder.cyclic', '{"encoder": {"cyclic": {"a": "day"}}}', '{}'),
    ('encoder.zone', '{"encoder": {"zone": "UTC"}}', '{}'),
    ('encoder.paths', '{"encoder": {"paths": {"a": ["p"]}}}', '{}'),
    ('trim', '{"trim": 0.1}', '{}'),
    ('iterations', '{"iterations": 4}', '{}'),
    ('tolerance', '{"tolerance": 1, "iterations": 4, "sample_rows": 100, "fresh": true}',
     '{"tolerance": 0, "iterations": 4, "sample_rows": 100, "fresh": true}'),
    ('effort', '{"effort": "thorough", "fresh": true}', '{"effort": "fast", "fresh": true}'),
    ('levels', '{"levels": [3, 4]}', '{}'),
    ('balance', '{"balance": 1.2}', '{}'),
    ('align', '{"align": false, "group_by": "g"}', '{"group_by": "g"}'),
    ('pinned', '{"pinned": [1]}', '{}'),
    ('contamination', '{"contamination": 0.2}', '{}'),
    ('probes', '{"probes": 2}', '{}'),
    ('frequencies', '{"frequencies": 90}', '{}'),
    ('kernel', '{"kernel": "rbf(0.01)"}', '{}'),
    ('landmarks', '{"landmarks": 30}', '{}'),
    ('rank', '{"rank": 5}', '{}'),
    ('factors', '{"factors": {"factors": 1}}', '{}'),
    ('min_cluster_rows', '{"min_cluster_rows": 30}', '{}'),
    ('noise', '{"noise": 2}', '{}'),
    ('scale', '{"scale": 20}', '{}'),
    ('micro_clusters', '{"micro_clusters": 50}', '{}'),
    ('live', '{"live": true}', '{"live": false}'),
    ('live.bucket', '{"live": {"bucket": "at"}}', '{"live": true}'),
    ('live.bucket_width', '{"live": {"bucket": "at", "bucket_width": "2 days"}}',
     '{"live": {"bucket": "at"}}'),
    ('live.half_life', '{"live": {"bucket": "at", "half_life": "9 days"}}',
     '{"live": {"bucket": "at"}}'),
    ('sample_rows', '{"sample_rows": 100}', '{}'),
    ('sample', '{"sample": "hash"}', '{}'),
    ('seed', '{"seed": 3}', '{}'),
    ('fresh', '{"fresh": true, "where": "a > 0.5"}', '{"where": "a > 0.5"}'),
    ('keep', '{"keep": 0}', '{}'),
    ('activate', '{"activate": false}', '{}'),
    ('nowait', '{"nowait": true}', '{}'),
    ('quiet', '{"quiet": true}', '{}'),
    ('key', '{"key": ["a", "id"]}', '{}'),
    ('name', '{"name": true}', '{}'),
    ('distance', '{"distance": true}', '{}'),
    ('append', '{"append": true}', '{}'),
    ('follow', '{"follow": true}', '{}'),
    ('bucket', '{"bucket": "at"}', '{}'),
    ('bucket_width', '{"bucket": "at", "bucket_width": "2 days"}', '{"bucket": "at"}'),
    ('half_life', '{"bucket": "at", "half_life": "9 days"}', '{"bucket": "at"}'),
    ('concurrently', '{"concurrently": true}', '{}'),
    ('since.baseline', '{"since": {"where": "a > 30", "baseline": {"where": "a < 20"}}}',
     '{"since": {"where": "a > 30"}}');
SELECT option
  FROM given g FULL JOIN (SELECT DISTINCT h.option
                            FROM unnest('{train,retrain,choose_k,write_labels,keep_sketch}'::text[]) f,
                                 option_help(f) h
                           WHERE h.option NOT LIKE 'fastclust.%') h USING (option)
 WHERE g.option IS NULL OR h.option IS NULL ORDER BY option;

-- ways has a call for each way; %1$L stands for the options.
CREATE TABLE ways (way text, function text, options jsonb, call text);
SELECT train('columns', 'cases', '{a,b,colour,c}', 30), train('pairs', 'cases', '{a,b}', 3),
       train('vectors', 'cases', 'x', 30), train('sketched', 'cases', '{a,b}', 3, 'compressive'),
       train('followed', 'cases', '{a,b}', 6, 'compressive', '{"live": true}');
CREATE TABLE sketched AS
SELECT sketch_agg(encode_row(model_encoder('sketched'), l), (SELECT model_spec('sketched'))) AS s
  FROM later l;
INSERT INTO ways VALUES
    ('train, columns', 'train', '{}',
     $$SELECT train('columns', 'cases', '{a,b,colour,c}', 30, options => %1$L)$$),
    ('train, vectors', 'train', '{}',
     $$SELECT train('vectors', 'cases', 'x', 30, options => %1$L)$$),
    ('import_model', 'train', '{}',
     $$SELECT import_model('pairs', 'cases', '{a,colour}'::name[],
                         '{{10,1,0,0,0,0},{50,0,1,0,0,0},{90,0,0,1,0,0}}'::real[], %1$L)$$),
    ('train, half-life', 'train', '{"live": {"bucket": "at", "half_life": "9 days"}}',
     $$SELECT train('pairs', 'cases', '{a,b,colour,c}', 6, 'compressive', %1$L)$$),
    ('retrain, rows', 'retrain', '{}', $$SELECT retrain('columns', %1$L)$$),
    ('retrain, sketch', 'retrain', '{}',
     $$SELECT retrain('sketched', %1$L, (SELECT s FROM sketched))$$),
    ('retrain, live', 'retrain', '{}', $$SELECT retrain('followed', %1$L)$$),
    ('choose_k, columns', 'choose_k', '{}',
     $$SELECT md5(string_agg(c::text, ';')) 
       FROM choose_k('cases', '{a,b,colour,c}'::name[], 8, %1$L) c$$),
    ('choose_k, vectors', 'choose_k', '{}',
     $$SELECT md5(string_agg(c::text, ';')) FROM choose_k('cases', 'x', 8, %1$L) c$$),
    ('choose_k, live', 'choose_k', '{"live": true}',
     $$SELECT md5(string_agg(c::text, ';')) FROM choose_k('cases', '{a,b}'::name[], 8, %1$L) c$$),
    ('write_labels', 'write_labels', '{}',
     $$SELECT write_labels('columns', 'cases', 'labels', %1$L)$$),
    ('keep_sketch', 'keep_sketch', '{}',
     $$SELECT keep_sketch('kept', 'cases', '{a,b}'::name[],
                        sketch_spec(2, 20, 5, seed => 1), options => %1$L)$$);

-- outcome() returns the error of a call, or a hash of everything that it changed, and undoes it.
CREATE FUNCTION outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    made text;
    labels text := '';
BEGIN
    EXECUTE call INTO made;
    IF to_regclass('labels') IS NOT NULL THEN
        EXECUTE 'SELECT string_agg(l::text, '';'' ORDER BY id) FROM labels l' INTO labels;
    END IF;
    made := md5(concat_ws('|', made, labels,
        (SELECT string_agg(m.model || COALESCE(m.version::text, ''), ';' ORDER BY m.model)
           FROM fastclust_internal.stored_models m),
        (SELECT string_agg((to_jsonb(v) - '{options,started_at,trained_at,model_id}'::text[])::text
                           -- options that anomaly and drift read
                           || concat(v.options -> 'contamination', v.options -> 'since' -> 'baseline'),
                           ';' ORDER BY v.model_id, v.version, v.group_value)
           FROM fastclust_internal.stored_versions v),
        (SELECT string_agg((to_jsonb(l) - '{id,model_id,made_at}'::text[])::text, ';' ORDER BY l.name)
           FROM fastclust_internal.kept_sketches l),
        (SELECT count(*) FROM fastclust_internal.label_tables)));
    RAISE SQLSTATE 'UNDO0';
EXCEPTION
    WHEN SQLSTATE 'UNDO0' THEN RETURN made;
    WHEN OTHERS THEN RETURN format('%s %s', SQLSTATE, SQLERRM);
END $$;
CREATE TABLE without AS
SELECT w.way, b.beside, outcome(format(w.call, w.options || b.beside)) AS outcome
  FROM ways w, LATERAL (SELECT DISTINCT g.beside FROM given g JOIN option_help(w.function) h USING (option)) b;
CREATE TABLE outcomes AS
SELECT w.way, g.option, format(w.call, w.options || g.value) AS call,
       CASE WHEN o.outcome ~ '^\w{5} ' THEN o.outcome
            WHEN o.outcome <> b.outcome THEN 'effect' ELSE 'none' END AS outcome
  FROM ways w, LATERAL (SELECT h.option FROM option_help(w.function) h) h JOIN given g USING (option),
       without b, LATERAL (SELECT outcome(format(w.call, w.options || g.value)) AS outcome) o
 WHERE b.way = w.way AND b.beside = g.beside;

-- Errors of each way are listed with their options; "..." stands for the option.
SELECT e.way, e.error, string_agg(e.option, ' ' ORDER BY e.option) AS options
  FROM (SELECT way COLLATE "C", option,
               replace(outcome, format('"%s"', split_part(option, '.', 1)), '"..."') COLLATE "C" AS error
          FROM outcomes WHERE outcome NOT IN ('effect', 'none')) e
 GROUP BY 1, 2 ORDER BY 1, 2;
-- Options without an effect are listed. Five have none here by their nature: nowait acts while
-- another session trains, quiet on notices, append and replace on a table that exists,
-- and sample_rows only on the encoder where columns have NULLs and k is chosen. Each of the
-- others raises a warning below.
SELECT way, string_agg(option, ' ' ORDER BY option) AS options FROM outcomes WHERE outcome = 'none'
 GROUP BY way ORDER BY way COLLATE "C";
SET client_min_messages = warning;
DO $$
DECLARE
    idle record;
BEGIN
    FOR idle IN SELECT * FROM outcomes WHERE outcome = 'none'
                   AND option NOT IN ('nowait', 'quiet', 'append', 'replace', 'sample_rows')
                 ORDER BY way COLLATE "C", option LOOP
        RAISE WARNING '% with %', idle.way, idle.option;
        PERFORM outcome(idle.call);
    END LOOP;
END $$;
RESET client_min_messages;

SELECT drop_model(m) FROM unnest('{columns,pairs,vectors,sketched,followed}'::text[]) m;
DROP FUNCTION outcome(text);
DROP TABLE cases, later, given, sketched, ways, without, outcomes;

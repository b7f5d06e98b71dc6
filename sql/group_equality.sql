-- Groups: equal values of the grouping column are one group, whatever their texts, and a group
-- is found by each value that equals it.
SET search_path = public, fastclust;
SET client_min_messages = warning;

-- Types whose equal values have several texts. The written values are two groups: the first ones
-- are equal, the last one is not. citext
-- and collations of ICU are tried where there are any.
CREATE TABLE written (name text PRIMARY KEY, type text, given text[], least text, others text[]);
INSERT INTO written VALUES
	('scaled', 'numeric', '{1.0,1.00,1,2}', '1', '{01.000,1e0}'),
	('zero', 'float8', '{0,-0,0.0,1}', '-0', '{-0.0,0e3}'),
	('single', 'float4', '{0,-0,0.0,1}', '-0', '{-0.0}'),
	('day', 'interval', '{1 day,24:00,2 days}', '1 day', '{24 hours}'),
	('list', 'numeric[]', '{"{1.0}","{1.00}","{2}"}', '{1.00}', '{"{1}"}'),
	('document', 'jsonb', '{"{\"a\": 1.0}","{\"a\": 1.00}","{\"a\": 2}"}', '{"a": 1.00}',
		'{"{\"a\":1}"}'),
	('span', 'numrange', '{"[1.0,2)","[1.00,2)","[3,4)"}', '[1.0,2)', '{"[1,2)"}'),
	('checked', 'positive', '{1.0,1.00,2}', '1.0', '{1,-1}'),
	('case', 'citext', '{b,A,a,B}', 'A', NULL),
	('folded', 'text COLLATE folded', '{a,A,b}', 'A', NULL),
	('padded', 'char(3) COLLATE folded', '{a,A,b}', 'A', NULL);
CREATE DOMAIN positive AS numeric CHECK (value > 0);
DO $$
BEGIN
	CREATE EXTENSION citext;
EXCEPTION WHEN OTHERS THEN
	DELETE FROM written WHERE name = 'case';
END
$$;
DO $$
BEGIN
	CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN OTHERS THEN
	DELETE FROM written WHERE type LIKE '%folded';
END
$$;
CREATE FUNCTION train_written() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	w written;
BEGIN
	PERFORM setseed(0.5);
	FOR w IN SELECT * FROM written ORDER BY name LOOP
		EXECUTE format('CREATE TABLE %I AS SELECT i AS id, (%L::text[])[1 + i %% %s]::%s AS g,
			random() AS a, random() AS b,
			ARRAY[random(), random()]::real[] AS x FROM generate_series(1, 600) i',
					   w.name, w.given, cardinality(w.given), w.type);
		PERFORM train(w.name, w.name::regclass, '{a,b}', 2,
			options => '{"group_by": "g", "quiet": true}'),
				train(w.name || ' vectors', w.name::regclass, 'x', 2,
					options => '{"group_by": "g", "quiet": true}');
	END LOOP;
	RETURN 1;
END
$$;
SELECT train_written();
-- Groups are those of GROUP BY, and each has the least of its texts. Rows without their group's
-- label: none.
CREATE FUNCTION wrong_groups(w written) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	shown text;
	wrong bigint;
	same boolean;
BEGIN
	EXECUTE format($q$
		SELECT array_agg(n ORDER BY n) = (SELECT array_agg(n ORDER BY n)
			FROM (SELECT count(*)::numeric AS n FROM %1$I GROUP BY g) q)
		  FROM (SELECT sum(size) AS n FROM model_clusters
		  	WHERE model = %1$L GROUP BY group_value) q $q$, w.name) INTO same;
	shown := (SELECT min(group_value COLLATE "C") FROM model_clusters WHERE model = w.name);
	EXECUTE format($q$
		SELECT count(*) FROM %1$I t
		 WHERE predict(%1$L, t) IS NULL
			OR predict(%1$L, t) IS DISTINCT FROM predict(%1$L, ARRAY[a, b], group_value => g)
			OR predict(%1$L, t) IS DISTINCT FROM predict(%1$L, ARRAY[a, b], group_value => g::text)
			OR predict(%2$L, t) IS NULL
			OR predict(%2$L, t) IS DISTINCT FROM predict(%2$L, x, group_value => g) $q$, w.name,
				w.name || ' vectors') INTO wrong;
	RETURN concat_ws(', ', CASE WHEN NOT same THEN 'other groups' END, CASE WHEN shown <> w.least
		THEN 'shown as ' || shown END,
					 CASE WHEN wrong > 0 THEN wrong || ' rows of no group' END);
END
$$;
SELECT w.name, wrong_groups(w) FROM written w WHERE wrong_groups(w) <> '';
-- Texts that were not written are found too; -1 violates the domain, and is no group.
SELECT w.name, o.text, predict(w.name, '{0.5,0.5}', group_value => o.text) IS NOT NULL AS found
	FROM written w, unnest(w.others) o(text) ORDER BY 1, 2;
-- Drift, labels with names, and the functions about one group know the same groups.
SELECT w.name FROM written w WHERE EXISTS (SELECT FROM drift(w.name, by => 'group') d
	WHERE d.verdict IN ('new group', 'gone'));
SELECT w.name FROM written w, unnest(w.given) g
 WHERE (SELECT count(*) FROM typical_rows(w.name, n => 1, group_value => g)) <> 2
 	OR (SELECT count(*) FROM score(w.name, group_value => g)) <> 3
	OR (SELECT count(*) FROM cluster_rules(w.name, group_value => g)) IS NULL OR (SELECT count(*)
		FROM profile(w.name, group_value => g)) = 0
	OR model_operator(w.name, g) IS NULL OR model_encoder(w.name, g) IS NULL OR plot(w.name,
		g) IS NULL OR report(w.name, group_value => g) IS NULL;
SELECT count(name_cluster(w.name, 0, 'the first', group_value => w.given[2])) = count(*) AS named
	FROM written w;
SELECT w.name FROM written w, model_clusters c WHERE c.model = w.name AND c.group_value = w.least
	AND c.cluster = 0 AND c.name <> 'the first';
CREATE FUNCTION names_written(w written) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	same boolean;
BEGIN
	PERFORM write_labels(w.name, w.name::regclass,
		w.name || '_labels', '{"key": "id", "name": true}');
	EXECUTE format('SELECT bool_and(l.cluster = predict(%1$L, t)
			AND l.cluster_name = predict_name(%1$L, t))
		FROM %1$I t JOIN %2$I l USING (id)',
				   w.name, w.name || '_labels') INTO same;
	RETURN same;
END
$$;
SELECT w.name FROM written w WHERE names_written(w) IS NOT TRUE;

-- A retrain finds the group of an equal value: it keeps its text and the names of its clusters,
-- although that text was deleted.
CREATE FUNCTION retrained(w written) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %I WHERE g::text COLLATE "C" = %L', w.name, w.least);
	PERFORM retrain(w.name, '{"quiet": true}');
	RETURN (SELECT string_agg(v.group_value || CASE WHEN v.label_churn IS NULL THEN ' is new'
		ELSE '' END, ', ') FROM fastclust_internal.stored_versions v
			 WHERE v.model = w.name AND v.version = 2 AND (v.label_churn IS NULL
			 	OR v.group_value NOT IN (SELECT o.group_value FROM model_versions o
			 	WHERE o.model = w.name AND o.version = 1)));
END
$$;
SELECT w.name, retrained(w) FROM written w WHERE retrained(w) IS NOT NULL;
SELECT count(*) = (SELECT count(*) FROM written) AS names_kept
	FROM written w JOIN model_clusters c ON c.model = w.name AND c.group_value = w.least
	AND c.cluster = 0 AND c.name = 'the first';

-- A value of another type than the column's is compared as = compares it, and 1.4 is not the
-- group of 1.
CREATE TABLE typed AS SELECT i % 3 AS n, (i % 3)::bigint AS wide, i % 2 = 0 AS yes,
	date '2024-01-01' + i % 2 AS on_day,
	timestamptz '2024-01-01 00:00+00' + i % 2 * interval '1 hour' AS at,
	(ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
		'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'])[1 + i % 2]::uuid AS id,
	(ARRAY['x', 'yy'])[1 + i % 2]::char(3) AS padded,
	(ARRAY['1', '2'])[1 + i % 2] AS word, (ARRAY['1', '2'])[1 + i % 2]::varchar(3) AS short,
		(i % 3 / 2.0)::numeric(5, 2) AS half, json_build_object('a', i % 2) AS doc,
	random() AS a, random() AS b FROM generate_series(1, 600) i;
SELECT count(train('by ' || c, 'typed', '{a,b}', 2, options => jsonb_build_object('group_by',
	c, 'quiet', true)))
  FROM unnest('{n,wide,yes,on_day,at,id,padded,word,short,half,doc}'::text[]) c;
CREATE FUNCTION group_found(by text,
	VARIADIC given anycompatiblearray) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN predict('by ' || by, '{0.5,0.5}', group_value => g) IS NULL
		THEN '-' ELSE '+' END, '' ORDER BY i) FROM unnest(given) WITH ORDINALITY u(g, i)
$$;
SELECT group_found('n', 0, 1, 2, 3) AS integers, group_found('n', 1.0, 1.00, 1.4,
	1e30) AS numerics, group_found('n', 1::float8, 1.4, 'NaN', 'Infinity') AS floats,
	   group_found('n', 1::bigint, 5000000000) AS bigints, group_found('n',
	   	1::smallint) AS smallints, group_found('n', '1'::text, '01', ' 1 ', '3') AS texts,
	   	group_found('wide', 1, 3) AS wide;
SELECT group_found('yes', 't'::text, 'true', 'off', 'yes') AS booleans,
	group_found('id', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::text,
		'{a0eebc99-9c0b4ef8-bb6d-6bb9bd380a12}') AS uuids,
	   group_found('padded', 'x'::text, 'x  ', 'x    ', ' x', 'abcdef') AS padded,
	   	group_found('padded', 'x'::char(5)) AS wider,
	   	group_found('short', '1'::text, '1 ', 'abcdef') AS short;
SELECT group_found('on_day', '2024-1-1'::text, '20240102', '2024-01-03') AS days,
	group_found('on_day', timestamp '2024-01-01', '2024-01-01 00:01') AS timestamps,
	   group_found('at', '2024-01-01'::text, '2024-01-01 02:00+01', '2024-01-01 00:01') AS times;
SET timezone = 'Asia/Tokyo';
SET datestyle = 'SQL, DMY';
SELECT group_found('on_day', '2024-1-1'::text, '01/02/2024', '2024-01-03') AS days,
	group_found('on_day',
	timestamptz '2024-01-01 00:00', '2024-01-01 00:00+00') AS as_equals_compares,
	   group_found('at', '2024-01-01'::text, '2024-01-01 02:00+01', '2024-01-01 00:01') AS times;
RESET timezone;
RESET datestyle;
SELECT group_found('word', 1, 2, 3) AS integers, group_found('word', 1.0, 2) AS numerics,
	group_found('half', 0, 1, 2) AS of_numeric, group_found('half', 0.5::float8, 0.7) AS floats,
	   group_found('doc', '{"a" : 1}'::text, '{"a": 1}') AS of_text;
-- A type that cannot be compared or converted, and a text that is no value of the column's type,
-- are errors that name both types.
CREATE FUNCTION refusal(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	EXECUTE command;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws(' / ', SQLSTATE, SQLERRM, substring(context FROM '^group_value[^\n]*'));
END
$$;
SELECT refusal(format('SELECT predict(%L, ARRAY[0.5, 0.5], group_value => %s)', 'by ' || c, v))
  FROM (VALUES ('n', '''abc'''), ('n', 'true'), ('n', 'date ''2024-01-01'''),
  	('n', 'point(1, 2)'), ('yes', '1'), ('on_day', '5'), ('on_day', '''31 foo'''),
  	('id', '''1'''), ('id', '1'), ('at', 'true')) v(c, v);
SELECT refusal('SELECT profile(''by n'', 1.4)'), refusal('SELECT profile(''by n'', ''abc'')'),
	refusal('SELECT name_cluster(''by n'', 0, ''x'', ''abc'')');
SELECT (SELECT count(*) FROM typical_rows('by n', 1, group_value => 1.0)) AS typical,
	(SELECT count(*) FROM score('by n', group_value => '01')) AS scores,
	predict_name('by n', '{0.5,0.5}', 1::float8) IS NOT NULL AS name,
	   (SELECT count(*) FROM predict_all('by n', ARRAY[0.5, 0.5], 9, 1.0)) AS all_clusters,
	   	anomaly('by n', ARRAY[0.5, 0.5], group_value => 1.0) IS NOT NULL AS anomaly;

-- A whole row whose group has another type than at training
CREATE VIEW other_types AS SELECT a, b, n::numeric(5, 2) AS n, wide::real AS wide,
	on_day::timestamp AS on_day, yes::text AS yes, id::text AS id, half::float8 AS half,
	word::integer AS word, padded::text || ' ' AS padded FROM typed;
SELECT count(*) FILTER (WHERE predict('by n', o) IS NULL) AS n,
	count(*) FILTER (WHERE predict('by wide', o) IS NULL) AS wide,
	count(*) FILTER (WHERE predict('by on_day', o) IS NULL) AS on_day,
	   count(*) FILTER (WHERE predict('by yes', o) IS NULL) AS yes,
	   	count(*) FILTER (WHERE predict('by id', o) IS NULL) AS id,
	   	count(*) FILTER (WHERE predict('by half', o) IS NULL) AS half,
	   count(*) FILTER (WHERE predict('by word', o) IS NULL) AS word,
	   	count(*) FILTER (WHERE predict('by padded', o) IS NULL) AS padded FROM other_types o;
SELECT c, (SELECT string_agg(DISTINCT d.verdict, ', ') FROM drift('by ' || c, 'other_types',
	by => 'group') d) AS verdicts, (SELECT count(*) FROM typical_rows('by ' || c,
	1, 'other_types', g)) AS typical
  FROM (VALUES ('n', '1'), ('on_day', '2024-01-01'), ('half', '0.50')) v(c, g);
-- Rows change from call to call, and so do types.
SELECT string_agg(DISTINCT state, ', ') FROM (
	SELECT CASE WHEN predict('by n', t) = predict('by n', ARRAY[t.a, t.b], t.n)
		AND predict('by n', t) = predict('by n', ARRAY[t.a, t.b], t.n::numeric)
		AND predict('by n', t) = predict('by n', ARRAY[t.a, t.b], t.n::text) THEN 'same'
		ELSE 'other' END AS state FROM typed t) q;

-- Live sketches store groups as texts, and merge those of equal values where they are read.
-- Groups by a collation of ICU are those of words where there is none.
CREATE FUNCTION folded_text() RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'folded')
		THEN 'text COLLATE folded' ELSE 'text' END
$$;
DO $$
BEGIN
	EXECUTE format('CREATE TABLE followed (id integer PRIMARY KEY, g numeric, w %s, k integer,
		a float8, b float8)', folded_text());
END
$$;
INSERT INTO followed SELECT i, (ARRAY['1.0', '1.00', '2'])[1 + i % 3]::numeric,
	(ARRAY['A', CASE WHEN folded_text() = 'text' THEN 'A' ELSE 'a' END, 'b'])[1 + i % 3], i % 3,
	i % 5 + i % 7 / 10.0, i % 11 FROM generate_series(1, 900) i;
SELECT count(keep_sketch('by ' || c, 'followed', ARRAY['a', 'b'], sketch_spec(2, 100, 1.0),
	jsonb_build_object('group_by', c))) FROM unnest('{g,w,k}'::text[]) c;
UPDATE followed SET g = 1.000 WHERE id % 9 = 1;
INSERT INTO followed VALUES (1000, 2.0, 'b', 2, 1, 1);
CREATE FUNCTION shown_groups(name text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(group_value || ' ' || row_count(s), ', ' ORDER BY group_value COLLATE "C")
	  FROM current_sketches(name)
$$;
SELECT shown_groups('by g') AS g, shown_groups('by w') AS w, shown_groups('by k') AS k;
SELECT row_count(current_sketch('by g', '1')) AS one,
	row_count(current_sketch('by g', '2.000')) AS two,
	row_count(current_sketch('by w', 'b')) AS b, row_count(current_sketch('by k', '02')) AS k,
	current_sketch('by k', '9') IS NULL AS none,
	fastclust_internal.same_rows(current_sketch('by g', '1'),
		(SELECT sketch_agg(ARRAY[a, b], sketch_spec(2, 100, 1.0))
		   FROM followed WHERE g = 1)) AS same;
SELECT refusal('SELECT current_sketch(''by k'', ''abc'')');
SELECT count(*) AS differences FROM unnest('{1,2,3.0}'::text[]) v, check_sketch('by g', v);
SELECT count(fold_sketches('by g')) AS folded;
SELECT shown_groups('by g') AS g;
SELECT count(train('live by ' || c, 'followed', ARRAY['a', 'b'], 2,
	options => jsonb_build_object('group_by', c, 'live', true, 'quiet', true)))
  FROM unnest('{g,w,k}'::text[]) c;
SELECT name_cluster('live by g', 0, 'zero', '1');
DELETE FROM followed WHERE g::text = '1.0' OR id % 3 = 0;
SELECT c, string_agg(d.value || ' ' || d.n, ', ' ORDER BY d.value COLLATE "C") AS compared
  FROM unnest('{g,w,k}'::text[]) c, drift('live by ' || c, by => 'group') d GROUP BY 1 ORDER BY 1;
SELECT count(retrain('live by ' || c)) FROM unnest('{g,w,k}'::text[]) c;
SELECT v.model, string_agg(v.group_value || ' ' || v.n, ', ' ORDER BY v.group_value COLLATE "C")
  FROM model_versions v WHERE v.model LIKE 'live by %' AND v.version = 2 GROUP BY 1 ORDER BY 1;
SELECT name FROM model_clusters WHERE model = 'live by g' AND group_value = '1.0' AND cluster = 0;
SELECT count(*) - count(predict('live by g', f)) AS without_label FROM followed f;

-- Composite types, types that users made, and types whose texts depend on catalogs are compared as
-- texts. NULLs in a composite value do not leave out its row.
CREATE TYPE light AS ENUM ('red', 'amber', 'green');
CREATE TYPE pair AS (n numeric, t text);
CREATE TYPE numbers AS RANGE (subtype = numeric);
CREATE TABLE of_reds ();
CREATE TABLE of_blues ();
CREATE TABLE by_texts AS SELECT i AS id,
	(ARRAY['(,)', '(1,)', '(1.0,)'])[1 + i % 3]::pair AS records,
	(ARRAY['[1,2)', '[1.0,2)', 'empty'])[1 + i % 3]::numbers AS ranges,
	(ARRAY['of_reds', 'of_blues'])[1 + i % 2]::regclass AS tables,
	(ARRAY['{red}', '{red,amber}'])[1 + i % 2]::light[] AS lights,
	(ARRAY['red', 'green'])[1 + i % 2]::light AS light, (ARRAY['1', '2'])[1 + i % 2]::xid AS xids,
	(ARRAY[1, 2.5])[1 + i % 2]::money AS prices, ARRAY[1, NULL, i % 2]::numeric[] AS parts,
	random() AS a, random() AS b FROM generate_series(1, 600) i;
SELECT count(train(c, 'by_texts', '{a,b}', 2,
	options => jsonb_build_object('group_by', c, 'quiet', true)))
  FROM unnest('{records,ranges,tables,lights,light,xids,prices,parts}'::text[]) c;
SELECT model, string_agg(group_value || ' ' || n, ' ' ORDER BY group_value COLLATE "C") AS groups
  FROM model_versions GROUP BY 1 HAVING model IN ('records', 'ranges', 'tables', 'lights', 'light',
	'xids', 'prices', 'parts') ORDER BY 1;
CREATE FUNCTION without_label(model text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	missing bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM by_texts t WHERE predict(%1$L, t) IS NULL
		OR predict(%1$L, t) IS DISTINCT FROM predict(%1$L, ARRAY[a, b], group_value => %1$I)',
				   model) INTO missing;
	RETURN missing;
END
$$;
SELECT c, without_label(c)
  FROM unnest('{records,ranges,tables,lights,light,xids,prices,parts}'::text[]) c
 WHERE without_label(c) > 0;
SET array_nulls = off;
SELECT without_label('parts') AS parts;
RESET array_nulls;
SELECT predict('records', '{0.5,0.5}', group_value => ROW(1.0, NULL)) IS NOT NULL AS as_row,
	predict('records', '{0.5,0.5}', group_value => ROW(1.0, 'a')) IS NULL AS other_row,
	predict('records', '{0.5,0.5}', group_value => '(1.00,)') IS NULL AS other_text;
SELECT refusal('SELECT fastclust_internal.group_place(ARRAY[''{}''], ''{}''::json)');

-- A group that no longer exists is that group alone.
ALTER TABLE of_blues RENAME TO of_greens;
ALTER TYPE light RENAME VALUE 'green' TO 'lime';
ALTER TYPE light RENAME VALUE 'amber' TO 'yellow';
ALTER TYPE pair RENAME TO couple;
ALTER TYPE couple ADD ATTRIBUTE more integer CASCADE;
SELECT c, without_label(c) FROM unnest('{records,tables,lights,light}'::text[]) c;
SELECT predict('light', '{0.5,0.5}', group_value => 'red') IS NOT NULL AS red,
	predict('light', '{0.5,0.5}', group_value => 'green') IS NOT NULL AS green,
	predict('light', '{0.5,0.5}', group_value => 'lime') IS NULL AS lime;
SELECT refusal('SELECT predict(''light'', ''{0.5,0.5}'', group_value => ''blue'')');
SELECT count(retrain(c, '{"quiet": true, "relation": "by_texts"}'))
  FROM unnest('{records,tables,lights,light}'::text[]) c;
SELECT c, without_label(c) FROM unnest('{records,tables,lights,light}'::text[]) c
 WHERE without_label(c) > 0;

-- The text of an enum that has a cast function is made by it.
CREATE FUNCTION light_text(light) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE $1 WHEN 'red' THEN 'Stop' ELSE 'Go' END
$$;
CREATE CAST (light AS text) WITH FUNCTION light_text(light);
SELECT train('light', 'by_texts', '{a,b}', 2, options => '{"group_by": "light", "quiet": true}');
SELECT predict('light', '{0.5,0.5}', group_value => 'Stop') IS NOT NULL AS text,
	predict('light', '{0.5,0.5}', group_value => 'red'::light) IS NOT NULL AS label,
	predict('light', '{0.5,0.5}', group_value => 'red') IS NULL AS text_of_label;
SELECT without_label('light') AS light;

-- Labels with names, where the collation of the column changed, and with a key of any name.
CREATE TABLE recollated AS SELECT i AS of_group, (ARRAY['a', 'A', 'b'])[1 + i % 3] AS g,
	random() AS a, random() AS b FROM generate_series(1, 300) i;
SELECT train('g', 'recollated', '{a,b}', 2, options => '{"group_by": "g", "quiet": true}');
DO $$
BEGIN
	EXECUTE format('ALTER TABLE recollated ALTER g TYPE %s', folded_text());
END
$$;
SELECT write_labels('g', 'recollated', 'recollated_labels', '{"key": "of_group", "name": true}');
SELECT count(DISTINCT of_group) = count(*) AS once,
	bool_and(cluster_name = predict_name('g', t)) AS names
  FROM recollated t JOIN recollated_labels l USING (of_group);
SELECT string_agg(value || ' ' || n, ' ' ORDER BY value COLLATE "C") AS compared
  FROM drift('g', by => 'group');

-- The text of a group has a maximum length.
CREATE TABLE long_texts AS SELECT left(t.long, 2600) || (i % 2) AS g,
	left(t.long, 2599) || (i % 2) AS short, random() AS a, random() AS b
	FROM generate_series(1, 90) i,
	(SELECT string_agg(md5(j::text), '' ORDER BY j) FROM generate_series(1, 90) j) t(long);
SELECT train('short', 'long_texts', '{a,b}', 2, options => '{"group_by": "short", "quiet": true}'),
	name_cluster('short', 0, 'the first', (SELECT min(short) FROM long_texts));
SELECT train('long', 'long_texts', '{a,b}', 2, options => '{"group_by": "g", "quiet": true}');

-- Checks of a domain and casts that belong to another role do not run for the reader of a model.
-- Groups of a type whose equality belongs to another role are texts.
CREATE ROLE group_owner;
CREATE ROLE group_reader;
CREATE SCHEMA of_owner AUTHORIZATION group_owner;
GRANT USAGE ON SCHEMA of_owner TO PUBLIC;
SET ROLE group_owner;
CREATE FUNCTION of_owner.tell(value numeric) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'the check of % ran as %', value, current_user;
	RETURN true;
END
$$;
CREATE DOMAIN of_owner.watched AS numeric CHECK (of_owner.tell(value));
CREATE TYPE of_owner.pair AS (n of_owner.watched);
SET client_min_messages = error;
CREATE TABLE of_owner.rows AS SELECT (i % 2)::of_owner.watched AS d,
	ROW(i % 2)::of_owner.pair AS p, random() AS a, random() AS b FROM generate_series(1, 200) i;
SELECT train('watched', 'of_owner.rows', '{a,b}', 2,
	options => '{"group_by": "d", "quiet": true}'), train('pairs', 'of_owner.rows', '{a,b}', 2,
	options => '{"group_by": "p", "quiet": true}'),
	   grant_model('watched', 'group_reader'), grant_model('pairs', 'group_reader');
RESET ROLE;
SET ROLE group_reader;
SET client_min_messages = warning;
SELECT predict('watched', '{0.5,0.5}', group_value => '1.0') IS NOT NULL AS domain,
	predict('pairs', '{0.5,0.5}', group_value => '(1)') IS NOT NULL AS text_of_pair,
	predict('pairs', '{0.5,0.5}', group_value => '(1.0)') IS NULL AS other_text;
RESET ROLE;
RESET client_min_messages;
SELECT count(drop_model(model)) > 0 AS dropped FROM models;
SELECT count(drop_sketch(name)) > 0 AS dropped FROM live_sketches;
SET client_min_messages = error;
DROP SCHEMA of_owner CASCADE;
DROP ROLE group_owner, group_reader;
DO $$
DECLARE
	w written;
BEGIN
	FOR w IN SELECT * FROM written LOOP
		EXECUTE format('DROP TABLE %I, %I', w.name, w.name || '_labels');
	END LOOP;
END
$$;
DROP FUNCTION train_written(), wrong_groups(written), names_written(written),
	retrained(written), group_found, refusal,
	folded_text, shown_groups, without_label;
DROP TABLE by_texts, recollated, recollated_labels, long_texts, of_reds, of_greens;
DROP TYPE light, couple, numbers CASCADE;
DROP VIEW other_types;
DROP TABLE typed, written, followed;
DROP DOMAIN positive;
DROP COLLATION IF EXISTS folded;
DROP EXTENSION IF EXISTS citext;

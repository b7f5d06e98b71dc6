-- Rows of one unit, such as a customer, are not independent. With option unit, drift compares
-- units.
SET client_min_messages = warning;
CREATE SCHEMA of_units;
SET search_path = of_units, public, fastclust;
-- A uniform number that depends on the row and a seed, so that every run is the same.
CREATE FUNCTION uniform(i int, seed int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, seed) & 1048575) / 1048576.0';
CREATE FUNCTION normal(i int, seed int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT sqrt(-2 * ln(uniform(i, seed) + 1e-7)) * cos(2 * pi() * uniform(i, seed + 1))';
-- Customers with 20 rows each. The rows of a customer have a level of their own; `shift` is added
-- to the levels, whose deviation is 1.
CREATE FUNCTION customers(seed int, shift float8 DEFAULT 0, units int DEFAULT 400)
    RETURNS TABLE (customer int, spent float8, age float8, kind text, home float8)
    LANGUAGE sql AS $$
    SELECT u + 1000 * seed, shift + normal(u, seed) + normal(20 * u + i, seed + 2),
           normal(u, seed + 4) + 0.5 * normal(20 * u + i, seed + 6),
           (ARRAY['red', 'green', 'blue'])[1 + floor(3 * uniform(u, seed + 8))::int],
           CASE WHEN uniform(u, seed + 10) > 0.1 THEN normal(20 * u + i, seed + 12) END
      FROM generate_series(1, units) u, generate_series(1, 20) i
$$;
CREATE TABLE trained AS SELECT * FROM customers(100);
SELECT train('rows', 'trained', '{spent,age,kind,home}', 3, options => '{"quiet": true}'),
       train('units', 'trained', '{spent,age,kind,home}', 3,
       options => '{"quiet": true, "unit": "customer"}');

-- Other customers of the same law: as rows they always drift; as units p < .05 in at most 3 of 20.
CREATE TABLE others (LIKE trained);
CREATE FUNCTION p_of(model text, seed int, shift float8 DEFAULT 0) RETURNS float8
    LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE others;
    INSERT INTO others SELECT * FROM customers(seed, shift);
    RETURN (drift(model, 'others')).p_value;
END
$$;
SELECT bool_and(p_of('rows', 1000 + 20 * i) < 1e-4) AS rows_drift,
       count(*) FILTER (WHERE p_of('units', 1000 + 20 * i) < 0.05) <= 3 AS units_do_not
  FROM generate_series(1, 20) i;

-- A shift of half a deviation of the levels is found, and its column named first. A row's deviation
-- is sqrt(2), so the effect is about 0.35.
SELECT p_of('units', 2000, 0.5) < 0.01 AS found;
SELECT verdict, abs(effect - 0.35) < 0.15 AS effect, columns -> 0 ->> 'name' AS column, units
  FROM drift('units', 'others');

-- Customers of the training among the new rows make p larger, never smaller.
SELECT p_value > 0.9 AS conservative FROM drift('units', 'trained');

-- Rows that are units of their own have the p-value of independent rows.
ALTER TABLE trained ADD id int GENERATED ALWAYS AS IDENTITY;
ALTER TABLE others ADD id int GENERATED ALWAYS AS IDENTITY;
SELECT train('single', 'trained', '{spent,age,kind,home}', 3,
       options => '{"quiet": true, "unit": "id"}'),
       train('rows', 'trained', '{spent,age,kind,home}', 3, options => '{"quiet": true}');
SELECT a.verdict = b.verdict AS verdict, a.effect = b.effect AS effect,
       a.p_value = b.p_value AS p, a.units
  FROM drift('single', 'others') a, drift('rows', 'others') b;

-- The same result with and without workers, and for the rows in another order.
CREATE TABLE turned AS SELECT customer, spent, age, kind, home
  FROM others ORDER BY md5(spent::text);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT a = b AS same FROM drift('units', 'turned') a, drift('units', 'others') b;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- Too few units are no evidence, however many rows they have.
CREATE TABLE few AS SELECT * FROM customers(3000, 3, 12);
SELECT verdict, p_value, effect, n, units, columns FROM drift('units', 'few');
SELECT retrain_if_drifted('units', options => '{"relation": "few"}');
-- Nor is one unit that has most rows.
INSERT INTO few SELECT c.customer + 100 * i, spent, age, kind, home FROM customers(3100, 0, 12) c,
       generate_series(1, 4) i;
INSERT INTO few SELECT 1, spent, age, kind, home FROM customers(3200);
SELECT verdict, units FROM drift('units', 'few');

-- A row without a unit is a unit (here 80 rows, all of four customers); equal values are one unit,
-- whatever their text.
CREATE TABLE numbered AS
SELECT CASE WHEN id % 100 = 0 THEN NULL
            WHEN id % 2 = 0 THEN customer::numeric ELSE customer + 0.00 END AS customer,
       spent, age, kind, home
  FROM trained;
SELECT units FROM drift('units', 'numbered');

-- Groups, and values of a column.
ALTER TABLE trained ADD shop numeric;
UPDATE trained SET shop = CASE WHEN customer % 2 = 0 THEN 1.0 ELSE 2 END;
SELECT train('shops', 'trained', '{spent,age}', 3, options => '{"quiet": true, "unit": "customer",
       "group_by": "shop"}');
SELECT value, verdict, units FROM drift('shops', by => 'group');
SELECT value, n, units FROM drift('units', by => 'shop');
SELECT verdict FROM drift('units', since => '{"where": "customer % 3 = 0",
       "baseline": {"where": "true"}}');

-- 24 customers with places of their own are no clusters of customers: clusters that one half of the
-- customers shows are not in the other half. Clusters of 200 customers are.
CREATE TABLE places AS
SELECT u AS customer, 10 * uniform(u, 1) + 0.15 * normal(100 * u + i, 3) AS a,
       10 * uniform(u, 2) + 0.15 * normal(100 * u + i, 5) AS b
  FROM generate_series(1, 24) u, generate_series(1, 100) i;
CREATE TABLE kinds AS
SELECT u AS customer, 6 * (u % 4) + 0.7 * normal(u, 1) + 0.5 * normal(100 * u + i, 3) AS a,
       6 * (u % 2) + 0.7 * normal(u, 11) + 0.5 * normal(100 * u + i, 5) AS b
  FROM generate_series(1, 200) u, generate_series(1, 30) i;
SELECT t.unit, c.k > 15 AS k_above_15, c.verdict, c.stability > 0.8 AS stable
  FROM (VALUES ('{}'), ('{"unit": "customer"}')) t(unit),
       choose_k('places', '{a,b}', 40, t.unit::jsonb) c
 WHERE c.verdict <> '';
SELECT k, verdict FROM choose_k('kinds', '{a,b}', 12, '{"unit": "customer"}') WHERE verdict <> '';
SELECT train('places', 'places', '{a,b}', 20, options => '{"quiet": true}'),
       train('kinds', 'kinds', '{a,b}', NULL, options => '{"quiet": true, "unit": "customer"}');
SELECT max(fidelity) > 0.95 AS of_the_same_customers FROM cluster_rules('places');
SELECT retrain('places', '{"quiet": true, "unit": "customer"}');
SELECT max(fidelity) < 0.5 AS of_other_customers FROM cluster_rules('places');
SELECT cluster, rule, fidelity > 0.95 AS fidelity FROM cluster_rules('kinds');
-- With few rows, or few units, rows are divided as without units.
SELECT train('places', 'places', '{a,b}', 2, options => '{"quiet": true, "unit": "customer",
       "where": "customer <= 2"}');
SELECT count(*) FROM cluster_rules('places');

-- A version keeps its units; counts with units survive as text, and sums of counts forget them.
SELECT retrain('units', '{"quiet": true}');
SELECT units FROM drift('units', 'others');
SELECT retrain('units', '{"quiet": true, "unit": null}');
SELECT units FROM drift('units', 'others');
SELECT drift_counts::text::fastclust_internal.drift_counts::text = drift_counts::text AS same,
       fastclust_internal.unit_count(drift_counts),
       fastclust_internal.unit_count(fastclust_internal.changed_drift_counts(drift_counts,
       drift_counts, NULL)) AS of_sum
  FROM fastclust_internal.readable_versions WHERE model = 'single';
SELECT check_drift('single');

-- Weights: drift compares weighted shares. Surveys of the same law with random weights, the largest
-- 40 times as large as the usual one, have p < .01 in at most 1 of 20.
CREATE FUNCTION survey(seed int, rows int DEFAULT 2000)
    RETURNS TABLE (id int, age float8, score float8, weight float8) LANGUAGE sql AS $$
    SELECT i, normal(i, seed), CASE WHEN uniform(i, seed + 2) > 0.1 THEN normal(i, seed + 3) END,
           exp(normal(i, seed + 5))
      FROM generate_series(1, rows) i
$$;
CREATE TABLE surveyed AS SELECT * FROM survey(5000, 4000);
CREATE TABLE answers (LIKE surveyed);
SELECT train('survey', 'surveyed', '{age,score}', 3,
       options => '{"quiet": true, "row_weight": "weight"}');
CREATE FUNCTION p_of_survey(seed int) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE answers;
    INSERT INTO answers SELECT * FROM survey(seed);
    RETURN (drift('survey', 'answers')).p_value;
END
$$;
SELECT count(*) FILTER (WHERE p_of_survey(5000 + 20 * i) < 0.01) <= 1 AS weights_do_not_drift
  FROM generate_series(1, 20) i;
-- The same rows with other weights drift, because other rows count most; scaled weights are the
-- same.
CREATE TABLE heavier AS SELECT id, age, score,
       CASE WHEN age > 0 THEN 2 ELSE 1 END * weight AS weight FROM answers;
CREATE TABLE scaled AS SELECT id, age, score, 1e-5 * weight AS weight FROM answers;
SELECT verdict, effect > 0.2 AS effect, columns -> 0 ->> 'name' AS name, units
  FROM drift('survey', 'heavier');
SELECT abs(a.p_value - b.p_value) < 0.01 AS p FROM drift('survey', 'scaled') a, drift('survey',
       'answers') b;
-- Equal weights are no weights.
ALTER TABLE surveyed ADD one int DEFAULT 1, ADD seven float8 DEFAULT 7.3;
ALTER TABLE answers ADD one int DEFAULT 1, ADD seven float8 DEFAULT 7.3;
UPDATE answers SET age = age + 0.07;
SELECT train('ones', 'surveyed', '{age,score}', 3,
       options => '{"quiet": true, "row_weight": "one"}'),
       train('sevens', 'surveyed', '{age,score}', 3,
       options => '{"quiet": true, "row_weight": "seven"}'),
       train('none', 'surveyed', '{age,score}', 3, options => '{"quiet": true}');
SELECT abs(ln(a.p_value / b.p_value)) < 1e-6 AS p,
       abs(ln(a.p_value / c.p_value)) < 1e-6 AS without, a.units
  FROM drift('ones', 'answers') a, drift('sevens', 'answers') b, drift('none', 'answers') c;
-- A row that has half of all weight is no evidence, however many other rows there are.
UPDATE heavier SET weight = 10000 WHERE id = 7;
SELECT verdict, p_value, n FROM drift('survey', 'heavier');
-- Weights and units: each answer twice, under the same number.
INSERT INTO surveyed SELECT * FROM surveyed;
UPDATE answers SET age = age - 0.07;
INSERT INTO answers SELECT * FROM answers;
SELECT train('both', 'surveyed', '{age,score}', 3,
       options => '{"quiet": true, "row_weight": "weight", "unit": "id"}');
SELECT verdict, p_value > 0.01 AS chance, n, units FROM drift('both', 'answers');
UPDATE answers SET weight = NULL WHERE id = 7;
SELECT drift('both', 'answers');

-- A table without rows has too few.
CREATE TABLE emptied AS SELECT * FROM surveyed;
SELECT train(m, 'emptied', '{age,score}', 3, options => o || '{"quiet": true}')
  FROM (VALUES ('e rows', '{}'::jsonb), ('e weights', '{"row_weight": "weight"}'),
               ('e units', '{"unit": "id"}')) v (m, o);
TRUNCATE emptied;
SELECT m, d.verdict, d.n, d.units, c.verdict AS checked, retrain_if_drifted(m)
  FROM unnest('{e rows,e weights,e units}'::text[]) m, drift(m) d, check_drift(m) c;
SELECT count(*) FROM drift('e units', by => 'id');

-- Errors.

SELECT train('wrong', 'trained', '{spent,age}', 3, options => '{"unit": "client"}');
ALTER TABLE trained ADD doc json;
SELECT train('wrong', 'trained', '{spent,age}', 3, options => '{"unit": "doc"}');
SELECT train('wrong', 'trained', '{spent,age}', 3, 'compressive', '{"unit": "customer",
       "live": true}');
SELECT drift('single', sketch => (SELECT sketch_agg(ARRAY[1, 2, 3, 4, 5, 6, 7],
       model_spec('single'))));
SELECT fastclust_internal.unit_part(point '(1,2)', 1);
ALTER TABLE others DROP id;
SELECT drift('single', 'others');
SELECT count(drop_model(model))
  FROM unnest('{rows,units,single,shops,places,kinds,survey,ones,sevens,none,both,e rows,e weights,
       e units}'::text[]) model;

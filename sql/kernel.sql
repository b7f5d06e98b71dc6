-- Kernel methods separate clusters that no straight line does: a projection of the kernel matrix
-- in one pass, k-means on it, and features that label new rows.
-- A projection depends on the rows and the seed alone; approximations are as good as published;
-- every mistake is an error of its own.
\set SHOW_CONTEXT never

-- A disk of radius 0.2 within a ring of radius 1, from low-discrepancy sequences.
CREATE TABLE rings AS SELECT i AS id, i % 2 AS label, ARRAY[r * cos(a), r * sin(a)]::float8[] AS x
FROM (SELECT i, 2 * pi() * (i * 0.6180339887 - floor(i * 0.6180339887)) AS a,
             CASE WHEN i % 2 = 0 THEN 0.2 * sqrt((i * 0.7548776662) - floor(i * 0.7548776662))
                  ELSE 0.9 + 0.2 * (i * 0.5698402910 - floor(i * 0.5698402910)) END AS r FROM generate_series(1, 1000) i) t;

-- A kernel prints as it is written and is read back as the same value. Kernels are equal if their
-- parameters are.
SELECT rbf_kernel(0.5), polynomial_kernel(), polynomial_kernel(3, 1, 0.1), linear_kernel(), cosine_kernel();
SELECT k, k::text::kernel = k AS same_from_text
  FROM unnest(ARRAY[rbf_kernel(1e-7), polynomial_kernel(5, 1.0 / 3), 'cosine()',
           ' linear ( ) ']) k;
SELECT 'polynomial(3)'::kernel, 'polynomial( 2 , 0 , 1 )' = polynomial_kernel() AS equal_to_default,
       rbf_kernel(1) = rbf_kernel(2) AS equal_with_other_width;
SELECT k FROM (VALUES (rbf_kernel(2)), (rbf_kernel(1)), (linear_kernel()), (polynomial_kernel(3)), (polynomial_kernel(2, 1)), (rbf_kernel(2))) v (k) GROUP BY k ORDER BY k::text;
SELECT count(DISTINCT k::text) AS different,
       count(*) AS groups
  FROM (SELECT k FROM unnest(ARRAY[rbf_kernel(1), rbf_kernel(1), linear_kernel()]) k
               GROUP BY k) t;

-- The one-pass projection is as good as the exact decomposition: the same relative error to
-- 0.001, about 0.40 as published, and the same eigenvalues to 0.1 %.
CREATE TABLE made AS SELECT kernel_projection_agg(id, x, polynomial_kernel(2), 2) AS p,
       kernel_projection_agg(id, x, polynomial_kernel(2), 2, '{"method": "exact"}') AS exact,
       kernel_projection_agg(id, x, polynomial_kernel(2), 2, '{"method": "nystroem", "columns": 20}') AS nystroem,
       kernel_projection_agg(id, x, polynomial_kernel(2), 2, '{"method": "pivoted_cholesky", "columns": 20}') AS cholesky FROM rings;
SELECT describe(p) - '{workspace_bytes,relative_error,error_deviation,eigenvalues}'::text[] AS p, describe(exact) - '{workspace_bytes,relative_error,error_deviation,eigenvalues}'::text[] AS exact FROM made;
SELECT abs((describe(p) ->> 'relative_error')::float8 - (describe(exact) ->> 'relative_error')::float8) < 0.001 AS within_0_001_of_exact,
       round((describe(exact) ->> 'relative_error')::numeric, 2) AS exact_error,
       (describe(exact) ->> 'relative_error')::float8 BETWEEN 0.38 AND 0.42 AS from_0_38_to_0_42,
       describe(nystroem) ->> 'relative_error' AS nystroem_error FROM made;
SELECT kernel_projection_send(p) = kernel_projection_send(again) AS same_bytes_when_repeated
FROM made, (SELECT kernel_projection_agg(id, x, polynomial_kernel(2), 2) AS again FROM rings) a;
SELECT count(*) AS eigenvalues, bool_and(abs(a::float8 - b::float8) < 1e-3 * a::float8)
       AS within_0_1_percent_of_exact
FROM made, jsonb_array_elements_text(describe(p) -> 'eigenvalues') WITH ORDINALITY x(a, i) JOIN jsonb_array_elements_text(describe(exact) -> 'eigenvalues') WITH ORDINALITY y(b, i) USING (i);
-- Inner products of coordinates approximate the kernel values with that relative error.
SELECT sqrt(sum(((a.y[1] * b.y[1] + a.y[2] * b.y[2]) - k) ^ 2) / sum(k ^ 2)) BETWEEN 0.3 AND 0.45
       AS error_from_0_3_to_0_45
FROM made, embedding_of(p) a JOIN rings ra ON ra.id = a.id, embedding_of(p) b JOIN rings rb ON rb.id = b.id,
     LATERAL (SELECT (ra.x[1] * rb.x[1] + ra.x[2] * rb.x[2]) ^ 2) v (k) WHERE a.id % 10 < 2 AND b.id % 10 < 2;
-- The error is exact for up to 4096 rows. Beyond, it is estimated, and within four deviations of
-- the error of the coordinates.
SELECT abs((describe(p) ->> 'relative_error')::float8 - error) < 1e-5 AS within_1e_5,
       (describe(p) ->> 'error_deviation')::float8 < 1e-6 AS deviation_below_1e_6
FROM made, LATERAL (SELECT sqrt(sum(((a.y[1] * b.y[1] + a.y[2] * b.y[2]) - k) ^ 2) / sum(k ^ 2)) AS error
  FROM embedding_of(p) a JOIN rings ra ON ra.id = a.id, embedding_of(p) b JOIN rings rb ON rb.id = b.id,
       LATERAL (SELECT (ra.x[1] * rb.x[1] + ra.x[2] * rb.x[2]) ^ 2) v (k)) e;
-- Equal groups of rows: the coordinates of one of each have the same error.
CREATE TABLE repeated AS SELECT 60 * i + j AS id, ARRAY[cos(j), sin(j), j / 10.0] AS x
FROM generate_series(0, 69) i, generate_series(0, 59) j;
CREATE TABLE estimated AS SELECT kernel_projection_agg(id, x, rbf_kernel(1), 2) AS p FROM repeated;
SELECT abs(estimate - error) <= 4 * deviation AS within_four_deviations,
       deviation BETWEEN 1e-6 AND 0.01 AS deviation_below_0_01
FROM (SELECT (describe(p) ->> 'relative_error')::float8 AS estimate, (describe(p) ->> 'error_deviation')::float8 AS deviation FROM estimated) d,
     LATERAL (WITH few AS (SELECT x, y FROM estimated, embedding_of(p) JOIN repeated USING (id) WHERE id < 60)
       SELECT sqrt(sum((a.y[1] * b.y[1] + a.y[2] * b.y[2] - k) ^ 2) / sum(k ^ 2)) AS error
         FROM few a, few b, LATERAL (SELECT exp(-1 * l2_distance(a.x, b.x) ^ 2)) v (k)) e;
DROP TABLE repeated, estimated;
-- As published, all random vectors count towards r': there are no probes.
SELECT describe(q.p) -> 'columns' AS columns, describe(q.p) -> 'probes' AS probes,
       abs((describe(q.p) ->> 'relative_error')::float8 - (describe(exact) ->> 'relative_error')::float8) < 0.001 AS within_0_001_of_exact
FROM made, (SELECT kernel_projection_agg(id, x, polynomial_kernel(2), 2, '{"published": true}') FROM rings) q (p);
SELECT abs(adjusted_rand_agg(cluster, label) - 1) < 0.02 AS rand_within_0_02_of_1
FROM kernel_kmeans('rings', 'id', 'x', polynomial_kernel(2), 2, '{"published": true, "seed": 1}') JOIN rings USING (id);

-- A kernel matrix that arrives row by row has the coordinates of the rows it was made of.
CREATE TABLE half AS SELECT id, ARRAY[x[1], x[2] / 2] AS x FROM rings WHERE id <= 500;
CREATE TABLE matrix AS SELECT a.id, array_agg(exp(-2 * l2_distance(a.x, b.x) ^ 2) ORDER BY b.id) AS kernel_row
  FROM half a, half b GROUP BY a.id;
CREATE TABLE made_of_matrix AS SELECT m AS p, r FROM
  (SELECT kernel_projection_agg(id, kernel_row, 'precomputed', 2) FROM matrix) a (m),
  (SELECT kernel_projection_agg(id, x, rbf_kernel(2), 2) FROM half) b (r);
SELECT describe(p) - '{bytes,workspace_bytes,relative_error,error_deviation,eigenvalues}'::text[] AS p,
       abs((describe(p) ->> 'relative_error')::float8 - (describe(r) ->> 'relative_error')::float8)
       <= 4 * (describe(p) ->> 'error_deviation')::float8 + 1e-6 AS error_within_four_deviations
FROM made_of_matrix;
SELECT count(*) AS rows, sqrt(sum((a.y[1] - b.y[1]) ^ 2 + (a.y[2] - b.y[2]) ^ 2) / sum(b.y[1] ^ 2 + b.y[2] ^ 2)) < 1e-6
       AS difference_below_1e_6
FROM made_of_matrix, embedding_of(p) a JOIN embedding_of(r) b USING (id);
SELECT kernel_projection_agg(id, kernel_row, 'precomputed', 2) = kernel_projection_agg(id, kernel_row, 'precomputed', 2 ORDER BY kernel_row)
       AS same_in_another_order, p::text::kernel_projection = p AS same_from_text FROM matrix, made_of_matrix GROUP BY p;
SELECT adjusted_rand_agg(m.cluster, r.cluster) AS agreement_with_rows
FROM kernel_kmeans('matrix', 'id', 'kernel_row', 'precomputed', 2) m
     JOIN kernel_kmeans('half', 'id', 'x', rbf_kernel(2), 2) r USING (id);
SELECT 'precomputed'::kernel, ' precomputed '::kernel = 'precomputed' AS same_from_text;
SELECT kernel_projection_agg(id, kernel_row, 'precomputed', 2) FROM matrix WHERE false;
-- Each mistake in a matrix is an error.
SELECT kernel_projection_agg(id, CASE WHEN id <> 7 THEN kernel_row END, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(NULL, kernel_row, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(id, CASE id WHEN 7 THEN array_fill(NULL::float8, ARRAY[500]) ELSE kernel_row END, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(id, CASE id WHEN 7 THEN kernel_row[:9] ELSE kernel_row END, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(id - 1, kernel_row, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(id, kernel_row, 'precomputed', 2) FROM matrix WHERE id <> 7;
SELECT kernel_projection_agg(CASE id WHEN 8 THEN 7 ELSE id END, kernel_row, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(id, ARRAY[-1], 'precomputed', 2) FROM matrix WHERE id = 1;
SELECT kernel_projection_agg(id, CASE id WHEN 7 THEN (kernel_row[1] + 0.01) || kernel_row[2:] ELSE kernel_row END, 'precomputed', 2) FROM matrix;
SELECT kernel_projection_agg(1, ARRAY[1e38], 'precomputed', 1);
SELECT kernel_projection_agg(id, kernel_row, 'precomputed', 2, '{"method": "exact"}') FROM matrix;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "nystroem", "published": true}') FROM rings;
SELECT kernel_projection_agg(id, kernel_row, CASE id % 2 WHEN 0 THEN linear_kernel() ELSE 'precomputed' END, 2) FROM matrix;
SELECT 'precomputed()'::kernel;
-- A matrix has no kernel values of other rows.
SELECT landmarks_agg(kernel_row, 'precomputed', 2) FROM matrix;
SELECT nystroem(landmarks_agg(x, linear_kernel(), 5), 'precomputed') FROM rings;
SELECT train('ring', 'rings', 'x', 2, 'kernel', '{"kernel": "precomputed", "quiet": true}');
SET fastclust.memory_budget = '1MB';
SELECT kernel_projection_agg(id, kernel_row, 'precomputed', 300) FROM matrix;
RESET fastclust.memory_budget;
DROP TABLE half, matrix, made_of_matrix;

-- Kernel k-means finds disk and ring by every method; k-means on the rows does not.
SELECT round(adjusted_rand_agg(cluster, label)::numeric, 2) AS rand,
       abs(adjusted_rand_agg(cluster, label) - 1) < 0.02 AS rand_within_0_02_of_1
FROM kernel_kmeans('rings', 'id', 'x', polynomial_kernel(2), 2) JOIN rings USING (id);
SELECT method, abs(adjusted_rand_agg(cluster, label) - 1) < 0.02 AS rand_within_0_02_of_1
  FROM unnest(ARRAY['exact', 'pivoted_cholesky']) method,
     kernel_kmeans('rings', 'id', 'x', polynomial_kernel(2), 2, CASE method WHEN 'exact' THEN '{"method": "exact"}' ELSE '{"method": "pivoted_cholesky", "columns": 40}' END::jsonb) JOIN rings USING (id) GROUP BY 1 ORDER BY 1;
SELECT adjusted_rand_agg(assign((SELECT kmeans_agg(x, 2) FROM rings), x), label) < 0.3
       AS rand_of_kmeans_below_0_3 FROM rings;
-- A user can do the same step by step: projection, coordinates, k-means.
SELECT abs(adjusted_rand_agg(assign(op, y), label) - 1) < 0.02 AS rand_within_0_02_of_1
FROM made, embedding_of(p) e JOIN rings USING (id), (SELECT kmeans_agg(y, 2, '{"n_init": 50}') AS op FROM made, embedding_of(p)) m;

-- A projection depends on the rows and the seed, not on the order of the rows; another seed gives
-- another one.
SELECT kernel_projection_agg(id, x, rbf_kernel(2), 3, '{"oversampling": 8, "seed": 5}')
       = kernel_projection_agg(id, x, rbf_kernel(2), 3,
           '{"oversampling": 8, "seed": 5}' ORDER BY x) AS same_in_another_order,
       kernel_projection_agg(id, x, rbf_kernel(2), 3, '{"oversampling": 8, "seed": 5}')
       = kernel_projection_agg(id, x, rbf_kernel(2), 3, '{"oversampling": 8, "seed": 6}')
       AS same_with_another_seed,
       kernel_projection_agg(id, x, rbf_kernel(2), 3,
           '{"method": "nystroem", "columns": 50, "seed": 5}')
       = kernel_projection_agg(id, x, rbf_kernel(2), 3,
           '{"method": "nystroem", "columns": 50, "seed": 5}' ORDER BY x) AS same_nystroem,
       kernel_projection_agg(id, x, rbf_kernel(2), 3,
           '{"method": "pivoted_cholesky", "columns": 50, "seed": 5}')
       = kernel_projection_agg(id, x, rbf_kernel(2), 3,
           '{"method": "pivoted_cholesky", "columns": 50, "seed": 5}' ORDER BY x) AS same_cholesky,
       landmarks_agg(x, rbf_kernel(2), 30, '{"seed": 5}')
       = landmarks_agg(x, rbf_kernel(2), 30, '{"seed": 5}' ORDER BY x) AS same_landmarks
  FROM rings;
-- A projection is read back from its text as the same value.
SELECT p::text::kernel_projection = p AS same_from_text, length(kernel_projection_send(p)) AS bytes
  FROM made;

-- The features of new rows reproduce the kernel: exactly at full rank, which is 3 for this
-- polynomial kernel.
CREATE TABLE map AS SELECT nystroem(landmarks_agg(x, polynomial_kernel(2), 20), polynomial_kernel(2)) AS m,
       nystroem(landmarks_agg(x, rbf_kernel(2), 60), rbf_kernel(2), 10) AS rbf FROM rings;
SELECT describe(m) - 'bytes' AS m, describe(rbf) - 'bytes' AS rbf FROM map;
SELECT m::text::kernel_map = m AS same_from_text, m = rbf AS equal_to_another FROM map;
SELECT count(*) AS maps FROM (SELECT DISTINCT u AS x FROM map, unnest(ARRAY[m, rbf, m]) u) l JOIN (SELECT u AS y FROM map, unnest(ARRAY[m, rbf]) u GROUP BY u) r ON x = y;
SELECT count(*) AS rows,
       bool_and(abs((SELECT sum(p * q)
           FROM unnest(kernel_features(m, ARRAY[a, b]), kernel_features(m, ARRAY[3, -1])) t (p,
               q)) - (3 * a - b) ^ 2) < 1e-3)
       AS inner_products_within_0_001_of_kernel
FROM map, generate_series(-3, 3) a, generate_series(-3, 3) b;
SELECT kernel_features(rbf, ARRAY[0.5, 1]::real[]) = kernel_features(rbf, ARRAY[0.5, 1])
       AS same_for_real, array_length(kernel_features(rbf, ARRAY[1, 1]), 1) FROM map;
-- Landmarks may be a product of sparse factors: inner products with the features of a landmark
-- are kernel values, as for dense landmarks.
CREATE TABLE factored AS SELECT name, op, nystroem(op, rbf_kernel(2)) AS gauss, nystroem(op, polynomial_kernel(3, 1)) AS cubic
FROM (SELECT 'dense' AS name, kmeans_agg(x, 20) AS op FROM rings UNION ALL
      SELECT 'one factor', factorize(kmeans_agg(x, 20), 'prune', '{"budget": 34}') FROM rings UNION ALL
      SELECT 'two factors', qkmeans_agg(x, 20, '{"factors": 2, "sparsity": 2}') FROM rings) o;
SELECT name, (describe(gauss) ->> 'factors')::int AS factors,
       max(abs((SELECT sum(p * q)
           FROM unnest(kernel_features(gauss, x), kernel_features(gauss, centroid)) t (p,
               q)) - exp(-2 * l2_distance(x, centroid) ^ 2))) < 1e-3 AS gauss_within_0_001,
       max(abs((SELECT sum(p * q)
           FROM unnest(kernel_features(cubic, x), kernel_features(cubic, centroid)) t (p,
               q)) - (x[1] * centroid[1] + x[2] * centroid[2] + 1) ^ 3)) < 1e-3
       AS cubic_within_0_001
FROM factored, centroids(op), rings WHERE id % 20 = 0 GROUP BY name, gauss, op ORDER BY name;
DROP TABLE factored;
-- k-means on the features of half of the rows labels the other half, too.
SELECT adjusted_rand_agg(assign((SELECT kmeans_agg(kernel_features(rbf, x), 2, '{"n_init": 20}')
  FROM rings, map WHERE id % 4 < 2), kernel_features(rbf, x)), label) > 0.98 AS rand_above_0_98
FROM rings, map;

-- The number of sampled columns grows with the rank where the default is too small.
SELECT count(*) AS rows, count(DISTINCT cluster) AS clusters
  FROM kernel_kmeans('rings', 'id', 'x', rbf_kernel(2), 110,
           '{"method": "nystroem", "n_init": 1}');

-- Few, equal or zero rows have coordinates of 0 beyond their number, and no rows give NULL.
SELECT n, round((e ->> 0)::numeric, 6) AS first_eigenvalue, (e ->> 1)::float8 < 1e-6
       AS second_below_1e_6
FROM (SELECT n, describe(kernel_projection_agg(i, ARRAY[3, 4], linear_kernel(), 2)) -> 'eigenvalues' AS e FROM generate_series(1, 3) n, generate_series(1, n) i GROUP BY n) t ORDER BY n;
SELECT abs((describe(kernel_projection_agg(i, ARRAY[0, 0], rbf_kernel(1),
       2)) -> 'eigenvalues' ->> 0)::float8 - 4) < 1e-5 AS first_within_1e_5_of_4,
       describe(kernel_projection_agg(i, ARRAY[0, 0], cosine_kernel(), 2,
           '{"method": "exact"}')) -> 'eigenvalues' AS of_zero_rows FROM generate_series(1, 4) i;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2) AS projection_of_no_rows FROM rings
 WHERE false;
SELECT kernel_projection_agg(id, nullif(x, x), linear_kernel(), 2) AS projection_of_null_rows
  FROM rings;
SELECT fastclust_internal.clusters(landmarks_agg(ARRAY[0, 0], linear_kernel(), 5)), fastclust_internal.clusters(landmarks_agg(ARRAY[i, 1], linear_kernel(), 5)) FROM generate_series(1, 9) i;

-- train with method kernel and no options finds the ring, and the two blobs that k-means would
-- find.
SELECT train('ring', 'rings', 'x', 2, 'kernel', '{"quiet": true}');
SELECT round(adjusted_rand_agg(predict('ring', x), label)::numeric, 6) AS agreement FROM rings;
SELECT describe(map) ->> 'dim' AS dim, describe(map) ->> 'rank' AS rank FROM fastclust_internal.stored_versions WHERE model = 'ring';
CREATE TABLE two_blobs AS SELECT id, label, ARRAY[6 * label + x[1], x[2]] AS x FROM rings;
SELECT train('blob', 'two_blobs', 'x', 2, 'kernel', '{"quiet": true}');
SELECT round(adjusted_rand_agg(predict('blob', x), label)::numeric, 6) AS agreement FROM two_blobs;
SELECT drop_model(model) FROM models WHERE model IN ('ring', 'blob') \g /dev/null
DROP TABLE two_blobs;

-- Every bad parameter, option and row is an error that names the value and the allowed range.
SELECT rbf_kernel(0);
SELECT rbf_kernel('NaN');
SELECT rbf_kernel(5e-324);
SELECT polynomial_kernel(2, 1, 1e308);
SELECT polynomial_kernel(0);
SELECT polynomial_kernel(99);
SELECT polynomial_kernel(2, -1);
SELECT polynomial_kernel(2, 'Infinity');
SELECT 'gauss(1)'::kernel;
SELECT 'rbf()'::kernel;
SELECT 'rbf(1,2)'::kernel;
SELECT 'linear() x'::kernel;
SELECT 'polynomial(1.5)'::kernel;
SELECT 'rbf(-1)'::kernel;
SELECT kernel_projection_agg(id % 10, x, linear_kernel(), 2) FROM rings;
SELECT kernel_projection_agg(nullif(id, 7), x, linear_kernel(), 2) FROM rings;
SELECT kernel_projection_agg(id, x, NULL, 2) FROM rings;
SELECT kernel_projection_agg(id, x, rbf_kernel(id), 2) FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), NULL) FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 0) FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 1 + id % 2) FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 500, '{"oversampling": 100}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"oversampling": -1}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, jsonb_build_object('seed', id)) FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, NULL) FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "nystrom"}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"column": 20}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"columns": 20}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "exact", "oversampling": 5}') FROM rings;
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 2, '{"columns": 20}');
SELECT landmarks_agg(x, linear_kernel(), 2, '{"columns": 20}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "nystroem", "columns": 0}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 3, '{"method": "nystroem", "columns": 2}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "nystroem", "columns": 1}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 3, '{"method": "pivoted_cholesky", "columns": 2}') FROM rings;
SELECT kernel_projection_agg(id, ARRAY[id * 1e200, 1], rbf_kernel(1), 2) FROM rings;
SELECT kernel_projection_agg(1, ARRAY[1, 'NaN']::real[], linear_kernel(), 2);
SELECT kernel_projection_agg(i, (ARRAY[1, 2, 3])[1:i], linear_kernel(), 2) FROM generate_series(1, 2) i;
SELECT kernel_projection_agg(1, ARRAY[1e30], polynomial_kernel(4), 2);
SELECT landmarks_agg(x, linear_kernel(), 0) FROM rings;
SET fastclust.memory_budget = '2MB';
SELECT kernel_projection_agg(i, ARRAY[i, 1], linear_kernel(), 10) FROM generate_series(1, 100000) i;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "exact"}') FROM rings;
SELECT kernel_projection_agg(id, x, linear_kernel(), 2, '{"method": "nystroem", "columns": 900}') FROM rings;
RESET fastclust.memory_budget;
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 0);
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 1001);
SET fastclust.memory_budget = '1MB';
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 1001, '{"method": "exact"}');    -- known before the pass
RESET fastclust.memory_budget;
SELECT kernel_kmeans('rings', 'id', 'y', linear_kernel(), 2);
SELECT kernel_kmeans('rings', 'x', 'x', linear_kernel(), 2);
SELECT kernel_kmeans('rings', 'id', 'x"; DROP TABLE rings; --', linear_kernel(), 2);
SELECT kernel_kmeans('rings', 'id', 'x', NULL, 2);
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 2, '{"ranks": 2}');
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 2, '{"method": "two_pass"}');
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 2, '{"rank": 2.5}');
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 2, '{"rank": "2"}');
SELECT kernel_kmeans('rings', 'id', 'x', linear_kernel(), 2, '{"rank": 10000000000}');
SELECT nystroem(landmarks_agg(x, linear_kernel(), 5), linear_kernel(), 9) FROM rings;
SELECT kernel_features(m, ARRAY[1, 2, 3]) FROM map;
SELECT kernel_features(m, ARRAY[1, -1e19]) FROM map;
SELECT kernel_features(m, ARRAY[1, 'NaN']::float8[]) FROM map;
SELECT left(p::text, 1000)::kernel_projection FROM made;
SELECT overlay(p::text placing 'ff' from 3)::kernel_projection FROM made;

-- Names that need quotes are quoted, domains are read as their base type, and the caller's rights
-- hold.
CREATE SCHEMA "Odd ""schema";
CREATE TABLE "Odd ""schema"."My 'table" AS SELECT id::smallint AS "Row Id", x AS "x; y" FROM rings;
SELECT count(*) AS rows, count(DISTINCT cluster) AS clusters
  FROM kernel_kmeans('"Odd ""schema"."My ''table"', 'Row Id', 'x; y', polynomial_kernel(2), 2);
CREATE DOMAIN "Odd ""schema".number AS integer;
CREATE DOMAIN "Odd ""schema".id AS "Odd ""schema".number;
ALTER TABLE "Odd ""schema"."My 'table" ALTER "Row Id" TYPE "Odd ""schema".id;
SELECT count(*) AS rows, count(DISTINCT cluster) AS clusters
  FROM kernel_kmeans('"Odd ""schema"."My ''table"', 'Row Id', 'x; y', polynomial_kernel(2), 2);
CREATE ROLE fastclust_nobody;
SET ROLE fastclust_nobody;
SELECT kernel_kmeans('public.rings', 'id', 'x', linear_kernel(), 2);
RESET ROLE;
DROP ROLE fastclust_nobody;
\set QUIET on
DROP SCHEMA "Odd ""schema" CASCADE;
\set QUIET off

-- Each kind of error has its SQLSTATE; a statement that raises another one is listed.
CREATE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT statement, wanted, sqlstate_of(statement) AS got
FROM (VALUES
	('22023', 'SELECT rbf_kernel(0)'),
	('22023', 'SELECT polynomial_kernel(2, -1)'),
	('22P02', 'SELECT ''gauss(1)''::kernel'),
	('21000', 'SELECT kernel_projection_agg(1, x, linear_kernel(), 2) FROM rings'),
	('22004', 'SELECT kernel_projection_agg(NULL, x, linear_kernel(), 2) FROM rings'),
	('22004', 'SELECT kernel_projection_agg(id, x, NULL, 2) FROM rings'),
	('22023', 'SELECT kernel_projection_agg(id, x, rbf_kernel(id), 2) FROM rings'),
	('22023', 'SELECT kernel_projection_agg(id, x, linear_kernel(), 600) FROM rings'),
	('22000', 'SELECT kernel_projection_agg(1, ARRAY[1, ''NaN'']::real[], linear_kernel(), 2)'),
	('22000', 'SELECT kernel_projection_agg(i, (ARRAY[1, 2, 3])[1:i], linear_kernel(), 2) FROM generate_series(1, 2) i'),
	('22003', 'SELECT kernel_projection_agg(1, ARRAY[1e30], polynomial_kernel(4), 2)'),
	('54000', 'SET LOCAL fastclust.memory_budget = 1024; SELECT kernel_projection_agg(id, x, linear_kernel(), 2, ''{"method": "exact"}'') FROM rings'),
	('42703', 'SELECT kernel_kmeans(''rings'', ''id'', ''y'', linear_kernel(), 2)'),
	('42804', 'SELECT kernel_kmeans(''rings'', ''x'', ''x'', linear_kernel(), 2)'),
	('22023', 'SELECT kernel_kmeans(''rings'', ''id'', ''x'', linear_kernel(), 2000)'),
	('22023', 'SELECT kernel_kmeans(''rings'', ''id'', ''x'', linear_kernel(), 2, ''{"method": "two_pass"}'')'),
	('22000', 'SELECT kernel_features(m, ARRAY[1, 2, 3]) FROM map'),
	('22P02', 'SELECT ''\x00''::kernel_projection'),
	('22P02', 'SELECT overlay(m::text placing ''ff'' from 101)::kernel_map FROM map'),
	('22P02', 'SELECT ''\x00''::kernel_map'),
	('22P02', 'SELECT ''00''::kernel_map')
) t (wanted, statement)
WHERE sqlstate_of(statement) IS DISTINCT FROM wanted;
DROP FUNCTION sqlstate_of;
DROP TABLE rings, made, map;

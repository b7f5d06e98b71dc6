-- factorize turns centroids into a product of sparse factors: fewer values, the same labels as
-- far as the options demand, and the same bits each time.
-- A budget is never exceeded; where a product is far from the centroids, a notice says so; an
-- option that a method does not use is an error.
SET extra_float_digits = 0;

-- The centroids are the rows of the Hadamard matrix of order 32; their mean is not subtracted.
CREATE TEMP TABLE hadamard AS SELECT fastop_agg(c ORDER BY i) AS op
FROM (SELECT i, array_agg((1 - 2 * (length(replace((i & j)::bit(5)::text, '0', '')) % 2))::real ORDER BY j) AS c
      FROM generate_series(0, 31) i, generate_series(0, 31) j GROUP BY i) rows;

-- The hierarchical method finds its fast transform: five factors with two values in each row and
-- column, exact to single precision.
CREATE TEMP TABLE fast AS SELECT factorize(op, 'hierarchical', '{"sparsity": 2, "centered": false}') AS op FROM hadamard;
SELECT (fastclust.describe(op) ->> 'nonzeros')::bigint AS nonzeros,
       (describe(op)->>'relative_error')::float8 < 1e-6 AS error_below_1e_6,
       describe(op)->>'method' AS method FROM fast;
SELECT factor, count(*) AS values, count(DISTINCT row_index) AS rows, count(DISTINCT column_index)
       AS columns
FROM fast, factors(op) GROUP BY factor ORDER BY factor;
SELECT max(abs(a.v - b.v)) < 1e-4 AS centroids_within_1e_4
  FROM (SELECT cluster, o, v FROM hadamard, centroids(op),
           unnest(centroid) WITH ORDINALITY u(v, o)) a
JOIN (SELECT cluster, o, v FROM fast, centroids(op), unnest(centroid) WITH ORDINALITY u(v, o)) b USING (cluster, o);
-- The same input gives the same bits, and an operator is read back from its text as the same
-- value.
SELECT factorize(h.op, 'hierarchical', '{"sparsity": 2, "centered": false}') = f.op
       AS same_when_repeated, f.op::text::fastop = f.op AS same_from_text
FROM hadamard h, fast f;

-- Every method keeps the weights of the clusters and their offset. These 40 centroids lie on a
-- plane in 24 dimensions, far from the origin.
CREATE TEMP TABLE book AS SELECT fastop_agg(c, w ORDER BY j) AS op
FROM (SELECT j, 1 + j % 4 AS w, array_agg(100 + 9 * cos(j * 1.7) * sin(i * 0.9) + 9 * sin(j * 2.3) * cos(i * 1.1) ORDER BY i) AS c
      FROM generate_series(0, 39) j, generate_series(1, 24) i GROUP BY j) rows;
CREATE TEMP TABLE about AS SELECT fastop_agg(ARRAY(SELECT v + 0.2 * sin(i * u.j * 1.3 + i) FROM unnest(centroid) WITH ORDINALITY u(v, j))) AS sample
FROM book, centroids(op), generate_series(1, 50) i;
CREATE TEMP TABLE methods AS
SELECT method, factorize(op, method, sample => CASE WHEN method = 'auto' THEN sample END) AS op FROM book, about, unnest('{palm4msa,hierarchical,butterfly,svd,prune,auto}'::text[]) method;
SELECT method, fastclust_internal.clusters(op), fastclust_internal.dim(op),
       (fastclust.describe(op) ->> 'nonzeros')::bigint < 40 * 24 AS fewer_than_960_values,
       (describe(op)->>'relative_error')::float8 BETWEEN 0 AND 1 AS error_from_0_to_1,
       (SELECT round(sum(weight)::numeric, 9) FROM centroids(op)) AS sum_of_weights
  FROM methods ORDER BY method;
SELECT method, count(DISTINCT factor) AS factors FROM methods, factors(op) WHERE method IN ('palm4msa', 'hierarchical') GROUP BY method ORDER BY method;
-- A plane has two singular vectors, and method auto finds them: at most 240 values, an error
-- below 1 %, and 98 % of the labels.
SELECT describe(op)->>'method' AS method, (describe(op)->>'label_agreement')::float8 >= 0.98
       AS agreement_from_0_98,
       (describe(op)->>'relative_error')::float8 < 0.01 AS error_below_0_01,
       (fastclust.describe(op) ->> 'nonzeros')::bigint <= 240 AS at_most_240_values
FROM methods WHERE method = 'auto';
SELECT method, count(*) AS centroids, count(*) FILTER (WHERE assign(m.op, c.centroid) = c.cluster)
       AS own_label
FROM book b, methods m, centroids(b.op) c WHERE method IN ('auto', 'svd') GROUP BY method ORDER BY method;
-- A budget of values is kept, a product can be factorised again, and describe names the method
-- with its figures.
SELECT (fastclust.describe(factorize(op, 'prune', '{"budget": 100}')) ->> 'nonzeros')::bigint
       AS prune, (fastclust.describe(factorize(op, 'svd',
           '{"budget": 200}')) ->> 'nonzeros')::bigint AS svd,
       (fastclust.describe(factorize(op, 'palm4msa', '{"budget": 300}')) ->> 'nonzeros')::bigint
       <= 300 AS palm4msa_at_most_300 FROM book;
SELECT fastclust_internal.clusters(factorize(op, 'svd')),
       (describe(factorize(op, 'svd'))->>'relative_error')::float8 < 1 AS error_below_1 FROM fast;
SELECT describe(op)->'dense_parameters' AS dense_parameters, describe(op) ? 'svd_relative_error'
       AS has_svd_error, describe(op) ? 'label_agreement' AS has_agreement
FROM methods WHERE method = 'svd';
SELECT describe(op) ->> 'method' AS method_of_dense_centroids FROM book;
-- More iterations never increase the error, and progress is reported only with the option
-- verbose.
SELECT (describe(factorize(op, 'palm4msa', '{"iterations": 40}'))->>'relative_error')::float8
    <= (describe(factorize(op, 'palm4msa', '{"iterations": 4}'))->>'relative_error')::float8 + 1e-9
       AS error_of_40_not_above_4 FROM book;
SET client_min_messages = notice;
SELECT (fastclust.describe(factorize(op, 'palm4msa',
       '{"iterations": 1, "factors": 1, "sparsity": 1, "verbose": true}')) ->> 'nonzeros')::bigint
       AS nonzeros FROM book;
-- A notice warns of a product far from the centroids and names the error of an SVD of that size.
-- With exact reranking, where labels are exact, there is none.
SELECT (fastclust.describe(factorize(op, 'prune', '{"budget": 30}')) ->> 'nonzeros')::bigint
       AS nonzeros FROM book;
SELECT (fastclust.describe(factorize(op, 'prune')) ->> 'nonzeros')::bigint AS nonzeros FROM book;
SELECT (fastclust.describe(factorize(op, 'prune', '{"rerank": "exact"}')) ->> 'nonzeros')::bigint
       AS nonzeros FROM book;
SET client_min_messages = warning;
-- Given a sample of rows, method auto keeps 98 % of the labels of rows outside the sample; where
-- it cannot, a notice says so.
CREATE TEMP TABLE close AS SELECT i AS id, i % 20 AS cluster, array_agg((sin(i % 20 * 1.3 + j) + cos(i % 20 * 2.1 - 0.4 * j) + 0.05 * sin(i % 20 * j)
           + sqrt(-2 * ln(((i * 0.6180339887 + j * 0.7548776662) % 1.0) * 0.9999 + 0.00005)) * cos(2 * pi() * ((i * 0.8191725134 + j * j * 0.5698402909) % 1.0)))::real ORDER BY j) AS x
FROM generate_series(1, 6000) i, generate_series(1, 40) j GROUP BY i;
CREATE TEMP TABLE close_centres AS SELECT fastop_agg(c ORDER BY cluster) AS op
FROM (SELECT cluster, array_agg(m ORDER BY j) AS c FROM (SELECT cluster, j, avg(v) AS m FROM close, unnest(x) WITH ORDINALITY u(v, j) GROUP BY 1, 2) t GROUP BY 1) c;
CREATE FUNCTION kept(fast fastop) RETURNS numeric LANGUAGE sql AS
$$ SELECT avg((assign(fast, x) = assign(op, x))::integer) FROM close, close_centres WHERE id > 4000 $$;
SELECT kept(factorize(op, sample => (SELECT fastop_agg(x) FROM close WHERE id <= 4000))) >= 0.98
       AS labels_kept_from_0_98 FROM close_centres;
SET client_min_messages = notice;
SELECT kept(factorize(op, 'auto', '{"budget": 60}',
       (SELECT fastop_agg(x) FROM close WHERE id <= 4000))) < 0.98 AS labels_kept_below_0_98
  FROM close_centres;
SELECT (fastclust.describe(factorize(op,
       sample => (SELECT fastop_agg(x) FROM close WHERE id <= 40))) ->> 'nonzeros')::bigint
       AS values_with_too_few_rows FROM close_centres;
SET client_min_messages = warning;
SELECT (SELECT sse_agg(fast, x) < 1.12 * sse_agg(op, x) FROM close WHERE id > 4000)
       AS sse_within_12_percent
FROM (SELECT op, factorize(op, 'auto', '{"sse_ratio": 1.1}', (SELECT fastop_agg(x) FROM close WHERE id <= 4000)) AS fast FROM close_centres OFFSET 0) f;
SELECT factorize(op, 'svd', '{"sse_ratio": 1.1}') FROM close_centres;
SELECT factorize(op, 'svd', sample => op) FROM close_centres;
SELECT factorize(op, sample => (SELECT fastop_agg(ARRAY[1, 2, 3]::real[]))) FROM close_centres;
-- Method auto without a sample is palm4msa, and a notice says so.
SET client_min_messages = notice;
SELECT factorize(op) = factorize(op, 'palm4msa') AS auto_is_palm4msa FROM close_centres;
SET client_min_messages = warning;
DROP FUNCTION kept;
-- Every method factorises a single centroid, and equal centroids with an error of 0.
SELECT method, (fastclust.describe(factorize(one, method)) ->> 'nonzeros')::bigint >= 0
       AS has_result
FROM (SELECT fastop_agg(ARRAY[1, 2, 3]::real[]) AS one) o, unnest('{palm4msa,hierarchical,butterfly,svd,prune,auto}'::text[]) method;
SELECT method, (describe(factorize(same, method))->>'relative_error')::float8 AS error
FROM (SELECT fastop_agg(ARRAY[1, 2, 3]::real[]) AS same FROM generate_series(1, 5)) o, unnest('{palm4msa,hierarchical,butterfly,svd,prune,auto}'::text[]) method;

-- A budget below what a method needs is an error, and so is an option that it does not use; a
-- NULL option counts as not given.
SELECT factorize(op, 'svd', '{"budget": 63}') FROM book;
SELECT factorize(op, 'palm4msa', '{"budget": 60}') FROM book;
SELECT factorize(op, 'hierarchical', '{"budget": 200, "factors": 2, "sparsity": 3}') FROM book;
SELECT (fastclust.describe(factorize(op, 'auto', '{"budget": 30}', sample)) ->> 'nonzeros')::bigint
       AS auto,
       (fastclust.describe(factorize(op, 'prune', '{"budget": 1}')) ->> 'nonzeros')::bigint
       AS prune,
       (fastclust.describe(factorize(op, 'svd', '{"budget": 64}')) ->> 'nonzeros')::bigint AS svd
  FROM book, about;
SELECT (fastclust.describe(factorize(op, 'auto', '{"sparsity": 2, "factors": 2}',
       sample)) ->> 'nonzeros')::bigint <= 2 * (64 + 48) AS at_most_224_values FROM book, about;
SELECT factorize(op, 'butterfly', '{"budget": 100}') FROM book;
SELECT factorize(op, 'svd', '{"factors": 2}') FROM book;
SELECT factorize(op, 'prune', '{"iterations": 9}') FROM book;
SELECT (fastclust.describe(factorize(op, 'svd',
       '{"factors": null, "seed": 3, "centered": false}')) ->> 'nonzeros')::bigint > 0
       AS has_values FROM book;
-- As published: the Hadamard matrix is found, with two values in every row of its five factors;
-- centroids without structure have log2(min(k, d)) factors, rounded down.
SELECT describe(f) -> 'nonzeros' AS nonzeros,
       (describe(f) ->> 'relative_error')::float8 < 1e-6 AS relative_error_below_1e_6
  FROM hadamard, factorize(op, 'hierarchical', '{"published": true}') f;
SELECT method, (SELECT max(factor) + 1 FROM factors(f)) AS factors,
       (describe(f) ->> 'nonzeros')::int AS nonzeros
  FROM book, unnest(ARRAY['palm4msa', 'hierarchical']) method,
       factorize(op, method, '{"published": true}') f;
SELECT factorize(op, 'svd', '{"published": true}') FROM book;
-- Unknown methods and options, and values out of range, are errors that name them.
SELECT factorize(op, 'fourier') FROM book;
SELECT factorize(op, 'svd', '{"rank": 3}') FROM book;
SELECT factorize(op, 'palm4msa', '{"factors": 33}') FROM book;
SELECT factorize(op, 'palm4msa', '{"sparsity": 0}') FROM book;
SELECT factorize(op, 'prune', '{"budget": "many"}') FROM book;
SELECT factorize(op, 'prune', '{"budget": 1e400}') FROM book;
SELECT factorize(op, 'prune', '{"seed": 1e30}') FROM book;
SELECT (fastclust.describe(factorize(op, 'prune',
       '{"seed": 9223372036854775807}')) ->> 'nonzeros')::bigint > 0
       AS has_values_with_largest_seed FROM book;
SELECT factorize(NULL::fastop) AS factorization_of_null;
CREATE TEMP TABLE big AS SELECT fastop_agg(ARRAY(SELECT sin(i * j) FROM generate_series(1, 300) j)) AS op FROM generate_series(1, 300) i;
\set VERBOSITY sqlstate
SET fastclust.memory_budget = '1MB';
SELECT factorize(op, 'palm4msa') FROM big;

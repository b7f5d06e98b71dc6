-- factorize: methods, records, options, errors
SET extra_float_digits = 0;

-- the Hadamard matrix of order 32, as centroids without offset
CREATE TEMP TABLE hadamard AS SELECT fastop_agg(c ORDER BY i) AS op
FROM (SELECT i, array_agg((1 - 2 * (length(replace((i & j)::bit(5)::text, '0', '')) % 2))::real ORDER BY j) AS c
      FROM generate_series(0, 31) i, generate_series(0, 31) j GROUP BY i) rows;

-- five factors of two non-zeros a row and column, exact to single precision
CREATE TEMP TABLE fast AS SELECT factorize(op, 'hierarchical', '{"sparsity": 2, "centered": false}') AS op FROM hadamard;
SELECT (fastclust.describe(op) ->> 'nonzeros')::bigint, (describe(op)->>'relative_error')::float8 < 1e-6 AS exact, describe(op)->>'method' AS method FROM fast;
SELECT factor, count(*), count(DISTINCT row_index) AS rows, count(DISTINCT column_index) AS columns
FROM fast, factors(op) GROUP BY factor ORDER BY factor;
SELECT max(abs(a.v - b.v)) < 1e-4 AS same_rows FROM (SELECT cluster, o, v FROM hadamard, centroids(op), unnest(centroid) WITH ORDINALITY u(v, o)) a
JOIN (SELECT cluster, o, v FROM fast, centroids(op), unnest(centroid) WITH ORDINALITY u(v, o)) b USING (cluster, o);
-- same input, same bits; text and back
SELECT factorize(h.op, 'hierarchical', '{"sparsity": 2, "centered": false}') = f.op AS same, f.op::text::fastop = f.op AS text_form
FROM hadamard h, fast f;

-- clusters on a plane in 24 dimensions, far from the origin: weights and offset survive every method
CREATE TEMP TABLE book AS SELECT fastop_agg(c, w ORDER BY j) AS op
FROM (SELECT j, 1 + j % 4 AS w, array_agg(100 + 9 * cos(j * 1.7) * sin(i * 0.9) + 9 * sin(j * 2.3) * cos(i * 1.1) ORDER BY i) AS c
      FROM generate_series(0, 39) j, generate_series(1, 24) i GROUP BY j) rows;
CREATE TEMP TABLE about AS SELECT fastop_agg(ARRAY(SELECT v + 0.2 * sin(i * u.j * 1.3 + i) FROM unnest(centroid) WITH ORDINALITY u(v, j))) AS sample
FROM book, centroids(op), generate_series(1, 50) i;
CREATE TEMP TABLE methods AS
SELECT method, factorize(op, method, sample => CASE WHEN method = 'auto' THEN sample END) AS op FROM book, about, unnest('{palm4msa,hierarchical,butterfly,svd,prune,auto}'::text[]) method;
SELECT method, fastclust_internal.clusters(op), fastclust_internal.dim(op), (fastclust.describe(op) ->> 'nonzeros')::bigint < 40 * 24 AS smaller,
       (describe(op)->>'relative_error')::float8 BETWEEN 0 AND 1 AS error_known,
       (SELECT abs(sum(weight) - 100) < 1e-9 FROM centroids(op)) AS weights_kept FROM methods ORDER BY method;
SELECT method, count(DISTINCT factor) AS factors FROM methods, factors(op) WHERE method IN ('palm4msa', 'hierarchical') GROUP BY method ORDER BY method;
-- a plane is two singular vectors: the search finds them at the smallest budgets
SELECT describe(op)->>'method' AS method, (describe(op)->>'label_agreement')::float8 >= 0.98 AS agrees,
       (describe(op)->>'relative_error')::float8 < 0.01 AS close, (fastclust.describe(op) ->> 'nonzeros')::bigint <= 240 AS small
FROM methods WHERE method = 'auto';
SELECT method, bool_and(assign(m.op, c.centroid) = c.cluster) AS own_centroids
FROM book b, methods m, centroids(b.op) c WHERE method IN ('auto', 'svd') GROUP BY method ORDER BY method;
-- a budget is kept, an operator can be factored again, the parameters are told
SELECT (fastclust.describe(factorize(op, 'prune', '{"budget": 100}')) ->> 'nonzeros')::bigint, (fastclust.describe(factorize(op, 'svd', '{"budget": 200}')) ->> 'nonzeros')::bigint,
       (fastclust.describe(factorize(op, 'palm4msa', '{"budget": 300}')) ->> 'nonzeros')::bigint <= 300 AS palm FROM book;
SELECT fastclust_internal.clusters(factorize(op, 'svd')), (describe(factorize(op, 'svd'))->>'relative_error')::float8 < 1 AS again FROM fast;
SELECT describe(op)->'dense_parameters' AS dense, describe(op) ? 'svd_relative_error' AS svd, describe(op) ? 'label_agreement' AS agreement
FROM methods WHERE method = 'svd';
SELECT describe(op) ? 'method' AS plain_has_method FROM book;
-- more sweeps never make it worse; progress only when asked
SELECT (describe(factorize(op, 'palm4msa', '{"iterations": 40}'))->>'relative_error')::float8
    <= (describe(factorize(op, 'palm4msa', '{"iterations": 4}'))->>'relative_error')::float8 + 1e-9 AS better FROM book;
SET client_min_messages = notice;
SELECT (fastclust.describe(factorize(op, 'palm4msa', '{"iterations": 1, "factors": 1, "sparsity": 1, "verbose": true}')) ->> 'nonzeros')::bigint FROM book;
-- a product far from the centroids is told, and what an SVD of that size would be; not where labels are exact
SELECT (fastclust.describe(factorize(op, 'prune', '{"budget": 30}')) ->> 'nonzeros')::bigint FROM book;
SELECT (fastclust.describe(factorize(op, 'prune')) ->> 'nonzeros')::bigint FROM book;
SELECT (fastclust.describe(factorize(op, 'prune', '{"rerank": "exact"}')) ->> 'nonzeros')::bigint FROM book;
SET client_min_messages = warning;
-- auto judges by rows that it is given: 98 % of the labels stay of rows that it did not see, or a notice tells
CREATE TEMP TABLE close AS SELECT i AS id, i % 20 AS cluster, array_agg((sin(i % 20 * 1.3 + j) + cos(i % 20 * 2.1 - 0.4 * j) + 0.05 * sin(i % 20 * j)
           + sqrt(-2 * ln(((i * 0.6180339887 + j * 0.7548776662) % 1.0) * 0.9999 + 0.00005)) * cos(2 * pi() * ((i * 0.8191725134 + j * j * 0.5698402909) % 1.0)))::real ORDER BY j) AS x
FROM generate_series(1, 6000) i, generate_series(1, 40) j GROUP BY i;
CREATE TEMP TABLE close_centres AS SELECT fastop_agg(c ORDER BY cluster) AS op
FROM (SELECT cluster, array_agg(m ORDER BY j) AS c FROM (SELECT cluster, j, avg(v) AS m FROM close, unnest(x) WITH ORDINALITY u(v, j) GROUP BY 1, 2) t GROUP BY 1) c;
CREATE FUNCTION kept(fast fastop) RETURNS numeric LANGUAGE sql AS
$$ SELECT avg((assign(fast, x) = assign(op, x))::integer) FROM close, close_centres WHERE id > 4000 $$;
SELECT kept(factorize(op, sample => (SELECT fastop_agg(x) FROM close WHERE id <= 4000))) >= 0.98 AS kept FROM close_centres;
SET client_min_messages = notice;
SELECT kept(factorize(op, 'auto', '{"budget": 60}', (SELECT fastop_agg(x) FROM close WHERE id <= 4000))) < 0.98 AS told FROM close_centres;
SELECT (fastclust.describe(factorize(op, sample => (SELECT fastop_agg(x) FROM close WHERE id <= 40))) ->> 'nonzeros')::bigint = 800 AS too_few_rows FROM close_centres;
SET client_min_messages = warning;
SELECT (SELECT sse_agg(fast, x) < 1.12 * sse_agg(op, x) FROM close WHERE id > 4000) AS distances_kept
FROM (SELECT op, factorize(op, 'auto', '{"sse_ratio": 1.1}', (SELECT fastop_agg(x) FROM close WHERE id <= 4000)) AS fast FROM close_centres OFFSET 0) f;
SELECT factorize(op, 'svd', '{"sse_ratio": 1.1}') FROM close_centres;
SELECT factorize(op, 'svd', sample => op) FROM close_centres;
SELECT factorize(op, sample => (SELECT fastop_agg(ARRAY[1, 2, 3]::real[]))) FROM close_centres;
-- without rows auto is palm4msa, and says so
SET client_min_messages = notice;
SELECT factorize(op) = factorize(op, 'palm4msa') AS no_sample FROM close_centres;
SET client_min_messages = warning;
DROP FUNCTION kept;
-- one cluster; all equal
SELECT method, (fastclust.describe(factorize(one, method)) ->> 'nonzeros')::bigint >= 0 AS done
FROM (SELECT fastop_agg(ARRAY[1, 2, 3]::real[]) AS one) o, unnest('{palm4msa,hierarchical,butterfly,svd,prune,auto}'::text[]) method;
SELECT method, (describe(factorize(same, method))->>'relative_error')::float8 AS error
FROM (SELECT fastop_agg(ARRAY[1, 2, 3]::real[]) AS same FROM generate_series(1, 5)) o, unnest('{palm4msa,hierarchical,butterfly,svd,prune,auto}'::text[]) method;

-- a budget that a method cannot keep to is an error, and so is an option it does not use
SELECT factorize(op, 'svd', '{"budget": 63}') FROM book;
SELECT factorize(op, 'palm4msa', '{"budget": 60}') FROM book;
SELECT factorize(op, 'hierarchical', '{"budget": 200, "factors": 2, "sparsity": 3}') FROM book;
SELECT (fastclust.describe(factorize(op, 'auto', '{"budget": 30}', sample)) ->> 'nonzeros')::bigint, (fastclust.describe(factorize(op, 'prune', '{"budget": 1}')) ->> 'nonzeros')::bigint, (fastclust.describe(factorize(op, 'svd', '{"budget": 64}')) ->> 'nonzeros')::bigint FROM book, about;
SELECT (fastclust.describe(factorize(op, 'auto', '{"sparsity": 2, "factors": 2}', sample)) ->> 'nonzeros')::bigint <= 2 * (64 + 48) AS size_of_sparsity FROM book, about;
SELECT factorize(op, 'butterfly', '{"budget": 100}') FROM book;
SELECT factorize(op, 'svd', '{"factors": 2}') FROM book;
SELECT factorize(op, 'prune', '{"iterations": 9}') FROM book;
SELECT (fastclust.describe(factorize(op, 'svd', '{"factors": null, "seed": 3, "centered": false}')) ->> 'nonzeros')::bigint > 0 AS none_given FROM book;
-- errors
SELECT factorize(op, 'fourier') FROM book;
SELECT factorize(op, 'svd', '{"rank": 3}') FROM book;
SELECT factorize(op, 'palm4msa', '{"factors": 33}') FROM book;
SELECT factorize(op, 'palm4msa', '{"sparsity": 0}') FROM book;
SELECT factorize(op, 'prune', '{"budget": "many"}') FROM book;
SELECT factorize(op, 'prune', '{"budget": 1e400}') FROM book;
SELECT factorize(op, 'prune', '{"seed": 1e30}') FROM book;
SELECT (fastclust.describe(factorize(op, 'prune', '{"seed": 9223372036854775807}')) ->> 'nonzeros')::bigint > 0 AS largest_seed FROM book;
SELECT factorize(NULL::fastop) IS NULL AS null_in_null_out;
CREATE TEMP TABLE big AS SELECT fastop_agg(ARRAY(SELECT sin(i * j) FROM generate_series(1, 300) j)) AS op FROM generate_series(1, 300) i;
\set VERBOSITY sqlstate
SET fastclust.memory_budget = '1MB';
SELECT factorize(op, 'palm4msa') FROM big;

# Every function gives the same bits for vector, halfvec and sparsevec of pgvector as for the arrays
# that they are cast to. Damaged values are errors, and the server survives them.
use FastclustTest;

my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
chomp(my $share = qx($pg_config --sharedir));
my @halves = glob "$share/extension/vector--*0.7.0.sql";
plan skip_all => 'pgvector 0.7 or later is not installed for this server' if !@halves;

my $server = FastclustTest->new;

$server->query(<<'SQL');
CREATE EXTENSION fastclust;
CREATE EXTENSION vector;
ALTER DATABASE postgres SET search_path = public, fastclust;
SQL

# ---- rows with some zeros, exact in half precision ----
$server->query(<<'SQL');
CREATE TABLE rows AS
SELECT i, a::vector AS v, a::vector::halfvec AS h, a::vector::sparsevec AS s, a::float4[] AS f
  FROM (SELECT i, (SELECT array_agg((CASE WHEN hashint4(i * 64 + j) % 4 = 0 THEN round((sin(i * j) + 3 * (i % 4 = j % 4)::int)::numeric * 256) / 256 ELSE 0 END)::real
                                    ORDER BY j) FROM generate_series(1, 64) j) AS a
          FROM generate_series(1, 1500) i) q;
INSERT INTO rows SELECT 0, z::vector, z::vector::halfvec, z::vector::sparsevec, z FROM (SELECT array_fill(0::real, '{64}') AS z) q;
CREATE TABLE specs (name text, spec sketch_spec);
INSERT INTO specs VALUES ('dense', sketch_spec(64, 100, 2)), ('structured', sketch_spec(64, 100, 2, options => '{"structured": true}')),
    ('centered', sketch_spec(64, 100, 2, center => array_fill(0.3::float8, '{64}'))), ('scaled', sketch_spec(64, 100, 2, scale => array_fill(0.7::float8, '{64}'))),
    ('several scales', sketch_spec(64, 50, 2, options => '{"sigmas": [1, 2, 4]}')), ('far', sketch_spec(64, 50, 1e-4)), ('cosine', sketch_spec(64, 50, 0.2, options => '{"metric": "cosine"}'));
INSERT INTO specs SELECT 'projected', sketch_spec_agg(f, 4) FROM rows;
INSERT INTO specs SELECT 'projected about 0', sketch_spec_agg(s, 4) FROM rows;
INSERT INTO specs SELECT 'projected cosine', sketch_spec_agg(s, 4, '{"metric": "cosine"}'::jsonb) FROM rows;
INSERT INTO specs SELECT 'projected, structured', sketch_spec_agg(s, 4, '{"structured": "on"}'::jsonb) FROM rows;
CREATE TABLE operators (name text, op fastop);
INSERT INTO operators SELECT 'k-means', kmeans_agg(f, 6) FROM rows;
INSERT INTO operators SELECT m, fastop_agg(centroid, weight, jsonb_build_object('metric', m) ORDER BY cluster) FROM operators, centroids(op), unnest('{cosine,inner_product}'::text[]) m GROUP BY m;
INSERT INTO operators SELECT 'equal centroids', fastop_agg(f ORDER BY i) FROM (SELECT i, f FROM rows WHERE i < 4 UNION ALL SELECT i, f FROM rows WHERE i < 4) q;
INSERT INTO operators SELECT 'product', factorize(op, 'svd', '{"budget": 200}') FROM operators WHERE name = 'k-means';
SQL

is($server->query(<<'SQL'), '', 'sketches have the same bits');
SELECT name, x.* FROM specs, LATERAL (
    SELECT sketch_agg(v, spec) = sketch_agg(f, spec) AS vector, sketch_agg(h, spec) = sketch_agg(f, spec) AS half, sketch_agg(s, spec) = sketch_agg(f, spec) AS sparse,
           sketch_agg(h, spec, 0.5) = sketch_agg(f, spec, 0.5) AS weighted_half, sketch_agg(s, spec, 1 + i % 3) = sketch_agg(f, spec, 1 + i % 3) AS weighted_sparse,
           describe(sketch_agg(s, spec)) -> 'lower_bounds' = describe(sketch_agg(f, spec)) -> 'lower_bounds' AND describe(sketch_agg(s, spec)) -> 'upper_bounds' = describe(sketch_agg(f, spec)) -> 'upper_bounds' AS bounds
      FROM rows) x WHERE NOT (x.vector AND half AND sparse AND weighted_half AND weighted_sparse AND bounds)
SQL
is($server->query(<<'SQL'), 't', 'sketches in windows have the same bits');
SELECT bool_and(a = b AND a = c) FROM (
    SELECT sketch_agg(s, spec) OVER w AS a, sketch_agg(f, spec) OVER w AS b, sketch_agg(h, spec) OVER w AS c
      FROM rows, specs WHERE name = 'projected about 0' AND i < 100 WINDOW w AS (ORDER BY i ROWS 7 PRECEDING)) q
SQL
is($server->query(<<'SQL'), '', 'labels, distances and neighbours are the same');
SELECT name, count(*) FROM operators, rows
 WHERE (assign(op, v), assign_distance(op, v), nearest(op, v, 3), project(op, v)) IS DISTINCT FROM (assign(op, f), assign_distance(op, f), nearest(op, f, 3), project(op, f))
    OR (assign(op, h), assign_distance(op, h), nearest(op, h, 3), project(op, h)) IS DISTINCT FROM (assign(op, f), assign_distance(op, f), nearest(op, f, 3), project(op, f))
    OR (assign(op, s), assign_distance(op, s), nearest(op, s, 3), project(op, s)) IS DISTINCT FROM (assign(op, f), assign_distance(op, f), nearest(op, f, 3), project(op, f))
 GROUP BY 1
SQL
is($server->query(<<'SQL'), 't|t|t|t', 'Lloyd steps, scores and k-means are the same');
SELECT (lloyd_step_agg(op, s)).sse = (lloyd_step_agg(op, f)).sse, sse_agg(op, h) = sse_agg(op, f), simplified_silhouette_agg(op, h) = simplified_silhouette_agg(op, f),
       kmeans_agg(s, 3) = kmeans_agg(f, 3) AND kmeans_agg(h, 3) = kmeans_agg(f, 3) FROM rows, operators WHERE name = 'k-means' GROUP BY op
SQL
is($server->query("SET max_parallel_workers_per_gather = 3; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
	. "SELECT count(*) FROM (SELECT sketch_agg(s, spec) = sketch_agg(f, spec) AS same FROM rows, specs GROUP BY name) q WHERE NOT same"), 0, 'parallel plans give the same results');

# ---- models ----
for my $type ('v', 'h', 's')
{
	$server->query("SELECT train('m$type', 'rows', '$type', 4, options => '{\"quiet\": true}')");
	is($server->query("SELECT count(*) FROM rows r WHERE predict('m$type', $type) <> predict('m$type', f) OR predict('m$type', r) <> predict('m$type', f)
			OR predict_distance('m$type', $type) <> predict_distance('m$type', f) OR anomaly('m$type', $type) <> anomaly('m$type', f)"), 0, "a model of $type gives vectors the labels of their arrays");
	$server->query("SELECT retrain('m$type'); SELECT count(*) FROM typical_rows('m$type', 2)");
	is($server->query("SELECT verdict FROM drift('m$type')"), 'none', "a model of $type has no drift on its own rows");
}
for my $type ('v', 'h', 's')
{
	$server->query("SELECT train('c$type', 'rows', '$type', 4, options => '{\"quiet\": true, \"metric\": \"cosine\"}')");
	is($server->query("SELECT count(*) FILTER (WHERE predict('c$type', $type) IS DISTINCT FROM predict('c$type', f)), count(*) FILTER (WHERE predict('c$type', $type) IS NULL) FROM rows"),
		'0|1', "a cosine model of $type gives a zero vector no cluster");
}
$server->query("CREATE DOMAIN embedding AS halfvec(64);"
	. "CREATE TABLE domains AS SELECT i, h::embedding AS e FROM rows; SELECT train('domain', 'domains', 'e', 3, options => '{\"quiet\": true}')");
is($server->query("SELECT count(predict('domain', e)) FROM domains"), 1501, 'a domain over a type of pgvector works');

# ---- every function of a vector gives for each type what it gives for the array ----
my @calls = ('assign(op, X)', 'assign_distance(op, X)', 'nearest(op, X, 2)', 'project(op, X)', 'fastclust.l2_distance(X, f)', 'density(sketch, X)', 'kernel_features(map, X)',
	'fastop_agg(X ORDER BY i)', 'kmeans_agg(X, 2)', 'qkmeans_agg(X, 2)', 'sketch_spec_agg(X, 3)', 'sketch_agg(X, (SELECT spec FROM given))', 'lloyd_step_agg((SELECT op FROM given), X ORDER BY i)',
	'sse_agg((SELECT op FROM given), X ORDER BY i)', 'simplified_silhouette_agg((SELECT op FROM given), X ORDER BY i)', 'davies_bouldin_agg((SELECT op FROM given), X ORDER BY i)',
	'kernel_projection_agg(i, X, rbf_kernel(0.01), 2)', map({ qq(kernel_projection_agg(i, X, rbf_kernel(0.01), 2, '{"method": "$_"}')) } qw(nystroem pivoted_cholesky exact)),
	'landmarks_agg(X, rbf_kernel(0.01), 3)', "predict('mv', X)", "predict('groups', X, group_value => g)", "predict_name('mv', X)", "predict_distance('mv', X)", "predict_distance('groups', X, group_value => g)", "anomaly('mv', X)", "anomaly('groups', X, group_value => g)",
	"predict_all('mv', X, 2)", "predict_probabilities('mv', X)", "predict_probabilities('groups', X, group_value => g)", "predict_path('mv', X)", "predict_path('groups', X, group_value => g)");
$server->query(<<'SQL');
CREATE TABLE few AS SELECT *, 'g' || i % 2 AS g FROM rows WHERE i BETWEEN 1 AND 60;
CREATE TABLE given AS SELECT op, spec, sketch_agg(f, spec) AS sketch, nystroem(op, rbf_kernel(0.01)) AS map FROM operators o, specs s, rows WHERE o.name = 'k-means' AND s.name = 'dense' GROUP BY op, spec;
SELECT train('groups', 'few', 'h', 2, options => '{"quiet": true, "group_by": "g"}');
SQL
is($server->query("SELECT string_agg(DISTINCT p.proname, ' ') FROM pg_proc p WHERE p.pronamespace = 'fastclust'::regnamespace AND '\"any\"'::regtype = ANY (p.proargtypes) AND p.provariadic = 0
	AND p.proname <> ALL ('{adjusted_rand_agg,normalized_mutual_information_agg," . join(',', map { /(?:fastclust\.)?(\w+)/ } @calls) . "}')"), '', 'each function of a vector has a call here; labels may have any type, too');
for my $call (@calls)
{
	my $given = $call =~ /_agg\(/ ? '' : ', given';
	my @answers = map { my $with = $call =~ s/\bX\b/$_/r; $server->query("SELECT md5(string_agg(a::text, ',' ORDER BY a::text)) FROM (SELECT $with AS a FROM few$given) q") } qw(f v h s);
	splice @answers, 3 if $call =~ /^sketch_spec_agg/;	# sparse rows are not centered
	is(scalar(grep { $_ ne $answers[0] } @answers), 0, "$call gives the same for each type");
}

# ---- views and indexes ----
$server->query(<<'SQL');
CREATE VIEW labelled AS SELECT i, predict('mh', h) AS label FROM rows;
SELECT format('CREATE INDEX by_bucket ON rows (assign(%L::fastop, h))', op) FROM operators WHERE name = 'k-means' \gexec
ANALYZE rows;
SQL
my $index = $server->query("SELECT pg_get_indexdef('by_bucket'::regclass)");
like($index, qr/assign\(.*h\)/s, 'an index on an expression is created');

# ---- damaged values ----
$server->query(<<'SQL');
CREATE CAST (bytea AS vector) WITHOUT FUNCTION;
CREATE CAST (bytea AS halfvec) WITHOUT FUNCTION;
CREATE CAST (bytea AS sparsevec) WITHOUT FUNCTION;
CREATE TABLE one AS SELECT sketch_spec(2, 20, 1) AS spec, (SELECT fastop_agg(x) FROM unnest(ARRAY['[1,1]', '[8,8]']::vector[]) x) AS op;
SQL
my @damaged = (
	['vector', '\x', 'no head'], ['vector', '\x0200', 'half a head'], ['vector', '\x020000000000803f', 'one of two elements'],
	['vector', '\xffff0000', 'negative dimensions'], ['halfvec', '\x02000000003c', 'one of two elements'], ['halfvec', '\xff7f0000003c003c', 'more dimensions'],
	['vector', '\x020000000000c07f0000803f', 'NaN'], ['halfvec', '\x02000000007e003c', 'NaN'], ['halfvec', '\x02000000007c003c', 'infinite'],
	['sparsevec', '\x02000000', 'half a head'], ['sparsevec', '\x020000000200000000000000010000000000000000000000803f0000803f', 'indices too long'],
	['sparsevec', '\x02000000020000000000000001000000000000000000803f0000803f', 'indices that fall'],
	['sparsevec', '\x02000000010000000000000002000000' . '0000803f', 'an index beyond'], ['sparsevec', '\x020000000100000000000000ffffffff0000803f', 'a negative index'],
	['sparsevec', '\x0200000001000000000000000000000000' . '00c07f', 'NaN'], ['sparsevec', '\x02000000ffffff7f00000000', 'more elements than dimensions'],
	['sparsevec', '\xffffff7f0000000000000000', 'two milliards of dimensions'],
);
for my $call ('sketch_agg(x, spec)', 'assign(op, x)', 'kmeans_agg(x, 1)', 'sketch_spec_agg(x, 1)', 'fastop_agg(x)', 'fastclust.l2_distance(x, x)', "predict('mh', x)", '(lloyd_step_agg(op, x)).n')
{
	my $group = $call =~ /^assign|l2|^predict/ ? '' : 'GROUP BY spec, op';
	for my $case (@damaged)
	{
		my ($type, $bytes, $what) = @$case;
		my ($failed, $rows, $message) = $server->try("\\set VERBOSITY verbose\nSELECT ($call) IS NULL FROM (SELECT '$bytes'::bytea::$type AS x, spec, op FROM one OFFSET 0) q $group");
		like($message, qr/ERROR:  (?:XX001|22000|22003|54000|22023)/, "$call: $type with $what is an error");
	}
}
is($server->query('SELECT 1'), 1, 'the server has survived all damaged values');
$server->query('DROP CAST (bytea AS vector); DROP CAST (bytea AS halfvec); DROP CAST (bytea AS sparsevec)');

# ---- wide sparse rows ----
is($server->query(<<'SQL'), 't|t|0', 'thirty thousand dimensions give the sketches and labels of arrays');
WITH r AS MATERIALIZED (SELECT format('{%s:%s,%s:%s}/30000', 1 + i % 10, 1 + i % 3, 20000 + i, 2)::sparsevec AS s FROM generate_series(1, 200) i),
     d AS MATERIALIZED (SELECT s, fastclust_internal.scaled_vector(NULL, NULL, s)::real[] AS f FROM r), spec AS MATERIALIZED (SELECT sketch_spec_agg(s, 3) AS spec FROM r),
     op AS MATERIALIZED (SELECT fastop_agg(f) AS op FROM (SELECT f FROM d LIMIT 9) q)
SELECT (SELECT sketch_agg(s, spec) = sketch_agg(f, spec) FROM d, spec), (SELECT sketch_agg(s, x) = sketch_agg(f, x) FROM d, (SELECT sketch_spec(30000, 40, 2) AS x) y),
       (SELECT count(*) FROM d, op WHERE assign(op, s) <> assign(op, f))
SQL

# ---- sparse rows are computed by their elements, with the labels, distances, steps and sums of the full rows ----
$server->query(<<'SQL');
CREATE TABLE bags AS
SELECT i, s, fastclust_internal.scaled_vector(NULL, NULL, s)::real[] AS f FROM (
    SELECT i, format('{%s:%s,%s:%s,%s:%s,%s:%s}/403', 1 + i % 7, 1 + i % 3, 20 + i % 7, -2, 200 + i % 150, 0.5 + i % 5, 403 - (i % 2), 0.25)::sparsevec AS s FROM generate_series(1, 400) i
    UNION ALL SELECT 0, '{}/403'
    UNION ALL SELECT 401, '{1:1e10,2:-1e10}/403') q;
CREATE TABLE bag_operators AS SELECT 'euclidean' AS name, kmeans_agg(f, 7) AS op FROM (SELECT f FROM bags WHERE i BETWEEN 1 AND 200) q;
INSERT INTO bag_operators SELECT m, fastop_agg(centroid, weight, jsonb_build_object('metric', m) ORDER BY cluster) FROM bag_operators, centroids(op), unnest('{cosine,inner_product}'::text[]) m GROUP BY m;
INSERT INTO bag_operators SELECT 'equal centroids', fastop_agg(f ORDER BY i) FROM (SELECT i, f FROM bags WHERE i < 4 UNION ALL SELECT i, f FROM bags WHERE i < 4) q;
INSERT INTO bag_operators SELECT 'reranked', factorize(op, 'svd', '{"rerank": "exact"}') FROM bag_operators WHERE name = 'euclidean';
SELECT train('bag', 'bags', 's', 7, options => '{"quiet": true}'), train('bagcosine', 'bags', 's', 7, options => '{"quiet": true, "metric": "cosine"}');
SQL
is($server->query(<<'SQL'), '', 'sparse rows have the labels and distances of full rows');
SELECT name, count(*) FROM bag_operators, bags
 WHERE (assign(op, s), assign_distance(op, s), nearest(op, s, 3)) IS DISTINCT FROM (assign(op, f), assign_distance(op, f), nearest(op, f, 3)) GROUP BY 1
SQL
is($server->query(<<'SQL'), '', 'sparse rows have the steps and scores of full rows');
SELECT name FROM bag_operators, bags WHERE name <> 'inner_product' GROUP BY name, op
HAVING (lloyd_step_agg(op, s ORDER BY i), lloyd_step_agg(op, s, i % 3 ORDER BY i), sse_agg(op, s ORDER BY i), davies_bouldin_agg(op, s ORDER BY i), simplified_silhouette_agg(op, s ORDER BY i))
    IS DISTINCT FROM (lloyd_step_agg(op, f ORDER BY i), lloyd_step_agg(op, f, i % 3 ORDER BY i), sse_agg(op, f ORDER BY i), davies_bouldin_agg(op, f ORDER BY i), simplified_silhouette_agg(op, f ORDER BY i))
SQL
$server->query(<<'SQL');
CREATE TABLE bag_plans AS
SELECT name, ROW(NULL, NULLIF(name, 'euclidean'), NULL, NULL, NULL, sketch_spec(403, 40, 1e9, options => jsonb_build_object('metric', name)),
                 fastclust_internal.drift_spec_of_sample(fastop_agg(f), 1), 2, 100, NULL, NULL, 1, NULL, ARRAY[op], NULL)::fastclust_internal.scan_plan AS plan
  FROM bag_operators, bags WHERE name IN ('euclidean', 'cosine') AND i > 0 GROUP BY name, op;
CREATE TABLE bag_scans AS
SELECT name, form, r.n, r.nulls, ROW(r.n, r.nulls, r.sketch, r.counts::text, r.sample, (r.steps[1]).counts)::text AS parts, (r.steps[1]).sse
  FROM (SELECT name, 'sparse' AS form, fastclust_internal.scan_agg(plan, i, s) AS scan FROM bag_plans, bags GROUP BY name
        UNION ALL SELECT name, 'floats', fastclust_internal.scan_agg(plan, i, f) FROM bag_plans, bags GROUP BY name
        UNION ALL SELECT name, 'vector', fastclust_internal.scan_agg(plan, i, f::vector) FROM bag_plans, bags GROUP BY name) q, fastclust_internal.scan_result(q.scan) r;
SQL
is($server->query(<<'SQL'), "cosine|401|1|1|t\neuclidean|402|0|1|t", 'a scan of sparse rows equals a scan of full rows');
SELECT name, min(n), min(nulls), count(DISTINCT parts), max(sse) - min(sse) <= 1e-12 * max(sse) FROM bag_scans GROUP BY 1 ORDER BY 1
SQL
is($server->query(<<'SQL'), '', 'sparse rows have the predictions of full rows');
SELECT m, count(*) FROM bags b, unnest('{bag,bagcosine}'::text[]) m
 WHERE (predict(m, s), predict_distance(m, s), predict(m, s, max_distance => 1.0), anomaly(m, s)) IS DISTINCT FROM (predict(m, f), predict_distance(m, f), predict(m, f, max_distance => 1.0), anomaly(m, f)) GROUP BY m
SQL
$server->query("SELECT train('bagfull', 'bags', 'f', 7, options => '{\"quiet\": true, \"metric\": \"cosine\"}')");
is($server->query(<<'SQL'), '401|t|t|t|t', 'a training of sparse rows has the statistics, the drift reference and the profile of full rows');
WITH v AS (SELECT m.model, g.* FROM fastclust_internal.stored_models m JOIN fastclust_internal.version_groups g ON g.model_id = m.id)
SELECT s.n, s.drift_counts::text = f.drift_counts::text, abs(s.objective - f.objective) <= 1e-12 * f.objective,
       (SELECT bool_and(abs(a - b) <= 1e-9) FROM unnest(s.distance_quantiles, f.distance_quantiles) u(a, b)),
       (SELECT bool_and(abs(a - b) <= 1e-9) FROM unnest(means(s.training_sketch), means(f.training_sketch)) u(a, b))
  FROM v s, v f WHERE s.model = 'bagcosine' AND f.model = 'bagfull'
SQL
for my $call ('assign_distance(op, s)', "predict('bag', s)", "predict_distance('bag', s)", '(lloyd_step_agg(op, s)).sse', 'sse_agg(op, s)')
{
	my ($failed, $rows, $message) = $server->try("\\set VERBOSITY verbose\nSELECT $call FROM (SELECT op, s FROM bag_operators, (SELECT 1 AS n, s FROM bags UNION ALL SELECT 2, '{1:1}/402') b "
		. "WHERE name = 'euclidean' ORDER BY n) q" . ($call =~ /agg/ ? ' GROUP BY op' : ''));
	like($message, qr/ERROR:  22000: vector has 402 dimensions/, "$call: a row with another dimension is an error");
	($failed, $rows, $message) = $server->try("\\set VERBOSITY verbose\nSELECT $call FROM (SELECT op, s FROM bag_operators, (SELECT 1 AS n, s FROM bags UNION ALL SELECT 2, '{1:1e30}/403') b "
		. "WHERE name = 'euclidean' ORDER BY n) q" . ($call =~ /agg/ ? ' GROUP BY op' : ''));
	like($message, qr/ERROR:  22003: vector is too large/, "$call: a row that is too large is an error");
}

# ---- dump and restore, and dropping the extensions in any order ----
my $before = $server->query("SELECT sum(label) FROM labelled");
$server->dump_into('postgres', 'restored');
is($server->query('SELECT sum(label) FROM labelled', database => 'restored'), $before, 'a dump restores models, views and indexes');
is($server->query("SELECT pg_get_indexdef('by_bucket'::regclass)", database => 'restored'), $index, 'the restored index is the same');

# ---- pgvector can be dropped alone, and a type of the same name that is not its own is no vector ----
$server->query('DROP VIEW labelled; DROP EXTENSION vector CASCADE');
is($server->query("SELECT count(predict('mv', f)) FROM rows"), 1501, 'models of vectors take arrays when pgvector is gone');
like(($server->try("CREATE DOMAIN vector AS bytea; SELECT predict('mv', '\\x0200'::vector)"))[2], qr/a value of type vector is not a vector/, 'a domain called vector is not taken for pgvector\'s type');
like(($server->try("CREATE TYPE halfvec AS ENUM ('a'); SELECT assign(op, 'a'::halfvec) FROM operators"))[2], qr/a value of type halfvec is not a vector/, 'a type called halfvec is not taken for pgvector\'s type');

done_testing();

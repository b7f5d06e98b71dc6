# Every function that can run long notices a cancel within 0.3 s of processor time on a slow
# machine (the aim is 0.1 s).
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->query(q{ALTER DATABASE postgres SET fastclust.memory_budget = '1GB'});	# long calls need memory
$server->make_points(20000, 10, 20);
$server->query(<<'SQL');
CREATE TABLE wide AS SELECT id, x || x || x || x || x || x AS x FROM points;
CREATE TABLE o AS SELECT fastop_agg(y) AS op FROM (SELECT array_agg(v) || array_agg(-v) AS y FROM wide, unnest(x) v WHERE id BETWEEN 6 AND 2405 GROUP BY id / 6) r;
CREATE TABLE r AS SELECT (SELECT fastop_agg(x) FROM wide) AS all_rows, (SELECT fastop_agg(x) FROM wide WHERE id % 20 = 0) AS op;
CREATE TABLE many AS SELECT id, x || x[1:10] AS x FROM wide;
CREATE TABLE m AS SELECT (SELECT fastop_agg(x) FROM many) AS op;
CREATE TABLE s AS SELECT sketch_agg(x, sketch_spec(10, 4000, 0.5)) AS s FROM points WHERE id <= 2000;
CREATE TABLE large (a sketch, b sketch);
ALTER TABLE large ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL;
CREATE VIEW repeated AS SELECT id, x FROM points, generate_series(1, 500);
SELECT train('labels', 'points', 'x', 20, options => '{"quiet": true}');
INSERT INTO large SELECT sketch_agg(x, spec, 0.5) FILTER (WHERE id <= 3), sketch_agg(x, spec, 2.5) FILTER (WHERE id > 3)
  FROM points, sketch_spec(10, 4000000, 1.0) spec WHERE id <= 6;
SQL

my @long = (
	['decode', 'SELECT count(*) FROM s, generate_series(1, 50) i, decode(s, 100 + i)'],
	['decode shift', q{SELECT count(*) FROM s, generate_series(1, 50) i, decode(s, 100 + i, 'shift', '{"starts": 1000}')}],
	['sketch_agg with many frequencies', 'SELECT row_count(sketch_agg(x, sketch_spec(60, 400000, 1.0))) FROM wide'],
	['drawing many frequencies', q{SELECT row_count(sketch_agg(x, sketch_spec(60, 4000000, 1.0, seed => 2))) FROM wide WHERE id <= 3}],
	['density', q{SELECT density(sketch_agg(x, sketch_spec(10, 4000000, 1.0, seed => 3)), array_fill(1::real, ARRAY[10])) FROM points WHERE id <= 6}],
	['sketch_distance', 'SELECT sum(sketch_distance(a, b)) FROM large, generate_series(1, 10)'],
	['sketch + sketch - sketch', 'SELECT sum(row_count(a + b - a)) FROM large, generate_series(1, 10)'],
	['decode of many dimensions', q{SELECT count(*) FROM (SELECT sketch_agg(y, sketch_spec(784, 20000, 10.0)) AS s FROM (SELECT array_fill((id % 7)::real, ARRAY[784]) AS y FROM points WHERE id <= 100) y) s, decode(s, 3)}],
	['kmeans_agg', q{SELECT fastclust_internal.clusters(kmeans_agg(x, 1000, '{"iterations": 100000, "tolerance": 0}')) FROM wide}],
	['a tree of many clusters', 'SELECT sum(fastclust_internal.clusters(q.op)) FROM generate_series(1, 20) i, LATERAL (SELECT kmeans_agg(x, 4000) AS op FROM many WHERE id > i) q'],
	['many clusters refined', q{SELECT fastclust_internal.clusters(kmeans_agg(x, 4000, '{"n_init": 1, "iterations": 100000, "tolerance": 0}')) FROM many}],
	['bytes of many centroids', 'SELECT sum(assign(o.op, y.x)) FROM generate_series(1, 50) i, LATERAL (SELECT fastop_agg(x) AS op FROM many WHERE id > i) o, (SELECT x FROM many LIMIT 300) y'],
	['rows of many clusters', 'SELECT sum(assign((SELECT op FROM m), x)) FROM generate_series(1, 100), many'],
	['sums of many clusters', 'SELECT sse_agg((SELECT op FROM m), x) FROM generate_series(1, 100), many'],
	['a scan with many clusters', 'SELECT fastclust_internal.scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1000, NULL, NULL, 1, NULL, ARRAY[(SELECT op FROM m)], NULL)::fastclust_internal.scan_plan, id, x) FROM generate_series(1, 100), many'],
	['a scan with many frequencies', 'SELECT fastclust_internal.scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, sketch_spec(60, 400000, 1.0), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::fastclust_internal.scan_plan, id, x) FROM wide'],
	['factorize', q{SELECT sum((fastclust.describe(factorize(op, 'hierarchical', ('{"seed": ' || i || '}')::jsonb)) ->> 'nonzeros')::bigint) FROM o, generate_series(1, 50) i}],
	['factorize auto', q{SELECT sum((fastclust.describe(factorize(op, 'auto', ('{"seed": ' || i || '}')::jsonb, op)) ->> 'nonzeros')::bigint) FROM o, generate_series(1, 50) i}],
	['qkmeans_log', q{SELECT count(*) FROM qkmeans_log('wide', 'x', 300, '{"iterations": 10000, "tolerance": 0, "start": "palm4msa"}')}],
	['qkmeans_agg', q{SELECT fastclust_internal.clusters(qkmeans_agg(x, 300, '{"iterations": 10000, "tolerance": 0}')) FROM wide}],
	['rules', q{SELECT count(*) FROM r, generate_series(1, 50) i, rules_of_sample(op, all_rows, all_rows, array_fill(0, ARRAY[60]), array_fill(i, ARRAY[60]), 3)}],
	['score', 'SELECT count(*) FROM r, generate_series(1, 1000) i, quality_of_sample(CASE WHEN i > 0 THEN op END, all_rows)'],
	['profile', q{SELECT count(*) FROM r, generate_series(1, 50) i, profile_of_centroids(all_rows, NULL, NULL, array_fill(i, ARRAY[60]), array_fill(1, ARRAY[60]), array_fill(0, ARRAY[60]), 60, NULL)}],
	['write_labels', q{SELECT write_labels('labels', 'repeated', 'labels', '{"key": "id"}')}],
	['scores of many labels', q{SELECT normalized_mutual_information_agg((i % 1000003)::int, (i % 999983)::int) FROM generate_series(1, 2000000) i}],
);
$server->check_cancel(@$_) for @long;

my $session = $server->background("SET statement_timeout = '200ms'; $long[0][1];", measured => 1);
my ($status, $output) = $server->finish($session);
like($output, qr/canceling statement due to statement timeout/, 'statement_timeout cancels a long call');
cmp_ok($session->{cpu}, '<', 0.2 + 2 * $FastclustTest::patience, 'the call ends within the time limit');

is($server->query('SELECT count(*) FROM s, decode(s, 3)'), 3, 'the session works after the cancel');

# The library is loaded during a cancel, and warns meanwhile of an unknown parameter.
for (2, 4, 8, 16)
{
	my (undef, $rows) = $server->try("SET fastclust.none = 1; \\set ON_ERROR_STOP 0\nSET statement_timeout = $_; SELECT 1 FROM sketch_spec(2, 10, 1.0); RESET statement_timeout; SELECT 'read' FROM sketch_spec(2, 10, 1.0);");
	like($rows, qr/read\z/, "the session works after a timeout of $_ ms in its first call");
}

done_testing();

# Values of every type keep every bit through pg_dump and psql, binary COPY, text, and a crash.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->make_points(3000, 5, 4);
$server->query(<<'SQL');
CREATE TABLE stored (name text PRIMARY KEY, spec sketch_spec, s sketch, op fastop, e encoder, drift fastclust_internal.drift_spec, n fastclust_internal.drift_counts);
INSERT INTO stored (name, spec) SELECT 'agg', sketch_spec_agg(x, 4) FROM points;
INSERT INTO stored (name, spec) VALUES
  ('dense', sketch_spec(5, 100, 0.5, seed => 7)),
  ('structured', sketch_spec(5, 100, 0.5, options => '{"structured": true}')),
  ('scaled', sketch_spec(5, 64, 1.0, 'gaussian', 3, '{1,2,3,4,5}', '{1,1,2,2,3}'));
UPDATE stored t SET s = (SELECT sketch_agg(x, t.spec) FROM points);
INSERT INTO stored (name, spec, s)
  SELECT 'weighted', spec, (SELECT sketch_agg(x, spec, 0.1 * (id % 7)) FROM points) FROM stored WHERE name = 'dense';
UPDATE stored SET op = (SELECT kmeans_agg(x, 4) FROM points) WHERE name = 'dense';
UPDATE stored SET e = (SELECT encoder_agg(ROW(id, x, 'kind ' || id % 50), '{f1,f2,f3}') FROM points) WHERE name <> 'scaled';
UPDATE stored SET drift = (SELECT fastclust_internal.drift_spec_of_sample(fastop_agg(x), 3) FROM points) WHERE name <> 'agg';
CREATE FUNCTION changes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name := NEW.name || chr(33); RETURN NEW; END';
CREATE TRIGGER changes BEFORE UPDATE ON stored FOR EACH ROW WHEN (OLD.s IS DISTINCT FROM NEW.s OR NULLIF(OLD.op, NEW.op) IS NOT NULL) EXECUTE FUNCTION changes();
UPDATE stored t SET n = (SELECT fastclust_internal.drift_counts_agg(x, t.drift) FROM points) WHERE name <> 'agg';
SQL
my ($status, $output, $messages) = $server->try(
	q{UPDATE stored SET op = (SELECT kmeans_agg(ARRAY[1e5 + x[1], x[2]], 4) FROM points) WHERE name = 'scaled'});
is($messages, '', 'an operator with an offset is stored');

# The bytes of the values and the results of functions of them must not change.
my $bytes = <<'SQL';
SELECT name, md5(sketch_spec_send(spec)), md5(sketch_send(s)), md5(fastop_send(op)), md5(encoder_send(e)), md5(drift_spec_send(drift)), md5(drift_counts_send(n)),
       row_count(s), md5(means(s)::text), md5(moments(s)::text), md5(describe(op)::text), md5(describe(e)::text)
  FROM stored ORDER BY name
SQL
my $expected = $server->query($bytes);
is(scalar(my @rows = split /\n/, $expected), 5, 'values of every kind are stored');

$server->dump_into('postgres', 'restored');
is($server->query($bytes, database => 'restored'), $expected, 'a restored dump has the same bytes');

is($server->query("UPDATE stored SET s = s + s WHERE name = 'weighted'; UPDATE stored SET s = s, op = op; SELECT string_agg(name, ' ' ORDER BY name) FROM stored WHERE name ~ '!'", database => 'restored'), 'weighted!',
	'a restored trigger compares values');

$server->copy_binary('stored', 'copied');
is($server->query('SELECT count(*) FROM stored t JOIN copied c USING (name)
	WHERE t.spec IS DISTINCT FROM c.spec OR t.s IS DISTINCT FROM c.s OR t.op IS DISTINCT FROM c.op OR t.e IS DISTINCT FROM c.e OR t.drift::text IS DISTINCT FROM c.drift::text OR t.n::text IS DISTINCT FROM c.n::text'),
	0, 'binary COPY changes no value');
is($server->query('SELECT count(*) FROM stored WHERE NOT spec::text::sketch_spec = spec OR NOT s::text::sketch = s OR NOT op::text::fastop = op OR NOT e::text::encoder = e OR drift::text::fastclust_internal.drift_spec::text <> drift::text OR n::text::fastclust_internal.drift_counts::text <> n::text'),
	0, 'text and back changes no value');

$server->crash_and_restart;
is($server->query($bytes), $expected, 'a crash changes no bytes');

is($server->query(<<'SQL', database => 'restored'), 't', 'a restored sketch can be added to a new one');
SELECT row_count((SELECT s FROM stored WHERE name = 'dense') + sketch_agg(x, (SELECT spec FROM stored WHERE name = 'dense'))) = 6000
  FROM points
SQL

done_testing();

# A continuous aggregate of TimescaleDB keeps the sketches of a hypertable exactly, and
# keep_sketch, which cannot follow one, recommends it.
use FastclustTest;

my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
chomp(my $share = `"$pg_config" --sharedir`);
plan skip_all => 'TimescaleDB is not installed' unless -e "$share/extension/timescaledb.control";

my $server = FastclustTest->new(config => "shared_preload_libraries = 'timescaledb'\ntimescaledb.telemetry_level = off\n");
$server->query(<<'SQL');
CREATE EXTENSION timescaledb;
CREATE EXTENSION fastclust;
CREATE TABLE orders (id integer, at timestamptz NOT NULL, shop text, x real[]);
SELECT create_hypertable('orders', 'at', chunk_time_interval => interval '7 days');
INSERT INTO orders SELECT i, timestamptz '2026-01-01 00:00+00' + i * interval '1 hour', 'shop ' || i % 3, ARRAY[i % 7, i % 11 + 0.25]::real[] FROM generate_series(1, 1000) i;
CREATE MATERIALIZED VIEW by_day WITH (timescaledb.continuous) AS
    SELECT time_bucket('1 day', at) AS day, shop, sketch_agg(x, sketch_spec(2, 40, 1.0)) AS s FROM orders GROUP BY 1, 2 WITH NO DATA;
CREATE VIEW found AS SELECT same_rows((SELECT merge_agg(s) FROM by_day), (SELECT sketch_agg(x, sketch_spec(2, 40, 1.0)) FROM orders)) AS same;
SQL
my $refresh = "CALL refresh_continuous_aggregate('by_day', NULL, NULL);";

is($server->query("$refresh SELECT same FROM found"), 't', 'the sketches of a continuous aggregate are those of a scan');
$server->query("INSERT INTO orders VALUES (2000, '2026-01-05 12:30+00', 'shop 2', '{9,9}'); UPDATE orders SET x = '{3,3}' WHERE id % 100 = 0; DELETE FROM orders WHERE id % 77 = 0");
is($server->query('SELECT same FROM found'), 'f', 'between refreshes they are those of the last refresh');
is($server->query("$refresh SELECT same FROM found"), 't', 'a refresh follows late rows, updates and deletes');
$server->query("ALTER MATERIALIZED VIEW by_day SET (timescaledb.materialized_only = false); INSERT INTO orders SELECT 3000 + i, timestamptz '2026-03-01 00:00+00' + i * interval '1 hour', 'shop 1', '{1,2}' FROM generate_series(1, 50) i");
is($server->query('SELECT same FROM found'), 't', 'real-time aggregation adds newer rows');

# The spec comes from a model, as in the documentation.
$server->query(<<'SQL');
SELECT train('kinds', 'orders', 'x', 3, 'compressive', '{"quiet": true}');
SELECT format('CREATE FUNCTION orders_spec() RETURNS fastclust.sketch_spec LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $f$ SELECT %L::fastclust.sketch_spec $f$', model_spec('kinds')) \gexec
CREATE MATERIALIZED VIEW hourly WITH (timescaledb.continuous) AS SELECT time_bucket('1 hour', at) AS hour, sketch_agg(x, orders_spec()) AS s FROM orders GROUP BY 1;
SQL
is($server->query("SELECT same_rows(merge_agg(s), (SELECT sketch_agg(x, orders_spec()) FROM orders)) FROM hourly"), 't', 'a continuous aggregate can use the spec of a model');
is($server->query("SELECT (drift('kinds', sketch => merge_agg(s))).n FROM hourly WHERE hour < '2026-01-10'"), $server->query("SELECT count(*) FROM orders WHERE at < '2026-01-10'"), 'drift can be measured for some hours');
my (undef, undef, $subquery) = $server->try("CREATE MATERIALIZED VIEW other WITH (timescaledb.continuous) AS SELECT time_bucket('1 hour', at) AS hour, sketch_agg(x, (SELECT model_spec('kinds'))) AS s FROM orders GROUP BY 1");
like($subquery, qr/invalid continuous aggregate query/, 'a continuous aggregate with a subquery is refused');

my (undef, undef, $whole) = $server->try("SELECT keep_sketch('a', 'orders', 'x', sketch_spec(2, 40, 1.0))", verbosity => 'verbose');
like($whole, qr/ERROR:  0A000: .* cannot be followed by a live sketch\nDETAIL:  It is a hypertable of TimescaleDB, or a chunk of one\.\nHINT:  Keep a table with a sketch_agg/, 'keep_sketch refuses a hypertable and recommends a continuous aggregate');
my $chunk = $server->query("SELECT c FROM show_chunks('orders') c LIMIT 1");
my (undef, undef, $part) = $server->try("SELECT keep_sketch('a', '$chunk', 'x', sketch_spec(2, 40, 1.0))", verbosity => 'verbose');
like($part, qr/ERROR:  0A000: .* cannot be followed by a live sketch/, 'keep_sketch refuses a chunk');
done_testing();

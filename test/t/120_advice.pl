# Each case provokes a message and follows its hint literally; the message must not appear again.
# All hints of the sources name existing functions, options and settings.
use FastclustTest;
use File::Basename qw(dirname);
use JSON::PP qw(decode_json);

my $root = dirname(__FILE__) . '/../..';
my $server = FastclustTest->new(extension => 1);
my $prologue = "SET search_path = public, fastclust; SET client_min_messages = notice; SET timezone = 'UTC';\n";

# Returns the messages of a statement, whether it fails or not.
sub messages_of { return ($server->try("$prologue$_[0]"))[2] }
# Returns the hint of an error, or of the first other message that has one.
sub hint_of { my ($messages) = @_; return $messages =~ /ERROR:.*?HINT:  (.*?)(?:\n|\z)/s || $messages =~ /HINT:  (.*)/ ? $1 : '' }

# Returns the literal of options in a hint.
sub options_of { my ($hint) = @_; return $hint =~ /(E?'\{(?:[^']|'')*\}')/ ? $1 : undef }

# Passes if a statement provokes a message, and the statement made from its hint does not.
sub follows
{
	my ($name, $provoke, $message, $follow) = @_;
	my $messages = messages_of($provoke);
	my $hint = hint_of($messages);
	my $advised = defined $hint ? $follow->($hint) : undef;

	like($messages, $message, "$name: the statement provokes the message");
	if (!defined $advised)
	{
		fail("$name: the hint contains a statement");
		diag("hint: $hint");
		return;
	}
	my ($status, undef, $said) = $server->try("$prologue$advised");
	ok($status == 0 && $said !~ $message, "$name: following the hint works: $hint")
		or diag("did: $advised\ngot: $said");
}

# Returns the same call of train with the options of the hint.
sub trains
{
	my ($name, $table, $columns, $message, $options) = @_;
	my $given = defined $options ? ", options => $options" : '';

	follows($name, "SELECT train('m', '$table', $columns, 3$given);", $message,
		sub { my $advised = options_of($_[0]); return defined $advised ? "SELECT train('m', '$table', $columns, 3, options => $advised);" : undef });
}

# ---- types that are no features: the hint has an expression for a view ----
$server->query(<<'SQL');
CREATE TYPE pair AS (a int, "B b" int);
CREATE DOMAIN amount AS money;
CREATE TABLE kinds AS SELECT i AS n, ARRAY[i % 2 = 0, i % 3 = 0] AS "Flags", (i % 9)::money AS price, (i % 8)::money::amount AS amount, ARRAY[(i % 4)::money] AS prices,
       point(i % 4, i % 5) AS place, box(point(0, 0), point(i % 3, i % 4)) AS "it's a box", circle(point(i % 3, 0), 1) AS round, (i % 8)::bit(3) AS bits, (i % 8)::bit(3)::bit varying AS more_bits,
       ROW(i % 4, i % 5)::pair AS "row", ARRAY['1', (i % 4)::text] AS digits, ARRAY['tag ' || i % 3, CASE WHEN i % 2 = 0 THEN 'some text' END] AS tags, jsonb_build_object('key', i % 4)::json AS j,
       ARRAY[jsonb_build_object('key', i % 4)] AS js, ('10.0.0.' || i % 9)::inet AS ip, ('08:00:2b:01:02:0' || i % 6)::macaddr AS mac, int4range(i % 5, i % 5 + 3) AS span,
       tstzrange('2026-01-01', '2026-01-02'::timestamptz + i % 7 * interval '1 hour') AS stay, ARRAY[date '2024-01-01' + i % 8] AS days,
       (i % 5)::oid AS o, (ARRAY['pg_type', 'pg_class', 'pg_proc'])[1 + i % 3]::regclass AS relation, (ARRAY['int', 'public.pair'])[1 + i % 2]::regtype AS "a Type", (ARRAY['sin(float)', 'cos(float)'])[1 + i % 2]::regprocedure AS func, (ARRAY['+(int,int)', '-(int,int)'])[1 + i % 2]::regoperator AS op, (ARRAY['simple', 'english'])[1 + i % 2]::regconfig AS language,
       ('x' || i % 7)::bytea AS bytes, to_tsvector('simple', 'dog cat ' || i % 4) AS words, '$.a'::jsonpath AS path
  FROM generate_series(1, 600) i;
SQL
my @columns = split /\n/, $server->query(q{SELECT attname FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attnum > 1 ORDER BY attnum});
my %followed;
for my $column (@columns)
{
	my $quoted = $column =~ s/'/''/gr;
	my $hint = hint_of(messages_of("SELECT train('m', 'kinds', ARRAY['$quoted', 'n'], 3);"));
	my $paths = $hint =~ /name paths/;
	my ($advice, $instead) = $hint =~ /^Cluster a view with (.*?)(?:, else with columns such as (.*?))?(?:, and name paths into it| if it has few distinct values)?, or leave out the column\.$/;

	if (!defined $advice)
	{
		is($hint, 'Leave out the column.', "$column: the hint says that nothing makes a feature of it");
		$followed{$column} = $hint;
		next;
	}
	$advice = $instead if $column eq 'tags';
	$advice =~ s/ if its texts are numbers//;
	$advice =~ s/^a column for each .*?, such as //;
	my ($first, @others) = split / and |, or with /, $advice;
	s/ as categories// for ($first, @others);
	my $view = join ', ', map { my $i = $_; ($first, @others)[$i] . " AS c$i" } 0 .. @others;
	my $options = $paths || $column eq 'js' ? q{, options => '{"encoder": {"paths": {"c0": ["key"]}}}'} : '';
	my ($status, undef, $said) = $server->try(<<"SQL");
$prologue SET client_min_messages = error;
CREATE OR REPLACE TEMP VIEW v AS SELECT $view FROM kinds;
SELECT train('m', 'v', (SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'v'::regclass), 2$options);
SQL
	is($said, '', "$column: a view with the expression of the hint works: $hint");
	$followed{$column} = $hint;
}
unlike($followed{$_}, qr/::text for categories/, "$_: the hint does not recommend its text as categories") for qw(place price bytes words row span path);
unlike($followed{$_}, qr/\)::text/, "$_: the hint does not recommend a text that depends on search_path") for 'relation', 'a Type', 'func', 'op', 'language';
like($followed{Flags}, qr/\("Flags"\)::integer\[\]/, 'booleans become integers');

# ---- columns that cause warnings ----
$server->query(<<'SQL');
SELECT setseed(.5);
CREATE TABLE skewed AS SELECT date '2024-01-01' + (1000 * random())::int - CASE WHEN random() < 0.003 THEN 45000 ELSE 0 END AS day,
       timestamp '2024-01-01' + 1000 * random() * interval '1 day' + CASE WHEN random() < 0.003 THEN interval '45000 days' ELSE '0' END AS at,
       CASE WHEN random() < 0.003 THEN -1e6 * random() ELSE 1000 + random() END AS low, CASE WHEN random() < 0.003 THEN 1e6 * random() ELSE random() - 5 END AS high,
       CASE WHEN random() < 0.003 THEN interval '9 years' * (1 + random()) ELSE interval '9 days' + random() * interval '1 hour' END AS wait,
       exp(3 * sqrt(-2 * ln(1 - random())) * cos(6.283 * random())) AS "Income in ""k""'s", 1000 - exp(3 * sqrt(-2 * ln(1 - random())) * cos(6.283 * random())) AS "left", random() AS a,
       CASE WHEN i % 10 > 0 THEN date '2024-01-01' + (1000 * random())::int - CASE WHEN random() < 0.003 THEN 45000 ELSE 0 END END AS gaps,
       CASE WHEN i % 50 = 0 THEN 100 * (random() - 0.5) WHEN i % 50 = 1 THEN -100 ELSE 0.01 * random() END AS wild,
       (i % 200 = 0)::int AS mark
  FROM generate_series(1, 10000) i;
CREATE TABLE wide AS SELECT CASE WHEN i % 400 = 0 THEN date '5800000-01-01' ELSE date '4000-01-01 BC' + (700000 * random())::int END AS day, CASE WHEN i % 400 = 0 THEN timestamp '290000-01-01' - i * interval '1 day' ELSE timestamp '4000-01-01 BC' + 700000 * random() * interval '1 day' END AS at,
       CASE WHEN i % 400 = 0 THEN interval '100000000 years' ELSE random() * interval '2000000 years' END AS wait, random() AS a FROM generate_series(1, 8000) i;
CREATE TABLE orders AS SELECT to_char(1000 * (i * 7919 % 10007), 'FM99,999,999') AS written, (i * 7919 % 10007 / 10.0)::text AS digits, date '2024-01-01' + i % 100 AS repeats, date '2024-01-01' + i / 20 AS day, timestamptz '2024-01-01' + i * interval '7 minutes' AS at,
       i % 7 AS a, 0.1 AS one, 1e9 / 3 AS two, random() AS b, 2 * i + random() AS c, CASE WHEN i % 8 < 6 THEN random() END AS mostly, CASE WHEN i % 20 = 0 THEN -999 ELSE (90 * random())::int END AS age FROM generate_series(1, 10000) i;
ALTER TABLE orders ADD d float8;
UPDATE orders SET d = b + 0.01 * random();
CREATE TABLE again AS SELECT repeats, a, one, two FROM orders;     -- in their order
SQL
my $skew = qr/has skew/;
for my $column ('day', 'at', 'low', 'high', 'wait', 'left', 'gaps', q{Income in "k"'s})
{
	my $quoted = $column =~ s/'/''/gr;
	trains("skew of $column", 'skewed', "ARRAY['$quoted', 'a']", $skew);
}
for my $column ('day', 'at', 'wait')
{
	unlike(messages_of("SELECT train('m', 'wide', '{$column,a}', 3);"), qr/ERROR/, "a fence outside of the range of $column is no error");
}
like(hint_of(messages_of(q{SELECT train('m', 'skewed', '{day,a}', 3);})), qr/"where": "day >= ''\d{4}-\d\d-\d\d''"/, 'a date is bounded by a date');
my $nulls = q{SELECT count(*) FILTER (WHERE gaps IS NULL), count(*) FROM skewed WHERE };
my ($condition) = hint_of(messages_of(q{SELECT train('m', 'skewed', '{gaps,a}', 3);})) =~ /"where": "(.*?)"/;
like($server->query($nulls . ($condition // 'false') =~ s/''/'/gr), qr/^1000\|99[67]\d$/, 'rows with an unknown date are kept');
trains('skew besides a condition', 'skewed', q{'{day,a}'}, $skew, q{'{"where": "a < 0.9"}'});
like(hint_of(messages_of(q{SELECT train('m', 'skewed', '{day,a}', 3, options => '{"where": "a < 0.9"}');})), qr/"\(.*a < .*\) AND day >= /, 'the retraining keeps the condition');
trains('rows far out', 'skewed', q{'{wild,a}'}, qr/far out/);

follows('a rare mark', q{SELECT train('m', 'skewed', '{mark,a}', 3);}, $skew,
	sub { return $_[0] =~ /option "where"/ ? q{SELECT train('m', 'skewed', '{mark,a}', 3, options => '{"where": "mark = 0"}');} : undef });

unlike(messages_of(q{SELECT train('m', 'again', '{repeats,a}', 3);}), qr/only grows/, 'repeated dates do not grow');
for my $column ('day', 'at')
{
	follows("$column grows", "SELECT train('m', 'orders', '{$column,a,b}', 3);", qr/only grows/, sub {
		my ($options) = $_[0] =~ /: ('.*')\.$/m or return undef;
		return "SELECT train('m', 'orders', '{$column,a,b}', 3, options => $options); SELECT 1 / (count(DISTINCT predict('m', o)) > 2)::int FROM orders o;" });
}
like(messages_of(q{SELECT train('m', 'orders', '{a,b,mostly}', 3, options => '{"encoder": {"nulls": "skip"}}');}), qr/NULL in "mostly" are left out: 7500 rows remain, and about 25 % of the rows are left out/, 'rows with a NULL that are skipped are counted');
unlike(messages_of(q{CREATE OR REPLACE TEMP VIEW rare AS SELECT a, b, CASE WHEN a = 0 THEN mostly END AS rare FROM orders; SELECT train('m', 'rare', '{a,b,rare}', 3, options => '{"encoder": {"nulls": {"rare": "skip"}}}');}), qr/"rare" is NULL in/, 'a column whose NULLs are skipped counts for all clusters');
follows('categories are numbers', q{CREATE OR REPLACE TEMP VIEW few AS SELECT (a * 10)::text AS ten, b FROM orders; SELECT train('m', 'few', '{ten,b}', 3);}, qr/are numbers, but count as categories/, sub {
	my ($expression) = $_[0] =~ /cluster a view with (.*)\.$/ or return undef;
	return "CREATE OR REPLACE TEMP VIEW few AS SELECT (a * 10)::text AS ten, b FROM orders; CREATE OR REPLACE TEMP VIEW numbers AS SELECT $expression, b FROM few; SELECT train('m', 'numbers', '{ten,b}', 3);" });
follows('times around midnight', q{CREATE OR REPLACE TEMP VIEW clock AS SELECT at::time AS clock, b FROM orders; SELECT train('m', 'clock', '{clock,b}', 3);}, qr/before and after midnight/, sub {
	my $options = options_of($_[0]);
	return defined $options ? "CREATE OR REPLACE TEMP VIEW clock AS SELECT at::time AS clock, b FROM orders; SELECT train('m', 'clock', '{clock,b}', 3, options => $options);" : undef });
unlike(messages_of(q{SELECT train('m', 'again', '{one,two,a}', 3);}), qr/near copies/, 'two columns that never change are not called copies');
like(messages_of(q{SELECT train('m', 'orders', '{b,d,a}', 3);}), qr/near copies/, 'two equal columns are called copies');
follows('a number for none', q{SELECT train('m', 'orders', '{age,a,b}', 3);}, qr/far from all other values/, sub {
	my ($expression) = $_[0] =~ /(NULLIF\(.*\) AS age)\.$/ or return undef;
	return "CREATE OR REPLACE TEMP VIEW v AS SELECT $expression, a, b FROM orders; SELECT train('m', 'v', '{age,a,b}', 3, options => '{\"quiet\": true}');" });

for my $column ('written', 'digits')
{
	follows("$column are texts of numbers", "SELECT train('m', 'orders', '{$column,a,b}', 3);", qr/too many or too long values/, sub {
		my ($expression) = $_[0] =~ /cluster a view with (.*?);/ or return undef;
		return "CREATE OR REPLACE TEMP VIEW numbers AS SELECT $expression, a, b FROM orders; SELECT train('m', 'numbers', '{$column,a,b}', 3, options => '{\"quiet\": true}');" });
}

# ---- options of an encoder belong under "encoder" in the options of train ----
$server->query(<<'SQL');
CREATE TABLE things AS SELECT i AS id, i % 7 AS a, i % 5 * 1.5 AS b, 'k' || i % 3 AS c, i % 2 = 0 AS yes, date '2024-01-01' + i * 31 % 300 AS day, jsonb_build_object('key', i % 4, 'key.of.an.object', 1) AS "pro'ps", CASE WHEN i % 9 > 0 THEN i % 11 END AS n,
       ARRAY[i % 5, i % 3]::real[] AS x, 1e300 * (1 + i % 5) AS huge FROM generate_series(1, 2000) i;
SQL
trains('paths', 'things', q{'{a,pro''ps}'}, qr/no paths/);
trains('a path that is no list', 'things', q{'{a,pro''ps}'}, qr/must have a list/, q{'{"encoder": {"paths": {"pro''ps": "key"}}}'});
trains('NULL is an error', 'things', '\'{a,n}\'', qr/"n" is NULL/, q{'{"encoder": {"nulls": "error"}}'});
trains('a NULL does not count', 'things', '\'{a,n}\'', qr/does not count in their distances/);
trains('large numbers', 'things', '\'{a,huge}\'', qr/too large/);
follows('categories in a density', q{SELECT train('m', 'things', '{a,b,c}', method => 'density');}, qr/do not count in the density/,
	sub { my $options = options_of($_[0]); return defined $options ? "SELECT train('m', 'things', '{a,b,c}', method => 'density', options => $options);" : undef });
for my $key (qw(transform nulls weight paths categories))
{
	my $hint = hint_of(messages_of(qq{SELECT train('m', 'things', '{a,b}', 3, options => '{"$key": {"a": 1}}');}));
	like($hint, qr/\{"encoder": \{"$key": \.\.\.\}\}/, "the hint says that $key is a key of encoder");
}

for my $key (qw(weight weights sample_weight))
{
	follows("weights of rows as $key", qq{SELECT train('m', 'things', '{a,b}', 3, options => '{"$key": "b"}');}, qr/is not an option of train/,
		sub { my ($json) = $_[0] =~ /: (\{.*\})\.$/ or return undef; return "SELECT train('m', 'things', '{a,b}', 3, options => '$json');" });
}

# ---- arguments and other options ----
for my $case ([q{"method": "density"}, 'method', q{'{a,b}', method => 'density'}], [q{"k": 4}, 'k', q{'{a,b}', k => 4}])
{
	my ($option, $argument, $call) = @$case;
	like(hint_of(messages_of(qq{SELECT train('m', 'things', '{a,b}', 3, options => '{$option}');})), qr/argument of train: $argument =>/, "the hint says that $argument is an argument of train");
	is(messages_of(qq{SELECT train('m', 'things', $call, options => '{"quiet": true}');}), '', "$argument works as an argument");
}
follows('options where the method belongs', q{SELECT train('m', 'things', '{a,b}', 3, '{"quiet": true}');}, qr/looks like options/,
	sub { my ($argument) = $_[0] =~ /(options => '.*?')\./ or return undef; return "SELECT train('m', 'things', '{a,b}', 3, $argument);" });
$server->query(q{SELECT train('mixed', 'things', '{a,c,yes,day}', 3, options => '{"quiet": true}'); SELECT train('groups', 'things', '{a,b}', 3, options => '{"quiet": true, "group_by": "c"}')});
for my $call (q{predict('mixed', 1, 2)}, q{predict('mixed', ROW(1, 'k1', true))})
{
	my $hint = hint_of(messages_of("SELECT $call;"));
	next if $call =~ /ROW/ && like($hint, qr/does not name its columns/, 'the hint says that a row of ROW has no names');
	my ($row) = $hint =~ /(\(SELECT .* AS .*\) t)\./;
	is(messages_of("SELECT predict('mixed', t) FROM " . ($row // '(no row)')), '', "following the hint works for a row of values: $hint");
}
is(messages_of(q{SELECT predict('mixed', t) FROM (SELECT * FROM things LIMIT 1) t;}), '', 'the hint recommends the whole row');
like(hint_of(messages_of(q{SELECT * FROM profile('groups');})), qr/group_value => '\.\.\.'/, 'the hint asks for the name of the group');
is(messages_of(q{SELECT count(*) FROM profile('groups', group_value => 'k1'); SELECT predict('groups', ARRAY[1, 2], group_value => 'k1');}), '', 'naming the group works');
like(hint_of(messages_of(q{SELECT drift('groups', sketch => (SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 3) FROM things)) FROM things));})), qr/drift\(model, by => 'group'\)/, 'the hint recommends drift by group');
is(messages_of(q{SELECT count(*) FROM drift('groups', by => 'group');}), '', 'drift by group works');
follows('a metric that has no means', q{SELECT train('m', 'things', 'x', 3, options => '{"metric": "inner_product"}');}, qr/can assign rows to clusters/, sub {
	my ($call) = $_[0] =~ /(fastop_agg\(.*?'\))/ or return undef;
	return "SELECT train('m', 'things', 'x', 3, options => '{\"quiet\": true, \"metric\": \"cosine\"}'); SELECT assign((SELECT $call FROM model_clusters WHERE model = 'm'), x) FROM things LIMIT 1;" });
follows('a window without a column', q{SELECT drift('mixed', since => '{"column": "a", "interval": "2 days"}');}, qr/not a time/,
	sub { my ($json) = $_[0] =~ /(\{"where": "\.\.\."\})/ or return undef; return "SELECT drift('mixed', since => '" . ($json =~ s/\.\.\./a > 3/r) . "');" });
follows('a key of labels', q{SELECT write_labels('mixed', 'things', 'labels');}, qr/no primary key/,
	sub { my ($json) = $_[0] =~ /(\{"key": .*\})/ or return undef; return "SELECT write_labels('mixed', 'things', 'labels', options => '" . ($json =~ s/\.\.\./id/r) . "');" });
is(messages_of(q{SELECT write_labels('mixed', 'things', 'labels', options => '{"key": ["id"], "replace": true}');}), '', 'labels are written again with option "replace"');

# ---- vectors with elements that are no numbers, and names in the place of operators ----
$server->query(q{CREATE TABLE vectors AS SELECT i AS id, CASE WHEN i % 9 = 3 THEN '{3,NULL}' ELSE ARRAY[i % 7, i % 5]::real[] END AS x,
       CASE WHEN i % 9 = 4 THEN '{3,NaN}' ELSE ARRAY[i % 7, i % 5]::real[] END AS "it's b" FROM generate_series(1, 300) i});
trains('a vector with a NULL', 'vectors', "'x'", qr/element 2 is NULL/);
trains('a vector with a NaN', 'vectors', "'it''s b'", qr/element 2 is NaN/);
trains('a vector with a NaN beside a condition', 'vectors', "'it''s b'", qr/element 2 is NaN/, q{'{"where": "id > 7"}'});
$server->query(q{CREATE TABLE lengths AS SELECT i AS id, CASE WHEN i = 150 THEN '{1,2}' ELSE ARRAY[i % 7, i % 5, i % 3]::real[] END AS "it's x" FROM generate_series(1, 300) i});
trains('a vector of another dimension', 'lengths', "'it''s x'", qr/vector has 2 dimensions, but the first row has 3/);
trains('a vector of another dimension beside a condition', 'lengths', "'it''s x'", qr/vector has 2 dimensions/, q{'{"where": "id > 7"}'});
for my $options ('{"sparsity": 2}', '{"factors": 2}')
{
	my ($value) = $options =~ /(\d+)/;
	follows("qkmeans with $options", qq{SELECT train('m', 'things', 'x', 3, 'qkmeans', '$options');}, qr/is not an option of train|must be an object/,
		sub { my ($json) = $_[0] =~ /(\{"factors": .*\})\.$/ or return undef; return "SELECT train('m', 'things', 'x', 3, 'qkmeans', '" . ($json =~ s/\.\.\./$value/r) . "');" });
}
follows('a metric in the place of the method', q{SELECT train('m', 'things', 'x', 3, 'cosine');}, qr/method "cosine" is not known/,
	sub { my ($argument) = $_[0] =~ /(options => '.*?')\./ or return undef; return "SELECT train('m', 'things', 'x', 3, $argument);" });
like(hint_of(messages_of(q{SELECT train('m', 'things', '{a,b}', NULL, 'kernel');})), qr/Pass the number of clusters/, 'the hint of a kernel without k says to pass it');
follows('the name of a model in the place of its operator', q{SELECT assign('m', ARRAY[1, 2])}, qr/invalid input syntax for type fastop/,
	sub { return $_[0] =~ /pass (model_operator\('m'\))\./ ? "SELECT assign($1, ARRAY[1, 2])" : undef });

# ---- sketches of columns whose scales differ ----
$server->query(q{CREATE TABLE uneven AS SELECT i % 4 + sin(i) AS small, CASE WHEN i % 11 > 0 THEN 1.7e7 * (i * 0.6180339 - floor(i * 0.6180339)) ELSE 8e6 END AS large
  FROM generate_series(1, 8000) i});
my $decoded = 'SELECT count(d) FROM (SELECT sketch_agg(x, (SELECT fastclust.sketch_spec_agg(x, 4) FROM coordinates)) AS s FROM coordinates) c, decode(s, 4) d;';
follows('columns of unequal scales', "WITH coordinates AS (SELECT ARRAY[small, large] AS x FROM uneven) $decoded", qr/deviations of the columns differ by a factor/,
	sub { return $_[0] =~ /(encode_row)/ ? "WITH coordinates AS (SELECT $1(e, u) AS x FROM uneven u, (SELECT encoder_agg(u, '{small,large}') AS e FROM uneven u) f) $decoded" : undef });

# ---- every hint of the sources names things that exist ----

# Collects [place, text] of each hint: strings of C after errhint, strings of SQL after HINT =.
sub hints
{
	my ($path) = @_;
	my $text = do { local $/; open my $file, '<', "$root/$path" or die "$path: $!"; <$file> };
	my @hints;

	while ($text =~ /(errhint\w*\s*\(|\bHINT\s*=\s*)/g)
	{
		my $rest = substr $text, pos $text, 1500;
		my ($part) = $path =~ /\.c$/ ? $rest =~ /^(.*?)(?:\)\s*;|\bereport\b|\berrmsg\b|\z)/s : $rest =~ /^((?:'(?:[^']|'')*'|[^;'])*)/s;
		my $string = $path =~ /\.c$/ ? qr/"((?:[^"\\]|\\.)*)"/s : qr/'((?:[^']|'')*)'/s;
		my $hint = join '', $part =~ /$string/g;
		$hint =~ s/\\"/"/g if $path =~ /\.c$/;
		$hint =~ s/''/'/g if $path !~ /\.c$/;
		push @hints, [$path, $hint] if $hint =~ /\w/;
	}
	return @hints;
}
my @paths = split /\n/, qx{cd "$root" && find src/pg src/sql -name '*.c' -o -name '*.sql' | sort};
my @hints = map { hints($_) } @paths;
cmp_ok(scalar @hints, '>', 200, 'the sources have hints');

my %known = map { $_ => 1 } split(/\n/, $server->query(q{SELECT DISTINCT proname FROM pg_proc})), qw(any as at extract nullif format read uncommitted);
my @unknown = map { my ($path, $hint) = @$_; map { "$path: $_" } grep { !$known{lc $_} } $hint =~ /(?<![\w%.])([A-Za-z_]\w*)\(/g } @hints;
$known{$_} = 1 for qw(replicate_reference_tables row sketch);		# words that look like calls: Citus, ROW(...)
is(join("\n", grep { !/: (?:replicate_reference_tables|ROW)$/ } @unknown), '', 'functions named by hints exist');

my %option = map { $_ => 1 } split /\n/, $server->query(q{SELECT DISTINCT option FROM unnest('{train,retrain,choose_k,write_labels,keep_sketch}'::text[]) f, fastclust.option_help(f)});
my @wrong;
for my $case (@hints)
{
	my ($path, $hint) = @$case;
	for my $chain ($hint =~ /(\{"\w+": (?:\{"\w+": )?)/g)
	{
		my @keys = $chain =~ /"(\w+)"/g;
		my $inner = "$keys[0]." . ($keys[1] // '');
		my $window = $option{"since.$keys[0]"};		# since is also an argument of drift
		push @wrong, "$path: $chain" if !$option{$keys[0]} && !$window || $keys[0] =~ /^(?:encoder|live|since)$/ && defined $keys[1] && !$option{$inner};
	}
	for my $name ($hint =~ /options? "(\w+)"/g)
	{
		# options of decode and of sketch_spec_agg, which option_help does not list
		push @wrong, "$path: option $name" if !$option{$name} && $name !~ /^(?:polish|dimensions|structured)$/;
	}
}
is(join("\n", @wrong), '', 'options shown by hints are those of a function, within the right object');
my %setting = map { $_ => 1 } split /\n/, $server->query(q{LOAD 'fastclust'; SELECT name FROM pg_settings});
is(join("\n", map { my ($path, $hint) = @$_; map { "$path: $_" } grep { !$setting{$_} } $hint =~ /\b(fastclust\.\w+?)(?=%|\b)/g } @hints), '', 'settings named by hints exist');

done_testing();

# Training and prediction work with what drivers send (parameters of psycopg2, psycopg 3,
# node-postgres and JDBC), and SQLAlchemy reads the tables. A driver that is not installed is
# skipped.
use FastclustTest;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Socket::INET;

my $port = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1)->sockport;
my $server = FastclustTest->new(config => "listen_addresses = '127.0.0.1'\nport = $port\n");	# JDBC needs TCP
$ENV{PGPORT} = $port;
$server->query(<<'SQL');
CREATE EXTENSION fastclust;
CREATE TABLE orders AS SELECT i AS id, ARRAY[i % 3 * 10 + sin(i), i % 2 * 10 + cos(i)]::real[] AS x, i % 3 * 10 + sin(i) AS amount, i % 2 * 10 + cos(i) AS items,
    CASE WHEN i % 3 = 0 THEN 'web' ELSE 'shop' END AS channel, timestamptz '2026-01-01' + i * interval '1 hour' AS at FROM generate_series(1, 1200) i;
SQL
my $directory = tempdir(CLEANUP => 1);

sub script
{
	my ($name, $text) = @_;
	open my $file, '>', "$directory/$name" or die $!;
	print $file $text;
	close $file or die $!;
	return "$directory/$name";
}

# A script prints "ok - NAME" or "not ok - NAME" for each check, and "end" as its last line.
sub run_driver
{
	my ($driver, @command) = @_;
	my $output = qx{@command 2>&1};
	ok($1 eq '', "$driver: $2") while $output =~ /^(|not )ok - (.*)$/mg;
	like($output, qr/^end$/m, "$driver: the script reaches its end");
}

my ($python) = grep { -x $_ } '/usr/bin/python3', '/usr/local/bin/python3';
sub has_module { return defined $python && system("$python -c 'import $_[0]' 2>/dev/null") == 0 }

# ---- Python: psycopg2 writes parameters into the statement, psycopg 3 lets the server bind them ----
my $common = <<'PY';
import json
def check(what, good):
    print(('' if good else 'not ') + 'ok - ' + what)
def one(cursor, query, arguments=()):
    cursor.execute(query, arguments)
    return cursor.fetchone()
def steps(connection, cursor, failure):
    cursor.execute("SET search_path = public, fastclust; SET client_min_messages = warning")
    check('train of vectors', one(cursor, "SELECT train(%s, %s, %s, %s, options => %s)", ('v', 'orders', 'x', 6, json.dumps({'quiet': True})))[0] >= 1)
    check('train of a list of columns', one(cursor, "SELECT train(%s, %s, %s::text[], %s)", ('c', 'public.orders', ['amount', 'items', 'channel'], 6))[0] >= 1)
    check('a list of names as it is sent', one(cursor, "SELECT train(%s, %s, %s, %s)", ('n', 'orders', ['amount', 'items'], 6))[0] >= 1)
    where = [one(cursor, "SELECT predict(%s, %s::real[])", ('v', [10.0 * i, 10.0 * j]))[0] for i in range(3) for j in range(2)]
    check('predict of lists, a cluster for each centre', sorted(where) == list(range(6)))
    check('predict of a list as it is sent', one(cursor, "SELECT predict(%s, %s)", ('v', [10.0, 0.0]))[0] == where[2])
    check('integers are numbers too', one(cursor, "SELECT predict(%s, %s::real[])", ('v', [10, 0]))[0] == where[2])
    check('predict of values', one(cursor, "SELECT predict(%s, %s, %s)", ('n', 10.5, 0.5))[0] is not None)
    check('predict of a NULL', one(cursor, "SELECT predict(%s, %s::real[])", ('v', None))[0] is None)
    check('rows of a table', one(cursor, "SELECT count(DISTINCT predict(%s, o)) FROM orders o", ('c',))[0] == 6)
    check('drift with a window', one(cursor, "SELECT verdict FROM drift(%s, since => %s)", ('v', json.dumps({'column': 'at', 'interval': '20 days'})))[0] in ('none', 'slight'))
    check('jsonb comes as an object', isinstance(one(cursor, "SELECT describe(%s)", ('v',))[0], dict))
    check('a centroid comes as a list', len(one(cursor, "SELECT centroid FROM model_clusters WHERE model = %s LIMIT 1", ('v',))[0]) == 2)
    check('named clusters', one(cursor, "SELECT name_cluster(%s, %s, %s)", ('v', 0, 'first')) is not None)
    try:
        one(cursor, "SELECT train(%s, %s, %s, %s, options => %s)", ('v', 'orders', 'x', 6, '{"sed": 1}'))
        check('an error', False)
    except failure as e:
        check('an error has its SQLSTATE and hint', getattr(e, 'sqlstate', None) in ('22023', None) and 'seed' in str(e.diag.message_hint))
    connection.rollback()
    print('end')
PY

# ---- the Python of the documentation: the blocks of a page are one script ----
for my $page (['recipes', 'psycopg2, numpy, pandas'], ['python', 'psycopg, numpy'])
{
	my ($name, $modules) = @$page;
	open my $file, '<:encoding(UTF-8)', dirname(__FILE__) . "/../../docs/$name.md" or die $!;
	my $text = do { local $/; <$file> };
	my ($code, $shown) = ('', '');
	while ($text =~ /^```python\n(.*?)^```\n(?:\n^```output\n(.*?)^```)?/gms)
	{
		$code .= $1;
		$shown .= $2 // '';
	}
	SKIP:
	{
		skip "$modules: one is not installed", 1 unless has_module($modules);
		my $printed = qx{$python @{[script('page.py', $code)]} 2>&1};
		is($printed =~ s/ +$//gmr, $shown, "docs/$name.md: the Python prints what the page shows");
	}
}

SKIP:
{
	skip 'psycopg2 is not installed (python3-psycopg2)', 1 unless has_module('psycopg2');
	run_driver('psycopg2', $python, script('psycopg2_test.py', $common . <<'PY'));
import psycopg2
connection = psycopg2.connect('')
steps(connection, connection.cursor(), psycopg2.Error)
PY
}

SKIP:
{
	skip 'psycopg 3 is not installed (python3-psycopg)', 1 unless has_module('psycopg');
	run_driver('psycopg 3', $python, script('psycopg3_test.py', $common . <<'PY'));
import psycopg
connection = psycopg.connect('', prepare_threshold=1)
steps(connection, connection.cursor(), psycopg.Error)
PY
	run_driver('psycopg 3, binary', $python, script('psycopg3_binary_test.py', <<'PY'));
import psycopg
connection = psycopg.connect('')
cursor = connection.cursor(binary=True)
cursor.execute("SET search_path = public, fastclust")
cursor.execute("SELECT train('b', 'orders', 'x', 6, options => '{\"quiet\": true}')")
labels = set()
for i in range(12):
    cursor.execute("SELECT predict('b', %b::float8[]), (SELECT centroid FROM model_clusters WHERE model = 'b' AND cluster = 0)", ([10.0 * (i % 3), 10.0 * (i % 2)],), prepare=True)
    label, centroid = cursor.fetchone()
    labels.add(label)
print(('' if len(labels) == 6 and len(centroid) == 2 else 'not ') + 'ok - vectors go and come in binary')
print('end')
PY
}

# ---- SQLAlchemy reads tables and views with labels without a warning ----
SKIP:
{
	skip 'SQLAlchemy is not installed (python3-sqlalchemy)', 1 unless has_module('psycopg2, sqlalchemy');
	run_driver('SQLAlchemy', $python, script('sqlalchemy_test.py', <<'PY'));
import warnings
import sqlalchemy
def check(what, good):
    print(('' if good else 'not ') + 'ok - ' + what)
with sqlalchemy.create_engine('postgresql+psycopg2://').begin() as connection, warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    for statement in ("SELECT fastclust.train('a', 'orders', 'x', 6, options => '{\"quiet\": true}')",
                      "CREATE TABLE labelled AS SELECT id, x, fastclust.predict('a', x) AS kind FROM orders",
                      "CREATE VIEW labels AS SELECT id, fastclust.predict('a', x) AS kind FROM orders"):
        connection.execute(sqlalchemy.text(statement))
    table, view = (sqlalchemy.Table(name, sqlalchemy.MetaData(), autoload_with=connection) for name in ('labelled', 'labels'))
    check('tables are read without a warning', not caught)
    rows = connection.execute(sqlalchemy.select(table.c.kind, sqlalchemy.func.fastclust.predict('a', table.c.x), view.c.kind).where(table.c.id == view.c.id)).fetchall()
    check('predict of a column', len(rows) == 1200 and all(a == b == c for a, b, c in rows))
print('end')
PY
}

# ---- JavaScript: values are sent as text without a type, so numbers need a cast ----
SKIP:
{
	local $ENV{NODE_PATH} = join(':', $ENV{NODE_PATH} // (), '/usr/share/nodejs');
	skip 'node-postgres is not installed (node-pg)', 1 unless system(q{node -e "require('pg')" >/dev/null 2>&1}) == 0;
	run_driver('node-postgres', 'node', script('drivers.js', <<'JS'));
const {Client} = require('pg');
const check = (what, good) => console.log((good ? '' : 'not ') + 'ok - ' + what);
(async () => {
    const client = new Client();
    await client.connect();
    const one = async (query, values) => Object.values((await client.query(query, values)).rows[0])[0];
    await client.query('SET search_path = public, fastclust');
    check('train of vectors', await one('SELECT train($1, $2, $3, $4, options => $5)', ['js', 'orders', 'x', 6, {quiet: true}]) >= 1);
    check('train of a list of columns', await one('SELECT train($1, $2, $3::text[], $4)', ['jc', 'orders', ['amount', 'items'], 6]) >= 1);
    const labels = new Set();
    for (let i = 0; i < 12; i++)
        labels.add(await one('SELECT predict($1, $2::real[])', ['js', [10 * (i % 3), 10 * (i % 2)]]));
    check('predict of lists', labels.size === 6);
    check('predict of values', await one('SELECT predict($1, $2::float8, $3::float8)', ['jc', 10.5, 0]) !== null);
    check('a centroid comes as a list', (await one('SELECT centroid FROM model_clusters WHERE model = $1 LIMIT 1', ['js'])).length === 2);
    check('jsonb comes as an object', typeof await one('SELECT describe($1)', ['js']) === 'object');
    const error = await one('SELECT train($1, $2, $3, $4, options => $5)', ['js', 'orders', 'x', 6, '{"sed": 1}']).catch(e => e);
    check('an error has its SQLSTATE and hint', error.code === '22023' && /seed/.test(error.hint));
    await client.end();
    console.log('end');
})().catch(e => { console.log('not ok - ' + e); process.exit(1); });
JS
}

# ---- Java ----
SKIP:
{
	my ($jar) = grep { -e $_ } '/usr/share/java/postgresql.jar';
	skip 'JDBC is not installed (libpostgresql-jdbc-java)', 1 unless $jar;
	skip 'no Java that runs sources (default-jdk-headless)', 1 unless system('javac -version >/dev/null 2>&1') == 0;
	my $source = script('Drivers.java', <<'JAVA');
import java.sql.*;
public class Drivers {
    static void check(String what, boolean good) { System.out.println((good ? "" : "not ") + "ok - " + what); }
    public static void main(String[] arguments) throws Exception {
        Connection connection = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + arguments[0] + "/postgres?user=postgres&currentSchema=public,fastclust&prepareThreshold=2");
        PreparedStatement train = connection.prepareStatement("SELECT train(?, ?::regclass, ?, ?, options => ?::jsonb)");
        train.setString(1, "j"); train.setString(2, "orders"); train.setString(3, "x"); train.setInt(4, 6); train.setString(5, "{\"quiet\": true}");
        ResultSet made = train.executeQuery();
        check("train of vectors", made.next() && made.getInt(1) >= 1);
        train.setString(1, "jc"); train.setArray(3, connection.createArrayOf("text", new String[] {"amount", "items"}));
        made = train.executeQuery();
        check("train of a list of columns", made.next() && made.getInt(1) >= 1);
        PreparedStatement predict = connection.prepareStatement("SELECT predict(?, ?)");
        java.util.Set<Integer> labels = new java.util.TreeSet<>();
        for (int i = 0; i < 24; i++) {
            predict.setString(1, "j");
            predict.setArray(2, connection.createArrayOf(i % 2 == 0 ? "float4" : "float8", new Double[] {10.0 * (i / 2 % 3), 10.0 * (i % 2)}));
            ResultSet label = predict.executeQuery();
            label.next();
            labels.add(label.getInt(1));
        }
        check("predict of arrays, beyond the threshold of server statements", labels.size() == 6);
        PreparedStatement values = connection.prepareStatement("SELECT predict(?, ?, ?)");
        values.setString(1, "jc"); values.setDouble(2, 10); values.setInt(3, 0);
        ResultSet label = values.executeQuery();
        check("predict of values", label.next() && label.getObject(1) != null);
        PreparedStatement drift = connection.prepareStatement("SELECT verdict, columns FROM drift(?, since => ?::jsonb)");
        drift.setString(1, "j"); drift.setString(2, "{\"column\": \"at\", \"interval\": \"20 days\"}");
        ResultSet found = drift.executeQuery();
        check("drift with a window", found.next() && found.getString(1).matches("none|slight") && found.getString(2).startsWith("["));
        ResultSet columns = connection.getMetaData().getColumns(null, "fastclust", "model_clusters", null);
        int count = 0;
        while (columns.next()) count++;
        check("columns of a view are listed", count > 5);
        try {
            train.setString(1, "j"); train.setString(3, "nothing"); train.executeQuery();
            check("an error", false);
        } catch (SQLException e) {
            check("an error has its SQLSTATE", "42703".equals(e.getSQLState()));
        }
        System.out.println("end");
    }
}
JAVA
	run_driver('JDBC', 'java', '-cp', $jar, $source, $port);
}

# ---- the extended query protocol with psql ----
SKIP:
{
	skip 'psql has no \bind before 16', 1 unless qx{psql --version} =~ /(\d+)/ && $1 >= 16;
	$server->query(q{SET client_min_messages = warning; SELECT train('bound', 'orders', 'x', 6)});
	is($server->query("SELECT predict(\$1, \$2::real[]) IS NOT NULL \\bind bound {1,2} \\g"), 't', '\bind takes a vector with a cast');
}

done_testing();

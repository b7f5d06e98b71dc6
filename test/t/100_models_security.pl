# Who is not the owner can neither read, change nor ride on a model; a scan has the rights of who asks for it.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Test::More;
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->make_points(3000, 3, 4);
$server->query(<<'SQL');
CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN; GRANT alice TO carol;
CREATE SCHEMA hers AUTHORIZATION alice; CREATE SCHEMA his AUTHORIZATION bob;
GRANT SELECT ON points TO alice, bob;
CREATE TABLE his.private AS SELECT * FROM points; ALTER TABLE his.private OWNER TO bob;
SQL

# As a role: (status, output, messages).
sub as
{
	my ($role, $sql) = @_;
	return $server->try("SET SESSION AUTHORIZATION $role;\n$sql", verbosity => 'verbose');
}

# The statement must fail with this SQLSTATE.
sub refused
{
	my ($role, $sql, $state, $name) = @_;
	my ($status, $output, $messages) = as($role, $sql);
	like($messages, qr/ERROR:  $state:/, $name) or diag("got: $output");
}

sub gives
{
	my ($role, $sql, $expected, $name) = @_;
	my ($status, $output, $messages) = as($role, $sql);
	is("$output$messages", $expected, $name);
}

my $row = "'{1,2,3}'::real[]";
my $train = q{train('m', 'points', 'x', 4, options => '{"quiet": true}')};

gives('alice', "SELECT $train; SELECT predict('m', $row) >= 0", "1\nt", 'a role with no special rights trains and predicts');
gives('alice', 'SELECT owner FROM models', 'alice', 'and owns the model');

# ---- reading ----
refused('bob', "SELECT $_", '42704', "another role cannot: $_")
	for "predict('m', $row)", "predict_distance('m', $row)", "anomaly('m', $row)", "* FROM predict_all('m', $row, 2)",
	"* FROM drift('m', 'his.private')", "* FROM drift_of_sketch('m', NULL)", "* FROM drift_by('m', 'his.private', 'g')", "model_spec('m')";
gives('bob', "SELECT count(*) FROM $_", '0', "nor see $_")
	for qw(models model_versions training_log model_summary model_clusters);

# ---- changing ----
refused('bob', "SELECT $_", '42704', "cannot: $_")
	for "retrain('m')", "retrain_with_sketch('m', sketch_agg(x, sketch_spec(3, 10, 1.0))) FROM points", "retrain_if_drifted('m')", "rollback('m', 1)", "drop_model('m')", "grant_model('m', 'bob')", "revoke_model('m', 'alice')";
refused('bob', "SELECT train('m', 'his.private', 'x', 3)", '42501', 'cannot train over it');
gives('bob', "WITH u AS ($_ RETURNING 1) SELECT count(*) FROM u", '0', "touches nothing: $_")
	for "UPDATE models SET owner = 'bob'", "UPDATE models SET readers = '{bob}'", 'UPDATE models SET removed = true', 'UPDATE model_versions SET k = 1',
	'UPDATE model_versions SET removed = true';
for my $table (qw(models model_versions training_log))
{
	refused($_, "DELETE FROM $table", '42501', "$_ cannot delete from $table") for qw(bob alice);
	refused('bob', "BEGIN; LOCK TABLE $table IN $_ MODE NOWAIT", '42501', "nor lock $table in $_ mode")
		for 'SHARE UPDATE EXCLUSIVE', 'SHARE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE';
}
refused('bob', 'CREATE TABLE his.models (model text, removed boolean); CREATE TRIGGER t AFTER INSERT ON his.models
	FOR EACH ROW EXECUTE FUNCTION fastclust.delete_removed()', '42501', 'nor have another table delete for him');
refused('bob', "INSERT INTO model_versions (model, version, method, relation, features, vector, k, options, operator, n, started_at)
	SELECT 'm', 2, 'x', 'x', '{x}', true, 1, '{}', fastop_agg(x), 1, now() FROM (VALUES ($row)) v(x)", '42501', 'cannot add a version to it');
refused('bob', "INSERT INTO training_log (model, version, step) VALUES ('m', 1, 'x')", '42501', 'nor a line to its log');
refused('bob', "INSERT INTO models (model, owner) VALUES ('n', 'alice')", '42501', 'nor make a model of another');
gives('bob', q{SELECT train('b', 'his.private', 'x', 2, options => '{"quiet": true}')}, '1', 'has one of his own');
refused('bob', "UPDATE models SET owner = 'alice' WHERE model = 'b'", '42501', 'and cannot give it away');
refused('bob', "UPDATE model_versions SET model = 'm'", '42501', 'or move its versions');
refused('bob', 'ALTER TABLE fastclust.models DISABLE ROW LEVEL SECURITY', '42501', 'or switch the policies off');
refused('bob', 'SET row_security = off; SELECT * FROM fastclust.models', '42501', 'or step around them');

# ---- riding ----
as('alice', "CREATE VIEW hers.labelled AS SELECT id, predict('m', x) AS cluster FROM points; GRANT USAGE ON SCHEMA hers TO bob; GRANT SELECT ON hers.labelled TO bob");
refused('bob', 'SELECT * FROM hers.labelled', '42704', 'a view over a model does not lend the rights of its owner');
as('alice', "SELECT grant_model('m', 'bob')");
gives('bob', 'SELECT count(cluster) FROM hers.labelled; SELECT count(*) FROM model_clusters WHERE model = \'m\'; SELECT count(*) FROM training_log WHERE model = \'m\'',
	"3000\n4\n0", 'after grant_model it works');
refused('bob', "SELECT $_", '42501', "a reader still cannot: $_") for "retrain('m')", "drop_model('m')", "grant_model('m', 'public')", $train;
$server->query('REVOKE SELECT ON points FROM bob');
refused('bob', "SELECT * FROM drift('m')", '42501', 'and reads the table with his own rights');
gives('bob', "SELECT n FROM drift('m', 'his.private')", '3000', 'as with his own table');
as('alice', "SELECT revoke_model('m', 'bob'), grant_model('m', 'public')");
gives('bob', "SELECT predict('m', $row) >= 0", 't', 'public is everyone');
as('alice', "SELECT revoke_model('m', 'public')");
refused('bob', "SELECT predict('m', $row)", '42704', 'and revoking ends it');

gives('postgres', <<"SQL", "42704", 'an expression kept from another role is not reused');
CREATE FUNCTION pg_temp.ask() RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
    v integer;
    said text := 'nothing';
BEGIN
    FOR i IN 1 .. 2 LOOP
        BEGIN
            v := fastclust.predict('m', $row);
        EXCEPTION WHEN OTHERS THEN said := SQLSTATE;
        END;
        SET LOCAL ROLE bob;
    END LOOP;
    RESET ROLE;
    RETURN said;
END \$\$;
SELECT pg_temp.ask();
SQL

# A model's row names a table its writer may not read, or code: nobody scans it for him.
gives('carol', q{SELECT retrain('m', '{"quiet": true}')}, '2', 'a member of the owner retrains');
as('alice', q{UPDATE model_versions SET relation = 'his.private' WHERE model = 'm'});
refused('postgres', "SELECT retrain('m')", '42501', 'a superuser does not read for alice what she may not');
refused('alice', "SELECT retrain('m')", '42501', 'nor does she');
as('alice', q{CREATE FUNCTION hers.spy(real[]) RETURNS real[] LANGUAGE plpgsql AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE VIEW hers.trap AS SELECT hers.spy(x) AS x FROM points;
	UPDATE model_versions SET relation = 'hers.trap' WHERE model = 'm'});
refused($_, "SELECT retrain('m')", '42501', "no code of the owner runs as $_") for 'postgres', 'carol';
refused('postgres', "SELECT * FROM drift('m')", '42501', 'in drift either');
as('alice', q{CREATE FUNCTION hers.always() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN true; END $$;
	CREATE TABLE hers.plain AS SELECT * FROM points; CREATE INDEX ON hers.plain (id) WHERE hers.always();
	CREATE OR REPLACE FUNCTION hers.always() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	UPDATE model_versions SET relation = 'hers.plain' WHERE model = 'm'});
refused($_, "SELECT retrain('m')", '42501', "not even an index predicate runs as $_") for 'postgres', 'carol';
$server->query('CREATE TABLE parent (id int, g int, x real[]); GRANT SELECT ON parent TO alice');
$server->query('ALTER TABLE hers.plain INHERIT parent');
as('alice', q{UPDATE model_versions SET relation = 'public.parent' WHERE model = 'm'});
refused('carol', "SELECT retrain('m')", '42501', 'nor that of a child');
$server->query('ALTER TABLE hers.plain NO INHERIT parent');
as('alice', q{CREATE TABLE hers.filtered AS SELECT * FROM points; UPDATE model_versions SET relation = 'hers.filtered' WHERE model = 'm'});
$server->query('ALTER TABLE hers.filtered OWNER TO postgres; ALTER TABLE hers.filtered ENABLE ROW LEVEL SECURITY; GRANT SELECT ON hers.filtered TO alice');
my (undef, undef, $why) = as('postgres', "SELECT retrain('m')");
like($why, qr/42501:.*Hers.filtered has row-level security/s, 'rows hidden from the owner are not read for her');
$server->query(q{CREATE TYPE hers.mood AS ENUM ('1', '2'); ALTER TYPE hers.mood OWNER TO alice;
	CREATE TABLE secret AS SELECT x, id % 3 AS ssn, '1'::hers.mood AS mood FROM points; GRANT SELECT (x, mood) ON secret TO alice});
as('alice', q{CREATE FUNCTION hers.mood_text(hers.mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE CAST (hers.mood AS text) WITH FUNCTION hers.mood_text(hers.mood);
	UPDATE model_versions SET relation = 'public.secret', options = options || '{"group_by": "ssn"}' WHERE model = 'm'});
(undef, undef, $why) = as('postgres', "SELECT retrain('m')");
like($why, qr/42501:.*Alice may not read public.secret/s, 'a column that groups is read by the rights of the owner');
as('alice', q{UPDATE model_versions SET options = options || '{"group_by": "mood"}' WHERE model = 'm'});
for my $options ('{}', '{"relation": "public.secret"}')
{
	(undef, undef, $why) = as('postgres', "SELECT retrain('m', '$options')");
	like($why, qr/42501:.*Column "mood" of public.secret is of a type that is not built in/s, "no cast of the owner runs: $options");
}
as('alice', q{CREATE TABLE hers.big AS SELECT * FROM points; UPDATE model_versions SET relation = 'hers.big', options = options - 'group_by' WHERE model = 'm'});
$server->query('ALTER TABLE hers.big OWNER TO postgres; GRANT SELECT ON hers.big TO alice');
(undef, undef, $why) = as('postgres', "SELECT retrain('m')");
like($why, qr/42501:.*The schema of hers.big belongs to another role/s, 'nor a table whose name the owner can turn to another');
as('alice', q{UPDATE model_versions SET relation = 'public.points' WHERE model = 'm'});
gives('postgres', q{SELECT retrain('m', '{"quiet": true}')}, '3', 'a plain table is retrained for the owner');

refused('alice', q{UPDATE model_versions SET relation = 'points; DROP TABLE points', features = '{x}' WHERE model = 'm'; SELECT retrain('m')},
	'(42602|42601|42P01)', 'a relation is a name, not a statement');
gives('alice', q{SELECT count(*) FROM points}, '3000', 'and nothing of it ran');

# ---- row-level security of the relation ----
$server->query(<<'SQL');
ALTER TABLE points ENABLE ROW LEVEL SECURITY;
CREATE POLICY first_rows ON points USING (id <= 1000);
SQL
gives('alice', q{SELECT train('few', 'points', 'x', 4, options => '{"quiet": true}'); SELECT n FROM model_summary WHERE model = 'few'},
	"1\n1000", 'the policies of the table hold for training');
$server->query('ALTER TABLE points DISABLE ROW LEVEL SECURITY');

# ---- names ----
gives('alice', <<'SQL', "1\n1\n3\n1", 'any name can be a name');
CREATE TABLE hers."odd ""table""; --" AS SELECT id AS "a""; DROP TABLE points; --", id % 7 AS "B%I", id % 3 AS "group'" FROM points;
SELECT train($$it's "a"; DROP TABLE points; --$$, 'hers."odd ""table""; --"', ARRAY['a"; DROP TABLE points; --', 'B%I'], 3, options => '{"quiet": true}');
SELECT train('odd groups', 'hers."odd ""table""; --"', ARRAY['a"; DROP TABLE points; --', 'B%I'], 3, options => '{"quiet": true, "group_by": "group''"}');
SELECT count(*) FROM drift_by($$it's "a"; DROP TABLE points; --$$, 'hers."odd ""table""; --"', 'group''');
SELECT count(*) FROM (SELECT count(*) FROM points) q;
SQL

# ---- roles that go and come ----
$server->query('CREATE ROLE dave LOGIN; CREATE ROLE erin LOGIN; GRANT SELECT ON points TO dave');
as('dave', q{SELECT train('of dave', 'points', 'x', 2, options => '{"quiet": true}'), grant_model('of dave', 'erin')});
gives('erin', q{SELECT count(*) FROM models WHERE model = 'of dave'}, '1', 'a reader');
$server->query('DROP ROLE erin; CREATE ROLE erin LOGIN; ALTER ROLE dave RENAME TO david');
gives('erin', q{SELECT count(*) FROM models}, '0', 'a later role of the name is another');
gives('david', q{SELECT grant_model('of dave', 'bob'); SELECT owner FROM model_summary; SELECT readers FROM models}, "\ndavid\n{bob}", 'a role keeps its models when it is renamed, and drops readers that are no more');
$server->query('REVOKE SELECT ON points FROM david; DROP ROLE david; CREATE ROLE dave LOGIN; CREATE ROLE david LOGIN');
gives($_, q{SELECT count(*) FROM models}, '0', "a later $_ does not own them") for 'dave', 'david';
gives('postgres', q{UPDATE fastclust.models SET owner = 'dave' WHERE model = 'of dave'}, '', 'a superuser gives them a new owner');
gives('dave', q{SELECT drop_model('of dave')}, '', 'who is one');

# ---- search_path ----
$server->query('GRANT CREATE ON SCHEMA public TO bob');
as('bob', <<'SQL');
CREATE FUNCTION public.bad() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION public.is_member_of(oid) RETURNS boolean LANGUAGE sql AS 'SELECT public.bad()';
CREATE FUNCTION public.row_count(sketch) RETURNS bigint LANGUAGE sql AS 'SELECT public.bad()::int::bigint';
CREATE FUNCTION public.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.bad()';
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.same);
SQL
gives('alice', q{SET search_path = public, fastclust, pg_catalog; SELECT train('path', 'points', 'x', 4, options => '{"quiet": true}');
	SELECT predict('path', '{1,2,3}'::real[]) >= 0; SELECT n > 0 FROM drift('path'); SELECT drop_model('path')}, "1\nt\nt\n", 'functions and operators in the path of the caller are not met');

# ---- every function ----
is($server->query(<<'SQL'), '', 'functions but for one trigger run with the rights of the caller, and those not in C with a fixed path');
SELECT p.oid::regprocedure FROM pg_proc p
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fastclust'
  JOIN pg_language l ON l.oid = p.prolang
  WHERE p.prosecdef <> (p.proname = 'delete_removed') OR (l.lanname NOT IN ('c', 'internal') AND p.prosrc !~ '^\s*SELECT ''\{.*pg_catalog' AND NOT EXISTS (
        SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%'))
SQL

done_testing();

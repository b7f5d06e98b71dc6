# A role without rights on a model can neither read nor change it nor gain rights through it, and
# every scan has the rights of its caller. Alice owns model m, carol is a member of alice, and bob
# is a stranger.
use FastclustTest qw(as refused gives crafted);
use File::Basename qw(dirname);
use Pages qw(read_file);

my $server = FastclustTest->new(extension => 1, config => "shared_preload_libraries = 'fastclust'\n");
$server->make_points(3000, 3, 4);
$server->query(<<'SQL');
CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN; GRANT alice TO carol;
CREATE SCHEMA hers AUTHORIZATION alice; CREATE SCHEMA his AUTHORIZATION bob;
GRANT SELECT ON points TO alice, bob;
CREATE TABLE his.private AS SELECT * FROM points; ALTER TABLE his.private OWNER TO bob;
SQL

# Opens a session of a role that logs in, and leaves it open.
sub login { my ($role, $sql) = @_; local $ENV{PGUSER} = $role; return $server->background($sql); }

my $row = "'{1,2,3}'::real[]";
my $train = q{train('m', 'points', 'x', 4, options => '{"quiet": true}')};

gives('alice', "SELECT $train; SELECT predict('m', $row) >= 0", "1\nt", 'a role without special rights trains and predicts');
gives('alice', 'SELECT owner FROM models', 'alice', 'the role that trains owns the model');

# ---- reading ----
refused('bob', "SELECT $_", '42704', "another role cannot read the model: $_")
	for "predict('m', $row)", "predict_distance('m', $row)", "anomaly('m', $row)", "* FROM predict_all('m', $row, 2)",
	"* FROM drift('m', 'his.private')", "* FROM drift('m', sketch => (SELECT sketch_agg(x, sketch_spec(3, 10, 1.0)) FROM (VALUES ($row)) v(x)))", "describe('m')", "* FROM drift('m', 'his.private', by => 'g')", "model_spec('m')",
	"* FROM profile('m')", "* FROM cluster_rules('m')", "* FROM typical_rows('m', relation => 'his.private')", "* FROM score('m')", "plot('m')", "* FROM predict_probabilities('m', $row)";
gives('bob', "SELECT count(*) FROM $_", '0', "another role does not see the model in $_")
	for qw(models model_versions training_log drift_log model_clusters model_centroids own_models readable_models readable_versions readable_names);

# The hint about models of other roles is there if there are any, whatever the name is: it does not
# reveal names.
refused('bob', "SELECT $_", qr/HINT:  To use a model of another role, ask its owner to call grant_model/, "a hint says that there are models of other roles: $_")
	for "predict('m', $row)", "predict('nothing', $row)", "retrain('m')", "retrain('nothing')";
for my $call ("predict('nothing', $row)", "retrain('nothing')")
{
	refused('alice', "SELECT $call", qr/HINT:  The view models lists the models that you may use/, "a role without hidden models has another hint: $call");
	refused('alice', "SELECT drop_model('m'); SELECT $call", qr/HINT:  To make a model, call train/, "a hint where there are no models: $call");
	gives('alice', "SELECT $train", 1, 'the model is made again');
}

# ---- changing ----
refused('bob', "SELECT $_", '42704', "another role cannot change the model: $_")
	for "retrain('m')", "retrain('m', sketch => sketch_agg(x, sketch_spec(3, 10, 1.0))) FROM points", "retrain_if_drifted('m')", "use_version('m', 1)", "drop_model('m')", "grant_model('m', 'bob')", "revoke_model('m', 'alice')", "name_cluster('m', 0, 'mine')", "name_cluster('m', 0, NULL)";
refused('bob', "SELECT train('m', 'his.private', 'x', 3)", '42501', 'another role cannot train a model of that name');
for my $role (qw(alice bob))
{
	my $schema = {alice => 'hers', bob => 'his'}->{$role};
	refused($role, $_, '(42501|55000)', "$role cannot write past the functions: $_")
		for "UPDATE models SET owner = 'bob'", "UPDATE readable_models SET owner = 'bob'", "UPDATE stored_models SET readers = '{bob}'", 'UPDATE stored_versions SET k = 1', 'UPDATE version_groups SET k = 1', "UPDATE training_steps SET step = 'x'", 'UPDATE drift_checks SET p_value = 1', "UPDATE stored_names SET name = 'x'",
		"INSERT INTO stored_names (model_id, identity, name, named_by) SELECT id, 0, 'x', 'alice' FROM readable_models", "INSERT INTO stored_names (model_id, identity, name, named_by) VALUES (1, 0, 'x', 'alice')",
		"INSERT INTO drift_checks (model_id, version, relation, n, verdict, threshold, min_effect, checked_by) SELECT id, 1, 'x', 1, 'none', 0, 0, 'bob' FROM readable_models",
		"INSERT INTO stored_models (model, owner) VALUES ('n', 'alice')", "INSERT INTO stored_models (model, owner) VALUES ('n', 'bob')",
		"INSERT INTO version_groups (model_id, version, method, relation, features, vector, k, options, operator, n, trained_by, started_at)
		 SELECT id, 2, 'x', 'x', '{x}', true, 1, '{}', fastop_agg($row), 1, 'bob', now() FROM readable_models GROUP BY id",
		"INSERT INTO training_steps (id, model_id, version, step) OVERRIDING SYSTEM VALUE SELECT i, 1, 1, 'x' FROM generate_series(1, 200000) i",
		"SELECT nextval('training_steps_id_seq')", "SELECT setval('training_steps_id_seq', 1)", "SELECT nextval('stored_models_id_seq')", 'TRUNCATE training_steps',
		"UPDATE fastclust_internal.shared_models SET owner = 'bob'", 'DELETE FROM fastclust_internal.shared_models', 'SELECT * FROM fastclust_internal.shared_models',
		"INSERT INTO fastclust_internal.shared_models (model, owner) VALUES ('m', 'bob')", 'SELECT fastclust_internal.write_shared_models(NULL)',
		'SELECT * FROM readable_models FOR UPDATE', 'SELECT * FROM own_models FOR KEY SHARE', 'SELECT * FROM readable_versions FOR SHARE', 'SELECT * FROM stored_models',
		"CREATE TABLE $schema.mine (id bigint REFERENCES stored_models)", 'CREATE TABLE pg_temp.mine () INHERITS (stored_models)',
		'CREATE TRIGGER t BEFORE INSERT ON stored_models FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
		"CREATE RULE r AS ON INSERT TO training_steps DO ALSO SELECT 1", 'CREATE INDEX ON version_groups (k)', 'CREATE POLICY p ON stored_models USING (true)',
		'CREATE FUNCTION fastclust.f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$', 'CREATE FUNCTION fastclust_internal.f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$', "COPY training_steps FROM STDIN;\n\\.", 'ALTER EXTENSION fastclust DROP TABLE stored_models';
	for my $table (qw(stored_models stored_versions version_groups training_steps drift_checks stored_names label_tables models readable_models readable_versions readable_names own_label_tables drift_log))
	{
		refused($role, "DELETE FROM $table", $table =~ /^stored_(?!versions)/ ? '42501' : '(42501|55000)', "$role cannot delete from $table");
		refused($role, "BEGIN; LOCK TABLE $table IN $_ MODE NOWAIT", '42501', "$role cannot lock $table in $_ mode")
			for 'ROW SHARE', 'ROW EXCLUSIVE', 'SHARE UPDATE EXCLUSIVE', 'SHARE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE';
	}
}
gives('bob', q{SELECT train('b', 'his.private', 'x', 2, options => '{"quiet": true}')}, '1', 'bob has a model of his own');

# ---- views: a cheap function of another role sees no row that the role may not see ----
as('bob', q{CREATE FUNCTION his.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE '<<%>>', $1; RETURN true; END $$});
as('alice', "SELECT name_cluster('m', 1, 'hers'), retrain_if_drifted('m')");
for my $view (qw(models model_versions model_clusters model_centroids training_log drift_log live_sketches own_models readable_models readable_versions readable_names))
{
	my ($column) = $view =~ /^(live_sketches|readable_names)$/ ? 'name' : 'model';
	my $seen = (as('bob', "SET client_min_messages = notice; SELECT count(*) FROM $view v WHERE his.leak($column) AND his.leak(v::text)"))[2];
	unlike($seen, qr/<<m>>|hers|public\.points/, "$view does not pass alice's rows to a function of bob");
	unlike($seen, qr/ERROR/, '$view gives bob no error');
}
as('alice', "SELECT name_cluster('m', 1, NULL)");
$server->query('DELETE FROM drift_checks');

# ---- functions that write ----
my ($of_alice, $of_bob) = map { $server->query("SELECT id FROM stored_models WHERE model = '$_'") } qw(m b);

refused('bob', "SELECT $_", '42704', "bob writes nothing of alice's model: $_")
	for "write_step($of_alice, 1, 'x', 1, 1, 'x')", "serve_version($of_alice, 1, 5)", "locked_model('m', true)",
	"rename_model('m', 'mine')", "merge_clusters('m', '{0,1}')", "pin_cluster('m', 0)", "check_drift('m')", "name_topics('m', 'id')", "predict_name('m', '{1,2}'::real[])";
refused('bob', q{SELECT import_model('m', 'his.private', 'x', '{{1,2},{3,4}}'::real[])}, '42501', 'bob imports no version into alice\'s model');
like((as('bob', "SELECT $_"))[2], qr/there is no model with id $of_alice/, "bob does not learn the name of alice's model: $_") for "write_step($of_alice, 1, 'x', 1, 1, 'x')", "serve_version($of_alice, 1, 5)";
# Returns a call that logs a made-up check of drift.
sub made_up_check
{
	my ($id, $more) = @_;
	return qq{write_drift(jsonb_populate_record(NULL::drift_checks,
		'{"model_id": $id, "version": 1, "relation": "x", "n": 1, "verdict": "none", "threshold": 0, "min_effect": 0, "checked_by": "alice", "id": 7}'::jsonb || '{$more}'))};
}
refused('bob', 'SELECT ' . made_up_check($of_alice, ''), '42704', 'bob writes nothing into the drift log of alice');
refused('bob', "SELECT locked_model('m', true, true)", '42501', 'bob cannot claim alice\'s model');
refused('bob', crafted('b', "v.model_id := $of_alice;"), '42704', 'bob cannot store a version in alice\'s model');
refused('bob', "SELECT write_step(NULL, 1, 'x', 1, 1, 'x')", '42704', 'bob cannot write a step of no model');
refused('bob', "SELECT rename_model('b', 'm')", '42710', 'bob cannot take the name of alice\'s model');
# ---- functions that run as the owner, by the catalog ----
my $ours = "pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fastclust' JOIN pg_language l ON l.oid = p.prolang";
is($server->query("SELECT count(*) FROM pg_language l WHERE l.lanname ~ 'fastclust' OR l.lanplcallfoid IN (SELECT p.oid FROM $ours)"), 0, 'no procedural language belongs to the extension');
is($server->query("SELECT p.oid::regprocedure FROM $ours WHERE p.prosecdef
	AND (p.pronamespace <> 'fastclust_owner'::regnamespace OR NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c ~ '^search_path=pg_catalog, .*, pg_temp\$'))"),
	'', 'a function that runs as its owner is in the owner\'s schema, with a search_path that ends in pg_temp');
is($server->query("SELECT p.oid::regprocedure FROM $ours, (VALUES ('public'::name), ('bob')) r(role) WHERE p.pronamespace = 'fastclust_owner'::regnamespace
	AND (has_function_privilege(r.role, p.oid, 'EXECUTE') OR has_schema_privilege(r.role, p.pronamespace, 'USAGE'))"), '', 'nobody but the owner may call a function of that schema');
is($server->query("SELECT p.oid::regprocedure FROM $ours WHERE p.prosecdef AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
	AND (p.proargtypes[p.pronargs - 1] <> 'oid'::regtype OR p.proargnames[p.pronargs] <> 'caller' OR p.prosrc !~ '\\mcaller\\M' OR p.prosrc ~ '\\m(current_user|current_role|session_user|user)\\M'
		OR p.proisstrict OR p.provariadic <> 0 OR p.pronargdefaults <> 0)"), '', 'each of these functions checks the rights of its last argument, the caller, and of no other role');
is($server->query("SELECT p.oid::regprocedure FROM $ours WHERE p.prosrc = 'fastclust_as_owner' AND NOT EXISTS (SELECT FROM pg_proc w
	WHERE w.pronamespace = 'fastclust_owner'::regnamespace AND w.proname = p.proname AND w.prosecdef AND w.proargtypes::text = ltrim(p.proargtypes::text || ' 26')
	  AND (w.prorettype, w.proretset, w.provolatile, w.proparallel, w.proallargtypes IS NULL, p.proisstrict) = (p.prorettype, p.proretset, p.provolatile, p.proparallel, p.proallargtypes IS NULL, false))"),
	'', 'each entry point has the function of its name, which differs only in the argument for the caller');

# An entry point called by a function of the owner's schema, also indirectly, would take the owner
# for the caller.
my %entry = map { $_ => 1 } split /\n/, $server->query("SELECT p.proname FROM $ours WHERE p.prosrc = 'fastclust_as_owner'");
my (%bodies, %calls_entry, %asks_for_owner);
for (split /\x01/, $server->query("SELECT string_agg(concat_ws(E'\\x02', p.pronamespace::regnamespace, p.proname, p.prosrc), E'\\x01') FROM $ours WHERE l.lanname IN ('sql', 'plpgsql')"))
{
	my ($schema, $name, $body) = split /\x02/;
	push @{ $bodies{$name} }, [ $schema, $body ];
}
my @reached = split /\n/, $server->query("SELECT p.proname FROM $ours WHERE p.prosecdef");
my %reached = map { $_ => 1 } @reached;
while (my $name = shift @reached)
{
	for my $one (@{ $bodies{$name} })
	{
		next if !$one || ($one->[0] ne 'fastclust_owner' && grep({ $_->[0] eq 'fastclust_owner' } @{ $bodies{$name} }));
		$asks_for_owner{$name} = 1 if $one->[1] =~ /\bcurrent_user\b/;
		while ($one->[1] =~ /\b(\w+)(\((?:[^()']++|'[^']*'|(?2))*\))/g)
		{
			my ($called, $arguments) = ($1, $2);
			pos($one->[1]) = pos($one->[1]) - length($arguments) + 1;
			$calls_entry{"$name: $called$arguments"} = 1 if $entry{$called} && $arguments !~ /\bcaller\)$/;
			push @reached, $called if $bodies{$called} && !$reached{$called}++;
		}
	}
}
cmp_ok(scalar(keys %reached), '>', 50, 'the functions called with the owner\'s rights are found');
is(join("\n", sort keys %calls_entry), '', 'no function with the owner\'s rights calls an entry point');
is(join(' ', sort keys %asks_for_owner), '', 'no function with the owner\'s rights reads current_user');

# Other roles cannot call these functions, not even with every right on the other schemas and
# USAGE on this one.
my @of_owner = split /\n/, $server->query("SELECT format('%s(%s)', p.oid::regproc, (SELECT string_agg(format(CASE WHEN a.type IN ('oid'::regtype, 'regclass'::regtype, 'integer'::regtype, 'bigint'::regtype, 'boolean'::regtype) THEN '''1''::%s' ELSE 'NULL::%s' END, a.type::regtype), ', ' ORDER BY a.i) FROM unnest(p.proargtypes) WITH ORDINALITY a(type, i)))
	FROM $ours WHERE p.pronamespace = 'fastclust_owner'::regnamespace ORDER BY 1");
cmp_ok(scalar(@of_owner), '>', 40, 'functions that only the owner may call');
$server->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal TO bob');
refused('bob', "SELECT $_", qr/ERROR:  42501: permission denied for schema fastclust_owner/, "bob cannot call $_") for @of_owner;
$server->query('GRANT USAGE ON SCHEMA fastclust_owner TO bob');
refused('bob', "SELECT $_", qr/ERROR:  42501: permission denied for function/, "bob cannot call it with USAGE on its schema: $_") for @of_owner;
$server->query('REVOKE USAGE ON SCHEMA fastclust_owner FROM bob; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal FROM bob');
$server->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust_internal TO bob');
refused('bob', "SELECT $_", '(42501|42704)', "bob cannot call what has no entry point with EXECUTE on the internal functions: $_")
	for "grant_model('m', 'bob')", "drop_model('m')", "write_step($of_alice, 1, 'x', 1, 1, 'x')", "locked_model('m', true)", "locked_model('m', true, true)";
$server->query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust_internal FROM bob');
gives('bob', "SELECT write_step($of_bob, 1, 'mine', 1, 1, 'x'); SELECT count(*) FROM training_log WHERE step = 'mine'", "\n1", 'bob may write a step of his own model');
gives('alice', "SELECT name_cluster('m', 1, 'hers'); SELECT name, named_by FROM readable_names", "\nhers|alice", 'alice names a cluster');
gives('bob', "SELECT name_cluster('b', 1, 'his'); SELECT m.model, n.name, n.named_by FROM readable_models m JOIN readable_names n ON n.model_id = m.id", "\nb|his|bob", 'bob names a cluster of his and sees no name of alice');
gives('bob', 'SELECT ' . made_up_check($of_bob, '') . ' > 0; SELECT model, checked_by, id <> 7 FROM drift_log', "t\nb|bob|t", 'bob may log a check of his own model, under his own name');
refused('bob', 'SELECT ' . made_up_check($of_bob, $_), '(22...|235..)', "bob cannot log an impossible check: $_")
	for '"version": 0', '"version": 3', '"new_version": -1', '"new_version": 2147483647', '"verdict": "fine"', '"n": -1', '"relation": null', '"threshold": null', '"columns": [{}]', '"columns": {}', '"columns": [{"name": "x", "shift": "far"}]';
for my $version (-1, 0, 3, 2147483647)
{
	refused('bob', "SELECT write_step($of_bob, $version, 'x', 1, 1, 'x')", '22023', "bob cannot write a step of version $version");
	refused('bob', crafted('b', "v.version := $version;"), '22023', "bob cannot store version $version");
}
refused('bob', crafted('b', 'v.version := 1;', 'zzz'), '22023', 'bob cannot add a group to the current version');
# write_groups stores many groups at once; each is bound to the model that was checked.
(my $beside = crafted('b', '')) =~ s/PERFORM write_groups\(ARRAY\[v\]\);/PERFORM write_groups(ARRAY[v, jsonb_populate_record(v, '{"model_id": $of_alice, "group_value": "zzz"}')]);/;
refused('bob', $beside, '22023', 'bob cannot store a group of alice\'s model after one of his own');
(my $later = crafted('b', '')) =~ s/PERFORM write_groups\(ARRAY\[v\]\);/PERFORM write_groups(ARRAY[v, jsonb_populate_record(v, '{"version": 1, "group_value": "zzz"}')]);/;
refused('bob', $later, '22023', 'bob cannot store a group of the current version after one of a new version');
refused('bob', "SELECT write_groups('{}')", '42704', 'write_groups of no group is an error');
refused('bob', 'SELECT write_groups(NULL)', '42704', 'write_groups of NULL is an error');
refused('bob', crafted('b', $_), '(22...|23514|23502)', "bob cannot store what nobody could read: $_")
	for "v.center := '{1}';", "v.center := '{1,2,3}';", "v.center := '{1,2,NaN}'; v.scale := '{1,1,1}';", "v.center := '{1,2,3}'; v.scale := '{1,0,1}';",
	"v.center := '{1,2,3}'; v.scale := '{1,-1,1}';", "v.center := '{1,2,3}'; v.scale := '{1,1,Infinity}';", "v.center := '{1,2,3}'; v.scale := '{{1,1,1}}';",
	"v.center := '{1,2,3}'; v.scale := '{1,NULL,1}';", "v.spreads := '{1}';", "v.spreads := '{1,-1}';", "v.spreads := '{1,NaN}';", "v.spreads := '{}';",
	"v.distance_quantiles := '{}';", "v.distance_quantiles := '{1}';", "v.distance_quantiles := '{2,1}';", "v.distance_quantiles := '{-2,1}';", "v.distance_quantiles := '{1,NULL}';",
	"v.null_moments := '{1}';", "v.null_moments := '{1,NaN}';", "v.null_moments := '{1,-1}';", "v.map := nystroem(v.operator, rbf_kernel(1), 1);", "v.operator := (SELECT fastop_agg('{1,2}'::real[]));",
	"v.drift_spec := drift_spec_of_sample(fastop_agg('{1,2}'::real[]), 1);", "v.drift_counts := (SELECT drift_counts_agg('{1,2}'::real[], s) FROM (SELECT drift_spec_of_sample(fastop_agg('{1,2}'::real[]), 1) AS s) q);",
	"v.drift_spec := drift_spec_of_sample(fastop_agg($row), 1); v.drift_counts := (SELECT drift_counts_agg($row, s) FROM (SELECT drift_spec_of_sample(fastop_agg($row), 2) AS s) q);",
	"v.spec := sketch_spec(2, 10, 1.0);", "v.training_sketch := (SELECT sketch_agg('{1,2}'::real[], sketch_spec(2, 10, 1.0)));",
	'v.k := 0;', 'v.n := -1;', "v.options := '[]';", 'v.operator := NULL;', 'v.group_value := NULL;';
gives('bob', "SELECT count(*) FROM model_versions; SELECT count(*) FROM model_clusters; SELECT predict('b', $row) >= 0", "1\n2\nt", 'the refused calls left nothing');

# ---- a version stays with its model, even if another model gets the name later ----
gives('bob', "SELECT train('nightly', 'his.private', 'x', 2, options => '{\"quiet\": true}')", '1', 'bob trains the first model of that name');
as('bob', q{CREATE FUNCTION his.trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trap runs as %', current_user; END $$;
	CREATE VIEW his.evil AS SELECT x FROM his.private WHERE his.trap()});
my $nightly = $server->query("SELECT id FROM stored_models WHERE model = 'nightly'");
my $planter = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; " . crafted('nightly', "v.relation := 'his.evil'; v.k := 1000;", 'zzz') . '; SELECT pg_sleep(600)');
ok($server->wait_until_it_waits($planter, 'PgSleep'), 'bob stores a version that runs code, and keeps his transaction open');
refused('bob', "SET lock_timeout = '100ms'; SELECT drop_model('nightly')", '55P03', 'the model cannot be dropped meanwhile');
$server->end($planter);
my $gate = $server->background('SELECT pg_advisory_lock(1); SELECT pg_sleep(600)');
ok($server->wait_until_it_waits($gate, 'PgSleep'), 'a session closes a gate by an advisory lock');
my $late = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; SELECT model FROM models; SELECT pg_advisory_xact_lock(1); " . "SELECT write_step($nightly, 1, 'late', 1, 1, 'x'); " . crafted('nightly', "v.model_id := $nightly; v.relation := 'his.evil';") . '; COMMIT');
ok($server->wait_until_it_waits($late), 'bob reads the model and waits at the gate');
gives('bob', "SELECT drop_model('nightly')", '', 'bob drops the model in another session');
gives('postgres', "SELECT train('nightly', 'points', 'x', 4, options => '{\"quiet\": true}')", '1', 'a superuser trains a model of that name');
$server->end($gate);
my ($status, $output) = $server->finish($late);
like($output, qr/there is no model with id $nightly/, 'a late write finds no model');
is($server->query("SELECT string_agg(relation, ' ') FROM model_versions WHERE model = 'nightly'"), 'public.points', 'the new model has no version of bob');
gives('postgres', q{SELECT retrain('nightly', '{"quiet": true}')}, '2', 'a superuser retrains the new model without running bob\'s code');
$server->query("SELECT drop_model('nightly')");
is($server->query(q{SELECT count(*) FROM stored_versions v WHERE NOT EXISTS (SELECT FROM stored_models m WHERE m.id = v.model_id AND m.model = v.model)}), '0', 'no version is left without its model');

# ---- names that another role has taken ----
as('bob', q{SELECT train('salaries', 'points', 'x', 2, options => '{"quiet": true}')});
refused('postgres', q{SELECT train('salaries', 'points', 'x', 2)}, qr/42501:.*model "salaries" belongs to bob, who would own what is trained/s, 'a superuser trains no version for the role that took the name');
refused('postgres', q{SELECT import_model('salaries', 'points', 'x', ARRAY[ARRAY[1, 2, 3]]::real[])}, '42501', 'and imports none');
$server->query('GRANT bob TO carol');
refused('carol', q{SELECT train('salaries', 'points', 'x', 2)}, qr/42501:.*who would own what is trained.*log in as bob/s, 'a role that was made a member of the role that took the name trains no version either');
gives('carol', q{SET ROLE bob; SELECT train('salaries', 'points', 'x', 2, options => '{"quiet": true}')}, '2', 'a member trains a version as the owner');
$server->query('REVOKE bob FROM carol');
gives('postgres', q{SELECT retrain('salaries', '{"quiet": true, "relation": "points"}')}, '3', 'a superuser retrains the model of another role, which names it');
$server->query('CREATE ROLE carl LOGIN; REVOKE EXECUTE ON FUNCTION fastclust.train(text, regclass, text, int, text, jsonb), fastclust.train(text, regclass, name[], int, text, jsonb) FROM PUBLIC');
$server->query("DO \$\$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'fastclust'::regnamespace AND proname = 'import_model' LOOP EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f); END LOOP; END \$\$");
refused('carl', q{SELECT locked_model('taken', true, true)}, qr/42501:.*role carl may not make models/s, 'a role that may not train takes no name');
$server->query('GRANT EXECUTE ON FUNCTION fastclust.train(text, regclass, text, int, text, jsonb), fastclust.train(text, regclass, name[], int, text, jsonb) TO PUBLIC');
$server->query("DO \$\$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'fastclust'::regnamespace AND proname = 'import_model' LOOP EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f); END LOOP; END \$\$");
$server->query("SELECT drop_model('salaries')");

# ---- a superuser's own model of another role's table ----
gives('postgres', q{SELECT train('nightly', 'his.private', 'x', 2, options => '{"quiet": true}')}, '1', 'a superuser trains on a table of bob');
as('bob', 'ALTER TABLE his.private RENAME TO kept; CREATE VIEW his.private AS SELECT x FROM his.kept WHERE his.trap()');
refused('postgres', "SELECT $_", '42501', "a superuser runs no code that bob put in the place of the table: $_") for "retrain('nightly')", "retrain_if_drifted('nightly')", "* FROM drift('nightly')",
	"* FROM cluster_rules('nightly')", "* FROM typical_rows('nightly')", "* FROM score('nightly')";
as('bob', 'DROP VIEW his.private; ALTER TABLE his.kept RENAME TO private');
refused('postgres', "SELECT retrain('nightly')", '42501', 'a superuser does not retrain even on the original table of bob');
gives('postgres', q{SELECT retrain('nightly', '{"quiet": true, "relation": "his.private"}'), n FROM drift('nightly', 'his.private')}, '2|3000', 'a superuser retrains on bob\'s table if it is named');
like((as('postgres', "SET client_min_messages = notice; SELECT train('nightly', 'his.private', 'x', 2)"))[2], qr/NOTICE:  00000: relation his.private belongs to another role/, 'train announces that the table belongs to another role');
# The superuser's own view or table may contain views, functions and types of bob.
as('bob', q{CREATE FUNCTION his.always() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN true; END $$; CREATE TABLE his.source AS SELECT * FROM points;
	CREATE TYPE his.mood AS ENUM ('1', '2')});
$server->query(q{CREATE VIEW reports AS SELECT x FROM his.source; CREATE VIEW checked AS SELECT x FROM points WHERE his.always(); CREATE VIEW reports_again AS SELECT * FROM reports;
	CREATE TABLE indexed AS SELECT * FROM points; CREATE INDEX ON indexed (id) WHERE his.always();
	CREATE TABLE moods AS SELECT x, '1'::his.mood AS mood FROM points; CREATE TYPE colour AS ENUM ('red'); CREATE DOMAIN paint AS colour; CREATE VIEW own AS SELECT x, 'red'::paint AS paint FROM points});
my %nightly = (reports => '{}', indexed => '{}', checked => '{}', reports_again => '{}', moods => '{"group_by": "mood"}', own => '{"group_by": "paint"}');
for my $relation (sort keys %nightly)
{
	my $notice = (as('postgres', "SET client_min_messages = notice; SELECT train('$relation', '$relation', 'x', 2, options => '$nightly{$relation}')"))[2];
	is($notice =~ /whose code a scan may run/ ? 1 : 0, $relation eq 'own' ? 0 : 1, "train warns of code of another role where there is some: $relation");
}
as('bob', q{CREATE OR REPLACE FUNCTION his.always() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE FUNCTION his.mood_text(his.mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$; CREATE CAST (his.mood AS text) WITH FUNCTION his.mood_text(his.mood)});
refused('postgres', "SELECT retrain('$_')", '42501', "a superuser does not retrain unattended on what runs another role's code: $_") for grep { $_ ne 'own' } sort keys %nightly;
gives('postgres', q{SELECT retrain('own', '{"quiet": true}')}, '2', 'a superuser retrains on a view and a type of his own');
$server->query("SELECT drop_model('$_')") for keys %nightly;
as('alice', q{GRANT USAGE ON SCHEMA hers TO bob; CREATE TABLE hers.shared AS SELECT * FROM points; GRANT SELECT ON hers.shared TO bob});
gives('bob', q{SELECT train('of hers', 'hers.shared', 'x', 2, options => '{"quiet": true}'); SELECT retrain('of hers', '{"quiet": true}'); SELECT drop_model('of hers')}, "1\n2\n", 'a role retrains its own model on a table that it may read');
$server->query("SELECT drop_model('nightly')");

# ---- no role waits for another role ----
my $maker = login('bob', "BEGIN; SELECT train('soon', 'his.private', 'x', 2); SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($maker, 'PgSleep'), 'bob is training a model in an open transaction');
my $soon = q{train('soon', 'points', 'x', 4, options => '{"quiet": true}')};
my $hers = login('alice', "\\set VERBOSITY verbose\nSET lock_timeout = '20s'; SELECT $soon");
like(($server->finish($hers))[1], qr/55P03: model "soon" is being made by another role/, 'alice is told at once to choose another name');
refused('alice', "SET lock_timeout = '20s'; SELECT $soon", '55P03', 'alice is told the same after SET ROLE');
gives('alice', "SET lock_timeout = '20s'; SELECT train('later', 'points', 'x', 4, options => '{\"quiet\": true}')", '1', 'another name is free meanwhile');
$server->end($maker);
gives('alice', "SELECT $soon", '1', 'the name is free when bob\'s session has ended');
$maker = login('alice', "BEGIN; SELECT locked_model('own', true, true); SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($maker, 'PgSleep'), 'alice is training a model in an open transaction');
my $other = login('alice', q{SELECT train('own', 'points', 'x', 4, options => '{"quiet": true}')});
ok($server->wait_until_it_waits($other), 'her other session waits for the name');
$server->end($maker);
is(($server->finish($other))[1], '1', 'her other session then trains the model');
as('alice', "SELECT drop_model(model) FROM models WHERE model <> 'm'");

# ---- rights lent by views, grants and kept expressions ----
as('alice', "CREATE VIEW hers.labelled AS SELECT id, predict('m', x) AS cluster FROM points; GRANT USAGE ON SCHEMA hers TO bob; GRANT SELECT ON hers.labelled TO bob");
refused('bob', 'SELECT * FROM hers.labelled', '42704', 'a view over a model does not lend the rights of its owner');
as('alice', "SELECT grant_model('m', 'bob')");
gives('bob', 'SELECT count(cluster) FROM hers.labelled; SELECT count(*) FROM model_clusters WHERE model = \'m\'; SELECT count(*) FROM training_log WHERE model = \'m\'',
	"3000\n4\n0", 'grant_model lets bob read the model');
gives('bob', "SELECT string_agg(DISTINCT name, ' ') FROM model_centroids WHERE model = 'm' AND cluster = 1; SELECT count(*) FROM profile('m')", "hers\n12", 'a reader sees names and profile');
refused('bob', "SELECT name_cluster('m', 1, 'mine')", '42501', 'a reader cannot name clusters');
refused('bob', "SELECT $_", '42501', "a reader cannot change the model: $_") for "retrain('m')", "drop_model('m')", "grant_model('m', 'public')", $train;
$server->query('REVOKE SELECT ON points FROM bob');
refused('bob', "SELECT * FROM $_", '42501', "a reader reads the table with his own rights: $_") for "drift('m')", "cluster_rules('m')", "typical_rows('m')", "score('m')";
$server->query('GRANT SELECT (x) ON points TO bob');
refused('bob', "SELECT * FROM typical_rows('m')", '42501', 'rights on the features are not enough for typical rows, which are whole rows');
$server->query('REVOKE SELECT (x) ON points FROM bob');
gives('bob', "SELECT count(*) FROM typical_rows('m', 2, 'his.private')", '8', 'a reader gets typical rows of his own table');
gives('bob', "SELECT n FROM drift('m', 'his.private')", '3000', 'a reader gets the drift of his own table');
as('alice', "SELECT revoke_model('m', 'bob'), grant_model('m', 'public')");
gives('bob', "SELECT predict('m', $row) >= 0", 't', 'a model granted to public can be read by everyone');
as('alice', "SELECT revoke_model('m', 'public')");
refused('bob', "SELECT predict('m', $row)", '42704', 'revoke_model ends the right');

gives('postgres', <<"SQL", "42704", 'an expression kept for one role is not used for another');
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

# A model's row may name a table that its writer may not read, or one with code of his: nobody
# scans it for him.
gives('carol', q{SELECT retrain('m', '{"quiet": true}')}, '2', 'a member of the owner retrains the model');
as('alice', crafted('m', "v.relation := 'his.private';"));
refused('postgres', "SELECT retrain('m')", '42501', 'a superuser does not read for alice what she may not read');
refused('alice', "SELECT retrain('m')", '42501', 'alice cannot read the table either');
as('alice', q{CREATE FUNCTION hers.spy(real[]) RETURNS real[] LANGUAGE plpgsql AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE VIEW hers.trap AS SELECT hers.spy(x) AS x FROM points;
	} . crafted('m', "v.relation := 'hers.trap';"));
refused($_, "SELECT retrain('m')", '42501', "no code of the owner runs as $_") for 'postgres', 'carol';
refused('postgres', "SELECT retrain('m')", qr/HINT:  Log in as alice: after SET ROLE, code of that role could use your rights/, 'the hint warns superusers of SET ROLE');
refused('postgres', "SELECT * FROM $_", '42501', "no code of the owner runs in $_") for "drift('m')", "cluster_rules('m')", "typical_rows('m')", "score('m')";
as('alice', q{CREATE FUNCTION hers.always() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN true; END $$;
	CREATE TABLE hers.plain AS SELECT * FROM points; CREATE INDEX ON hers.plain (id) WHERE hers.always();
	CREATE OR REPLACE FUNCTION hers.always() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	} . crafted('m', "v.relation := 'hers.plain';"));
refused($_, "SELECT retrain('m')", '42501', "no index predicate of the owner runs as $_") for 'postgres', 'carol';
$server->query('CREATE TABLE parent (id int, g int, x real[]); GRANT SELECT ON parent TO alice');
$server->query('ALTER TABLE hers.plain INHERIT parent');
as('alice', crafted('m', "v.relation := 'public.parent';"));
refused('carol', "SELECT retrain('m')", '42501', 'no index predicate of a child table runs');
$server->query('ALTER TABLE hers.plain NO INHERIT parent');
as('alice', q{CREATE TABLE hers.filtered AS SELECT * FROM points;} . crafted('m', "v.relation := 'hers.filtered';"));
$server->query('ALTER TABLE hers.filtered OWNER TO postgres; ALTER TABLE hers.filtered ENABLE ROW LEVEL SECURITY; GRANT SELECT ON hers.filtered TO alice');
refused('postgres', "SELECT retrain('m')", qr/42501:.*Table hers.filtered has row-level security/s, 'rows hidden from the owner by a policy are not read for her');
# The planner folds expressions of statistics and of partition keys, here of tables that alice
# gave away.
my @given = ('split', 'part');
as('alice', q{CREATE FUNCTION hers.zero(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 0; END $$});
if ($server->query('SHOW server_version_num') >= 140000)		# statistics of expressions
{
	as('alice', 'CREATE TABLE hers.measured AS SELECT * FROM points; CREATE STATISTICS hers.of_measured ON (id + hers.zero(1)), g FROM hers.measured');
	push @given, 'measured';
}
as('alice', q{CREATE TABLE hers.split (id int, x real[]) PARTITION BY LIST ((0 * id + hers.zero(1))); CREATE TABLE hers.part PARTITION OF hers.split FOR VALUES IN (0);
	INSERT INTO hers.split SELECT id, x FROM points;
	CREATE OR REPLACE FUNCTION hers.zero(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$});
$server->query('CREATE SCHEMA given');
$server->query("ALTER TABLE hers.$_ OWNER TO postgres; ALTER TABLE hers.$_ SET SCHEMA given") for @given;
$server->query('GRANT USAGE ON SCHEMA given TO alice; GRANT SELECT ON ALL TABLES IN SCHEMA given TO alice');
for my $given (@given)
{
	as('alice', crafted('m', "v.relation := 'given.$given';"));
	refused('postgres', "SET constraint_exclusion = on; SELECT retrain('m')", qr/42501:.*Relation given\.$given uses objects of another role/s, "the planner folds no expression of alice: $given");
}
$server->query(q{CREATE TYPE hers.mood AS ENUM ('1', '2'); ALTER TYPE hers.mood OWNER TO alice;
	CREATE TABLE secret AS SELECT x, id % 3 AS ssn, '1'::hers.mood AS mood FROM points; GRANT SELECT (x, mood) ON secret TO alice});
as('alice', q{CREATE FUNCTION hers.mood_text(hers.mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE CAST (hers.mood AS text) WITH FUNCTION hers.mood_text(hers.mood);
	});
for my $option ('unit', 'row_weight', 'group_by')
{
	as('alice', crafted('m', qq{v.relation := 'public.secret'; v.options := v.options - '{unit,row_weight}'::text[] || '{"$option": "ssn"}';}));
	refused('postgres', "SELECT $_", qr/42501:.*Role alice may not read public.secret/s, "the column of $option is read with the rights of the owner: $_")
		for "retrain('m')", "* FROM drift('m', by => " . ($option eq 'group_by' ? "'group')" : "NULL)");
}
as('alice', crafted('m', q{v.options := v.options || '{"group_by": "mood"}';}));
refused('postgres', "SELECT retrain('m', '$_')", qr/42501:.*Column "mood" of public.secret is of a type that is not built in/s, "no cast of the owner runs: $_")
	for '{}', '{"relation": "public.secret"}';
# Typical rows are written as JSON by a cast of the type's owner.
$server->query('GRANT SELECT ON secret TO alice');
as('alice', q{CREATE FUNCTION hers.mood_json(hers.mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE CAST (hers.mood AS json) WITH FUNCTION hers.mood_json(hers.mood);
	} . crafted('m', q{v.relation := 'public.secret'; v.options := v.options - 'group_by';}));
refused('postgres', "SELECT * FROM $_", qr/42501:.*Column "mood" of public.secret is of a type that is not built in/s, "no cast of a column that is no feature runs: $_")
	for "typical_rows('m')", "typical_rows('m', relation => 'public.secret')";
gives('postgres', "SELECT count(*) > 0 FROM score('m')", 't', 'score reads only the features');
$server->query('REVOKE SELECT ON secret FROM alice; GRANT SELECT (x, mood) ON secret TO alice');
as('alice', q{CREATE TABLE hers.big AS SELECT * FROM points;} . crafted('m', "v.relation := 'hers.big'; v.options := v.options - 'group_by';"));
$server->query('ALTER TABLE hers.big OWNER TO postgres; GRANT SELECT ON hers.big TO alice');
refused('postgres', "SELECT retrain('m')", qr/42501:.*The schema of hers.big belongs to another role/s, 'a table whose schema the owner controls is refused');
as('alice', crafted('m', "v.relation := 'public.points';"));
gives('postgres', q{SELECT retrain('m', '{"quiet": true}') > 2}, 't', 'a plain table is retrained on for the owner');

# ---- a stored condition runs no code of its writer and reads no column that he may not read ----
as('alice', q{CREATE FUNCTION hers.peek(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE FUNCTION hers.abs(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE FUNCTION hers.same(int, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'spy runs as %', current_user; END $$;
	CREATE OPERATOR hers.= (LEFTARG = int, RIGHTARG = text, FUNCTION = hers.same);
	CREATE DOMAIN hers.watched AS int CHECK (hers.peek(VALUE));
	CREATE TYPE hers.wrapped AS (w hers.watched);
	CREATE FUNCTION hers.takes(hers.wrapped) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'});
for my $where ('hers.peek(id)', 'peek(id)', 'id OPERATOR(hers.=) \'1\'::text', 'id = 1::hers.watched', "'(1)'::hers.wrapped IS NULL", "hers.takes('(1)')", "'{1}'::hers.watched[] IS NULL",
	'id = (SELECT 1 WHERE hers.peek(1))', 'EXISTS (SELECT hers.peek(1))', 'true) UNION SELECT (hers.peek(1)', 'true; SELECT hers.peek(1)', "pg_catalog.query_to_xml('SELECT hers.peek(1)', true, true, '') IS NULL")
{
	(my $quoted = $where) =~ s/'/''/g;
	as('alice', crafted('m', "v.options := v.options || jsonb_build_object('where', '$quoted');"));
	for my $scan ("retrain('m')", "* FROM drift('m')", "* FROM typical_rows('m', 1)", "retrain('m', '{\"relation\": \"public.points\"}')")
	{
		my (undef, undef, $why) = as('postgres', "SELECT $scan");
		like($why, qr/ERROR:  (0A000|42883|42704|42601|42501): option "where"/, "a condition runs no code of its writer: $scan where $where");
		unlike($why, qr/spy/, 'no function of the writer runs');
	}
}
as('alice', crafted('m', q{v.options := v.options || '{"where": "abs(id) > 0"}';}));
gives('postgres', q{SET search_path = hers, public, fastclust; SELECT retrain('m', '{"quiet": true}') > 2}, 't', 'names in a condition are those of PostgreSQL whatever the search path');
$server->query('REVOKE SELECT ON secret FROM alice; GRANT SELECT (x, mood) ON secret TO alice');
as('alice', crafted('m', q{v.relation := 'public.secret'; v.options := v.options || '{"where": "ssn = 1"}';}));
refused('postgres', "SELECT retrain('m')", qr/42501:.*Role alice may not read public.secret/s, 'the columns of a condition are read with the rights of the owner');
as('alice', crafted('m', q{v.relation := 'public.points'; v.options := v.options - 'where';}));

refused('alice', crafted('m', "v.relation := 'points; DROP TABLE points'; v.features := '{x}';") . q{; SELECT retrain('m')},
	'(42602|42601|42P01)', 'a stored relation is a name, not a statement');
gives('alice', q{SELECT count(*) FROM points}, '3000', 'a statement in place of a relation does not run');

# ---- an encoder reads the columns of its version and runs no cast of another role ----
$server->query(<<'SQL');
SELECT format('CREATE TABLE wide AS SELECT i AS ssn, %s FROM generate_series(1, 500) i; GRANT SELECT (%s) ON wide TO alice; GRANT SELECT ON wide TO postgres', string_agg(format('random() AS c%s', j), ', '),
	string_agg('c' || j, ', ')) FROM generate_series(1, 99) j
\gexec
CREATE TABLE hers.wide AS SELECT * FROM wide; ALTER TABLE hers.wide OWNER TO alice;
SQL
my $columns = "'{" . join(',', map { "c$_" } 1 .. 98) . "}'::name[]";
gives('alice', qq{SET client_min_messages = error; SELECT train('wide', 'hers.wide', $columns || name 'ssn', 2, options => '{"quiet": true}')}, '1', 'alice trains on 99 columns');
refused('alice', crafted('wide', "v.relation := 'public.wide'; v.features := $columns || name 'c99';"), '23514', 'alice cannot store an encoder with another column than the version has');
refused('alice', crafted('wide', "v.features := ${columns};"), '23514', 'alice cannot store an encoder with more columns than the version has');
as('alice', q{CREATE TYPE hers.amount AS (n float8);
	CREATE FUNCTION hers.number(hers.amount) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RETURN $1.n; END $$;
	CREATE CAST (hers.amount AS float8) WITH FUNCTION hers.number(hers.amount) AS ASSIGNMENT;
	CREATE TABLE hers.paid AS SELECT ROW(id)::hers.amount AS n, g FROM points;
	SELECT train('cast', 'hers.paid', '{n,g}'::name[], 2), grant_model('cast', 'public')});
gives('alice', q{SELECT predict('cast', p) >= 0 FROM hers.paid p LIMIT 1}, 't', 'alice predicts with a cast of her own');
$server->query(q{CREATE TABLE paid AS SELECT ROW(id)::hers.amount AS n, g FROM points LIMIT 1});
refused('postgres', "SELECT $_ FROM public.paid p", '42501', "alice's cast runs for no other role: $_")
	for "predict('cast', p)", "predict_distance('cast', p)", "encode_row(model_encoder('cast'), p)", "fastclust_internal.encode_record(model_encoder('cast'), true, p)";
$server->query(q{DROP TABLE paid; SELECT drop_model('wide'), drop_model('cast')});

# ---- a shared model that cannot be computed does not disturb other models ----
as('bob', crafted('b', "v.operator := (SELECT fastop_agg(x) FROM (VALUES ('{1e15,1e15,1e15}'::real[]), ('{-1e15,-1e15,-1e15}')) q(x)); v.center := '{0,0,0}'; v.scale := '{1e300,1e300,1e300}'; v.spreads := NULL;") . "; SELECT grant_model('b', 'public')");
gives('alice', q{SELECT cluster, centroid[1] FROM model_clusters WHERE model = 'b' ORDER BY cluster}, "0|Infinity\n1|-Infinity", 'its clusters are listed with the numbers that exist');
gives('alice', q{SELECT count(DISTINCT model) > 1 FROM model_clusters}, 't', 'clusters of other models are listed beside it');
as('bob', crafted('b', "v.operator := (SELECT fastop_agg(ARRAY[i, i, i]::real[]) FROM generate_series(1, 50000) i); v.spreads := NULL;") . "; SELECT grant_model('b', 'public')");
my @short_of_memory = as('alice', "SET client_min_messages = warning; SET fastclust.memory_budget = '1MB'; SELECT count(*) > 0, bool_or(model = 'b') FROM model_clusters");
like($short_of_memory[2], qr/of model "b" cannot be shown.*needs 2 MB/s, 'a model that exceeds the memory budget is a warning');
like($short_of_memory[1], qr/^t\|f$/m, 'a model that exceeds the memory budget hides no other model');
for my $null ('NULL, 1, v.operator, true', "'b', NULL, v.operator, NULL", "'b', 1, NULL, true")
{
	my @answer = as('alice', "SET client_min_messages = error; SET fastclust.memory_budget = '1MB'; SELECT count(*) FROM fastclust_internal.readable_versions v JOIN fastclust_internal.readable_models m ON m.id = v.model_id AND m.model = 'b', fastclust_internal.version_cluster_rows($null, NULL, NULL, NULL) c");
	like("$answer[1]$answer[2]", qr/^\d+$|22004/m, "NULL arguments beside such a model do no harm: $null");
}
is((as('alice', "SET client_min_messages = warning; SELECT count(*) FROM $_ WHERE model = 'm'"))[2], '', "a query of one model in $_ does not compute the other") for 'model_clusters', 'model_centroids';
as('bob', "SELECT revoke_model('b', 'public'), use_version('b', 1)");

# ---- made-up options and arguments stop no server ----
for my $seed ('"x"', 'true', '[1]', '{}')
{
	as('bob', crafted('b', "v.options := '{\"seed\": $seed}';") . "; SELECT grant_model('b', 'public')");
	refused('alice', q{SELECT * FROM typical_rows('b', 3, 'points')}, '22023', "a seed that is no number is an error: $seed");
}
as('bob', "SELECT revoke_model('b', 'public'), use_version('b', 1)");
my $encoder = $server->query(q{SELECT quote_literal(encoder_of_vector('x', 3, NULL, NULL)::text)}) . '::encoder';
gives('bob', "SELECT fastclust_internal.feature_condition($encoder, 'points', '{2}', '{0}', '{1}', '{a}', '{b}')", 'x[2] > 0 AND x[2] <= 1', 'a condition on a feature can be computed');
refused('bob', "SELECT fastclust_internal.feature_condition($encoder, 'points', $_)", '(22023|22000)', "a condition on dimensions that do not exist is an error: $_")
	for "'{1000000}', '{0}', '{1}', '{a}', '{b}'", "'{0}', '{0}', '{1}', '{a}', '{b}'", "'{-2147483648}', '{0}', '{1}', '{a}', '{b}'", "'{1,2147483647}', '{0,0}', '{1,1}', '{a,a}', '{b,b}'",
	"'{1,2}', '{0}', '{1,1}', '{a,a}', '{b,b}'", "'{1,2}', '{0,0}', '{}', '{a,a}', '{b,b}'", "'{1,2}', '{0,0}', '{1,1}', '{a}', '{b,b}'", "'{1}', '{0}', '{1}', '{a}', '{}'";

my $plain = $server->query("SELECT 'hers.plain'::regclass::oid");
gives('bob', "BEGIN; SELECT columns FROM fastclust_internal.row_condition($plain, 'id = 1'); SELECT count(*) FROM pg_locks WHERE relation = $plain", "{id}\n0", 'a stranger holds no lock on her table');

# ---- texts about a model contain no control characters ----
gives('alice', <<'SQL', "1\nf\nf", 'report and plot show a name and a category without control characters');
CREATE TABLE hers.escapes AS SELECT CASE WHEN i % 2 = 0 THEN E'a\x1b[31m\x07\x08' ELSE E'b\x7f' END AS kind, i % 2 + i / 1000.0 AS n FROM generate_series(1, 200) i;
SELECT train(E'm\x1b[2J', 'hers.escapes', '{kind,n}'::name[], 2, options => '{"quiet": true}');
SELECT report(E'm\x1b[2J') ~ E'[\x01-\x08\x0b-\x1f\x7f]';
SELECT plot(E'm\x1b[2J') ~ E'[\x01-\x08\x0b-\x1f\x7f]';
SQL
# C1 and bidirectional controls of UTF-8, such as CSI, RIGHT-TO-LEFT OVERRIDE and LINE SEPARATOR
my $controls = join '', map { sprintf '\\%04x', $_ } 0x9b, 0x85, 0x61c, 0x200e, 0x2028, 0x202e, 0x2066, 0x2069;
gives('alice', <<"SQL", "1\nf\nf", 'nor C1 and bidirectional controls');
CREATE TABLE hers.directions AS SELECT CASE WHEN i % 2 = 0 THEN U&'a${controls}c' ELSE 'b' END AS kind, i % 2 + i / 1000.0 AS n FROM generate_series(1, 200) i;
SELECT train(U&'m$controls', 'hers.directions', '{kind,n}'::name[], 2, options => '{"quiet": true}');
SELECT report(U&'m$controls') ~ U&'[$controls]';
SELECT plot(U&'m$controls') ~ U&'[$controls]';
SQL
refused('alice', "SELECT name_cluster(U&'m$controls', 0, U&'x\\$_')", qr/name contains the control character/, "a name with U+$_ is refused")
	for '009b', '202e';
as('alice', "SELECT drop_model(U&'m$controls')");
as('alice', q{SELECT drop_model(E'm\x1b[2J')});

# ---- the right to execute ----
$server->query(q{SELECT grant_model('m', 'bob'); REVOKE EXECUTE ON FUNCTION predict(text, double precision, double precision, double precision[]) FROM PUBLIC});
refused('bob', "SELECT predict('m', 1, 2, 3)", '42501', 'predict of columns needs EXECUTE on that function');
$server->query('GRANT EXECUTE ON FUNCTION predict(text, double precision, double precision, double precision[]) TO PUBLIC');
gives('bob', "SELECT predict('m', 1, 2, 3) = predict('m', $row)", 't', 'predict of columns needs no further right');
$server->query(q{SELECT revoke_model('m', 'bob')});

# ---- row-level security of the relation ----
$server->query(<<'SQL');
ALTER TABLE points ENABLE ROW LEVEL SECURITY;
CREATE POLICY first_rows ON points USING (id <= 1000);
SQL
gives('alice', q{SELECT train('few', 'points', 'x', 4, options => '{"quiet": true}'); SELECT n FROM models WHERE model = 'few'},
	"1\n1000", 'training sees the rows that the policies of the table allow');
$server->query('ALTER TABLE points DISABLE ROW LEVEL SECURITY');

# ---- names ----
gives('alice', <<'SQL', "1\n1\n3\n1", 'names of models, tables, columns and groups may contain any character');
SET client_min_messages = error;
CREATE TABLE hers."odd ""table""; --" AS SELECT id AS "a""; DROP TABLE points; --", id % 7 AS "B%I", id % 3 AS "group'" FROM points;
SELECT train($$it's "a"; DROP TABLE points; --$$, 'hers."odd ""table""; --"', ARRAY['a"; DROP TABLE points; --', 'B%I'], 3, options => '{"quiet": true}');
SELECT train('odd groups', 'hers."odd ""table""; --"', ARRAY['a"; DROP TABLE points; --', 'B%I'], 3, options => '{"quiet": true, "group_by": "group''"}');
SELECT count(*) FROM drift($$it's "a"; DROP TABLE points; --$$, 'hers."odd ""table""; --"', by => 'group''');
SELECT count(*) FROM (SELECT count(*) FROM points) q;
SQL

# ---- roles that are dropped, renamed and created again ----
$server->query('CREATE ROLE dave LOGIN; CREATE ROLE erin LOGIN; GRANT SELECT ON points TO dave');
as('dave', q{SELECT train('of dave', 'points', 'x', 2, options => '{"quiet": true}'), grant_model('of dave', 'erin')});
gives('erin', q{SELECT count(*) FROM models WHERE model = 'of dave'}, '1', 'a reader sees the model');
$server->query('DROP ROLE erin; CREATE ROLE erin LOGIN; ALTER ROLE dave RENAME TO david');
gives('erin', q{SELECT count(*) FROM models}, '0', 'a later role with the name of a dropped reader is no reader');
gives('david', q{SELECT grant_model('of dave', 'bob'); SELECT owner FROM models; SELECT readers FROM models}, "\ndavid\n{bob}", 'a renamed role keeps its models, and dropped readers disappear');
$server->query('REVOKE SELECT ON points FROM david; DROP ROLE david; CREATE ROLE dave LOGIN; CREATE ROLE david LOGIN');
gives($_, q{SELECT count(*) FROM models}, '0', "a later role named $_ does not own them") for 'dave', 'david';
gives('postgres', q{UPDATE fastclust_internal.stored_models SET owner = 'dave' WHERE model = 'of dave'}, '', 'a superuser gives them a new owner');
gives('dave', q{SELECT drop_model('of dave')}, '', 'the new owner may drop them');

# ---- search_path ----
$server->query('GRANT CREATE ON SCHEMA public TO bob');
as('bob', <<'SQL');
CREATE FUNCTION public.bad() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION public.pg_has_role(oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.bad()';
CREATE FUNCTION public.row_count(sketch) RETURNS bigint LANGUAGE sql AS 'SELECT public.bad()::int::bigint';
CREATE FUNCTION public.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.bad()';
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.same);
SQL
gives('alice', q{SET search_path = public, fastclust, pg_catalog; SELECT train('path', 'points', 'x', 4, options => '{"quiet": true}');
	SELECT predict('path', '{1,2,3}'::real[]) >= 0; SELECT n > 0 FROM drift('path'); SELECT drop_model('path')}, "1\nt\nt\n", 'functions and operators in the search path of the caller are not used');
# Catalogs of other extensions that are not installed would be found among temporary views.
my $temporary = join ' ', map { "CREATE TEMP VIEW $_ AS SELECT public.bad()::text AS shardid, 0 AS groupid, 'h'::\"char\" AS partmethod, 'fastclust_internal.shared_models'::regclass AS logicalrelid;" }
	qw(pg_dist_shard pg_dist_partition pg_dist_local_group);
refused('bob', "$temporary SELECT * FROM fastclust_internal.shared_model('m', '')", '42P01', 'a temporary view in the place of a missing catalog does not run as the owner');
is($server->query(<<'SQL'), '', 'catalogs that may be missing are named with their schema');
SELECT p.oid::regprocedure, m[1] FROM pg_proc p, regexp_matches(p.prosrc, '\m(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:ONLY\s+)?(pg_\w+)(?!\w|\.|\s*\()', 'g') m
 WHERE p.pronamespace::regnamespace::text ~ '^fastclust' AND to_regclass('pg_catalog.' || m[1]) IS NULL
SQL

# ---- labels written to tables ----
$server->query(<<'SQL');
CREATE TABLE hers.rows (id int PRIMARY KEY, x real[], who name); GRANT USAGE ON SCHEMA hers TO bob; GRANT SELECT ON hers.rows TO bob;
INSERT INTO hers.rows SELECT i, ARRAY[i % 4, i % 7, i], CASE i % 2 WHEN 0 THEN 'bob' ELSE 'alice' END FROM generate_series(1, 100) i; ALTER TABLE hers.rows OWNER TO alice;
ALTER TABLE hers.rows ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON hers.rows USING (who = current_user);
CREATE TABLE his.unread AS SELECT 1 AS id, '{1,2,3}'::real[] AS x;
CREATE TABLE his.kept (id int, cluster int); ALTER TABLE his.kept OWNER TO bob; GRANT USAGE ON SCHEMA his TO alice; GRANT SELECT ON his.kept TO alice;
SQL
my $options = q{'{"key": "id", "append": true}'};
gives('alice', q{SELECT train('labels', 'hers.rows', 'x', 2, options => '{"quiet": true}')}, '1', 'alice trains on a table with a policy');
refused('bob', q{SELECT write_labels('labels', 'hers.rows', 'his.labels')}, '42704', 'another role cannot write labels of the model');
gives('alice', q{SELECT grant_model('labels', 'bob'); SELECT write_labels('labels', 'hers.rows', 'hers.labels')}, "\n100", 'the owner writes labels');
gives('bob', q{SELECT write_labels('labels', 'hers.rows', 'his.labels'); SELECT count(*), min(id % 2) FROM his.labels}, "50\n50|0", 'a reader writes labels of the rows that he sees');
gives('bob', q{SELECT relowner::regrole FROM pg_class WHERE oid = 'his.labels'::regclass}, 'bob', 'the table of labels belongs to the reader');
refused('bob', "SELECT write_labels('labels', $_)", '42501', "a reader cannot write labels elsewhere: $_")
	for "'hers.rows', 'hers.more'", "'his.unread', 'his.more', $options", "'hers.rows', 'hers.labels', $options";
refused('alice', "SELECT write_labels('labels', 'hers.rows', 'his.kept', $_)", '42501', "another role's table is not written with $_") for $options, q{'{"replace": true}'};
refused('alice', q{SELECT fastclust_internal.write_rows('none', 'his.kept', 'SELECT 1 AS id, 2 AS cluster', NULL, 1, 'hers.rows')}, '42501', 'another role\'s table is not written by the internal function');
gives('bob', 'SELECT count(*) FROM his.kept', '0', 'a table of another role is unchanged');
gives('bob', q{GRANT INSERT (id) ON his.kept TO alice}, '', 'bob grants alice one column of his table');
refused('alice', "SELECT write_labels('labels', 'hers.rows', 'his.kept', $options)", '42501', 'the right to one column is not enough for labels');
gives('bob', q{ALTER TABLE his.kept ENABLE ROW LEVEL SECURITY; GRANT INSERT ON his.kept TO alice; CREATE POLICY low ON his.kept FOR INSERT WITH CHECK (id < 50)}, '', 'bob adds a policy to his table');
refused('alice', "SELECT write_labels('labels', 'hers.rows', 'his.kept', $options)", '42501', 'labels obey the policy of the target');
gives('alice', q{CREATE TABLE hers.predict (id int); CREATE FUNCTION hers.predict(text, real[]) RETURNS int LANGUAGE sql AS 'SELECT 1 / 0';
	SET search_path = hers, fastclust, pg_catalog; SELECT write_labels('labels', 'rows', 'of_path'); SELECT count(cluster) FROM hers.of_path}, "100\n100", 'the search path of the caller finds tables and no functions');

# A table of labels follows its model with the rights of the role that wrote it, and of no other.
gives('alice', q{CREATE TABLE hers.flat AS SELECT i AS id, ARRAY[i % 4, i % 7]::real[] AS x FROM generate_series(1, 100) i; ALTER TABLE hers.flat ADD PRIMARY KEY (id); GRANT SELECT ON hers.flat TO bob;
	SELECT train('followed', 'hers.flat', 'x', 2, options => '{"quiet": true}'); SELECT train('followed', 'hers.flat', 'x', 3, options => '{"quiet": true}');
	SELECT write_labels('followed', 'hers.flat', 'hers.following', '{"follow": true}'); SELECT grant_model('followed', 'bob')}, "1\n2\n100\n", 'alice writes labels that follow a model');
refused('bob', q{SELECT write_labels('followed', 'hers.flat', 'his.following', '{"follow": true}')}, '42501', 'a reader cannot write labels that follow');
gives('bob', "SELECT to_regclass('his.following'); SELECT count(*) FROM own_label_tables", "\n0", 'the refused call leaves nothing');
refused($_, q{INSERT INTO label_tables (model_id, target, relation, options, followed_by) SELECT id, $$hers.x$$, $$hers.flat$$, $${}$$, $$alice$$ FROM readable_models}, '42501', "$_ cannot make a table follow otherwise") for qw(alice bob);
my $clusters = 'SELECT count(DISTINCT cluster) FROM hers.following';
for my $other (qw(carol postgres))
{
	like(($server->try("SET ROLE $other; SELECT use_version('followed', 1)"))[2], qr/WARNING:  labels in hers.following could not be updated to the current version/, "labels do not follow when $other changes the version");
	is($server->query($clusters), 3, "labels are unchanged when $other is warned");
}
gives('alice', "SELECT use_version('followed', 1); $clusters", "\n2", 'labels follow when their owner changes the version');
gives('carol', q{SET ROLE alice; GRANT CREATE ON SCHEMA hers TO carol; RESET ROLE; SELECT write_labels('followed', 'hers.flat', 'hers.of_carol', '{"follow": true}');
	CREATE FUNCTION hers.seize() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''seized by %'', current_user; END';
	CREATE TRIGGER seize BEFORE UPDATE ON hers.of_carol FOR EACH STATEMENT EXECUTE FUNCTION hers.seize()}, '100', 'a member of alice writes labels that follow');
my $messages = ($server->try("SET ROLE alice; SELECT use_version('followed', 2); $clusters"))[2];
like($messages, qr/WARNING:  labels in hers.of_carol could not be updated .*: they were written by role carol/, 'labels of carol do not follow when alice changes the version');
unlike($messages, qr/seized/, 'no trigger of carol\'s runs with the rights of alice');

# ---- all functions ----
is($server->query("SELECT p.oid::regprocedure FROM $ours WHERE l.lanname NOT IN ('c', 'internal') AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%')"),
	'', 'every function that is not in C has a fixed search_path');

# ---- the page names the functions that run as the owner ----
my ($table) = read_file(dirname(__FILE__) . '/../../docs/security.md') =~ /^\| functions in `fastclust_owner` .*\n\|[- |]+\n((?:\|.*\n)+)/m;
is(join(' ', sort map { /`(\w+)`/g } map { (split /\|/)[1] } split /\n/, $table), join(' ', split /\n/, $server->query("SELECT DISTINCT p.proname COLLATE \"C\" FROM $ours WHERE p.prosecdef ORDER BY 1")),
	'the table in docs/security.md has the functions that run as the owner');

# ---- roles that may not train ----
$server->query(<<'SQL');
CREATE ROLE idler LOGIN; CREATE TABLE theirs AS SELECT ARRAY[i % 3, i % 5]::real[] AS x, i % 3 AS a FROM generate_series(1, 300) i; ALTER TABLE theirs OWNER TO idler;
SET ROLE idler; SELECT train('before', 'theirs', 'x', 3); RESET ROLE;
SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = 'fastclust'::regnamespace AND p.proname IN ('train', 'choose_k', 'keep_sketch') \gexec
SQL
my %door = (
	'train' => q{train('theirs', 'theirs', 'x', 3)},
	'retrain' => q{retrain('before')},
	'choose_k' => q{* FROM choose_k('theirs', 'x')},
	'choose_k_live' => q{* FROM choose_k_live('theirs', '{x}', true, 9, '{"live": true}')},
	'keep_sketch' => q{keep_sketch('theirs', 'theirs', 'x', sketch_spec(2, 20, 1.0))},
	'keep_live' => q{keep_live(requested_live('theirs', 'theirs', '{x}', true, sketch_spec(2, 20, 1.0), '{}'))},
);
for my $door (sort keys %door)
{
	like((as('idler', "SELECT $door{$door}"))[2], qr/42501: +permission denied for function (train|choose_k|keep_sketch)$/m, "a role that may not train cannot do it by $door");
}
$server->query('CREATE DATABASE narrow');
$server->query(q{CREATE EXTENSION fastclust; SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = 'fastclust'::regnamespace AND p.proname = 'train' \gexec
	CREATE TABLE theirs AS SELECT ARRAY[i, i]::real[] AS x FROM generate_series(1, 30) i; ALTER TABLE theirs OWNER TO idler}, database => 'narrow');
$server->dump_into('narrow', 'dumped');
like(($server->try("SET ROLE idler; SELECT $door{train}", database => 'dumped', verbosity => 'verbose'))[2], qr/42501: +permission denied for function train$/m, 'a role that may not train may not do it in a restored database');
$server->query(q{SELECT format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = 'fastclust'::regnamespace AND p.proname IN ('train', 'choose_k', 'keep_sketch') \gexec});
gives('idler', "SELECT train('theirs', 'theirs', 'x', 3), retrain('before')", '1|2', 'a role may train when the right is granted again');
# Rights on columns are not enough for a training, which needs the places of rows.
$server->query('CREATE ROLE of_columns LOGIN; GRANT SELECT (x) ON theirs TO of_columns');
like((as('of_columns', "SELECT train('of columns', 'theirs', 'x', 3)"))[2], qr/42501: +permission denied for table .*theirs\n.*physical position.*\nHINT:  .*a view of these columns/s, 'a role with rights on columns alone gets an error that says what a training needs');
$server->query('CREATE VIEW columns_of_theirs AS SELECT x FROM theirs; GRANT SELECT ON columns_of_theirs TO of_columns');
gives('of_columns', q{SELECT train('of columns', 'columns_of_theirs', 'x', 3, options => '{"quiet": true}')}, 1, 'a role with rights on columns alone trains on a view');

# ---- the columns of a window are checked, in its exception, its baseline and the partition key, too ----
$server->query(<<'SQL');
CREATE TABLE pay (x real[], rich boolean, day date) PARTITION BY RANGE (day);
CREATE TABLE pay_2024 PARTITION OF pay FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO pay SELECT ARRAY[i % 4 * 5, i % 3], i % 10 = 0, date '2024-01-01' + i % 50 FROM generate_series(1, 600) i;
GRANT SELECT (x) ON pay TO of_columns;
CREATE VIEW pay_of_columns AS SELECT x FROM pay; GRANT SELECT ON pay_of_columns TO of_columns;
SQL
gives('of_columns', q{SELECT train('of pay', 'pay_of_columns', 'x', 4, options => '{"quiet": true}'); SELECT grant_model('of pay', 'public')}, "1\n", 'a role trains on the one column that it may read');
for my $since ('{"where": "rich"}', '{"where": "true", "except": {"where": "not rich"}}', '{"where": "true", "baseline": {"where": "rich"}}',
	'{"where": "true", "baseline": {"column": "day", "interval": "9 days"}}', '{"partition": "last"}')
{
	gives('of_columns', crafted('of pay', qq{v.relation := 'public.pay'; v.options := v.options || '{"since": $since}';}), '', "a role stores a version with the window $since");
	refused('postgres', "SELECT * FROM drift('of pay')", '42501', "the window is not scanned with columns that the owner may not read: $since");
}
gives('of_columns', crafted('of pay', q{v.relation := 'public.pay'; v.options := v.options || '{"since": {"where": "x[1] > 5"}}';}), '', 'a role stores a version with a window over a column that it may read');
like($server->query("SELECT n > 0 FROM drift('of pay')"), qr/^t$/, 'a window over a column that the owner may read is scanned');

# ---- check_drift checks the models of a role itself, not of roles that it is a member of ----
$server->query('CREATE ROLE of_both LOGIN; GRANT of_columns TO of_both');
gives('of_both', 'SELECT count(*) FROM check_drift()', 0, "check_drift leaves out the models of another role");

# ---- values of groups are compared without code of another role ----
$server->query('CREATE TABLE code_ran (by name); GRANT INSERT ON code_ran TO PUBLIC; CREATE ROLE dora LOGIN; CREATE ROLE lena LOGIN;
	CREATE SCHEMA codes AUTHORIZATION dora; CREATE SCHEMA hidden AUTHORIZATION dora; GRANT USAGE ON SCHEMA codes TO PUBLIC');
as('dora', <<'SQL');
CREATE FUNCTION codes.ran() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF current_user <> 'dora' THEN INSERT INTO public.code_ran VALUES (current_user); END IF; RETURN true; END $$;
CREATE FUNCTION codes.holds(int) RETURNS boolean LANGUAGE sql AS 'SELECT codes.ran()';
CREATE DOMAIN codes.number AS int CHECK (codes.holds(VALUE));
CREATE TABLE codes.singles AS SELECT 1::codes.number AS n; GRANT SELECT ON codes.singles TO postgres;
SQL
$server->query('CREATE VIEW innocent AS SELECT n FROM codes.singles');	# its row type belongs to the superuser
gives('dora', <<'SQL', "1\n1\n1\n||", 'dora trains groups whose types hide a check of hers');
SET client_min_messages = error;
CREATE TABLE codes.rows AS SELECT ROW(i % 2)::public.innocent AS pair, ARRAY[ROW(i % 2)::public.innocent] AS pairs, ARRAY[(i % 2)::codes.number] AS numbers, random() AS a, random() AS b FROM generate_series(1, 90) i;
SELECT train(c, 'codes.rows', '{a,b}', 2, options => jsonb_build_object('group_by', c, 'quiet', true)) FROM unnest('{pair,pairs,numbers}'::text[]) c;
SELECT grant_model('pair', 'lena'), grant_model('pairs', 'lena'), grant_model('numbers', 'lena');
SQL
for (['pair', '(1)'], ['pairs', '{(1)}'], ['numbers', '{1}'])
{
	my ($model, $group) = @$_;
	gives('lena', "SELECT predict('$model', '{0.5,0.5}', group_value => '$group') IS NOT NULL, count(*) > 0 FROM profile('$model', group_value => '$group')", 't|t', "a reader finds group $group");
	gives('postgres', "SELECT name_cluster('$model', 0, 'the first', '$group'); SELECT report('$model', group_value => '$group') IS NOT NULL", "\nt", "the superuser names a cluster of group $group");
}
# A function of pg_catalog calls the casts that a user made.
gives('dora', <<'SQL', "1\n1\n1\n||", 'dora makes casts of her types');
SET client_min_messages = error;
CREATE TYPE codes.shade AS ENUM ('1', '2');
CREATE TYPE codes.holder AS (s codes.shade);
CREATE TYPE codes.span AS RANGE (subtype = float8);
CREATE FUNCTION codes.told(codes.shade) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM codes.ran(); RETURN '1'; END $$;
CREATE FUNCTION codes.told(codes.span) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM codes.ran(); RETURN '1'; END $$;
CREATE FUNCTION codes.told(float8) RETURNS codes.span LANGUAGE plpgsql AS $$ BEGIN PERFORM codes.ran(); RETURN codes.span($1, $1); END $$;
CREATE CAST (codes.shade AS json) WITH FUNCTION codes.told(codes.shade);
CREATE CAST (codes.span AS json) WITH FUNCTION codes.told(codes.span);
CREATE CAST (float8 AS codes.span) WITH FUNCTION codes.told(float8) AS IMPLICIT;
CREATE CAST (codes.shade AS jsonb) WITH FUNCTION pg_catalog.to_jsonb(anyelement) AS IMPLICIT;
CREATE CAST (codes.shade[] AS jsonb) WITH FUNCTION pg_catalog.to_jsonb(anyelement) AS IMPLICIT;
CREATE CAST (codes.span AS jsonb) WITH FUNCTION pg_catalog.to_jsonb(anyelement) AS IMPLICIT;
CREATE CAST (codes.holder AS jsonb) WITH FUNCTION pg_catalog.to_jsonb(anyelement) AS IMPLICIT;
CREATE CAST (jsonb AS codes.shade) WITH INOUT AS ASSIGNMENT;
CREATE TABLE codes.values AS SELECT to_jsonb(1 + i % 2) AS document, (1 + i % 2)::text::codes.shade AS shade, codes.span(i % 2, 3) AS span, random() AS a, random() AS b FROM generate_series(1, 90) i;
SELECT train(c, 'codes.values', '{a,b}', 2, options => jsonb_build_object('group_by', c, 'quiet', true)) FROM unnest('{document,shade,span}'::text[]) c;
SELECT grant_model('document', 'lena'), grant_model('shade', 'lena'), grant_model('span', 'lena');
CREATE VIEW codes.given AS SELECT '1'::codes.shade AS document, '1'::jsonb AS shade, 0.5 AS a, 0.5 AS b; GRANT SELECT ON codes.given, codes.values TO lena;
SQL
for my $role ('lena', 'postgres')
{
	refused($role, "SELECT predict('$_->[0]', '{0.5,0.5}', group_value => $_->[1])", '42804', "$role passes $_->[1] as a group of $_->[0]")
		for ['document', "'1'::codes.shade"], ['document', "'{1}'::codes.shade[]"], ['document', 'codes.span(1, 2)'], ['document', "ROW('1')::codes.holder"], ['shade', "'1'::jsonb"];
	refused($role, "SELECT predict('$_', g) FROM codes.given g", '42804', "$role passes a row whose column $_ has another type") for 'document', 'shade';
	gives($role, "SELECT predict('span', '{0.5,0.5}', group_value => 0.5::float8) IS NULL; SELECT count(predict('shade', v)), count(predict('span', v)) FROM codes.values v", "t\n90|90", "$role finds groups of such types by their texts");
}
is($server->query('SELECT count(*) FROM code_ran'), 0, 'no code of dora ran as another role');

# A reader needs no right on the schemas of the types and collations of groups.
$server->query('CREATE EXTENSION IF NOT EXISTS citext SCHEMA hidden');
gives('dora', <<'SQL', "1\n1\n1\n||", 'dora trains groups whose types are in a schema of hers');
SET client_min_messages = error; SET search_path = hidden, fastclust;
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE rows AS SELECT (ARRAY['sad', 'glad'])[1 + i % 2]::mood AS felt, (ARRAY['x', 'X'])[1 + i % 2]::citext AS written, (ARRAY['x', 'X'])[1 + i % 2] COLLATE folded AS told, random() AS a, random() AS b FROM generate_series(1, 90) i;
SELECT train(c, 'rows', '{a,b}', 2, options => jsonb_build_object('group_by', c, 'quiet', true)) FROM unnest('{felt,written,told}'::text[]) c;
SELECT grant_model('felt', 'lena'), grant_model('written', 'lena'), grant_model('told', 'lena');
SQL
gives('lena', "SELECT predict('$_->[0]', '{0.5,0.5}', group_value => '$_->[1]') IS NOT NULL, count(*) > 0 FROM profile('$_->[0]', group_value => '$_->[1]')", 't|t', "a reader without USAGE finds group $_->[1] of $_->[0]")
	for ['felt', 'sad'], ['written', 'x'], ['told', 'x'];

# ---- the extension is not installed into a schema that another role prepared ----
for my $schema ('fastclust', 'fastclust_internal', 'fastclust_owner')
{
	like(($server->try("CREATE DATABASE prepared"))[2] . ($server->try("CREATE SCHEMA $schema AUTHORIZATION bob; CREATE EXTENSION fastclust", database => 'prepared', verbosity => 'verbose'))[2],
		qr/42P06: schema "$schema" already exists/, "the extension is not created where schema $schema exists");
	is($server->query("DROP SCHEMA $schema; CREATE EXTENSION fastclust; DROP EXTENSION fastclust; SELECT count(*) FROM pg_namespace WHERE nspname ~ 'fastclust'", database => 'prepared'), 0, 'dropping the extension drops its schemas');
	$server->query('DROP DATABASE prepared');
}

# ---- a relation is more than its name ----
# After DROP TABLE, another role makes a relation of the same name, with code of its own.
$server->query('CREATE ROLE vic LOGIN; CREATE ROLE mallory LOGIN; CREATE SCHEMA shared; GRANT CREATE, USAGE ON SCHEMA shared TO vic, mallory; GRANT INSERT ON code_ran TO PUBLIC; TRUNCATE code_ran');
my $made = 'CREATE TABLE shared.numbers AS SELECT i AS id, i % 7 AS a, i % 3 AS b FROM generate_series(1, 500) i; ALTER TABLE shared.numbers ADD PRIMARY KEY (id);';
gives('vic', qq{$made SELECT train('his', 'shared.numbers', '{a,b}', 3, options => '{"quiet": true}'), write_labels('his', 'shared.numbers', 'shared.labels', '{"follow": true}')}, '1|500', 'a model and its labels');
gives('vic', qq{DROP TABLE shared.numbers; $made SELECT retrain('his', '{"quiet": true}'); SELECT verdict FROM check_drift()}, "2\nnone", 'a table that its owner drops and makes again is read');
gives('vic', 'DROP TABLE shared.labels; SELECT 1', 1, 'the labels are gone');
as('mallory', q{CREATE FUNCTION shared.run() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.code_ran VALUES (current_user); RETURN 1; END $$;
	CREATE FUNCTION shared.run_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.run(); RETURN NEW; END $$;
	CREATE TABLE shared.labels (id integer PRIMARY KEY, cluster integer); CREATE TRIGGER run BEFORE INSERT ON shared.labels FOR EACH ROW EXECUTE FUNCTION shared.run_trigger(); GRANT ALL ON shared.labels TO PUBLIC});
like((as('vic', q{SELECT retrain('his', '{"quiet": true}')}))[2], qr/WARNING: .*labels in shared.labels could not be updated .*relation shared.labels belongs to mallory now, and belonged to vic before/, 'labels do not follow into a table of another role');
gives('vic', 'DROP TABLE shared.numbers; SELECT 1', 1, 'the table is gone');
as('mallory', 'CREATE VIEW shared.numbers AS SELECT 1 AS id, shared.run() AS a, 2 AS b; GRANT ALL ON shared.numbers TO PUBLIC');
refused('vic', $_, qr/42501: .*DETAIL:  Relation shared.numbers belongs to mallory now, and belonged to vic before.*HINT:  Name the table if you trust its owner/s, "refused: $_")
	for q{SELECT retrain('his')}, q{SELECT * FROM drift('his')}, q{SELECT * FROM typical_rows('his', 1)}, q{SELECT * FROM cluster_rules('his')};
like((as('vic', 'SELECT verdict FROM check_drift()'))[1], qr/^failed$/, 'check_drift does not read it');
gives('postgres', 'SELECT count(*) FROM code_ran', 0, 'no code of the other role ran');
gives('vic', q{SELECT count(*) FROM drift('his', 'shared.numbers')}, 1, 'a relation that is named is read');
gives('postgres', 'SELECT DISTINCT by FROM code_ran', 'vic', 'and runs its code, of which the hint warns');

# The owner of the schema replaces a table while another role waits to read it, or after that role's
# snapshot, or renames the schema during a training.
$server->query(<<'SQL');
DROP SCHEMA shared CASCADE; CREATE SCHEMA shared AUTHORIZATION mallory; GRANT CREATE, USAGE ON SCHEMA shared TO vic; TRUNCATE code_ran;
SELECT format('GRANT CREATE ON DATABASE %I TO mallory', current_database()) \gexec
SQL
my $rows = 'CREATE TABLE shared.numbers AS SELECT i AS id, i % 7 AS a, i % 3 AS b FROM generate_series(1, 500) i;';
my $code = q{CREATE FUNCTION shared.run() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.code_ran VALUES (current_user); RETURN 1; END $$;};
my %trap = (
	numbers => qq{$rows GRANT ALL ON shared.numbers TO PUBLIC; CREATE POLICY run ON shared.numbers USING (shared.run() = 1); ALTER TABLE shared.numbers ENABLE ROW LEVEL SECURITY;},
	labels => q{CREATE TABLE shared.labels (id integer PRIMARY KEY, cluster integer); GRANT ALL ON shared.labels TO PUBLIC;
		CREATE TRIGGER run BEFORE INSERT ON shared.labels FOR EACH ROW EXECUTE FUNCTION shared.run_trigger();},
);
as('mallory', "$code CREATE FUNCTION shared.run_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM shared.run(); RETURN NEW; END'");
sub make_rows
{
	$server->query('DROP TABLE IF EXISTS shared.numbers, shared.labels');
	as('vic', qq{$made SELECT train('his', 'shared.numbers', '{a,b}', 3, options => '{"quiet": true}'), write_labels('his', 'shared.numbers', 'shared.labels', '{"follow": true}')});
}
my $retrain = q{SELECT retrain('his', '{"quiet": true}');};
my %told = (numbers => qr/ERROR: .*DETAIL:  Relation shared.numbers belongs to mallory now/s, labels => qr/WARNING: .*relation shared.labels belongs to mallory now/);
for my $table (sort keys %trap)
{
	my $replace = "DROP TABLE shared.$table; $trap{$table}";

	make_rows();
	my $thief = login('mallory', qq{BEGIN; $replace
		DO \$\$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted) LOOP PERFORM pg_sleep(0.05); END LOOP; END \$\$; COMMIT});
	$server->wait_until_it_waits($thief, 'PgSleep');
	like((as('vic', $retrain))[2], $told{$table}, "$table are checked again after waiting for their DROP");
	$server->finish($thief);

	make_rows();
	my $gate = $server->background('SELECT pg_advisory_lock(7), pg_sleep(600)');
	$server->wait_until_it_waits($gate, 'PgSleep');
	my $victim = login('vic', "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_advisory_xact_lock(7); $retrain COMMIT;");
	$server->wait_until_it_waits($victim);
	as('mallory', $replace);
	$server->end($gate);
	like(($server->finish($victim))[1], $told{$table}, "the present owner of $table counts, not that of the snapshot");
}
make_rows();
my $late_step = $server->background('BEGIN; LOCK TABLE training_steps IN SHARE MODE; SELECT pg_sleep(600)');
$server->wait_until_it_waits($late_step, 'PgSleep');
my $victim = login('vic', $retrain);
$server->wait_until_it_waits($victim);
as('mallory', "ALTER SCHEMA shared RENAME TO shared_before; CREATE SCHEMA shared; GRANT USAGE ON SCHEMA shared TO vic; GRANT USAGE ON SCHEMA shared_before TO vic; $code $trap{numbers}");
$server->end($late_step);
like(($server->finish($victim))[1], qr/^WARNING:  labels in shared\.labels are no longer updated: the table does not exist\nHINT:  .*\n\d+$/,
	'a training goes on with its table when the schema is renamed, and says that the labels are not found');
like((as('vic', $retrain))[2], $told{numbers}, 'the owner of the table that was read is stored, not that of the one with its name');
is($server->query('SELECT DISTINCT by FROM code_ran'), '', 'no code of the owner of the schema ran');

SKIP: {
	skip 'GRANT SET is of PostgreSQL 15', 1 if $server->query('SHOW server_version_num') < 150000;
	$server->query('GRANT SET ON PARAMETER session_replication_role TO mallory; GRANT INSERT ON stored_models TO mallory');
	refused('mallory', "SET session_replication_role = replica; INSERT INTO fastclust_internal.stored_models (model, owner) VALUES ('forged', 'vic')", '42501', 'session_replication_role does not switch off the check of restored rows');
}
done_testing();

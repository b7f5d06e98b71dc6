# Levels, cluster trees, index health and types named like pgvector's give no role rights of
# another: what a role stores neither influences calls of others nor runs as them.
use FastclustTest qw(as refused gives crafted);

my $server = FastclustTest->new(extension => 1);
$server->query(<<'SQL');
CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE reader LOGIN;
CREATE SCHEMA hers AUTHORIZATION alice; CREATE SCHEMA his AUTHORIZATION bob;
GRANT USAGE ON SCHEMA hers TO PUBLIC;
CREATE TABLE public.ran (by name); GRANT INSERT ON ran TO PUBLIC;
CREATE TABLE shared AS SELECT i AS id, ARRAY[i % 7, i % 5, sin(i)]::real[] AS x FROM generate_series(1, 2000) i;
GRANT SELECT ON shared TO alice, bob;
SQL

my $row = "'{1,2,3}'::real[]";
my $quiet = q{options => '{"quiet": true}'};
gives('alice', "CREATE TABLE hers.items AS SELECT * FROM shared; GRANT SELECT ON hers.items TO reader;
	SELECT train('hers', 'hers.items', 'x', NULL, options => '{\"levels\": [4,2], \"quiet\": true}')", 1, 'alice trains a model with levels on her table');
gives('bob', "CREATE TABLE his.items AS SELECT * FROM shared; SELECT train('his', 'his.items', 'x', NULL, options => '{\"levels\": [4,2], \"quiet\": true}')", 1, 'bob trains a model with levels on his table');

# ---- reading ----
my @calls = ("predict_path('hers', $row)", "predict_path('hers', s) FROM shared s", "predict_path('hers', $row, group_value => '')", "predict_path('hers', s, group_value => '') FROM shared s", "predict('hers', $row, max_distance => 0.5)", "* FROM cluster_tree('hers')",
	"* FROM index_centroids('hers')", "merge_small_clusters(model_operator('hers'), 0.1)", "retrain('hers', '{\"frozen\": true}')", "retrain('hers', '{\"balance\": 2}')");
refused('bob', "SELECT $_", '42704', "another role cannot use the model: $_") for @calls;
refused('bob', "SELECT * FROM $_", '(42501|55000)', "another role cannot read the table by $_") for "index_health('hers.items', 'x')",
	"index_health('hers.items', 'x', (SELECT training_sketch FROM model_versions WHERE model = 'his'))",
	"index_health('hers.items', 'x', (SELECT training_sketch FROM model_versions WHERE model = 'his'), (SELECT training_sketch FROM model_versions WHERE model = 'his'))";
as('alice', "CREATE VIEW hers.paths AS SELECT id, predict_path('hers', x) FROM hers.items; CREATE VIEW hers.health AS SELECT * FROM index_health('hers.items', 'x'); GRANT SELECT ON hers.paths, hers.health TO bob");
refused('bob', 'SELECT * FROM hers.paths', '42704', 'a view over a model does not lend the rights of its owner');
refused('bob', 'SELECT * FROM hers.health', '55000', 'a view over index_health does not lend the rights of its owner');
refused('reader', "SELECT * FROM index_health('hers.items', 'x')", '55000', 'a reader of the table without the model has no index to check');

# ---- values that a role stores in a version ----
refused('bob', crafted('his', "v.paths := $_;"), '22000', "paths that form no tree are refused: $_") for "'{}'", "'{{0},{1}}'", "'{{0},{0},{0},{0},{0},{0},{0},{NULL}}'", "'[0:7][1:1]={{0},{0},{0},{0},{0},{0},{0},{0}}'",
	"'[1:8][0:0]={{0},{0},{0},{0},{0},{0},{0},{0}}'", "'{{-1},{0},{0},{0},{0},{0},{0},{0}}'", "'{{2147483647},{0},{0},{0},{0},{0},{0},{0}}'", "'{{8},{0},{0},{0},{0},{0},{0},{0}}'",
	"'{{1},{1},{1},{1},{1},{1},{1},{1}}'", "'{{0,0},{1,0},{0,0},{0,0},{0,0},{0,0},{0,0},{0,0}}'", "array_fill(0, '{8,8}')", "array_fill(0, '{8,100000}')";
refused('bob', crafted('his', "v.recall := $_;"), '23514', "an impossible recall is refused: $_") for "'NaN'", '-0.1', '1.1', "'Infinity'";
gives('bob', "SELECT max(version), count(*) FROM model_versions WHERE model = 'his'", '1|1', 'the refused calls left nothing');

# ---- index_health uses no model of a stranger, and no stored value of his stops it ----
my $health = "SELECT model, verdict FROM index_health('hers.items', 'x')";
for my $relation ('a.b.c.d', '', 'elsewhere.hers.items', 'his.items', '"')
{
	gives('bob', crafted('his', "v.relation := '$relation';") . "; SELECT grant_model('his', 'public')", '', "bob shares a model of relation '$relation', which alice may not use");
	gives('alice', $health, 'hers|none', 'alice\'s model is used nevertheless');
	gives('postgres', $health, 'hers|none', 'alice\'s model is used for a superuser, who sees all models');
}
gives('bob', crafted('his', "v.relation := 'hers.items'; v.recall := 1; v.options := v.options || '{\"probes\": \"all\"}';"), '', 'bob shares a model that claims to be trained on alice\'s table');
gives($_, $health, 'hers|none', "bob's model is not used for $_") for 'alice', 'postgres';
as('alice', "SELECT rename_model('hers', 'kept'), grant_model('kept', 'reader'); GRANT SELECT ON hers.items TO bob");
as('bob', crafted('his', "v.options := v.options - 'probes';"));
gives($_, $health, 'kept|none', "alice's model is preferred for $_, also if bob may read her table") for 'alice', 'postgres', 'reader';
gives('alice', "UPDATE hers.items SET x = ARRAY[x[2], 9, x[1]]; CREATE INDEX \"odd; DROP TABLE hers.items\" ON hers.items (id); SELECT verdict, statement FROM index_health('hers.items', 'x')",
	"drifted|SELECT fastclust.retrain('kept');", 'alice is told which statement to run');
gives('reader', "SELECT verdict, statement FROM index_health('hers.items', 'x')", 'drifted|', 'a reader, who may not run it, is told no statement');

# ---- the option live of a stored version creates no triggers on another role's table ----
gives('bob', "SELECT train('follower', 'shared', 'x', 2, 'compressive', options => '{\"quiet\": true}')", 1, 'bob trains on a table that he may read');
refused('bob', q{SELECT retrain('follower', '{"live": true}')}, '42501', 'bob cannot make his model live');
as('bob', crafted('follower', q{v.options := v.options || '{"live": true}';}));
refused('postgres', "SELECT retrain('follower')", '42501', 'a superuser who retrains the model creates no triggers for bob');
gives('postgres', q{SELECT retrain('follower', '{"live": false}')}, 3, 'the superuser can retrain the model if he says that it is not live');
gives('postgres', "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'shared'::regclass", 0, 'the table has no triggers');

# ---- states of other aggregates or with other arguments cannot be combined ----
my %state = (
	sample => "(SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 5, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, id, x) FROM shared)",
	'sample by angle' => "(SELECT scan_agg(ROW(NULL, 'cosine', NULL, NULL, NULL, NULL, NULL, 1, 5, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, id, x) FROM shared)",
	'larger sample' => "(SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 6, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, id, x) FROM shared)",
	step => "(SELECT fastclust_internal.sum(fastop_agg_of_two, x) FROM shared, (SELECT fastop_agg(c) AS fastop_agg_of_two FROM (VALUES ('{1,2,3}'::real[]), ('{2,3,1}')) v(c)) o)",
	'step of others' => "(SELECT fastclust_internal.sum(o, x) FROM shared, (SELECT fastop_agg(c) AS o FROM (VALUES ('{1,2,3}'::real[])) v(c)) q)",
);
for my $one (sort keys %state)
{
	refused('bob', "SELECT fastclust_internal.sum(s) FROM unnest(ARRAY[$state{$one}, $state{$_}]) s", '(22000|22023)', "$one and $_ have no sum") for grep { $_ ne $one } sort keys %state;
	refused('bob', "SELECT $_($state{$one})", '22000', "$_ refuses a $one") for $one =~ /sample/ ? qw(lloyd_final score_final) : qw(scan_result score_final);
	refused('bob', "SELECT state_combine($state{$one}, $state{$one})", '0A000', "state_combine cannot be called by hand: $one");
}

# ---- types named like pgvector's, functions named like fastclust's ----
chomp(my $share = qx(@{[$ENV{PG_CONFIG} || 'pg_config']} --sharedir));
SKIP:
{
	skip 'pgvector 0.7 or later is not installed for this server', 4 if !glob "$share/extension/vector--*0.7.0.sql";
	$server->query('GRANT CREATE ON SCHEMA public TO PUBLIC; CREATE EXTENSION vector');
	as('postgres', "ALTER EXTENSION vector DROP TYPE halfvec; ALTER TYPE halfvec RENAME TO old; SET ROLE bob; CREATE TYPE public.halfvec AS ENUM ('a')");
	refused('bob', "SELECT l2_distance('a'::public.halfvec, '{1,2}')", '42804', "a type of bob named like one of pgvector is not read as a vector");
	$server->query('DROP EXTENSION vector CASCADE; DROP TYPE halfvec; DROP TYPE IF EXISTS old CASCADE; CREATE EXTENSION vector');
	as('bob', q{CREATE FUNCTION public.spy(fastclust.sketch, vector, fastclust.sketch_spec) RETURNS fastclust.sketch LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran VALUES (current_user); RETURN $1; END $$;
		CREATE FUNCTION public.sketch_accum(fastclust.sketch, vector, fastclust.sketch_spec) RETURNS fastclust.sketch LANGUAGE sql AS 'SELECT public.spy($1, $2, $3)'});
	gives('postgres', "SELECT row_count(sketch_agg(x::vector, sketch_spec(3, 10, 1.0))) FROM shared", 2000, 'a function of bob named like a transition function is not in the aggregate');
	is($server->query('SELECT count(*) FROM ran'), 0, 'the function of bob did not run');
	refused('bob', "ALTER EXTENSION fastclust DROP FUNCTION assign(fastop, \"any\")", '42501', 'bob cannot remove functions from the extension');
}

done_testing();

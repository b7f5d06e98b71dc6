# The pages of docs/ run as they stand, and pg_cron runs the job that one of them schedules.
use strict;
use warnings;
use File::Basename qw(basename dirname);
use lib dirname(__FILE__);
use Test::More;
use Time::HiRes qw(time);
use FastclustTest;

my $docs = dirname(__FILE__) . '/../../docs';
chomp(my $share = qx($ENV{PG_CONFIG} --sharedir)) if $ENV{PG_CONFIG};
chomp($share = qx(pg_config --sharedir)) if !$share;
my $cron = -e "$share/extension/pg_cron.control";
my $server = FastclustTest->new(config => $cron ? <<'CONF' : '');
shared_preload_libraries = 'pg_cron'
cron.database_name = 'postgres'
cron.use_background_workers = on
CONF

# The SQL of a page, with or without what pg_cron is needed for.
sub script
{
	my ($page, $with_cron) = @_;
	open my $file, '<', "$docs/$page.md" or die "$page: $!";
	my $text = do { local $/; <$file> };
	my $kind = $with_cron ? qr/sql(?: cron)?/ : qr/sql/;
	return join "\n", $text =~ /^```$kind\n(.*?)^```/gms;
}

# ---- the nightly job, first because a minute has to pass ----
my $nightly = script('nightly-retraining', $cron);
$nightly =~ s/15 3 \* \* \*/* * * * */;
my ($status, $output, $messages) = $server->try($nightly);
is($messages, '', 'nightly-retraining runs');

# Every other page, once it makes its own tables.
my @pages = map { basename($_, '.md') } sort glob "$docs/*.md";
for my $page (grep { $_ ne 'nightly-retraining' && script($_, 0) =~ /^CREATE EXTENSION/ } @pages)
{
	$server->query("CREATE DATABASE \"$page\"");
	my $sql = script($page, 0);
	cmp_ok($sql =~ tr/;//, '>', 5, "$page has statements");
	($status, $output, $messages) = $server->try($sql, database => $page);
	is($messages, '', "$page runs");
}

# What the pages claim.
is($server->query(q{SELECT string_agg(concat_ws(' ', version, verdict, new_version), ', ' ORDER BY id) FROM drift_log}, database => 'watching-drift'),
	'1 none, 1 slight, 1 drifted 2, 2 none', 'unchanged rows, one day of a shift, a week of it, and after retraining');
is($server->query(q{SELECT rollback('signals', 1); SELECT p_value < 1e-6, effect BETWEEN 0.4 AND 0.6, verdict, (columns[1]).name FROM drift('signals', 'today')},
		database => 'watching-drift'), "\nt|t|drifted|vibration", 'a shift by half a deviation shows, and where');
is($server->query(q{SELECT string_agg(value, ' ') FROM drift_by('signals', 'signals', 'day') WHERE verdict = 'drifted'}, database => 'watching-drift'),
	'2024-01-30 2024-01-31 2024-02-01 2024-02-02 2024-02-03 2024-02-04', 'and when');
is($server->query(q{SELECT count(DISTINCT (tenant, cluster)) FROM labelled_events}, database => 'one-model-per-tenant'), 240, 'six clusters for each of forty tenants');
is($server->query(q{SELECT bool_and(objective <= 1.000001 * before) FROM (SELECT objective, lag(objective, 1, objective) OVER (ORDER BY iteration) AS before FROM learning) l},
		database => 'quick-means'), 't', 'QK-means does not rise');
is($server->query(q{SELECT count(*) FILTER (WHERE assign(exact, x) <> assign(op, x)) FROM signals, model}, database => 'fast-operators'), 0,
	'an exact re-ranking gives the labels of the centroids');
like($server->query(q{EXPLAIN (COSTS OFF) SELECT * FROM neighbours(array_fill(1::real, '{128}'), 5, 2)}, database => 'fast-operators'),
	qr/signals_bucket/, 'the search visits the index');
is(join(' ', grep { script($_, 0) !~ /^CREATE EXTENSION/ } @pages), '', 'every page makes its own tables');

SKIP:
{
	skip 'pg_cron is not installed', 2 if !$cron;
	my $end = time + 90;
	my $runs = 0;
	while (!$runs && time < $end)
	{
		$runs = $server->query(q{SELECT count(*) FROM cron.job_run_details WHERE status = 'succeeded' AND command ~ 'order_kinds'});
		sleep 1;
	}
	cmp_ok($runs, '>', 0, 'pg_cron ran the job')
		or diag($server->query('SELECT status, return_message FROM cron.job_run_details'));
	is($server->query(q{SELECT count(*) > 0 FROM fastclust.drift_log WHERE checked_at > (SELECT min(start_time) FROM cron.job_run_details)}),
		't', 'which checked the drift');
}

done_testing();

# The pages run as they stand, read easily, and point at what is there; pg_cron runs the job that one of them schedules.
use strict;
use warnings;
use File::Basename qw(basename dirname);
use lib dirname(__FILE__);
use Test::More;
use FastclustTest;

my $root = dirname(__FILE__) . '/../..';
my %text = map { my $page = basename($_, '.md'); $page => read_file($_) } glob("$root/*.md $root/docs/*.md");
my @docs = map { basename($_, '.md') } sort glob "$root/docs/*.md";
chomp(my $share = qx($ENV{PG_CONFIG} --sharedir)) if $ENV{PG_CONFIG};
chomp($share = qx(pg_config --sharedir)) if !$share;
my $cron = -e "$share/extension/pg_cron.control";
my $vector = -e "$share/extension/vector.control";
my $server = FastclustTest->new(config => $cron ? <<'CONF' : '');
shared_preload_libraries = 'pg_cron'
cron.database_name = 'postgres'
cron.use_background_workers = on
CONF

sub read_file
{
	my ($path) = @_;
	open my $file, '<:encoding(UTF-8)', $path or die "$path: $!";
	local $/;
	return <$file>;
}

# The SQL of a page, with or without what pg_cron is needed for; what pgvector is needed for where it is installed.
sub script
{
	my ($page, $with_cron) = @_;
	my $kind = join '|', 'sql', $with_cron ? 'sql cron' : (), $vector ? 'sql vector' : ();
	my $sql = join "\n", $text{$page} =~ /^```(?:$kind)\n(.*?)^```/gms;
	$sql =~ s/\$__timeFilter\((\w+)\)/$1 > now() - interval '30 days'/g;		# as Grafana would
	return $sql;
}

# ---- the nightly job, first because a minute has to pass ----
my $nightly = script('nightly-retraining', $cron);
$nightly =~ s/15 3 \* \* \*/* * * * */;
my ($status, $output, $messages) = $server->try($nightly);
is($messages, '', 'nightly-retraining runs');

# ---- every other page with SQL, in a database of its own ----
my @pages = grep { $_ ne 'nightly-retraining' && script($_, 0) ne '' } 'README', @docs;
for my $page (@pages)
{
	my $sql = script($page, 0);
	like($sql, qr/^CREATE EXTENSION/, "$page makes what it uses");
	$server->query("CREATE DATABASE \"$page\"");
	($status, $output, $messages) = $server->try($sql, database => $page);
	is($messages, '', "$page runs");
}

# ---- a reader's way: in one database, as each page has a schema of its own ----
$server->query('CREATE DATABASE reader');
for my $page ('README', 'first-model', 'customers', 'nightly-retraining')
{
	($status, $output, $messages) = $server->try(script($page, 0), database => 'reader');
	is($messages, '', "$page runs after those before it");
}

# ---- the README shows what psql prints ----
my $shown = join "\n", $text{README} =~ /^```sql\n.*?^```\n\n```\n(.*?)^```/gms;
$server->query('CREATE DATABASE shown');
($status, $output) = $server->try("\\pset format aligned\n\\pset tuples_only off\n" . script('README', 0), database => 'shown');
is($output =~ s/ +$//gmr =~ s/\n+/\n/gr =~ s/\n\z//r, $shown =~ s/\n+/\n/gr =~ s/\n\z//r, 'the README shows what is printed');

# ---- what the pages claim ----
is($server->query(q{SELECT string_agg(concat_ws(' ', version, verdict, new_version), ', ' ORDER BY id) FROM drift_log}, database => 'watching-drift'),
	'1 none, 1 slight, 1 drifted 2, 2 none', 'unchanged rows, one day of a shift, a week of it, and after retraining');
is($server->query(q{SELECT use_version('signals', 1); SELECT p_value < 1e-6, effect BETWEEN 0.4 AND 0.6, verdict, columns -> 0 ->> 'name' FROM drift('signals', 'today')},
		database => 'watching-drift'), "\nt|t|drifted|vibration", 'a shift by half a deviation shows, and where');
is($server->query(q{SELECT string_agg(value, ' ') FROM drift('signals', 'signals', by => 'day') WHERE verdict = 'drifted'}, database => 'watching-drift'),
	'2024-01-30 2024-01-31 2024-02-01 2024-02-02 2024-02-03 2024-02-04', 'and when');
is($server->query(q{SELECT count(DISTINCT (tenant, cluster)) FROM labelled_events}, database => 'one-model-per-tenant'), 240, 'six clusters for each of forty tenants');
is($server->query(q{SELECT bool_and(objective <= 1.000001 * before) FROM (SELECT objective, lag(objective, 1, objective) OVER (ORDER BY iteration) AS before FROM learning) l},
		database => 'quick-means'), 't', 'QK-means does not rise');
is($server->query(q{SELECT count(*) FILTER (WHERE assign(exact, x) <> assign(op, x)) FROM signals, model}, database => 'fast-operators'), 0,
	'an exact re-ranking gives the labels of the centroids');
like($server->query(q{EXPLAIN (COSTS OFF) SELECT * FROM neighbours(array_fill(1::real, '{128}'), 5, 2)}, database => 'fast-operators'),
	qr/signals_bucket/, 'the search visits the index');

is($server->query(q{SELECT count(DISTINCT version), abs(count(*) - sum(share) * 5) < 1e-9 FROM (SELECT version, c.weight / sum(c.weight) OVER (PARTITION BY version) AS share FROM model_versions, centroids(operator) c WHERE model = 'orders') q}, database => 'dashboards'), '2|t', 'shares of clusters add up in every version');
is($server->query(q{SELECT string_agg(concat_ws(' ', verdict, columns -> 0 ->> 'name'), ', ' ORDER BY checked_at) FROM drift_log WHERE verdict = 'drifted'}, database => 'dashboards'), 'drifted amount', 'drift has a name');

# ---- prose: a sentence has 30 words at most, a cell fewer than 30, the README 100 lines ----

# Words of running text: code, a link or a formula in backquotes counts as one.
sub words
{
	my ($part) = @_;
	$part =~ s/`[^`]*`/code/g;
	$part =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
	return scalar grep { /[[:alnum:]]/ } split ' ', $part;
}

sub long_cells
{
	my ($text) = @_;
	return map { substr $_, 0, 60 } grep { words($_) >= 30 } map { split /(?<!\\)\|/ } $text =~ /^(\|.*)$/gm;
}

# Sentences of paragraphs and list items; blocks of code, formulas, tables, headings and pictures are none.
sub long_sentences
{
	my ($text) = @_;
	$text =~ s/^```.*?^```\n//gms;
	$text =~ s/^    .*\n//gm;
	$text =~ s/^[|#!<].*\n/\n/gm;
	my @sentences;
	for my $paragraph (split /\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/, $text)
	{
		$paragraph =~ s/`[^`]*`/Code/g;
		$paragraph =~ s/\s+/ /g;
		push @sentences, split /(?<=[.!?])[)*]*\s+(?=[[:upper:]("*\[\d])/, $paragraph;
	}
	return map { substr $_, 0, 60 } grep { words($_) > 30 } @sentences;
}

cmp_ok($text{reference} =~ tr/\n//, '<=', 1400, 'the reference has 1400 lines at most');
cmp_ok($text{README} =~ tr/\n//, '<=', 100, 'the README has 100 lines at most');
is(join("\n", long_cells('| ' . 'word ' x 30 . '|')), substr(' ' . 'word ' x 30, 0, 60), 'a long cell is seen');
is(scalar(long_sentences('A ' . 'word ' x 30 . "ends.\n- B " . 'word ' x 28 . 'ends.')), 1, 'and a long sentence');
for my $page (sort keys %text)
{
	is(join("\n", long_cells($text{$page})), '', "$page: cells have fewer than 30 words");
	is(join("\n", long_sentences($text{$page})), '', "$page: sentences have 30 words at most");
}

# ---- links: files and headings that are there ----
sub anchor
{
	my ($heading) = @_;
	$heading = lc $heading =~ s/`//gr;
	$heading =~ s/[^\w\s-]//g;
	return $heading =~ s/ /-/gr;
}
my @dead;
for my $page (sort keys %text)
{
	my $folder = -e "$root/docs/$page.md" ? "$root/docs" : $root;
	for my $link ($text{$page} =~ /\]\(((?!https?:)[^)]+)\)/g)
	{
		my ($file, $place) = split /#/, $link, 2;
		my $path = $file eq '' ? "$folder/$page.md" : "$folder/$file";
		push @dead, "$page: $link" if !-e $path;
		push @dead, "$page: $link" if -e $path && defined $place && !grep { anchor($_) eq $place } read_file($path) =~ /^#+ (.*)$/gm;
	}
}
is(join("\n", @dead), '', 'links lead somewhere');

# ---- one source: the table of quality is the file that the picture is drawn from ----
my @measured = map { s/^"([^"]*)"/$1/r } split /\n/, read_file("$root/bench/results/quality.csv");
shift @measured;
my @told = map { /^\| (.*) \|$/ } $text{benchmarks} =~ /^## Quality\n.*?^\| ---[^\n]*\n((?:\|[^\n]*\n)+)/ms ? split /\n/, $1 : ();
is(join("\n", map { s/ \| /,/gr } @told), join("\n", @measured), 'the quality table holds the measured figures');

SKIP:
{
	skip 'pg_cron is not installed', 2 if !$cron;
	ok($server->wait_for(q{EXISTS (SELECT FROM cron.job_run_details WHERE status = 'succeeded' AND command ~ 'order_kinds')}), 'pg_cron ran the job')
		or diag($server->query('SELECT status, return_message FROM cron.job_run_details'));
	is($server->query(q{SELECT count(*) > 0 FROM fastclust.drift_log WHERE checked_at > (SELECT min(start_time) FROM cron.job_run_details)}),
		't', 'which checked the drift');
}

done_testing();

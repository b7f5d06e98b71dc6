# The SQL of the pages runs as printed, their sentences are short and their links work, comments of
# the sources stand alone, and pg_cron runs the job that a page schedules.
use FastclustTest;
use File::Basename qw(basename dirname);
use File::Temp qw(tempdir);
use Pages qw(read_file page_paths script run_page differences);

my $root = dirname(__FILE__) . '/../..';
my %path = (page_paths(), map { basename($_, '.md') => $_ } glob "$root/*.md");
my %text = map { $_ => read_file($path{$_}) } keys %path;
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

my $psql = FastclustTest::program('psql');
my @kinds = $vector ? 'vector' : ();

# ---- the nightly job, first because a minute has to pass ----
my $nightly = script($text{'nightly-retraining'}, $cron ? 'cron' : ());
$nightly =~ s/15 3 \* \* \*/* * * * */;
my (undef, $messages) = run_page($nightly, $psql, 'postgres');
is($messages, '', 'nightly-retraining runs');

# ---- claims of the pages, checked before their cleanup ----
sub search_path { my ($page) = @_; return $text{$page} =~ /CREATE SCHEMA (\w+)/ ? "SET search_path = $1, fastclust, public;\n" : '' }
sub asked { my ($page, $sql) = @_; return $server->query(search_path($page) . $sql, database => 'reader') }

my %claims = (
	'watching-drift' => sub
	{
		is(asked('watching-drift', q{SELECT string_agg(concat_ws(' ', version, verdict, new_version), ', ' ORDER BY id) FROM drift_log}),
			'1 none, 1 slight, 1 drifted 2, 2 none, 2 none', 'the log has no drift, then slight drift, drift with a retraining, and no drift again');
		is(asked('watching-drift', q{SELECT use_version('signals', 1); SELECT p_value < 1e-6, effect BETWEEN 0.4 AND 0.6, verdict, columns -> 0 ->> 'name' FROM drift('signals', 'today')}), "\nt|t|drifted|vibration", 'drift finds a shift by half a deviation and its column');
		is(asked('watching-drift', q{SELECT string_agg(value, ' ') FROM drift('signals', 'signals', by => 'day') WHERE verdict = 'drifted'}),
			'2024-01-30 2024-01-31 2024-02-01 2024-02-02 2024-02-03 2024-02-04', 'drift by day finds the days of the shift');
	},
	'one-model-per-tenant' => sub
	{
		is(asked('one-model-per-tenant', q{SELECT count(DISTINCT (tenant, cluster)) FROM labelled_events}), 240, 'six clusters for each of forty tenants');
	},
	'quick-means' => sub
	{
		is(asked('quick-means', q{SELECT bool_and(objective <= 1.000001 * before) FROM (SELECT objective, lag(objective, 1, objective) OVER (ORDER BY iteration) AS before FROM learning) l}), 't', 'QK-means does not rise');
	},
	'fast-operators' => sub
	{
		is(asked('fast-operators', q{SELECT count(*) FILTER (WHERE assign(exact, x) <> assign(op, x)) FROM signals, model}), 0,
			'an exact re-ranking gives the labels of the centroids');
		like(asked('fast-operators', q{EXPLAIN (COSTS OFF) SELECT * FROM neighbours(array_fill(1::real, '{128}'), 5, 2)}),
			qr/signals_bucket/, 'the search visits the index');
	},
	'dashboards' => sub
	{
		is(asked('dashboards', q{SELECT count(DISTINCT version), abs(count(*) - sum(share) * 5) < 1e-9 FROM (SELECT version, c.weight / sum(c.weight) OVER (PARTITION BY version) AS share FROM model_versions, centroids(operator) c WHERE model = 'orders') q}), '2|t', 'shares of clusters add up in every version');
		is(asked('dashboards', q{SELECT string_agg(concat_ws(' ', verdict, columns -> 0 ->> 'name'), ', ' ORDER BY checked_at) FROM drift_log WHERE verdict = 'drifted'}), 'drifted amount', 'drift has a name');
	},
);

# ---- all pages run in one database: by name with cleanup, and in the order of the site if
# PAGES_IN_ORDER is set ----
my ($major) = $server->query('SHOW server_version') =~ /^(\d+)/;
my @pages = grep { script($text{$_}, @kinds) ne '' } 'README', @docs;
$server->query('CREATE DATABASE reader');
for my $page (@pages)
{
	my $sql = script($text{$page}, @kinds);
	like($sql, qr/^CREATE EXTENSION/m, "$page makes what it uses");
	my ($outputs, $messages) = run_page($sql, $psql, 'reader');
	is($messages, '', "$page runs");
	is(join("\n", differences($text{$page}, $outputs, @kinds)), '', "$page shows what is printed") if $major == 15;		# other versions give other values of random()
	$claims{$page}->() if $claims{$page};
	(undef, $messages) = run_page(script($text{$page} =~ s/^```sql$/```text/gmr, 'cleanup'), $psql, 'reader', search_path($page));
	is($messages, '', "$page takes away what it made");
}
my %has_sql = map { $_ => 1 } @pages;
for my $page (grep { $ENV{PAGES_IN_ORDER} && $has_sql{$_} } read_file("$root/tools/mkdocs.yml") =~ /^ +- ([\w-]+)\.md$/gm)
{
	my (undef, $messages) = run_page(script($text{$page}, @kinds, 'cleanup'), $psql, 'reader');
	is($messages, '', "$page runs after those before it");
}
is($server->query(q{SELECT (SELECT count(*) FROM fastclust.models) + (SELECT count(*) FROM fastclust.live_sketches)}, database => 'reader'), 0, 'the pages leave no model and no live sketch');

# ---- prose: a sentence has 30 words at most, a cell fewer than 30, the README 100 lines ----

# Returns the number of words; code, a link or a formula in backquotes counts as one.
sub words
{
	my ($part) = @_;
	$part =~ s/`[^`]*`/code/g;
	$part =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
	return scalar grep { /[[:alnum:]]/ } split ' ', $part;
}

sub long_cells { my ($text) = @_; return map { substr $_, 0, 60 } grep { words($_) >= 30 } map { split /(?<!\\)\|/ } $text =~ /^(\|.*)$/gm; }

# Returns the sentences of more than 30 words in paragraphs and list items, which excludes blocks of
# code, formulas, tables, headings and pictures.
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

cmp_ok($text{README} =~ tr/\n//, '<=', 100, 'the README has 100 lines at most');
is(join("\n", long_cells('| ' . 'word ' x 30 . '|')), substr(' ' . 'word ' x 30, 0, 60), 'a long cell is seen');
is(scalar(long_sentences('A ' . 'word ' x 30 . "ends.\n- B " . 'word ' x 28 . 'ends.')), 1, 'a long sentence is seen');
for my $page (sort keys %text)
{
	is(join("\n", long_cells($text{$page})), '', "$page: cells have fewer than 30 words");
	is(join("\n", long_sentences($text{$page})), '', "$page: sentences have 30 words at most");
}

# ---- the sources: a comment stands alone, without marks of sentences that nobody would write ----
my $opening = qr/(?:of|by|in|on|at|for|from|with|without|to|that|those|these|this|they|it|which|whose|where|whether|their|its|as|than)\b/i;
my $mark = qr/\b(so many|so much|those|tells?|told|asks?|asked|whoever|whatever|beside|dear|dearer|anew)\b|\b(at (?:least|most))[.,]?$/i;

# Returns the comments of a C or SQL file, each on one line; adjacent lines of -- are one comment.
sub comments
{
	my ($path, $text) = @_;
	my @found = $path =~ /\.sql$/
		? $text =~ /((?:^[ \t]*--[^\n]*\n)+|(?<=[^\s\n])[ \t]+--(?=\s)[^\n']*\n)/gm
		: grep { defined } $text =~ m{"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(/\*.*?\*/)}gs;
	return map { s{^[ \t]*(?:/?\*+/?|--)}{}gmr =~ s{\*/}{}r =~ s/\s+/ /gr =~ s/^[ -]+| +$//gr } @found;
}

# Returns the comments that begin with a preposition or a pronoun, have a mark, or name a missing
# file.
sub unclear
{
	my ($path, $text, $files) = @_;
	my @found;
	for my $comment (comments($path, $text))
	{
		my $what = $comment =~ /^($opening)/ || $comment =~ $mark ? $1 // $2 : undef;
		($what) = grep { !$files->{$_} } $comment =~ m{(?<![\w./*-])((?:[\w-]+/)*[\w-]+\.(?:c|sql|py|pl))\b(?!\()}g if !defined $what;
		push @found, "$path: $what: " . substr($comment, 0, 70) if defined $what;
	}
	return @found;
}

my %files;
for my $file (split /\n/, qx(cd "$root" && find src bench test tools sql -type f))
{
	$files{$file} = 1;
	$files{$file} = 1 while $file =~ s{^[^/]+/}{};
}
is(join(' ', map { (split /: /)[1] } unclear('x.c', qq{/* of the rows */ /* Returns the rows. */ "/* of a text */" /* k, so many */ /* see away.c */}, \%files)), 'of so many away.c', 'an unclear comment is seen');
is(join(' ', map { (split /: /)[1] } unclear('x.sql', qq{-- Returns rows,\n-- of all groups.\n--\nSELECT 1 -- of one\n}, \%files)), 'of', 'an unclear comment in SQL is seen');
for my $folder (map { s{^\Q$root\E/}{}r } sort glob "$root/src/core/* $root/src/pg/* $root/src/sql/*")
{
	my @found = map { unclear($_, read_file("$root/$_"), \%files) } grep { -f "$root/$_" } -d "$root/$folder" ? map { s{^\Q$root\E/}{}r } glob "$root/$folder/*.[ch] $root/$folder/*.sql" : $folder =~ /\.(?:[ch]|sql)$/ ? $folder : ();
	is(join("\n", @found), '', "$folder: comments stand alone");
}

# ---- the map of the sources: its files exist, and its functions are in the files it names ----
my $map = read_file("$root/src/README.md");
my @lost = grep { !$files{$_} } $map =~ m{`((?:[\w-]+/)*[\w-]+\.(?:c|h|sql|py|csv))`}g;
while ($map =~ m{`(\w+)` (?:\(|of |in )`((?:\w+/)*\w+\.(?:c|h|sql))`}g)
{
	my ($name, $file) = ($1, $2);
	push @lost, "$name in $file" if !grep { read_file($_) =~ /\b$name\b/ } grep { m{/\Q$file\E$} } map { "$root/src/$_" } grep { -f "$root/src/$_" } keys %files;
}
is(join(' ', @lost), '', 'the files and functions that the map of the sources names exist');

# ---- links: their files and headings exist ----
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
is(join("\n", @dead), '', 'the files and headings of links exist');

# ---- the site: it builds, and every fence is a block of code ----
SKIP:
{
	skip 'mkdocs with its theme material is not installed', 2 if system('mkdocs --version >/dev/null 2>&1') != 0 || !-d '/usr/share/mkdocs/themes/material';
	my $site = tempdir(CLEANUP => 1);
	is(qx(mkdocs build --quiet --strict --config-file "$root/tools/mkdocs.yml" --site-dir "$site" 2>&1), '', 'the site is built');
	is(join(' ', map { basename($_) } grep { read_file($_) =~ /```/ } glob "$site/*.html"), '', 'the site has no fences in its text');
}

# ---- the table of quality equals the file that the picture is drawn from ----
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
		't', 'the job of pg_cron checked the drift');
}

done_testing();

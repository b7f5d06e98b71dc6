# Every released version upgrades to this one, and this one to a made-up next version: the catalog
# is then that of a fresh installation, and values of every kind are unchanged. This module also
# serves the script and the rows of a released version before the update, and reads its dump
# (test/t/Released.pm). Differences planted into the script of this version check that the
# comparison sees them.
use FastclustTest;
use Released;
use File::Basename qw(dirname);

my $root = dirname(__FILE__) . '/../..';
my $scripts = Released::directory_of('--sharedir') . '/extension';
my $version = Released::version();
plan skip_all => "$scripts is not writable" unless -w $scripts;

my @placed;                     # files that this test installs and removes
my %replaced;                   # text of files that it replaces, as of an earlier build, and puts back
END { unlink @placed; Released::spill($_, $replaced{$_}) for keys %replaced; }

my $server = FastclustTest->new;
$server->query('CREATE DATABASE fresh');
$server->query('CREATE EXTENSION fastclust', database => 'fresh');
my $fresh = catalog('fresh');

sub place
{
	my ($name, $text) = @_;
	if (-e "$scripts/$name") { $replaced{"$scripts/$name"} //= Released::slurp("$scripts/$name"); }
	else { push @placed, "$scripts/$name"; }
	Released::spill("$scripts/$name", $text);
}

sub catalog { my ($database) = @_; return $server->query(Released::slurp("$root/test/upgrade/catalog.sql"), database => $database); }

# Returns the lines that only one of two catalogs has.
sub differences
{
	my ($was, $is) = @_;
	my (%was, %is);
	$was{$_} = 1 for split /\n/, $was;
	$is{$_} = 1 for split /\n/, $is;
	return map { substr $_, 0, 200 } (map { "- $_" } grep { !$is{$_} } sort keys %was), map { "+ $_" } grep { !$was{$_} } sort keys %is;
}

sub make_database
{
	my ($database, $installed) = @_;
	$server->query("CREATE DATABASE $database");
	$server->query("CREATE EXTENSION fastclust VERSION '$installed'", database => $database);
}

sub catalog_after_update
{
	my ($database, $target) = @_;
	$server->query('ALTER EXTENSION fastclust UPDATE' . ($target ? " TO '$target'" : ''), database => $database);
	return catalog($database);
}

# ---- the comparison sees each planted difference, and none where there is none ----
my $script = Released::slurp("$scripts/fastclust--$version.sql");
my @planted = (
	['nothing', sub { $_[0] }, 0],
	['a comment', sub { $_[0] =~ s/^COMMENT ON FUNCTION [^']*'\K/Planted: /mr }, 1],
	['a function more', sub { "$_[0]\nCREATE FUNCTION fastclust.left_over() RETURNS int LANGUAGE sql AS 'SELECT 1';\n" }, 1],
	['a right', sub { "$_[0]\nGRANT SELECT ON fastclust.training_log TO pg_monitor WITH GRANT OPTION;\n" }, 1],
	['a column', sub { "$_[0]\nALTER TABLE fastclust_internal.stored_models ADD left_over int;\n" }, 1],
	['a volatility', sub { "$_[0]\nALTER FUNCTION fastclust.rbf_kernel(float8) VOLATILE;\n" }, 1],
);
for my $i (0 .. $#planted)
{
	my ($name, $change, $seen) = @{ $planted[$i] };
	my $text = $change->($script);

	isnt($text, $script, "$name: the difference is planted") if $seen;
	place("fastclust--0.0.$i.sql", $text);
	place("fastclust--0.0.$i--$version.sql", "\n");
	make_database("planted_$i", "0.0.$i");
	my @different = differences($fresh, catalog_after_update("planted_$i"));
	is(@different > 0, $seen > 0, "$name: " . ($seen ? 'seen' : 'no difference')) or diag(join "\n", @different);
}

# ---- released versions, and this one treated as released, keep objects of every kind ----
sub values_of { my ($database) = @_; return Released::values_of($server, $database); }

# Fills a database with objects of an old version and upgrades it to this version or to a target.
# Returns how its catalog differs from that of a fresh installation, and which values changed.
sub kept
{
	my ($database, $old, $target, $fresh_target) = @_;
	make_database($database, $old);
	$server->query(Released::objects(), database => $database);
	$server->query("ALTER DATABASE $database SET search_path = public, fastclust, fastclust_internal");
	my $before = values_of($database);
	my @catalog = differences($fresh_target // $fresh, catalog_after_update($database, $target));
	return (join("\n", @catalog), join("\n", differences($before, values_of($database))));
}

my %exported = map { $_ => 1 } split /\n/, Released::symbols();
for my $old (Released::versions())
{
	my $name = $old =~ s/\W/_/gr;
	my $kept = Released::slurp(Released::file($old, 'values'));
	my $released = Released::slurp(Released::file($old, "fastclust--$old.sql"));

	is(join(' ', grep { !$exported{$_} } split /\n/, Released::slurp(Released::file($old, 'symbols'))), '', "$old: the module has every function of the release");

	Released::restore($server, $old, "restored_$name");
	is(join("\n", differences($kept, Released::shortened(values_of("restored_$name")))), '', "$old: a restored dump has the values of the release");

	next if $old eq $version;
	place("fastclust--$old.sql", $released);

	# the hours between the new files and the update, and the update
	Released::restore($server, $old, "between_$name", $old);
	is(join("\n", differences($kept, Released::shortened(values_of("between_$name")))), '', "$old: before the update, the new module gives the values of the release");
	is(join("\n", differences($fresh, catalog_after_update("between_$name"))), '', "$old: after the update of a released database the catalog is that of a fresh installation");
	is(join("\n", differences($kept, Released::shortened(values_of("between_$name")))), '', "$old: after the update, the values are those of the release");

	my ($catalog, $values) = kept("from_$name", $old);
	is($catalog, '', "$old: the new module trains with the old script, and the update gives the catalog of a fresh installation");
	is($values, '', "$old: the update changes no value of these trainings");
}

my $damage = 'UPDATE fastclust_internal.version_groups SET objective = objective + 1 WHERE version = 2;';
for my $case (['kept', "\n", 0], ['damaged', "$damage\n", 1])
{
	my ($name, $update, $seen) = @$case;
	place("fastclust--0.0.$name.sql", $script);
	place("fastclust--0.0.$name--$version.sql", $update);
	my ($catalog, $values) = kept("values_$name", "0.0.$name");
	is($catalog, '', "$name: the catalog is that of a fresh installation");
	is($values ne '', $seen > 0, "$name: " . ($seen ? 'values that differ are seen' : 'values stay as they were')) or diag($values);
}

# ---- the next version adds a function and changes a body and a comment ----
my $next = '999.0.0';
my $changes = <<'SQL';
CREATE FUNCTION fastclust.added(model text) RETURNS int LANGUAGE sql AS 'SELECT 1';
COMMENT ON FUNCTION fastclust.added(text) IS 'a function of the next version';
CREATE OR REPLACE FUNCTION fastclust.rbf_kernel(gamma float8) RETURNS fastclust.kernel AS 'MODULE_PATHNAME', 'fastclust_rbf_kernel'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 7;
COMMENT ON VIEW fastclust.models IS 'models, as the next version describes them';
SQL
place("fastclust--$next.sql", "$script\n$changes");
place("fastclust--$version--$next.sql", $changes);
make_database('next_fresh', $next);
my ($catalog, $values) = kept('next_updated', $version, $next, catalog('next_fresh'));
is($catalog, '', "$version to the next version: the catalog is that of a fresh installation");
is($values, '', "$version to the next version: no value changes");
is($server->query('SELECT fastclust.added(model) FROM fastclust.models LIMIT 1', database => 'next_updated'), 1, 'the function that the next version adds works');

# A released version keeps the script of its release.
is(join("\n", differences(Released::slurp(Released::file($version, "fastclust--$version.sql")), $script)), '', "fastclust--$version.sql is the script of its release")
	if grep { $_ eq $version } Released::versions();

done_testing();

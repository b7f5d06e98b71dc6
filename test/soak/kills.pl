#!/usr/bin/perl
# kills.pl [--kills N] [--seed S] [--verbose]: kills a backend or postmaster of a private server,
# or stops the server immediately, in the middle of train, retrain, use_version and drop_model.
# Afterwards every model must be as before or as the complete statement leaves it, every version
# must predict the same as before, and no row of the extension may refer to a missing row.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__), dirname(__FILE__) . '/../t';
use Getopt::Long;
use Time::HiRes qw(time sleep);
use FastclustTest ();
use Wire;

my ($kills, $seed, $verbose) = (200, 1);
GetOptions('kills=i' => \$kills, 'seed=i' => \$seed, 'verbose' => \$verbose) or exit 2;
srand $seed;
$| = 1;

my $server = FastclustTest->new(extension => 1);
$server->make_points(4000, 4, 4);
$server->query(<<'SQL');
ALTER TABLE points ADD a float8, ADD b float8;
UPDATE points SET a = x[1], b = 100 * x[2];
CREATE TABLE probe AS SELECT * FROM points WHERE id % 40 = 0;
CREATE VIEW part AS SELECT * FROM points WHERE id % 3 > 0;
SELECT train('vector', 'points', 'x', 4, options => '{"quiet": true, "keep": 3}');
SELECT train('compressive', 'points', 'x', 4, 'compressive', '{"quiet": true}');
SELECT train('columns', 'points', ARRAY['a', 'b'], 3, options => '{"quiet": true, "keep": 3}');
SELECT train('grouped', 'points', 'x', 2, options => '{"quiet": true, "group_by": "g", "keep": 3}');
SQL

# Call that predicts with each model.
my %asked = (
	vector => "predict_distance('vector', x)", compressive => "predict_distance('compressive', x)",
	columns => "predict_distance('columns', a, b)", grouped => "predict_distance('grouped', x, group_value => g::text)",
	passing => "predict_distance('passing', x)");
my @kept = qw(vector compressive columns grouped);

my %failures;
my %count = map { $_ => 0 } qw(backend postmaster stop committed);

# ---- the state of the models ----

# Returns {model => {version, versions => {version => md5 of its rows}, answers => md5 of the
# predictions, or the error}}.
sub state_of_models
{
	my %state;
	for (split /\n/, $server->query('SELECT model, coalesce(version::text, $$none$$) FROM models'))
	{
		my ($model, $version) = split /\|/;
		$state{$model} = {version => $version, versions => {}};
	}
	for (split /\n/, $server->query("SELECT model, version, md5(string_agg(v::text, ',' ORDER BY group_value)) FROM fastclust_internal.stored_versions v GROUP BY 1, 2"))
	{
		my ($model, $version, $rows) = split /\|/;
		$state{$model}{versions}{$version} = $rows;
	}
	for my $model (keys %state)
	{
		my ($status, $answers, $messages) = $server->try("SELECT md5(string_agg(($asked{$model})::text, ',' ORDER BY id)) FROM probe");
		$state{$model}{answers} = $status == 0 ? $answers : $messages;
	}
	return \%state;
}

# Returns the number of rows whose foreign key has no target, of models without their current
# version, and of log entries for a version later than the last one.
sub orphans
{
	my $found = 0;
	for my $check (split /\n/, $server->query(<<'SQL'))
SELECT format('SELECT count(*) FROM %s a WHERE NOT EXISTS (SELECT FROM %s b WHERE %s)', c.conrelid::regclass, c.confrelid::regclass,
              (SELECT string_agg(format('a.%I = b.%I', l.attname, r.attname), ' AND ') FROM unnest(c.conkey, c.confkey) k(left_number, right_number)
                 JOIN pg_attribute l ON l.attrelid = c.conrelid AND l.attnum = left_number JOIN pg_attribute r ON r.attrelid = c.confrelid AND r.attnum = right_number))
  FROM pg_constraint c JOIN pg_depend d ON d.objid = c.conrelid AND d.classid = 'pg_class'::regclass AND d.deptype = 'e' WHERE c.contype = 'f'
SQL
	{
		$found += $server->query($check);
	}
	return $found + $server->query(<<'SQL');
SELECT (SELECT count(*) FROM models m WHERE version IS NULL OR NOT EXISTS (SELECT FROM model_versions v WHERE v.model = m.model AND v.version = m.version))
     + (SELECT count(*) FROM training_log l WHERE l.version > (SELECT max(v.version) FROM model_versions v WHERE v.model = l.model))
SQL
}

# ---- statements and kills ----

# Returns (statement, model, kind).
sub random_statement
{
	my ($state) = @_;
	my $quiet = '{"quiet": true' . (rand() < 0.5 ? ', "keep": 2' : '') . '}';
	my $model = $kept[rand @kept];
	my $kind = rand;
	if ($kind < 0.2)
	{
		my $feature = $model eq 'columns' ? "ARRAY['b', 'a']" : "'x'";
		my $group = $model eq 'grouped' ? $quiet =~ s/\}/, "group_by": "g"}/r : $quiet;
		return ("SELECT train('$model', 'part', $feature, 3, options => '$group')", $model, 'train');
	}
	return ("SELECT train('passing', 'points', 'x', 5, options => '$quiet')", 'passing', 'train') if $kind < 0.35;
	return ("SELECT retrain('$model', '$quiet')", $model, 'retrain') if $kind < 0.75 || ($kind < 0.85 && !$state->{passing});
	return ("SELECT drop_model('passing')", 'passing', 'drop_model') if $kind < 0.85;
	my @versions = sort { $a <=> $b } keys %{$state->{$model}{versions}};
	return ("SELECT use_version('$model', $versions[rand @versions])", $model, 'use_version');
}

my %seconds;                    # mean seconds of undisturbed statements, by kind and model

# Runs a statement, and kills something after a random part of its usual time. The first statement
# of a kind is only timed.
sub disturb
{
	my ($statement, $kind) = @_;
	my $session = Wire->new;
	$session->query("SET client_min_messages = warning; SET search_path = public, fastclust");
	my $start = time;
	if (!exists $seconds{$kind})
	{
		my $answer = $session->query($statement);
		$seconds{$kind} = time - $start;
		return $session->close;
	}
	$session->start($statement);
	sleep rand $seconds{$kind};
	my $how = rand;
	$how < 0.7 ? kill_backend($session) : $how < 0.9 ? kill_postmaster() : stop_now();
	my $answer = $session->answer(60);
	$seconds{$kind} = 0.7 * $seconds{$kind} + 0.3 * (time - $start) if $answer->{ready};
}

# Kills the backend of a session, and waits until the server has ended all other sessions, too.
sub kill_backend
{
	my ($session) = @_;
	my $witness = Wire->new;
	$count{backend}++;
	kill 'KILL', $session->{backend};
	$witness->answer(60);
}

# Kills the postmaster and starts the server again. Its children end by themselves; the ones that
# still compute after three seconds are killed.
sub kill_postmaster
{
	$count{postmaster}++;
	my @children = split /\n/, $server->query('SELECT pid FROM pg_stat_activity');
	open my $file, '<', "$server->{directory}/data/postmaster.pid" or die $!;
	chomp(my $postmaster = <$file>);
	kill 'KILL', $postmaster;
	for (1 .. 100)
	{
		last unless grep { kill 0, $_ } @children;
		sleep 0.1;
		kill 'KILL', @children if $_ == 30;
	}
	sleep 0.2;
	$server->server('start');
}

sub stop_now { $count{stop}++; $server->crash_and_restart; }

# ---- comparison with the state before ----

my %answers;                    # md5 of a version's rows => md5 of its predictions

sub note { my ($what) = @_; print "# $what\n" unless $failures{$what}++; }

sub compare
{
	my ($before, $after, $model, $kind, $statement) = @_;
	for my $name (keys %$before)
	{
		next if $name eq $model && $kind eq 'drop_model' && !$after->{$name};
		my $now = $after->{$name} or note("model $name is lost after $statement"), next;
		$name eq $model ? compare_changed($before->{$name}, $now, $statement) : compare_same($name, $before->{$name}, $now, $statement);
	}
	for my $name (keys %$after)
	{
		my $now = $after->{$name};
		my $rows = $now->{versions}{$now->{version}} or note("the serving version of $name is lost after $statement"), next;
		note("version $now->{version} of $name predicts otherwise after $statement") if ($answers{$rows} //= $now->{answers}) ne $now->{answers};
		note("$name does not answer after $statement: $now->{answers}") if $now->{answers} !~ /^[0-9a-f]{32}$/;
		$count{committed}++ if $name eq $model && (!$before->{$name} || $before->{$name}{version} ne $now->{version});
	}
}

sub compare_same
{
	my ($name, $was, $now, $statement) = @_;
	note("$name is not what it was after $statement") if $was->{version} ne $now->{version}
		|| join(',', map { "$_ $was->{versions}{$_}" } sort keys %{$was->{versions}}) ne join(',', map { "$_ $now->{versions}{$_}" } sort keys %{$now->{versions}});
}

# Reports versions that changed, versions that vanished although there is no new one, and more new
# versions than the statement makes.
sub compare_changed
{
	my ($was, $now, $statement) = @_;
	my $new = grep { !$was->{versions}{$_} } keys %{$now->{versions}};
	for my $version (keys %{$was->{versions}})
	{
		my $rows = $now->{versions}{$version};
		note("version $version is gone after $statement") if !$rows && !$new;
		note("version $version is not what it was after $statement") if $rows && $rows ne $was->{versions}{$version};
	}
	note("$new new versions after $statement") if $new > 1 || ($new && $statement =~ /use_version/);
}

my $state = state_of_models();
my %done;
while ($count{backend} + $count{postmaster} + $count{stop} < $kills)
{
	my ($statement, $model, $kind) = random_statement($state);
	$done{$kind}++;
	disturb($statement, "$kind $model");
	Wire->new(patience => 120)->close;
	my $after = state_of_models();
	compare($state, $after, $model, $kind, $statement);
	my $orphans = orphans();
	note("$orphans orphan rows after $statement") if $orphans;
	$state = $after;
	print "# $count{backend} $count{postmaster} $count{stop}: $statement\n" if $verbose;
}

my $figures = sprintf '%d backends, %d postmasters, %d immediate stops in %s; %d had committed', @count{qw(backend postmaster stop)},
	join(', ', map { "$done{$_} $_" } sort keys %done), $count{committed};
print %failures ? 'not ok kills: ' . scalar(keys %failures) . " kinds of damage; $figures\n"
	: "ok kills: no lost model, no changed prediction, no orphan row; $figures\n";
exit(%failures ? 1 : 0);

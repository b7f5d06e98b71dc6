# Pool - prepares a database for random calls: runs setup.sql, collects values of every type of the
# extension from functions that return them, and words for arguments from error messages.
package Pool;

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Catalog;
use Values;
use Calls;

# Maximum number of values to collect for a type and dimension.
my $enough = 24;

# Prepares a new database in a superuser's session. Returns (Catalog, Values, Calls). The same seed
# gives the same pool.
sub prepare
{
	my ($session, $seed) = @_;
	srand $seed;
	$session->rows('CREATE EXTENSION fastclust');
	$session->rows('SET search_path = pg_catalog; SET client_min_messages = warning; SET statement_timeout = 0');
	$session->rows(setup_script());
	bare_aggregates($session, Catalog->new($session));
	my $catalog = Catalog->new($session);
	my $values = Values->new(catalog => $catalog, words => first_words($session), nastiness => 0.02);
	my $calls = Calls->new($catalog, $values);

	for my $type (own_types($catalog))
	{
		$session->rows("CREATE TABLE soak.p_$type->{plain} (i int PRIMARY KEY, d int, v $type->{name})");
		$values->{pool}{$type->{oid}} = [];
	}
	learn($session, $catalog, $values, $calls) for 1 .. 2;
	harvest($session, $catalog, $values, $calls) for 1 .. 4;
	train_models($session);
	learn($session, $catalog, $values, $calls);
	keep_mutations($session, $values, $_) for own_types($catalog);
	for my $type (own_types($catalog))
	{
		die "no values of type $type->{name} could be made\n" unless @{$values->{pool}{$type->{oid}}};
	}
	mixed_aggregates($session, $catalog, $values);
	$values->{catalog} = Catalog->new($session);
	return ($values->{catalog}, $values, Calls->new($values->{catalog}, $values));
}

# Creates an aggregate with a transition function and further clauses.
sub create_aggregate
{
	my ($session, $catalog, $name, $function, @more) = @_;
	my ($state, @arguments) = map { $catalog->{types}{$_->{type}}{name} } @{$function->{arguments}};
	my $parts = join ', ', "SFUNC = $function->{name}", "STYPE = $state", @more;
	return $session->query("SET ROLE soak_plain; CREATE AGGREGATE soak.$name(" . join(', ', @arguments) . ") ($parts); RESET ROLE", 60);
}

# Creates aggregates without a final function, whose results are aggregate states.
sub bare_aggregates
{
	my ($session, $catalog) = @_;
	my $number = 0;
	create_aggregate($session, $catalog, 'bare_' . ++$number, $_) for $catalog->transitions;
	$session->rows('RESET ROLE');
}

# Creates aggregates of mismatched functions, as any role may: each has a random final function,
# combine function and initial value of its state type.
sub mixed_aggregates
{
	my ($session, $catalog, $values) = @_;
	my $number = 0;
	for my $function (($catalog->transitions) x 2)
	{
		my $type = $catalog->{types}{$function->{returns}};
		my @finals = grep { $_->{kind} eq 'f' && !$_->{set} && @{$_->{arguments}} == 1 && $_->{arguments}[0]{type} == $type->{oid} } $catalog->callable;
		my @combines = grep { $_->{kind} eq 'f' && @{$_->{arguments}} == 2 && $_->{returns} == $type->{oid}
			&& !grep { $_->{type} != $type->{oid} } @{$_->{arguments}} } $catalog->callable;
		my $pick = Values::one(@{$values->{pool}{$type->{oid}}});
		my ($start) = $session->rows("SELECT v::text FROM soak.p_$type->{plain} WHERE i = $pick->[0]");
		create_aggregate($session, $catalog, 'mixed_' . ++$number, $function, 'PARALLEL = SAFE',
			@finals ? 'FINALFUNC = ' . Values::one(@finals)->{name} : (), @combines ? 'COMBINEFUNC = ' . Values::one(@combines)->{name} : (),
			Values::chance(0.5) && $start ? "INITCOND = '$start->[0]'" : ());
	}
	$session->rows('RESET ROLE');
}

sub own_types { my ($catalog) = @_; return map { $catalog->{types}{$_} } @{$catalog->{own}}; }

sub setup_script { open my $file, '<', dirname(abs_path(__FILE__)) . '/setup.sql' or die $!; local $/; return <$file>; }

sub first_words
{
	my ($session) = @_;
	my @relations = map { $_->[0] } $session->rows("SELECT oid::regclass FROM pg_class WHERE relnamespace = 'soak'::regnamespace AND relkind <> 'i' ORDER BY 1");
	my @roles = ('soak_plain', 'soak_other', 'soak "odd', 'postgres', 'public', 'nobody');
	return {
		relation => [('soak.points') x 20, @relations, 'pg_class', 'information_schema.tables', 'pg_toast.pg_toast_1255'],
		model => [qw(vector columns grouped compressive kernel qkmeans plain plain none)],
		model_name => [qw(vector columns grouped compressive kernel qkmeans plain plain none)],
		name => [qw(live), 'live groups'], group_value => [qw(g0 g1 g2 g3 none)], column => [qw(x x x y a b c n w id g Id select β none ctid)],
		group => [qw(g0 g1 g2 g3 none)],
		'features name' => [qw(x x x y a b c n none)], 'rows name' => [qw(x x x y)], 'id name' => ['id'],
		'role name' => \@roles, role => \@roles, 'reader name' => \@roles};
}

# Collects words and options from the errors for unknown ones: "Options are a, b.", "Valid values are
# a, b."
sub learn
{
	my ($session, $catalog, $values, $calls) = @_;
	for my $function ($catalog->callable)
	{
		next unless $function->{kind} =~ /[fa]/;
		my @arguments = @{$function->{arguments}};
		for my $i (0 .. $#arguments)
		{
			my $plain = $catalog->{types}{$arguments[$i]{type}}{plain};
			next if $plain !~ /^(text|jsonb)$/;
			my %words;
			for (1 .. 6)
			{
				$words{$_} = 1 for hints($session, $calls, $function, $i, $plain);
				last if %words;
			}
			next unless %words;
			my $known = $plain eq 'jsonb' ? $values->{options}{$function->{oid}} : $values->{words}{$arguments[$i]{name}};
			$words{$_} = 1 for @{$known // []};
			($plain eq 'jsonb' ? $values->{options}{$function->{oid}} : $values->{words}{$arguments[$i]{name}}) = [sort keys %words];
		}
	}
}

sub hints
{
	my ($session, $calls, $function, $i, $plain) = @_;
	my $wrong = $plain eq 'jsonb' ? q('{"no such": 1}'::jsonb) : q('no such'::text);
	$calls->{values}->begin_call;
	my $statement = $function->{kind} eq 'a' ? $calls->aggregate_call($function, {$i => $wrong}) : $calls->call($function, {$i => $wrong});
	my $error = $session->query($statement, 60)->{error} or return;
	my $hint = join ' ', grep { defined } @$error{qw(H D)};
	return unless $error->{M} =~ /no such/ && $hint =~ /(?:are|one of|may be|has|them) (.*)\./;
	return grep { /^[\w+-]+$/ && !/^(or|a|the|list|of|k)$/ } split /,?\s+/, $1;
}

# Adds the results of functions that return a type of the extension, with ordinary arguments.
sub harvest
{
	my ($session, $catalog, $values, $calls) = @_;
	for my $function (grep { exists $values->{pool}{$_->{returns}} && !$_->{set} } $catalog->callable)
	{
		my $type = $catalog->{types}{$function->{returns}};
		for my $d (@Values::dims)
		{
			next if (grep { $_->[1] == $d } @{$values->{pool}{$type->{oid}}}) >= $enough;
			$values->{d} = $d;
			my $statement = $function->{kind} eq 'a' ? $calls->aggregate_call($function, {}) : $calls->call($function, {});
			keep($session, $values, $type, $d, $statement);
		}
	}
}

# Adds the single value of a statement to the pool, unless the statement fails or the value is large
# or NULL.
sub keep
{
	my ($session, $values, $type, $d, $statement) = @_;
	my $pool = $values->{pool}{$type->{oid}};
	my $answer = $session->query("SET statement_timeout = '20s'; INSERT INTO soak.p_$type->{plain} SELECT " . scalar(@$pool)
		. ", $d, v FROM ($statement LIMIT 1) q(v) WHERE length($type->{send}(v)) < 200000", 60);
	die "lost the server: $statement\n" unless $answer->{ready};
	push @$pool, [scalar(@$pool), $d] if ($answer->{tag} // '') eq 'INSERT 0 1' && !$answer->{error};
}

# Adds values with changed bytes that the type's input function accepts.
sub keep_mutations
{
	my ($session, $values, $type) = @_;
	my $pool = $values->{pool}{$type->{oid}};
	my @good = @$pool or return;
	my ($text) = $session->rows("SELECT v::text FROM soak.p_$type->{plain} LIMIT 1");
	$values->{hexadecimal}{$type->{oid}} = $text->[0] =~ /^\\x/ ? 1 : 0;
	for my $row ((@good) x 3)
	{
		keep($session, $values, $type, $row->[1],
			'SELECT ' . $values->mutated($type, "(SELECT v FROM soak.p_$type->{plain} WHERE i = $row->[0])"));
	}
}

# Trains one model of each kind, for two owners, and makes live sketches of a table and its groups.
sub train_models
{
	my ($session) = @_;
	my $quiet = '"quiet": true';
	my @models = (
		['postgres', "'vector', 'soak.points', 'x', 3"], ['postgres', "'columns', 'soak.points', ARRAY['a', 'b'], 3"],
		['postgres', "'grouped', 'soak.points', 'x', 2, options => '{$quiet, \"group_by\": \"g\"}'"],
		['postgres', "'compressive', 'soak.points', 'x', 3, 'compressive'"], ['postgres', "'kernel', 'soak.points', 'x', 3, 'kernel'"],
		['postgres', "'qkmeans', 'soak.points', 'x', 3, 'qkmeans'"], ['soak_plain', "'plain', 'soak.points', 'x', 3"]);
	for my $model (@models)
	{
		my ($role, $arguments) = @$model;
		$arguments .= ", options => '{$quiet}'" unless $arguments =~ /options/;
		$session->rows("SET statement_timeout = 0; SET ROLE $role; SELECT fastclust.train($arguments); RESET ROLE");
	}
	$session->rows("SELECT fastclust.keep_sketch('$_->[0]', 'soak.points', 'x', fastclust.model_spec('vector'), '$_->[1]')")
		for ['live', '{}'], ['live groups', '{"group_by": "g"}'];
}

1;

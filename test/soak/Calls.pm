# Calls - makes SQL statements that call everything in the catalog: functions with constants and
# with rows, operators, aggregates in all their forms, type input and output, sorts, hashes, joins,
# relations. Each statement is one text for EXECUTE.
package Calls;

use strict;
use warnings;
use Values;

BEGIN { *one = \&Values::one; *chance = \&Values::chance; }

# Returns a maker of calls for a Catalog, with arguments of a Values.
sub new
{
	my ($class, $catalog, $values) = @_;
	my $self = bless {catalog => $catalog, values => $values, types => $catalog->{types}}, $class;
	my @functions = $catalog->callable;

	# The weights prefer C code, because only C code can crash. Functions in SQL are slow, schema
	# soak has many aggregates, and transition functions mostly fail outside of aggregates.
	my %transitions = map { $_->{oid} => 1 } $catalog->transitions;
	$self->{targets} = [
		(map { [$_->{language} ne 'c' ? 2 : $transitions{$_->{oid}} ? 0.5 : 4, 'function', $_] } grep { $_->{kind} eq 'f' } @functions),
		(map { [$_->{name} =~ /^soak\./ ? 1 : 5, 'aggregate', $_] } grep { $_->{kind} eq 'a' } @functions),
		(map { [3, 'operator', $_] } @{$catalog->{operators}}),
		(map { [3, 'cast', $_] } @{$catalog->{casts}}),
		(map { [20, 'type', $catalog->{types}{$_}] } @{$catalog->{own}}),
		(map { [6, 'relation', $_] } @{$catalog->{relations}})];
	$self->{weight} += $_->[0] for @{$self->{targets}};
	return $self;
}

# Restricts further calls to objects that take this type, all with the same weight. Returns the
# number of these objects.
sub restrict_to
{
	my ($self, $oid) = @_;
	my @targets = grep {
		my $what = $_->[2];
		grep { defined $_ && $_ eq $oid } $what->{oid}, @$what{qw(left right from)},
			map { $_->{type}, $self->{types}{$_->{type}}{element} } @{$what->{arguments} // []};
	} @{$self->{targets}};
	$self->{targets} = [map { [1, @$_[1, 2]] } @targets];
	$self->{weight} = @targets;
	return scalar @targets;
}

# Returns a random call: (statement, object called, whether it takes records).
sub random_call
{
	my ($self) = @_;
	my $at = rand $self->{weight};
	for my $target (@{$self->{targets}})
	{
		next if ($at -= $target->[0]) >= 0;
		$self->{values}->begin_call;
		my $method = $target->[1];
		my $composite = grep { $self->{types}{$_->{type}}{type} eq 'c' } @{$target->[2]{arguments} // []};
		return ($self->$method($target->[2]), $target->[2]{signature} // "$method " . ($target->[2]{name} // q()), $composite);
	}
}

# Returns the arguments of a function as expressions. $override is {index => expression}; arguments
# with a default are sometimes left out.
sub arguments
{
	my ($self, $function, $override) = @_;
	my @arguments = @{$function->{arguments}};
	my $count = @arguments - (chance(0.6) ? int rand(1 + $function->{defaults}) : 0);
	$count = @arguments if grep { $_ >= $count } keys %$override;
	my @values = map { $override->{$_} // $self->{values}->value($arguments[$_]{type}, $arguments[$_]{name}, $function->{oid}) } 0 .. $count - 1;

	$values[-1] = $self->variadic_argument($arguments[-1], $override->{$#arguments}) if $function->{variadic} && $count == @arguments;
	return @values;
}

# Returns VARIADIC with an array, or single values. Type "any" has no element type.
sub variadic_argument
{
	my ($self, $argument, $override) = @_;
	my $values = $self->{values};
	return 'VARIADIC ' . ($override // $values->value($values->variadic($argument->{type}), $argument->{name})) if chance(0.5);
	my $element = $self->{types}{$argument->{type}}{element} || $argument->{type};
	return join ', ', map { $values->value($element) } 1 .. $values->{d};
}

# Returns a single call of a function.
sub call { my ($self, $function, $override) = @_; return "SELECT $function->{name}(" . join(', ', $self->arguments($function, $override)) . ')'; }

sub aggregate_call
{
	my ($self, $aggregate, $override) = @_;
	my %all = (%{$self->aggregate_arguments($aggregate)}, %$override);
	delete $all{$_} for grep { $all{$_} eq 'p.v' } keys %all;
	return "SELECT $aggregate->{name}(" . join(', ', $self->arguments($aggregate, \%all)) . ') FROM ' . $self->row_source . ' r';
}

# ---- functions and operators ----

sub function
{
	my ($self, $function) = @_;
	return $self->over_rows($function) if chance(0.15) && @{$function->{arguments}};
	my $call = "$function->{name}(" . join(', ', $self->arguments($function)) . ')';
	my $form = rand;

	return "SELECT * FROM $call" . ($function->{set} ? '' : ' f') if $form < 0.25;
	return "SELECT ($call)::text" if $form < 0.5 && !$function->{set};
	return "SELECT $call, $call" if $form < 0.55;
	return "SELECT f FROM $call f" . (chance(0.5) ? ' LIMIT 1' : '') if $form < 0.6;
	return "SELECT $call";
}

# Returns a call with some arguments from rows, so that cached state of a function meets new values.
sub over_rows
{
	my ($self, $function) = @_;
	my @arguments = @{$function->{arguments}};
	my (@from, %override);
	for my $i (0 .. $#arguments)
	{
		next unless chance(0.5);
		push @from, $self->few_values($arguments[$i]) . " c$i(v)";
		$override{$i} = "c$i.v";
	}
	my $call = "$function->{name}(" . join(', ', $self->arguments($function, \%override)) . ')';
	return "SELECT $call" . (@from ? ' FROM ' . join(', ', @from) : '') . ' LIMIT ' . one(5, 20, 60);
}

# Returns a subquery of a few values of an argument's type.
sub few_values
{
	my ($self, $argument) = @_;
	my $type = $self->{types}{$argument->{type}};
	return "(SELECT v FROM soak.p_$type->{plain} WHERE i % 7 = " . int(rand 7) . ' LIMIT ' . one(2, 4, 8) . ')'
		if $self->{values}{pool}{$type->{oid}} && chance(0.8);
	return '(VALUES ' . join(', ', map { '(' . $self->{values}->value($argument->{type}, $argument->{name}) . ')' } 1 .. one(1, 2, 3, 5)) . ')';
}

sub operator
{
	my ($self, $operator) = @_;
	my @sides = map { $_ ? $self->{values}->value($_) : '' } $operator->{left}, $operator->{right};
	return "SELECT $sides[0] $operator->{name} $sides[1]";
}

sub cast { my ($self, $cast) = @_; return 'SELECT ' . $self->{values}->value($cast->{from}) . "::$self->{types}{$cast->{to}}{name}"; }

# ---- types: text and bytes in and out, sorts, hashes, joins, indexes, arrays, rows ----

sub type
{
	my ($self, $type) = @_;
	my $values = $self->{values};
	my ($value, $other) = map { $values->value($type->{oid}) } 1 .. 2;
	my $some = $self->few_values({type => $type->{oid}});
	return one("SELECT ($value)::text::$type->{name}",
		"SELECT $type->{input}($type->{output}($value))",
		"SELECT " . $values->mutated($type, $value),
		"SELECT " . $values->mutated($type, $value) . '::text',
		"SELECT $type->{input}(" . $values->make_cstring('') . '::cstring)',
		"SELECT $type->{send}($value)",
		"SELECT ARRAY[$value, NULL, $other]::text::$type->{name}\[]",
		"SELECT to_jsonb(ROW($value, $other)), ROW($value, $other)::text",
		"SELECT v FROM $some c(v) ORDER BY v",
		"SELECT DISTINCT v FROM $some c(v)",
		"SELECT v, count(*) FROM $some c(v) GROUP BY v",
		"SELECT count(*) FROM $some a(v) JOIN $some b(v) USING (v)",
		"SELECT ARRAY[$value] = ARRAY[$other], ROW($value) < ROW($other), $value IN ($value, $other)",
		"SELECT greatest($value, $other), nullif($value, $other), $value IS DISTINCT FROM $other",
		"CREATE TEMP TABLE t ON COMMIT DROP AS SELECT v FROM $some c(v); CREATE INDEX ON t USING " . one('btree', 'hash') . ' (v); ANALYZE t; DROP TABLE t',
		"SELECT pg_column_size($value), octet_length($type->{send}($value))");
}

# ---- aggregates ----

# Returns a subquery of rows with the call's dimension, sometimes with an unusual one. A parallel
# plan needs rows of a table only.
sub row_source
{
	my ($self, $parallel) = @_;
	my $values = $self->{values};
	my $rows = "SELECT x, i, g, w FROM soak.rows WHERE d = $values->{d} AND i <= " . one(0, 1, 2, 5, 20, 60, 60, 300);
	return "($rows)" if $parallel || !$values->nasty(0.4);
	my ($vector, $number) = map { $self->{catalog}->type_named($_) } 'double precision[]', 'double precision';
	return "($rows UNION ALL SELECT " . $values->value($vector) . ', ' . join(', ', one(0, 1000, 'NULL'), one(0, 'NULL')) . ', '
		. $values->value($number) . ')';
}

sub aggregate_arguments
{
	my ($self, $aggregate) = @_;
	my $types = $self->{types};
	my %override;
	for my $i (0 .. $#{$aggregate->{arguments}})
	{
		my $type = $types->{$aggregate->{arguments}[$i]{type}};
		my $element = $type->{element} ? $types->{$type->{element}}{plain} : '';
		$override{$i} = "r.x::$type->{name}" if $element =~ /^(float|int|numeric)/ && !$self->{values}->nasty(0.05);
		$override{$i} = "r.i::$type->{name}" if $type->{plain} eq 'int8' && chance(0.8);
		$override{$i} = one('r.g', 'r.i', '(r.i % 3)') . "::$type->{name}" if $type->{plain} eq 'int4' && chance(0.15);
		$override{$i} = "r.w::$type->{name}" if $type->{plain} eq 'float8' && chance(0.7);
		$override{$i} = 'p.v' if $self->{values}{pool}{$type->{oid}} && chance(0.2);
	}
	return \%override;
}

sub aggregate
{
	my ($self, $aggregate) = @_;
	my $parallel = chance(0.02);
	my $override = $self->aggregate_arguments($aggregate);
	my ($pooled) = grep { $override->{$_} eq 'p.v' } keys %$override;
	my $from = $self->row_source($parallel) . ' r';
	$from .= ', ' . $self->few_values($aggregate->{arguments}[$pooled]) . ' p(v)' if defined $pooled;
	my $arguments = join(', ', $self->arguments($aggregate, $override));
	my $statement = chance(0.2) ? $self->window($aggregate, $arguments, $from) : $self->grouped($aggregate, $arguments, $from);

	$statement =~ s/^SELECT (.*?) FROM \(SELECT x/SELECT ($1)::text FROM (SELECT x/s if chance(0.1) && $statement !~ /,\s*\S+\(.*FILTER/;
	return $statement unless $parallel;
	return "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0; $statement; "
		. 'SET LOCAL parallel_setup_cost = 1e9';
}

sub grouped
{
	my ($self, $aggregate, $arguments, $from) = @_;
	my $order = chance(0.15) ? ' ORDER BY ' . one('r.i', 'r.x', 'r.w DESC', 'r.g, r.i DESC') : '';
	my $call = "$aggregate->{name}(" . (chance(0.08) && !$order ? 'DISTINCT ' : '') . "$arguments$order)";
	$call .= ' FILTER (WHERE ' . one('r.i % 3 = 0', 'r.i > 1000', 'r.x[1] > 5', 'r.g IS NOT NULL') . ')' if chance(0.15);
	my $group = chance(0.25) ? ' GROUP BY ' . one('r.g', 'r.i', 'ROLLUP (r.g)', 'GROUPING SETS ((r.g), ())', 'CUBE (r.g, r.w)') . ' LIMIT 50' : '';
	return "SELECT $call FROM $from$group";
}

sub window
{
	my ($self, $aggregate, $arguments, $from) = @_;
	my $bound = sub { one('UNBOUNDED', 0, 1, 2, 7) };
	my $frame = sprintf 'ROWS BETWEEN %s PRECEDING AND %s FOLLOWING', $bound->(), $bound->();
	$frame .= ' EXCLUDE ' . one('CURRENT ROW', 'TIES', 'GROUP') if chance(0.1);
	my $over = '(' . (chance(0.3) ? 'PARTITION BY r.g ' : '') . 'ORDER BY r.i' . (chance(0.9) ? " $frame" : '') . ')';
	my $filter = chance(0.1) ? ' FILTER (WHERE r.i % 2 = 0)' : '';
	return "SELECT $aggregate->{name}($arguments)$filter OVER $over FROM $from LIMIT 60";
}

# ---- relations ----

sub relation
{
	my ($self, $relation) = @_;
	my $columns = $self->{catalog}{columns}{$relation->{name}};
	my @names = sort keys %$columns;
	my $column = one(@names);
	my $value = $self->{values}->value($columns->{$column}, $column);

	return "SELECT $column FROM $relation->{name}" if chance(0.3);
	return "SELECT r::text FROM $relation->{name} r" if chance(0.2);
	# A superuser can damage these relations, so a plain role changes them.
	my $as_plain = "SET LOCAL ROLE soak_plain;";
	return "$as_plain UPDATE $relation->{name} SET $column = $value" if chance(0.5);
	return "$as_plain DELETE FROM $relation->{name} WHERE $column IS NOT NULL" if chance(0.3);
	my @some = grep { chance(0.7) } @names;
	@some = @names unless @some;
	return "$as_plain INSERT INTO $relation->{name} (" . join(', ', @some) . ') ' . one('OVERRIDING SYSTEM VALUE ', '') . 'VALUES ('
		. join(', ', map { $self->{values}->value($columns->{$_}, $_) } @some) . ')';
}

1;

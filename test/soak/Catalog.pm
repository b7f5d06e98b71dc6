# Catalog - the objects of the extension, read from the server: functions, aggregates, operators,
# types, casts, relations, settings. No object is known here by name.
package Catalog;

use strict;
use warnings;

# SQL condition that o is an object of the extension or an aggregate of schema soak.
my $member = "EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass"
	. " WHERE d.objid = o.oid AND d.classid = o.tableoid AND d.deptype = 'e' AND e.extname = 'fastclust')";

# Returns the catalog:
#   functions  [{oid, name (schema-qualified, quoted), signature, kind (f, a, w, p), returns (oid),
#              set, language, arguments: [{type (oid), name}], defaults, variadic}]
#   operators  [{name, left, right}]
#   types      {oid => {...}} of every type in use
#   casts, relations, settings
sub new
{
	my ($class, $session) = @_;
	my $self = bless {}, $class;

	$self->{functions} = [map { function_of_row($_) } $session->rows(<<"SQL")];
SELECT o.oid, quote_ident(n.nspname) || '.' || quote_ident(o.proname), o.oid::regprocedure, o.prokind, o.prorettype, o.proretset::int,
       l.lanname, o.proargtypes, array_to_string(o.proargnames, ' ', ''), o.pronargdefaults, (o.provariadic <> 0)::int
  FROM pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace JOIN pg_language l ON l.oid = o.prolang
 WHERE $member OR n.nspname = 'soak' AND o.prokind = 'a'
 ORDER BY o.oid::regprocedure::text
SQL
	$self->{operators} = [map { {name => $_->[0], left => $_->[1], right => $_->[2]} } $session->rows(<<"SQL")];
SELECT 'OPERATOR(' || quote_ident(n.nspname) || '.' || o.oprname || ')', o.oprleft, o.oprright
  FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace WHERE $member ORDER BY 1, 2, 3
SQL
	$self->{casts} = [map { {from => $_->[0], to => $_->[1]} } $session->rows(
		"SELECT o.castsource, o.casttarget FROM pg_cast o WHERE $member ORDER BY 1, 2")];
	$self->{relations} = [map { {name => $_->[0], kind => $_->[1]} } $session->rows(
		"SELECT o.oid::regclass, o.relkind FROM pg_class o WHERE $member AND o.relkind IN ('r', 'v', 'm', 'p') ORDER BY 1")];
	$self->{columns}{$_->[0]}{$_->[1]} = $_->[2] for $session->rows(
		'SELECT o.oid::regclass, quote_ident(a.attname), a.atttypid FROM pg_class o JOIN pg_attribute a ON a.attrelid = o.oid'
		. " WHERE a.attnum > 0 AND NOT a.attisdropped AND $member AND o.relkind IN ('r', 'v', 'm', 'p')");
	$self->{settings} = [map { {name => $_->[0], type => $_->[1], lowest => $_->[2], highest => $_->[3]} } $session->rows(
		"SELECT name, vartype, min_val, max_val FROM pg_settings WHERE name LIKE 'fastclust.%' ORDER BY 1")];
	$self->{types} = read_types($session);
	$self->{own} = [map { $_->[0] } $session->rows(
		"SELECT o.oid FROM pg_type o WHERE $member AND o.typtype = 'b' AND o.typelem = 0 AND o.typsend <> 0 ORDER BY o.typname")];
	return $self;
}

sub function_of_row
{
	my ($row) = @_;
	my %function;
	@function{qw(oid name signature kind returns set language types names defaults variadic)} = @$row;
	my @names = split / /, $function{names} // '', -1;
	my @types = split / /, $function{types};
	$function{arguments} = [map { {type => $types[$_], name => $names[$_] // ''} } 0 .. $#types];
	return \%function;
}

# Reads the types by oid: name, schema, type (b, c, e, p ...), element and array (oids), fields of
# composite types.
sub read_types
{
	my ($session) = @_;
	my %types;
	for my $row ($session->rows(<<'SQL'))
SELECT t.oid, t.oid::regtype, t.typtype, CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END, t.typarray, t.typrelid,
       quote_ident(n.nspname), quote_ident(t.typname), t.typname, t.typinput::regproc, t.typoutput::regproc, t.typsend, t.typreceive, coalesce(c.relkind, ''),
       (SELECT string_agg(a.atttypid || ' ' || a.attname, ',' ORDER BY a.attnum) FROM pg_attribute a
         WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped)
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
SQL
	{
		my %type;
		@type{qw(oid name type element array relation schema quoted plain input output send receive relkind fields)} = @$row;
		$type{fields} = [map { [split / /, $_, 2] } split /,/, $type{fields} // ''];
		$types{$type{oid}} = \%type;
	}
	return \%types;
}

sub type_named { my ($self, $name) = @_; my ($type) = grep { $_->{name} eq $name } values %{$self->{types}}; return $type->{oid}; }

# Returns the functions that SQL can call: no argument or result has an internal pseudo-type.
sub callable
{
	my ($self) = @_;
	my $types = $self->{types};
	return grep {
		my $function = $_;
		!grep { $types->{$_}{plain} =~ /^(internal|trigger|event_trigger|.*_handler)$/ }
			$function->{returns}, map { $_->{type} } @{$function->{arguments}};
	} @{$self->{functions}};
}

# Returns the functions that can be transition functions: a type of the extension is the type of
# the first argument and of the result.
sub transitions
{
	my ($self) = @_;
	my %own = map { $_ => 1 } @{$self->{own}};
	return grep {
		my @arguments = @{$_->{arguments}};
		$_->{kind} eq 'f' && $own{$_->{returns}} && @arguments > 1 && $arguments[0]{type} == $_->{returns} && $_->{language} eq 'c' && !$_->{variadic}
	} $self->callable;
}

1;

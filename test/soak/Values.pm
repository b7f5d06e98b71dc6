# Values - makes SQL expressions for arguments of any type: ordinary ones, which mostly fit each
# other, and unusual ones. Randomness comes from rand, so srand makes it repeatable.
package Values;

use strict;
use warnings;

our @dims = (1, 2, 3, 5, 16, 40);

# Parts: catalog, a Catalog; pool, {type oid => [[i, d], ...]}; words, {argument name => [...]};
# options, {function oid => [keys]}; nastiness, the frequency of unusual values, from 0 to 1.
sub new
{
	my ($class, %parts) = @_;
	return bless {nastiness => 0.5, d => 2, number => 'double precision', dims => [@dims[0 .. 3, 0 .. 3], @dims],
		unknown => {}, pool => {}, words => {}, options => {}, %parts}, $class;
}

sub one { return $_[rand @_]; }

sub chance { my ($p) = @_; return rand() < $p; }

# Returns a random value of a hash. Keys are sorted, so that the result depends only on rand.
sub any_of { my ($hash) = @_; my $key = one(sort keys %$hash); return defined $key ? $hash->{$key} : undef; }

sub nasty { my ($self, $p) = @_; return chance($p * $self->{nastiness}); }

sub quote { my ($text) = @_; $text =~ s/'/''/g; return $text =~ s/\\/\\\\/g ? "E'$text'" : "'$text'"; }

sub identifier { my ($name) = @_; return '"' . $name =~ s/"/""/gr . '"'; }

# Chooses the dimension of the next call, mostly a small one, and its type of numbers.
sub begin_call
{
	my ($self) = @_;
	$self->{d} = one(@{$self->{dims}});
	$self->{number} = one(('double precision') x 4, 'real', 'integer', 'bigint', 'smallint', 'numeric');
}

# Returns an expression of a type for the argument with this name of a function (oid).
sub value
{
	my ($self, $oid, $argument, $function) = @_;
	my $type = $self->concrete($self->{catalog}{types}{$oid});

	return "NULL::$type->{name}" if $self->nasty(0.08);
	return $self->pooled($type) if exists $self->{pool}{$oid};
	return $self->array($type, $argument, $function) if $type->{element};
	return $self->composite($type, $function) if $type->{type} eq 'c';
	my $maker = $self->can("make_$type->{plain}");
	if (!$maker)
	{
		$self->{unknown}{$type->{name}} = 1;
		return "NULL::$type->{name}";
	}
	return $self->$maker($argument // '', $function) . "::$type->{name}";
}

# Returns the type of the array after VARIADIC for a parameter of this type: for "any" mostly an
# array of the call's numbers.
sub variadic
{
	my ($self, $oid) = @_;
	my $catalog = $self->{catalog};
	return $oid if $catalog->{types}{$oid}{plain} ne 'any' || $self->nasty(0.3);
	return $catalog->type_named("$self->{number}\[]");
}

# Returns the type itself or, for "any", the call's type of numbers or its array, or rarely any base
# type.
sub concrete
{
	my ($self, $type) = @_;
	return $type if $type->{plain} ne 'any';
	my $types = $self->{catalog}{types};
	return $types->{$self->{catalog}->type_named($self->{number} . (chance(0.8) ? '[]' : ''))} unless $self->nasty(0.5);
	return $types->{one(grep { $types->{$_}{type} eq 'b' } sort keys %$types)};
}

# ---- the extension's own types ----

sub pooled
{
	my ($self, $type) = @_;
	my $rows = $self->{pool}{$type->{oid}};
	my @fitting = grep { $_->[1] == $self->{d} } @$rows;
	my $row = one(@fitting && !$self->nasty(0.3) ? @fitting : @$rows) or return "NULL::$type->{name}";
	my $value = "(SELECT v FROM soak.p_$type->{plain} WHERE i = $row->[0])";

	return $self->mutated($type, $value) if $self->nasty(0.15);
	return "$value\::text::$type->{name}" if chance(0.03);
	return $value;
}

# Returns the value with a few bytes changed, as a call of the input function, which mostly fails.
sub mutated
{
	my ($self, $type, $value) = @_;
	my $bytes = "$type->{send}($value)";
	$bytes = mutation($bytes) for 1 .. one(1, 1, 1, 2, 4);
	return "$type->{input}(('\\x' || encode($bytes, 'hex'))::cstring)" if $self->hexadecimal($type);
	my $text = "$value\::text";
	return "overlay($text placing " . quote(one('', '-', '1e999', 'NaN', ',', '(', ')', '0x', '9' x 40)) . " from 1 + " . int(rand 12) . " for " . int(rand 5)
		. ")::$type->{name}";
}

sub hexadecimal { my ($self, $type) = @_; return ($self->{hexadecimal}{$type->{oid}} // 1); }

sub mutation
{
	my ($bytes) = @_;
	my $place = chance(0.6) ? int rand 160 : int rand 1e6;
	my $inside = "($place % greatest(1, length($bytes)))";
	my $kind = rand;
	return "set_byte($bytes, $inside, " . int(rand 256) . ')' if $kind < 0.5;
	return "overlay($bytes placing '\\x" . one_word() . "'::bytea from 1 + $inside / 8 * 8)" if $kind < 0.8;
	return "substr($bytes, 1, $place)" if $kind < 0.88;
	return "$bytes || '\\x" . one_word() . "'::bytea" if $kind < 0.94;
	return "substr($bytes, 1, $inside) || substr($bytes, greatest(1, $inside - 7))";
}

# Returns eight bytes in hexadecimal: a special double, or one or two integers near a limit.
sub one_word
{
	return unpack 'H*', one(map({ pack 'd<', $_ } 0, -1, 1, 9**9**9, -9**9**9, -sin(9**9**9), 5e-324, 1e308, 1e-300),
		map({ pack 'q<', $_ } 0, 1, -1, 0x7FFFFFFF, 0x80000000, 9223372036854775807, 2 ** 32 - 1, 2 ** 32 + 1),
		map({ pack 'l< l<', $_, one(0, 1, -1, 2, 65536) } 0, 1, 2, 3, 255, 65536, 4194304, -1));
}

# ---- numbers ----

my @integers = (0, -1, 2147483647, -2147483648, 1048576, 1048577, 65536, 100, 1000, 10, 20, 255);
my @doubles = qw(0 -0 -1 1 NaN Infinity -Infinity 1e308 -1e308 1e-308 4.9e-324 1e-30 1e20 -1e20 0.5 1e-12 16777217 3.4e38);

sub integer { my ($self) = @_; return $self->nasty(0.25) ? one(@integers) : chance(0.2) ? $self->{d} : one(1, 2, 2, 3, 3, 4, 5, 8); }
sub double { my ($self) = @_; return $self->nasty(0.25) ? one(@doubles) : sprintf '%.4g', one(1, 1, 1, 10, 0.1) * (0.2 + rand); }

sub make_int2 { my ($self) = @_; return "'" . one(1, 2, 0, -1, 32767, -32768) . "'"; }
sub make_int4 { my ($self) = @_; return "'" . $self->integer . "'"; }
sub make_int8 { my ($self) = @_; return "'" . ($self->nasty(0.1) ? one('9223372036854775807', '-9223372036854775808', '4294967296') : $self->integer) . "'"; }
sub make_oid { my ($self) = @_; return $self->nasty(0.5) ? "'" . one(0, 1, 10, 1259, 4294967295, 16384) . "'" : one(map { "(SELECT oid FROM pg_roles WHERE rolname = 'soak_$_')" } qw(plain other)); }
sub make_float4 { my ($self) = @_; my $number = $self->double; return "'" . ($number =~ /308|324/ ? '1e-45' : $number) . "'"; }
sub make_float8 { my ($self) = @_; return "'" . $self->double . "'"; }
sub make_numeric { my ($self) = @_; return $self->nasty(0.1) ? one("'1e1000'", "'-1e-1000'", "repeat('9', 2000)") : "'" . $self->double . "'"; }
sub make_bool { return one('true', 'false'); }
sub make_tid { return "'(" . one(0, 1, 4294967295) . ',' . one(0, 1, 65535) . ")'"; }
sub make_timestamptz { return one("'2026-01-01'", "'infinity'", "'-infinity'", "'0001-01-01 BC'", 'now()'); }
sub make_timestamp { return make_timestamptz(); }
sub make_interval { return one("'1 day'", "'0'", "'-1000000 years'", "'1 second'"); }
sub make_bytea { return one("'\\x'", "'\\x00'", "'\\x" . one_word() . "'", "'\\x" . one_word() x 20 . "'"); }

# ---- words ----

my @nasty_texts = ('', ' ', '%s%n', "a'b", 'a"b', 'x\\', "line\nbreak", "\xc3\xa4\xe2\x82\xac", 'NULL', '0', '-1', '{}', 'public', 'pg_class', 'a.b.c',
	"'; SELECT 1/0; --", '$1', '$$', 'ctid', 'tableoid', '*', 'soak.points');

sub text
{
	my ($self, $argument) = @_;
	my $words = $self->{words}{$argument};
	return one(@$words) if $words && !$self->nasty(0.2);
	return one(@nasty_texts, @{any_of($self->{words}) // []});
}

sub make_text { my ($self, $argument) = @_; return $self->nasty(0.02) ? "repeat('x', 100000)" : quote($self->text($argument)); }
sub make_varchar { my ($self, $argument) = @_; return $self->make_text($argument); }
sub make_cstring { my ($self, $argument) = @_; return chance(0.5) ? quote($self->text($argument)) : one("'\\x'", "'\\x0'", "'\\x" . one_word() x int(1 + rand 30) . "'"); }
sub make_name { my ($self, $argument) = @_; return quote($self->text($self->{words}{"$argument name"} ? "$argument name" : 'column')); }
sub make_regclass { my ($self) = @_; return $self->nasty(0.1) ? one(0, 4294967295, 1) : quote(one(@{$self->{words}{relation}})); }
sub make_regtype { return quote(one('real[]', 'int', 'text', 'numeric[]', 'record', '0')); }
sub make_regrole { my ($self) = @_; return quote(one('soak_plain', 'soak_other', 'postgres', '0')); }
sub make_regproc { return "'soak.noise'"; }
sub make_regprocedure { return "'soak.noise(bigint,bigint)'"; }

# ---- jsonb ----

sub make_jsonb
{
	my ($self, $argument, $function) = @_;
	return quote(one('null', '[]', '1', '"x"', '{"": {}}', '[[[[[[]]]]]]', '{"a": 1e400}', '[1, null, {}]')) if $self->nasty(0.1);
	my @keys = $function && $self->{options}{$function} ? @{$self->{options}{$function}} : ();
	@keys = @{any_of($self->{options}) // []} if !@keys || $self->nasty(0.03);
	my $count = @keys ? one(0, 0, 1, 1, 2, 3) : 0;
	return quote('{' . join(', ', map { my $key = one(@keys); "\"$key\": " . $self->json($key) } 1 .. $count) . '}');
}
sub make_json { my ($self, @rest) = @_; return $self->make_jsonb(@rest); }

sub json
{
	my ($self, $key) = @_;
	my $kind = rand;
	return one(1, 2, 3, 4, 8, 0.5, 0.1, 1e-3, 10, 0) if $kind < 0.45;
	return one('true', 'false') if $kind < 0.6;
	return json_text($self->text($key)) if $kind < 0.75;
	return one('null', '1e308', '1e-308', -1, 1e9, 9223372036854775807, '1e400', '""', '"NaN"') if $kind < 0.85;
	return '[' . join(', ', map { one(1, 2, 0.5, 0, 7, $self->nasty(0.2) ? 'null' : 1) } 1 .. one(1, 2, $self->{d})) . ']' if $kind < 0.93;
	return '[' . join(', ', map { '[' . join(', ', map { int(rand 100) / 10 } 1 .. $self->{d}) . ']' } 1 .. one(1, 2, 3)) . ']' if $kind < 0.98;
	return '{"' . $key . '": 1}';
}

sub json_text
{
	my ($text) = @_;
	$text =~ s/(["\\])/\\$1/g;
	$text =~ s/\n/\\n/g;
	return "\"$text\"";
}

# ---- arrays ----

my %numbers = map { $_ => 1 } qw(int2 int4 int8 float4 float8 numeric);

sub array
{
	my ($self, $type, $argument, $function) = @_;
	my $element = $self->{catalog}{types}{$type->{element}};
	return $self->vector($type, $element) if $numbers{$element->{plain}};

	my $count = $self->nasty(0.1) ? one(0, 100) : one(1, 2, 2, 3);
	my @values = map { $self->value($element->{oid}, $argument, $function) } 1 .. $count;
	return 'ARRAY[' . join(', ', @values) . "]::$type->{name}" unless $self->nasty(0.1) && @values;
	return "ARRAY[[" . join('], [', @values) . "]]::$type->{name}";
}

sub make_row_vector
{
	my ($self) = @_;
	my $types = $self->{catalog}{types};
	my $element = one('double precision', 'double precision', 'real', 'integer', 'numeric');
	return $self->vector($types->{$self->{catalog}->type_named("$element\[]")}, $types->{$self->{catalog}->type_named($element)});
}

# Returns $count numbers near one of four centers.
sub elements
{
	my ($self, $element, $count) = @_;
	my $center = one(0, 3, 7, 10);
	return map { $element->{plain} =~ /^int/ ? int($center + rand 2) : sprintf '%.3g', $center + rand } 1 .. $count;
}

sub nasty_element
{
	my ($self, $element) = @_;
	return one('NULL', 0, -1, 32767, -32768) if $element->{plain} eq 'int2';
	return one('NULL', 0, -1, 2147483647, -2147483648) if $element->{plain} =~ /^int/;
	return one('NULL', '3.4e38', '-3.4e38', '1e-45', 'NaN', 'Infinity', '-Infinity', 0, '1e20') if $element->{plain} eq 'float4';
	return one('NULL', 'NaN', '1e400', '1e-400', '1e308', '-1', '123456789012345678901234567890') if $element->{plain} eq 'numeric';
	return one('NULL', @doubles);
}

sub vector
{
	my ($self, $type, $element) = @_;
	my $d = $self->{d};
	return $self->nasty_vector($type, $element) if $self->nasty(0.35);
	return "soak.expanded('{" . join(',', $self->elements($element, $d)) . "}'::$type->{name})" if chance(0.04);
	return $self->stored_vector($type, $d) if chance(0.08);
	return "'{" . join(',', $self->elements($element, $d)) . "}'::$type->{name}";
}

sub stored_vector
{
	my ($self, $type, $d) = @_;
	my $name = $type->{name} =~ /^(double precision|real|integer|numeric)\[\]$/ ? $type->{name} : 'double precision[]';
	return sprintf '(SELECT "%s" FROM soak.%s WHERE d = %d OFFSET %d LIMIT 1)::%s', $name, one('vectors', 'outside'), $d, int(rand 3), $type->{name};
}

# Returns an array literal with lower bound $low.
sub bounded { my ($low, $values) = @_; return sprintf "'[%d:%d]={%s}'", $low, $low + @$values - 1, join(',', @$values); }

sub nasty_vector
{
	my ($self, $type, $element) = @_;
	my ($d, $kind) = ($self->{d}, rand);
	my @values = $self->elements($element, $d);

	return $self->stored_vector($type, one(1000, 5000, 16000)) if $kind < 0.06;
	return "array_fill(1::$element->{name}, ARRAY[" . one(16000, 16001, 65536, 100000) . "])" if $kind < 0.09;
	return "'" . one('{}', '{NULL}', '[0:-1]={}') . "'::$type->{name}" if $kind < 0.12;
	return "'{}'::$type->{name}" if $kind < 0.14;
	return "'{{" . join(',', @values) . '},{' . join(',', @values) . "}}'::$type->{name}" if $kind < 0.22;
	return bounded(one(0, 2, -5, -2147483648, 2147483600), \@values) . "::$type->{name}" if $kind < 0.34;
	return "'{" . join(',', map { $self->nasty_element($element) } 1 .. $d) . "}'::$type->{name}" if $kind < 0.45;
	return "'{" . join(',', $self->elements($element, one(1, $d + 1, $d - 1 || 1, one(@dims)))) . "}'::$type->{name}" if $kind < 0.65;
	return "'{{{{{{" . $values[0] . "}}}}}}'::$type->{name}" if $kind < 0.68;
	$values[rand @values] = $self->nasty_element($element);
	return "'{" . join(',', @values) . "}'::$type->{name}";
}

# ---- composites ----

# Returns a row of the type's relation with up to two fields changed, or a row made of values. Some
# views of the server fail, so their rows are always made of values.
sub composite
{
	my ($self, $type, $function) = @_;
	my @fields = @{$type->{fields}};
	if ($type->{relkind} =~ /[rvmp]/ && $type->{schema} !~ /^(pg_catalog|information_schema)$/ && !$self->nasty(0.2))
	{
		my %changed = map { int(rand @fields) => 1 } 1 .. one(0, 0, 1, 2);
		my @values = map { $changed{$_} ? $self->value($fields[$_][0], $fields[$_][1], $function) : "r." . identifier($fields[$_][1]) } 0 .. $#fields;
		return '(SELECT ROW(' . join(', ', @values) . ")::$type->{name} FROM $type->{name} r OFFSET " . int(rand 6) . ' LIMIT 1)';
	}
	my @values = map { chance(0.4) ? 'NULL' : $self->value($_->[0], $_->[1], $function) } @fields;
	return 'ROW(' . join(', ', @values) . ")::$type->{name}";
}

1;

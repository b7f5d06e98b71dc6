#!/usr/bin/perl
# purity.pl OBJECT... - fails if the core is not pure, or if a room of core or glue uses a room
# above it. Reads the sources, src/core/ROOMS, src/pg/ROOMS, the SQL in the order of
# src/sql/ORDER, and the given objects (.../core/ROOM/FILE.o and .../pg/ROOM/FILE.o, the second if
# there is a server to build for). Then it violates each rule once, in memory and with objects of
# its own, and checks that the rule reports it.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use FindBin;
use lib $FindBin::Bin;
use Sources;

my $FORBIDDEN = qr/^(palloc.*|repalloc.*|pfree|errstart.*|ereport|elog|CurrentMemoryContext
	|malloc|calloc|realloc|free|aligned_alloc|posix_memalign|alloca
	|v?[fsn]*printf|__[a-z]*printf_chk|puts|putchar|fopen|fwrite|_?exit|abort|__assert_fail
	|s?rand|rand_r|random|drand48|time|clock|getenv|setjmp|longjmp)$/x;
my $SERVER_HEADER = qr{^\s*#\s*include\s*[<"](postgres|fmgr|c\.h|utils/|access/|catalog/|funcapi|miscadmin|nodes/|executor/)};
my $FOREIGN = qr/^(cblas_.*|[a-z].*_)$/;
my $MOST_LINES = 1000;	# maximum lines of a file
my $MOST_BODY = 90;		# maximum lines of a function

# ---- input of the rules: sources (path => text), objects (path => symbols), rooms ----

# Returns the file that an object is built from: .../core/sketch/isa_build.v3.o is
# sketch/isa_build.
sub unit_of { my ($object) = @_; return $object =~ m{(?:core|pg)/(\w+/\w+)[\w.]*\.o$} ? $1 : die "$object is not in a room\n"; }

sub room_of { return (split '/', $_[0])[0]; }

sub read_objects
{
	my (%objects, $object);

	for (`nm -A -P @_`)
	{
		my ($name, $symbol, $type) = /^(.*?):\s+(\S+)\s+(\S)/ or next;
		$symbol =~ s/@.*//;
		push @{ $objects{$name}{ $type eq 'U' ? 'used' : 'defined' } }, $symbol if $type =~ /[A-Zi]/;
	}
	for (`objdump -t @_`)
	{
		$object = $1 if m{^(\S+):\s+file format};
		push @{ $objects{$object}{mutable} }, (split)[-1] if / O +(\.data|\.bss|\.tdata|\.tbss|\*COM\*)\s/;
	}
	return \%objects;
}

# Returns room => the rooms it uses, and the words of the third column: its public headers, or the
# rooms of the core it may use.
sub read_rooms
{
	my ($path, $third) = @_;
	my %rooms;

	for (grep { !/^#/ && /\S/ } split /\n/, read_text($path))
	{
		my ($room, $uses, $words) = map { s/^\s+|\s+$//gr } split /\|/;
		$rooms{$room} = { uses => [ split ' ', $uses ], $third => [ split ' ', $words ] };
	}
	return \%rooms;
}

# Returns whether code of room $from may use room $to.
sub may_use { my ($rooms, $from, $to) = @_; return 1 if $from eq $to; return scalar grep { may_use($rooms, $_, $to) } @{ $rooms->{$from}{uses} }; }

sub is_public
{
	my ($rooms, $header) = @_;
	my ($room, $name) = split '/', $header;
	return scalar grep { $_ eq '*' || $_ eq $name } @{ $rooms->{$room}{headers} };
}

# ---- the rules; each returns its reports ----

sub forbidden_symbols
{
	my ($tree) = @_;
	return map { my $object = $_; map { "$object uses $_" } grep { /$FORBIDDEN/ } @{ $tree->{objects}{$object}{used} } }
	  sort keys %{ $tree->{objects} };
}

sub server_headers { my ($tree) = @_; return grep { m{^src/core/} && $tree->{sources}{$_} =~ /$SERVER_HEADER/m } sort keys %{ $tree->{sources} }; }

# Returns writable static variables of the core, except for the two pointers that the host sets.
sub mutable_statics
{
	my ($tree) = @_;
	return map { my $object = $_; map { "$object: $_" } grep { !/^fc_(?:interrupt_check|numeric_failure)$/ } @{ $tree->{objects}{$object}{mutable} } } sort keys %{ $tree->{objects} };
}

# Returns the foreign routines without a lazy stand-in in the module.
sub missing_stand_ins
{
	my ($tree) = @_;
	my %foreign = map { $_ => 1 } grep { /$FOREIGN/ } map { @{ $_->{used} // [] } } values %{ $tree->{objects} };
	my ($stubs) = map { $tree->{sources}{$_} } grep { m{/blas_stubs\.c$} } keys %{ $tree->{sources} };
	return map { "$_ is not in blas_stubs.c" }
	  grep { my $name = s/^cblas_|_$//gr; $stubs !~ /\b(\Q$_\E|\Q$name\E)\b/ } sort keys %foreign;
}

# Returns whether a file may use this room of the core: src/core/ROOMS decides for the core, and
# src/pg/ROOMS for the glue.
sub may_use_core
{
	my ($tree, $layer, $room, $target) = @_;
	my @allowed = $layer eq 'core' ? $room : @{ $tree->{glue}{$room}{core} };
	return scalar grep { may_use($tree->{rooms}, $_, $target) } @allowed;
}

# Returns files outside of rooms, includes of rooms above, and includes of private headers.
sub climbing_includes
{
	my ($tree) = @_;
	my $rooms = $tree->{rooms};
	my @reports;

	for my $path (sort keys %{ $tree->{sources} })
	{
		my ($layer, $room) = $path =~ m{^src/(core|pg)/(?:(\w+)/)?};
		if (!exists $tree->{ $layer eq 'core' ? 'rooms' : 'glue' }{ $room // '' })
		{
			push @reports, "$path is in no room of src/$layer/ROOMS";
			next;
		}
		while ($tree->{sources}{$path} =~ /^#include "pg\/(\w+)\/[\w.]+"/mg)
		{
			push @reports, "$path includes pg/$1, which is above it" if $layer eq 'core' || !may_use($tree->{glue}, $room, $1);
		}
		while ($tree->{sources}{$path} =~ /^#include "((\w+)\/[\w.]+)"/mg)
		{
			my ($header, $target) = ($1, $2);
			next if !exists $rooms->{$target} || !exists $tree->{sources}{"src/core/$header"};
			push @reports, "$path includes $header, which is above it" if !may_use_core($tree, $layer, $room, $target);
			push @reports, "$path includes $header, which is private"
			  if ($layer eq 'pg' || $target ne $room) && !is_public($rooms, $header);
		}
	}
	return @reports;
}

# Returns (user, symbol, definer) for every symbol that one file takes from another one of the
# objects.
sub uses_between_files
{
	my ($objects) = @_;
	my %definer;
	my @uses;

	for my $object (keys %$objects)
	{
		$definer{$_} = unit_of($object) for @{ $objects->{$object}{defined} };
	}
	for my $object (sort keys %$objects)
	{
		my $user = unit_of($object);
		push @uses, map { [ $user, $_, $definer{$_} ] }
		  grep { exists $definer{$_} && $definer{$_} ne $user } @{ $objects->{$object}{used} };
	}
	return @uses;
}

sub climbing_symbols
{
	my ($tree) = @_;
	return map { "$_->[0] uses $_->[1] of $_->[2], which is above it" }
	  grep { !may_use($tree->{rooms}, room_of($_->[0]), room_of($_->[2])) } uses_between_files($tree->{objects});
}

# Returns the files that use each other, directly or in a ring: removes files that use no other
# until none is left to remove.
sub cycles_of
{
	my ($objects) = @_;
	my %uses;

	$uses{ $_->[0] }{ $_->[2] } = $_->[1] for uses_between_files($objects);
	while (my @free = grep { my $file = $_; !grep { exists $uses{$_} } keys %{ $uses{$file} } } keys %uses)
	{
		delete @uses{@free};
	}
	return map { my $file = $_; map { "$file uses $uses{$file}{$_} of $_" } grep { exists $uses{$_} } sort keys %{ $uses{$file} } }
	  sort keys %uses;
}

sub cycles { my ($tree) = @_; return cycles_of($tree->{objects}); }
sub glue_cycles { my ($tree) = @_; return cycles_of($tree->{glue_objects}); }

# Returns struct tags and FC_ macros that two files of the core define.
sub defined_twice
{
	my ($tree) = @_;
	my %places;

	for my $path (grep { m{^src/core/} } sort keys %{ $tree->{sources} })
	{
		my $text = $tree->{sources}{$path};
		$places{"macro $1"}{$path} = 1 while $text =~ /^#define (FC_\w+)/mg;
		$places{"tag $1"}{$path} = 1 while $text =~ /^(?:typedef )?(?:struct|union|enum) (\w+)\s*\{/mg;
	}
	return map { "$_: " . join(', ', sort keys %{ $places{$_} }) } grep { keys %{ $places{$_} } > 1 } sort keys %places;
}

sub too_long
{
	my ($tree) = @_;
	my @reports;

	for my $path (sort keys %{ $tree->{sources} })
	{
		my $text = $tree->{sources}{$path};
		my $lines = $text =~ tr/\n//;
		push @reports, "$path has $lines lines" if $lines > $MOST_LINES;
		for (functions($text))
		{
			my ($name, $body) = ($_->[0], $_->[1] =~ tr/\n//);
			push @reports, "$path: $name has $body lines" if $body > $MOST_BODY;
		}
	}
	return @reports;
}

# Calls of read_vector that are right: they read only real[] or float8[], or the reader knows the
# type.
my %READ_HERE = map { $_ => 1 } (
	'base/vectors.c argument',	# caller of read_float8_array
	'base/vectors.h name',	# caller of read_vector_argument
	'encode/read_value.c reader->label',	# columns, whose type the reader knows
	'live/live_changes.c "x"', 'sketch/sketch_agg.c "x"',	# the reader knows the type
	'model/model_row.c "x"',	# VARIADIC float8[]
	'model/version_fits.c "distance_quantiles"');

# Returns arguments that are not read with read_vector_argument, although they may have pgvector's
# types.
sub arguments_read_as_arrays
{
	my ($tree) = @_;
	my @reports;

	for my $path (grep { m{^src/pg/} } sort keys %{ $tree->{sources} })
	{
		my $file = $path =~ s{^src/pg/}{}r;
		while ($tree->{sources}{$path} =~ /\bread_(vector|float8_array)\((?!vector_reader|Datum)[^;]*?([^\s,()]+)\)+(?=[; ])/g)
		{
			my ($function, $name) = ($1, $2);
			my $allowed = $function eq 'vector' ? $READ_HERE{"$file $name"} : $name !~ /^"(x|y|row|centroid|vector)"$/;
			push @reports, "$path reads $name with read_$function: read_vector_argument knows its type" if !$allowed;
		}
	}
	return @reports;
}

# Returns fragments of SQL outside of src/sql/ORDER, except for updates, and calls of a function
# that only a later fragment defines. A function named in a text for users is no call.
sub calls_of_later_fragments
{
	my ($tree) = @_;
	my @fragments = @{ $tree->{fragments} };
	my %listed = map { ("src/sql/$_->[0].sql" => 1) } @fragments;
	my @reports = map { "$_ is not in src/sql/ORDER" } grep { !$listed{$_} && !m{/upgrade/} } glob('src/sql/*.sql src/sql/*/*.sql');
	my (%place, $here);

	for my $i (0 .. $#fragments)
	{
		$place{$1} //= $i while $fragments[$i][1] =~ /^CREATE (?:FUNCTION|AGGREGATE) (?:\w+\.)?(\w+)\(/mg;
	}
	for my $i (0 .. $#fragments)
	{
		my ($name, $text) = @{ $fragments[$i] };
		$text =~ s/^\s*--.*//mg;
		$text =~ s{(?:MESSAGE|DETAIL|HINT) = [^;]*|<code>[^<]*}{ $& =~ s/'(?:[^']|'')*'|<code>.*//gr }ge;
		push @reports, map { "$name calls $_ of $fragments[$place{$_}][0], which is later" }
		  sort keys %{ { map { $_ => 1 } grep { ($place{$_} // 0) > $i } $text =~ /\b(\w+)\(/g } };
	}
	return @reports;
}

# Returns files of pg/train other than options.c that read options from the jsonb instead of
# train_options.
sub options_read_by_name
{
	my ($tree) = @_;
	my @reports;

	for my $path (grep { m{^src/pg/train/} && !m{/options\.c$} } sort keys %{ $tree->{sources} })
	{
		push @reports, "$path calls $1: options.c reads options, and fills train_options"
		  while $tree->{sources}{$path} =~ /\b(value_of_key|read_options|\w*JsonbValueFromContainer|JsonbIteratorInit|jsonb_object_field\w*)\(/g;
	}
	return @reports;
}

my @RULES = (
	[ 'symbols', \&forbidden_symbols ],
	[ 'headers', \&server_headers ],
	[ 'statics', \&mutable_statics ],
	[ 'stand-ins', \&missing_stand_ins ],
	[ 'includes', \&climbing_includes ],
	[ 'rooms', \&climbing_symbols ],
	[ 'cycles', \&cycles ],
	[ 'glue cycles', \&glue_cycles ],
	[ 'names', \&defined_twice ],
	[ 'lengths', \&too_long ],
	[ 'vectors', \&arguments_read_as_arrays ],
	[ 'options', \&options_read_by_name ],
	[ 'order', \&calls_of_later_fragments ]);

# ---- violations: rule => planted files, and patterns that the reports of the rule must match ----

my $SHORT = join '', map { "x = $_;\n" } 0 .. $MOST_BODY;
my %VIOLATIONS = (
	symbols => [ { 'base/planted.c' => "void *malloc(unsigned long);\nvoid *planted(void);\nvoid *planted(void) { return malloc(1); }\n" },
		qr{planted\.o uses malloc} ],
	headers => [ { 'base/planted.c' => "#include \"postgres.h\"\n" }, qr{base/planted\.c} ],
	statics => [ { 'base/planted.c' => "int planted = 1;\n" }, qr{planted\.o: planted} ],
	'stand-ins' => [ { 'base/planted.c' => "void dplant_(void);\nvoid planted(void);\nvoid planted(void) { dplant_(); }\n" }, qr{dplant_ is not in} ],
	includes => [ { 'base/planted.c' => "#include \"sketch/sketch.h\"\n", 'factor/planted.c' => "#include \"operator/internal.h\"\n",
			'../pg/rkhs/planted.c' => "#include \"pg/decode/decode.h\"\n#include \"decode/decode.h\"\n", '../pg/planted.c' => "\n" },
		qr{base/planted\.c includes sketch/sketch\.h, which is above}, qr{factor/planted\.c includes operator/internal\.h, which is private},
		qr{rkhs/planted\.c includes pg/decode, which is above}, qr{rkhs/planted\.c includes decode/decode\.h, which is above},
		qr{pg/planted\.c is in no room} ],
	rooms => [ { 'base/planted.c' => "void fc_sketch_fold(void);\nvoid planted(void);\nvoid planted(void) { fc_sketch_fold(); }\n" },
		qr{base/planted uses fc_sketch_fold of sketch/sketch} ],
	cycles => [
		{
			'base/planted.c' => "void two(void);\nvoid one(void);\nvoid one(void) { two(); }\n",
			'base/sown.c' => "void two(void);\nvoid one(void);\nvoid two(void) { one(); }\n"
		},
		qr{base/planted uses two of base/sown}, qr{base/sown uses one of base/planted} ],
	'glue cycles' => [
		{
			'../pg/base/planted.c' => "void two(void);\nvoid one(void);\nvoid one(void) { two(); }\n",
			'../pg/base/sown.c' => "void two(void);\nvoid one(void);\nvoid two(void) { one(); }\n"
		},
		qr{base/planted uses two of base/sown}, qr{base/sown uses one of base/planted} ],
	names => [ { 'decode/planted.h' => "#define FC_ARENA_ALIGNMENT 8\nstruct fc_arena\n{\n\tint x;\n};\n", 'decode/sown.h' => "#define FC_ARENA_ALIGNMENT 64\n" },
		qr{tag fc_arena: src/core/base/fc\.h, src/core/decode/planted\.h}, qr{macro FC_ARENA_ALIGNMENT} ],
	lengths => [ { 'base/planted.c' => "static void\nplanted(int x)\n{\n$SHORT}\n", 'base/sown.h' => "\n" x ($MOST_LINES + 1) },
		qr{planted has 91 lines}, qr{sown\.h has 1001 lines} ],
	vectors => [ { '../pg/model/planted.c' => "\tvector\t\tv = read_vector(&reader, PG_GETARG_DATUM(0), \"x\");\n\tread_float8_array(PG_GETARG_DATUM(0), 3, \"y\");\n" },
		qr{model/planted\.c reads "x" with read_vector:}, qr{model/planted\.c reads "y" with read_float8_array:} ],
	options => [ { '../pg/train/planted.c' => "#include \"postgres.h\"\n\tif (value_of_key(options, \"quiet\") != NULL)\n" },
		qr{train/planted\.c calls value_of_key} ],
	order => [ { 'sown.sql' => "SELECT predict(1);\n" }, qr{^sown\.sql calls predict of models/predict, which is later}m ]);

# Returns the tree with the planted files, and with objects of each that compiles without its
# includes.
sub plant
{
	my ($tree, $files) = @_;
	my $scratch = tempdir(CLEANUP => 1);
	my %planted = (rooms => $tree->{rooms}, glue => $tree->{glue}, sources => { %{ $tree->{sources} } }, objects => { %{ $tree->{objects} } },
		glue_objects => { %{ $tree->{glue_objects} } }, fragments => [ (map { [ $_, $files->{$_} ] } grep { /\.sql$/ } keys %$files), @{ $tree->{fragments} } ]);
	my @objects;

	for my $name (keys %$files)
	{
		my $place = "core/$name" =~ s{core/\.\./}{}r;
		my $object = "$scratch/" . ($place =~ s/\.c$/.o/r);
		$planted{sources}{"src/$place"} = $files->{$name};
		next if $name !~ /\.c$/ || $files->{$name} !~ /\S/ || $files->{$name} =~ /#include|static|read_vector/;
		mkdir "$scratch/$_" for 'core', 'pg';
		mkdir dirname($object);
		open(my $source, '>', "$scratch/planted.c") or die "cannot write in $scratch: $!";
		print $source $files->{$name};
		close($source);
		system($ENV{CC} // 'cc', '-c', '-fno-builtin', '-o', $object, "$scratch/planted.c") == 0 or die "cannot compile $name";
		push @objects, $object;
	}
	for my $kind ([ 'objects', qr{/core/} ], [ 'glue_objects', qr{/pg/} ])
	{
		my ($key, $where) = @$kind;
		my @of_kind = grep { /$where/ } @objects;
		$planted{$key} = { %{ $planted{$key} }, %{ read_objects(@of_kind) } } if @of_kind;
	}
	return \%planted;
}

# ---- run ----

my $failed = 0;

sub report
{
	my ($name, @reports) = @_;
	print map { "$_\n" } @reports;
	print @reports ? "not ok purity/$name\n" : "ok purity/$name\n";
	$failed = 1 if @reports;
}

die "usage: purity.pl OBJECT...\n" if !@ARGV;
my $tree = {
	rooms => read_rooms('src/core/ROOMS', 'headers'),
	glue => read_rooms('src/pg/ROOMS', 'core'),
	sources => read_sources(),
	fragments => [ read_fragments() ],
	objects => read_objects(grep { m{/core/} } @ARGV),
	glue_objects => read_objects(grep { m{/pg/} } @ARGV)
};
for my $rule (@RULES)
{
	my ($name, $check) = @$rule;
	my ($files, @expected) = @{ $VIOLATIONS{$name} };
	my $found = join "\n", $check->(plant($tree, $files));

	report($name, $check->($tree), map { "a planted violation is not reported: $_" } grep { $found !~ $_ } @expected);
}
exit $failed;

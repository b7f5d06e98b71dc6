#!/usr/bin/perl
# census.pl: how large is the project?  A figure above its ceiling in test/census fails; one without a ceiling is printed.
#
# Where PGHOST names a server, the rows of pg_proc, pg_type and pg_class in both schemas are counted there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Sources;

my $LONG_FILE = 600;	# lines
my $LONG_FUNCTION = 60;
my $SHORT_FILE = 60;
my $FULL_FOLDER = 25;	# files

my $STRING = qr/"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'/s;

# The code of a text without its comments, and the words of these.  $line: how a comment to the end of the line begins.
sub split_comments
{
	my ($text, $line) = @_;
	my $words = '';

	$text =~ s{($STRING)|/\*(.*?)\*/|$line([^\n]*(?:\n\s*$line[^\n]*)*)}{
		my ($string, $comment) = ($1, $2 // $3);
		$words .= ($comment =~ s/^\s*(?:\*|$line)//mgr) . "\n.\n" if !defined $string;
		$string // "\n" x ($comment =~ tr/\n//);
	}gsex;
	return ($text, $words);
}

sub code_lines { return scalar grep { /\S/ } split /\n/, $_[0]; }

# Places where "what" begins a clause: each one that no question mark follows in its sentence, but for "what is new".
sub headless { return map { s/\s+/ /gr } $_[0] =~ /\b(what\b(?!\s+is\s+new)(?![^.;:]*\?)\s+[^.]{0,60})/gi; }

# Where is a short file used?  A header: in the files that include it but its own .c; a .c file: in those that name
# one of its functions but its own header, the fragments of SQL among them.
sub users
{
	my ($path, $code) = @_;
	my $own = $path =~ s/\.[ch]$//r;
	my $header = $path =~ s{^src/(core/)?}{}r;
	my $functions = join '|', map { $_->[0] } functions($code->{$path});
	my $use = $path =~ /\.h$/ ? qr/#include "(?:\Q$header\E)"/ : qr/\b(?:$functions)\b/;

	return $path =~ /\.c$/ && $functions eq '' ? () : grep { !/^\Q$own\E\.[ch]$/ && !($path =~ /c$/ && /\.h$/) && $code->{$_} =~ $use } keys %$code;
}

# How many functions of the core does one reach?  A body reaches each function that it names, called or handed on, also by
# a constant table: one of its file, or else one whose name begins with fc_.
sub reached
{
	my ($root, $code) = @_;
	my (%bodies, %tables, %seen);

	for my $path (grep { m{^src/core/} } keys %$code)
	{
		$tables{"$path $1"} = $bodies{$1}{$path} = $2 while $code->{$path} =~ /^static const [^;={}()]*\b(\w+)(?:\[\w*\])* = (\{.*?\});$/msg;
		$bodies{ $_->[0] }{$path} = $_->[1] for functions($code->{$path});
	}
	my @waiting = map { [ $root, $_ ] } keys %{ $bodies{$root} };
	while (my $next = shift @waiting)
	{
		my ($name, $path) = @$next;
		next if $seen{"$path $name"}++;
		for my $called (grep { exists $bodies{$_} } $bodies{$name}{$path} =~ /\b([a-z]\w+)\b/g)
		{
			push @waiting, map { [ $called, $_ ] } exists $bodies{$called}{$path} ? $path : $called =~ /^fc_/ ? keys %{ $bodies{$called} } : ();
		}
	}
	return grep({ !exists $tables{$_} } keys %seen) - 1;
}

# The functions and aggregates that fragments declare: name => [ { place of the fragment, symbol in C, body in SQL } ].
sub declared
{
	my @fragments = @_;
	my %declared;

	for my $place (0 .. $#fragments)
	{
		my ($text) = split_comments($fragments[$place], '--');
		while ($text =~ /^CREATE (FUNCTION|AGGREGATE) (?:fastclust_internal\.)?(\w+)(\(.*?)(?=^(?:CREATE|COMMENT|GRANT|SELECT|DO)\b|\z)/msg)
		{
			my ($kind, $name, $rest) = ($1, $2, $3);
			my ($symbol) = $rest =~ /'MODULE_PATHNAME', '(\w+)'/;
			push @{ $declared{$name} }, { place => $place, symbol => $symbol, body => $kind eq 'FUNCTION' && $rest !~ /LANGUAGE (?:C|internal)/ ? $rest : undef };
		}
	}
	return \%declared;
}

# The names of declared functions that queries in the C of a function name, or in what it calls.
sub queried
{
	my ($symbol, $bodies, $declared) = @_;
	my (%seen, %names);
	my @waiting = map { [ $symbol, $_ ] } keys %{ $bodies->{$symbol} };

	while (my $next = shift @waiting)
	{
		my ($name, $path) = @$next;
		next if $seen{"$path $name"}++;
		(my $code = $bodies->{$name}{$path}) =~ s/$STRING/ /g;
		for my $string (grep { /SELECT|FROM/ || $path =~ m{^src/pg/train} } $bodies->{$name}{$path} =~ s/\berr(?:msg|detail|hint)\($STRING/ /gr =~ /$STRING/g)
		{
			$names{$_} = 1 for grep { $declared->{$_} && !/^(?:sum|count)$/ } $string =~ /(\w+)\(/g, $string =~ /^"(\w+_agg)"$/;
		}
		for my $called (grep { $bodies->{$_} } $code =~ /\b([a-z]\w+)\b/g)
		{
			push @waiting, map { [ $called, $_ ] } $bodies->{$called}{$path} ? $path : keys %{ $bodies->{$called} };
		}
	}
	return keys %names;
}

# What a function of SQL reaches, by the names that bodies and queries in C call: how many others, and how many pairs of caller and
# called of which one is SQL and the other C or an aggregate.  A name stands for all declarations of it above the caller, which in C may also call one
# below where none is above.  Messages and hints name functions that they do not call.
sub reached_in_sql
{
	my ($root, $code, @fragments) = @_;
	my $declared = declared(@fragments);
	my (%bodies, %seen, %crossings);
	my @waiting = [ $root, $#fragments ];

	for my $path (grep { /\.c$/ } keys %$code)
	{
		$bodies{ $_->[0] }{$path} = $_->[1] for functions($code->{$path});
	}
	while (my $next = shift @waiting)
	{
		my ($name, $last) = @$next;
		next if ($seen{$name} // -1) >= $last;
		$seen{$name} = $last;
		for my $one (grep { $_->{place} <= $last } @{ $declared->{$name} })
		{
			my $in_c = !defined $one->{body};
			my $body = ($one->{body} // '') =~ s/\b(?:MESSAGE|DETAIL|HINT) = (?:format\()?$STRING/ /gr;
			my @called = $in_c ? ($one->{symbol} ? queried($one->{symbol}, \%bodies, $declared) : ())
			  : grep { $declared->{$_} && $_ ne 'sum' } $body =~ /\b(\w+)\s*\(/g, $body =~ /'(\w+_\w+)'/g;
			for my $called (grep { $_ ne $name } @called)
			{
				my $from = $in_c && !grep({ $_->{place} <= $one->{place} } @{ $declared->{$called} }) ? $#fragments : $one->{place};
				my @targets = grep { $_->{place} <= $from } @{ $declared->{$called} };
				$crossings{"$name $called"} = 1 if $in_c ? @targets : grep { !defined $_->{body} } @targets;
				push @waiting, [ $called, $from ] if @targets;
			}
		}
	}
	return (keys(%seen) - 1, scalar keys %crossings);
}

# The rows of pg_proc in a schema of the server that PGHOST names; the extension is made for it where there is none.
sub catalog_rows
{
	my ($schema) = @_;
	my $query = "SELECT count(*) FROM pg_proc WHERE pronamespace = '$schema'::regnamespace";
	my @answer = `psql -XAtq -c "SET client_min_messages = error; BEGIN; CREATE EXTENSION IF NOT EXISTS fastclust" -c "$query" -c ROLLBACK`;
	return $answer[0] =~ /^(\d+)$/ ? $1 : die "no server answers at $ENV{PGHOST}\n";
}

# ---- the figures: [ name, figure, list ] ----

my $sources = read_sources();
my (%code, %folders, @long_functions);
my ($lines, $comments) = (0, '');
for my $path (sort keys %$sources)
{
	($code{$path}, my $words) = split_comments($sources->{$path}, '//');
	$comments .= $words;
	$lines += code_lines($code{$path});
	push @{ $folders{ $path =~ s{/[^/]*$}{}r } }, $path;
	push @long_functions, map { "$path $_->[0]" } grep { ($_->[1] =~ tr/\n//) > $LONG_FUNCTION } functions($sources->{$path});
}
my ($sql, $sql_comments) = split_comments(join("\n", map { $_->[1] } read_fragments()), '--');
my $words = () = $comments =~ /\w[\w'-]*/g;
my %length = map { $_ => $sources->{$_} =~ tr/\n// } keys %$sources;
my %named = (%code, 'src/sql' => $sql);

sub counted { return (scalar @_, @_); }

my ($reached, $crossings) = reached_in_sql('train', \%code, map { $_->[1] } read_fragments());
my @figures = (
	[ 'code_lines', $lines ],
	[ 'code_lines_per_1000_words_of_comment', int(1000 * $lines / $words) ],
	[ 'files', scalar keys %$sources ],
	[ 'full_folders', counted(grep { @{ $folders{$_} } > $FULL_FOLDER } sort keys %folders) ],
	[ 'long_files', counted(grep { $length{$_} > $LONG_FILE } sort keys %length) ],
	[ 'long_functions', counted(@long_functions) ],
	[ 'short_files_of_one_user', counted(grep { $length{$_} < $SHORT_FILE && users($_, \%named) == 1 } sort keys %length) ],
	[ 'sql_lines', code_lines($sql) ],
	[ 'headless_what', counted(headless($comments)) ],
	[ 'headless_what_in_sql', counted(headless($sql_comments)) ],
	[ 'reached_by_fc_kmeans', reached('fc_kmeans', \%code) ],
	[ 'reached_by_train', $reached ],
	[ 'crossings_of_train', $crossings ]);
push @figures, map { [ "rows_of_$_", catalog_rows($_) ] } qw(fastclust fastclust_internal) if $ENV{PGHOST};

my %ceiling = read_text('test/census') =~ /^(\w+) (\d+)$/mg;
my $failed = 0;
for (@figures)
{
	my ($name, $figure, @list) = @$_;
	my $ceiling = delete $ceiling{$name};
	my $above = defined $ceiling && $figure > $ceiling;

	print map { "\t$_\n" } @list if $above || !defined $ceiling;
	print $above ? "not ok census/$name: $figure, at most $ceiling\n" : defined $ceiling ? "ok census/$name: $figure of $ceiling\n" : "$name: $figure\n";
	$failed = 1 if $above;
}
exit $failed;

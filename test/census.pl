#!/usr/bin/perl
# census.pl - counts tokens, wide lines, entry points and other figures of the sources. A figure
# above its ceiling in the file test/census fails; a figure without a ceiling is printed. If
# PGHOST names a server, the rows of pg_proc in each schema are counted there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Sources;

my $LONG_FILE = 600;	# maximum lines of a file
my $LONG_FUNCTION = 60;
my $FULL_FOLDER = 25;	# maximum files of a folder
my $WIDE = 100;			# maximum columns of a line
my $TAB = 4;
my $MAX_SHOWN = 30;		# maximum entries of a printed list

my %SERVER_HEADERS = map { $_ => 1 } qw(postgres.h lib/simplehash.h simplehash.h utils/typcache.h);

my $STRING = qr/"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'/s;

# Returns the code of a text without its comments, and the words of the comments. $line is how a
# comment to the end of the line begins.
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

# Returns the places where "what" begins a clause, unless its sentence is a question; "what is
# new" is allowed.
sub headless { return map { s/\s+/ /gr } $_[0] =~ /\b(what\b(?!\s+is\s+new)(?![^.;:]*\?)\s+[^.]{0,60})/gi; }

# Returns the tokens of C or SQL: literals, words, numbers, and each other character.
sub tokens { my $count = () = $_[0] =~ /$STRING|[A-Za-z_]\w*|\d[\w.]*|[^\s\w]/g; return $count; }

# Returns the lines of a text wider than $WIDE columns, except if the line is one literal.
sub wide_lines
{
	my ($path, $text) = @_;
	my ($number, @wide) = (0);

	for my $line (split /\n/, $text)
	{
		$number++;
		next if length($line) + 3 * ($line =~ tr/\t//) <= $WIDE;	# a tab adds at most three columns
		1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x ($TAB - length($1) % $TAB)/e;
		push @wide, "$path:$number" if length($line) > $WIDE && $line !~ /^[^"]{0,60}$STRING\W*$/;
	}
	return @wide;
}

# Returns the entry points that SQL names and that no source declares by that name, which grep and
# ctags would not find.
sub hidden_entries
{
	my ($sources, $sql) = @_;
	my %declared = map { $_ => 1 } map { /PG_FUNCTION_INFO_V1\((\w+)\)/g } values %$sources;
	my %seen;

	return grep { !$declared{$_} && !$seen{$_}++ } $sql =~ /'MODULE_PATHNAME', '(\w+)'/g;
}

# Returns the files that comments name and that exist neither here nor among the server's headers.
sub missing_files
{
	my ($path, $words) = @_;
	my $folder = $path =~ s{/[^/]*$}{}r;

	return map { "$path: $_" } grep { my $named = $_; !$SERVER_HEADERS{$named} && !grep { -e "$_/$named" } '.', 'src', 'src/core', $folder, glob('src/core/* src/pg/* src/sql') }
	  $words =~ m{(?<![\w./*])((?:\w+/)*\w+\.(?:c|h|sql|pl|sh|py))\b(?!\()}g;
}

# Counts the rows of pg_proc in a schema of the server that PGHOST names; creates the extension
# there if necessary.
sub catalog_rows
{
	my ($schema) = @_;
	my $query = "SELECT count(*) FROM pg_proc WHERE pronamespace = '$schema'::regnamespace";
	my @answer = `psql -XAtq -c "SET client_min_messages = error; BEGIN; CREATE EXTENSION IF NOT EXISTS fastclust" -c "$query" -c ROLLBACK`;
	return $answer[0] =~ /^(\d+)$/ ? $1 : die "no server answers at $ENV{PGHOST}\n";
}

# ---- the figures: [ name, figure, list ] ----

my $sources = read_sources();
my (%code, %folders, @long_functions, @wide, @missing);
my ($comments, $tokens, $lines) = ('', 0, 0);
for my $path (sort keys %$sources)
{
	($code{$path}, my $words) = split_comments($sources->{$path}, '//');
	$comments .= $words;
	$tokens += tokens($code{$path});
	$lines += code_lines($code{$path});
	push @{ $folders{ $path =~ s{/[^/]*$}{}r } }, $path;
	push @wide, wide_lines($path, $sources->{$path});
	push @missing, missing_files($path, $words);
	push @long_functions, map { "$path $_->[0]" } grep { ($_->[1] =~ tr/\n//) > $LONG_FUNCTION } functions($sources->{$path});
}
my @fragments = read_fragments();
my ($sql, $sql_comments) = split_comments(join("\n", map { $_->[1] } @fragments), '--');
my $words = () = $comments =~ /\w[\w'-]*/g;
my %length = map { $_ => $sources->{$_} =~ tr/\n// } keys %$sources;

sub counted { return (scalar @_, @_); }

my @figures = (
	[ 'tokens', $tokens + tokens($sql) ],
	[ 'tokens_of_c', $tokens ],
	[ 'tokens_of_sql', tokens($sql) ],
	[ 'tokens_of_c_per_line', sprintf('%.2f', $tokens / $lines) ],
	[ 'lines_of_c', $lines ],
	[ 'lines_of_sql', code_lines($sql) ],
	[ 'words_of_comments', $words ],
	[ 'files', scalar keys %$sources ],
	[ 'wide_lines_of_c', counted(@wide) ],
	[ 'wide_lines_of_sql', counted(map { wide_lines("src/sql/$_->[0].sql", $_->[1]) } grep { $_->[0] !~ m{^report/report} } @fragments) ],
	[ 'hidden_entry_points', counted(hidden_entries($sources, $sql)) ],
	[ 'missing_files_in_comments', counted(@missing) ],
	[ 'full_folders', counted(grep { @{ $folders{$_} } > $FULL_FOLDER } sort keys %folders) ],
	[ 'long_files', counted(grep { $length{$_} > $LONG_FILE } sort keys %length) ],
	[ 'long_functions', counted(@long_functions) ],
	[ 'headless_what', counted(headless($comments)) ],
	[ 'headless_what_in_sql', counted(headless($sql_comments)) ]);
push @figures, map { [ "rows_of_$_", catalog_rows($_) ] } qw(fastclust fastclust_internal fastclust_owner) if $ENV{PGHOST};

my %ceiling = read_text('test/census') =~ /^(\w+) ([\d.]+)$/mg;
my $failed = 0;
for (@figures)
{
	my ($name, $figure, @list) = @$_;
	my $ceiling = delete $ceiling{$name};
	my $above = defined $ceiling && $figure > $ceiling;

	print map { "\t$_\n" } @list[0 .. ($#list < $MAX_SHOWN ? $#list : $MAX_SHOWN)] if $above || !defined $ceiling;
	print $above ? "not ok census/$name: $figure, at most $ceiling\n" : defined $ceiling ? "ok census/$name: $figure of $ceiling\n" : "$name: $figure\n";
	$failed = 1 if $above;
}
exit $failed;

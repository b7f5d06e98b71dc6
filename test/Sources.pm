# Sources - reads the sources of the project for test/purity.pl and test/census.pl
package Sources;
use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);

our @EXPORT = qw(read_text read_sources read_fragments functions);

chdir(dirname(abs_path(__FILE__)) . '/..') or die "cannot enter the project: $!";

sub read_text
{
	my ($path) = @_;
	open(my $file, '<', $path) or die "cannot read $path: $!";
	local $/;
	return scalar <$file>;
}

# Returns path => text of the C files and headers.
sub read_sources { return { map { $_ => read_text($_) } glob('src/core/*.[ch] src/core/*/*.[ch] src/pg/*.[ch] src/pg/*/*.[ch]') }; }

# Returns [path, text] of the fragments of SQL, in their order.
sub read_fragments { return map { [ $_, read_text("src/sql/$_.sql") ] } read_text('src/sql/ORDER') =~ /^([a-z].*)$/mg; }

# Returns [name, body] of each function that a text defines.
sub functions
{
	my ($text) = @_;
	my @found;

	push @found, [ $1, $2 ] while $text =~ /^(\w+)\([^;{}]*\)\n\{\n(.*?)^\}/msg;
	return @found;
}

1;

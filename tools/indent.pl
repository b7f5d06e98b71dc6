#!/usr/bin/perl
# indent.pl [--check] [FILE...]: formats C files as PostgreSQL's pgindent does, with the types in
# tools/typedefs.list; without files, all of src. --check changes nothing and fails if a file would
# change. Needs pg_bsd_indent (Debian's package pg-bsd-indent, or PG_BSD_INDENT=/path/to/it).
#
# Lines of code are not broken: break lines wider than 100 columns by hand (make census lists them).
# Add new types to tools/typedefs.list in the order of sort(1) in the C locale.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);

chdir(dirname(abs_path(__FILE__)) . '/..') or die "cannot enter the project: $!";
my $check = @ARGV && $ARGV[0] eq '--check' && shift;
my $indent = $ENV{PG_BSD_INDENT} // 'pg_bsd_indent';
my @options = split ' ', '-bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 -nfc1 -i4 -l79 -lp -lpl -nip -npro -sac -tpg -ts4';
my $folder = tempdir(CLEANUP => 1);
my @files = @ARGV ? @ARGV : glob('src/*/*.[ch] src/*/*/*.[ch]');
my $failed = 0;

sub read_text { my ($path) = @_; open(my $file, '<', $path) or die "cannot read $path: $!"; local $/; return scalar <$file>; }
sub write_text { my ($path, $text) = @_; open(my $file, '>', $path) or die "cannot write $path: $!"; print $file $text; close($file); }

if (system("$indent --version >$folder/version 2>&1") != 0)
{
	print "ok indent # skip: $indent is not installed\n";
	exit 0;
}
write_text("$folder/typedefs", read_text('tools/typedefs.list') . "bool\n");
for my $path (@files)
{
	my $text = read_text($path);
	write_text("$folder/text.c", $text);
	my $messages = `cd $folder && $indent @options -Utypedefs text.c 2>&1`;
	if ($? != 0 || $messages ne '')
	{
		print "not ok indent/$path: $messages\n";
		$failed = 1;
		next;
	}
	my $new = read_text("$folder/text.c");
	$new =~ s!\*/(/\*.*\*/)$!*/\t$1!gm;
	$new =~ s!^([A-Za-z_]\S*)[ \t]+\*$!$1 *!gm;
	next if $new eq $text;
	print $check ? "not ok indent/$path: make indent changes it\n" : "  INDENT $path\n";
	$failed = 1 if $check;
	write_text($path, $new) if !$check;
}
print "ok indent: " . @files . " files\n" if $check && !$failed;
exit $failed;

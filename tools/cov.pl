#!/usr/bin/perl
# cov.pl DIRECTORY [--missed]: prints the share of lines of src/core and src/pg that were reached,
# from gcov's counts in DIRECTORY, and with --missed the other lines. A line in several objects, of
# a header or of the builds for each instruction set, counts as reached if one object reached it.
use strict;
use warnings;

use File::Find;
use JSON::PP;

my $directory = shift // die "usage: cov.pl DIRECTORY [--missed]\n";
my $missed = @ARGV && $ARGV[0] eq '--missed';
my (@counts, %lines);

find(sub { push @counts, $File::Find::name if /\.gcno$/ }, $directory);
for my $object (@counts)
{
	open(my $gcov, '-|', 'gcov', '--json-format', '--stdout', $object) or die "cannot run gcov: $!";
	my $text = do { local $/; <$gcov> };
	close($gcov);
	next if !$text;
	for my $file (@{ decode_json($text)->{files} })
	{
		my $name = $file->{file} =~ s{^.*?(?=src/(core|pg)/)}{}r;
		next if $name !~ m{^src/(core|pg)/};
		$lines{$name}{ $_->{line_number} } += $_->{count} for @{ $file->{lines} };
	}
}

my %total;
for my $name (sort keys %lines)
{
	my $of = $lines{$name};
	my @not = sort { $a <=> $b } grep { !$of->{$_} } keys %$of;
	my $all = keys %$of;

	for my $sum ($name =~ m{^(src/\w+)})
	{
		$total{$sum}{all} += $all;
		$total{$sum}{reached} += $all - @not;
	}
	printf "%6.1f %%  %5d of %5d  %s\n", 100 * ($all - @not) / $all, $all - @not, $all, $name;
	print "    not reached: @not\n" if $missed && @not;
}
printf "%6.1f %%  %5d of %5d  %s\n", 100 * $total{$_}{reached} / $total{$_}{all}, $total{$_}{reached}, $total{$_}{all}, "$_ in all" for sort keys %total;

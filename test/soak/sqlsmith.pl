#!/usr/bin/perl
# sqlsmith.pl [--seconds N] [--seed S]: runs random queries of sqlsmith as a plain role on the
# types, functions and tables of the extension, in the fresh server that PGHOST names. Fails if the
# server crashes; tools/sanitized.sh searches the server's log for other errors.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Getopt::Long;
use Time::HiRes qw(time sleep);
use Pool;
use Wire;

my ($seconds, $seed) = (1800, 1);
GetOptions('seconds=i' => \$seconds, 'seed=i' => \$seed) or exit 2;

# The log would fill with the text of failing statements. A statement that crashes the server is
# logged in any case.
my $session = Wire->new;
Pool::prepare($session, $seed);
$session->rows($_) for "ALTER ROLE soak_plain SET statement_timeout = '1s'", "ALTER ROLE soak_plain SET log_min_error_statement = 'panic'",
	'ALTER ROLE soak_plain SET search_path = fastclust, soak', "ALTER ROLE soak_plain SET work_mem = '4MB'";
$session->rows(<<'SQL');
-- Renames columns and tables that need quotes: sqlsmith does not quote names.
DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('ALTER TABLE %s RENAME %I TO plain_%s', c.oid::regclass, a.attname, a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'soak'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND quote_ident(a.attname) <> a.attname
        UNION ALL SELECT format('ALTER TABLE %s RENAME TO plain_%s', oid::regclass, oid) FROM pg_class WHERE relnamespace = 'soak'::regnamespace AND quote_ident(relname) <> relname LOOP
        EXECUTE command;
    END LOOP;
END
$$;
SQL
$session->close;

# sqlsmith reads the catalog for a minute or more before its first query.
my ($queries, $runs, $crashes) = (0, 0, 0);
my $output = "$ENV{PGHOST}/sqlsmith";
my $end = time + $seconds;
while (time < $end)
{
	my $left = int($end - time) + 1;
	system("timeout $left sqlsmith --target='host=$ENV{PGHOST} port=$ENV{PGPORT} user=soak_plain dbname=$ENV{PGDATABASE}'"
		. " --exclude-catalog --verbose --seed=" . ($seed + $runs++) . " > $output 2>&1");
	open my $file, '<', $output or die $!;
	my $text = do { local $/; <$file> };
	# sqlsmith prints one letter for each query.
	$queries += length for $text =~ /^([.eStC]+)$/mg;
	Wire->new(patience => 120)->close;
	sleep 1;
}
open my $log, '<', "$ENV{PGHOST}/log" or die $!;
my ($errors, %states) = (0);
while (<$log>)
{
	$crashes++ if /was terminated by signal/;
	$states{$1}++ if /^\S+ \S+ \S+ \[\d+\] (\S{5}) ERROR:/;
	if (/ (XX00\d) LOCATION: +(.*)/) { print "# $1 at $2\n" unless $states{$2}++; }
}
my $figures = "$queries queries in $seconds s, seed $seed; " . join(', ', map { "$states{$_} $_" } sort { $states{$b} <=> $states{$a} } grep { /^\w{5}$/ } keys %states);
if ($crashes || !$queries)
{
	print "not ok sqlsmith: $crashes crashes; $figures\n";
	exit 1;
}
print "ok sqlsmith: $figures\n";

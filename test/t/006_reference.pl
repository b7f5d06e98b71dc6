# The README's reference is the catalog's: every public function is in it, and nothing else.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Test::More;
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
open my $file, '<', dirname(__FILE__) . '/../../README.md' or die $!;
my $readme = do { local $/; <$file> };
my ($reference) = $readme =~ /^## Reference\n(.*?)^## /ms or die 'no reference';

# Public functions carry a comment; support functions do not.
my %public = map { $_ => 1 } split /\n/, $server->query(<<'SQL');
SELECT DISTINCT p.proname FROM pg_proc p
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fastclust'
  WHERE obj_description(p.oid, 'pg_proc') IS NOT NULL
SQL
my %written = map { $_ => 1 } map { /(\w+)\(/g } map { /`([^`]+)`/g } map { /^\| (.*?) \|/ } split /\n/, $reference;

is(join(' ', sort grep { !$written{$_} } keys %public), '', 'every public function is in the reference');
is(join(' ', sort grep { !$public{$_} } keys %written), '', 'the reference names nothing that is not there');

# The statements of the README's tutorial run, in order, as they stand.
my ($tutorial) = $readme =~ /^## Tutorial\n(.*?)^## /ms or die 'no tutorial';
my $sql = join "\n", $tutorial =~ /```sql\n(.*?)```/gs;
my ($status, $output, $messages) = $server->try("SET search_path = public, fastclust;\n$sql");
is($messages, '', 'the tutorial runs');

done_testing();

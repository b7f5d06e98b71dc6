# A long step of training says that it goes on; a quiet one, a short one and one that failed do not.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Test::More;
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->make_points(60000, 4, 6);

sub reports
{
	my ($sql) = @_;
	my (undef, undef, $errors) = $server->try("SET client_min_messages = notice;\n\\set ON_ERROR_STOP off\n$sql");
	return $errors;
}

my $often = "SET fastclust.progress_interval = '1ms';";
my $train = "SELECT train('often', 'points', 'x', 40)";
my $said = reports("$often $train");
like($said, qr/NOTICE: .*model "often" version 1: sketch, \d+ s so far/, 'the scan of the table reports');
like($said, qr/NOTICE: .*model "often" version 1: k-means, \d+ s so far/, 'work in memory reports');
unlike(reports("SET fastclust.progress_interval = 0; $train"), qr/so far/, 'no report where they are off');
unlike(reports("$often SELECT train('often', 'points', 'x', 40, options => '{\"quiet\": true}')"), qr/so far/, 'none of a quiet training');
unlike(reports($train), qr/so far/, 'none of steps below ten seconds');

# the step of a training that failed is nobody's any more
my $failed = reports("$often SELECT train('failed', 'points', 'x', 60000 + 1);\n" .
	"SELECT clusters(kmeans_agg(x, 50)) FROM points");
like($failed, qr/model "failed" version 1: sketch/, 'a training that fails reports before');
unlike($failed =~ s/.*?ERROR//sr, qr/so far/, 'and never after');

done_testing();

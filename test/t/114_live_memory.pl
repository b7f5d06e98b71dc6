# A statement on a followed table holds one row of it in memory at a time, also if rows are stored
# out of line.
use FastclustTest;

plan skip_all => 'there is no /proc' unless -w '/proc/self/clear_refs';

$ENV{MALLOC_MMAP_THRESHOLD_} = 65536;
my $server = FastclustTest->new(extension => 1, config => "shared_buffers = '16MB'\n");
my $peak = q{(SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\s+(\d+)'))[1]::int / 1024)};

$server->query(<<'SQL');
CREATE TABLE wide (id int, x float8[]);
ALTER TABLE wide ALTER x SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, array_fill(i::float8, ARRAY[2000]) FROM generate_series(1, 6000) i;
SELECT keep_sketch('wide', 'wide', 'x', sketch_spec(2000, 50, 100.0));
SQL
# Writing 5 to clear_refs resets the peak.
my ($before, $after) = split /\n/, $server->query("DELETE FROM wide WHERE id <= 100; COPY (SELECT 5) TO '/proc/self/clear_refs'; SELECT $peak; DELETE FROM wide; SELECT $peak");
cmp_ok($after - $before, '<', 40, 'deleting 94 MB of rows of a followed table takes no more memory than without the live sketch (in MB)');

done_testing();

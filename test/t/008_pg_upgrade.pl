# pg_upgrade from the server of OLD_PG_CONFIG to that of PG_CONFIG keeps values of every kind,
# models with groups, live sketches and views. tools/matrix.sh sets OLD_PG_CONFIG.
use FastclustTest;
use File::Basename qw(dirname);

my $root = dirname(__FILE__) . '/../..';
my $new_config = $ENV{PG_CONFIG} || 'pg_config';
my $old_config = $ENV{OLD_PG_CONFIG} or plan skip_all => 'OLD_PG_CONFIG names no older server';

sub slurp { my ($name) = @_; open(my $file, '<', "$root/$name") or die "$name: $!"; local $/; return <$file>; }

sub bindir { my ($config) = @_; chomp(my $directory = `"$config" --bindir`); return $directory; }

# Runs a command as the user of the servers, in their directory, and returns its output.
sub as_server_user
{
	my ($folder, @command) = @_;
	my $quoted = join ' ', map { "'$_'" } @command;
	return qx(cd '$root' && . tools/common.sh && cd '$folder' && as_server_user $quoted 2>&1);
}

$ENV{PG_CONFIG} = $old_config;
my $old = FastclustTest->new(extension => 1);
$old->query('ALTER DATABASE postgres SET search_path = public, fastclust, fastclust_internal');
$old->query(slurp('test/upgrade/objects.sql'));
my $read = 'BEGIN; ' . slurp('test/upgrade/values.sql') . 'ROLLBACK;';
my $before = $old->query($read);
cmp_ok(length $before, '>', 1000, 'the old server has values of every kind');
$old->server('stop');

$ENV{PG_CONFIG} = $new_config;
my $new = bless {owner => $$}, 'FastclustTest';
$new->make_directory;
# Servers since 18 have checksums by default, and pg_upgrade needs both servers to agree.
sub major { my ($config) = @_; return `"$config" --version` =~ /^PostgreSQL (\d+)/ ? $1 : 0; }
local $ENV{INITDB_OPTIONS} = major($new_config) >= 18 && major($old_config) < 18 ? '--no-data-checksums' : '';
$new->server('create');
my $words = as_server_user($new->{directory}, bindir($new_config) . '/pg_upgrade', '-b', bindir($old_config), '-B', bindir($new_config),
	'-d', "$old->{directory}/data", '-D', "$new->{directory}/data", '-U', 'postgres', '-s', $new->{directory});
my $failed = $?;
my $reports = qx(cat $new->{directory}/data/pg_upgrade_output.d/*/log/*.log 2>/dev/null);
SKIP:
{
# Debian's 15.20 gives every column an option that older servers refuse for every table.
skip 'the old server is newer than the new one', 6 if $failed && $reports =~ /unrecognized parameter "pg_attver"/;
is($failed, 0, 'pg_upgrade succeeds') or do { diag($words, $reports =~ /^.*(?:ERROR|FATAL).*$/mg); last SKIP; };
$new->server('start');
$new->use_server;
my $after = $new->query($read);
is($after, $before, 'values, labels, models, logs and views are unchanged');
is($new->query("SELECT extversion FROM pg_extension WHERE extname = 'fastclust'"), $new->query("SELECT default_version FROM pg_available_extensions WHERE name = 'fastclust'"),
	'the extension has the new version');
is($new->query("SELECT string_agg(evtenabled::text, '' ORDER BY evtname) FROM pg_event_trigger WHERE evtname ~ '^fastclust_live_'"), 'AAA', 'the event triggers of the extension are enabled');
my (undef, undef, $told) = $new->try("BEGIN; ALTER TABLE shop.orders ALTER a TYPE double precision USING a * 2; SELECT current_sketch('orders by tenant')");
like($told, qr/live sketch "orders by tenant" no longer matches its table\nDETAIL:  Column "a" of shop.orders was given another type/, 'the event triggers notice DDL');

# One changed bit must be seen by the comparison.
$new->query('UPDATE shop.live SET s = s - s WHERE tenant = 1');
isnt($new->query($read), $before, 'a sketch that differs is seen');
}
done_testing();

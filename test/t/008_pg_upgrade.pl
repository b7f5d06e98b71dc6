# pg_upgrade from the server of OLD_PG_CONFIG to that of PG_CONFIG keeps values of every kind,
# models with groups, live sketches and views. The old server has the newest release before this
# version if there is one, which is then updated. tools/matrix.sh sets OLD_PG_CONFIG.
use FastclustTest;
use Released;
use File::Basename qw(dirname);

my $root = dirname(__FILE__) . '/../..';
my $new_config = $ENV{PG_CONFIG} || 'pg_config';
my $old_config = $ENV{OLD_PG_CONFIG} or plan skip_all => 'OLD_PG_CONFIG names no older server';

# Runs a command as the user of the servers, in their directory, and returns its output.
sub as_server_user
{
	my ($folder, @command) = @_;
	my $quoted = join ' ', map { "'$_'" } @command;
	return qx(cd '$root' && . tools/common.sh && cd '$folder' && as_server_user $quoted 2>&1);
}

$ENV{PG_CONFIG} = $old_config;
my $version = Released::version();
my ($installed) = ((grep { $_ ne $version } Released::versions())[-1]) // $version;
my $scripts = Released::directory_of('--sharedir', $old_config) . '/extension';
my $placed = "$scripts/fastclust--$installed.sql";      # the script that this test installs and removes
undef $placed if -e $placed;
plan skip_all => "$scripts is not writable" if $placed && !-w $scripts;
Released::spill($placed, Released::slurp(Released::file($installed, "fastclust--$installed.sql"))) if $placed;
END { unlink $placed if $placed; }

my $old = FastclustTest->new;
$old->query("CREATE EXTENSION fastclust VERSION '$installed'");
$old->query('ALTER DATABASE postgres SET search_path = public, fastclust, fastclust_internal');
$old->query(Released::objects());
my $before = Released::values_of($old, 'postgres');
cmp_ok(length $before, '>', 1000, 'the old server has values of every kind');
$old->server('stop');

$ENV{PG_CONFIG} = $new_config;
my $new = bless {owner => $$}, 'FastclustTest';
$new->make_directory;
# Servers since 18 have checksums by default, and pg_upgrade needs both servers to agree.
sub major { my ($config) = @_; return `"$config" --version` =~ /^PostgreSQL (\d+)/ ? $1 : 0; }
local $ENV{INITDB_OPTIONS} = major($new_config) >= 18 && major($old_config) < 18 ? '--no-data-checksums' : '';
$new->server('create');
my $words = as_server_user($new->{directory}, Released::directory_of('--bindir', $new_config) . '/pg_upgrade', '-b', Released::directory_of('--bindir', $old_config), '-B', Released::directory_of('--bindir', $new_config),
	'-d', "$old->{directory}/data", '-D', "$new->{directory}/data", '-U', 'postgres', '-s', $new->{directory});
my $failed = $?;
my $reports = qx(cat $new->{directory}/data/pg_upgrade_output.d/*/log/*.log 2>/dev/null);
SKIP:
{
# Debian's 15.20 gives every column an option that older servers refuse for every table.
skip 'the old server is newer than the new one', 7 if $failed && $reports =~ /unrecognized parameter "pg_attver"/;
is($failed, 0, 'pg_upgrade succeeds') or do { diag($words, $reports =~ /^.*(?:ERROR|FATAL).*$/mg); last SKIP; };
$new->server('start');
$new->use_server;
is(Released::values_of($new, 'postgres'), $before, "values, labels, models, logs and views of $installed are unchanged");
$new->query('ALTER EXTENSION fastclust UPDATE') if $installed ne $version;
is(Released::values_of($new, 'postgres'), $before, "they are unchanged in $version");
is($new->query("SELECT extversion FROM pg_extension WHERE extname = 'fastclust'"), $new->query("SELECT default_version FROM pg_available_extensions WHERE name = 'fastclust'"),
	'the extension has the new version');
is($new->query("SELECT string_agg(evtenabled::text, '' ORDER BY evtname) FROM pg_event_trigger WHERE evtname ~ '^fastclust_live_'"), 'AAA', 'the event triggers of the extension are enabled');
my (undef, undef, $told) = $new->try("BEGIN; ALTER TABLE shop.orders ALTER a TYPE double precision USING a * 2; SELECT current_sketch('orders by tenant')");
like($told, qr/live sketch "orders by tenant" no longer matches its table\nDETAIL:  Column "a" of shop.orders was given another type/, 'the event triggers notice DDL');

# One changed bit must be seen by the comparison.
$new->query('UPDATE shop.live SET s = s - s WHERE tenant = 1');
isnt(Released::values_of($new, 'postgres'), $before, 'a sketch that differs is seen');
}
done_testing();

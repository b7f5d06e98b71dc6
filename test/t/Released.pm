# Released - what test/upgrade keeps of each released version, in a folder named after it:
#   fastclust--VERSION.sql  the SQL script
#   symbols                 the functions of the module, which the script needs
#   database.sql.gz         a dump of a database with the objects of objects.sql
#   values                  what values.sql prints in that database
# `make freeze` writes such a folder, and 007_upgrade.pl and 008_pg_upgrade.pl read all of them.
package Released;

use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use File::Basename qw(basename dirname);
use File::Copy qw(copy);
use File::Path qw(make_path);
use IO::Compress::Gzip qw(gzip);
use IO::Uncompress::Gunzip qw(gunzip);

my $root = dirname(__FILE__) . '/../..';

sub slurp { my ($name) = @_; open(my $file, '<', $name) or die "$name: $!"; local $/; return <$file>; }
sub spill { my ($name, $text) = @_; open(my $file, '>', $name) or die "$name: $!"; print $file $text; close $file or die "$name: $!"; return; }

# Returns what pg_config says of a directory of the server.
sub directory_of { my ($option, $pg_config) = @_; $pg_config //= $ENV{PG_CONFIG} || 'pg_config'; chomp(my $directory = `"$pg_config" $option`); return $directory; }

sub version { return (slurp("$root/fastclust.control") =~ /^default_version = '([^']+)'/m)[0]; }

# Returns the released versions, the oldest first.
sub versions
{
	my %weight = map { basename($_) => sprintf '%04d' x 3, split /\./, basename($_) } glob "$root/test/upgrade/*.*.*/";
	return sort { $weight{$a} cmp $weight{$b} } keys %weight;
}

sub file { my ($version, $name) = @_; return "$root/test/upgrade/$version/$name"; }

sub objects { return slurp("$root/test/upgrade/objects.sql"); }

# Returns what values.sql prints in a database, which stays as it is.
sub values_of { my ($server, $database) = @_; return $server->query('BEGIN; ' . slurp("$root/test/upgrade/values.sql") . 'ROLLBACK;', database => $database); }

# Returns values with a digest in place of most of each long line.
sub shortened { my ($values) = @_; return join "\n", map { length > 200 ? substr($_, 0, 60) . ' .. ' . md5_hex($_) : $_ } split /\n/, $values; }

# Returns the names of the functions that the installed module exports. Leaves out functions that SQL
# cannot call: some are compiled for old servers only.
sub symbols
{
	my $module = directory_of('--pkglibdir') . '/fastclust.so';
	my %defined = map { $_ => 1 } `nm -D --defined-only '$module'` =~ /^\S+ T (\S+)$/mg;
	return join '', map { "$_\n" } grep { !/^_(init|fini)$/ && (!/^fastclust_/ || $defined{"pg_finfo_$_"}) } sort keys %defined;
}

# Restores the dump of a released version into a new database. Makes the extension first if
# $installed names the version of its script.
sub restore
{
	my ($server, $version, $database, $installed) = @_;
	$server->query("CREATE DATABASE $database");
	$server->query("CREATE EXTENSION fastclust VERSION '$installed'", database => $database) if $installed;
	$server->query('DO $$ BEGIN CREATE ROLE shop_reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$');
	gunzip(file($version, 'database.sql.gz') => \my $dump) or die "the dump of $version";
	$server->query($dump, database => $database);
	$server->query("ALTER DATABASE $database SET search_path = public, fastclust, fastclust_internal");
	return;
}

# Writes the folder of this version from the installed module.
sub freeze
{
	my $version = version();
	my $server = FastclustTest->new;

	make_path(file($version, ''));
	copy(directory_of('--sharedir') . "/extension/fastclust--$version.sql", file($version, "fastclust--$version.sql")) or die $!;
	spill(file($version, 'symbols'), symbols());
	$server->query('CREATE DATABASE made');
	$server->query('CREATE EXTENSION fastclust', database => 'made');
	$server->query(objects(), database => 'made');
	my $dump = $server->dump('made');
	gzip(\$dump => file($version, 'database.sql.gz'), -Level => 9, Minimal => 1) or die 'gzip';
	restore($server, $version, 'restored');
	spill(file($version, 'values'), shortened(values_of($server, 'restored')) . "\n");
	print file($version, ''), "\n";
	return;
}

1;

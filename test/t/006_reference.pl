# docs/reference.md and the catalog agree: every public object has an entry with an example, and a
# comment.
use FastclustTest;
use File::Basename qw(dirname);

my $server = FastclustTest->new(extension => 1);
open my $file, '<', dirname(__FILE__) . '/../../docs/reference.md' or die $!;
my $reference = do { local $/; <$file> };

# Joins names for a message.
sub names { return join ' ', sort @_ }
sub column { return split /\n/, $server->query($_[0]) }

# An entry is a heading with the text below it, or a table row that begins with a signature; the
# row shares the examples below its table.
my %section = $reference =~ /^## (.*?)\n(.*?)(?=^## |\z)/gms;
my %entry = map { /^### (\w+)\n(.*?)(?=^### |\z)/gms } values %section;
for my $part (split /^(?=##)/m, $reference)
{
	my $examples = join "\n", $part =~ /^```sql\n.*?^```\n/gms;
	$entry{$2} = "$1\n$examples" while $part =~ /^\| (`(\w+)\(.*)$/gm;
}
# Options, types and settings are listed in tables of their section.
my %listed = map { my $list = $_; $list => {map { $_ => 1 } $section{$list} =~ /^\| `([\w.]+)` \|/gm} } 'Types', 'Settings';

# ---- functions: an entry, a signature with the names of the arguments, the columns of the result, an example ----
my %function = map { my ($name, @names) = split /\|/, $_, -1; $name => \@names } column(<<'SQL');
SELECT p.proname, coalesce(string_agg(DISTINCT a.name, ' ') FILTER (WHERE a.mode IN ('i', 'b', 'v')), ''),
       coalesce(string_agg(DISTINCT a.name, ' ') FILTER (WHERE a.mode IN ('o', 'b', 't')), '')
  FROM pg_proc p LEFT JOIN LATERAL (SELECT u.name, coalesce(p.proargmodes[u.i], 'i') AS mode
                                      FROM unnest(p.proargnames) WITH ORDINALITY u(name, i)) a ON a.name <> ''
 WHERE p.pronamespace = 'fastclust'::regnamespace GROUP BY 1
SQL
my @relations = column(q{SELECT relname FROM pg_class WHERE relnamespace = 'fastclust'::regnamespace AND relkind IN ('r', 'v', 'm', 'f', 'p')});
is(names(grep { !$entry{$_} } keys %function, @relations), '', 'every function, table and view has an entry');
my %there = map { $_ => 1 } keys %function, @relations;
is(names(grep { !$there{$_} } keys %entry), '', 'every entry names an object that exists');

sub lacks { my ($name, $text, @wanted) = @_; return map { "$name: $_" } grep { $text !~ /\b\Q$_\E\b/ } @wanted; }
my (@unsigned, @untold, @unshown);
for my $name (grep { $entry{$_} } keys %function)
{
	my ($in, $out) = @{$function{$name}};
	my $signature = join ' ', $entry{$name} =~ /`($name\([^`]*\))`/g;
	my $arguments = $name eq 'describe' ? '' : $in;
	push @unsigned, lacks($name, $signature, split ' ', $arguments);
	push @untold, lacks($name, join(' ', $entry{$name} =~ /`([^`]*)`/g), split ' ', $out);
	my $examples = join "\n", $entry{$name} =~ /^```sql\n(.*?)^```/gms;
	push @unshown, $name if $examples !~ /\b$name\(/;
}
is(names(@unsigned), '', 'every signature names the arguments');
is(names(@untold), '', 'every entry names the columns of the result');
is(names(@unshown), '', 'every function has an example');

# ---- columns, types, settings ----
my (@columns_untold, %columns);
push @{$columns{$_->[0]}}, $_->[1] for map { [split /\|/] } column(<<'SQL');
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relnamespace = 'fastclust'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
SQL
for my $relation (grep { $entry{$_} } @relations)
{
	my %told = map { $_ => 1 } map { /`(\w+)`/g } $entry{$relation} =~ /^\| (`[^|]*`) \|/gm;
	push @columns_untold, map { "$relation.$_" } grep { !$told{$_} } @{$columns{$relation}};
	my %is = map { $_ => 1 } @{$columns{$relation}};
	push @columns_untold, map { "$relation.$_ is not there" } grep { !$is{$_} } keys %told;
}
is(names(@columns_untold), '', 'the columns of tables and views are explained');

my @types = column(<<'SQL');
SELECT t.typname FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
 WHERE t.typnamespace = 'fastclust'::regnamespace AND t.typelem = 0 AND coalesce(c.relkind, 'c') = 'c'
   AND obj_description(t.oid, 'pg_type') !~ '^internal:'
SQL
is(names(keys %{$listed{Types}}), names(@types), 'the listed types are those of the schema');
is(names(keys %{$listed{Settings}}), names(column(q{LOAD 'fastclust'; SELECT name FROM pg_settings WHERE name LIKE 'fastclust.%'})), 'the listed settings are those of the module');

# ---- options ----
my @options = split /\n/, $server->query(<<'SQL');
SELECT format('| `%s` | %s | %s |', option, CASE WHEN "default" ~ '^[a-z0-9.{}]+$' THEN '`' || "default" || '`' ELSE "default" END, meaning)
  FROM fastclust.option_help('train')
SQL
is(join("\n", grep { index($entry{train}, $_) < 0 } @options), '', 'the entry of train has all options of option_help');
my @written = $entry{train} =~ /^\| `([\w.]+)` \|/gm;
cmp_ok(scalar(grep { !/[.]/ } @written), '<=', 36 + 6, 'train has at most 36 options besides six methods');

# ---- comments ----
is($server->query(<<'SQL'), '', 'every function, type, relation and column has a comment');
SELECT p.oid::regprocedure::text FROM pg_proc p WHERE pronamespace = 'fastclust'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL
UNION ALL
SELECT typname FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
 WHERE typnamespace = 'fastclust'::regnamespace AND typelem = 0 AND coalesce(c.relkind, 'c') = 'c' AND obj_description(t.oid, 'pg_type') IS NULL
UNION ALL
SELECT relname FROM pg_class c WHERE relnamespace = 'fastclust'::regnamespace AND relkind IN ('r', 'v') AND obj_description(c.oid, 'pg_class') IS NULL
UNION ALL
SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE relnamespace = 'fastclust'::regnamespace AND relkind IN ('r', 'v', 'c') AND col_description(c.oid, a.attnum) IS NULL
SQL

done_testing();

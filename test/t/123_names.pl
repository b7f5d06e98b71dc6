# Names follow clusters: random sequences of retrainings, merges, pins and returns to old versions,
# on planted clusters whose rows are known. After each step, a cluster has the name of the cluster
# of the step before with which it shares its rows, wherever that is beyond doubt.
#
# NAMES_SEED: the first seed; NAMES_RUNS: the number of sequences; NAMES_STEPS: the steps of each.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
my $prologue = "SET search_path = public, fastclust; SET client_min_messages = error;\n";
my $runs = $ENV{NAMES_RUNS} // 4;
my $steps = $ENV{NAMES_STEPS} // 12;
my $seed = $ENV{NAMES_SEED} // 1;

# Minimum share of the rows of each of two clusters that both have, if the pair is beyond doubt.
my $sure = 0.75;
# Share of its rows up to which a cluster counts as having none of another cluster or of a place.
my $foreign = 0.05;

# Places far apart in the plane; depth and colour depend on the place, too.
$server->query($prologue . q{
CREATE FUNCTION planted(rows integer) RETURNS TABLE (id integer, place integer, x float8, y float8, z float8, colour text)
LANGUAGE sql AS $$
	SELECT i, p, 10 * (p % 3) + q.u, 12 * (p / 3) + q.v, 15 * (p % 2) + 4 * p + q.w, 'colour ' || p
	FROM (SELECT i, floor(sqrt(random()) * 7)::integer AS p, random() AS u, random() AS v, random() AS w FROM generate_series(1, rows) i) q $$;
});

sub rows_of { return map { [split /\|/] } split /\n/, $server->query($prologue . $_[0]) }
sub chosen { return $_[int rand @_] }

# Returns the names that users gave to the clusters of the current version, by number.
sub given_names { return map { $_->[0] => $_->[1] } rows_of("SELECT cluster, name FROM model_clusters WHERE model = 'm' AND name LIKE 'place %'") }

# Remembers the label of each row.
sub remember { $server->query($prologue . "DROP TABLE IF EXISTS before; CREATE TABLE before AS SELECT r.id, r.place, predict('m', r) AS cluster FROM r") }

# Returns the messages about names that are not where they belong. $names has the names before the
# step. $back is true if the step returned to a version that may have names of its own.
sub misplaced
{
	my ($names, $back) = @_;
	my %now = given_names();
	my (%shared, %new, %old, %of_place, %whole, @wrong);

	for (rows_of("SELECT n.cluster, b.cluster, n.place, count(*) FROM (SELECT id, place, predict('m', r) AS cluster FROM r) n JOIN before b USING (id) WHERE n.cluster IS NOT NULL GROUP BY 1, 2, 3"))
	{
		my ($cluster, $before, $place, $count) = @$_;

		$shared{$cluster}{$before} += $count if length $before;
		$old{$before} += $count if length $before;
		$new{$cluster} += $count;
		$of_place{$cluster}{"place $place"} += $count;
		$whole{"place $place"} += $count;
	}
	my %sure_of;
	for my $c (keys %new)
	{
		for my $o (keys %{$shared{$c}})
		{
			$sure_of{$o} = $c if $shared{$c}{$o} >= $sure * $new{$c} && $shared{$c}{$o} >= $sure * $old{$o};
		}
	}
	my %partner = reverse %sure_of;
	for my $c (sort keys %new)
	{
		my $name = $now{$c} // '';
		my @possible = grep { $shared{$c}{$_} > $foreign * $new{$c} && !exists $sure_of{$_} } keys %{$shared{$c}};

		if ($name ne '' && ($of_place{$c}{$name} // 0) <= $foreign * $whole{$name})
		{
			push @wrong, "cluster $c has the name $name, but none of its rows";
		}
		elsif (exists $partner{$c})
		{
			my $expected = $names->{$partner{$c}} // '';

			push @wrong, "cluster $c was $partner{$c}: its name is '$name', not '$expected'"
				if $name ne $expected && !($back && $expected eq '');
		}
		elsif ($name ne '' && !@possible && !$back)
		{
			push @wrong, "cluster $c continues no cluster, but has the name $name";
		}
	}
	my %bearers;
	$bearers{$_}++ for values %now;
	push @wrong, map { "$bearers{$_} clusters have the name $_" } grep { $bearers{$_} > 1 } sort keys %bearers;
	return @wrong;
}

# Removes the names of clusters that have mostly rows of other places: a merge moves rows between
# clusters, and no matching can tell which of two places the next version continues.
sub remove_doubtful_names
{
	my %now = given_names();

	for (rows_of("SELECT DISTINCT ON (1) predict('m', r), place FROM r GROUP BY 1, place ORDER BY 1, count(*) DESC"))
	{
		my ($cluster, $place) = @$_;

		$server->query("$prologue SELECT name_cluster('m', $cluster, NULL)") if ($now{$cluster} // "place $place") ne "place $place";
	}
}

# Names up to $count clusters, without a name, by the place of their rows if nearly all rows of that
# place are theirs.
sub name_clusters
{
	my ($count) = @_;
	my %now = given_names();
	my %taken = reverse %now;

	for (rows_of("SELECT q.cluster, q.place FROM (SELECT predict('m', r) AS cluster, place, count(*) AS n, sum(count(*)) OVER (PARTITION BY predict('m', r)) AS rows, sum(count(*)) OVER (PARTITION BY place) AS whole FROM r GROUP BY 1, 2) q WHERE q.cluster IS NOT NULL AND q.n > 0.95 * q.rows AND q.n > 0.95 * q.whole ORDER BY hashtext(q.cluster::text || '" . int(rand 1000) . "')"))
	{
		my ($cluster, $place) = @$_;

		next if exists $now{$cluster} || exists $taken{"place $place"} || $count-- <= 0;
		$server->query("$prologue SELECT name_cluster('m', $cluster, 'place $place')");
	}
}

my @columns = ('{x,y}', '{x,y,z}', '{y,x}', '{x,y,colour}', '{x,y,z,colour}', '{x,z}');
my @methods = qw(kmeans kmeans compressive density);

# Returns a random step: its SQL, and true if it returns to another version.
sub random_step
{
	my ($state) = @_;
	my $kind = int rand 10;
	my @clusters = map { $_->[0] } rows_of("SELECT unnest(fastclust_internal.cluster_numbers(operator)) FROM fastclust_internal.stored_versions v JOIN models m USING (model, version) WHERE model = 'm'");
	my ($method) = map { $_->[0] } rows_of("SELECT method FROM model_versions WHERE model = 'm' AND serves");
	my $options = sub { return sprintf '{"quiet": true, "seed": %d%s}', int rand 1000, join '', @_ };

	if ($kind == 0 && $method eq 'kmeans' && @clusters > 2)
	{
		my %named = given_names();
		my %size = map { $_->[0] => $_->[1] } rows_of("SELECT cluster, size FROM model_clusters WHERE model = 'm'");
		my ($first, $second) = (chosen(@clusters), chosen(@clusters));
		my ($small, $large) = $size{$first} < $size{$second} ? ($first, $second) : ($second, $first);

		# the joined cluster would take a name even if its mean loses all rows of the smaller one
		return ("SELECT merge_clusters('m', '{$small,$large}')", 0)
			if $small != $large && ($named{$large} || !$named{$small});
	}
	if ($kind == 1 && $method eq 'kmeans')
	{
		return (sprintf("SELECT pin_cluster('m', %d, %s)", chosen(@clusters), chosen('true', 'true', 'false')), 0);
	}
	if ($kind == 2 || $kind == 3)
	{
		my @versions = rows_of("SELECT version FROM model_versions WHERE model = 'm' AND NOT serves");

		return ("SELECT use_version('m', $$_[0])", 1) for @versions ? chosen(@versions) : ();
	}
	if ($kind == 4 || $kind == 5)
	{
		my $k = @clusters + chosen(-1, 1, 1);

		return ("SELECT retrain('m', options => '" . $options->(", \"k\": $k") . "')", 0) if $k > 1 && $method ne 'density';
	}
	if ($kind == 6)
	{
		return ("SELECT retrain('m', options => '" . $options->(', "fresh": true') . "')", 0);
	}
	if ($kind == 7)
	{
		my $use = chosen(@methods);

		return (sprintf("SELECT train('m', 'r', '%s', %s, '%s', '%s')", chosen(@columns), $use eq 'density' ? 'NULL' : scalar @clusters, $use, $options->()), 0);
	}
	return ("SELECT retrain('m', options => '" . $options->() . "')", 0);
}

for my $run ($seed .. $seed + $runs - 1)
{
	my $rows = $run % 3 == 0 ? 40000 : 2500;
	my @did;
	my @wrong;

	srand $run;
	$server->query($prologue . "SELECT drop_model('m') FROM models WHERE model = 'm'; DROP TABLE IF EXISTS r; SELECT setseed(" . ($run % 100) / 100 . "); CREATE TABLE r AS SELECT * FROM planted($rows); ANALYZE r;"
		. sprintf("SELECT train('m', 'r', '%s', 7, 'kmeans', '{\"quiet\": true, \"keep\": 20}')", chosen(@columns[0 .. 4])));
	name_clusters(4);
	for my $step (1 .. $steps)
	{
		my ($sql, $back) = random_step();
		my %names = given_names();

		remember();
		my ($status, undef, $error) = $server->try($prologue . $sql);
		push @did, $sql . ($status ? " -- $error" : '');
		next if $status && $error =~ /are pinned|no clusters that can be pinned|moves all clusters/;
		if ($status)
		{
			push @wrong, "step $step: $error";
			last;
		}
		push @wrong, map { "step $step: $_" } misplaced(\%names, $back);
		last if @wrong;
		remove_doubtful_names();
		name_clusters(2) if rand() < 0.4;
	}
	is(join("\n", @wrong), '', "names are with their clusters, seed $run")
		or diag(join "\n", @did);
}

done_testing;

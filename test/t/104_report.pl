# The report is one page of valid HTML with everything escaped, with the numbers that SQL gives,
# within the rights of its reader, and a browser opens it without an error.
use FastclustTest;
use File::Temp qw(tempdir);

my $server = FastclustTest->new(extension => 1);
$server->query(<<'SQL');
SELECT setseed(0.5);
CREATE TABLE points AS
SELECT i, i % 7 AS kind, (i % 3) * 5 + random() AS a, (i % 7) * 3 + random() AS "<b>&""'", 1e-9 * random() AS tiny, 1e7 + 1e6 * random() AS large, i % 4 AS day
  FROM generate_series(1, 4000) i;
ANALYZE points;
SET client_min_messages = warning;
CREATE FUNCTION wide(rows int, clusters int, features int) RETURNS TABLE (x real[]) LANGUAGE sql AS $$
    SELECT ARRAY(SELECT ((hashint4extended(i % clusters * 1000 + j, 1) % 100) / 10.0 + random())::real FROM generate_series(1, features) j) FROM generate_series(1, rows) i
$$;
SELECT train('plain', 'points', ARRAY['a', '<b>&"''', 'tiny', 'large'], 7);
SELECT retrain_if_drifted('plain');
UPDATE points SET a = a + 3 WHERE i % 2 = 0;
SELECT retrain_if_drifted('plain');
SELECT retrain_if_drifted('plain');
SELECT name_cluster('plain', 0, '<script>alert("0")</script>'), name_cluster('plain', 1, 'Tom & ''Jerry'' "&amp;"');
SELECT train('<script>alert(1)</script>&amp;"''', 'points', ARRAY['a', '<b>&"'''], 3);
SELECT train('groups', 'points', ARRAY['a', 'large'], 3, options => '{"group_by": "day"}'), train('kernel', 'points', ARRAY['a', 'large'], 3, 'kernel'), train('one', 'points', ARRAY['a'], 1);
CREATE TABLE orders AS
SELECT CASE WHEN i % 350 = 0 THEN 1e6 ELSE i % 3 * 100 + random() END AS amount, CASE WHEN i % 5 > 0 THEN (ARRAY['web', 'shop', 'phone'])[1 + i % 3] END AS channel,
       timestamptz '2024-03-01' + (i % 3 * 100 + random()) * interval '1 day' AS ordered_at, timestamptz '2024-03-01' + (i % 3 * 2 + random()) * interval '1 hour' AS paid_at, 1 + i % 2 AS w
  FROM generate_series(1, 3500) i;
ANALYZE orders;
SELECT train('orders', 'orders', ARRAY['amount', 'channel', 'ordered_at', 'paid_at'], 4), train('weighted', 'orders', ARRAY['amount', 'ordered_at'], 3, options => '{"row_weight": "w"}');
SELECT name_cluster('orders', cluster, format('the cluster number %s whose name is much too long for any picture', cluster)) FROM generate_series(0, 3) cluster;
SQL

# Returns the page of a model, or of one of its groups.
sub page { my ($model, $rest) = @_; $model =~ s/'/''/g; return $server->query("SELECT report('$model'" . ($rest // '') . ')'); }

my @models = ('plain', '<script>alert(1)</script>&amp;"\'', 'groups', 'kernel', 'one', 'orders', 'weighted');
my %page = map { $_ => page($_) } @models;
$page{'one group'} = page('groups', ", group_value => '2'");

# ---- the page is whole: tags are closed, ids are unique, entities are known, and nothing is loaded or run ----
my %void = map { $_ => 1 } qw(meta br);

sub faults
{
	my ($html) = @_;
	my (@open, @faults, %ids);
	push @faults, 'no doctype' if $html !~ s/^<!DOCTYPE html>\n//;
	$html =~ s{<style>.*?</style>}{}s;
	while ($html =~ /\G(?:([^<>&"']+|["'])|&(?:#39|amp|lt|gt|quot|nbsp|ndash|hellip|rarr);|<(\/?)(\w+)((?:\s+[\w-]+="[^"<>]*")*)\s*(\/?)>|(.))/gcs)
	{
		my ($text, $end, $tag, $attributes, $closed, $other) = ($1, $2, $3, $4, $5, $6);
		push @faults, "stray $other" if defined $other;
		next if !defined $tag;
		$tag = lc $tag;
		for my $id ($attributes =~ /\sid="([^"]*)"/g) { push @faults, "id $id twice" if $ids{$id}++; }
		push @faults, "<$tag$attributes>" if $tag =~ /^(script|link|img|iframe|object|embed|base|form|a)$/ || $attributes =~ /\s(on\w+|src|href|style)=/i;
		next if $closed || $void{$tag};
		if (!$end) { push @open, $tag; }
		elsif (!@open || pop @open ne $tag) { push @faults, "</$tag>"; }
	}
	push @faults, 'open: ' . join ' ', @open if @open;
	return @faults;
}

is(join('; ', faults(qq{<!DOCTYPE html>\n<p id="x"><b>a</p><i id="x">&zap;<script>1</script>})), '</p>; id x twice; stray &; <script>; <script>; open: p i', 'planted faults are found');
for my $name (sort keys %page)
{
	is(join("\n", faults($page{$name})), '', "$name: the page is whole");
	unlike($page{$name}, qr{https?://|url\(|\@import|javascript:}i, "$name: the page loads nothing");
	like($page{$name}, qr/default-src 'none'; style-src 'unsafe-inline'/, "$name: the page forbids loading");
}
like($page{plain}, qr/&lt;script&gt;alert\(&quot;0&quot;\)&lt;\/script&gt;/, 'a hostile name is shown as text');
like($page{plain}, qr/Tom &amp; &#39;Jerry&#39; &quot;&amp;amp;&quot;/, 'a name with an entity is shown as text');
like($page{plain}, qr/<th scope="row" title="&lt;b&gt;&amp;&quot;&#39;">/, 'a hostile feature is shown as text');

# ---- the numbers equal the results of SQL ----

# Returns the values of the data elements in the row with this id.
sub numbers
{
	my ($html, $id) = @_;
	my (undef, $row) = $html =~ /<(tr|dd|span) id="\Q$id\E"[^>]*>(.*?)<\/\g1>/s or return 'nothing';
	return join ' ', $row =~ /<data value="([^"]*)">/g;
}

sub rows { return map { [split /\|/, $_, 2] } split /\n/, $server->query($_[0]) }

sub same_numbers
{
	my ($what, $model, $prefix, $sql) = @_;
	my @rows = rows($sql);
	is(join("\n", map { "$_->[0]: " . numbers($page{$model}, $prefix . $_->[0]) } @rows), join("\n", map { "$_->[0]: $_->[1]" } @rows), "$what of $model");
}

for my $model ('plain', 'kernel', 'one')
{
	same_numbers('sizes', $model, 'cluster-', qq{SELECT cluster, concat_ws(' ', size, share, spread, nearest_distance) FROM model_clusters WHERE model = '$model' ORDER BY 1});
	same_numbers('versions', $model, 'version-', qq{SELECT version, concat_ws(' ', k, n, objective, churn) FROM model_versions WHERE model = '$model' ORDER BY 1});
	same_numbers('steps', $model, 'step-', qq{SELECT l.id, concat_ws(' ', l.seconds, l.objective) FROM training_log l JOIN models m ON m.model = l.model AND m.version = l.version WHERE m.model = '$model' ORDER BY 1});
}
same_numbers('checks', 'plain', 'check-', q{SELECT id, concat_ws(' ', n, effect, p_value, (SELECT string_agg(c.v ->> 'shift', ' ' ORDER BY c.i) FROM jsonb_array_elements(columns) WITH ORDINALITY c(v, i) WHERE c.i <= 3)) FROM drift_log WHERE model = 'plain' ORDER BY 1});
is(numbers($page{plain}, $_->[0]), $server->query("SELECT $_->[1] FROM models WHERE model = 'plain'"), "fact: $_->[0]")
	for ['rows', 'n'], ['clusters', 'k'], ['dimensions', 'dim'], ['objective', 'objective'], ['version', 'version'];
my ($heat) = $page{plain} =~ /<table class="heat">.*?<tbody>(.*?)<\/tbody>/s;
is(join("\n", sort $heat =~ /<data value="([^"]*)">/g), join("\n", sort split /\n/, $server->query(q{SELECT value FROM profile('plain') WHERE feature IN (SELECT feature FROM profile('plain') WHERE abs(difference) >= 0.1)})),
	'the heat map has the values of profile, but no features that differ by less than a tenth of a deviation everywhere');
# A cell belongs to the cluster at the head of its column.
for my $model ('plain', 'orders')
{
	my ($head, $body) = $page{$model} =~ /<table class="heat">\n<thead>(.*?)<\/thead>\n<tbody>(.*?)<\/tbody>/s;
	my @clusters = $head =~ /<th scope="col"[^>]*>(\d+)/g;
	my @shown = map { join ' ', /<data value="([^"]*)">/g } $body =~ /<tr>(.*?)<\/tr>/gs;
	my @stored = map { my $i = join ',', @clusters; $server->query("SELECT string_agg(value::text, ' ' ORDER BY array_position(ARRAY[$i], cluster)) FROM profile('$model') WHERE feature = '" . (s/'/''/gr) . q{'}) }
	  map { s/&lt;/</gr =~ s/&gt;/>/gr =~ s/&quot;/"/gr =~ s/&#39;/'/gr =~ s/&amp;/&/gr } $body =~ /<th scope="row" title="([^"]*)">/g;
	is(join("\n", @shown), join("\n", @stored), "the columns of the heat map of $model have the values of their clusters");
}

# Returns the paragraph of a page as text.
sub story { my ($text) = $_[0] =~ /<p class="story">(.*?)<\/p>/s; return ($text // '') =~ s/<[^>]*>//gr =~ s/&nbsp;/ /gr; }

my ($largest) = rows(q{SELECT share, name FROM model_clusters WHERE model = 'plain' ORDER BY share DESC, cluster LIMIT 1});
like(story($page{plain}), qr/^There are 7 clusters\. The largest, \Q@{[$largest->[1] =~ s{&}{&amp;}gr =~ s{"}{&quot;}gr =~ s{'}{&#39;}gr =~ s{<}{&lt;}gr =~ s{>}{&gt;}gr]}\E, has [\d.]+ % of the rows: \S+ is .+ \(all rows: .+\)\. /, 'a paragraph says how many clusters there are, and what distinguishes the largest');
like(story($page{plain}), qr/\. Since version \d+ of [\d :-]+ the number of rows is the same/, 'the paragraph says what changed');
my ($small) = rows(q{SELECT name, share FROM model_clusters WHERE model = 'orders' ORDER BY share LIMIT 1});
cmp_ok($small->[1], '<', 0.01, 'a cluster of few rows is far from the others');
like(story($page{orders}), qr/ One cluster has less than 1 % of the rows\.$/, 'the paragraph only says that there is a small cluster');
unlike(story($page{orders}), qr/\Q$small->[0]\E/, 'the paragraph does not describe the small cluster');
my ($facts) = $page{orders} =~ /<dl class="facts">(.*?)<\/dl>/s;
is(join(', ', $facts =~ /<dt>(.*?)<\/dt>/g), 'Rows, Clusters, Version, Trained', 'dimensions and distances are not among the facts');
like($page{orders}, qr/<footer>\n<p>For analysts: the rows have <span id="dimensions">/, 'they are in a footnote');
unlike($page{$_}, qr/of weight/, "$_: rows without weights have none") for 'plain', 'orders';
like($page{weighted}, qr/id="cluster-0">.* of weight <data value="\d/, 'rows with weights have them');
like(story($page{weighted}), qr/ The largest, [^%]*% of the weight: /, 'shares of weights are called so in the paragraph');
unlike($page{weighted} =~ s{<[^>]*>}{}gr =~ s{&nbsp;}{ }gr, qr/% of the rows|share of the rows\./, 'they are nowhere called shares of rows');
like($server->query("SELECT plot('weighted')"), qr/^cluster +weight +share$/m, 'a plot of weights has this heading');
like($server->query("SELECT plot('orders')"), qr/^cluster +rows +share$/m, 'a plot of rows has the heading rows');
is(join(' ', sort map { length } $page{orders} =~ /<th scope="row" title="ordered_at">.*?<td class="all">(.*?)<\/td>/g), 10, 'a time that differs by days has no minutes');
like($page{orders}, qr/<th scope="row" title="paid_at">.*?<td class="all">2024-03-01 \d\d:\d\d<\/td>/, 'a time that differs by hours has them');
for my $name (sort keys %page)
{
	unlike($page{$name}, qr/\.\.\.<\/text>/, "$name: no label is cut");
}
my ($tree) = $page{orders} =~ /<svg class="chart narrow"[^>]*aria-label="tree of the clusters">(.*?)<\/svg>/s;
is(join(' ', $tree =~ /<text [^>]*>(.*?)<\/text>/g) =~ s/(\d the cluster number \d whose name is much too long for any picture ?)//gr, '', 'long names are broken into lines');

# On a narrow screen, a cell has the title of its column before it.
for my $section ('sizes', 'groups', 'versions', 'drift', 'training')
{
	my $model = $section eq 'groups' ? 'groups' : 'plain';
	my ($head) = $page{$model} =~ /<section id="$section">.*?<div class="scroll"><table>\n<thead><tr>(.*?)<\/tr>/s;
	my @titles = $head =~ /<th[^>]*>(.*?)<\/th>/g;
	my %before = $page{$model} =~ /#$section td:nth-child\((\d+)\)::before \{ content: "([^"]*)"; \}/g;
	my @first = $section eq 'versions' || $section eq 'drift' ? () : ($titles[0]);
	is(join(', ', @first, map { $before{$_} // () } 1 .. @titles), join(', ', grep { $_ ne '' } @titles), "cells of $section have the titles of their columns");
}
unlike($page{groups}, qr/class="story"/, 'the page of all groups has no such paragraph');
like(page('plain', ", title => 'Ours <&>'"), qr/<title>Ours &lt;&amp;&gt;<\/title>.*<h1>Ours &lt;&amp;&gt;<\/h1>/s, 'the page has a title');
like($page{plain}, qr/\@media print \{ :root \{ color-scheme: light; --page: #ffffff; \}/, 'the page prints on white');
# Labels of the map are next to their circles, or completely within them.
my ($map) = $page{plain} =~ /<svg class="chart wide"[^>]*aria-label="map of the clusters">(.*?)<\/svg>/s;
my @circles = map { [split / /] } map { "$_" } $map =~ /<circle class="bubble" ([^>]*)>/g;
@circles = map { {/(\w+)="([\d.]+)"/g} } map { join ' ', @$_ } @circles;
my @touched = grep {
	my ($x, $y, $anchor) = @$_;
	grep { my $d = sqrt(($_->{cx} - $x)**2 + ($_->{cy} - $y + 4.2)**2); $anchor ne 'middle' && $d < $_->{r} + 5.5 } @circles;
} map { [/x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"/] } $map =~ /<text class="halo"([^>]*)>/g;
is(scalar(@touched), 0, 'no label begins on a circle');
is(() = ($page{groups} =~ /aria-label="map of the clusters"/g), 4, 'there is a small map for each group');
like($page{'one group'}, qr/where <code>day<\/code> is <code>2<\/code>/, 'the page of one group names the group');

# ---- the history of a cluster follows its identity, not its number: other columns give other numbers ----
$server->query(<<'SQL');
SET client_min_messages = warning;
SELECT setseed(0.5);
CREATE TABLE renumbered AS SELECT g * 10 + random() AS a, (ARRAY[30, 0, 20, 10])[g + 1] + random() AS b, random() < 0.5 AS c
  FROM (SELECT width_bucket(random(), '{0,0.1,0.3,0.6}'::float8[]) - 1 AS g FROM generate_series(1, 5000) i OFFSET 0) q;
SELECT train('renumbered', 'renumbered', '{a}', 4);
SELECT name_cluster('renumbered', cluster, 'a=' || round(centroid[1])) FROM model_clusters WHERE model = 'renumbered';
SELECT train('renumbered', 'renumbered', '{b}', 4);
SQL
my @pairs = rows(q{SELECT s.shares[1], s.shares[2] FROM fastclust_internal.readable_models m, fastclust_internal.shares_by_version((SELECT r FROM fastclust_internal.stored_models r WHERE r.id = m.id), '') s WHERE m.model = 'renumbered'});
is(scalar(grep { abs($_->[0] - $_->[1]) < 0.001 } @pairs), 4, 'equal groups of rows have equal shares in both versions') or diag(join ', ', map { "$_->[0] $_->[1]" } @pairs);
like(story(page('renumbered')), qr/ the number of rows is the same\.$/, 'the paragraph compares clusters, not their numbers');
$server->query(q{SET client_min_messages = error; SELECT train('renumbered', 'renumbered', '{c}', 2)});
my $new_clusters = page('renumbered');
is(join('; ', faults($new_clusters)), '', 'the page of clusters without a history is whole');
unlike($new_clusters, qr/polyline points="[^"]*,[ "]/, 'a version without the cluster has no point');

# ---- checks of drift that are a minute apart, after some months ----
$server->query(<<'SQL');
SET client_min_messages = warning;
SELECT train('checked', 'points', ARRAY['a', 'large'], 3);
SELECT retrain_if_drifted('checked') FROM generate_series(1, 3);
UPDATE points SET a = a + 3 WHERE i % 2 = 0;
SELECT retrain_if_drifted('checked'), retrain_if_drifted('checked');
UPDATE fastclust_internal.drift_checks d SET checked_at = timestamptz '2026-01-15 12:00' + (q.i - 1) * interval '1 month' + CASE WHEN q.i = 5 THEN interval '1 minute' - interval '1 month' ELSE '0' END
  FROM (SELECT id, row_number() OVER (ORDER BY id) AS i FROM drift_log WHERE model = 'checked') q WHERE q.id = d.id;
SQL

# Returns the x of the circles of a drift chart, and the texts of its axes.
sub chart
{
	my ($html, $class) = @_;
	my ($svg) = $html =~ /<svg class="chart $class"[^>]*aria-label="drift over time">(.*?)<\/svg>/s;
	return ([$svg =~ /<circle [^>]*cx="([\d.]+)"/g], join ', ', $svg =~ /<text class="tick"[^>]*>(.*?)<\/text>/g);
}

for my $class ('wide', 'narrow')
{
	my ($x, $ticks) = chart(page('checked'), $class);
	is(scalar(grep { $x->[$_] - $x->[$_ - 1] < 9 } 1 .. $#$x), 0, "$class: circles of neighbouring checks do not overlap");
	cmp_ok($x->[-1], '<=', $class eq 'wide' ? 1048 : 335, "$class: the last circle is in the picture");
	like($ticks, qr/^0, 0\.1, [\d.]+, 2026-01-15, 2026-04-15$/, "$class: both axes have labels");
}
$server->query(q{DELETE FROM fastclust_internal.drift_checks WHERE checked_at < '2026-04-01'});
is((chart(page('checked'), 'narrow'))[1] =~ s/^[\d., ]+, (?=2026)//r, '2026-04-15 12:00:00, 2026-04-15 12:01:00', 'the axis of two checks in a minute has seconds');

# ---- contrast of text and marks with what lies behind them, in both themes (WCAG 2: 4.5 for text, 3 for marks) ----
my ($style) = $page{plain} =~ /<style>(.*?)<\/style>/s;
my ($light_part, $dark_part) = $style =~ /^:root \{(.*?)\}\n\@media screen and \(prefers-color-scheme: dark\) \{ :root \{(.*?)\} \}/ms;
my %theme = (light => {$light_part =~ /--(\w+): (#[0-9a-f]{6})/g}, dark => {$dark_part =~ /--(\w+): (#[0-9a-f]{6})/g});

sub luminance
{
	my @part = map { hex($_) / 255 } $_[0] =~ /([0-9a-f]{2})/g;
	@part = map { $_ <= 0.03928 ? $_ / 12.92 : (($_ + 0.055) / 1.055)**2.4 } @part;
	return 0.2126 * $part[0] + 0.7152 * $part[1] + 0.0722 * $part[2];
}

sub contrast { my ($a, $b) = sort { $b <=> $a } map { luminance($_) } @_; return ($a + 0.05) / ($b + 0.05); }

for my $name (sort keys %theme)
{
	my %c = %{$theme{$name}};
	my @text = (['ink', 'page'], ['soft', 'page'], ['accent', 'page'], (map { ['near', $_] } qw(hm3 hm2 hm1 h0 h1 h2 h3)), (map { ['far', $_] } qw(hm4 h4)));
	is(join(' ', map { sprintf '%s on %s: %.1f;', @$_, contrast($c{$_->[0]}, $c{$_->[1]}) } grep { contrast($c{$_->[0]}, $c{$_->[1]}) < 4.5 } @text), '', "$name: text has enough contrast");
	is(join(' ', grep { contrast($c{$_}, $c{page}) < 3 } 'accent', 'alert', 'soft'), '', "$name: marks have enough contrast");
}

# ---- the report respects the rights of its reader ----
$server->query(q{CREATE ROLE reader; CREATE ROLE stranger; SELECT grant_model('plain', 'reader')});
my $read = $server->query(q{SET ROLE reader; SELECT report('plain')});
$read =~ s/^SET\n//;
is(join("\n", faults($read)), '', 'a reader has a page');
like($read, qr/only the owner of the model sees them/, 'the page of a reader has no checks');
unlike($read, qr/id="step-|id="check-/, 'the page of a reader has no training steps');
like($read, qr/id="rules">\n<h2>Rules<\/h2>\n<p class="note">[^<]*permission denied for table points/, 'the page of a reader says why it has no rules') if $page{plain} !~ /not there yet/;
unlike($server->query(q{SELECT report('plain', rules => false)}), qr/id="rules"/, 'rules can be left out');
my (undef, undef, $error) = $server->try(q{SET ROLE stranger; SELECT report('plain')});
like($error, qr/model "plain" does not exist/, 'a stranger has no page');

# ---- the page stays small, however many clusters and features there are ----
my $most = 10000;		# elements

sub elements { return scalar(() = ($_[0] =~ s/.*<body>//sr) =~ /<\w/g) }

for my $size ([3, 2], [30, 40], [300, 784], [300, 2], [3, 784])
{
	my ($k, $d) = @$size;
	$server->query("SET client_min_messages = warning; CREATE TABLE t AS SELECT * FROM wide(600, $k, $d); SELECT train('$k of $d', 't', 'x', $k, options => '{\"iterations\": 0}'); DROP TABLE t");
	$page{"$k of $d"} = page("$k of $d");
	cmp_ok(elements($page{"$k of $d"}), '<', $most, "$k clusters of $d features: the page has few elements");
	cmp_ok(length $page{"$k of $d"}, '<', 60 * $most, "$k clusters of $d features: the page has few bytes");
}

# ---- a browser ----
my ($chromium) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") } split /:/, $ENV{PATH};
SKIP:
{
	skip 'no chromium', 1 if !$chromium;
	my $folder = tempdir(CLEANUP => 1);
	for my $name (sort keys %page)
	{
		my %found = opened($folder, $page{$name}, 375, 1400);
		is($found{console}, '', "$name: the console has no message");
		for my $width (375, 1400)
		{
			cmp_ok($found{$width}{wide} // 1e9, '<=', $width, "$name at $width: the page fits the width");
			is($found{$width}{elements}, elements($page{$name}), "$name at $width: the browser has all elements that were written");
		}
	}
}

# Opens the page in frames of these widths. Returns the messages on the console, and for each
# frame the width of the page and the elements of its body.
sub opened
{
	my ($folder, $html, @widths) = @_;
	put("$folder/page.html", $html);
	put("$folder/frame.html", <<HTML);
<!DOCTYPE html><title>frame</title><output id="o"></output>
<script>
for (const width of [@{[join ', ', @widths]}]) {
	const f = document.createElement('iframe');
	f.style = 'height: 3000px; border: 0; width: ' + width + 'px';
	f.onload = () => {
		const wide = f.contentDocument.documentElement.scrollWidth;
		document.getElementById('o').textContent += width + ':wide=' + wide + ' ' + width + ':elements=' + f.contentDocument.body.querySelectorAll('*').length + ' ';
	};
	f.src = 'page.html';
	document.body.append(f);
}
</script>
HTML
	my $output = qx('$chromium' --headless --no-sandbox --disable-gpu --allow-file-access-from-files --user-data-dir='$folder/profile' --enable-logging=stderr --window-size=1500,3000 --dump-dom 'file://$folder/frame.html' 2>'$folder/log');
	my %found;
	$found{$1}{$2} = $3 while $output =~ /(\d+):(wide|elements)=(\d+)/g;
	open my $log, '<', "$folder/log" or die $!;
	$found{console} = join '', grep { /CONSOLE/ } <$log>;
	return %found;
}

sub put
{
	my ($path, $text) = @_;
	open my $file, '>', $path or die "$path: $!";
	print $file $text;
	close $file;
}

done_testing();

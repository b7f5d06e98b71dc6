# Pages - runs the SQL of a page of docs and compares its output with the output that the page
# shows. A block ```sql runs; a block with a further word (```sql cron) runs where that extension
# exists. The block ```output after it is what psql prints. ```sql cleanup removes what the page
# made. make docs-outputs writes the outputs into the pages.
package Pages;

use strict;
use warnings;
use utf8;
use Exporter qw(import);
use File::Basename qw(basename dirname);

our @EXPORT_OK = qw(read_file page_paths script run_page differences);

my $root = dirname(__FILE__) . '/../..';
my $block = qr/^```sql(?: (\w+))?\n(.*?)^```\n(?:\n^```output\n(.*?)^```\n)?/ms;
my ($most_lines, $most_columns) = (12, 150);		# of a result that a page shows

sub read_file
{
	my ($path) = @_;
	open my $file, '<:encoding(UTF-8)', $path or die "$path: $!";
	local $/;
	return <$file>;
}

sub page_paths { return map { basename($_, '.md') => $_ } "$root/README.md", sort glob "$root/docs/*.md" }

# Returns the SQL of a text, of the plain kind and the given others.
sub script
{
	my ($text, @kinds) = @_;
	my $sql = '';
	while ($text =~ /$block/g)
	{
		my ($kind, $part) = ($1 // '', $2);
		$sql .= "\\echo =====\n$part\n" if $kind eq '' || grep { $_ eq $kind } @kinds;
	}
	$sql =~ s/\$__timeFilter\((\w+)\)/$1 > now() - interval '30 days'/g;		# replaced as Grafana would
	return $sql;
}

# Runs a script, after a prologue, as a reader would paste it. Returns what each block prints, as
# the page shows it, and then the messages.
sub run_page
{
	my ($sql, $psql, $database, $before) = @_;
	my $name = "/tmp/page.$$";
	open my $file, '>:encoding(UTF-8)', "$name.sql" or die $!;
	print $file "SET client_min_messages = warning;\n", $before // '', $sql;
	close $file;
	open my $out, '-|:encoding(UTF-8)', "$psql -X -q -f $name.sql -d $database 2>$name.err" or die $!;
	my $output = do { local $/; <$out> } // '';
	close $out;
	my $messages = read_file("$name.err");
	unlink "$name.sql", "$name.err";
	my (undef, @outputs) = split /^=====\n/m, $output, -1;
	return ([map { shown($_) } @outputs], $messages);
}

# Returns an output without trailing blanks and empty results, each result cut to what a reader
# looks at.
sub shown
{
	my ($output) = @_;
	$output =~ s/[ \t]+$//gm;
	$output =~ s/^ *\S+\n-+\n\n+\(1 row\)\n//gm;
	my @shown;
	for my $result (grep { /\S/ } split /(?<=rows\)\n|row\)\n)\n*|\A\n+/, $output)
	{
		my @lines = map { length > $most_columns ? substr($_, 0, $most_columns - 1) . '…' : $_ } split /\n/, $result;
		splice @lines, $most_lines - 2, @lines - $most_lines + 1, '...' if @lines > $most_lines;
		push @shown, join "\n", @lines, '';
	}
	return join "\n", @shown;
}

# Do two cells differ by more than chance? Words must be equal, numbers within a tenth (or 0.1);
# times may differ.
sub differences
{
	my ($text, $outputs, @kinds) = @_;
	my @differences;
	my @left = @$outputs;
	while ($text =~ /$block/g)
	{
		my ($kind, $expected) = ($1 // '', $3 // '');
		next if $kind ne '' && !grep { $_ eq $kind } @kinds;
		my @is = cells(shift @left // '');
		my @was = cells($expected);
		push @differences, scalar(@was) . ' cells shown, ' . @is . ' printed' if @is != @was;
		push @differences, map { "shown $was[$_], printed $is[$_]" } grep { !agree($was[$_], $is[$_]) } 0 .. ($#is < $#was ? $#is : $#was);
	}
	return @differences;
}

# Returns the cells of results without columns of times taken.
sub cells
{
	my ($output) = @_;
	my (@cells, @timed);
	my @lines = split /\n/, $output;
	for my $i (0 .. $#lines)
	{
		my $ruler = qr/^-+(?:\+-+)*…?$/;
		next if $lines[$i] =~ $ruler;
		my @row = map { s/^\s+|\s+$//gr } split /\|/, $lines[$i], -1;
		pop @row if $lines[$i] =~ /…$/;
		@timed = map { /seconds|_at$|^(?:at|time)$|latency|bytes/ ? 1 : 0 } @row if $i < $#lines && $lines[$i + 1] =~ $ruler;
		push @cells, map { $timed[$_] && $row[$_] ne '' ? 'time' : split ' ', $row[$_] } 0 .. $#row;
	}
	return @cells;
}

sub agree
{
	my ($was, $is) = @_;
	my $number = qr/[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/;
	return 1 if $was eq $is || ($was =~ /^\d+:\d\d:\d\d/ && $is =~ /^\d+:\d\d:\d\d/);
	return 0 if $was =~ s/$number/#/gr ne $is =~ s/$number/#/gr;
	my @was = $was =~ /$number/g;
	my @is = $is =~ /$number/g;
	return !grep { abs($was[$_] - $is[$_]) > 0.1 + 0.1 * abs $was[$_] } 0 .. $#was;
}

# Writes the printed outputs into the named pages, or all of them, each page in a database of its
# own.
sub write_outputs
{
	my ($psql, @names) = @_;
	my %path = page_paths();
	my @kinds = grep { `$psql -XAtc "SELECT 1 FROM pg_available_extensions WHERE name = '$_'"` =~ /1/ } 'vector';
	for my $name (@names ? @names : sort keys %path)
	{
		my $text = read_file($path{$name});
		next if script($text, @kinds) eq '';
		system("$psql -Xqc 'CREATE DATABASE \"$name\"'") == 0 or die;
		my ($outputs, $messages) = run_page(script($text, @kinds), $psql, $name);
		print "$name: $messages\n" if $messages ne '';
		my @left = @$outputs;
		$text =~ s{$block}{
			my ($kind, $sql, $old) = ($1, $2, $3);
			my $new = !defined $kind || grep({ $_ eq $kind } @kinds) ? shift @left // '' : $old // '';
			'```sql' . (defined $kind ? " $kind" : '') . "\n$sql```\n" . ($new eq '' ? '' : "\n```output\n$new```\n")}ge;
		open my $file, '>:encoding(UTF-8)', $path{$name} or die $!;
		print $file $text;
		close $file;
	}
}

1;

#!/usr/bin/perl
# meta.pl [DIRECTORY]: checks that META.json has the fields of PGXN's specification 1.0.0, among them
# resources, that the control file, the change log, SECURITY.md and the packages have the same
# version, and SECURITY.md and Debian's files the same maintainer. Prints each error; status 1 if
# there is one.
use strict;
use warnings;

use JSON::PP;

my $root = shift // '.';
my @wrong;

sub slurp { my ($name) = @_; open(my $file, '<', "$root/$name") or die "$root/$name: $!\n"; local $/; return <$file>; }

my $meta = eval { decode_json(slurp('META.json')) } or die "META.json: $@";
my ($version) = slurp('fastclust.control') =~ /^default_version = '([^']+)'/m;
my ($packaged) = slurp('debian/changelog') =~ /\Afastclust \(([^-)]+)-/;

for my $field (qw(name version abstract maintainer license provides meta-spec))
{
	push @wrong, "META.json: no $field" if !$meta->{$field};
}
push @wrong, "META.json: version $meta->{version} is not three numbers" if $meta->{version} !~ /^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/;
my ($mail) = ($meta->{maintainer} // '') =~ /<([^<>@\s]+@[^<>@\s]+)>$/;
my ($resources, $url) = ($meta->{resources} // {}, qr{^https?://[\w.-]+(?:/[\w./~-]*)?$});
my ($bugs, $code) = map { $resources->{$_} // {} } qw(bugtracker repository);
my %address = ('homepage' => $resources->{homepage}, 'bugtracker web' => $bugs->{web}, 'repository url' => $code->{url}, 'repository web' => $code->{web});
push @wrong, map { "META.json: resources have no $_ that is an address" } grep { ($address{$_} // '') !~ $url } sort keys %address;
push @wrong, "META.json: repository type is not lower case" if ($code->{type} // '') !~ /^[a-z]+$/;
push @wrong, "META.json: maintainer has no mail address" if !defined $mail;
push @wrong, "META.json: the mail address of the bugtracker is not the maintainer's" if ($bugs->{mailto} // '') ne ($mail // '');
push @wrong, "SECURITY.md does not name the maintainer's mail address" if index(slurp('SECURITY.md'), $mail // '') < 0;
push @wrong, "SECURITY.md does not name version $version" if slurp('SECURITY.md') !~ /^\| \Q@{[$version =~ s{\.\d+$}{}r]}\E /m;
push @wrong, 'META.json: version of the specification' if ($meta->{'meta-spec'}{version} // '') ne '1.0.0';
for my $extension (sort keys %{ $meta->{provides} })
{
	my $provided = $meta->{provides}{$extension};
	push @wrong, "META.json: $extension provides no $_" for grep { !$provided->{$_} } qw(file version);
	push @wrong, "META.json: no file $_" for grep { defined && !-e "$root/$_" } @$provided{qw(file docfile)};
	push @wrong, "META.json: $extension has version $provided->{version}, the control file $version" if $provided->{version} ne $version;
}
push @wrong, "META.json has version $meta->{version}, the control file $version" if $meta->{version} ne $version;
push @wrong, "debian/changelog has version $packaged, the control file $version" if $packaged ne $version;
push @wrong, "CHANGELOG.md has no entry of $version" if slurp('CHANGELOG.md') !~ /^## \Q$version\E /m;
push @wrong, "packaging/fastclust.spec does not name $version" if slurp('packaging/fastclust.spec') !~ /^Version:\s+\Q$version\E$/m;
for my $file (qw(debian/control.in debian/control debian/changelog))
{
	my ($maintainer) = slurp($file) =~ /^(?:Maintainer:| --) (.*?)(?:  |$)/m;
	push @wrong, "$file has maintainer $maintainer, META.json @{[$meta->{maintainer} // 'none']}" if $maintainer ne ($meta->{maintainer} // "");
}
print "$_\n" for @wrong;
exit(@wrong ? 1 : 0);

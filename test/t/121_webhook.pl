# The program of docs/webhook.py posts each alarm of drift once, in order: it survives alarms that
# it cannot see, a webhook that fails, and a server that restarts.
use FastclustTest;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

my $root = dirname(__FILE__) . '/../..';
my ($python) = grep { -x $_ } '/usr/bin/python3', '/usr/local/bin/python3';
sub has_module { return defined $python && system("$python -c 'import $_[0]' 2>/dev/null") == 0 }
my @drivers = grep { has_module($_) } 'psycopg2', 'psycopg';
plan(skip_all => 'neither psycopg2 nor psycopg is installed') if !@drivers;

my $directory = tempdir(CLEANUP => 1);
my @children;
END { my $status = $?; kill 'KILL', @children if @children; $? = $status; }

sub slurp { my ($name) = @_; open my $file, '<', "$directory/$name" or return ''; local $/; return <$file> // ''; }

sub start
{
	my ($errors, @command) = @_;
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		open STDERR, '>>', "$directory/$errors";
		open STDOUT, '>&', \*STDERR;
		@children = ();
		exec @command or POSIX::_exit(127);
	}
	push @children, $pid;
	return $pid;
}

sub touch
{
	my ($name, $text) = @_;
	open my $file, '>', "$directory/$name" or die $!;
	print $file $text // '';
	close $file;
}

sub stop { my ($pid) = @_; kill 'TERM', $pid; waitpid $pid, 0; @children = grep { $_ != $pid } @children; }
sub runs { my ($pid) = @_; return waitpid($pid, WNOHANG) == 0 }

sub wait_until
{
	my ($what) = @_;
	for (1 .. 600) { return 1 if $what->(); sleep 0.1; }
	return 0;
}

# ---- a webhook on the loopback interface, which refuses while the file "refuse" exists ----
open my $hook, '>', "$directory/hook.py" or die $!;
print $hook <<'PY';
import http.server, os, sys
directory = sys.argv[1]
class Hook(http.server.BaseHTTPRequestHandler):
    refusals = 0
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        if os.path.exists(directory + '/redirect'):
            with open(directory + '/redirected', 'a') as file:
                file.write(body + '\n')
            self.send_response(302)
            self.send_header('Location', '/elsewhere')
            self.end_headers()
            return
        refuse = os.path.exists(directory + '/refuse')
        with open(directory + ('/refused' if refuse else '/posted'), 'a') as file:
            file.write(body + '\n')
        Hook.refusals = Hook.refusals + 1 if refuse else 0
        if Hook.refusals % 2 == 0 and refuse:       # each second refusal is no valid HTTP
            self.wfile.write(b'what is this?\r\n')
            self.close_connection = True
            return
        self.send_response(503 if refuse else 204)
        self.end_headers()
    def do_GET(self):       # a redirected POST would arrive there without its body
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Hook)
with open(directory + '/port.new', 'w') as file:
    file.write(str(server.server_port))
os.rename(directory + '/port.new', directory + '/port')
server.serve_forever()
PY
close $hook or die $!;
start('hook.log', $python, "$directory/hook.py", $directory);
wait_until(sub { -s "$directory/port" }) or BAIL_OUT('the webhook does not start: ' . slurp('hook.log'));
my $url = 'http://127.0.0.1:' . slurp('port') . '/drift';

# ---- models of two roles, and rows that have changed since their training ----
my $server = FastclustTest->new(extension => 1);
$server->query('CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON SCHEMA public TO alice, bob;');
for my $role (qw(alice bob))
{
	$server->query(<<"SQL");
SET SESSION AUTHORIZATION $role;
CREATE TABLE rows_of_$role AS SELECT i % 3 * 10 + sin(i) AS a, i % 2 * 5 + cos(i) AS b FROM generate_series(1, 2000) i;
SELECT train('model of $role', 'rows_of_$role', '{a,b}', 3, options => '{"quiet": true}');
UPDATE rows_of_$role SET a = a + 20;
SQL
}

# Returns the id of the alarm that a check raises, or its error.
sub alarm_of
{
	my ($role) = @_;
	return $server->query("SET SESSION AUTHORIZATION $role; SELECT verdict FROM check_drift(); SELECT max(id) FROM drift_log;") =~ s/^drifted\n//r;
}
sub posted { return map { decode_json($_)->{id} } split /\n/, slurp('posted') }
sub is_posted { my ($id) = @_; return wait_until(sub { grep { $_ eq $id } posted() }) }

for my $driver (@drivers)
{
	# Hides the other driver, so that the program takes this one.
	my $hidden = $driver eq 'psycopg' ? "import sys; sys.modules['psycopg2'] = None; " : '';
	my $log = "$driver.log";
	my @expected;
	unlink map { "$directory/$_" } 'posted', 'refused', 'state';

	my $before = alarm_of('alice');
	local $ENV{PGUSER} = 'alice';
	my $program = sub { return start($log, $python, '-c', "${hidden}import sys, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')", "$root/docs/webhook.py", $url, "$directory/state") };
	my $pid = $program->();
	$ENV{PGUSER} = 'postgres';
	ok(wait_until(sub { -s "$directory/state" }), "$driver: the program listens") or diag(slurp($log));

	my $strange = alarm_of('bob');
	push @expected, my $own = alarm_of('alice');
	ok(is_posted($own), "$driver: an alarm is posted after one of a role whose models the program cannot see (alarms $strange and $own)") or diag(slurp($log));
	my $body = (map { decode_json($_) } split /\n/, slurp('posted'))[0];
	is("$body->{model}, $body->{verdict}, $body->{columns}[0]{name}", 'model of alice, drifted, a', "$driver: the posted alarm is the row of drift_log");

	touch('refuse');
	push @expected, alarm_of('alice'), alarm_of('alice');
	ok(wait_until(sub { (() = slurp('refused') =~ /\n/g) >= 3 }), "$driver: refused alarms are tried again");
	ok(runs($pid), "$driver: a webhook that fails does not end the program");
	unlink "$directory/refuse";
	ok(is_posted($_), "$driver: alarm $_ is posted once the webhook answers") for @expected[1, 2];

	touch('redirect');
	push @expected, my $redirected = alarm_of('alice');
	ok(wait_until(sub { (() = slurp('redirected') =~ /\n/g) >= 2 }), "$driver: a redirected alarm is tried again");
	unlink "$directory/redirect", "$directory/redirected";
	ok(is_posted($redirected), "$driver: a redirected alarm is posted once the webhook takes it");

	mkdir "$directory/state.new" or die $!;		# so that the file of the state cannot be written
	push @expected, alarm_of('alice');
	ok(is_posted($expected[-1]), "$driver: an alarm is posted although the state cannot be written");
	ok(wait_until(sub { slurp($log) =~ /state cannot be written/ }), "$driver: the program says that it cannot write its state") or diag(slurp($log));
	push @expected, alarm_of('alice');
	ok(is_posted($expected[-1]) && runs($pid), "$driver: the program goes on and posts the next alarm");
	rmdir "$directory/state.new" or die $!;
	ok(wait_until(sub { grep { $_ == $expected[-1] } @{(decode_json(slurp('state') || '{}')->{posted} || [])} }), "$driver: the program writes its state once it can") or diag(slurp('state'));

	$server->restart;
	push @expected, my $during = alarm_of('alice');
	ok(is_posted($during), "$driver: an alarm raised while the server restarts, before the program has connected, is posted") or diag(slurp($log));
	like(slurp($log), qr/cannot be read/, "$driver: the program says that the server was away");
	sleep 0.5;
	push @expected, my $later = alarm_of('alice');
	my $started = time;
	ok(is_posted($later), "$driver: a later alarm is posted, because the program listens again");
	cmp_ok(time - $started, '<', 20, "$driver: it is posted at once, not after the minute of a poll");
	ok(runs($pid), "$driver: the program goes on");

	# A program that stops between a POST and writing its state would post that alarm again.
	ok(wait_until(sub { grep { $_ == $later } @{(decode_json(slurp('state') || '{}')->{posted} || [])} }), "$driver: the state has what was posted") or diag(slurp('state'));
	stop($pid);
	push @expected, alarm_of('alice');
	rename "$directory/state", "$directory/state.good" or die $!;
	touch('state', '{"after": ');
	local $ENV{PGUSER} = 'alice';
	$pid = $program->();
	$ENV{PGUSER} = 'postgres';
	ok(wait_until(sub { slurp($log) =~ /state cannot be read/ }), "$driver: the program says that its state is no JSON") or diag(slurp($log));
	ok(runs($pid) && !grep({ $_ eq $expected[-1] } posted()), "$driver: nothing is posted before the state is repaired");
	rename "$directory/state.good", "$directory/state" or die $!;
	ok(is_posted($expected[-1]), "$driver: alarms raised while the program did not run are posted when it starts");
	is(join(' ', posted()), join(' ', @expected), "$driver: each alarm was posted once, in order, without $before from before the first start");
	stop($pid);
}

done_testing();

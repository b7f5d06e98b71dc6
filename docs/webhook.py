#!/usr/bin/python3
"""Posts each alarm of fastclust's check_drift to a webhook.

Usage: webhook.py URL [STATE]

The program connects as libpq does (PGHOST, PGDATABASE, PGUSER, PGPASSFILE), with psycopg2 or psycopg 3.  STATE is a file
that remembers which alarms were posted, by default fastclust-webhook.json in the current directory.  The notification only
wakes the program up: it reads drift_log whenever it connects, hears something, or has waited a minute.  An alarm counts as
posted when the webhook answers with a status below 300.  A redirect is a failure, because it would lose the body.  If STATE
cannot be written, the program remembers its alarms as long as it runs; one may be posted twice if it is killed before.
"""
import http.client, json, os, select, sys, time, urllib.request

try:
    import psycopg2 as driver
except ImportError:
    import psycopg as driver

WAIT = 60           # seconds after which drift_log is read without a notification
SHORTEST = 1        # seconds to wait after a failure; doubled at each further one
LONGEST = 60        # maximum of that
REMEMBERED = 1000   # alarms; an earlier id may be committed after a later one


def log(*words):
    print(*words, file=sys.stderr, flush=True)


class StateError(Exception):
    pass


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None     # an HTTPError, as for other statuses from 300 on


opener = urllib.request.build_opener(NoRedirects)


def read_state(path):
    try:
        with open(path) as file:
            state = json.load(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StateError(error)
    if not isinstance(state, dict) or not isinstance(state.get('after'), int) or not isinstance(state.get('posted'), list):
        raise StateError('it is not a state of this program')
    return state


def write_state(path, state):
    with open(path + '.new', 'w') as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + '.new', path)


def connect(heard):
    """Returns a connection that listens, and appends to `heard` what it hears."""
    connection = driver.connect('')
    connection.autocommit = True
    connection.cursor().execute('LISTEN fastclust_drift')
    if hasattr(connection, 'add_notify_handler'):
        connection.add_notify_handler(heard.append)
    else:
        connection.notifies = heard
    return connection


class Memory:
    """The alarms that were posted: `posted`, and all up to the id `after`.  A copy is in a file."""

    def __init__(self, path):
        self.path = path
        self.state = None       # before the first reading
        self.written = False

    def save(self):
        """Returns whether the file has the state."""
        try:
            if not self.written:
                write_state(self.path, self.state)
            self.written = True
        except OSError as error:
            log('%s cannot be written: %s' % (self.path, error))
        return self.written

    def open(self, newest):
        if self.state is None:
            self.state = read_state(self.path)
            self.written = self.state is not None
        if self.state is None or self.state['after'] > newest:      # at the first start, what happened before is no news;
            self.state = {'after': newest, 'posted': []}            # another database, or models were dropped
            self.written = False

    def add(self, number, forget):
        posted = sorted(self.state['posted'] + [number])
        if forget and len(posted) > REMEMBERED:
            self.state = {'after': posted[-REMEMBERED - 1], 'posted': posted[-REMEMBERED:]}
        else:
            self.state['posted'] = posted
        self.written = False


def open_alarms(connection, memory):
    """Returns the rows of alarms that were not posted, oldest first."""
    cursor = connection.cursor()
    cursor.execute('SELECT coalesce(max(id), 0) FROM fastclust.drift_log')
    memory.open(cursor.fetchone()[0])
    cursor.execute("SELECT id, to_json(d)::text FROM fastclust.drift_log d"
                   " WHERE verdict = 'drifted' AND id > %s AND id <> ALL (%s::bigint[]) ORDER BY id",
                   (memory.state['after'], memory.state['posted']))
    return cursor.fetchall()


def post(url, body):
    request = urllib.request.Request(url, body.encode(), {'Content-Type': 'application/json'})
    with opener.open(request, timeout=10):
        pass


def post_alarms(connection, url, memory):
    """Posts what is open, and returns whether all of it was accepted and noted."""
    alarms = open_alarms(connection, memory)
    accepted = True
    memory.save()
    for number, body in alarms:
        try:
            post(url, body)
        except (OSError, http.client.HTTPException) as error:   # the others may be accepted
            log('alarm %d is not posted yet: %s' % (number, error))
            accepted = False
            continue
        memory.add(number, accepted)
        memory.save()
    return accepted and memory.save()


def main(url, path='fastclust-webhook.json'):
    connection = None
    memory = Memory(path)
    pause = SHORTEST
    heard = []
    while True:
        try:
            connection = connection or connect(heard)
            heard.clear()
            accepted = post_alarms(connection, url, memory)
            if accepted:
                pause = SHORTEST
            if not accepted:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST)
            elif not heard:
                select.select([connection], [], [], WAIT)
        except StateError as error:     # nothing is posted before it is known what was posted
            log('%s cannot be read: %s; no alarm is posted until it is mended or removed' % (path, error))
            time.sleep(pause)
            pause = min(2 * pause, LONGEST)
        except driver.Error as error:           # the server is away: connect again
            log('drift_log cannot be read: %s' % str(error).strip())
            try:
                connection and connection.close()
            except driver.Error:
                pass
            connection = None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST)


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3) or not sys.argv[1].startswith(('http://', 'https://')):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass

#!/usr/bin/python3
"""Posts each alarm of fastclust's check_drift to a webhook.

Usage: webhook.py URL [STATE]

The program connects as libpq does (PGHOST, PGDATABASE, PGUSER, PGPASSFILE), with psycopg2 or psycopg 3.  STATE is a file
that remembers which alarms were posted, by default fastclust-webhook.json in the current directory.  The notification only
wakes the program up: it reads drift_log whenever it connects, hears something, or has waited a minute.  An alarm counts as
posted when the webhook answers with a status below 300; one may be posted twice if the program is killed at that moment.
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


def read_state(path):
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


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


def open_alarms(connection, path):
    """Returns the state, and the rows of alarms that were not posted, oldest first."""
    cursor = connection.cursor()
    cursor.execute('SELECT coalesce(max(id), 0) FROM fastclust.drift_log')
    newest = cursor.fetchone()[0]
    state = read_state(path)
    if state is None:       # at the first start, what happened before is no news
        state = {'after': newest, 'posted': []}
        write_state(path, state)
    if state['after'] > newest:     # another database, or models were dropped
        state = {'after': newest, 'posted': []}
    cursor.execute("SELECT id, to_json(d)::text FROM fastclust.drift_log d"
                   " WHERE verdict = 'drifted' AND id > %s AND id <> ALL (%s::bigint[]) ORDER BY id",
                   (state['after'], state['posted']))
    return state, cursor.fetchall()


def post(url, body):
    request = urllib.request.Request(url, body.encode(), {'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=10):
        pass


def post_alarms(connection, url, path):
    """Posts what is open, and returns whether all of it was accepted."""
    state, alarms = open_alarms(connection, path)
    accepted = True
    for number, body in alarms:
        try:
            post(url, body)
        except (OSError, http.client.HTTPException) as error:   # the others may be accepted
            log('alarm %d is not posted yet: %s' % (number, error))
            accepted = False
            continue
        state['posted'].append(number)
        if accepted and len(state['posted']) > REMEMBERED:
            forgotten = sorted(state['posted'])[:-REMEMBERED]
            state = {'after': forgotten[-1], 'posted': sorted(state['posted'])[-REMEMBERED:]}
        write_state(path, state)
    return accepted


def main(url, path='fastclust-webhook.json'):
    connection = None
    pause = SHORTEST
    heard = []
    while True:
        try:
            connection = connection or connect(heard)
            heard.clear()
            accepted = post_alarms(connection, url, path)
            if accepted:
                pause = SHORTEST
            if not accepted:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST)
            elif not heard:
                select.select([connection], [], [], WAIT)
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

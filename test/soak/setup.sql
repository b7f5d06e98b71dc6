-- setup.sql: objects that random calls use: roles, rows, and relations of every kind.

CREATE ROLE soak_plain LOGIN;
CREATE ROLE soak_other LOGIN;
CREATE ROLE "soak ""odd" LOGIN;
CREATE SCHEMA soak;
GRANT USAGE, CREATE ON SCHEMA soak TO PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA soak GRANT SELECT ON TABLES TO PUBLIC;

-- Rows around four centers of a lattice. Their noise is a hash, so that they are always the same.
CREATE FUNCTION soak.noise(a bigint, b bigint) RETURNS double precision LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(a, b) & 65535) / 65536.0';
CREATE TABLE soak.rows AS
    SELECT i, d, i % 4 AS g, 0.5 + soak.noise(i, 77) AS w,
           (SELECT array_agg(round((10 * soak.noise(i % 4, j) + soak.noise(i, j))::numeric, 4)::float8 ORDER BY j) FROM generate_series(1, d) j) AS x
      FROM unnest('{1,2,3,5,16,40}'::int[]) d, generate_series(1, 300) i ORDER BY d, i;

-- Vectors that are stored compressed, out of line, or with a short header.
CREATE TABLE soak.vectors AS
    SELECT row_number() OVER () AS i, d, array_fill(v, ARRAY[d])::float8[] AS "double precision[]", array_fill(v, ARRAY[d])::real[] AS "real[]",
           array_fill(v, ARRAY[d])::int[] AS "integer[]", array_fill(v, ARRAY[d])::numeric[] AS "numeric[]"
      FROM unnest('{1,2,3,5,16,40,1000,5000,16000}'::int[]) d, unnest('{0,1,7}'::int[]) v;
CREATE TABLE soak.outside (LIKE soak.vectors);
DO $$
DECLARE
    c name;
BEGIN
    FOREACH c IN ARRAY '{double precision[],real[],integer[],numeric[]}'::name[] LOOP
        EXECUTE format('ALTER TABLE soak.outside ALTER %I SET STORAGE EXTERNAL', c);
    END LOOP;
END
$$;
INSERT INTO soak.outside SELECT * FROM soak.vectors;
CREATE FUNCTION soak.expanded(x anyarray) RETURNS anyarray LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF array_ndims(x) = 1 THEN
        x[array_lower(x, 1)] := x[array_lower(x, 1)];
    END IF;
    RETURN x;
END
$$;

-- Tables of every kind to train on.
CREATE TABLE soak.points AS
    SELECT i::bigint AS id, 'g' || g AS g, x::real[] AS x, x AS y, x[1] AS a, x[2] AS b, i AS c, x[1]::numeric AS n, w
      FROM soak.rows WHERE d = 2 AND i <= 200;
CREATE TABLE soak.nasty (LIKE soak.points);
INSERT INTO soak.nasty SELECT * FROM soak.points;
UPDATE soak.nasty SET x = '{NaN,1}', a = 'NaN', w = -1 WHERE id = 5;
UPDATE soak.nasty SET x = NULL, b = NULL, g = NULL WHERE id = 6;
UPDATE soak.nasty SET x = '{1,2,3}', a = 'Infinity' WHERE id = 7;
UPDATE soak.nasty SET x = '{3e38,-3e38}', y = '{1e308,-1e308}', n = 'NaN' WHERE id = 8;
CREATE TABLE soak.empty (LIKE soak.points);
CREATE TABLE soak.one AS SELECT * FROM soak.points LIMIT 1;
CREATE TABLE soak.same AS SELECT id, g, '{1,1}'::real[] AS x, '{1,1}'::float8[] AS y, 1::float8 AS a, 1::float8 AS b, 1 AS c, 1::numeric AS n, 1::float8 AS w FROM soak.points;
CREATE TABLE soak."od""d Table" AS SELECT id AS "Id", x AS "x""y", a AS "select", b AS "β" FROM soak.points;
CREATE TABLE soak.parted (LIKE soak.points) PARTITION BY LIST (g);
CREATE TABLE soak.parted_0 PARTITION OF soak.parted FOR VALUES IN ('g0', 'g1');
CREATE TABLE soak.parted_1 PARTITION OF soak.parted DEFAULT;
INSERT INTO soak.parted SELECT * FROM soak.points;
CREATE VIEW soak.seen AS SELECT * FROM soak.points WHERE id % 3 > 0;
CREATE VIEW soak.changing AS SELECT id, g, ARRAY[random(), random()]::real[] AS x, y, random() AS a, b, c, n, w FROM soak.points WHERE random() < 0.9;
CREATE VIEW soak.failing AS SELECT id, g, x, y, 1 / (id - 150) + a AS a, b, c, n, w FROM soak.points;
CREATE MATERIALIZED VIEW soak.kept AS SELECT * FROM soak.points;
CREATE SEQUENCE soak.counter;
CREATE TABLE soak.mine AS SELECT * FROM soak.points;
ALTER TABLE soak.mine OWNER TO soak_plain;
CREATE TABLE soak.private AS SELECT * FROM soak.points;
REVOKE ALL ON soak.private FROM PUBLIC;
ANALYZE;

-- Runs the calls one after another, each in a subtransaction, until the statement times out.
-- Returns the SQLSTATE of each, with the message if it is an internal error or a syntax error.
CREATE FUNCTION soak.try(calls text[]) RETURNS text[] LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    call text;
    states text[] := '{}';
BEGIN
    FOREACH call IN ARRAY calls LOOP
        BEGIN
            EXECUTE call;
            states := states || '00000'::text;
        EXCEPTION
            WHEN query_canceled THEN
                RETURN states || '57014'::text;
            WHEN OTHERS OR assert_failure THEN
                states := states || CASE WHEN SQLSTATE ~ '^(XX|42601|P0004)' THEN SQLSTATE || ' ' || SQLERRM ELSE SQLSTATE END;
        END;
    END LOOP;
    RETURN states;
END
$$;
ALTER FUNCTION soak.try(text[]) RESET ALL;

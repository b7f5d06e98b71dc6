-- Earthquakes on both sides of 180 degrees, in three columns of a place in space: a zone that
-- crosses the antimeridian is one cluster, and scale is in metres.
CREATE SCHEMA of_globe; SET search_path = of_globe, public, fastclust;
CREATE FUNCTION uniform(i integer, salt text) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    $$SELECT ('x' || left(md5(salt || i), 7))::bit(28)::integer / 268435456.0::float8$$;
CREATE TABLE quakes AS
SELECT i AS id, zone, mod((east + shift + 540)::numeric, 360)::float8 - 180 AS longitude, latitude,
       shift
  FROM (SELECT i, CASE WHEN i % 5 > 0 THEN i % 3 END AS zone,
               CASE WHEN i % 5 > 0 THEN (ARRAY[180, 186, 168])[1 + i % 3] + r * cos(2 * pi() * u)
                    ELSE 165 + 25 * u END AS east,
               CASE WHEN i % 5 > 0 THEN (ARRAY[-18, -21, -15])[1 + i % 3] + r * sin(2 * pi() * u)
                    ELSE -30 + 20 * v END AS latitude
          FROM (SELECT i, u, v, 0.6 * sqrt(-2 * ln(1 - v)) AS r
                  FROM generate_series(1, 6000) i, uniform(i, 'u') u, uniform(i, 'v') v) n) q,
       unnest('{0,180,100}'::float8[]) shift;
ANALYZE quakes;
-- The earth is turned by 0, 100 and 180 degrees. The last turn moves the zones from the antimeridian
-- to Greenwich. The labels are the same.
CREATE VIEW on_the_globe AS
SELECT *, 6371000 * cos(radians(latitude)) * cos(radians(longitude)) AS x,
       6371000 * cos(radians(latitude)) * sin(radians(longitude)) AS y,
       6371000 * sin(radians(latitude)) AS z
  FROM quakes;
SELECT shift, min(longitude) < -179 AND max(longitude) > 179 AS crosses_180
  FROM quakes WHERE zone = 0 GROUP BY 1 ORDER BY 1;
SELECT train(format('at %s', shift), 'on_the_globe', '{x,y,z}', method => 'density',
             options => jsonb_build_object('scale', 50000, 'min_cluster_rows', 40, 'standardize',
                                           false, 'quiet', true, 'where',
                                           format('shift = %s', shift)))
  FROM unnest('{0,180,100}'::float8[]) shift;
SELECT model, k FROM models WHERE model LIKE 'at %' ORDER BY 1;
CREATE TABLE labels AS
SELECT g.id, g.zone, g.shift, predict(format('at %s', g.shift), g) AS label FROM on_the_globe g;
SELECT shift, count(*) FILTER (WHERE zone IS NOT NULL AND n > 1) AS divided_zones
  FROM (SELECT l.*, count(*) OVER (PARTITION BY shift, zone) AS n
          FROM (SELECT shift, zone, label FROM labels
                 GROUP BY 1, 2, 3 HAVING count(*) > 80 AND label IS NOT NULL) l) q
 GROUP BY 1 ORDER BY 1;
SELECT l.shift,
       round(adjusted_rand_agg(COALESCE(m.label, -1), COALESCE(l.label, -1))::numeric, 3) > 0.98
           AS agree
  FROM labels m JOIN labels l USING (id) WHERE m.shift = 0 GROUP BY 1 ORDER BY 1;
-- The rows near the antimeridian are in one zone on both sides.
SELECT longitude < 0 AS east_of_180, count(DISTINCT label) AS zones, min(label) = max(label) AS one,
       count(*) > 100 AS many
  FROM labels JOIN quakes q USING (id, shift)
 WHERE shift = 0 AND abs(longitude) > 179.7 AND q.zone = 0 GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT label) AS zones_on_both_sides FROM labels JOIN quakes q USING (id, shift)
 WHERE shift = 0 AND abs(longitude) > 179.7 AND q.zone = 0;
-- In degrees, the antimeridian divides the zone.
SELECT train('degrees', 'quakes', '{longitude,latitude}', method => 'density',
             options => '{"scale": 0.5, "min_cluster_rows": 40, "standardize": false,
                          "quiet": true, "where": "shift = 0"}');
SELECT count(DISTINCT predict('degrees', q)) AS clusters FROM quakes q WHERE zone = 0 AND shift = 0;
SELECT count(drop_model(model)) FROM models WHERE model LIKE 'at %' OR model = 'degrees';
DROP SCHEMA of_globe CASCADE;

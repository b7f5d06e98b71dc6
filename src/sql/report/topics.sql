
-- Topics: clusters named by the words of a text column

-- Ranks words by class-based TF-IDF (Grootendorst 2022, BERTopic), which is p * log(1 + m / f). f
-- is the number of times that a word occurs in all texts, p its share of the words of a cluster,
-- and m the mean number of words per cluster. Words are tokens for which the configuration has a
-- lexeme, and are shown in their most frequent form. Also returns the texts nearest to each
-- centroid.
CREATE FUNCTION fastclust.name_topics(model text, text_column name, words integer DEFAULT 5,
        group_value anycompatible DEFAULT NULL, bigrams boolean DEFAULT false,
        configuration regconfig DEFAULT NULL, OUT cluster integer, OUT name text,
        OUT top_words text[], OUT texts text[])
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
    scanned regclass := scanned_relation(stored, version, NULL, stored.group_by);
    source record := version_query(version, scanned, stored.group_by,
                                   greatest(20000, 200 * clusters(version.operator)));
    used regconfig := COALESCE($6, get_current_ts_config());
    type regtype := (SELECT max(a.atttypid) FROM pg_attribute a
                      WHERE a.attrelid = scanned
                        AND a.attname = $2
                        AND a.attnum > 0
                        AND NOT a.attisdropped);
    named integer[] := ARRAY(SELECT g.cluster FROM given_names(version) g);
    found jsonb := '[]';
    one record;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'text_column must not be NULL';
    ELSIF type IS NULL OR EXISTS (SELECT FROM pg_type t WHERE t.oid = type AND t.typcategory <> 'S') THEN
        RAISE EXCEPTION USING
            ERRCODE = CASE WHEN type IS NULL THEN 'undefined_column' ELSE 'datatype_mismatch' END,
            MESSAGE = CASE WHEN type IS NULL
                               THEN format('column "%s" of %s does not exist', $2, scanned)
                           ELSE format('column "%s" of %s is of type %s, not text', $2, scanned,
                                       type) END,
            HINT = COALESCE((SELECT format(
                                        'Columns of text are %s.',
                                        string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum))
                               FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                              WHERE a.attrelid = scanned
                                AND a.attnum > 0
                                AND NOT a.attisdropped
                                AND t.typcategory = 'S'
                             HAVING count(*) > 0),
                            'The table has no columns of text.');
    END IF;
    PERFORM check_stored_scan(stored, version, scanned, version.features || $2, false);
    IF $3 IS NULL OR $3 NOT BETWEEN 1 AND 20 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('words is %s, out of range', COALESCE($3::text, 'NULL')),
            DETAIL = 'Valid values are from 1 to 20.';
    END IF;
    FOR one IN
        EXECUTE format(
                    $query$
        WITH rows AS MATERIALIZED (
                 SELECT row_number() OVER () AS id, q.*,
                        row_number() OVER (
                            PARTITION BY q.cluster ORDER BY q.distance, q.text) AS place
                   FROM (SELECT assign($4, x.x) AS cluster, assign_distance($4, x.x) AS distance,
                                x.text
                           FROM (SELECT %s AS x, t.%I::text AS text %s OFFSET 0) x
                          WHERE x.text IS NOT NULL) q),
             tokens AS MATERIALIZED (
                 SELECT r.id, r.cluster, lower(p.token) AS token, p.i
                   FROM rows r,
                        ts_parse((SELECT c.cfgparser FROM pg_ts_config c WHERE c.oid = $5),
                                 r.text) WITH ORDINALITY p(type, token, i)),
             distinct_tokens AS MATERIALIZED (SELECT DISTINCT t.token FROM tokens t),
             lexemes AS MATERIALIZED (
                 SELECT d.token,
                        CASE WHEN d.token ~ '[[:alpha:]]'
                                 THEN (SELECT min(u.lexeme)
                                         FROM unnest(to_tsvector($5, d.token)) u) END AS lexeme
                   FROM distinct_tokens d
                  WHERE d.token ~ '[[:alnum:]]'),
             kept AS (SELECT t.*, l.lexeme FROM tokens t JOIN lexemes l USING (token)),
             words AS (
                 SELECT k.cluster, k.token, k.lexeme, count(*) AS n
                   FROM kept k
                  WHERE k.lexeme IS NOT NULL
                  GROUP BY 1, 2, 3
                 UNION ALL
                 SELECT k.cluster, concat(k.token, ' ', k.next_token), concat(k.lexeme, ' ', k.next),
                        count(*)
                   FROM (SELECT k.*, lead(k.lexeme) OVER line AS next,
                                lead(k.token) OVER line AS next_token
                           FROM kept k
                         WINDOW line AS (PARTITION BY k.id ORDER BY k.i)) k
                  WHERE $6 AND k.lexeme IS NOT NULL AND k.next IS NOT NULL
                  GROUP BY 1, 2, 3),
             counts AS (
                 SELECT w.cluster, w.lexeme, sum(w.n)::bigint AS n,
                        (array_agg(w.token ORDER BY w.n DESC, w.token))[1] AS word
                   FROM words w
                  GROUP BY 1, 2),
             typical_words AS (
                 SELECT c.cluster, c.word,
                        row_number() OVER (
                            PARTITION BY c.cluster ORDER BY c.n * ln(1 + c.mean / c.f::float8) DESC,
                            c.word) AS place
                   FROM (SELECT c.*, sum(c.n) OVER (PARTITION BY c.lexeme) AS f,
                                sum(c.n) OVER ()::float8 / (
                                    SELECT count(DISTINCT cluster) FROM rows) AS mean
                           FROM counts c) c)
        SELECT c.cluster, w.words, n.texts
          FROM unnest(cluster_numbers($4)) c(cluster)
          LEFT JOIN (SELECT t.cluster, array_agg(t.word ORDER BY t.place) AS words
                       FROM typical_words t WHERE t.place <= $7 GROUP BY 1) w USING (cluster)
          LEFT JOIN (SELECT r.cluster, array_agg(r.text ORDER BY r.place) AS texts
                       FROM rows r WHERE r.place <= 3 GROUP BY 1) n USING (cluster)
         ORDER BY 1$query$,
                    source.x, $2, source.rows)
            USING version.center, version.scale, version.map, version.operator, used,
                  COALESCE($5, false), $3
    LOOP
        IF one.words IS NOT NULL AND NOT COALESCE(one.cluster = ANY (named), false) THEN
            PERFORM name_cluster($1, one.cluster, left(array_to_string(one.words[:3], ', '), 200),
                                 CASE WHEN $4 IS NOT NULL THEN version.group_value END);
        END IF;
        found := found || to_jsonb(one);
    END LOOP;
    RETURN QUERY
    SELECT f.cluster, n.name, f.words, f.texts
      FROM jsonb_to_recordset(found) f(cluster integer, words text[], texts text[])
      LEFT JOIN version_names(version) n USING (cluster)
     ORDER BY 1;
END
$$;
COMMENT ON FUNCTION fastclust.name_topics IS
    'Names the clusters that have no name by their frequent words in a text column. Returns '
    'these words and the texts nearest to the centroids.';

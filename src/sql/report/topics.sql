
-- Topics: clusters named by the words of a text column

-- Returns the n words that distinguish the texts of each cluster, best first. Texts and words are
-- given by their lexemes. If `pairs` is true, pairs of neighbouring lexemes also count as words.
CREATE TYPE fastclust_internal.typical_word AS (cluster integer, place integer, lexemes text[]);
CREATE FUNCTION fastclust_internal.typical_words_accum(internal, integer, tsvector, boolean, integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_typical_words_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.typical_words_final(internal) RETURNS typical_word[]
    AS 'MODULE_PATHNAME', 'fastclust_typical_words_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust_internal.typical_words_agg(cluster integer, lexemes tsvector,
        pairs boolean, n integer) (
    SFUNC = typical_words_accum, STYPE = internal, SSPACE = 65536,
    FINALFUNC = typical_words_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- Shows a step in training_progress, or ends the step if `step` is NULL.
CREATE FUNCTION fastclust_internal.show_step(model_id bigint, model text, step text,
        rows_about double precision)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_show_step' LANGUAGE C;

-- name_topics counts lexemes of the text search configuration that contain a letter. Parallel
-- workers label the rows and find their lexemes, and the leader counts them. A tsvector has at most
-- 1 MB, so long texts are cut. Notices of to_tsvector about long words are not shown.
--
-- A lexeme is shown as its most frequent token in the 50 texts nearest to the centroid. Only these
-- texts are parsed into tokens, because ts_parse takes three times longer than to_tsvector. The
-- three texts nearest to each centroid are returned, too.
CREATE FUNCTION fastclust.name_topics(model text, text_column name, words integer DEFAULT 5,
        group_value anycompatible DEFAULT NULL, bigrams boolean DEFAULT false,
        configuration regconfig DEFAULT NULL, OUT cluster integer, OUT name text,
        OUT top_words text[], OUT texts text[])
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off SET client_min_messages = warning AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
    scanned regclass := scanned_relation(stored, version, NULL, stored.group_by);
    wanted float8 := greatest(20000, 200 * clusters(version.operator));
    source record := version_query(version, scanned, stored.group_by, wanted);
    used regconfig := COALESCE($6, get_current_ts_config());
    type regtype := (SELECT max(a.atttypid) FROM pg_attribute a
                      WHERE a.attrelid = scanned
                        AND a.attname = $2
                        AND a.attnum > 0
                        AND NOT a.attisdropped);
    named integer[] := ARRAY(SELECT g.cluster FROM given_names(version) g);
    found jsonb;
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
    -- version_query samples tables of more than three times the wanted rows
    PERFORM show_step(stored.id, stored.model, 'words',
                      (SELECT CASE WHEN r > 3 * wanted THEN wanted ELSE r END
                         FROM estimated_rows(scanned) r));
    EXECUTE format(
                $query$
        -- LIMIT ALL computes x once, as OFFSET 0 does, but allows workers
        WITH labelled AS MATERIALIZED (
                 SELECT assign($4, x.x) AS cluster, assign_distance($4, x.x) AS distance, x.text,
                        to_tsvector($5, x.text) AS lexemes
                   FROM (SELECT %1$s AS x, %2$s AS text %3$s LIMIT ALL) x),
             typical_words AS MATERIALIZED (
                 SELECT w.*
                   FROM (SELECT typical_words_agg(l.cluster, l.lexemes, $6, $7) AS words
                           FROM labelled l) q, unnest(q.words) w),
             rows AS MATERIALIZED (
                 SELECT *
                   FROM (SELECT l.cluster, l.text, row_number() OVER (
                                    PARTITION BY l.cluster ORDER BY l.distance, l.text) AS place
                           FROM labelled l
                          WHERE l.text IS NOT NULL) r
                  WHERE r.place <= $8),
             tokens AS MATERIALIZED (
                 SELECT p.cluster, lower(p.token) AS token, count(*) AS n
                   FROM (SELECT r.cluster,
                                (ts_parse((SELECT c.cfgparser FROM pg_ts_config c WHERE c.oid = $5),
                                          r.text)).token
                           FROM rows r) p
                  WHERE p.token <> ' '
                  GROUP BY 1, 2),
             forms AS MATERIALIZED (
                 SELECT DISTINCT ON (t.cluster, l.lexeme) t.cluster, l.lexeme, t.token
                   FROM (SELECT d.token, u.lexeme
                           FROM (SELECT DISTINCT token FROM tokens) d,
                                unnest(to_tsvector($5, d.token)) u
                         OFFSET 0) l
                   JOIN tokens t USING (token)
                   JOIN (SELECT DISTINCT w.cluster, unnest(w.lexemes) AS lexeme
                           FROM typical_words w) w USING (cluster, lexeme)
                  ORDER BY 1, 2, t.n DESC, length(t.token), t.token)
        SELECT jsonb_agg(to_jsonb(f) ORDER BY f.cluster)
          FROM (SELECT c.cluster, w.words, n.texts
                  FROM unnest(cluster_numbers($4)) c(cluster)
                  -- a URL is the most frequent token of several lexemes, its path among them
                  LEFT JOIN (SELECT t.cluster, array_agg(t.shown ORDER BY t.place) AS words
                               FROM (SELECT t.cluster, s.shown, min(t.place) AS place
                                       FROM typical_words t,
                                            LATERAL (SELECT string_agg(COALESCE(f.token, l.lexeme), ' ' ORDER BY l.i) AS shown
                                                       FROM unnest(t.lexemes) WITH ORDINALITY l(lexeme, i)
                                                       LEFT JOIN forms f ON f.cluster = t.cluster
                                                                        AND f.lexeme = l.lexeme) s
                                      GROUP BY 1, 2) t
                              GROUP BY 1) w USING (cluster)
                  LEFT JOIN (SELECT r.cluster, array_agg(r.text ORDER BY r.place) AS texts
                               FROM rows r WHERE r.place <= 3 GROUP BY 1) n USING (cluster)) f
        $query$,
                source.x, format('left(t.%I::text, 100000)', $2), source.rows)
        INTO found
        USING version.center, version.scale, version.map, version.operator, used,
              COALESCE($5, false), $3, 50;
    PERFORM show_step(NULL, NULL, NULL, NULL);
    PERFORM fastclust_internal.name_cluster($1, f.cluster,
                                            left(array_to_string(f.words[:3], ', '), 200),
                                            CASE WHEN $4 IS NOT NULL
                                                     THEN version.group_value END)
       FROM jsonb_to_recordset(found) f(cluster integer, words text[])
      WHERE f.words IS NOT NULL
        AND NOT COALESCE(f.cluster = ANY (named), false);
    PERFORM update_names(stored.id);
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


-- Live models: with option live, train also makes a live sketch of the model's rows, which drift
-- and retrain read instead of the rows

-- Raises an error if triggers cannot maintain a live sketch of the table. Called before the
-- training reads any row.
CREATE FUNCTION fastclust_internal.check_live_training(model text, relation regclass,
        features name[], options jsonb)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    requested kept_sketches;
BEGIN
    PERFORM live_bucket_width(relation, options ->> 'group_by', options -> 'live'),
            check_live_isolation(model);
    IF NOT owns_relation(role_id(current_user), relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', relation),
            HINT = 'Only the owner of the table can train a live model, which makes triggers on the table.';
    END IF;
    requested.relation := relation;
    requested.columns := features;
    PERFORM check_live_tables(requested);
    PERFORM check_model_follows(ROW(m.*)::stored_models, $2) FROM readable_models m
     WHERE m.model = $1;
END
$$;

-- Makes a live sketch for a model, which counts rows as the training sketch of the version did.
-- Does nothing if the model has such a live sketch already. If the version was trained with option
-- live false, drops the live sketch of the model instead. Returns a note about a new live sketch,
-- else NULL. A training of method density that reads rows always needs a new live sketch, because
-- it has new micro-clusters.
CREATE FUNCTION fastclust_internal.follow_model(model_id bigint, version integer,
        micro_clusters fastop)
    RETURNS text
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    trained stored_versions;
    requested kept_sketches;
BEGIN
    SELECT v.* INTO trained
      FROM readable_versions v
     WHERE v.model_id = $1 AND v.version = $2
     LIMIT 1;
    IF NOT flag_option(trained.options, 'live', true) THEN
        PERFORM end_model_live(model_id);
        RETURN NULL;
    END IF;
    requested := requested_live(trained.model, trained.relation::regclass, trained.features, trained.vector,
                        trained.spec,
                        jsonb_strip_nulls(
                            jsonb_build_object(
                                'group_by', trained.options ->> 'group_by', 'where',
                                trained.options ->> 'where', 'encoder', trained.encoder::text)
                            || CASE jsonb_typeof(trained.options -> 'live')
                                    WHEN 'object' THEN trained.options -> 'live'
                                    ELSE '{}' END));
    requested.model_id := model_id;
    -- Leave out the counts of micro-clusters if they are larger than the sketch of a micro-cluster,
    -- as is usual with many columns.
    requested.drift_spec := CASE WHEN micro_clusters IS NULL
                                  OR octet_length(trained.drift_counts::text)
                                         <= octet_length(trained.training_sketch::text)
                                 THEN drift_spec_of(trained) END;
    requested.micro_clusters := micro_clusters;
    requested.center := CASE WHEN micro_clusters IS NOT NULL THEN trained.center END;
    requested.scale := CASE WHEN micro_clusters IS NOT NULL THEN trained.scale END;
    requested.micro_options := CASE WHEN micro_clusters IS NOT NULL
                                    THEN jsonb_build_array(
                                             trained.options -> 'micro_clusters',
                                             trained.options -> 'min_cluster_rows') END;
    IF micro_clusters IS NULL
       AND (model_live(model_id)).id IS NOT NULL
       AND (live_of_version(trained)).id IS NOT NULL THEN
        RETURN NULL;
    END IF;
    PERFORM end_model_live(model_id);
    requested.id := (SELECT l.id
                   FROM live_of_rows(requested.relation, requested.features, true, trained.options, true) l
                  WHERE l.spec = requested.spec AND requested.micro_clusters IS NULL
                  LIMIT 1);
    RETURN COALESCE(keep_live(requested) || ' rows', 'already counted');
END
$$;

-- Returns the live sketch from which the next version can be decoded, or NULL if rows have to be
-- read. The caller has checked that no option requires rows (FOR_LIVE in pg/train/options.c).
CREATE FUNCTION fastclust_internal.live_for_retraining(stored stored_models, version stored_versions,
        options jsonb)
    RETURNS kept_sketches
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    scans integer;
BEGIN
    IF version.method IN ('kernel', 'qkmeans')
       OR version.options ?| '{factors,metric,balance,pinned}'
       OR options ? (CASE WHEN version.method = 'density' THEN 'k' ELSE 'noise' END)
       OR options -> 'live' <> 'true' THEN
        RETURN NULL;
    END IF;
    -- If option since is null, it removes the window of the version.
    live := live_of_version(version,
                            NULLIF(COALESCE(options -> 'since', version.options -> 'since'),
                                   'null'));
    scans := COALESCE((version.options ->> 'iterations')::float8::integer, 0);
    IF live.id IS NOT NULL
       AND scans <> 0
       AND version.method = 'compressive'
       AND NOT flag_option(version.options || options, 'quiet') THEN
        RAISE NOTICE USING
            MESSAGE = format('model "%s" is live: its %s scans of about %s rows are left out',
                             version.model, scans, row_count(current_sketch(live.name))),
            HINT = format('To include the scans, use retrain(%L, ''{"iterations": %s}'').', version.model,
                          scans);
    END IF;
    RETURN CASE WHEN live.id IS NOT NULL THEN live END;
END
$$;

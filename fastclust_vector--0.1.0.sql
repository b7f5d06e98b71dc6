\echo Use "CREATE EXTENSION fastclust_vector" to load this file. \quit

-- Each function of fastclust that takes a vector, for vector, halfvec and sparsevec of pgvector, which lies in any schema.  What
-- fastclust has is found first.
DO $$
BEGIN
    -- in the schema of an older pgvector a type of these names is somebody's own, and its bytes are no vector
    IF (SELECT pg_catalog.count(*) FROM pg_catalog.pg_depend d
          JOIN pg_catalog.pg_extension e ON d.refobjid OPERATOR(pg_catalog.=) e.oid JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) d.objid
         WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype OPERATOR(pg_catalog.=) 'e'
           AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.extname OPERATOR(pg_catalog.=) 'vector'
           AND t.typnamespace OPERATOR(pg_catalog.=) e.extnamespace AND t.typname OPERATOR(pg_catalog.=) ANY ('{vector,halfvec,sparsevec}')) OPERATOR(pg_catalog.<) 3 THEN
        RAISE feature_not_supported USING MESSAGE = 'extension "vector" has no types halfvec and sparsevec',
            HINT = 'pgvector 0.7 and later have them: ALTER EXTENSION vector UPDATE.';
    END IF;
    PERFORM pg_catalog.set_config('search_path', pg_catalog.format('@extschema@, fastclust_internal, %I, pg_temp', n.nspname), true)
       FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
      WHERE e.extname OPERATOR(pg_catalog.=) 'vector';
END
$$;
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, vector, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x vector, clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(vector, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, vector, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x vector, clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(vector, integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, vector, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x vector, clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(vector, integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, vector, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x vector, clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(vector, integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, halfvec, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x halfvec, clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(halfvec, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, halfvec, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x halfvec, clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(halfvec, integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, halfvec, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x halfvec, clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(halfvec, integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, halfvec, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x halfvec, clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(halfvec, integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, sparsevec, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x sparsevec, clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(sparsevec, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, sparsevec, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x sparsevec, clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(sparsevec, integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, sparsevec, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x sparsevec, clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(sparsevec, integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, sparsevec, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x sparsevec, clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(sparsevec, integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, vector, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, vector, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, vector, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x vector, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(vector, sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, vector, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, vector, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, vector, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x vector, spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(vector, sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, halfvec, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, halfvec, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, halfvec, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x halfvec, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(halfvec, sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, halfvec, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, halfvec, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, halfvec, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x halfvec, spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(halfvec, sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, sparsevec, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, sparsevec, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, sparsevec, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x sparsevec, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(sparsevec, sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, sparsevec, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, sparsevec, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, sparsevec, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x sparsevec, spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(sparsevec, sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION density(sketch sketch, x vector) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, vector) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';
CREATE FUNCTION density(sketch sketch, x halfvec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, halfvec) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';
CREATE FUNCTION density(sketch sketch, x sparsevec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, sparsevec) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, vector) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid vector) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(vector) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, vector, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid vector, weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(vector, double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, vector, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x vector, k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(vector, integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, vector, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x vector, k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(vector, integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x vector) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, vector) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x vector) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, vector) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x vector, n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, vector, integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x vector) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, vector) IS 'the product of the factors times x, without the offset';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, halfvec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid halfvec) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(halfvec) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, halfvec, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid halfvec, weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(halfvec, double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, halfvec, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x halfvec, k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(halfvec, integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, halfvec, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x halfvec, k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(halfvec, integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x halfvec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, halfvec) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x halfvec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, halfvec) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x halfvec, n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, halfvec, integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x halfvec) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, halfvec) IS 'the product of the factors times x, without the offset';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, sparsevec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid sparsevec) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(sparsevec) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, sparsevec, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid sparsevec, weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(sparsevec, double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, sparsevec, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x sparsevec, k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(sparsevec, integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, sparsevec, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x sparsevec, k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(sparsevec, integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x sparsevec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, sparsevec) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x sparsevec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, sparsevec) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x sparsevec, n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, sparsevec, integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x sparsevec) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, sparsevec) IS 'the product of the factors times x, without the offset';
CREATE FUNCTION probe(op fastop, query vector, n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, vector, integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x vector, y vector) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(vector, vector) IS 'Euclidean distance of two vectors';
CREATE FUNCTION probe(op fastop, query halfvec, n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, halfvec, integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x halfvec, y halfvec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(halfvec, halfvec) IS 'Euclidean distance of two vectors';
CREATE FUNCTION probe(op fastop, query sparsevec, n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, sparsevec, integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x sparsevec, y sparsevec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(sparsevec, sparsevec) IS 'Euclidean distance of two vectors';
CREATE FUNCTION fastclust_internal.drift_counts_accum(drift_counts, vector, drift_spec) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.drift_counts_agg(x vector, spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.drift_counts_accum(drift_counts, halfvec, drift_spec) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.drift_counts_agg(x halfvec, spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.drift_counts_accum(drift_counts, sparsevec, drift_spec) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.drift_counts_agg(x sparsevec, spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE qkmeans_agg(x vector, k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(vector, integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x vector, k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(vector, integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x halfvec, k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(halfvec, integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x halfvec, k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(halfvec, integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x sparsevec, k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(sparsevec, integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x sparsevec, k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(sparsevec, integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x vector) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, vector) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x vector) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, vector, double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x vector, weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, vector, double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, vector) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x vector) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x vector) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, vector) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x vector) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, vector) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x vector) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, vector) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, halfvec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x halfvec) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, halfvec) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x halfvec) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, halfvec, double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x halfvec, weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, halfvec, double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, halfvec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x halfvec) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, halfvec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x halfvec) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, halfvec) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, halfvec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x halfvec) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, halfvec) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, halfvec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x halfvec) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, halfvec) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, sparsevec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x sparsevec) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, sparsevec) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x sparsevec) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, sparsevec, double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x sparsevec, weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, sparsevec, double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, sparsevec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x sparsevec) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, sparsevec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x sparsevec) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, sparsevec) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, sparsevec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x sparsevec) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, sparsevec) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, sparsevec) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x sparsevec) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, sparsevec) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, vector, bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, vector, bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x vector, key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x vector, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, halfvec, bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, halfvec, bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x halfvec, key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x halfvec, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, sparsevec, bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, sparsevec, bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x sparsevec, key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x sparsevec, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x vector, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x vector, spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x vector) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x vector, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x halfvec, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x halfvec, spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x halfvec) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x halfvec, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x sparsevec, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x sparsevec, spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x sparsevec) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x sparsevec, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, vector, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x vector, kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, vector, kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, vector, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x vector, kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, vector, kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, vector, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x vector, kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, vector, kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, vector, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x vector, kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, vector, kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, vector, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x vector, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, vector, kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, vector, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x vector, kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, vector, kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, vector, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x vector, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, vector, kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, vector, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x vector, kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, vector, kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, vector, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x vector, kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(vector, kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, vector, kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x vector, kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(vector, kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, halfvec, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x halfvec, kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, halfvec, kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, halfvec, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x halfvec, kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, halfvec, kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, halfvec, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x halfvec, kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, halfvec, kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, halfvec, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x halfvec, kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, halfvec, kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, halfvec, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x halfvec, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, halfvec, kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, halfvec, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x halfvec, kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, halfvec, kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, halfvec, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x halfvec, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, halfvec, kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, halfvec, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x halfvec, kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, halfvec, kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, halfvec, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x halfvec, kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(halfvec, kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, halfvec, kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x halfvec, kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(halfvec, kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, sparsevec, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x sparsevec, kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, sparsevec, kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, sparsevec, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x sparsevec, kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, sparsevec, kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, sparsevec, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x sparsevec, kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, sparsevec, kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, sparsevec, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x sparsevec, kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, sparsevec, kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, sparsevec, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x sparsevec, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, sparsevec, kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, sparsevec, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x sparsevec, kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, sparsevec, kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, sparsevec, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x sparsevec, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, sparsevec, kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, sparsevec, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x sparsevec, kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, sparsevec, kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, sparsevec, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x sparsevec, kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(sparsevec, kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, sparsevec, kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x sparsevec, kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(sparsevec, kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION kernel_features(map kernel_map, x vector) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, vector) IS 'coordinates of a row: inner products approximate kernel values';
CREATE FUNCTION kernel_features(map kernel_map, x halfvec) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, halfvec) IS 'coordinates of a row: inner products approximate kernel values';
CREATE FUNCTION kernel_features(map kernel_map, x sparsevec) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, sparsevec) IS 'coordinates of a row: inner products approximate kernel values';
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x vector) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x halfvec) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x sparsevec) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x vector) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x halfvec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x sparsevec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION predict(model text, x vector) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, vector) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x halfvec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, halfvec) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x sparsevec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, sparsevec) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x vector, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, vector, double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x vector, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, vector, double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x vector) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, vector) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict(model text, x halfvec, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, halfvec, double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x halfvec, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, halfvec, double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x halfvec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, halfvec) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict(model text, x sparsevec, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, sparsevec, double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x sparsevec, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, sparsevec, double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x sparsevec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, sparsevec) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance(model text, x vector) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, vector) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x halfvec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, halfvec) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x sparsevec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, sparsevec) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance_group(model text, group_value text, x vector) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, vector) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, x halfvec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, halfvec) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, x sparsevec) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, sparsevec) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION anomaly(model text, x vector, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, vector, double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x vector, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, vector, double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x vector, n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, vector, integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x vector, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, vector) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x vector, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, vector) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION anomaly(model text, x halfvec, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, halfvec, double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x halfvec, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, halfvec, double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x halfvec, n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, halfvec, integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x halfvec, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, halfvec) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x halfvec, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, halfvec) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION anomaly(model text, x sparsevec, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, sparsevec, double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x sparsevec, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, sparsevec, double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x sparsevec, n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, sparsevec, integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x sparsevec, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, sparsevec) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x sparsevec, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, sparsevec) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION predict_path(model text, x vector) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, vector) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x vector) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, vector) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION predict_path(model text, x halfvec) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, halfvec) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x halfvec) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, halfvec) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION predict_path(model text, x sparsevec) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, sparsevec) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x sparsevec) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, sparsevec) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, vector, record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x vector, row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, halfvec, record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x halfvec, row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, sparsevec, record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x sparsevec, row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);

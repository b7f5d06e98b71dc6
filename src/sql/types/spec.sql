
-- sketch_spec: frequencies and scale of sketches

CREATE FUNCTION fastclust.sketch_spec(dim integer, frequencies integer, sigma double precision,
        law text DEFAULT 'adapted_radius_kmeans', seed bigint DEFAULT 0,
        center double precision[] DEFAULT NULL, scale double precision[] DEFAULT NULL,
        options jsonb DEFAULT '{}')
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_make' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.sketch_spec IS 'Returns a spec with the given parameters.';
CREATE FUNCTION fastclust.spec_of_frequencies(frequencies double precision[],
        sigma double precision, law text DEFAULT 'gaussian')
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_of_frequencies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.spec_of_frequencies IS
    'Returns a spec with the given frequencies, a row of the array for each.';
CREATE FUNCTION fastclust.frequencies(spec sketch_spec, OUT omega double precision[],
        OUT phase double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_spec_frequencies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    ROWS 500;
COMMENT ON FUNCTION fastclust.frequencies IS
    'Returns a row for each moment of a spec, which is the mean of exp(i (omega . x + phase)).';
CREATE FUNCTION fastclust.describe(sketch_spec) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_spec_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch_spec) IS 'Returns the parameters of a spec.';
-- Returns the spec without its sample rows. Raises an error if `dimensions`, the number of
-- dimensions of the rows, is neither 0 nor equal to the spec's number.
CREATE FUNCTION fastclust_internal.without_sample_rows(spec sketch_spec,
        dimensions integer DEFAULT 0)
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_without_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_final(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, "any", integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE fastclust.sketch_spec_agg(x "any", clusters integer) (
    SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg("any", integer) IS
    'Returns a spec chosen from a sample of rows, for about `clusters` clusters. NULL without '
    'rows.';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, "any", integer, jsonb)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE fastclust.sketch_spec_agg(x "any", clusters integer, options jsonb) (
    SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg("any", integer, jsonb) IS
    'Returns a spec chosen from a sample of rows with options, for about `clusters` clusters. '
    'NULL without rows.';

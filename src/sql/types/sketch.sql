
-- Sketches: made in one scan over the rows

CREATE FUNCTION fastclust_internal.sketch_combine(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final_moving(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;

-- Citus pushes down an aggregate with a plain state only if no argument is declared "any".
-- Therefore sketch_agg is declared twice. One declaration takes row_vector, to which every array of
-- numbers casts. The other takes "any" for all other types; its state is internal and has the same
-- bytes.
CREATE FUNCTION fastclust_internal.state_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_state_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.state_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_state_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(internal) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, "any", sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, "any", sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, "any", sketch_spec, double precision)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, "any", sketch_spec, double precision)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, row_vector, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x row_vector, spec sketch_spec) (
    SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(row_vector, sketch_spec) IS
    'Returns the sketch of a set of rows, made in one scan. NULL without rows.';
CREATE FUNCTION fastclust_internal.sketch_accum(internal, "any", sketch_spec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x "any", spec sketch_spec) (
    SFUNC = sketch_accum, STYPE = internal, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg("any", sketch_spec) IS
    'Returns the sketch of a set of rows, made in one scan. NULL without rows.';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, row_vector, sketch_spec, double precision)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x row_vector, spec sketch_spec, weight double precision) (
    SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(row_vector, sketch_spec, double precision) IS
    'Returns the sketch of a set of weighted rows, made in one scan. NULL without rows.';
CREATE FUNCTION fastclust_internal.sketch_accum(internal, "any", sketch_spec, double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x "any", spec sketch_spec, weight double precision) (
    SFUNC = sketch_accum, STYPE = internal, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg("any", sketch_spec, double precision) IS
    'Returns the sketch of a set of weighted rows, made in one scan. NULL without rows.';

CREATE FUNCTION fastclust_internal.sketch_plus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_plus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_minus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_minus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR fastclust.+ (
    LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_plus,
    COMMUTATOR = OPERATOR(fastclust.+));
CREATE OPERATOR fastclust.- (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_minus);
COMMENT ON OPERATOR + (sketch, sketch) IS 'Returns the sketch of the rows of both sketches.';
COMMENT ON OPERATOR - (sketch, sketch) IS
    'Returns the sketch of the rows of the first sketch without the rows of the second.';

CREATE AGGREGATE fastclust.merge_agg(sketch) (
    SFUNC = sketch_combine, STYPE = sketch, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_plus,
    MINVFUNC = sketch_minus, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE merge_agg(sketch) IS
    'Returns the sketch of the rows of all sketches. NULL without sketches.';

CREATE FUNCTION fastclust.row_count(sketch) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_sketch_row_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.row_count IS 'Returns the number of rows.';
CREATE FUNCTION fastclust.means(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_means' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.means IS
    'Returns the mean of each dimension. NULL if the sketch has no rows.';
CREATE FUNCTION fastclust.stddevs(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_stddevs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.stddevs IS
    'Returns the population standard deviation of each dimension. NULL if the sketch has no rows.';
CREATE FUNCTION fastclust.moments(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.moments IS
    'Returns the means of the waves, real and imaginary parts in turn. NULL if the sketch has no '
    'rows.';
CREATE FUNCTION fastclust.sketch_of_moments(spec sketch_spec, moments double precision[],
        row_count bigint, lower_bounds double precision[], upper_bounds double precision[],
        means double precision[], stddevs double precision[])
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_of_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.sketch_of_moments IS
    'Returns a sketch of rows whose moments were computed elsewhere.';
CREATE FUNCTION fastclust.describe(sketch) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_sketch_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch) IS
    'Describes a sketch: rows, weight, bounds, bytes and spec. Bounds are unknown after a '
    'subtraction.';
CREATE FUNCTION fastclust_internal.spec(sketch) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_get_spec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust.sketch_distance(a sketch, b sketch) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.sketch_distance IS
    'Returns the unbiased squared maximum mean discrepancy (MMD) of two sketches: about 0 if both '
    'come from one distribution. NULL if a sketch has fewer than two rows.';
CREATE FUNCTION fastclust.density(sketch sketch, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 500 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.density IS
    'Returns the density of the sketched rows around x at the scale of the spec, 1 or less. NULL '
    'if the sketch has no rows.';

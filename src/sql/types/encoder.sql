
-- Encoders: convert the columns of rows to coordinates

CREATE FUNCTION fastclust_internal.encoder_final(internal) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust.encoder_agg("row" record, columns text[]) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[]) IS
    'Returns an encoder of the columns, learned from the rows, or NULL without rows.';
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[], jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust.encoder_agg("row" record, columns text[], options jsonb) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[], jsonb) IS
    'Returns an encoder of the columns, learned from the rows with options, or NULL without rows.';

-- Learns an encoder from rows, each of which counts `count` times.
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[], jsonb, bigint)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.encoder_counts_agg("row" record, columns text[],
        options jsonb, count bigint) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

CREATE FUNCTION fastclust.encode_row(encoder encoder, "row" record, scaled boolean DEFAULT true)
    RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_row' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION fastclust.encode_row IS
    'Returns the coordinates of a row, whose columns are found by their names. Returns NULL if '
    'the row has a NULL that the encoder skips.';
CREATE FUNCTION fastclust.describe(encoder encoder) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_encoder_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(encoder) IS
    'Describes an encoder: the encoding of each column, the number of rows, and the size in bytes.';
CREATE FUNCTION fastclust.feature_names(encoder encoder) RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_feature_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.feature_names IS
    'Returns the name of each coordinate of an encoded row.';

-- internal: encoding in scans of whole tables, and for the explanation of a model

CREATE FUNCTION fastclust_internal.encode_record(encoder encoder, scaled boolean, "row" record)
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encode_listed(encoder encoder, scaled boolean,
        VARIADIC columns "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C STABLE PARALLEL SAFE COST 10;
-- Does the same as encode_listed, but is IMMUTABLE, so that postgres_fdw can push it down. It is
-- used only for types whose values depend on no setting of a session.
CREATE FUNCTION fastclust_internal.encode_constant(encoder encoder, scaled boolean,
        VARIADIC columns "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
-- Returns the category of a column that equals a value, given as text. Returns NULL if there is
-- none.
CREATE FUNCTION fastclust_internal.category_of(encoder encoder, "column" text, value text)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_category_of' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encoder_columns(encoder encoder) RETURNS name[]
    AS 'MODULE_PATHNAME', 'fastclust_encoder_columns' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_features(encoder encoder, OUT dimension integer,
        OUT feature text, OUT kind text, OUT category text, OUT transform text,
        OUT center double precision, OUT scale double precision, OUT label text, OUT nulls integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_encoder_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns words for a NULL in the column to which the dimension belongs, such as "age is NULL".
CREATE FUNCTION fastclust_internal.null_name(encoder encoder, dimension integer) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_null_name' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the mean of a cyclic column: the value in the direction of the mean vector of its two
-- coordinates, or NaN if that vector is too short to have a direction. Returns NULL if the
-- dimension belongs to another column.
CREATE FUNCTION fastclust_internal.cyclic_mean(encoder encoder, dimension integer,
        means double precision[])
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_cyclic_mean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns a value as text for display. `kind` is the kind of its column, such as "date" or
-- "interval". Numbers have four significant digits, or all digits if `exact` is true. Dates and
-- times are given in days or seconds since 2000-01-01.
CREATE FUNCTION fastclust_internal.shown_value(x double precision, kind text, exact boolean)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_shown_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the encoder of a column of vectors with d dimensions. center and scale may be NULL.
CREATE FUNCTION fastclust_internal.encoder_of_vector(feature name, d integer,
        center double precision[], scale double precision[])
    RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_of_vector' LANGUAGE C IMMUTABLE PARALLEL SAFE;

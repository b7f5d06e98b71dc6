
-- train: from a table to a new version of a model (pg/train/train.h has the steps).  All of it
-- runs in the caller's transaction: until it commits the old version serves, and a failure
-- leaves no trace.

CREATE FUNCTION fastclust.train(model text, relation regclass, features text,
        k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION train(text, regclass, text, integer, text, jsonb) IS
    'train a model on a column of vectors or numbers, or on a list of columns; returns the new version, which predict uses from the commit on';
CREATE FUNCTION fastclust.train(model text, relation regclass, features name[],
        k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb) IS
    'train a model on columns of numbers, which are standardised unless the options say otherwise';

CREATE FUNCTION fastclust.import_model(model text, relation regclass, features text,
        centroids float8[], options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION import_model(text, regclass, text, float8[], jsonb) IS
    'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features text,
        centroids fastop, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION import_model(text, regclass, text, fastop, jsonb) IS
    'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features name[],
        centroids float8[], options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION import_model(text, regclass, name[], float8[], jsonb) IS
    'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features name[],
        centroids fastop, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION import_model(text, regclass, name[], fastop, jsonb) IS
    'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';

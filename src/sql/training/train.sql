
-- train: trains a model on a table (pg/train/train.h has the steps). The training runs in the
-- caller's transaction: the old version serves until the transaction commits, and a failed training
-- changes nothing.

CREATE FUNCTION fastclust.train(model text, relation regclass, features text,
        k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C;
COMMENT ON FUNCTION train(text, regclass, text, integer, text, jsonb) IS
    'Trains a model on a column of vectors or numbers, or on a list of columns. Returns the '
    'number of the new version, which predict uses once the transaction commits.';
CREATE FUNCTION fastclust.train(model text, relation regclass, features name[],
        k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb) IS
    'Trains a model on columns of numbers, which are standardised unless the options say '
    'otherwise. Returns the number of the new version.';

CREATE FUNCTION fastclust.import_model(model text, relation regclass, features text,
        centroids float8[], options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, text, float8[], jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features text,
        centroids fastop, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, text, fastop, jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features name[],
        centroids float8[], options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, name[], float8[], jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features name[],
        centroids fastop, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, name[], fastop, jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';

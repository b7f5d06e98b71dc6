
-- choose_k: chooses the number of clusters from a sample, by the rule in core/kmeans/choose.h

CREATE FUNCTION fastclust.choose_k(relation regclass, features text, max_k integer DEFAULT 50,
        options jsonb DEFAULT '{}', OUT k integer, OUT cost double precision,
        OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_choose_k' LANGUAGE C;
COMMENT ON FUNCTION choose_k(regclass, text, integer, jsonb) IS
    'Suggests the number of clusters of a column of vectors or numbers, or of a list of columns. '
    'Returns a row for each number tried, with its cost and stability. The suggested row has a '
    'verdict, the number of clusters within its clusters, and a reason if the choice is not '
    'clear.';
CREATE FUNCTION fastclust.choose_k(relation regclass, features name[], max_k integer DEFAULT 50,
        options jsonb DEFAULT '{}', OUT k integer, OUT cost double precision,
        OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_choose_k' LANGUAGE C;
COMMENT ON FUNCTION choose_k(regclass, name[], integer, jsonb) IS
    'Suggests the number of clusters of columns of numbers, which are standardised unless the '
    'options say otherwise.';


-- Factorization: centroids as a product with fewer parameters

-- sample: rows, collected by fastop_agg, on which method auto compares the other methods. If it is
-- NULL, auto uses palm4msa.
CREATE FUNCTION fastclust.factorize(op fastop, method text DEFAULT 'auto',
        options jsonb DEFAULT '{}', sample fastop DEFAULT NULL)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_factorize' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION fastclust.factorize IS
    'Returns an operator whose centroids are a product of factors with fewer values. Returns '
    'NULL if op, method or options is NULL.';

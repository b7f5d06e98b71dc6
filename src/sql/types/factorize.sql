
-- factorize: centroids as a product with fewer parameters

-- sample: rows that auto judges by, as fastop_agg makes of them; NULL: auto is palm4msa.
CREATE FUNCTION fastclust.factorize(op fastop, method text DEFAULT 'auto',
        options jsonb DEFAULT '{}', sample fastop DEFAULT NULL)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_factorize' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION fastclust.factorize IS
    'the centroids of an operator as a product of factors with fewer values';

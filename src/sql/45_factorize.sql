
-- factorize: centroids as a product with fewer parameters

CREATE FUNCTION factorize(op fastop, method text DEFAULT 'auto', options jsonb DEFAULT '{}') RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_factorize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION factorize(fastop, text, jsonb) IS 'the centroids of an operator as a product of factors with fewer values';

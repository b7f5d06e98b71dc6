\echo Use "CREATE EXTENSION fastclust_vector" to load this file. \quit

-- Each function of fastclust that takes a vector, for vector, halfvec and sparsevec of pgvector, which lies in any schema.  What
-- fastclust has is found first.
DO $$
BEGIN
    PERFORM pg_catalog.set_config('search_path', pg_catalog.format('@extschema@, fastclust_internal, %I, pg_temp', n.nspname), true)
       FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
      WHERE e.extname OPERATOR(pg_catalog.=) 'vector';
END
$$;

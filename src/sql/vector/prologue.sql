\echo Use "CREATE EXTENSION fastclust_vector" to load this file. \quit

-- Each function of fastclust that takes a vector, for vector, halfvec and sparsevec of pgvector, which lies in any schema.  What
-- fastclust has is found first.
DO $$
BEGIN
    -- in the schema of an older pgvector a type of these names is somebody's own, and its bytes are no vector
    IF (SELECT pg_catalog.count(*) FROM pg_catalog.pg_depend d
          JOIN pg_catalog.pg_extension e ON d.refobjid OPERATOR(pg_catalog.=) e.oid JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) d.objid
         WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype OPERATOR(pg_catalog.=) 'e'
           AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.extname OPERATOR(pg_catalog.=) 'vector'
           AND t.typnamespace OPERATOR(pg_catalog.=) e.extnamespace AND t.typname OPERATOR(pg_catalog.=) ANY ('{vector,halfvec,sparsevec}')) OPERATOR(pg_catalog.<) 3 THEN
        RAISE feature_not_supported USING MESSAGE = 'extension "vector" has no types halfvec and sparsevec',
            HINT = 'pgvector 0.7 and later have them: ALTER EXTENSION vector UPDATE.';
    END IF;
    PERFORM pg_catalog.set_config('search_path', pg_catalog.format('@extschema@, fastclust_internal, %I, pg_temp', n.nspname), true)
       FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
      WHERE e.extname OPERATOR(pg_catalog.=) 'vector';
END
$$;

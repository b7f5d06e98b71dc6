
-- rights at the end: what the owner of the extension calls for others is not for them to call

DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT p.oid::pg_catalog.regprocedure AS function FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace OPERATOR(pg_catalog.=) 'fastclust_internal'::pg_catalog.regnamespace
                   AND (p.proname OPERATOR(pg_catalog.~~) '%\_as\_owner' OR p.proname OPERATOR(pg_catalog.=) 'lock_name') LOOP
        EXECUTE pg_catalog.format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', part.function);
    END LOOP;
END
$$;


-- rights at the end: what the owner of the extension calls for others is not for them to call

DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT p.oid::pg_catalog.regprocedure AS function FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace OPERATOR(pg_catalog.=) 'fastclust_internal'::pg_catalog.regnamespace
                   AND (p.proname OPERATOR(pg_catalog.~~) '%\_as\_owner' OR p.proname OPERATOR(pg_catalog.=) ANY ('{lock_name,running_trainings,take_deltas}')) LOOP
        EXECUTE pg_catalog.format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', part.function);
    END LOOP;
END
$$;

-- A parallel restore loads the model tables in any order: inserts are not checked against models.  The writers insert
-- while they hold the model's row.  Deletes and new names still cascade.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT t.tgrelid::pg_catalog.regclass AS relation, t.tgname AS name FROM pg_catalog.pg_trigger t
                 WHERE t.tgconstrrelid OPERATOR(pg_catalog.=) 'fastclust_internal.stored_models'::pg_catalog.regclass
                   AND t.tgfoid OPERATOR(pg_catalog.=) 'pg_catalog."RI_FKey_check_ins"'::pg_catalog.regproc LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %s DISABLE TRIGGER %I', part.relation, part.name);
    END LOOP;
END
$$;

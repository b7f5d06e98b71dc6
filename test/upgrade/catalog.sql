-- catalog.sql - lists every object of the extension with its definition, privileges and comment.
-- The list must be equal for a fresh and for an upgraded extension.
WITH member AS (
    SELECT d.classid, d.objid, i.type, i.identity
    FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass,
         pg_identify_object(d.classid, d.objid, 0) i
    WHERE d.deptype = 'e' AND e.extname = 'fastclust'
), parts AS (
    SELECT classid, objid, '' AS part, '' AS definition FROM member
    UNION ALL SELECT 'pg_proc'::regclass, p.oid, 'source', pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.prokind <> 'a'
    UNION ALL SELECT 'pg_proc'::regclass, p.oid, 'flags', concat_ws(' ', p.prokind, p.provolatile, p.proparallel, p.proisstrict, p.prosecdef, p.procost,
                     p.proconfig::text, p.prorettype::regtype, pg_get_function_arguments(p.oid)) FROM pg_proc p
    UNION ALL SELECT 'pg_proc'::regclass, a.aggfnoid, 'aggregate', ((to_jsonb(a) - '{aggfnoid,aggtranstype,aggmtranstype,aggsortop}'::text[])
                     || jsonb_build_object('state', a.aggtranstype::regtype, 'moving', a.aggmtranstype::regtype))::text FROM pg_aggregate a
    UNION ALL SELECT 'pg_class'::regclass, a.attrelid, 'column ' || a.attnum, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                     a.attidentity, a.attgenerated, a.attstorage, pg_get_expr(v.adbin, v.adrelid), a.attacl::text)
              FROM pg_attribute a LEFT JOIN pg_attrdef v ON v.adrelid = a.attrelid AND v.adnum = a.attnum WHERE a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT 'pg_class'::regclass, c.conrelid, 'constraint ' || c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c
    UNION ALL SELECT 'pg_class'::regclass, i.indrelid, 'index', pg_get_indexdef(i.indexrelid) FROM pg_index i
    UNION ALL SELECT 'pg_class'::regclass, t.tgrelid, 'trigger ' || t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE NOT t.tgisinternal
    UNION ALL SELECT 'pg_class'::regclass, p.polrelid, 'policy ' || p.polname, concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::regrole[],
                     pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) FROM pg_policy p
    UNION ALL SELECT 'pg_class'::regclass, c.oid, 'relation', concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
                     CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END) FROM pg_class c
    UNION ALL SELECT 'pg_class'::regclass, unnest(e.extconfig), 'dumped', unnest(e.extcondition) FROM pg_extension e WHERE e.extname = 'fastclust'
    UNION ALL SELECT 'pg_type'::regclass, t.oid, 'type', concat_ws(' ', t.typtype, t.typlen, t.typbyval, t.typalign, t.typstorage, t.typinput, t.typoutput,
                     t.typreceive, t.typsend, t.typcategory, t.typdefault) FROM pg_type t
    UNION ALL SELECT 'pg_operator'::regclass, o.oid, 'operator', concat_ws(' ', o.oprcode, o.oprcom::regoperator, o.oprnegate::regoperator, o.oprrest, o.oprjoin,
                     o.oprcanmerge, o.oprcanhash) FROM pg_operator o
    UNION ALL SELECT 'pg_proc'::regclass, p.oid, 'rights', (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(p.proacl) a) FROM pg_proc p
    UNION ALL SELECT 'pg_class'::regclass, c.oid, 'rights', (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(c.relacl) a) FROM pg_class c
    UNION ALL SELECT 'pg_type'::regclass, t.oid, 'rights', (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(t.typacl) a) FROM pg_type t
    UNION ALL SELECT 'pg_namespace'::regclass, n.oid, 'rights', (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(n.nspacl) a) FROM pg_namespace n
    UNION ALL SELECT d.classoid, d.objoid, 'comment ' || d.objsubid, d.description FROM pg_description d
)
SELECT replace(concat_ws(' | ', m.type, m.identity, p.part, p.definition), E'\n', '\n')
FROM member m JOIN parts p USING (classid, objid) ORDER BY 1;

-- readings.sql - what the values of layouts.sql say, read from table layouts (n, type, value); no processor rounds these digits differently
SELECT n, type, value::sketch_spec::text = value, describe(value::sketch_spec) FROM layouts WHERE type = 'sketch_spec' ORDER BY n;
SELECT n, type, value::sketch::text = value, row_count(v), describe(v) ->> 'total_weight', means(v), (SELECT array_agg(b::float8) FROM jsonb_array_elements_text(describe(v) -> 'lower_bounds') b), (SELECT array_agg(round(m::numeric, 9)) FROM unnest(moments(v)) m)
  FROM layouts, CAST(CASE WHEN type = 'sketch' THEN value END AS sketch) v WHERE type = 'sketch' ORDER BY n;
SELECT n, type, value::fastop::text = value, describe(v), (SELECT array_agg(round(c::numeric, 4)) FROM centroids(v), unnest(centroid) c), assign(v, '{1,4}'::real[])
  FROM layouts, CAST(CASE WHEN type = 'fastop' THEN value END AS fastop) v WHERE type = 'fastop' ORDER BY n;
SELECT n, type, value::kernel::text = value FROM layouts WHERE type = 'kernel';
SELECT n, type, value::kernel_projection::text = value, describe(v) - 'eigenvalues', (SELECT array_agg(round(e::numeric, 4)) FROM jsonb_array_elements_text(describe(v) -> 'eigenvalues') e),
       (SELECT array_agg(round(c::numeric, 4) ORDER BY id, o) FROM embedding_of(v), unnest(y) WITH ORDINALITY u (c, o))
  FROM layouts, CAST(CASE WHEN type = 'kernel_projection' THEN value END AS kernel_projection) v WHERE type = 'kernel_projection' ORDER BY n;
SELECT n, type, value::kernel_map::text = value, describe(v), (SELECT array_agg(round(f::numeric, 4)) FROM unnest(kernel_features(v, '{1,1}'::real[])) f)
  FROM layouts, CAST(CASE WHEN type = 'kernel_map' THEN value END AS kernel_map) v WHERE type = 'kernel_map' ORDER BY n;

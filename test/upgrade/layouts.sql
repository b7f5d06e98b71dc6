-- layouts.sql - a small value of every stored type and layout, as text; tools/layouts.sh keeps them
WITH rows AS (SELECT i AS id, ARRAY[i % 3, (i * i) % 5]::real[] AS x FROM generate_series(1, 12) i),
     wide AS (SELECT i AS id, ARRAY[i % 3, (i * i) % 5, i % 7, (i * 3) % 4]::real[] AS x FROM generate_series(1, 12) i),
     projected AS (SELECT sketch_spec_agg(x, 2, '{"frequencies": 8, "dimensions": 2, "sample_rows": 4, "seed": 1}'::jsonb) AS spec FROM wide)
SELECT 'sketch_spec', sketch_spec(2, 8, 1.5, 'gaussian', 7, '{1,2}', '{1,3}')::text
UNION ALL SELECT 'sketch_spec', sketch_spec(20, 8, 1, options => '{"structured": true, "sigmas": [1, 2]}')::text
UNION ALL SELECT 'sketch_spec', sketch_spec(2, 8, 1, options => '{"metric": "cosine"}')::text
UNION ALL SELECT 'sketch_spec', spec::text FROM projected
UNION ALL SELECT 'sketch', sketch_agg(x, sketch_spec(2, 8, 1.5))::text FROM rows
UNION ALL SELECT 'sketch', sketch_agg(x, sketch_spec(2, 8, 1.5), id * 0.25)::text FROM rows
UNION ALL SELECT 'sketch', (sketch_agg(x, sketch_spec(2, 8, 1.5)) - sketch_agg(x, sketch_spec(2, 8, 1.5)) FILTER (WHERE id < 5))::text FROM rows
UNION ALL SELECT 'sketch', sketch_agg(x, (SELECT spec FROM projected))::text FROM wide
UNION ALL SELECT 'fastop', fastop_agg(x ORDER BY id)::text FROM rows
UNION ALL SELECT 'fastop', factorize(fastop_agg(x ORDER BY id), 'svd', '{"budget": 14, "rerank": 2}')::text FROM rows WHERE id < 6
UNION ALL SELECT 'fastop', fastop_agg(x, 1, '{"metric": "cosine"}' ORDER BY id)::text FROM rows
UNION ALL SELECT 'fastop', fastop_agg(x, 1, '{"metric": "inner_product"}' ORDER BY id)::text FROM rows
UNION ALL SELECT 'kernel', polynomial_kernel(3, 1, 0.5)::text
UNION ALL SELECT 'kernel_projection', kernel_projection_agg(id, x, polynomial_kernel(2), 2)::text FROM rows
UNION ALL SELECT 'kernel_map', nystroem(landmarks_agg(x, rbf_kernel(0.5), 3), rbf_kernel(0.5))::text FROM rows;

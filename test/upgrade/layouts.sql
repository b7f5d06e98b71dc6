-- layouts.sql - a small value of every stored type, as text; tools/layouts.sh keeps them
WITH rows AS (SELECT i AS id, ARRAY[i % 3, (i * i) % 5]::real[] AS x FROM generate_series(1, 12) i)
SELECT 'sketch_spec', sketch_spec(2, 8, 1.5, 'gaussian', 7, '{1,2}', '{1,3}')::text
UNION ALL SELECT 'sketch_spec', sketch_spec(20, 8, 1, options => '{"structured": true, "sigmas": [1, 2]}')::text
UNION ALL SELECT 'sketch', sketch_agg(x, sketch_spec(2, 8, 1.5))::text FROM rows
UNION ALL SELECT 'sketch', sketch_agg(x, sketch_spec(2, 8, 1.5), id * 0.25)::text FROM rows
UNION ALL SELECT 'fastop', fastop_agg(x ORDER BY id)::text FROM rows
UNION ALL SELECT 'fastop', factorize(fastop_agg(x ORDER BY id), 'svd', '{"budget": 14, "rerank": 2}')::text FROM rows WHERE id < 6
UNION ALL SELECT 'kernel', polynomial_kernel(3, 1, 0.5)::text
UNION ALL SELECT 'kernel_projection', kernel_projection_agg(id, x, polynomial_kernel(2), 2)::text FROM rows
UNION ALL SELECT 'kernel_map', nystroem(landmarks_agg(x, rbf_kernel(0.5), 3), rbf_kernel(0.5))::text FROM rows;

-- The first hour: what somebody new to fastclust gets wrong, and what it answers.
\set SHOW_CONTEXT never
CREATE TABLE customers AS
SELECT i AS id, 20 + i % 50 AS age, (1000 + i * 7919 % 4000)::numeric AS income, (ARRAY['DE', 'FR', 'IT'])[1 + i % 3] AS country, 'n' || i AS name, 1 AS planet, NULL::float8 AS mood, i % 900 AS shop,
       jsonb_build_object('visits', i % 5) AS props, (i % 9 || ',5')::text AS rating, ARRAY[i % 5, i % 3]::real[] AS x, i % 2 = 0 AS newsletter, now() AS seen
  FROM generate_series(1, 1000) i;
ANALYZE customers;

-- 1. the table has another name
SELECT train('kinds', 'costumers', ARRAY['age', 'income'], 3);
-- 2. the column has another name
SELECT train('kinds', 'customers', ARRAY['age', 'incme'], 3);
-- 3. the column is not there at all
SELECT train('kinds', 'customers', ARRAY['age', 'shoe_size'], 3);
-- 4. capitals
SELECT train('kinds', 'customers', ARRAY['Age', 'Income'], 3);
-- 5. one column of numbers
SELECT train('kinds', 'customers', 'age', 3);
-- 6. two columns in one string
SELECT train('kinds', 'customers', 'age, income', 3);
-- 7. a vector in a list
SELECT train('kinds', 'customers', ARRAY['x', 'age'], 3, options => '{"quiet": true}');
-- 8. no column
SELECT train('kinds', 'customers', ARRAY[]::name[], 3);
-- 9. the same column twice
SELECT train('kinds', 'customers', ARRAY['age', 'income', 'age'], 3);
-- 10. no cluster
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 0);
-- 11. fewer than none
SELECT train('kinds', 'customers', ARRAY['age', 'income'], -3);
-- 12. more clusters than rows
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 2000);
-- 13. more clusters than different rows
SELECT train('kinds', 'customers', ARRAY['country', 'newsletter'], 50);
-- 14. the options where the method belongs
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, '{"seed": 1}');
-- 15. a method of another program
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, 'k-means');
-- 16. or of another kind
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, 'dbscan');
-- 17. an option with a slip
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"sed": 1}');
-- 18. an option of the wrong type
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"seed": "one"}');
-- 19. options that are not JSON
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => 'seed=1');
-- 20. options that are a list
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '[1]');
-- 21. a column that never changes
SELECT train('kinds', 'customers', ARRAY['age', 'planet'], 3);
-- 22. only columns that never change
SELECT train('kinds', 'customers', ARRAY['planet'], 3);
-- 23. a column that is empty
SELECT train('kinds', 'customers', ARRAY['age', 'mood'], 3);
-- 24. an identifier
SELECT train('kinds', 'customers', ARRAY['name', 'age'], 3);
-- 25. jsonb without paths
SELECT train('kinds', 'customers', ARRAY['age', 'props'], 3);
-- 26. paths of a column that has none
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"encoder": {"paths": {"props": ["visits"]}}}');
-- 27. a table without rows
CREATE TABLE nobody AS SELECT * FROM customers WHERE false;
SELECT train('kinds', 'nobody', ARRAY['age', 'income'], 3);
-- 28. a condition that no row meets
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"where": "age > 200"}');
-- 29. a condition with the quotes of JSON
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"where": "country = \"DE\""}');
-- 30. a group for nearly every row
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"group_by": "id", "quiet": true}');
-- 31. NULL for the table
SELECT train('kinds', NULL, ARRAY['age', 'income'], 3);
-- 32. an index
CREATE INDEX by_age ON customers (age);
SELECT train('kinds', 'by_age', ARRAY['age', 'income'], 3);
-- 33. a model without a name
SELECT train('', 'customers', ARRAY['age', 'income'], 3);

-- at last
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"quiet": true}');
SELECT train('pictures', 'customers', 'x', 3, options => '{"quiet": true}');

-- 34. predict before there is a model of that name
SELECT predict('kind', 30, 2000);
-- 35. too few values
SELECT predict('kinds', 30);
-- 36. too many
SELECT predict('kinds', 30, 2000, 1);
-- 37. a name where the value belongs
\set VERBOSITY terse
SELECT predict('kinds', 'age', 'income') FROM customers LIMIT 1;
\set VERBOSITY default
-- 38. text that is no number
SELECT predict('kinds', rating, income) FROM customers LIMIT 1;
-- 39. a whole row of a table without the columns
SELECT predict('kinds', n) FROM (SELECT age, 5 AS incom FROM customers LIMIT 1) n;
-- 40. a vector of another length
SELECT predict('pictures', ARRAY[1, 2, 3]);
-- 41. a vector as text
SELECT predict('pictures', '{1,2}');
-- 41b. no model: an error, as in every function of a model
SELECT predict(NULL::text, ARRAY[1, 2]), predict_name(NULL, ARRAY[1, 2]);
SELECT predict(NULL::text, 1, 2);
SELECT predict_all(NULL, ARRAY[1, 2], 1);
SELECT predict_probabilities(NULL, ARRAY[1, 2]);
-- 42. the group of a model without groups
SELECT predict('kinds', ARRAY[30, 2000], group_value => 'DE');
-- 43. the name of a cluster that is not there
SELECT name_cluster('kinds', 3, 'the fourth of three');
-- 44. back to a version that never was
SELECT use_version('kinds', 12);
-- 45. drift of a table that is quite another
CREATE TABLE visits (day date, page text);
SELECT drift('kinds', 'visits');
-- 46. a retraining with the words of train
\set VERBOSITY terse
SELECT retrain('kinds', 4);
\set VERBOSITY default
-- 47. a retraining of what was dropped
SELECT drop_model('pictures');
SELECT retrain('pictures');
-- 48. drop it again
SELECT drop_model('pictures');
-- 49. somebody who is not there
SELECT grant_model('kinds', 'everybody');
-- 50. the columns went away
ALTER TABLE customers DROP COLUMN income;
SELECT retrain('kinds');
-- 51. and then the table
DROP TABLE customers;
SELECT retrain('kinds');
SELECT drift('kinds');

SELECT drop_model('kinds');
DROP TABLE nobody, visits;

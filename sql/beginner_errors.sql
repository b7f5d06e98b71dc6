-- Each mistake that a newcomer makes in the first hour has an answer that says what to do
-- instead.
\set SHOW_CONTEXT never
CREATE TABLE customers AS
SELECT i AS id, 20 + i % 50 AS age, (1000 + i * 7919 % 4000)::numeric AS income, (ARRAY['DE', 'FR', 'IT'])[1 + i % 3] AS country, 'n' || i AS name, 1 AS planet, NULL::float8 AS mood, i % 900 AS shop,
       jsonb_build_object('visits', i % 5) AS props, (i % 9 || ',5')::text AS rating, ARRAY[i % 5, i % 3]::real[] AS x, i % 2 = 0 AS newsletter, now() AS seen
  FROM generate_series(1, 1000) i;
ANALYZE customers;

-- 1. A misspelled table
SELECT train('kinds', 'costumers', ARRAY['age', 'income'], 3);
-- 2. A misspelled column
SELECT train('kinds', 'customers', ARRAY['age', 'incme'], 3);
-- 3. A column that does not exist
SELECT train('kinds', 'customers', ARRAY['age', 'shoe_size'], 3);
-- 4. Capital letters in the names of columns
SELECT train('kinds', 'customers', ARRAY['Age', 'Income'], 3);
-- 5. A single column of numbers, which is allowed
SELECT train('kinds', 'customers', 'age', 3);
-- 6. Two columns in one string
SELECT train('kinds', 'customers', 'age, income', 3);
-- 7. A vector in a list of columns
SELECT train('kinds', 'customers', ARRAY['x', 'age'], 3, options => '{"quiet": true}');
-- 8. No column
SELECT train('kinds', 'customers', ARRAY[]::name[], 3);
-- 9. The same column twice
SELECT train('kinds', 'customers', ARRAY['age', 'income', 'age'], 3);
-- 10. A k of 0
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 0);
-- 11. A negative k
SELECT train('kinds', 'customers', ARRAY['age', 'income'], -3);
-- 12. More clusters than rows
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 2000);
-- 13. More clusters than different rows
SELECT train('kinds', 'customers', ARRAY['country', 'newsletter'], 50);
-- 14. Options in the place of the method
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, '{"seed": 1}');
-- 15. The name of a method as another program spells it
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, 'k-means');
-- 16. A method that fastclust does not have
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, 'dbscan');
-- 17. A misspelled option
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"sed": 1}');
-- 18. An option of the wrong type
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"seed": "one"}');
-- 19. Options that are not JSON
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => 'seed=1');
-- 20. Options that are a list
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '[1]');
-- 21. A column that never changes
SELECT train('kinds', 'customers', ARRAY['age', 'planet'], 3);
-- 22. Only columns that never change
SELECT train('kinds', 'customers', ARRAY['planet'], 3);
-- 23. A column that is always NULL
SELECT train('kinds', 'customers', ARRAY['age', 'mood'], 3);
-- 24. An identifier
SELECT train('kinds', 'customers', ARRAY['name', 'age'], 3);
-- 25. A jsonb column without paths
SELECT train('kinds', 'customers', ARRAY['age', 'props'], 3);
-- 26. Paths of a column that is not among the features
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"encoder": {"paths": {"props": ["visits"]}}}');
-- 27. A table without rows
CREATE TABLE nobody AS SELECT * FROM customers WHERE false;
SELECT train('kinds', 'nobody', ARRAY['age', 'income'], 3);
-- 28. A condition that no row meets
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"where": "age > 200"}');
-- 29. A condition with the double quotes of JSON
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"where": "country = \"DE\""}');
-- 30. A group for nearly every row
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"group_by": "id", "quiet": true}');
-- 31. NULL in the place of the table
SELECT train('kinds', NULL, ARRAY['age', 'income'], 3);
-- 32. An index in the place of the table
CREATE INDEX by_age ON customers (age);
SELECT train('kinds', 'by_age', ARRAY['age', 'income'], 3);
-- 33. A model with an empty name
SELECT train('', 'customers', ARRAY['age', 'income'], 3);

-- Now the training succeeds, and the mistakes come from using a model.
SELECT train('kinds', 'customers', ARRAY['age', 'income'], 3, options => '{"quiet": true}');
SELECT train('pictures', 'customers', 'x', 3, options => '{"quiet": true}');

-- 34. A misspelled model
SELECT predict('kind', 30, 2000);
-- 35. Too few values
SELECT predict('kinds', 30);
-- 36. Too many values
SELECT predict('kinds', 30, 2000, 1);
-- 37. Names of columns in quotes, where their values belong
\set VERBOSITY terse
SELECT predict('kinds', 'age', 'income') FROM customers LIMIT 1;
\set VERBOSITY default
-- 38. Text that is no number
SELECT predict('kinds', rating, income) FROM customers LIMIT 1;
-- 39. A row without one of the columns
SELECT predict('kinds', n) FROM (SELECT age, 5 AS incom FROM customers LIMIT 1) n;
-- 40. A vector of another length
SELECT predict('pictures', ARRAY[1, 2, 3]);
-- 41. A vector as text, which is allowed
SELECT predict('pictures', '{1,2}');
-- 41b. NULL in the place of the model
SELECT predict(NULL::text, ARRAY[1, 2]), predict_name(NULL, ARRAY[1, 2]);
SELECT predict(NULL::text, 1, 2);
SELECT predict_all(NULL, ARRAY[1, 2], 1);
SELECT predict_probabilities(NULL, ARRAY[1, 2]);
-- 42. A group, for a model without groups
SELECT predict('kinds', ARRAY[30, 2000], group_value => 'DE');
-- 43. The name of a cluster that does not exist
SELECT name_cluster('kinds', 3, 'the fourth of three');
-- 44. A version that does not exist
SELECT use_version('kinds', 12);
-- 45. The drift of an unrelated table
CREATE TABLE visits (day date, page text);
SELECT drift('kinds', 'visits');
-- 46. A retraining with the arguments of train
\set VERBOSITY terse
SELECT retrain('kinds', 4);
\set VERBOSITY default
-- 47. The retraining of a dropped model
SELECT drop_model('pictures');
SELECT retrain('pictures');
-- 48. A model dropped twice
SELECT drop_model('pictures');
-- 49. A grant to a role that does not exist
SELECT grant_model('kinds', 'everybody');
-- 50. A column that was dropped
ALTER TABLE customers DROP COLUMN income;
SELECT retrain('kinds');
-- 51. A table that was dropped
DROP TABLE customers;
SELECT retrain('kinds');
SELECT drift('kinds');

SELECT drop_model('kinds');
DROP TABLE nobody, visits;

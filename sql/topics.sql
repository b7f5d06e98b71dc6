-- name_topics names clusters by the words that distinguish their texts. The name of a row's
-- cluster is the same in every function and view.
SET default_text_search_config = 'pg_catalog.english'; CREATE SCHEMA of_topics; SET search_path = of_topics, public, fastclust;
\set QUIET off
CREATE FUNCTION draw(i bigint, s bigint, n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT ((hashint8extended(i, s) & 1048575) % n)::integer';
-- Twenty topics of eight words each, which are a third of a text; the other words are stop words
-- and a common vocabulary with a power law.
CREATE TABLE articles AS
SELECT i AS id, i % 20 AS topic, ARRAY(SELECT 4 * cos(((i % 20) + 1) * (j + 1))::float8 + draw(i, j, 1000) / 1000.0 FROM generate_series(1, 12) j)::real[] AS embedding,
       (SELECT string_agg(CASE WHEN draw(i, w, 3) = 0 THEN format('topic%sword%s', chr(97 + i % 20), chr(97 + draw(i, 100 + w, 8)))
                               WHEN draw(i, w, 3) = 1 THEN (ARRAY['the', 'of', 'and', 'is', 'was', 'with'])[1 + draw(i, 200 + w, 6)]
                               ELSE format('common%s', chr(97 + least(draw(i, 300 + w, 24), draw(i, 400 + w, 24)))) END, CASE WHEN draw(i, 500 + w, 5) = 0 THEN ', ' ELSE ' ' END ORDER BY w)
          FROM generate_series(1, 15) w) AS body FROM generate_series(1, 4000) i;
ANALYZE articles;
SELECT train('news', 'articles', 'embedding', 20, options => '{"quiet": true}');
CREATE VIEW planted AS SELECT topic, mode() WITHIN GROUP (ORDER BY predict('news', embedding)) AS cluster FROM articles GROUP BY 1;
SELECT count(DISTINCT cluster) AS clusters FROM planted;
SELECT count(*) FILTER (WHERE name LIKE '%embedding[%') AS names_of_dimensions
  FROM model_clusters WHERE model = 'news';
CREATE TABLE topics AS SELECT * FROM name_topics('news', 'body');
-- Three or more of the five top words of each topic are planted words of it, no stop word is
-- among them, and the name is the first three.
SELECT count(*) AS topics,
       count(*) FILTER (WHERE (SELECT count(*)
         FROM unnest(t.top_words) w WHERE w LIKE format('topic%sword_', chr(97 + p.topic))) >= 3)
       AS with_three_planted_words,
       count(*) FILTER (WHERE cardinality(t.top_words) = 5 AND cardinality(t.texts) = 3)
       AS with_five_words_and_three_texts,
       count(*) FILTER (WHERE t.name = array_to_string(t.top_words[:3], ', '))
       AS named_by_first_three,
       count(*) FILTER (WHERE t.top_words && '{the,of,and,is,was,with}') AS with_stop_words
  FROM topics t JOIN planted p USING (cluster);
SELECT count(*) AS texts_of_other_clusters
  FROM topics t, unnest(t.texts) x JOIN articles a ON a.body = x
  WHERE predict('news', a.embedding) <> t.cluster;
-- Views and predict_name show the same name.
SELECT count(*) AS same_name_in_view
  FROM model_clusters c JOIN topics t USING (cluster, name) WHERE c.model = 'news';
SELECT count(*) AS rows, count(*) FILTER (WHERE predict_name('news', a.embedding) = t.name)
       AS same_by_vector, count(*) FILTER (WHERE predict_name('news', a) = t.name) AS same_by_row
  FROM articles a JOIN topics t ON t.cluster = predict('news', a);
-- A name given by a user stays; a removed name makes room for words again.
SELECT name_cluster('news', 3, 'mine'), name_cluster('news', 4, NULL);
SELECT t.cluster, t.name = 'mine' AS is_mine, t.name = array_to_string(t.top_words[:3], ', ')
       AS is_words, cardinality(t.top_words) AS words
  FROM name_topics('news', 'body', words => 3) t WHERE cluster IN (3, 4);
SELECT DISTINCT predict_name('news', embedding, version => 1) AS name
  FROM articles WHERE predict('news', embedding) = 3;
-- Forms of a word count as one and are shown in the most frequent form; numbers are no words;
-- pairs of words and another text search configuration can be chosen.
CREATE TABLE reviews AS SELECT i AS id, i % 2 * 10 + i % 7 / 7.0 AS score, CASE WHEN i % 2 = 0 THEN (ARRAY['Batteries died 12 times.', 'The battery dies', 'batteries, die'])[1 + i % 3]
       ELSE (ARRAY['customer service: great', 'Great customer service!', 'the customer service was 2024 great'])[1 + i % 3] END AS note FROM generate_series(1, 300) i;
SELECT train('reviews', 'reviews', '{score}'::name[], 2, options => '{"quiet": true}');
SELECT top_words FROM name_topics('reviews', 'note', 3) ORDER BY 1;
SELECT predict_name('reviews', r) AS name, count(*) FROM reviews r GROUP BY 1 ORDER BY 1;
SELECT top_words[1:2] AS words FROM name_topics('reviews', 'note', 4, bigrams => true) ORDER BY 1;
-- With little memory, rare pairs are dropped, and the frequent ones are found.
CREATE TABLE many_pairs AS SELECT id, score, note || ' ' || (SELECT string_agg('rare' || draw(id, w, 5000), ' ') FROM generate_series(1, 300) w) AS note FROM reviews;
SELECT train('many pairs', 'many_pairs', '{score}'::name[], 2, options => '{"quiet": true}');
BEGIN;
SET LOCAL fastclust.memory_budget = '4MB';
SELECT top_words[1:2] AS words FROM name_topics('many pairs', 'note', 4, bigrams => true) ORDER BY 1;
ROLLBACK;
SELECT drop_model('many pairs');
SELECT top_words FROM name_topics('reviews', 'note', 2, configuration => 'simple') ORDER BY 1;
-- Texts of more than a tsvector can contain are cut, words that are too long raise no notices, and
-- a hyphenated word and its parts are words.
CREATE TABLE dirty AS SELECT i % 3 * 10 + i % 7 / 7.0 AS score,
       CASE WHEN i % 5 = 0 THEN repeat('lorem ipsum ', 100000) WHEN i % 7 = 0 THEN repeat('x', 5000) WHEN i % 11 = 0 THEN NULL ELSE 'Best-practice of group' || i % 3 END AS note FROM generate_series(1, 300) i;
SELECT train('dirty', 'dirty', '{score}'::name[], 3, options => '{"quiet": true}');
SELECT top_words FROM name_topics('dirty', 'note', 4) ORDER BY 1;
SELECT drop_model('dirty');
-- A URL and its path are lexemes with one token, which is shown once.
CREATE TABLE tickets AS SELECT ARRAY[i % 2, 1 - i % 2, 0.1 * sin(i)]::real[] AS x, CASE WHEN i % 2 = 0 THEN 'Invoice wrong, see https://example.com/x?id=1' ELSE 'parcel arrived late and broken' END AS body FROM generate_series(1, 2000) i;
SELECT train('tickets', 'tickets', 'x', 2, options => '{"quiet": true}');
SELECT name, top_words FROM name_topics('tickets', 'body') ORDER BY name COLLATE "C";
SELECT drop_model('tickets');
-- Noise has no name, and every other row has the name of its cluster.
SELECT train('found', 'reviews', '{score}'::name[], NULL, 'density', '{"quiet": true}');
SELECT count(*) FILTER (WHERE predict_name('found', r) IS DISTINCT FROM c.name) AS other_names,
       predict_name('found', 1e6::float8) AS name_of_noise
  FROM reviews r LEFT JOIN model_clusters c ON c.model = 'found' AND c.cluster = predict('found', r);
SELECT drop_model('found');
-- A column that is no text, an unknown column and a user without rights are errors.
SELECT name_topics('reviews', 'score');
SELECT name_topics('reviews', 'nowhere');
SELECT name_topics('reviews', NULL);
SELECT name_topics('reviews', 'note', 0);
SELECT predict_name('nowhere to be found', '{1}'::real[]);
SELECT predict_name('news', NULL::real[]) AS name_of_null;
CREATE ROLE fastclust_stranger;
SET ROLE fastclust_stranger;
SELECT name_topics('reviews', 'note');
RESET ROLE;
DROP ROLE fastclust_stranger;
\set QUIET on
SELECT drop_model(model) FROM models WHERE model IN ('news', 'reviews') \g /dev/null
DROP SCHEMA of_topics CASCADE;
CREATE TABLE no_texts AS SELECT i AS id, ARRAY[i % 3, i % 2]::real[] AS x FROM generate_series(1, 100) i;
SELECT train('no texts', 'no_texts', 'x', 2, options => '{"quiet": true}');
SELECT * FROM name_topics('no texts', 'id');
SELECT drop_model('no texts');
DROP TABLE no_texts;

#!/bin/bash
# report_picture.sh WIDE.png NARROW.png: makes pictures of a report as a browser shows it, on a desk
# and on a phone.
#
#     tools/with-server.sh bench/report_picture.sh docs/report.png docs/report-phone.png
#
# Needs chromium, and pngquant to make the picture small.
set -eu
wide=${1:?} narrow=${2:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
psql -qX -v ON_ERROR_STOP=1 >/dev/null <<'SQL'
CREATE EXTENSION IF NOT EXISTS fastclust;
SET search_path = public, fastclust;
SET client_min_messages = warning;
SELECT setseed(0.3);
CREATE TABLE customers AS
SELECT i AS id, c * 9 + 22 + 8 * (random() + random()) AS age, 18000 + 9000 * (c * 3 % 5) + 6000 * (random() + random()) AS income,
       (60 * exp(c * 2 % 5 / 2.0 + random() + random()))::numeric(12, 2) AS spend, (c * 4 % 5) * 6 + 5 * random() AS orders, 20 + 60 * (c * 3 % 5) + 80 * random() AS days_away
  FROM (SELECT i, width_bucket(random(), '{0,0.34,0.6,0.78,0.92}'::float8[]) - 1 AS c FROM generate_series(1, 60000) i) s;
ANALYZE customers;
SELECT train('customers', 'customers', ARRAY['age', 'income', 'spend', 'orders', 'days_away'], 5);
UPDATE customers SET income = income * 1.3 WHERE id % 3 = 0;
SELECT retrain('customers');
SELECT name_cluster('customers', c.cluster, n.name)
  FROM (SELECT cluster, row_number() OVER (ORDER BY share DESC) AS i FROM model_clusters WHERE model = 'customers') c
  JOIN unnest('{Students,Families,Savers,Regulars,Collectors}'::text[]) WITH ORDINALITY n(name, i) USING (i);
SQL
psql -AtqX -c "SELECT fastclust.report('customers')" >"$folder/report.html"

# shot PICTURE WIDTH HEIGHT: a picture of the beginning of the page, in two pixels a CSS pixel.
shot()
{
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" --blink-settings=preferredColorScheme=1 \
		--force-device-scale-factor=2 --window-size="$2,$3" --screenshot="$folder/report.png" "file://$folder/report.html" 2>/dev/null
	pngquant --force --output "$1" 32 "$folder/report.png"
}

shot "$wide" 720 1045
shot "$narrow" 390 1120

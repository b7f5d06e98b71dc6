/*
 * settings.c - settings of a session that change what text means, or how a value is written.
 *
 * A stored condition is text: a node tree is of one server version, and holds oids that no dump restores.  It means the same
 * everywhere because it is written and read under these settings alone.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "pg/base/settings.h"

typedef struct setting
{
	const char *name;
	const char *value;
} setting;

static void
fix(const setting *settings, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(GetConfigOption(settings[i].name, false, false), settings[i].value) != 0)
			(void) set_config_option(settings[i].name, settings[i].value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

int
fix_text_settings(void)
{
	static const setting settings[] = {
		{"bytea_output", "hex"}, {"standard_conforming_strings", "on"}, {"array_nulls", "on"}, {"lc_monetary", "C"},
		{"quote_all_identifiers", "off"}, {"transform_null_equals", "off"}, {"xmlbinary", "base64"}, {"xmloption", "content"}
	};
	int			level = NewGUCNestLevel();

	fix(settings, lengthof(settings));
	return level;
}

int
fix_settings(void)
{
	static const setting settings[] = {
		{"search_path", "pg_catalog, fastclust, fastclust_internal, pg_temp"},
		{"DateStyle", "ISO, MDY"}, {"IntervalStyle", "postgres"}, {"extra_float_digits", "1"}, {"TimeZone", "UTC"}
	};
	int			level = fix_text_settings();

	fix(settings, lengthof(settings));
	return level;
}

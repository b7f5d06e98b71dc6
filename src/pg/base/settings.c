/*
 * settings.c - fixed settings for reading and writing text
 *
 * A condition is stored as text, because a node tree belongs to one server
 * version and contains OIDs that a dump does not restore. The text is written
 * and read under these settings, so that its meaning does not depend on the
 * session. Functions in SQL that run stored conditions have the relevant
 * settings in their own SET clauses.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "pg/base/arguments.h"

void
set_in_level(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
}

int
fix_settings(int kinds)
{
	static const struct
	{
		int			kinds;
		const char *name;
		const char *value;
	}			settings[] = {{FIX_READING, "standard_conforming_strings", "on"},
	{FIX_READING | FIX_OUTPUT, "array_nulls", "on"},
	{FIX_READING, "lc_monetary", "C"},
	{FIX_READING, "quote_all_identifiers", "off"},
	{FIX_READING, "transform_null_equals", "off"},
	{FIX_READING, "xmlbinary", "base64"},
	{FIX_READING, "xmloption", "content"},
	{FIX_READING | FIX_OUTPUT, "bytea_output", "hex"},
	{FIX_PATH, "search_path",
	"pg_catalog, fastclust, fastclust_internal, pg_temp"},
	{FIX_CONDITION, "search_path", "pg_catalog, pg_temp"},
	{FIX_OUTPUT, "DateStyle", "ISO, MDY"},
	{FIX_CONDITION, "DateStyle", "ISO"},
	{FIX_OUTPUT, "TimeZone", "UTC"},
	{FIX_OUTPUT | FIX_CONDITION, "IntervalStyle", "postgres"},
	{FIX_OUTPUT | FIX_CONDITION, "extra_float_digits", "1"}};
	int			level = NewGUCNestLevel();

	for (int i = 0; i < lengthof(settings); i++)
		if ((settings[i].kinds & kinds) != 0 &&
			strcmp(GetConfigOption(settings[i].name, false, false),
				   settings[i].value) != 0)
			set_in_level(settings[i].name, settings[i].value);
	return level;
}

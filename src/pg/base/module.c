/* module.c - loading, and the setting of the memory budget */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "pg/base/memory.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	DefineCustomIntVariable("fastclust.memory_budget",
							"Memory one fastclust function may take.",
							"Work that needs more fails before it starts, and says how much it needs.",
							&fastclust_memory_budget,
							1024 * 1024, 1024, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	EmitWarningsOnPlaceholders("fastclust");
}


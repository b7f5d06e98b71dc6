/* module.c - loading, and the settings */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "pg/base/memory.h"
#include "pg/base/progress.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	DefineCustomIntVariable("fastclust.memory_budget",
							"Memory one fastclust function may take.",
							"Work that needs more fails, and says how much it asked for.",
							&fastclust_memory_budget,
							1024 * 1024, 1024, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("fastclust.largest_state",
							"Largest sums of a training scan that workers may share.",
							"Larger ones stay in one process; no value holds more than 1 GB.",
							&fastclust_largest_state,
							MaxAllocSize / 1024, 64, MaxAllocSize / 1024,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("fastclust.progress_interval",
							"Time between two notices of a long step of training.",
							"0 turns them off.",
							&fastclust_progress_interval,
							10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	fc_interrupt_check = check_for_interrupts;
	EmitWarningsOnPlaceholders("fastclust");
	prepare_board();
}


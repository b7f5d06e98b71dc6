/*
 * memory.c - memory within fastclust.memory_budget, the interrupt check of the
 * server, and the loading of the module with its settings
 */
#include "postgres.h"

#include <limits.h>
#include <sys/mman.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/memutils.h"

#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"

/* Minimum of the budget in kB, enough for small calls. A guess. */
#define MIN_BUDGET_KB	1024

#define BUDGET_LIMIT	"fastclust.memory_budget_limit"

/*
 * Number of interrupt checks between two looks at the clock, which costs more
 * than a check. With a larger number, progress is reported late. A guess.
 */
#define CHECKS_A_LOOK	16

/*
 * Default of fastclust.memory_budget in kB. A larger budget allows larger
 * samples and states, but two large calls might exhaust a small machine. A
 * guess.
 */
#define DEFAULT_BUDGET_KB	(512 * 1024)

/*
 * Minimum size in bytes of an allocation for which huge pages are advised;
 * smaller allocations would hardly be faster. A guess.
 */
#define MIN_HUGE_BYTES	((Size) 4 << 20)

/* Size of a page of memory. */
#define PAGE_BYTES	4096

int			fastclust_memory_budget = DEFAULT_BUDGET_KB;
int			fastclust_largest_state = MaxAllocSize / 1024;

static int	requested_budget = DEFAULT_BUDGET_KB;	/* value of GUC
													 * fastclust.memory_budget
													 * in kB */
static int	budget_limit = MAX_KILOBYTES;	/* value of GUC
											 * fastclust.memory_budget_limit
											 * in kB */

static char *refused_limit = NULL;	/* value of BUDGET_LIMIT from before the
									 * module was loaded that the server
									 * refused; NULL if it refused none */
static bool client_set_limit = false;	/* true if the client of the
										 * connection set refused_limit */

void
reject_refused_limit(void)
{
	if (refused_limit == NULL || budget_limit > MIN_BUDGET_KB)
		return;
	ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("the server refused the value \"%s\" of fastclust.memory_budget_limit",
				   refused_limit),
			errdetail("Without a valid limit, functions of fastclust allocate no memory."),
			client_set_limit
			? errhint("Remove fastclust.memory_budget_limit from PGOPTIONS and the options of the connection, and connect again. Only a superuser may set it, to a size such as '2GB'.")
			: errhint("Correct the value in ALTER DATABASE, ALTER ROLE or the configuration file to a size such as '2GB', and connect again."));
}

void
check_budget(Size bytes, const char *what)
{
	reject_refused_limit();
	if (bytes / 1024 < (Size) fastclust_memory_budget)
		return;
	ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("%s needs %zu MB of memory, more than fastclust.memory_budget allows",
				   what, bytes / 1024 / 1024 + 1),
			errdetail("The budget is %d MB.", fastclust_memory_budget / 1024),
			errhint("Increase fastclust.memory_budget, or use fewer rows, clusters, dimensions or frequencies."));
}

void
charge_memory(memory_account *account, Size bytes)
{
	check_budget(bytes < SIZE_MAX - account->charged ? account->charged + bytes
				 : SIZE_MAX,
				 account->what);
	account->charged += bytes;
}

void *
alloc_large_in(MemoryContext context, Size bytes)
{
	void	   *memory = MemoryContextAllocHuge(context, bytes);

#ifdef MADV_HUGEPAGE
	if (bytes >= MIN_HUGE_BYTES)
		(void) madvise((void *) TYPEALIGN(PAGE_BYTES, memory), bytes - PAGE_BYTES,
					   MADV_HUGEPAGE);
#endif
	return memory;
}

void *
alloc_large(Size bytes)
{
	return alloc_large_in(CurrentMemoryContext, bytes);
}

static void *
grow(void *host, size_t bytes)
{
	memory_account *account = host;

	charge_memory(account, bytes);
	return alloc_large_in(account->context, bytes);
}

static void
shrink(void *host, void *block, size_t bytes)
{
	memory_account *account = host;

	pfree(block);
	account->charged -= bytes;
}

fc_arena
charged_arena(memory_account *account)
{
	account->context = CurrentMemoryContext;
	return (fc_arena)
	{
		.grow = grow,.shrink = shrink,.host = account
	};
}

fc_arena
make_arena_in(MemoryContext context, const char *what)
{
	memory_account *own = MemoryContextAllocZero(context,
												 sizeof(memory_account));
	fc_arena	arena = charged_arena(own);

	own->what = what;
	own->context = context;
	return arena;
}

fc_arena
make_arena(const char *what)
{
	return make_arena_in(CurrentMemoryContext, what);
}

void
release_arena(fc_arena *arena)
{
	fc_mark		start = {0};

	fc_arena_release(arena, start);
}

fc_scratch
make_scratch(Size floats)
{
	return (fc_scratch)
	{
		alloc_large(floats * sizeof(float)), floats
	};
}

void *
grown(MemoryContext context, void *memory, Size *capacity, Size count, Size item)
{
	if (*capacity >= count)
		return memory;
	if (memory != NULL)
		pfree(memory);
	*capacity = 0;
	memory = alloc_large_in(context, count * item);
	*capacity = count;
	return memory;
}

HTAB *
make_table(const char *name, Size key, Size entry, MemoryContext context)
{
	HASHCTL		control = {.keysize = key,.entrysize = entry,.hcxt = context};

	return hash_create(name, 16, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* ---- the budget's ceiling ---- */

static char *
text_of_kilobytes(int kilobytes)
{
	return kilobytes % 1024 == 0 ? psprintf("%d MB", kilobytes / 1024)
		: psprintf("%d kB", kilobytes);
}

/*
 * Check hook: rejects a value above the ceiling if a session sets it. Accepts
 * a higher value of a configuration file, a database or a role, and a value
 * that was set before the ceiling was lowered; the ceiling is then the budget
 * in force.
 */
static bool
check_requested_budget(int *budget, void **extra, GucSource source)
{
	if (*budget <= budget_limit || source < PGC_S_INTERACTIVE ||
		InitializingParallelWorker)
		return true;
	GUC_check_errmsg("fastclust.memory_budget is %s, above its ceiling",
					 text_of_kilobytes(*budget));
	GUC_check_errdetail("Valid values are from %s to %s.",
						text_of_kilobytes(MIN_BUDGET_KB),
						text_of_kilobytes(budget_limit));
	GUC_check_errhint("A superuser can raise the ceiling with fastclust.memory_budget_limit.");
	return false;
}

static void
assign_requested_budget(int budget, void *extra)
{
	fastclust_memory_budget = Min(budget, budget_limit);
}

static void
assign_budget_limit(int limit, void *extra)
{
	fastclust_memory_budget = Min(requested_budget, limit);
}

/* Returns the setting BUDGET_LIMIT, or NULL if nobody has set or defined it. */
static struct config_generic *
find_budget_limit(void)
{
#if PG_VERSION_NUM >= 160000
	int			count;
	struct config_generic **all = get_guc_variables(&count);
#else
	struct config_generic **all = get_guc_variables();
	int			count = GetNumConfigOptions();
#endif

	for (int i = 0; i < count; i++)
		if (pg_strcasecmp(all[i]->name, BUDGET_LIMIT) == 0)
			return all[i];
	return NULL;
}

/*
 * Returns the limit in kB that `value`, set in a context, stands for, or -1 if
 * it is no valid limit or was set without the right to do so.
 */
static int
valid_limit(const char *value, GucContext context)
{
	int			limit;

	if (context == PGC_BACKEND || context == PGC_USERSET ||
		!parse_int(value, &limit, GUC_UNIT_KB, NULL) || limit < MIN_BUDGET_KB)
		return -1;
	return limit;
}

/*
 * Defines fastclust.memory_budget_limit. If the module is not preloaded, the
 * setting may have a value already, which nobody has checked. The server
 * replaces a value that it refuses by the default, which is no limit. Any role
 * could remove the limit of ALTER DATABASE in this way, by an option of its
 * connection; the limit is then the minimum, and reject_refused_limit raises
 * an error.
 *
 * In a parallel operation the server refuses every value, and the main process
 * passes no default to its workers. The default is then the value from before.
 */
static void
define_budget_limit(void)
{
	struct config_generic *before = find_budget_limit();
	GucSource	source = before == NULL ? PGC_S_DEFAULT : before->reset_source;
	char	   *value = NULL;

	if (source > PGC_S_DEFAULT)
	{
		value = MemoryContextStrdup(TopMemoryContext,
									GetConfigOptionResetString(BUDGET_LIMIT));
		if (IsInParallelMode() || InitializingParallelWorker)
			budget_limit = Max(MIN_BUDGET_KB, valid_limit(value, before->reset_scontext));
	}
	DefineCustomIntVariable(BUDGET_LIMIT,
							"Maximum value of fastclust.memory_budget.",
							"Larger values that were set before are reduced to it.", &budget_limit,
							budget_limit, MIN_BUDGET_KB, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB,
							NULL, assign_budget_limit, NULL);
	if (source == PGC_S_DEFAULT ||
		find_budget_limit()->reset_source != PGC_S_DEFAULT)
		return;
	refused_limit = value;
	client_set_limit = source == PGC_S_CLIENT;
	if (!IsInParallelMode())
		SetConfigOption(BUDGET_LIMIT, psprintf("%d", MIN_BUDGET_KB), PGC_SUSET, source);
}

/* ---- loading ---- */

/*
 * Interrupt check that the core calls. Cancels the query if the server
 * requests it, and reports progress.
 */
static void
check_for_interrupts(void)
{
	static uint32 checks = 0;

	CHECK_FOR_INTERRUPTS();
	if (++checks % CHECKS_A_LOOK == 0)
		report_progress();
}

static void
raise_numeric_failure(void)
{
	report_status(FC_ENUMERIC);
}

PG_MODULE_MAGIC;

void		_PG_init(void);

/*
 * Holds off interrupts while the settings are defined. A cancel during a
 * warning would leave the library partly loaded, and the server could not load
 * it again.
 */
void
_PG_init(void)
{
	HOLD_INTERRUPTS();
	define_budget_limit();
	DefineCustomIntVariable("fastclust.memory_budget",
							"Maximum memory of one call of a fastclust function.",
							"Samples are made small enough to fit; other work that needs more memory fails, and the error says how much it needs.",
							&requested_budget, DEFAULT_BUDGET_KB, MIN_BUDGET_KB,
							MAX_KILOBYTES, PGC_USERSET,
							GUC_UNIT_KB, check_requested_budget, assign_requested_budget, NULL);
	DefineCustomIntVariable("fastclust.largest_state",
							"Maximum size of the sums that each worker of a parallel training scan keeps.",
							"With larger sums, the scan runs in one process, because a value cannot exceed 1 GB.",
							&fastclust_largest_state, MaxAllocSize / 1024, 64, MaxAllocSize / 1024,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("fastclust.progress_interval",
							"Time between progress notices of a long training step.",
							"0 turns the notices off.",
							&fastclust_progress_interval, 10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomRealVariable("fastclust.time_budget",
							 "Maximum time of one fastclust step, as estimated before it begins.",
							 "A step with a longer estimate fails at once, with a hint at what would be faster; 0 turns the limit off.",
							 &fastclust_time_budget, 3600, 0, INT_MAX,
							 PGC_USERSET, GUC_UNIT_S, NULL,
							 NULL, NULL);
	fc_interrupt_check = check_for_interrupts;
	fc_numeric_failure = raise_numeric_failure;
	EmitWarningsOnPlaceholders("fastclust");
	prepare_board();
	RESUME_INTERRUPTS();
}

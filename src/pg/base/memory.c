/* memory.c - memory within fastclust.memory_budget, and the interrupt check of the server */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/pieces.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"

int			fastclust_memory_budget = 1024 * 1024;
int			fastclust_largest_state = MaxAllocSize / 1024;

void
check_budget(Size bytes, const char *what)
{
	if (bytes / 1024 < (Size) fastclust_memory_budget)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("%s needs %zu MB of memory, more than fastclust.memory_budget allows",
					what, bytes / 1024 / 1024 + 1),
			 errdetail("The budget is %d MB.", fastclust_memory_budget / 1024),
			 errhint("Raise it with SET fastclust.memory_budget, or make the problem smaller.")));
}

void
hold(account *account, Size bytes)
{
	check_budget(bytes < SIZE_MAX - account->held ? account->held + bytes : SIZE_MAX, account->what);
	account->held += bytes;
}

static void *
grow(void *host, size_t bytes)
{
	account    *account = host;

	hold(account, bytes);
	return MemoryContextAllocHuge(account->context, bytes);
}

static void
shrink(void *host, void *block, size_t bytes)
{
	account    *account = host;

	pfree(block);
	account->held -= bytes;
}

fc_arena
hold_arena(account *account)
{
	account->context = CurrentMemoryContext;
	return (fc_arena) {.grow = grow,.shrink = shrink,.host = account};
}

fc_arena
make_arena(const char *what)
{
	account    *own = palloc0(sizeof(account));

	own->what = what;
	return hold_arena(own);
}

void
release_arena(fc_arena *arena)
{
	fc_arena_release(arena, (fc_mark) {0});
}

fc_scratch
make_scratch(Size floats)
{
	return (fc_scratch) {palloc_extended(floats * sizeof(float), MCXT_ALLOC_HUGE), floats};
}

void *
allocate_cleared(Size bytes)
{
	void	   *memory = palloc_extended(bytes, MCXT_ALLOC_HUGE);

	fc_clear_pieces(memory, bytes);
	return memory;
}

HTAB *
make_table(const char *name, Size key, Size entry, MemoryContext context)
{
	HASHCTL		control = {.keysize = key, .entrysize = entry, .hcxt = context};

	return hash_create(name, 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
	report_progress();
}

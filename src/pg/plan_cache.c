/*
 * plan_cache.c - the plans of the specs in use, built once per process.
 *
 * Keyed by the spec's digest, most recently used first, so thousands of groups
 * share one set of frequencies and a lookup is one comparison.  At most
 * MAX_PLANS, and no more memory than the budget.
 */
#include "fastclust.h"

#include "lib/ilist.h"
#include "utils/memutils.h"

#define MAX_PLANS 16

typedef struct cached_plan
{
	dlist_node	node;
	MemoryContext context;
	Size		bytes;
	fc_spec    *spec;
	fc_plan		plan;
} cached_plan;

static dlist_head plans = DLIST_STATIC_INIT(plans);
static int	plan_count = 0;
static Size plan_bytes = 0;

const fc_plan *
plan_of_digest(const uint64 digest[2])
{
	dlist_iter	iter;

	dlist_foreach(iter, &plans)
	{
		cached_plan *entry = dlist_container(cached_plan, node, iter.cur);

		if (entry->spec->digest[0] == digest[0] && entry->spec->digest[1] == digest[1])
		{
			dlist_move_head(&plans, &entry->node);
			return &entry->plan;
		}
	}
	return NULL;
}

static void
drop_last(void)
{
	cached_plan *entry = dlist_tail_element(cached_plan, node, &plans);

	dlist_delete(&entry->node);
	plan_count--;
	plan_bytes -= entry->bytes;
	MemoryContextDelete(entry->context);
}

/* Build in a context that dies with an error, and is kept only when complete. */
static cached_plan *
build_plan(const fc_spec *spec)
{
	Size		spec_bytes = fc_spec_core_size(spec);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "fastclust plan", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	cached_plan *entry = palloc0(sizeof(cached_plan));
	fc_arena	arena;

	entry->context = context;
	entry->bytes = spec_bytes + fc_plan_size(spec);
	arena = make_arena(fc_plan_size(spec), "drawing the frequencies of the sketch_spec");
	entry->spec = MemoryContextAllocHuge(context, spec_bytes);
	memcpy(entry->spec, spec, spec_bytes);
	entry->spec->pilot_rows = 0;
	check_status(fc_plan_build(entry->spec, &server_tick, &arena, &entry->plan), &arena);
	MemoryContextSwitchTo(old);
	return entry;
}

const fc_plan *
plan_of_spec(const fc_spec *spec)
{
	const fc_plan *found = plan_of_digest(spec->digest);
	cached_plan *entry;

	if (found != NULL)
		return found;
	entry = build_plan(spec);
	while (plan_count >= MAX_PLANS ||
		   (plan_count > 0 && (plan_bytes + entry->bytes) / 1024 > (Size) fastclust_memory_budget))
		drop_last();
	MemoryContextSetParent(entry->context, CacheMemoryContext);
	dlist_push_head(&plans, &entry->node);
	plan_count++;
	plan_bytes += entry->bytes;
	return &entry->plan;
}

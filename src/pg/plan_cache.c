/*
 * plan_cache.c - the plans of the specs in use, built once per process.
 *
 * Found by the spec's digest, so thousands of groups share one set of frequencies;
 * dropped least recently used first once they take more than a PLAN_SHARE of
 * fastclust.memory_budget together (the latest always stays).
 */
#include "fastclust.h"

#include "lib/ilist.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#define PLAN_SHARE	4			/* a quarter of the budget */

typedef struct cached_plan
{
	dlist_node	node;			/* most recently used first */
	MemoryContext context;
	Size		bytes;
	fc_spec    *spec;
	fc_plan		plan;
} cached_plan;

typedef struct plan_slot
{
	uint64		digest[2];		/* key */
	cached_plan *entry;
} plan_slot;

static dlist_head plans = DLIST_STATIC_INIT(plans);
static HTAB *slots = NULL;
static Size plan_bytes = 0;

uint64		plan_generation = 0;

static void
create_slots(void)
{
	HASHCTL		control = {0};

	control.keysize = 2 * sizeof(uint64);
	control.entrysize = sizeof(plan_slot);
	control.hcxt = CacheMemoryContext;
	slots = hash_create("fastclust plans", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
drop(cached_plan *entry)
{
	hash_search(slots, entry->spec->digest, HASH_REMOVE, NULL);
	dlist_delete(&entry->node);
	plan_bytes -= entry->bytes;
	plan_generation++;
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
	entry->bytes = spec_bytes + fc_plan_size(spec) + ALLOCSET_SMALL_INITSIZE;
	arena = make_arena(fc_plan_size(spec), "drawing the frequencies of the sketch_spec");
	entry->spec = MemoryContextAllocHuge(context, spec_bytes);
	memcpy(entry->spec, spec, spec_bytes);
	entry->spec->pilot_rows = 0;
	check_status(fc_plan_build(entry->spec, &server_tick, &arena, &entry->plan), &arena);
	MemoryContextSwitchTo(old);
	return entry;
}

static void
keep(cached_plan *entry)
{
	Size		limit = (Size) fastclust_memory_budget * 1024 / PLAN_SHARE;
	plan_slot  *slot;

	while (!dlist_is_empty(&plans) && plan_bytes + entry->bytes > limit)
		drop(dlist_tail_element(cached_plan, node, &plans));
	slot = hash_search(slots, entry->spec->digest, HASH_ENTER, NULL);
	slot->entry = entry;
	MemoryContextSetParent(entry->context, CacheMemoryContext);
	dlist_push_head(&plans, &entry->node);
	plan_bytes += entry->bytes;
}

const fc_plan *
plan_of_spec(const fc_spec *spec)
{
	plan_slot  *slot;
	cached_plan *entry;

	if (slots == NULL)
		create_slots();
	slot = hash_search(slots, spec->digest, HASH_FIND, NULL);
	if (slot != NULL && fc_spec_same(slot->entry->spec, spec))
	{
		dlist_move_head(&plans, &slot->entry->node);
		return &slot->entry->plan;
	}
	entry = build_plan(spec);
	if (slot != NULL)			/* another spec of the same digest */
		drop(slot->entry);
	keep(entry);
	return &entry->plan;
}

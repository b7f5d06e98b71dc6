/*
 * prepared_cache.c - the specs in use, prepared once per process.
 *
 * Found by the spec's digest, so thousands of groups share one set of frequencies;
 * dropped least recently used first once they take more than a BUDGET_SHARE of
 * fastclust.memory_budget together (the latest always stays).
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "utils/memutils.h"

#include "pg/base/memory.h"
#include "pg/sketch/prepared_cache.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/prepared.h"
#include "sketch/spec.h"

#define BUDGET_SHARE	4		/* a quarter of the budget */

typedef struct cached_spec
{
	dlist_node	node;			/* most recently used first */
	MemoryContext context;
	Size		bytes;
	fc_spec    *spec;
	fc_prepared	prepared;
} cached_spec;

typedef struct prepared_slot
{
	uint64		digest[2];		/* key */
	cached_spec *entry;
} prepared_slot;

static dlist_head prepared_specs = DLIST_STATIC_INIT(prepared_specs);
static HTAB *slots = NULL;
static Size prepared_bytes = 0;

uint64		prepared_generation = 0;

static void
drop(cached_spec *entry)
{
	hash_search(slots, entry->spec->digest, HASH_REMOVE, NULL);
	dlist_delete(&entry->node);
	prepared_bytes -= entry->bytes;
	prepared_generation++;
	MemoryContextDelete(entry->context);
}

/* Build in a context that dies with an error, and is kept only when complete. */
static cached_spec *
prepare_spec(const fc_spec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "fastclust prepared", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	cached_spec *entry = palloc0(sizeof(cached_spec));
	fc_arena	arena;

	entry->context = context;
	entry->bytes = fc_spec_core_size(spec) + fc_prepared_size(spec) + ALLOCSET_SMALL_INITSIZE;
	check_budget(fc_prepared_size(spec), "drawing the frequencies of the sketch_spec");
	arena = make_arena("drawing the frequencies of the sketch_spec");
	entry->spec = spec_without_pilot(spec);
	fc_spec_prepare(entry->spec, &arena, &entry->prepared);
	MemoryContextSwitchTo(old);
	return entry;
}

static void
keep(cached_spec *entry)
{
	Size		limit = (Size) fastclust_memory_budget * 1024 / BUDGET_SHARE;
	prepared_slot *slot;

	while (!dlist_is_empty(&prepared_specs) && prepared_bytes + entry->bytes > limit)
		drop(dlist_tail_element(cached_spec, node, &prepared_specs));
	slot = hash_search(slots, entry->spec->digest, HASH_ENTER, NULL);
	slot->entry = entry;
	MemoryContextSetParent(entry->context, CacheMemoryContext);
	dlist_push_head(&prepared_specs, &entry->node);
	prepared_bytes += entry->bytes;
}

const fc_prepared *
prepared_of_spec(const fc_spec *spec)
{
	prepared_slot *slot;
	cached_spec *entry;

	if (slots == NULL)
		slots = make_table("fastclust prepared specs", sizeof(((prepared_slot *) 0)->digest), sizeof(prepared_slot), CacheMemoryContext);
	slot = hash_search(slots, spec->digest, HASH_FIND, NULL);
	if (slot != NULL && fc_spec_same(slot->entry->spec, spec))
	{
		dlist_move_head(&prepared_specs, &slot->entry->node);
		return &slot->entry->prepared;
	}
	entry = prepare_spec(spec);
	if (slot != NULL)			/* another spec of the same digest */
		drop(slot->entry);
	keep(entry);
	return &entry->prepared;
}

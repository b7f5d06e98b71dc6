/*
 * typical_words_agg.c - typical_words_agg: returns the words that distinguish
 * the texts of each cluster, for name_topics
 *
 * Words are ranked by class-based TF-IDF (Grootendorst 2022, BERTopic): n *
 * log(1 + m / f). n is the number of times that a word occurs in a cluster, f
 * in all clusters, and m is the mean number of words per cluster. Words are
 * lexemes with a letter and, if requested, pairs of neighbouring lexemes. A
 * hash table has a count for each word of each cluster. When it exceeds half
 * of the memory budget, pairs that were rare so far are dropped (lossy
 * counting, Manku and Motwani 2002).
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "tsearch/ts_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"

enum
{
	ARGUMENT_CLUSTER = 1,
	ARGUMENT_LEXEMES,
	ARGUMENT_PAIRS,
	ARGUMENT_N
};

/* Cluster number of rows without a cluster, such as noise. */
#define NO_CLUSTER	(-1)

/* Maximum cluster number. A guess. */
#define MAX_CLUSTER	((1 << 24) - 1)

/*
 * Number of a lexeme without a letter, and of the missing second lexeme of a
 * word that is not a pair.
 */
#define NO_LEXEME	(-1)

/* Initial capacity of the tables. A guess. */
#define FIRST_CAPACITY	1024

typedef struct text_lexeme
{
	const char *bytes;
	int			length;
} text_lexeme;

typedef struct lexeme_slot
{
	text_lexeme key;
	int32		number;			/* index into word_counts.lexemes, or
								 * NO_LEXEME for a lexeme without a letter */
	char		status;			/* used by simplehash.h */
} lexeme_slot;

#define SH_PREFIX lexemes
#define SH_ELEMENT_TYPE lexeme_slot
#define SH_KEY_TYPE text_lexeme
#define SH_KEY key
#define SH_HASH_KEY(table, key) \
	hash_bytes((const unsigned char *) (key).bytes, (key).length)
#define SH_EQUAL(table, a, b) \
	((a).length == (b).length && memcmp((a).bytes, (b).bytes, (a).length) == 0)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct topic_word
{
	int32		cluster;
	int32		first;			/* number of the first lexeme */
	int32		second;			/* number of the second lexeme, or NO_LEXEME
								 * for a single lexeme */
} topic_word;

typedef struct word_slot
{
	int64		n;
	topic_word	key;
	char		status;			/* used by simplehash.h */
} word_slot;

#define SH_PREFIX words
#define SH_ELEMENT_TYPE word_slot
#define SH_KEY_TYPE topic_word
#define SH_KEY key
#define SH_HASH_KEY(table, key) \
	hash_bytes((const unsigned char *) &(key), sizeof(topic_word))
#define SH_EQUAL(table, a, b) \
	((a).first == (b).first && (a).cluster == (b).cluster && (a).second == (b).second)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct word_counts
{
	MemoryContext context;
	int32		n;				/* number of words returned per cluster */
	int32		clusters;		/* highest cluster number plus 1 */
	lexemes_hash *numbers;
	text_lexeme *lexemes;
	int32		lexeme_count;
	int32		lexeme_capacity;
	words_hash *words;
} word_counts;

/* ---- counting ---- */

static word_counts *
new_state(FunctionCallInfo fcinfo)
{
	MemoryContext context = AllocSetContextCreate(aggregate_context(fcinfo), "typical words",
												  ALLOCSET_DEFAULT_SIZES);
	word_counts *state = MemoryContextAllocZero(context, sizeof(word_counts));

	require_argument(fcinfo, ARGUMENT_N, "n");
	state->context = context;
	state->n = PG_GETARG_INT32(ARGUMENT_N);
	check_count("n", state->n, 1, 1000);
	state->lexeme_capacity = FIRST_CAPACITY;
	state->lexemes = MemoryContextAlloc(context, FIRST_CAPACITY * sizeof(text_lexeme));
	state->numbers = lexemes_create(context, FIRST_CAPACITY, NULL);
	state->words = words_create(context, FIRST_CAPACITY, NULL);
	return state;
}

/*
 * Returns the size in bytes of the state after `more` words have been added,
 * plus the size of the table that the final function makes.
 */
static Size
expected_bytes(const word_counts *state, Size more)
{
	const words_hash *words = state->words;
	Size		slots = words->size;

	if (words->members + more >= words->grow_threshold)
		slots = 3 * slots + 2 * more;
	return MemoryContextMemAllocated(state->context, false) + slots * sizeof(word_slot);
}

/* Drops pairs that occurred at most `rare` times in a cluster. */
static void
drop_pairs(word_counts *state, int64 rare)
{
	words_hash *kept = words_create(state->context, FIRST_CAPACITY, NULL);
	words_iterator iterator;
	word_slot  *slot;
	bool		found;

	words_start_iterate(state->words, &iterator);
	while ((slot = words_iterate(state->words, &iterator)) != NULL)
		if (slot->key.second == NO_LEXEME || slot->n > rare)
			words_insert(kept, slot->key, &found)->n = slot->n;
	words_destroy(state->words);
	state->words = kept;
}

/* Makes room for `more` words within the memory budget, or raises an error. */
static void
make_room(word_counts *state, Size more)
{
	for (int64 rare = 1; rare < 1 << 16; rare *= 2)
	{
		if (expected_bytes(state, more) / 1024 < (Size) fastclust_memory_budget)
			return;
		drop_pairs(state, rare);
	}
	check_budget(expected_bytes(state, more), "name_topics");
}

static bool
has_letter(text_lexeme item)
{
	text	   *lexeme = cstring_to_text_with_len(item.bytes, item.length);

	return DatumGetBool(DirectFunctionCall2Coll(textregexeq, DEFAULT_COLLATION_OID,
												PointerGetDatum(lexeme),
												CStringGetTextDatum("[[:alpha:]]")));
}

/* Returns the number of a lexeme, or NO_LEXEME if it has no letter. */
static int32
number_of_lexeme(word_counts *state, text_lexeme item)
{
	bool		found;
	lexeme_slot *slot = lexemes_insert(state->numbers, item, &found);

	if (found)
		return slot->number;
	slot->number = has_letter(item) ? state->lexeme_count : NO_LEXEME;
	item.bytes = slot->key.bytes = memcpy(MemoryContextAlloc(state->context, item.length + 1),
										  item.bytes, item.length);
	if (slot->number == NO_LEXEME)
		return NO_LEXEME;
	if (state->lexeme_count == state->lexeme_capacity)
		state->lexemes = repalloc_huge(state->lexemes,
									   (Size) (state->lexeme_capacity *= 2) * sizeof(text_lexeme));
	state->lexemes[state->lexeme_count] = item;
	return state->lexeme_count++;
}

static void
count_word(words_hash *words, topic_word key, int64 n)
{
	bool		found;
	word_slot  *slot = words_insert(words, key, &found);

	slot->n = found ? slot->n + n : n;
}

/* An occurrence of a lexeme in a text; occurrences are sorted by position. */
typedef struct occurrence
{
	int32		position;
	int32		index;			/* index of the lexeme in the text */
	int32		number;			/* number of the lexeme, or NO_LEXEME */
} occurrence;

static int
compare_occurrences(const void *left, const void *right)
{
	const occurrence *a = left;
	const occurrence *b = right;

	return a->position != b->position ? a->position - b->position : a->index - b->index;
}

/* Counts pairs of lexemes whose positions differ by 1. */
static void
count_pairs(word_counts *state, int32 cluster, occurrence *occurrences, Size count)
{
	qsort(occurrences, count, sizeof(occurrence), compare_occurrences);
	for (Size i = 0; i + 1 < count; i++)
	{
		topic_word	pair = {cluster, occurrences[i].number, occurrences[i + 1].number};

		if (occurrences[i + 1].position == occurrences[i].position + 1 &&
			pair.first != NO_LEXEME && pair.second != NO_LEXEME)
			count_word(state->words, pair, 1);
	}
}

static void
count_lexemes(word_counts *state, int32 cluster, TSVector text, bool pairs)
{
	const		WordEntry *entries = ARRPTR(text);
	Size		count = 0;
	Size		listed = 0;
	occurrence *occurrences;

	for (int i = 0; i < text->size; i++)
		count += POSDATALEN(text, &entries[i]);
	make_room(state, (Size) text->size + (pairs ? count : 0));
	occurrences = palloc(Max(count, 1) * sizeof(occurrence));
	for (int i = 0; i < text->size; i++)
	{
		const text_lexeme item = {STRPTR(text) + entries[i].pos, entries[i].len};
		const topic_word single = {cluster, number_of_lexeme(state, item), NO_LEXEME};
		int			n = POSDATALEN(text, &entries[i]);

		if (single.first != NO_LEXEME)
			count_word(state->words, single, n);
		for (int j = 0; j < n; j++)
		{
			const occurrence here = {WEP_GETPOS(POSDATAPTR(text, &entries[i])[j]), i, single.first};

			occurrences[listed++] = here;
		}
	}
	if (pairs)
		count_pairs(state, cluster, occurrences, count);
	pfree(occurrences);
}

/* Transition function: (state, cluster, lexemes, pairs, n). */
PG_FUNCTION_INFO_V1(fastclust_typical_words_accum);
Datum
fastclust_typical_words_accum(PG_FUNCTION_ARGS)
{
	word_counts *state = internal_state(fcinfo);
	int32		cluster = PG_ARGISNULL(ARGUMENT_CLUSTER) ? NO_CLUSTER
	: PG_GETARG_INT32(ARGUMENT_CLUSTER);

	(void) aggregate_context(fcinfo);
	report_progress_of_rows();
	if (PG_ARGISNULL(ARGUMENT_LEXEMES))
		return unchanged_state(fcinfo);
	if (state == NULL)
		state = new_state(fcinfo);
	if (!PG_ARGISNULL(ARGUMENT_CLUSTER))
		check_count("cluster", cluster, 0, MAX_CLUSTER);
	state->clusters = Max(state->clusters, cluster + 1);
	count_lexemes(state, cluster, PG_GETARG_TSVECTOR(ARGUMENT_LEXEMES),
				  !PG_ARGISNULL(ARGUMENT_PAIRS) && PG_GETARG_BOOL(ARGUMENT_PAIRS));
	PG_RETURN_POINTER(state);
}

/* ---- ranking ---- */

typedef struct ranked_word
{
	double		score;
	topic_word	word;
} ranked_word;

static int
compare_lexemes(const word_counts *state, int32 a, int32 b)
{
	const text_lexeme *items = state->lexemes;

	if (a == NO_LEXEME || b == NO_LEXEME)
		return (a != NO_LEXEME) - (b != NO_LEXEME);
	return varstr_cmp(items[a].bytes, items[a].length, items[b].bytes, items[b].length,
					  DEFAULT_COLLATION_OID);
}

/*
 * Returns true if a ranks before b: if its score is higher or, for equal
 * scores, if its lexemes come first in the order of the database.
 */
static bool
is_before(const word_counts *state, const ranked_word *a, const ranked_word *b)
{
	int			order;

	if (a->score != b->score)
		return a->score > b->score;
	order = compare_lexemes(state, a->word.first, b->word.first);
	return (order != 0 ? order
			: compare_lexemes(state, a->word.second, b->word.second)) < 0;
}

/*
 * Inserts the word into `best`, the sorted best words of its cluster, if it is
 * one of the best n. Updates *count, the number of words in `best`.
 */
static void
offer_word(const word_counts *state, ranked_word *best, int32 *count, ranked_word item)
{
	int32		at = *count;

	if (at == state->n && !is_before(state, &item, &best[--at]))
		return;
	*count = at + 1;
	for (; at > 0 && is_before(state, &item, &best[at - 1]); at--)
		best[at] = best[at - 1];
	best[at] = item;
}

/* Returns the word's key in the table of counts over all clusters. */
static topic_word
in_all_clusters(topic_word item)
{
	item.cluster = 0;
	return item;
}

/*
 * Writes the best words of each cluster to `best`, which has n places per
 * cluster. Returns an array with the number of words of each cluster.
 */
static int32 *
rank_words(const word_counts *state, ranked_word *best)
{
	words_hash *totals = words_create(CurrentMemoryContext, state->words->members, NULL);
	int32	   *counts = palloc0(Max(state->clusters, 1) * sizeof(int32));
	double		mean = 0;
	int32		clusters = 0;
	words_iterator iterator;
	word_slot  *slot;

	words_start_iterate(state->words, &iterator);
	while ((slot = words_iterate(state->words, &iterator)) != NULL)
	{
		mean += (double) slot->n;
		if (slot->key.cluster != NO_CLUSTER)
			counts[slot->key.cluster] = 1;
		count_word(totals, in_all_clusters(slot->key), slot->n);
	}
	for (int32 j = 0; j < state->clusters; j++)
		clusters += counts[j];
	mean /= clusters;
	memset(counts, 0, state->clusters * sizeof(int32));
	words_start_iterate(state->words, &iterator);
	while ((slot = words_iterate(state->words, &iterator)) != NULL)
	{
		const word_slot *total = words_lookup(totals, in_all_clusters(slot->key));
		const ranked_word item = {
			(double) slot->n * log(1 + mean / (double) total->n), slot->key
		};

		CHECK_FOR_INTERRUPTS();
		if (item.word.cluster != NO_CLUSTER)
			offer_word(state, best + (Size) item.word.cluster * state->n,
					   &counts[item.word.cluster], item);
	}
	words_destroy(totals);
	return counts;
}

/* Returns a row (cluster, place, lexemes). */
static Datum
make_row(const word_counts *state, TupleDesc descriptor, const topic_word *item, int32 place)
{
	const int32 numbers[2] = {item->first, item->second};
	int			length = item->second == NO_LEXEME ? 1 : 2;
	Datum		lexemes[2];
	Datum		values[3] = {Int32GetDatum(item->cluster), Int32GetDatum(place)};
	bool		nulls[3] = {false};

	for (int i = 0; i < length; i++)
		lexemes[i] = PointerGetDatum(cstring_to_text_with_len(state->lexemes[numbers[i]].bytes,
															  state->lexemes[numbers[i]].length));
	values[2] = PointerGetDatum(construct_array(lexemes, length, TEXTOID, -1, false, TYPALIGN_INT));
	return HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
}

PG_FUNCTION_INFO_V1(fastclust_typical_words_final);
Datum
fastclust_typical_words_final(PG_FUNCTION_ARGS)
{
	const word_counts *state = internal_state(fcinfo);
	Oid			type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	TupleDesc	descriptor;
	ranked_word *best;
	int32	   *counts;
	Datum	   *rows;
	int			count = 0;

	aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	descriptor = lookup_rowtype_tupdesc_copy(type, -1);
	check_budget(expected_bytes(state, 0) +
				 (Size) state->clusters * state->n * (sizeof(ranked_word) + sizeof(Datum)),
				 "name_topics");
	best = alloc_large(Max(state->clusters, 1) * (Size) state->n * sizeof(ranked_word));
	rows = alloc_large(Max(state->clusters, 1) * (Size) state->n * sizeof(Datum));
	counts = rank_words(state, best);
	for (int32 j = 0; j < state->clusters; j++)
		for (int32 i = 0; i < counts[j]; i++)
			rows[count++] = make_row(state, descriptor, &best[(Size) j * state->n + i].word, i + 1);
	PG_RETURN_ARRAYTYPE_P(construct_array(rows, count, type, -1, false, TYPALIGN_DOUBLE));
}

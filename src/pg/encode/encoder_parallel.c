/* encoder_parallel.c - encoder_agg in parallel plans: states that are merged and travel */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "pg/base/arguments.h"
#include "pg/base/collect.h"
#include "pg/base/compat.h"
#include "pg/encode/encoder_state.h"

/* ---- merging ---- */

/* The values of a tally added to another that joined it before. */
static void
add_values(encoder_state *state, fc_frequent_items *to, const fc_frequent_items *from)
{
	for (Size i = 0; i < from->slots; i++)
	{
		if (from->entry[i].count == 0)
			continue;
		while (!fc_frequent_has_room(to, from->entry[i].length))
			move_tally(state, to, from->entry[i].length);
		fc_frequent_add_entry(to, from, i);
		while (fc_frequent_is_over(to))
			move_tally(state, to, 0);
	}
}

/* Both in a new one, in the place of the left. */
static void
merge_tallies(encoder_state *state, fc_frequent_items *left, const fc_frequent_items *right)
{
	fc_frequent_items	merged = fc_frequent_start(left->texts);
	fc_frequent_items	old = *left;

	if (right->total == 0)
		return;
	if (left->sketch != NULL || right->sketch != NULL)
		give_sketch(state, &merged);
	fc_frequent_join(&merged, left);
	fc_frequent_join(&merged, right);
	add_values(state, &merged, left);
	add_values(state, &merged, right);
	*left = merged;
	free_tally(state, &old);
}

static void
merge_learners(encoder_state *state, fc_learner *left, const fc_learner *right, const fc_feature_name *name)
{
	if (left->width == 0 && right->width > 0)
		take_sums(state, left, right->width);
	if (right->width > 0 && left->width != right->width)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("column \"%s\" is of dimension %zu, but of %zu in other rows", pnstrdup(name->name, name->name_length),
						right->width, left->width)));
	fc_learner_merge(left, right);
	merge_tallies(state, &left->values, &right->values);
	merge_tallies(state, &left->categories, &right->categories);
}

/* An empty state of the same features. */
static encoder_state *
like_state(MemoryContext context, const encoder_state *from)
{
	encoder_state *state = new_encoder_state(context, from->features);

	for (Size i = 0; i < from->features; i++)
	{
		const fc_learner *like = &from->learners[i];

		state->learners[i] = fc_learner_start(like->kind, like->log, like->scaling, like->nulls, like->weight, like->most_categories);
		state->names[i] = from->names[i];
		state->names[i].name = keep_name(state, from->names[i].name, from->names[i].name_length);
		state->names[i].path = keep_name(state, from->names[i].path, from->names[i].path_length);
	}
	return state;
}

SQL_FUNCTION(fastclust_encoder_combine)
{
	MemoryContext context = aggregate_context(fcinfo);
	encoder_state *left = PG_ARGISNULL(0) ? NULL : (encoder_state *) PG_GETARG_POINTER(0);
	const encoder_state *right = (const encoder_state *) PG_GETARG_POINTER(1);

	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (left == NULL)
		left = like_state(context, right);
	if (left->features != right->features)
		reject_other_features();
	for (Size i = 0; i < left->features; i++)
		if (!same_learner(&left->learners[i], &left->names[i], &right->learners[i], &right->names[i]))
			reject_other_features();
	left->rows += right->rows;
	left->skipped += right->skipped;
	for (Size i = 0; i < left->features; i++)
	{
		CHECK_FOR_INTERRUPTS();
		merge_learners(left, &left->learners[i], &right->learners[i], &left->names[i]);
	}
	PG_RETURN_POINTER(left);
}

/* ---- states that travel ---- */

static void
send_tally(StringInfo message, const fc_frequent_items *tally)
{
	pq_sendbytes(message, (const char *) tally, offsetof(fc_frequent_items, entry));
	pq_sendbyte(message, tally->sketch != NULL);
	for (Size i = 0; i < tally->slots; i++)
	{
		const fc_frequent_item *entry = &tally->entry[i];

		if (entry->count == 0)
			continue;
		pq_sendbytes(message, (const char *) entry, sizeof(fc_frequent_item));
		pq_sendbytes(message, tally->text + entry->start, (int) entry->length);
	}
	if (tally->sketch != NULL)
		pq_sendbytes(message, (const char *) tally->sketch, FC_FREQUENT_SKETCH_BYTES);
}

static Size
learner_bytes(const fc_learner *learner)
{
	Size		texts = learner->categories.text_used + (learner->categories.sketch != NULL ? FC_FREQUENT_SKETCH_BYTES : 0);

	return 2 * learner->width * sizeof(fc_exact_sum) + texts +
		(learner->values.used + learner->categories.used) * sizeof(fc_frequent_item) + 1024;
}

static void
send_learner(StringInfo message, const fc_learner *learner, const fc_feature_name *name)
{
	pq_sendint32(message, (uint32) name->name_length);
	pq_sendbytes(message, name->name, (int) name->name_length);
	pq_sendint32(message, (uint32) name->path_length);
	pq_sendbytes(message, name->path, (int) name->path_length);
	pq_sendbytes(message, (const char *) learner, offsetof(fc_learner, sums));
	pq_sendbytes(message, (const char *) learner->sums, (int) (learner->width * sizeof(fc_exact_sum)));
	pq_sendbytes(message, (const char *) learner->squares, (int) (learner->width * sizeof(fc_exact_sum)));
	send_tally(message, &learner->values);
	send_tally(message, &learner->categories);
}

SQL_FUNCTION(fastclust_encoder_serialize)
{
	const encoder_state *state = (const encoder_state *) PG_GETARG_POINTER(0);
	Size		bytes = 64;
	StringInfoData message;

	for (Size i = 0; i < state->features; i++)
		bytes += learner_bytes(&state->learners[i]);
	check_state_size(bytes);
	pq_begintypsend(&message);
	pq_sendint64(&message, (uint64) state->rows);
	pq_sendint64(&message, (uint64) state->skipped);
	pq_sendint32(&message, (uint32) state->features);
	for (Size i = 0; i < state->features; i++)
		send_learner(&message, &state->learners[i], &state->names[i]);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

static void
receive_tally(StringInfo message, encoder_state *state, fc_frequent_items *tally)
{
	fc_frequent_items head = {0};
	fc_frequent_item entry;
	bool		sketched;

	pq_copymsgbytes(message, (char *) &head, offsetof(fc_frequent_items, entry));
	sketched = pq_getmsgbyte(message) != 0;
	head.entry = &entry;
	fc_frequent_join(tally, &head);
	for (Size i = 0; i < head.used; i++)
	{
		pq_copymsgbytes(message, (char *) &entry, sizeof(entry));
		entry.start = 0;
		head.text = unconstify(char *, pq_getmsgbytes(message, (int) entry.length));
		while (!fc_frequent_has_room(tally, entry.length))
			move_tally(state, tally, entry.length);
		fc_frequent_add_entry(tally, &head, 0);
	}
	if (!sketched)
		return;
	give_sketch(state, tally);
	pq_copymsgbytes(message, (char *) tally->sketch, FC_FREQUENT_SKETCH_BYTES);
}

static const char *
receive_name(StringInfo message, Size *length)
{
	*length = (Size) pq_getmsgint(message, 4);
	return pnstrdup(pq_getmsgbytes(message, (int) *length), *length);
}

static void
receive_learner(StringInfo message, encoder_state *state, Size i)
{
	fc_learner *learner = &state->learners[i];

	state->names[i].name = receive_name(message, &state->names[i].name_length);
	state->names[i].path = receive_name(message, &state->names[i].path_length);
	pq_copymsgbytes(message, (char *) learner, offsetof(fc_learner, sums));
	if (learner->width > 0)
		take_sums(state, learner, learner->width);
	pq_copymsgbytes(message, (char *) learner->sums, (int) (learner->width * sizeof(fc_exact_sum)));
	pq_copymsgbytes(message, (char *) learner->squares, (int) (learner->width * sizeof(fc_exact_sum)));
	learner->values = fc_frequent_start(false);
	learner->categories = fc_frequent_start(true);
	receive_tally(message, state, &learner->values);
	receive_tally(message, state, &learner->categories);
}

SQL_FUNCTION(fastclust_encoder_deserialize)
{
	StringInfoData message = message_of(PG_GETARG_BYTEA_PP(0));
	int64		rows = pq_getmsgint64(&message);
	int64		skipped = pq_getmsgint64(&message);
	encoder_state *state = new_encoder_state(CurrentMemoryContext, (Size) pq_getmsgint(&message, 4));

	state->rows = rows;
	state->skipped = skipped;
	for (Size i = 0; i < state->features; i++)
		receive_learner(&message, state, i);
	PG_RETURN_POINTER(state);
}

/* learn.c - sums and counts of a feature's values, and how it is encoded then; see learn.h and write.c */
#include "encode/learn.h"

#include <string.h>

/* ---- values ---- */

static inline void
add_element(fc_learner *learner, size_t i, double x)
{
	fc_exact_add(&learner->sums[i], x);
	fc_exact_add_product(&learner->squares[i], x, x);
}

static inline void
add_number(fc_learner *learner, double x)
{
	add_element(learner, 0, x);
	if (learner->scaling == FC_SCALING_ROBUST)
		fc_frequent_add_number(&learner->values, x, 1);
}

void
fc_learn_number(fc_learner *learner, double x)
{
	learner->numbers++;
	add_number(learner, learner->log ? fc_signed_log(x) : x);
}

void
fc_learn_floats(fc_learner *learner, const float *x)
{
	learner->numbers++;
	for (size_t i = 0; i < learner->width; i++)
		add_element(learner, i, (double) x[i]);
}

void
fc_learn_doubles(fc_learner *learner, const double *x)
{
	learner->numbers++;
	for (size_t i = 0; i < learner->width; i++)
		add_element(learner, i, x[i]);
}

void
fc_learn_text(fc_learner *learner, const char *text, size_t length)
{
	learner->texts++;
	fc_frequent_add_text(&learner->categories, text, length, 1);
}

void
fc_learn_any(fc_learner *learner, fc_feature_kind kind, double x, const char *text, size_t length)
{
	fc_frequent_add_text(&learner->categories, text, length, 1);
	if (kind == FC_FEATURE_CATEGORY)
		learner->texts++;
	else if (kind == FC_FEATURE_NUMBER)
		fc_learn_number(learner, x);
	else
	{
		learner->booleans++;
		add_number(learner, x);
	}
}

/* ---- the choice ---- */

/* All numbers: a number; all booleans: a boolean; else a category. */
static fc_feature_kind
kind_of(const fc_learner *learner)
{
	if (learner->kind != FC_FEATURE_ANY)
		return learner->kind;
	if (learner->texts > 0 || (learner->numbers > 0) == (learner->booleans > 0))
		return FC_FEATURE_CATEGORY;
	return learner->numbers > 0 ? FC_FEATURE_NUMBER : FC_FEATURE_BOOLEAN;
}

static size_t
same_column(const fc_feature_name *a, const fc_feature_name *b)
{
	return a->name_length == b->name_length && memcmp(a->name, b->name, a->name_length) == 0;
}

static void
choose_categories(const fc_learner *learner, fc_arena *arena, fc_feature_choice *feature)
{
	const fc_frequent_items *tally = &learner->categories;

	feature->slots = FC_TAKE(arena, tally->used, uint32_t);
	feature->categories = fc_frequent_frequent(tally, learner->most_categories, feature->slots);
	feature->other = true;		/* a value that is new later is seen there */
	feature->missing = learner->nulls_seen > 0 && learner->nulls == FC_NULLS_IMPUTE;
	feature->width = feature->categories + feature->other + feature->missing;
}

static void
choose_feature(const fc_learner *learner, bool alone, fc_arena *arena, fc_feature_choice *feature)
{
	bool		scalar;

	*feature = (fc_feature_choice) {.kind = kind_of(learner),.width = 1,.scaling = learner->scaling};
	scalar = feature->kind != FC_FEATURE_CATEGORY && feature->kind != FC_FEATURE_VECTOR;
	if (feature->kind == FC_FEATURE_VECTOR)
		feature->width = learner->width;
	feature->each = alone && feature->kind == FC_FEATURE_VECTOR && feature->scaling == FC_SCALING_STANDARD;
	if (feature->scaling == FC_SCALING_DEFAULT)
		feature->scaling = alone && feature->kind == FC_FEATURE_VECTOR ? FC_SCALING_NONE : FC_SCALING_STANDARD;
	if (feature->scaling == FC_SCALING_ROBUST && !scalar)
		feature->scaling = FC_SCALING_STANDARD;
	if (feature->kind == FC_FEATURE_CATEGORY)
		choose_categories(learner, arena, feature);
}

fc_status
fc_encoder_choose(const fc_sample *sample, fc_arena *arena, fc_encoder_choice *choice, size_t *bad)
{
	*choice = (fc_encoder_choice) {.feature = FC_TAKE(arena, sample->features, fc_feature_choice)};
	for (size_t i = 0; i < sample->features; i++)
	{
		fc_feature_choice *feature = &choice->feature[i];
		const fc_feature_name *name = &sample->names[i];

		choose_feature(&sample->learners[i], sample->features == 1, arena, feature);
		*bad = i;
		if (feature->width == 0)
			return FC_EEMPTY;
		if (i == 0 || !same_column(name, name - 1))
		{
			choice->columns++;
			choice->text_bytes += name->name_length;
		}
		choice->dim += feature->width;
		choice->categories += feature->categories;
		choice->text_bytes += name->path_length;
		for (size_t j = 0; j < feature->categories; j++)
			choice->text_bytes += sample->learners[i].categories.entry[feature->slots[j]].length;
	}
	choice->size = fc_encoder_size(choice->columns, sample->features, choice->dim, choice->categories, choice->text_bytes);
	return FC_OK;
}

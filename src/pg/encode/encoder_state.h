/* encoder_state.h - the state of encoder_agg */
#ifndef FASTCLUST_ENCODER_STATE_H
#define FASTCLUST_ENCODER_STATE_H

#include "postgres.h"

#include "encode/learn.h"
#include "pg/base/memory.h"

typedef struct encoder_state
{
	MemoryContext context;
	account		memory;
	int64		rows;			/* those skipped included */
	int64		skipped;
	uint64		generation;		/* of the arguments that its features are known to be of */
	Size		features;
	fc_learner *learners;
	fc_feature_name *names;
} encoder_state;

extern encoder_state *new_encoder_state(MemoryContext context, Size features);

extern const char *keep_name(encoder_state *state, const char *name, Size length);

/* The same column, path, kind and options? */
extern bool same_learner(const fc_learner *a, const fc_feature_name *a_name, const fc_learner *b, const fc_feature_name *b_name);
extern void reject_other_features(void) __attribute__((noreturn));

/* The sums of a learner of so many elements. */
extern void take_sums(encoder_state *state, fc_learner *learner, Size width);

/* The memory of a tally in the state's context: its next block, a sketch, and their return. */
extern void move_tally(encoder_state *state, fc_frequent_items *tally, Size length);
extern void give_sketch(encoder_state *state, fc_frequent_items *tally);
extern void free_tally(encoder_state *state, fc_frequent_items *tally);

#endif							/* FASTCLUST_ENCODER_STATE_H */

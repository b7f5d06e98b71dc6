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
	Size		features;
	fc_learner *learners;
	fc_feature_name *names;
} encoder_state;

extern encoder_state *new_encoder_state(MemoryContext context, Size features);

/* The sums of a learner of so many elements. */
extern void take_sums(encoder_state *state, fc_learner *learner, Size width);

/* The memory of a tally in the state's context: its next block, a sketch, and what it has given back. */
extern void move_tally(encoder_state *state, fc_tally *tally, Size length);
extern void give_sketch(encoder_state *state, fc_tally *tally);
extern void free_tally(encoder_state *state, fc_tally *tally);

#endif							/* FASTCLUST_ENCODER_STATE_H */

/*
 * renew.c - an encoder with the dimensions of an old one, and the centers and
 * scales of a new sample
 */
#include "postgres.h"

#include "pg/encode/category.h"
#include "pg/encode/encode.h"

/*
 * Returns an array with an element for each category of the old encoder, as
 * fc_encoder_renew requires it: the index of the equal category among the
 * learned categories of the feature, or their number if no category is equal.
 * The encoders must be alike (fc_encoder_is_alike).
 */
static uint32 *
equal_categories(const fc_encoder *old, const fc_encoder_header *learned)
{
	prepared_encoder *encoder = prepare_encoder(learned, CurrentMemoryContext);
	uint32	   *equal = palloc(Max(1, old->categories) * sizeof(uint32));

	for (Size i = 0; i < old->features; i++)
		for (uint32 j = 0; j < old->feature[i].categories; j++)
		{
			Size		number = old->feature[i].first_category + j;

			fc_encoder_text text = old->category[number].text;

			equal[number] = find_category(encoder, i, old->text +text.start, text.length);
		}
	return equal;
}

const fc_encoder_header *
renewed_encoder(const fc_encoder_header *learned, const fc_encoder_header *old)
{
	fc_encoder_header *renewed;
	fc_encoder	learned_view;
	fc_encoder	old_view;

	if (old == NULL)
		return learned;
	fc_encoder_view(learned, &learned_view);
	fc_encoder_view(old, &old_view);
	if (!fc_encoder_is_alike(&old_view, &learned_view))
		return learned;
	renewed = palloc(VARSIZE(old));
	fc_encoder_renew(old, VARSIZE(old), learned,
					 equal_categories(&old_view, learned), renewed);
	SET_VARSIZE(renewed, VARSIZE(old));
	return renewed;
}

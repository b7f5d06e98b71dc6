/* exact_sum.c - sums of doubles without rounding; see learn.h */
#include "encode/learn.h"

#include <math.h>
#include <string.h>

#define BITS		32			/* of a digit */
#define OFFSET		1088u		/* digit 0 counts 2^-OFFSET */
#define MASK		UINT64_C(0xFFFFFFFF)
#define MOST_PENDING	((int64_t) 1 << 29)

/* Digits but the last from 0 to 2^32 - 1. */
static void
carry_digits(fc_exact_sum *sum)
{
	for (size_t i = 0; i + 1 < FC_EXACT_DIGITS; i++)
	{
		int64_t		carry = sum->digit[i] >> BITS;

		sum->digit[i] &= (int64_t) MASK;
		sum->digit[i + 1] += carry;
	}
	sum->pending = 0;
}

void
fc_exact_add(fc_exact_sum *sum, double x)
{
	uint64_t	bits;
	uint64_t	mantissa;
	uint64_t	above;
	unsigned int place;
	int64_t    *digit;

	memcpy(&bits, &x, sizeof(bits));
	mantissa = bits & ((UINT64_C(1) << 52) - 1);
	place = (unsigned int) (bits >> 52 & 0x7FF);
	if (place > 0)
		mantissa |= UINT64_C(1) << 52;
	place += OFFSET - 1075 + (place == 0 ? 1 : 0);	/* x = mantissa 2^(place - OFFSET) */
	digit = sum->digit + place / BITS;
	above = mantissa >> (BITS - place % BITS);	/* the shift is from 1 to 32 */
	mantissa = mantissa << (place % BITS) & MASK;
	if (bits >> 63)
	{
		digit[0] -= (int64_t) mantissa;
		digit[1] -= (int64_t) (above & MASK);
		digit[2] -= (int64_t) (above >> BITS);
	}
	else
	{
		digit[0] += (int64_t) mantissa;
		digit[1] += (int64_t) (above & MASK);
		digit[2] += (int64_t) (above >> BITS);
	}
	if (++sum->pending == MOST_PENDING)
		carry_digits(sum);
}

void
fc_exact_add_product(fc_exact_sum *sum, double x, double y)
{
	double		product = x * y;

	fc_exact_add(sum, product);
	fc_exact_add(sum, fma(x, y, -product));
}

/* The greatest digit that is not 0, or 0. */
static size_t
leading_digit(const fc_exact_sum *carried)
{
	size_t		i = FC_EXACT_DIGITS - 1;

	while (i > 0 && carried->digit[i] == 0)
		i--;
	return i;
}

static double
digit_value(const fc_exact_sum *sum, size_t i)
{
	return ldexp((double) sum->digit[i], BITS * (int) i - (int) OFFSET);
}

/* The magnitude in digits of 0 to 2^32 - 1; true: the sum is negative. */
static bool
magnitude(const fc_exact_sum *sum, fc_exact_sum *carried)
{
	bool		negative;

	*carried = *sum;
	carry_digits(carried);
	negative = carried->digit[FC_EXACT_DIGITS - 1] < 0;
	if (negative)
	{
		for (size_t i = 0; i < FC_EXACT_DIGITS; i++)
			carried->digit[i] = -carried->digit[i];
		carry_digits(carried);
	}
	return negative;
}

double
fc_exact_value(const fc_exact_sum *sum)
{
	fc_exact_sum carried;
	double		value = 0.0;
	bool		negative = magnitude(sum, &carried);
	size_t		first = leading_digit(&carried);
	for (size_t i = first < 3 ? 0 : first - 3; i <= first; i++)
		value += digit_value(&carried, i);
	return negative ? -value : value;
}

void
fc_exact_center(fc_exact_sum *squares, const fc_exact_sum *sum, int64_t n, double center)
{
	fc_exact_sum carried;
	double		high = center * center;
	double		factor = magnitude(sum, &carried) ? 2.0 * center : -2.0 * center;

	for (size_t i = 0; i < FC_EXACT_DIGITS; i++)
		if (carried.digit[i] != 0)
			fc_exact_add_product(squares, factor, digit_value(&carried, i));
	fc_exact_add_product(squares, (double) n, high);
	fc_exact_add_product(squares, (double) n, fma(center, center, -high));
}

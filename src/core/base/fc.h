/*
 * fc.h - definitions that every file of the core shares: status codes, the
 * interrupt hook, arenas, and small helpers. Also includes the headers of the C
 * library for mathematics, memory and strings, and basic types.
 *
 * The core is pure C11 over libc, BLAS/LAPACK and L-BFGS-B. It owns nothing
 * (callers pass an arena), prints nothing and raises nothing (functions return
 * a status), so the host's interrupt check may jump out of any of them.
 *
 * Conventions: matrices are row-major; sizes are size_t; inputs are const;
 * outputs come last; all randomness comes from an explicit seed.
 */
#ifndef FC_H
#define FC_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum fc_status
{
	FC_OK = 0,
	FC_EVALUE,					/* a value is NaN or infinite */
	FC_EFAR,					/* a value is outside the supported range */
	FC_EWEIGHT,					/* a weight is outside its range */
	FC_EOVERFLOW,				/* a sum no longer fits */
	FC_ENEGATIVE,				/* a difference would have a negative count */
	FC_EMISMATCH,				/* operands have different specs or operators */
	FC_EFORMAT,					/* bytes are not a valid value of the type */
	FC_EEMPTY,					/* there is nothing to work on */
	FC_ENUMERIC					/* a factorisation failed */
} fc_status;

/*
 * Powers of two with a literal exponent n, such as 24 or 24f: 2^n and 2^-n.
 * The macros exist because pg_bsd_indent cannot read 0x1p-24.
 */
#define FC_EXP2(n)			0x1p##n
#define FC_EXP2_MINUS(n)	(1.0 / 0x1p##n)

/* Maximum number of dimensions of a vector, a limit of the stored formats. */
#define FC_MAX_DIM	32768

/*
 * Maximum number of dimensions of a learned encoder, and maximum number of
 * categories of a column.
 */
#define FC_MAX_ENCODED	16384

/* Maximum number of clusters, a limit of the stored formats. */
#define FC_MAX_CLUSTERS	(1 << 20)

/*
 * Maximum number of rows in a sketch or an aggregate state. Integer sums over
 * this number of rows stay exact.
 */
#define FC_MAX_ROWS	((int64_t) 1 << 40)

static inline size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/*
 * Returns the greater of two numbers that are not NaN. Unlike fmax, it is not
 * a function call.
 */
static inline double
fc_greater(double a, double b)
{
	return a > b ? a : b;
}

/*
 * Hook called between blocks of work: once per row of a table or matrix,
 * which costs a nanosecond. A pass over the numbers of one stored value, of
 * up to 1 GB, takes a tenth of a second and calls the hook a few times or not
 * at all. NULL disables the calls. The host sets one hook for the whole
 * process. The hook may longjmp out of any function of the core, because the
 * core owns nothing. A host without longjmp sets a flag in the hook and reads
 * the flag between its own calls of the core.
 */
extern void (*fc_interrupt_check) (void);

/*
 * Hook called when LAPACK fails, which does not happen on finite numbers. The
 * server's hook raises an error. If the hook returns, or is NULL, the results
 * of the failed routine are undefined.
 */
extern void (*fc_numeric_failure) (void);

#define FC_REQUIRE(success) \
	((success) || fc_numeric_failure == NULL ? (void) 0 : fc_numeric_failure())

static inline void
fc_check(void)
{
	if (fc_interrupt_check != NULL)
		fc_interrupt_check();
}

/*
 * A stack of memory that grows by blocks. grow takes a block from the host's
 * allocator, and shrink gives it back. grow never returns NULL: a host without
 * memory must longjmp. A request for SIZE_MAX bytes means that the size
 * overflowed. `allocated` is the total size of the blocks in bytes. An arena
 * over memory of a known size uses only next and end.
 */
typedef struct fc_arena
{
	char	   *next;			/* start of the free part, up to `end`, of the
								 * block that small pieces share */
	char	   *end;
	struct fc_block *top;		/* block added last, or NULL */
	size_t		allocated;
	void	   *(*grow) (void *host, size_t bytes);
	void		(*shrink) (void *host, void *block, size_t bytes);
	void	   *host;
} fc_arena;

/* Returns memory for `count` items, aligned to 64 bytes and not cleared. */
void	   *fc_arena_take(fc_arena *arena, size_t count, size_t item_size);

/*
 * A position in the stack. fc_arena_release returns to this position and
 * releases everything taken since. {0} is the bottom of the stack.
 */
typedef struct fc_mark
{
	char	   *next;
	char	   *end;
	struct fc_block *top;
} fc_mark;

static inline fc_mark
fc_arena_mark(const fc_arena *arena)
{
	return (fc_mark)
	{
		arena->next, arena->end, arena->top
	};
}

void		fc_arena_release(fc_arena *arena, fc_mark mark);

#define FC_TAKE(arena, count, type) \
	((type *) fc_arena_take((arena), (count), sizeof(type)))
#define FC_TAKE_ZEROED(arena, count, type) \
	((type *) memset(FC_TAKE(arena, count, type), 0, (count) * sizeof(type)))

/*
 * Returns the first address from p upwards that is a multiple of alignment, a
 * power of 2.
 */
static inline void *
fc_aligned(void *p, size_t alignment)
{
	return (void *) (((uintptr_t) p + alignment - 1) & ~(uintptr_t) (alignment - 1));
}

/*
 * Checks a contract if FC_ASSERTIONS is defined (unit tests, fuzzers, servers
 * with assertions): a violation ends the process.
 */
#ifdef FC_ASSERTIONS
#define FC_ASSERT(condition)	((condition) ? (void) 0 : __builtin_trap())
#else
#define FC_ASSERT(condition)	((void) (0 && (condition)))
#endif

/*
 * Scratch space that a caller lends to a function for one call. The comment
 * of a function that takes scratch space names another function, which
 * returns the number of floats it needs. The function asserts this number.
 */
typedef struct fc_scratch
{
	float	   *floats;
	size_t		count;
} fc_scratch;

/* Takes scratch space of `count` floats from the arena. */
static inline fc_scratch
fc_take_scratch(fc_arena *arena, size_t count)
{
	return (fc_scratch)
	{
		FC_TAKE(arena, count, float), count
	};
}

/*
 * Returns an arena without memory, which only counts the bytes taken from it.
 * fc_arena_measured returns the count, which is about the size that a real
 * arena would reach. fc_arena_reserve adds the bytes that a called function
 * takes and releases.
 */
fc_arena	fc_arena_measure(void);
size_t		fc_arena_measured(const fc_arena *arena);

static inline void
fc_arena_reserve(fc_arena *arena, size_t bytes)
{
	(void) fc_arena_take(arena, bytes, 1);
}

/*
 * fc_sum_of_squares returns sum x_i^2, and fc_square_between returns sum (a_i
 * - b_i)^2, over n values.
 */
static inline double
fc_sum_of_squares(const double *x, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sum;
}

static inline double
fc_square_between(const double *a, const double *b, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sum;
}

/* Returns the sum of n weights; NULL means that all are 1. */
static inline double
fc_weight_sum(const double *weight, size_t n)
{
	double		sum = weight == NULL ? (double) n : 0.0;

	for (size_t i = 0; weight != NULL && i < n; i++)
		sum += weight[i];
	return sum;
}

/*
 * A sparse row of d numbers: its nonzero values, in ascending order of their
 * 0-based indices.
 */
typedef struct fc_sparse_row
{
	const uint32_t *indices;	/* `count` indices, each below d */
	const double *values;		/* `count` values */
	size_t		count;
} fc_sparse_row;

/*
 * Returns true if the stored (biased) exponent of each of n values is below
 * the limit. NaN and infinity have the greatest exponent.
 */
bool		fc_exponents_below(const double *x, size_t n, uint64_t limit);
bool		fc_exponents_below_float(const float *x, size_t n, uint32_t limit);

/* Returns true if n values contain neither NaN nor infinity. */
static inline bool
fc_all_finite(const double *x, size_t n)
{
	return fc_exponents_below(x, n, 0x7ff);
}

static inline bool
fc_all_finite_float(const float *x, size_t n)
{
	return fc_exponents_below_float(x, n, 0xff);
}

/* Returns true if all bytes from `end_of_data` to `end` are zero. */
static inline bool
fc_zero_padding(const void *end_of_data, const void *end)
{
	for (const char *p = end_of_data; p < (const char *) end; p++)
		if (*p != 0)
			return false;
	return true;
}

/*
 * Returns true if the magnitude of each of n values is below 2^63, so that
 * their products stay finite in single precision.
 */
static inline bool
fc_all_moderate(const double *x, size_t n)
{
	return fc_exponents_below(x, n, 1023 + 63);
}

static inline bool
fc_all_moderate_float(const float *x, size_t n)
{
	return fc_exponents_below_float(x, n, 127 + 63);
}

/* Converts n floats, at any alignment, to doubles. */
void		fc_widen(const float *x, size_t n, double *out);

/* Rounds n doubles to floats. */
static inline void
fc_narrow(const double *x, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float) x[i];
}

/* Converts n half-precision numbers, at any alignment, to floats. */
void		fc_widen_halves(const void *halves, size_t n, float *out);

#endif							/* FC_H */

/*
 * kernel_value.c - the types kernel_projection, kernel_map and kernel. A
 * kernel has 24 bytes and is written rbf(0.5), polynomial(2,0,1), linear(),
 * cosine() or precomputed.
 */
#include "postgres.h"

#include <float.h>

#include "common/hashfn.h"
#include "common/shortest_dec.h"
#include "libpq/pqformat.h"

#include "pg/base/options.h"
#include "pg/operator/operator_value.h"
#include "pg/rkhs/kernel.h"

#define KERNEL_ARG(n)	((const fc_kernel *) PG_GETARG_POINTER(n))

static fc_status
check_map(const void *bytes, size_t size)
{
	fc_status	status = fc_kernel_map_check(bytes, size);
	fc_kernel_map map;

	if (status != FC_OK)
		return status;
	fc_kernel_map_view(bytes, &map);
	return verify_operator(&map.op);
}

static const value_type map_type = {"kernel_map", check_map};
static const value_type projection_type = {
	"kernel_projection",
	fc_kernel_projection_check
};

PG_FUNCTION_INFO_V1(fastclust_kernel_projection_in);
Datum
fastclust_kernel_projection_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &projection_type);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_projection_recv);
Datum
fastclust_kernel_projection_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &projection_type);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_map_in);
Datum
fastclust_kernel_map_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &map_type);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_map_recv);
Datum
fastclust_kernel_map_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &map_type);
}

static const named_value methods[] = {
	{"one_pass", FC_KERNEL_ONE_PASS},
	{"nystroem", FC_KERNEL_NYSTROEM},
	{"pivoted_cholesky", FC_KERNEL_CHOLESKY},
	{"exact", FC_KERNEL_EXACT}
};

fc_kernel_method
kernel_method_of_name(const char *name)
{
	return (fc_kernel_method) choice_of_name("method", name, methods,
											 lengthof(methods));
}

const char *
kernel_method_name(fc_kernel_method method)
{
	return name_of_choice((int) method, methods, lengthof(methods));
}

void
reject_precomputed(const fc_kernel *kernel, const char *function)
{
	if (is_precomputed(kernel))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("%s cannot use the kernel \"precomputed\"", function),
				errdetail("It computes kernel values of rows, but the kernel has only those of a given matrix."),
				errhint("Pass the rows of the matrix to kernel_projection_agg, and cluster the coordinates that embedding_of returns."));
}

void
check_kernel_status(fc_status status, const fc_kernel *kernel)
{
	if (unlikely(status == FC_EFAR) && kernel->kind == FC_KERNEL_RBF)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("values of kernel %s are out of range for these rows",
					   kernel_text(kernel)),
				errdetail("gamma times the square of the distance between two rows may be up to 1e300, and inner products with factored landmarks up to %g.",
						  FLT_MAX),
				errhint("Scale the rows, or use a smaller gamma."));
	if (unlikely(status == FC_EFAR) && is_precomputed(kernel))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("values of the kernel matrix are out of range"),
				errdetail("The root of the sum of their squares may be from %g to %g, or 0.",
						  FC_MATRIX_SMALLEST, FC_MATRIX_GREATEST),
				errhint("Divide the matrix by a number."));
	if (unlikely(status == FC_EFAR))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("values of kernel %s are out of range for these rows",
					   kernel_text(kernel)),
				errdetail("The greatest kernel value of a row with itself may be from %g to %g.",
						  FC_KERNEL_SMALLEST, FC_KERNEL_GREATEST),
				errhint("Scale the rows, or use a smaller gamma or degree."));
	check_status(status);
}

/* ---- making ---- */

static fc_kernel *
make_kernel(fc_kernel_kind kind, int32 degree, double gamma, double coef0)
{
	fc_kernel  *kernel = palloc0(sizeof(fc_kernel));
	bool		polynomial = kind == FC_KERNEL_POLYNOMIAL;

	kernel->version = FC_KERNEL_VERSION;
	kernel->kind = kind;
	if (polynomial)
		check_count("degree", degree, 1, FC_MAX_DEGREE);
	if (polynomial || kind == FC_KERNEL_RBF)
		check_positive("gamma", gamma);
	if (polynomial && !(coef0 >= 0 && isfinite(coef0)))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("coef0 is %g, but must be finite and at least 0", coef0),
				errdetail("A negative coef0 makes the kernel indefinite."));
	kernel->degree = degree;
	kernel->gamma = gamma;
	kernel->coef0 = coef0 + 0.0;	/* turns -0 into 0 */
	return kernel;
}

PG_FUNCTION_INFO_V1(fastclust_rbf_kernel);
Datum
fastclust_rbf_kernel(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_kernel(FC_KERNEL_RBF, 0, PG_GETARG_FLOAT8(0), 0));
}

PG_FUNCTION_INFO_V1(fastclust_polynomial_kernel);
Datum
fastclust_polynomial_kernel(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_kernel(FC_KERNEL_POLYNOMIAL, PG_GETARG_INT32(0),
								  PG_GETARG_FLOAT8(2), PG_GETARG_FLOAT8(1)));
}

PG_FUNCTION_INFO_V1(fastclust_linear_kernel);
Datum
fastclust_linear_kernel(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_kernel(FC_KERNEL_LINEAR, 0, 0, 0));
}

PG_FUNCTION_INFO_V1(fastclust_cosine_kernel);
Datum
fastclust_cosine_kernel(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_kernel(FC_KERNEL_COSINE, 0, 0, 0));
}

/* ---- text ---- */

/* Returns the shortest decimal that reads back as the same number. */
static char *
number_text(double value)
{
	char	   *text = palloc(DOUBLE_SHORTEST_DECIMAL_LEN);

	double_to_shortest_decimal_buf(value, text);
	return text;
}

char *
kernel_text(const fc_kernel *kernel)
{
	switch ((fc_kernel_kind) kernel->kind)
	{
		case FC_KERNEL_LINEAR:
			return pstrdup("linear()");
		case FC_KERNEL_COSINE:
			return pstrdup("cosine()");
		case FC_KERNEL_PRECOMPUTED:
			return pstrdup("precomputed");
		case FC_KERNEL_RBF:
			return psprintf("rbf(%s)", number_text(kernel->gamma));
		case FC_KERNEL_POLYNOMIAL:
			return psprintf("polynomial(%d,%s,%s)", kernel->degree,
							number_text(kernel->coef0),
							number_text(kernel->gamma));
	}
	elog(ERROR, "unexpected kernel %d", kernel->kind);
	return NULL;
}

static void
reject_text(const char *text)
{
	ereport(ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			errmsg("invalid input syntax for type kernel: \"%s\"", text),
			errdetail("Kernels are written rbf(gamma), polynomial(degree,coef0,gamma), linear(), cosine() and precomputed."));
}

static const char *
skip_spaces(const char *at)
{
	return at + strspn(at, " \t\n\r");
}

/*
 * Reads up to `max` numbers separated by commas, and a closing parenthesis
 * that must end the text. Returns the count of numbers; any other text is an
 * error.
 */
static int
read_numbers(const char *text, const char *at, int max, double *numbers)
{
	int			count = 0;

	at = skip_spaces(at);
	while (*at != ')')
	{
		char	   *end;

		if (count == max)
			reject_text(text);
		numbers[count++] = strtod(at, &end);
		if (end == at)
			reject_text(text);
		at = skip_spaces(end);
		if (*at == ',' && *skip_spaces(at + 1) != ')')
			at = skip_spaces(at + 1);
		else if (*at != ')')
			reject_text(text);
	}
	if (*skip_spaces(at + 1) != '\0')
		reject_text(text);
	return count;
}

static fc_kernel *
kernel_of_text(const char *text)
{
	const char *name = skip_spaces(text);
	Size		length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
	const char *at = skip_spaces(name + length);
	double		numbers[3] = {2, 0, 1};

	if (length == 11 && strncmp(name, "precomputed", 11) == 0 && *at == '\0')
		return make_kernel(FC_KERNEL_PRECOMPUTED, 0, 0, 0);
	if (*at != '(')
		reject_text(text);
	at++;
	if (length == 6 && strncmp(name, "linear", 6) == 0 &&
		read_numbers(text, at, 0, numbers) == 0)
		return make_kernel(FC_KERNEL_LINEAR, 0, 0, 0);
	if (length == 6 && strncmp(name, "cosine", 6) == 0 &&
		read_numbers(text, at, 0, numbers) == 0)
		return make_kernel(FC_KERNEL_COSINE, 0, 0, 0);
	if (length == 3 && strncmp(name, "rbf", 3) == 0 &&
		read_numbers(text, at, 1, numbers) == 1)
		return make_kernel(FC_KERNEL_RBF, 0, numbers[0], 0);
	if (length == 10 && strncmp(name, "polynomial", 10) == 0)
	{
		(void) read_numbers(text, at, 3, numbers);
		if (!(fabs(numbers[0]) <= 1e6) || numbers[0] != floor(numbers[0]))
			reject_text(text);
		return make_kernel(FC_KERNEL_POLYNOMIAL, (int32) numbers[0], numbers[2],
						   numbers[1]);
	}
	reject_text(text);
	return NULL;
}

PG_FUNCTION_INFO_V1(fastclust_kernel_in);
Datum
fastclust_kernel_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(kernel_of_text(PG_GETARG_CSTRING(0)));
}

PG_FUNCTION_INFO_V1(fastclust_kernel_out);
Datum
fastclust_kernel_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(kernel_text(KERNEL_ARG(0)));
}

/* ---- binary: version, kind, degree, gamma, coef0 in network order ---- */

PG_FUNCTION_INFO_V1(fastclust_kernel_recv);
Datum
fastclust_kernel_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	fc_kernel  *kernel = palloc0(sizeof(fc_kernel));

	kernel->version = (uint8) pq_getmsgbyte(message);
	kernel->kind = (uint8) pq_getmsgbyte(message);
	kernel->degree = (int32) pq_getmsgint(message, 4);
	kernel->gamma = pq_getmsgfloat8(message);
	kernel->coef0 = pq_getmsgfloat8(message);
	if (fc_kernel_check(kernel) != FC_OK)
		ereport(ERROR, errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				errmsg("not a valid kernel value"));
	PG_RETURN_POINTER(kernel);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_send);
Datum
fastclust_kernel_send(PG_FUNCTION_ARGS)
{
	const fc_kernel *kernel = KERNEL_ARG(0);
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendbyte(&message, kernel->version);
	pq_sendbyte(&message, kernel->kind);
	pq_sendint32(&message, (uint32) kernel->degree);
	pq_sendfloat8(&message, kernel->gamma);
	pq_sendfloat8(&message, kernel->coef0);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* ---- equality: equal kernels are equal bytes ---- */

PG_FUNCTION_INFO_V1(fastclust_kernel_eq);
Datum
fastclust_kernel_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(memcmp(KERNEL_ARG(0), KERNEL_ARG(1), sizeof(fc_kernel)) ==
				   0);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_hash);
Datum
fastclust_kernel_hash(PG_FUNCTION_ARGS)
{
	return hash_any((const unsigned char *) KERNEL_ARG(0), sizeof(fc_kernel));
}

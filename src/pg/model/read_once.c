/*
 * read_once.c - functions that return a value of a model by its name, such as
 * model_operator('m'), and read the value once per query
 *
 * The call may be in an expression that is evaluated for every row. All these
 * functions have the same entry in C. It calls the function of the same name
 * with the prefix "read_" in the schema fastclust_internal, and keeps the
 * result together with the arguments. A result is valid for one user, snapshot
 * and epoch, as a model is for predict. It is also valid for one setting of
 * the memory budget, and of each parameter that affects the text of values.
 *
 * A result keeps its address until results are forgotten, so that assign,
 * encode_row and the aggregates recognise the value by its address. All
 * results are dropped when the snapshot, the user or a setting changes, and
 * when they exceed a quarter of the memory budget.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/rng.h"
#include "pg/base/memory.h"
#include "pg/model/model.h"

/* Maximum number of arguments of a function that reads a value of a model. */
#define MAX_CALL_ARGUMENTS	8

/* Everything that a result depends on besides the arguments. */
typedef struct read_validity
{
	model_validity model;
	int32		date_style;
	int32		date_order;
	int32		interval_style;
	int32		float_digits;
	int32		memory_budget;
	pg_tz	   *time_zone;
} read_validity;

/* Arguments of a call. */
typedef struct call_key
{
	Datum	   *values;
	bool	   *nulls;
} call_key;

typedef struct kept_result
{
	call_key	key;
	Datum		value;
	bool		null;
	char		status;			/* used by simplehash.h */
} kept_result;

/* Type of one argument, and how it is passed to the read_ function. */
typedef struct argument_type
{
	Oid			type;			/* type of the argument in the call */
	int16		length;
	bool		by_value;

	/*
	 * function that converts the argument to the text of the group that it
	 * names, in the model of argument 0; NULL if the argument is passed
	 * unchanged
	 */
	FmgrInfo   *group_of;
} argument_type;

typedef struct read_call
{
	MemoryContext context;		/* owns the results */
	struct results_hash *results;
	kept_result *last;			/* result of the last call; NULL if there is
								 * none */
	Size		bytes;			/* bytes of memory that the results occupy */
	bool		constant;		/* true if all arguments are constants of the
								 * query */
	int			arguments;
	argument_type argument[MAX_CALL_ARGUMENTS];
	FmgrInfo	reader;			/* function fastclust_internal.read_<name of
								 * this function> */
	int16		result_length;
	bool		result_by_value;
	read_validity valid;
} read_call;

/* ---- arguments ---- */

static bool
same_datum(const argument_type *type, Datum a, Datum b)
{
	return a == b || datumIsEqual(a, b, type->by_value, type->length);
}

static bool
same_arguments(const read_call *call, call_key a, call_key b)
{
	for (int i = 0; i < call->arguments; i++)
		if (a.nulls[i] != b.nulls[i] ||
			(!a.nulls[i] &&
			 !same_datum(&call->argument[i], a.values[i], b.values[i])))
			return false;
	return true;
}

static uint32
hash_arguments(const read_call *call, call_key key)
{
	uint64		hash = 0;

	for (int i = 0; i < call->arguments; i++)
	{
		const argument_type *type = &call->argument[i];

		if (key.nulls[i])
			hash = fc_hash_bytes(hash, &i, sizeof(i));
		else if (type->by_value)
			hash = fc_hash_bytes(hash, &key.values[i], sizeof(Datum));
		else
			hash = fc_hash_bytes(hash, DatumGetPointer(key.values[i]),
								 datumGetSize(key.values[i], false,
											  type->length));
	}
	return (uint32) hash;
}

#define SH_PREFIX results
#define SH_ELEMENT_TYPE kept_result
#define SH_KEY_TYPE call_key
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_arguments((table)->private_data, key)
#define SH_EQUAL(table, a, b) same_arguments((table)->private_data, a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/*
 * Returns true if each argument is a constant. A parameter is not: PL/pgSQL
 * may change it from call to call.
 */
static bool
has_constant_arguments(const Node *expression)
{
	ListCell   *cell;

	if (expression == NULL || !IsA(expression, FuncExpr))
		return false;
	foreach(cell, ((const FuncExpr *) expression)->args)
		if (!IsA(lfirst(cell), Const))
		return false;
	return true;
}

/* ---- the read_ function ---- */

/* Returns the function group_of for values of a type. */
static FmgrInfo *
group_function(Oid type, MemoryContext context)
{
	Oid			types[] = {TEXTOID, INT4OID, ANYOID};
	MemoryContext old = MemoryContextSwitchTo(context);
	List	   *name = list_make2(makeString(pstrdup("fastclust_internal")),
								  makeString(pstrdup("group_of")));
	List	   *arguments = list_make3(makeNullConst(TEXTOID, -1, InvalidOid),
									   makeNullConst(INT4OID, -1, InvalidOid),
									   makeNullConst(type, -1, InvalidOid));
	FmgrInfo   *function = palloc(sizeof(FmgrInfo));

	fmgr_info(LookupFuncName(name, lengthof(types), types, false), function);
	fmgr_info_set_expr((Node *) makeFuncExpr(function->fn_oid, TEXTOID, arguments,
											 InvalidOid, InvalidOid,
											 COERCE_EXPLICIT_CALL),
					   function);
	MemoryContextSwitchTo(old);
	return function;
}

/*
 * Sets the types of the arguments. Replaces polymorphic types in `declared` by
 * text, because the read_ function is looked up with the resulting types.
 */
static void
set_arguments(FunctionCallInfo fcinfo, read_call *call, Oid *declared)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	for (int i = 0; i < call->arguments; i++)
	{
		argument_type *argument = &call->argument[i];

		argument->type = get_fn_expr_argtype(flinfo, i);
		if (!OidIsValid(argument->type))
			argument->type = IsPolymorphicType(declared[i]) ? TEXTOID : declared[i];
		if (IsPolymorphicType(declared[i]))
		{
			declared[i] = TEXTOID;
			argument->group_of = group_function(argument->type, flinfo->fn_mcxt);
		}
		get_typlenbyval(argument->type, &argument->length, &argument->by_value);
	}
}

static read_call *
make_call(FunctionCallInfo fcinfo)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	read_call  *call = MemoryContextAllocZero(flinfo->fn_mcxt,
											  sizeof(read_call));
	char	   *name = psprintf("read_%s", get_func_name(flinfo->fn_oid));
	List	   *path = list_make2(makeString(pstrdup("fastclust_internal")),
								  makeString(name));
	Oid		   *declared;
	Oid			reader;

	(void) get_func_signature(flinfo->fn_oid, &declared, &call->arguments);
	if (call->arguments > MAX_CALL_ARGUMENTS)
		elog(ERROR, "%s has more than %d arguments", name, MAX_CALL_ARGUMENTS);
	set_arguments(fcinfo, call, declared);
	reader = LookupFuncName(path, call->arguments, declared, false);
	fmgr_info_cxt(reader, &call->reader, flinfo->fn_mcxt);
	get_typlenbyval(get_func_rettype(reader), &call->result_length,
					&call->result_by_value);
	call->constant = has_constant_arguments(flinfo->fn_expr);
	call->context = AllocSetContextCreate(flinfo->fn_mcxt,
										  "fastclust values by name",
										  ALLOCSET_SMALL_SIZES);
	flinfo->fn_extra = call;
	return call;
}

static Datum
copied(const read_call *call, Datum value)
{
	if (call->result_by_value)
		return value;
	if (call->result_length == -1)
		return PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	return datumCopy(value, false, call->result_length);
}

/*
 * Calls the read_ function of the SQL function that was called (see the top of
 * this file). Allocates the result and a copy of the arguments in
 * call->context, so that they outlive the call.
 */
static kept_result
read_result(FunctionCallInfo fcinfo, read_call *call, call_key key)
{
	LOCAL_FCINFO(inner, MAX_CALL_ARGUMENTS);
	kept_result result = {0};
	Datum		value;
	MemoryContext old;

	InitFunctionCallInfoData(*inner, &call->reader, call->arguments,
							 PG_GET_COLLATION(), NULL, NULL);
	for (int i = 0; i < call->arguments; i++)
	{
		FmgrInfo   *group_of = call->argument[i].group_of;

		inner->args[i].isnull = key.nulls[i];
		inner->args[i].value = key.values[i];
		if (group_of != NULL && !key.nulls[i] && !key.nulls[0])
			inner->args[i].value = FunctionCall3(group_of, key.values[0],
												 Int32GetDatum(CURRENT_VERSION),
												 key.values[i]);
	}
	value = FunctionCallInvoke(inner);
	result.null = inner->isnull;
	old = MemoryContextSwitchTo(call->context);
	result.value = result.null ? (Datum) 0 : copied(call, value);
	result.key.values = palloc(call->arguments * sizeof(Datum));
	result.key.nulls = palloc(call->arguments * sizeof(bool));
	for (int i = 0; i < call->arguments; i++)
	{
		result.key.nulls[i] = key.nulls[i];
		result.key.values[i] = key.nulls[i]
			? (Datum) 0
			: datumCopy(key.values[i],
						call->argument[i].by_value,
						call->argument[i].length);
	}
	MemoryContextSwitchTo(old);
	return result;
}

/* ---- the results of a call ---- */

static read_validity
validity_now(void)
{
	return (read_validity)
	{
		.model = model_validity_now(),
			.date_style = DateStyle,
			.date_order = DateOrder,
			.interval_style = IntervalStyle,
			.float_digits = extra_float_digits,
			.memory_budget = fastclust_memory_budget,
			.time_zone = session_timezone
	};
}

static inline bool
validity_holds(const read_validity *valid)
{
	return model_validity_holds(&valid->model) &&
		valid->date_style == DateStyle && valid->date_order == DateOrder &&
		valid->interval_style == IntervalStyle &&
		valid->float_digits == extra_float_digits &&
		valid->memory_budget == fastclust_memory_budget &&
		valid->time_zone == session_timezone;
}

static void
forget_results(read_call *call)
{
	call->last = NULL;
	call->bytes = 0;
	MemoryContextReset(call->context);
	call->results = results_create(call->context, 4, call);
}

static Size
result_bytes(const read_call *call, const kept_result *result)
{
	Size		bytes = (sizeof(kept_result) +
						 call->arguments * (sizeof(Datum) + sizeof(bool)));

	for (int i = 0; i < call->arguments; i++)
		if (!result->key.nulls[i])
			bytes += datumGetSize(result->key.values[i],
								  call->argument[i].by_value,
								  call->argument[i].length);
	return bytes + (result->null
					? 0
					: datumGetSize(result->value, call->result_by_value,
								   call->result_length));
}

static kept_result *
add_result(FunctionCallInfo fcinfo, read_call *call, call_key key)
{
	kept_result result;
	kept_result *entry;
	bool		found;

	if (call->bytes / 1024 > (Size) fastclust_memory_budget / 4)
		forget_results(call);
	result = read_result(fcinfo, call, key);
	entry = results_insert(call->results, result.key, &found);
	entry->value = result.value;
	entry->null = result.null;
	call->bytes += result_bytes(call, entry);
	return entry;
}

/* Sets key to the arguments of the call, detoasted. */
static void
read_arguments(FunctionCallInfo fcinfo, const read_call *call, call_key key)
{
	for (int i = 0; i < call->arguments; i++)
	{
		key.nulls[i] = PG_ARGISNULL(i);
		key.values[i] = PG_GETARG_DATUM(i);
		if (!key.nulls[i] && call->argument[i].length == -1)
			key.values[i] = PointerGetDatum(PG_DETOAST_DATUM_PACKED(key.values[i]));
	}
}

/*
 * Takes (any arguments). Returns the result of fastclust_internal.read_<name
 * of this function> for these arguments.
 */
PG_FUNCTION_INFO_V1(fastclust_read_once);
Datum
fastclust_read_once(PG_FUNCTION_ARGS)
{
	read_call  *call = (likely(fcinfo->flinfo->fn_extra != NULL)
						? fcinfo->flinfo->fn_extra
						: make_call(fcinfo));

	if (unlikely(!validity_holds(&call->valid)))
	{
		forget_results(call);
		call->valid = validity_now();
	}
	if (call->last == NULL || !call->constant)
	{
		Datum		values[MAX_CALL_ARGUMENTS];
		bool		nulls[MAX_CALL_ARGUMENTS];
		call_key	key = {values, nulls};

		read_arguments(fcinfo, call, key);
		if (call->last == NULL || !same_arguments(call, key, call->last->key))
		{
			call->last = NULL;	/* stays NULL after an error in the lookup or
								 * in reading */
			call->last = results_lookup(call->results, key);
		}
		if (call->last == NULL)
			call->last = add_result(fcinfo, call, key);
	}
	fcinfo->isnull = call->last->null;
	return call->last->value;
}

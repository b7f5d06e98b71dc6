/*
 * blas_library.c - OpenBLAS and L-BFGS-B, found and opened at the first call
 * that needs them.
 *
 * A backend that only sketches or assigns does not load them, which would take
 * 7 ms.
 *
 * There must be one OpenBLAS in a process. Debian has three builds of it
 * (serial, pthread, openmp), which may all be installed. Each build has a
 * libopenblas.so.0, a libblas.so.3 and a liblapack.so.3, and
 * update-alternatives chooses the build that these names refer to. The dynamic
 * linker reuses a loaded library for every library with the same name, and a
 * liblapack.so.3 cannot be loaded with the libopenblas.so.0 of another build
 * (undefined symbol: sgetrs_N_parallel). Therefore the libblas.so.3 and
 * liblapack.so.3 in the directory of the OpenBLAS are opened with it.
 * L-BFGS-B, and every library that this backend loads later (PostGIS, numpy),
 * then binds to them, regardless of the alternatives. OpenBLAS is taken from,
 * in this order,
 * - libraries that the process has loaded (LD_PRELOAD, another extension),
 * - the directory of the serial build, or the one given to make,
 * - the system's choice.
 *
 * OpenBLAS must use one thread. The pthread build starts its threads when it
 * is loaded, the openmp build when it first multiplies large matrices. Both
 * read the number of threads from environment variables when they are loaded,
 * so these variables are set to 1 during the loading. Other users of the
 * OpenBLAS in this backend then have one thread, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* declares dladdr */
#endif

#include "pg/base/blas_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FC_OPENBLAS_DIR
#define FC_OPENBLAS_DIR ""
#endif

static const char *const openblas_names[] = {
	FC_OPENBLAS_DIR "/libopenblas.so.0",
	"libopenblas.so.0",
	"libopenblas.so",
	NULL
};
static const char *const lbfgsb_names[] = {
	"liblbfgsb.so.0",
	"liblbfgsb.so.3",
	"liblbfgsb.so",
	NULL
};

static void *openblas = NULL;
static void *lbfgsb = NULL;

/*
 * An environment variable that is set while OpenBLAS is loaded; a NULL value
 * leaves it unchanged.
 */
typedef struct variable
{
	const char *name;
	const char *value;
	char	   *before;
} variable;

/* Number of environment variables that are set while OpenBLAS is loaded. */
#define VARIABLES	3

static variable variables[VARIABLES] = {
	{.name = "OPENBLAS_NUM_THREADS",.value = "1"},
	{.name = "OMP_NUM_THREADS",.value = "1"},
	{.name = "OPENBLAS_CORETYPE"}
};
static const char **const core_type = &variables[2].value;

static void
set_environment(void)
{
	for (variable *v = variables; v < variables + VARIABLES; v++)
	{
		const char *before = getenv(v->name);

		v->before = before ? strdup(before) : NULL;
		if (v->value != NULL)
			setenv(v->name, v->value, 1);
	}
}

static void
restore_environment(void)
{
	for (variable *v = variables; v < variables + VARIABLES; v++)
	{
		if (v->before != NULL)
			setenv(v->name, v->before, 1);
		else
			unsetenv(v->name);
		free(v->before);
	}
}

static void *
open_library(const char *file)
{
	void	   *handle;

	set_environment();
	handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	restore_environment();
	return handle;
}

/*
 * Stores the dynamic linker's message, unless a message is stored already. A
 * message about a library that exists but cannot be loaded replaces a message
 * about a missing library, because the user can repair the existing library.
 */
static void
note_failure(const char *name, blas_failure *failure)
{
	const char *words = dlerror();
	size_t		length = strlen(name);
	bool		missing;

	if (words == NULL)
		words = "unknown error";

	/*
	 * If the library exists, the message begins with its path. If no library
	 * of this name was found, the message begins with the name and a colon.
	 */
	missing = strchr(name, '/') == NULL && strncmp(words, name, length) == 0 &&
		words[length] == ':';
	if (failure->reason[0] != '\0' && (missing || !failure->missing))
		return;
	failure->missing = missing;
	snprintf(failure->reason, sizeof(failure->reason), "%s", words);
}

/*
 * Opens the first library in the list that can be loaded. Returns NULL if no
 * library can be loaded.
 */
static void *
open_first(const char *const *names, blas_failure *failure)
{
	for (int i = 0; names[i] != NULL; i++)
	{
		void	   *handle;

		if (names[i][0] == '/' && access(names[i], F_OK) != 0)
			continue;
		handle = open_library(names[i]);
		if (handle != NULL)
			return handle;
		note_failure(names[i], failure);
	}
	return NULL;
}

/*
 * Finds the file of the loaded OpenBLAS, with links resolved. Returns false if
 * it is unknown.
 */
static bool
openblas_file(char file[PATH_MAX])
{
	void	   *routine = openblas ? dlsym(openblas, "cblas_dgemm") : NULL;
	Dl_info		info;

	return routine != NULL && dladdr(routine, &info) != 0 &&
		realpath(info.dli_fname, file) != NULL;
}

/*
 * Opens libblas.so.3 and liblapack.so.3 in the directory of the loaded
 * OpenBLAS, so that libraries loaded later bind to these files.
 */
static void
open_siblings(void)
{
	static const char *const names[] = {"libblas.so.3", "liblapack.so.3"};
	char		file[PATH_MAX];
	char		sibling[PATH_MAX + 16];

	if (!openblas_file(file))
		return;
	*strrchr(file, '/') = '\0';
	for (int i = 0; i < 2; i++)
	{
		snprintf(sibling, sizeof(sibling), "%s/%s", file, names[i]);
		if (access(sibling, F_OK) == 0)
			open_library(sibling);
	}
}

/*
 * Limits OpenBLAS to one thread, in case it was loaded earlier without the
 * limit in the environment. A process that was forked after the loading has no
 * pool of threads. Its next large product, or openblas_set_num_threads itself,
 * would then start a pool with the old number of threads. Therefore OpenBLAS's
 * own variables are set first.
 */
static void
use_one_thread(void)
{
	int		   *pool_runs = dlsym(openblas, "blas_server_avail");
	int		   *pool_size = dlsym(openblas, "blas_num_threads");
	int		   *used = dlsym(openblas, "blas_cpu_number");
	void		(*set_threads) (int) = NULL;

	if (pool_runs != NULL && pool_size != NULL && used != NULL &&
		*pool_runs == 0)
		*pool_size = *used = 1;
	*(void **) &set_threads = dlsym(openblas, "openblas_set_num_threads");
	if (set_threads != NULL)
		set_threads(1);
}

/*
 * Returns OpenBLAS's name for the fastest kernels that the CPU can execute, or
 * NULL if it can execute only the slowest kernels.
 */
static const char *
best_core_type(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl"))
		return "SkylakeX";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return "Haswell";
#endif
	return NULL;
}

/*
 * Opens OpenBLAS again with its kernels chosen by name, if it is too old to
 * know the model of the CPU (the OpenBLAS of Debian 12 knows no model from
 * 2023 on). For an unknown model OpenBLAS uses its slowest kernels,
 * "Prescott", with which products take four times as long.
 */
static void
reopen_for_cpu(blas_failure *failure)
{
	const char *(*core) (void) = NULL;

	*(void **) &core = dlsym(openblas, "openblas_get_corename");
	if (core == NULL || strcmp(core(), "Prescott") != 0 ||
		getenv("OPENBLAS_CORETYPE") != NULL || best_core_type() == NULL)
		return;
	dlclose(openblas);
	*core_type = best_core_type();
	openblas = open_first(openblas_names, failure);
	*core_type = NULL;
}

static void
open_openblas(blas_failure *failure)
{
	openblas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
	if (openblas == NULL)
	{
		openblas = open_first(openblas_names, failure);
		if (openblas != NULL)
			reopen_for_cpu(failure);
	}
	if (openblas == NULL)
		return;
	open_siblings();
	use_one_thread();
}

static void *
routine_of(void *handle, const char *name, blas_failure *failure)
{
	void	   *address = dlsym(handle, name);

	if (address == NULL)
		note_failure("", failure);
	return address;
}

static void
__attribute__((noreturn))
fail(blas_failure *failure)
{
	if (!openblas_file(failure->openblas))
		failure->openblas[0] = '\0';
	report_blas_failure(failure);
}

void *
openblas_routine(const char *name)
{
	blas_failure failure = {
		.library = "OpenBLAS",
		.package = "libopenblas0-serial"
	};
	void	   *address = NULL;

	if (openblas == NULL)
		open_openblas(&failure);
	if (openblas != NULL)
		address = routine_of(openblas, name, &failure);
	if (address == NULL)
		fail(&failure);
	return address;
}

void *
lbfgsb_routine(const char *name)
{
	blas_failure failure = {.library = "L-BFGS-B",.package = "liblbfgsb0"};
	void	   *address = NULL;

	openblas_routine("cblas_dgemm");
	if (lbfgsb == NULL)
		lbfgsb = open_first(lbfgsb_names, &failure);
	if (lbfgsb != NULL)
		address = routine_of(lbfgsb, name, &failure);
	if (address == NULL)
		fail(&failure);
	return address;
}

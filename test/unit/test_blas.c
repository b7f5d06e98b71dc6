/*
 * test_blas.c - OpenBLAS and L-BFGS-B work in the same process as any other
 * BLAS build, whichever is loaded first, use the kernels of this CPU and one
 * thread, and leave the environment unchanged.
 *
 * Each case runs in a process of its own: this program again, with the
 * arguments
 *     FIRST GUEST
 * FIRST is the routine that is called first. GUEST is "before", "after" or
 * "never": when another extension opens the system's BLAS and LAPACK.
 * LD_LIBRARY_PATH selects the system's build.
 */
#define _GNU_SOURCE				/* dl_iterate_phdr */
#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/blas.h"
#include "unit.h"

#define N	160					/* order of the matrices, enough for several threads */

static int
thread_count(void)
{
	DIR		   *tasks = opendir("/proc/self/task");
	int			count = 0;

	if (tasks == NULL)
		return 1;
	for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

static int
count_openblas(struct dl_phdr_info *library, size_t size, void *count)
{
	(void) size;
	*(int *) count += strstr(library->dlpi_name, "libopenblas") != NULL;
	return 0;
}

/*
 * Fills a with a[i][j] = 1 / (1 + |i - j|) + n [i = j], symmetric and positive
 * definite.
 */
static void
fill_matrix(double *a)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			a[i * N + j] = 1.0 / (1.0 + abs(i - j)) + (i == j ? N : 0.0);
}

/* The product with the identity equals the matrix to the bit. */
static void
call_blas(void)
{
	double	   *a = unit_alloc(N * N, sizeof(double));
	double	   *identity = unit_alloc(N * N, sizeof(double));
	double	   *c = unit_alloc(N * N, sizeof(double));

	fill_matrix(a);
	for (size_t i = 0; i < N; i++)
		identity[i * N + i] = 1.0;
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0, a, N, identity, N, 0.0, c, N);
	CHECK(memcmp(a, c, N * N * sizeof(double)) == 0, "a I is not a");
}

/* The Cholesky solution of a x = a 1 is 1, to 1e-12. */
static void
call_lapack(void)
{
	double	   *a = unit_alloc(N * N, sizeof(double));
	double		x[N] = {0};
	int			n = N;
	int			one = 1;
	int			info;

	fill_matrix(a);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			x[i] += a[i * N + j];
	dpotrf_("L", &n, a, &n, &info);
	CHECK(info == 0, "dpotrf: %d", info);
	dpotrs_("L", &n, &one, a, &n, x, &n, &info);
	for (int i = 0; i < N; i++)
		CHECK(fabs(x[i] - 1.0) < 1e-12, "x[%d] = %.17g", i, x[i]);
}

/* The minimum of sum_i (i + 1) (x_i - i)^2 over x_i <= 4 is found to 1e-6. */
static void
call_lbfgsb(void)
{
	enum {VARIABLES = 8, PAIRS = 5, TEXT = 60};
	int			n = VARIABLES;
	int			m = PAIRS;
	int			silent = -1;
	int			kind[VARIABLES];
	int			iwa[3 * VARIABLES];
	int			lsave[4];
	int			isave[44];
	double		dsave[29];
	double		wa[2 * PAIRS * VARIABLES + 5 * VARIABLES + 11 * PAIRS * PAIRS + 8 * PAIRS];
	double		x[VARIABLES] = {0};
	double		upper[VARIABLES];
	double		g[VARIABLES];
	double		f = 0.0;
	double		factr = 10.0;
	double		pgtol = 1e-10;
	char		task[TEXT];
	char		csave[TEXT];

	memset(task, ' ', TEXT);
	memcpy(task, "START", 5);
	for (int i = 0; i < n; i++)
		kind[i] = 3, upper[i] = 4.0;
	for (int calls = 0; calls < 200; calls++)
	{
		setulb_(&n, &m, x, upper, upper, kind, &f, g, &factr, &pgtol, wa, iwa, task, &silent, csave, lsave, isave, dsave, TEXT, TEXT);
		if (strncmp(task, "FG", 2) != 0 && strncmp(task, "NEW_X", 5) != 0)
			break;
		f = 0.0;
		for (int i = 0; i < n; i++)
		{
			f += (i + 1) * (x[i] - i) * (x[i] - i);
			g[i] = 2 * (i + 1) * (x[i] - i);
		}
	}
	for (int i = 0; i < n; i++)
		CHECK(fabs(x[i] - fmin(i, 4.0)) < 1e-6, "x[%d] = %.17g after %.20s", i, x[i], task);
}

#define ROUTINES 3
static void (*const routines[ROUTINES]) (void) = {call_blas, call_lapack, call_lbfgsb};
static const char *const names_of_routines[ROUTINES] = {"BLAS", "LAPACK", "L-BFGS-B"};

/*
 * OpenBLAS uses the CPU's vector units even if it does not know the CPU model.
 */
static void
check_kernels(void)
{
#ifdef __x86_64__
	const char *(*core) (void);

	*(void **) &core = dlsym(dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD), "openblas_get_corename");
	CHECK(!__builtin_cpu_supports("avx2") || strcmp(core(), "Prescott") != 0, "kernels for %s", core());
#endif
}

/* Opens the libraries by the names that PostGIS or numpy depend on. */
static void
open_guest(void)
{
	static const char *const names[] = {"libblas.so.3", "liblapack.so.3"};

	for (int i = 0; i < 2; i++)
		CHECK(dlopen(names[i], RTLD_NOW | RTLD_GLOBAL) != NULL, "%s", dlerror());
}

/*
 * One OpenBLAS is in the process, the number of threads does not change, and
 * OPENBLAS_NUM_THREADS keeps its value.
 */
static int
run_case(const char *first, const char *guest)
{
	const char *variable = getenv("OPENBLAS_NUM_THREADS");
	char	   *before = variable ? unit_keep(strdup(variable)) : NULL;
	int			start = 0;
	int			openblas_libraries = 0;
	int			threads;

	if (strcmp(guest, "before") == 0)
		open_guest();
	threads = thread_count();
	while (strcmp(names_of_routines[start], first) != 0)
		start++;
	for (int i = 0; i < ROUTINES; i++)
		routines[(start + i) % ROUTINES] ();
	if (strcmp(guest, "before") != 0)
		check_kernels();
	if (strcmp(guest, "after") == 0)
		open_guest();
	dl_iterate_phdr(count_openblas, &openblas_libraries);
	CHECK(openblas_libraries == 1, "%d OpenBLAS libraries are in the process", openblas_libraries);
	CHECK(thread_count() == threads, "%d threads, %d before", thread_count(), threads);
	variable = getenv("OPENBLAS_NUM_THREADS");
	CHECK(variable ? before && strcmp(variable, before) == 0 : !before, "the environment has changed");
	return unit_failures > 0;
}

/*
 * Runs a case with OPENBLAS_NUM_THREADS set to `threads`; NULL leaves it
 * unset.
 */
static void
start_case(const char *program, const char *build, const char *first, const char *guest, const char *threads)
{
	char		path[2048];
	int			status;
	pid_t		child = fork();

	if (child == 0)
	{
		/* the reference build keeps BLAS and LAPACK in two directories */
		snprintf(path, sizeof(path), "%s:%s/../lapack", build, build);
		setenv("LD_LIBRARY_PATH", path, 1);
		unsetenv("OPENBLAS_NUM_THREADS");
		if (threads != NULL)
			setenv("OPENBLAS_NUM_THREADS", threads, 1);
		execl(program, program, first, guest, (char *) NULL);
		_exit(3);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0, "%s is the system's, %s first, another extension %s, OPENBLAS_NUM_THREADS %s", build, first, guest,
		  threads ? threads : "unset");
}

/*
 * Finds the directories in which Debian installs the builds of OpenBLAS and
 * the reference. OPENBLAS_BUILDS adds more, separated by colons.
 */
static void
find_builds(glob_t *builds)
{
	char	   *more = getenv("OPENBLAS_BUILDS");

	glob("/usr/lib/*/openblas-*", GLOB_NOCHECK, NULL, builds);
	glob("/usr/lib/*/blas", GLOB_APPEND, NULL, builds);
	more = more ? unit_keep(strdup(more)) : NULL;
	for (char *build = more ? strtok(more, ":") : NULL; build != NULL; build = strtok(NULL, ":"))
		glob(build, GLOB_APPEND, NULL, builds);
}

int
main(int argc, char **argv)
{
	static const char *const guests[] = {"never", "before", "after"};
	glob_t		builds = {0};

	if (argc == 3)
		return run_case(argv[1], argv[2]);
	find_builds(&builds);
	for (size_t build = 0; build < builds.gl_pathc; build++)
		for (int first = 0; first < ROUTINES; first++)
			for (int guest = 0; guest < 3; guest++)
				start_case(argv[0], builds.gl_pathv[build], names_of_routines[first], guests[guest], guest == 0 ? NULL : "3");
	globfree(&builds);
	return unit_finish();
}

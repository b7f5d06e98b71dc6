#!/bin/bash
# purity.sh OBJECT...: the core owns nothing, prints nothing, raises nothing and knows no
# server: no such symbol in its objects, no server header in its sources, no mutable statics;
# and every foreign routine it calls has a lazy stand-in in the module.
set -eu
cd "$(dirname "$0")/.."
forbidden='^(palloc.*|repalloc.*|pfree|errstart.*|ereport|elog|CurrentMemoryContext|malloc|calloc|realloc|free|aligned_alloc|posix_memalign|alloca'
forbidden+='|v?[fsn]*printf|__[a-z]*printf_chk|puts|putchar|fopen|fwrite|_?exit|abort|__assert_fail|s?rand|rand_r|random|drand48|time|clock|getenv|setjmp|longjmp)$'
failed=0

report()
{
	if [ -n "$2" ]; then
		echo "$2"
		echo "not ok purity/$1"
		failed=1
	else
		echo "ok purity/$1"
	fi
}

undefined=$(for object in "$@"; do
	nm -u "$object" | awk '{print $NF}' | sed 's/@.*//' | { grep -E "$forbidden" || true; } | sed "s|^|$object: |"
done)
report symbols "$undefined"
report headers "$(grep -nE '#include *[<"](postgres|fmgr|c\.h|utils/|access/|catalog/|funcapi|miscadmin|nodes/|executor/)' src/core/*/* || true)"
mutable=$(for object in "$@"; do
	objdump -t "$object" | { grep -E ' O +(\.data|\.bss|\.tdata|\.tbss|\*COM\*)[[:space:]]' || true; } | sed "s|^|$object: |"
done)
report statics "$mutable"
foreign=$(nm -u "$@" | awk '$2 ~ /^(cblas_.*|[a-z].*_)$/ {print $2}' | sort -u)
report stand-ins "$(for routine in $foreign; do
	grep -qw "${routine%_}\|$routine\|${routine#cblas_}" src/pg/blas_stubs.c || echo "$routine is not in src/pg/blas_stubs.c"
done)"
exit $failed

#!/bin/sh
# psql.sh PSQL ARGUMENT...: runs psql for the regression tests, without the CONTEXT of errors, whose
# line numbers change with each edit.
exec "$@" -v SHOW_CONTEXT=never

#!/bin/sh
# psql.sh PSQL ARGUMENT...: psql as the regression tests run it, without the CONTEXT of errors: its line numbers change with each edit.
exec "$@" -v SHOW_CONTEXT=never

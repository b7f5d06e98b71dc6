/* compat.h - differences between PostgreSQL 13 and 19, in one place */
#ifndef FASTCLUST_COMPAT_H
#define FASTCLUST_COMPAT_H

#if PG_VERSION_NUM < 130000
#error "fastclust needs PostgreSQL 13 or later"
#endif

/* Version 16 moved VARSIZE and similar macros out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * Since 14, raw_parser takes a mode, because it can parse more than
 * statements.
 */
#if PG_VERSION_NUM >= 140000
#define parse_statements(query) raw_parser(query, RAW_PARSE_DEFAULT)
#else
#define parse_statements(query) raw_parser(query)
#endif

/* Version 16 replaced pg_proc_aclcheck by object_aclcheck. */
#if PG_VERSION_NUM >= 160000
#define pg_proc_aclcheck(function, role, mode) \
	object_aclcheck(ProcedureRelationId, function, role, mode)
#endif

/*
 * Since version 17 a module can create named shared memory when it needs it.
 * In older versions it must request the memory while it is preloaded; versions
 * 15 and 16 require a hook for the request.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#define named_memory(name, size, initialize, found) \
	GetNamedDSMSegment(name, size, initialize, found NAMED_MEMORY_NULL)
#else
#define SHARED_MEMORY_IS_PRELOADED
#if PG_VERSION_NUM >= 150000
#define SHARED_MEMORY_IS_REQUESTED_BY_HOOK
#endif
#endif

/*
 * The function that initializes named shared memory has a second argument
 * since 19.
 */
#if PG_VERSION_NUM >= 190000
#define NAMED_MEMORY_ARGUMENT , void *unused
#define NAMED_MEMORY_NULL , NULL
#else
#define NAMED_MEMORY_ARGUMENT
#define NAMED_MEMORY_NULL
#endif

/* A scan of a table takes flags since 19. */
#if PG_VERSION_NUM >= 190000
#define begin_table_scan(table, snapshot) table_beginscan(table, snapshot, 0, NULL, 0)
#else
#define begin_table_scan(table, snapshot) table_beginscan(table, snapshot, 0, NULL)
#endif

/* Intervals can be infinite since 17. */
#if PG_VERSION_NUM < 170000
#define INTERVAL_NOT_FINITE(interval) ((void) (interval), false)
#endif

/* Since 14 SPI can send the rows of a plan to a DestReceiver. */
#if PG_VERSION_NUM >= 140000
#define SPI_HAS_RECEIVERS true
#define execute_into(plan, rows) \
	(void) SPI_execute_plan_extended(plan, &(SPIExecuteOptions) {.dest = (rows)})
#else
#define SPI_HAS_RECEIVERS false
#define execute_into(plan, rows) ((void) (plan), (void) (rows))
#endif

/* Partitions may be detached concurrently since 14. */
#if PG_VERSION_NUM >= 140000
#define partitions_of(relation) RelationGetPartitionDesc(relation, true)
#else
#define partitions_of(relation) RelationGetPartitionDesc(relation)
#endif

/* Returns true if this transaction gave the relation a new file, as TRUNCATE does. */
#if PG_VERSION_NUM >= 160000
#define relation_has_new_file(relation) \
	((relation)->rd_newRelfilelocatorSubid != InvalidSubTransactionId)
#else
#define relation_has_new_file(relation) \
	((relation)->rd_newRelfilenodeSubid != InvalidSubTransactionId)
#endif

#endif							/* FASTCLUST_COMPAT_H */

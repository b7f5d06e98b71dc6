/* settings.h - settings of a session that change what text means, or how a value is written */
#ifndef FASTCLUST_SETTINGS_H
#define FASTCLUST_SETTINGS_H

/* Fix them until AtEOXact_GUC of the level they return: those by which text of a query is read; all, with the path and how times are written. */
extern int	fix_text_settings(void);
extern int	fix_settings(void);

#endif							/* FASTCLUST_SETTINGS_H */

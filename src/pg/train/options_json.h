/* options_json.h - jsonb objects of options */
#ifndef FASTCLUST_TRAIN_OPTIONS_JSON_H
#define FASTCLUST_TRAIN_OPTIONS_JSON_H

#include "utils/jsonb.h"

extern Jsonb *without_key(Jsonb *json, const char *name);
extern Jsonb *without_nulls(Jsonb *json);
extern Jsonb *json_of_text(const char *text);

/* Merges two objects; a key that both have takes its value from b. */
extern Jsonb *joined(Jsonb *a, Jsonb *b);

#endif							/* FASTCLUST_TRAIN_OPTIONS_JSON_H */

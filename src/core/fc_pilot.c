#include "fc_pilot.h"
size_t fc_pilot_dimensions(size_t d, const fc_pilot_options *o){return d;}
size_t fc_pilot_worksize(size_t r,size_t d,const fc_pilot_options*o){return 64;}
fc_status fc_pilot(const double *x, const double *weight, size_t rows, size_t d,
					 const fc_pilot_options *options, const fc_tick *tick,
					 fc_arena *arena, fc_pilot_result *result){ result->n=d; result->sigma=1.2; result->within=1; for(size_t i=0;i<d;i++){result->center[i]=0;} for(size_t r=0;r<rows*d;r++)result->reduced[r]=(float)x[r]; return FC_OK;}

\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- every function is harmless to others: whoever may connect may use them
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

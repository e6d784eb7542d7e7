//! The memory of an ingestor while the server stands still under full load: how much it holds at
//! most, against its setting, and whether everything that it accepted is stored when the server
//! goes on.

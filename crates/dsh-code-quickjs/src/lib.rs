//! Code Mode programs in sandboxed, single-use QuickJS worker processes.

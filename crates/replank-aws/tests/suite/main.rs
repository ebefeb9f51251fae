//! Tests of the wire.

mod signatures;

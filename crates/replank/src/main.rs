//! The `replank` binary.
fn main() {}

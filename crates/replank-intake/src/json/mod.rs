//! JSON: where a value ends, and what it is.

mod at_hand;
pub(crate) mod scan;
pub(crate) mod stream;
pub(crate) mod value;

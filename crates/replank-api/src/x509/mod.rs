//! Certificates, as far as a cluster reads and signs them: who a certificate is for, what a signing request asks for, and the answer to one.
//!
//! Layers, each uses only those above it: `der`, `name`, `request`, `sign`.

mod der;
mod name;
mod request;
mod sign;

pub use name::{Subject, subject_of};
pub use request::{SigningRequest, certificates_in, request_in};
pub use sign::{Authority, Order, SignError};

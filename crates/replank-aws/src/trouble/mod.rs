//! What is made to go wrong between an account and those who call it: requests and answers that are lost, refusals for the rate, failures of a service, credentials that
//! are over, instances that EC2 does not show yet, and messages that come twice or late.
//!
//! Each happens by words (`read`), goes on until other words end it, and hits a call by its number alone: the same calls in the same order meet the same.

mod codes;
mod present;
mod what;
mod words;

pub(crate) use codes::expired;
pub(crate) use present::{Deliveries, Fate, Troubles};
pub use what::Trouble;
pub use words::{FORMS, ending, read};

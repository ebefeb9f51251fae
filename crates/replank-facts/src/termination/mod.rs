//! What tells a cluster that an instance goes: AWS's side of it, and aws-node-termination-handler's.
//!
//! | module | question |
//! |---|---|
//! | [`account`] | which groups, hooks, rules and queues has the account |
//! | [`handler`] | how does aws-node-termination-handler run, and with which settings |

pub mod account;
pub mod handler;

//! Batch work as those who run it see it: what Argo does about a lost step, when runs begin, how long they take, and how long
//! one is waited for.
//!
//! | module | question |
//! |---|---|
//! | [`alerted`] | who is alerted if a run fails |
//! | [`alerts`] | which alerts fire for it |
//! | [`rerun`] | may work be run again, as its author declares |
//! | [`retry`] | is a step whose pod is lost run again |
//! | [`expression`] | what a retry strategy's expression says |
//! | [`failure_policy`] | what has a Job bear the loss of pods |
//! | [`starts`] | when do CronJobs and CronWorkflows begin their next runs, and on which nodes |
//! | [`past`] | how long have runs taken |
//! | [`end`] | when is a pod that runs over |
//! | [`templates`] | where do a Workflow's templates come from |
//! | [`sweep`] | when had a roll better begin |
//! | [`wait`] | how long is a pod waited for |

pub mod alerted;
pub mod alerts;
pub mod end;
pub mod expression;
pub mod failure_policy;
pub mod past;
pub mod rerun;
pub mod retry;
pub mod starts;
pub mod templates;
pub mod wait;
mod yaml;

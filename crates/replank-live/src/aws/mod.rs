//! AWS behind node groups: self-managed Auto Scaling groups, and managed node groups of EKS.
//!
//! ```text
//! let aws = Aws::open(&asked).await?;                // region, credentials, account
//! let answers = aws.answers(&instances, &names).await?;   // as the CLI prints them: for a rehearsal
//! aws.follow(groups);                                // as the rehearsal has them: what nodes are expected to be
//! ```
//!
//! From then on it is a [`Cloud`] that the driver looks at every few seconds. Facts are polled completely or not at all: a page that is missing deletes nothing.

mod act;
mod client;
mod credentials;
mod error;
mod facts;
mod group;
mod managed;
mod profile;
mod service;
mod sign;
mod statement;
mod template;
mod xml;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use replank_model::object::cloud::{InstanceState, NodeGroup};
use replank_model::text::InstanceId;
use replank_protocol::command::GroupEffect;
use replank_protocol::outcome::Answer;
use serde_json::{Value, json};

use client::{Caller, Manner};
use service::Service;

use crate::cloud::{Cloud, Observed, OfNode, Order, Pending};

pub use client::AwsAsked;
pub use error::AwsError;
pub use statement::{AUTO_SCALING, MANAGED, READS, statement};

/// An account of AWS in a region.
#[derive(Debug)]
pub struct Aws {
    caller: Caller,
    account: String,
    state: Mutex<State>,
}

/// What is known from before.
#[derive(Debug, Default)]
struct State {
    /// Groups that are followed: names, and what nodes are expected to be.
    bases: Vec<NodeGroup>,
    templates: template::Cache,
    machines: BTreeMap<InstanceId, group::Machine>,
    /// Groups as they were seen last.
    seen: Vec<NodeGroup>,
}

impl Aws {
    /// Looks for region and credentials, and asks whose they are.
    ///
    /// # Errors
    /// Where there are none, or AWS does not accept them.
    pub async fn open(asked: &AwsAsked) -> Result<Self, AwsError> {
        let caller = Caller::new(asked)?;
        let who = caller.query((Service::Sts, "GetCallerIdentity"), &json!({}), Manner::Read).await?;
        let account = who["Account"].as_str().unwrap_or_default().to_owned();
        Ok(Self { caller, account, state: Mutex::default() })
    }

    /// The account's number.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The region.
    #[must_use]
    pub fn region(&self) -> &str {
        self.caller.region()
    }

    /// From now on these groups are looked at.
    pub fn follow(&self, groups: Vec<NodeGroup>) {
        self.state().bases = groups;
        // Whoever drives may have another runtime than who looked: connections belong to one.
        self.caller.forget_connections();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cloud for Aws {
    fn observe<'a>(
        &'a self,
        nodes: &'a BTreeMap<InstanceId, OfNode>,
    ) -> Pending<'a, Result<Observed, String>> {
        Box::pin(async move { self.observed(nodes).await.map_err(|error| said(&error)) })
    }

    fn act<'a>(&'a self, effect: &'a GroupEffect, order: Order<'a>) -> Pending<'a, Answer> {
        Box::pin(self.carry(effect, order))
    }

    fn state<'a>(&'a self, instance: &'a InstanceId) -> Pending<'a, Result<Option<InstanceState>, String>> {
        Box::pin(async move {
            let found = self.machines(&[instance]).await.map_err(|error| said(&error))?;
            Ok(found.get(instance).and_then(|machine| machine.state))
        })
    }
}

/// What went wrong, and what to do next.
fn said(error: &AwsError) -> String {
    match error.next() {
        Some(next) => format!("{error}; {next}"),
        None => error.to_string(),
    }
}

/// Elements of a list in an answer; none where it is empty or absent.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text in an answer that is not empty.
fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value[member].as_str().filter(|text| !text.is_empty())
}

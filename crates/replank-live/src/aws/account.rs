//! An account of AWS, and what is known of it from before.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use replank_model::object::cloud::{LaunchFailure, NodeGroup};
use replank_model::text::{InstanceId, Text};
use serde_json::json;

use super::answer::text;
use super::balanced::Known;
use super::client::{Caller, Manner};
use super::discovery::Discovery;
use super::ended::Ended;
use super::error::AwsError;
use super::machine::Machine;
use super::place::AwsAsked;
use super::recent::Recent;
use super::service::Service;
use super::versions::Cache;

/// An account of AWS in a region.
#[derive(Debug)]
pub struct Aws {
    pub(super) caller: Caller,
    pub(super) account: String,
    /// What several effects at once rest on.
    pub(super) recent: Recent,
    state: Mutex<State>,
}

/// What is known of failed launches, by Auto Scaling group, and when it was asked for.
type Failures = BTreeMap<Text, (Instant, Vec<LaunchFailure>)>;

/// What is known from before.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Groups that are followed: names, and what nodes are expected to be.
    pub(super) bases: Vec<NodeGroup>,
    pub(super) templates: Cache,
    pub(super) ended: Ended,
    pub(super) machines: BTreeMap<InstanceId, Machine>,
    /// Target groups of load balancers.
    pub(super) target_groups: Known,
    /// Groups as they were seen last.
    pub(super) seen: Vec<NodeGroup>,
    /// Where groups are found by the cluster's nodes, or are looked at for the sake of their sizes alone.
    pub(super) found: Option<Discovery>,
    /// Launches that failed, where these are asked for.
    pub(super) failures: Option<Failures>,
}

impl Aws {
    /// Looks for region and credentials, and asks whose they are.
    ///
    /// # Errors
    /// Where there are none, or AWS does not accept them.
    pub async fn open(asked: &AwsAsked) -> Result<Self, AwsError> {
        let caller = Caller::new(asked)?;
        let who = caller.query((Service::Sts, "GetCallerIdentity"), &json!({}), Manner::Read).await?;
        let account = text(&who, "Account").map(str::to_owned).ok_or_else(|| AwsError::Unreadable {
            action: "sts:GetCallerIdentity".to_owned(),
            why: "it has no Account".to_owned(),
        })?;
        Ok(Self { caller, account, recent: Recent::default(), state: Mutex::default() })
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

    /// From now on the groups behind the cluster's nodes are looked at, as these come and go; of them no more than interruptions are decided on.
    pub fn follow_nodes(&self) {
        self.state().found.get_or_insert_default().follows_nodes = true;
        self.caller.forget_connections();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Aws {
    /// An account behind a way that is there already.
    pub(super) fn of_caller(caller: Caller) -> Self {
        Self {
            caller,
            account: "111122223333".to_owned(),
            recent: Recent::default(),
            state: Mutex::default(),
        }
    }
}

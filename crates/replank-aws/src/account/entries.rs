//! Access entries, as they are kept.

use std::collections::BTreeMap;

use replank_model::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::names::Setting;
use crate::caller::Caller;

/// Kinds of entries, the first where nothing is said.
pub(crate) const KINDS: &[&str] =
    &["STANDARD", "EC2", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "HYBRID_LINUX", "HYPERPOD_LINUX"];

/// Entries, by the ARNs of those they are for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entries(pub(crate) BTreeMap<String, Entry>);

/// One of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) groups: Vec<String>,
    pub(crate) username: String,
    pub(crate) kind: String,
    /// Unknown for the one that the account began with.
    pub(crate) created: Option<Time>,
    pub(crate) modified: Option<Time>,
    /// Scopes of policies, by the policies' ARNs, and since when.
    pub(crate) policies: BTreeMap<String, (Value, Option<Time>)>,
}

impl Entries {
    /// Whoever makes a cluster is its administrator.
    pub(crate) fn new(setting: &Setting) -> Self {
        let arn = Caller::User.arn(&setting.account);
        let policies =
            [(policy("AmazonEKSClusterAdminPolicy"), (json!({"type": "cluster", "namespaces": []}), None))];
        let entry = Entry {
            username: arn.clone(),
            kind: KINDS[0].to_owned(),
            policies: policies.into(),
            ..Entry::default()
        };
        Self([(arn, entry)].into())
    }
}

/// The ARN of a policy.
pub(crate) fn policy(name: &str) -> String {
    format!("arn:aws:eks::aws:cluster-access-policy/{name}")
}

//! What EKS keeps beside what the region knows.

use std::collections::BTreeMap;

use replank_model::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::associations::Associations;
use super::entries::Entries;
use super::names::Setting;

/// What EKS keeps of the cluster.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Eks {
    /// The control plane's version.
    pub(crate) version: String,
    /// When the account began.
    pub(crate) created: Option<Time>,
    /// What is kept of node groups, by their names.
    pub(crate) nodegroups: BTreeMap<String, Nodegroup>,
    /// Add-ons, by their names.
    pub(crate) addons: BTreeMap<String, Addon>,
    /// Updates, the newest last.
    pub(crate) updates: Vec<Update>,
    /// Tags of resources, by their ARNs.
    pub(crate) tags: BTreeMap<String, BTreeMap<String, String>>,
    /// How many ids were drawn.
    pub(crate) count: u64,
    /// What somebody has changed of the cluster's configuration, as DescribeCluster shows it.
    #[serde(default)]
    pub(crate) config: BTreeMap<String, Value>,
    /// Who may come to the cluster.
    #[serde(default)]
    pub(crate) access: Entries,
    /// Which roles pods have.
    #[serde(default)]
    pub(crate) pods: Associations,
}

/// What is kept of a node group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Nodegroup {
    /// When it was made; unknown for one that the region began with.
    pub(crate) created: Option<Time>,
    /// As it was asked for.
    pub(crate) asked: Value,
    /// Labels that are shown.
    pub(crate) labels: Option<BTreeMap<String, String>>,
    /// Taints that are shown, as EKS writes them.
    pub(crate) taints: Option<Vec<Value>>,
    /// `maxUnavailable` and the like.
    pub(crate) update_config: Option<Value>,
    /// Whether nodes are repaired: kept and shown.
    #[serde(default)]
    pub(crate) repair: Option<Value>,
    /// Whether all nodes that it began with have been Ready.
    pub(crate) was_ready: bool,
}

/// An add-on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Addon {
    /// Its version.
    pub(crate) version: String,
    /// Until when it is made or updated.
    pub(crate) until: Option<Time>,
    /// The pod template of its workload, as EKS has written it last.
    #[serde(default)]
    pub(crate) installed: Option<Value>,
    /// Why its last update failed, as its health shows it.
    #[serde(default)]
    pub(crate) issues: Vec<Value>,
    /// When it was made.
    pub(crate) created: Time,
    /// Its values.
    pub(crate) values: Option<String>,
    /// Its account's role.
    pub(crate) role: Option<String>,
}

/// An update, of whatever.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Update {
    /// Its id.
    pub(crate) id: String,
    /// `VersionUpdate` and so on.
    pub(crate) kind: String,
    /// What it changes.
    pub(crate) params: Vec<(String, String)>,
    /// When it began.
    pub(crate) created: Time,
    /// The node group that it is about.
    pub(crate) nodegroup: Option<String>,
    /// The add-on that it is about.
    pub(crate) addon: Option<String>,
    /// When it is over, where that does not depend on nodes.
    pub(crate) ends: Option<Time>,
    /// `InProgress`, `Successful` or `Failed`.
    pub(crate) status: String,
    /// What it says of its failure.
    pub(crate) errors: Vec<Value>,
}

impl Eks {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self { version: setting.version.clone(), access: Entries::new(setting), ..Self::default() }
    }
}

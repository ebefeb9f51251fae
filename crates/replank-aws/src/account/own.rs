//! What an account keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extra::Extra;
use super::kept::Eks;
use super::names::{Names, Setting};
use super::queues::Queues;
use super::rules::Rules;
use super::templates::Templates;
use crate::trouble::{Trouble, Troubles};

/// What somebody has changed of a resource's tags: the value of each key, or that it is gone.
pub(crate) type Changed = BTreeMap<String, Option<String>>;

/// An account.
#[derive(Debug, Serialize, Deserialize)]
pub struct Account {
    #[serde(skip)]
    pub(crate) names: Names,
    pub(crate) templates: Templates,
    pub(crate) groups: BTreeMap<String, Extra>,
    pub(crate) eks: Eks,
    pub(crate) queues: Queues,
    pub(crate) rules: Rules,
    /// Requests by their tokens: what was asked, and what was answered.
    pub(crate) tokens: Vec<(String, Value, Value)>,
    /// Tags of EC2's resources that somebody has changed, by the resources' ids.
    #[serde(default)]
    pub(crate) resource_tags: BTreeMap<String, Changed>,
    /// What is made to go wrong.
    #[serde(default)]
    pub(crate) troubles: Troubles,
    #[serde(skip)]
    pub(crate) touched: u64,
}

impl Account {
    /// An account that begins.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let eks = Eks::new(&setting);
        Self {
            names: Names::new(setting),
            templates: Templates::default(),
            groups: BTreeMap::new(),
            eks,
            queues: Queues::default(),
            rules: Rules::default(),
            tokens: Vec::new(),
            resource_tags: BTreeMap::new(),
            troubles: Troubles::default(),
            touched: 0,
        }
    }

    /// Goes on in another process.
    #[must_use]
    pub fn resumed(mut self, setting: Setting) -> Self {
        self.names = Names::new(setting);
        self
    }

    /// Draws what goes wrong by a seed.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.troubles.seeded(seed);
        self
    }

    /// Makes something go wrong, or right again.
    pub fn begin(&mut self, trouble: &Trouble) {
        self.touched += 1;
        self.troubles.begin(trouble);
    }

    /// The minor version of the cluster's control plane.
    #[must_use]
    pub fn minor(&self) -> Option<u32> {
        self.eks.version.split('.').nth(1)?.parse().ok()
    }

    /// A number that rises when what is remembered may have changed.
    #[must_use]
    pub fn touched(&self) -> u64 {
        self.touched
    }
}

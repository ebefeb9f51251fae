//! Nodes to be registered.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a kubelet says of its node when it registers it.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints, as the API writes them.
    pub taints: Vec<Value>,
    /// Its capacity, which is all allocatable.
    pub capacity: BTreeMap<String, String>,
    /// The version of the kubelet.
    pub version: String,
}

//! A recorded scenario: what was done, and what the real control plane did then.

use serde::Deserialize;
use serde_json::Value;

/// One line of a recording.
#[derive(Clone, Debug, Deserialize)]
pub struct Scenario {
    /// Name.
    pub id: String,
    /// Group, as the file is named.
    pub group: String,
    /// Begin of the recording within the minute.
    pub t0: Origin,
    /// Name of the namespace in the record.
    pub namespace: String,
    /// Nodes that are Ready before the begin.
    pub nodes: Vec<Value>,
    /// Objects that exist before the begin.
    #[serde(default)]
    pub setup: Vec<Value>,
    /// What is done.
    pub steps: Vec<Step>,
    /// End of the recording, in milliseconds.
    pub until_ms: i64,
    /// Groups of pods that may be permuted.
    #[serde(default)]
    pub interchangeable: Vec<Vec<String>>,
    /// Groups of nodes that may be permuted.
    #[serde(default, rename = "interchangeableNodes")]
    pub interchangeable_nodes: Vec<Vec<String>>,
    /// What happened.
    pub expect: Expect,
}

/// Where t = 0 lies.
#[derive(Clone, Debug, Deserialize)]
pub struct Origin {
    /// In words: a whole second, or `second :50 of a minute`.
    pub aligned_to: String,
}

impl Origin {
    /// The second of the minute.
    #[must_use]
    pub fn second(&self) -> i64 {
        let digits = self.aligned_to.split(':').nth(1).unwrap_or_default();
        digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
    }
}

/// One thing done from outside.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    /// When it is sent.
    pub at_ms: i64,
    /// What it is.
    pub action: String,
    /// Kind of the target.
    #[serde(default)]
    pub kind: String,
    /// Name of the target, perhaps a symbol.
    #[serde(default)]
    pub name: String,
    /// Node of the target.
    #[serde(default)]
    pub node: String,
    /// The object to create.
    #[serde(default)]
    pub object: Value,
    /// The patch, or the eviction.
    #[serde(default)]
    pub body: Value,
    /// Language of the patch.
    #[serde(default, rename = "type")]
    pub patch_type: String,
    /// Part of the object that is patched.
    #[serde(default)]
    pub subresource: String,
    /// How to delete.
    #[serde(default)]
    pub options: Value,
    /// Replicas to scale to.
    #[serde(default)]
    pub replicas: Value,
    /// The taint to put.
    #[serde(default)]
    pub taint: Value,
    /// Key of the taint to take away.
    #[serde(default)]
    pub key: String,
    /// Effect of the taint to take away; empty means any.
    #[serde(default)]
    pub effect: String,
    /// Labels to set.
    #[serde(default)]
    pub labels: Value,
    /// What the kubelet does.
    #[serde(default, rename = "do")]
    pub act: String,
    /// Exit code of the container that the kubelet ends.
    #[serde(default, rename = "exitCode")]
    pub exit_code: i32,
    /// The answer.
    pub result: Value,
}

/// What happened.
#[derive(Clone, Debug, Deserialize)]
pub struct Expect {
    /// Seen in all runs.
    pub events: Vec<Event>,
    /// Seen in some runs.
    #[serde(rename = "optionalEvents")]
    pub optional: Vec<Event>,
    /// What is there at the end.
    pub r#final: Vec<Final>,
}

/// One recorded event.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// When, in milliseconds.
    pub t_ms: i64,
    /// Largest deviation of a run.
    #[serde(default)]
    pub tol_ms: i64,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object, perhaps a symbol.
    pub name: String,
    /// What happened; for optional updates the member.
    pub change: String,
    /// Details.
    #[serde(default)]
    pub value: Value,
    /// Members that an update set.
    #[serde(default)]
    pub set: serde_json::Map<String, Value>,
    /// The node of a binding.
    #[serde(default)]
    pub node: Value,
    /// Position in the order that all runs shared; events of one block have none among them.
    #[serde(default)]
    pub block: i64,
}

/// One object at the end.
#[derive(Clone, Debug, Deserialize)]
pub struct Final {
    /// Kind.
    pub kind: String,
    /// Name, perhaps a symbol.
    pub name: String,
    /// Members that are not zero.
    pub state: serde_json::Map<String, Value>,
    /// In how many runs it existed, where not in all.
    #[serde(default)]
    pub runs: Option<i64>,
}

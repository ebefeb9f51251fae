//! What somebody who looks after the simulation asks: paths of our own beside those of Kubernetes.

use serde::{Deserialize, Serialize};

/// Where it is asked for.
pub const PATH: &str = "/replank.dev/v1/manage";

/// What somebody who looks after the simulation asks; the JSON body of a POST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "ask")]
pub enum Manage {
    /// How things are.
    Status,
    /// To let so much time pass at once, where time does not pass by itself.
    Advance {
        /// How many milliseconds.
        millis: i64,
    },
    /// What can go wrong, and what has been made to.
    Faults,
    /// To make something go wrong, in the words of a script.
    Start {
        /// The words, such as `spot instance node-1 is taken back`.
        words: String,
    },
    /// To end one of the faults that go on, or all of them.
    Clear {
        /// The fault's number; all without one.
        number: Option<usize>,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_is_plain_json() {
        let clear = json!({"ask": "clear", "number": 2});
        assert_eq!(
            serde_json::from_value::<Manage>(clear).expect("it is one"),
            Manage::Clear { number: Some(2) }
        );
        let all = json!({"ask": "clear"});
        assert_eq!(serde_json::from_value::<Manage>(all).expect("it is one"), Manage::Clear { number: None });
        assert_eq!(serde_json::to_value(Manage::Status).expect("it is plain"), json!({"ask": "status"}));
        assert!(serde_json::from_value::<Manage>(json!({"ask": "nonsense"})).is_err());
    }
}

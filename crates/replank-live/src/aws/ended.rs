//! Updates of EKS that have ended, as they were read: nothing about them changes any more. And which of them were seen in progress before.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::Text;
use serde_json::Value;

/// A managed node group: its cluster's name, and its own.
type Place = (Text, Text);

/// What was read of updates, by their ids; of each group no more than EKS still lists.
#[derive(Debug, Default)]
pub(super) struct Ended(BTreeMap<Place, Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those that have ended.
    ended: BTreeMap<String, Value>,
    /// Those that were seen in progress.
    followed: BTreeSet<String>,
}

impl Ended {
    /// Those of a group that EKS still lists, and the ids of which nobody knows that they have ended. What it does not list any more is forgotten.
    pub(super) fn split(&mut self, place: &Place, listed: &[String]) -> (Vec<Value>, Vec<String>) {
        let known = self.0.entry(place.clone()).or_default();
        known.ended.retain(|id, _| listed.contains(id));
        known.followed.retain(|id| listed.contains(id));
        let open = listed.iter().filter(|id| !known.ended.contains_key(*id)).cloned().collect();
        (known.ended.values().cloned().collect(), open)
    }

    /// Keeps an update that has ended, and notes one that has not. A word that is newer than this is no end.
    pub(super) fn learn(&mut self, place: &Place, id: &str, update: &Value) {
        let has_ended = matches!(update["status"].as_str(), Some("Successful" | "Failed" | "Cancelled"));
        let known = self.0.entry(place.clone()).or_default();
        if has_ended {
            known.ended.insert(id.to_owned(), update.clone());
        } else {
            known.followed.insert(id.to_owned());
        }
    }

    /// Whether an update was seen in progress.
    pub(super) fn was_followed(&self, place: &Place, id: &str) -> bool {
        self.0.get(place).is_some_and(|known| known.followed.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_ended_is_read_once_and_what_goes_on_each_time() {
        let place = (Text::from("shop"), Text::from("web"));
        let ids = |all: &[&str]| all.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let mut ended = Ended::default();
        let all = ids(&["a", "b", "c"]);
        assert_eq!(ended.split(&place, &all), (Vec::new(), all.clone()));
        for (id, status) in [("a", "Failed"), ("b", "InProgress"), ("c", "Successful")] {
            ended.learn(&place, id, &json!({"id": id, "status": status}));
        }
        let (known, open) = ended.split(&place, &all);
        assert_eq!((known.len(), open), (2, ids(&["b"])));
        ended.learn(&place, "b", &json!({"id": "b", "status": "Failed"}));
        assert_eq!(["a", "b", "c"].map(|id| ended.was_followed(&place, id)), [false, true, false]);
        // Another group's are its own, and what is not listed any more is forgotten.
        let other = (Text::from("shop"), Text::from("batch"));
        assert_eq!(ended.split(&other, &ids(&["a"])).1, ids(&["a"]));
        assert_eq!(ended.split(&place, &ids(&["c"])).0.len(), 1);
        assert_eq!(ended.split(&place, &all).1, ids(&["a", "b"]));
        assert!(!ended.was_followed(&place, "b"));
    }
}

//! Updates of EKS that have ended, as they were read: nothing about them changes any more.

use std::collections::BTreeMap;

use replank_model::text::Text;
use serde_json::Value;

/// A managed node group: its cluster's name, and its own.
type Place = (Text, Text);

/// What was read of updates that have ended, by their ids; of each group no more than EKS still lists.
#[derive(Debug, Default)]
pub(super) struct Ended(BTreeMap<Place, BTreeMap<String, Value>>);

impl Ended {
    /// Those of a group that EKS still lists, and the ids of which nobody knows that they have ended. What it does not list any more is forgotten.
    pub(super) fn split(&mut self, place: &Place, listed: &[String]) -> (Vec<Value>, Vec<String>) {
        let known = self.0.entry(place.clone()).or_default();
        known.retain(|id, _| listed.contains(id));
        let open = listed.iter().filter(|id| !known.contains_key(*id)).cloned().collect();
        (known.values().cloned().collect(), open)
    }

    /// Keeps an update that has ended. A word that is newer than this is no end.
    pub(super) fn learn(&mut self, place: &Place, id: &str, update: &Value) {
        let has_ended = matches!(update["status"].as_str(), Some("Successful" | "Failed" | "Cancelled"));
        if has_ended {
            self.0.entry(place.clone()).or_default().insert(id.to_owned(), update.clone());
        }
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
        // Another group's are its own, and what is not listed any more is forgotten.
        let other = (Text::from("shop"), Text::from("batch"));
        assert_eq!(ended.split(&other, &ids(&["a"])).1, ids(&["a"]));
        assert_eq!(ended.split(&place, &ids(&["c"])).0.len(), 1);
        assert_eq!(ended.split(&place, &all).1, ids(&["a", "b"]));
    }
}

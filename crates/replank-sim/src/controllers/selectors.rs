//! Selectors of one kind's objects, compiled once for as long as they say the same.

use std::sync::Arc;

use replank_model::selector::{LabelSelector, Selector};
use rustc_hash::FxHashMap;

/// By slot of the object. What an entry was compiled from stands beside it and is compared at each look, so that none can be out of date.
#[derive(Debug, Default)]
pub(super) struct Selectors(FxHashMap<u32, (LabelSelector, Arc<Selector>)>);

impl Selectors {
    /// The selector of the object in a slot, which says this; `None` if it cannot be read.
    pub(super) fn compiled(&mut self, slot: u32, said: &LabelSelector) -> Option<Arc<Selector>> {
        if let Some((known, selector)) = self.0.get(&slot)
            && known == said
        {
            return Some(selector.clone());
        }
        let selector = Arc::new(said.compile().ok()?);
        self.0.insert(slot, (said.clone(), selector.clone()));
        Some(selector)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_slot_says_now_counts_and_not_what_it_said_before() {
        let said =
            |app: &str| serde_json::from_value(json!({"matchLabels": {"app": app}})).expect("a selector");
        let mut selectors = Selectors::default();
        let matches = |selectors: &mut Selectors, said: &LabelSelector, app: &str| {
            let selector = selectors.compiled(7, said).expect("it can be read");
            selector.matches(|key| (key == "app").then_some(app))
        };
        let (web, api) = (said("web"), said("api"));
        assert!(matches(&mut selectors, &web, "web") && matches(&mut selectors, &web, "web"));
        assert!(matches(&mut selectors, &api, "api") && !matches(&mut selectors, &api, "web"));
        let unreadable = json!({"matchExpressions": [{"key": "app", "operator": "In", "values": []}]});
        let unreadable = serde_json::from_value(unreadable).expect("a selector");
        assert!(selectors.compiled(7, &unreadable).is_none());
        assert!(matches(&mut selectors, &api, "api"), "and what could not be read leaves nothing behind");
    }
}

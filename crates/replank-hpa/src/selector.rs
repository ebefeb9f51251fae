//! Which pods the target has, and whether another HPA wants one of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::selector::{LabelSelector, Selector};

use super::given::Given;
use super::status::{ACTIVE, Draft};

/// Whether the pod has labels that the selector asks for.
pub(super) fn selects(selector: &Selector, pod: &Pod) -> bool {
    selector.matches(|key| pod.meta.labels.value(key))
}

/// The selector and its pods, or what the sync fails with (`validateAndParseSelector`).
pub(super) fn select<'a>(
    given: &Given<'a>,
    text: &str,
    draft: &mut Draft,
) -> Result<(Selector, Vec<&'a Arc<Pod>>), String> {
    if text.is_empty() {
        let message = "selector is required".to_owned();
        draft.warn("SelectorRequired", &message);
        draft.set_false(ACTIVE, "InvalidSelector", "the HPA target's scale is missing a selector");
        return Err(message);
    }
    let selector = text.parse::<Selector>().map_err(|error| {
        let message =
            format!("couldn't convert selector into a corresponding internal selector object: {error}");
        draft.warn("InvalidSelector", &message);
        draft.set_false(ACTIVE, "InvalidSelector", &message);
        message
    })?;
    let pods: Vec<&Arc<Pod>> = given
        .pods
        .iter()
        .filter(|pod| pod.meta.namespace == given.hpa.meta.namespace && selects(&selector, pod))
        .collect();
    let claimants = claimants(given, &pods);
    if claimants.len() > 1 {
        let message =
            format!("pods by selector {text} are controlled by multiple HPAs: [{}]", claimants.join(" "));
        draft.warn("AmbiguousSelector", &message);
        draft.set_false(ACTIVE, "AmbiguousSelector", &message);
        return Err(message);
    }
    Ok((selector, pods))
}

/// The HPAs whose targets have one of the pods; upstream names them in no order, here they are sorted.
fn claimants(given: &Given<'_>, pods: &[&Arc<Pod>]) -> Vec<String> {
    let mut found = BTreeSet::new();
    if !pods.is_empty() {
        found.insert(given.hpa.meta.name.clone());
    }
    for rival in given.rivals {
        if pods.iter().any(|pod| selects(&rival.selector, pod)) {
            found.insert(rival.name.clone());
        }
    }
    found.iter().map(|name| format!("{}/{name}", given.hpa.meta.namespace)).collect()
}

/// A selector as Go's `%+v` prints the pointer to it.
pub(super) fn printed(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else { return "nil".to_owned() };
    let mut text = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    let written: Result<(), std::fmt::Error> = (|| {
        for (key, value) in &selector.match_labels {
            write!(text, "{key}: {value},")?;
        }
        text.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
        for expression in &selector.match_expressions {
            let values = expression.values.join(" ");
            write!(
                text,
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{values}],}},",
                expression.key, expression.operator
            )?;
        }
        Ok(())
    })();
    assert!(written.is_ok(), "a string takes everything");
    text.push_str("},}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_printed_as_go_prints_them() {
        assert_eq!(printed(None), "nil");
        let selector: LabelSelector = serde_json::from_value(serde_json::json!({"matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "e", "operator": "Exists"}]}))
        .unwrap();
        assert_eq!(
            printed(Some(&selector)),
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},LabelSelectorRequirement{Key:e,Operator:Exists,Values:[],},},}"
        );
    }
}

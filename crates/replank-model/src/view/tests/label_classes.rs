//! Which pods budgets and selectors cover, against a look at every pod.

use std::collections::BTreeSet;

use crate::delta::Delta;
use crate::object::meta::Key;
use crate::object::{Kind, Object, ObjectRef};
use crate::selector::Selector;
use crate::view::View;
use proptest::prelude::*;
use serde_json::{Value, json};

const APPS: [&str; 3] = ["web", "api", "db"];

/// What happens to a pod or a budget: it is there as this, or it is gone.
#[derive(Clone, Debug)]
enum Step {
    Pod(usize, usize, bool),
    Budget(usize, usize),
    PodGone(usize),
    BudgetGone(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6_usize, 0..3_usize, any::<bool>()).prop_map(|(pod, app, canary)| Step::Pod(pod, app, canary)),
        3 => (0..4_usize, 0..7_usize).prop_map(|(budget, selector)| Step::Budget(budget, selector)),
        1 => (0..6_usize).prop_map(Step::PodGone),
        1 => (0..4_usize).prop_map(Step::BudgetGone),
    ];
    prop::collection::vec(step, 1..40)
}

fn selector(number: usize) -> Value {
    match number {
        app @ 0..3 => json!({"matchLabels": {"app": APPS[app]}}),
        3 => json!({}),
        4 => json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}),
        5 => json!({"matchExpressions": [{"key": "canary", "operator": "Exists"}]}),
        _ => json!({"matchLabels": {"app": "web", "canary": "yes"}}),
    }
}

fn object(value: Value) -> Delta {
    Delta::Put(Object::from_json(value).expect("an object"))
}

fn delta(step: &Step) -> Delta {
    let gone = |kind, name: String| {
        Delta::Gone(ObjectRef { kind, key: Key::new("shop", &*name), uid: name.as_str().into() })
    };
    match step {
        Step::Pod(number, app, canary) => {
            let mut labels = json!({"app": APPS[*app]});
            if *canary {
                labels["canary"] = "yes".into();
            }
            object(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []},
                "metadata": {"name": format!("p{number}"), "namespace": "shop", "uid": format!("p{number}"), "labels": labels}}))
        }
        Step::Budget(number, which) => {
            object(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": format!("b{number}"), "namespace": "shop", "uid": format!("b{number}")},
            "spec": {"minAvailable": 1, "selector": selector(*which)}}))
        }
        Step::PodGone(number) => gone(Kind::Pod, format!("p{number}")),
        Step::BudgetGone(number) => gone(Kind::PodDisruptionBudget, format!("b{number}")),
    }
}

fn matching(view: &View, selector: &Selector) -> BTreeSet<u32> {
    let pods = view.pods.unordered();
    let matching = pods.filter(|(_, pod)| selector.matches(|key| pod.meta.labels.value(key)));
    matching.map(|(ix, _)| ix.raw()).collect()
}

proptest! {
    #[test]
    fn covered_is_what_the_selector_matches(steps in steps()) {
        let mut view = View::default();
        for step in &steps {
            view.apply(delta(step));
            for (budget, object) in view.pod_disruption_budgets.unordered() {
                let selector = object.spec.selector.as_ref().expect("given").compile().expect("valid");
                let expected = matching(&view, &selector);
                let covered: BTreeSet<u32> = view.pods_of_budget(budget).map(crate::view::Ix::raw).collect();
                prop_assert_eq!(&covered, &expected);
                let selected: BTreeSet<u32> =
                    view.select_pods(&"shop".into(), &selector).map(crate::view::Ix::raw).collect();
                prop_assert_eq!(&selected, &expected);
                for (pod, _) in view.pods.unordered() {
                    prop_assert_eq!(view.budgets_of(pod).contains(&budget), expected.contains(&pod.raw()));
                }
            }
        }
    }
}

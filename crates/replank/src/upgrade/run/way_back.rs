//! What keeps a control plane from going back to the version before.

use replank_advice::upgrade::minor::Minor;
use serde_json::Value;

use super::eyes::Seen;
use super::ground::{Came, RESUME, Stop};

/// What keeps a control plane from going back to a version, and what to do; nothing where EKS takes it back.
pub(super) fn hindrances(seen: &Seen, to: Minor) -> Vec<(String, String)> {
    let mut all = Vec::new();
    match &seen.planned.plan.way_back {
        None => all.push((
            format!("EKS does not take this control plane back to {to}: it does so within 7 days of an upgrade in place, and to the version before only"),
            "there is no other way back: a new cluster of the old version".to_owned(),
        )),
        Some(open) if open.in_the_way.is_empty() => {}
        Some(open) => {
            let names: Vec<&str> = open.in_the_way.iter().map(|name| &**name).collect();
            all.push((
                format!("nodes of {} are newer than {to}: a kubelet is never newer than its API server", names.join(", ")),
                format!(
                    "roll them back first, each to its former launch template version: replank roll with target.kubernetesVersion {to} (a managed node group cannot go back: \
                     move its nodes into another one, target.group)"
                ),
            ));
        }
    }
    let failing = seen.back.iter().filter(|one| one["insightStatus"]["status"] == "ERROR");
    all.extend(failing.map(|one| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            format!(
                "EKS insight {} reports ERROR: {}",
                text(&one["name"]),
                text(&one["insightStatus"]["reason"])
            ),
            text(&one["recommendation"]),
        )
    }));
    all
}

/// The same, as the reason of a stop.
pub(super) fn stopped(seen: &Seen, to: Minor) -> Option<Came> {
    let (why, next): (Vec<String>, Vec<String>) = hindrances(seen, to).into_iter().unzip();
    (!why.is_empty()).then(|| Stop::blocked(why.join("; "), format!("{}; then: {RESUME}", next.join("; "))))
}

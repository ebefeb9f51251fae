//! Karpenter's NodeClaims: one for each node that Karpenter launches (Karpenter `pkg/apis/v1/nodeclaim.go`).
//!
//! The NodeClaim is what stands for the machine: deleting it is how a node of Karpenter is replaced by hand. What Karpenter then does is in docs/effects.md.

use crate::list::List;
use crate::object::condition::Condition;
use crate::object::meta::Meta;
use crate::text::{NodeName, Text};
use crate::time::{Span, Time};
use crate::wire::wire;

/// Label of nodes and NodeClaims, also in EKS Auto Mode: the node pool (`NodePoolLabelKey`).
pub const LABEL_NODE_POOL: &str = "karpenter.sh/nodepool";
/// Finalizer of NodeClaims and of their nodes: neither goes before the machine is terminated (`TerminationFinalizer`).
pub const TERMINATION_FINALIZER: &str = "karpenter.sh/termination";
/// Key of the NoSchedule taint of a node that Karpenter is about to drain, or drains (`DisruptedTaintKey`).
pub const DISRUPTED_TAINT: &str = "karpenter.sh/disrupted";
/// Annotation of pods and nodes that Karpenter does not disrupt of itself (`DoNotDisruptAnnotationKey`).
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Annotation of a NodeClaim on its way out: when what is left on its node is ended whatever it is (`NodeClaimTerminationTimestampAnnotationKey`).
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";

wire! {
    /// karpenter.sh/v1 NodeClaim.
    pub struct NodeClaim {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state; it does not change.
        pub spec: NodeClaimSpec,
        /// Observed state.
        pub status: NodeClaimStatus,
    }

    /// karpenter.sh/v1 NodeClaimSpec, as far as decisions read it.
    pub struct NodeClaimSpec {
        /// How long a drain may take, such as `48h`; absent: as long as it takes.
        pub termination_grace_period: Option<Text>,
    }

    /// karpenter.sh/v1 NodeClaimStatus.
    pub struct NodeClaimStatus {
        /// The machine, as in the node's `spec.providerID`; empty until it is launched.
        #[serde(rename = "providerID")]
        pub provider_id: Text,
        /// The node; absent until it registers.
        pub node_name: Option<NodeName>,
        /// Conditions: Launched, Registered, Initialized, Drained, InstanceTerminating and others.
        pub conditions: List<Condition>,
    }
}

impl NodeClaim {
    /// The node pool.
    #[must_use]
    pub fn pool(&self) -> Option<&Text> {
        self.meta.labels.get(LABEL_NODE_POOL)
    }

    /// How long the drain of its node may take; `None` where nothing limits it.
    #[must_use]
    pub fn termination_grace(&self) -> Option<Span> {
        span(self.spec.termination_grace_period.as_deref()?)
    }

    /// From when on what is left on its node is ended whatever it is; `None` while it stays, and where nothing limits the drain.
    #[must_use]
    pub fn drained_by(&self) -> Option<Time> {
        let written = self.meta.annotations.value(TERMINATION_TIMESTAMP);
        let written = written.and_then(|at| at.parse().ok());
        written.or_else(|| Some(self.meta.deletion_timestamp? + self.termination_grace()?))
    }
}

/// A duration as the API takes it here: `^([0-9]+(s|m|h))+$`.
fn span(text: &str) -> Option<Span> {
    let mut seconds: i64 = 0;
    let mut number: Option<i64> = None;
    for character in text.chars() {
        if let Some(digit) = character.to_digit(10) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(i64::from(digit))?);
            continue;
        }
        let unit = match character {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            _ => return None,
        };
        seconds = seconds.checked_add(number.take()?.checked_mul(unit)?)?;
    }
    (number.is_none() && !text.is_empty()).then(|| Span::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::delta::Delta;
    use crate::object::{Object, render};
    use crate::view::View;

    fn claim(more: &Value) -> Value {
        let mut claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": "general-7xkq2", "uid": "c1", "resourceVersion": "7", "labels": {"karpenter.sh/nodepool": "general"},
                "finalizers": ["karpenter.sh/termination"]},
            "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "terminationGracePeriod": "1h30m"},
            "status": {"providerID": "aws:///eu-west-1a/i-1", "nodeName": "n", "imageID": "ami-1"},
        });
        for (member, value) in more.as_object().expect("an object") {
            for (key, value) in value.as_object().expect("an object") {
                claim[member][key] = value.clone();
            }
        }
        claim
    }

    fn read(value: Value) -> NodeClaim {
        let Object::NodeClaim(claim) = Object::from_json(value).expect("a valid object") else {
            panic!("it is no NodeClaim")
        };
        NodeClaim::clone(&claim)
    }

    #[test]
    fn what_is_not_modelled_is_kept() {
        let value = claim(&json!({}));
        let object = Object::from_json(value.clone()).expect("a valid object");
        assert_eq!(render(&object), value);
        let claim = read(value);
        assert_eq!(claim.pool().map(|pool| &**pool), Some("general"));
        assert_eq!(claim.termination_grace(), Some(Span::from_minutes(90)));
        assert_eq!(claim.drained_by(), None, "it stays");
    }

    #[test]
    fn the_time_of_a_drain_counts_from_the_deletion_unless_something_else_is_written() {
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-02T10:00:00Z"}});
        let at = |text: &str| text.parse::<Time>().expect("a moment");
        assert_eq!(read(claim(&deleted)).drained_by(), Some(at("2026-11-02T11:30:00Z")));
        let written = json!({"metadata": {"deletionTimestamp": "2026-11-02T10:00:00Z",
            "annotations": {TERMINATION_TIMESTAMP: "2026-11-02T10:05:00Z"}}});
        assert_eq!(read(claim(&written)).drained_by(), Some(at("2026-11-02T10:05:00Z")));
        let endless = json!({"metadata": {"deletionTimestamp": "2026-11-02T10:00:00Z"}, "spec": {"terminationGracePeriod": null}});
        assert_eq!(read(claim(&endless)).drained_by(), None);
    }

    #[test]
    fn durations_are_those_that_the_api_takes() {
        for (text, seconds) in
            [("30s", Some(30)), ("2h", Some(7200)), ("1h5m1s", Some(3901)), ("0s", Some(0))]
        {
            assert_eq!(span(text), seconds.map(Span::from_secs), "{text}");
        }
        for text in ["", "5", "h", "1d", "1h5", "Never", "99999999999999999999s"] {
            assert_eq!(span(text), None, "{text}");
        }
    }

    #[test]
    fn a_claim_is_found_by_the_machine_of_its_node() {
        let node = |id: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"}, "spec": {"providerID": id}, "status": {}});
        let put = |value: Value| Delta::Put(Object::from_json(value).expect("a valid object"));
        let mut view: View =
            [put(node("aws:///eu-west-1a/i-1")), put(claim(&json!({})))].into_iter().collect();
        let found = |view: &View| {
            let node = view.node(&"n".into()).expect("the node").clone();
            view.claim_of(&node).map(|claim| claim.meta.name.to_string())
        };
        assert_eq!(found(&view).as_deref(), Some("general-7xkq2"));
        let gone = view.objects_of(crate::object::Kind::NodeClaim)[0].reference();
        view.apply(Delta::Put(Object::from_json(node("aws:///eu-west-1a/i-2")).expect("a valid object")));
        assert_eq!(found(&view), None, "another machine");
        view.apply(Delta::Put(Object::from_json(node("aws:///eu-west-1a/i-1")).expect("a valid object")));
        view.apply(Delta::Gone(gone));
        assert_eq!(found(&view), None, "its claim is gone");
    }
}

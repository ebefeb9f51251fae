//! Specs that admission has completed.

use std::sync::Arc;

use replank_model::object::pod::{Pod, PodSpec};
use replank_model::text::{Namespace, NodeName, Text, Uid};
use rustc_hash::FxHashMap;

/// Specs that admission has completed, by the address of the template's: so that pods of one template go on sharing
/// one spec. The template's own spec is kept beside, so that the address stays its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admitted {
    pub(super) specs: FxHashMap<usize, (Arc<PodSpec>, Completed)>,
    /// Of owners whose pods have specs of their own, as a StatefulSet's do: the last one.
    siblings: FxHashMap<Uid, (PodSpec, Completed)>,
}

/// What admission makes of a template's spec.
#[derive(Clone, Debug)]
pub(super) struct Completed {
    pub(super) spec: Arc<PodSpec>,
    /// The node that the template names.
    pub(super) node: Option<NodeName>,
    /// The suffix of its token volume, if it mounts one: a sign that each pod gets its own.
    pub(super) token: Option<Text>,
    /// What is told of limits that were filled in.
    pub(super) limited: Option<Text>,
    /// The namespace of the pod that it was made for.
    pub(super) namespace: Namespace,
}

impl Admitted {
    /// Templates that are remembered at most: a cluster with more forgets them all and begins again, at the price of one
    /// copy per template.
    pub(super) const TEMPLATES_MAX: usize = 65_536;

    pub(crate) fn forget_all(&mut self) {
        self.specs.clear();
        self.siblings.clear();
    }

    /// What becomes of a spec that differs from the last one of the same owner in nothing but the pod's identity: admission does not look at that.
    pub(super) fn sibling(&self, owner: &Uid, pod: &Pod) -> Option<Completed> {
        let spec = &pod.spec;
        let (known, completed) = self.siblings.get(owner)?;
        if completed.namespace != pod.meta.namespace || with_identity(known, spec) != **spec {
            return None;
        }
        Some(Completed { spec: Arc::new(with_identity(&completed.spec, spec)), ..completed.clone() })
    }

    /// Remembers what became of an owner's spec.
    pub(super) fn keep_sibling(&mut self, owner: &Uid, spec: &PodSpec, completed: &Completed) {
        if self.siblings.len() >= Self::TEMPLATES_MAX {
            self.siblings.clear();
        }
        self.siblings.insert(owner.clone(), (spec.clone(), completed.clone()));
    }
}

/// A spec with what tells a StatefulSet's pods apart taken from another's: the host name, and the claims of the volumes.
fn with_identity(spec: &PodSpec, of: &PodSpec) -> PodSpec {
    let mut own = spec.clone();
    own.hostname = of.hostname.clone();
    for (volume, of) in own.volumes.iter_mut().zip(&of.volumes).filter(|(own, of)| own.name == of.name) {
        if let (Some(claim), Some(of)) =
            (&mut volume.source.persistent_volume_claim, &of.source.persistent_volume_claim)
        {
            claim.claim_name = of.claim_name.clone();
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use replank_model::object::{Object, render};
    use replank_model::time::Time;
    use replank_model::view::View;
    use serde_json::{Value, json};

    use crate::Clock;
    use crate::draw::Draws;
    use crate::server::store::Api;

    fn api() -> Api {
        Api::new(Clock::new(Time::from_millis(1_764_000_000_000)), View::default(), Draws::new(1))
    }

    /// The spec of a StatefulSet's pod, once it is made.
    fn made(api: &mut Api, number: u32) -> Value {
        let (name, claim) = (format!("db-{number}"), format!("data-db-{number}"));
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": true});
        let volumes =
            json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}, {"name": "tmp"}]);
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "ownerReferences": [owner]},
            "spec": {"hostname": name, "containers": [{"name": "c", "image": "i"}], "volumes": volumes}});
        let pod = Object::from_json(pod).expect("it is well formed");
        render(&api.create_object(pod).expect("it is new"))["spec"].clone()
    }

    #[test]
    fn a_sibling_gets_what_it_would_have_got_alone() {
        let mut one = api();
        assert_eq!(made(&mut one, 0)["enableServiceLinks"], true);
        let sibling = made(&mut one, 1);
        assert_eq!(sibling["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-1");
        assert_eq!(sibling, made(&mut api(), 1));
    }
}

//! Specs that admission has completed.

use std::sync::Arc;

use replank_model::labels::TextMap;
use replank_model::object::affinity::Affinity;
use replank_model::object::pod::{Container, Pod, PodSpec};
use replank_model::quantity::Quantity;
use replank_model::text::{Name, Namespace, NodeName, Text, Uid};
use rustc_hash::FxHashMap;

/// Specs that admission has completed, by the address of the template's: so that pods of one template go on sharing
/// one spec. The template's own spec is kept beside, so that the address stays its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admitted {
    specs: FxHashMap<usize, (Arc<PodSpec>, Arc<Completed>)>,
    /// Of owners whose pods have specs of their own, as a StatefulSet's do: the last one.
    siblings: FxHashMap<Uid, (PodSpec, Completed)>,
    /// Of specs that have in common what admission looks at, what became of one: many templates differ in little but the image and what they ask for.
    alike: FxHashMap<PodSpec, Completed>,
    /// What a webhook has made of completed specs, by their addresses; a completed spec is kept beside.
    changed: FxHashMap<usize, (Arc<PodSpec>, Arc<PodSpec>)>,
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
    const TEMPLATES_MAX: usize = 65_536;

    pub(crate) fn forget_all(&mut self) {
        self.specs.clear();
        self.siblings.clear();
        self.alike.clear();
        self.changed.clear();
    }

    /// What became of the spec of a template.
    pub(super) fn of_template(&self, spec: &Arc<PodSpec>) -> Option<Arc<Completed>> {
        self.specs.get(&address(spec)).map(|(_, completed)| completed.clone())
    }

    /// Remembers what became of the spec of a template.
    pub(super) fn keep_template(&mut self, spec: &Arc<PodSpec>, completed: Arc<Completed>) {
        if self.specs.len() >= Self::TEMPLATES_MAX {
            self.forget_all();
        }
        self.specs.insert(address(spec), (spec.clone(), completed));
    }

    /// What becomes of a spec that differs from another in nothing but what admission leaves as it is. It is for pods of which nothing else is read, their namespace neither.
    pub(super) fn alike(&self, namespace: &Namespace, spec: &PodSpec) -> Option<Completed> {
        let completed = self.alike.get(&looked_at(spec)?)?;
        let mut own = PodSpec::clone(&completed.spec);
        take_rest(&mut own, spec);
        Some(Completed { spec: Arc::new(own), namespace: namespace.clone(), ..completed.clone() })
    }

    /// Remembers what became of a spec for others that are like it.
    pub(super) fn keep_alike(&mut self, spec: &Arc<PodSpec>, completed: &Completed) {
        let has_own = completed.node.is_some() || completed.token.is_some() || completed.limited.is_some();
        if has_own || Arc::ptr_eq(spec, &completed.spec) {
            return;
        }
        if self.alike.len() >= Self::TEMPLATES_MAX {
            self.alike.clear();
        }
        if let Some(looked_at) = looked_at(spec) {
            self.alike.insert(looked_at, completed.clone());
        }
    }

    /// What a webhook has made of a completed spec: the same one for all pods of which it has made the same.
    pub(super) fn shared(&mut self, completed: &Arc<PodSpec>, changed: &Arc<PodSpec>) -> Arc<PodSpec> {
        if self.changed.len() >= Self::TEMPLATES_MAX {
            self.changed.clear();
        }
        let (_, known) =
            self.changed.entry(address(completed)).or_insert_with(|| (completed.clone(), changed.clone()));
        if **known != **changed {
            *known = changed.clone();
        }
        known.clone()
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

fn address(spec: &Arc<PodSpec>) -> usize {
    Arc::as_ptr(spec) as usize
}

/// What admission looks at of a spec: the spec without the rest. `None` where that cannot be told apart.
fn looked_at(spec: &PodSpec) -> Option<PodSpec> {
    let names_node = |affinity: &Arc<Affinity>| affinity.node_affinity.is_some();
    let is_modelled =
        |raw: &Arc<str>| !raw.contains("\"affinity\"") && !raw.contains("\"topologySpreadConstraints\"");
    let is_apart = are_left(spec)
        && !spec.affinity.as_ref().is_some_and(names_node)
        && spec.raw.as_ref().is_none_or(is_modelled);
    if !is_apart {
        return None;
    }
    let mut own = spec.clone();
    let blank = Container::default();
    for container in own.containers.iter_mut().chain(&mut own.init_containers) {
        take_image(container, &blank);
    }
    for volume in &mut own.volumes {
        if let Some(claim) = &mut volume.source.persistent_volume_claim {
            claim.claim_name = Name::default();
        }
    }
    (own.hostname, own.subdomain) = (Text::default(), Text::default());
    (own.node_selector, own.affinity) = (TextMap::default(), None);
    own.topology_spread_constraints.clear();
    Some(own)
}

/// Takes from a spec what admission does not look at.
fn take_rest(own: &mut PodSpec, of: &PodSpec) {
    let containers = own.containers.iter_mut().chain(&mut own.init_containers);
    for (own, of) in containers.zip(of.containers.iter().chain(&of.init_containers)) {
        take_image(own, of);
    }
    take_identity(own, of);
    (own.node_selector, own.affinity) = (of.node_selector.clone(), of.affinity.clone());
    own.topology_spread_constraints.clone_from(&of.topology_spread_constraints);
}

fn take_image(own: &mut Container, of: &Container) {
    own.image = of.image.clone();
    own.resources = of.resources.clone();
}

/// Whether admission leaves the images of containers, and what they ask for, as they are: it looks at an image where nothing says when to pull it, makes requests of
/// limits, and rounds quantities to thousandths.
fn are_left(spec: &PodSpec) -> bool {
    let is_whole = |quantity: &Quantity| quantity.round_up_milli().0.to_string() == quantity.to_string();
    let mut containers = spec.containers.iter().chain(&spec.init_containers);
    spec.resources.is_none()
        && containers.all(|container| {
            let (requests, limits) = (&container.resources.requests, &container.resources.limits);
            !container.image_pull_policy.is_empty()
                && limits.iter().all(|(name, limit)| requests.get(name).is_some() && is_whole(limit))
                && requests.iter().all(|(_, request)| is_whole(request))
        })
}

/// A spec with what tells a StatefulSet's pods apart taken from another's.
fn with_identity(spec: &PodSpec, of: &PodSpec) -> PodSpec {
    let mut own = spec.clone();
    take_identity(&mut own, of);
    own
}

/// Takes the host name and its domain, and the claims of the volumes.
fn take_identity(own: &mut PodSpec, of: &PodSpec) {
    own.hostname = of.hostname.clone();
    own.subdomain = of.subdomain.clone();
    for (volume, of) in own.volumes.iter_mut().zip(&of.volumes).filter(|(own, of)| own.name == of.name) {
        if let (Some(claim), Some(of)) =
            (&mut volume.source.persistent_volume_claim, &of.source.persistent_volume_claim)
        {
            claim.claim_name = of.claim_name.clone();
        }
    }
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

    /// The spec of a pod of a template, once it is made.
    fn made_of(api: &mut Api, number: usize, container: &Value, rest: &Value) -> Value {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{number}"), "namespace": "shop"},
            "spec": rest});
        pod["spec"]["containers"] = json!([container]);
        pod["spec"]["dnsPolicy"] = json!("Default");
        let Object::Pod(pod) = Object::from_json(pod).expect("it is well formed") else { panic!("a pod") };
        // A template shares its spec with the pods that are made of it.
        let template = pod.spec.clone();
        let made = api.create_object(Object::Pod(pod)).expect("it is new");
        drop(template);
        render(&made)["spec"].clone()
    }

    #[test]
    fn a_template_gets_what_it_would_have_got_if_none_were_like_it() {
        let resources = [
            json!({"requests": {"cpu": "100m"}}),
            json!({"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}),
            json!({"limits": {"memory": "1Gi"}}),
            json!({"requests": {"cpu": "100u"}}),
            json!({}),
        ];
        let selector = json!({"matchLabels": {"app": "web"}});
        let term = json!({"labelSelector": selector, "topologyKey": "kubernetes.io/hostname", "mismatchLabelKeys": ["a"]});
        let fields = json!([{"key": "metadata.name", "operator": "In", "values": ["n"]}]);
        let rests = [
            json!({}),
            json!({"nodeSelector": {"pool": "a"}}),
            json!({"tolerations": [{"operator": "Exists"}]}),
            json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector}]}),
            json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}),
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchFields": fields}]}}}}),
        ];
        let (mut one, mut number) = (api(), 0);
        for rest in &rests {
            for resources in &resources {
                for image in ["i:1", "i"] {
                    let container = json!({"name": "c", "image": image, "imagePullPolicy": "Always", "resources": resources});
                    number += 1;
                    let alone = made_of(&mut api(), number, &container, rest);
                    assert_eq!(made_of(&mut one, number, &container, rest), alone);
                    assert_eq!(alone["enableServiceLinks"], true);
                }
            }
        }
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

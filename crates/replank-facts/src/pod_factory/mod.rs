//! From a workload to the pods that it would make.
//!
//! Sources (Kubernetes 1.36): `pkg/controller/controller_utils.go` (`GetPodFromTemplate`),
//! `pkg/controller/statefulset/stateful_set_utils.go`, `pkg/controller/daemon/util/daemonset_util.go`.

mod admit;
mod claims;
mod daemon;
mod naming;
mod template;

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::object::volume::PersistentVolumeClaim;
use replank_model::text::{Name, NodeName, Uid};
use replank_model::view::View;

pub use admit::{admit_claim, default_class};
pub use template::is_workload;

use naming::Naming;
pub use naming::{PodFactory, SubjectError, anew};

/// A pod, with the objects that are made for it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its claims.
    pub claims: Vec<PersistentVolumeClaim>,
}

impl PodFactory {
    /// The next pod: the first of its names that is not taken.
    #[must_use]
    pub fn next(&self, view: &View) -> Made {
        let is_free = |name: &Name| {
            view.pods.find(&Key { namespace: self.pod.meta.namespace.clone(), name: name.clone() }).is_none()
        };
        let base = &self.object.key.name;
        match self.naming {
            Naming::Itself if is_free(base) => self.made(base.clone()),
            Naming::Itself | Naming::Numbered | Naming::PerNode => {
                let name = |number: i64| Name::from(format!("{base}-{number}"));
                self.made(name(first(1, |number| is_free(&name(number)))))
            }
            Naming::Ordinals(start) => {
                let name = |number: i64| Name::from(format!("{base}-{number}"));
                let number = first(start, |number| is_free(&name(number)));
                self.ordinal(name(number), number)
            }
        }
    }

    /// The pod of a node (of a DaemonSet).
    #[must_use]
    pub fn for_node(&self, node: &NodeName) -> Arc<Pod> {
        let made = self.made(Name::from(format!("{}-{node}", self.object.key.name)));
        let mut pod = made.pod;
        Arc::make_mut(&mut pod).pin = Some(node.clone());
        pod
    }

    fn made(&self, name: Name) -> Made {
        let mut pod = Pod::clone(&self.pod);
        rename(&mut pod.meta, name);
        let claims = claims::ephemeral(&pod);
        Made { pod: Arc::new(pod), claims }
    }

    fn ordinal(&self, name: Name, number: i64) -> Made {
        let mut made = self.made(name);
        if !self.claims.is_empty() || !made.pod.meta.labels.is_empty() {
            claims::number(Arc::make_mut(&mut made.pod), &self.object.key.name, &self.claims, number);
        }
        made.claims.extend(claims::of_set(&made.pod, &self.object.key.name, &self.claims, number));
        made
    }
}

/// Numbers that are tried one by one before it is assumed that no gap follows.
const GAPS_WITHIN: i64 = 64;

/// The first number from `start` that is free. Behind the first few, numbers are taken to be used up without a gap: tens of
/// thousands of copies are numbered one after the other, and walking over all before each would cost their square.
fn first(start: i64, is_free: impl Fn(i64) -> bool) -> i64 {
    let near = (start..start.saturating_add(GAPS_WITHIN)).find(|number| is_free(*number));
    near.unwrap_or_else(|| {
        let (mut used, mut step) = (start + GAPS_WITHIN - 1, 1);
        while !is_free(used + step) {
            used += step;
            step *= 2;
        }
        let mut free = used + step;
        while free - used > 1 {
            let middle = used + (free - used) / 2;
            if is_free(middle) { free = middle } else { used = middle }
        }
        free
    })
}

fn rename(meta: &mut Meta, name: Name) {
    if meta.uid.is_empty() || meta.name != name {
        meta.uid = Uid::from(format!("place-{}-{name}", meta.namespace));
    }
    meta.name = name;
}

/// The factory of an object, and what has to be in the View for its pods to count as siblings.
pub fn of_object(view: &View, object: &Object) -> Result<(PodFactory, Vec<Object>), SubjectError> {
    template::factory(view, object)
}

//! A cluster that nobody rolls: time passes, workloads, jobs and controllers go on, and a person's hand changes a thing or two.
//!
//! Between the runs of a chain (a control plane's upgrade, the days on which it is watched) a cluster lives on: jobs end and
//! begin, pods come and go.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::PodSpec;
use replank_model::object::workload::{DaemonSet, Deployment};
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;

use crate::complete::complete;
use replank_apiserver::ApiError;
use replank_sim::Assumption;
use replank_sim::{Settings, World};

/// A cluster without a run.
pub struct Idle {
    world: World,
    assumptions: Vec<Assumption>,
}

impl Idle {
    /// Begins with everything as it is.
    #[must_use]
    pub fn new(mut view: View, settings: Settings) -> Self {
        let assumptions = complete(&mut view);
        let mut world = World::new(settings, view);
        world.assume_operators();
        Self { world, assumptions }
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Span) {
        let until = self.world.now() + span;
        self.world.run_until(until);
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Everything there is.
    #[must_use]
    pub fn view(&self) -> &View {
        self.world.view()
    }

    /// Everything there is, as objects: what the next part of a chain begins with.
    #[must_use]
    pub fn objects(&self) -> Vec<Object> {
        self.world.view().objects()
    }

    /// What had to be assumed.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// Gives the first container of a DaemonSet's pods another image, as an add-on's update does.
    ///
    /// # Errors
    /// As the API server answers.
    pub fn set_daemon_image(&mut self, key: &Key, image: &Text) -> Result<(), ApiError> {
        self.world.request(|api| {
            api.modify::<DaemonSet>(key, |set| with_image(&mut set.spec.template.spec, image)).map(drop)
        })
    }

    /// The same for a Deployment.
    ///
    /// # Errors
    /// As the API server answers.
    pub fn set_deployment_image(&mut self, key: &Key, image: &Text) -> Result<(), ApiError> {
        self.world.request(|api| {
            api.modify::<Deployment>(key, |one| with_image(&mut one.spec.template.spec, image)).map(drop)
        })
    }
}

fn with_image(spec: &mut Arc<PodSpec>, image: &Text) {
    let mut changed = PodSpec::clone(spec);
    if let Some(first) = changed.containers.first_mut() {
        first.image = image.clone();
    }
    *spec = Arc::new(changed);
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::json;

    use super::*;
    use replank_sim::CloudTimings;
    use replank_sim::KubeletModel;

    fn view() -> View {
        let labels = json!({"app": "proxy"});
        let objects = [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "ns"}}),
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "a", "labels": {"kubernetes.io/hostname": "a"}},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}}),
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "proxy", "namespace": "kube-system", "uid": "proxy"},
                "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x:v1"}]}}}}),
        ];
        objects
            .into_iter()
            .map(|value| Delta::Put(Object::from_json(value).expect("a valid object")))
            .collect()
    }

    #[test]
    fn time_passes_and_an_update_restarts_the_pods() {
        let start: Time = "2026-11-20T09:00:00Z".parse().expect("a moment");
        let settings =
            Settings { start, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let mut quiet = Idle::new(view(), settings);
        quiet.pass(Span::from_minutes(5));
        let images = |quiet: &Idle| -> Vec<String> {
            quiet
                .view()
                .pods
                .sorted()
                .iter()
                .map(|(_, pod)| pod.spec.containers[0].image.to_string())
                .collect()
        };
        assert_eq!(images(&quiet), ["x:v1"], "its controller made a pod");
        let key = Key::new("kube-system", "proxy");
        quiet.set_daemon_image(&key, &"x:v2".into()).expect("it is there");
        quiet.pass(Span::from_minutes(5));
        assert_eq!(images(&quiet), ["x:v2"]);
        assert_eq!(quiet.now(), start + Span::from_minutes(10));
        assert!(quiet.set_daemon_image(&Key::new("kube-system", "none"), &"x:v2".into()).is_err());
        assert!(quiet.objects().len() >= 4);
    }
}

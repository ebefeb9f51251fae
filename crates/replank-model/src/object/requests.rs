//! What a pod asks for as a whole: the sum over its containers, less what they share in time.
//!
//! The rules are those of component-helpers 1.36 (`resource/helpers.go`): containers add up; an init container that ends
//! counts with the sidecars started before it, and only if that is more than the rest; sidecars stay and add up;
//! requests of the pod as a whole replace those of its containers; the overhead of the runtime class comes last. A
//! container that was resized in place counts with the largest of what is wanted, in force and set aside.

use crate::object::pod::{Container, ContainerStatus, Pod, PodSpec, PodStatus, RestartPolicy};
use crate::object::resources::{CPU, MEMORY, Resources};

/// Prefix of huge pages' resource names.
pub const HUGEPAGES_PREFIX: &str = "hugepages-";

/// What is counted besides the spec.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting<'a> {
    /// How the pod is: resizes under way count. Absent for a pod that is not yet bound.
    pub status: Option<&'a PodStatus>,
    /// What a container is taken to ask for that does not say (scoring assumes 100m and 200Mi).
    pub assumed: Option<&'a Resources>,
}

/// The requests of a pod (`PodRequests`).
#[must_use]
pub fn of_pod(pod: &Pod) -> Resources {
    of_spec(&pod.spec, Counting { status: Some(&pod.status), assumed: None })
}

/// The requests of a pod with this spec (`PodRequests`).
#[must_use]
pub fn of_spec(spec: &PodSpec, counting: Counting<'_>) -> Resources {
    let mut sum = of_containers(spec, counting);
    if has_pod_level_requests(spec)
        && let Some(own) = &spec.resources
    {
        let resized = counting.status.and_then(|status| {
            let actuated = status.resources.as_ref()?;
            Some(effective(status, &own.requests, &actuated.requests, &status.allocated_resources))
        });
        for (name, quantity) in own.requests.iter().filter(|(name, _)| is_pod_level(name)) {
            let quantity = match &resized {
                Some(resized) => resized.get(name).cloned().unwrap_or_default(),
                None => quantity.clone(),
            };
            sum.set(name.clone(), quantity);
        }
    }
    add(&mut sum, &spec.overhead);
    sum
}

/// The requests of the containers and the overhead, whatever is set for the pod as a whole (`PodRequests` with
/// `SkipPodLevelResources`).
#[must_use]
pub fn of_containers_and_overhead(spec: &PodSpec, counting: Counting<'_>) -> Resources {
    let mut sum = of_containers(spec, counting);
    add(&mut sum, &spec.overhead);
    sum
}

/// The requests of the containers alone (`AggregateContainerRequests`).
#[must_use]
pub fn of_containers(spec: &PodSpec, counting: Counting<'_>) -> Resources {
    aggregate(spec, |container, may_resize| {
        let mut requests = container.resources.requests.clone();
        if let Some(status) = counting.status.filter(|_| may_resize)
            && let Some(known) = status_of(status, &container.name)
            && let Some(actuated) = &known.resources
        {
            requests = effective(status, &requests, &actuated.requests, &known.allocated_resources);
        }
        for (name, quantity) in counting.assumed.into_iter().flat_map(Resources::iter) {
            if requests.get(name).is_none() {
                requests.set(name.clone(), quantity.clone());
            }
        }
        requests
    })
}

/// The limits of the containers alone (`AggregateContainerLimits`).
#[must_use]
pub fn limits_of_containers(spec: &PodSpec) -> Resources {
    aggregate(spec, |container, _| container.resources.limits.clone())
}

/// Whether requests of this resource may be made for the pod as a whole (`IsSupportedPodLevelResource`).
#[must_use]
pub fn is_pod_level(name: &str) -> bool {
    name == CPU || name == MEMORY || name.starts_with(HUGEPAGES_PREFIX)
}

/// Whether requests of the pod as a whole are set (`IsPodLevelRequestsSet`).
#[must_use]
pub fn has_pod_level_requests(spec: &PodSpec) -> bool {
    spec.resources.as_ref().is_some_and(|own| own.requests.iter().any(|(name, _)| is_pod_level(name)))
}

/// Adds up what `of` says of each container; it is told whether a resize of the container counts.
fn aggregate(spec: &PodSpec, of: impl Fn(&Container, bool) -> Resources) -> Resources {
    let mut sum = Resources::default();
    for container in &spec.containers {
        add(&mut sum, &of(container, true));
    }
    let mut sidecars = Resources::default();
    let mut peak = Resources::default();
    for container in &spec.init_containers {
        let stays = container.restart_policy == Some(RestartPolicy::Always);
        let own = of(container, stays);
        if stays {
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            raise(&mut peak, &sidecars);
        } else {
            let mut at_once = own;
            add(&mut at_once, &sidecars);
            raise(&mut peak, &at_once);
        }
    }
    raise(&mut sum, &peak);
    sum
}

fn status_of<'a>(status: &'a PodStatus, name: &str) -> Option<&'a ContainerStatus> {
    // Of two of one name the later wins, and init containers come after the others.
    let all = status.container_statuses.iter().chain(&status.init_container_statuses);
    all.rev().find(|container| &*container.name == name)
}

/// The largest of what is wanted, in force and set aside; what is wanted does not count once the node has refused it
/// (`determineEffectiveRequests`).
fn effective(
    status: &PodStatus,
    wanted: &Resources,
    actuated: &Resources,
    allocated: &Resources,
) -> Resources {
    let mut largest =
        if status.conditions.is_resize_refused() { Resources::default() } else { wanted.clone() };
    raise(&mut largest, actuated);
    raise(&mut largest, allocated);
    largest
}

fn add(sum: &mut Resources, more: &Resources) {
    for (name, quantity) in more.iter() {
        match sum.get(name) {
            Some(known) => {
                let total = known + quantity;
                sum.set(name.clone(), total);
            }
            None => sum.set(name.clone(), quantity.clone()),
        }
    }
}

fn raise(floor: &mut Resources, to: &Resources) {
    for (name, quantity) in to.iter() {
        if floor.get(name).is_none_or(|known| quantity > known) {
            floor.set(name.clone(), quantity.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::condition;
    use crate::object::pod::ContainerStatus;
    use crate::object::resources::ResourceRequirements;

    fn resources(pairs: &[(&str, &str)]) -> Resources {
        pairs.iter().map(|(name, quantity)| (*name, quantity.parse().expect("a quantity"))).collect()
    }

    fn container(name: &str, requests: &[(&str, &str)]) -> Container {
        let resources = ResourceRequirements { requests: resources(requests), ..Default::default() };
        Container { name: name.into(), resources, ..Default::default() }
    }

    #[test]
    fn an_init_container_counts_with_the_sidecars_before_it() {
        let sidecar = |name: &str, cpu: &str| Container {
            restart_policy: Some(RestartPolicy::Always),
            ..container(name, &[(CPU, cpu)])
        };
        let spec = PodSpec {
            containers: vec![container("main", &[(CPU, "500m")])],
            init_containers: vec![
                sidecar("first", "200m"),
                container("setup", &[(CPU, "2")]),
                sidecar("second", "100m"),
            ],
            overhead: resources(&[(CPU, "50m")]),
            ..Default::default()
        };
        // 200m + 2 while setting up is more than 500m + 200m + 100m afterwards.
        assert_eq!(of_spec(&spec, Counting::default()), resources(&[(CPU, "2250m")]));
    }

    #[test]
    fn requests_of_the_pod_replace_those_of_its_containers() {
        let own = ResourceRequirements { requests: resources(&[(CPU, "3")]), ..Default::default() };
        let spec = PodSpec {
            containers: vec![container("main", &[(CPU, "1"), (MEMORY, "1Gi")])],
            resources: Some(own),
            ..Default::default()
        };
        assert_eq!(of_spec(&spec, Counting::default()), resources(&[(CPU, "3"), (MEMORY, "1Gi")]));
    }

    #[test]
    fn a_refused_resize_does_not_count() {
        let in_force = ResourceRequirements { requests: resources(&[(CPU, "1")]), ..Default::default() };
        let spec = PodSpec { containers: vec![container("main", &[(CPU, "4")])], ..Default::default() };
        let mut pod = Pod { spec: std::sync::Arc::new(spec), ..Default::default() };
        pod.status.container_statuses = vec![ContainerStatus {
            name: "main".into(),
            resources: Some(in_force),
            allocated_resources: resources(&[(CPU, "2")]),
            ..Default::default()
        }]
        .into();
        assert_eq!(of_pod(&pod), resources(&[(CPU, "4")]));
        pod.status.conditions = vec![condition::Condition {
            r#type: "PodResizePending".into(),
            reason: "Infeasible".into(),
            ..Default::default()
        }]
        .into();
        assert_eq!(of_pod(&pod), resources(&[(CPU, "2")]));
    }
}

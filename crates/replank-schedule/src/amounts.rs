//! Resources as the scheduler counts them: whole numbers, cpu in thousandths.
//!
//! Source: `Resource` in Kubernetes 1.36 `pkg/scheduler/framework/types.go`.

use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::requests::{self, Counting};
use replank_model::object::resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources};
use replank_model::quantity::{Format, Quantity};
use replank_model::selector::validate::label_key_problems;
use replank_model::text::Text;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ids::ResourceId;

/// What scoring takes a container to ask for that does not say (`pkg/scheduler/util/pod_resources.go`).
const ASSUMED_MILLI_CPU: i64 = 100;
const ASSUMED_MEMORY: i64 = 200 * 1024 * 1024;

/// Amounts of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Amounts {
    pub(super) milli_cpu: i64,
    pub(super) memory: i64,
    pub(super) ephemeral: i64,
    /// Extended resources, huge pages and the like, sorted by id.
    pub(super) others: SmallVec<[(ResourceId, i64); 2]>,
}

impl Amounts {
    fn of(list: &Resources, names: &mut ResourceNames) -> Self {
        let mut amounts = Self::default();
        for (name, quantity) in list.iter() {
            match &**name {
                CPU => amounts.milli_cpu = quantity.milli_value(),
                MEMORY => amounts.memory = quantity.value(),
                EPHEMERAL_STORAGE => amounts.ephemeral = quantity.value(),
                other if is_scalar(other) => {
                    let id = names.id(name);
                    *amounts.slot(id) = quantity.value();
                }
                // The number of pods is counted apart; names that nobody knows are not counted.
                _ => {}
            }
        }
        amounts
    }

    pub(super) fn other(&self, id: ResourceId) -> i64 {
        self.others.iter().find(|(known, _)| *known == id).map_or(0, |(_, amount)| *amount)
    }

    fn slot(&mut self, id: ResourceId) -> &mut i64 {
        let at = match self.others.binary_search_by_key(&id, |(known, _)| *known) {
            Ok(at) => at,
            Err(at) => {
                self.others.insert(at, (id, 0));
                at
            }
        };
        &mut self.others[at].1
    }

    /// Overflows as upstream's int64 does: what is added and taken away again leaves what was there.
    pub(super) fn add(&mut self, more: &Self, sign: i64) {
        let sum = |known: i64, amount: i64| known.wrapping_add(amount.wrapping_mul(sign));
        self.milli_cpu = sum(self.milli_cpu, more.milli_cpu);
        self.memory = sum(self.memory, more.memory);
        self.ephemeral = sum(self.ephemeral, more.ephemeral);
        for (id, amount) in &more.others {
            let slot = self.slot(*id);
            *slot = sum(*slot, *amount);
        }
    }

    fn is_nothing(&self) -> bool {
        self.milli_cpu == 0 && self.memory == 0 && self.ephemeral == 0 && self.others.is_empty()
    }
}

/// Whether a resource is counted though it is none of the four that every node has (`IsScalarResourceName`).
fn is_scalar(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    let is_extended = !is_native
        && !name.starts_with("requests.")
        && label_key_problems(&format!("requests.{name}")).is_empty();
    is_extended
        || name.starts_with("hugepages-")
        || name.contains("kubernetes.io/")
        || name.starts_with("attachable-volumes-")
}

/// Names of resources, numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct ResourceNames {
    names: Vec<Text>,
    ids: FxHashMap<Text, ResourceId>,
}

impl ResourceNames {
    fn id(&mut self, name: &Text) -> ResourceId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = ResourceId::new(self.names.len());
        self.names.push(name.clone());
        self.ids.insert(name.clone(), id);
        id
    }

    pub(super) fn name(&self, id: ResourceId) -> &Text {
        &self.names[id.at()]
    }
}

/// What a pod to be placed asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    /// What must be free.
    pub(super) amounts: Amounts,
    /// Milli-cpu and bytes that LeastAllocated reckons with. Requests of the pod as a whole are not in it: 1.36 makes
    /// this scorer without the gates that would have it look at them.
    pub(super) assumed: (i64, i64),
}

impl Request {
    pub(super) fn of(spec: &PodSpec, names: &mut ResourceNames) -> Self {
        let plain = requests::of_spec(spec, Counting::default());
        let missing = assumed(&[CPU, MEMORY]);
        let counting = Counting { status: None, assumed: Some(&missing) };
        let all = requests::of_containers_and_overhead(spec, counting);
        Self { amounts: Amounts::of(&plain, names), assumed: cpu_and_memory(&all) }
    }

    /// Whether nothing but room for a pod is asked for.
    pub(super) fn is_nothing(&self) -> bool {
        self.amounts.is_nothing()
    }

    /// Whether neither cpu nor memory is asked for: BalancedAllocation skips such pods.
    pub(super) fn is_best_effort(&self) -> bool {
        self.amounts.milli_cpu == 0 && self.amounts.memory == 0
    }
}

/// What a pod on a node takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) amounts: Amounts,
    /// Milli-cpu and bytes that LeastAllocated reckons with.
    pub(super) assumed: (i64, i64),
}

impl Usage {
    /// Of a pod's spec alone, as long as nothing was resized.
    pub(super) fn of_spec(spec: &PodSpec, names: &mut ResourceNames) -> Self {
        Self::count(spec, None, names)
    }

    /// Of a pod whose containers' resources were resized or report what is in force; `None` where its spec says it all.
    pub(super) fn of_resized(pod: &Pod, names: &mut ResourceNames) -> Option<Self> {
        let status = &pod.status;
        let mut containers = status.container_statuses.iter().chain(&status.init_container_statuses);
        let says_more =
            status.resources.is_some() || containers.any(|container| container.resources.is_some());
        says_more.then(|| Self::count(&pod.spec, Some(pod), names))
    }

    /// `PodInfo.CalculateResource`: what is assumed for cpu or memory is left out where requests of the pod as a whole
    /// are set and name it.
    fn count(spec: &PodSpec, pod: Option<&Pod>, names: &mut ResourceNames) -> Self {
        let status = pod.map(|pod| &pod.status);
        let plain = requests::of_spec(spec, Counting { status, assumed: None });
        let missing: SmallVec<[&str; 2]> = [CPU, MEMORY]
            .into_iter()
            .filter(|name| !requests::has_pod_level_requests(spec) || plain.get(name).is_none())
            .collect();
        let all = if missing.is_empty() {
            plain.clone()
        } else {
            requests::of_spec(spec, Counting { status, assumed: Some(&assumed(&missing)) })
        };
        Self { amounts: Amounts::of(&plain, names), assumed: cpu_and_memory(&all) }
    }
}

fn assumed(names: &[&str]) -> Resources {
    let quantity = |name: &str| match name {
        CPU => Quantity::from_milli(ASSUMED_MILLI_CPU, Format::DecimalSi),
        _ => Quantity::from_units(ASSUMED_MEMORY, Format::DecimalSi),
    };
    names.iter().map(|name| (*name, quantity(name))).collect()
}

fn cpu_and_memory(list: &Resources) -> (i64, i64) {
    (list.get(CPU).map_or(0, Quantity::milli_value), list.get(MEMORY).map_or(0, Quantity::value))
}

/// What a node offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) amounts: Amounts,
    pub(super) pods: i64,
}

impl Room {
    pub(super) fn of(allocatable: &Resources, names: &mut ResourceNames) -> Self {
        Self {
            amounts: Amounts::of(allocatable, names),
            pods: allocatable.get(PODS).map_or(0, Quantity::value),
        }
    }
}

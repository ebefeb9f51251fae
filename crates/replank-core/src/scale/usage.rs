//! How much of a node is asked for.
//!
//! Source: Cluster Autoscaler, simulator/utilization: of cpu and memory the greater share counts, of a node with accelerators theirs
//! alone.

use std::fmt;
use std::sync::Arc;

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::requests;
use replank_model::object::resources::{CPU, MEMORY};
use replank_model::quantity::Quantity;

use super::group::Group;
use super::options::DownOptions;
use replank_facts::drain::is_daemon;

/// Accelerators whose use alone counts where a node has some.
const GPUS: [&str; 3] = ["nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron"];

/// Shares of a node that are asked for, in parts of a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Cpu.
    pub cpu_milli: i64,
    /// Memory.
    pub memory_milli: i64,
    /// Accelerators, if the node has some.
    pub gpu_milli: Option<i64>,
}

impl Usage {
    pub(super) fn of(node: &Node, pods: &[&Arc<Pod>], group: &Group, options: &DownOptions) -> Self {
        let ignores_daemons = group.own.ignores_daemons.unwrap_or(options.ignores_daemons);
        let is_left_out = |pod: &Pod| {
            pod.is_terminal()
                || (ignores_daemons && is_daemon(pod))
                || (options.ignores_mirrors && pod.is_mirror())
        };
        let counted = pods.iter().filter(|pod| !is_left_out(pod));
        let requests: Vec<_> = counted.map(|pod| requests::of_pod(pod)).collect();
        let share = |name: &str| {
            let value =
                |quantity: &Quantity| if name == CPU { quantity.milli_value() } else { quantity.value() };
            let all = node.status.allocatable.get(name).map_or(0, value);
            let used: i64 = requests.iter().filter_map(|list| list.get(name)).map(value).sum();
            if all <= 0 {
                0
            } else {
                i64::try_from(i128::from(used) * 1_000 / i128::from(all)).unwrap_or(i64::MAX)
            }
        };
        let gpu =
            GPUS.iter().find(|name| node.status.allocatable.get(name).is_some_and(|all| !all.is_zero()));
        Self { cpu_milli: share(CPU), memory_milli: share(MEMORY), gpu_milli: gpu.map(|name| share(name)) }
    }

    /// The share that counts, and the threshold that it is held against.
    pub(super) fn against(self, group: &Group, options: &DownOptions) -> (i64, i64) {
        match self.gpu_milli {
            Some(share) => (share, group.own.gpu_threshold_milli.unwrap_or(options.gpu_threshold_milli)),
            None => {
                let share = self.cpu_milli.max(self.memory_milli);
                (share, group.own.threshold_milli.unwrap_or(options.threshold_milli))
            }
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gpu_milli {
            Some(gpu) => write!(f, "accelerators {}%", gpu / 10),
            None => write!(f, "cpu {}%, memory {}%", self.cpu_milli / 10, self.memory_milli / 10),
        }
    }
}

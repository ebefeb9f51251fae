//! The openb trace as Kubernetes objects.
//!
//! Every pod of the trace, whatever its phase, is the one replica of a ReplicaSet and is placed by `core::schedule` in the
//! order of creation, as if nothing had ever ended. Zones are not in the trace: three are dealt out, round robin by node.
//! Nor is a date: second 0 of the trace stands for the beginning of 2026.

mod csv;
mod objects;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;
use replank_schedule::Scheduler;
use serde_json::Value;

use crate::list::List;
use csv::{NodeRow, PodRow, rows};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder with the trace's CSV files.
    dir: PathBuf,
    /// The file to write.
    #[arg(short)]
    out: PathBuf,
    /// Takes the pods a third of which require a GPU model.
    #[arg(long)]
    gpuspec: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let pods = if args.gpuspec { "openb_pod_list_gpuspec33.csv" } else { "openb_pod_list_default.csv" };
    let nodes: Vec<NodeRow> = read(&args.dir.join("openb_node_list_all_node.csv"))?;
    let mut pods: Vec<PodRow> = read(&args.dir.join(pods))?;
    // Stable: pods of one second stay in the order of the file.
    pods.sort_by_key(|pod| pod.creation_seconds);
    let mut list = List::gzip(&args.out)?;
    let placed = write(&nodes, &pods, &mut |object| list.item(object))?;
    list.end()?.finish()?.flush()?;
    let unplaced = placed.unplaced.values().sum::<usize>();
    println!(
        "{} nodes, {} pods placed, {unplaced} not, in {:.0} ms ({:.0} pods/s, every node scored): {}",
        nodes.len(),
        placed.placed,
        placed.took.as_secs_f64() * 1e3,
        pods.len() as f64 / placed.took.as_secs_f64(),
        args.out.display()
    );
    for (reason, number) in placed.unplaced {
        println!("  {number:5}  {reason}");
    }
    println!("zones (three, round robin) and dates (second 0 is the beginning of 2026) are not in the trace");
    Ok(())
}

fn read<R: csv::Row>(path: &Path) -> Result<Vec<R>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    rows(&text).with_context(|| format!("{} is not as its README says", path.display()))
}

/// How many pods found a node.
#[derive(Debug, Default, PartialEq, Eq)]
struct Placement {
    placed: usize,
    /// Time of deciding and of taking in what was decided; reading and writing objects is not in it.
    took: Duration,
    /// Reasons and how often each was given.
    unplaced: BTreeMap<String, usize>,
}

/// Makes all objects, one after the other.
fn write(
    nodes: &[NodeRow],
    pods: &[PodRow],
    sink: &mut dyn FnMut(&Value) -> Result<()>,
) -> Result<Placement> {
    let mut view = View::default();
    let heartbeat = pods.iter().map(|pod| pod.creation_seconds).max().unwrap_or(0) + 60;
    sink(&objects::namespace())?;
    for (index, row) in nodes.iter().enumerate() {
        let node = objects::node(row, index, heartbeat);
        sink(&node)?;
        view.apply(Delta::Put(Object::from_json(node)?));
    }
    let mut scheduler = Scheduler::load(&view);
    let mut placement = Placement::default();
    for (index, row) in pods.iter().enumerate() {
        let pending = objects::pod(row, None);
        let Object::Pod(pod) = Object::from_json(pending)? else { bail!("{} is not a pod", row.name) };
        let from = Instant::now();
        let outcome = scheduler.place(&view, &pod, draw(index));
        placement.took += from.elapsed();
        let outcome = outcome.map(|placed| placed.node).map_err(|refused| refused.to_string());
        let outcome = outcome.as_ref().map_err(String::as_str);
        let object = objects::pod(row, Some(outcome));
        match outcome {
            Ok(_) => placement.placed += 1,
            Err(reason) => *placement.unplaced.entry(kinds(reason)).or_default() += 1,
        }
        sink(&objects::replica_set(row, outcome.is_ok()))?;
        sink(&object)?;
        let Object::Pod(pod) = Object::from_json(object)? else { bail!("{} is not a pod", row.name) };
        let change = view.apply(Delta::Put(Object::Pod(Arc::clone(&pod))));
        let from = Instant::now();
        scheduler.observe(&view, &change);
        placement.took += from.elapsed();
    }
    Ok(placement)
}

/// The scheduler's reasons without their numbers: what pods have in common.
fn kinds(message: &str) -> String {
    let reasons = message.split_once(": ").map_or(message, |(_, reasons)| reasons).trim_end_matches('.');
    let mut kinds: Vec<&str> = reasons
        .split(", ")
        .map(|reason| reason.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim())
        .collect();
    kinds.sort_unstable();
    kinds.join(", ")
}

/// Any number that differs from pod to pod and is the same in every run.
fn draw(index: usize) -> u64 {
    (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\na,8000,16384,2,T4\nb,8000,16384,0,\n";
    const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
        late,1000,1024,1,500,,LS,Failed,20,30,20\n\
        early,1000,1024,2,1000,T4|P100,LS,Running,10,30,\n\
        huge,99000,1024,0,0,,BE,Pending,30,,\n";

    #[test]
    fn reasons_are_counted_whatever_their_numbers() {
        let message = "0/9 nodes are available: 3 Insufficient memory, 9 Insufficient cpu.";
        assert_eq!(kinds(message), "Insufficient cpu, Insufficient memory");
    }

    #[test]
    fn pods_are_placed_in_order_of_creation_and_the_others_counted() {
        let nodes: Vec<NodeRow> = rows(NODES).expect("rows");
        let mut pods: Vec<PodRow> = rows(PODS).expect("rows");
        pods.sort_by_key(|pod| pod.creation_seconds);
        let mut objects = Vec::new();
        let placement = write(&nodes, &pods, &mut |object| {
            objects.push(object.clone());
            Ok(())
        })
        .expect("all objects are valid");
        assert_eq!(placement.placed + placement.unplaced.values().sum::<usize>(), 3);
        assert_eq!(placement.unplaced.values().sum::<usize>(), 2, "{placement:?}");
        let of = |kind: &str, name: &str| {
            let found =
                objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
            found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
        };
        let early = of("Pod", "early-0");
        assert_eq!(early["spec"]["nodeName"], "a", "it came first and takes both GPUs");
        assert_eq!(early["spec"]["containers"][0]["resources"]["requests"]["openb.io/gpu-milli"], "2000");
        assert!(of("Pod", "late-0")["spec"].get("nodeName").is_none(), "half a GPU is not left");
        assert_eq!(of("Pod", "huge-0")["status"]["phase"], "Pending");
        assert_eq!(of("ReplicaSet", "huge")["status"]["readyReplicas"], 0);
        assert_eq!(of("Node", "b")["metadata"]["labels"].get("openb.io/gpu-model"), None);
        assert_eq!(
            of("Node", "a")["metadata"]["labels"]["node.kubernetes.io/instance-type"],
            "8000-16384-2-T4"
        );
    }
}

//! Data in an emptyDir on disk: it is lost when the pod moves.

use replank_model::object::pod::{Pod, Volume};
use replank_model::object::volume::HostPath;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::{Subject, Survey};
use replank_facts::drain;
use replank_facts::plan::LocalStorage;
use replank_facts::workload::Workload;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let refuses = survey.terms.local_storage == LocalStorage::Refuse;
    for (workload, subject, count) in survey.services() {
        let on_disk: Vec<&str> = subject
            .pod
            .spec
            .volumes
            .iter()
            .filter(|volume| is_on_disk(volume))
            .map(|volume| &*volume.name)
            .collect();
        let is_only_copy = survey.replicas(workload, subject) == 1;
        findings.extend(on_host(workload, subject, count, is_only_copy));
        let is_refused = refuses && drain::has_local_storage(&subject.pod);
        if on_disk.is_empty() && !is_refused {
            continue;
        }
        let severity = match (is_refused, is_only_copy) {
            (true, _) => Severity::Blocking,
            (false, true) => Severity::Warning,
            (false, false) => Severity::Info,
        };
        let only = if is_only_copy { ", the only copy" } else { "" };
        findings.push(Finding {
            rule: Rule::LocalStorage,
            severity,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "data of {} in an emptyDir ({}){only}: lost when the pod moves",
                pods(count),
                if on_disk.is_empty() { "in memory".to_owned() } else { on_disk.join(", ") },
            ),
            remedy: if is_refused {
                "set localStorage: allow in the plan if the data may be lost; otherwise use a PersistentVolumeClaim".to_owned().into()
            } else {
                "set localStorage: refuse in the plan if the data must not be lost; store permanent data in a PersistentVolumeClaim".to_owned().into()
            },
        });
    }
    findings
}

/// An emptyDir on disk that may hold data. A second pod has one of its own and not a copy, so that data of which there is one place is in two halves, each behind the
/// same Service. What a volume is for nobody says: scratch space is known by its name.
pub(super) fn holds_data(pod: &Pod) -> Option<&str> {
    let volumes = pod.spec.volumes.iter();
    let mut on_disk = volumes.filter(|volume| is_on_disk(volume));
    on_disk.find(|volume| !is_scratch(&volume.name)).map(|volume| &*volume.name)
}

fn is_on_disk(volume: &Volume) -> bool {
    volume.source.empty_dir.as_ref().is_some_and(|dir| &*dir.medium != "Memory")
}

/// `tmp-dir`, `nginx-cache`, `var-run`: nothing in them is missed on another node, nor what sidecars keep there.
fn is_scratch(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "cache", "cert", "certs", "istio", "linkerd", "log", "logs", "run", "scratch", "socket", "sockets",
        "temp", "tmp", "tmpfs",
    ];
    name.split(['-', '_', '.']).any(|word| WORDS.contains(&word))
}

/// Sockets, devices and the kernel's own file systems are on every node, and hold no data.
fn holds_files(host: &HostPath) -> bool {
    let is_special = matches!(&*host.r#type, "Socket" | "CharDevice" | "BlockDevice");
    let is_kernels = ["/dev", "/proc", "/sys"].iter().any(|root| {
        host.path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    !is_special && !is_kernels && !host.path.ends_with(".sock")
}

/// Files of the node itself: there are others on the next one.
fn on_host(workload: &Workload, subject: &Subject, count: usize, is_only_copy: bool) -> Option<Finding> {
    let volumes = subject.pod.spec.volumes.iter();
    let hosts = volumes.filter_map(|volume| volume.source.host_path.as_ref());
    let paths: Vec<&str> = hosts.filter(|host| holds_files(host)).map(|host| &*host.path).collect();
    let only = if is_only_copy { ", the only copy" } else { "" };
    (!paths.is_empty()).then(|| Finding {
        rule: Rule::LocalStorage,
        severity: if is_only_copy { Severity::Warning } else { Severity::Info },
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!("{} use files on the node ({}){only}: they are not on the next node", pods(count), paths.join(", ")),
        remedy: "move permanent data into a PersistentVolumeClaim before the roll; sockets and devices need no action".to_owned().into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, node, service};
    use super::*;

    fn with(nodes: &[&str], medium: &str) -> Vec<Value> {
        let volumes = json!({"spec": {"volumes": [{"name": "data", "emptyDir": {"medium": medium}}]}});
        [vec![node("n", "a")], service("web", nodes, &volumes)].concat()
    }

    #[test]
    fn data_on_disk_is_found_and_the_only_copy_is_worse() {
        assert_eq!(
            found(Rule::LocalStorage, with(&["n"], "")),
            [
                "warning local-storage Deployment shop/web: data of 1 pod in an emptyDir (data), the only copy: lost when the pod moves"
            ]
        );
        assert!(found(Rule::LocalStorage, with(&["n", "n"], ""))[0].starts_with("info"));
        let refuse = |plan: &mut replank_facts::plan::Plan| plan.local_storage = LocalStorage::Refuse;
        assert!(found_under(Rule::LocalStorage, refuse, with(&["n", "n"], ""))[0].starts_with("blocking"));
    }

    #[test]
    fn files_of_the_node_are_told() {
        let volumes = json!({"spec": {"volumes": [{"name": "data", "hostPath": {"path": "/mnt/data"}}]}});
        let objects = [vec![node("n", "a")], service("db", &["n"], &volumes)].concat();
        assert_eq!(
            found(Rule::LocalStorage, objects),
            [
                "warning local-storage Deployment shop/db: 1 pod use files on the node (/mnt/data), the only copy: they are not on the next node"
            ]
        );
        let with = |path: &str, kind: &str| {
            let volumes =
                json!({"spec": {"volumes": [{"name": "h", "hostPath": {"path": path, "type": kind}}]}});
            found(Rule::LocalStorage, [vec![node("n", "a")], service("db", &["n", "n"], &volumes)].concat())
        };
        assert!(with("/mnt/data", "Directory")[0].starts_with("info"), "there is another copy");
        assert_eq!(with("/run/agent", "Socket"), [""; 0]);
        assert_eq!(with("/var/run/docker.sock", ""), [""; 0]);
        assert_eq!(with("/sys", ""), [""; 0]);
        assert_eq!(with("/system", "").len(), 1);
    }

    #[test]
    fn memory_is_no_storage_unless_the_plan_refuses_every_emptydir() {
        assert_eq!(found(Rule::LocalStorage, with(&["n"], "Memory")), [""; 0]);
        let refuse = |plan: &mut replank_facts::plan::Plan| plan.local_storage = LocalStorage::Refuse;
        assert_eq!(found_under(Rule::LocalStorage, refuse, with(&["n"], "Memory")).len(), 1);
    }
}

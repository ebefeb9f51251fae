//! The Job and its input, as objects of Kubernetes.

use replank_intake::base64;
use serde_json::{Value, json};

use super::arguments::{Arguments, FOLDER, Taken};
use super::packed::Packed;

/// The file of an input that is on a volume.
pub(super) const ON_CLAIM: &str = "snapshot.json.gz";
/// Bytes that a ConfigMap holds, with some room for names.
const MAP_MAX: usize = 1_000_000;
/// ConfigMaps for one Job.
const MAPS_MAX: usize = 40;
/// How long a Job that has ended stays: its pods hold the results.
const KEPT_SECONDS: u32 = 7 * 24 * 3_600;
/// How often a part is tried again that ends with an error.
const TRIES: u32 = 3;
/// Ends of a pod after which another try comes to the same: what was asked for cannot be understood.
const USAGE: u8 = 2;
/// The user that image/Dockerfile names.
const USER: u32 = 65_532;

/// What is asked of the pods.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) image: &'a str,
    pub(super) parts: u64,
    pub(super) pods: u32,
    pub(super) seeds_per_part: u64,
    pub(super) claim: Option<&'a str>,
    /// Pods of the cluster that is rehearsed, which the memory of a rehearsal grows with.
    pub(super) pods_rehearsed: usize,
}

/// What is created: the Job, and its input.
pub(super) struct Manifests {
    pub(super) job: Value,
    pub(super) config_maps: Vec<Value>,
}

impl Manifests {
    /// Nothing where the input is too large for ConfigMaps.
    pub(super) fn of(wanted: &Wanted<'_>, arguments: &Arguments, packed: &Packed) -> Option<Self> {
        let mut maps: Vec<Vec<(&str, &[u8])>> = vec![Vec::new()];
        let mut names = Vec::new();
        let mut size = 0;
        for Taken { name, bytes } in &arguments.files {
            fill(&mut maps, &mut size, name, bytes);
        }
        for number in 0..packed.pieces.len() {
            names.push(format!("snapshot-{number}.json.gz"));
        }
        let is_on_claim = wanted.claim.is_some();
        if !is_on_claim {
            for (name, piece) in names.iter().zip(&packed.pieces) {
                fill(&mut maps, &mut size, name, piece);
            }
        }
        maps.retain(|map| !map.is_empty());
        if maps.len() > MAPS_MAX || maps.iter().flatten().any(|(_, bytes)| bytes.len() > MAP_MAX) {
            return None;
        }
        let snapshots: Vec<String> = match is_on_claim {
            true => vec![format!("/replank/claim/{ON_CLAIM}")],
            false => names.iter().map(|name| format!("{FOLDER}/{name}")).collect(),
        };
        let config_maps: Vec<Value> =
            maps.iter().enumerate().map(|(number, map)| config_map(wanted, number, map)).collect();
        let job = job(wanted, arguments, &snapshots, config_maps.len());
        Some(Self { job, config_maps })
    }

    /// All of it as `kubectl apply -f` takes it.
    pub(super) fn list(&self) -> Value {
        let mut items = self.config_maps.clone();
        items.push(self.job.clone());
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }
}

fn fill<'a>(maps: &mut Vec<Vec<(&'a str, &'a [u8])>>, size: &mut usize, name: &'a str, bytes: &'a [u8]) {
    if *size + bytes.len() > MAP_MAX {
        maps.push(Vec::new());
        *size = 0;
    }
    *size += bytes.len();
    maps.last_mut().expect("there is always one").push((name, bytes));
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": "replank", "app.kubernetes.io/component": "rehearsal"})
}

fn map_name(wanted: &Wanted<'_>, number: usize) -> String {
    format!("{}-{number}", wanted.name)
}

fn config_map(wanted: &Wanted<'_>, number: usize, files: &[(&str, &[u8])]) -> Value {
    let held: serde_json::Map<String, Value> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), base64::encode(bytes).into())).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": map_name(wanted, number), "namespace": wanted.namespace, "labels": labels()},
        "immutable": true, "binaryData": held})
}

fn job(wanted: &Wanted<'_>, arguments: &Arguments, snapshots: &[String], maps: usize) -> Value {
    let mut words = vec!["rehearse".to_owned()];
    words.extend(snapshots.iter().cloned());
    words.extend(arguments.words.iter().cloned());
    if !arguments.words.iter().any(|word| word.starts_with("--seeds-per-part=")) {
        words.push(format!("--seeds-per-part={}", wanted.seeds_per_part));
    }
    // Kubernetes puts the pod's index in its place.
    words.push("--part=$(JOB_COMPLETION_INDEX)".to_owned());
    words.push("--part-file=/dev/termination-log".to_owned());
    let sources: Vec<Value> =
        (0..maps).map(|number| json!({"configMap": {"name": map_name(wanted, number)}})).collect();
    let mut volumes = vec![json!({"name": "input", "projected": {"sources": sources}})];
    let mut mounts = vec![json!({"name": "input", "mountPath": FOLDER, "readOnly": true})];
    if let Some(claim) = wanted.claim {
        volumes
            .push(json!({"name": "claim", "persistentVolumeClaim": {"claimName": claim, "readOnly": true}}));
        mounts.push(json!({"name": "claim", "mountPath": "/replank/claim", "readOnly": true}));
    }
    let memory = format!("{}Mi", 256 + wanted.pods_rehearsed.div_ceil(64));
    let container = json!({"name": "replank", "image": wanted.image, "args": words,
        "resources": {"requests": {"cpu": "1", "memory": memory}, "limits": {"cpu": "1", "memory": memory}},
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePolicy": "FallbackToLogsOnError", "volumeMounts": mounts});
    json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": wanted.name, "namespace": wanted.namespace, "labels": labels()},
        "spec": {
            "completionMode": "Indexed", "completions": wanted.parts, "parallelism": u64::from(wanted.pods).min(wanted.parts),
            "backoffLimitPerIndex": TRIES, "ttlSecondsAfterFinished": KEPT_SECONDS,
            "podFailurePolicy": {"rules": [
                {"action": "FailJob", "onExitCodes": {"containerName": "replank", "operator": "In", "values": [USAGE]}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
            "template": {
                "metadata": {"labels": labels(), "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}},
                "spec": {"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
                    "securityContext": {"runAsNonRoot": true, "runAsUser": USER, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [container], "volumes": volumes}}}})
}

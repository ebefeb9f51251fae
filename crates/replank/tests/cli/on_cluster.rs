//! Many seeds in the pods of a Job: on a cluster that is served and on a real control plane, where the test does what kubelets would: it runs the pods' command, and writes what
//! they end with into their statuses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::common::{Ran, SNAPSHOT, command, replank, root, scratch};
use super::drive::ground::Ground;

const ASKED: [&str; 9] =
    ["rehearse", SNAPSHOT, "--roll", "web", "--require=all", "--seeds", "12", "--seeds-per-part", "5"];
const ON_CLUSTER: [&str; 5] =
    ["--on-cluster", "--container-image", "registry.example/replank:0.1.0", "-n", "default"];
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn manifests() -> Vec<Value> {
    let ran = replank(&[&ASKED[..], &ON_CLUSTER].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()["items"].as_array().expect("a list").clone()
}

/// The files of ConfigMaps, in a folder.
fn unpacked(maps: &[Value], folder: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&folder).expect("it can be made");
    for map in maps {
        for (file, held) in map["binaryData"].as_object().expect("it holds files") {
            let bytes = replank_intake::base64::decode(held.as_str().expect("text")).expect("it is base64");
            std::fs::write(folder.join(file), bytes).expect("it can be written");
        }
    }
    folder
}

/// Runs the command of one pod; what its kubelet would take for its termination message.
fn part(job: &Value, folder: &Path, index: usize) -> String {
    let message = folder.join(format!("message-{index}"));
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let words: Vec<String> = container["args"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|word| {
            let word = word.as_str().expect("text").replace("$(JOB_COMPLETION_INDEX)", &index.to_string());
            let word = word.replace("/dev/termination-log", &message.display().to_string());
            word.replace("/replank/input", &folder.display().to_string())
        })
        .collect();
    let ran = replank(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{words:?}: {ran:?}");
    std::fs::read_to_string(message).expect("it is written")
}

/// The newest pod of each part that has not failed.
fn pods(ground: &Ground, job: &str) -> BTreeMap<usize, String> {
    let path =
        format!("/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{job}");
    let list = ground.get(&path);
    let of = |pod: &Value| {
        let meta = &pod["metadata"];
        if pod["status"]["phase"] == "Failed" {
            return None;
        }
        let index = meta["annotations"]["batch.kubernetes.io/job-completion-index"].as_str()?.parse().ok()?;
        Some((index, meta["name"].as_str()?.to_owned()))
    };
    list["items"].as_array().expect("a list").iter().filter_map(of).collect()
}

/// A pod that ends with an error; or that is lost with its node, if that is why.
fn fail(ground: &Ground, pod: &str, code: u8, condition: Option<&str>) {
    let now = "2026-11-20T10:00:00Z";
    let ended =
        json!({"exitCode": code, "reason": "Error", "message": "", "startedAt": now, "finishedAt": now});
    let container = json!({"name": "replank", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": ended}});
    let conditions: Vec<Value> = condition
        .map(|kind| json!({"type": kind, "status": "True", "reason": "DeletionByTaintManager", "message": "", "lastTransitionTime": now}))
        .into_iter()
        .collect();
    ground.merge(
        &format!("/api/v1/namespaces/default/pods/{pod}/status"),
        &json!({"status": {"phase": "Failed", "conditions": conditions, "containerStatuses": [container]}}),
    );
}

fn end(ground: &Ground, pod: &str, message: &str) {
    let now = "2026-11-20T10:00:00Z";
    let ended = json!({"exitCode": 0, "reason": "Completed", "message": message, "startedAt": now, "finishedAt": now});
    let container = json!({"name": "replank", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": ended}});
    ground.merge(
        &format!("/api/v1/namespaces/default/pods/{pod}/status"),
        &json!({"status": {"phase": "Succeeded", "containerStatuses": [container]}}),
    );
}

fn many_seeds_in_a_job(ground: &Ground) {
    let (child, job) = begun(ground);
    let name = job["metadata"]["name"].as_str().expect("a name").to_owned();
    let file = ground.kubeconfig().to_str().expect("it is text").to_owned();
    let applied = [&ASKED[..], &ON_CLUSTER, &["--apply", "--kubeconfig", &file]].concat();
    let printed = manifests();
    let (same, maps) = printed.split_last().expect("there is a Job");
    assert_eq!(same["metadata"]["name"], job["metadata"]["name"], "the printed one is the same");
    let template = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(template["args"], same["spec"]["template"]["spec"]["containers"][0]["args"]);
    let folder = unpacked(maps, ground.folder.join("files"));

    for (index, pod) in pods(ground, &name) {
        let message = part(&job, &folder, index);
        assert!(message.len() < 4_096, "{}", message.len());
        end(ground, &pod, &message);
    }
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    let local = replank(&ASKED);
    assert!(local.stdout.contains("seed") && local.stdout.lines().count() > 14, "{local:?}");
    assert_eq!((ran.code, &ran.stdout), (local.code, &local.stdout), "{ran:?}");
    assert!(ran.stderr.contains(&format!("job.batch/{name} created in namespace default")), "{ran:?}");

    // Again, and with the page: that of one machine, too.
    let [here, there] = ["here.html", "there.html"]
        .map(|name| ground.folder.join(name).to_str().expect("it is text").to_owned());
    let reports = ground.folder.join("reports");
    let beside = ["--html", &there, "--reports", reports.to_str().expect("it is text")];
    let again = replank(&[&applied[..], &beside].concat());
    assert_eq!((again.code, &again.stdout), (local.code, &local.stdout), "{again:?}");
    assert_eq!(replank(&[&ASKED[..], &["--html", &here]].concat()).code, local.code);
    let [here, there] = [here, there].map(|path| std::fs::read_to_string(path).expect("it was written"));
    assert!(here.contains("The worst of 12 seeds, seed "), "{here}");
    assert_eq!(here, there);
    assert!(again.stderr.contains("already"), "{again:?}");
    assert_eq!(std::fs::read_to_string(reports.join("report.html")).expect("it was written"), there);
    assert!(!reports.join("report.md").exists() && !reports.join("annotations.txt").exists());
    assert!(again.stderr.contains("report.md and annotations.txt are not written to "), "{again:?}");
    let summary = |ran: &Ran| ran.json()["summary"].clone();
    let as_json = |arguments: &[&str]| replank(&[arguments, &["-o", "json"]].concat());
    let (ours, theirs) = (as_json(&applied), as_json(&ASKED));
    assert_eq!(summary(&ours), summary(&theirs));

    // What another cluster came to is not taken for this one's.
    let first = pods(ground, &name)[&0].clone();
    let foreign = part(&job, &folder, 0).replace("\"base\":\"", "\"base\":\"0");
    end(ground, &first, &foreign);
    let wrong = replank(&applied);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(6), ""), "{wrong:?}");
    assert!(
        wrong.stderr.contains("the result of part 0 cannot be used") && wrong.stderr.contains("seed 1"),
        "{wrong:?}"
    );
}

/// Begins a Job whose pods no node takes, as what becomes of them is the test's business, and returns the command that follows it, and the Job, once its pods are there.
fn begun(ground: &Ground) -> (Child, Value) {
    for number in 1..=3 {
        ground.merge(&format!("/api/v1/nodes/node-{number}"), &json!({"spec": {"unschedulable": true}}));
    }
    let file = ground.kubeconfig().to_str().expect("it is text").to_owned();
    let applied = [&ASKED[..], &ON_CLUSTER, &["--apply", "--kubeconfig", &file]].concat();
    let child =
        command(&applied).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run");
    ground.wait("the Job is there", |ground| {
        ground.get(JOBS)["items"].as_array().is_some_and(|all| all.len() == 1)
    });
    let job = ground.get(JOBS)["items"][0].clone();
    let name = job["metadata"]["name"].as_str().expect("a name");
    ground.wait("its pods are there", |ground| pods(ground, name).len() == 3);
    (child, job)
}

fn parts_that_fail(ground: &Ground) {
    let (child, job) = begun(ground);
    let name = job["metadata"]["name"].as_str().expect("a name").to_owned();
    let printed = manifests();
    let folder = unpacked(&printed[..printed.len() - 1], ground.folder.join("files"));
    let first = pods(ground, &name);
    fail(ground, &first[&0], 1, None);
    fail(ground, &first[&1], 137, Some("DisruptionTarget"));
    ground.wait("both are tried again", |ground| {
        let now = pods(ground, &name);
        now.len() == 3 && now[&0] != first[&0] && now[&1] != first[&1]
    });
    let again = pods(ground, &name);
    assert_eq!(again[&2], first[&2], "nothing has happened to it");
    let failures = |pod: &str| {
        let pod = ground.get(&format!("/api/v1/namespaces/default/pods/{pod}"));
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(failures(&again[&0]).as_deref(), Some("1"), "one of three retries is used");
    assert_eq!(failures(&again[&1]).as_deref(), Some("0"), "a lost node counts for nothing");
    for (index, pod) in again {
        end(ground, &pod, &part(&job, &folder, index));
    }
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    let local = replank(&ASKED);
    assert_eq!((ran.code, &ran.stdout), (local.code, &local.stdout), "{ran:?}");
}

#[test]
fn parts_that_fail_are_made_again_served() {
    parts_that_fail(&Ground::served("parts_that_fail"));
}

#[test]
fn parts_that_fail_are_made_again_real() {
    if let Some(ground) = Ground::real("parts_that_fail") {
        parts_that_fail(&ground);
    }
}

#[test]
fn what_no_pod_can_do_is_not_tried_again() {
    let ground = Ground::served("parts_that_cannot");
    let (child, job) = begun(&ground);
    let name = job["metadata"]["name"].as_str().expect("a name");
    fail(&ground, &pods(&ground, name)[&0], 2, None);
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(6), ""), "{ran:?}");
    assert!(ran.stderr.contains("PodFailurePolicy") && ran.stderr.contains("exit code 2"), "{ran:?}");
}

#[test]
fn many_seeds_in_a_job_served() {
    many_seeds_in_a_job(&Ground::served("many_seeds_in_a_job"));
}

#[test]
fn many_seeds_in_a_job_real() {
    if let Some(ground) = Ground::real("many_seeds_in_a_job") {
        many_seeds_in_a_job(&ground);
    }
}

#[test]
fn files_go_along_and_secrets_do_not() {
    let script = scratch(
        "on-cluster-script.txt",
        "at 10m: node ip-10-0-1-17.ap-northeast-1.compute.internal falls silent\n",
    );
    let secret = scratch(
        "on-cluster-secret.json",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}, "data": {"k": "aGlkZGVu"}}).to_string(),
    );
    let ran = replank(&[&ASKED[..], &ON_CLUSTER, &["--script", &script, &secret]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let items = ran.json()["items"].as_array().expect("a list").clone();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("on-cluster-files");
    let folder = unpacked(&items[..items.len() - 1], folder);
    let taken = std::fs::read_to_string(folder.join("0-on-cluster-script.txt")).expect("it is taken along");
    assert!(taken.contains("falls silent"));
    let snapshot = std::fs::File::open(folder.join("snapshot-0.json.gz")).expect("it is there");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(snapshot), &mut text)
        .expect("it is gzip");
    assert!(text.contains("\"Node\"") && !text.contains("aGlkZGVu"));
    let args = items[items.len() - 1]["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args.contains("--script=/replank/input/0-on-cluster-script.txt"), "{args}");
}

#[test]
fn what_cannot_be_done_on_a_cluster_is_said() {
    let asked = |more: &[&str]| replank(&[&ASKED[..], more].concat());
    assert!(asked(&["--on-cluster"]).usage_error().contains("--container-image"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).to_str().expect("text");
    let page = asked(&[&ON_CLUSTER[..], &["--html", "unwritten.html"]].concat());
    assert!(page.usage_error().contains("pass --apply"), "{page:?}");
    let directory = asked(&[&ON_CLUSTER[..], &["--script", folder]].concat());
    assert_eq!(directory.code, Some(2), "{directory:?}");
    let beyond = asked(&["--part", "3", "--part-file", "unwritten"]);
    assert!(beyond.usage_error().contains("there is no part 3 of 12 seeds"), "{beyond:?}");
    let part = ["--part", "0", "--part-file", "unwritten"];
    let both = asked(&[&ON_CLUSTER[..], &part].concat());
    let said = both.usage_error();
    assert!(said.contains("--part rehearses one part on this machine"), "{both:?}");
    assert!(said.contains("omit --on-cluster and --container-image"), "{both:?}");
    let example = replank(&[&["rehearse", "--seeds", "3"], &ON_CLUSTER[..]].concat());
    assert_eq!(example.code, Some(2), "{example:?}");
}

#[test]
fn the_pods_user_is_that_of_the_image() {
    let dockerfile = std::fs::read_to_string(root().join("image/Dockerfile")).expect("it is there");
    let job = manifests().pop().expect("there is a Job");
    let user = &job["spec"]["template"]["spec"]["securityContext"]["runAsUser"];
    assert!(dockerfile.contains(&format!("USER {user}:{user}\n")), "{user}");
}

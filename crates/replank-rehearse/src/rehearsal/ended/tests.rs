//! What ended batch pods, what became of their work, and what is found of it.

use replank_facts::finding::Severity;
use replank_model::delta::Delta;
use serde_json::{Value, json};

use super::*;

fn view(objects: &[Value]) -> View {
    let put = |value: &Value| Delta::Put(Object::from_json(value.clone()).expect("an object"));
    objects.iter().map(put).collect()
}

fn pod(name: &str, kind: &str, api: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml", "uid": name,
            "ownerReferences": [{"apiVersion": api, "kind": kind, "name": "own", "uid": "own", "controller": true}]},
        "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}})
}

#[test]
fn a_pod_that_somebody_deletes_is_named_with_what_became_of_its_workflow() {
    let argo = "argoproj.io/v1alpha1";
    let workflow = json!({"apiVersion": argo, "kind": "Workflow", "metadata": {"name": "own", "namespace": "ml", "uid": "own"}, "status": {"phase": "Failed"}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"}, "spec": {"template": {"spec": {}}}});
    let view = view(&[
        pod("a", "Workflow", argo),
        pod("b", "Job", "batch/v1"),
        pod("c", "Job", "batch/v1"),
        workflow,
        job,
    ]);
    let of = |name: &str| view.pods.by_key(&Key::new("ml", name)).expect("it is there").clone();
    let mut ended = Ended::default();
    for name in ["a", "b", "c"] {
        ended.changed(Time::from_millis(0), &view, &of(name), None);
    }
    ended.evicted(&of("c"));
    let told = |whom: EndedFor| -> Vec<_> {
        ended.at_end(&view).of(whom).into_iter().map(|one| (one.pod, one.owner, one.outcome)).collect()
    };
    assert_eq!(
        told(EndedFor::Others),
        [
            ("ml/a".to_owned(), "Workflow ml/own".to_owned(), Outcome::Failed),
            ("ml/b".to_owned(), "Job ml/own".to_owned(), Outcome::Running),
        ]
    );
    assert_eq!(told(EndedFor::Run), [("ml/c".to_owned(), "Job ml/own".to_owned(), Outcome::Running)]);
    // One that is done, or was on its way out, is none.
    let mut done = Ended::default();
    let mut finished = (*of("a")).clone();
    finished.status.phase = replank_model::object::pod::PodPhase::Succeeded;
    done.changed(Time::from_millis(0), &view, &finished, None);
    assert!(done.at_end(&view).of(EndedFor::Others).is_empty());
}

/// As evictions name it.
#[test]
fn what_a_cron_workflow_runs_is_named_by_it_with_the_workflow_that_failed() {
    let argo = "argoproj.io/v1alpha1";
    let mut step = pod("a", "Workflow", argo);
    step["metadata"]["labels"] = json!({"workflows.argoproj.io/cron-workflow": "etl"});
    let workflow = json!({"apiVersion": argo, "kind": "Workflow", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
        "spec": {}, "status": {"phase": "Failed"}});
    let view = view(&[step, workflow]);
    let old = view.pods.by_key(&Key::new("ml", "a")).expect("it is there").clone();
    let mut ended = Ended::default();
    ended.changed(Time::from_millis(0), &view, &old, None);
    let mut findings = Vec::new();
    ended.at_end(&view).find(&mut findings);
    let [found] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(found.object, "CronWorkflow ml/etl");
    assert!(found.reason.starts_with("Workflow ml/own failed in the rehearsal: "), "{}", found.reason);
    assert!(found.reason.contains("the next one starts at its time"), "{}", found.reason);
}

/// One list of words, whether somebody known asked for it or the pod says so itself.
#[test]
fn what_ended_a_pod_is_one_word() {
    let word = |by: EndedBy| serde_json::to_value(by).expect("it can be written");
    assert_eq!(word(EndedBy::Asked(By::Replank)), "replank");
    assert_eq!(word(EndedBy::Asked(By::Eks)), "eks");
    assert_eq!(word(EndedBy::NodeGone), "nodeGone");
}

/// The pod as the control plane leaves it that disrupts it.
fn disrupted(mut pod: Value, reason: &str) -> Value {
    pod["status"]["conditions"] = json!([{"type": "DisruptionTarget", "status": "True", "reason": reason}]);
    pod
}

fn ended_by_others(mut pods: Vec<Value>, job_fails: bool, annotation: Option<&str>) -> Vec<FindingEntry> {
    let conditions = if job_fails { json!([{"type": "Failed", "status": "True"}]) } else { json!([]) };
    for pod in &mut pods {
        if let Some(value) = annotation {
            pod["metadata"]["annotations"] = json!({rerun::RERUN: value});
        }
    }
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
        "spec": {"template": {"spec": {}}}, "status": {"conditions": conditions}});
    let names: Vec<String> =
        pods.iter().map(|pod| pod["metadata"]["name"].as_str().expect("a name").to_owned()).collect();
    let view = view(&[pods, vec![job]].concat());
    let mut ended = Ended::default();
    for name in names {
        let pod = view.pods.by_key(&Key::new("ml", name.as_str())).expect("it is there").clone();
        ended.changed(Time::from_millis(0), &view, &pod, None);
    }
    let mut findings = Vec::new();
    ended.at_end(&view).find(&mut findings);
    findings
}

#[test]
fn work_that_fails_because_somebody_ends_its_pod_is_found() {
    let found = ended_by_others(vec![pod("a", "Job", "batch/v1"), pod("b", "Job", "batch/v1")], true, None);
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (found.id, found.severity, found.object.as_str()),
        ("batch-failed", Severity::Warning, "Job ml/own")
    );
    assert_eq!(
        found.reason,
        "failed in the rehearsal: something other than the run deleted pod ml/a (and 1 more); nothing in the snapshot says who is alerted"
    );
    assert!(
        found.remedy.contains("action: Ignore") && found.remedy.contains("kube_job_failed"),
        "{}",
        found.remedy
    );
    // What must not be run again is only to be kept, and nothing keeps what is deleted.
    let found = ended_by_others(vec![pod("a", "Job", "batch/v1")], true, Some("unsafe"));
    assert!(found[0].remedy.starts_with("no setting keeps a pod that is deleted"), "{}", found[0].remedy);
    let evicted = disrupted(pod("a", "Job", "batch/v1"), "EvictionByEvictionAPI");
    let found = ended_by_others(vec![evicted], true, Some("unsafe"));
    assert!(found[0].remedy.starts_with("keep every drain from it"), "{}", found[0].remedy);
    let mut bare = pod("a", "Job", "batch/v1");
    bare["metadata"]["ownerReferences"] = json!([]);
    let found = ended_by_others(vec![bare], false, None);
    assert!(found[0].reason.starts_with("lost in the rehearsal"), "{}", found[0].reason);
}

#[test]
fn pods_that_a_job_deletes_because_it_has_failed_are_no_reason_for_it() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
        "spec": {"template": {"spec": {}}}, "status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}});
    let view = view(&[pod("a", "Job", "batch/v1"), job]);
    let found = |deleted: i64, failed: i64| {
        let mut ended = Ended::default();
        let pod = view.pods.by_key(&Key::new("ml", "a")).expect("it is there").clone();
        ended.changed(Time::from_millis(deleted), &view, &pod, None);
        ended.job_changed(
            Time::from_millis(failed),
            view.jobs.by_key(&Key::new("ml", "own")).expect("it is there"),
        );
        let mut findings = Vec::new();
        ended.at_end(&view).find(&mut findings);
        findings.len()
    };
    assert_eq!((found(5_000, 5_000), found(5_000, 7_000)), (0, 1));
}

#[test]
fn work_that_is_taken_up_again_is_not_found() {
    assert_eq!(ended_by_others(vec![pod("a", "Job", "batch/v1")], false, None), []);
}

/// A Job that has failed, and its pod.
fn failed_job() -> View {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
        "spec": {"template": {"spec": {}}}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}});
    view(&[pod("a", "Job", "batch/v1"), job])
}

fn of(value: Value) -> Pod {
    let Ok(Object::Pod(pod)) = Object::from_json(value) else { panic!("a pod") };
    Pod::clone(&pod)
}

/// What is found when the pod of the failed Job has changed in one way, after what a test does to the notes.
fn found_after(new: Option<Value>, prepare: impl FnOnce(&mut Ended, &Pod)) -> (usize, Vec<FindingEntry>) {
    let view = failed_job();
    let old = view.pods.by_key(&Key::new("ml", "a")).expect("it is there").clone();
    let mut ended = Ended::default();
    prepare(&mut ended, &old);
    ended.changed(Time::from_millis(0), &view, &old, new.map(of).as_ref());
    let mut findings = Vec::new();
    ended.at_end(&view).find(&mut findings);
    (ended.count(), findings)
}

#[test]
fn work_that_a_kubelet_evicts_is_found_though_its_pod_is_still_there() {
    let mut evicted = disrupted(pod("a", "Job", "batch/v1"), "TerminationByKubelet");
    evicted["status"]["phase"] = "Failed".into();
    evicted["status"]["message"] = "The node was low on resource: memory. ".into();
    let (count, found) = found_after(Some(evicted.clone()), |_, _| {});
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(count, 1);
    assert!(
        found.reason.starts_with(
            "failed in the rehearsal: the kubelet of node n evicted pod ml/a (The node was low on resource: memory); "
        ),
        "{}",
        found.reason
    );
    assert!(found.remedy.contains("action: Ignore"), "{}", found.remedy);
    assert!(found.remedy.contains("resources.requests"), "{}", found.remedy);
    assert!(!found.remedy.contains("disruption budget"), "a kubelet asks none: {}", found.remedy);
    // One that fails by itself was ended by nobody.
    evicted["status"]["conditions"] = json!([]);
    assert_eq!(found_after(Some(evicted), |_, _| {}), (0, Vec::new()));
}

/// Nothing can be requested of process ids and inodes.
#[test]
fn what_helps_against_a_kubelet_depends_on_what_its_node_was_short_of() {
    let remedy = |resource: &str| {
        let mut evicted = disrupted(pod("a", "Job", "batch/v1"), "TerminationByKubelet");
        evicted["status"]["phase"] = "Failed".into();
        evicted["status"]["message"] = format!("The node was low on resource: {resource}. ").into();
        found_after(Some(evicted), |_, _| {}).1.pop().expect("it is found").remedy
    };
    for (resource, helps) in [("pids", "podPidsLimit"), ("inodes", "write fewer files")] {
        let remedy = remedy(resource);
        assert!(remedy.contains(helps) && !remedy.contains("resources.requests"), "{resource}: {remedy}");
    }
    for resource in ["memory", "ephemeral-storage"] {
        let remedy = remedy(resource);
        assert!(remedy.contains("resources.requests") && !remedy.contains("podPids"), "{resource}: {remedy}");
    }
}

#[test]
fn what_is_done_with_a_pod_that_its_kubelet_has_evicted_has_not_ended_it() {
    let mut evicted = disrupted(pod("a", "Job", "batch/v1"), "TerminationByKubelet");
    evicted["status"]["phase"] = "Failed".into();
    let (_, found) = found_after(Some(evicted), |ended, pod| ended.evicted_by(Asker::Person, pod));
    assert!(found[0].reason.contains("the kubelet of node n evicted"), "{}", found[0].reason);
}

#[test]
fn an_eviction_by_eks_is_named_with_what_a_budget_does_to_its_update() {
    let evicted = disrupted(pod("a", "Job", "batch/v1"), "EvictionByEvictionAPI");
    let mut going = evicted.clone();
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let by = |asker: Asker| {
        let (count, mut found) = found_after(Some(going.clone()), |ended, pod| ended.evicted_by(asker, pod));
        assert_eq!(count, 1);
        found.pop().expect("it is found")
    };
    let (eks, person) = (by(Asker::Eks), by(Asker::Person));
    let begins = |entry: &FindingEntry, with: &str| {
        assert!(entry.reason.starts_with(&format!("failed in the rehearsal: {with}; ")), "{}", entry.reason);
    };
    begins(&eks, "EKS drained node n and evicted pod ml/a");
    begins(&person, "somebody evicted pod ml/a by hand");
    assert!(
        eks.remedy.contains("EKS's own update of the group then fails after 15 minutes"),
        "{}",
        eks.remedy
    );
    assert!(
        person.remedy.contains("disruption budget") && !person.remedy.contains("EKS"),
        "{}",
        person.remedy
    );
    // Of what the run itself evicts nothing is found.
    let (count, found) = found_after(Some(going.clone()), Ended::evicted);
    assert_eq!((count, found), (1, Vec::new()));
}

#[test]
fn a_budget_is_advised_where_the_pod_went_by_an_eviction_only() {
    let remedy = |reason: &str| {
        let (_, found) = found_after(None, |_, _| {});
        assert!(!found[0].remedy.contains("disruption budget"), "a deletion: {}", found[0].remedy);
        let mut going = disrupted(pod("a", "Job", "batch/v1"), reason);
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let (_, mut found) = found_after(Some(going), |_, _| {});
        found.pop().expect("it is found").remedy
    };
    assert!(remedy("EvictionByEvictionAPI").contains("disruption budget"));
    for (reason, advised) in [
        ("PreemptionByScheduler", "priorityClassName"),
        ("DeletionByTaintManager", "tolerate the taint"),
        ("DeletionByPodGC", "action: Ignore"),
    ] {
        let remedy = remedy(reason);
        assert!(remedy.contains(advised) && !remedy.contains("disruption budget"), "{reason}: {remedy}");
    }
}

#[test]
fn pods_that_a_workflow_deletes_because_it_ends_are_no_reason_for_it() {
    let argo = "argoproj.io/v1alpha1";
    let found = |deleted: &str, spec: Value, failed: Option<&str>| {
        let workflow = json!({"apiVersion": argo, "kind": "Workflow", "metadata": {"name": "own", "namespace": "ml", "uid": "own"}, "spec": spec,
            "status": {"phase": "Failed", "startedAt": "2026-01-01T00:00:00Z"}});
        let view = view(&[pod("a", "Workflow", argo), workflow]);
        let at = |time: &str| time.parse::<Time>().expect("a time");
        let mut ended = Ended::default();
        let of = view.pods.by_key(&Key::new("ml", "a")).expect("it is there").clone();
        ended.changed(at(deleted), &view, &of, None);
        let key = Key::new("ml", "own");
        let known = view.other("argoproj.io", "Workflow", &key).expect("it is there");
        if let Some(failed) = failed {
            ended.workflow_changed(at(failed), known);
        }
        let mut findings = Vec::new();
        ended.at_end(&view).find(&mut findings);
        findings.len()
    };
    let hour = json!({"activeDeadlineSeconds": 3600});
    assert_eq!(found("2026-01-01T00:59:59Z", hour.clone(), None), 1, "before its deadline");
    assert_eq!(found("2026-01-01T01:00:00Z", hour, None), 0, "at its deadline");
    let none = json!({});
    assert_eq!(found("2026-01-01T00:10:00Z", none.clone(), Some("2026-01-01T00:10:05Z")), 1);
    assert_eq!(found("2026-01-01T00:10:00Z", none, Some("2026-01-01T00:10:00Z")), 0, "it has failed already");
    let stopped = json!({"shutdown": "Terminate"});
    assert_eq!(found("2026-01-01T00:10:00Z", stopped, None), 0, "somebody wanted it");
}

#[test]
fn a_workflow_is_read_once_for_all_of_its_pods() {
    let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
        "spec": {"onExit": "notify"}, "status": {"phase": "Failed"}});
    let owner = ("Workflow".to_owned(), Key::new("ml", "own"));
    let mut owners = Owners::default();
    let mut told = |view: &View| {
        let fate = owners.fate(view, &BTreeMap::new(), &owner);
        (fate.outcome, in_words(&fate.alerted))
    };
    let first = told(&view(&[workflow]));
    assert_eq!(first, (Outcome::Failed, "who is alerted: exit handler notify".to_owned()));
    assert_eq!(told(&View::default()), first, "the view is not asked again");
}

//! At which nodes EKS's own update of their managed group would give up, read off the snapshot without a simulation.
//!
//! EKS drains a node by evictions for 15 minutes; with a pod left on it the update fails (`PodEvictionFailure`; EKS user guide, "Understand each phase of node
//! updates"). Each pod of a node is held against that: what its budget lets go, how long its replacement takes to be Ready, how long it may take to stop.

mod at_once;
mod hold;

use std::collections::BTreeMap;

use replank_facts::batch::end::End;
use replank_facts::budget::{how_to_give_slack, ignores_budgets, uncounted};
use replank_facts::drain::is_daemon;
use replank_facts::workload::workload_of;
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_EKS_NODEGROUP, Node};
use replank_model::object::pod::Pod;
use replank_model::object::policy::{PodDisruptionBudget, UnhealthyPodEvictionPolicy};
use replank_model::time::Span;
use replank_model::view::Ix;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::pdb_slow::{DRAIN_MAX, longest_wait, ready_after};
use super::scale;
use hold::{Hold, Sure, named};

/// Reasons that are written out for a node.
const TOLD: usize = 3;

/// The nodes of managed groups at which an update would give up, or may.
pub(in super::super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let nodes = survey.node_objects().filter(|node| node.meta.labels.contains_key(LABEL_EKS_NODEGROUP));
    nodes.filter_map(|node| of_node(survey, node)).collect()
}

fn of_node(survey: &Survey<'_>, node: &Node) -> Option<Finding> {
    let leaving: Vec<&Pod> = survey
        .view
        .sorted_pods_on(&node.name())
        .into_iter()
        .map(|pod| &**pod)
        .filter(|pod| !is_daemon(pod) && !pod.is_mirror() && !pod.is_terminal())
        .collect();
    let mut holds: Vec<Hold> = leaving.iter().filter_map(|pod| terminating(survey, pod)).collect();
    if !node.is_ready() && !leaving.is_empty() {
        holds.push(Hold::new(
            Sure::Possible,
            "it is not Ready: pods that are evicted stay until its kubelet is back".to_owned(),
            format!("kubectl describe node {}   # repair or terminate it before the update", node.meta.name),
        ));
    }
    let mut by_budget: BTreeMap<Vec<Ix<PodDisruptionBudget>>, Vec<&Pod>> = BTreeMap::new();
    for pod in leaving.iter().copied().filter(|pod| !pod.is_terminating()) {
        let ix = survey.view.pods.find(&pod.meta.key());
        let budgets = ix.filter(|_| !ignores_budgets(pod)).map_or(&[][..], |ix| survey.view.budgets_of(ix));
        by_budget.entry(budgets.to_vec()).or_default().push(pod);
    }
    for (budgets, pods) in &by_budget {
        match budgets.as_slice() {
            [] => holds.extend(long_grace(survey, None, pods, pods.len())),
            [only] => holds.extend(under(survey, node, *only, pods)),
            several => holds.push(covered_twice(survey, several, pods)),
        }
    }
    holds.sort();
    let worst = holds.first()?.clone();
    let mut told: Vec<&str> = holds.iter().take(TOLD).map(|hold| &*hold.what).collect();
    let more = holds.len().saturating_sub(TOLD);
    let rest = format!("and {more} more");
    if more > 0 {
        told.push(&rest);
    }
    let (severity, head) = match worst.sure {
        Sure::Certain => {
            (Severity::Blocking, "EKS's own update gives up on it after 15m (PodEvictionFailure)")
        }
        Sure::Possible => (Severity::Warning, "EKS's own update may give up on it after 15m"),
    };
    Some(Finding {
        rule: Rule::ManagedUpdate,
        severity,
        object: ObjectName::new("Node", Key::cluster(node.meta.name.as_str())),
        reason: format!("{head}: {}", told.join("; ")),
        remedy: worst.remedy.into(),
    })
}

/// A pod that was to be gone long ago.
fn terminating(survey: &Survey<'_>, pod: &Pod) -> Option<Hold> {
    let late = survey.now() - pod.meta.deletion_timestamp?;
    (late > DRAIN_MAX).then(|| {
        Hold::new(
            Sure::Certain,
            format!("{} has been terminating for {late} beyond its grace period", named(survey, &[pod])),
            "find out why it does not stop (replank explain stuck-before): EKS waits for it",
        )
    })
}

fn covered_twice(survey: &Survey<'_>, budgets: &[Ix<PodDisruptionBudget>], pods: &[&Pod]) -> Hold {
    let names: Vec<String> =
        budgets.iter().map(|ix| survey.view.pod_disruption_budgets[*ix].meta.key().to_string()).collect();
    Hold::new(
        Sure::Certain,
        format!(
            "{}: covered by disruption budgets {}, and the API server evicts no such pod",
            named(survey, pods),
            names.join(" and ")
        ),
        "leave one budget for it (replank explain pdb-several)",
    )
}

/// Pods of a node under one budget.
fn under(survey: &Survey<'_>, node: &Node, ix: Ix<PodDisruptionBudget>, pods: &[&Pod]) -> Option<Hold> {
    let budget = &survey.view.pod_disruption_budgets[ix];
    let (key, status) = (budget.meta.key(), &budget.status);
    let subjects = survey.budgets.get(&ix).map_or(&[][..], Vec::as_slice);
    let subjects: Vec<&Subject> = survey.subjects_of(subjects).collect();
    let why = uncounted(budget);
    let slack = scale::settled(survey, ix).saturating_sub(status.desired_healthy);
    let slack = usize::try_from(slack).ok().filter(|slack| *slack > 0 && why.is_none());
    let Some(slack) = slack else {
        // What ends by itself is kept until then, by whatever rule the budget does so.
        if pods.iter().all(|pod| ends(survey, &subjects, pod)) {
            return until_done(survey, &key, pods);
        }
        return Some(match why {
            Some(why) => never_counted(survey, &key, &why, pods),
            None => never(survey, ix, pods),
        });
    };
    let is_exempt = |pod: &Pod| {
        let always = UnhealthyPodEvictionPolicy::AlwaysAllow;
        !pod.is_ready() && budget.spec.unhealthy_pod_eviction_policy == Some(always)
    };
    if status.disruptions_allowed == 0
        && status.disrupted_pods.is_empty()
        && !pods.iter().all(|pod| is_exempt(pod))
    {
        return Some(Hold::new(
            Sure::Possible,
            format!(
                "{}: disruption budget {key} allows no eviction now ({} of {} healthy, {} must stay)",
                named(survey, pods),
                status.current_healthy,
                status.expected_pods,
                status.desired_healthy
            ),
            "repair the pods that are not Ready before the update (replank explain pdb-unready)",
        ));
    }
    slow(survey, (&key, slack), &subjects, pods)
        .or_else(|| at_once::crowded(survey, node, (&key, slack), &subjects, pods))
        .or_else(|| long_grace(survey, Some(&key), pods, slack))
}

/// Whether a pod ends by itself; one on a dead node is none of the subjects.
fn ends(survey: &Survey<'_>, subjects: &[&Subject], pod: &Pod) -> bool {
    workload_of(survey.view, pod).is_some_and(|workload| workload.is_batch())
        || subjects.iter().any(|subject| subject.pod.meta.name == pod.meta.name && subject.ends())
}

fn never_counted(survey: &Survey<'_>, budget: &Key, why: &str, pods: &[&Pod]) -> Hold {
    Hold::new(
        Sure::Certain,
        format!("{}: disruption budget {budget} allows no eviction ({why})", named(survey, pods)),
        "set the budget's minAvailable to a number lower than its number of pods (replank explain pdb-not-counted)",
    )
}

fn never(survey: &Survey<'_>, ix: Ix<PodDisruptionBudget>, pods: &[&Pod]) -> Hold {
    let budget = &survey.view.pod_disruption_budgets[ix];
    let status = &budget.status;
    Hold::new(
        Sure::Certain,
        format!(
            "{}: disruption budget {} never allows an eviction ({} of {} must stay)",
            named(survey, pods),
            budget.meta.key(),
            status.desired_healthy,
            status.expected_pods
        ),
        how_to_give_slack(survey.view, ix, scale::settled(survey, ix)),
    )
}

/// Batch pods that a budget keeps until they are done. One that cannot be over in time is named first; how long to wait, the last of them tells.
fn until_done(survey: &Survey<'_>, budget: &Key, pods: &[&Pod]) -> Option<Hold> {
    let over = survey.now() + DRAIN_MAX;
    let ends: Vec<End> = pods.iter().map(|pod| End::of(survey.view, survey.now(), pod)).collect();
    let end = ends.iter().max_by_key(|end| (!end.may_come_by(over), **end))?;
    let last = ends.iter().max()?;
    Some(Hold::new(
        if end.may_come_by(over) { Sure::Possible } else { Sure::Certain },
        format!("{}: disruption budget {budget} keeps it until it has finished; {end}", named(survey, pods)),
        format!(
            "begin the update {}, or move the nodes into another group (target.group in the plan), where it is waited for",
            last.when()
        ),
    ))
}

/// A budget that lets the pods of this node go one after the other: each waits for the replacement of the one before.
fn slow(
    survey: &Survey<'_>,
    (budget, slack): (&Key, usize),
    subjects: &[&Subject],
    pods: &[&Pod],
) -> Option<Hold> {
    let ready = ready_after(subjects)?;
    let wait = longest_wait(ready, (pods.len(), subjects.len()), slack);
    if subjects.len() <= slack || wait <= DRAIN_MAX {
        return None;
    }
    // The first wait depends on what was evicted elsewhere just before.
    let own = longest_wait(ready, (pods.len(), pods.len()), slack);
    let sure = if own > DRAIN_MAX { Sure::Certain } else { Sure::Possible };
    let what = format!(
        "{}: disruption budget {budget} lets {slack} go at a time, and the next when its replacement is Ready, which took {ready}: up to {wait}",
        named(survey, pods)
    );
    Some(Hold::new(
        sure,
        what,
        "let more pods go at a time, make pods Ready sooner, or move the nodes into another group (target.group in the plan), where evictions are waited for",
    ))
}

/// Pods that may take longer to stop: all at once, or so many after each other as a budget lets go at a time.
fn long_grace(survey: &Survey<'_>, budget: Option<&Key>, pods: &[&Pod], at_a_time: usize) -> Option<Hold> {
    let mut graces: Vec<(Span, &Pod)> =
        pods.iter().map(|pod| (Span::from_secs(pod.grace_seconds()), *pod)).collect();
    graces.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.meta.key().cmp(&other.meta.key())));
    let (longest, first) = *graces.first()?;
    let rounds = graces.chunks(at_a_time.max(1)).map(|round| round[0].0);
    let all = rounds.fold(Span::ZERO, |sum, one| sum + one);
    if all <= DRAIN_MAX {
        return None;
    }
    let what = match budget.filter(|_| pods.len() > at_a_time) {
        Some(budget) => format!(
            "{} under disruption budget {budget}, {at_a_time} at a time, with grace periods of up to {longest}: {all} if all are used",
            named(survey, pods)
        ),
        None => format!("{} has a grace period of {longest}", named(survey, &[first])),
    };
    Some(Hold::new(
        Sure::Possible,
        what,
        "shorten the grace period if that is more than it needs, or move the nodes into another group (target.group in the plan), where Replank waits",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, merge, node, options, pod, service, view};

    fn found(objects: Vec<Value>) -> Vec<String> {
        let found = super::super::super::managed_update(&view(objects), None, &options(), &[]);
        assert!(found.iter().all(|finding| !finding.remedy.is_empty()), "{found:?}");
        found.iter().map(ToString::to_string).collect()
    }

    /// Pods on nodes that were Ready so many minutes after their start.
    fn web(nodes: &[&str], minutes: u64, extra: Value) -> Vec<Value> {
        let ready = format!("2026-01-01T10:{minutes:02}:00Z");
        let mut all = json!({"status": {"startTime": "2026-01-01T10:00:00Z", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]}});
        merge(&mut all, extra);
        service("web", nodes, &all)
    }

    #[test]
    fn a_budget_without_slack_stops_it_and_one_with_slack_does_not() {
        let with = |least: i32| {
            let own = budget("web", &json!({"minAvailable": least}), (2, least, 2));
            found([vec![node("n", "a"), node("m", "b"), own], web(&["n", "m"], 1, json!({}))].concat())
        };
        assert_eq!(
            with(2)[1],
            "blocking managed-update Node n: EKS's own update gives up on it after 15m (PodEvictionFailure): pod shop/web-a of Deployment shop/web: disruption budget \
             shop/web never allows an eviction (2 of 2 must stay)"
        );
        assert_eq!(with(2).len(), 2, "every node is named");
        assert_eq!(with(1), [""; 0]);
    }

    #[test]
    fn only_nodes_of_managed_groups_are_looked_at() {
        let mut own = node("n", "a");
        own["metadata"]["labels"] = json!({});
        let budget = budget("web", &json!({"minAvailable": 1}), (1, 1, 1));
        assert_eq!(found([vec![own, budget], web(&["n"], 1, json!({}))].concat()), [""; 0]);
    }

    #[test]
    fn pods_that_go_one_after_the_other_are_added_up() {
        let with = |nodes: &[&str], minutes| {
            let all = i32::try_from(nodes.len()).expect("few");
            let own = budget("web", &json!({"maxUnavailable": 1}), (all, all - 1, all));
            found([vec![node("n", "a"), node("m", "b"), own], web(nodes, minutes, json!({}))].concat())
        };
        let three = with(&["n", "n", "n"], 8);
        assert!(
            three[0].starts_with("blocking") && three[0].ends_with("which took 8m: up to 16m"),
            "{three:?}"
        );
        assert_eq!(with(&["n", "n", "n"], 7), [""; 0], "14 minutes");
        let two = with(&["n", "m"], 22);
        assert!(two.iter().all(|one| one.starts_with("warning")) && two.len() == 2, "{two:?}");
    }

    #[test]
    fn a_long_grace_may_stop_it() {
        let with = |seconds: i64| {
            let extra = json!({"spec": {"terminationGracePeriodSeconds": seconds}});
            found([vec![node("n", "a")], web(&["n"], 1, extra)].concat())
        };
        assert_eq!(
            with(901),
            [
                "warning managed-update Node n: EKS's own update may give up on it after 15m: pod shop/web-a of Deployment shop/web has a grace period of 15m1s"
            ]
        );
        assert_eq!(with(900), [""; 0]);
    }

    #[test]
    fn a_run_that_a_budget_keeps_stops_it_unless_it_ends_in_time() {
        let of = |began: &str, entrypoint: &str| {
            let spec = json!({"entrypoint": entrypoint, "templates": [
                {"name": "all", "container": {}}, {"name": "steps", "steps": [[{"name": "a", "template": "all"}]]}]});
            let run = |name: &str, status: Value| {
                json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
                    "metadata": {"name": name, "namespace": "shop", "labels": {"workflows.argoproj.io/cron-workflow": "etl"}}, "spec": spec, "status": status})
            };
            let before = json!({"phase": "Succeeded", "startedAt": "2025-12-31T08:00:00Z", "finishedAt": "2025-12-31T10:00:00Z"});
            let labels = json!({"metadata": {"labels": {"app": "etl-2"}}});
            found(vec![
                node("n", "a"),
                run("etl-1", before),
                run("etl-2", json!({"phase": "Running", "startedAt": began})),
                pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "etl-2")), labels),
                budget("etl-2", &json!({"minAvailable": 9999}), (1, 9999, 1)),
            ])
        };
        let with = |began: &str| of(began, "all");
        let long = with("2026-01-01T11:00:00Z");
        assert!(
            long[0].starts_with("blocking")
                && long[0].ends_with("expected to finish by 2026-01-01T13:00:00Z, in 1h"),
            "{long:?}"
        );
        let soon = with("2026-01-01T10:10:00Z");
        assert!(soon[0].starts_with("warning") && soon[0].ends_with("in 10m"), "{soon:?}");
        // One step of several may be over at any time.
        assert!(of("2026-01-01T11:00:00Z", "steps")[0].starts_with("warning"));
    }

    /// A pod of a Job that began at 11:00, of which others took so many minutes, under a budget that cannot count it.
    fn uncounted_job(minutes: &[u32]) -> Vec<super::Finding> {
        let job = Some(("batch/v1", "Job", "train"));
        let labels = json!({"metadata": {"labels": {"app": "train"}}});
        let container =
            |state: Value| json!({"status": {"containerStatuses": [{"name": "c", "state": state}]}});
        let mut objects = vec![node("n", "a")];
        for minutes in minutes {
            let end = format!("2026-01-01T{:02}:{:02}:00Z", 8 + minutes / 60, minutes % 60);
            let mut done = labels.clone();
            merge(
                &mut done,
                container(
                    json!({"terminated": {"exitCode": 0, "startedAt": "2026-01-01T08:00:00Z", "finishedAt": end}}),
                ),
            );
            merge(&mut done, json!({"status": {"phase": "Succeeded"}}));
            objects.push(pod(&format!("train-{minutes}"), "n", job, done));
        }
        let mut running = labels;
        merge(&mut running, container(json!({"running": {"startedAt": "2026-01-01T11:00:00Z"}})));
        objects.push(pod("train", "n", job, running));
        let mut own = budget("train", &json!({"maxUnavailable": 0}), (0, 0, 0));
        own["status"]["conditions"] = json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed",
            "message": "jobs.batch does not implement the scale subresource"}]);
        objects.push(own);
        super::super::super::managed_update(&view(objects), None, &options(), &[])
    }

    #[test]
    fn a_budget_that_counts_nothing_keeps_batch_pods_until_they_are_done() {
        let told = |minutes: &[u32]| {
            let found = uncounted_job(minutes);
            assert_eq!(found.len(), 1, "{found:?}");
            (found[0].to_string(), found[0].remedy.text())
        };
        let (soon, remedy) = told(&[70, 90]);
        assert_eq!(
            soon,
            "warning managed-update Node n: EKS's own update may give up on it after 15m: pod shop/train of Job shop/train: disruption budget shop/train keeps it \
             until it has finished; expected to finish by 2026-01-01T12:30:00Z, in 30m (2 other pods of its Job, which took 1h10m to 1h30m)"
        );
        assert_eq!(
            remedy,
            "begin the update after 2026-01-01T12:30:00Z, or move the nodes into another group (target.group in the plan), where it is waited for"
        );
        let (late, _) = told(&[76, 90]);
        assert!(
            late.starts_with("blocking"),
            "none took so short a time that it is over in 15 minutes: {late}"
        );
        let (unknown, remedy) = told(&[]);
        assert!(
            unknown.starts_with("warning")
                && unknown.ends_with("nothing in the snapshot shows how long it takes"),
            "it may end at any moment: {unknown}"
        );
        assert!(remedy.starts_with("begin the update when it has finished, or move"), "{remedy}");
    }

    #[test]
    fn what_a_budget_counts_nothing_of_and_goes_on_for_ever_stops_it() {
        let own = |owner: (&str, &str, &str)| {
            let mut own = budget("b", &json!({"maxUnavailable": 0}), (0, 0, 0));
            own["status"]["conditions"] = json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}]);
            let labels = json!({"metadata": {"labels": {"app": "b"}}});
            found(vec![node("n", "a"), own, pod("p", "n", Some(owner), labels)])
        };
        let stays = own(("example.com/v1", "Brokers", "b"));
        assert!(
            stays[0].starts_with("blocking") && stays[0].ends_with("allows no eviction (no scale)"),
            "{stays:?}"
        );
    }

    #[test]
    fn a_replica_more_is_advised_only_where_it_helps() {
        let remedy = |spec: &Value| {
            let own = budget("web", spec, (2, 2, 2));
            let all = [vec![node("n", "a"), own], web(&["n", "n"], 1, json!({}))].concat();
            let found = super::super::super::managed_update(&view(all), None, &options(), &[]);
            found[0].remedy.text()
        };
        assert!(
            remedy(&json!({"minAvailable": 2})).contains("add a replica, or use maxUnavailable: 1 instead")
        );
        for spec in
            [json!({"minAvailable": "100%"}), json!({"maxUnavailable": 0}), json!({"maxUnavailable": "0%"})]
        {
            let told = remedy(&spec);
            assert!(
                told.starts_with("give the budget slack: use maxUnavailable: 1 instead; with ")
                    && told.contains("another replica does not help"),
                "{told}"
            );
        }
    }

    #[test]
    fn what_is_stuck_or_covered_twice_stops_it() {
        let deleted = |at: &str| {
            let extra = json!({"metadata": {"deletionTimestamp": at, "deletionGracePeriodSeconds": 30}});
            found(vec![node("n", "a"), pod("p", "n", Some(("v1", "ReplicationController", "r")), extra)])
        };
        assert!(deleted("2026-01-01T11:00:00Z")[0].contains("terminating for 1h beyond its grace period"));
        assert_eq!(deleted("2026-01-01T11:59:00Z"), [""; 0], "on its way");
        let mut second = budget("web-2", &json!({"minAvailable": 0}), (2, 0, 2));
        second["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        let first = budget("web", &json!({"minAvailable": 0}), (2, 0, 2));
        let twice = found([vec![node("n", "a"), first, second], web(&["n", "n"], 1, json!({}))].concat());
        assert!(twice[0].contains("2 pods such as shop/web-a of Deployment shop/web: covered by disruption budgets shop/web and shop/web-2"), "{twice:?}");
    }
}

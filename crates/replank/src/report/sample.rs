//! Results made by hand, for tests of the report.

use std::collections::BTreeMap;

use replank_facts::batch::alerted::Alerted;
use replank_facts::batch::alerts::Alert;
use replank_facts::finding::Severity;
use replank_facts::remedy::blocks;
use replank_model::object::meta::Key;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_protocol::record::MadeOf;
use replank_protocol::waiting::{PodWait, RollWait, WaitingOn};
use replank_rehearse::{
    AssumptionEntry, AutoscalerFigures, BatchFigures, Blocker, BudgetAt, BudgetFigures, By, Cause,
    ConnectionFigures, CountAt, EndedBatch, EndedBy, Ending, EvictionEntry, FindingEntry, GroupImage,
    InterruptionFigures, InterruptionKind, NodeFigures, NodePhase, NodeShape, NodeTimeline, NoticedEntry,
    OtherNode, Outcome, PhaseStart, PodFigures, Proof, RESULT_VERSION, RehearsalResult, Request, Rollback,
    ScriptEventEntry, StageEntry, StartEntry, Successor, Verdict, Wait, WorkloadFigures,
};
use replank_sim::script::{Origin, Side};

fn at(seconds: i64) -> Time {
    "2026-11-20T09:00:00Z".parse::<Time>().expect("a time") + Span::from_secs(seconds)
}

fn node(name: Option<&str>, zone: &str, old: bool, phases: &[(NodePhase, i64)]) -> NodeTimeline {
    NodeTimeline {
        node: name.map(Into::into),
        instance: format!("i-{}", name.unwrap_or("0unnamed")).into(),
        group: "web".into(),
        zone: zone.into(),
        old,
        shape: (!old && name.is_some()).then(|| NodeShape {
            labels: vec![format!("topology.kubernetes.io/zone={zone}")],
            taints: vec!["dedicated=web:NoSchedule".to_owned()],
            allocatable: vec!["cpu=3920m".to_owned(), "pods=58".to_owned()],
        }),
        phases: phases
            .iter()
            .map(|(phase, seconds)| PhaseStart { phase: *phase, at: at(*seconds) })
            .collect(),
    }
}

fn timeline() -> Vec<NodeTimeline> {
    use NodePhase::{Booting, Cordoned, Draining, Gone, Joining, Ready, Serving, Terminating};
    let old = |name, zone, from| {
        let phases =
            [(Serving, 0), (Cordoned, 5), (Draining, from), (Terminating, from + 40), (Gone, from + 90)];
        node(Some(name), zone, true, &phases)
    };
    vec![
        old("ip-10-0-1-17.ec2.internal", "eu-west-1a", 90),
        old("ip-10-0-2-40.ec2.internal", "eu-west-1b", 7_000),
        node(
            Some("ip-10-0-1-99.ec2.internal"),
            "eu-west-1a",
            false,
            &[(Booting, 8), (Joining, 60), (Ready, 85)],
        ),
        node(
            Some("ip-10-0-2-71.ec2.internal"),
            "eu-west-1b",
            false,
            &[(Booting, 6_900), (Joining, 6_960), (Ready, 6_990)],
        ),
        node(None, "eu-west-1b", false, &[(Booting, 7_180)]),
    ]
}

fn wait(what: &str, on: impl Into<WaitingOn>, minutes: i64) -> Wait {
    let on = on.into();
    Wait {
        what: what.to_owned(),
        kind: on.kind().to_owned(),
        reason: on.to_string(),
        on,
        since: at(100),
        waited: Span::from_minutes(minutes),
    }
}

fn moment(text: &str) -> Time {
    text.parse().expect("a time")
}

fn budget_wait() -> PodWait {
    PodWait::Budget { budget: Key::new("shop", "cart"), healthy: 2, needed: 2 }
}

fn findings() -> Vec<FindingEntry> {
    vec![
        FindingEntry {
            id: "singleton",
            severity: Severity::Warning,
            object: "Deployment monitoring/grafana".to_owned(),
            reason: "1 replica and no disruption budget: it is gone from its eviction until its new pod is Ready, \
                     which took up to 41s"
                .to_owned(),
            unseen: Vec::new(),
            remedy: "kubectl -n monitoring scale deployment grafana --replicas 2".to_owned(),
            remedy_blocks: blocks("kubectl get pods\n# add it:\nspec: {}"),
            proof: Proof::Checked,
            withheld: None,
            changes: Vec::new(),
            commits: Vec::new(),
        },
        FindingEntry {
            id: "budget-never-allows",
            severity: Severity::Blocking,
            object: "PodDisruptionBudget shop/redis".to_owned(),
            reason: "minAvailable 1 of 1 pod: no eviction is ever allowed".to_owned(),
            unseen: Vec::new(),
            remedy: "spec:\n  minAvailable: 0".to_owned(),
            remedy_blocks: blocks("kubectl get pods\n# add it:\nspec: {}"),
            proof: Proof::Checked,
            withheld: None,
            changes: Vec::new(),
            commits: Vec::new(),
        },
    ]
}

fn start(
    kind: &str,
    name: &str,
    schedule: &str,
    next: Option<i64>,
    within: usize,
    on_old_nodes: usize,
) -> StartEntry {
    StartEntry {
        kind: Text::from(kind),
        namespace: Text::from("jobs"),
        name: Text::from(name),
        schedule: schedule.to_owned(),
        next: next.map(at),
        within,
        on_old_nodes,
    }
}

fn eviction() -> EvictionEntry {
    EvictionEntry {
        at: at(91),
        namespace: "shop".into(),
        pod: "cart-7d9f-x2x4p".into(),
        node: Some("ip-10-0-1-17.ec2.internal".into()),
        workload: Some("Deployment cart".into()),
        by: By::Replank,
        request: Request::Evict,
        refused: None,
        gone: Some(at(96)),
        successor: Some(Successor {
            pod: "cart-7d9f-k7qpl".into(),
            created: at(91),
            node: Some("ip-10-0-1-99.ec2.internal".into()),
            ready: Some(at(99)),
        }),
    }
}

/// A roll that came to its end, with findings.
pub(crate) fn with_findings() -> RehearsalResult {
    let budget = |name: &str, desired, min, violations| BudgetFigures {
        namespace: Text::from("shop"),
        name: Text::from(name),
        desired_healthy: desired,
        min_healthy: min,
        violations,
        undercut_by_interruptions: 0,
        history: vec![BudgetAt { at: at(0), healthy: min, allowed: (min - desired).max(0) }],
    };
    let workload = |kind: &str, name: &str, desired, min| WorkloadFigures {
        kind: Text::from(kind),
        namespace: Text::from("shop"),
        name: Text::from(name),
        desired,
        min_ready: min,
        without_ready: if min == 0 { Span::from_secs(99) } else { Span::ZERO },
        budgets: vec![Text::from("cart")],
        history: vec![CountAt { at: at(0), pods: desired }, CountAt { at: at(96), pods: min }],
    };
    let assumption = |about: &str, value: &str, source, samples| AssumptionEntry {
        about: about.to_owned(),
        value: value.to_owned(),
        source,
        samples,
    };
    RehearsalResult {
        coverage: replank_facts::coverage::Coverage::default(),
        version: RESULT_VERSION,
        rollback: Some(Rollback {
            kept: 1,
            renewed: 1,
            other: vec![OtherNode { node: "web-7".to_owned(), group: "web".to_owned(), pods: 2 }],
            missing: BTreeMap::new(),
            images: vec![GroupImage {
                group: "web".into(),
                made_of: MadeOf { release: Some("1.35.4-20260901".into()), image: Some("ami-0old".into()) },
            }],
        }),
        stages: vec![StageEntry {
            group: "web".into(),
            wave: None,
            from: at(600),
            until: at(1_200),
            pods: 1,
            workloads: vec!["Deployment shop/web".to_owned()],
        }],
        verdict: Verdict::Findings,
        seed: 1,
        trace_hash: "99aa06d3014798d86001c324468d497f".to_owned(),
        start: at(0),
        virtual_duration: Span::from_secs(7_200),
        wall_ms: 412,
        events: 20_417,
        nodes: NodeFigures { total: 2, replaced: 2, surge_max: 1, cordoned: 0 },
        pods: PodFigures {
            moved: 1_204,
            moved_more_than_once: 0,
            evictions_refused: 31,
            preempted: 0,
            unschedulable_max: 2,
        },
        batch: BatchFigures {
            on_nodes: 4,
            waited: 3,
            killed: 1,
            ended_by_run: vec![EndedBatch {
                pod: "ml/export-4-8qk2d".to_owned(),
                by: EndedBy::Asked(By::Replank),
                owner: "Job ml/export-4".to_owned(),
                outcome: Outcome::Failed,
                alerted: vec![
                    Alerted::Alert(Alert {
                        rule: Key::new("monitoring", "k8s"),
                        name: "KubeJobFailed".to_owned(),
                        severity: Some("warning".to_owned()),
                    }),
                    Alerted::Contact {
                        object: "CronJob ml/export".to_owned(),
                        key: "a8r.io/owner",
                        value: "@sally".to_owned(),
                    },
                ],
            }],
            ended_by_others: vec![EndedBatch {
                pod: "ml/etl-7x-train".to_owned(),
                by: EndedBy::Kubelet,
                owner: "Workflow ml/etl-7x".to_owned(),
                outcome: Outcome::Running,
                alerted: Vec::new(),
            }],
        },
        budgets: vec![budget("cart", 2, 2, 0), budget("frontend", 4, 5, 0), budget("search", 2, 1, 1)],
        workloads: vec![
            workload("Deployment", "cart", 3, 2),
            workload("Deployment", "frontend", 6, 6),
            workload("StatefulSet", "redis", 1, 0),
        ],
        evictions: vec![eviction()].into(),
        unschedulable: vec![CountAt { at: at(97), pods: 2 }, CountAt { at: at(160), pods: 0 }],
        findings: findings(),
        remedies: Vec::new(),
        blockers: Vec::new(),
        causes: Vec::new(),
        ending: Ending::Done,
        waits: vec![
            wait(
                "node ip-10-0-2-40.ec2.internal",
                PodWait::Batch {
                    since: Some(moment("2026-11-20T07:12:00Z")),
                    deadline: moment("2026-11-20T15:00:05Z"),
                },
                113,
            ),
            wait("group web", RollWait::Turn { nodes: 1, active: 1, limit: 1 }, 118),
            wait("pod shop/cart-7d9f-x2x4p", budget_wait(), 1),
            wait("pod shop/cart-7d9f-aaaaa", budget_wait(), 2),
        ],
        starts: vec![
            start("CronJob", "report", "*/30 * * * *", Some(1_800), 4, 1),
            start("CronWorkflow", "salary-model", "0 8 * * * Europe/Berlin", Some(79_200), 0, 0),
            start("CronJob", "leap-day", "0 0 30 2 *", None, 0, 0),
        ],
        noticed: Vec::new(),
        connections: Vec::new(),
        autoscalers: Vec::new(),
        interruptions: Vec::new(),
        watched: Span::from_secs(7_200),
        script_events: Vec::new(),
        timeline: timeline(),
        assumptions: vec![
            assumption("pods from scheduled to Ready (12 workloads)", "2s to 41s", "learnt", 84),
            assumption("run time of pods of CronJob jobs/report", "54m56s to 1h13m18s", "learnt", 5),
            assumption(
                "run time of batch pods without a finished run in the snapshot",
                "10m to 1h",
                "default",
                0,
            ),
        ],
    }
}

/// A roll that passes.
pub(crate) fn passing() -> RehearsalResult {
    let whole = with_findings();
    RehearsalResult {
        verdict: Verdict::Passes,
        findings: Vec::new(),
        remedies: Vec::new(),
        pods: PodFigures { moved: 9, ..PodFigures::default() },
        batch: BatchFigures::default(),
        budgets: Vec::new(),
        workloads: whole.workloads[1..2].to_vec(),
        waits: Vec::new(),
        starts: Vec::new(),
        assumptions: Vec::new(),
        ..whole
    }
}

fn autoscaler(name: &str, max: i32, over: i64, worst: Option<f64>) -> AutoscalerFigures {
    AutoscalerFigures {
        namespace: Text::from("shop"),
        name: Text::from(name),
        target: format!("Deployment {name}"),
        min_replicas: 4,
        max_replicas: max,
        replicas_min: 4,
        replicas_max: max,
        replicas_end: 9,
        ready_min: 4,
        needed_max: 18.4,
        over: Span::from_secs(over),
        unknown: Span::ZERO,
        watched: Span::from_secs(10_800),
        worst_load_over_target: worst,
        pending_max: if over > 0 { 3 } else { 0 },
        pending: Span::from_secs(over / 2),
        longest: Span::from_secs(over / 3),
        failing: Vec::new(),
    }
}

fn interruption(
    node: &str,
    kind: InterruptionKind,
    drained: Option<i64>,
    pods_lost: usize,
) -> InterruptionFigures {
    InterruptionFigures {
        at: at(1_200),
        kind,
        node: Text::from(node),
        instance: Text::from("i-0abc"),
        group: Text::from("web"),
        zone: Text::from("eu-west-1a"),
        pods: 14,
        cordoned: drained.map(|_| Span::from_millis(1_400)),
        drained: drained.map(Span::from_secs),
        ended: Some(Span::from_secs(120)),
        pods_lost,
        batch_lost: pods_lost / 3,
    }
}

/// A roll with a script, and with clients whose connections are counted.
pub(crate) fn besides() -> RehearsalResult {
    RehearsalResult {
        noticed: vec![NoticedEntry { at: at(601), what: "node web-1 was cordoned".to_owned() }],
        connections: vec![
            ConnectionFigures {
                namespace: Text::from("shop"),
                name: Text::from("frontend"),
                per_second: 50.0,
                length: Span::from_secs(20),
                path: "NLB to pods",
                pods: 6,
                refused: 8_750,
                cut: 1_000,
                dark: Span::ZERO,
            },
            ConnectionFigures {
                namespace: Text::from("shop"),
                name: Text::from("redis"),
                per_second: 0.05,
                length: Span::from_secs(3_600),
                path: "within the cluster",
                pods: 1,
                refused: 3,
                cut: 180,
                dark: Span::from_secs(41),
            },
            ConnectionFigures {
                namespace: Text::from("shop"),
                name: Text::from("cart"),
                per_second: 2.5,
                length: Span::from_millis(200),
                path: "within the cluster",
                pods: 3,
                refused: 0,
                cut: 0,
                dark: Span::ZERO,
            },
        ],
        autoscalers: vec![autoscaler("cart", 12, 0, None), autoscaler("frontend", 24, 255, Some(1.43))],
        interruptions: vec![
            interruption("ip-10-0-1-17.ec2.internal", InterruptionKind::Spot, Some(38), 0),
            interruption("ip-10-0-2-40.ec2.internal", InterruptionKind::Retirement, None, 3),
        ],
        watched: Span::from_secs(10_800),
        script_events: vec![
            ScriptEventEntry {
                at: at(600),
                origin: Origin::Script,
                line: 1,
                side: Side::Hand,
                what: "somebody cordons ip-10-0-1-99.ec2.internal".to_owned(),
                refused: None,
            },
            ScriptEventEntry {
                at: at(9_000),
                origin: Origin::Script,
                line: 2,
                side: Side::Intent,
                what: "pause".to_owned(),
                refused: Some("the run had finished".to_owned()),
            },
        ],
        ..passing()
    }
}

/// A roll that cannot come to its end.
pub(crate) fn blocked() -> RehearsalResult {
    let whole = with_findings();
    RehearsalResult {
        verdict: Verdict::Blocked,
        nodes: NodeFigures { replaced: 1, cordoned: 1, ..whole.nodes },
        ending: Ending::Blocked,
        rollback: None,
        blockers: vec![Blocker {
            what: "pod shop/redis-0".to_owned(),
            reason: "disruption budget shop/redis: 1 healthy, 1 needed".to_owned(),
        }],
        causes: vec![Cause {
            object: "PodDisruptionBudget shop/redis".to_owned(),
            reason: "disruption budget shop/redis: 1 healthy, 1 needed".to_owned(),
            nodes: vec!["web-1".to_owned()],
            pods: 1,
            kind: "budget",
            related: std::collections::BTreeSet::new(),
            finding: Some("pdb-never-allows"),
            finding_object: Some("PodDisruptionBudget shop/cart".to_owned()),
            remedy: Some("kubectl -n shop scale deployment redis --replicas 2".to_owned()),
        }],
        ..whole
    }
}

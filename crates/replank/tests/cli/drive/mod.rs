//! The live driver with the smallest engine, on a cluster that is served and on a real control plane: no test knows which.

mod effects;
mod faults;
pub(crate) mod ground;
mod hand;
mod pool;
mod pooled;
pub(crate) mod worker;

use std::path::Path;

use replank_judge::{Fault, Passed, Proxy};
use replank_live::drive::{Driver, Options};
use replank_live::{Asked, Connection, LiveError};
use replank_model::text::RunId;
use replank_protocol::command::{Answer, Effect, KubernetesEffect, Refusal};
use replank_protocol::decision::End;
use replank_protocol::engine::Engine;
use replank_protocol::mark;

use ground::Ground;
use hand::{Drainer, Notes, RUN};

/// Runs an engine on the cluster of a kubeconfig.
fn drive(kubeconfig: &Path, engine: &mut dyn Engine, notes: &Notes) -> Result<End, LiveError> {
    drive_with(Options::new(RunId::from(RUN)), kubeconfig, engine, notes)
}

fn drive_with(
    options: Options,
    kubeconfig: &Path,
    engine: &mut dyn Engine,
    notes: &Notes,
) -> Result<End, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    runtime.block_on(async {
        let asked = Asked { kubeconfig: Some(kubeconfig.to_owned()), context: None };
        let connection = Connection::open(&asked).await?;
        Driver::new(&connection, options).run(engine, &mut notes.clone()).await
    })
}

fn evictions(passed: &[Passed]) -> Vec<&Passed> {
    passed.iter().filter(|one| one.asked.path.contains("/eviction")).collect()
}

fn a_node_is_drained_pod_by_pod_within_its_budget(ground: &Ground) {
    ground.workload("web", 6);
    let before = ground.pods_on("node-1");
    assert!(!before.is_empty());
    let proxy =
        Proxy::begin(ground.kubeconfig(), &ground.folder, Box::new(|_| Fault::Nothing)).expect("it begins");
    let notes = Notes::default();
    let end = drive(proxy.kubeconfig(), &mut Drainer::new("node-1"), &notes);
    assert_eq!(end.expect("it ends"), End::Done);
    assert!(ground.pods_on("node-1").is_empty());

    let node = ground.get("/api/v1/nodes/node-1");
    assert_eq!(node["spec"]["unschedulable"], true);
    assert_eq!(node["metadata"]["annotations"][mark::RUN], RUN);
    let passed = proxy.passed();
    let evicted = evictions(&passed);
    assert!(evicted.len() >= before.len(), "{evicted:?}");
    for one in &evicted {
        let uid = &one.asked.body["deleteOptions"]["preconditions"]["uid"];
        assert!(uid.as_str().is_some_and(|uid| !uid.is_empty()), "{one:?}");
    }
    assert_eq!(evicted.iter().filter(|one| one.status == Some(201)).count(), before.len());
    assert!(passed.iter().all(|one| one.asked.method != "DELETE"));
    let patches: Vec<_> = passed.iter().filter(|one| one.asked.method == "PATCH").collect();
    assert_eq!(patches.len(), 1);
    assert_eq!(patches[0].asked.body[0]["path"], "/metadata/uid");
    assert_eq!(patches[0].asked.body[1]["path"], "/metadata/resourceVersion");

    notes.of(|noted| {
        let is_eviction =
            |effect: &Effect| matches!(effect, Effect::Kubernetes(KubernetesEffect::Evict { .. }));
        let refused = noted.answers.iter().filter(|(command, _)| is_eviction(&command.effect));
        for (command, answer) in refused {
            let is_expected = matches!(answer, Answer::Done | Answer::Refused(Refusal::Budget { .. }));
            assert!(is_expected, "{command:?} {answer:?}");
        }
        let is_ordered = noted.decisions.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(is_ordered, "one decision in each second at most: {:?}", noted.decisions);
        eprintln!(
            "{} requests for {} pods, {} refused by the budget",
            passed.iter().filter(|one| one.asked.is_write()).count(),
            before.len(),
            noted.answers.iter().filter(|(_, answer)| *answer != Answer::Done).count()
        );
    });
}

#[test]
fn a_node_is_drained_on_a_served_cluster() {
    a_node_is_drained_pod_by_pod_within_its_budget(&Ground::served("drained"));
}

#[test]
fn a_node_is_drained_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("drained") {
        a_node_is_drained_pod_by_pod_within_its_budget(&ground);
    }
}

//! Outages in the middle of `replank drain` and `replank roll`, on a cluster that is served and on a real control plane: no test knows which.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use replank_judge::{Asked, Denial, Fault, Proxy, Webhook};
use serde_json::json;

use super::common::{Ran, command, plan};
use super::drive::ground::Ground;
use super::roll_live::{NEW, Person, RECORDS, marked, upgraded};

const PODS: usize = 3;
const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
/// How long watches are away by the clock that decisions are taken on, the server's.
const AWAY: i64 = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Drain,
    Roll,
}

/// A drain or a roll that has begun, and waits for a budget.
struct Held<'g> {
    ground: &'g Ground,
    proxy: Proxy,
    verb: Verb,
    node: String,
    child: Option<Child>,
    _person: Option<Person>,
}

fn begin(arguments: &[&str], kubeconfig: &Path, preload: Option<&str>) -> Child {
    let file = kubeconfig.to_str().expect("it is text");
    let mut command = command(&[arguments, &["--kubeconfig", file]].concat());
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be run")
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A node with pods; for a roll, the only one that is to be replaced.
fn prepare(ground: &Ground, verb: Verb) -> String {
    ground.workload("web", PODS);
    let nodes = ["node-1", "node-2", "node-3"];
    let node = nodes.into_iter().find(|node| !ground.pods_on(node).is_empty()).expect("there are pods");
    if verb == Verb::Roll {
        for other in nodes.into_iter().filter(|other| *other != node) {
            let change = json!({"status": {"nodeInfo": {"kubeletVersion": NEW}}});
            ground.merge(&format!("/api/v1/nodes/{other}/status"), &change);
        }
    }
    node.to_owned()
}

fn arguments(ground: &Ground, verb: Verb, node: &str) -> Vec<String> {
    match verb {
        Verb::Drain => ["drain", node].map(str::to_owned).to_vec(),
        Verb::Roll => {
            let folder = ground.folder.file_name().expect("a name").display().to_string();
            let spec = "kubeletVersion: '<1.36.3', target: {kubernetesVersion: '1.36.3'}, provider: external";
            let file = plan(&format!("{folder}/plan.yaml"), spec);
            ["roll", "-f", &file, "--yes"].map(str::to_owned).to_vec()
        }
    }
}

fn budget(ground: &Ground, allowed: usize) {
    ground.merge(BUDGET, &json!({"spec": {"maxUnavailable": allowed}}));
    ground.wait("the budget is counted", |ground| {
        ground.get(BUDGET)["status"]["disruptionsAllowed"] == allowed
    });
}

impl<'g> Held<'g> {
    fn begins(ground: &'g Ground, verb: Verb, preload: Option<&str>) -> Self {
        let node = prepare(ground, verb);
        let proxy = Proxy::begin(ground.kubeconfig(), &ground.folder, Box::new(|_| Fault::Nothing))
            .expect("it begins");
        // A roll is rehearsed first: what it is rehearsed with is what it begins with.
        if verb == Verb::Drain {
            budget(ground, 0);
        }
        let all = arguments(ground, verb, &node);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        if verb == Verb::Roll {
            // No eviction comes through until the budget is closed.
            proxy.plan(Box::new(|asked| {
                if asked.path.contains("/eviction") { Fault::Busy(1) } else { Fault::Nothing }
            }));
        }
        let child = begin(&all, proxy.kubeconfig(), preload);
        let path = format!("/api/v1/nodes/{node}");
        ground.wait("it has begun", |ground| {
            let found = ground.get(&path);
            let text = found["metadata"]["annotations"].to_string();
            found["spec"]["unschedulable"] == true
                && (verb == Verb::Drain || text.contains("replank.dev/drain-from"))
        });
        if verb == Verb::Roll {
            budget(ground, 0);
            proxy.plan(Box::new(|_| Fault::Nothing));
        }
        let person = (verb == Verb::Roll).then(|| Person::begins(ground));
        Self { ground, proxy, verb, node, child: Some(child), _person: person }
    }

    /// It may go on: it ends well, and everything is as it is to be.
    fn ends(mut self) -> String {
        budget(self.ground, 1);
        let child = self.child.take().expect("it has not ended");
        let ran: Ran = child.wait_with_output().expect("it ends").into();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let ground = self.ground;
        assert!(self.verb == Verb::Roll || ground.pods_on(&self.node).is_empty(), "{ran:?}");
        match self.verb {
            Verb::Drain => assert_eq!(marked(ground), [format!("{:?}", self.node)], "{ran:?}"),
            Verb::Roll => {
                assert_eq!((upgraded(ground), marked(ground)), (3, Vec::new()), "{ran:?}");
                assert_eq!(ground.get(RECORDS)["items"], json!([]), "{ran:?}");
            }
        }
        let mut evicted: Vec<String> = Vec::new();
        for one in self
            .proxy
            .passed()
            .iter()
            .filter(|one| one.asked.path.contains("/eviction") && one.status == Some(201))
        {
            let uid = one.asked.body["deleteOptions"]["preconditions"]["uid"].to_string();
            assert!(!evicted.contains(&uid), "{uid} is evicted twice");
            evicted.push(uid);
        }
        assert!(!evicted.is_empty());
        flat(&ran.stderr)
    }

    fn evictions(&self) -> usize {
        self.proxy.passed().iter().filter(|one| one.asked.path.contains("/eviction")).count()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // A test that fails leaves no process behind.
        if let Some(child) = &mut self.child {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn is_read(asked: &Asked) -> bool {
    asked.is_watch() || asked.path.contains("limit=500")
}

/// Lists and watches are away for ten minutes by the server's clock: nothing is evicted meanwhile, whatever a budget allows by then.
fn watches_away(ground: &Ground, verb: Verb) {
    let held = Held::begins(ground, verb, None);
    let (is_away, ahead) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicI64::new(0)));
    let (away, seconds) = (is_away.clone(), ahead.clone());
    held.proxy.plan(Box::new(move |asked| match away.load(Ordering::SeqCst) && is_read(asked) {
        true => Fault::CutRequest,
        false => Fault::Ahead(seconds.load(Ordering::SeqCst)),
    }));
    held.proxy.cut();
    let before = held.evictions();
    std::thread::sleep(Duration::from_secs(7));
    budget(ground, 1);
    // A minute at a time, so that no renewal of a Lease seems to be late.
    for minute in 1..=AWAY / 60 {
        std::thread::sleep(Duration::from_millis(600));
        ahead.store(minute * 60, Ordering::SeqCst);
    }
    assert_eq!(held.evictions(), before, "nothing is evicted by what was seen ten minutes ago");
    is_away.store(false, Ordering::SeqCst);
    let told = held.ends();
    assert!(told.contains("cannot see pods") && told.contains("pods are seen again"), "{told}");
}

/// Watches cannot go on from where they were: what changed meanwhile is listed.
fn expired(ground: &Ground, verb: Verb) {
    let held = Held::begins(ground, verb, None);
    let mut left = vec!["/pods?", "/nodes?", "/poddisruptionbudgets?"];
    held.proxy.plan(Box::new(move |asked| {
        let found = left.iter().position(|part| asked.is_watch() && asked.path.contains(part));
        match found {
            Some(place) => {
                left.remove(place);
                Fault::Expired
            }
            None => Fault::Nothing,
        }
    }));
    held.proxy.cut();
    let told = held.ends();
    for resource in ["pods", "nodes", "poddisruptionbudgets"] {
        assert!(told.contains(&format!("listing {resource}")), "{resource}: {told}");
    }
}

/// The API server ends and begins anew. A roll's Lease cannot be renewed in time, and is held again where nobody has taken it.
fn restarted(ground: &Ground, verb: Verb) {
    let held = Held::begins(ground, verb, None);
    ground.restart(Duration::from_secs(if verb == Verb::Roll { 22 } else { 3 }));
    ground.wait("it serves", Ground::is_up);
    let told = held.ends();
    assert!(told.contains("cannot see pods") && told.contains("pods are seen again"), "{told}");
    if verb == Verb::Roll {
        assert!(told.contains("could not be renewed in time: nothing is sent"), "{told}");
        assert!(told.contains("is renewed again: the run goes on"), "{told}");
    }
}

/// A webhook refuses evictions for a while: its name and words are told, and it goes on when it refuses no more.
fn refused(ground: &Ground, verb: Verb) {
    let held = Held::begins(ground, verb, None);
    let is_friday = Arc::new(AtomicBool::new(true));
    let friday = is_friday.clone();
    held.proxy.plan(Box::new(move |asked| {
        let is_refused = friday.load(Ordering::SeqCst) && asked.path.contains("/eviction");
        if is_refused { Fault::Denied } else { Fault::Nothing }
    }));
    let before = held.evictions();
    budget(ground, 1);
    ground.wait("an eviction is refused", |_| held.evictions() > before);
    is_friday.store(false, Ordering::SeqCst);
    let told = held.ends();
    assert!(told.contains("guard.example.com") && told.contains("not on a Friday"), "{told}");
}

/// The token is not accepted for a while: it is told at once, and tried again.
fn unauthorized(ground: &Ground, verb: Verb) {
    let held = Held::begins(ground, verb, None);
    let is_out = Arc::new(AtomicBool::new(true));
    let out = is_out.clone();
    held.proxy.plan(Box::new(
        move |_| if out.load(Ordering::SeqCst) { Fault::Unauthorized } else { Fault::Nothing },
    ));
    held.proxy.cut();
    std::thread::sleep(Duration::from_secs(4));
    is_out.store(false, Ordering::SeqCst);
    let told = held.ends();
    assert!(told.contains("does not accept the credentials; trying new ones"), "{told}");
    assert!(told.contains("accepts the credentials again"), "{told}");
}

/// A library that lets a program's clock of the day be wrong by so many seconds.
fn clock_off_by(seconds: i64, folder: &Path) -> String {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    let text = format!(
        "#define _GNU_SOURCE\n#include <time.h>\n#include <sys/time.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
         int clock_gettime(clockid_t id, struct timespec *at) {{ int r = syscall(SYS_clock_gettime, id, at); \
         if (r == 0 && id == CLOCK_REALTIME) at->tv_sec += {seconds}; return r; }}\n"
    );
    std::fs::write(&source, text).expect("it can be written");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
    let made = made.expect("a C compiler links Rust, too");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    library.into_os_string().into_string().expect("it is text")
}

/// This machine's clock is five minutes off: what is written and what is counted is the server's time.
fn clock_off(ground: &Ground, verb: Verb) {
    let seconds = if verb == Verb::Roll { -300 } else { 300 };
    let library = clock_off_by(seconds, &ground.folder);
    let date = Command::new("date").arg("+%s").env("LD_PRELOAD", &library).output().expect("there is one");
    let date: i64 = String::from_utf8_lossy(&date.stdout).trim().parse().expect("seconds");
    let own = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("later than 1970");
    let off = date - i64::try_from(own.as_secs()).expect("not that late");
    assert!((off - seconds).abs() < 60, "the library is in the way of nothing: {off}");
    let file = ground.kubeconfig();
    let young = ["cordon", "-l", "kubernetes.io/hostname", "--older-than", "4m", "--dry-run"];
    let young: Ran = begin(&young, file, Some(&library)).wait_with_output().expect("it ends").into();
    assert_eq!((young.code, young.stdout.as_str()), (Some(0), ""), "nodes are younger than that: {young:?}");
    let held = Held::begins(ground, verb, Some(&library));
    let node = ground.get(&format!("/api/v1/nodes/{}", held.node));
    let annotations = node["metadata"]["annotations"].to_string();
    let today = last_minutes();
    assert!(today.iter().any(|minute| annotations.contains(minute)), "{today:?}: {annotations}");
    held.ends();
}

/// The last minutes, as times are written.
fn last_minutes() -> Vec<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("later than 1970");
    let now = i64::try_from(now.as_millis()).expect("not that late");
    let at = |minute: i64| replank_model::time::Time::from_millis(now - minute * 60_000).to_string();
    (0..3).map(|minute| at(minute).chars().take(16).collect()).collect()
}

/// The token is never accepted again: after ten minutes the command ends with 1, for something has been changed by then. It takes as long, and so is tried on demand.
fn unauthorized_for_good(ground: &Ground, verb: Verb) {
    if std::env::var_os("REPLANK_WHOLE_OUTAGES").is_none() {
        eprintln!("not tried, as it takes ten minutes: REPLANK_WHOLE_OUTAGES is not set");
        return;
    }
    let mut held = Held::begins(ground, verb, None);
    held.proxy.plan(Box::new(|_| Fault::Unauthorized));
    held.proxy.cut();
    let begun = std::time::Instant::now();
    let ran: Ran = held.child.take().expect("it has begun").wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (took, told) = (begun.elapsed(), flat(&ran.stderr));
    assert!(took >= Duration::from_mins(10) && took < Duration::from_mins(12), "{took:?}");
    assert!(told.contains("does not accept the credentials"), "{told}");
    eprintln!("{verb:?}: ended after {took:?}: {told}");
}

macro_rules! outages {
    ($($of:ident: $verb:ident $served:ident $real:ident;)*) => { $(
        #[test]
        fn $served() {
            $of(&Ground::served(stringify!($served)), Verb::$verb);
        }

        #[test]
        fn $real() {
            if let Some(ground) = Ground::real(stringify!($served)) {
                $of(&ground, Verb::$verb);
            }
        }
    )* };
}

outages! {
    watches_away: Drain watches_away_in_a_drain_served watches_away_in_a_drain_real;
    watches_away: Roll watches_away_in_a_roll_served watches_away_in_a_roll_real;
    expired: Drain watches_that_expire_in_a_drain_served watches_that_expire_in_a_drain_real;
    expired: Roll watches_that_expire_in_a_roll_served watches_that_expire_in_a_roll_real;
    refused: Drain a_webhook_that_refuses_in_a_drain_served a_webhook_that_refuses_in_a_drain_real;
    refused: Roll a_webhook_that_refuses_in_a_roll_served a_webhook_that_refuses_in_a_roll_real;
    unauthorized: Drain a_token_out_of_date_in_a_drain_served a_token_out_of_date_in_a_drain_real;
    unauthorized: Roll a_token_out_of_date_in_a_roll_served a_token_out_of_date_in_a_roll_real;
    unauthorized_for_good: Drain a_token_out_of_date_for_good_in_a_drain_served a_token_out_of_date_for_good_in_a_drain_real;
    unauthorized_for_good: Roll a_token_out_of_date_for_good_in_a_roll_served a_token_out_of_date_for_good_in_a_roll_real;
    clock_off: Drain a_clock_ahead_in_a_drain_served a_clock_ahead_in_a_drain_real;
    clock_off: Roll a_clock_behind_in_a_roll_served a_clock_behind_in_a_roll_real;
}

const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A validating webhook that somebody runs refuses evictions, with one code and another, then does not answer, and is taken away: each is told, and nothing is moved before.
fn guarded(ground: &Ground, verb: Verb) {
    let held = Held::begins(ground, verb, None);
    let mut times = 0;
    let webhook = Webhook::begin(Box::new(move |_| {
        times += 1;
        // Also one that is like a budget's, or a conflict's.
        let code = [429, 403, 409][times % 3];
        Some(Denial { code, words: "not on a Friday".to_owned() })
    }));
    let webhook = webhook.expect("it begins");
    ground.create(WEBHOOKS, &webhook.of_evictions("guard.example.com"));
    // A server reads its webhooks anew within a moment: a dry run says when.
    let pod = ground.pods_on(&held.node).remove(0);
    let is_asked = |ground: &Ground| {
        let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction?dryRun=All");
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}});
        ground.answer("POST", &path, &eviction)["message"].to_string().contains("not on a Friday")
    };
    ground.wait("the webhook is asked", is_asked);
    let before = webhook.asked();
    budget(ground, 1);
    // Each is answered before anything changes: a server that is asked has read its webhooks already.
    let answered = |of: &[u16]| {
        let passed = held.proxy.passed();
        let evictions = passed.iter().filter(|one| one.asked.path.contains("/eviction"));
        evictions.filter(|one| one.status.is_some_and(|status| of.contains(&status))).count()
    };
    ground.wait("three evictions are refused", |_| answered(&[403, 409, 429]) >= 3);
    assert!(webhook.asked() >= before + 3, "the webhook was asked");
    // It is gone, and still asked: what it does not allow is not allowed.
    drop(webhook);
    ground.wait("an eviction fails", |_| answered(&[500]) > 0);
    assert!(ground.pods_on(&held.node).contains(&pod), "nothing was moved");
    ground.delete(&format!("{WEBHOOKS}/guard.example.com"));
    let told = held.ends();
    assert!(told.contains("guard.example.com") && told.contains("not on a Friday"), "{told}");
    assert!(told.contains("failed calling webhook"), "{told}");
}

macro_rules! guards {
    ($($verb:ident $served:ident $real:ident;)*) => { $(
        #[test]
        fn $served() {
            guarded(&Ground::calling_webhooks(stringify!($served)), Verb::$verb);
        }

        #[test]
        fn $real() {
            if let Some(ground) = Ground::real(stringify!($served)) {
                guarded(&ground, Verb::$verb);
            }
        }
    )* };
}

guards! {
    Drain a_drain_that_a_webhook_guards_served a_drain_that_a_webhook_guards_real;
    Roll a_roll_that_a_webhook_guards_served a_roll_that_a_webhook_guards_real;
}

#[test]
fn a_server_restarted_in_a_drain_served() {
    restarted(&Ground::kept("a_server_restarted_in_a_drain_served"), Verb::Drain);
}

#[test]
fn a_server_restarted_in_a_roll_served() {
    restarted(&Ground::kept("a_server_restarted_in_a_roll_served"), Verb::Roll);
}

#[test]
fn a_server_restarted_in_a_drain_real() {
    if let Some(ground) = Ground::real("a_server_restarted_in_a_drain_real") {
        restarted(&ground, Verb::Drain);
    }
}

#[test]
fn a_server_restarted_in_a_roll_real() {
    if let Some(ground) = Ground::real("a_server_restarted_in_a_roll_real") {
        restarted(&ground, Verb::Roll);
    }
}

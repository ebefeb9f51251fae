//! `replank cluster up`: begins a cluster, serves it, and ends it cleanly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::Context;
use replank_api::mirror::{Mirror, StorageId};
use replank_api::{Identity, Kubeconfig, Listen, Owner, Pace, Server};
use replank_apiserver::{ResourceType, Serving};
use replank_cluster::{Begin, Fleet, Kept, Start, Trust, begin, nodes};
use replank_facts::coverage::Question;
use replank_facts::groups::{GroupBy, from_nodes};
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::{CloudTimings, KubeletModel};
use tokio::sync::watch;

use super::args::{Clock, Plugin, UpArgs};
use super::aws::Aws;
use super::listening::listen;
use super::versions::Lifecycle;
use super::{data_dir, kubeconfig};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::report::words::count;
use crate::snapshot;

/// How often it is looked whether somebody wants it to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Begins a cluster, serves it, and ends it cleanly.
///
/// # Errors
/// Where the snapshot or the directory cannot be read, or the address cannot be listened on.
pub(super) fn run(args: &UpArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let listener = listen(SocketAddr::new(args.address, args.port), "--port")?;
    let (files, kept) = match &args.data_dir {
        Some(dir) => data_dir::open(dir, &args.kubernetes_version.to_string())
            .map(|(files, kept)| (Some(files), kept))?,
        None => (None, None),
    };
    let secrets = data_dir::secrets(args.data_dir.as_deref())?;
    let names = vec!["localhost".to_owned(), "kubernetes.default.svc".to_owned(), args.address.to_string()];
    let identity = Identity::new(names, secrets).map_err(Failure::internal)?;
    let trust = Trust {
        authority: identity.authority.clone(),
        signer: identity.signer.clone(),
        certificates: Some(identity.certificates.clone()),
        authorization: args.authorization_mode.into(),
    };
    let serving = Serving {
        accounts: !args.disable_admission_plugins.contains(&Plugin::ServiceAccount),
        addresses: true,
        traces: true,
    };
    let start = start(args, kept, printer)?;
    let pace = pace(args.clock, &start);
    let kubelet = KubeletModel::Served { speed: args.speed };
    let cloud = CloudTimings::default().faster(args.speed);
    let address = listener.local_addr().context("cannot tell the address").map_err(Failure::internal)?;
    let aws = args.aws.then(|| Aws::begin(args, &start, address, &identity.authority)).transpose()?;
    let setting = aws.as_ref().map(|aws| aws.setting.clone());
    let upgraded = Arc::<AtomicU32>::default();
    let begun = begin(Begin {
        start,
        seed: args.seed,
        kubelet,
        cloud,
        pace,
        trust,
        serving,
        address,
        files,
        aws: setting,
        upgraded: upgraded.clone(),
    });
    let (owner, world) = begun.context("cannot begin the cluster").map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot begin threads").map_err(Failure::internal)?;
    let until = || interrupt.is_pressed() || world.is_finished();
    let served = runtime.block_on(serve(
        (args, upgraded),
        (owner.clone(), listener, identity, aws),
        printer,
        interrupt,
        until,
    ));
    owner.stop();
    // What is still open is cut off; what was answered lasts.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let ended =
        world.join().map_err(|_| Failure::internal(anyhow::anyhow!("the cluster's thread panicked")))?;
    let next = "make room, and start it again: what was answered is there";
    ended.context("the cluster cannot be kept").map_err(|error| Failure::internal(error).next(next))?;
    served
}

/// How time passes; never back to before what was kept.
fn pace(clock: Clock, start: &Start) -> Pace {
    let from = match start {
        Start::Kept(kept) => Pace::outside().max(Time::from_millis(kept.time)),
        Start::New(_) | Start::Objects(_) => Pace::outside(),
    };
    match (clock, start) {
        (Clock::Real, _) => Pace::Real,
        (Clock::Fast, _) => Pace::fast(60.0, from),
        (Clock::Step, Start::Kept(kept)) => Pace::Step(Time::from_millis(kept.time)),
        (Clock::Step, Start::New(_) | Start::Objects(_)) => Pace::Step(from),
    }
}

/// What the cluster begins with.
fn start(args: &UpArgs, kept: Option<Kept>, printer: &mut Printer) -> Result<Start, Failure> {
    if let Some(kept) = kept {
        if !args.snapshots.is_empty() {
            let why = "the data directory holds a cluster already, and a snapshot is given";
            let next = "leave out the snapshot to go on with the cluster, or name an empty directory: --data-dir DIR";
            return Err(Failure::usage_message(why).next(next));
        }
        return Ok(Start::Kept(Box::new(kept)));
    }
    if args.snapshots.is_empty() {
        let fleet = Fleet { nodes: args.nodes, zones: args.zones };
        let view = nodes(fleet, &args.kubernetes_version.to_string(), Pace::outside().floor_seconds());
        return Ok(Start::New(Box::new(with_groups(view, args))));
    }
    let sources = snapshot::sources(&args.snapshots);
    let (view, ..) = snapshot::read(sources, &args.read, Question::Leftovers, printer)?;
    printer.story("the snapshot's times stay as they are; what was due since then is due at once");
    Ok(Start::Objects(Box::new(with_groups(view, args))))
}

/// The view with what stands behind its nodes, as a rehearsal has it: groups and instances, learnt from the nodes.
fn with_groups(mut view: View, args: &UpArgs) -> View {
    for learnt in from_nodes(&view, &GroupBy::Label(args.read.group_label.clone())) {
        let own = learnt.group.profile().labels.value(LABEL_EKS_NODEGROUP);
        // EKS answers for the node groups that are its own.
        let is_managed = args.aws && own == Some(learnt.group.name.as_str());
        let group = if is_managed { learnt.group.managed_by_eks() } else { learnt.group };
        view.apply(Delta::Group(group.into()));
        for instance in learnt.instances {
            view.apply(Delta::Instance(instance.into()));
        }
    }
    view
}

async fn serve(
    (args, upgraded): (&UpArgs, Arc<AtomicU32>),
    (owner, listener, identity, aws): (Owner, std::net::TcpListener, Identity, Option<Aws>),
    printer: &mut Printer,
    interrupt: &Interrupt,
    until: impl Fn() -> bool,
) -> Result<Exit, Failure> {
    let (authority, token) = (identity.authority.clone(), identity.token.clone());
    let versions = Arc::new(Lifecycle::of(args.kubernetes_version, upgraded));
    let held = held(&owner);
    let mirror = owner.mirror().clone();
    let (stop, stopped) = watch::channel(false);
    let signer = identity.signer.clone();
    let mut identity = identity;
    identity.outside = aws.as_ref().map(Aws::tokens);
    let how = Listen::Tls(identity, args.authorization_mode.into());
    let aws = aws.map(|aws| aws.serve(&owner, signer, stopped.clone())).transpose()?;
    let server = Server::begin(listener, how, owner, versions, stopped);
    let server = server.context("cannot serve").map_err(Failure::internal)?;
    let server = if args.call_webhooks { server.calling_webhooks() } else { server };
    let address = server.address().context("cannot tell the address").map_err(Failure::internal)?;
    let file = kubeconfig::place(args.kubeconfig.as_deref(), args.data_dir.as_deref(), address.port());
    let config = Kubeconfig {
        context: format!("rehearsal-{}", address.port()),
        server: format!("https://{address}"),
        authority,
        token,
    };
    kubeconfig::write(&file, &config.write())?;
    interrupt.hold();
    let serving = tokio::spawn(server.run());
    printer.story(&format!("serving {held} as Kubernetes {} on https://{address}", args.kubernetes_version));
    printer.story("try: kubectl get nodes   (Ctrl-C ends it)");
    printer.data(&format!("export KUBECONFIG={}\n", file.display()))?;
    if let Some((running, told)) = aws {
        tokio::spawn(running.run());
        printer.story(&told.story);
        printer.data(&told.exports)?;
    }
    let mut has_told = args.call_webhooks;
    wait(until, || {
        if !has_told && has_webhooks(&mirror) {
            has_told = true;
            printer.story("admission webhooks are configured and not called: start with --call-webhooks to have them called");
        }
    })
    .await;
    stop.send_replace(true);
    serving.await.context("serving ended").map_err(Failure::internal)?;
    // The token is worth nothing any more; a kubeconfig that leads nowhere would only confuse.
    if args.kubeconfig.is_none() && args.data_dir.is_none() {
        drop(std::fs::remove_file(&file));
    }
    Ok(Exit::Passes)
}

/// What is served, in numbers.
fn held(owner: &Owner) -> String {
    let snapshot = owner.mirror().snapshot();
    let of = |kind| snapshot.collection(&StorageId::Typed(kind)).size();
    format!("{} and {}", count(of(Kind::Node), "node"), count(of(Kind::Pod), "pod"))
}

/// Whether somebody has configured admission webhooks.
fn has_webhooks(mirror: &Mirror) -> bool {
    let snapshot = mirror.snapshot();
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"].into_iter().any(|plural| {
        let resource = ResourceType::built_in("admissionregistration.k8s.io", "v1", plural);
        resource.is_some_and(|resource| snapshot.collection(&StorageId::of_resource(resource)).size() > 0)
    })
}

/// Waits until somebody wants it to end, or it cannot go on. Looks at something meanwhile.
async fn wait(until: impl Fn() -> bool, mut look: impl FnMut()) {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
    while !until() {
        look();
        #[cfg(unix)]
        if let Some(terminate) = &mut terminate {
            if tokio::time::timeout(LOOK_EVERY, terminate.recv()).await.is_ok() {
                return;
            }
            continue;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

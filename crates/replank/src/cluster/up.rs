//! `replank cluster up`: begins a cluster, serves it, and ends it cleanly.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use replank_api::{Identity, Kubeconfig, Listen, Owner, Pace, Server};
use replank_cluster::{Begin, Fleet, begin, nodes};
use replank_facts::coverage::Question;
use replank_model::view::View;
use replank_sim::{CloudTimings, KubeletModel};
use tokio::sync::watch;

use super::args::{Clock, UpArgs};
use super::kubeconfig;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::report::words::count;
use crate::snapshot;

/// The version of Kubernetes that is served.
const VERSION: &str = "v1.36.2";
/// How often it is looked whether somebody wants it to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Begins a cluster, serves it, and ends it cleanly.
///
/// # Errors
/// Where the snapshot cannot be read, or the address cannot be listened on.
pub(super) fn run(args: &UpArgs, printer: &mut Printer, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let view = objects(args, printer)?;
    let held = count(view.nodes.len(), "node");
    let pods = count(view.pods.len(), "pod");
    let pace = match args.clock {
        Clock::Real => Pace::Real,
        Clock::Fast => Pace::fast(60.0),
    };
    let (owner, world) = begin(Begin {
        view,
        seed: args.seed,
        kubelet: KubeletModel::Fake,
        cloud: CloudTimings::default(),
        pace,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot begin threads").map_err(Failure::internal)?;
    let served = runtime.block_on(serve(args, owner.clone(), (&held, &pods), printer, interrupt));
    owner.stop();
    // What is still open is cut off; nothing is lost, for nothing is kept.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let ended = world.join().map_err(|_| Failure::internal(anyhow::anyhow!("the cluster's thread panicked")));
    served.and_then(|exit| ended.map(|()| exit))
}

/// What the cluster begins with.
fn objects(args: &UpArgs, printer: &mut Printer) -> Result<View, Failure> {
    if args.snapshots.is_empty() {
        let fleet = Fleet { nodes: args.nodes, zones: args.zones };
        return Ok(nodes(fleet, VERSION, Pace::outside().floor_seconds()));
    }
    let sources = snapshot::sources(&args.snapshots);
    snapshot::read(sources, &args.read, Question::Leftovers, printer).map(|(view, ..)| view)
}

async fn serve(
    args: &UpArgs,
    owner: Owner,
    (nodes, pods): (&str, &str),
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let address = SocketAddr::new(args.address, args.port);
    let names = vec!["localhost".to_owned(), "kubernetes.default.svc".to_owned(), args.address.to_string()];
    let identity = Identity::new(names).map_err(Failure::internal)?;
    let (authority, token) = (identity.authority.clone(), identity.token.clone());
    let (stop, stopped) = watch::channel(false);
    let server = Server::bind(address, Listen::Tls(identity), owner, stopped).await;
    let server = server
        .with_context(|| format!("cannot listen on {address}"))
        .map_err(|error| Failure::usage(error).next("take another port: --port 0 takes a free one"))?;
    let address = server.address().context("cannot tell the address").map_err(Failure::internal)?;
    let file = kubeconfig::place(args.kubeconfig.as_deref(), address.port());
    let config = Kubeconfig {
        context: format!("rehearsal-{}", address.port()),
        server: format!("https://{address}"),
        authority,
        token,
    };
    kubeconfig::write(&file, &config.write())?;
    interrupt.hold();
    let serving = tokio::spawn(server.run());
    printer.story(&format!("serving {nodes} and {pods} as Kubernetes {VERSION} on https://{address}"));
    printer.story("try: kubectl get nodes   (Ctrl-C ends it)");
    printer.data(&format!("export KUBECONFIG={}\n", file.display()))?;
    wait(interrupt).await;
    stop.send_replace(true);
    serving.await.context("serving ended").map_err(Failure::internal)?;
    // The token is worth nothing any more; a kubeconfig that leads nowhere would only confuse.
    if args.kubeconfig.is_none() {
        drop(std::fs::remove_file(&file));
    }
    Ok(Exit::Passes)
}

/// Waits until somebody wants it to end.
async fn wait(interrupt: &Interrupt) {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
    while !interrupt.is_pressed() {
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

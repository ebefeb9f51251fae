//! A live cluster read as a snapshot.

use replank_live::{Asked, Captured, Connection, LiveError, Purpose, Taken};
use tokio::runtime::{Builder, Runtime};

use super::args::LiveArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::words::count;

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        let exit = match &error {
            LiveError::Unreachable { .. }
            | LiveError::Refused { .. }
            | LiveError::Unreadable { .. }
            | LiveError::Write { .. } => Exit::Internal,
            LiveError::NoKubeconfig { .. }
            | LiveError::Kubeconfig { .. }
            | LiveError::NoContext { .. }
            | LiveError::NoCurrentContext { .. }
            | LiveError::Certificate { .. }
            | LiveError::Credentials { .. }
            | LiveError::Unauthorized { .. }
            | LiveError::Forbidden { .. }
            | LiveError::TooOld { .. } => Exit::Usage,
        };
        let next = error.next();
        Self { exit, error: error.into(), next }
    }
}

/// What a live cluster is read into.
pub(crate) struct Read {
    /// What to call it: `context prod`.
    pub(crate) name: String,
    /// The snapshot's text.
    pub(crate) bytes: Vec<u8>,
    /// The API server's version: major and minor.
    pub(crate) server: (u32, u32),
}

/// Reads a live cluster as a snapshot.
///
/// # Errors
/// Where it cannot be reached or read.
pub(crate) fn read(args: &LiveArgs, printer: &mut Printer) -> Result<Read, Failure> {
    capture(args, &Captured::default(), printer).map(|(read, _)| read)
}

/// Reads a live cluster as a snapshot, with the contents of some ConfigMaps: namespace and name.
///
/// # Errors
/// Where it cannot be reached or read.
pub(crate) fn read_with(
    args: &LiveArgs,
    config_maps: Vec<(String, String)>,
    printer: &mut Printer,
) -> Result<Read, Failure> {
    capture(args, &Captured { config_maps, ..Captured::default() }, printer).map(|(read, _)| read)
}

/// What a scan reads of a live cluster.
pub(crate) struct ToScan {
    /// Its objects.
    pub(crate) objects: Read,
    /// What its API server counts of requests at deprecated versions, where that may be read.
    pub(crate) metrics: Option<String>,
    /// What may not be listed.
    pub(crate) forbidden: Vec<String>,
}

/// Reads a live cluster for a scan.
///
/// # Errors
/// Where it cannot be reached or read.
pub(crate) fn read_to_scan(
    args: &LiveArgs,
    helm_releases: bool,
    printer: &mut Printer,
) -> Result<ToScan, Failure> {
    let wanted = Captured { purpose: Purpose::Scan { helm_releases }, ..Captured::default() };
    let (objects, taken) = capture(args, &wanted, printer)?;
    let asked = args.asked();
    let metrics = runtime()?
        .block_on(async { Connection::open(&asked).await?.requested_deprecated().await })
        .map_err(Failure::from)?;
    if metrics.is_none() {
        printer.warning(
            "requests at deprecated versions were not read: grant get on the non-resource URL /metrics",
        );
    }
    if !helm_releases {
        printer.story("Helm releases were not read: they are in Secrets; --helm-releases reads them");
    }
    Ok(ToScan { objects, metrics, forbidden: taken.forbidden.into_iter().map(|(name, _)| name).collect() })
}

fn capture(args: &LiveArgs, wanted: &Captured, printer: &mut Printer) -> Result<(Read, Taken), Failure> {
    let asked = args.asked();
    let mut bytes = Vec::new();
    let (name, server, taken) = runtime()?.block_on(async {
        let connection = Connection::open(&asked).await?;
        let taken = replank_live::Capture::new(&connection, wanted)
            .write(&mut bytes, &mut |_| {}, &|why| LiveError::Write { file: "memory".into(), why })
            .await?;
        Ok::<_, LiveError>((format!("context {}", connection.context()), connection.version(), taken))
    })?;
    tell(&name, &taken, printer);
    Ok((Read { name, bytes, server }, taken))
}

/// Says what was read, and what could not be.
pub(super) fn tell(name: &str, taken: &Taken, printer: &mut Printer) {
    let all = taken.objects.iter().map(|(_, number)| number).sum();
    printer.story(&format!("read {} from {name}", count(all, "object")));
    for (resource, error) in &taken.forbidden {
        printer.warning(&format!("{resource} are not in it: {error}"));
    }
}

/// One thread is enough: what takes time is the network.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(anyhow::Error::new(error).context("cannot begin to read")))
}

impl LiveArgs {
    pub(crate) fn asked(&self) -> Asked {
        Asked { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// Whether there is a live cluster to read: one that is asked for, or that of the current context.
    pub(crate) fn is_there(&self) -> bool {
        self.asked().is_there()
    }

    /// Whether a live cluster is asked for by name.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }
}

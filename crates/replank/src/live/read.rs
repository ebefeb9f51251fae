//! A live cluster read as a snapshot.

use replank_live::{Asked, Captured, Connection, LiveError, Taken};
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
}

/// Reads a live cluster as a snapshot.
///
/// # Errors
/// Where it cannot be reached or read.
pub(crate) fn read(args: &LiveArgs, printer: &mut Printer) -> Result<Read, Failure> {
    let (asked, wanted) = (args.asked(), Captured::default());
    let mut bytes = Vec::new();
    let (name, taken) = runtime()?.block_on(async {
        let connection = Connection::open(&asked).await?;
        let taken = replank_live::Capture::new(&connection, &wanted)
            .write(&mut bytes, &mut |_| {}, &|why| LiveError::Write { file: "memory".into(), why })
            .await?;
        Ok::<_, LiveError>((format!("context {}", connection.context()), taken))
    })?;
    tell(&name, &taken, printer);
    Ok(Read { name, bytes })
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

//! `replank snapshot`: what a rehearsal needs of a live cluster, in a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use replank_live::{Captured, Connection, LiveError};

use super::args::SnapshotArgs;
use super::read::{runtime, tell};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Reads the cluster and writes the snapshot: whole, or not at all.
///
/// # Errors
/// Where the cluster cannot be reached or read, or the file cannot be written.
pub(crate) fn run(args: &SnapshotArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let asked = args.live.asked();
    let wanted = Captured {
        namespace: args.namespace.as_ref().map(|name| name.as_str().to_owned()),
        config_maps: args.config_map.clone(),
        is_redacted: args.redact_names,
        ..Captured::default()
    };
    let mut target = Target::open(args.file())?;
    let name = args.file().map_or_else(|| PathBuf::from("standard output"), Path::to_owned);
    let wrong = |why: io::Error| LiveError::Write { file: name.clone(), why };
    let captured = runtime()?.block_on(async {
        let connection = Connection::open(&asked).await?;
        let taken =
            replank_live::Capture::new(&connection, &wanted).write(target.out(), &mut |_| {}, &wrong).await?;
        Ok::<_, LiveError>((format!("context {}", connection.context()), taken))
    });
    let (context, taken) = match captured {
        Ok(taken) => taken,
        Err(error) => {
            target.discard();
            return Err(error.into());
        }
    };
    target.finish().map_err(wrong)?;
    tell(&context, &taken, printer);
    match taken.forbidden.is_empty() {
        true => Ok(Exit::Passes),
        false => Ok(Exit::Incomplete),
    }
}

/// Where a snapshot goes.
enum Target {
    /// Held until it is whole: a reader is given all of it, or nothing.
    Stdout(Vec<u8>),
    Plain(Placed<BufWriter<File>>),
    Gzip(Placed<GzEncoder<BufWriter<File>>>),
}

/// A file that has its name when it is whole.
struct Placed<W> {
    out: W,
    beside: PathBuf,
    named: PathBuf,
}

impl Target {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::Stdout(Vec::new())) };
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let file = private(&beside).map_err(|why| LiveError::Write { file: path.to_owned(), why })?;
        let (out, named) = (BufWriter::new(file), path.to_owned());
        Ok(match path.extension().is_some_and(|extension| extension == "gz") {
            // No time and no name in the header: the same objects give the same bytes.
            true => Self::Gzip(Placed { out: GzEncoder::new(out, Compression::default()), beside, named }),
            false => Self::Plain(Placed { out, beside, named }),
        })
    }

    fn out(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(out) => out,
            Self::Plain(placed) => &mut placed.out,
            Self::Gzip(placed) => &mut placed.out,
        }
    }

    /// Leaves nothing behind.
    fn discard(self) {
        match self {
            Self::Stdout(_) => {}
            Self::Plain(Placed { beside, .. }) | Self::Gzip(Placed { beside, .. }) => {
                drop(std::fs::remove_file(beside));
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(bytes) => match io::stdout().write_all(&bytes) {
                // A reader that stops early (`| head`) is not an error.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                Ok(()) | Err(_) => Ok(()),
            },
            Self::Plain(Placed { mut out, beside, named }) => {
                out.flush()?;
                std::fs::rename(beside, named)
            }
            Self::Gzip(Placed { out, beside, named }) => {
                out.finish()?.flush()?;
                std::fs::rename(beside, named)
            }
        }
    }
}

/// A file that only its owner reads: it tells how a cluster is built.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

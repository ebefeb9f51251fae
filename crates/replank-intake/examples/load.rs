//! Loads a snapshot, for counting what that takes: `load FILE`; `load FILE objects` prints every object, so that two builds can be compared.

use std::io::{self, Write as _};

use replank_intake::snapshot::{Options, Snapshot};
use replank_intake::source::Source;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().ok_or("name a file")?;
    let snapshot = Snapshot::load(vec![Source::from_argument(&path)], &Options::default())?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if arguments.next().is_some() {
        for object in &snapshot.objects {
            writeln!(out, "{object:?}")?;
        }
        return Ok(());
    }
    let (objects, problems) = (snapshot.objects.len(), snapshot.problems.len());
    writeln!(out, "{objects} objects, {problems} problems, {:?}", snapshot.now)?;
    Ok(())
}

//! HTML reports in a browser: what axe-core says of them, whether they ask for anything from outside, how large they are, and pictures of them.

mod browser;
mod samples;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::judged::replank;
use crate::root;
use browser::{Browser, Scheme, View};
use samples::{Kind, NODES, Sample};

/// What a page of 5,000 nodes may weigh.
const BYTES_MAX: u64 = 5_000_000;
/// Milliseconds until something is painted, of the clock on the wall. A busy machine delays it: the fastest of a few openings counts.
const PAINT_MS_MAX: u64 = 1_000;
const OPENINGS: usize = 5;
/// Elements and texts of a page.
const DOM_NODES_MAX: u64 = 100_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program that makes the pages; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where pages and pictures go.
    #[arg(long, default_value = "target/html/run")]
    folder: PathBuf,
    /// Looks at this page of a rehearsal and at no other.
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    page: Option<PathBuf>,
    /// Only samples with this in their names.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Draws every sample in light, dark and narrow, and prints it; without, only the first one.
    #[arg(long)]
    pictures: bool,
}

/// How each sample is looked at by axe-core.
const VIEWS: [View; 3] = [
    View { scheme: Scheme::Light, width: 1_280 },
    View { scheme: Scheme::Dark, width: 1_280 },
    View { scheme: Scheme::Light, width: 390 },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let axe = axe()?;
    let folder = root().join(&args.folder);
    replank_judge::replay::clean(&folder)?;
    let browser = Browser::find(&folder)?;
    let mut wrong = Vec::new();
    let samples = if let Some(page) = &args.page {
        let copy = folder.join("page.html");
        std::fs::copy(page, &copy).with_context(|| format!("cannot read {}", page.display()))?;
        vec![Sample { name: "page", page: copy, kind: Kind::Large }]
    } else {
        let program = replank(args.replank.as_deref())?;
        let program =
            program.canonicalize().with_context(|| format!("{} is not there", program.display()))?;
        samples::make(&program, &folder, args.only.as_deref())?
    };
    ensure!(!samples.is_empty(), "there is no such sample");
    for sample in &samples {
        let begun = Instant::now();
        let found = check(&browser, sample, &axe, args.pictures)?;
        println!("{:<10} {:.0} s", sample.name, begun.elapsed().as_secs_f64());
        wrong.extend(found.into_iter().map(|line| format!("{}: {line}", sample.name)));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("nothing wrong; pages and pictures are in {}", args.folder.display());
    Ok(())
}

/// What is wrong with a page.
fn check(browser: &Browser, sample: &Sample, axe: &str, draws: bool) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(&sample.page)?;
    let bytes = text.len() as u64;
    let mut wrong = Vec::new();
    if bytes > BYTES_MAX {
        wrong.push(format!("{bytes} bytes, more than {BYTES_MAX}"));
    }
    if let Kind::Rehearsed { nodes } = sample.kind {
        let bytes = with_nodes(&text, nodes)?;
        println!("{:<10} with {NODES} nodes it would have {bytes} bytes", sample.name);
        if bytes > BYTES_MAX as usize {
            wrong.push(format!("with {NODES} nodes it would have {bytes} bytes, more than {BYTES_MAX}"));
        }
    }
    wrong.extend(browser.as_it_is(&sample.page)?);
    // What axe-core needs grows with the square of a page, and ten thousand rows are like a hundred.
    let (axe, views) = match sample.kind {
        Kind::Small => (axe, &VIEWS[..]),
        Kind::Rehearsed { .. } | Kind::Large => (axe, &VIEWS[..1]),
        Kind::MadeUp => ("", &VIEWS[..1]),
    };
    let painted = painted(browser, sample)?;
    println!("{:<10} painted after {painted} ms", sample.name);
    if painted > PAINT_MS_MAX {
        wrong.push(format!("painted after {painted} ms, more than {PAINT_MS_MAX}"));
    }
    for view in views {
        let probe = browser.probe(&sample.page, *view, axe)?;
        println!(
            "{:<10} {view}: {} elements, {} texts, {bytes} bytes, {} violations, {} requests",
            sample.name,
            probe.elements,
            probe.texts,
            probe.violations.len(),
            probe.requests.len()
        );
        if probe.elements + probe.texts > DOM_NODES_MAX {
            wrong.push(format!("{} elements and texts", probe.elements + probe.texts));
        }
        wrong.extend(probe.violations.iter().map(|line| format!("{view}: {line}")));
        wrong.extend(probe.requests.iter().map(|address| format!("{view}: asks for {address}")));
        wrong.extend(probe.wrong.iter().map(|line| format!("{view}: {line}")));
    }
    if !draws && sample.name != "job-site" {
        return Ok(wrong);
    }
    for (name, view) in [("light", VIEWS[0]), ("dark", VIEWS[1]), ("narrow", VIEWS[2])] {
        browser.picture(&sample.page, view, &sample.page.with_extension(format!("{name}.png")))?;
    }
    browser.print(&sample.page, &sample.page.with_extension("pdf"))?;
    Ok(wrong)
}

/// The bytes of a page if its cluster had as many nodes as a large one: of its parts only the rows of nodes grow without bound.
fn with_nodes(page: &str, nodes: usize) -> Result<usize> {
    let (_, timeline) = page.split_once("<section id=\"timeline\"").context("it has a timeline")?;
    let rows = timeline.split_once("</section>").context("its timeline ends")?.0.len();
    Ok(page.len() - rows + rows * NODES / nodes)
}

/// When something of a page is painted: the soonest of a few openings, or the first that is soon enough.
fn painted(browser: &Browser, sample: &Sample) -> Result<u64> {
    let mut soonest = u64::MAX;
    for _ in 0..OPENINGS {
        soonest = soonest.min(browser.painted(&sample.page)?);
        if soonest <= PAINT_MS_MAX {
            break;
        }
    }
    Ok(soonest)
}

/// axe-core's script, from npm's registry, held to the hash in `peers/html/package-lock.json`.
fn axe() -> Result<String> {
    let (from, to) = (root().join("peers/html"), root().join("target/html/npm"));
    let lock = std::fs::read(from.join("package-lock.json"))?;
    let installed = to.join("installed.json");
    if std::fs::read(&installed).ok().as_ref() != Some(&lock) {
        std::fs::create_dir_all(&to)?;
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(from.join(file), to.join(file))?;
        }
        let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
        let done = Command::new("npm").args(npm).current_dir(&to).status();
        ensure!(done.context("npm cannot be started: install npm")?.success(), "npm cannot install axe-core");
        std::fs::write(&installed, &lock)?;
    }
    let script = to.join("node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&script).with_context(|| format!("cannot read {}", script.display()))
}

//! `replank rehearse --seeds N --on-cluster`: where one machine is not enough, the pods of an Indexed Job rehearse a range of seeds each, and what they found is put together
//! as if one machine had done it all.
//!
//! A part is made by the same program with the same arguments (`--part`), and its result is a pod's termination message.

mod args;
mod arguments;
mod follow;
mod manifest;
mod packed;
mod part;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;

use anyhow::Context as _;
pub(crate) use args::OnClusterArgs;
use args::{Seeds, parts};
use arguments::Arguments;
use follow::{Followed, Was};
use manifest::{Manifests, ON_CLAIM, Wanted};
pub(in crate::rehearse) use packed::Packed;
use part::{BYTES_MAX, Base, Part};
use replank_live::Connection;

use super::args::RehearseArgs;
use super::html;
use super::reports::{self, Form};
use super::run::{self, Remedies};
use super::scene::Scene;
use super::seeds::{one_rehearsal_only, without_any};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::runtime;
use crate::output::RehearseFormat;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{self, Rows, Run, Tally};

/// Parts of one Job: the controller manager deletes pods that have ended beyond 12,500 (`--terminated-pod-gc-threshold`).
const PARTS_MAX: u64 = 10_000;

/// Rehearses one part, and writes its result.
///
/// # Errors
/// Where there is no such part, or its result cannot be written whole.
pub(super) fn one_part(
    args: &RehearseArgs,
    scene: &Scene,
    (part, all): (u64, u64),
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let each = args.on_cluster.seeds_per_part;
    let seeds = Seeds::of_part(part, each, all).ok_or_else(|| {
        Failure::usage_message(format!("there is no part {part} of {all} seeds, {each} in each part"))
            .next(format!("pass --part 0 to {}", parts(all, each) - 1))
    })?;
    let base = base(args, scene, interrupt);
    let (mut tally, mut runs) = (Tally::default(), Vec::new());
    run::many(scene, seeds.first..=seeds.last, args.limit, Remedies::Untried, interrupt, |result| {
        tally.add(&result);
        runs.push(Run::of(&result));
        ControlFlow::Continue(())
    });
    if interrupt.is_pressed() {
        return Ok(Exit::Interrupted);
    }
    let result = Part::of(runs, &tally);
    let text = result.write(seeds, &base).map_err(Failure::internal)?;
    if text.len() > BYTES_MAX {
        return Err(Failure::usage_message(format!(
            "the result of {} takes {} bytes, and a termination message holds {BYTES_MAX}",
            count(usize::try_from(seeds.count()).unwrap_or(usize::MAX), "seed"),
            text.len()
        ))
        .next(fewer(result.seeds_within(BYTES_MAX, &base), seeds.count())));
    }
    let file = args.on_cluster.part_file.as_deref().expect("--part requires it");
    // Not to a file of its own first: in a pod only this one can be written.
    std::fs::File::create(file)
        .and_then(|mut out| out.write_all(text.as_bytes()))
        .with_context(|| format!("the result cannot be written to {}", file.display()))
        .map_err(Failure::internal)?;
    Ok(Exit::Passes)
}

/// How many seeds to pass for a part, where those that there are have a result that is too large.
fn fewer(fit: Option<usize>, were: u64) -> String {
    match fit {
        // Other parts are a little larger, or smaller.
        Some(fit) => format!("pass fewer: --seeds-per-part {}", (fit - fit / 16).max(1)),
        None if were > 1 => "pass fewer: --seeds-per-part 1".to_owned(),
        None => "the cluster has too many workloads for a pod's result: omit --on-cluster, or rehearse fewer node groups".to_owned(),
    }
}

fn base(args: &RehearseArgs, scene: &Scene, interrupt: &Interrupt) -> Base {
    Base::of(&run::one_of_many(scene, 1, args.limit, Remedies::Untried, interrupt))
}

/// Prints the Job, or has it carried out and reports.
///
/// # Errors
/// Where the input is too large, or the cluster does not do what is asked of it.
pub(super) fn answer(
    args: &RehearseArgs,
    scene: &Scene,
    packed: &Packed,
    seeds: u64,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    match args.output {
        RehearseFormat::Markdown => return Err(one_rehearsal_only()),
        RehearseFormat::Github => return Err(no_annotations()),
        RehearseFormat::Text | RehearseFormat::Json => {}
    }
    let own = &args.on_cluster;
    if !own.apply {
        if args.html.is_some() {
            return Err(Failure::usage_message(
                "a page is made of the Job's results, and without --apply there are none",
            )
            .next("pass --apply, or omit --html"));
        }
        reports::none_of("a Job that is only printed", args, printer);
    } else {
        let why = "a change request covers one rehearsal, and the pods of a Job return no findings";
        reports::left_out(&[Form::Markdown, Form::Annotations], why, args, printer);
    }
    let image = own.container_image.as_deref().expect("--on-cluster requires it");
    let arguments = Arguments::of_process(scene.now)?;
    let name = name(&arguments, packed, own, image);
    let runtime = runtime()?;
    let connection = own.apply.then(|| runtime.block_on(Connection::open(&args.live.asked()))).transpose()?;
    let of_context = connection.as_ref().map_or("default", Connection::namespace).to_owned();
    let namespace = own.namespace.as_ref().map_or(of_context, |namespace| namespace.as_str().to_owned());
    let number = parts(seeds, own.seeds_per_part);
    if number > PARTS_MAX {
        return Err(Failure::usage_message(format!(
            "{number} parts: a cluster keeps some ten thousand pods that have ended, and each part's result is in one"
        ))
        .next(format!("pass more seeds for each part: --seeds-per-part {}", seeds.div_ceil(PARTS_MAX))));
    }
    let wanted = Wanted {
        name: &name,
        namespace: &namespace,
        image,
        parts: number,
        pods: own.pods,
        seeds_per_part: own.seeds_per_part,
        claim: own.input_claim.as_deref(),
        pods_rehearsed: scene.view.pods.len(),
    };
    let manifests = Manifests::of(&wanted, &arguments, packed).ok_or_else(|| {
        Failure::usage_message("the input is too large for ConfigMaps")
            .next("put it on a volume that many pods can read: --input-claim CLAIM")
    })?;
    if own.input_claim.is_some() {
        on_claim(&name, packed, printer)?;
    }
    let Some(connection) = connection else {
        printer.json(&manifests.list())?;
        printer.story(&format!(
            "Job {name}: {} of {} each. Pipe this into kubectl apply -f -; the same command with --apply waits for it and prints the report",
            count(usize::try_from(number).unwrap_or(usize::MAX), "part"),
            count(usize::try_from(own.seeds_per_part.min(seeds)).unwrap_or(usize::MAX), "seed")
        ));
        return Ok(Exit::Passes);
    };
    let followed = runtime.block_on(async {
        match follow::begin(&connection, &namespace, &manifests).await? {
            Was::Created => printer.story(&format!("job.batch/{name} created in namespace {namespace}")),
            Was::There => printer.story(&format!(
                "job.batch/{name} is in namespace {namespace} already: its results are collected"
            )),
        }
        follow::follow(&connection, (&namespace, &name), number, (printer, interrupt)).await
    })?;
    let left = format!("kubectl -n {namespace} delete job/{name}");
    match followed {
        Followed::Complete(results) => {
            let base = base(args, scene, interrupt);
            together(args, (scene, &base), &results, seeds, printer, interrupt)
        }
        Followed::Failed { results, why } => Err(Failure {
            exit: Exit::Incomplete,
            ..Failure::usage_message(format!("{} of {number} parts have a result: {why}", results.len()))
        }
        .next(format!(
            "kubectl -n {namespace} get pods -l batch.kubernetes.io/job-name={name}   # what they ended with\n{left}   # then run the same command again"
        ))),
        Followed::Interrupted { done } => {
            printer.warning(&format!(
                "interrupted by Ctrl-C after {done} of {number} parts: the Job goes on. The same command collects its results; to end it: {left}"
            ));
            Ok(Exit::Interrupted)
        }
    }
}

/// Pods return no findings.
fn no_annotations() -> Failure {
    Failure::usage_message("the pods of a Job return no findings that could be annotated")
        .next("use replank check -o github for the findings, or -o text for the spread")
}

/// A name that says what the Job does: the same input, arguments and program have the same one.
fn name(arguments: &Arguments, packed: &Packed, own: &OnClusterArgs, image: &str) -> String {
    let mut hash = Fnv::default();
    hash.add(env!("REPLANK_VERSION").as_bytes());
    hash.add(image.as_bytes());
    hash.add(own.input_claim.as_deref().unwrap_or_default().as_bytes());
    hash.add(&own.seeds_per_part.to_le_bytes());
    arguments.words.iter().for_each(|word| hash.add(word.as_bytes()));
    arguments.files.iter().for_each(|file| hash.add(&file.bytes));
    packed.pieces.iter().for_each(|piece| hash.add(piece));
    format!("rehearse-{:016x}", hash.0)
}

/// FNV-1a: a name, not a proof.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        // Two texts after each other are not one.
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Writes the input for a volume beside the user.
fn on_claim(name: &str, packed: &Packed, printer: &mut Printer) -> Result<(), Failure> {
    let file = format!("{name}.json.gz");
    // Files of gzip after each other are one.
    std::fs::write(&file, packed.pieces.concat())
        .with_context(|| format!("cannot write {file}"))
        .map_err(Failure::internal)?;
    printer.story(&format!("wrote {file}: copy it onto the volume as {ON_CLAIM}"));
    Ok(())
}

/// Puts the parts together, and reports as one machine would.
fn together(
    args: &RehearseArgs,
    (scene, base): (&Scene, &Base),
    results: &BTreeMap<u64, String>,
    seeds: u64,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let (mut tally, mut runs) = (Tally::default(), Vec::new());
    for (index, text) in results {
        let range = Seeds::of_part(*index, args.on_cluster.seeds_per_part, seeds)
            .ok_or_else(|| Failure::internal(anyhow::anyhow!("the Job has a part {index} too many")))?;
        let part = Part::read(text, range, base).map_err(|error| Failure {
            exit: Exit::Incomplete,
            ..Failure::usage(error.context(format!("the result of part {index} cannot be used")))
        })?;
        tally.merge(&part.runs, part.budget_violations, part.lowest);
        runs.extend(part.runs);
    }
    let summary = tally.summary();
    match args.output {
        RehearseFormat::Text => {
            printer.data(&report::seeds(&runs, &summary, Rows::of(args.all_seeds), printer.look()))?;
        }
        // What a pod tells of a rehearsal is a line of the table: none of them is there whole.
        RehearseFormat::Json => without_any(&summary, printer)?,
        RehearseFormat::Markdown => return Err(one_rehearsal_only()),
        RehearseFormat::Github => return Err(no_annotations()),
    }
    let worst = summary.worst_seed.and_then(|seed| runs.iter().find(|run| run.seed() == seed));
    if let Some(worst) = worst.filter(|_| reports::is_asked(args, Form::Page)) {
        let Some(page) = page(args, scene, worst, &runs, interrupt)? else {
            printer
                .warning("interrupted by Ctrl-C before the worst rehearsal was made again: there is no page");
            return Ok(Exit::Interrupted);
        };
        reports::write(args, Form::Page, &page, printer)?;
    }
    Ok(Exit::of(summary.verdict))
}

/// The page: pods have told the worst rehearsal in short, and it is made again here to show it in full. None after Ctrl-C.
fn page(
    args: &RehearseArgs,
    scene: &Scene,
    worst: &Run,
    runs: &[Run],
    interrupt: &Interrupt,
) -> Result<Option<String>, Failure> {
    let seed = worst.seed();
    let result = run::one_of_many(scene, seed, args.limit, Remedies::Proved, interrupt);
    if interrupt.is_pressed() {
        return Ok(None);
    }
    if result.trace_hash != worst.trace_hash() {
        return Err(Failure {
            exit: Exit::Incomplete,
            ..Failure::usage_message(format!(
                "the rehearsal with seed {seed} differs from the pod's (trace {} here, {} there): the image probably holds another version of replank",
                result.trace_hash,
                worst.trace_hash()
            ))
        });
    }
    html::spread(&result, runs, scene).map(Some)
}

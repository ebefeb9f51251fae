//! The result of a part: small enough for a pod's termination message, and with all that the report of many seeds says.
//!
//! What is as in the rehearsal with seed 1 is left out; whoever collects the parts makes that rehearsal, too. Its trace is named, so that a result of other
//! input, or of another version, is noticed.

use std::io::{Read as _, Write as _};

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use replank_intake::base64;
use replank_rehearse::RehearsalResult;
use serde::{Deserialize, Serialize};

use super::args::Seeds;
use crate::report::{Lowest, Row, Run, Tally};

/// Version of the form, and how it is told.
const VERSION: &str = "replank.dev/part/v1alpha1";
/// Bytes of a termination message that a kubelet takes from one container.
pub(super) const BYTES_MAX: usize = 4_096;
/// Of something that says to be a part no more than this is unpacked.
const UNPACKED_MAX: u64 = 16 << 20;
/// Of so many runs of seeds the size is looked at, to say how many fit: each costs a compression.
const LOOKED_AT: usize = 20;

/// What all parts know: the rehearsal with seed 1.
pub(super) struct Base {
    trace_hash: String,
    lowest: Vec<Lowest>,
}

impl Base {
    pub(super) fn of(result: &RehearsalResult) -> Self {
        let mut tally = Tally::default();
        tally.add(result);
        Self { trace_hash: result.trace_hash.clone(), lowest: tally.lowest() }
    }
}

/// A part, whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) runs: Vec<Run>,
    pub(super) budget_violations: usize,
    pub(super) lowest: Vec<Lowest>,
}

/// What is written: names that a person may read, and the rest, compressed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: String,
    first: u64,
    last: u64,
    base: String,
    result: String,
}

/// The rest.
#[derive(Serialize, Deserialize)]
struct Inner {
    runs: Vec<Row>,
    violations: usize,
    lowest: Vec<Lowest>,
}

impl Part {
    /// Of runs, sorted by seed, and what they have in common.
    pub(super) fn of(runs: Vec<Run>, tally: &Tally) -> Self {
        Self { runs, budget_violations: tally.budget_violations(), lowest: tally.lowest() }
    }

    /// As one line.
    pub(super) fn write(&self, seeds: Seeds, base: &Base) -> Result<String> {
        written(&self.runs, self.budget_violations, &self.beyond(base), seeds, base)
    }

    /// How many seeds have a result of no more than these bytes, judged by what there is of this part; `None` if not even one has.
    ///
    /// That of fewer seeds names no workload that this one does not name, so that all of these are counted in.
    pub(super) fn seeds_within(&self, bytes: usize, base: &Base) -> Option<usize> {
        let lowest = self.beyond(base);
        let size = |runs: &[Run]| {
            let last = runs.len() as u64;
            let text = written(runs, self.budget_violations, &lowest, Seeds { first: 1, last }, base);
            text.map_or(usize::MAX, |text| text.len())
        };
        let fit = |each: usize| self.runs.chunks(each).take(LOOKED_AT).all(|runs| size(runs) <= bytes);
        let (mut fits, mut too_many) = (0, self.runs.len() + 1);
        while too_many - fits > 1 {
            let middle = usize::midpoint(fits, too_many);
            if fit(middle) {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        (fits > 0).then_some(fits)
    }

    /// Workloads that are not as in the rehearsal with seed 1. One that had no pods to be moved with any of these seeds is told as met by none.
    fn beyond(&self, base: &Base) -> Vec<Lowest> {
        let number = self.runs.len();
        let is_known =
            |one: &&Lowest| base.lowest.iter().any(|known| known.is_of(one) && known.times(number) == **one);
        let missing = base.lowest.iter().filter(|known| !self.lowest.iter().any(|one| one.is_of(known)));
        let other = self.lowest.iter().filter(|one| !is_known(one)).cloned();
        other.chain(missing.map(|known| known.times(0))).collect()
    }

    /// Reads the part with these seeds.
    pub(super) fn read(text: &str, seeds: Seeds, base: &Base) -> Result<Self> {
        let written: Written = serde_json::from_str(text).context("it is not the result of a part")?;
        ensure!(written.version == VERSION, "it has version {}; this is {VERSION}", written.version);
        let (first, last) = (written.first, written.last);
        ensure!(
            (first, last) == (seeds.first, seeds.last),
            "it is about the seeds {first} to {last} instead of {} to {}",
            seeds.first,
            seeds.last
        );
        ensure!(
            written.base == base.trace_hash,
            "its rehearsal with seed 1 differs from the one here (trace {} and {}): the input is another, or the image holds another version of replank",
            written.base,
            base.trace_hash
        );
        let packed = base64::decode(&written.result).context("its result is not base64")?;
        let mut plain = Vec::new();
        DeflateDecoder::new(&*packed)
            .take(UNPACKED_MAX)
            .read_to_end(&mut plain)
            .context("its result cannot be unpacked")?;
        let inner: Inner = serde_json::from_slice(&plain).context("its result cannot be read")?;
        let number = inner.runs.len();
        ensure!(number as u64 == seeds.count(), "it has {number} rehearsals of {}", seeds.count());
        let known = base.lowest.iter().filter(|known| !inner.lowest.iter().any(|one| one.is_of(known)));
        let mut lowest: Vec<Lowest> = known.map(|known| known.times(number)).collect();
        lowest.extend(inner.lowest.into_iter().filter(|one| !one.is_empty()));
        let runs = (seeds.first..).zip(inner.runs).map(|(seed, row)| row.run(seed)).collect();
        Ok(Self { runs, budget_violations: inner.violations, lowest })
    }
}

fn written(runs: &[Run], violations: usize, lowest: &[Lowest], seeds: Seeds, base: &Base) -> Result<String> {
    let inner = Inner { runs: runs.iter().map(Run::row).collect(), violations, lowest: lowest.to_vec() };
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&serde_json::to_vec(&inner)?)?;
    let written = Written {
        version: VERSION.to_owned(),
        first: seeds.first,
        last: seeds.last,
        base: base.trace_hash.clone(),
        result: base64::encode(&packed.finish()?),
    };
    Ok(serde_json::to_string(&written)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runs(number: u64) -> Vec<Run> {
        let row = |seed: u64| {
            let hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let row = json!([
                "findings",
                400_000 + hash % 300_000,
                11 + hash % 6,
                60 + hash % 9,
                hash % 40,
                0,
                format!("{hash:016x}")
            ]);
            serde_json::from_value::<Row>(row).expect("a row").run(seed)
        };
        (1..=number).map(row).collect()
    }

    #[test]
    fn the_number_of_seeds_that_fit_is_near_the_most_that_do() {
        let base = Base { trace_hash: "0123456789abcdef".to_owned(), lowest: Vec::new() };
        let part = |number| Part { runs: runs(number), budget_violations: 0, lowest: Vec::new() };
        let size = |number| {
            let seeds = Seeds { first: 1, last: number };
            part(number).write(seeds, &base).expect("it can be written").len()
        };
        let fit = part(2_000).seeds_within(BYTES_MAX, &base).expect("some fit") as u64;
        assert!(size(fit) <= BYTES_MAX, "{fit} seeds take {}", size(fit));
        assert!(size(fit + fit / 8) > BYTES_MAX, "{} would fit, too", fit + fit / 8);
        assert_eq!(part(20).seeds_within(BYTES_MAX, &base), Some(20));
        assert_eq!(part(20).seeds_within(50, &base), None, "not even one");
    }
}

//! Amounts of resources as numbers, so that whole classes of pods are packed by division.

use replank_model::object::pod::Pod;
use replank_model::object::requests;
use replank_model::object::resources::{CPU, MEMORY, PODS, Resources};
use replank_model::text::Text;
use smallvec::SmallVec;

/// How much of each resource of a table of [`Names`]: pods, thousandths of cpu, bytes of memory, then whatever else is asked for.
pub(super) type Amounts = SmallVec<[i64; 4]>;

/// Positions of cpu and memory in [`Amounts`].
pub(super) const AT_CPU: usize = 1;
pub(super) const AT_MEMORY: usize = 2;

/// Which resource stands where.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<Text>);

impl Default for Names {
    fn default() -> Self {
        Self([PODS, CPU, MEMORY].into_iter().map(Text::from).collect())
    }
}

impl Names {
    /// What a pod takes. Resources that it does not ask for take nothing.
    pub(super) fn of_pod(&mut self, pod: &Pod) -> Amounts {
        let requests = requests::of_pod(pod);
        for (name, quantity) in requests.iter() {
            if !quantity.is_zero() && !self.0.contains(name) {
                self.0.push(name.clone());
            }
        }
        let mut amounts = self.of(&requests);
        amounts[0] = 1;
        amounts
    }

    /// A resource list as numbers; what it does not name is 0.
    pub(super) fn of(&self, list: &Resources) -> Amounts {
        let of = |name: &Text| match list.get(name) {
            Some(quantity) if **name == *CPU => quantity.milli_value(),
            Some(quantity) => quantity.value(),
            None => 0,
        };
        self.0.iter().map(of).collect()
    }
}

/// Takes `times` of something away.
pub(super) fn take(from: &mut Amounts, what: &Amounts, times: i64) {
    for (have, wanted) in from.iter_mut().zip(what) {
        *have -= wanted * times;
    }
}

/// Whether something fits.
pub(super) fn fits(have: &Amounts, wanted: &Amounts) -> bool {
    let has = |(at, wanted): (usize, &i64)| *wanted <= 0 || *wanted <= have.get(at).copied().unwrap_or(0);
    wanted.iter().enumerate().all(has)
}

/// How often something fits.
pub(super) fn times(have: &Amounts, wanted: &Amounts) -> i64 {
    let asked = wanted.iter().enumerate().filter(|(_, wanted)| **wanted > 0);
    let often = asked.map(|(at, wanted)| have.get(at).copied().unwrap_or(0).max(0) / wanted);
    often.min().unwrap_or(i64::MAX)
}

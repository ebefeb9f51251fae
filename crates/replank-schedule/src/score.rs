//! What a node scores by its resources, and how raw scores become final ones.
//!
//! Sources (Kubernetes 1.36): `pkg/scheduler/framework/plugins/noderesources/{least_allocated,balanced_allocation,
//! resource_allocation}.go`, `helper/normalize_score.go`.

use super::amounts::Request;
use super::nodes::Load;

/// The best score a plugin gives (`MaxNodeScore`).
pub(super) const BEST: i64 = 100;

/// NodeResourcesFit: the less of cpu and memory is taken, the better.
pub(super) fn least_allocated(request: &Request, node: &Load) -> i64 {
    let mut sum = 0;
    let mut counted = 0;
    for (at, wanted) in [request.assumed.0, request.assumed.1].into_iter().enumerate() {
        let (taken, room) = (node.assumed[at].saturating_add(wanted), node.room[at]);
        if room != 0 {
            sum += if taken > room {
                0
            } else {
                (room.saturating_sub(taken).saturating_mul(BEST) / room).clamp(0, BEST)
            };
            counted += 1;
        }
    }
    if counted == 0 { 0 } else { sum / counted }
}

/// NodeResourcesBalancedAllocation: whether the pod makes the use of cpu and memory more even, or less.
pub(super) fn balanced_allocation(request: &Request, node: &Load) -> i64 {
    let ([cpu, memory, _], [cpu_room, memory_room, _]) = (node.used, node.room);
    let more = &request.amounts;
    let with = evenness([
        (cpu.saturating_add(more.milli_cpu), cpu_room),
        (memory.saturating_add(more.memory), memory_room),
    ]);
    let without = evenness([(cpu, cpu_room), (memory, memory_room)]);
    BEST / 2 + (BEST / 2 + with - without) / 2
}

/// 100 if both are used to the same part, less the further apart they are.
fn evenness([cpu, memory]: [(i64, i64); 2]) -> i64 {
    let part = |(taken, room): (i64, i64)| (taken as f64 / room as f64).min(1.0);
    let deviation = if cpu.1 == 0 || memory.1 == 0 { 0.0 } else { ((part(cpu) - part(memory)) / 2.0).abs() };
    (((1.0 - deviation) * BEST as f64) as i64).clamp(0, BEST)
}

/// `DefaultNormalizeScore`: the highest becomes 100.
pub(super) fn normalized(score: i64, highest: i64) -> i64 {
    if highest == 0 { score } else { BEST * score / highest }
}

/// `DefaultNormalizeScore`, reversed: 0 becomes 100.
pub(super) fn reversed(score: i64, highest: i64) -> i64 {
    if highest == 0 { BEST } else { BEST - BEST * score / highest }
}

/// PodTopologySpread's: the lowest becomes 100.
pub(super) fn spread_normalized(score: i64, lowest: i64, highest: i64) -> i64 {
    if highest == 0 { BEST } else { BEST * (highest + lowest - score) / highest }
}

/// InterPodAffinity's: lowest and highest become 0 and 100.
pub(super) fn range_normalized(score: i64, lowest: i64, highest: i64) -> i64 {
    let range = highest - lowest;
    if range > 0 { (BEST as f64 * ((score - lowest) as f64 / range as f64)) as i64 } else { 0 }
}

/// PodTopologySpread: how much a constraint adds for a domain with so many pods.
pub(super) fn spread_score(count: i64, max_skew: i64, weight: f64) -> f64 {
    count as f64 * weight + (max_skew - 1) as f64
}

/// PodTopologySpread: the weight of a constraint whose topology has so many domains.
pub(super) fn spread_weight(domains: usize) -> f64 {
    natural_log((domains + 2) as f64)
}

/// The natural logarithm of a number of at least 1, to the last bit as upstream computes it on every machine.
///
/// The system's own differs between platforms in the last bit, and a sum of weights that is rounded afterwards could
/// show it. The method is that of FreeBSD's e_log.c, which Go's library states as its own: split off the power of two,
/// then a polynomial in s = f / (2 + f), with f the distance of the mantissa from 1.
fn natural_log(x: f64) -> f64 {
    const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
    const ODD: [f64; 4] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
    const EVEN: [f64; 3] = [
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
    ];
    let bits = x.to_bits();
    let mut exponent = i32::try_from(bits >> 52).expect("12 bits fit") - 0x3fe;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000);
    if mantissa < std::f64::consts::FRAC_1_SQRT_2 {
        mantissa *= 2.0;
        exponent -= 1;
    }
    let k = f64::from(exponent);
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s2 * (ODD[0] + s4 * (ODD[1] + s4 * (ODD[2] + s4 * ODD[3])));
    let even = s4 * (EVEN[0] + s4 * (EVEN[1] + s4 * EVEN[2]));
    let half = 0.5 * f * f;
    k * LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LN2_LOW)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_within_the_last_bit_of_the_systems() {
        for number in 2..20_000_u32 {
            let ours = natural_log(f64::from(number));
            let systems = f64::from(number).ln();
            assert!(ours.to_bits().abs_diff(systems.to_bits()) <= 1, "{number}: {ours} {systems}");
        }
    }

    #[test]
    fn scores_are_brought_into_range() {
        assert_eq!((reversed(0, 0), reversed(1, 3), reversed(3, 3)), (100, 67, 0));
        assert_eq!((normalized(0, 0), normalized(2, 3)), (0, 66));
        assert_eq!((spread_normalized(5, 2, 5), spread_normalized(2, 2, 5)), (40, 100));
        assert_eq!((range_normalized(-5, -5, 10), range_normalized(0, -5, 10)), (0, 33));
    }
}

//! `replank drain` and `replank roll` behind a proxy that cuts, delays, repeats and reorders, or killed: whatever is lost at whatever request, the same is there in the end,
//! nothing is evicted twice, no cordon is left behind, the record is gone, and so is the Lease.
//!
//! A small slice is tried by default. `REPLANK_CUTS` and `REPLANK_KILLS` say how many are tried, `REPLANK_CUT_JOBS` on how many clusters at a time, and
//! `REPLANK_CUT_PHASE` that only requests of one phase are hit.

mod phase;
mod stage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use replank_judge::Fault;

use crate::drive::ground::Ground;
use phase::{Hits, Phase};
use stage::{Once, Stage, Verb, Victim, evicted_twice};

/// A number of the environment.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number")))
}

/// What goes wrong in a case: a fault at the request of a number, of a phase or of all.
#[derive(Clone, Copy, Debug)]
struct Case {
    phase: Option<Phase>,
    at: usize,
    fault: Fault,
    is_kill: bool,
    /// Whether that very request is meant: where it does not come, nothing was tried, and no other takes its place.
    is_fixed: bool,
}

/// Tries all of them on as many clusters at a time as may be; each that went wrong is told, with all that the process said.
fn try_all(verb: Verb, cases: &[Case], name: &str) -> Hits {
    let (next, hits, wrong) = (AtomicUsize::new(0), Mutex::new(Hits::default()), Mutex::new(Vec::new()));
    let again = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for job in 0..number("REPLANK_CUT_JOBS", 4).min(cases.len()) {
            let (next, hits, wrong, again) = (&next, &hits, &wrong, &again);
            scope.spawn(move || {
                let stage = Stage::new(Ground::served(&format!("{name}-{job}")), verb);
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let mut case = *case;
                    loop {
                        let begun = Instant::now();
                        stage.reset();
                        let reset = begun.elapsed();
                        let (hit, ended_early, found) = one(&stage, case);
                        eprintln!("{case:?} hit {hit:?}: {:?} after {reset:?}", begun.elapsed() - reset);
                        again.fetch_add(usize::from(ended_early), Ordering::SeqCst);
                        if !found.is_empty() {
                            eprintln!("{case:?}: {}", found.join("; "));
                            wrong
                                .lock()
                                .expect("nobody panics")
                                .push(format!("{case:?}: {}", found.join("; ")));
                        }
                        if let Some(hit) = hit {
                            hits.lock().expect("nobody panics").add(hit);
                        }
                        // How many requests there are differs with when things are seen: one that did not come this time is tried nearer to the beginning.
                        if hit.is_some() || !found.is_empty() {
                            break;
                        }
                        if case.is_fixed {
                            let unmet = format!("{case:?}: no such request came");
                            wrong.lock().expect("nobody panics").push(unmet);
                            break;
                        }
                        if case.at == 0 {
                            break;
                        }
                        case.at /= 2;
                    }
                }
            });
        }
    });
    let (hits, wrong) =
        (hits.into_inner().expect("nobody panics"), wrong.into_inner().expect("nobody panics"));
    eprintln!(
        "{verb:?}, {} cases, {} hit a request, {} processes were begun again: {}",
        cases.len(),
        hits.all(),
        again.into_inner(),
        hits.told()
    );
    assert!(wrong.is_empty(), "{} of {} cases: {wrong:#?}", wrong.len(), cases.len());
    hits
}

/// One case: the phase that was hit, whether the process had to be begun again, and what is wrong.
fn one(stage: &Stage, case: Case) -> (Option<Phase>, bool, Vec<String>) {
    let hit = Arc::new(Mutex::new(None));
    let victim = Victim::default();
    let faults = {
        let (hit, victim) = (hit.clone(), victim.clone());
        Box::new(move |_: &replank_judge::Asked, phase: Phase, (of_phase, all): (usize, usize)| {
            let is_it = case.phase.map_or(all == case.at, |wanted| wanted == phase && of_phase == case.at);
            if !is_it {
                return Fault::Nothing;
            }
            *hit.lock().expect("nobody panics") = Some(phase);
            if case.is_kill
                && let Some(child) = victim.lock().expect("nobody panics").as_mut()
            {
                child.kill().expect("it can be killed");
            }
            case.fault
        })
    };
    let Once { ran, mut passed, .. } = stage.killed(faults, &victim);
    let hit = *hit.lock().expect("nobody panics");
    let mut wrong = Vec::new();
    let has_ended_early = ran.code != Some(0);
    let mut told = String::new();
    if has_ended_early {
        // What goes wrong once ends a process only before it has begun.
        let is_early = matches!(hit, Some(Phase::Preflight | Phase::Wait));
        let is_said = ran.code == Some(1) && ran.stderr.contains("error: ");
        let is_expected = case.is_kill || (is_early && is_said);
        if !is_expected {
            wrong.push(format!("it ended with {:?}: {}", ran.code, ran.stderr));
        }
        if !case.is_kill && is_early && !stage.is_untouched() {
            wrong.push("something was changed before it began".to_owned());
        }
        let next = stage.again();
        passed.extend(next.passed);
        told = format!("the next process said {}{}", next.ran.stdout, next.ran.stderr);
        if next.ran.code != Some(0) {
            wrong.push(format!("the next process ended with {:?}", next.ran.code));
        }
    }
    wrong.extend(stage.wrong());
    wrong.extend(evicted_twice(&passed).into_iter().map(|uid| format!("evicted twice: {uid}")));
    // One that nobody is left to renew runs out.
    if stage.has_lease() && !has_ended_early {
        wrong.push("the Lease is still there".to_owned());
    }
    if !wrong.is_empty() {
        wrong.push(told);
    }
    (hit, has_ended_early, wrong)
}

/// Requests of each phase where nothing goes wrong.
fn plain(verb: Verb, name: &str) -> Vec<Phase> {
    let stage = Stage::new(Ground::served(name), verb);
    stage.reset();
    let begun = Instant::now();
    let once = stage.once(Box::new(|_, _, _| Fault::Nothing));
    assert_eq!(once.ran.code, Some(0), "{:?}", once.ran);
    assert_eq!(stage.wrong(), Vec::<String>::new());
    let mut hits = Hits::default();
    once.phases.iter().for_each(|phase| hits.add(*phase));
    eprintln!("{verb:?}: {} requests in {:?}: {}", once.phases.len(), begun.elapsed(), hits.told());
    once.phases
}

/// Draws, each made of its seed alone.
struct Draws(u64);

impl Draws {
    /// One of as many numbers.
    fn below(&mut self, count: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        drawn ^= drawn >> 31;
        usize::try_from(drawn % u64::try_from(count.max(1)).expect("it is small")).expect("it is small")
    }
}

/// Cases that are drawn: each phase is met as often as the others, whatever its share of the requests.
fn drawn(requests: &[Phase], count: usize, seed: u64, is_kill: bool) -> Vec<Case> {
    let mut draws = Draws(seed);
    let only = std::env::var("REPLANK_CUT_PHASE").ok();
    let is_asked = |phase: &Phase| only.as_ref().is_none_or(|only| *only == format!("{phase:?}"));
    let there: Vec<Phase> =
        Phase::ALL.into_iter().filter(|phase| requests.contains(phase) && is_asked(phase)).collect();
    if there.is_empty() {
        eprintln!("no request is of phase {only:?}");
        return Vec::new();
    }
    let mut case = || {
        let phase = there[draws.below(there.len())];
        let at = draws.below(requests.iter().filter(|one| **one == phase).count());
        let late = Duration::from_millis(200 + u64::try_from(draws.below(2_000)).expect("it is small"));
        let faults = [
            Fault::CutRequest,
            Fault::CutAnswer,
            Fault::CutRequest,
            Fault::CutAnswer,
            Fault::DelayRequest(late),
            Fault::DelayAnswer(late),
            Fault::Repeat,
        ];
        let fault = faults[draws.below(if is_kill { 2 } else { faults.len() })];
        Case { phase: Some(phase), at, fault, is_kill, is_fixed: false }
    };
    (0..count).map(|_| case()).collect()
}

/// As many as the environment says; a third of them rolls, which take longer.
fn by_chance(name: &str, default: (usize, usize), is_kill: bool) {
    let asked = number(name, 0);
    let (drains, rolls) = if asked == 0 { default } else { (asked - asked / 3, asked / 3) };
    let word = if is_kill { "kill" } else { "chance" };
    for (verb, count) in [(Verb::Drain, drains), (Verb::Roll, rolls)] {
        let name = format!("{word}-{verb:?}").to_lowercase();
        let cases = drawn(&plain(verb, &name), count, u64::from(is_kill) + 1, is_kill);
        let hits = try_all(verb, &cases, &name);
        assert_eq!(hits.all() as usize, cases.len(), "each case meets a request: {}", hits.told());
        if asked >= 100 && !cases.is_empty() {
            let least = Phase::ALL.into_iter().map(|phase| hits.of(phase)).filter(|hits| *hits > 0).min();
            assert!(least.is_some_and(|least| least >= 5), "each phase is met: {}", hits.told());
        }
    }
}

/// Each request is cut before and after the server is asked, and answered late; every n-th of these, where a slice is tried.
fn each_request(verb: Verb, name: &str, slice: usize) {
    let requests = plain(verb, name).len();
    let is_whole = std::env::var_os("REPLANK_CUTS").is_some();
    let faults = [Fault::CutRequest, Fault::CutAnswer, Fault::DelayAnswer(Duration::from_millis(1_500))];
    let case = |at, fault| Case { phase: None, at, fault, is_kill: false, is_fixed: false };
    let all = (0..requests).flat_map(|at| faults.map(|fault| case(at, fault)));
    let step = if is_whole { 1 } else { (requests * faults.len()).div_ceil(slice) };
    let cases: Vec<Case> = all.step_by(step.max(1)).collect();
    let hits = try_all(verb, &cases, name);
    assert_eq!(hits.all() as usize, cases.len(), "each case meets a request: {}", hits.told());
}

#[test]
fn a_drain_comes_to_the_same_whichever_request_is_lost() {
    each_request(Verb::Drain, "cut-drain", 8);
}

#[test]
fn a_roll_comes_to_the_same_whichever_request_is_lost() {
    each_request(Verb::Roll, "cut-roll", 4);
}

/// A Lease is made, and given up, with one request each: lost, late, or carried out twice, it is known as one's own, and no process is turned away by itself.
#[test]
fn a_lease_whose_answer_is_lost_or_comes_twice_is_known_as_ones_own() {
    let faults = [
        Fault::CutRequest,
        Fault::CutAnswer,
        Fault::Repeat,
        Fault::DelayRequest(Duration::from_millis(2_500)),
    ];
    // The record goes first, and then the Lease.
    let of = |phase, at, fault| Case { phase: Some(phase), at, fault, is_kill: false, is_fixed: true };
    let cases = faults.map(|fault| [of(Phase::Lease, 0, fault), of(Phase::Close, 1, fault)]);
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    let hits = try_all(Verb::Roll, &cases, "cut-lease");
    assert_eq!(hits.all() as usize, cases.len(), "each case meets a request: {}", hits.told());
}

/// Two processes begin the same run at once, and the answer to the first that takes the Lease is lost: one of them carries it out, the other says who does.
#[test]
fn of_two_processes_one_carries_a_run_out_also_where_the_answer_to_its_lease_is_lost() {
    let stage = Stage::new(Ground::served("cut-two"), Verb::Roll);
    stage.reset();
    let all = stage.two(Fault::CutAnswer);
    let codes = all.each_ref().map(|ran| ran.code);
    assert!([[Some(0), Some(5)], [Some(5), Some(0)]].contains(&codes), "{all:?}");
    let second = &all[usize::from(codes[0] == Some(0))];
    let told = second.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("run test is carried out by") || told.contains("is over"), "{told}");
    assert_eq!(stage.wrong(), Vec::<String>::new());
    assert!(!stage.has_lease());
}

#[test]
fn requests_that_are_lost_late_or_repeated_by_chance_change_no_outcome() {
    by_chance("REPLANK_CUTS", (4, 2), false);
}

#[test]
fn a_process_that_is_killed_is_gone_on_with_by_another() {
    by_chance("REPLANK_KILLS", (4, 2), true);
}

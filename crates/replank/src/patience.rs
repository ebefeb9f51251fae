//! Reads that are tried again for some minutes: what EKS does takes minutes to hours, in which a network, an API server or EKS may be away for a moment.

use std::time::{Duration, Instant};

use replank_live::LiveError;
use replank_live::aws::AwsError;

use crate::failure::Failure;

/// For how long, and how long is waited before it: little in the beginning.
const LASTS: Duration = Duration::from_mins(5);
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Reads until there is an answer, or a failure that does not pass.
///
/// # Errors
/// The last failure.
pub(crate) async fn patiently<T, F>(mut read: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let (begun, mut pause) = (Instant::now(), FIRST);
    loop {
        match read().await {
            Err(failure) if does_pass(&failure) && begun.elapsed() < LASTS => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
            }
            answer => return answer,
        }
    }
}

/// Whether the same read may be answered a moment later.
fn does_pass(failure: &Failure) -> bool {
    let live = failure.error.downcast_ref::<LiveError>().is_some_and(|error| {
        matches!(error, LiveError::Unreachable { .. } | LiveError::Refused { code: 429 | 500..=599, .. })
    });
    live || failure.error.downcast_ref::<AwsError>().is_some_and(AwsError::is_passing)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn refused(code: u16) -> Failure {
        LiveError::Refused { path: "/api/v1/nodes".to_owned(), code, message: String::new() }.into()
    }

    fn read(code: u16) -> (Result<u32, Failure>, u32) {
        let asked = Cell::new(0);
        let runtime = crate::live::runtime().expect("it can be made");
        let answer = runtime.block_on(patiently(|| {
            asked.set(asked.get() + 1);
            let answer = if asked.get() == 1 { Err(refused(code)) } else { Ok(7) };
            async { answer }
        }));
        (answer, asked.get())
    }

    #[test]
    fn what_passes_is_asked_for_again_and_nothing_else() {
        for code in [429, 500, 503] {
            let (answer, asked) = read(code);
            assert_eq!((answer.ok(), asked), (Some(7), 2), "{code}");
        }
        for code in [400, 403, 404] {
            let (answer, asked) = read(code);
            assert_eq!((answer.is_err(), asked), (true, 1), "{code}");
        }
        let throttled = AwsError::Refused {
            action: "eks:DescribeCluster".to_owned(),
            code: "ThrottlingException".to_owned(),
            message: String::new(),
            status: 429,
        };
        assert!(does_pass(&throttled.into()));
        let away = LiveError::Unreachable { server: String::new(), why: String::new() };
        assert!(does_pass(&away.into()));
    }
}

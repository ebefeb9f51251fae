//! Credentials that are in use. They are renewed before their end; where that fails, they are used until their end.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::AwsError;
use super::found::Found;

/// How long a call waits for new credentials while it could go on with the old ones.
const RENEWAL_MAX: Duration = Duration::from_secs(10);
/// How long after an attempt the next one is made, where the old ones still are valid: a source that fails is not asked with each call.
const AGAIN: Duration = Duration::from_secs(10);

/// Credentials that are in use.
#[derive(Debug, Default)]
pub(super) struct Held {
    known: Mutex<Known>,
    /// Held by whoever asks for new ones.
    renewal: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    found: Option<Found>,
    /// When they were asked for last, whatever came of it.
    asked: Option<Instant>,
}

/// What a call can do with what is known.
enum Stand {
    /// Use them.
    Usable(Found),
    /// Use them, but ask for new ones.
    Ending(Found),
    /// Ask for some.
    Lacking,
}

impl Known {
    fn stand(&self, refused: Option<&Found>, again: Duration) -> Stand {
        match &self.found {
            Some(found) if refused.is_some_and(|refused| refused.is(found)) => Stand::Lacking,
            Some(found) if found.is_fresh() => Stand::Usable(found.clone()),
            Some(found) if !found.is_valid() => Stand::Lacking,
            Some(found) if self.asked.is_some_and(|asked| asked.elapsed() < again) => {
                Stand::Usable(found.clone())
            }
            Some(found) => Stand::Ending(found.clone()),
            None => Stand::Lacking,
        }
    }
}

impl Held {
    /// Credentials for a call, which `find` gets where they are needed. AWS has refused those of `refused`: others are needed.
    ///
    /// # Errors
    /// Where there are none, or the old ones have ended, and `find` fails.
    pub(super) async fn get(
        &self,
        refused: Option<&Found>,
        find: impl Future<Output = Result<Found, AwsError>>,
    ) -> Result<Found, AwsError> {
        self.get_again(refused, find, AGAIN).await
    }

    async fn get_again(
        &self,
        refused: Option<&Found>,
        find: impl Future<Output = Result<Found, AwsError>>,
        again: Duration,
    ) -> Result<Found, AwsError> {
        let stand = self.known().stand(refused, again);
        match stand {
            Stand::Usable(found) => Ok(found),
            Stand::Ending(old) => {
                // Somebody else asks: the old ones will do meanwhile.
                let Ok(_own) = self.renewal.try_lock() else { return Ok(old) };
                let found = tokio::time::timeout(RENEWAL_MAX, find).await;
                self.known().asked = Some(Instant::now());
                match found {
                    Ok(Ok(found)) => Ok(self.keep(found)),
                    // It is asked again with a later call; after their end this is an error.
                    Ok(Err(_)) | Err(_) => Ok(old),
                }
            }
            Stand::Lacking => {
                let _own = self.renewal.lock().await;
                // Somebody else may have got some meanwhile.
                let stand = self.known().stand(refused, again);
                if let Stand::Usable(found) | Stand::Ending(found) = stand {
                    return Ok(found);
                }
                let found = find.await?;
                self.known().asked = Some(Instant::now());
                Ok(self.keep(found))
            }
        }
    }

    fn keep(&self, found: Found) -> Found {
        self.known().found = Some(found.clone());
        found
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Held {
    /// Some that are there already.
    pub(super) fn of(found: Found) -> Self {
        Self { known: Mutex::new(Known { found: Some(found), asked: None }), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};

    use jiff::{SignedDuration, Timestamp};

    use super::super::sign::Key;
    use super::*;

    /// Credentials that end in so many seconds.
    fn ends_in(name: &str, seconds: i64) -> Found {
        let key = Key { access_key: name.to_owned(), secret_key: "s".to_owned(), session_token: None };
        let until = Some(Timestamp::now() + SignedDuration::from_secs(seconds));
        Found { until, ..Found::fixed(key, "a test") }
    }

    fn broken() -> Result<Found, AwsError> {
        Err(AwsError::Credentials { source_of: "a test".to_owned(), why: "it is down".to_owned() })
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
        runtime.block_on(work)
    }

    #[test]
    fn a_failed_renewal_fails_no_call_before_the_old_credentials_end() {
        run(async {
            let held = Held::of(ends_in("old", 60));
            let asked = Cell::new(0);
            let fails = async || {
                asked.set(asked.get() + 1);
                broken()
            };
            for _ in 0..3 {
                let found = held.get(None, fails()).await.expect("the old ones are valid");
                assert_eq!(found.key.access_key, "old");
            }
            assert_eq!(asked.get(), 1, "it is not asked again with each call");
            // Later it is asked again, and what comes then is used from then on.
            let found = held.get_again(None, fails(), Duration::ZERO).await.expect("they still are");
            assert_eq!((found.key.access_key.as_str(), asked.get()), ("old", 2));
            let found = held.get_again(None, ready(Ok(ends_in("new", 3_600))), Duration::ZERO).await;
            assert_eq!(found.expect("it answers").key.access_key, "new");
            let found = held.get(None, fails()).await.expect("they are fresh");
            assert_eq!((found.key.access_key.as_str(), asked.get()), ("new", 2));
        });
    }

    #[test]
    fn a_failed_renewal_is_an_error_after_the_end_and_where_aws_refuses_the_old_ones() {
        run(async {
            let old = ends_in("old", -1);
            let error = Held::of(old).get(None, ready(broken())).await.expect_err("they have ended");
            assert_eq!(error.to_string(), "cannot get AWS credentials from a test: it is down");
            let old = ends_in("old", 3_600);
            let held = Held::of(old.clone());
            let error = held.get(Some(&old), ready(broken())).await.expect_err("AWS does not take them");
            assert!(matches!(error, AwsError::Credentials { .. }), "{error}");
            let new = held.get(Some(&old), ready(Ok(ends_in("new", 3_600)))).await.expect("it answers");
            assert_eq!(new.key.access_key, "new");
            // Who was refused with the old ones, too, gets these without asking.
            let found = held.get(Some(&old), pending()).await.expect("they are there");
            assert_eq!(found.key.access_key, "new");
        });
    }

    #[test]
    fn calls_go_on_with_the_old_credentials_while_one_waits_for_new_ones() {
        run(async {
            let held = Held::of(ends_in("old", 60));
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let slow = held.get(None, async { receiver.await.expect("it is sent") });
            let other = async {
                let found = held.get(None, pending()).await.expect("it does not wait");
                assert_eq!(found.key.access_key, "old");
                sender.send(Ok(ends_in("new", 3_600))).expect("it is waited for");
            };
            let (found, ()) = tokio::join!(slow, other);
            assert_eq!(found.expect("it is answered").key.access_key, "new");
        });
    }
}

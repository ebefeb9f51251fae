//! Lists by pages: a token names the last one that was shown, so that what comes and goes meanwhile shifts nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::fault::Fault;

/// A page of things that are sorted by their keys, and the token of the next.
///
/// # Errors
/// Where the token is none.
pub(crate) fn page<T>(
    all: Vec<(String, T)>,
    size: usize,
    token: Option<&str>,
    wrong: &Fault,
) -> Result<(Vec<T>, Option<String>), Fault> {
    let after = token.filter(|token| !token.is_empty()).map(|token| {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| wrong.clone())
    });
    let after = after.transpose()?;
    let mut left: Vec<(String, T)> =
        all.into_iter().filter(|(key, _)| after.as_ref().is_none_or(|after| key > after)).collect();
    left.sort_by(|(a, _), (b, _)| a.cmp(b));
    let more = left.len() > size;
    left.truncate(size);
    let next = left.last().filter(|_| more).map(|(key, _)| URL_SAFE_NO_PAD.encode(key));
    Ok((left.into_iter().map(|(_, one)| one).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_show_everything_once() {
        let all = || ["c", "a", "b"].map(|key| (key.to_owned(), key)).to_vec();
        let wrong = Fault::bad("InvalidNextToken", "");
        let (first, token) = page(all(), 2, None, &wrong).expect("no token");
        assert_eq!(first, ["a", "b"]);
        let (last, token) = page(all(), 2, token.as_deref(), &wrong).expect("our token");
        assert_eq!((last, token), (vec!["c"], None));
        assert_eq!(page(all(), 2, Some("!"), &wrong), Err(wrong));
    }
}

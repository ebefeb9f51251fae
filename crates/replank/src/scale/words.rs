//! Cluster Autoscaler's flags in one argument (`--autoscale='…'`), as words: split where a shell would split them.

use crate::failure::Failure;

/// The words of a text. Quotes keep spaces in a word, a backslash keeps the character after it; in single quotes everything stands for itself.
///
/// # Errors
/// Where a quote is not closed, or the text ends in a backslash.
pub(crate) fn words(argument: &str, text: &str) -> Result<Vec<String>, Failure> {
    let wrong = |what: &str| {
        Failure::usage_message(format!("{argument}: {what}: {text}"))
            .next("write a value with spaces as --name='value with spaces'")
    };
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            space if space.is_whitespace() => words.extend(word.take()),
            '\\' => {
                let next = characters.next().ok_or_else(|| wrong("nothing follows the last backslash"))?;
                word.get_or_insert_default().push(next);
            }
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        None => return Err(wrong(&format!("the quote {quote} is not closed"))),
                        Some(end) if end == quote => break,
                        Some('\\') if quote == '"' => match characters.next() {
                            Some(kept @ ('"' | '\\')) => word.push(kept),
                            other => {
                                word.push('\\');
                                word.extend(other);
                            }
                        },
                        Some(other) => word.push(other),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quotes_keep_spaces_in_a_word() {
        let of = |text: &str| words("--autoscale", text).expect("it is whole");
        let window = ["--expander=price", "--no-scale-down=Mon-Fri 09:00,9h,Asia/Tokyo"];
        assert_eq!(of("--expander=price --no-scale-down='Mon-Fri 09:00,9h,Asia/Tokyo'"), window);
        assert_eq!(of(" --expander=price\n'--no-scale-down=Mon-Fri 09:00,9h,Asia/Tokyo' "), window);
        assert_eq!(of(r#"--expander=price --no-scale-down="Mon-Fri 09:00,9h,Asia/Tokyo""#), window);
        assert_eq!(of(r"--expander=price --no-scale-down=Mon-Fri\ 09:00,9h,Asia/Tokyo"), window);
        assert_eq!(of(r#"a="b\"c\d" '' e"#), [r#"a=b"c\d"#, "", "e"]);
        assert!(of("  ").is_empty());
    }

    #[test]
    fn a_quote_that_is_not_closed_is_named() {
        for (text, what) in [
            (
                "--no-scale-down='Mon-Fri 09:00",
                "--autoscale: the quote ' is not closed: --no-scale-down='Mon-Fri 09:00",
            ),
            ("--a=\"b'", "--autoscale: the quote \" is not closed: --a=\"b'"),
            ("--a\\", "--autoscale: nothing follows the last backslash: --a\\"),
        ] {
            let failure = words("--autoscale", text).expect_err("it is not whole");
            assert_eq!(failure.error.to_string(), what);
        }
    }
}
